"""Prequential evaluation: scores, baselines and rolling means by hand."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dyntree import (
    AveragedStream,
    AveragedTrees,
    ChangeAlarm,
    DynamicTree,
    StreamingTree,
)
from dyntree.checkpoint import dumps
from dyntree.errors import (
    LearnedRowsWarning,
    MissingInputWarning,
    UnseenLevelWarning,
)
from dyntree.evaluate import (
    ClassScores,
    Prequential,
    RealScores,
    auc,
    class_scores,
    compare,
    prequential,
    prequential_each,
    real_scores,
)
from tests.helpers import model_bytes, same_bytes
from tests.unit.models import data, frame, fresh, grown, labelled, refused, stream

EXACT = {"rel": 1e-12}  # sums of a hundred terms in another order


def proba(n: int = 120, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and rounded probabilities with many ties."""
    rng = np.random.default_rng(7)
    p = np.round(rng.dirichlet(np.ones(n_classes), n), 1) + 0.05
    return rng.integers(0, n_classes, n), p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_auc_counts_the_pairs_in_order(n_classes: int) -> None:
    y, p = proba(n_classes=n_classes)
    areas = []
    for k in range(n_classes):
        own, rest = p[y == k, k], p[y != k, k]
        wins = (own[:, None] > rest).sum() + 0.5 * (own[:, None] == rest).sum()
        areas.append(wins / (len(own) * len(rest)))
        u = stats.mannwhitneyu(own, rest).statistic
        assert areas[-1] == pytest.approx(u / (len(own) * len(rest)), **EXACT)
    assert auc(y, p) == pytest.approx(np.mean(areas), **EXACT)


def test_auc_at_the_ends() -> None:
    y = np.array([0, 0, 1, 1])
    good = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    assert auc(y, good) == 1.0
    assert auc(1 - y, good) == 0.0
    assert auc(y, np.full((4, 2), 0.5)) == 0.5
    assert np.isnan(auc(np.zeros(4, int), good))


def test_class_scores_by_hand() -> None:
    y, p = proba()
    came = p[np.arange(len(y)), y]
    wrong = brier = 0.0
    for label, row in zip(y, p, strict=True):
        wrong += row.tolist().index(max(row)) != label
        brier += sum((value - (k == label)) ** 2 for k, value in enumerate(row))
    told = class_scores(y, p, np.log(came))
    assert told.n_rows == 120
    assert told.error == wrong / 120
    assert told.brier == pytest.approx(brier / 120, **EXACT)
    assert told.log_loss == pytest.approx(-np.log(np.prod(came)) / 120, **EXACT)
    assert told.auc == auc(y, p)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_real_scores_by_hand(level: float) -> None:
    rng = np.random.default_rng(3)
    y, mean, density = rng.normal(size=(3, 50))
    interval = np.sort(rng.normal(size=(50, 2)), axis=1)
    told = real_scores(y, mean, density, interval, level)
    alpha, inside, score = 1.0 - level, 0, 0.0
    for value, (low, high) in zip(y, interval, strict=True):
        inside += low <= value <= high
        score += high - low
        score += 2 / alpha * (low - value) * (value < low)
        score += 2 / alpha * (value - high) * (value > high)
    assert told.n_rows == 50
    assert told.rmse == pytest.approx(np.linalg.norm(y - mean) / np.sqrt(50), **EXACT)
    assert told.log_density == pytest.approx(sum(density) / 50, **EXACT)
    assert told.coverage == inside / 50
    assert told.interval_score == pytest.approx(score / 50, **EXACT)


@pytest.mark.parametrize("name", ["constant", "augmented", "class"])
@pytest.mark.parametrize("start", [0, 20])
def test_each_row_is_foreseen_then_learned(name: str, start: int) -> None:
    X, y = data(name)
    seen = prequential(fresh(name, **labelled(name)), X, y, start=start, level=0.8)
    model = fresh(name, **labelled(name))
    rows, means, densities, intervals = [], [], [], []
    if start:
        model.update(X[:start], y[:start])
    for t in range(start, len(X)):
        if model.is_ready:
            told = model.predict(X[t : t + 1])
            rows.append(t)
            means.append(told.proba[0] if name == "class" else told.mean[0])
            densities.append(told.log_density(y[t : t + 1])[0])
            if name != "class":
                intervals.append(told.quantile([0.1, 0.9])[0])
        model.update(X[t : t + 1], y[t : t + 1])
    assert seen.rows.tolist() == rows
    assert np.array_equal(seen.mean, means)
    assert np.array_equal(seen.log_density, densities)
    if name == "class":
        assert seen.interval is None
        assert [seen.classes[int(code)] for code in seen.y] == y[rows].tolist()
    else:
        np.testing.assert_allclose(seen.interval, intervals, rtol=1e-12)
        assert seen.y.tolist() == y[rows].tolist()
    assert seen.seconds_per_row > 0.0


