"""The pieces of work: benchmarks for asv, and one process each for `compare`.

``python -m tests.bench.work NAME FOLDER 0|1`` prepares a piece of work on the rows in
FOLDER and, given 1, does it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dyntree import DynamicTree
from dyntree.api import rmirror

N_PARTICLES = 1000
Data = tuple[Any, Any, Any]


def friedman(n: int, seed: int) -> tuple[Any, Any]:
    """Rows of Friedman's function of five inputs, noise of variance one."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)


def mirrored(model: str) -> Callable[[Data], Callable[[], object]]:
    """Averaged quantiles under R's rules."""

    def prepare(data: Data) -> Callable[[], object]:
        X, y, new = data
        fit = rmirror.dynaTree(X, y, N=N_PARTICLES, model=model, verb=0, seed=1)
        return lambda: rmirror.predict(fit, new)

    return prepare


def native(model: str) -> Callable[[Data], Callable[[], object]]:
    """Quantiles of the mixture itself under native rules."""

    def prepare(data: Data) -> Callable[[], object]:
        X, y, new = data
        tree = DynamicTree(model, n_particles=N_PARTICLES, rules="native", seed=1)
        tree.update(X, y)
        return lambda: tree.predict(new).quantile([0.05, 0.95])

    return prepare


WORK: dict[str, Callable[[Data], Callable[[], object]]] = {
    "predict r constant": mirrored("constant"),
    "predict r linear": mirrored("linear"),
    "predict native constant": native("constant"),
    "predict native linear": native("linear"),
}


class Predict:
    """For asv: 2,000 rows learned, 10,000 points asked."""

    params: ClassVar[list[str]] = list(WORK)
    param_names: ClassVar[list[str]] = ["work"]
    timeout = 600

    def setup(self, work: str) -> None:
        self.run = WORK[work]((*friedman(2000, 1), friedman(10_000, 2)[0]))

    def time_predict(self, work: str) -> None:
        self.run()

    def peakmem_predict(self, work: str) -> None:
        self.run()


def main(name: str, folder: str, do: str, times: str) -> None:
    learned = np.loadtxt(Path(folder) / "learned.csv", delimiter=",")
    new = np.loadtxt(Path(folder) / "new.csv", delimiter=",", ndmin=2)
    run = WORK[name]((learned[:, :-1].copy(), learned[:, -1].copy(), new))
    for _ in range(int(do) * int(times)):
        run()


if __name__ == "__main__":
    main(*sys.argv[1:])
