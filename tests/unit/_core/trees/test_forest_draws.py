"""Prunings of random trees and laws of their nodes, beside oracle and predictions."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.trees.forest_draws import ends_of, tree_laws
from dyntree.trees.answers.draws import cloud_draws
from tests.oracle.draws import product_moment
from tests.oracle.random_trees import RandomTrees
from tests.unit._core.trees.test_forest import OPTIONS, forest, rows

N = 40_000


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("discount", [1.0, 0.97])
def test_prunings_and_laws_make_up_the_probabilities(
    discount: float, gaps: bool
) -> None:
    X, y = rows(3, gaps)
    made = forest(discount=discount)
    made.update(X, y)
    asked = np.ascontiguousarray(X[:30])
    total = np.zeros((30, 3))
    for k in range(OPTIONS["n_trees"]):
        start, path, pruned, laws, row, share = tree_laws(made, k, asked)
        assert set(pruned[path[start[1:] - 1]].tolist()) == {1.0}
        assert np.bincount(row, share) == pytest.approx(np.ones(30), abs=1e-12)
        proba = laws / laws.sum(axis=1, keepdims=True)
        for way, j in enumerate(row):
            rest = share[way]
            for node in path[start[way] : start[way + 1]]:
                total[j] += rest * pruned[node] * proba[node]
                rest *= 1.0 - pruned[node]
    np.testing.assert_allclose(
        total / OPTIONS["n_trees"], made.predict_proba(asked), rtol=1e-12
    )


@pytest.mark.parametrize("discount", [1.0, 0.97])
def test_prunings_and_laws_make_up_the_mixture(discount: float) -> None:
    X, y = rows(0)
    made = forest((y.mean(), y.std()), n_classes=0, discount=discount)
    made.update(X, y)
    begin, weight, location, scale, df, of_mean = made.mixture(X[:1])
    assert begin.tolist() == [0, len(weight)]
    found = []
    for k in range(OPTIONS["n_trees"]):
        _, path, pruned, laws, *_ = tree_laws(made, k, np.ascontiguousarray(X[:1]))
        rest = 1.0 / OPTIONS["n_trees"]
        for node in path:
            n, mean, shape, rate = laws[node]
            variance = rate / shape
            found.append(
                (rest * pruned[node], mean, np.sqrt(variance * (1 + 1 / n)), 2 * shape,
                 np.sqrt(variance / n))
            )  # fmt: skip
            rest *= 1.0 - pruned[node]
    expected = np.transpose([weight, location, scale, df, of_mean])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_pruning_ends_at_the_first_node_that_stops() -> None:
    start, path = np.array([0, 3, 5]), np.array([0, 1, 2, 0, 3], dtype=np.int32)
    stops = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]], np.uint8)
    told = ends_of(start, path, stops)
    assert told.tolist() == [[2, 3], [1, 3], [0, 0], [2, 3]]


def test_two_rows_are_drawn_from_one_pruning() -> None:
    """Products of probabilities beside their exact means over prunings and leaves.

    At 5 standard errors of each of 45 products: false alarms below 3e-5.
    """
    X, y = rows(3)
    made, oracle = forest(), RandomTrees(5, **OPTIONS)
    oracle.begin()
    made.update(X, y)
    oracle.update(X, y)
    asked = np.ascontiguousarray(X[:5])
    rng = np.random.default_rng(1)
    blocks = cloud_draws(made, asked, N, rng)
    drawn = np.concatenate([block.mean for block in blocks])
    for first in range(5):
        for second in range(first, 5):
            for label in range(3):
                products = drawn[:, first, label] * drawn[:, second, label]
                exact = np.mean(
                    [
                        product_moment(root, asked[first], asked[second], label, 9.0)
                        for root in oracle.roots
                    ]
                )
                error = products.std() / np.sqrt(N)
                assert abs(products.mean() - exact) < 5 * error
