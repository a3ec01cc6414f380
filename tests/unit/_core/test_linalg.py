"""Packed matrices: NumPy's answers, in the oracle's order of operations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import linear
from tests.probes import core as probe

ORDERS = range(1, 8)
# rounding grows with the order and the condition, here below 7 and 100
BOUND = 1e-12


def packed(matrix) -> np.ndarray:
    """Columns of the upper triangle, one after the other."""
    a = np.asarray(matrix, dtype=np.float64)
    return np.concatenate([a[: j + 1, j] for j in range(len(a))])


def example(q: int) -> tuple[np.ndarray, np.ndarray]:
    """A positive definite matrix and a vector."""
    rng = np.random.default_rng(q)
    rows = rng.normal(size=(2 * q + 3, q))
    return rows.T @ rows, rng.normal(size=q)


@pytest.mark.parametrize("q", ORDERS)
def test_outer_product_is_added(q: int) -> None:
    a, x = example(q)
    got = packed(a)
    probe.add_outer(got, x)
    assert got.tolist() == packed(a + np.outer(x, x)).tolist()
    assert got.tolist() == packed(linear.add_outer(a.tolist(), x.tolist())).tolist()


@pytest.mark.parametrize("q", ORDERS)
def test_products(q: int) -> None:
    a, x = example(q)
    got = probe.symmetric_times(packed(a), x)
    np.testing.assert_allclose(got, a @ x, rtol=BOUND, atol=BOUND)
    assert got.tolist() == linear.symmetric_product(a.tolist(), x.tolist())
    assert probe.dot(a[0], x) == linear.dot(a[0].tolist(), x.tolist())
    assert probe.dot(a[0], x) == pytest.approx(a[0] @ x, rel=BOUND, abs=BOUND)


@pytest.mark.parametrize("q", ORDERS)
def test_factor_inverse_and_determinant(q: int) -> None:
    a, _ = example(q)
    u = packed(a)
    assert probe.factor(u, q) == 0
    inverse = probe.invert_factor(u, q)
    log_det = probe.minus_log_det(u, q)

    np.testing.assert_allclose(u, packed(np.linalg.cholesky(a).T), rtol=BOUND)
    np.testing.assert_allclose(
        inverse, packed(np.linalg.inv(a)), rtol=BOUND, atol=BOUND
    )
    assert log_det == pytest.approx(-np.linalg.slogdet(a)[1], rel=BOUND, abs=BOUND)

    fit = linear.solve(a.tolist(), [0.0] * (q - 1) + [1.0])
    assert u.tolist() == packed(linear.cholesky(a.tolist())).tolist()
    assert inverse.tolist() == packed(fit.inverse).tolist()
    assert log_det == fit.log_det


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan])
def test_a_pivot_that_is_not_positive_fails(q: int, pivot: float) -> None:
    for place in range(q):
        a = np.eye(q)
        a[place, place] = pivot
        assert probe.factor(packed(a), q) == -1
        assert linear.cholesky(a.tolist()) is None
