"""Random trees among scikit-learn's estimators: its checks, and the model within."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone

from dyntree import RandomTreesStream
from dyntree.api.estimators import RandomTreesClassifier, RandomTreesRegressor
from tests.helpers import model_bytes
from tests.unit.models import data, frame

ESTIMATORS = {
    "constant": RandomTreesRegressor(n_trees=5, random_state=1),
    "class": RandomTreesClassifier(n_trees=5, discount=0.99, random_state=1, n_jobs=2),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_model_within_is_the_stream(name: str) -> None:
    X, y = data(name, 120)
    made = clone(ESTIMATORS[name]).fit(X[:60], y[:60])
    copied = pickle.loads(pickle.dumps(made))
    for estimator in (made, copied):
        estimator.partial_fit(X[60:], y[60:])
    options: dict[str, Any] = {"classes": made.classes_} if name == "class" else {}
    forest = RandomTreesStream(
        name, n_trees=5, discount=made.discount, seed=1, **options
    ).update(X, y)
    assert model_bytes(made.model_) == model_bytes(forest)
    assert model_bytes(copied.model_) == model_bytes(forest)
    told = forest.predict(X)
    if name == "class":
        np.testing.assert_array_equal(made.predict_proba(X), told.proba)
        np.testing.assert_array_equal(made.predict(X), told.label)
    else:
        mean, deviation = made.predict(X, return_std=True)
        np.testing.assert_array_equal(mean, told.mean)
        np.testing.assert_array_equal(deviation, np.sqrt(told.var))
        np.testing.assert_array_equal(
            made.predict_quantiles(X[:5], 0.5), told.quantile(0.5)[:5]
        )
    assert made.feature_importances_.sum() == pytest.approx(1.0)
    assert made.log_evidence_ == forest.log_evidence
    assert made.sample_y(X[:3], 4, random_state=1).shape == (3, 4)


def test_frames_with_levels_and_gaps_are_read() -> None:
    rows, y = data("constant", 60)
    X = frame(rows, "pq")
    X.loc[::7, "p"] = np.nan
    X["kind"] = np.where(rows[:, 0] > 0.5, "high", "low")
    made = RandomTreesRegressor(n_trees=5, random_state=1).fit(X, y)
    alone = RandomTreesStream("constant", n_trees=5, seed=1).update(X, y)
    np.testing.assert_array_equal(made.predict(X), alone.predict(X).mean)
