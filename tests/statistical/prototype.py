"""Run the prototype that settled the native rules on the rows of native_tables.

Run ``python -m tests.statistical.prototype FOLDER``; FOLDER holds the prototype, which
is not part of the project: dt4.c, which gcc compiles, and its wrapper nat2.py. The last
result is stored beside this file in prototype.txt. Lines are those of native_tables
whose references the prototype does not reach when it is run again, and others that it
does reach; data seeds are 0 to 9, two fits to each, N = 100.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .native_tables import SEEDS, fried

FITS = 2
# a0, b0, kappa0 and the slopes' precision, here per column
PRIOR = {"a0": 0.5, "b0": 0.01, "k0": 0.01, "kb": -0.02}
SCALES = np.array([30, 3, 0.3, 0.03, 0.003, 3e-4, 3e-5, 3e-6])
WEIGHTS = np.array([1, 0.1, 0.01, 0.001])
LINES = [  # inputs, rows, leaves, fewest rows of a leaf
    (5, 2000, "linear", 10),
    (10, 1000, "linear", 15),
    (5, 2000, "constant", 4),
    (10, 1000, "constant", 4),
    (5, 500, "linear", 10),
]


def load(folder: Path) -> ModuleType:
    """The prototype's wrapper, on a library compiled for this process."""
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(
            ["gcc", "-O3", "-shared", "-fPIC", folder / "dt4.c", "-o",
             f"{work}/libdt2.so", "-lm"],
            check=True,
        )  # fmt: skip
        sys.path.insert(0, str(folder))
        os.chdir(work)  # where the wrapper looks for its library
        import nat2  # type: ignore[import-not-found]
    return nat2


def adaptive(nat2: ModuleType) -> SimpleNamespace:
    """Its library, but that every new cloud tunes one (b0, kappa0)."""
    library, pointer = nat2.L, nat2.P
    library.dt_cloud.argtypes = [
        ctypes.c_void_p, *[ctypes.c_int] * 9, *[ctypes.c_double] * 3,
        *[ctypes.c_void_p] * 3,
    ]  # fmt: skip

    def dt_new(options: Any, rows: int) -> Any:
        cloud = library.dt_new(options, rows)
        grids = pointer(SCALES), pointer(WEIGHTS), pointer(WEIGHTS)
        sizes = len(SCALES), len(WEIGHTS), 0
        library.dt_cloud(cloud, 0, 0, 0, *sizes, 3, 2, 0, 16.0, 1.25, 1.0, *grids)
        return cloud

    names = ["dt_free", "dt_start", "dt_run", "dt_predict"]
    return SimpleNamespace(dt_new=dt_new, **{n: getattr(library, n) for n in names})


def score(
    nat2: ModuleType, inputs: int, T: int, model: str, minp: int, seed: int
) -> tuple[float, float]:
    """Mean log predictive density from row 50 on, and RMSE to the true mean."""
    X, y, _ = fried(T, seed, inputs)
    new, response, f = fried(1000, 1000 + seed, inputs)
    found = []
    for fit in range(FITS):
        cloud = nat2.Nat(model, X, y, seed=100 * fit + seed, minp=minp, **PRIOR)
        error = cloud.predict(new, response)["mean"] - f
        found.append((cloud.lp[50 - cloud.n0 :].mean(), np.sqrt(np.mean(error**2))))
        cloud.close()
    return tuple(np.mean(found, axis=0))


def main(folder: str) -> None:
    nat2 = load(Path(folder).resolve())
    library = nat2.L
    print(f"{time.strftime('%Y-%m-%d')}{'':<36}lp (se)           RMSE (se)")
    for prior in ("fixed", "adaptive"):
        nat2.L = library if prior == "fixed" else adaptive(nat2)
        for inputs, T, model, minp in LINES:
            found = np.array(
                [score(nat2, inputs, T, model, minp, seed) for seed in SEEDS]
            )
            mean, se = found.mean(0), found.std(0, ddof=1) / len(SEEDS) ** 0.5
            cells = "".join(
                f"{m:10.3f} ({s:.3f})" for m, s in zip(mean, se, strict=True)
            )
            title = f"{inputs} inputs T={T} {model} {prior}"
            print(f"{title:<38}{cells}", flush=True)
        nat2.L = library


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.statistical.prototype FOLDER")
    main(sys.argv[1])
