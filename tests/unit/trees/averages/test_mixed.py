"""Averages whose clouds have leaves of two kinds, and defaults that need no choice."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from dyntree import (
    AveragedStream,
    AveragedTrees,
    DynamicTree,
    StreamingTree,
    checkpoint,
)
from dyntree.errors import ArgumentError
from tests.helpers import model_bytes
from tests.unit.models import refused

MAKERS: dict[str, Any] = {
    "stream": AveragedStream,
    "light": lambda **o: AveragedStream(members="light", **o),
    "fast": lambda **o: AveragedStream(members="fast", **o),
    "trees": AveragedTrees,
}
FAR = np.array([[40.0, 0.5, 0.5], [-40.0, 0.5, 0.5]])


def rows(n: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A slope, a wave and a step, with noise of .1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = 3 * X[:, 0] + np.sin(6 * X[:, 1]) + (X[:, 2] > 0.5)
    return X, y + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("name", list(MAKERS))
def test_all_members_answer_in_predictions(name: str) -> None:
    X, y = rows()
    model = MAKERS[name](seed=1).update(X, y)
    assert model.model == "mixed"
    assert {m.tree.options.model for m in model.members} == {"linear", "constant"}
    answer = model.predict(X[:9])
    parts = [member.predict(X[:9]).mean for member in model.members]
    expected = model.weights @ np.array(parts)
    share = getattr(model, "persistence_share", 0.0)
    assert (share > 0.0) == (name != "trees")
    np.testing.assert_allclose(answer.mean, expected + share * y[-1], rtol=1e-9)
    np.testing.assert_allclose(answer.cdf(answer.quantile(0.3)), 0.3, atol=1e-9)
    for k in range(9):  # a row alone, and by the shortest way
        assert model.predict(X[k : k + 1]).mean[0] == answer.mean[k]
        assert model.mean_at(X[k : k + 1]) == answer.mean[k]


@pytest.mark.parametrize("members", [None, "fast"])
def test_rows_one_by_one_in_blocks_and_in_threads(members: Any) -> None:
    X, y = rows(90)
    whole = AveragedStream(members=members, seed=1).update(X, y, threads=2)
    slow = AveragedStream(members=members, seed=1)
    for k in range(len(y)):
        slow.update(X[k : k + 1], y[k : k + 1])
    assert model_bytes(slow) == model_bytes(whole)


@pytest.mark.parametrize(
    ("name", "is_held"),
    [("stream", False), ("light", False), ("fast", True), ("trees", True)],
)
def test_lines_end_near_the_responses_so_far(name: str, is_held: bool) -> None:
    """A forest among the members stays there by itself, and nothing is held."""
    X, y = rows()
    model = MAKERS[name](seed=1).update(X, y)
    margin = 0.1 * np.ptp(y)
    answer = model.predict(FAR)
    if is_held:
        assert answer.mean.max() <= y.max() + margin
        assert answer.mean.min() >= y.min() - margin
        assert np.all(answer.mixture.location <= y.max() + margin)
        draws = model.posterior_draws(FAR, 50, seed=1).values
        assert y.min() - margin <= draws.min() <= draws.max() <= y.max() + margin
        model.update(FAR[:1], np.array([30.0]))
        assert model.predict(FAR[:1]).mean[0] > y.max() + margin  # which is wider now
    else:
        assert model._span is None
    linear = AveragedTrees("linear", n_clouds=2, n_particles=20, seed=1).update(X, y)
    assert linear.predict(FAR).mean[0] > 10 * y.max()  # a line that was asked for


@pytest.mark.parametrize("name", list(MAKERS))
def test_effects_are_those_of_the_linear_members(name: str) -> None:
    X, y = rows()
    model = MAKERS[name](seed=1).update(X, y)
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = 0.25, 0.75
    change = model.compute_contrast(low, high, seed=1).average()
    assert change.mean()[0] == pytest.approx(1.5, abs=0.15)
    weights = model.weights * [m.tree.options.model == "linear" for m in model.members]
    weights = weights / weights.sum()
    of_lines = sum(
        w * m.tree.coef(X[:5])
        for w, m in zip(weights, model.members, strict=True)
        if w > 0.0
    )
    np.testing.assert_allclose(model.coef(X[:5]), of_lines, rtol=1e-9)
    means = model.effect_means(high, 2) - model.effect_means(low, 2)
    assert np.mean(means) == pytest.approx(change.mean()[0], abs=0.05)


def test_the_spread_of_a_pool_follows_its_normal_scores() -> None:
    X, y = rows(400)
    stream = AveragedStream(seed=1).update(X[:30], y[:30])
    squares, n = stream._spread
    for k in range(30, 400):
        clouds = [m for m in stream.members if isinstance(m, StreamingTree)]
        weights = stream.weights[: len(clouds)]
        below = [m.predict(X[k : k + 1]).cdf(y[k])[0] for m in clouds]
        total = weights.sum()
        p = np.clip(weights @ np.array(below) / total, 1e-9, 1 - 1e-9)
        squares = 0.995 * squares + total * min(norm.ppf(p) ** 2, 16.0)
        n = 0.995 * n + total
        plain = stream.copy()
        plain._spread[:] = 0.0
        answer, wide = stream.predict(X[k : k + 1]), plain.predict(X[k : k + 1])
        forest = wide.mixture.scale != answer.mixture.scale / stream.spread_factor
        np.testing.assert_allclose(
            answer.mixture.scale[~forest],
            stream.spread_factor * wide.mixture.scale[~forest],
            rtol=1e-12,
        )
        assert answer.mean[0] == wide.mean[0]
        stream.update(X[k : k + 1], y[k : k + 1])
        if k % 50 == 0:
            np.testing.assert_allclose(stream._spread, [squares, n], rtol=1e-9)
    expected = np.sqrt((50 + squares) / (50 + n))
    assert stream.spread_factor == pytest.approx(expected, rel=1e-9)
    assert stream.spread_factor < 0.97  # members agree too seldom here
    draws = stream.posterior_draws(X[:1], 4000, "obs", seed=1).values
    assert draws.std() == pytest.approx(np.sqrt(stream.predict(X[:1]).var[0]), rel=0.1)
    for model in ("linear", "constant"):
        assert AveragedStream(model, seed=1).update(X, y).spread_factor == 1.0
    assert AveragedStream(robust=True, seed=1).update(X, y).spread_factor == 1.0


def test_rows_with_gaps_or_weights_leave_the_spread_right() -> None:
    """A gap says nothing; a weight w divides the variance of its response."""
    rng = np.random.default_rng(3)
    X = rng.random((300, 2))
    w = rng.choice([0.25, 4.0], 300)
    y = 2 * X[:, 0] + 0.3 * rng.standard_normal(300) / np.sqrt(w)
    weighed = AveragedStream(seed=1).update(X, y, w)
    assert 0.8 < weighed.spread_factor < 1.1
    blind = AveragedStream(seed=1).update(X, y)
    assert weighed.spread_factor != blind.spread_factor
    before = blind._spread.copy()
    blind.update(np.array([[np.nan, 0.5]]), np.array([1.0]))
    np.testing.assert_array_equal(blind._spread, before)


def test_a_slope_is_covered_where_steps_would_shrink_it() -> None:
    """Of 40 tables 90 % intervals of an effect of .4 cover 32 at least (1 in 40: .04).

    Binomial(40, .9) is below 32 with probability .015. A treatment that depends on a
    covariate: constant leaves find .15 on average, and cover it in half of the tables.
    """
    covered, found = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((250, 3))
        treated = (X[:, 0] + rng.standard_normal(250) > 0).astype(float)
        y = 0.4 * treated + X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(250)
        trees = AveragedTrees(n_clouds=4, n_particles=30, seed=seed)
        trees.update(np.column_stack([treated, X]), y)
        ends = [np.column_stack([np.full(250, t), X]) for t in (0.0, 1.0)]
        effect = trees.compute_contrast(*ends, n_draws=300, seed=1).average()
        low, high = effect.conf_int(0.1)[0]
        covered += low <= 0.4 <= high
        found.append(effect.mean()[0])
    assert covered >= 32
    assert np.mean(found) == pytest.approx(0.4, abs=0.05)


def test_tables_weigh_the_kinds_by_what_they_predicted() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((300, 2))
    noise = 0.1 * rng.standard_normal(300)
    line = AveragedTrees(n_clouds=4, n_particles=30, seed=1).update(
        X, 3 * X[:, 0] + noise
    )
    steps = np.floor(5 * X[:, 0]) % 2 * 4 + (X[:, 1] > 0.5)
    step = AveragedTrees(n_clouds=4, n_particles=30, seed=1).update(X, steps + noise)
    assert line.shares[0] > 0.8
    assert step.shares[1] > line.shares[1] + 0.2
    for trees in (line, step):
        assert sum(trees.shares) == pytest.approx(1.0)
        np.testing.assert_allclose(trees.weights[::2], trees.shares[0] / 2)
        np.testing.assert_allclose(trees.weights[1::2], trees.shares[1] / 2)
    few = AveragedTrees(n_clouds=4, n_particles=30, seed=1).update(X[:39], steps[:39])
    assert few.shares == (0.5, 0.5)


def test_many_columns_have_fewer_members() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((60, 20))
    few = AveragedStream(seed=1).update(X[:, :15], X[:, 0])
    many = AveragedStream(seed=1).update(X, X[:, 0])
    assert (len(few.members), len(many.members)) == (16, 8)
    useless = np.column_stack([X[:, :3], np.ones((60, 30))])
    assert len(AveragedStream(seed=1).update(useless, X[:, 0]).members) == 16
    by_row = AveragedStream(seed=1)
    for k in range(60):
        by_row.update(X[k : k + 1], X[k : k + 1, 0])
    assert model_bytes(by_row) == model_bytes(many)


@pytest.mark.filterwarnings("ignore::dyntree.errors.TwoNumbersWarning")
@pytest.mark.parametrize("maker", [AveragedStream, AveragedTrees])
@pytest.mark.parametrize(
    ("labels", "model"),
    [
        (["u", "v"] * 20, "class"),
        ([True, False] * 20, "class"),
        (pd.Series(["u", "v"] * 20, dtype="category"), "class"),
        (pd.Series([3, 4] * 20, dtype="category"), "class"),
        ([0, 1] * 20, "mixed"),
        (np.array([0.0, 1.0] * 20), "mixed"),
    ],
)
def test_labels_are_classified_where_nobody_named_a_model(
    maker: Any, labels: Any, model: str
) -> None:
    X = np.random.default_rng(0).random((40, 2))
    assert maker(seed=1).model == "mixed"
    average = maker(seed=1).update(X, labels)
    assert average.model == model
    assert model_bytes(average) == model_bytes(maker(model, seed=1).update(X, labels))
    twin = checkpoint.loads(checkpoint.dumps(maker(seed=1))).update(X, labels)
    assert model_bytes(twin) == model_bytes(average)


@pytest.mark.parametrize("maker", [AveragedStream, AveragedTrees])
def test_bad_labels_leave_the_choice_open(maker: Any) -> None:
    X, y = rows(20)
    model = maker(seed=1)
    before = model_bytes(model)
    with pytest.raises(ValueError, match="y must"):
        model.update(X, [*["u"] * 19, None])
    assert model_bytes(model) == before
    assert model.update(X, y).model == "mixed"
    with pytest.raises(ValueError, match="y must"):
        model.update(X, ["u"] * 20)
    with pytest.raises(ValueError, match="Labels need model='class'"):
        maker("mixed", seed=1).update(X, ["u"] * 20)


def test_members_say_together_what_each_would_say() -> None:
    """Levels that come late are no terms of any of the regressions: said once."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(200)
    frame = pd.DataFrame({"a": rng.random(200), "g": np.arange(200).astype(str)})
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        stream = AveragedStream(n_particles=2, encode_levels="onehot", seed=1)
        for first in range(0, 200, 40):
            stream.update(frame[first : first + 40], y[first : first + 40])
    messages = [str(one.message) for one in warned]
    assert any("linear leaves regress on" in text for text in messages)
    assert len(messages) == len({*messages})


