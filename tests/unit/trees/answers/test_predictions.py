"""What a tree can be asked: R's answers under other names, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree import DynamicTree
from dyntree.api import rmirror as r
from tests.helpers import same_bytes
from tests.unit.models import MODELS, RETIRING, data, frame, fresh, grown, refused
from tests.unit.trees.test_model import CLOSE, mirror

REAL = [name for name in MODELS if name != "class"]
X, _ = data("constant")
NEW = np.random.default_rng(5).random((9, 2))
BOUNDS = [[-0.5, 1.5], [0.2, 0.8]]


def twins(name: str) -> tuple[DynamicTree, r.DynaTree]:
    return grown(name), mirror(name, *data(name))


@pytest.mark.parametrize("name", [name for name in REAL if name != "prior"])
def test_scores_are_rs_criteria(name: str) -> None:
    model, obj = twins(name)
    expected = {
        "alm": r.predict(obj, NEW).var,
        "alc": r.alc(obj, NEW).alc,
        "ei": r.predict(obj, NEW, ei=True).ei,
        "ieci": r.ieci(obj, NEW, probs=np.ones((20, 9))).ieci,
        "qei": r.qEI(obj, NEW).qEI,
        "qentropy": r.qEntropy(obj, NEW).qEntropy,
    }
    for rule, values in expected.items():
        np.testing.assert_allclose(
            model.acquisition(NEW, rule), values, **CLOSE, err_msg=rule
        )


def test_arguments_of_scores_are_rs() -> None:
    model, obj = twins("augmented")
    pairs = [
        (
            model.acquisition(NEW, "qei", q=1.0, alpha=3.0),
            r.qEI(obj, NEW, 1.0, 3.0).qEI,
        ),
        (model.acquisition(NEW, "qentropy", q=1.0), r.qEntropy(obj, NEW, 1.0).qEntropy),
        (model.acquisition(NEW, "alc", Xref=X), r.alc(obj, NEW, Xref=X).alc),
        (model.acquisition(NEW, "ieci", Xref=X), r.ieci(obj, NEW, X).ieci),
        (
            model.acquisition(NEW, "alc", bounds=BOUNDS),
            r.alc(obj, NEW, rect=BOUNDS).alc,
        ),
        (model.acquisition(NEW, "alc", approx=True), r.alc(obj, NEW, approx=True).alc),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, **CLOSE)
    assert len({ours.tobytes() for ours, _ in pairs}) == len(pairs)


@pytest.mark.parametrize("name", ["constant", "augmented", "none", "prior"])
def test_the_alc_of_active_rows_is_rs(name: str) -> None:
    model, obj = twins(name)
    np.testing.assert_allclose(model.active_values("alc"), r.alcX(obj).alcX, **CLOSE)


def test_the_entropy_of_active_rows_is_that_of_their_leaves() -> None:
    model, obj = twins("class")
    told = model.active_values("entropy")
    np.testing.assert_allclose(told, r.entropyX(obj).entropyX, **CLOSE)
    np.testing.assert_allclose(told, model.predict(X).entropy, **CLOSE)


@pytest.mark.parametrize("name", RETIRING)
def test_scores_follow_the_order_of_active_ids(name: str) -> None:
    model = grown(name).retire([0, 30])
    assert model.active_values("age").tolist() == model.active_ids.tolist()
    rule = "entropy" if name == "class" else "alc"
    rows, ids = data(name)[0][model.active_ids], model.active_ids
    told = model.active_values(rule)
    if name == "class":
        np.testing.assert_allclose(told, model.predict(rows).entropy, **CLOSE)
    else:
        # the same rectangle: that of the active rows
        np.testing.assert_allclose(told, model.acquisition(rows, "alc"), **CLOSE)
    assert told.shape == ids.shape == (58,)


def test_random_scores_are_new_draws_of_the_models_own_stream() -> None:
    model = grown("constant")
    twin = model.copy()
    first, second = model.active_values("random"), model.active_values("random")
    assert ((first > 0.0) & (first < 1.0)).all()
    assert (first != second).any()
    assert twin.active_values("random").tolist() == first.tolist()


@pytest.mark.parametrize("name", ["implicit", "augmented", "none"])
def test_coefficients_are_rs(name: str) -> None:
    model, obj = twins(name)
    told = model.coef(NEW)
    assert told.shape == (9, 2 if name == "none" else 3)
    np.testing.assert_allclose(told, r.coef(obj, NEW).coef, **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_relevance_and_shapes_are_rs(name: str) -> None:
    model, obj = twins(name)
    told = model.relevance(bounds=BOUNDS)
    theirs = r.relevance(obj, rect=np.array(BOUNDS)).relevance
    np.testing.assert_allclose(told.values, theirs[:, -2:], **CLOSE)
    assert told.names == ("x0", "x1")
    stats = model.stats()
    got = [stats.height, stats.n_leaves, stats.leaf_size, stats.leaf_retired]
    np.testing.assert_allclose(got, r.treestats(obj).iloc[0], **CLOSE)


@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
def test_sensitivity_is_rs(name: str) -> None:
    model, obj = twins(name)
    label = "b" if name == "class" else None
    told = model.sensitivity(label=label, n_samples=60, n_grid=7)
    cls = 2 if name == "class" else None
    theirs = r.sens(obj, cls=cls, nns=60, nME=7, verb=0)
    first, total = (theirs.S, theirs.T) if cls is None else (theirs.S[2], theirs.T[2])
    for ours, indices in ((told.first, first), (told.total, total)):
        inside = ~np.isnan(indices)  # R leaves out what noise carried outside [0, 1]
        assert inside.any()
        np.testing.assert_allclose(ours[inside], indices[inside], **CLOSE)
        assert not ((ours[~inside] >= 0.0) & (ours[~inside] <= 1.0)).any()
    assert told.main.shape == (20, 7, 2)
    np.testing.assert_allclose(told.grid[[0, -1]], [X.min(axis=0), X.max(axis=0)])


def test_names_follow_the_first_frame() -> None:
    rows, y = data("constant")
    model = fresh("constant")
    assert model.feature_names == ()
    model.update(frame(rows, "pq"), y)
    assert model.feature_names == ("p", "q")
    assert model.relevance().names == ("p", "q")
    swapped = frame(NEW[:, ::-1], "qp")
    for ask in (
        lambda rows: model.predict(rows).mean,
        lambda rows: model.acquisition(rows, "alc", Xref=rows),
    ):
        assert ask(swapped).tolist() == ask(NEW).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_asking_leaves_the_model_as_it_is(name: str) -> None:
    model = grown(name)
    with same_bytes(model):
        model.predict(NEW).sample(3)
        model.stats()
        model.relevance()
        if name != "class":
            for rule in ("alm", "alc", "ei", "ieci", "qei", "qentropy"):
                model.acquisition(NEW, rule)
        if MODELS[name]["model"] == "linear":
            model.coef(NEW)
        model.active_values("age")


@pytest.mark.parametrize("name", MODELS)
def test_one_row_at_a_time_gets_the_same_answer(name: str) -> None:
    model = grown(name)
    told = model.predict(NEW)
    for row in range(len(NEW)):
        alone = model.predict(NEW[row : row + 1])
        if name == "class":
            assert alone.proba.tolist() == told.proba[row : row + 1].tolist()
        else:
            np.testing.assert_allclose(alone.mean, told.mean[row], **CLOSE)
            np.testing.assert_allclose(alone.quantile(0.9), told.quantile(0.9)[row])


@pytest.mark.parametrize("name", MODELS)
def test_no_rows_get_empty_answers(name: str) -> None:
    model, none = grown(name), np.empty((0, 2))
    if name == "class":
        assert model.predict(none).proba.shape == (0, 3)
        assert model.predict(none).label.shape == (0,)
        return
    assert model.predict(none).mean.shape == (0,)
    for rule in ("alm", "alc", "ei", "ieci", "qei", "qentropy"):
        assert model.acquisition(none, rule).shape == (0,)


BAD_CALLS: list[tuple[str, Callable[[DynamicTree], Any], str, str]] = [
    ("constant", lambda m: m.predict([[1.0]]), "X", "1"),
    ("constant", lambda m: m.predict([1.0, 2.0]), "X", "(2,)"),
    ("constant", lambda m: m.predict([[np.nan, 0.0]]), "X", "nan"),
    ("constant", lambda m: m.predict([["a", "b"]]), "X", "'a' in row 0"),
    ("constant", lambda m: m.acquisition(NEW, "ALC"), "rule", "'ALC'"),
    ("constant", lambda m: m.acquisition(NEW, None), "rule", "None"),
    ("constant", lambda m: m.acquisition([[np.inf, 0.0]], "alc"), "X", "inf"),
    ("constant", lambda m: m.acquisition(NEW, "alc", Xref=NEW[:0]), "Xref", "none"),
    ("constant", lambda m: m.acquisition(NEW, "qei", q="a"), "q", "'a'"),
    ("constant", lambda m: m.acquisition(NEW, "qentropy", q=np.nan), "q", "nan"),
    ("constant", lambda m: m.acquisition(NEW, "qei", alpha=0.0), "alpha", "0.0"),
    ("constant", lambda m: m.acquisition(NEW, "qei", alpha=np.inf), "alpha", "inf"),
    ("class", lambda m: m.acquisition(NEW, "alc"), "rule", "'alc'"),
    ("constant", lambda m: m.active_values("oldest"), "rule", "'oldest'"),
    ("constant", lambda m: m.active_values("entropy"), "rule", "'constant'"),
    ("class", lambda m: m.active_values("alc"), "rule", "'class'"),
    ("constant", lambda m: m.coef(NEW), "model", "'constant'"),
    ("implicit", lambda m: m.coef([[1.0]]), "X", "1"),
    ("class", lambda m: m.sensitivity(label="z"), "label", "'z'"),
    ("class", lambda m: m.sensitivity(), "label", "['a', 'b', 'c']; got None"),
    (
        "class",
        lambda m: m.sensitivity(label=np.ones(2)),
        "label",
        "ndarray of shape (2,)",
    ),
    ("constant", lambda m: m.relevance(approx="no"), "approx", "'no'"),
    ("constant", lambda m: m.acquisition(NEW, "alc", approx=1), "approx", "1"),
    ("constant", lambda m: m.acquisition(NEW, "alc", Xref=[[1.0]]), "Xref", "got 1"),
    ("constant", lambda m: m.acquisition(NEW, "alc", Xref=[0.5]), "Xref", "(1,)"),
    (
        "constant",
        lambda m: m.acquisition(NEW, "alc", Xref=[[0, np.inf]]),
        "Xref",
        "inf",
    ),
    (
        "constant",
        lambda m: m.acquisition(NEW, "alc", Xref=[["a", "b"]]),
        "Xref",
        "'a' in",
    ),
    (
        "constant",
        lambda m: m.acquisition(NEW, "alc", Xref=[{"p": 1.0}]),
        "Xref",
        "got 1",
    ),
    ("constant", lambda m: m.predict(NEW).sample(2, seed=-1), "seed", "-1"),
    ("constant", lambda m: m.predict(NEW).sample(2, seed="a"), "seed", "'a'"),
    ("class", lambda m: m.predict(NEW).sample(2, seed=0.5), "seed", "0.5"),
    ("constant", lambda m: m.sensitivity(label="a"), "label", "'a'"),
]


@pytest.mark.parametrize(("model", "call", "name", "came"), BAD_CALLS)
def test_bad_calls_are_refused(
    model: str, call: Callable[..., Any], name: str, came: str
) -> None:
    m = grown(model)
    with refused(name, came, m):
        call(m)