def test_the_model_learns_the_stream_unless_frozen() -> None:
    X, y = data("class")
    model = fresh("class", **labelled("class"))
    prequential(model, X, y, start=10)
    again = fresh("class", **labelled("class")).update(X, y)
    assert model_bytes(model) == model_bytes(again)
    frozen = stream("class", discard="entropy").update(X[:30], y[:30]).freeze()
    with same_bytes(frozen):
        seen = prequential(frozen, X[30:], y[30:])
    assert np.array_equal(seen.mean, frozen.predict(X[30:]).proba)


def test_the_class_baseline_counts_the_labels_so_far() -> None:
    X, y = data("class")
    seen = prequential(fresh("class", **labelled("class")), X, y, start=5)
    wrong, loss, brier, probabilities = 0, 0.0, 0.0, []
    for t in seen.rows:
        earlier = y[:t].tolist()
        p = [(earlier.count(label) + 1 / 3) / (t + 1) for label in "abc"]
        place = "abc".index(y[t])
        wrong += p.index(max(p)) != place
        loss -= np.log(p[place])
        brier += sum((value - (k == place)) ** 2 for k, value in enumerate(p))
        probabilities.append(p)
    n = len(seen.rows)
    told = seen.baseline
    assert isinstance(told, ClassScores)
    assert (told.n_rows, told.error) == (n, wrong / n)
    assert told.log_loss == pytest.approx(loss / n, **EXACT)
    assert told.brier == pytest.approx(brier / n, **EXACT)
    codes = np.searchsorted(["a", "b", "c"], y[seen.rows])
    assert told.auc == pytest.approx(auc(codes, np.array(probabilities)), **EXACT)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_the_real_baseline_is_a_normal_model_of_the_responses_so_far(
    shift: float,
) -> None:
    X, y = data("constant")
    y = y + shift
    seen = prequential(fresh("constant"), X, y, start=10, level=0.8)
    errors, densities, inside, scores = [], [], 0, []
    for t in seen.rows:
        earlier = y[:t]
        law = stats.t(
            t - 1, earlier.mean(), earlier.std(ddof=1) * np.sqrt(1.0 + 1.0 / t)
        )
        low, high = law.interval(0.8)
        errors.append((y[t] - earlier.mean()) ** 2)
        densities.append(law.logpdf(y[t]))
        inside += low <= y[t] <= high
        out = max(low - y[t], y[t] - high, 0.0)
        scores.append(high - low + 2 / 0.2 * out)
    told = seen.baseline
    assert isinstance(told, RealScores)
    close = {"rel": 1e-8}  # numbers of size 1e6 lose six of sixteen digits
    assert told.rmse == pytest.approx(np.sqrt(np.mean(errors)), **close)
    assert told.log_density == pytest.approx(np.mean(densities), **close)
    assert told.coverage == inside / len(seen.rows)
    assert told.interval_score == pytest.approx(np.mean(scores), **close)


@pytest.mark.parametrize("name", ["constant", "class"])
@pytest.mark.parametrize("window", [1, 7, 1000])
def test_rolling_is_the_mean_of_the_last_losses(name: str, window: int) -> None:
    seen = prequential(fresh(name, **labelled(name)), *data(name))
    losses = []
    for mean, y in zip(seen.mean, seen.y, strict=True):
        losses.append((y - mean) ** 2 if name == "constant" else mean.argmax() != y)
    assert seen.losses.tolist() == [float(loss) for loss in losses]
    naive = [
        np.mean(losses[max(0, t + 1 - window) : t + 1]) for t in range(len(losses))
    ]
    # differences of running sums of at most 60 losses below 10
    np.testing.assert_allclose(seen.rolling(window), naive, rtol=1e-9, atol=1e-12)
    told = seen.to_dict()
    key = "rmse" if name == "constant" else "error"
    total = np.sqrt(np.mean(losses)) if name == "constant" else np.mean(losses)
    assert told[key] == pytest.approx(total, **EXACT)
    assert told["baseline"]["n_rows"] == told["n_rows"] == len(losses)


