#!/usr/bin/env bash
# The tests of kernels and of the models that call them, under AddressSanitizer and UBSan,
# then with Cython's bounds checks. Leaks are left out: the interpreter itself has some. So
# are faces, pages and statistical tests, which call the same kernels at far greater length,
# tests of the oracle alone, and two of how much memory a model takes, of which the
# sanitizers take their own. Shells ignore SIGINT in the background; tests of interrupts
# need it. Takes about an hour of one core; the last result stands in sanitizers.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unit=tests/unit
tests="$unit/_core $unit/trees $unit/mixtures $unit/keyed $unit/storage $unit/checkpoint
    $unit/test_odd_rows.py $unit/test_many_levels.py $unit/test_many_columns.py
    $unit/test_threads.py tests/property tests/golden"
but="not oracle_meets and not in_memory"
python3 -m venv "$work/env"
"$work/env/bin/pip" install -q "setuptools>=77" wheel "Cython>=3.2,<4" numpy scipy pandas \
    statsmodels scikit-learn matplotlib tqdm joblib polars pyarrow pytest pytest-xdist \
    hypothesis
status=0

run() {    # name, variables for the build, variables for the tests
    echo "== $1"
    rm -rf "$work/tree" && mkdir "$work/tree"
    git ls-files -z | xargs -0 cp --parents -t "$work/tree"
    (cd "$work/tree" && env $2 "$work/env/bin/python" setup.py -q build_ext --inplace \
        >build.log 2>&1 || { tail -20 build.log; exit 1; })
    (cd "$work/tree" && env --default-signal=INT $3 "$work/env/bin/python" -m pytest -q -n 0 \
        --capture=sys -p no:cacheprovider -k "$but" $tests >out.log 2>&1) || status=1
    grep -E "^(FAILED|ERROR|E  )" "$work/tree/out.log" || true
    tail -n 1 "$work/tree/out.log"
}

date -u +%Y-%m-%d
gcc --version | head -n 1
"$work/env/bin/python" -c "import sys, numpy, Cython; print(
    'Python', sys.version.split()[0], 'numpy', numpy.__version__, 'Cython', Cython.__version__)"

# ASan reports into files of its own; UBSan, beside it, knows stderr alone, which pytest
# must therefore not swallow
watch="LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so) ASAN_OPTIONS=detect_leaks=0:log_path=$work/report UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc"
run "AddressSanitizer and UBSan" "DYNTREE_SANITIZE=1" "$watch"
(cd "$work/tree" && env $watch "$work/env/bin/python" -m tests.heavy.gaps 1 600 \
    >gaps.log 2>&1) || status=1
echo "random models with gaps: $(tail -n 1 "$work/tree/gaps.log")"
grep -h -A 12 "runtime error:" "$work/tree/out.log" "$work/tree/gaps.log" >"$work/report.undefined" ||
    rm "$work/report.undefined"
for report in "$work"/report*; do
    [ -e "$report" ] && head -n 40 "$report" && status=1
done
echo "reports: $(find "$work" -maxdepth 1 -name 'report*' | wc -l)"
run "bounds checks" "DYNTREE_DEBUG=1" "DYNTREE_NUM_THREADS=2"
exit $status
