"""scikit-learn's face of dependent mixtures: its checks, phases, ids that persist."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from sklearn.base import clone

from dyntree.api.estimators import DependentDPClusterer
from dyntree.datasets import evolving_gaussians
from dyntree.mixtures import (
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    variation_of_information,
)
from tests.helpers import model_bytes

QUICK: dict[str, Any] = {"n_sweeps": 12, "burn_in": 4, "random_state": 3}


@pytest.fixture
def stream() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of six phases in any order, their phases and their clusters."""
    data = evolving_gaussians(6, 30, n_start=3, seed=2)
    X, truth = np.concatenate(data.phases), np.concatenate(data.labels)
    phase = np.repeat(np.arange(6), [len(rows) for rows in data.phases])
    turn = np.random.default_rng(1).permutation(len(X))
    return X[turn], phase[turn], truth[turn]


def test_ids_persist_over_phases(stream: Any) -> None:
    X, phase, truth = stream
    family = GaussianKnownVariance(1.0)
    fit = DependentDPClusterer(family, **QUICK).fit(X, phases=phase)
    assert variation_of_information(fit.labels_, truth) < 0.2
    model = DependentDPMixture(family, n_sweeps=12, burn_in=4, seed=3)
    model.update(X, phases=phase)
    assert model_bytes(fit.model_) == model_bytes(model)
    parts = DependentDPClusterer(family, **QUICK)
    for k in range(6):
        parts.partial_fit(X[phase == k])
        assert parts.labels_.tolist() == parts.model_.labels_.tolist()
    assert model_bytes(parts.model_) == model_bytes(model)
    assert fit.n_clusters_ == model.n_clusters
    assert fit.cluster_centers_.shape == (len(fit.cluster_ids_), 2)
    assert set(fit.predict(X)) <= set(fit.cluster_ids_)
    assert (fit.fit_predict(X, phases=phase) == fit.labels_).all()
    best = fit.cluster_ids_[fit.predict_proba(X).argmax(axis=1)]
    assert (best == fit.predict(X)).all()
    assert fit.score(X) == pytest.approx(fit.score_samples(X).mean())
    twin = clone(fit).fit(X, phases=phase)
    assert model_bytes(twin.model_) == model_bytes(fit.model_)


def test_a_column_of_a_frame_tells_phases(stream: Any) -> None:
    X, phase, _ = stream
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(month=phase)
    fit = DependentDPClusterer(**QUICK).fit(frame, phases="month")
    plain = DependentDPClusterer(GaussianUnknown(), **QUICK).fit(X, phases=phase)
    assert fit.feature_names_in_.tolist() == ["x", "y"]
    assert fit.labels_.tolist() == plain.labels_.tolist()
    with pytest.raises(ValueError, match="phases must name a column of X"):
        DependentDPClusterer().fit(frame, phases="year")
    with pytest.raises(ValueError, match="survival must be in"):
        DependentDPClusterer(survival=2.0).fit(X)


def test_what_raises_leaves_the_estimator_as_it_was(stream: Any) -> None:
    X, phase, _ = stream
    fit = DependentDPClusterer(**QUICK).fit(X, phases=phase)
    before, labels = model_bytes(fit.model_), fit.labels_.tolist()
    with pytest.raises(ValueError, match="NaN"):
        fit.partial_fit(np.full((3, 2), np.nan))
    assert (model_bytes(fit.model_), fit.labels_.tolist()) == (before, labels)


def test_defaults_find_clusters_in_a_line() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(10, size=2000)
    X = rng.normal(size=(2000, 5)) + 9.0 * z[:, None]
    for phases in (None, np.arange(2000) // 500):
        fit = DependentDPClusterer(random_state=0).fit(X, phases=phases)
        assert len(np.unique(fit.labels_)) == fit.n_clusters_ == 10
        assert len({*zip(fit.labels_.tolist(), z.tolist(), strict=True)}) == 10


def test_rows_with_their_column_of_phases_are_answered_for() -> None:
    rng = np.random.default_rng(1)
    plain = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame = plain.assign(day=np.arange(60) // 20)
    fit = DependentDPClusterer(random_state=0).fit(frame, phases="day")
    assert (fit.predict(frame) == fit.predict(plain)).all()
    assert (fit.score_samples(frame) == fit.score_samples(plain)).all()
    assert (clone(fit).fit(plain).predict(plain) >= 0).all()
    with pytest.raises(ValueError, match="unseen at fit time"):
        fit.predict(plain.assign(c=1.0))
    with pytest.raises(ValueError, match="unseen at fit time"):
        clone(fit).fit(plain).predict(frame)


@pytest.mark.parametrize("second", [None, "week"])
def test_columns_of_phases_of_earlier_calls_are_left_out(
    stream: Any, second: str | None
) -> None:
    X, phase, _ = stream
    plain = pd.DataFrame(X, columns=["x", "y"])
    both = plain.assign(day=phase, week=phase // 2)
    fit = DependentDPClusterer(**QUICK).fit(both.drop(columns="week"), phases="day")
    other = DependentDPClusterer(**QUICK).fit(plain, phases=phase)
    assert fit.predict(both[["x", "y", "day"]]).tolist() == fit.predict(plain).tolist()
    frame = both[["x", "y", "day"]] if second is None else both
    fit.partial_fit(frame, phases=second)
    other.partial_fit(plain, phases=None if second is None else phase // 2)
    assert fit.labels_.tolist() == other.labels_.tolist()
    for rows in (frame, plain, plain.assign(day=phase)):
        assert fit.predict(rows).tolist() == other.predict(plain).tolist()
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
