"""Estimators of mixtures answer as their models do, with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from dyntree.api.estimators import (
    CanopyMixture,
    DependentDPClusterer,
    DPGMMClusterer,
    DPMPPCAClusterer,
    HDPHSMMClusterer,
    MemoryBoundedTopics,
)

X = np.random.default_rng(0).normal(size=(90, 2)) + 20.0 * (np.arange(90) % 3)[:, None]
FITTED = [
    CanopyMixture(3, random_state=1), DPGMMClusterer(9.0),
    DPMPPCAClusterer(9.0, noise=1.0), HDPHSMMClusterer(9.0, noise=1.0),
    DependentDPClusterer(random_state=1),
]  # fmt: skip


@pytest.mark.parametrize("estimator", FITTED, ids=lambda one: type(one).__name__)
def test_methods_are_those_of_the_model(estimator: Any) -> None:
    fit = estimator.fit(X)
    own = set()
    for name in ("predict_proba", "score_samples", "score", "bic", "aic", "decode"):
        if not hasattr(fit, name):
            continue
        face, model = getattr(fit, name), getattr(fit.model_, name)
        assert [*inspect.signature(face).parameters] == [
            *inspect.signature(model).parameters
        ]
        assert face.__doc__ == model.__doc__
        if name != "decode":
            np.testing.assert_array_equal(face(X[:9]), model(X[:9]))
        own |= {name}
    assert {"predict_proba", "score_samples", "score"} <= own
    rows, labels = fit.sample(5)
    assert (rows.shape, labels.shape) == ((5, 2), (5,))


def test_further_arguments_reach_the_model() -> None:
    canopy, weights = FITTED[0].fit(X), np.arange(1.0, 91.0)
    assert canopy.bic(X, weights) == canopy.model_.bic(X, sample_weight=weights)
    states = FITTED[3].fit(X)
    lengths = [30, 60]
    assert states.score(X, lengths=lengths) == states.model_.score(X, lengths=lengths)
    far = [[500.0, 500.0]]
    assert FITTED[1].fit(X).predict(far, outliers=True).tolist() == [-1]


def test_topics_take_ids_weights_and_documents_of_the_score() -> None:
    groups = np.repeat(np.arange(9), 10)
    fit = MemoryBoundedTopics(random_state=0)
    twice = fit.fit(
        X, groups=groups, ids=[*"abcdefghi"], sample_weight=np.full(90, 2.0)
    )
    assert twice.model_.n_seen == 180
    found = twice.score_documents(X, groups=groups)
    expected = twice.model_.score_documents(X, groups=groups)
    np.testing.assert_array_equal(found, expected)
    assert twice.score(X) == pytest.approx(twice.score_samples(X).mean())
