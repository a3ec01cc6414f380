"""The native rules as users meet them: cold start, labels, gaps, windows, copies."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.errors import (
    DistantInputsWarning,
    NotReadyError,
    StaleWindowWarning,
    UnseenLevelWarning,
)
from dyntree.params import NIG
from dyntree.trees.answers.predictions import blank_prediction
from tests.helpers import model_bytes
from tests.unit.models import refused


def native(model: str = "constant", **options: Any) -> DynamicTree:
    return DynamicTree(model, rules="native", n_particles=20, seed=1, **options)


def streaming(model: str = "constant", **options: Any) -> StreamingTree:
    return StreamingTree(model, rules="native", n_particles=20, seed=1, **options)


def smooth(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return X, 3 + np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)


# ------------------------------------------------------------ cold start
def test_without_rows_nothing_is_known() -> None:
    for model in ("constant", "linear", "class", "poisson"):
        with pytest.raises(NotReadyError, match="at least one row; got none"):
            native(model).predict([[1.0], [2.0]])
    q = native("class", classes=("a", "b")).predict([[1.0]])
    assert q.proba.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("first", [["c", "a"], ["b", "c"]])
def test_a_label_nobody_named_may_come_at_any_time(first: list[str]) -> None:
    X = np.linspace(0, 1, 4)[:, None]
    labels = [*first, "a", "b"]
    whole = native("class", classes=("a", "b")).update(X, labels)
    parts = native("class", classes=("a", "b")).update(X[:1], labels[:1])
    parts.update(X[1:], labels[1:])
    assert whole.classes == parts.classes == ("a", "b", "c")


@pytest.mark.parametrize("y", [[], [2.0], [2.0, 2.0, 2.0]])
def test_without_two_responses_all_but_the_median_is_infinitely_far(y: Any) -> None:
    tree = native()
    if y:
        p = tree.update([[0.0]] * len(y), y).predict([[1.0], [2.0]])
    else:
        p = blank_prediction(tree.options, 2)
    middle = 2.0 if y else 0.0
    assert p.quantile([0.1, 0.5, 0.9]).tolist() == [[-np.inf, middle, np.inf]] * 2
    assert p.quantile(0.4).tolist() == [-np.inf] * 2
    assert p.cdf([-1.0, 1e6]).tolist() == [0.5, 0.5]
    assert p.log_density([middle, 1.0]).tolist() == [-np.inf] * 2
    assert p.var.tolist() == [np.inf] * 2
    assert np.isinf(p.sample(3, seed=1)).all()


def test_without_a_label_none_is_told_or_drawn() -> None:
    p = blank_prediction(native("class").options, 1)
    assert (p.classes, p.entropy.tolist()) == ((), [0.0])
    for what, call in [("label", lambda: p.label), ("sample", lambda: p.sample(2))]:
        with pytest.raises(NotReadyError, match=f"{what}.*update.*classes"):
            call()


@pytest.mark.parametrize(
    ("model", "n", "told"),
    [
        (native(), 0, "at least 10 rows; got 0. Call update with 10 more rows"),
        (native(), 9, "at least 10 rows; got 9. Call update with 1 more row first"),
        (native("class"), 0, "at least 1 row; got 0. Call update with 1 more row"),
        (streaming(window=6).tree, 4, "at least 6 rows; got 4. Call update with 2"),
        (DynamicTree(rules="r"), 0, "more than n_start rows; got 0. Call update with"),
        (DynamicTree(rules="r"), 3, "n_start=4 rows; got 3. Call update with 2 more"),
    ],
)
def test_questions_tell_how_many_rows_are_missing(
    model: Any, n: int, told: str
) -> None:
    if n:
        model.update(np.ones((n, 1)), np.arange(float(n)))
    with pytest.raises(NotReadyError, match=re.escape(told)):
        model.stats()


def test_the_first_rows_answer_by_their_own_t() -> None:
    y = [1.0, 3.0, 2.0, 6.0]
    tree = native().update([[0.0]] * 4, y)
    assert not tree.is_ready
    p = tree.predict([[5.0]])
    assert p.mean[0] == pytest.approx(3.0)
    assert p.df[0] == 3.0
    scale = np.std(y, ddof=1) * np.sqrt(1.25)
    assert p.mixture.scale[0] == pytest.approx(scale, rel=1e-12)


def test_equal_responses_are_no_obstacle() -> None:
    tree = native().update(np.arange(30.0)[:, None], np.ones(30))
    assert tree.predict([[3.0]]).mean[0] == pytest.approx(1.0)


# ------------------------------------------------------------ labels
def test_new_labels_take_their_place_after_the_others() -> None:
    tree = native("class").update([[0.0], [1.0]] * 10, ["a", "b"] * 10)
    before = tree.predict([[0.0]]).proba
    tree.update([[2.0]], ["zebra"])
    assert tree.classes == ("a", "b", "zebra")
    after = tree.predict([[0.0], [2.0]]).proba
    assert after.shape == (2, 3)
    assert after.sum(axis=1) == pytest.approx(1.0)
    assert after[0, 0] > 0.5
    assert before.shape == (1, 2)


def test_new_labels_keep_retired_counts() -> None:
    stream = streaming("class", window=10, discard="age")
    stream.update([[0.0]] * 40, ["a", "b"] * 20)
    retired = stream.tree.stats().leaf_retired
    stream.update([[0.0]], ["c"])
    assert stream.tree.stats().leaf_retired == pytest.approx(retired + 1, abs=1e-9)
    assert stream.tree.n_active == 10


# ------------------------------------------------------------ missing values, levels
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_missing_values_are_taken_everywhere() -> None:
    X, y = smooth()
    X[::3, 0] = np.nan
    for model in ("constant", "linear"):
        stream = streaming(model, window=40).update(X, y)
        p = stream.predict([[np.nan] * 3, [0.5, np.nan, 0.5]])
        assert np.all(np.isfinite(p.mean))
        assert np.all(np.isfinite(stream.tree.active_values("alc")))
        assert np.all(np.isfinite(stream.tree.relevance().values))


@pytest.mark.parametrize("value", [1.1e150, -1e155, 1e308])
def test_values_whose_squares_overflow_are_refused(value: float) -> None:
    X, y = smooth(40)
    for model in (native(), native("linear").update(X, y)):
        for name, place in [("X", "row 3, column 1"), ("y", "row 3")]:
            bad = {"X": X.copy(), "y": y.copy()}
            bad[name][(3, 1) if name == "X" else 3] = value
            with refused(name, f"{value} in {place}. Rescale", model):
                model.update(**bad)
    with refused("X", f"{value} in row 0"):
        model.predict([[0.0, value, 0.0]])
    DynamicTree(rules="r", n_particles=5, seed=1).update(X * value / 1e5, y)


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
@pytest.mark.parametrize("n_first", [0, 4, 10, 20])
@pytest.mark.parametrize("kind", [native, streaming])
def test_values_far_beyond_a_small_scale_are_refused(
    kind: Any, n_first: int, model: str
) -> None:
    """A spread of 1e-10 by the first rows, then a value of 1e149."""
    X, y = smooth(30)
    X, y = 1e-10 * X, 1e-10 * y
    labels = np.where(y > 3e-10, "high", "low") if model == "class" else y
    tree = kind(model)
    if n_first:
        tree.update(X[:n_first], labels[:n_first])
    bad_X, bad_y = X[n_first:].copy(), labels[n_first:].copy()
    bad_X[-2, 1] = 1e149
    if model != "linear":  # trees alone know no scale of X
        tree.copy().update(bad_X, bad_y)
    else:
        with refused("X", f"1e+149 in row {28 - n_first}, column 1", tree):
            tree.update(bad_X, bad_y)
    if model == "class":
        return
    bad_y[-3] = -1e149
    with refused("y", f"-1e+149 in row {27 - n_first}, where", tree):
        tree.update(X[n_first:], bad_y)
    tree.update(X[n_first:], y[n_first:])
    if model == "linear":
        with refused("X", "row 0, column 1", tree):
            tree.predict(bad_X[-2:-1])


def told_of_distance(expected: bool) -> Any:
    return pytest.warns(DistantInputsWarning) if expected else nullcontext()


@pytest.mark.parametrize("size", [3e6, -1e9, 1e30, 1e140])
@pytest.mark.parametrize("kind", [native, streaming])
def test_a_row_of_distant_inputs_spoils_no_linear_leaf(kind: Any, size: float) -> None:
    """As 10^6 spreads, beside which sums of squares still hold the other rows."""
    X, y = smooth(200)
    far = np.array([[size, 2 * size, -size]])
    first = X[:10]  # these fix the scale
    near = first.mean(axis=0) + np.sign(far) * 1e6 * first.std(axis=0, ddof=1)
    given = kind("linear").update(X[:120], y[:120])
    with pytest.warns(DistantInputsWarning) as told:
        given.update(far, y[:1])
    for column, warning in enumerate(told):
        assert f"X has values in column {column} more than" in str(warning.message)
    assert len(told) == 3
    given.update(X[120:], y[120:])
    error = given.predict(X).mean - y
    assert np.sqrt(np.mean(error**2)) < y.std()
    with pytest.warns(DistantInputsWarning):
        answer = given.predict(far).mean
    np.testing.assert_allclose(answer, given.predict(near * (1 - 1e-12)).mean)


@pytest.mark.parametrize("make", [AveragedTrees, AveragedStream, DynamicTree])
def test_a_distant_column_is_named_once(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    X[150:, 1] = 1e9
    model = make(n_particles=5, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in (slice(0, 160), slice(160, 200)):
            model.update(X[rows], X[rows, 0])
        for _ in range(2):
            model.predict(X)
    distant = [one for one in caught if one.category is DistantInputsWarning]
    assert len(distant) == 2  # of rows to learn, and of rows to predict


@pytest.mark.parametrize(
    ("model", "rules"), [("constant", "native"), ("class", "native"), ("linear", "r")]
)
def test_only_native_linear_leaves_move_distant_inputs(model: str, rules: str) -> None:
    X, y = smooth(60)
    labels = np.where(y > 3, "high", "low") if model == "class" else y
    tree = DynamicTree(model, rules=rules, n_particles=5, seed=1).update(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistantInputsWarning)
        tree.update([[1e9, 0.5, -1e9]], labels[:1])
    assert 1e9 in tree.to_arrays()[1]["X"]


@pytest.mark.parametrize("first", [0.0, 1e9])
def test_columns_that_stood_still_at_first_are_left_as_they_are(first: float) -> None:
    """The first value that differs gives them a unit; later ones may be of any size."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random(200), 1e8 * rng.random(200)])
    y = X[:, 0] + X[:, 1] / 1e7
    X[:10, 1] = first
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistantInputsWarning)
        tree = native("linear").update(X, y)
    assert np.unique(tree.to_arrays()[1]["X"][:, 1]).size == 191
    error = np.abs(tree.predict(X[50:]).mean - y[50:])
    assert np.median(error) < 0.1 * y.std()  # a row beyond its leaf may be far off


