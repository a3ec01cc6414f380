"""Counts as a regressor of river, with the exposure among the features."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river", reason="needs river: dyntree[river]")

from dyntree import StreamingTree
from dyntree.api.adapters import RiverDynamicTreeRegressor
from tests.unit.models import refused

SMALL: dict[str, Any] = {"n_particles": 20, "seed": 1}


def records(n: int = 80) -> tuple[list[dict[str, float]], list[int]]:
    rng = np.random.default_rng(0)
    X = [
        {"x": x, "hours": e} for x, e in rng.uniform([0, 0.5], [1, 4], (n, 2)).tolist()
    ]
    rates = [e["hours"] * (8.0 if e["x"] > 0.5 else 2.0) for e in X]
    return X, rng.poisson(rates).tolist()


@pytest.mark.parametrize("window", [30, "auto"])
@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_exposures_are_no_features(model: str, window: Any) -> None:
    X, y = records()
    one = RiverDynamicTreeRegressor(model, window=window, exposure="hours", **SMALL)
    for x, count in zip(X, y, strict=True):
        one.learn_one(x, count)
    assert one.stream.feature_names == ("x",)
    rate = one.predict_one({"x": 0.9})
    assert one.predict_one({"x": 0.9, "hours": 3.0}) == pytest.approx(3.0 * rate)
    law = one.predict_one({"x": 0.9, "hours": 3.0}, with_dist=True)
    assert law.mu == pytest.approx(3.0 * rate)
    assert 0.0 < law(2.0) < 1.0
    assert law.ppf(0.9) == np.floor(law.ppf(0.9))
    ends = one.predict_interval_one({"x": 0.9, "hours": 3.0}, 0.8)
    assert ends.lower <= law.mu <= ends.upper
    frame = pd.DataFrame(X[:4])
    many = one.predict_many(frame)
    assert many.tolist() == pytest.approx([one.predict_one(x) for x in X[:4]])
    again = pickle.loads(pickle.dumps(one))
    assert again.predict_one(X[0]) == one.predict_one(X[0])


def test_it_learns_what_a_stream_does() -> None:
    X, y = records()
    one = RiverDynamicTreeRegressor("negbin", window=30, exposure="hours", **SMALL)
    one.learn_many(pd.DataFrame(X), pd.Series(y))
    own = StreamingTree("negbin", window=30, **SMALL)
    frame = pd.DataFrame(X)
    own.update(frame[["x"]], y, exposure=frame["hours"])
    told = own.predict({"x": 0.3}, exposure=1).mean[0]
    assert one.predict_one({"x": 0.3}) == pytest.approx(told, rel=1e-12)


def test_bad_rows_are_refused_and_change_nothing() -> None:
    X, y = records()
    one = RiverDynamicTreeRegressor("negbin", exposure="hours", **SMALL)
    one.learn_many(pd.DataFrame(X), pd.Series(y))
    with refused("y", "2.5", one.stream):
        one.learn_one(X[0], 2.5)
    with refused("hours", "0.0", one.stream):
        one.learn_one({"x": 0.1, "hours": 0.0}, 1)
    with refused("hours", "'long'", one.stream):
        one.learn_one({"x": 0.1, "hours": "long"}, 1)
    with refused("hours", "got none", one.stream):
        one.learn_one({"x": 0.1}, 1)
    with refused("exposure", "'hours'"):
        RiverDynamicTreeRegressor("linear", exposure="hours")
