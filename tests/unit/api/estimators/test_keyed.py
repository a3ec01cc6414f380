"""Models for keys for scikit-learn: frames, labels, and calls that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from dyntree.api.estimators import KeyedClassifier, KeyedRegressor
from dyntree.errors import MissingKeyWarning

SMALL: dict[str, Any] = {"n_particles": 5, "random_state": 1}


def sensors() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of four sensors, all of numbers, and their responses."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sensor": np.arange(120) % 4, "load": rng.random(120)})
    return frame, (frame["load"] + 3.0 * frame["sensor"]).to_numpy()


@pytest.mark.parametrize("numbers", [True, False])
def test_keys_are_columns_of_frames_by_name_or_place(numbers: bool) -> None:
    frame, y = sensors()
    if not numbers:
        frame["room"] = np.where(frame["load"] > 0.5, "u", "v")
    by_name = KeyedRegressor(key="sensor", **SMALL).fit(frame, y)
    by_place = KeyedRegressor(key=0, **SMALL).fit(frame, y)
    for fit in (by_name, by_place):
        assert len(fit.model_) == 4
        assert "sensor" not in fit.model_.feature_names
        assert fit.n_features_in_ == frame.shape[1]
    np.testing.assert_array_equal(by_name.predict(frame), by_place.predict(frame))
    told = by_name.model_.predict(frame, key="sensor")
    np.testing.assert_array_equal(
        by_name.predict_quantiles(frame, [0.1, 0.9]), told.quantile([0.1, 0.9])
    )
    if numbers:
        of_array = KeyedRegressor(key=0, **SMALL).fit(frame.to_numpy(), y)
        assert len(of_array.model_) == 4
    with pytest.raises(ValueError, match="key must be a column of X, or its place"):
        KeyedRegressor(key=7, **SMALL).fit(frame, y)
    numbered = frame.set_axis([5, 6, 7][: frame.shape[1]], axis="columns")
    for key in (5, "5", 0, np.int64(0)):
        fit = KeyedRegressor(key=key, **SMALL).fit(numbered, y)
        np.testing.assert_array_equal(fit.predict(numbered), by_name.predict(frame))


def test_a_refused_fit_leaves_an_estimator_as_it_was() -> None:
    frame, y = sensors()
    labels = np.where(y > 5.0, "high", "low")
    fit = KeyedClassifier(key="sensor", **SMALL).fit(frame, labels)
    before, seen = fit.predict(frame).tolist(), fit.model_.n_seen
    with pytest.raises(ValueError, match="key must not be missing"):
        fit.fit(frame.assign(sensor=None), np.where(y > 5.0, "x", "z"))
    with pytest.raises(ValueError, match=r"labels among .* got 'other'.*classes="):
        fit.partial_fit(frame, np.where(y > 5.0, "other", "low"))
    assert fit.predict(frame).tolist() == before
    assert fit.classes_.tolist() == ["high", "low"]
    assert (fit.model_.n_seen, fit.n_features_in_) == (seen, 2)


def test_leaves_are_for_the_responses_of_the_face() -> None:
    frame, y = sensors()
    with pytest.raises(ValueError, match="model must have leaves for such responses"):
        KeyedRegressor("class", key="sensor", **SMALL).fit(frame, y)
    with pytest.raises(ValueError, match="labels only"):
        KeyedClassifier("linear", key="sensor", **SMALL).fit(frame, y > 5.0)


def test_frames_without_a_key_are_one_series_with_a_warning() -> None:
    frame, y = sensors()
    model = KeyedRegressor(**SMALL)
    with pytest.warns(MissingKeyWarning, match=r"all rows are of one series\. Name"):
        model.fit(frame, y)
    model.partial_fit(frame, y)
    model.predict(frame)
    KeyedRegressor(**SMALL).fit(frame.to_numpy(), y)
    with pytest.warns(MissingKeyWarning):
        KeyedClassifier(**SMALL).partial_fit(frame, y > 5.0)


def test_dicts_without_a_key_are_one_series_with_a_warning() -> None:
    pytest.importorskip("river", reason="river is not installed: dyntree[river]")
    from dyntree.api.adapters import RiverKeyedRegressor

    model = RiverKeyedRegressor(n_particles=5, seed=1)
    model.predict_one({"a": 1.0})
    with pytest.warns(MissingKeyWarning):
        model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": 2.0}, 2.0)
