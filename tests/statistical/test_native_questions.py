"""What native clouds are asked, where the answer is known or can be had by force."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from dyntree import DynamicTree
from dyntree._core.trees import criteria
from tests.oracle.native import Leaf

from .clouds import native_cloud

SEEDS = range(3)
FALSE_FAIL = 1e-6


@pytest.mark.parametrize("method", ["lhs", "boot"])
@pytest.mark.parametrize("seed", SEEDS)
def test_sobol_indices_of_a_linear_function(method: str, seed: int) -> None:
    """One linear leaf of 3 x0 + 2 x1 + x2, all but free of noise.

    Given the fit both samples are independent, and index j is b_j cov(x_j, f) / var f,
    under the uniform law of the hypercube or under that of the rows. Particles draw
    samples of their own, so t intervals over 60 of them hold; all six together fail
    with a rate of 1e-6. Ratios of moments are biased by about 1 / n_samples, hence a
    margin of 5 / 600. It sees errors of .05; one sample used twice gives indices of 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((500, 3)) - 0.5
    slopes = np.array([3.0, 2.0, 1.0])
    y = X @ slopes + 1e-6 * rng.standard_normal(500)
    tree = DynamicTree(
        "linear", rules="native", n_particles=60, seed=seed, tree_prior=(0.0, 2.0)
    ).update(X, y)
    told = tree.sensitivity(
        n_samples=600, n_grid=2, method=method, bounds=[[-0.5, 0.5]] * 3
    )
    law = np.eye(3) if method == "lhs" else np.cov(X.T)
    shares = slopes * (law @ slopes)
    truth = shares / shares.sum()
    reach = stats.t.isf(FALSE_FAIL / 12, 59) / np.sqrt(60)
    for values in (told.first, told.total):
        bound = reach * values.std(axis=0, ddof=1) + 5 / 600
        assert np.all(np.abs(values.mean(axis=0) - truth) < bound)
        assert np.all(bound < 0.05)


# ------------------------------------------------------------ which row says most
def leaves_with_boxes(
    tree: tuple, low: np.ndarray, high: np.ndarray
) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """Leaves of a tree without missing values, each with its box."""
    if tree[0] == "leaf":
        yield tree, low, high
        return
    _, _, j, cut, left, right = tree
    ceiling, floor = high.copy(), low.copy()
    ceiling[j], floor[j] = min(high[j], cut), max(low[j], cut)
    yield from leaves_with_boxes(left, low, ceiling)
    yield from leaves_with_boxes(right, floor, high)


def mean_variances(leaf: Leaf, z: np.ndarray) -> np.ndarray:
    """Posterior variance of the leaf's mean at each row of z."""
    w = np.column_stack([np.ones(len(z)), z])
    kappa = (w * np.linalg.solve(leaf.precision, w.T).T).sum(axis=1)
    return leaf.scale / (leaf.shape - 1) * kappa


def reduction(
    Z: np.ndarray, y: np.ndarray, z: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Variances of the mean at the rows of `at`, less those after a response at z.

    They are quadratic in that response, so that their expectation needs two points of
    the right mean and variance.
    """
    one = np.ones(len(y) + 1)
    before = Leaf(Z, y, one[1:], 0.1)
    location, scale, df = before.predictive(z)
    sd = scale * np.sqrt(df / (df - 2))
    after = [
        Leaf(np.vstack([Z, z]), np.append(y, location + side * sd), one, 0.1)
        for side in (-1, 1)
    ]
    left = np.mean([mean_variances(leaf, at) for leaf in after], axis=0)
    return mean_variances(before, at) - left


@pytest.mark.parametrize("model", ["constant", "linear"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alc_ranks_rows_by_what_one_more_would_bring(model: str, seed: int) -> None:
    """Every active row against brute force in every tree: nothing is left to chance.

    Three Gauss-Legendre nodes a column integrate the quadratic variance exactly.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((60, 2))
    y = 3.0 * (X[:, 0] > 0.5) + X[:, 1] + 0.3 * rng.standard_normal(60)
    cloud = native_cloud(model, 2, seed=seed, n_particles=4, min_leaf=6)
    cloud.update(X, y)
    low, high = np.zeros(2), np.array([1.0, 0.8])
    expected, p = np.zeros(60), 2 * (model == "linear")
    knots = (np.polynomial.legendre.leggauss(3)[0] + 1) / 2
    weights = np.polynomial.legendre.leggauss(3)[1] / 2
    grid = np.array([[a, b] for a in knots for b in knots])
    weight = np.outer(weights, weights).ravel()
    for k in range(4):
        for leaf, floor, ceiling in leaves_with_boxes(cloud.tree(k), low, high):
            ids = np.array(leaf[2])
            size = np.maximum(ceiling - floor, 0.0)
            nodes = floor + grid * size
            for row in ids:
                gain = reduction(X[ids, :p], y[ids], X[row, :p], nodes[:, :p])
                share = np.prod(size) / np.prod(high - low)
                expected[row] += share * (weight @ gain) / 4
    got = criteria.alc_active(cloud, low, high, np.zeros(2, dtype=bool), False)
    expected = expected[cloud.row_ids()]
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-12 * expected.max())
    # rows of one leaf may tie
    for end in (np.min, np.max):
        chosen = expected[got == end(got)]
        np.testing.assert_allclose(chosen, end(expected), rtol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_entropy_ranks_rows_by_the_labels_of_their_leaves(seed: int) -> None:
    """Against the counts of each leaf, retired ones included: nothing is random."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((80, 2)), rng.integers(0, 3, 80).astype(float)
    y[X[:, 0] > 0.5] = 2.0
    cloud = native_cloud("class", 2, seed=seed, n_particles=5, n_classes=3, min_leaf=2)
    cloud.update(X, y)
    leaves = [
        [
            np.array(leaf[2])
            for leaf, *_ in leaves_with_boxes(cloud.tree(k), *[X[0]] * 2)
        ]
        for k in range(5)
    ]
    cloud.retire(rng.permutation(80)[:50], 1.0)
    expected = np.zeros(80)
    for ids in [ids for tree in leaves for ids in tree]:
        p = (np.bincount(y[ids].astype(int), minlength=3) + 1 / 3) / (len(ids) + 1)
        expected[ids] -= (p * np.log(p)).sum() / 5
    got = criteria.entropy_active(cloud)
    expected = expected[cloud.row_ids()]
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert expected[np.argmin(got)] == pytest.approx(expected.min(), rel=1e-12)
