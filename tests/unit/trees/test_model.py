"""DynamicTree: R's numbers, refused calls, interrupts, copies."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree, StreamingTree
from dyntree.api import rmirror as r
from dyntree.errors import DegenerateWeightsWarning, NotReadyError
from tests.contract import check_twins
from tests.helpers import model_bytes, same_bytes
from tests.unit.conftest import measures_memory, python
from tests.unit.models import (
    BAD_LABELS,
    BAD_REAL,
    DISCARDS,
    MODELS,
    RETIRING,
    bad_rows,
    check_interrupts,
    data,
    frame,
    fresh,
    grown,
    interrupt_after,
    labelled,
    refused,
    stream,
)

# Both sides call the same core; sums over particles may run in another order.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
LEARNING = [name for name in MODELS if name != "prior"]


# ---------------------------------------------------------------- R's numbers
def numbers(labels: np.ndarray) -> np.ndarray:
    """Labels "a", "b", "c" as 1, 2, 3; a real response as it is."""
    if labels.dtype.kind != "U":
        return labels
    return np.searchsorted(["a", "b", "c"], labels) + 1.0


def mirror(name: str, X: np.ndarray, y: np.ndarray, **options: Any) -> r.DynaTree:
    of = MODELS[name]
    icept = of.get("intercept", "implicit")
    given = {"N": 20, "seed": 1, "verb": 0, "icept": icept} | options
    return r.dynaTree(X, numbers(y), model=of["model"], **given)


def assert_same_answers(model: DynamicTree, obj: r.DynaTree, X: np.ndarray) -> None:
    told, theirs = model.predict(X), r.predict(obj, X)
    if model.classes is not None:
        np.testing.assert_allclose(told.proba, theirs.p, **CLOSE)
        np.testing.assert_allclose(told.entropy, theirs.entropy, **CLOSE)
        return
    assert told.mixture.df.min() > 2.0  # below, R's variance has negative parts
    for field in ("mean", "var", "df"):
        np.testing.assert_allclose(getattr(told, field), theirs[field], **CLOSE)


@pytest.mark.parametrize("name", LEARNING)
def test_a_fit_is_rs(name: str) -> None:
    X, y = data(name)
    model, obj = fresh(name).update(X[:40], y[:40]), mirror(name, X[:40], y[:40])
    assert model.log_evidence == pytest.approx(obj.lpred.sum(), rel=1e-12)
    assert_same_answers(model, obj, X[40:])
    obj = r.update(obj, X[40:], numbers(y[40:]), verb=0)
    model.update(X[40:], y[40:])
    assert model.log_evidence == pytest.approx(obj.lpred.sum(), rel=1e-12)
    assert_same_answers(model, obj, X)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"proposal": "luall"}, {"rprop": "luall"}),
        ({"proposal": "reject"}, {"rprop": "reject"}),
        ({"min_leaf": 5, "n_start": 11}, {"minp": 5, "nstart": 11}),
        ({"tree_prior": (0.5, 1.0)}, {"ab": (0.5, 1.0)}),
        ({"variance_prior": (3.0, 0.1)}, {"nu0s20": (3.0, 0.1)}),
        ({"n_particles": 7, "seed": 5}, {"N": 7, "seed": 5}),
    ],
)
def test_options_are_rs_under_other_names(ours: Any, theirs: Any) -> None:
    X, y = data("constant")
    model, obj = (
        fresh("constant", **ours).update(X, y),
        mirror("constant", X, y, **theirs),
    )
    assert model.log_evidence == pytest.approx(obj.lpred.sum(), rel=1e-12)
    assert_same_answers(model, obj, X)


@pytest.mark.parametrize("name", ["implicit", "augmented"])
def test_columns_of_linear_leaves_are_rs(name: str) -> None:
    X, y = data(name)
    model = fresh(name, first_split=1, n_basis=1).update(X, y)
    obj = mirror(name, X, y, sb=(2, 1))
    assert model.log_evidence == pytest.approx(obj.lpred.sum(), rel=1e-12)
    assert_same_answers(model, obj, X)


@pytest.mark.parametrize("name", [name for name in RETIRING if name != "prior"])
def test_retiring_and_rejuvenating_are_rs(name: str) -> None:
    X, y = data(name, 80)
    model, obj = fresh(name).update(X[:40], y[:40]), mirror(name, X[:40], y[:40])
    for first in range(40, 80, 10):
        gone = model.active_ids[[0, 5, 17]]
        obj = r.retire(obj, [1, 6, 18], 0.9)
        model.retire(gone, forget=0.9)
        if first == 60:
            obj, model = r.rejuvenate(obj, verb=0), model.rejuvenate()
        assert_same_answers(model, obj, X)
        rows = slice(first, first + 10)
        obj = r.update(obj, X[rows], numbers(y[rows]), verb=0)
        model.update(X[rows], y[rows])
        assert_same_answers(model, obj, X)
    assert model.n_retired == obj.removed == 12
    assert (model.n_seen, model.n_active) == (80, 68)


def test_an_order_of_rejuvenation_names_rows_from_first_to_last() -> None:
    X, y = data("constant")
    model, obj = grown("constant").retire([3, 40]), mirror("constant", X, y)
    obj = r.retire(obj, [4, 41])
    places = np.random.default_rng(0).permutation(model.n_active)
    order = model.active_ids[places]
    odr = np.empty_like(places)
    odr[places] = np.arange(1, len(places) + 1)
    assert_same_answers(model.rejuvenate(order), r.rejuvenate(obj, odr, verb=0), X)
    assert model.state.cloud.n_particles == 40


# ---------------------------------------------------------------- learning
def test_rows_wait_until_r_would_fit_them() -> None:
    X, y = data("constant")
    model = fresh("constant", n_start=6)
    for n in range(1, 7):
        model.update(X[n - 1 : n], y[n - 1 : n])
        assert (model.n_seen, model.n_active, model.is_ready) == (n, n, False)
        assert model.active_ids.tolist() == list(range(n))
        assert (model.log_evidence, model.n_retired) == (0.0, 0)
        assert model.memory_usage() > 0
    assert model.update(X[6:7], y[6:7]).is_ready
    assert model.active_ids.tolist() == list(range(7))
    assert model.options.min_leaf == 4


def test_labels_are_those_named_or_those_seen_before_the_first_tree() -> None:
    X, y = data("class")
    assert grown("class").classes == ("a", "b", "c")
    assert fresh("class").classes is None
    model = fresh("class", classes=("c", "b", "a", "never")).update(X, y)
    assert model.predict(X).proba.shape == (60, 4)
    model = fresh("class").update(X[:2], ["a", "b"])
    with refused("y", "'c'", model):
        model.update(X[:1], ["c"])


def test_two_distinct_responses_are_needed_at_the_start() -> None:
    X, _ = data("constant")
    model = fresh("constant").update(X[:4], np.full(4, 7.0))
    with refused("y", "7.0", model):
        model.update(X[4:8], np.arange(4.0))


@pytest.mark.usefixtures("drawn_seeds")
def test_without_a_seed_one_is_drawn_and_kept() -> None:
    X, y = data("constant")
    model = DynamicTree(n_particles=20)
    again = DynamicTree(n_particles=20, seed=model.seed)
    assert model_bytes(model.update(X, y)) == model_bytes(again.update(X, y))
    assert DynamicTree().seed != model.seed  # fails once in 2^31


def test_the_warning_of_rows_without_density_points_at_the_caller() -> None:
    x = np.arange(12.0)[:, None]
    with pytest.warns(DegenerateWeightsWarning, match="every particle") as caught:
        model = fresh("implicit").update(x, 3.0 + x[:, 0])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.n_degenerate > 0


# ---------------------------------------------------------------- refused calls
def waiting(name: str, make: Callable[..., Any] = fresh) -> Any:
    return make(name, n_start=20).update(*data(name, 9))


def waiting_stream(name: str) -> StreamingTree:
    return waiting(name, stream)


def full(name: str) -> StreamingTree:
    return stream(name).update(*data(name, 40))


@pytest.mark.parametrize("case", bad_rows())
@pytest.mark.parametrize("made", [grown, waiting, full, waiting_stream])
@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
def test_bad_rows_are_refused(name: str, made: Callable[..., Any], case: str) -> None:
    X, y, argument, came = bad_rows()[case]
    model = made(name)
    if name == "class" and argument == "X":
        y = np.array(["a", "b", "c", "a"])[: len(y)]
    with refused(argument, came, model):
        model.update(X, y)


@pytest.mark.parametrize("case", BAD_REAL)
@pytest.mark.parametrize("name", ["constant", "augmented"])
@pytest.mark.parametrize("made", [fresh, waiting, grown, stream, waiting_stream, full])
def test_bad_responses_are_refused(
    made: Callable[..., Any], name: str, case: str
) -> None:
    model, (y, came) = made(name), BAD_REAL[case]
    with refused("y", came, model):
        model.update(np.full((3, 2), 0.5), y)


@pytest.mark.parametrize("case", BAD_LABELS)
@pytest.mark.parametrize("n", [0, 1, 60])
@pytest.mark.parametrize("make", [fresh, stream])
def test_bad_labels_are_refused(make: Callable[..., Any], n: int, case: str) -> None:
    y, came = BAD_LABELS[case]
    model = make("class", classes=None if n > 1 else ("a", "b"))
    if n:
        model.update([[0.5, 0.5]], ["a"]) if n == 1 else model.update(*data("class", n))
    with refused("y", came, model):
        model.update(np.full((3, 2), 0.5), y)


def test_other_columns_are_refused() -> None:
    X, y = data("constant")
    model = fresh("constant").update(frame(X, "pq"), y)
    for names, came in (
        ("pr", "unknown ['r']"),
        ("pqr", "unknown ['r']"),
        ("p", "['q']"),
    ):
        rows = frame(np.ones((1, len(names))), names)
        with refused("X", came, model):
            model.update(rows, [1.0])
        with refused("X", came, model):
            model.predict(rows)


# what a call names and shows, by a value that is refused
BAD_CALLS: dict[str, tuple[Callable[..., Any], list[tuple[Any, str]]]] = {
    "progress": (lambda m, v: m.update([[0, 0]], [0], progress=v),
                 [("yes", "'yes'"), (1, "1")]),
    "row_ids": (lambda m, v: m.retire(v), [
        ([0, 60], "60"), ([-1], "-1"), ([10**30], str(10**30)), (range(60), "60"),
        ([5, 6, 5], "[5, 6, 5]"), ([1.0], "[1.0]"), ([True], "[True]"), ("3", "'3'"),
        (None, "None"), ([[1, 2]], "[[1, 2]]"), ([[1, 2], [3]], "[3]"),
    ]),
    "forget": (lambda m, v: m.retire([1], forget=v), [
        (v, repr(v)) for v in (0.0, 1.01, -0.5, np.nan, "a", True)
    ]),
    "order": (lambda m, v: m.rejuvenate(v), [
        (range(59), "59"), (range(61), "60"), ([0] * 60, "[0, 0"), ([], "0"),
        (np.arange(60.0), "ndarray of shape (60,)"), ("random", "'random'"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
@pytest.mark.parametrize("model", ["constant", "augmented"])
def test_bad_calls_are_refused(model: str, name: str) -> None:
    m, (call, values) = grown(model), BAD_CALLS[name]
    for value, came in values:
        with refused(name, came, m):
            call(m, value)
    m.retire([0]).rejuvenate().update([[0.5, 0.5]], [1.0])  # and it works on


def test_a_retired_row_cannot_retire_again() -> None:
    model = grown("constant").retire([7])
    with refused("row_ids", "7", model):
        model.retire([8, 7])
    with same_bytes(model):
        model.retire([])


def test_implicit_leaves_cannot_retire_rows() -> None:
    model = grown("implicit")
    with refused("intercept", "augmented", model):
        model.retire([1])


@pytest.mark.parametrize(("name", "value"), [("first_split", 2), ("n_basis", 3)])
def test_options_beyond_the_width_are_refused_at_the_first_rows(
    name: str, value: int
) -> None:
    model = fresh("implicit", **{name: value})
    with refused(name, str(value), model):
        model.update(*data("implicit"))


QUESTIONS: dict[str, Callable[[DynamicTree], Any]] = {
    "predict": lambda m: m.predict([[0.5, 0.5]]),
    "acquisition": lambda m: m.acquisition([[0.5, 0.5]], "alm"),
    "active_values": lambda m: m.active_values("age"),
    "coef": lambda m: m.coef([[0.5, 0.5]]),
    "relevance": lambda m: m.relevance(),
    "sensitivity": lambda m: m.sensitivity(),
    "stats": lambda m: m.stats(),
    "retire": lambda m: m.retire([0]),
    "rejuvenate": lambda m: m.rejuvenate(),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_come_after_the_first_tree(name: str) -> None:
    model = fresh("implicit")
    with same_bytes(model), pytest.raises(NotReadyError, match=f"{name}.*n_start.*0"):
        QUESTIONS[name](model)
    model.update(*data("implicit", 8))
    with same_bytes(model), pytest.raises(NotReadyError, match=f"{name}.*n_start=8.*8"):
        QUESTIONS[name](model)


# ---------------------------------------------------------------- interrupts
@pytest.mark.parametrize(
    ("make", "name", "calls", "options"),
    [*[(fresh, name, calls, {}) for name in MODELS for calls in (1, 3)],
     *[(stream, name, 77, {"discard": rule, "rejuvenate_every": 7})
       for name, rule in DISCARDS]],
)  # fmt: skip
def test_an_interrupt_by_progress_keeps_the_rows_so_far(
    make: Callable[..., Any], name: str, calls: int, options: dict[str, Any]
) -> None:
    X, y = data(name, 3000)
    told = []

    def stop(done: int, total: int) -> None:
        told.append(done)
        if len(told) == calls:
            raise KeyboardInterrupt

    model = make(name, **options)
    with pytest.raises(KeyboardInterrupt):
        model.update(X, y, progress=stop)
    assert model.n_seen == told[-1] < len(X)
    again = make(name, classes=model.classes, **options)
    again.update(X[: told[-1]], y[: told[-1]])
    assert model_bytes(model) == model_bytes(again)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seconds", [0.01, 0.0437])
def test_ctrl_c_leaves_the_model_after_the_last_complete_row(
    name: str, seconds: float
) -> None:
    check_interrupts(grown(name), *data(name, 100_000), seconds)  # a second's work


@pytest.mark.parametrize("name", ["implicit", "augmented", "class"])
@pytest.mark.parametrize("order", [False, True])
def test_ctrl_c_during_rejuvenation_leaves_the_model_as_it_was(
    name: str, order: bool
) -> None:
    model = grown(name, 1500, n_particles=100)
    with same_bytes(model), interrupt_after(0.01) as arm:
        arm()
        model.rejuvenate(range(1500) if order else None)


class PressedAtTheEnd:
    """A cloud whose rejuvenation is interrupted when it is complete."""

    def __init__(self, cloud: Any) -> None:
        self.cloud = cloud

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cloud, name)

    def rejuvenate(self, destinations: Any) -> None:
        self.cloud.rejuvenate(destinations)
        raise KeyboardInterrupt


def test_ctrl_c_at_the_end_of_rejuvenation_keeps_all_of_it() -> None:
    model = grown("constant")
    twin = model.copy().rejuvenate()
    model.state.cloud = PressedAtTheEnd(model.state.cloud)
    with pytest.raises(KeyboardInterrupt):
        model.rejuvenate()
    assert model_bytes(model) == model_bytes(twin)


# ---------------------------------------------------------------- progress
@pytest.mark.parametrize("make", [fresh, stream])
def test_a_callable_hears_of_every_row_given(make: Callable[..., Any]) -> None:
    X, y = data("constant", 1000)
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    model = make("constant", n_start=10).update(X[:7], y[:7], progress=tell)
    assert told[-1] == (7, 7)
    told.clear()
    model.update(X[7:], y[7:], progress=tell)
    assert told[-1] == (993, 993)
    steps = [done for done, _ in told]
    assert steps == sorted(set(steps))


# ---------------------------------------------------------------- copies
def go_on(model: DynamicTree) -> None:
    """Everything that changes a model."""
    name = "class" if model.options.model == "class" else "constant"
    X, y = data(name, 30, seed=9)
    model.update(frame(X, "pq"), y)
    if model.options.intercept != "implicit" or model.options.model != "linear":
        model.retire([2], forget=0.5)
    model.rejuvenate().update(frame(X, "pq"), y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [0, 1, 60])
def test_a_copy_is_independent_and_goes_on_alike(name: str, n: int) -> None:
    X, y = data(name)
    model = fresh(name, **labelled(name))
    if n:
        model.update(frame(X[:n, ::-1], "qp"), y[:n])
    if n == 60:
        model.rejuvenate()
    check_twins(model, go_on)
    assert model.feature_names == (("q", "p") if n else ("p", "q"))


@pytest.mark.parametrize("name", MODELS)
def test_memory_grows_with_the_rows_held(name: str) -> None:
    sizes = [grown(name, n).memory_usage() for n in (20, 60, 400)]
    assert 0 < sizes[0] <= sizes[1] < sizes[2]


@measures_memory
def test_memory_usage_is_what_is_held_in_memory() -> None:
    """Against what the process grows by while a leaf of 30,000 rows fills."""
    code = (
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from dyntree import DynamicTree\n"
        "def held():\n"
        "    text = Path('/proc/self/status').read_text()\n"
        "    return int(text.split('VmRSS:')[1].split()[0]) * 1024\n"
        "X = np.random.default_rng(0).random((30_000, 8))\n"
        "tree = DynamicTree('linear', n_particles=5, seed=1, tree_prior=(0.0, 1.0))\n"
        "tree.update(X[:50], X[:50, 0])\n"
        "before, size = held(), tree.memory_usage()\n"
        "tree.update(X, X[:, 1])\n"
        "print(held() - before, tree.memory_usage() - size)"
    )
    process = python("-c", code)
    assert process.returncode == 0, process.stderr
    grown_by, told = map(int, process.stdout.split())
    # the call has rows of its own, the model pages that it has not touched
    assert 0.75 * grown_by <= told <= 1.5 * grown_by


def test_errors_as_warnings_do_not_hide_the_rows() -> None:
    x = np.arange(12.0)[:, None]
    model = fresh("implicit")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DegenerateWeightsWarning):
            model.update(x, 3.0 + x[:, 0])
    assert model.n_seen == 12
