"""Family: sums that can be added, removed, pooled and discounted."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree._core.family import Counts, Family, Moments, Regression
from tests.probes import core as probe

FAMILIES = {
    "moments": Moments(True),
    "through the origin": Moments(False),
    "regression": Regression(3),
    "counts": Counts(4),
}
# whole numbers and weights that are sums of few powers of two: no rounding anywhere
rng = np.random.default_rng(0)
X = rng.integers(-8, 9, size=(12, 3)).astype(np.float64)
Y = rng.integers(0, 4, size=12).astype(np.float64)
WEIGHTS = rng.choice([1.0, 0.5, 2.0], size=12)


def sums(family: Family, rows: range, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    """The statistics by their definition."""
    x, y, w = X[rows], Y[rows], weights[rows]
    if isinstance(family, Counts):
        return np.concatenate([[w.sum()], np.bincount(y.astype(int), w, 4)])
    level = w @ y if family.has_level else 0.0
    parts = [[w.sum(), level, w @ y**2]]
    if isinstance(family, Regression):
        gram = x.T @ (w[:, None] * x)
        parts += [gram[: j + 1, j] for j in range(3)] + [x.T @ (w * y)]
    return np.concatenate(parts)


def added(family: Family, rows: range, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    row = np.zeros(family.stride)
    for k in rows:
        probe.family_add(family, row, X[k], Y[k], weights[k])
    return row


@pytest.mark.parametrize("name", FAMILIES)
def test_sums_are_what_they_say(name: str) -> None:
    family = FAMILIES[name]
    got = added(family, range(12))
    assert got.tolist() == sums(family, range(12)).tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_add_then_remove_restores(name: str) -> None:
    family, ones = FAMILIES[name], np.ones(12)
    row = added(family, range(12), ones)
    for k in (11, 3, 7):
        probe.family_add(family, row, X[k], Y[k], -1.0)
    kept = [k for k in range(12) if k not in (11, 3, 7)]
    assert row.tolist() == sums(family, kept, ones).tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_merge_pools(name: str) -> None:
    family = FAMILIES[name]
    left, right = added(family, range(5)), added(family, range(5, 12))
    before = right.tolist()
    probe.family_merge(family, left, right)
    assert left.tolist() == sums(family, range(12)).tolist()
    assert right.tolist() == before


@pytest.mark.parametrize("name", FAMILIES)
def test_scale_discounts_and_clear_empties(name: str) -> None:
    family = FAMILIES[name]
    row = added(family, range(12))
    probe.family_scale(family, row, 0.25)
    assert row.tolist() == sums(family, range(12), 0.25 * WEIGHTS).tolist()
    probe.family_clear(family, row)
    assert row.tolist() == [0.0] * family.stride
