"""scikit-learn's face of Dynamic Means: its checks, phases, ids that persist."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone

from dyntree.api.estimators import DynamicMeansClusterer
from dyntree.mixtures import DynamicMeans
from tests.helpers import model_bytes

PLACES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])


@pytest.fixture
def stream() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of five phases in any order, their phases and their clusters, that move."""
    rng = np.random.default_rng(2)
    phase, truth = np.repeat(np.arange(5), 60), rng.integers(3, size=300)
    X = PLACES[truth] + 0.4 * phase[:, None] + rng.normal(size=(300, 2))
    turn = rng.permutation(300)
    return X[turn], phase[turn], truth[turn]


def test_ids_persist_over_phases_as_in_the_model(stream: Any) -> None:
    X, phase, truth = stream
    fit = DynamicMeansClusterer(random_state=3).fit(X, phases=phase)
    model = DynamicMeans(seed=3).update(X, phases=phase)
    assert model_bytes(fit.model_) == model_bytes(model)
    assert len({*zip(fit.labels_.tolist(), truth.tolist(), strict=True)}) == 3
    assert fit.n_clusters_ == len(fit.cluster_ids_) == 3
    assert fit.cluster_centers_.shape == (3, 2)
    assert fit.predict(X).tolist() == model.predict(X).tolist()
    assert fit.predict([[500.0, 500.0]], outliers=True).tolist() == [-1]
    np.testing.assert_array_equal(fit.transform(X), model.transform(X))
    names = [f"dynamicmeansclusterer{k}" for k in range(3)]
    assert fit.get_feature_names_out().tolist() == names
    parts = DynamicMeansClusterer(random_state=3)
    for k in range(5):
        parts.partial_fit(X[phase == k])
        assert parts.labels_.tolist() == parts.model_.labels_.tolist()
    assert model_bytes(parts.model_) == model_bytes(model)
    assert fit.fit_predict(X, phases=phase).tolist() == fit.labels_.tolist()
    assert model_bytes(clone(fit).fit(X, phases=phase).model_) == model_bytes(model)


def test_pieces_are_one_phase_until_it_has_thirty_rows(stream: Any) -> None:
    X, _, _ = stream
    whole = DynamicMeansClusterer(random_state=3).fit(X[:30])
    pieces = DynamicMeansClusterer(random_state=3)
    for first in range(0, 30, 7):
        pieces.partial_fit(X[first : min(first + 7, 30)])
        assert pieces.model_.n_phases == 1
        assert len(pieces.labels_) == min(7, 30 - first)
    assert model_bytes(pieces.model_) == model_bytes(whole.model_)
    pieces.partial_fit(X[30:60])
    assert pieces.model_.n_phases == 2


def test_weights_are_how_often_rows_are_learned(stream: Any) -> None:
    X, phase, _ = stream
    times = np.random.default_rng(4).integers(0, 3, len(X))
    weighed = DynamicMeansClusterer(random_state=1)
    weighed.fit(X, phases=phase, sample_weight=times)
    copied = DynamicMeansClusterer(random_state=1)
    copied.fit(np.repeat(X, times, axis=0), phases=np.repeat(phase, times))
    np.testing.assert_array_equal(weighed.cluster_centers_, copied.cluster_centers_)
    assert np.repeat(weighed.labels_, times).tolist() == copied.labels_.tolist()
    assert (weighed.labels_ >= 0).all()
    before = model_bytes(weighed.model_)
    with pytest.raises(ValueError, match=r"must be whole numbers here: .* got 0\.5"):
        weighed.partial_fit(X, sample_weight=np.full(len(X), 0.5))
    assert model_bytes(weighed.model_) == before


def test_a_column_of_a_frame_tells_phases(stream: Any) -> None:
    X, phase, _ = stream
    plain = pd.DataFrame(X, columns=["x", "y"])
    frame = plain.assign(month=phase)
    fit = DynamicMeansClusterer(random_state=1).fit(frame, phases="month")
    other = DynamicMeansClusterer(random_state=1).fit(X, phases=phase)
    assert fit.feature_names_in_.tolist() == ["x", "y"]
    assert fit.labels_.tolist() == other.labels_.tolist()
    assert fit.predict(frame).tolist() == fit.predict(plain).tolist()
    for text, call in (
        ("unseen at fit time", lambda: fit.predict(plain.assign(c=1.0))),
        ("phases must name a column of X", lambda: fit.fit(frame, phases="year")),
        ("reach must be", lambda: DynamicMeansClusterer(reach=-1.0).fit(X)),
        ("NaN", lambda: fit.partial_fit(plain * np.nan)),
    ):
        before = model_bytes(fit.model_)
        with pytest.raises(ValueError, match=text):
            call()
        assert model_bytes(fit.model_) == before


@pytest.mark.parametrize("second", [None, "week"])
def test_columns_of_phases_of_earlier_calls_are_left_out(
    stream: Any, second: str | None
) -> None:
    X, phase, _ = stream
    plain = pd.DataFrame(X, columns=["x", "y"])
    both = plain.assign(day=phase, week=phase // 2)
    fit = DynamicMeansClusterer(random_state=1).fit(
        both.drop(columns="week"), phases="day"
    )
    other = DynamicMeansClusterer(random_state=1).fit(plain, phases=phase)
    assert fit.predict(both[["x", "y", "day"]]).tolist() == fit.predict(plain).tolist()
    frame = both[["x", "y", "day"]] if second is None else both
    fit.partial_fit(frame, phases=second)
    other.partial_fit(plain, phases=None if second is None else phase // 2)
    assert fit.labels_.tolist() == other.labels_.tolist()
    for rows in (frame, plain, plain.assign(day=phase)):
        assert fit.predict(rows).tolist() == other.predict(plain).tolist()
        np.testing.assert_array_equal(fit.transform(rows), other.transform(plain))
        more, alike = (
            deepcopy(fit).partial_fit(rows),
            deepcopy(other).partial_fit(plain),
        )
        assert more.labels_.tolist() == alike.labels_.tolist()
    with pytest.raises(ValueError, match="unseen at fit time"):
        fit.partial_fit(plain.assign(month=phase))
    if second is None:
        with pytest.raises(ValueError, match="unseen at fit time"):
            fit.predict(both)
    fit.fit(plain.assign(day=1.0 * phase))  # whose columns are another question
    assert fit.n_features_in_ == 3
    assert len(fit.predict(plain.assign(day=1.0 * phase))) == len(X)
