"""Laws that leaves are drawn from: those of the formulas, and of what they predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree._core.trees import query
from dyntree._core.trees.leaf_draws import LeafDraws, root_splits
from tests.helpers import MODELS, grown
from tests.oracle.draws import covariance
from tests.oracle.native import Leaf
from tests.statistical.clouds import native_cloud
from tests.unit.trees.test_flat_level import WEIGHTS, leaf_of_weight

EXACT = {"rtol": 1e-11, "atol": 1e-11}
REAL = [name for name in MODELS if name != "class"]


def native(
    model: str, gaps: bool = False, retired: bool = False, **options: Any
) -> tuple[Any, Any]:
    """A native cloud that has learned rows, and rows to ask it about."""
    rng = np.random.default_rng(3)
    X = rng.random((90, 3))
    y = np.where(X[:, 0] > 0.5, 3.0 + X[:, 1], -X[:, 2]) + 0.2 * rng.standard_normal(90)
    asked = rng.normal(size=(40, 3))
    if gaps:
        for rows in (X, asked):
            rows[rng.random(rows.shape) < 0.2] = np.nan
    if model == "linear":  # which integrate over what is missing in a row
        asked = np.nan_to_num(asked)
    cloud = native_cloud(model, 3, n_particles=30, **options)
    cloud.update(X, np.digitize(y, [0.0, 2.0]).astype(float) if model == "class" else y)
    if retired:
        cloud.retire(np.arange(30), 0.9)
    return cloud, asked


def check_predicted(cloud: Any, asked: Any) -> None:
    """Means and variances of the laws are those that the leaves predict.

    With kappa the variance of the mean over sigma^2 = Q / df, a response's scale is
    sqrt(Q / df (1 + kappa)).
    """
    location, scale, df = query.predictive(cloud, asked)
    drawn = LeafDraws(cloud, np.ascontiguousarray(asked))
    for k, root in enumerate(drawn.roots.tolist()):
        home, leaves = drawn.leaves(root)
        mean, factor, squares, freedom = drawn.coefficients(leaves)
        np.testing.assert_allclose(
            drawn.values(mean[None], home)[0], location[k], rtol=1e-9, atol=1e-9
        )
        columns = np.moveaxis(factor, 2, 0)  # each moves the mean by itself
        off = drawn.values(np.ascontiguousarray(columns), home)
        kappa = (off**2).sum(axis=0)
        told = np.sqrt((squares / freedom)[home] * (1.0 + kappa))
        np.testing.assert_allclose(told, scale[k], rtol=1e-9)
        assert freedom[home].tolist() == df[k].tolist()


@pytest.mark.parametrize("retired", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("constant", {}),
        ("linear", {}),
        ("linear", {"intercept": False}),
        ("linear", {"n_basis": 2}),
        ("prior", {}),
    ],
)
def test_laws_of_native_leaves_are_what_they_predict(
    model: str, options: dict[str, Any], gaps: bool, retired: bool
) -> None:
    check_predicted(*native(model, gaps, retired, **options))


@pytest.mark.parametrize("name", REAL)
def test_laws_of_rs_leaves_are_what_they_predict(name: str) -> None:
    cloud = grown(name)
    asked = np.random.default_rng(4).random((20, 2))
    if name == "augmented":
        asked[:, 0] = 1.0
    check_predicted(cloud, asked)
    if name != "implicit":
        cloud.retire(np.arange(8), 0.8)
        check_predicted(cloud, asked)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize(("p", "level"), [(0, True), (1, True), (3, True), (3, False)])
def test_laws_of_any_weight_are_those_of_the_formulas(
    p: int, level: bool, weight: float
) -> None:
    """Means W b, and W P^-1 W' for all pairs of rows, of faded and retired rows."""
    faded, one, X = leaf_of_weight(p, weight, level)
    drawn = LeafDraws(faded, X)
    home, leaves = drawn.leaves(int(drawn.roots[0]))
    mean, factor, squares, df = drawn.coefficients(leaves)
    z = X[:, :p]
    W = np.column_stack([np.ones(len(z)), z])
    told = W[:, 1:] @ one.mean if not level else W @ one.mean
    np.testing.assert_allclose(drawn.values(mean[None], home)[0], told, rtol=1e-8)
    pairs = W @ factor[0] @ factor[0].T @ W.T
    np.testing.assert_allclose(pairs, covariance(one, z), rtol=1e-8, atol=1e-10)
    assert squares[0] == pytest.approx(2.0 * one.scale, rel=1e-9)
    assert df[0] == pytest.approx(2.0 * one.shape, rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_laws_of_random_leaves_are_those_of_the_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, n, level = seed % 4, int(rng.integers(4, 40)), bool(seed % 8 < 6 or not seed % 4)
    X = rng.standard_normal((n, max(p, 1)))
    y = X[:, :p] @ rng.standard_normal(p) + rng.standard_normal(n)
    cloud = native_cloud(
        "linear" if p else "constant", len(X[0]), alpha=0.0, n_particles=1,
        intercept=level,
    )  # fmt: skip
    cloud.update(X, y)
    one = Leaf(X[:, :p], y, np.ones(n), 0.1, level)
    drawn = LeafDraws(cloud, X)
    home, leaves = drawn.leaves(int(drawn.roots[0]))
    mean, factor, squares, df = drawn.coefficients(leaves)
    skip = int(not level)
    W = np.column_stack([np.ones(n), X[:, :p]])
    np.testing.assert_allclose(
        drawn.values(mean[None], home)[0], W[:, skip:] @ one.mean, **EXACT
    )
    pairs = W @ factor[0] @ factor[0].T @ W.T
    np.testing.assert_allclose(pairs, covariance(one, X[:, :p]), **EXACT)
    np.testing.assert_allclose([squares[0], df[0]], [2 * one.scale, 2 * one.shape])


@pytest.mark.parametrize("retired", [False, True])
@pytest.mark.parametrize("rules", ["native", "r"])
def test_dirichlet_laws_have_the_means_that_leaves_predict(
    rules: str, retired: bool
) -> None:
    if rules == "r":
        cloud, asked = grown("class"), np.random.default_rng(4).random((20, 2))
        if retired:
            cloud.retire(np.arange(8), 0.8)
    else:
        cloud, asked = native("class", True, retired, n_classes=3)
    drawn = LeafDraws(cloud, np.ascontiguousarray(asked))
    proba = [query.class_probabilities(cloud, c, asked) for c in range(3)]
    held = 0.0
    for k, root in enumerate(drawn.roots.tolist()):
        home, leaves = drawn.leaves(root)
        counts = drawn.counts(leaves)
        means = (counts / counts.sum(axis=1, keepdims=True))[home]
        np.testing.assert_allclose(means, np.transpose(proba)[:, k], rtol=1e-12)
        held = max(held, counts.sum(axis=1).max() - 1.0)
    assert held > 10.0


def test_equal_trees_and_first_splits_are_told() -> None:
    cloud, _ = native("constant")
    variable, value = root_splits(cloud)
    for k in range(cloud.n_particles):
        root = cloud.tree(k)
        if root[0] == "leaf":
            assert variable[k] == -1
        else:
            assert (variable[k], value[k]) == (root[2], root[3])
    roots = LeafDraws(cloud, np.zeros((0, 3))).roots
    assert len(roots) == cloud.n_particles
    assert len({*roots.tolist()}) < cloud.n_particles
    for k, root in enumerate(roots.tolist()):
        assert cloud.tree(int(np.argmax(roots == root))) == cloud.tree(k)