def mixed(n: int = 60) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Rows with numbers, gaps and sites, of which one comes late; a response."""
    X, y = data("constant", n)
    site = ["n", None, "s"]
    rows = [{"x": x[0], "site": site[k % 3]} for k, x in enumerate(X)]
    rows[4]["x"] = rows[40]["x"] = None
    rows[50]["site"] = "moon"
    return rows, y


@pytest.mark.parametrize("model", ["constant", "class"])
@pytest.mark.parametrize("start", [0, 3, 25])
@pytest.mark.parametrize("form", [list, pd.DataFrame])
@pytest.mark.parametrize("new_levels", ["grow", "missing"])
def test_gaps_strings_and_new_labels_are_foreseen_as_by_hand(
    model: str, start: int, form: Any, new_levels: str
) -> None:
    rows, y = mixed()
    if model == "class":
        y = np.where(y > 1, "high", "low").astype(object)
        y[45] = y[55] = "odd"
    options = {"rules": "native", "discard": "random", "window": 30, "seed": 1}
    by_hand = StreamingTree(model, n_particles=20, new_levels=new_levels, **options)
    model_ = by_hand.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", MissingInputWarning)
        seen = prequential(model_, form(rows), y, start=start)
    told = [str(warning.message) for warning in caught]
    assert ["'site'" in text for text in told] == [True] * (new_levels == "missing")
    assert {warning.filename for warning in caught} <= {__file__}
    scored, means, densities, known = [], [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        warnings.simplefilter("ignore", MissingInputWarning)
        if start:
            by_hand.update(rows[:start], y[:start])
        for t in range(start, len(rows)):
            if by_hand.is_ready:
                told = by_hand.predict(rows[t])
                scored.append(t)
                means.append((told.proba if model == "class" else told.mean)[0])
                known.append(model != "class" or y[t] in told.classes)
                densities.append(
                    told.log_density(y[t : t + 1])[0] if known[-1] else None
                )
            by_hand.update(rows[t], y[t : t + 1])
    assert model_bytes(model_) == model_bytes(by_hand)
    assert seen.rows.tolist() == scored
    assert seen.log_density.tolist() == densities
    if model == "constant":
        assert seen.mean.tolist() == means
        return
    assert seen.classes == by_hand.classes
    for row, mean in zip(seen.mean, means, strict=True):
        assert row.tolist() == [*mean, *[0.0] * (len(row) - len(mean))]
    fresh_labels = known.count(False)  # "odd", and the second label where rows are few
    assert fresh_labels == (1 if start else 2)
    for scores in (seen.scores, seen.baseline):
        assert isinstance(scores, ClassScores)
        assert scores.n_new_labels == fresh_labels
        assert np.isfinite(scores.log_loss)
    assert seen.n_new_labels == fresh_labels
    assert seen.scores.log_loss == pytest.approx(-seen.log_density.mean())
    own = np.array(densities, dtype=float)[known]
    assert seen.scores.log_loss == pytest.approx(-np.mean(own))
    assert seen.losses[~np.array(known)].tolist() == [1.0] * fresh_labels


@pytest.mark.parametrize("model", ["constant", "class"])
def test_rows_and_responses_may_come_as_pairs(model: str) -> None:
    rows, y = mixed()
    y = np.where(y > 1, "high", "low").astype(object) if model == "class" else y
    make = partial(StreamingTree, model, window=30, n_particles=20, seed=1)
    expected = prequential(make(), rows, y, start=3, delay=2)

    def pairs() -> Iterator[Any]:
        row: dict[str, Any] = {}  # one dict for all rows
        for one, response in zip(rows, y, strict=True):
            row.clear()
            row.update(one)
            yield row, response

    each = prequential_each({"it": make()}, pairs(), start=3, delay=2)["it"]
    for form in (pairs(), [*zip(rows, y, strict=True)]):
        for seen in (prequential(make(), form, start=3, delay=2), each):
            assert seen.scores == expected.scores
            assert seen.log_density.tolist() == expected.log_density.tolist()
    skipped = prequential(make(), pairs(), start=3, delay=2, on_bad_rows="skip")
    assert skipped.scores == expected.scores
    halves = prequential(make(), iter(rows), iter(y.tolist()), start=3, delay=2)
    assert halves.scores == expected.scores


def test_datasets_of_river_are_streams() -> None:
    river = pytest.importorskip("river", reason="needs river: dyntree[river]")
    from river import datasets
    from river.datasets import synth

    assert river is not None
    pairs = [*datasets.TrumpApproval().take(100)]
    rows, y = [row for row, _ in pairs], [y for _, y in pairs]
    make = partial(StreamingTree, window=30, n_particles=20, seed=1)
    expected = prequential(make(), rows, y)
    assert prequential(make(), datasets.TrumpApproval().take(100)).scores == (
        expected.scores
    )
    assert prequential(make(), synth.Friedman(seed=1).take(60)).scores.n_rows == 50
    with pytest.raises(ValueError, match=r"must end; got Friedman, .* X\.take"):
        prequential(make(), synth.Friedman(seed=1))


@pytest.mark.parametrize("X", [3, np.ones((3, 1)), pd.DataFrame({"x": [1]}), "ab", [1]])
def test_rows_without_responses_are_refused(X: Any) -> None:
    model = StreamingTree(n_particles=20, seed=1)
    with pytest.raises(ValueError, match="X must be an iterable of pairs"):
        prequential(model, X)
    assert model.n_seen == 0


def test_labels_that_a_frozen_model_never_met_come_last() -> None:
    X, _ = data("class")
    frozen = StreamingTree("class", rules="native", window=30, n_particles=20, seed=1)
    frozen.update(X[:30], ["a", "b"] * 15).freeze()
    seen = prequential(frozen, X[30:], ["z"] * 30)
    assert seen.classes == ("a", "b", "z")
    assert isinstance(seen.scores, ClassScores)
    assert (seen.scores.error, seen.scores.n_new_labels) == (1.0, 30)
    assert np.isnan(seen.scores.log_loss)
    assert seen.n_new_labels == 30
    assert seen.mean[:, 2].tolist() == [0.0] * 30


def test_labels_outside_those_of_the_first_rows_are_refused_under_r() -> None:
    X, y = data("class")
    y = y.astype(object)
    y[50] = "z"
    with refused("y", "'z' in row 50", model := fresh("class")):
        prequential(model, X, y, start=20)
    prequential(fresh("class"), X, y, start=51)


def test_columns_are_matched_by_name() -> None:
    X, y = data("constant")
    model = fresh("constant").update(frame(X[:30], "pq"), y[:30])
    twin = model.copy()
    straight = prequential(model, frame(X[30:], "pq"), y[30:])
    swapped = prequential(twin, frame(X[30:, ::-1], "qp"), y[30:])
    assert straight.mean.tolist() == swapped.mean.tolist()
    assert model_bytes(model) == model_bytes(twin)
    first = fresh("constant")
    prequential(first, frame(X, "pq"), y)
    assert first.feature_names == ("p", "q")


def test_progress_hears_of_every_row() -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    prequential(fresh("constant"), *data("constant"), start=50, progress=tell)
    assert told == [(done, 60) for done in range(50, 61)]


def odd_rows(row: int, value: Any) -> dict[str, Any]:
    """Rows of `mixed` with one value changed, and a level that comes late."""
    rows, y = mixed()
    rows[row]["x"] = value
    rows[50]["site"] = "n"
    return {"X": rows, "y": y}


def native() -> DynamicTree:
    return DynamicTree(rules="native", n_particles=5)


def late_label() -> dict[str, Any]:
    X, y = data("class")
    return {"X": X, "y": [*y[:-1], "z"]}


FIRST = {"start": 20}
# Options of a call, the argument at fault, what came of it, and a model if not `grown`.
BAD_CALLS: list[tuple[Any, ...]] = [
    ({"start": -1}, "start", "-1"), ({"start": 1.5}, "start", "1.5"),
    ({"start": 60}, "start", "60"), ({"level": 0.0}, "level", "0.0"),
    ({"level": 1.0}, "level", "1.0"), ({"level": "a"}, "level", "'a'"),
    ({"progress": "yes"}, "progress", "'yes'"),
    ({"X": np.full((60, 2), np.nan)}, "X", "nan in row 0"),
    ({"X": np.ones(60)}, "X", "(60,)"), ({"X": np.ones((60, 3))}, "X", "3"),
    ({"y": np.ones(59)}, "y", "(59,)"),
    ({"y": [*range(59), np.nan]}, "y", "nan in row 59"),
    ({"y": [*range(59), np.inf]}, "y", "inf in row 59"),
    ({"y": ["a"] * 60}, "y", "'a' in row 0"),
    (late_label(), "y", "'z' in row 59", lambda: grown("class")),
    ({"alarm": 3}, "alarm", "3"), ({"on_alarm": print}, "on_alarm", "print"),
    ({"alarm": ChangeAlarm(), "on_alarm": "x"}, "on_alarm", "'x'"),
    *[(odd_rows(row, value), "X", came, native) for row, value, came in [
        (40, np.inf, "inf in row 40"), (40, "n", "'n' in row 40"),
        (3, "n", "'n' in row 3"), (3, -np.inf, "-inf in row 3"), (0, 1e151, "row 0")]],
    *[({"sample_weight": weights} | FIRST, "sample_weight", came, native)
      for weights, came in [
        (-1.0, "must be finite"), (0.0, "must not be zero in all rows"),
        ([1.0], "one value a row")]],
    ({"sample_weight": 2.0}, "sample_weight", "CRAN dynaTree has no weights"),
]  # fmt: skip


@pytest.mark.parametrize("case", BAD_CALLS, ids=lambda case: f"{case[1]} {case[2]}")
def test_bad_calls_are_refused(case: Any) -> None:
    options, name, came, *make = case
    X, y = data("constant")
    with refused(name, came, model := make[0]() if make else grown("constant")):
        prequential(model, **({"X": X, "y": y, "progress": False} | options))


def test_a_stream_without_a_row_to_score_is_refused() -> None:
    with refused("rows", "4"):
        prequential(fresh("constant"), *data("constant", 4))
    early = np.arange(60) < 20
    with refused("rows", "a weight above 0"):
        prequential(native(), *data("constant"), sample_weight=early, **FIRST)


def test_windows_of_rolling_are_counts() -> None:
    seen = prequential(fresh("constant"), *data("constant", 10))
    for value in (0, 2.5, True):
        with refused("window", repr(value)):
            seen.rolling(value)


def test_the_table_has_a_line_a_record_and_the_baseline() -> None:
    seen: list[Prequential] = [
        prequential(fresh(name, **labelled(name)), *data(name))
        for name in ["class"] * 2
    ]
    lines = compare({"one": seen[0], "two": seen[1]}, ("error", "log_loss")).split("\n")
    assert [line.split()[0] for line in lines] == ["error", "one", "two", "trivial"]
    assert lines[1].split()[1:] == lines[2].split()[1:]
    assert float(lines[1].split()[1]) == pytest.approx(seen[0].scores.error, abs=5e-5)
    baseline = seen[0].baseline
    assert isinstance(baseline, ClassScores)
    assert float(lines[3].split()[-1]) == pytest.approx(baseline.log_loss, abs=5e-5)
    assert all(len(a) == len(b) for a, b in pairwise(lines))


def test_an_impossible_label_costs_infinity_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = class_scores(
            np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, -np.inf])
        )
    assert told.log_loss == np.inf
    assert told.error == 0.5


def test_several_models_stay_as_they_are_and_are_scored_as_one() -> None:
    X, y = data("class")
    models = {str(n): stream("class", window=n, **labelled("class")) for n in (20, 30)}
    before = {name: model_bytes(model) for name, model in models.items()}
    told: list[tuple[int, int]] = []
    seen = prequential_each(
        models, X, y, start=10, threads=2, progress=lambda *n: told.append(n)
    )
    assert told == [(1, 2), (2, 2)]
    for name, model in models.items():
        assert model_bytes(model) == before[name]
        alone = prequential(model.copy(), X, y, start=10)
        assert seen[name].scores == alone.scores
        assert seen[name].losses.tolist() == alone.losses.tolist()
    assert "20" in compare(seen, ("error",))


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({}, "models must be a dict of some"), ([grown("constant")], "must be a dict"),
        ({"a": 3}, r"models\['a'\] must be a model that learns .*got 3"),
    ],
)  # fmt: skip
def test_what_are_no_models_is_refused(models: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prequential_each(models, *data("constant"))


@pytest.mark.parametrize("model", [None, 3, DynamicTree])
def test_what_cannot_learn_is_refused_by_name(model: Any) -> None:
    with pytest.raises(ValueError, match="model must be a model that learns online"):
        prequential(model, *data("constant"))


def test_a_class_is_to_be_made_a_model_first() -> None:
    with pytest.raises(ValueError, match=r"of the class first: DynamicTree\(\)\."):
        prequential(DynamicTree, *data("constant"))  # type: ignore[arg-type]


# ------------------------------------------------------------ weights
@pytest.mark.parametrize("weighting", ["variance", "frequency"])
def test_rows_are_foreseen_learned_and_scored_by_weight(weighting: str) -> None:
    rng = np.random.default_rng(5)
    X, w = rng.random((60, 2)), rng.choice([0.0, 0.5, 3.0], 60)
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(60)
    made = {"weighting": weighting, "n_particles": 20, "seed": 1}
    model, own = DynamicTree(**made), DynamicTree(**made)
    seen = prequential(model, X, y, sample_weight=w, start=20)
    own.update(X[:20], y[:20], w[:20])
    mean, density = [], []
    for k in range(20, 60):
        more = (w[k] or 1.0,) if weighting == "variance" else ()
        told = own.predict(X[k : k + 1], *more)
        mean.append(told.mean[0])
        density.append(told.log_density([y[k]])[0])
        if w[k]:
            own.update(X[k : k + 1], y[k : k + 1], w[k : k + 1])
    assert model.log_evidence == own.log_evidence
    np.testing.assert_array_equal(seen.mean, mean)
    np.testing.assert_array_equal(seen.weights, w[20:])
    assert seen.scores.log_density == pytest.approx(np.average(density, weights=w[20:]))
    rmse = np.sqrt(np.average((y[20:] - mean) ** 2, weights=w[20:]))
    assert seen.scores.rmse == pytest.approx(rmse, rel=1e-12)
    once = prequential(DynamicTree(**made), X, y, sample_weight=1.0, start=20)
    plain = prequential(DynamicTree(**made), X, y, start=20)
    np.testing.assert_array_equal(once.log_density, plain.log_density)
    assert once.scores.rmse == pytest.approx(plain.scores.rmse, rel=1e-12)


def test_scores_of_labels_count_frequencies_as_rows() -> None:
    """A weight of 3 is the row three times; ties in probabilities count half."""
    rng = np.random.default_rng(6)
    y, w = rng.integers(0, 3, 40), rng.integers(1, 4, 40)
    proba = np.round(rng.dirichlet(np.ones(3), 40), 1) + 0.1
    proba /= proba.sum(axis=1, keepdims=True)
    density, known = np.log(proba[np.arange(40), y]), rng.random(40) < 0.8
    weighted = class_scores(y, proba, density, known, w.astype(float))
    again = np.repeat(np.arange(40), w)
    rows = class_scores(y[again], proba[again], density[again], known[again])
    for name in ("error", "auc", "log_loss", "brier"):
        assert getattr(weighted, name) == pytest.approx(getattr(rows, name), rel=1e-12)


def test_weights_are_for_models_of_trees() -> None:
    X, y = np.random.default_rng(7).random((30, 1)), np.arange(30.0)
    tree = DynamicTree(n_particles=5, seed=1)
    plots = pytest.importorskip("dyntree.api.plots")
    with pytest.raises(ValueError, match="is for models of trees"):
        prequential(plots.Recorder(tree), X, y, sample_weight=2.0)


# ---------------------------------------------------------------- tails and alarms
def tails_by_hand(name: str, X: Any, y: Any, start: int, delay: int) -> list[float]:
    """Tail probability of each row that a fresh model foresees."""
    model = fresh(name, **labelled(name)).update(X[:start], y[:start])
    told = []
    for t in range(start, len(X) + delay):
        if t < len(X):
            told.append(model.predict(X[t : t + 1]).tail_probability(y[t : t + 1])[0])
        if t - delay >= start:
            model.update(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1])
    return told


@pytest.mark.parametrize("name", ["constant", "class"])
@pytest.mark.parametrize("delay", [0, 7])
def test_an_alarm_takes_the_tail_of_each_row(name: str, delay: int) -> None:
    X, y = data(name, 150)
    y = np.concatenate([y[:120], y[::-1][:30] if name == "class" else y[:30] + 9.0])
    alarm, heard = ChangeAlarm(0.5, memory=100, seed=1), []
    learned = []

    def listen(row: int) -> None:
        heard.append(row)
        learned.append(model.n_seen)

    model = fresh(name, **labelled(name))
    seen = prequential(model, X, y, start=20, delay=delay, alarm=alarm, on_alarm=listen)
    told = tails_by_hand(name, X, y, 20, delay)
    np.testing.assert_array_equal(seen.tail_probability, told)
    other = ChangeAlarm(0.5, memory=100, seed=1)
    rows = [20 + k for k, tail in enumerate(told) if other.update(tail)]
    assert len(rows) >= 1
    assert seen.alarms is not None
    assert seen.alarms.dtype == np.int64
    assert heard == seen.alarms.tolist() == rows
    assert learned == [row + 1 for row in rows]
    assert dumps(alarm) == dumps(other)


def test_rows_that_do_not_count_give_no_alarm() -> None:
    X, y = data("constant", 100)
    y[80:] += 50.0
    weights = np.ones(100)
    weights[80:] = 0.0
    alarm = ChangeAlarm(0.5, seed=1)
    model = DynamicTree(n_particles=20, seed=1)
    seen = prequential(model, X, y, sample_weight=weights, start=20, alarm=alarm)
    assert alarm.n_rows == 60
    assert seen.tail_probability is not None
    assert len(seen.tail_probability) == 80
    assert seen.tail_probability[60:].max() < 0.01
    nothing = prequential(DynamicTree(n_particles=20, seed=1), X, y)
    assert nothing.alarms is None


def test_labels_and_counts_have_tails_too() -> None:
    X, y = data("class", 60)
    model = DynamicTree("class", n_particles=20, seed=1)
    labels = [*y[:50].tolist(), *["new"] * 10]
    seen = prequential(model, X, labels, start=30)
    assert seen.tail_probability is not None
    assert seen.tail_probability[20] == 0.0 < seen.tail_probability[21]
    counts = np.full(60, 3)
    model = DynamicTree("poisson", n_particles=20, seed=1)
    seen = prequential(model, X, counts, exposure=2.0, start=30)
    assert seen.tail_probability is not None
    assert seen.tail_probability.min() > 0.5


def test_what_a_listener_raises_ends_the_evaluation() -> None:
    X, y = data("constant", 150)
    y[100:] += 9.0

    def stop(row: int) -> None:
        raise RuntimeError(f"changed at {row}")

    model, alarm = DynamicTree(n_particles=20, seed=1), ChangeAlarm(0.01, seed=1)
    with pytest.raises(RuntimeError, match="changed at 1"):
        prequential(model, X, y, start=20, alarm=alarm, on_alarm=stop)
    assert alarm.last_alarm is not None
    assert model.n_seen == alarm.last_alarm + 21


LEARNERS: dict[str, Any] = {
    "stream": lambda: AveragedStream(n_particles=5, seed=1),
    "trees": lambda: AveragedTrees(n_clouds=2, n_particles=5, seed=1),
    "tree": lambda: DynamicTree("constant", n_particles=5, seed=1),
    "window": lambda: StreamingTree("constant", window=30, n_particles=5, seed=1),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_rows_that_were_learned_are_warned_of(name: str, kind: str) -> None:
    """As a cell of a notebook is, which runs twice."""
    rng = np.random.default_rng(5)
    X, later = rng.random((2, 80, 2))
    y = X[:, 0] if kind == "numbers" else np.where(X[:, 0] > 0.5, "u", "v")
    if kind == "labels" and name in ("tree", "window"):
        model = StreamingTree("class", window=30, n_particles=5, seed=1)
    else:
        model = LEARNERS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearnedRowsWarning)
        prequential(model, X, y, start=40)
        prequential(model.copy(), later, y, start=40)
    with pytest.warns(LearnedRowsWarning, match="has learned 80 rows"):
        prequential(model, X, y, start=40)


def test_equal_rows_say_nothing_of_what_was_learned() -> None:
    X, y = np.arange(80.0)[:, None] % 4, np.arange(80.0) % 2
    tree = DynamicTree("constant", n_particles=5, seed=1).update(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearnedRowsWarning)
        prequential(tree, X, y)
