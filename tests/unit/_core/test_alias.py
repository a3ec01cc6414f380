"""Alias tables have the chances of their weights, whatever these are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyntree._core.alias import AliasTable

WEIGHTS = [
    [1.0],
    [1.0] * 8,
    [0.0, 0.0, 3.0, 0.0],
    [1e-38, 1.0],
    [5.0, 1e-30, 1e-3, 2.0, 0.0],
]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_chances_are_exact_to_the_last_bit_of_the_coin(weights: list[float]) -> None:
    expected = np.array(weights, dtype=np.float32).astype(float)
    table = AliasTable(weights)
    np.testing.assert_allclose(
        table.chances(), expected / expected.sum(), atol=2.0**-32 * len(weights)
    )


@given(st.lists(st.floats(0, 2.0**100, width=32), min_size=1, max_size=300))
def test_chances_of_any_weights(weights: list[float]) -> None:
    expected = np.array(weights, dtype=np.float32).astype(float)
    if not expected.any():
        return
    got = AliasTable(weights).chances()
    assert got.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(
        got, expected / expected.sum(), atol=2.0**-32 * len(weights) + 1e-12
    )


def test_draws_follow_the_weights() -> None:
    """Fails for one seed in a million: chi-squared of a million draws."""
    from scipy.stats import chisquare

    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.full(50, 0.5))
    found = AliasTable(weights).pick(rng.random(10**6), rng.random(10**6))
    counts = np.bincount(found, minlength=50)
    expected = AliasTable(weights).chances() * 10**6
    kept = expected > 5
    rest = [counts[~kept].sum()], [expected[~kept].sum()]
    assert counts[~kept].sum() < rest[1][0] + 10 * np.sqrt(rest[1][0] + 10)
    scaled = expected[kept] * counts[kept].sum() / expected[kept].sum()
    assert chisquare(counts[kept], scaled).pvalue > 1e-6


@pytest.mark.parametrize("weights", [[], [[1.0]], [0.0, 0.0], [1.0, -1.0], [np.nan]])
def test_what_has_no_chances_is_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights must be"):
        AliasTable(weights)


@pytest.mark.parametrize(
    ("slots", "coins"),
    [([-1.0], [0.5]), ([1.0], [0.5]), ([0.1, 0.2], [0.5]), ([0.1], [np.nan])],
)
def test_what_is_no_pair_of_uniforms_is_refused(slots: list, coins: list) -> None:
    with pytest.raises(ValueError, match=r"numbers in \[0, 1\)"):
        AliasTable([1.0, 1.0]).pick(slots, coins)
