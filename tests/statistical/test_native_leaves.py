"""Native leaves against plain NumPy, and the identities that conjugacy promises."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.trees import criteria, probe, query
from tests.oracle.native import Leaf, dirichlet_evidence

from .clouds import native_cloud

SEEDS = range(4)


def smooth(seed: int, n: int = 40, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


def leaf_of(X: np.ndarray, y: np.ndarray, model: str, weight=None) -> Leaf:
    z = X if model == "linear" else X[:, :0]
    return Leaf(z, y, np.ones(len(y)) if weight is None else weight, 0.1)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_leaf_is_the_conjugate_posterior(model: str, seed: int) -> None:
    X, y = smooth(seed)
    cloud = native_cloud(model, 3, alpha=0.0, n_particles=3)
    cloud.update(X, y)
    expected = leaf_of(X, y, model)
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, rel=1e-12)
    new = np.random.default_rng(seed + 100).standard_normal((5, 3))
    location, scale, df = query.predictive(cloud, new)
    for k, x in enumerate(new):
        answer = expected.predictive(x if model == "linear" else x[:0])
        assert (location[0, k], scale[0, k], df[0, k]) == pytest.approx(
            answer, rel=1e-11
        )


@pytest.mark.parametrize("level", [True, False])
@pytest.mark.parametrize("p", [*range(1, 13), 33])
def test_leaves_of_every_size_are_right(p: int, level: bool) -> None:
    """Kernels are written out for small sizes, and have to agree with the formulas.

    Evidence, predictions, what rows are worth, and the odds of splits. The worst
    relative difference over sizes and forty seeds is 1e-12, of a location near 0; the
    bound is 1e-10, or 1e-8 of log odds, which differences of evidence make.
    """
    X, y = smooth(p, n=60, p=p)
    cloud = native_cloud("linear", p, alpha=0.0, n_particles=2, intercept=level)
    cloud.update(X, y)
    expected = Leaf(X, y, np.ones(60), 0.1, level)
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, rel=1e-10)
    location, scale, df = query.predictive(cloud, X[:5])
    told = [expected.predictive(x) for x in X[:5]]
    np.testing.assert_allclose(
        np.transpose([location[0], scale[0], df[0]]), told, 1e-10
    )
    low, high = np.full(p, -1.0), np.linspace(0.5, 2.0, p)
    flags = np.zeros(p, dtype=bool)
    worth = criteria.alc_active(cloud, low, high, flags, False)
    told = [expected.reduction(x, low, high) for x in X]
    np.testing.assert_allclose(worth, told, rtol=1e-10)

    probe.set_tree_prior(cloud, 0.95, 2.0)
    cuts, grow, *_ = probe.offer(cloud, probe.roots(cloud)[0], 0, 20)
    odds = -expected.log_evidence * np.ones(20)
    for k, (column, value, *_) in enumerate(cuts):
        left = X[:, column] <= value
        for rows in (left, ~left):
            child = Leaf(X[rows], y[rows], np.ones(rows.sum()), 0.1, level)
            odds[k] += child.log_evidence
    assert len(cuts) == 20
    prior = np.log(0.95) + 2 * np.log(1 - 0.95 / 4) - np.log(1 - 0.95)
    assert grow == pytest.approx(prior + np.log(np.exp(odds).mean()), abs=1e-8)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_predictive_densities_multiply_to_the_evidence(model: str, seed: int) -> None:
    """The chain rule; and the order of the rows does not matter to the product.

    The first row has the density of a flat level, whatever it is.
    """
    X, y = smooth(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    sums = []
    for rows in (np.arange(len(y)), order):
        cloud = native_cloud(model, 3, alpha=0.0, n_particles=1)
        cloud.update(X[rows[:1]].copy(), y[rows[:1]].copy())
        first = cloud.tree(0)[4]
        sums.append(cloud.update(X[rows[1:]].copy(), y[rows[1:]].copy()).sum())
        assert first == pytest.approx(-0.5 * np.log(2.0 * np.pi), rel=1e-12)
        assert first + sums[-1] == pytest.approx(cloud.tree(0)[4], rel=1e-12)
    assert sums[0] == pytest.approx(sums[1], rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_class_leaves_are_dirichlet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 30).astype(float)
    cloud = native_cloud("class", 1, alpha=0.0, n_classes=3, n_particles=2, min_leaf=1)
    total = cloud.update(rng.random((30, 1)), y).sum()
    counts = np.bincount(y.astype(int), minlength=3).astype(float)
    assert total == pytest.approx(dirichlet_evidence(counts, 1.0), rel=1e-12)
    p = query.predict(cloud, np.array([[0.5]]))["p"][0]
    assert p == pytest.approx((counts + 1 / 3) / 31, rel=1e-12)


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("seed", SEEDS)
def test_retiring_keeps_predictions_and_evidence(model: str, seed: int) -> None:
    """With forget = 1 a retired row is as good as an active one until a grow."""
    X, y = smooth(seed, n=120)
    n_classes = 0
    if model == "class":
        y, n_classes = (y > 0).astype(float), 2
    cloud = native_cloud(model, 3, seed=seed, n_classes=n_classes, min_leaf=4)
    cloud.update(X, y)
    before = query.predict(cloud, X)
    evidence = [leaf_evidence(cloud.tree(k)) for k in range(cloud.n_particles)]
    rng = np.random.default_rng(seed)
    cloud.retire(rng.permutation(120)[:90], 1.0)
    after = query.predict(cloud, X)
    for name, values in before.items():
        np.testing.assert_allclose(after[name], values, rtol=1e-10, atol=1e-12)
    again = [leaf_evidence(cloud.tree(k)) for k in range(cloud.n_particles)]
    np.testing.assert_allclose(again, evidence, rtol=1e-10)


def leaf_evidence(tree: tuple) -> float:
    if tree[0] == "leaf":
        return tree[4]
    return leaf_evidence(tree[4]) + leaf_evidence(tree[5])


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_forgetting_weighs_rows_down(model: str) -> None:
    X, y = smooth(5, n=30)
    cloud = native_cloud(model, 3, alpha=0.0, n_particles=1)
    cloud.update(X, y)
    for _ in range(10):  # the last row takes the freed place
        cloud.retire([0], 0.8)
    ids = cloud.row_ids()
    gone = [0, *range(29, 20, -1)]  # in the order in which they retired
    weight = np.ones(30)
    weight[gone] = 0.8 ** np.arange(9, -1, -1)
    assert sorted(ids) == sorted(set(range(30)) - set(gone))
    expected = leaf_of(X, y, model, weight)
    assert cloud.tree(0)[4] == pytest.approx(expected.log_evidence, rel=1e-11)


def test_a_cap_on_retired_mass_holds() -> None:
    X, y = smooth(6, n=60)
    cloud = native_cloud("linear", 3, alpha=0.0, n_particles=1, max_retired=7.5)
    cloud.update(X, y)
    cloud.retire(np.arange(40), 1.0)
    assert cloud.tree(0)[3] == pytest.approx(7.5)


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_a_billion_rows_do_not_overflow(model: str) -> None:
    """Retired sums of the weight of 10^9 rows still predict to full precision."""
    X, y = smooth(7, n=50)
    cloud = native_cloud(model, 3, alpha=0.0, n_particles=1)
    cloud.update(X, y)
    cloud.retire(np.arange(49), 1.0)
    header, arrays = cloud.to_arrays()
    sums = arrays["leaf_sums"].copy()
    stride = {"constant": 3, "linear": 15}[model]  # cross products of (1, z, t)
    sums[:, stride : 2 * stride] *= 1e9 / 49
    heavy = type(cloud).from_arrays(header, {**arrays, "leaf_sums": sums}, cloud.source)
    heavy.update(X[:1], y[:1])
    location, scale, df = query.predictive(heavy, X[:3])
    assert np.all(np.isfinite(location))
    assert np.all(np.isfinite(scale))
    assert df[0, 0] == pytest.approx(1e9 + 2, rel=1e-12)


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alc_over_a_rectangle_is_the_integral(model: str, seed: int) -> None:
    """Gauss-Legendre nodes integrate the quadratic integrand of a leaf exactly."""
    X, y = smooth(seed, n=30, p=2)
    cloud = native_cloud(model, 2, alpha=0.0, n_particles=2)
    cloud.update(X, y)
    low, high = np.array([-1.0, -0.5]), np.array([2.0, 0.75])
    nodes, w = np.polynomial.legendre.leggauss(3)
    grid = [low[j] + (nodes + 1) / 2 * (high[j] - low[j]) for j in range(2)]
    refs = np.array([[a, b] for a in grid[0] for b in grid[1]])
    weights = np.outer(w / 2, w / 2).ravel() * len(refs)
    numeric = criteria.alc_reference(cloud, X[:6], refs, np.tile(weights, (2, 1)))
    flags = np.zeros(2, dtype=bool)
    analytic = criteria.alc_rectangle(cloud, X[:6], low, high, flags, False)
    np.testing.assert_allclose(analytic, numeric, rtol=1e-11)


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_alc_over_trees_is_the_average_over_the_rectangle(model: str) -> None:
    """Against a fine midpoint grid; its error is of the order of one cell, 1 / 400."""
    X, y = smooth(3, n=150, p=2)
    X[:, 0] = (X[:, 0] > 0).astype(float)
    cloud = native_cloud(model, 2, n_particles=20, min_leaf=5)
    cloud.update(X, y + 3 * X[:, 0])
    low, high = np.array([0.0, -1.0]), np.array([1.0, 1.0])
    middle = -1 + 2 * (np.arange(400) + 0.5) / 400
    refs = np.array([[a, b] for a in (0.0, 1.0) for b in middle])
    inside = X[np.abs(X[:, 1]) < 1][:8]
    numeric = criteria.alc_reference(cloud, inside, refs)
    flags = np.array([True, False])
    analytic = criteria.alc_rectangle(cloud, inside, low, high, flags, False)
    np.testing.assert_allclose(analytic, numeric, rtol=0.02)
    active = criteria.alc_active(cloud, low, high, flags, False)
    at_rows = criteria.alc_rectangle(cloud, cloud.rows()[0], low, high, flags, False)
    np.testing.assert_allclose(active, at_rows, rtol=1e-12)