def test_inputs_far_from_the_origin_are_left_as_they_are_through_it() -> None:
    x = 1.7e9 + np.random.default_rng(3).permutation(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistantInputsWarning)
        tree = native("linear", intercept="none").update(x[:, None], x)
    assert np.unique(tree.to_arrays()[1]["X"]).size == 200


def test_missing_inputs_and_columns_stay_missing_beside_distant_ones() -> None:
    X, y = smooth(60)
    X[:, 2] = np.nan
    tree = native("linear").update(X, y)
    far = pd.DataFrame([[np.nan, 1e9, 5.0]])
    with pytest.warns(DistantInputsWarning) as told:
        tree.update(far, y[:1])
    assert len(told) == 1
    last = tree.to_arrays()[1]["X"][-1]
    assert np.isnan(last[0])
    assert 1e5 < last[1] < 1e6
    assert last[2] == 5.0


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_values_just_within_the_scale_give_finite_answers(model: str) -> None:
    X, y = smooth(60)
    X, y = 1e-10 * X, 1e-10 * y
    far_X, far_y = X.copy(), y.copy()
    far_X[40, 1], far_y[41] = 1e139, -1e139
    with told_of_distance(model == "linear"):
        tree = native(model).update(X[:30], y[:30]).update(far_X[30:], far_y[30:])
        p = tree.predict(far_X)
    assert np.isfinite(tree.log_evidence)
    assert np.all(np.isfinite(p.mean))
    assert np.all(np.isfinite(p.mixture.scale))


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_values_just_below_give_finite_answers(model: str) -> None:
    X, y = smooth(80)
    p = native(model).update(X * 0.9e150, y * 0.2e150).predict(X * 0.9e150)
    assert np.all(np.isfinite(p.mean))
    assert np.corrcoef(p.mean / 1e150, y)[0, 1] > 0.5


