"""Weights of rows in all models of trees: what they change, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    RandomTreesStream,
    StreamingTree,
    checkpoint,
    fit_repeats,
)
from tests.contract import check_twins
from tests.helpers import model_bytes, mostly_slow, same_bytes
from tests.unit.models import refused

SMALL: dict[str, Any] = {"n_particles": 15, "seed": 1}
MAKERS: dict[str, Callable[..., Any]] = {
    "constant tree": lambda **o: DynamicTree("constant", **SMALL | o),
    "linear tree": lambda **o: DynamicTree("linear", **SMALL | o),
    "class tree": lambda **o: DynamicTree("class", **SMALL | o),
    "constant stream": lambda **o: StreamingTree(window=30, **SMALL | o),
    "linear stream": lambda **o: StreamingTree(
        "linear", window=30, drift=True, **SMALL | o
    ),
    "class stream": lambda **o: StreamingTree("class", window=30, **SMALL | o),
    "averaged constant stream": lambda **o: AveragedStream(**SMALL | o),
    "averaged class stream": lambda **o: AveragedStream("class", **SMALL | o),
    "averaged linear trees": lambda **o: AveragedTrees(
        "linear", n_clouds=3, **SMALL | o
    ),
    "averaged class trees": lambda **o: AveragedTrees("class", n_clouds=3, **SMALL | o),
    "negbin tree": lambda **o: DynamicTree("negbin", **SMALL | o),
    "poisson stream": lambda **o: StreamingTree("poisson", window=30, **SMALL | o),
    "averaged negbin trees": lambda **o: AveragedTrees(
        "negbin", n_clouds=3, **SMALL | o
    ),
    "real random trees": lambda **o: RandomTreesStream("constant", seed=1, **o),
    "random trees": lambda **o: RandomTreesStream(seed=1, **o),
}
COUNTS = [name for name in MAKERS if "negbin" in name or "poisson" in name]
REAL = [
    name
    for name in MAKERS
    if "class" not in name and name != "random trees" and name not in COUNTS
]
# an average of tables learns all rows of a call together, in an order of its own
BY_ROW = [name for name in MAKERS if "trees" not in name or "averaged" not in name]


def rows(name: str, n: int = 90) -> tuple[np.ndarray, Any, np.ndarray]:
    """Inputs, responses that suit a model, and weights, a few of them 0."""
    rng = np.random.default_rng(2)
    X, w = (
        rng.random((n, 2)),
        rng.choice([0.0, 0.5, 1.0, 4.0], n, p=[0.1, 0.3, 0.3, 0.3]),
    )
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    if name in COUNTS:
        return X, np.round(4.0 * np.abs(y)), w
    return X, y if name in REAL else np.where(y > 0.2, "u", "v"), w


def answers(model: Any, X: np.ndarray) -> np.ndarray:
    prediction = model.predict(X)
    return np.asarray(getattr(prediction, "proba", getattr(prediction, "mean", None)))


# ------------------------------------------------------------ no weights
@pytest.mark.parametrize("name", MAKERS)
def test_weights_of_one_are_none(name: str) -> None:
    """To the last byte, of files too, however they are given."""
    X, y, _ = rows(name)
    plain = MAKERS[name]().update(X, y)
    for ones in (np.ones(90), [1] * 90, 1.0, pd.Series(np.ones(90))):
        assert model_bytes(MAKERS[name]().update(X, y, ones)) == model_bytes(plain)
    assert not [array for array in plain.to_arrays()[1] if array == "weights"]


def test_memory_grows_with_the_first_weight_that_is_not_one() -> None:
    X, y, _ = rows("constant tree")
    plain, other = DynamicTree(**SMALL), DynamicTree(**SMALL)
    plain.update(X, y)
    other.update(X[:50], y[:50], np.ones(50)).update(X[50:], y[50:])
    assert other.memory_usage() == plain.memory_usage()
    weighed = other.copy().update(X[:1], y[:1], 2.0)
    assert weighed.memory_usage() > other.copy().update(X[:1], y[:1]).memory_usage()


@pytest.mark.parametrize("name", REAL)
def test_equal_weights_divide_out(name: str) -> None:
    """Their unit is the mean of the first ones, and then all of them are 1."""
    X, y, _ = rows(name)
    plain, heavy = MAKERS[name]().update(X, y), MAKERS[name]().update(X, y, 3.0)
    np.testing.assert_array_equal(answers(heavy, X), answers(plain, X))
    # a response of weight 3 varies now as one of 1 did
    var, again = plain.predict(X).var, heavy.predict(X, 3.0).var
    np.testing.assert_allclose(again, var, rtol=1e-12)
    assert heavy.predict(X).var.sum() > 1.5 * plain.predict(X).var.sum()


# ------------------------------------------------------------ what they change
@pytest.mark.parametrize("name", REAL)
def test_the_unit_of_variance_weights_does_not_matter(name: str) -> None:
    X, y, w = rows(name)
    one, other = MAKERS[name]().update(X, y, w), MAKERS[name]().update(X, y, 700.0 * w)
    np.testing.assert_allclose(answers(other, X), answers(one, X), rtol=1e-9)
    var, again = one.predict(X, 2.0).var, other.predict(X, 1400.0).var
    np.testing.assert_allclose(again, var, rtol=1e-9)


@pytest.mark.parametrize("name", ["constant tree", "linear tree", "linear stream"])
def test_questions_are_about_responses_of_weight_one(name: str) -> None:
    """In the unit of those who ask: of weights 9 w, one of 9 is what one of 1 was."""
    X, y, w = rows(name)
    one, nine = (MAKERS[name]().update(X, y, c * w).tree for c in (1.0, 9.0))
    for model in (one, nine):
        np.testing.assert_allclose(model.acquisition(X, "alm"), model.predict(X).var)
        parts, scale = model.predict(X), model.frozen_view().predictive(X)[1]
        assert parts.mixture.scale.max() == pytest.approx(scale.max(), rel=1e-12)
        exact = model.predict(X, 1e9).mixture.scale
        np.testing.assert_allclose(exact, parts.of_mean.scale, rtol=1e-6)
    for rule in ("alc", "alm"):
        plain, same = (
            one.acquisition(X, rule),
            nine.acquisition(X, rule, sample_weight=9.0),
        )
        np.testing.assert_allclose(same, plain, rtol=1e-9)
        assert np.all((nine.acquisition(X, rule) < plain) == (rule == "alc"))
        each = one.acquisition(X, rule, sample_weight=np.r_[2.0, np.ones(89)])
        np.testing.assert_allclose(each[1:], plain[1:], rtol=1e-12)
        assert (each[0] > plain[0]) == (rule == "alc")


def test_averages_score_candidates_of_other_weights() -> None:
    X, y, w = rows("averaged linear trees")
    for name in ("averaged linear trees", "averaged constant stream"):
        model = MAKERS[name]().update(X, y, w)
        for rule in ("alc", "alm"):
            plain = model.acquisition(X[:5], rule)
            np.testing.assert_array_equal(
                model.acquisition(X[:5], rule, sample_weight=1.0), plain
            )
            other = model.acquisition(X[:5], rule, sample_weight=3.0)
            assert np.all((other > plain) == (rule == "alc"))
    with refused("sample_weight", "rule='ei'"):
        model.acquisition(X, "ei", sample_weight=2.0)
    counted = DynamicTree(**SMALL, weighting="frequency").update(X, y, w)
    assert np.all(
        counted.acquisition(X, "alc", sample_weight=3.0) > counted.acquisition(X, "alc")
    )


@pytest.mark.parametrize("weighting", ["variance", "frequency"])
@pytest.mark.parametrize("name", MAKERS)
def test_rows_of_weight_zero_were_never_there(name: str, weighting: str) -> None:
    if weighting == "variance" and name not in REAL:
        return
    X, y, w = rows(name)
    kept = w > 0.0
    frame, labels = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)
    frame.loc[~kept, "a"], labels[~kept] = np.nan, labels[kept].iloc[0]
    whole = MAKERS[name](weighting=weighting).update(frame, labels, w)
    part = MAKERS[name](weighting=weighting).update(frame[kept], labels[kept], w[kept])
    assert model_bytes(whole) == model_bytes(part)
    assert whole.n_seen == kept.sum()


@pytest.mark.parametrize("name", BY_ROW)
def test_rows_one_by_one_are_rows_at_once(name: str) -> None:
    """But for tables of rows that occur several times, which are learned in pieces."""
    X, y, w = rows(name)
    w = np.minimum(w, 1.0) if name in ("class tree", "negbin tree") else w
    options = {} if name in REAL + COUNTS else {"classes": ("u", "v")}
    whole = MAKERS[name](**options).update(X, y, w)
    by_row = MAKERS[name](**options)
    for k in range(len(y)):
        if w[k]:
            by_row.update(X[k : k + 1], y[k : k + 1], w[k : k + 1])
    assert model_bytes(by_row) == model_bytes(whole)


@pytest.mark.parametrize("name", BY_ROW)
def test_the_shorter_way_of_one_row_is_the_longer_one(name: str) -> None:
    if not hasattr(MAKERS[name](), "learn_row"):
        return
    X, y, w = rows(name)
    long, short = MAKERS[name]().update(X, y, w), MAKERS[name]().update(X, y, w)
    with same_bytes(short):
        short.learn_row(X[:1], y[0], 0.0)
    long.update(X[:1], [y[0]], 2.5)
    short.learn_row(X[:1], y[0], 2.5)
    assert model_bytes(short) == model_bytes(long)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n_first", mostly_slow([40, 4]))
def test_files_go_on_in_the_middle_of_weights(name: str, n_first: int) -> None:
    X, y, w = rows(name)
    model = MAKERS[name]().update(X[:n_first], y[:n_first], w[:n_first])
    check_twins(model, lambda twin: twin.update(X[n_first:], y[n_first:], w[n_first:]))
    check_twins(model, lambda twin: twin.update(X, y))  # of 1, beside others


@pytest.mark.parametrize("name", MAKERS)
def test_weights_may_begin_late(name: str) -> None:
    """With columns and labels that begin late, and rows that are let go."""
    X, y, w = rows(name)
    model = MAKERS[name]().update(X[:45], y[:45])
    model.update(X[45:], y[45:], w[45:])
    assert np.all(np.isfinite(answers(model, X)))
    if name not in REAL + COUNTS:
        model.update(X[:5], ["w"] * 5, 0.5)
        assert model.predict(X[:2]).proba.shape == (2, 3)
    model.remove_data()
    model.update(X, y, np.maximum(w, 0.1))
    assert np.all(np.isfinite(answers(model, X)))


@pytest.mark.parametrize("name", ["constant tree", "class tree", "constant stream"])
def test_columns_may_begin_late_among_weighted_rows(name: str) -> None:
    X, y, w = rows(name)
    frame = pd.DataFrame({"a": X[:, 0], "g": np.where(X[:, 1] > 0.5, "p", "q")})
    frame.loc[60:, "g"] = "late"
    model = MAKERS[name]().update(frame, y, w)
    again = checkpoint.loads(checkpoint.dumps(model))
    assert model_bytes(again) == model_bytes(model)
    assert any("late" in name for name in model.feature_names)


@pytest.mark.parametrize("name", REAL)
def test_a_heavy_response_varies_less(name: str) -> None:
    X, y, w = rows(name)
    model = MAKERS[name]().update(X, y, w)
    light, one, heavy = (model.predict(X, u).var for u in (0.2, 1.0, 5.0))
    np.testing.assert_array_equal(one, model.predict(X).var)
    assert np.all((light > one) & (one > heavy))
    each = model.predict(X[:2], [0.2, 5.0]).var
    np.testing.assert_allclose(each, [light[0], heavy[1]], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_noisy_rows_disturb_less_if_they_are_said_to_be(seed: int) -> None:
    """Error with weights over that without: .40 at most in thirty such sets, mostly .1.

    Seeds are fixed, so that the test fails by no chance.
    """
    rng = np.random.default_rng(seed)
    X, v = rng.random((150, 1)), rng.choice([0.02, 1.0], 150)
    truth = np.sin(6 * X[:, 0])
    y = truth + 0.3 * rng.standard_normal(150) / np.sqrt(v)
    fits = [
        DynamicTree("linear", n_particles=50, seed=1).update(X, y, w) for w in (None, v)
    ]
    plain, weighted = (np.mean((fit.predict(X).mean - truth) ** 2) for fit in fits)
    assert weighted < 0.6 * plain


def test_weights_of_labels_move_probabilities() -> None:
    X, y = np.zeros((40, 1)), np.tile(["u", "v"], 20)
    w = np.where(y == "u", 3.0, 1.0)
    for name in ("class tree", "averaged class stream", "random trees"):
        model = MAKERS[name]().update(X, y, w)
        assert model.predict(X[:1]).proba[0, 0] == pytest.approx(0.75, abs=0.04), name


@pytest.mark.parametrize("model", ["class", "constant"])
def test_random_trees_take_a_row_of_weight_three_for_three_rows(model: str) -> None:
    """Of one binary column there is one cut, so that no chance is left."""
    rng = np.random.default_rng(0)
    X, w = rng.integers(0, 2, (40, 1)), rng.integers(1, 4, 40)
    w[:20] = 1  # the rows that fix the scale of numbers
    y = (X[:, 0] + (rng.random(40) < 0.3)).astype(int)
    options: Any = {"model": model, "weighting": "frequency", "n_trees": 2, "seed": 1}
    heavy = RandomTreesStream(**options).update(X, y, w)
    copies = RandomTreesStream(**options).update(np.repeat(X, w, axis=0), y.repeat(w))
    np.testing.assert_allclose(answers(heavy, X), answers(copies, X), rtol=1e-9)
    assert heavy.stats().n_leaves == copies.stats().n_leaves == 2.0
    again = checkpoint.loads(checkpoint.dumps(heavy))
    assert model_bytes(again) == model_bytes(heavy)


def test_a_unit_of_responses_that_comes_late_counts_frequencies() -> None:
    """Equal responses are told in a unit of 1 until another comes, each so often."""
    x, y = np.zeros((30, 1)), np.r_[np.full(20, 5.0), np.linspace(0.0, 9.0, 10)]
    for kind in (DynamicTree, AveragedStream):
        one, ten = (
            kind(**SMALL, weighting="frequency").update(x, unit * y, 2.0)
            for unit in (1.0, 10.0)
        )
        lost = 60.0 * np.log(10.0)
        assert ten.log_evidence == pytest.approx(one.log_evidence - lost, rel=1e-9)


def test_repeats_take_weights() -> None:
    X, y, w = rows("constant tree")
    repeats = fit_repeats(DynamicTree(**SMALL), X, y, 2, sample_weight=w)
    first = DynamicTree(n_particles=15, seed=repeats[0].seed)
    first.state.settles_all = True
    expected = first.update(X, y, w)
    np.testing.assert_array_equal(answers(repeats[0], X), answers(expected, X))
    with pytest.raises(ValueError, match="at most"):
        fit_repeats(DynamicTree(**SMALL), X, y, 2, sample_weight=np.r_[w[:-1], 1e12])


# ------------------------------------------------------------ what is refused
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (-1.0, r"sample_weight must be finite and >= 0; got -1.0 in row 3"),
        (np.nan, r"sample_weight must be finite and >= 0; got nan in row 3"),
        (np.inf, r"sample_weight must be finite and >= 0; got inf in row 3"),
        ("short", "sample_weight must have one value a row of X, 90; got 89"),
        ("wide", r"one value a row of X, 90; got shape \(90, 1\)"),
        ("zero", "sample_weight must not be zero in all rows; got 0 in all 90"),
        (1e12, r"sample_weight must be at most 1e\+09 times .* got 1e\+12 in row 3"),
        ("text", "sample_weight must be numbers; got the text 'heavy' in row 0"),
        ("spelt", "sample_weight must be numbers; got the text '1' in row 0"),
        ("spelt array", "sample_weight must be numbers; got the text '1' in row 0"),
        ("one spelt", "sample_weight must be numbers; got the text '2' in row 4"),
    ],
)
def test_bad_weights_change_no_byte(name: str, bad: Any, words: str) -> None:
    X, y, w = rows(name)
    w = np.maximum(w, 0.5)
    given: Any = {
        "short": w[:-1], "wide": w[:, None], "zero": 0.0 * w, "text": ["heavy"] * 90,
        "spelt": pd.Series(["1"] * 90), "spelt array": np.array(["1"] * 90),
        "one spelt": [1.0] * 4 + ["2"] + [1.0] * 85,
    }.get(bad) if isinstance(bad, str) else np.r_[w[:3], bad, w[4:]]  # fmt: skip
    for n in (0, 5, 90):
        model = MAKERS[name]()
        if n:
            model.update(X[:n], y[:n], w[:n])
        if bad == 1e12 and n < 20 and name in REAL:
            continue  # it may be one of those that give the unit
        with same_bytes(model), pytest.raises(ValueError, match=words):
            model.update(X, y, given)


def test_weights_that_nobody_can_give_are_refused() -> None:
    X, y, w = rows("constant tree")
    own = DynamicTree(rules="r", n_particles=5, seed=1).update(X, y)
    for call in (lambda: own.update(X, y, w), lambda: own.predict(X, w)):
        with refused("sample_weight", "CRAN dynaTree has no weights", own):
            call()


def test_predictions_take_weights_of_variances_alone() -> None:
    X, y, w = rows("constant tree")
    tree = DynamicTree(**SMALL, weighting="frequency")
    for n in (5, 90):
        with refused("sample_weight", "weights of this model are frequencies"):
            tree.copy().update(X[:n], y[:n]).predict(X, w)
    labels = DynamicTree("class", **SMALL).update(X, rows("class tree")[1])
    with refused("sample_weight", "model='class'"):
        labels.predict(X, 2.0)
    tree = DynamicTree(**SMALL).update(X, y, w)
    with refused("sample_weight", "must be > 0 to predict; got 0.0 in row"):
        tree.predict(X, w)
    with refused("sample_weight", "one value a row of X, 90; got 3"):
        tree.predict(X, [1.0, 2.0, 3.0])


def test_an_index_of_weights_must_be_that_of_the_rows() -> None:
    X, y, w = rows("constant tree")
    frame, other = pd.DataFrame(X), pd.Series(w, index=np.arange(90)[::-1])
    with refused("sample_weight", "the same index"):
        DynamicTree(**SMALL).update(frame, y, other)


def test_files_with_unsound_weights_are_refused() -> None:
    X, y, w = rows("constant tree")
    for weighting in ("variance", "frequency"):
        model = DynamicTree(**SMALL, weighting=weighting).update(X, y, w)
        header, arrays = model.to_arrays()
        bad = arrays["weights"].copy()
        for value in (-1.0, np.nan, 0.0):
            bad[3] = value
            with pytest.raises(ValueError, match="weights has values"):
                DynamicTree.from_arrays(header, {**arrays, "weights": bad})
        less = {k: v for k, v in arrays.items() if k != "weights"}
        with pytest.raises(ValueError, match="arrays"):
            DynamicTree.from_arrays(header, less)
        sums = arrays["leaf_sums"].copy()
        sums[0, 0] += 0.5
        with pytest.raises(ValueError, match="does not weigh the rows"):
            DynamicTree.from_arrays(header, {**arrays, "leaf_sums": sums})
        other = {"variance": "frequency", "frequency": "variance"}[weighting]
        options = header["options"] | {"weighting": other}
        with pytest.raises(ValueError, match="valid model"):
            DynamicTree.from_arrays(header | {"options": options}, arrays)
    waiting = DynamicTree(**SMALL).update(X[:4], y[:4], [1.0, 2.0, 3.0, 4.0])
    header, arrays = waiting.to_arrays()
    for told in ([1.0, 2.0], [1.0, 2.0, 3.0, -4.0]):
        with pytest.raises(ValueError, match="weight"):
            DynamicTree.from_arrays(header | {"waiting_weights": told}, arrays)
