#!/usr/bin/env bash
# A newcomer's first hour: a fresh environment, `pip install .`, and one use of each face.
# Run `bash tests/heavy/newcomer.sh`; the last output is stored beside it in newcomer.txt.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore OPENBLAS_NUM_THREADS=1

echo "== a fresh environment"
python3 -m venv "$work/env"
git -C "$root" archive HEAD | tar -x -C "$work" --one-top-level=source
(cd "$work/source" && "$work/env/bin/pip" install -qqq ".[formula,sklearn,river]" \
    polars pyarrow "dask[distributed]")
cp "$root/tests/heavy/newcomer.py" "$work"
cd "$work"
PATH="$work/env/bin:$PATH"
python -c 'import sys, dyntree; assert "source" not in dyntree.__file__
print("dyntree", dyntree.__version__, "on Python", sys.version.split()[0])'

for part in formula polars_frame parquet_file grid_search river_pipeline repeats_on_dask; do
    echo "== ${part//_/ }"
    python newcomer.py "$part"
done

echo "== the command line, on the Parquet file"
dyntree fit sites.parquet --formula "y ~ depth + soil" --model linear --window 200 \
    --particles 200 --seed 1 --quiet --out m.dyn
dyntree info m.dyn | grep -E "rows learned|active rows|columns"
dyntree predict m.dyn sites.parquet --out predictions.csv
head -3 predictions.csv
dyntree evaluate sites.csv --formula "y ~ depth + soil" --particles 200 --seed 1 --quiet \
    --html report.html
echo "report.html: $(grep -c '<img' report.html) pictures, $(grep -cE 'src="http|href=' \
    report.html || true) references to elsewhere"

echo "== a pipe, killed in the middle and resumed"
stream() { # NAME ROWS-A-SECOND: rows come through a pipe, not faster than that
    python newcomer.py trickle "$2" | dyntree stream - --formula "y ~ depth + soil" \
        --levels soil=clay,sand,peat --window 100 --particles 100 --seed 1 --quiet \
        --checkpoint "$1.dyn" --every 50 --resume >>"$1.csv"
}
stream calm 100000
for lines in 100 250 400; do
    setsid bash -c "$(declare -f stream); stream torn 300" & group=$!
    until [ "$(cat torn.csv 2>/dev/null | wc -l)" -gt "$lines" ]; do sleep 0.02; done
    kill -9 -- "-$group"
    wait "$group" 2>/dev/null || true
    echo "killed with $(wc -l <torn.csv) of $(wc -l <calm.csv) lines written"
done
stream torn 100000
cmp calm.csv torn.csv && echo "resumed: $(wc -l <torn.csv) lines, the same bytes"
cmp calm.dyn torn.dyn && echo "the same checkpoint, too"

echo "== bad input is told in one line"
tell() { "$@" 2>&1 >/dev/null || echo "   (exit code $?)"; }
tell dyntree fit sites.csv --formula "y ~ nowhere" --out x.dyn
tell dyntree predict sites.csv sites.csv
tell dyntree fit absent.csv --formula "y ~ ." --out x.dyn
tell dyntree stream sites.csv --formula "y ~ ." --checkpoint calm.dyn
echo "== all done"
