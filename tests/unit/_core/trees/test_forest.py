"""Random trees of which all prunings are averaged: the core beside the oracle."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np
import pytest

from dyntree._core.rng import CounterSource
from dyntree._core.trees.forest import Forest
from tests.oracle.random_trees import Knot, RandomTrees, prunings

OPTIONS: dict[str, Any] = {
    "n_features": 3, "n_classes": 3, "n_trees": 4, "discount": 1.0, "least_held": 6,
    "most_held": 12, "n_candidates": 4, "n_held": 64, "most_depth": 8,
    "class_mass": 1.0, "split_share": 0.9,
}  # fmt: skip


def rows(n_classes: int, gaps: bool = False, n: int = 300) -> tuple[Any, Any]:
    """A checker of labels, or a wave of responses, with ties."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3)).round(1)
    if n_classes:
        y = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]).astype(float)
    else:
        y = X[:, 0] ** 2 + 0.1 * rng.normal(size=n)
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def forest(scale: tuple[float, float] = (0.0, 1.0), **options: Any) -> Forest:
    """A forest with few trees."""
    made = Forest(CounterSource(5), **OPTIONS | {"most_nodes": 4096} | options)
    if not made.options["n_classes"]:
        made.set_scale(*scale)
    return made


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("discount", [1.0, 0.97])
@pytest.mark.parametrize("n_classes", [3, 0])
def test_the_core_meets_the_oracle(n_classes: int, discount: float, gaps: bool) -> None:
    X, y = rows(n_classes, gaps)
    own = {"n_classes": n_classes, "discount": discount}
    scale = (y.mean(), y.std())
    made = forest(scale, **own)
    oracle = RandomTrees(5, **OPTIONS | own)
    oracle.begin(*scale)
    found, expected = made.update(X, y), oracle.update(X, y)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
    if n_classes:
        found, expected = made.predict_proba(X), oracle.predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_candidates", [1, 4])
def test_the_forecast_is_the_mean_over_all_prunings(n_candidates: int) -> None:
    """Each pruning weighs by its prior and the evidence of its leaves.

    Cuts are given here: rows that chose them count as if they had not.
    """
    X, y = rows(3, n=40)
    own = {"most_held": 64, "most_depth": 3, "n_trees": 2, "n_candidates": n_candidates}
    oracle = RandomTrees(5, **OPTIONS | own)
    oracle.begin()
    oracle.update(X, y)
    made = forest(**own)
    made.update(X, y)
    expected = np.zeros((10, 3))
    for root in oracle.roots:
        assert root.children
        weights, proba = [], []
        for leaves in prunings(root):
            weights.append(log_weight(root, leaves))
            proba.append([leaf_of(leaves, root, x).leaf.proba() for x in X[:10]])
        weight = np.exp(np.array(weights) - max(weights))
        expected += np.tensordot(weight / weight.sum(), proba, 1) / 2
    np.testing.assert_allclose(made.predict_proba(X[:10]), expected, rtol=1e-12)


def log_weight(root: Knot, leaves: list[Knot]) -> float:
    """Log prior of a pruning and evidence of its leaves."""
    ends = {id(leaf) for leaf in leaves}

    def weigh(knot: Knot) -> float:
        if id(knot) in ends:
            prior = log(1.0 - OPTIONS["split_share"]) if knot.children else 0.0
            return prior + knot.leaf.log_evidence()
        return log(OPTIONS["split_share"]) + sum(map(weigh, knot.children))

    return weigh(root)


def leaf_of(leaves: list[Knot], root: Knot, x: Any) -> Knot:
    """The leaf of a pruning that has x."""
    ends = {id(leaf) for leaf in leaves}
    return next(knot for knot in root.path(x) if id(knot) in ends)


@pytest.mark.parametrize("discount", [1.0, 0.99])
@pytest.mark.parametrize("n_classes", [3, 0])
def test_calls_threads_and_copies_change_no_bit(
    n_classes: int, discount: float
) -> None:
    X, y = rows(n_classes, gaps=True, n=700)
    own = {"n_classes": n_classes, "discount": discount}
    at_once = forest(**own)
    expected = at_once.update(X, y)
    cut, found = forest(**own), []
    edges = [*range(0, 300, 7), *range(300, 700, 111), 700]
    for first, end in pairwise(edges):
        found.append(cut.update(X[first:end], y[first:end], n_threads=2))
        cut = cut.copy()
    np.testing.assert_array_equal(np.concatenate(found), expected)
    one, other = at_once.to_arrays()[1], cut.to_arrays()[1]
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("n_classes", [3, 0])
def test_units_of_columns_and_responses_change_no_bit(n_classes: int) -> None:
    X, y = rows(n_classes)
    unit = np.array([2.0**-40, 1.0, 2.0**30])
    own = {"n_classes": n_classes}
    expected = forest(**own).update(X, y)
    found = forest(**own).update(X * unit, y)
    np.testing.assert_array_equal(found, expected)
    if not n_classes:
        found = forest((0.0, 4.0), **own).update(X, 4.0 * y)
        np.testing.assert_allclose(found, expected - log(4.0), rtol=0, atol=1e-9)


