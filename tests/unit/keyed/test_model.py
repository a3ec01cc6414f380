"""KeyedStream: keys of every kind, in any cut, and what it says before it learns."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from datetime import date
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from dyntree import KeyedStream, StreamingTree
from dyntree.errors import (
    ArgumentError,
    KeyTypeWarning,
    ManyKeysWarning,
    ManyLevelsWarning,
    NotReadyError,
)
from dyntree.evaluate import prequential
from tests.contract import OnlineModelChecks, same_answers
from tests.helpers import model_bytes, same_bytes

MEMBERS = [{"window": 20, "n_particles": 5}, {"window": 40, "n_particles": 5}]
KINDS = "linear", "class", "poisson"


def small(model: str | None = "linear", **options: Any) -> KeyedStream:
    """A model of few particles that has seen nothing."""
    given = {"members": MEMBERS, "n_particles": 5, "window": 20, "block": 7, "seed": 3}
    return KeyedStream(model, **given | options)


def in_pieces(model: KeyedStream, X: Any, y: Any, key: Any) -> None:
    """Let a model learn nine rows a call."""
    for first in range(0, len(X), 9):
        part = slice(first, first + 9)
        model.update(X[part], y[part], key[part])


def panel(
    kind: str, n: int = 160, n_keys: int = 8, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, responses and keys; keys have levels."""
    rng = np.random.default_rng(seed)
    X, key = rng.random((n, 2)), rng.integers(0, n_keys, n)
    mean = X[:, 0] + rng.normal(0.0, 1.0, n_keys)[key]
    if kind == "class":
        return X, np.where(mean + 0.3 * rng.standard_normal(n) > 0.5, "up", "down"), key
    if kind == "poisson":
        return X, rng.poisson(np.exp(mean)).astype(float), key
    return X, mean + 0.2 * rng.standard_normal(n), key


class KeyedChecks(OnlineModelChecks):
    """The contract, with the keys in the first column of X."""

    kind = "linear"
    options: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def fresh(self) -> Callable[[], KeyedStream]:
        return lambda: small(self.kind, key=0, **self.options)

    @pytest.fixture
    def rows(self) -> tuple[np.ndarray, Any]:
        X, y, key = panel(self.kind, 60, 4)
        return np.column_stack([key, X]), y

    def test_it_tells_what_it_is(
        self, fresh: Callable[[], Any], rows: tuple[np.ndarray, Any]
    ) -> None:
        model, (X, y) = fresh(), rows
        assert model.columns is None
        assert model.feature_names == ()
        model.update(X[:25], y[:25])
        assert (model.n_seen, model.is_ready, len(model)) == (25, True, 4)
        assert model.feature_names == ("x0", "x1")
        assert (model.classes is not None) == model.is_classifier

    def test_columns_are_matched_by_name(
        self, fresh: Callable[[], Any], rows: tuple[np.ndarray, Any]
    ) -> None:
        X, y = rows
        frame = pd.DataFrame(X, columns=["k", "a", "b"]).astype({"k": int})
        one, other = (small(self.kind, key="k", **self.options) for _ in range(2))
        one.update(frame, y)
        turned = frame[["b", "k", "a"]]
        other.update(frame[:25], y[:25]).update(turned[25:], y[25:])
        assert one.columns == ("a", "b")
        assert model_bytes(one) == model_bytes(other)
        same_answers(one.predict(turned), one.predict(frame))
        with same_bytes(one), pytest.raises(ValueError, match="X must have"):
            one.update(frame.rename(columns={"a": "z"}), y)

    def test_a_call_that_raises_changes_nothing(
        self, learned: Any, rows: tuple[np.ndarray, Any]
    ) -> None:
        X, y = rows
        bad, far = X[:5].copy(), X[:5].copy()
        bad[3, 0], far[2, 1] = np.inf, 1e200
        calls = [
            ("key", bad, y[:5]),
            ("X", far, y[:5]),
            ("X", X[:5, :-1], y[:5]),
            ("key", X[0], y[:1]),
            ("y", X[:5], y[:4]),
            ("y", X[:5], [None] * 5),
        ]
        for name, given, responses in calls:
            with same_bytes(learned), pytest.raises(ValueError, match=rf"\b{name}\b"):
                learned.update(given, responses)
        with same_bytes(learned):
            learned.update(X[:0], y[:0])
        with same_bytes(learned), pytest.raises(ValueError, match="progress"):
            learned.update(X[:5], y[:5], progress="loud")
        with same_bytes(learned), pytest.raises(ValueError, match="X"):
            learned.predict(far)

    def test_an_error_of_the_callers_leaves_complete_units(
        self, fresh: Callable[[], Any], rows: tuple[np.ndarray, Any]
    ) -> None:
        """Calls, as a store has these, though rows are learned one by one."""

        def stop(done: int, total: int) -> None:
            if done >= last:
                raise InterruptedError

        X, y = rows
        for last in (1, 20, 35):  # the last one when all is learned
            model = fresh().update(X[:25], y[:25])
            before = model_bytes(model)
            with pytest.raises(InterruptedError):
                model.update(X[25:], y[25:], progress=stop)
            if last == 35:
                before = model_bytes(fresh().update(X, y))
            assert model_bytes(model) == before

    def test_a_preview_is_the_models_own(
        self, learned: Any, rows: tuple[np.ndarray, Any]
    ) -> None:
        X, y = rows[0][25:].copy(), rows[1][25:]
        ahead, _ = learned.preview(X, y)
        expected = learned.predict(rows[0][25:])
        X[:] = 0.0
        same_answers(learned.predict(ahead), expected)


