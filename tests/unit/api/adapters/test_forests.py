"""Random trees among river's models: its checks, late columns and labels."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed: dyntree[river]")

from river import datasets, evaluate, metrics

from dyntree import RandomTreesStream
from dyntree.api.adapters import (
    RiverRandomTreesClassifier,
    RiverRandomTreesRegressor,
)
from tests.helpers import same_bytes
from tests.unit.models import data, refused

KINDS = {"constant": RiverRandomTreesRegressor, "class": RiverRandomTreesClassifier}


def test_a_classifier_among_rivers() -> None:
    score = evaluate.progressive_val_score(
        datasets.Phishing(), RiverRandomTreesClassifier(seed=1), metrics.Accuracy()
    )
    assert score.get() > 0.87  # of its own kind AMFClassifier has .87


@pytest.mark.parametrize("name", KINDS)
def test_rows_one_by_one_are_rows_of_the_stream(name: str) -> None:
    X, y = data(name, 80)
    model = KINDS[name](n_trees=5, discount=0.99, seed=1)
    for k, (row, response) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        if k == 40:
            model = pickle.loads(pickle.dumps(model))
        names = ("p", "q") if k else ("p", "q", "late")  # of one row alone
        values = [*row, 1.0]
        model.learn_one(dict(zip(names, values, strict=False)), response)
    rows = np.column_stack([X, np.r_[1.0, np.full(79, np.nan)]])
    options = {"classes": model.stream.classes} if name == "class" else {}
    alone = RandomTreesStream(name, n_trees=5, discount=0.99, seed=1, **options)
    alone.update(rows, y)
    asked = {"p": X[3, 0], "q": X[3, 1]}
    told = alone.predict(rows[3:4] * [1.0, 1.0, np.nan])
    if name == "class":
        proba = model.predict_proba_one(asked)
        np.testing.assert_array_equal([*proba.values()], told.proba[0])
    else:
        assert model.predict_one(asked) == told.mean[0]
        assert model.predict_one(asked, with_dist=True).sigma == np.sqrt(told.var[0])
        low, high = told.quantile([0.5 - 0.9 / 2.0, 0.5 + 0.9 / 2.0])[0]
        interval = model.predict_interval_one(asked)
        assert (interval.lower, interval.upper) == (low, high)


@pytest.mark.parametrize("name", KINDS)
def test_columns_and_labels_that_come_late(name: str) -> None:
    rng = np.random.default_rng(0)
    model = KINDS[name](seed=2)
    for k in range(400):
        row = {"x": rng.random()}
        if k >= 100:
            row["kind"] = ("a", "b", "c")[k % 3]
        level = " abc".index(row.get("kind", " "))
        model.learn_one(row, f"label {level}" if name == "class" else float(level))
    bad = float("nan") if name == "constant" else None
    with same_bytes(model.stream), refused("y", str(bad)):
        model.learn_one({"x": 0.5}, bad)
    for level, kind in enumerate("abc", 1):
        told = model.predict_one({"x": 0.5, "kind": kind})
        assert told == f"label {level}" if name == "class" else abs(told - level) < 0.5
