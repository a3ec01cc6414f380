"""What every model that learns online must do: one set of tests for all of them.

A test module makes a class of `OnlineModelChecks` and gives it the fixtures `fresh`, a
function without arguments that makes a model which has seen no row and has named
everything it may meet, and `rows`, X of shape (n_rows, n_columns) and y of shape
(n_rows,), of 40 rows at least, all different. pytest runs each check on each model.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dyntree
from dyntree import checkpoint
from dyntree.encoding.feature_map import take
from dyntree.runtime.online import Learner, OnlineModel, Savable
from tests.helpers import model_bytes, same_bytes

Rows = tuple[np.ndarray, Any]
N_FIRST = 25  # rows of a first call, after which every model is ready
NAMES = ("b", "a", "d", "c")


def members(protocol: type) -> set[str]:
    """Names that a protocol asks for."""
    found = {name for kind in protocol.__mro__ for name in vars(kind)}
    return {name for name in found if not name.startswith("_")}


def some(y: Any, part: Any) -> Any:
    """Responses of some rows, where there are responses."""
    return None if y is None else y[part]


def arrays_of(record: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of an answer, which may be one itself."""
    if isinstance(record, np.ndarray):
        yield "answer", record
        return
    for name, value in vars(record).items():
        if isinstance(value, np.ndarray):
            yield name, value
        elif isinstance(value, list):
            yield from ((f"{name}[{k}]", one) for k, one in enumerate(value))


def same_answers(one: Any, other: Any) -> None:
    """Two answers hold the same bits."""
    assert type(one) is type(other)
    pairs = zip(arrays_of(one), arrays_of(other), strict=True)
    for (name, a), (_, b) in pairs:
        assert a.tobytes() == b.tobytes(), name


def twins_of(model: Any) -> list[Any]:
    """Copies, a pickle and files of a model, which are the model to the last byte."""
    twins = [
        model.copy(),
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        checkpoint.loads(checkpoint.dumps(model)),
        type(model).from_arrays(*model.to_arrays()),
    ]
    for twin in twins:
        assert type(twin) is type(model)
        assert model_bytes(twin) == model_bytes(model)
    return twins


def check_twins(model: Any, go_on: Callable[[Any], Any]) -> None:
    """What is copied, pickled or saved goes on as the model does, and apart from it."""
    twins = twins_of(model)
    with same_bytes(model):
        for twin in twins:
            go_on(twin)
    go_on(model)
    for twin in twins:
        assert model_bytes(twin) == model_bytes(model)


