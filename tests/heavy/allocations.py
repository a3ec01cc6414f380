"""Every allocation fails once: a call raises MemoryError and leaves a model that works.

Run ``python -m tests.heavy.allocations`` where there is a C compiler; the last result
is stored beside this file in allocations.txt. A small library, loaded before libc, lets
the k-th allocation from a given moment fail, for k = 1, 2, ... until a call comes
through without meeting it. What the interpreter asks for itself is left alone, as the
collector of Python 3.13 crashes after it got none, and loading is left out: it is
NumPy's work, whose indexing crashes without memory. Met: no
crash and no other error (zipfile may raise one of its own on the way out); every tree
then holds every row once and no node is lost; a call that failed changed nothing, but
for whole rows and their draws; and the model goes on.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dyntree
from dyntree import DynamicTree, checkpoint
from tests.helpers import model_bytes
from tests.kills import ROOT
from tests.probes import audit
from tests.unit.models import data

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static long left;
void arm(long k) { left = k; }
long disarm(void) { long k = left; left = 0; return k; }
static int is_python(void *caller) {
    Dl_info of;
    return dladdr(caller, &of) && strstr(strrchr(of.dli_fname, '/') ?: "", "python3");
}
static int fails_for(void *caller) {
    return left > 0 && !is_python(caller) && --left == 0 && (errno = ENOMEM);
}
#define fails() fails_for(__builtin_return_address(0))
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t k, size_t n) { return fails() ? NULL : __libc_calloc(k, n); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    void *found = fails() ? NULL : __libc_memalign(a, n);
    if (!found) return ENOMEM;
    *p = found;
    return 0;
}
"""
MODELS: dict[str, dict[str, Any]] = {
    "constant": {}, "linear": {}, "class": {}, "R constant": {"rules": "r"},
    "R augmented": {"rules": "r", "intercept": "augmented"},
    "R class": {"rules": "r"},
}  # fmt: skip
KINDS = {"R constant": "constant", "R augmented": "linear", "R class": "class"}
CHANGES = ("update", "retire", "rejuvenate", "active_values")  # the last keeps credits


def deeds(kind: str) -> dict[str, Callable[[DynamicTree], object]]:
    """What is done with a model."""
    X, y = data(kind, 90, seed=2)
    criterion = "entropy" if kind == "class" else "alc"
    return {
        "update": lambda tree: tree.update(X[60:], y[60:], progress=False),
        "retire": lambda tree: tree.retire([3, 4, 5], 0.9),
        "rejuvenate": lambda tree: tree.rejuvenate(),
        "predict": lambda tree: tree.predict(X[:20]),
        "active_values": lambda tree: tree.active_values(criterion),
        "relevance": lambda tree: tree.relevance(),
        "copy": lambda tree: tree.copy(),
        "save": lambda tree: checkpoint.dumps(tree),
    }


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those it came of."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def tells(error: BaseException) -> bool:
    """Whether an error is how something says that there is no memory."""
    return (
        isinstance(error, MemoryError | SystemError)  # the latter: NumPy's reductions
        or "can't allocate lock" in str(error)
    )


def trial(saved: bytes, deed: str, act: Callable[[Any], object], k: int) -> bool:
    """Let the k-th allocation of a deed fail; whether there was one."""
    libc = ctypes.CDLL(None)
    tree = checkpoint.loads(saved)
    before = model_bytes(tree)
    libc.arm(ctypes.c_long(k))
    try:
        act(tree)
        error: BaseException | None = None
    except BaseException as caught:
        error = caught
    met = libc.disarm() == 0
    if error is not None and not any(map(tells, chain(error))):
        raise error
    audit(tree.state.cloud)
    if error is not None and deed not in CHANGES:
        assert model_bytes(tree) == before, "changed"
    X, y = data(KINDS.get(tree.options.model, tree.options.model), 8, seed=3)
    seen = tree.n_seen
    tree.update(X, y, progress=False).predict(X)
    assert tree.n_seen == seen + 8
    audit(tree.state.cloud)
    return met


def run(names: list[str]) -> None:
    """All trials of some models, in the process with the library; print how many."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name in names:
        kind, options = KINDS.get(name, name), MODELS[name]
        tree = DynamicTree(kind, n_particles=30, seed=1, **options)
        saved = checkpoint.dumps(tree.update(*data(kind, 60)))
        counts = {}
        for deed, act in deeds(kind).items():
            act(checkpoint.loads(saved))  # what is made once is made now
            k = 1
            while True:
                try:
                    if not trial(saved, deed, act, k):
                        break
                except BaseException:
                    print(f"{name}: {deed}, allocation {k}", file=sys.stderr)
                    raise
                k += 1
            counts[deed] = k - 1
        told = ", ".join(f"{deed} {n}" for deed, n in counts.items())
        print(f"{name}: {told}", flush=True)


def fail_each(names: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the trials of some models in a process that has the library."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "shim.c", Path(folder) / "shim.so"
        source.write_text(SHIM)
        build = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
        subprocess.run(build, check=True)
        return subprocess.run(
            [sys.executable, "-m", "tests.heavy.allocations", *names],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, allocations "
          "that failed once", flush=True)  # fmt: skip
    process = fail_each(list(MODELS))
    print(process.stdout, end="")
    if process.returncode:
        sys.exit(f"NOT MET ({process.returncode})\n{process.stderr}")
    print("met")


if __name__ == "__main__":
    run(sys.argv[1:]) if sys.argv[1:] else main()