class TestReal(KeyedChecks):
    """Real responses."""


class TestLabels(KeyedChecks):
    """Labels."""

    kind, options = "class", {"classes": ("down", "up")}


class TestCounts(KeyedChecks):
    """Counts."""

    kind = "poisson"


class TestWithoutTrees(KeyedChecks):
    """Keys without trees of their own."""

    options: ClassVar[dict[str, Any]] = {"own": False}


# ---------------------------------------------------------------- one stream
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_predicted_before_learning_is_what_predict_says(kind: str) -> None:
    X, y, key = panel(kind)
    model, other = small(kind), small(kind)
    model.update(X[:60], y[:60], key[:60])
    other.update(X[:60], y[:60], key[:60])
    together = other.predict_then_learn(X[60:90], y[60:90], key[60:90])
    for row in range(60, 90):
        part = slice(row, row + 1)
        alone = model.predict(X[part], key[part])
        name = "proba" if kind == "class" else "mean"
        assert (
            getattr(alone, name)[0].tolist()
            == getattr(together, name)[row - 60].tolist()
        )
        model.update(X[part], y[part], key[part])
    assert model_bytes(model) == model_bytes(other)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_cuts_nor_hot_keys_nor_the_order_within_a_block_matter(
    kind: str,
) -> None:
    X, y, key = panel(kind)
    whole = small(kind).update(X, y, key)
    for hot, size in ((1, 1), (2, 13), (100, 50)):
        model = small(kind, hot=hot)
        for first in range(0, len(X), size):
            part = slice(first, first + size)
            model.update(X[part], y[part], key[part])
        model.hot = whole.hot
        assert model_bytes(model) == model_bytes(whole)
    asked = whole.predict(X[:9], key[:9])
    same_answers(model.predict(X[:9], key[:9]), asked)


