"""Records of effects: means, intervals, and that nobody changes them."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree.summaries.effects import MainEffect, PartialDependence, VariableSensitivity


def test_means_and_intervals_are_those_of_the_draws() -> None:
    draws = np.random.default_rng(0).random((50, 3))
    effect = MainEffect("a", np.arange(3.0), draws)
    np.testing.assert_allclose(effect.mean, draws.mean(axis=0))
    ends = np.quantile(draws, [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(effect.conf_int(0.1), ends)
    part = PartialDependence(
        ("a",), (np.arange(3.0),), (False,), draws.mean(axis=0), draws
    )
    np.testing.assert_allclose(part.conf_int(0.1), ends)
    np.testing.assert_allclose(part.std(), draws.std(axis=0))
    with pytest.raises(ValueError, match="alpha must be in"):
        part.conf_int(1.0)


def test_records_are_frozen() -> None:
    one, whole = np.arange(2.0), np.ones((4, 2))
    effect = MainEffect("a", one, whole)
    found = VariableSensitivity((effect,), np.ones((4, 1)), np.ones((4, 1)), ("a",))
    part = PartialDependence(
        ("a",), (one,), (False,), np.ones(2), np.ones((4, 2)), np.ones((3, 2))
    )
    assert part.individual is not None
    for array in (
        effect.values, effect.draws, found.first, found.total, part.grids[0],
        part.mean, part.draws, part.individual,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