def test_strings_become_indicators_and_new_levels_are_missing() -> None:
    frame = pd.DataFrame({"a": [0.5, None, 2.0] * 8, "site": ["n", "s", None] * 8})
    tree = native("linear").update(frame, np.arange(24.0))
    assert tree.feature_names == ("a", "site=s")
    with pytest.warns(UnseenLevelWarning, match="'site'") as caught:
        p = tree.predict(pd.DataFrame({"site": ["n", "moon"], "a": [1, 1]}))
    assert caught[0].filename == __file__
    assert np.all(np.isfinite(p.mean))
    tree.update([{"a": 1.0, "site": "moon"}], [1.0])  # told once


def two_sites(n: int = 40) -> tuple[list[dict[str, Any]], np.ndarray]:
    rows = [{"a": k % 7, "site": [None, "s", "n"][k % 3]} for k in range(n)]
    return rows, np.array([2.0 * (row["site"] == "s") for row in rows])


@pytest.mark.parametrize("categories", [None, {"site": ["s", "n"]}])
def test_levels_of_rows_one_by_one_are_those_of_rows_at_once(categories: Any) -> None:
    rows, y = two_sites()
    whole = streaming("linear", window=20, categories=categories).update(
        rows[:10], y[:10]
    )
    parts = streaming("linear", window=20, categories=categories)
    for row, response in zip(rows[:10], y[:10], strict=True):
        parts.update(row, [response])
        parts = parts.copy()
    for each in (whole, parts):
        each.update(rows[10:], y[10:])
    assert model_bytes(whole) == model_bytes(parts)
    second = "site=n" if categories else "site=s"
    assert whole.tree.feature_names == ("a", second)


