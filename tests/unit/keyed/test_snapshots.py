"""Keys that learn apart beside a snapshot are those of one machine, byte for byte."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import KeyedStream
from dyntree.errors import CheckpointError, NotReadyError
from tests.helpers import model_bytes, same_bytes
from tests.unit.keyed.test_model import KINDS, panel, small

FIRST = 100  # rows that the shared streams learn
Panel = tuple[np.ndarray, np.ndarray, np.ndarray]


def started(kind: str, **options: Any) -> tuple[KeyedStream, Panel]:
    """A snapshot, and the rows after it."""
    X, y, key = panel(kind, 260)
    model = small(kind, **options).update(X[:FIRST], y[:FIRST], key[:FIRST])
    return model.snapshot(), (X[FIRST:], y[FIRST:], key[FIRST:])


def answers(prediction: Any) -> np.ndarray:
    """What a prediction says of each row."""
    proba = getattr(prediction, "proba", None)
    return np.asarray(prediction.quantile(0.3) if proba is None else proba)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_taken_together_are_one_machine(kind: str, own: bool) -> None:
    snapshot, (X, y, key) = started(kind, own=own)
    at = np.arange(len(y))
    whole = snapshot.copy()
    said = answers(whole.predict_then_learn(X, y, key, position=at))
    assert (len(whole), whole.n_seen) == (8, snapshot.n_seen + len(y))
    parts = []
    for k in range(3):
        rows = np.flatnonzero(key % 3 == k)
        part = snapshot.copy()
        for some in np.array_split(rows, k + 1):
            own_answers = answers(
                part.predict_then_learn(X[some], y[some], key[some], position=at[some])
            )
            assert own_answers.tobytes() == said[some].tobytes()
        part.update(X[rows[:5]], y[rows[:5]], key[rows[:5]], position=at[rows[:5]])
        parts.append(part)
    assert [part.n_skipped for part in parts] == [5, 5, 5]
    whole.update(X[:0], y[:0])
    for order in ([0, 1, 2], [2, 0, 1]):
        together = snapshot.copy()
        for k in order:
            before = model_bytes(parts[k])
            together.take(parts[k])
            assert model_bytes(parts[k]) == before
        assert together.n_skipped == 15
        together.n_skipped = 0
        assert model_bytes(together) == model_bytes(whole)
    blobs = snapshot.copy()
    for part in parts:
        blobs.take(part.export())
    assert model_bytes(blobs) == model_bytes(whole)
    assert snapshot.n_seen == snapshot.facts()["rows learned"]
    assert len(snapshot) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_saved_and_its_shared_parts_stand_still(
    kind: str, tmp_path: Path
) -> None:
    snapshot, (X, y, key) = started(kind)
    name, more = snapshot.snapshot_id, snapshot.copy().update(X, y, key)
    assert more.snapshot_id == more.snapshot().snapshot_id == name
    assert model_bytes(more.snapshot()) == model_bytes(snapshot)
    dyntree.save(more, tmp_path / "m.dyn")
    for back in (dyntree.load(tmp_path / "m.dyn"), pickle.loads(pickle.dumps(more))):
        assert back.snapshot_id == name
        assert back.facts()["snapshot"] == name
        assert model_bytes(back.update(X, y, key)) == model_bytes(
            more.copy().update(X, y, key)
        )
    header, arrays = more.to_arrays()
    for changed in ({"snapshot": "0" * 16, "snapshots": ["0" * 16]},
                    {"snapshots": ["x"]}, {"snapshot": "0" * 16}):  # fmt: skip
        with pytest.raises(CheckpointError, match="snapshot"):
            KeyedStream.from_arrays(header | changed, arrays)


def test_a_file_begins_with_a_snapshot_and_takes_parts(tmp_path: Path) -> None:
    snapshot, (X, y, key) = started("linear")
    whole, path = snapshot.copy().update(X, y, key), tmp_path / "fleet.db"
    options: dict[str, Any] = {"store": path, "hot": 3}
    even = key % 2 == 0
    for part in (even, ~even):
        with small(**options).take(snapshot) as model:  # again, the second time
            model.update(X[part], y[part], key[part])
    with small(**options) as model:
        twin = model.check().copy()
        twin.hot = whole.hot
        assert model_bytes(twin) == model_bytes(whole)
    with small(store=tmp_path / "other.db").take(whole) as model:
        assert model_bytes(model.copy()) == model_bytes(whole)
        assert model.export() == whole.export()


def test_a_later_snapshot_continues_the_keys_of_an_earlier_one() -> None:
    X, y, key = panel("linear", 300)
    fleet = small().update(X[:100], y[:100], key[:100])
    first = fleet.snapshot().update(X[100:150], y[100:150], key[100:150])
    with pytest.raises(NotReadyError, match=r"Call snapshot\(\) after"):
        small().update(X, y, key).export()
    own = fleet.export([3, 1])
    assert [*own] == [1, 3]
    second = fleet.update(X[150:200], y[150:200], key[150:200]).snapshot()
    with pytest.raises(NotReadyError):
        fleet.update(X[:40], y[:40], key[:40]).export()
    assert second.snapshot_id != first.snapshot_id
    moved = second.copy().take(first.export([0, 2])).take(own)
    assert moved.keys() == [0, 1, 2, 3]
    assert moved.facts(1)["rows learned"] == np.sum(key[:100] == 1)
    moved.update(X[200:], y[200:], key[200:])
    with (
        same_bytes(first),
        pytest.raises(ValueError, match="or an earlier one of its fleet"),
    ):
        first.take(moved.export([5]))
    with same_bytes(first), pytest.raises(ValueError, match="take those beside an ear"):
        first.take(second)
    few = first.snapshot().take(first.export([0, 2]))
    few.n_skipped = 4
    as_model, as_bytes = second.copy().take(few), second.copy().take(few.export())
    as_bytes.n_skipped = 4
    assert model_bytes(as_model) == model_bytes(as_bytes)
    assert (as_model.keys(), as_model.n_seen) == ([0, 2], few.n_seen)
    for one in (as_model, as_bytes):
        one.update(X[200:], y[200:], key[200:])
    assert as_model.export() == as_bytes.export()
    with same_bytes(as_model), pytest.raises(ValueError, match="other keys than this"):
        as_model.take(few)


def test_each_row_of_the_keys_counts_once(tmp_path: Path) -> None:
    X, y, key = panel("linear", 300)
    rows_of = np.bincount(key[:200])
    fleet = small().update(X[:200], y[:200], key[:200])
    assert fleet.drop(7).n_seen == 200  # of which the shared streams keep those of 7
    snapshot = fleet.snapshot()
    assert (snapshot.n_seen, snapshot.is_ready) == (0, True)
    assert 190 < snapshot.facts()["rows of the shared streams"] <= 200
    for n_keys in (7, 3):
        model = snapshot.copy().take(fleet.export(range(n_keys)))
        assert model.n_seen == rows_of[:n_keys].sum()
    blobs = model.export([1, 2])
    model.drop(1)
    assert model.n_seen == rows_of[[0, 2]].sum()
    model.drop(2).take(blobs).update(X[200:], y[200:], key[200:])
    in_all = rows_of[:3].sum() + 100
    assert model.n_seen == model.facts()["rows learned"] == in_all
    each = [model.facts(k)["rows learned"] for k in range(8) if k in model]
    assert sum(each) == in_all
    with small(store=tmp_path / "fleet.db").take(model) as stored:
        blobs = stored.export([0])
        assert stored.drop(0).take(blobs).n_seen == in_all
    with small(store=tmp_path / "fleet.db").take(snapshot) as stored:
        assert stored.n_seen == in_all
    assert model_bytes(pickle.loads(pickle.dumps(model))) == model_bytes(model)
    for bare in (snapshot, pickle.loads(pickle.dumps(snapshot))):
        for call in (lambda m: m.reseeded(4), lambda m: m.fix_columns(None)):
            with pytest.raises(ValueError, match="only before"):
                call(bare)
        answer = bare.predict(X[:1], [1])
        assert np.isfinite(answer.mean).all()


@pytest.mark.filterwarnings("ignore:X has levels in column 'c'")
def test_columns_and_labels_are_those_of_the_snapshot() -> None:
    X, y, key = panel("class", 200)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=[*"uv"] * 100)
    snapshot = small("class").update(frame, y, key).snapshot()
    whole, one = snapshot.copy(), snapshot.copy()
    late = frame[:60].assign(c=[*"uvw"] * 20)
    with pytest.warns(UserWarning, match="they count as missing"):
        whole.update(late, y[:60], key[:60])
    for k in range(8):
        mine = np.flatnonzero(key[:60] == k)
        one.update(late.iloc[mine], y[mine], key[mine])
    assert whole.columns == ("a", "b", "c")
    assert whole.feature_names == snapshot.feature_names
    assert model_bytes(one) == model_bytes(whole)
    with same_bytes(one), pytest.raises(ValueError, match="y must be a label that the"):
        one.update(late, ["up"] * 59 + ["sideways"], key[:60])


def bad_parts() -> list[tuple[str, str, Callable[[KeyedStream, Panel], Any]]]:
    """Names of tests, words of errors, and what cannot be taken."""
    X, y, key = panel("linear", 80, seed=5)

    def other(**options: Any) -> KeyedStream:
        return small(**options).update(X, y, key).snapshot()

    def changed(own: KeyedStream, rows: Panel) -> dict[Any, bytes]:
        blobs = own.snapshot().update(*rows).export([2])
        return {2: blobs[2][:-1] + bytes([blobs[2][-1] ^ 1])}

    def renamed(own: KeyedStream, rows: Panel) -> dict[Any, bytes]:
        return {99: own.snapshot().update(*rows).export([2])[2]}

    return [
        ("the same key", "other keys than this model; got [0-9]+, which both",
         lambda own, r: own),
        ("blobs", "other keys than this model", lambda own, r: own.export([1])),
        ("no snapshot", "must be a KeyedStream beside", lambda own, r: small()),
        ("no model", "must be a KeyedStream beside", lambda own, r: 3),
        ("other rows", "beside the same snapshot as this", lambda own, r: other()),
        ("an option", "window must be as in the other model, 25; got 20",
         lambda own, r: other(window=25)),
        ("leaves", "model must be as in the other",
         lambda own, r: other(model="constant")),
        ("a changed bit", "checksum", changed),
        ("no blob", "checksum", lambda own, r: {9: b"no blob"}),
        ("another key", "another seed", renamed),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "made"), [pytest.param(*rest, id=name) for name, *rest in bad_parts()]
)
def test_what_cannot_be_taken_changes_nothing(words: str, made: Any) -> None:
    snapshot, (X, y, key) = started("linear")
    few = key < 2
    model = snapshot.copy().update(X[few], y[few], key[few])
    part = made(model, (X[~few], y[~few], key[~few]))
    with same_bytes(model), pytest.raises(ValueError, match=words):
        model.take(part)
    model.take(snapshot.copy().update(X[~few], y[~few], key[~few]))
    assert model.export() == snapshot.copy().update(X, y, key).export()


def test_a_snapshot_needs_streams_and_a_model_without_rows_takes_it() -> None:
    X, y, key = panel("linear", 60)
    model = small().update(X[:9], y[:9], key[:9])
    with pytest.raises(NotReadyError, match="the tenth row; 9 rows have come"):
        model.snapshot()
    with pytest.raises(NotReadyError, match="beside a snapshot"):
        small().take({})
    snapshot = model.update(X, y, key).snapshot()
    with pytest.raises(
        ValueError, match="seed must be as in the other model, 3; got 4"
    ):
        small(seed=4).take(snapshot)
    fresh = small(seed=None).take(snapshot)
    assert model_bytes(fresh) == model_bytes(copy.copy(snapshot))
    assert model.n_seen == 69
    with pytest.raises(ValueError, match="same snapshot as this model, none"):
        model.take(snapshot)


@pytest.mark.filterwarnings("ignore::dyntree.errors.KeyTypeWarning")
def test_keys_that_python_takes_for_equal_stay_apart() -> None:
    X, y, _ = panel("linear", 60)
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    same = noon.astimezone(timezone(timedelta(hours=1)))
    keys: Any = [(1, True, noon, same)[row % 4] for row in range(60)]
    fleet = small().update(X, y, key=[*range(2, 62)])
    part = fleet.snapshot().update(X, y, key=keys)
    fleet.update(X, y, key=[*range(2, 62)])
    for whole in (fleet.snapshot(), part.copy().drop(1).drop(True).drop(noon)):
        if same in whole:
            whole.drop(same)
        together = whole.take(part)
        listed = together.keys()
        assert len(together) == len(listed) == 4
        assert [together.facts(key)["rows learned"] for key in listed] == [15] * 4
        for pair in ((1, True), (noon, same)):
            with pytest.raises(ValueError, match=r"differ in Python, .* twice"):
                together.export(pair)
            for key in pair:
                assert len(together.export([key])) == 1
        with pytest.raises(ValueError, match=r"let take\(\) have the model itself"):
            together.export()
