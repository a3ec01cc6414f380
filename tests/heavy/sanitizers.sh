#!/usr/bin/env bash
# Unit, property, golden and statistical tests under AddressSanitizer and UBSan, then with
# Cython's bounds checks. Leaks are left out: the interpreter itself has some.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests="tests/unit tests/property tests/golden tests/statistical"
python3 -m venv "$work/env"
"$work/env/bin/pip" install -q "setuptools>=77" wheel "Cython>=3.1,<4" numpy scipy pandas \
    statsmodels matplotlib tqdm pytest hypothesis

run() {    # name, variables for the build, variables for the tests
    echo "== $1"
    rm -rf "$work/tree" && mkdir "$work/tree"
    git ls-files -z | xargs -0 cp --parents -t "$work/tree"
    (cd "$work/tree" && env $2 "$work/env/bin/python" setup.py -q build_ext --inplace \
        >build.log 2>&1 || { tail -20 build.log; exit 1; })
    (cd "$work/tree" && env $3 "$work/env/bin/python" -m pytest -q -p no:cacheprovider \
        -k "not oracle and not demo" $tests 2>&1 | tee out.log | tail -n 3)
    echo "reports: $(grep -c -E 'ERROR: AddressSanitizer|runtime error' "$work/tree/out.log" || true)"
}

run "AddressSanitizer and UBSan" "DYNTREE_SANITIZE=1" \
    "LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc"
run "bounds checks" "DYNTREE_DEBUG=1" "DYNTREE_NUM_THREADS=2"
