"""Anomalies and changes among river's tools: its checks, filters and retraining."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed: dyntree[river]")

from river import anomaly, base, compose, drift, preprocessing

from dyntree import ChangeAlarm
from dyntree.api.adapters import (
    RiverAnomalyDetector,
    RiverChangeAlarm,
    RiverDynamicTreeClassifier,
    RiverDynamicTreeRegressor,
    RiverRandomTreesClassifier,
    RiverRandomTreesRegressor,
)
from dyntree.checkpoint import dumps
from tests.helpers import same_bytes
from tests.unit.models import data, refused

MODELS: dict[str, Callable[[], Any]] = {
    "constant": lambda: RiverDynamicTreeRegressor(n_particles=20, seed=1),
    "window": lambda: RiverDynamicTreeRegressor(window=30, n_particles=20, seed=1),
    "count": lambda: RiverDynamicTreeRegressor("negbin", n_particles=20, seed=1),
    "class": lambda: RiverDynamicTreeClassifier(n_particles=20, seed=1),
    "forest": lambda: RiverRandomTreesRegressor(n_trees=5, seed=1),
    "class forest": lambda: RiverRandomTreesClassifier(n_trees=5, seed=1),
}


def rows(name: str, n: int = 80) -> list[tuple[dict[str, float], Any]]:
    X, y = data(name.split()[0], n)
    return [
        ({"p": p, "q": q}, response)
        for (p, q), response in zip(X.tolist(), y.tolist(), strict=True)
    ]


def learned(name: str, n: int = 80) -> RiverAnomalyDetector:
    detector = RiverAnomalyDetector(MODELS[name]())
    for x, y in rows(name, n):
        detector.learn_one(x, y)
    return detector


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_1_less_tail_probabilities(name: str) -> None:
    detector = learned(name)
    stream = detector.model.stream
    with same_bytes(stream):
        for x, y in rows(name)[:10]:
            told = stream.predict([[x["p"], x["q"]]]).tail_probability([y])[0]
            assert detector.model.tail_probability_one(x, y) == told
            assert detector.score_one(x, y) == 1.0 - told
        odd = "never came" if "class" in name else 1000
        assert detector.score_one(x, odd) > 0.99


@pytest.mark.parametrize("name", MODELS)
def test_before_any_row_nothing_is_an_anomaly(name: str) -> None:
    detector = RiverAnomalyDetector(MODELS[name]())
    x, y = rows(name)[0]
    if name == "count":  # of which a prior is known
        assert detector.score_one(x, y) < 1.0
    else:
        assert detector.score_one(x, y) == 0.0


def test_counts_are_scored_at_their_exposure() -> None:
    model = RiverDynamicTreeRegressor("poisson", exposure="e", n_particles=20, seed=1)
    detector = RiverAnomalyDetector(model)
    for k in range(60):
        detector.learn_one({"x": k % 5, "e": 2.0}, 4 + k % 2)
    assert detector.score_one({"x": 3, "e": 2.0}, 4) < 0.7
    assert detector.score_one({"x": 3, "e": 20.0}, 4) > 0.999


@pytest.mark.parametrize("name", ["constant", "class"])
def test_it_stands_in_rivers_filters_and_pipelines(name: str) -> None:
    """One row in twenty is far off; the filter keeps those from the model."""
    filtered = anomaly.QuantileFilter(RiverAnomalyDetector(MODELS[name]()), q=0.9)
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), filtered)
    found, odd = [], []
    for k, (x, y) in enumerate(rows(name, 300)):
        is_odd = k % 20 == 19
        y = y if not is_odd else ("odd" if name == "class" else y + 50.0)
        score = filtered.score_one(pipeline["StandardScaler"].transform_one(x), y)
        assert 0.0 <= score <= 1.0
        if k >= 100:
            found.append(filtered.classify(score))
            odd.append(is_odd)
        pipeline.learn_one(x, y)
    found, odd = np.array(found), np.array(odd)
    assert np.all(found[odd])
    assert np.mean(found[~odd]) < 0.25
    kept = filtered.anomaly_detector.model.stream
    if name == "class":
        assert "odd" not in kept.classes


def test_a_filter_keeps_anomalies_from_a_model() -> None:
    """As river's own scorer in the place of this detector."""
    scorer = RiverAnomalyDetector(MODELS["constant"]())
    model = anomaly.ThresholdFilter(scorer, threshold=0.999)
    for x, y in rows("constant", 100):
        model.learn_one(x, y)
    seen = scorer.model.stream.n_seen
    assert seen > 80
    model.learn_one(x, 1000.0)
    assert scorer.model.stream.n_seen == seen


def test_models_of_others_are_refused() -> None:
    for bad in (anomaly.GaussianScorer(), None, 3, ChangeAlarm()):
        with refused("model", ""):
            RiverAnomalyDetector(bad)  # type: ignore[arg-type]
    with refused("y", "nan"):
        learned("constant").score_one({"p": 0.5}, float("nan"))


# ---------------------------------------------------------------- changes
def test_the_detector_is_an_alarm() -> None:
    assert issubclass(RiverChangeAlarm, base.DriftDetector)
    rng = np.random.default_rng(0)
    losses = np.append(rng.normal(size=1500) ** 2, 9.0 * rng.normal(size=100) ** 2)
    detector, alarm = RiverChangeAlarm(1e-4, seed=2), ChangeAlarm(1e-4, seed=2)
    found = []
    for row, loss in enumerate(losses.tolist()):
        if row == 700:
            detector = pickle.loads(pickle.dumps(detector))
        detector.update(loss)
        assert detector.drift_detected is alarm.update(-loss)
        if detector.drift_detected:
            found.append(row)
    assert len(found) >= 1
    assert 1500 <= found[0] < 1600
    assert dumps(detector.alarm) == dumps(alarm)
    fresh = detector.clone()
    assert (fresh.false_alarm_rate, fresh.memory, fresh.seed) == (1e-4, 2000, 2)
    assert fresh.alarm.n_rows == 0
    assert fresh.drift_detected is False


def test_it_retrains_rivers_models() -> None:
    """Labels flip: what is retrained learns them, and is asked again."""
    model = drift.DriftRetrainingClassifier(
        RiverDynamicTreeClassifier(window=500, n_particles=20, seed=1),
        RiverChangeAlarm(seed=1),
        train_in_background=False,
    )
    rng = np.random.default_rng(1)
    right = []
    for k, x in enumerate(rng.random(900)):
        y = bool(x > 0.5) ^ (k >= 600)
        right.append(model.predict_one({"x": x}) == y)
        model.learn_one({"x": x}, y)
    assert model.drift_detector.alarm.n_alarms == 1
    assert 600 <= model.drift_detector.alarm.last_alarm < 650
    assert np.mean(right[700:]) > 0.9


@pytest.mark.parametrize("x", [float("nan"), -np.inf, None, "1", [1.0]])
def test_bad_values_change_nothing(x: Any) -> None:
    detector = RiverChangeAlarm(seed=1)
    for value in (1, 2.0, True, np.float32(1.5), np.True_, np.inf):
        detector.update(value)
    with same_bytes(detector.alarm, dumps), refused("x", repr(x)):
        detector.update(x)
