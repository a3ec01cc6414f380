"""AveragedStream: what it says is the mixture of its members, whatever happens."""

from __future__ import annotations

import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import AveragedStream, StreamingTree, load, save
from dyntree._core.trees import one_row
from dyntree.errors import ArgumentError, UnseenLevelWarning
from dyntree.evaluate import prequential
from dyntree.summaries import ClassPrediction
from dyntree.trees.averages import stream as averaged_stream
from dyntree.trees.averages.memories import LINEAR, MEMORIES, WITH_REGRESSIONS
from dyntree.trees.learning import warmup
from tests.contract import same_answers
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import data, interrupt_after, refused

MEMBERS = [{"window": 20, "forget": 0.9}, {"window": 40}, {"window": 40}]


def small(model: str = "constant", **options: Any) -> AveragedStream:
    """An average of three members that has seen nothing."""
    given = {"members": MEMBERS, "n_particles": 15, "seed": 3} | options
    return AveragedStream(model, **given)


def two_labels(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = data("constant", n, seed)
    return X, np.where(y > 1.5, "high", "low")


# ---------------------------------------------------------------- predictions
@pytest.mark.parametrize("model", ["constant", "linear"])
def test_a_prediction_is_the_mixture_of_the_members(model: str) -> None:
    X, y = data("constant", 120)
    stream = small(model).update(X, y)
    got, w = stream.predict(X[:7]), stream.weights
    parts = [member.predict(X[:7]) for member in stream.members]
    mean = sum(w * p.mean for w, p in zip(w, parts, strict=True))
    second = sum(w * (p.var + p.mean**2) for w, p in zip(w, parts, strict=True))
    np.testing.assert_allclose(got.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(got.var, second - mean**2, rtol=1e-9)
    at = np.linspace(0.0, 3.0, 7)
    cdf = sum(w * p.cdf(at) for w, p in zip(w, parts, strict=True))
    np.testing.assert_allclose(got.cdf(at), cdf, rtol=1e-12)
    density = sum(w * np.exp(p.log_density(at)) for w, p in zip(w, parts, strict=True))
    np.testing.assert_allclose(np.exp(got.log_density(at)), density, rtol=1e-12)
    np.testing.assert_allclose(got.cdf(got.quantile(0.3)), 0.3, atol=1e-9)
    se = sum(w * (p.mean_se**2 + p.mean**2) for w, p in zip(w, parts, strict=True))
    np.testing.assert_allclose(got.mean_se, np.sqrt(se - mean**2), rtol=1e-7)


def test_one_member_says_what_its_stream_says() -> None:
    X, y = data("constant", 90)
    average = small(members=[{"window": 30}]).update(X, y)
    (member,) = average.members
    alone = StreamingTree("constant", window=30, n_particles=15, seed=member.seed)
    alone.update(X, y)
    assert model_bytes(member) == model_bytes(alone)
    np.testing.assert_array_equal(
        average.predict(X[:5]).mixture.location, alone.predict(X[:5]).mixture.location
    )
    assert average.log_evidence == pytest.approx(alone.log_evidence, rel=1e-12)


@pytest.mark.parametrize("model", ["constant", "class"])
def test_the_evidence_is_what_was_foreseen(model: str) -> None:
    """Log densities that move the weights are those of `predict`, row by row."""
    X, y = data("constant", 60) if model == "constant" else two_labels(60)
    known = {"classes": ("low", "high")} if model == "class" else {}
    stream = small(model, **known).update(X[:20], y[:20])
    before = stream.log_evidence
    seen = prequential(stream, X[20:], y[20:])
    assert stream.log_evidence - before == pytest.approx(seen.log_density.sum())


@pytest.mark.parametrize("name", ["two", "three"])
def test_labels_are_stacked_beside_the_average(name: str) -> None:
    X, y = two_labels(200) if name == "two" else data("class", 200)
    stream = small("class").update(X[:190], y[:190])
    share = stream.stacker_share
    assert 0.0 < share < 1.0
    members = [member.predict(X[190:194]).proba for member in stream.members]
    average = np.tensordot(stream.weights, members, axes=1)
    score = np.tensordot(stream._coef, np.log(members), axes=1)
    regressed = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    expected = (1.0 - share) * average + share * regressed
    np.testing.assert_allclose(stream.predict(X[190:194]).proba, expected, rtol=1e-9)


def test_a_label_that_comes_late_is_stacked_too() -> None:
    X, y = two_labels(200)
    stream = small("class").update(X[:1], y[:1])
    assert stream.stacker_share == 0.0  # of one label there is nothing to tell
    stream.update(X[1:190], y[1:190]).update(X[190:191], ["odd"])
    assert stream.classes == (y[0], *({"high", "low"} - {y[0]}), "odd")
    assert all(member.classes == stream.classes for member in stream.members)
    assert 0.0 < stream.stacker_share < 1.0
    proba = stream.predict(X[:4]).proba
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_the_memory_that_foresees_gets_the_weight() -> None:
    """A short memory where the response jumps, a long one where it stays."""
    rng = np.random.default_rng(0)
    X = rng.random((900, 1))
    noise = 0.1 * rng.standard_normal(900)
    still = X[:, 0] + noise
    jumps = np.sign(np.sin(np.arange(900) / 12.0)) * 3.0 + noise
    options: dict[str, Any] = {
        "members": [{"window": 10, "forget": 0.0}, {"window": 300}],
        "n_particles": 30,
    }
    calm, wild = small(**options).update(X, still), small(**options).update(X, jumps)
    assert calm.weights[1] > 0.9
    assert wild.weights[0] > 0.9


def test_weights_over_time_are_remembered_in_a_bounded_place() -> None:
    X, y = data("constant", 1400)
    stream = small(n_particles=3).update(X, y)
    history = stream.weight_history
    assert history.rows.tolist() == list(range(0, 1400, 4))
    assert history.weights.shape == (350, 3)
    np.testing.assert_allclose(history.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(history.weights[0], 1.0 / 3.0)
    bits = small(n_particles=3).update(X[:700], y[:700]).update(X[700:], y[700:])
    assert model_bytes(bits) == model_bytes(stream)


# ---------------------------------------------------------------- learning
@pytest.mark.parametrize("model", ["linear", "class"])
def test_threads_change_nothing(model: str) -> None:
    X, y = data("constant", 150) if model == "linear" else two_labels(150)
    models = [small(model).update(X, y, threads=n) for n in (1, 2, 7)]
    assert model_bytes(models[0]) == model_bytes(models[1]) == model_bytes(models[2])
    for n in (2, 7):
        same_answers(models[0].predict(X, threads=n), models[0].predict(X))


def test_an_interrupt_leaves_all_members_at_one_row() -> None:
    X, y = data("constant", 40_000)
    stream = small()
    with interrupt_after(0.2) as arm:
        stream.update(X, y, progress=lambda *rows: arm())
    n = stream.n_seen
    assert 0 < n < 40_000
    assert {member.n_seen for member in stream.members} == {n}
    assert model_bytes(stream) == model_bytes(small().update(X[:n], y[:n]))


def test_levels_missing_values_and_dicts_reach_all_members() -> None:
    X, y = data("constant", 60)
    rows = [
        {"a": x[0], "b": None if k % 7 == 0 else x[1], "c": "uv"[k % 2]}
        for k, x in enumerate(X)
    ]
    stream = small().update(rows, y)
    assert stream.columns == ("a", "b", "c")
    for member in stream.members:
        assert member.feature_names == ("a", "b", "c=v")
    assert np.isfinite(stream.predict({"a": 0.5, "c": "v", "b": None}).mean).all()


def test_a_late_level_is_told_once() -> None:
    X, y = data("constant", 40)
    rows = [{"a": x[0], "c": "uv"[k % 2]} for k, x in enumerate(X)]
    stream = small().update(rows, y)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        stream.predict({"a": 0.5, "c": "new"})
    assert [w.category for w in told] == [UnseenLevelWarning]


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_levels_that_come_late_get_columns_in_all_members(model: str) -> None:
    X, y = data("constant", 60) if model != "class" else two_labels(60)
    rows = [{"a": x[0], "c": "uvwz"[k // 20 + k % 2]} for k, x in enumerate(X)]
    known = {"classes": ("high", "low")} if model == "class" else {}
    whole = small(model, **known).update(rows[:15], y[:15]).update(rows[15:], y[15:])
    for member in whole.members:
        shared = "c=u" if model == "class" else "c=v"  # which begins with one row
        assert member.feature_names == ("a", shared, "c=w", "c=z")
    one = small(model, **known).update(rows[:15], y[:15])
    for k in range(15, 60):
        one.update(rows[k : k + 1], y[k : k + 1])
    assert model_bytes(one) == model_bytes(whole)
    strict = small(model, new_levels="error", **known).update(rows, y)
    with refused("c", "'q'", strict):
        strict.update({"a": 0.5, "c": "q"}, y[:1])


def test_rows_that_wait_do_so_in_all_members() -> None:
    X, y = data("constant", 30)
    one = small()
    for k in range(9):
        one.update(X[k : k + 1], y[k : k + 1])
    assert (one.n_seen, one.is_ready) == (9, False)
    assert one.predict(X[:2]).mean == pytest.approx([np.mean(y[:9])] * 2)
    assert model_bytes(one.update(X[9:], y[9:])) == model_bytes(small().update(X, y))
    half = small().update(X[:5], y[:5])
    assert model_bytes(half.copy().update(X[5:], y[5:])) == model_bytes(one)


def test_windows_are_as_wide_as_leaves_need() -> None:
    X = np.random.default_rng(0).random((40, 60))
    stream = AveragedStream("linear", n_particles=4, seed=1).update(X, X[:, 0])
    windows = [member.options.window for member in stream.members]
    assert windows == [130, 130, 130, 200, 500, 1000, 1000]
    assert stream.members[0].options.rejuvenate_every == 130
    large = AveragedStream("class", min_leaf=20, n_particles=2, linear=False, seed=1)
    assert [m.options.window for m in large.members][:5] == [40, 40, 50, 50, 200]
    with refused("window", "50", own := small("linear", members=[{"window": 50}])):
        own.update(X, X[:, 0])


def test_windows_below_ten_rows_begin_together() -> None:
    X, y = data("constant", 40)
    stream = small(members=[{"window": 6}, {"window": 20}])
    for k in range(12):
        stream.update(X[k : k + 1], y[k : k + 1])
        assert stream.is_ready == (k >= 5)
    again = small(members=[{"window": 6}, {"window": 20}]).update(X[:12], y[:12])
    assert model_bytes(again) == model_bytes(stream)


def test_a_frozen_average_learns_nothing() -> None:
    X, y = data("constant", 60)
    stream = small().update(X[:50], y[:50]).freeze()
    with same_bytes(stream):
        stream.update(X[50:], y[50:])
        stream.update(X[50:51], y[50:51])
        with pytest.raises(ValueError, match="X must have"):
            stream.update(X[:, :1], y)


def test_warnings_made_errors_leave_the_model_as_it_was() -> None:
    X, y = data("constant", 40)
    rows = [{"a": x[0], "c": "uv"[k % 2]} for k, x in enumerate(X)]
    stream = small(new_levels="missing").update(rows, y)
    with same_bytes(stream), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnseenLevelWarning):
            stream.update([{"a": 0.5, "c": "new"}], [1.0])


def test_members_that_fell_apart_are_found_out(tmp_path: Any) -> None:
    X, y = data("constant", 60)
    stream = small().update(X[:50], y[:50])
    save(stream, tmp_path / "m.dyn")
    stream.members[1].update(X[50:51], y[50:51])
    for part in (slice(50, 60), slice(50, 51)):
        with pytest.raises(RuntimeError, match="members must have learned the same"):
            stream.update(X[part], y[part])
    with pytest.raises(RuntimeError, match="continue from a checkpoint"):
        save(stream, tmp_path / "m.dyn")
    assert load(tmp_path / "m.dyn").n_seen == 50  # the good file is still there


def test_late_levels_rejuvenations_and_threads_do_not_wait_for_each_other() -> None:
    X, y = data("constant", 90)
    rows = [{"x": x[0], "s": "abc"[k // 30]} for k, x in enumerate(X)]
    members = [{"window": 20, "drift": True}, {"window": 30, "drift": True}]
    models = [
        small(members=members).update(rows, y, threads=n, progress=False)
        for n in (1, 2)
    ]
    assert model_bytes(models[0]) == model_bytes(models[1])


def test_an_interrupt_among_new_labels_waits_for_all_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data("class", 60)
    stream = small("class").update(X, y)
    take, calls = warmup.take_new_labels, []

    def pressed(state: Any, labels: Any) -> None:
        calls.append(state)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        take(state, labels)

    for module in (warmup, averaged_stream):
        monkeypatch.setattr(module, "take_new_labels", pressed)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            stream.update(X[:2], ["new", "other"])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len({member.classes for member in stream.members}) == 1
    assert np.isfinite(stream.predict(X[:3]).proba).all()


def test_an_interrupt_of_the_planting_call_loses_no_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data("constant", 30)
    for fresh in (small, lambda: StreamingTree(window=20, n_particles=9, seed=1)):
        model = fresh().update(X[:9], y[:9])
        start = warmup.buffer_or_start

        def pressed(*given: Any, start: Any = start) -> Any:
            found = start(*given)
            signal.raise_signal(signal.SIGINT)
            return found

        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with monkeypatch.context() as patched:
                for module in (warmup, averaged_stream):
                    patched.setattr(module, "buffer_or_start", pressed)
                with pytest.raises(KeyboardInterrupt):
                    model.update(X[9:10], y[9:10])
        finally:
            signal.signal(signal.SIGINT, handler)
        assert model.n_seen == 9  # those kept back; the tenth comes again
        again = fresh().update(X[:9], y[:9]).update(X[9:], y[9:])
        assert model_bytes(model.update(X[9:], y[9:])) == model_bytes(again)


def test_columns_that_come_while_rows_wait_widen_the_windows() -> None:
    X, y = data("constant", 40)
    levels = [f"u{k}" for k in range(9)]
    rows = [{"a": x[0], "s": levels[k % 9], "t": levels[-(k % 9)]}
            for k, x in enumerate(X)]  # fmt: skip
    stream = AveragedStream("linear", n_particles=4, seed=1)
    for row, response in zip(rows, y, strict=True):
        stream.update(row, [response])
    assert stream.n_seen == 40
    least = stream.members[0].tree.options.min_leaf
    assert stream.members[0].options.window == 2 * least > 20


# ---------------------------------------------------------------- other questions
def test_questions_are_answered_by_weight() -> None:
    X, y = data("constant", 150)
    stream = small("linear").update(X, y)
    w = stream.weights
    at = X[:6]
    bounds = [(0.0, 1.0), (0.0, 1.0)]
    for rule in ("alc", "ei", "ieci", "qei", "qentropy"):
        more = {"bounds": bounds} if rule == "alc" else {}
        parts = [m.tree.acquisition(at, rule, **more) for m in stream.members]
        expected = sum(w * p for w, p in zip(w, parts, strict=True))
        np.testing.assert_allclose(stream.acquisition(at, rule, **more), expected)
    np.testing.assert_array_equal(stream.acquisition(at, "alm"), stream.predict(at).var)
    coef = sum(w * m.tree.coef(at) for w, m in zip(w, stream.members, strict=True))
    np.testing.assert_allclose(stream.coef(at), coef)
    assert stream.relevance().values.shape == (45, 2)
    importance = stream.importance()
    assert importance.values.sum() == pytest.approx(1.0)
    sensitivity = stream.sensitivity(n_samples=200)
    assert sensitivity.first.shape == (45, 2)
    leaves = [m.tree.stats().n_leaves for m in stream.members]
    assert stream.stats().n_leaves == pytest.approx(np.dot(w, leaves))


def test_views_take_trees_by_weight() -> None:
    X, y = data("constant", 150)
    stream = small().update(X, y)
    view = stream.frozen_view()
    assert view.n_particles == 45
    location, _, _ = view.predictive(view.encode(X[:5]))
    mean = stream.predict(X[:5]).mean
    assert location.shape == (45, 5)
    # as near as 45 trees can stand for the weights: one tree is a 45th of them
    assert np.abs(location.mean(axis=0) - mean).max() < np.ptp(location) * 3 / 45
    assert view.split_counts().shape == (45, 2)
    assert view.rows()[0].shape == (40, 2)
    low, high = view.spans()
    assert (low <= X.min(axis=0)).all()
    assert (high >= X.max(axis=0)).all()
    assert view.particle(44).depth == 0
    with pytest.raises(ValueError, match="particle must be at most 44"):
        view.particle(45)


# ---------------------------------------------------------------- bad input, files
def test_bad_threads_are_refused() -> None:
    X, y = data("constant", 40)
    with refused("threads", "0", stream := small().update(X, y)):
        stream.update(X, y, threads=0)


def test_a_changed_file_is_refused(tmp_path: Any) -> None:
    X, y = data("constant", 60)
    stream = small().update(X, y)
    header, arrays = stream.to_arrays()
    changes: list[tuple[str, Any]] = [
        ("discount", 2.0),
        ("tempering", -1.0),
        ("is_frozen", 1),
        ("_note_every", 0),
        ("_log_evidence", "high"),
        ("members", {}),
        ("members", {"0": header["members"]["0"]}),
    ]
    for name, value in changes:
        with pytest.raises((ValueError, LookupError)):
            AveragedStream.from_arrays(header | {name: value}, arrays)
    for name, array in [
        ("log_weights", np.zeros(2)),
        ("coef", np.full(3, np.nan)),
        ("covariance", np.eye(2)),
        ("noted", arrays["noted"][:-1]),
        ("stray", np.zeros(1)),
    ]:
        with pytest.raises(ValueError, match="it"):
            AveragedStream.from_arrays(header, arrays | {name: array})
    other = small(seed=9).update(X[:59], y[:59]).to_arrays()
    mixed = dict(header["members"], **{"1": other[0]["members"]["1"]})
    swapped = arrays | {k: v for k, v in other[1].items() if k.startswith("m1_")}
    with pytest.raises(ValueError, match="do not belong together"):
        AveragedStream.from_arrays(header | {"members": mixed}, swapped)
    save(stream, tmp_path / "m.dyn")
    assert model_bytes(load(tmp_path / "m.dyn")) == model_bytes(stream)


def test_the_default_memories_fit_every_leaf_model() -> None:
    for model, memories in MEMORIES.items():
        memories = [*memories, *LINEAR] if model in WITH_REGRESSIONS else memories
        stream = AveragedStream(model, seed=1)
        for member, memory in zip(stream.members, memories, strict=True):
            memory = {k: v for k, v in memory.items() if k != "linear"}
            for name, value in memory.items():
                holder = (
                    member.options
                    if hasattr(member.options, name)
                    else (member.state.options)
                )
                assert getattr(holder, name) == value
        assert len({m.seed for m in stream.members}) == len(memories)
        clouds = [m for m in AveragedStream(model, n_particles=2, seed=1).members
                  if isinstance(m, StreamingTree)]  # fmt: skip
        assert {m.state.options.n_particles for m in clouds} == {2}


def test_wider_windows_for_wide_leaves_keep_their_forgetting() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 25))
    stream = AveragedStream("linear", n_particles=5, seed=1).update(X, X[:, 0])
    windows = [m.options.window for m in stream.members]
    least = 2 * stream.options.least_rows(25)
    assert windows == [max(m["window"], least) for m in MEMORIES["linear"]]
    assert [m.options.forget for m in stream.members] == [
        m.get("forget", 1.0) for m in MEMORIES["linear"]
    ]
    assert stream.members[0].options.rejuvenate_every == windows[0]


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_the_short_way_of_one_row_gives_the_same_bits(model: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = 2.0 * X[:, 0] + rng.normal(size=300)
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = np.digitize(y, [-1.0, 1.0])
    members = [{"window": 20, "forget": 0.8}, {"window": 100}]
    if model != "linear":
        members += [{"n_trees": 5}, {"n_trees": 4, "discount": 0.99}]
    stream = AveragedStream(model, members=members, n_particles=60, seed=1)
    for t in range(0, 300, 3):
        own = slice(t, t + 3)
        stream.update(X[own], (labels if model == "class" else y)[own])
        row = rng.normal(size=(1, 3))
        row[rng.random(row.shape) < 0.1] = np.nan
        told = stream.predict(row)
        if isinstance(told, ClassPrediction):
            np.testing.assert_array_equal(stream.proba_at(row), told.proba[0])
        else:
            assert stream.mean_at(row) == told.mean[0]


def test_the_core_refuses_a_row_of_another_width() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    stream = AveragedStream(members=[{"window": 20}], seed=1).update(X, X[:, 0])
    clouds = [state.cloud for state in stream.states]
    for row in (X[:2], X[:1, :1], np.empty((1, 3))):
        with pytest.raises(ValueError, match=r"row must be of shape \(1, 2\)"):
            one_row.mean(clouds, np.ones(1), np.ascontiguousarray(row))
    with pytest.raises(ValueError, match="weights must be 1; got 2"):
        one_row.mean(clouds, np.ones(2), X[:1])


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_rows_one_by_one_are_learned_as_many_are(model: str) -> None:
    """One call of the core for all members, rejuvenations and forests among them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 3))
    y = 2.0 * X[:, 0] + rng.normal(size=250)
    X[rng.random(X.shape) < 0.05] = np.nan
    options: dict[str, Any] = {"n_particles": 20, "seed": 1}
    if model == "class":
        y, options["classes"] = np.digitize(y, [-1.0, 1.0]), (0, 1, 2)
    whole = AveragedStream(model, **options).update(X, y)
    one_by_one = AveragedStream(model, **options)
    for t in range(250):
        if t == 120:
            one_by_one = one_by_one.copy()
        one_by_one.update(X[t : t + 1], y[t : t + 1])
    assert model_bytes(one_by_one) == model_bytes(whole)


def test_the_core_refuses_what_does_not_fit_before_it_learns() -> None:
    X, y = two_labels(40)
    stream = small("class").update(X, y)
    before = model_bytes(stream)
    clouds = [state.cloud for state in stream.states]
    terms = [member.options.terms for member in stream.members]
    row = np.ascontiguousarray(X[:1])
    for given, label, proba, words in [
        (row[:, :1], 0.0, None, "row must be of shape"),
        (row, 2.0, None, "y must be a label 0..1; got 2"),
        (row, 0.5, None, "y must be a label"),
        (row, 0.0, np.empty((3, 5)), "one entry for each"),
    ]:
        with pytest.raises(ValueError, match=words):
            one_row.learn(clouds, terms, np.ascontiguousarray(given), label, proba)
    with pytest.raises(ValueError, match="one entry for each"):
        one_row.learn(clouds, terms[:1], row, 0.0)
    assert model_bytes(stream) == before


@pytest.mark.parametrize("members", ["light", "fast", None])
@pytest.mark.parametrize("n_columns", [14, 15, 16, 40])
def test_default_sets_learn_tables_of_any_width(
    members: str | None, n_columns: int
) -> None:
    X = np.random.default_rng(0).random((60, n_columns))
    stream = AveragedStream(members=members, seed=1).update(X, X[:, 0])
    assert np.abs(stream.predict(X).mean - X[:, 0]).mean() < 0.2
    # windows of members that the user names stay as they are
    with pytest.raises(ArgumentError, match="window must be larger than min_leaf"):
        AveragedStream(members=[{"window": 10}], seed=1).update(X, X[:, 0])


def test_named_sets_go_on_after_load_before_the_first_trees(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((60, 15))
    stream = AveragedStream(members="fast", seed=1).update(X[:3], X[:3, 0])
    save(stream, tmp_path / "stream.dyn")
    again = load(tmp_path / "stream.dyn").update(X[3:], X[3:, 0])
    stream.update(X[3:], X[3:, 0])
    assert np.array_equal(again.predict(X).mean, stream.predict(X).mean)
