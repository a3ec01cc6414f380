"""Counts as a regressor of scikit-learn."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: dyntree[sklearn]")

from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import cross_val_score

from dyntree import DynamicTree
from dyntree.api.estimators import DynamicTreeCountRegressor
from dyntree.errors import AssumedValueWarning, IndexOrderWarning
from tests.unit.models import refused

SMALL: dict[str, Any] = {"n_particles": 20, "random_state": 1}


def rows(n: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, e = rng.random((n, 2)), rng.uniform(0.5, 4.0, n)
    return X, rng.poisson(e * np.where(X[:, 0] > 0.5, 8.0, 2.0)), e


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_it_answers_as_the_model_does(model: str) -> None:
    X, y, e = rows()
    one = DynamicTreeCountRegressor(model, n_clouds=1, **SMALL).fit(X, y, exposure=e)
    tree = DynamicTree(model, n_particles=20, seed=1).update(X, y, exposure=e)
    told = tree.predict(X[:5], exposure=e[:5])
    mean, sd = one.predict(X[:5], return_std=True, exposure=e[:5])
    np.testing.assert_array_equal(mean, told.mean)
    np.testing.assert_array_equal(sd, np.sqrt(told.var))
    rates = tree.predict(X[:5], exposure=1).mean
    np.testing.assert_array_equal(one.predict(X[:5], exposure=1), rates)
    np.testing.assert_array_equal(
        one.predict_quantiles(X[:5], 0.9, exposure=2.0),
        tree.predict(X[:5], exposure=2.0).quantile(0.9),
    )
    draws = one.posterior_draws(X[:5], 30, "obs", 1, exposure=e[:5]).values
    assert draws.shape == (30, 5)
    drawn = one.sample_y(X[:5], 7, 1, exposure=e[:5])
    assert drawn.shape == (5, 7)
    assert np.all(drawn == np.floor(drawn))


def test_parts_are_learned_as_the_whole() -> None:
    X, y, e = rows()
    whole = DynamicTreeCountRegressor(n_clouds=1, **SMALL).fit(X, y, exposure=e)
    part = DynamicTreeCountRegressor(n_clouds=1, **SMALL)
    for some in (slice(0, 120), slice(120, 200)):
        part.partial_fit(X[some], y[some], exposure=e[some])
    rates = whole.predict(X, exposure=1)
    np.testing.assert_array_equal(part.predict(X, exposure=1), rates)
    with pytest.warns(AssumedValueWarning, match="exposure is 1 in these rows"):
        part.partial_fit(X[:5], y[:5])
    part.partial_fit(X[:5], y[:5], exposure=1.0)


def test_the_score_is_the_share_of_the_deviance() -> None:
    X, y, e = rows()
    one = DynamicTreeCountRegressor(n_clouds=3, **SMALL).fit(X, y, exposure=e)
    assert one.score(X, y, exposure=e) > 0.5
    plain = d2_tweedie_score(y, one.predict(X, exposure=1), power=1)
    with pytest.warns(AssumedValueWarning, match="exposure is 1"):
        assert one.score(X, y) == pytest.approx(plain, rel=1e-12)
    at = one.predict(X, exposure=e)
    rate = y.sum() / e.sum()

    def deviance(m: np.ndarray) -> float:
        log = np.where(y > 0, y * np.log(np.maximum(y, 1) / m), 0.0)
        return float((log - y + m).sum())

    by_hand = 1.0 - deviance(at) / deviance(rate * e)
    assert one.score(X, y, exposure=e) == pytest.approx(by_hand, rel=1e-9)
    with np.errstate(all="ignore"):
        assert np.all(cross_val_score(one, X, y) > 0.2)


def test_what_are_no_counts_is_refused() -> None:
    X, y, e = rows()
    one = DynamicTreeCountRegressor(**SMALL)
    broken = y.astype(float)
    broken[3] = 1.5
    with refused("y", "1.5 in row 3"):
        one.fit(X, broken)
    with refused("exposure", "0.0 in row 2"):
        one.fit(X, y, exposure=np.where(np.arange(len(y)) == 2, 0.0, e))
    with refused("model", "'constant'"):
        DynamicTreeCountRegressor("constant").fit(X, y)
    with refused("exposure", "got 3"):
        one.fit(X, y, exposure=e).predict(X, exposure=[1.0, 2.0, 3.0])


def test_scores_of_equal_rates_and_of_no_counts() -> None:
    """A fold may hold zeros alone; scikit-learn's own score divides by zero there."""
    rng = np.random.default_rng(6)
    X, hours = rng.random((40, 1)), rng.uniform(0.5, 4.0, 40)
    trees = DynamicTreeCountRegressor(n_particles=10, random_state=1)
    trees.fit(X, rng.poisson(3.0, 40))
    worthless: list[tuple[Any, dict[str, Any]]] = [
        (np.zeros(40), {}),
        (np.full(40, 3), {}),
        (np.floor(10.0 * hours), {"exposure": np.floor(10.0 * hours)}),
        (np.arange(40), {"sample_weight": np.eye(40)[3]}),
    ]
    for y, more in worthless:
        assert trees.score(X, y, **more) == 0.0
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (np.ones(39), {}, "y must be of shape"),
        (np.full(40, 0.5), {}, "y must be counts"),
        (-np.ones(40), {}, "y must be counts"),
        (np.ones(40), {"sample_weight": 0}, "must not be zero in all rows"),
    ]
    for y, more, message in bad:
        with pytest.raises(ValueError, match=message):
            trees.score(X, y, **more)


@pytest.mark.filterwarnings("ignore::dyntree.errors.DegenerateTreesWarning")
def test_contrasts_have_exposures() -> None:
    rng = np.random.default_rng(7)
    X = rng.random((40, 1))
    trees = DynamicTreeCountRegressor(**SMALL).fit(X, rng.poisson(1 + 5 * X[:, 0]))
    rates = trees.compute_contrast(X[:2], X[2:4], 20, seed=1)
    events = trees.compute_contrast(X[:2], X[2:4], 20, seed=1, exposure=[2.0, 8.0])
    np.testing.assert_allclose(events.values, rates.values * [2.0, 8.0], rtol=1e-10)


@pytest.mark.parametrize("order", [slice(None, None, -1), "other labels"])
@pytest.mark.parametrize("name", ["sample_weight", "exposure"])
def test_what_belongs_to_rows_is_paired_by_position(name: str, order: Any) -> None:
    """As in all of scikit-learn; the model itself refuses another index."""
    X, y, e = rows(50)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "u", "v")})
    is_other = order == "other labels"
    index = frame.index + 100 if is_other else frame.index[order]
    series = pd.Series(e, index=index)
    tree = DynamicTreeCountRegressor(n_clouds=2, **SMALL)
    expected = tree.fit(frame, y, **{name: e}).predict(frame, exposure=e)
    beside = [series] if name == "sample_weight" else [None, series]
    for positional, named in ((beside, {}), ([], {name: series})):
        with nullcontext() if is_other else pytest.warns(IndexOrderWarning):
            tree.fit(frame, y, *positional, **named)
        with nullcontext() if is_other else pytest.warns(IndexOrderWarning):
            rates = tree.predict(frame, exposure=series)
        np.testing.assert_array_equal(rates, expected)
