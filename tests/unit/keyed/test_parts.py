"""Slots of keys that learn by a pure function are one machine, bit for bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dyntree.keyed.parts import beside, learned, learned_key, put_together, slots_of
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


@pytest.mark.parametrize("late", ["drop", "learn"])
@pytest.mark.parametrize("kind", KINDS)
def test_keys_one_by_one_give_what_one_machine_gives(kind: str, late: str) -> None:
    snapshot, (X, y, key) = started(kind, late=late)
    whole, over = snapshot.copy(), exposures(kind, len(y))
    at = np.arange(len(y))
    at[40:60] -= 30  # which come a second time, or late
    one = whole.predict_then_learn(X, y, key, position=at, exposure=over)
    blobs: dict[Any, bytes] = {}
    for k in (5, 0, 3):
        mine = np.flatnonzero(key == k)
        for rows in np.array_split(mine, 4):
            some = None if over is None else over[rows]
            found = learned_key(
                snapshot, k, blobs.get(k), X[rows], y[rows], at[rows], some
            )
            blobs[k] = found.blob
            assert answers(found.prediction).tobytes() == answers(one)[rows].tobytes()
            assert np.array_equal(found.log_density, one.log_density(y)[rows])
            assert found.positions == at[rows].tolist()
            assert late == "drop" or not found.late.any()
    assert blobs == {k: whole.export()[k] for k in blobs}
    assert whole.n_skipped > 0 or late == "learn"


def test_states_go_on_beside_a_later_snapshot_of_their_model() -> None:
    X, y, key = panel("linear", 200)
    fleet = small().update(X[:80], y[:80], key[:80])
    first = fleet.snapshot().update(X[80:120], y[80:120], key[80:120])
    second = fleet.update(X[80:120], y[80:120], key[80:120]).snapshot()
    moved = second.copy().take(first.export()).update(X[120:], y[120:], key[120:])
    for k, blob in first.export().items():
        mine = 120 + np.flatnonzero(key[120:] == k)
        found = learned_key(second, k, blob, X[mine], y[mine], mine)
        again = learned_key(second, k, found.blob, X[mine], y[mine], mine)
        assert again.late.all()
        assert again.blob == found.blob
        one = second.copy().take({k: found.blob})
        assert one.weights(k) == moved.weights(k)
        assert one.facts(k)["level"] == moved.facts(k)["level"]


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
