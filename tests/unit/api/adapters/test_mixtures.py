"""river's clusterers: its own checks, its tools, and the models within."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed: dyntree[river]")

from river import cluster, compose, preprocessing

from dyntree.api.adapters import (
    RiverDPGMMClusterer,
    RiverDPMPPCAClusterer,
    RiverHDPHSMMClusterer,
)
from dyntree.mixtures import OnlineDPGMM, OnlineHDPHSMM
from tests.helpers import model_bytes, same_bytes
from tests.unit.mixtures.sva.test_dpgmm import agreement, blobs

NAMES = ("a", "b")


def clusterers() -> list[Any]:
    return [
        RiverDPGMMClusterer(),
        RiverDPMPPCAClusterer(),
        RiverHDPHSMMClusterer(1.0, 0.1),
    ]


def rows_of(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]


def test_rows_one_by_one_and_in_frames_are_the_same_stream() -> None:
    import pandas as pd

    X, label = blobs(3, 2, 12.0, 700, 0)
    one, many = RiverDPGMMClusterer(warm_up=200), RiverDPGMMClusterer(warm_up=200)
    frame = pd.DataFrame(X, columns=list(NAMES), index=range(7, 707))
    assert one.predict_one(rows_of(X)[0]) == -1
    assert many.predict_many(frame).tolist() == [-1] * 700
    for x in rows_of(X):
        kept = copy.deepcopy(x)
        assert one.learn_one(x) is None
        assert x == kept
    for k in range(0, 700, 90):
        assert many.learn_many(frame[k : k + 90]) is None
    assert model_bytes(one.model) == model_bytes(many.model)
    plain = OnlineDPGMM(warm_up=200).update(X)
    assert many.predict_many(frame).tolist() == plain.predict(X).tolist()
    assert many.predict_many(frame).index.tolist() == frame.index.tolist()
    assert [one.predict_one(x) for x in rows_of(X[:20])] == plain.predict(
        X[:20]
    ).tolist()
    assert agreement(many.predict_many(frame), label) == 1.0
    assert one._raw_memory_usage > one.model.memory_usage()


@pytest.mark.parametrize("model", clusterers())
def test_bad_rows_change_nothing(model: Any) -> None:
    for x in rows_of(blobs(2, 2, 9.0, 40, 0)[0]):
        model.learn_one(x)
    for row, told in (
        ({"a": 1.0}, "missing"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, "unknown"),
        ({"a": 1.0, "b": float("nan")}, "finite"),
        ({"a": 1.0, "b": float("inf")}, "finite"),
        ({"a": 1.0, "b": "x"}, "must hold"),
    ):
        if row.get("b") != row.get("b") and isinstance(model.model, OnlineHDPHSMM):
            continue  # a value of a sequence may be missing
        with same_bytes(model.model), pytest.raises(ValueError, match=told):
            model.learn_one(row)
    with same_bytes(model.model), pytest.raises(ValueError, match="frame of pandas"):
        model.learn_many(np.ones((2, 2)))


def test_they_go_into_pipelines_beside_rivers_own() -> None:
    X, label = blobs(3, 2, 12.0, 600, 1)
    found = []
    for model in (RiverDPGMMClusterer(0.5), cluster.KMeans(3, seed=1)):
        pipeline = compose.Pipeline(preprocessing.StandardScaler(), model)
        for x in rows_of(X):
            pipeline.learn_one(x)
        found.append(agreement([pipeline.predict_one(x) for x in rows_of(X)], label))
    assert found[0] > 0.99
