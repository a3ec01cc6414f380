"""Variances of columns within clusters, and the densities that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, t

from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA
from tests.oracle import sva as oracle

MADE: dict[str, tuple[Any, Any]] = {
    "gmm": (
        lambda **o: OnlineDPGMM(9.0, **o),
        lambda **o: oracle.DPGMM(9.0, **o),
    ),
    "mppca": (
        lambda **o: OnlineDPMPPCA(6.0, noise=0.5, **o),
        lambda **o: oracle.DPMPPCA(6.0, 0.5, **o),
    ),
}
SCALES = np.array([[1.0, 0.2, 0.5], [0.1, 1.0, 0.3], [0.5, 0.5, 0.02]])


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three blobs, whose columns have scales of their own."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n)
    centre = 12.0 * np.eye(3)
    return centre[label] + SCALES[label] * rng.normal(size=(n, 3)), label


@pytest.mark.parametrize("forget", [1.0, 0.99])
@pytest.mark.parametrize("name", MADE)
def test_squares_are_those_of_the_rows(name: str, forget: float) -> None:
    """Over merges, deleted clusters and fading rows."""
    rng = np.random.default_rng(3)
    X = 2.0 * rng.normal(size=(500, 3)) + 5.0 * rng.integers(3, size=(500, 1))
    options = {"forget": forget, "check_every": 50, "patience": 120, "min_weight": 5}
    model, plain = (make(**options) for make in MADE[name])
    model.update(X)
    plain.learn(X)
    expected = np.array([c.w * np.diag(c.cov) for c in plain.clusters])
    known = model._state.clusters
    assert model.aliases_
    np.testing.assert_allclose(known.squared_deviations(), expected, rtol=1e-8)
    again = type(model).from_arrays(*model.to_arrays())._state.clusters
    np.testing.assert_allclose(again.squared_deviations(), expected, rtol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        OnlineDPGMM(9.0, merge_factor=0.0),
        OnlineDPMPPCA(6.0, noise=0.5, merge=False),
        OnlineDPMPPCA(6.0, noise=0.5, merge=False, subspace="incremental"),
    ],
)
def test_squares_are_those_of_labels(model: Any) -> None:
    X, _ = rows(400)
    labels = model.copy().update(X).labels_
    known = model.copy().update(X)._state.clusters
    expected = [
        len(R) * R.var(axis=0) for R in (X[labels == i] for i in range(known.n))
    ]
    np.testing.assert_allclose(known.squared_deviations(), expected, atol=1e-10)


def test_columns_of_round_clusters_are_students() -> None:
    X, _ = rows(300)
    new, _ = rows(200, 1)
    model = OnlineDPGMM(16.0).update(X)
    known = model._state.clusters
    variance, scale = oracle.column_laws(
        known.squared_deviations(), known.array("weight"), model.noise
    )
    confirmed = known.array("confirmed") == 1
    weight, mean = known.array("weight")[confirmed], known.means()[confirmed]
    df = weight[:, None] + 1.0
    law = t(df, mean, np.sqrt(scale[confirmed]))
    joint = law.logpdf(new[:, None]).sum(axis=2) + np.log(weight / weight.sum())
    whole = oracle.with_background(logsumexp(joint, axis=1), new, model)
    np.testing.assert_allclose(model.score_samples(new), whole, rtol=1e-10)
    proba = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    np.testing.assert_allclose(model.predict_proba(new), proba, atol=1e-12)
    diagonal = np.array([np.diag(v) for v in variance[confirmed]])
    np.testing.assert_allclose(model.covariances_, diagonal, rtol=1e-12)


@pytest.mark.parametrize("subspace", ["exact", "incremental"])
def test_columns_beside_subspaces_are_normal(subspace: str) -> None:
    """Their variances, and those along the subspace, are what the rows had."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)) * [0.02, 0.3, 0.02, 0.3]
    X += 3.0 * rng.normal(size=(3000, 1)) * [0.5, 0.5, 0.5, 0.5]
    model = OnlineDPMPPCA(30.0, noise=0.2, max_dim=1, subspace=subspace).update(X)
    assert model.clusters().dim.tolist() == [1]
    C = model.covariances_[0]
    np.testing.assert_allclose(C, np.cov(X.T), rtol=0.02, atol=0.02)
    np.testing.assert_allclose(np.diag(C), X.var(axis=0), rtol=2e-3)
    normal = multivariate_normal(model.clusters().mean[0], C).logpdf(X)
    whole = oracle.with_background(normal, X, model)
    np.testing.assert_allclose(model.score_samples(X), whole, atol=0.02)
    round_ = OnlineDPMPPCA(
        30.0, noise=0.2, max_dim=1, subspace=subspace, covariance="spherical"
    ).update(X)
    assert model.score(X) > round_.score(X) + 0.3


@pytest.mark.parametrize("make", [OnlineDPGMM, OnlineDPMPPCA])
@pytest.mark.parametrize("seed", range(3))
def test_densities_come_near_to_the_truth(make: Any, seed: int) -> None:
    """With one sphere for all they are more than a nat away."""
    X, _ = rows(2000, seed)
    new, label = rows(2000, seed + 10)
    truth = np.log(1.0 / 3.0) + (
        multivariate_normal(np.zeros(3), np.eye(3)).logpdf(
            (new - 12.0 * np.eye(3)[label]) / SCALES[label]
        )
        - np.log(SCALES).sum(axis=1)[label]
    )
    assert make().update(X).score(new) > truth.mean() - 0.15
    sphere = make(covariance="spherical").update(X).score(new)
    assert sphere < truth.mean() - (0.5 if make is OnlineDPGMM else 0.3)


@pytest.mark.parametrize("name", MADE)
def test_without_clusters_there_are_no_covariances(name: str) -> None:
    model = MADE[name][0]().update(np.zeros((1, 3))).remove(0)
    assert model.covariances_.shape == (0, 3, 3)
    assert model.predict_proba(np.zeros((2, 3))).shape == (2, 0)


def test_a_density_has_the_mass_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1)) + 9.0 * rng.integers(2, size=(600, 1))
    grid = np.linspace(-400.0, 400.0, 800_001)
    density = np.exp(OnlineDPGMM().update(X).score_samples(grid[:, None]))
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("dim", [0, 1])
def test_samples_have_the_law(dim: int) -> None:
    """Variances within 5 %, four standard errors of 40,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)) * [0.3, 0.1, 0.2]
    X += dim * rng.normal(size=(1500, 1)) * [2.0, 2.0, 0.0]
    model = OnlineDPMPPCA(30.0, noise=0.2, max_dim=1).update(X)
    assert model.clusters().dim.tolist() == [dim]
    drawn, ids = model.sample(40_000, seed=1)
    assert set(ids.tolist()) == {int(model.clusters().id[0])}
    np.testing.assert_allclose(
        np.cov(drawn.T), model.covariances_[0], rtol=0.05, atol=0.005
    )
