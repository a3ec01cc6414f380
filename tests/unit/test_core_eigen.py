"""Symmetric eigenproblems, against LAPACK's answers and the definition."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.eigen import symmetric_eigen

EPS = np.finfo(float).eps


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 64])
@pytest.mark.parametrize("kind", ["full", "low rank", "graded", "diagonal", "zero"])
def test_values_and_vectors_are_what_they_say(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    B = rng.normal(size=(n, n if kind == "full" else max(1, n // 3)))
    A = B @ B.T
    if kind == "graded":
        scale = np.geomspace(1.0, 1e-8, n)
        A = scale[:, None] * (A + np.eye(n)) * scale
    if kind == "diagonal":
        A = np.diag(rng.normal(size=n))
    if kind == "zero":
        A = np.zeros((n, n))
    A = (A + A.T) / 2.0
    values, vectors = symmetric_eigen(A)
    size = max(np.abs(values).max(), 1e-300)
    expected = np.linalg.eigvalsh(A)[::-1]
    np.testing.assert_allclose(values, expected, rtol=0, atol=20 * n * EPS * size)
    assert np.all(np.diff(values) <= 0.0)
    assert np.abs(vectors @ A - values[:, None] * vectors).max() <= 20 * n * EPS * size
    assert np.abs(vectors @ vectors.T - np.eye(n)).max() <= 20 * n * EPS