def test_members_that_are_named_stay() -> None:
    """They may have options that labels do not have."""
    X, _ = rows(20)
    for members in ("light", [{"window": 40}]):
        stream = AveragedStream(members=members, seed=1)
        with pytest.raises(ValueError, match="Labels need model='class'"):
            stream.update(X, ["u", "v"] * 10)


def test_all_interfaces_make_the_same_models() -> None:
    for name in ("formulaic", "river", "sklearn"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    import dyntree.formula.api as dtf
    from dyntree.api.adapters import RiverDynamicTreeRegressor
    from dyntree.api.estimators import DynamicTreeRegressor

    X, y = rows(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    trees = AveragedTrees(seed=3).update(X, y)
    fit = DynamicTreeRegressor(random_state=3).fit(X, y)
    assert model_bytes(fit.model_) == model_bytes(trees)
    by_formula = dtf.dynamic_tree("y ~ a + b + c", frame, seed=3).fit()
    np.testing.assert_array_equal(
        by_formula.tree.predict(X).mean, trees.predict(X).mean
    )
    stream = AveragedStream(seed=3).update(frame[["a", "b", "c"]], y)
    river = RiverDynamicTreeRegressor(seed=3)
    for row, response in zip(frame[["a", "b", "c"]].to_dict("records"), y, strict=True):
        river.learn_one(row, float(response))
    row = frame[["a", "b", "c"]].iloc[0].to_dict()
    assert river.predict_one(row) == stream.predict([row]).mean[0]
    assert DynamicTreeRegressor(window=30).fit(X, y).model_.model == "linear"
    assert (DynamicTree().model, StreamingTree().model) == ("linear", "linear")
    assert DynamicTree(rules="r").model == "constant"
    assert DynamicTree(classes=["u", "v"]).model == "class"
    assert AveragedTrees(n_clouds=1).model == "linear"


def test_what_cannot_be_mixed_is_refused() -> None:
    for maker in (DynamicTree, StreamingTree):
        with refused("model", "'mixed'"):
            maker("mixed")
    with refused("model of member 1", "'class'"):
        AveragedStream(members=[{"window": 50}, {"window": 50, "model": "class"}])
    with pytest.raises(ValueError, match="Put such a member first"):
        AveragedStream(members=[{"window": 50, "model": "constant"}, {"window": 50}])
    with refused("members", "'model'"):
        AveragedStream("linear", members=[{"window": 50, "model": "linear"}])
    with refused("members", "'light'"):
        AveragedStream("class", members="light")
    with refused("members", "'quick'"):
        AveragedStream(members="quick")
    with pytest.raises(ArgumentError, match="n_basis"):
        AveragedStream("constant", n_basis=2)
    stream = AveragedStream(n_basis=2, seed=1).update(*rows(40))  # of linear members
    assert stream.coef(rows(3)[0]).shape == (3, 3)


def test_the_width_of_a_table_s_pool_follows_what_it_predicted() -> None:
    X, y = rows(400)
    model = AveragedTrees(seed=1).update(X, y)
    assert 0.5 <= model.spread_factor <= 2.0
    assert model.spread_factor != 1.0
    answer = model.predict(X[:5])
    twin = model.copy()
    twin._spread_factor = 1.0
    plain = twin.predict(X[:5])
    np.testing.assert_allclose(answer.mean, plain.mean, rtol=1e-12)
    wider = (answer.var > plain.var) == (model.spread_factor > 1.0)
    assert wider.all()
    again = checkpoint.loads(checkpoint.dumps(model))
    assert again.spread_factor == model.spread_factor
    few = AveragedTrees(seed=1).update(X[:39], y[:39])  # too few to tell
    assert few.spread_factor == 1.0
    assert AveragedTrees(seed=1, robust=True).update(X, y).spread_factor == 1.0
    assert AveragedTrees("linear", seed=1).update(X, y).spread_factor == 1.0


@pytest.mark.parametrize("make", [AveragedStream, AveragedTrees])
def test_odd_first_responses_are_refused_by_name(make: Any) -> None:
    X = np.random.default_rng(0).random((4, 2))
    for y, rule in (
        (pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), "y must be of shape"),
        ([[1], [1, 2], 3, 4], "y must be rectangular"),
        (["a", 1, 2.0, "b"], "y must hold numbers alone, or labels of one type"),
        (None, "y must be of shape"),
    ):
        model = make(seed=1)
        with pytest.raises(ValueError, match=rule):
            model.update(X, y)
        assert model.model == "mixed"
        model.update(X, [1.0, 2.0, 3.0, 4.0])  # it is as it was
