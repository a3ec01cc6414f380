"""What all mixtures of scikit-learn have as attributes and criteria, and weights."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: dyntree[sklearn]")

from dyntree.api.estimators import (
    CanopyMixture,
    DependentDPClusterer,
    DPGMMClusterer,
    DPMPPCAClusterer,
    HDPHSMMClusterer,
    MemoryBoundedTopics,
)
from tests.unit.mixtures.sva.test_dpgmm import agreement

pytestmark = pytest.mark.filterwarnings("ignore::dyntree.errors.ScaleWarning")
MAKERS: dict[str, Any] = {
    "canopy": lambda: CanopyMixture(3, random_state=1),
    "gmm": DPGMMClusterer,
    "mppca": DPMPPCAClusterer,
    "hsmm": HDPHSMMClusterer,
    "ddp": lambda: DependentDPClusterer(random_state=1),
    "topics": lambda: MemoryBoundedTopics(random_state=1),
}
CENTRES = np.array([[0.0, 0.0, 0.0], [30.0, 30.0, 30.0], [-30.0, 60.0, -30.0]])
SDS = np.array([0.5, 1.0, 2.0])


def stays(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three clusters, each for 20 rows or so."""
    rng = np.random.default_rng(seed)
    label = np.repeat(rng.integers(3, size=n // 20), 20)
    return CENTRES[label] + SDS * rng.standard_normal((n, 3)), label


@pytest.mark.parametrize("name", MAKERS)
def test_means_weights_and_covariances_are_those_of_the_rows(name: str) -> None:
    X, label = stays(1)
    fit = MAKERS[name]().fit(X)
    order = np.abs(fit.means_[:, None] - CENTRES).sum(axis=2).argmin(axis=0)
    assert len({*order.tolist()}) == 3
    share = np.bincount(label, minlength=3) / len(label)
    np.testing.assert_allclose(fit.weights_.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(fit.weights_[order], share, atol=0.02)
    sizes = np.bincount(label, minlength=3)[:, None]
    # five standard errors of a mean and of a standard deviation
    assert (np.abs(fit.means_[order] - CENTRES) < 5.0 * SDS / sizes**0.5 + 0.05).all()
    spread = np.asarray(fit.covariances_)[order]
    spread = np.diagonal(spread, axis1=1, axis2=2) if spread.ndim == 3 else spread
    ratio = np.sqrt(spread) / SDS
    prior = 0.4 if name == "topics" else 0.1  # topics expect a part of all variances
    assert (np.abs(np.log(ratio)) < 5.0 * (2.0 * sizes) ** -0.5 + prior).all()


@pytest.mark.parametrize("name", ["canopy", "gmm", "mppca", "ddp", "hsmm"])
def test_criteria_are_those_of_the_density(name: str) -> None:
    """BIC and AIC differ by the parameters; one more cluster has more of them."""
    X, _ = stays(2)
    fit = MAKERS[name]().fit(X)
    total = fit.score(X) * len(X)
    n_parameters = (fit.aic(X) + 2.0 * total) / 2.0
    assert n_parameters == pytest.approx(round(n_parameters), abs=1e-6)
    expected = n_parameters * np.log(len(X)) - 2.0 * total
    assert fit.bic(X) == pytest.approx(expected, rel=1e-12)
    K, d = fit.means_.shape
    most = K * (d + d * (d + 1) // 2) + K * K + 2 * K
    assert K - 1 + K * d < n_parameters <= most
    one = MAKERS[name]()
    if name == "canopy":
        one.set_params(n_components=1)
    one.fit(X[np.abs(X).max(axis=1) < 9.0])
    assert (one.aic(X[:9]) + 2.0 * one.score(X[:9]) * 9) / 2.0 < n_parameters


@pytest.mark.parametrize("name", ["gmm", "mppca", "ddp"])
def test_weights_are_how_often_rows_are_learned(name: str) -> None:
    X, _ = stays(3, 300)
    times = np.random.default_rng(4).integers(0, 3, len(X))
    weighed = MAKERS[name]().fit(X, sample_weight=times)
    copied = MAKERS[name]().fit(np.repeat(X, times, axis=0))
    np.testing.assert_array_equal(weighed.means_, copied.means_)
    assert len(weighed.labels_) == len(X)
    learned = np.repeat(weighed.labels_, times)
    assert agreement(learned, copied.labels_) == 1.0
    assert weighed.labels_.tolist() == weighed.predict(X).tolist()
    parts = MAKERS[name]()
    for first in range(0, len(X), 60):
        some = slice(first, first + 60)
        parts.partial_fit(X[some], sample_weight=times[some])
    again = MAKERS[name]()
    for first in range(0, len(X), 60):
        some = slice(first, first + 60)
        again.partial_fit(np.repeat(X[some], times[some], axis=0))
    assert parts.model_.n_seen == again.model_.n_seen == times.sum()
    for bad, text in (
        (np.full(len(X), 0.5), "must be whole numbers here: .* got 0.5 in row 0"),
        (np.zeros(len(X)), "must not be zero in all rows"),
        (np.ones(3), "must have one value a row"),
        (np.full(len(X), -1.0), "must be finite and >= 0"),
    ):
        before = weighed.means_
        with pytest.raises(ValueError, match=text):
            weighed.partial_fit(X, sample_weight=bad)
        np.testing.assert_array_equal(weighed.means_, before)


@pytest.mark.parametrize("name", MAKERS)
def test_fit_predict_takes_all_that_fit_takes(name: str) -> None:
    X, _ = stays(3, 300)
    n = len(X)
    times = np.random.default_rng(4).integers(1, 3, n)
    more = {
        "sample_weight": times, "phases": np.repeat([1, 2], n // 2),
        "groups": np.repeat([*"abc"], n // 3), "ids": [*"abc"], "lengths": [n // 2] * 2,
    }  # fmt: skip
    taken = {*signature(MAKERS[name]().fit).parameters} - {"X", "y"}
    some = {argument: more[argument] for argument in taken}
    labels = MAKERS[name]().fit_predict(X, **some)
    assert labels.tolist() == MAKERS[name]().fit(X, **some).labels_.tolist()
    for argument in taken - {"ids"}:
        with pytest.raises(ValueError, match=argument):
            MAKERS[name]().fit_predict(X, **some | {argument: [1, 2]})


@pytest.mark.filterwarnings("ignore::dyntree.errors.ConvergenceWarning")
def test_a_mixture_of_few_rows_has_fewer_components() -> None:
    X, _ = stays(5, 600)
    for n, expected in ((600, 64), (100, 50), (31, 15), (2, 1)):
        assert len(CanopyMixture(random_state=1).fit(X[:n]).weights_) == expected
    few = np.repeat(X[:10], 30, axis=0)
    assert len(CanopyMixture(random_state=1).fit(few).weights_) == 5
    weight = (np.arange(600) < 12).astype(float)
    light = CanopyMixture(random_state=1).fit(X, sample_weight=weight)
    assert len(light.weights_) == 6
    known = CanopyMixture(random_state=1)
    known.set_components([0.5, 0.5], CENTRES[:2], np.ones((2, 3)))
    assert known.predict(CENTRES[:2]).tolist() == [0, 1]


def test_coordinates_in_subspaces() -> None:
    """Those of a row give it back, but for the noise."""
    rng = np.random.default_rng(1)
    Z = 3.0 * rng.standard_normal((900, 1))
    X = Z * [1.0, 0.0, 0.0] + 0.1 * rng.standard_normal((900, 3))
    X[::2] = 50.0 + X[::2][:, [2, 1, 0]]
    fit = DPMPPCAClusterer().fit(X)
    coordinates = fit.transform(X)
    assert coordinates.shape == (900, 1)
    assert fit.get_feature_names_out().tolist() == ["dpmppcaclusterer0"]
    clusters = fit.model_.clusters()
    own = fit.labels_
    back = clusters.mean[own] + np.array(
        [clusters.basis[k] @ z for k, z in zip(own, coordinates, strict=True)]
    )
    assert np.abs(back - X).max() < 0.6  # six standard deviations of the noise


def test_sequences_with_gaps_have_states_moves_and_durations() -> None:
    X, label = stays(6)
    gaps = X.copy()
    gaps[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    gaps[50] = np.nan
    fit = HDPHSMMClusterer().fit(gaps)
    assert fit.labels_[50] == -1
    there = ~np.isnan(gaps).all(axis=1)
    assert agreement(fit.labels_[there], label[there]) == 1.0
    assert fit.predict(gaps[:300]).tolist() == fit.labels_[:300].tolist()
    assert np.isfinite(fit.predict_proba(gaps)).all()
    assert np.isfinite(fit.score(gaps))
    assert agreement(fit.decode(gaps).labels, label) > 0.97
    K = fit.n_clusters_
    assert fit.transmat_.shape == (K, K)
    np.testing.assert_allclose(fit.transmat_.sum(axis=1), 1.0)
    assert np.diag(fit.transmat_).tolist() == [0.0] * K
    assert len(fit.durations_.mean) == K
    pieces = HDPHSMMClusterer()
    for first in range(0, 600, 7):
        pieces.partial_fit(gaps[first : first + 7])
    assert pieces.model_.n_seen == 600
    pieces.model_.finish_warm_up()
    assert agreement(pieces.predict(X), fit.predict(X)) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        DPGMMClusterer().fit(gaps)


@pytest.mark.parametrize("name", MAKERS)
def test_rows_can_be_drawn(name: str) -> None:
    """Rows of a label are its cluster's, as often as its weight says."""
    X, label = stays(5)
    fit = MAKERS[name]().fit(X)
    rows, labels = fit.sample(4000)
    assert rows.shape == (4000, 3)
    assert labels.shape == (4000,)
    distance = np.abs(rows[:, None] - CENTRES).sum(axis=2)
    assert (distance.min(axis=1) < 60.0).mean() > 0.95  # of centres that are 90 apart
    assert (fit.predict(rows) == labels).mean() > 0.95
    if name != "hsmm":  # which draws one sequence of stays
        shares = np.bincount(distance.argmin(axis=1), minlength=3) / 4000
        # six standard errors, and the mass of clusters without rows
        within = 6.0 * 0.5 / 4000**0.5 + 0.02
        np.testing.assert_allclose(shares, np.bincount(label) / len(X), atol=within)


def test_documents_of_words_are_not_rows() -> None:
    counts = np.random.default_rng(6).poisson(1.0, (30, 12))
    fit = MemoryBoundedTopics(family="multinomial", random_state=1).fit(counts)
    with pytest.raises(AttributeError, match="model_"):
        fit.sample(3)
