"""Random models asked about rows with gaps, for a sanitizer to watch.

``python -m tests.heavy.gaps FIRST SECONDS`` makes a model of some kind, size and number
of columns for each number from FIRST on, until the time is over. It asks the model
about rows whose columns lack values here and there, or throughout. `sanitizers.sh` runs
it on kernels that are built with AddressSanitizer. The tests had missed that a forest
of numbers wrote beyond its array, as their trees are few and small.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    LinearStream,
    RandomTreesStream,
    StreamingTree,
)


def forest(rng: Generator, leaves: str) -> RandomTreesStream:
    return RandomTreesStream(leaves, n_trees=int(rng.integers(1, 25)), seed=1)


def tree(rng: Generator, leaves: str) -> DynamicTree:
    return DynamicTree(leaves, n_particles=int(rng.integers(5, 60)), seed=1)


def window(rng: Generator, leaves: str) -> StreamingTree:
    most, drift = int(rng.integers(20, 80)), bool(rng.integers(2))
    n_particles = int(rng.integers(5, 60))
    return StreamingTree(
        leaves, window=most, drift=drift, n_particles=n_particles, seed=1
    )


def trees(rng: Generator, leaves: str) -> AveragedTrees:
    return AveragedTrees(leaves, n_clouds=2, n_particles=20, seed=1)


def stream(rng: Generator, leaves: str) -> AveragedStream:
    return AveragedStream(leaves, seed=1)


def regression(rng: Generator, leaves: str) -> LinearStream:
    return LinearStream(leaves, seed=1)


KINDS: list[tuple[Callable[[Generator, str], Any], str]] = [
    *((forest, leaves) for leaves in ("constant", "class")),
    *((tree, leaves) for leaves in ("linear", "constant", "class", "logit")),
    *((tree, leaves) for leaves in ("poisson", "negbin")),
    *((window, leaves) for leaves in ("linear", "constant", "class", "poisson")),
    *((trees, leaves) for leaves in ("mixed", "class", "poisson")),
    *((stream, leaves) for leaves in ("mixed", "class", "poisson")),
    *((regression, leaves) for leaves in ("class", "poisson")),
]


def responses(rng: Generator, X: Any, leaves: str) -> Any:
    level = X[:, 0] + np.sin(3.0 * X[:, -1])
    if leaves in ("class", "logit"):
        cuts = [0.0] if leaves == "logit" else [0.0, 1.0]
        return np.array(["a", "b", "c"])[np.digitize(level, cuts)]
    if leaves in ("poisson", "negbin"):
        return rng.poisson(np.exp(level.clip(-3.0, 2.0)))
    return level + 0.1 * rng.standard_normal(len(level))


def with_gaps(rng: Generator, X: Any) -> Any:
    """Some of the rows, without values here and there and in whole columns."""
    rows = X[rng.integers(0, len(X), int(rng.integers(1, 400)))].copy()
    rows[:, rng.random(X.shape[1]) < rng.choice([0.1, 0.5, 1.0])] = np.nan
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def trial(number: int) -> None:
    """Let one random model learn, answer and learn on."""
    rng = np.random.default_rng(number)
    make, leaves = KINDS[number % len(KINDS)]
    n_rows, n_columns = int(rng.integers(30, 2000)), int(rng.integers(1, 14))
    X = rng.normal(size=(n_rows, n_columns)).round(int(rng.integers(0, 4)))
    y = responses(rng, X, leaves)
    if rng.random() < 0.6:
        X[rng.random(X.shape) < rng.choice([0.02, 0.2, 0.6])] = np.nan
    n_first = int(n_rows * rng.choice([0.5, 0.9]))
    print(number, make.__name__, leaves, n_rows, n_columns, flush=True)
    model = make(rng, leaves).update(X[:n_first], y[:n_first], progress=False)
    for _ in range(3):
        rows = with_gaps(rng, X)
        model.predict(rows)
        model.predict(rows[:1])
        if not isinstance(model, LinearStream):
            model.posterior_draws(rows[:20], 5, seed=1)
    model.update(X[n_first:], y[n_first:], progress=False).predict(rows)
    model.copy().predict(rows)


def main() -> None:
    warnings.simplefilter("ignore")
    number, until = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        trial(number)
        number += 1
    print("ended before", number)


if __name__ == "__main__":
    main()
