"""Saved models of which one number is changed are refused, or plainly other models."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

from tests.heavy.mutations import FREE, tried
from tests.kinds import KIND


@pytest.mark.parametrize("kind", KIND)
def test_no_change_of_one_number_is_silent(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*tried(kind, 30)]
    outcomes = Counter(outcome for _, outcome in found)
    assert not outcomes["silent"] + outcomes["failed"], found
    assert outcomes["refused"] >= 12
    assert {name for name, one in found if one == "another"} <= {*FREE.get(kind, {})}