def test_declared_levels_serve_class_trees_from_the_first_row() -> None:
    rows, y = two_sites(200)
    labels = np.where(y > 1, "high", "low").tolist()
    tree = native("class", categories={"site": ["n", "s"]})
    for row, label in zip(rows, labels, strict=True):
        tree.update(row, [label])
    told = tree.copy().predict([{"a": 1, "site": "s"}, {"a": 1, "site": "moon"}])
    assert told.label[0] == "high"


@pytest.mark.parametrize(
    ("categories", "came"),
    [
        (["site"], "['site']"),
        ({"site": "north"}, "'north'"),
        ({"site": []}, "[]"),
        ({"site": ["n", "n"]}, "['n', 'n']"),
        ({"site": ["n", None]}, "None"),
        ({"sight": ["n"]}, "'sight'"),
    ],
)
def test_bad_categories_are_refused(categories: Any, came: str) -> None:
    with refused("categories", came):
        native(categories=categories).update(*two_sites())


# ------------------------------------------------------------ options
def test_a_fixed_prior_stays_and_an_adaptive_one_moves() -> None:
    X, y = smooth(300)
    fixed = native("linear", prior=NIG(0.2)).update(X, y).state.cloud.prior_point
    assert (fixed["b0"], fixed["relaxed"]) == (0.2, 1.0)
    still = 0.5 + 1e-4 * X[:, 0] + 1e-4 * np.round(y)  # but for a step, a few per cent
    tuned = native("constant").update(X, still).state.cloud.prior_point
    assert tuned["b0"] < 0.03 * tuned["y_unit"]


@pytest.mark.parametrize(
    ("model", "options", "rule"),
    [
        ("linear", {}, "alc"),
        ("class", {}, "random"),
        ("linear", {"drift": True}, "age"),
        ("class", {"forget": 0.5}, "age"),
    ],
)
def test_default_discard_rules(model: str, options: Any, rule: str) -> None:
    stream = streaming(model, **options)
    assert stream.options.discard == rule
    assert stream.options.forget == options.get(
        "forget", 0.95 if "drift" in options else 1.0
    )


@pytest.mark.parametrize(
    ("model", "options", "windows"),
    [
        ("linear", {}, 3),
        ("linear", {"forget": 0.9}, 1),
        ("linear", {"discard": "random"}, 3),
        ("constant", {}, 0),
        ("constant", {"forget": 0.9}, 1),
        ("constant", {"forget": 0.9, "discard": "alc"}, 0),
        ("constant", {"drift": True}, 1),
        ("class", {"discard": "age"}, 0),
        ("class", {"drift": True}, 1),
        ("prior", {}, 0),
        ("constant", {"rules": "r"}, 0),
        ("constant", {"rules": "r", "drift": True}, 1),
    ],
)
@pytest.mark.filterwarnings("ignore::dyntree.errors.StaleWindowWarning")
def test_default_rejuvenation(model: str, options: Any, windows: int) -> None:
    stream = StreamingTree(model, window=40, n_particles=20, **options)
    assert stream.options.rejuvenate_every == 40 * windows
    kept = StreamingTree(
        model, window=40, n_particles=20, rejuvenate_every=7, **options
    )
    assert kept.options.rejuvenate_every == 7


def test_alc_with_forgetting_warns() -> None:
    with pytest.warns(StaleWindowWarning, match="discard='alc'") as caught:
        stream = streaming("linear", discard="alc", forget=0.9)
    assert caught[0].filename == __file__
    assert model_bytes(stream.copy()) == model_bytes(stream)  # without a warning


# ------------------------------------------------------------ windows and copies
@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_bad_calls_change_no_byte(model: str) -> None:
    X, y = smooth(60)
    labels = np.where(y > 3, "high", "low") if model == "class" else y
    stream = streaming(model, window=30).update(X, labels)
    before = model_bytes(stream)
    bad = [
        lambda: stream.update(X[:2, :2], labels[:2]),
        lambda: stream.update(X[:2], labels[:3]),
        lambda: stream.update([[np.inf, 0, 0]], labels[:1]),
        lambda: stream.update(np.empty((0, 3)), labels[:1]),
        lambda: stream.tree.retire([1000]),
        lambda: stream.tree.retire(stream.tree.active_ids),
        lambda: stream.predict(X[:2], threads=0),
    ]
    for call in bad:
        with pytest.raises(ValueError, match=r"must|active"):
            call()
        assert model_bytes(stream) == before