class OnlineModelChecks:
    """The contract of `dyntree.runtime.online.OnlineModel`."""

    empty_is_previewed = True
    asked = "X"  # what `predict` calls the rows it is given

    @pytest.fixture
    def learned(self, fresh: Callable[[], Any], rows: Rows) -> Any:
        """A model that has learned the first rows."""
        X, y = rows
        return fresh().update(X[:N_FIRST], some(y, slice(N_FIRST)))

    # ------------------------------------------------------------ the protocol
    def test_it_has_what_the_protocol_names(self, learned: Any) -> None:
        assert isinstance(learned, OnlineModel)
        for name in members(OnlineModel):
            assert hasattr(learned, name), name

    def test_it_tells_what_it_is(self, fresh: Callable[[], Any], rows: Rows) -> None:
        model, (X, y) = fresh(), rows
        assert (model.n_seen, model.is_frozen) == (0, False)
        assert model.columns is None
        assert model.feature_names == ()
        assert model.unit in ("row", "batch", "phase", "epoch", "call")
        assert model.update(X[:N_FIRST], some(y, slice(N_FIRST))) is model
        assert (model.n_seen, model.is_ready) == (N_FIRST, True)
        assert model.columns is None
        assert len(model.feature_names) == X.shape[1]
        assert (model.classes is not None) == model.is_classifier
        assert 0 < model.memory_usage() < 1e8
        facts = model.facts()
        assert json.loads(json.dumps(facts)) == facts
        assert facts["kind"] == type(model).__name__
        assert facts["rows learned"] == N_FIRST

    # ------------------------------------------------------------ learning
    def test_how_a_stream_is_cut_between_units_does_not_matter(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        X, y = rows
        parts = np.array_split(np.arange(len(X)), 4)
        in_parts, again = fresh(), fresh()
        for part in parts:
            in_parts.update(X[part], some(y, part))
        if in_parts.unit in ("row", "batch"):
            again.update(X, y)
            one_by_one = fresh()
            for k in range(len(X)):
                one_by_one.update(X[k : k + 1], some(y, slice(k, k + 1)))
            assert model_bytes(one_by_one) == model_bytes(again)
        elif in_parts.unit == "phase":
            labels = np.repeat([3, 5, 7, 9], [len(part) for part in parts])
            n = len(parts[0]) + len(parts[1])
            again.update(X[:n], phases=labels[:n]).update(X[n:], phases=labels[n:])
            whole = fresh().update(X, phases=labels)
            assert model_bytes(whole) == model_bytes(again)
        else:
            for part in parts:
                again.update(X[part], some(y, part))
        assert model_bytes(again) == model_bytes(in_parts)
        if in_parts.unit in ("phase", "epoch"):  # which a call is, so that cuts matter
            assert model_bytes(fresh().update(X, y)) != model_bytes(in_parts)

    def test_inputs_are_left_alone(self, learned: Any, rows: Rows) -> None:
        X, y = copy.deepcopy(rows)
        X.setflags(write=False)
        if y is not None:
            y.setflags(write=False)
        learned.update(X[N_FIRST:], some(y, slice(N_FIRST, None)))
        learned.predict(X)
        assert X.tobytes() == rows[0].tobytes()
        assert y is None or y.tolist() == rows[1].tolist()

    def test_a_model_keeps_no_hold_on_its_inputs(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        waits = fresh().unit in ("row", "batch")
        for n in (3, len(rows[0])) if waits else (len(rows[0]),):
            X, y = rows[0][:n].copy(), some(copy.deepcopy(rows[1]), slice(n))
            model = fresh().update(X, y)
            with same_bytes(model):
                X[:] = 0.0
                if y is not None:
                    y[:] = y[0]

    def test_columns_are_matched_by_name(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        import pandas as pd

        X, y = rows
        names = NAMES[: X.shape[1]]
        frame = pd.DataFrame(X, columns=list(names))
        turned = frame[sorted(names)]
        plain, model = fresh(), fresh()
        for one, more in ((plain, frame), (model, turned)):
            one.update(frame[:N_FIRST], some(y, slice(N_FIRST)))
            one.update(more[N_FIRST:], some(y, slice(N_FIRST, None)))
        assert model.columns == names
        assert model_bytes(model) == model_bytes(plain)
        same_answers(model.predict(turned), model.predict(frame))
        with same_bytes(model), pytest.raises(ValueError, match="X must have"):
            model.update(frame.rename(columns={names[0]: "z"}), y)

    def test_a_call_that_raises_changes_nothing(self, learned: Any, rows: Rows) -> None:
        X, y = rows
        bad = X[:5].copy()
        bad[3, 0] = np.inf
        calls: list[tuple[str, Any, Any]] = [
            ("X", bad, some(y, slice(5))),
            ("X", X[:5, :-1], some(y, slice(5))),
            ("X", X[0], some(y, slice(1))),
            ("X", [["text"] * X.shape[1]], some(y, slice(1))),
        ]
        if y is not None:
            calls += [("y", X[:5], y[:4]), ("y", X[:5], [None] * 5)]
        if learned.unit != "phase":  # of which one without rows lets time pass
            with same_bytes(learned):
                learned.update(X[:0], some(y, slice(0)))
                learned.update([], some(y, slice(0)))
        for name, rows_given, responses in calls:
            with same_bytes(learned), pytest.raises(ValueError, match=rf"\b{name}\b"):
                learned.update(rows_given, responses)
        with same_bytes(learned), pytest.raises(ValueError, match="progress"):
            learned.update(X[:5], some(y, slice(5)), progress="loud")
        with same_bytes(learned), pytest.raises(ValueError, match=self.asked):
            learned.predict(bad)

    def test_an_error_of_the_callers_leaves_complete_units(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        class Enough(Exception):
            pass

        def stop(done: int, total: int) -> None:
            if model.unit != "phase" or done > (len(X) - N_FIRST) // 2:
                raise Enough

        X, y = rows
        model = fresh().update(X[:N_FIRST], some(y, slice(N_FIRST)))
        before = model_bytes(model)
        rest = {"phases": np.arange(N_FIRST, len(X)) >= (N_FIRST + len(X)) // 2}
        more = rest if model.unit == "phase" else {}
        with pytest.raises(Enough):
            model.update(
                X[N_FIRST:], some(y, slice(N_FIRST, None)), progress=stop, **more
            )
        n = model.n_seen
        if model.unit in ("epoch", "call"):
            assert model_bytes(model) == before
            return
        assert N_FIRST < n <= len(X)
        other = fresh().update(X[:N_FIRST], some(y, slice(N_FIRST)))
        other.update(X[N_FIRST:n], some(y, slice(N_FIRST, n)))
        assert model_bytes(model) == model_bytes(other)

    @staticmethod
    def passes_of(model: Any) -> int:
        """Passes over the rows, as a bar counts them."""
        return 1

    @pytest.mark.parametrize("progress", [True, False, None])
    def test_a_bar_is_shown_only_where_asked_and_changes_nothing(
        self,
        progress: bool | None,
        fresh: Callable[[], Any],
        rows: Rows,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        X, y = rows
        model = fresh().update(X, y, progress=progress)
        out, err = capfd.readouterr()
        assert out == ""
        n = len(X) * self.passes_of(model)
        assert (f"{n}/{n}" in err) == (progress is True)
        assert model_bytes(model) == model_bytes(fresh().update(X, y))

    # ------------------------------------------------------------ answers
    def test_asking_changes_nothing(self, learned: Any, rows: Rows) -> None:
        X, y = rows
        with same_bytes(learned):
            one = learned.predict(X)
            learned.preview(X, y)
            learned.facts()
            learned.memory_usage()
            same_answers(learned.predict(X), one)

    def test_rows_are_foreseen_alike_together_and_alone(
        self, learned: Any, rows: Rows
    ) -> None:
        X, _ = rows
        if learned.unit == "epoch":  # documents are: their rows help one another
            documents = [X[:5], X[20:31], X[40:]]
            whole = dict(arrays_of(learned.predict(documents)))
            for k, document in enumerate(documents):
                alone = dict(arrays_of(learned.predict([document])))
                assert alone["labels[0]"].tolist() == whole[f"labels[{k}]"].tolist()
                share = whole["proportions"][k]
                np.testing.assert_allclose(alone["proportions"][0], share, atol=1e-12)
            return
        for name, together in arrays_of(learned.predict(X[:5])):
            for k in range(5):
                alone = dict(arrays_of(learned.predict(X[k : k + 1])))[name]
                np.testing.assert_array_equal(alone[0], together[k], err_msg=name)

    def test_what_is_previewed_can_be_foreseen_and_learned(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        X, y = rows
        plain = fresh().update(X[:N_FIRST], some(y, slice(N_FIRST)))
        plain.update(X[N_FIRST:], some(y, slice(N_FIRST, None)))
        for start in (None, 0, N_FIRST):
            model = fresh()
            encoded, responses = model.preview(X, y, start)
            assert (model.n_seen, len(responses)) == (0, len(X))
            model.update(X[:N_FIRST], some(y, slice(N_FIRST)))
            ahead = take(encoded, slice(N_FIRST, None))
            same_answers(model.predict(ahead), model.predict(X[N_FIRST:]))
            model.update(ahead, responses[N_FIRST:])
            assert model_bytes(model) == model_bytes(plain)

    # ------------------------------------------------------------ copies and files
    def test_copies_and_files_in_mid_stream_are_as_none(
        self, learned: Any, rows: Rows, tmp_path: Any
    ) -> None:
        X, y = rows
        assert isinstance(learned, Savable)
        dyntree.save(learned, tmp_path / "m.dyn")
        back = dyntree.load(tmp_path / "m.dyn")

        def go_on(model: Any) -> None:
            model.update(X[N_FIRST:], some(y, slice(N_FIRST, None)))
            assert model.n_seen == len(X)

        check_twins(learned, go_on)
        go_on(back)
        assert model_bytes(back) == model_bytes(learned)
        same_answers(back.predict(X), learned.predict(X))

    def test_a_position_is_in_the_same_file(self, learned: Any, tmp_path: Any) -> None:
        plain, path = checkpoint.dumps(learned), tmp_path / "m.dyn"
        position = {"clicks": [17, None, {"é": -0.5}], "": True}
        dyntree.save(learned, path, position=position)
        model, found = dyntree.load(path, with_position=True)
        assert found == position
        assert checkpoint.dumps(model) == plain == checkpoint.dumps(dyntree.load(path))
        dyntree.save(model, path)
        assert path.read_bytes() == plain
        assert dyntree.load(path, with_position=True)[1] is None

    def test_equal_models_give_equal_files(self, learned: Any) -> None:
        data = checkpoint.dumps(learned)
        assert checkpoint.dumps(checkpoint.loads(data)) == data
        assert checkpoint.dumps(learned.copy()) == data
        with pytest.raises(dyntree.errors.CheckpointError):
            checkpoint.loads(io.BytesIO(data).read()[:-30])

    # ------------------------------------------------------------ randomness
    def test_the_seed_is_all_that_chance_comes_from(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        X, y = rows
        one, other = fresh(), fresh().reseeded(fresh().seed + 1)
        assert other.seed == one.seed + 1
        again = other.reseeded(one.seed).update(X, y)
        assert model_bytes(again) == model_bytes(one.update(X, y))
        with same_bytes(one), pytest.raises(ValueError, match="first row"):
            one.reseeded(7)

    def test_a_preview_is_the_models_own(self, learned: Any, rows: Rows) -> None:
        X, y = rows[0][N_FIRST:].copy(), some(rows[1], slice(N_FIRST, None))
        encoded, _ = learned.preview(X, y)
        expected = learned.predict(rows[0][N_FIRST:])
        X[:] = np.inf  # the caller's to change
        same_answers(learned.predict(encoded), expected)
        for start in (-1, "a", 1.5):
            with pytest.raises(ValueError, match="start must be"):
                learned.preview(rows[0], rows[1], start)
        if not self.empty_is_previewed:
            with pytest.raises(ValueError, match="at least one row"):
                learned.preview(X[:0], some(y, slice(0)))

    def test_models_fit_into_evaluation_and_repeats(
        self, fresh: Callable[[], Any], rows: Rows
    ) -> None:
        from dyntree.evaluate import (
            prequential,
            prequential_density,
            prequential_each,
        )

        X, y = rows
        first, _ = dyntree.fit_repeats(fresh(), X, y, 2, shuffle=False)
        assert first.n_seen == len(X)
        assert isinstance(fresh(), Learner)
        if y is None:
            seen = prequential_density(fresh(), X, start=N_FIRST)
            assert seen.rows.tolist() == list(range(seen.rows[0], len(X)))
            again = fresh().update(X[: seen.rows[0]])
            first = again.score_samples(X[seen.rows[0] : seen.rows[0] + 1])
            assert seen.log_density[0] == first[0]
            with pytest.raises(ValueError, match="prequential_density"):
                prequential(fresh(), X, y)
            return
        alone = prequential(fresh(), X, y, start=N_FIRST)
        beside = prequential_each({"a": fresh(), "b": fresh()}, X, y, start=N_FIRST)
        for seen in beside.values():
            assert seen.log_density.tobytes() == alone.log_density.tobytes()