def rough_panel(kind: str, rng: np.random.Generator) -> tuple[pd.DataFrame, Any, Any]:
    """Rows with levels and labels that appear over time, gaps and one key far away.

    The first rows of key 0 are so small that later ones are beyond their scale.
    """
    n = 300
    X, y, key = panel(kind, n, 3, int(rng.integers(1000)))
    X = X.copy()
    tiny = (key == 0) & (np.arange(n) < n // 2)
    X[tiny, 0] *= 1e-140
    X[(key == 0) & ~tiny & (rng.random(n) < 0.3), 0] *= 1e20
    levels = [
        None if rng.random() < 0.1 else "uvw"[rng.integers(1 + min(2, row // 60))]
        for row in range(n)
    ]
    if kind == "class":
        y = np.array(["pqrs"[rng.integers(1 + min(3, row // 40))] for row in range(n)])
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "level": levels}), y, key


@pytest.mark.filterwarnings("ignore::dyntree.errors.DistantInputsWarning")
@pytest.mark.parametrize("kind", ["constant", *KINDS])
def test_what_is_learned_does_not_depend_on_whether_rows_are_predicted(
    kind: str,
) -> None:
    rng = np.random.default_rng()
    X, y, key = rough_panel(kind, rng)
    asked, cut = small(kind, block=50), small(kind, block=50)
    asked.predict_then_learn(X, y, key)
    ends = np.sort(rng.choice(np.arange(1, len(X)), 5, replace=False)).tolist()
    for first, end in itertools.pairwise([0, *ends, len(X)]):
        cut.update(X[first:end], y[first:end], key[first:end])
    assert model_bytes(cut) == model_bytes(asked)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([1, "1"], "integers and others text"),
        ([date(2024, 1, 1), pd.Timestamp("2024-01-01")], "dates and others times"),
        (
            [(1, "a"), ("1", "a")],
            "integers and text and others tuples of text",
        ),
        ([True, 1], "truth values and others integers"),
    ],
    ids=str,
)
def test_keys_of_two_types_in_one_call_are_warned_of(
    keys: list[Any], message: str
) -> None:
    X, y, _ = panel("linear", 20)
    model = small()
    with pytest.warns(KeyTypeWarning, match=message):
        model.update(X, y, key=[keys[row % 2] for row in range(20)])
    model.update(X, y, key=[keys[0]] * 20)  # once
    with pytest.warns(KeyTypeWarning, match="before and some are"):
        small().update(X, y, key=[keys[0]] * 20).predict(X[:2], key=keys)


def test_a_key_for_all_rows_is_refused() -> None:
    X, y, _ = panel("linear", 20)
    with pytest.raises(ValueError, match="key must name a column or be an array"):
        small().update(X, y, key=np.array(1))


@pytest.mark.parametrize("kind", KINDS)
def test_keys_may_come_in_any_order_within_a_block(kind: str) -> None:
    X, y, key = panel(kind, 133)  # rows 129 to 132 are a block
    order = 129 + np.argsort(key[129:], kind="stable")  # rows of a key stay in order
    model = small(kind).update(X[:129], y[:129], key[:129])
    one = model.copy().predict_then_learn(X[129:], y[129:], key[129:])
    other = model.predict_then_learn(X[order], y[order], key[order])
    name = "proba" if kind == "class" else "mean"
    assert (getattr(one, name)[order - 129] == getattr(other, name)).all()


def test_a_key_with_many_rows_has_a_tree_like_one_of_its_own() -> None:
    X, y, key = panel("linear", 200, 3)
    model = small(window=30, n_particles=20).update(X, y, key)
    tree = model.model_of(1)
    own = StreamingTree("linear", window=30, n_particles=20, seed=tree.seed)
    own.update(X[key == 1], y[key == 1])
    same_answers(tree.predict(X), own.predict(X))
    assert model.model_of(1) is not model.model_of(1)


def test_trees_of_many_columns_have_larger_windows() -> None:
    rng = np.random.default_rng(0)
    X, key = rng.random((300, 40)), np.arange(300) % 2
    y = X[:, 0] + key + 0.1 * rng.standard_normal(300)
    with pytest.raises(ValueError, match="window must be larger than min_leaf"):
        small().update(X, y, key)  # of the shared streams, which are named
    model = small(members=None).update(X, y, key)
    assert [model.model_of(k).n_seen for k in (0, 1)] == [150, 150]
    assert model.model_of(0).options.window > 80
    back = KeyedStream.from_arrays(*model.to_arrays())
    assert model_bytes(back.update(X, y, key)) == model_bytes(model.update(X, y, key))


# ---------------------------------------------------------------- keys
@pytest.mark.filterwarnings("ignore::dyntree.errors.KeyTypeWarning")
def test_keys_of_all_types_are_keys() -> None:
    X, y, _ = panel("linear", 40)
    keys = [1, "1", True, date(2024, 2, 29), ("a", 1), np.int64(1), np.str_("1")]
    model = small().update(X, y, [keys[k % 7] for k in range(40)])
    assert len(model) == 5
    assert {*map(str, model.keys())} == {"1", "True", "2024-02-29", "('a', 1)"}
    assert 1 in model
    assert "2" not in model
    assert model.facts("1")["rows learned"] == 11
    restored = KeyedStream.from_arrays(*model.to_arrays())
    assert restored.keys() == model.keys()


@pytest.mark.parametrize(
    ("keys", "kind", "words"),
    [
        (None, ValueError, "key must name a column or be an array"),
        ([1, None, 2], ValueError, "key must not be missing; got None in row 1"),
        ([1.0, 2.0, 3.0], TypeError, "row 0. It is of type float. Convert it to int"),
        ([[1], [2], [3]], (TypeError, ValueError), "key"),
        ([1, 2], ValueError, "key must have one value a row of X, 3; got 2"),
        ("k", ValueError, "X must have the column of the keys, 'k'; got no names"),
        (5, ValueError, "key must be a column of X, which has shape"),
    ],
)
def test_bad_keys_are_refused(keys: Any, kind: Any, words: str) -> None:
    X, y, key = panel("linear", 40)
    model = small().update(X, y, key)
    with same_bytes(model), pytest.raises(kind, match=words.replace("(", r"\(")):
        model.update(X[:3], y[:3], keys)


def test_frames_of_any_library_have_keys_and_responses() -> None:
    import polars as pl

    X, y, key = panel("linear", 60)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        y=y, sensor=[f"s{k}" for k in key]
    )
    one = small(key="sensor").update(frame, "y")
    other = small(key="sensor").update(pl.from_pandas(frame), "y")
    third = small(key="sensor")
    third.update(frame.drop(columns="y").to_dict("records"), y)
    assert model_bytes(one) == model_bytes(other) == model_bytes(third)
    same_answers(
        one.predict(frame.drop(columns="y")),
        one.predict(frame[["a", "b"]], frame["sensor"]),
    )
    with pytest.raises(ValueError, match="y must name a column of X"):
        one.update(frame, "z")
    with pytest.raises(ValueError, match="same index"):
        one.update(frame[["a", "b"]], frame["y"], frame["sensor"][::-1])


@pytest.mark.parametrize("kind", ["Int64", "string[pyarrow]", "category", "int8", str])
def test_keys_of_any_type_of_column_are_what_they_hold(kind: Any) -> None:
    X, y, key = panel("linear", 40)
    names = {"a": X[:, 0], "mean of the key": X[:, 1]}
    frame = pd.DataFrame(names | {"k": pd.Series(key).astype(kind)})
    model = small(key="k").update(frame, y)
    is_text = kind in ("string[pyarrow]", str)
    assert model.keys() == [str(k) if is_text else k for k in range(8)]
    assert len(model.predict(frame[:0]).mean) == 0
    same_answers(
        KeyedStream.from_arrays(*model.to_arrays()).predict(frame), model.predict(frame)
    )
    with pytest.raises(ValueError, match="X must have the column of the keys, 'k'"):
        model.predict(frame.drop(columns="k"))


def test_levels_may_come_late() -> None:
    X, y, key = panel("linear", 90)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["c"] = [None] * 20 + ["u"] * 20 + ["u", "v"] * 15 + ["w"] * 20
    y = y + (frame["c"] == "v")
    whole = small().update(frame, y, key)
    model = small(hot=2)
    for row in range(90):
        part = slice(row, row + 1)
        model.update(frame[part], y[part], key[part])
    model.hot = whole.hot
    assert model_bytes(model) == model_bytes(whole)
    assert whole.feature_names[:3] == ("a", "b", "c=u")
    with pytest.warns(UserWarning, match="count as missing"):
        whole.predict(frame[:2].assign(c="z"), key[:2])


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_many_levels_have_effects(kind: str) -> None:
    X, y, key = panel(kind, 160)
    text = [f"g{k}" for k in np.random.default_rng(1).integers(0, 45, 160)]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(g=text)
    whole, model = small(kind), small(kind, hot=2)
    with same_bytes(whole), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ManyLevelsWarning):
            whole.update(frame, y, key)
    with pytest.warns(ManyLevelsWarning, match="more than 32 levels"):
        whole = small(kind).update(frame, y, key)
    assert "effect of g" in whole.feature_names
    with pytest.warns(ManyLevelsWarning, match="more than 32 levels"):
        in_pieces(model, frame, y, key)
    model.hot = whole.hot
    assert model_bytes(model) == model_bytes(whole)
    back = KeyedStream.from_arrays(*whole.to_arrays())
    same_answers(back.predict(frame, key), whole.predict(frame, key))


def test_labels_may_come_late() -> None:
    X, y, key = panel("class", 120)
    y = y.astype(object)
    y[70:90:3], y[:5] = "third", "down"
    whole = small(None).update(X, y, key)
    assert whole.model == "class"
    assert whole.classes == ("down", "up", "third")
    model = small(None, hot=3)
    for row in range(0, 120, 11):
        part = slice(row, row + 11)
        model.update(X[part], y[part], key[part])
    model.hot = whole.hot
    assert model_bytes(model) == model_bytes(whole)
    answer = small(None).predict_then_learn(X, y, key)
    assert answer.classes == whole.classes
    assert answer.proba[70, 2] == 0.0 < answer.proba[90, 2]
    np.testing.assert_allclose(answer.proba[1:].sum(axis=1), 1.0)


def test_late_rows_are_left_out_or_learned() -> None:
    X, y, key = panel("linear", 60)
    at = np.arange(60)
    whole = small().update(X, y, key)
    model = small().update(X[:40], y[:40], key[:40], position=at[:40])
    model.update(X[20:], y[20:], key[20:], position=at[20:])
    assert (model.n_seen, model.n_skipped) == (60, 20)
    same_answers(model.predict(X, key), whole.predict(X, key))
    again = model.copy().predict_then_learn(X[:5], y[:5], key[:5], position=at[:5])
    same_answers(again, model.predict(X[:5], key[:5]))
    eager = small(late="learn").update(X, y, key, position=at[::-1].copy())
    assert (eager.n_seen, eager.n_skipped) == (60, 0)
    last = {k: int(at[::-1][key == k].max()) for k in range(8)}
    assert {k: eager.facts(k)["position"] for k in range(8)} == last
    for bad in (0.5 * at, at[:3], ["a"] * 60):
        with same_bytes(model), pytest.raises(ValueError, match="position"):
            model.update(X, y, key, position=bad)


def test_a_stream_of_identifiers_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((10_001, 1)), rng.random(10_001)
    model = small(own=False, block=5000, key="id")
    frame = pd.DataFrame({"x": X[:, 0], "id": np.arange(10_001)})
    with pytest.warns(ManyKeysWarning, match="Is 'id' the right column"):
        model.update(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.update(frame[:1], y[:1])


def test_keys_of_another_type_than_before_are_warned_of_once() -> None:
    X, y, key = panel("linear", 40)
    model = small().update(X, y, key)
    with pytest.warns(KeyTypeWarning, match="were integers before and some are text"):
        model.update(X[:2], y[:2], ["1", "2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.update(X[:2], y[:2], ["1", "2"])


def test_before_the_first_rows() -> None:
    model = small()
    with pytest.raises(NotReadyError, match="at least one row"):
        model.predict([[1.0]], [1])
    assert small("class", classes=("a", "b")).predict([[1.0]], [1]).proba.tolist() == [
        [0.5, 0.5]
    ]
    answer = model.predict_then_learn([[1.0], [2.0], [2.5]], [1.0, 3.0, 2.0], [1, 1, 2])
    assert answer.mean.tolist() == [0.0, 1.0, 2.0]
    assert np.isinf(answer.var[:2]).all()
    assert np.isfinite(answer.var[2])
    with pytest.raises(ValueError, match="key must have had a row; got 7"):
        model.facts(7)
    with pytest.raises(NotReadyError, match="own=True"):
        small(own=False).update([[1.0]], [1.0], ["a"]).model_of("a")


def test_a_key_that_is_dropped_begins_anew() -> None:
    X, y, key = panel("linear", 80)
    model = small().update(X, y, key)
    model.drop(3)
    assert 3 not in model
    assert len(model) == 7
    new = model.predict(X[:4], [99] * 4)
    same_answers(model.predict(X[:4], [3] * 4), new)
    with pytest.raises(ValueError, match="must have had a row"):
        model.drop(3)


def test_a_frozen_model_checks_its_rows_and_learns_nothing() -> None:
    X, y, key = panel("linear", 80)
    model = small().update(X, y, key).freeze()
    with same_bytes(model):
        model.update(X, y, key)
        answer = model.predict_then_learn(X[:5], y[:5], key[:5])
        same_answers(answer, model.predict(X[:5], key[:5]))
        with pytest.raises(ValueError, match="y must be finite"):
            model.update(X[:1], [np.nan], key[:1])


def test_prequential_scores_are_those_of_predict_then_learn() -> None:
    X, y, key = panel("linear", 120)
    rows = np.column_stack([key, X])
    seen = prequential(small(key=0), rows, y, start=30)
    model = small(key=0).update(rows[:30], y[:30])
    answer = model.predict_then_learn(rows[30:], y[30:])
    assert seen.mean.tolist() == answer.mean.tolist()
    assert seen.log_density.tolist() == answer.log_density(y[30:]).tolist()


@pytest.mark.parametrize("damage", ["blobs", "level_m0_y", "waiting_at", "by_age"])
def test_a_changed_file_is_refused_or_the_same(damage: str) -> None:
    X, y, key = panel("linear", 65)
    header, arrays = small().update(X, y, key).to_arrays()
    array = arrays[damage].copy()
    array.reshape(-1).view(np.uint8)[-3] ^= 0x7F  # of the last number, or its padding
    array.reshape(-1)[0] = 7 if damage == "blobs" else np.nan
    with pytest.raises(ValueError, match=r"key|valid|shape|model"):
        KeyedStream.from_arrays(header, arrays | {damage: array})


# ---------------------------------------------------------------- odd input
@pytest.mark.parametrize("name", ["y", "key", "position", "exposure"])
def test_series_are_paired_by_their_index(name: str) -> None:
    X, y, key = panel("poisson", 20)
    rows = {"X": pd.DataFrame(X), "y": y, "key": key}
    rows |= {"position": np.arange(20), "exposure": np.ones(20)}
    rows[name] = pd.Series(rows[name], index=range(5, 25))
    model = small("poisson", key=None)
    for call in (model.update, model.predict_then_learn):
        with pytest.raises(ValueError, match=f"{name} and X must have the same index"):
            call(**rows)
    assert len(model) == model.n_seen == 0


@pytest.mark.parametrize(
    "keys", [dict.fromkeys(range(20), 1), {*range(20)}, frozenset(range(20))]
)
def test_keys_without_an_order_are_refused(keys: Any) -> None:
    X, y, _ = panel("linear", 20)
    with pytest.raises(ValueError, match="one key for each row, in their order"):
        small().update(X, y, keys)


def test_one_key_that_is_the_name_of_a_column_is_a_key() -> None:
    frame = pd.DataFrame({"a": [0.5], "b": [0.1]})
    pairs: list[Any] = [np.array(["a"]), pd.Series(["a"]), ["a"], ("a",)]
    for keys in pairs:
        model = small().update(frame, [1.0], keys)
        assert (model.keys(), model.feature_names) == (["a"], ("a", "b"))
    for library in ("polars", "pyarrow"):
        table = pytest.importorskip(library)
        rows = table.DataFrame(frame) if library == "polars" else table.table(frame)
        model = small().update(rows, [1.0], np.array(["a"]))
        assert (model.keys(), model.feature_names) == (["a"], ("a", "b"))


def test_names_of_columns_may_be_numbers() -> None:
    X, y, key = panel("linear", 20)
    frame = (
        pd.DataFrame(X, columns=[1, 2]).assign(**{"k": key}).rename({"k": 0}, axis=1)
    )
    rows = [{0: int(k), 1: a, 2: b} for k, (a, b) in zip(key, X, strict=True)]
    models = [small(key=0).update(given, y) for given in (frame, rows)]
    assert model_bytes(models[0]) == model_bytes(models[1])
    assert models[0].feature_names == ("1", "2")


def test_no_rows_have_no_predictions() -> None:
    for kind in KINDS:
        X, y, key = panel(kind, 20)
        model = small(kind)
        for _ in range(2):
            with same_bytes(model):
                answer: Any = model.predict_then_learn(X[:0], y[:0], key[:0])
            assert len(answer.proba if kind == "class" else answer.mean) == 0
            model.update(X, y, key)


def test_a_key_of_another_type_is_warned_of_in_predictions() -> None:
    X, y, key = panel("linear", 20)
    model = small().update(X, y, key)
    with same_bytes(model), pytest.warns(KeyTypeWarning, match="are text now"):
        model.predict(X[:2], ["1", "2"])
    model.predict(X[:2], ["1", "2"])  # once is enough
    assert model.key_named("17") == 17
    assert small().update(X, y, key.astype(str)).key_named("17") == "17"


# ---------------------------------------------------------------- late and far rows
@pytest.mark.filterwarnings("ignore::dyntree.errors.UnseenLevelWarning")
@pytest.mark.parametrize("late", ["a level", "text in a column without values"])
def test_rows_that_are_skipped_begin_no_column(late: str) -> None:
    """So that it does not matter in which calls they come."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": 0, "a": rng.random(60)})
    y, position = frame["a"].to_numpy(), np.arange(60)
    position[30] = 0
    if late == "a level":
        frame["c"] = rng.choice(["u", "v"], 60)
        frame.loc[30, "c"] = "late"
    else:
        frame["c"] = [None] * 30 + ["text"] + [float(k) for k in range(29)]
    whole = KeyedStream(key="s", seed=1, n_particles=5)
    pieces = KeyedStream(key="s", seed=1, n_particles=5)
    whole.update(frame, y, position=position)
    for k in range(60):
        pieces.update(frame[k : k + 1], y[k : k + 1], position=position[k : k + 1])
    assert whole.n_skipped == pieces.n_skipped == 1
    assert whole.levels == pieces.levels
    assert model_bytes(whole) == model_bytes(pieces)


@pytest.mark.filterwarnings("ignore::dyntree.errors.DistantInputsWarning")
def test_a_row_far_from_a_key_is_answered_without_its_tree() -> None:
    """It neither stops a call nor changes what is said of the others."""
    rng = np.random.default_rng(0)
    X, key = rng.random((80, 2)), rng.integers(0, 5, 80)
    of_one = np.flatnonzero(key == 3)
    X[of_one, 0] *= 1e-150
    X[of_one[-2], 0] = 1e10
    model = KeyedStream(seed=1, n_particles=5)
    said = model.predict_then_learn(X, X[:, 1], key=key)
    assert model.n_seen == 80
    assert np.isfinite(said.mean).all()
    again = KeyedStream(seed=1, n_particles=5).update(X, X[:, 1], key=key)
    assert model_bytes(again) == model_bytes(model)
    some = np.setdiff1d(np.arange(80), of_one[-2])
    alone = model.predict(X[some], key=key[some]).mean
    np.testing.assert_array_equal(model.predict(X, key=key).mean[some], alone)
    with pytest.raises(ValueError, match="one whole number a row of X, 80"):
        model.update(X, X[:, 1], key=key, position=5)
    assert 1.5 not in model
    assert None not in model


def test_weights_of_rows_are_refused_by_name() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("river", reason="river is not installed")
    from dyntree.api.adapters import RiverKeyedRegressor
    from dyntree.api.estimators import KeyedClassifier, KeyedRegressor

    X, y, key = panel("linear", 60)
    rows, w, labels = np.column_stack([key, X]), np.ones(60), np.where(y > 0, "a", "b")
    model = small(key=0).update(rows, y)
    of_rows, of_labels = KeyedRegressor(key=0), KeyedClassifier(key=0)
    river = RiverKeyedRegressor(key="k", seed=1)
    row = {"k": 1, "a": 0.5}
    for call in (model.update, model.predict_then_learn):
        with same_bytes(model), pytest.raises(TypeError, match="has no weights of row"):
            call(rows, y, sample_weight=w)
    with pytest.raises(TypeError, match="has no weights of rows"):
        model.predict(rows, sample_weight=w)
    with same_bytes(model), pytest.raises(ValueError, match="sample_weight is for mod"):
        prequential(model, rows, y, sample_weight=w)
    for call in (of_rows.fit, of_rows.partial_fit):
        with pytest.raises(TypeError, match="sample_weight"):
            call(rows, y, sample_weight=w)
    for call in (of_labels.fit, of_labels.partial_fit):
        with pytest.raises(TypeError, match="sample_weight"):
            call(rows, labels, sample_weight=w)
    with pytest.raises(TypeError, match="'w'"):
        river.learn_one(row, 1.0, w=2.0)
    with pytest.raises(TypeError, match="'w'"):
        river.learn_many(pd.DataFrame([row]), pd.Series([1.0]), w=pd.Series([2.0]))


def tables(columns: dict[Any, Any]) -> list[Any]:
    """The same rows in every shape that has names of columns."""
    import polars as pl
    import pyarrow as pa

    texts = {str(name): values for name, values in columns.items()}
    each = zip(*(values.tolist() for values in columns.values()), strict=True)
    dicts = [dict(zip(columns, row, strict=True)) for row in each]
    frames = [pd.DataFrame(columns), pd.DataFrame(texts)]
    return [*frames, dicts, pl.DataFrame(texts), pa.table(texts)]


@pytest.mark.parametrize("name", [0, "0", np.int64(0)])
def test_a_column_whose_name_is_a_number_is_named_by_it_or_its_text(name: Any) -> None:
    X, y, key = panel("linear", 60)
    plain = small().update(X, y, key)
    for table in tables({0: key, "a": X[:, 0], "b": X[:, 1]}):
        model = small(key=name).update(table, y)
        assert (model.columns, model.keys()) == (("a", "b"), plain.keys())
        same_answers(model.predict(table), plain.predict(X, key))
        same_answers(model.predict(table, name), plain.predict(X, key))
    frame = pd.DataFrame({0: key, "a": X[:, 0], "b": X[:, 1], 7: y})
    model = small(key=name).update(frame, "7")
    same_answers(model.predict(table), plain.predict(X, key))


@pytest.mark.parametrize("name", ["at", 9])
def test_positions_are_a_column_of_the_rows(name: Any) -> None:
    X, y, key = panel("linear", 60)
    at = np.arange(60)
    plain = small().update(X[:40], y[:40], key[:40], position=at[:40])
    plain.update(X[20:], y[20:], key[20:], position=at[20:])
    assert (plain.n_seen, plain.n_skipped) == (60, 20)
    columns = {"k": key, "a": X[:, 0], "b": X[:, 1]}
    for table in tables(columns | {name: at}):
        model = small(key="k")
        for part in (slice(0, 40), slice(20, 60)):
            rows = table[part]
            model.predict_then_learn(rows, y[part], position=str(name))
        assert (model.columns, model.n_skipped) == (("a", "b"), 20)
        same_answers(model.predict(pd.DataFrame(columns)), plain.predict(X, key))
    row = {"k": 1, "a": 0.5, "b": 0.5, name: 60}
    for n_skipped in (20, 21):
        assert model.update(row, [0.5], position=str(name)).n_skipped == n_skipped
    for words, z in (
        (r"X must have the column of the positions, 'z'; got the columns \[", "z"),
        ("position must be one whole number a row of X", "a"),
    ):
        with same_bytes(model), pytest.raises(ValueError, match=words):
            model.update(rows, y[part], position=z)
    with same_bytes(plain), pytest.raises(ValueError, match="got no names"):
        plain.update(X, y, key, position="at")


# ------------------------------------------------------------ what would be other keys
def test_whole_numbers_that_floats_round_are_no_keys() -> None:
    x, y = np.linspace(0.0, 1.0, 6), np.arange(6.0)
    for first in (2**53, 1234567890123456789, -(2**60)):
        ids = first + np.arange(6) % 3
        model = KeyedStream(key=0, seed=1, n_particles=4)
        with pytest.raises(ValueError, match="whole numbers below"):
            model.update(np.column_stack([ids, x]), y)
        model = KeyedStream(seed=1, n_particles=4)
        assert {*model.update(x[:, None], y, key=ids).keys()} == {*ids.tolist()}


@pytest.mark.parametrize("n", [1, 2, 6])
def test_a_frame_is_no_column_of_keys(n: int) -> None:
    frame = pd.DataFrame({"x": np.arange(6.0), "k": ["a", "b"] * 3})
    model = KeyedStream(seed=1, n_particles=4)
    for keys in (frame[["k"]][:n], pd.DataFrame(np.full((n, n), "c"))):
        with pytest.raises(ValueError, match="key must"):
            model.update(frame[["x"]][:n], np.arange(n), key=keys)


@pytest.mark.parametrize("key", [("k", "x"), ["k"], True, 1.5])
def test_the_option_key_is_one_column(key: Any) -> None:
    frame = pd.DataFrame({"x": np.arange(6.0), "k": ["a", "b"] * 3})
    for n in (1, 2, 6):
        model = KeyedStream(key=key, seed=1, n_particles=4)
        with pytest.raises(ValueError, match="name of one column"):
            model.update(frame[:n], np.arange(n))


@pytest.mark.parametrize("n_columns", [11, 12, 15, 16])
def test_default_members_learn_tables_of_any_width(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    X, key = rng.random((300, n_columns)), rng.choice([*"abc"], 300)
    model = KeyedStream(n_particles=5, seed=1).update(X, X[:, 0], key)
    assert np.abs(model.predict(X, key).mean - X[:, 0]).mean() < 0.2


def test_a_column_of_keys_in_the_place_of_the_model_is_said_to_need_its_name() -> None:
    with pytest.raises(ArgumentError, match="A column of keys is named by key='shop'"):
        KeyedStream("shop")
