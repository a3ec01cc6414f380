"""Logistic leaves, `model="logit"`: trees, streams and members of averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import AveragedStream, DynamicTree, StreamingTree
from dyntree.errors import DegenerateTreesWarning, DistantInputsWarning
from tests.contract import check_twins
from tests.helpers import model_bytes
from tests.unit.models import refused, slopes

SMALL: dict[str, Any] = {"n_particles": 30, "seed": 1}


def made(kind: str, **options: Any) -> Any:
    if kind == "tree":
        return DynamicTree("logit", **SMALL | options)
    return StreamingTree("logit", window=60, **SMALL | options)


KINDS = pytest.mark.parametrize("kind", ["tree", "stream"])


def test_slopes_that_differ_by_region_are_seen() -> None:
    """Better than constant leaves; each side has its slope."""
    X, y = slopes(400)
    tree = DynamicTree("logit", **SMALL).update(X, y)
    steps = DynamicTree("class", tree_prior=(0.95, 0.5), **SMALL).update(X, y)
    assert tree.log_evidence > steps.log_evidence + 5.0
    at = np.array([[1.5, 0.0, 0.0], [-1.5, 0.0, 0.0]])
    left, right = tree.coef(at)[:, 2]
    assert left > 0.8
    assert right < -0.8


def test_defaults_are_those_of_its_leaves() -> None:
    tree = DynamicTree("logit", **SMALL).update(*slopes(30))
    assert tree.options.min_leaf == 5
    assert tree.options.tree_prior == (0.95, 0.5)
    assert tree.is_classifier


@KINDS
def test_a_third_label_is_refused(kind: str) -> None:
    """Before the first row, in it, and late; the model stays as it is."""
    X, y = slopes(40)
    with refused("classes", "'c'"):
        made(kind, classes=("a", "b", "c"))
    with refused("y", "'c'"):
        made(kind).update(X[:3], ["a", "b", "c"])
    waiting = made(kind).update(X[:2], ["a", "b"])
    with refused("y", "'c'", waiting):
        waiting.update(X[2:3], ["c"])
    model = made(kind).update(X, y)
    with refused("y", "'maybe'", model):
        model.update(X[:1], ["maybe"])
    with refused("y", "'maybe'", model):
        model.update(X[:2], ["yes", "maybe"])


def test_a_lone_label_is_certain_until_a_second_comes() -> None:
    X, y = slopes(60)
    model = DynamicTree("logit", **SMALL).update(X[:30], ["no"] * 30)
    assert model.predict(X).proba.tolist() == [[1.0]] * 60
    assert model.log_evidence == 0.0
    model.update(X[30:], y[30:])
    proba = model.predict(X).proba
    assert proba.shape == (60, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def test_frequencies_are_rows_written_out_in_one_leaf() -> None:
    """Nearly: xi is fixed for all copies at once."""
    X, y = slopes(80)
    times = np.random.default_rng(2).integers(1, 4, 80)
    one = {"tree_prior": (0.0, 1.0)} | SMALL
    weighted = DynamicTree("logit", **one).update(X, y, sample_weight=times)
    order = np.repeat(np.arange(80), times)
    written = DynamicTree("logit", **one).update(X[order], y[order])
    difference = weighted.predict(X).proba - written.predict(X).proba
    assert np.abs(difference).max() < 0.05


@KINDS
def test_draws_have_the_mean_of_predictions(kind: str) -> None:
    """Within 5 standard errors, 10 numbers: one run in 200,000 fails by chance."""
    model = made(kind).update(*slopes(150))
    X = slopes(10, 3)[0]
    with pytest.warns(DegenerateTreesWarning):
        drawn = model.posterior_draws(X, 4000, seed=1)
    values = np.asarray(drawn.values)[:, :, 1]
    error = values.std(axis=0) / np.sqrt(4000) + 1e-3
    off = np.abs(values.mean(axis=0) - model.predict(X).proba[:, 1])
    assert np.all(off < 5 * error)
    np.testing.assert_allclose(np.asarray(drawn.values).sum(axis=2), 1.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
@pytest.mark.filterwarnings("ignore::dyntree.errors.MissingInputWarning")
def test_equal_rows_with_gaps_have_equal_draws() -> None:
    X, y = slopes(150)
    model = made("tree").update(X, y)
    at = np.array([[0.5, np.nan, 0.0], [0.5, np.nan, 0.0], [np.nan, 1.0, 0.2]])
    values = np.asarray(model.posterior_draws(at, 200, seed=1).values)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])
    proba = model.predict(at).proba
    assert np.abs(values.mean(axis=0) - proba).max() < 0.1


def test_questions_of_class_leaves_have_answers() -> None:
    """Importance, relevance, values of rows, partial dependence by rows."""
    X, y = slopes(150)
    model = made("tree").update(X, y)
    assert model.importance().values.shape == (3,)
    assert np.isfinite(np.asarray(model.relevance().values)).all()
    assert np.isfinite(model.active_values("entropy")).all()
    assert model.importance().values[2] < max(model.importance().values[:2])


def test_a_value_far_away_is_clipped_and_warned_of() -> None:
    X, y = slopes(60)
    model = made("tree").update(X, y)
    far = X[:1].copy()
    far[0, 1] = 1e9
    with pytest.warns(DistantInputsWarning, match="regressions in leaves"):
        model.update(far, y[:1])
    assert np.isfinite(model.predict(X).proba).all()
    with refused("X", "1e+200", model):
        far[0, 1] = 1e200
        model.update(far, y[:1])


# ---------------------------------------------------------------- averages
MEMBERS = [
    {"window": 50}, {"window": 100, "model": "logit", "n_particles": 20},
    {"linear": True},
]  # fmt: skip


def test_members_of_an_average_may_be_logistic() -> None:
    """Beside class leaves; threads and files change nothing."""
    X, y = slopes(150)
    average = AveragedStream("class", members=MEMBERS, seed=1, n_particles=20)
    average.update(X[:80], y[:80])
    assert [state.options.model for state in average.states] == [
        "class", "logit", "class",
    ]  # fmt: skip
    check_twins(average.copy(), lambda twin: twin.update(X[80:], y[80:]))
    plain, by_rows = average.copy().update(X[80:], y[80:]), average.copy()
    average.update(X[80:], y[80:], threads=4)
    assert model_bytes(average) == model_bytes(plain)
    for k in range(80, 150):
        by_rows.update(X[k : k + 1], y[k : k + 1])
    for name, value in average.to_arrays()[1].items():
        np.testing.assert_allclose(by_rows.to_arrays()[1][name], value, rtol=1e-9)
    with refused("y", "'maybe'", average):
        average.update(X[:1], ["maybe"])


def test_slopes_by_region_gain_in_an_average() -> None:
    X, y = slopes(400)
    plain = AveragedStream("class", members=MEMBERS[::2], seed=1, n_particles=20)
    whole = AveragedStream("class", members=MEMBERS, seed=1, n_particles=20)
    gain = whole.update(X, y).log_evidence - plain.update(X, y).log_evidence
    assert gain > 2.0


def test_a_column_of_many_levels_is_one_of_effects() -> None:
    """As for class leaves: the log odds of the second label by level."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 40, 400)
    p = 1 / (1 + np.exp(-2.0 * rng.standard_normal(40)[level]))
    X = pd.DataFrame({"x": rng.standard_normal(400), "g": [f"l{k}" for k in level]})
    y = np.where(rng.random(400) < p, "yes", "no")
    model = DynamicTree("logit", **SMALL).update(X[:300], y[:300])
    assert "effect of g" in model.feature_names
    check_twins(model, lambda twin: twin.update(X[300:], y[300:]))
    above = model.predict(X).proba[:, 1] > 0.5
    assert np.mean(above == (p > 0.5)) > 0.75
