"""Gaps of linear leaves against plain NumPy and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.trees import query
from dyntree._core.trees.cloud import Cloud
from tests.oracle import gaps as oracle
from tests.oracle.native import Leaf
from tests.statistical.clouds import native_cloud


def leaf_and_rows(
    seed: int, n: int, kinds: str, level: bool = True
) -> tuple[Cloud, np.ndarray, np.ndarray]:
    """One linear leaf. Columns: "x" real, "b" boolean, "f" three of a factor."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    columns = []
    for kind in kinds:
        if kind == "x":
            columns.append(0.8 * common + 0.6 * rng.standard_normal(n))
        elif kind == "b":
            columns.append((common + rng.standard_normal(n) > 0.3).astype(float))
        else:
            columns += list(np.eye(3)[rng.integers(0, 3, n)].T)
    X = np.column_stack(columns)
    y = X @ rng.standard_normal(X.shape[1]) + 0.5 * rng.standard_normal(n)
    cloud = native_cloud(
        "linear", X.shape[1], alpha=0.0, n_particles=2, intercept=level
    )
    cloud.update(X, y)
    return cloud, X, y


def gaps_in(width: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    gaps = rng.random((n, width)) < 0.4
    gaps[np.arange(n), rng.integers(0, width, n)] = True
    return gaps


@pytest.mark.parametrize("kinds", ["x", "xxx", "b", "xb", "xxf", "fb", "xxbbf"])
@pytest.mark.parametrize("seed", range(3))
def test_a_leaf_fills_gaps_by_its_own_moments(kinds: str, seed: int) -> None:
    """Shares, locations, scales and df of all ways are those of the formulas."""
    cloud, X, y = leaf_and_rows(seed, 60, kinds)
    leaf = Leaf(X, y, np.ones(60), 0.1)
    for gap in gaps_in(X.shape[1], 8, seed):
        x = np.where(gap, np.nan, X[seed])
        expected = oracle.laws(leaf, oracle.ways(X, X, x, np.ones(X.shape[1])))
        _, *told = query.mixture(cloud, x[None])
        got = np.array(told[:4]).T
        want = np.array(expected)
        got, want = (part[np.lexsort(part[:, :2].T.round(9))] for part in (got, want))
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


def test_variances_are_those_of_simulation() -> None:
    """Gaps and slopes drawn by their laws: the same mean and variance within 1 %.

    With 400,000 draws the standard errors are .16 % of the deviation and .22 % of the
    variance, or a little more: a false failure beyond four of them has 1e-4 of chances,
    and the seed is fixed.
    """
    cloud, X, y = leaf_and_rows(0, 40, "xxx")
    x = np.array([np.nan, 0.4, np.nan])
    leaf = Leaf(X, y, np.ones(40), 0.1)
    (way,) = oracle.ways(X, X, x, np.ones(3))
    rng = np.random.default_rng(1)
    n = 400_000
    z = np.tile(way.z, (n, 1))
    z[:, way.gaps] = rng.multivariate_normal(way.z[way.gaps], way.covariance, n)
    sigma = np.sqrt(leaf.scale / leaf.shape)  # as the Student t's scale has it
    b = rng.multivariate_normal(leaf.mean, sigma**2 * np.linalg.inv(leaf.precision), n)
    drawn = b[:, 0] + np.sum(z * b[:, 1:], axis=1) + sigma * rng.standard_normal(n)
    _, _, location, scale, *_ = query.mixture(cloud, x[None])
    assert drawn.mean() == pytest.approx(location[0], abs=0.01 * scale[0])
    assert drawn.var() == pytest.approx(scale[0] ** 2, rel=0.01)


def test_a_factor_has_a_component_a_level() -> None:
    """Without any value of it: three peaks, by how often each level came."""
    cloud, X, _ = leaf_and_rows(1, 90, "f")
    start, weight, *_ = query.mixture(cloud, np.full((1, 3), np.nan))
    np.testing.assert_allclose(np.sort(weight), np.sort(X.mean(axis=0)), rtol=1e-9)
    assert start[1] == 3


def test_more_columns_than_a_factor_is_worth_are_independent() -> None:
    """Seventy columns: each gap has its own mean and variance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 70))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    cloud = native_cloud("linear", 70, alpha=0.0, n_particles=1)
    cloud.update(X, y)
    x = X[:1].copy()
    x[0, 0] = np.nan
    _, _, location, scale, *_ = query.mixture(cloud, x)
    leaf = Leaf(X, y, np.ones(200), 0.1)
    filled = np.where(np.isnan(x[0]), X.mean(axis=0), x[0])
    assert location[0] == pytest.approx(leaf.predictive(filled)[0], rel=1e-9)
    assert scale[0] > 0.8 * abs(leaf.mean[1])


def test_a_leaf_of_one_row_has_the_moments_of_all() -> None:
    cloud = native_cloud("linear", 2, alpha=0.0, n_particles=1)
    cloud.update(np.array([[0.3, 0.4]]), np.array([1.0]))
    _, weight, location, scale, df, _ = query.mixture(cloud, np.full((1, 2), np.nan))
    assert weight == pytest.approx([1.0])
    assert all(np.isfinite([location[0], scale[0], df[0]]))
