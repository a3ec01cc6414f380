"""Trees grown anew a few rows at a time stand for those grown at once.

Twelve streams of a step that jumps, each learned by a tree whose fresh trees grow as
rows come, and by one that is rejuvenated by hand at the same rows. Errors are compared
in pairs. Were both equal in law, the t statistic of the difference (11 degrees of
freedom) would pass its bound in 5 of 10,000 runs; two parts in a hundred of the error
are granted besides, which is what one could care about.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import StreamingTree
from dyntree._core.trees import probe
from tests.helpers import mostly_slow
from tests.statistical.clouds import native_cloud

WINDOW = 60
ROWS = 700
SEEDS = 12
T_BOUND = 4.44  # one tail, 11 degrees of freedom, 5e-4


def rows_of(seed: int) -> tuple[Any, Any, Any]:
    """Rows, responses and their means: a step that turns around at random rows."""
    rng = np.random.default_rng(seed)
    X = rng.random((ROWS, 2))
    turns = np.cumsum(rng.integers(60, 200, 20)) - rng.integers(60)
    sign = 1.0 - 2.0 * (np.searchsorted(turns, np.arange(ROWS), side="right") % 2)
    mean = sign * np.where(X[:, 0] > 0.5, 2.0, -2.0) + 2.0 * X[:, 1]
    return X, mean + 0.5 * rng.standard_normal(ROWS), mean


def error(model: str, how: str, seed: int) -> float:
    """Mean squared error of one-step predictions, from the third window on."""
    X, y, mean = rows_of(seed)
    every = WINDOW if how == "by rows" else 0
    stream = StreamingTree(
        model, window=WINDOW, forget=0.95, rejuvenate_every=every, n_particles=60,
        seed=seed,
    )  # fmt: skip
    squares = []
    for t in range(ROWS):
        if t >= 3 * WINDOW:
            squares.append((stream.predict(X[t : t + 1]).mean[0] - mean[t]) ** 2)
        stream.update(X[t : t + 1], y[t : t + 1])
        tree = stream.tree
        if how == "at once" and tree.n_seen % WINDOW == 0 and tree.n_retired:
            tree.rejuvenate()
    return float(np.mean(squares))


def errors(model: str, how: str) -> np.ndarray:
    return np.array([error(model, how, seed) for seed in range(SEEDS)])


@pytest.mark.parametrize("model", mostly_slow(["constant", "linear"]))
def test_growing_by_rows_loses_nothing(model: str) -> None:
    by_rows, at_once = errors(model, "by rows"), errors(model, "at once")
    loss = by_rows - at_once
    se = loss.std(ddof=1) / np.sqrt(SEEDS)
    assert loss.mean() < 0.02 * at_once.mean() + T_BOUND * se
    assert se < 0.1 * at_once.mean()  # so that a loss would be seen


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_fresh_trees_of_the_same_rows_have_the_same_law(model: str) -> None:
    """Where no row comes or goes, in leaves and evidence; false alarms 6e-6.

    Over 150 pairs of clouds: six statistics in all, each beyond 4.9 standard errors in
    one of a million runs.
    """
    X, y, _ = rows_of(1)
    y = (y > 0.0).astype(float) if model == "class" else y
    found: dict[str, list[list[float]]] = {"by rows": [], "at once": []}
    for seed in range(150):
        cloud = native_cloud(
            model, 2, seed=seed, n_particles=20, n_classes=2 * (model == "class")
        )
        cloud.update(X[:41], y[:41])
        cloud.retire([0])
        for how, own in (("by rows", cloud.copy()), ("at once", cloud)):
            if how == "by rows":
                probe.let_grow(own, 41)
                while own.n_particles == 20:
                    probe.let_grow(own, 0)
            else:
                own.rejuvenate(np.random.default_rng(seed).permutation(40))
            evidence = sum(evidence_of(own.tree(k)) for k in range(20, 40)) / 20
            found[how].append([own.shapes()[20:, 1].mean(), evidence])
    by_rows, at_once = (np.array(found[how]) for how in found)
    difference = by_rows - at_once
    se = difference.std(axis=0, ddof=1) / np.sqrt(150)
    assert np.all(np.abs(difference.mean(axis=0)) < 4.9 * se)


def evidence_of(tree: Any) -> float:
    """Log evidence of the leaves of a tree, as `Cloud.tree` shows it."""
    if tree[0] == "leaf":
        return float(tree[4])
    return evidence_of(tree[4]) + evidence_of(tree[5])
