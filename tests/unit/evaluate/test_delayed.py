"""DelayedLabels: the same as a plain loop, in bounded memory, through every file."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, DelayedLabels, DynamicTree, StreamingTree
from dyntree.checkpoint import dumps, loads
from dyntree.errors import CheckpointError, UnusableValueError
from dyntree.mixtures import OnlineDPGMM
from tests.contract import twins_of
from tests.helpers import changed_file, model_bytes, same_bytes

N = 80
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 2))
REAL = X[:, 0] + 0.1 * rng.normal(size=N)
LABELS = np.array([f"l{int(k / 30)}" for k in range(N)])
COUNTS = rng.poisson(3.0, N)
EXPOSURE = rng.uniform(0.5, 2.0, N)
NAMED = [{"x": float(x), "shop": f"s{k // 12}", "warm": bool(k % 2)} for k, (x, _) in
         enumerate(X)]  # fmt: skip
CASES: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "tree": (lambda: DynamicTree("linear", n_particles=15, seed=1), X, REAL),
    "names": (lambda: StreamingTree(window=30, n_particles=15, seed=1), NAMED, REAL),
    "labels": (
        lambda: StreamingTree("class", window=30, n_particles=15, seed=1), NAMED,
        LABELS,
    ),
    "average": (lambda: AveragedStream(n_particles=10, seed=1), X, REAL),
}  # fmt: skip


def mean(told: Any) -> Any:
    return told.proba if hasattr(told, "proba") else told.mean


def halfway(n_pending: int = 5, **options: Any) -> DelayedLabels:
    """Rows learned, and some that wait."""
    model = StreamingTree(window=30, n_particles=15, seed=1).update(X[:40], REAL[:40])
    late = DelayedLabels(model, **options)
    for k in range(40, 40 + n_pending):
        late.predict_later(k, X[k])
    return late


@pytest.mark.filterwarnings("ignore:X has levels in column")
@pytest.mark.parametrize("name", CASES)
def test_rows_are_learned_in_the_order_of_their_labels(name: str) -> None:
    make, rows, y = CASES[name]
    plain, late = make(), DelayedLabels(make())
    order = np.concatenate([rng.permutation(range(k, k + 10)) for k in range(0, N, 10)])
    for k in range(0, N, 10):
        for row in range(k, k + 10):  # ten rows come, then ten labels
            told = late.predict_later(f"row {row}", rows[row])
            assert (told is None) is not plain.is_ready
            if told is not None:
                expected = mean(plain.predict([rows[row]]))
                np.testing.assert_array_equal(mean(told), expected)
        for row in order[k : k + 10]:
            assert late.learn(f"row {row}", y[row]) is True
            plain.update([rows[row]], [y[row]])
    assert late.n_pending == late.n_dropped == late.n_unmatched == 0
    assert model_bytes(late.model) == model_bytes(plain)


def test_counts_wait_with_their_exposure() -> None:
    plain, late = (DynamicTree("negbin", n_particles=15, seed=1) for _ in range(2))
    plain.update(X[:40], COUNTS[:40], exposure=EXPOSURE[:40])
    late = DelayedLabels(late.update(X[:40], COUNTS[:40], exposure=EXPOSURE[:40]))
    told = late.predict_later("a", X[40], exposure=EXPOSURE[40])
    one = slice(40, 41)
    assert told.mean[0] == plain.predict(X[one], exposure=EXPOSURE[one]).mean[0]
    late = loads(dumps(late))
    late.learn("a", COUNTS[40], sample_weight=2.0)
    plain.update(X[one], COUNTS[one], 2.0, exposure=EXPOSURE[one])
    assert model_bytes(late.model) == model_bytes(plain)


@pytest.mark.parametrize(
    "row", [X[40], list(X[40]), tuple(X[40]), pd.Series(X[40]).to_numpy()]
)
def test_a_row_may_be_any_flat_sequence(row: Any) -> None:
    late = halfway(0)
    expected = late.model.predict(X[40:41]).mean
    np.testing.assert_array_equal(late.predict_later(0, row).mean, expected)


def test_a_row_may_be_a_series() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = StreamingTree(window=30, n_particles=15, seed=1)
    late = DelayedLabels(model.update(frame[:40], REAL[:40]))
    expected = model.predict(frame[40:41]).mean
    np.testing.assert_array_equal(late.predict_later(0, frame.iloc[40]).mean, expected)


def test_the_oldest_goes_when_too_many_wait() -> None:
    late = halfway(12, max_pending=5)
    assert late.pending == (47, 48, 49, 50, 51)
    assert (late.n_pending, late.n_dropped) == (5, 7)
    with same_bytes(late.model):
        assert late.learn(40, 1.0) is False
        assert late.learn("never came", 1.0) is False
    assert late.n_unmatched == 2


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_label_is_no_label(missing: Any) -> None:
    late = halfway(3)
    with same_bytes(late.model):
        assert late.learn(41, missing) is False
    assert late.pending == (40, 42)
    assert late.n_unlabelled == 1
    assert late.drop(40) is True
    assert late.drop(40) is False
    assert late.pending == (42,)


VALUES = {
    "a": datetime(2024, 2, 29, 12), "b": date(2024, 2, 29), "c": timedelta(hours=1),
    "d": None, "e": np.nan, "f": np.float32(0.5), "g": np.int64(3), "h": np.True_,
    "i": "é\n", "j": pd.NaT, "k": pd.Timestamp("2024-01-01"), "l": pd.NA,
}  # fmt: skip
KEYS = ["17", 17, 1.5, False, date(2024, 2, 29), ("a", 3), datetime(2024, 2, 29), b"\0"]


def test_what_waits_outlives_every_file() -> None:
    late = DelayedLabels(StreamingTree(window=30, n_particles=15, seed=1))
    for key in KEYS:
        late.predict_later(key, VALUES)
    late.predict_later("list", [1.0, None, "u"])
    late.learn(1000, 1.0)
    late.drop(17)
    assert late.pending == (*KEYS[:1], *KEYS[2:], "list")
    for again in twins_of(late):
        assert again.pending == late.pending
        assert [*map(type, again.pending)] == [*map(type, late.pending)]
        assert again._rows == late._rows
        assert dumps(again) == dumps(late)
        again.drop("17")
        assert late.n_pending == again.n_pending + 1


@pytest.mark.parametrize("way", [lambda one: loads(dumps(one)), copy.deepcopy])
def test_it_goes_on_bit_for_bit(way: Callable[[Any], Any]) -> None:
    late = halfway(20)
    again = way(late)
    for one in late, again:
        for k in range(59, 39, -1):
            one.learn(k, REAL[k])
    assert model_bytes(late.model) == model_bytes(again.model)
    told = late.predict_later("x", X[60]).mean, again.predict_later("x", X[60]).mean
    assert told[0] == told[1]


def everything(late: DelayedLabels) -> bytes:
    return dumps(late)


BAD_ROWS: dict[str, tuple[Any, type[Exception], str]] = {
    "table": (X[:2], ValueError, "row must be one row"),
    "number": (3.0, ValueError, "row must be one row"),
    "text": ("1,2", ValueError, "row must be one row"),
    "too long": ([1.0, 2.0, 3.0], ValueError, "X"),
    "infinite": ([1.0, np.inf], UnusableValueError, "finite"),
    "object": ([1.0, object()], UnusableValueError, "row must hold"),
    "list": ([1.0, [2.0]], ValueError, "row must"),
    "text among numbers": ([1.0, "u"], ValueError, "X"),
    "names that are one as text": ({1: 1.0, "1": 2.0}, ValueError, "row must have"),
    "a name twice": (pd.Series([1.0, 2.0], ["a", "a"]), ValueError, "row must have"),
    "a long number": ([1.0, 10**600], UnusableValueError, "row must hold finite"),
    "a longer number": ([1.0, -(10**5000)], UnusableValueError, "more than 600 digits"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_does_not_wait(name: str) -> None:
    row, kind, words = BAD_ROWS[name]
    late = halfway()
    with same_bytes(late, everything), pytest.raises(kind, match=words):
        late.predict_later("new", row)


@pytest.mark.parametrize(
    "name", [name for name, (_, _, words) in BAD_ROWS.items() if words != "X"]
)
def test_what_no_file_can_hold_does_not_wait_for_the_first_trees_either(
    name: str,
) -> None:
    row, kind, words = BAD_ROWS[name]
    late = DelayedLabels(DynamicTree(n_particles=15, seed=1))
    with same_bytes(late, everything), pytest.raises(kind, match=words):
        late.predict_later("new", row)


def test_bad_keys_and_labels_change_nothing() -> None:
    late = halfway()
    before = everything(late)
    with pytest.raises(ValueError, match="40 waits already"):
        late.predict_later(40, X[50])
    for key in (None, [1], np.nan, object(), 10**600, ("a", -(10**5000)), ("a", None)):
        for call in (
            lambda key=key: late.predict_later(key, X[50]),
            lambda key=key: late.learn(key, 1.0),
            lambda key=key: late.drop(key),
        ):
            with pytest.raises(ValueError, match="key must hold labels"):
                call()
    for y in (np.inf, "u", [1.0, 2.0]):
        with pytest.raises(ValueError, match="y"):
            late.learn(40, y)
    with pytest.raises(ValueError, match="sample_weight"):
        late.learn(40, 1.0, sample_weight=-1.0)
    with pytest.raises(ValueError, match="exposure"):
        late.predict_later("new", X[50], exposure=2.0)
    assert everything(late) == before


def test_only_models_with_responses_are_taken() -> None:
    for model in (OnlineDPGMM(25.0), 3, None, DynamicTree):
        with pytest.raises(ValueError, match="model must"):
            DelayedLabels(model)  # type: ignore[arg-type]
    for bad in (0, -1, 1.5, "9", None):
        with pytest.raises(ValueError, match="max_pending"):
            DelayedLabels(DynamicTree(), max_pending=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"max_pending": 2}, {"max_pending": 0}, {"n_dropped": -1}, {"n_dropped": "1"},
        {"model": {"kind": "DelayedLabels"}}, {"model": {"kind": "?"}}, {"model": 3},
    ],
)  # fmt: skip
def test_a_file_that_describes_none_is_refused(change: dict[str, Any]) -> None:
    data = changed_file(halfway(), lambda header, _: header["model"].update(change))
    with pytest.raises(CheckpointError):
        loads(data)


@pytest.mark.parametrize("text", ["", "[", "{}", "[[1]]", "[[null, [1.0], null]]"])
def test_broken_rows_in_a_file_are_refused(text: str) -> None:
    words = np.frombuffer(text.encode().ljust(-(-len(text) // 8) * 8), "<u8")
    data = changed_file(halfway(), lambda _, arrays: arrays.update(pending=words))
    with pytest.raises(CheckpointError):
        loads(data)


@pytest.mark.parametrize("exposure", ["u", 0.0, -1.0, np.nan, np.inf, [1.0, 2.0]])
def test_a_bad_exposure_drops_no_row(exposure: Any) -> None:
    late = DelayedLabels(DynamicTree("negbin", n_particles=15, seed=1), max_pending=1)
    late.predict_later("a", X[0], exposure=2.0)  # nothing is predicted yet
    with same_bytes(late, everything), pytest.raises(ValueError, match="exposure"):
        late.predict_later("b", X[1], exposure=exposure)


def test_calls_wait_for_one_another_whoever_holds_the_model() -> None:
    """Also where one thread holds the model, and another is in a call of this."""
    late = halfway()
    done = []

    def serve() -> None:
        for k in range(300):
            late.predict_later(f"a {k}", X[k % 60])
            late.learn(f"a {k}", 1.0)
        done.append(True)

    def ask() -> None:
        for k in range(300):
            with late.model.exclusive():
                late.predict_later(f"b {k}", X[k % 60])
                late.learn(f"b {k}", 1.0)
        done.append(True)

    def keep() -> None:
        kept = []
        while len(done) < 2:
            kept += loads(dumps(late)).pending
        assert not [key for key in kept if str(key).startswith("b")]
        done.append(True)

    threads = [threading.Thread(target=t, daemon=True) for t in (serve, ask, keep)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert done == [True] * 3
    assert late.model.n_seen == 640
