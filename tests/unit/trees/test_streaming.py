"""StreamingTree: a bounded window, whichever rule empties it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree
from dyntree._core.trees.cloud import Cloud
from dyntree._core.trees.window import worth
from dyntree.errors import DegenerateWeightsWarning, NotReadyError
from dyntree.trees.learning import warmup, windows
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import (
    DISCARDS,
    MODELS,
    RETIRING,
    check_interrupts,
    data,
    fresh,
    labelled,
    refused,
    stream,
)

OPTIONS = [{}, {"forget": 0.9}, {"rejuvenate_every": 7}]
SECONDS = (0.03, 0.0413, 0.0537)


@pytest.mark.parametrize(("name", "rule"), DISCARDS)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_window_is_never_exceeded(name: str, rule: str, options: Any) -> None:
    X, y = data(name, 80)
    model = stream(name, discard=rule, **options, **labelled(name))
    for row in range(80):
        model.update(X[row : row + 1], y[row : row + 1])
        tree = model.tree
        assert tree.n_active == min(row + 1, 25)
        assert tree.n_retired == max(0, row - 24)
        assert (model.n_seen, row in tree.active_ids) == (row + 1, True)


@pytest.mark.parametrize(("name", "rule"), DISCARDS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_stream_is_its_tree_driven_by_hand(
    name: str, rule: str, options: Any
) -> None:
    X, y = data(name, 80)
    model = stream(name, discard=rule, **options).update(X, y)
    tree = fresh(name).update(X[:25], y[:25])
    for row in range(25, 80):
        worst = tree.active_ids[np.argmin(tree.active_values(rule))]
        tree.retire([worst], options.get("forget", 1.0))
        tree.update(X[row : row + 1], y[row : row + 1])
        if options.get("rejuvenate_every") and (row + 1) % 7 == 0:
            tree.rejuvenate()
    assert model_bytes(model.tree) == model_bytes(tree)


def test_age_keeps_the_newest_rows() -> None:
    model = stream("constant", discard="age").update(*data("constant", 80))
    assert sorted(model.tree.active_ids) == list(range(55, 80))


def test_a_window_that_is_not_full_is_a_plain_tree() -> None:
    X, y = data("class")
    model = stream("class", window=61, discard="entropy").update(X, y)
    assert model_bytes(model.tree) == model_bytes(fresh("class").update(X, y))
    assert model.log_evidence == model.tree.log_evidence
    assert model.classes == ("a", "b", "c")
    assert model.memory_usage() == model.tree.memory_usage()


def test_rejuvenation_adds_particles_until_the_next_row() -> None:
    X, y = data("constant", 80)
    model = stream("constant", rejuvenate_every=30).update(X[:30], y[:30])
    assert model.tree.state.cloud.n_particles == 40
    model.update(X[30:31], y[30:31])
    assert model.tree.state.cloud.n_particles == 20


def test_forgetting_shrinks_what_leaves_remember() -> None:
    X, y = data("constant", 200)
    kept, faded = (
        stream("constant", forget=forget).update(X, y).tree.stats().leaf_retired
        for forget in (1.0, 0.5)
    )
    assert 0.0 < faded < kept / 2


def test_a_frozen_model_answers_and_learns_nothing() -> None:
    X, y = data("class", 80)
    model = stream("class", discard="entropy").update(X[:40], y[:40])
    assert not model.is_frozen
    assert model.freeze() is model
    assert model.is_frozen
    with same_bytes(model):
        model.update(X[40:], y[40:])
        told = model.predict(X)
    assert (told.proba == model.tree.predict(X).proba).all()
    assert model.copy().is_frozen
    with refused("y", "'z'", model):
        model.update(X[:1], ["z"])
    with refused("X", "nan", model):
        model.update([[np.nan, 0.0]], ["a"])


def test_a_frozen_model_refuses_values_beyond_its_scale() -> None:
    X, y = data("constant", 60)
    model = stream("constant", rules="native").update(X, y / 100).freeze()
    with refused("y", "1e+150", model):
        model.update(X[:1], [1e150])


def test_a_model_frozen_before_its_first_tree_checks_its_rows() -> None:
    model = stream("constant").freeze()
    with same_bytes(model):
        model.update(*data("constant"))
    with pytest.raises(NotReadyError, match="predict"):
        model.predict([[0.5, 0.5]])


# ---------------------------------------------------------------- refused calls
@pytest.mark.parametrize(("name", "least"), [("constant", 4), ("augmented", 8)])
def test_a_window_must_exceed_n_start(name: str, least: int) -> None:
    """Of linear leaves that is known with the columns, else at once."""
    X, y = data(name)
    if name == "constant":
        with refused("window", "n_start, 4; got 4"):
            stream(name, window=least)
    else:
        model = stream(name, window=least)
        with refused("window", "8; got 8. Give a larger window, a", model):
            model.update(X, y)
    assert stream(name, window=least + 1).update(X, y).tree.n_active == least + 1


NATIVE = [
    ("constant", "alc"), ("linear", "alc"), ("linear", "age"), ("linear", "random"),
    ("class", "entropy"), ("class", "random"),
]  # fmt: skip


def native(model: str, rule: str, **options: Any) -> StreamingTree:
    """A native stream with a window of 25 rows that has seen nothing."""
    return StreamingTree(
        model,
        discard=rule,
        n_particles=20,
        seed=1,
        window=25,
        rules="native",
        **options,
    )


def native_rows(model: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.random((n, 2))
    y = 3.0 * (X[:, 0] > 0.5) + rng.standard_normal(n)
    return X, (y > 1.5).astype(float) if model == "class" else y


@pytest.mark.parametrize(("model", "rule"), NATIVE)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore::dyntree.errors.StaleWindowWarning")
def test_a_native_stream_is_its_tree_driven_by_hand(
    model: str, rule: str, options: Any
) -> None:
    from tests.probes import probe

    X, y = native_rows(model, 90)
    whole = native(model, rule, **options).update(X, y)
    tree = DynamicTree(model, n_particles=20, seed=1)
    tree.update(X[:25], y[:25])
    for row in range(25, 90):
        tree.update(X[row : row + 1], y[row : row + 1])
        score = worth(tree.state.cloud, rule)  # draws from the stream that learns
        equal = score <= score.min() * (1 + 1e-12)  # as the stream has it: rounding
        worst = min(tree.active_ids[equal])
        tree.retire([worst], options.get("forget", 1.0))
        every = whole.options.rejuvenate_every
        probe.let_grow(tree.state.cloud, every)
    assert model_bytes(whole.tree) == model_bytes(tree)


@pytest.mark.parametrize(("model", "rule"), [("constant", "alc"), ("class", "entropy")])
def test_of_rows_worth_the_same_the_oldest_goes(model: str, rule: str) -> None:
    """A leaf that kept its first rows for ever would never split."""
    X, y = native_rows(model, 60)
    unsplit = native(model, rule, tree_prior=(1e-12, 1.0)).update(X, y)
    assert sorted(unsplit.tree.active_ids) == list(range(35, 60))


@pytest.mark.parametrize("counts", [(11, 5, 3, 1), (13, 6, 1, 2)])
@pytest.mark.parametrize("turned", [False, True])
def test_rounding_does_not_choose_the_row_that_goes(
    counts: tuple[int, ...], turned: bool
) -> None:
    """Two leaves whose labels are counted alike, in other orders."""
    sides = [np.repeat(list("abcd"), n) for n in (counts, counts[::-1])]
    X = np.repeat([[0.0], [1.0]], sum(counts), axis=0)
    y = np.concatenate(sides[::-1] if turned else sides)
    tree = DynamicTree("class", classes=tuple("abcd"), n_particles=20, seed=1)
    tree.update(np.tile(X, (3, 1)), np.tile(y, 3))
    assert tree.stats().n_leaves == 2.0
    assert np.ptp(tree.active_values("entropy")) < 1e-14
    assert tree.active_ids[windows.next_to_go(tree.state.cloud, "entropy")] == 0


# ---------------------------------------------------------------- interrupts
def test_an_interrupt_as_trees_are_planted_keeps_the_rows_of_earlier_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = native_rows("linear", 40)
    tree = native("linear", "age").update(X[:9], y[:9])
    expected = native("linear", "age").update(X[:10], y[:10])
    plain, calls = Cloud.update, []

    def pressed(cloud: Cloud, *arguments: Any, **more: Any) -> Any:
        calls.append(len(arguments[0]))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return plain(cloud, *arguments, **more)

    class Pressed(Cloud):
        update = pressed

    monkeypatch.setattr(warmup, "Cloud", Pressed)
    with pytest.raises(KeyboardInterrupt):
        tree.update(X[9:], y[9:])
    assert (tree.n_seen, calls) == (9, [9, 9])
    tree.update(X[9:10], y[9:10])
    np.testing.assert_array_equal(tree.predict(X).mean, expected.predict(X).mean)


@pytest.mark.parametrize(("model", "rule"), NATIVE)
@pytest.mark.parametrize("every", [0, 2, 40])
def test_ctrl_c_leaves_a_native_stream_after_a_complete_row(
    model: str, rule: str, every: int
) -> None:
    X, y = native_rows(model, 200_000)  # more than a second's, of any of them
    tree = native(model, rule, rejuvenate_every=every).update(X[:100], y[:100])
    check_interrupts(tree, X, y, *SECONDS)


@pytest.mark.parametrize(("name", "rule"), DISCARDS)
@pytest.mark.parametrize("every", [0, 2])
def test_ctrl_c_leaves_the_model_after_the_last_complete_row(
    name: str, rule: str, every: int
) -> None:
    X, y = data(name, 20_000)
    model = stream(name, discard=rule, rejuvenate_every=every).update(X[:100], y[:100])
    check_interrupts(model, X, y, *SECONDS)


@pytest.mark.parametrize("where", ["next_to_go", "rejuvenate"])
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_inside_a_row_waits_for_its_end(
    where: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data("constant", 40)
    options = {"discard": "random", "rejuvenate_every": 35}
    expected = stream("constant", **options).update(X[:35], y[:35])
    model = stream("constant", **options).update(X[:34], y[:34])
    plain, calls = getattr(windows, where), []

    def pressed(*arguments: Any) -> Any:
        calls.append(where)
        answer = plain(*arguments) if late or len(calls) > 1 else None
        if len(calls) == 1:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(windows, where, pressed)
    with pytest.raises(KeyboardInterrupt):
        model.update(X[34:], y[34:])
    assert model_bytes(model) == model_bytes(expected)


# ---------------------------------------------------------------- progress, memory
def test_the_warning_of_rows_without_density_points_at_the_caller() -> None:
    x = np.arange(40.0)[:, None]
    with pytest.warns(DegenerateWeightsWarning, match="every particle") as caught:
        stream("none").update(x, 2.0 * x[:, 0])
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("name", RETIRING)
def test_memory_stays_bounded(name: str) -> None:
    rule = "entropy" if name == "class" else "alc"
    if name == "prior":
        rule = "age"
    X, y = data(name, 4000)
    model = stream(name, discard=rule).update(X[:1000], y[:1000])
    early = model.memory_usage()
    assert early > 0
    largest = 0
    for first in range(1000, 4000, 250):
        model.update(X[first : first + 250], y[first : first + 250])
        largest = max(largest, model.memory_usage())
    # slabs double when full; the window's trees were all there after 1000 rows
    assert largest <= 2 * early


def test_options_reach_the_tree() -> None:
    options = {
        "min_leaf": 5,
        "n_start": 9,
        "tree_prior": (0.5, 1.0),
        "variance_prior": (1.0, 2.0),
        "proposal": "luall",
        "seed": 4,
    }
    tree = stream("constant", **options).tree
    got = vars(tree.options) | {"seed": tree.seed}
    assert {name: got[name] for name in options} == options
    assert MODELS["augmented"].items() <= vars(stream("augmented").tree.options).items()


def test_the_short_way_refuses_what_no_leaf_may_hold() -> None:
    X, y = data("constant")
    model = stream("constant", rules="native").update(X, y)
    for bad in (np.nan, np.inf, 1e151):
        with same_bytes(model), pytest.raises(ValueError, match="y must be"):
            model.learn_row(X[:1], bad)
    with pytest.raises(ValueError, match="proba_at needs labels"):
        model.tree.proba_at(X[:1])


def test_drift_is_what_it_stands_for() -> None:
    options = StreamingTree(drift=True, window=60).options
    assert (options.forget, options.rejuvenate_every) == (0.95, 60)
    assert not hasattr(options, "drift")
