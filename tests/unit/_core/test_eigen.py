"""Symmetric eigenproblems, against LAPACK's answers and the definition."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.eigen import leading_eigen, symmetric_eigen

EPS = np.finfo(float).eps


KINDS = ("full", "low rank", "graded", "diagonal", "zero")


def matrix(n: int, kind: str) -> np.ndarray:
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
    return (A + A.T) / 2.0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_leading_vectors_are_those_of_all(n: int, kind: str) -> None:
    """Or there are none, and the whole problem is to be solved."""
    A = matrix(n, kind)
    for m in {1, min(3, n), n}:
        values, vectors = leading_eigen(A, m)
        size = max(np.abs(values).max(), 1e-300)
        expected = np.linalg.eigvalsh(A)[::-1]
        np.testing.assert_allclose(values, expected, rtol=0, atol=20 * n * EPS * size)
        if vectors is None:
            assert kind in ("low rank", "zero")
            continue
        left = np.abs(vectors @ A - values[:m, None] * vectors).max()
        assert left <= 40 * n * EPS * size
        assert np.abs(vectors @ vectors.T - np.eye(m)).max() <= 40 * n * EPS


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_vectors_are_what_they_say(n: int, kind: str) -> None:
    A = matrix(n, kind)
    values, vectors = symmetric_eigen(A)
    size = max(np.abs(values).max(), 1e-300)
    expected = np.linalg.eigvalsh(A)[::-1]
    np.testing.assert_allclose(values, expected, rtol=0, atol=20 * n * EPS * size)
    assert np.all(np.diff(values) <= 0.0)
    assert np.abs(vectors @ A - values[:, None] * vectors).max() <= 20 * n * EPS * size
    assert np.abs(vectors @ vectors.T - np.eye(n)).max() <= 20 * n * EPS
