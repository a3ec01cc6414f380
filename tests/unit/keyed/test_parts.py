"""Slots of keys that learn by a pure function are one machine, bit for bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dyntree.keyed.parts import beside, learned, put_together, slots_of
from tests.helpers import model_bytes, same_bytes
from tests.unit.keyed.test_model import KINDS, panel, small
from tests.unit.keyed.test_snapshots import answers, started


def exposures(kind: str, n: int) -> np.ndarray | None:
    """Exposures of counts, which differ from row to row."""
    return np.linspace(0.5, 2.0, n) if kind == "poisson" else None


@pytest.mark.parametrize("n_slots", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_slots_give_what_one_machine_gives(kind: str, n_slots: int) -> None:
    snapshot, (X, y, key) = started(kind, hot=2)
    whole, fleet = snapshot.copy(), snapshot.copy()
    at, over = np.arange(len(y)), exposures(kind, len(y))
    for part in (slice(0, 70), slice(60, 61), slice(65, len(y))):
        rows = X[part], y[part], key[part]
        some = None if over is None else over[part]
        one = whole.predict_then_learn(*rows, position=at[part], exposure=some)
        slots = slots_of(fleet, *rows, at[part], some, n_slots)
        results = [learned(snapshot, pickle.loads(pickle.dumps(s))) for s in slots]
        other = put_together(fleet, slots, results[::1])
        assert answers(one).tobytes() == answers(other).tobytes()
        if kind == "poisson":
            assert one.rate.tobytes() == other.rate.tobytes()
    assert fleet.n_skipped == whole.n_skipped == 6
    assert model_bytes(fleet) == model_bytes(whole)


def test_bad_rows_and_states_change_nothing() -> None:
    snapshot, (X, y, key) = started("linear")
    fleet = snapshot.copy().update(X[:50], y[:50], key[:50])
    bad: list[tuple[Any, str]] = [
        ((X[:5], [1.0, np.nan, 1.0, 1.0, 1.0], key[:5]), r"\by\b"),
        ((X[:5], y[:5], None), "key must name a column"),
    ]
    for rows, words in bad:
        with same_bytes(fleet), pytest.raises(ValueError, match=words):
            slots_of(fleet, *rows, None, None, 3)
    X, y, key = panel("linear", 60, seed=8)
    other = small().update(X, y, key).snapshot().update(X, y, key)
    with pytest.raises(ValueError, match="snapshot must be that of the states of keys"):
        beside(snapshot, {"3": other.export([3])[3]})