def test_the_first_response_that_differs_gives_the_unit() -> None:
    X, y = rows(0)
    y[:20] = 3.0
    found = []
    for c in (1.0, 2.0**20):
        made = forest((3.0 * c, 0.0), n_classes=0)
        assert not made.has_unit
        made.update(X, c * y)
        assert made.has_unit
        assert made.scale == (3.0 * c, c * abs(y[20] - 3.0))
        found.append(made.mixture(X[:9]))
    np.testing.assert_array_equal(found[1][2], 2.0**20 * found[0][2])
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 0])
def test_trees_stay_within_their_nodes(n_classes: int) -> None:
    X, y = rows(n_classes, n=3000)
    made = forest(n_classes=n_classes, most_nodes=40)
    made.update(X, y)
    assert made.n_nodes.max() <= 40
    assert made.n_nodes.min() > 20
    before = made.nbytes()
    made.update(X, y)
    assert made.nbytes() == before
    arrays = made.to_arrays()[1]
    ends = np.cumsum(arrays["n_knots"])
    for end, size in zip(ends, arrays["n_knots"], strict=True):
        left, parent = (arrays[name][end - size : end] for name in ("left", "parent"))
        for v in np.flatnonzero(left >= 0):
            assert (parent[left[v] : left[v] + 2] == v).all()


def test_a_late_label_and_a_late_column_join_what_is_known() -> None:
    X, y = rows(2)
    y = np.minimum(y, 1.0)
    made = forest(n_classes=2)
    made.update(X, y)
    before = made.predict_proba(X[:20])
    more = made.with_classes(3)
    after = more.predict_proba(X[:20])
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    assert (after[:, 2] > 0.0).all()
    assert (after[:, 2] < 0.2).all()
    assert np.abs(after[:, :2] - before).max() < 0.2
    more.update(X[:50], np.full(50, 2.0))
    assert more.predict_proba(X[:50])[:, 2].mean() > after[:, 2].mean()

    wide = made.widened(lambda old: np.column_stack([old, np.zeros(len(old))]))
    seen = np.column_stack([X, np.zeros(len(X))])
    np.testing.assert_array_equal(wide.predict_proba(seen[:20]), before)
    rng = np.random.default_rng(2)
    seen[:, 3] = rng.integers(2, size=len(X))
    wide.update(seen, seen[:, 3].copy())
    proba = wide.predict_proba(seen)
    assert np.mean(proba.argmax(axis=1) == seen[:, 3]) > 0.75  # chance: .5


def test_the_mixture_of_a_row_has_the_density_that_is_learned() -> None:
    from scipy.stats import t

    X, y = rows(0)
    made = forest((y.mean(), y.std()), n_classes=0, discount=0.98)
    made.update(X[:250], y[:250])
    start, weight, location, scale, df, of_mean = made.mixture(X[250:251])
    assert start.tolist() == [0, len(weight)]
    np.testing.assert_allclose(weight.sum(), 1.0)
    density = np.sum(weight * t.pdf(y[250], df, location, scale))
    np.testing.assert_allclose(exp(made.update(X[250:251], y[250:251])[0]), density)
    assert (of_mean < scale).all()
    assert (df > 2.0).all()


def test_a_row_of_many_ways_has_room_for_all() -> None:
    """More components than a row without gaps can have; memory was written beyond."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = X[:, 0] + np.sin(3.0 * X[:, 1])
    options = {"n_classes": 0, "n_trees": 20, "least_held": 4, "most_held": 8}
    made = forest((y.mean(), y.std()), **options)
    made.update(X, y)
    usual = (options["n_trees"] + 1) * (OPTIONS["most_depth"] + 1)
    for column in range(3):
        Z = X[:300].copy()
        Z[:, column] = np.nan
        start, *parts = made.mixture(Z)
        assert np.diff(start).max() > 2 * usual
        assert start[-1] == len(parts[0])
        shares = np.add.reduceat(parts[0], start[:-1])
        np.testing.assert_allclose(shares, 1.0, rtol=0, atol=1e-12)
        for row in range(0, 300, 50):
            _, *alone = made.mixture(Z[[row]])
            for part, own in zip(parts, alone, strict=True):
                assert np.array_equal(part[start[row] : start[row + 1]], own)
