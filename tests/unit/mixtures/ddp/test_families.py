"""Families of dependent mixtures: Kalman filter, smoother and evidence, discounts."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    Discount,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
    variation_of_information,
)
from dyntree.mixtures.ddp.merging import replayed
from tests.oracle.ddp import Walk

WALKS = [
    Walk(1.0, 4.0, 0.3, 0.7),
    Walk(-2.0, 4.0, 0.5, 2.0, 0.8),
    Walk(0.0, 9.0, 0.0, 1.0),
]


def followed(walk: Walk, seed: int) -> tuple[DependentDPMixture, list[np.ndarray]]:
    """A model that has followed one cluster through phases, two of them empty."""
    rng = np.random.default_rng(seed)
    family = GaussianKnownVariance(
        walk.noise, base_mean=walk.mean, base_variance=walk.var
    )
    model = DependentDPMixture(
        family, transition=RandomWalk(walk.step, walk.reversion), innovation=1e-30,
        concentration=1e-9, survival=1.0, n_sweeps=3, burn_in=1,
    )  # fmt: skip
    phases = [rng.normal(size=n) + 0.5 * t for t, n in enumerate([4, 7, 0, 3, 0, 5])]
    for rows in phases:
        model.update(rows[:, None])
    assert len(model.lifelines()) == 1
    return model, phases


@pytest.mark.parametrize("walk", WALKS, ids=["walk", "reverting", "still"])
def test_filter_smoother_and_evidence_agree_with_dense_algebra(walk: Walk) -> None:
    model, phases = followed(walk, 3)
    counts = np.array([len(p) for p in phases], dtype=float)
    sums = np.array([p.sum() for p in phases])
    mean, cov = walk.dense(counts, sums)
    smooth = model.trajectory(0)
    np.testing.assert_allclose(smooth.mean[:, 0], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(smooth.covariance[:, 0, 0], np.diag(cov), rtol=1e-12)
    filtered = model.trajectory(0, smooth=False)
    for t in range(len(phases)):
        mean, cov = walk.dense(counts[: t + 1], sums[: t + 1])
        np.testing.assert_allclose(
            filtered.mean[t, 0], mean[-1], rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            filtered.covariance[t, 0, 0], cov[-1, -1], rtol=1e-12
        )
    state = model._state
    held = state.history.of(0)
    evidence, row = replayed(state, 0, *held, model.options, model.family_)
    np.testing.assert_allclose(evidence, walk.evidence(phases), rtol=1e-12)
    np.testing.assert_allclose(row[0], state.particles.row[0], rtol=1e-13)


def test_a_phase_cut_in_two_tells_the_same_of_a_location_that_stays() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    option = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=5.0)
    settings: dict[str, Any] = {
        "survival": 1.0, "innovation": 1e-30, "concentration": 1e-9,
        "transition": RandomWalk(0.0), "n_sweeps": 3, "burn_in": 1,
    }  # fmt: skip
    whole = DependentDPMixture(option, **settings).update(X).particles()
    halves = DependentDPMixture(option, **settings).update(X[:20]).update(X[20:])
    np.testing.assert_allclose(halves.particles().mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(
        halves.particles().covariance, whole.covariance, rtol=1e-12
    )


def test_a_covariance_matrix_is_diagonalised() -> None:
    R = np.array([[2.0, 0.6], [0.6, 1.0]])
    rng = np.random.default_rng(2)
    X = rng.multivariate_normal([1.0, 2.0], R, size=30)
    family = GaussianKnownVariance(R, base_mean=[1.0, 1.0], base_variance=4.0).resolved(
        X
    )
    base = family.base()[None]
    found = family.emission(base, X).log_under()[:, 0]
    law = multivariate_normal([1.0, 1.0], R + 4.0 * np.eye(2))
    np.testing.assert_allclose(found, law.logpdf(X), rtol=1e-12)
    row = family.posterior(base, family.sums(X, np.zeros(30, dtype=int), 1))
    precision = np.eye(2) / 4.0 + 30 * np.linalg.inv(R)
    np.testing.assert_allclose(family.covariances(row)[0], np.linalg.inv(precision))
    centre = np.linalg.solve(
        precision, np.ones(2) / 4.0 + np.linalg.inv(R) @ X.sum(axis=0)
    )
    np.testing.assert_allclose(family.means(row)[0], centre, rtol=1e-12)
    step = np.array([0.5, -0.2])
    other = family.posterior(base, family.sums(X + step, np.zeros(30, dtype=int), 1))
    moved = family.means(other)[0] - family.means(row)[0]
    expected = np.sqrt(moved @ np.linalg.solve(R, moved))
    both = family.distances(np.concatenate([row, other]))
    np.testing.assert_allclose(both, expected * (1.0 - np.eye(2)), rtol=1e-10)


def test_normal_inverse_wishart_densities_are_those_of_student() -> None:
    from scipy.stats import multivariate_t

    family = GaussianUnknown(base_mean=[1.0, 2.0], kappa=0.5, df=5.0, scale=2.0)
    X = np.random.default_rng(1).normal(size=(6, 2))
    family = family.resolved(X)
    shape = 2.0 * np.eye(2) * 1.5 / (0.5 * 4.0)
    law = multivariate_t([1.0, 2.0], shape, df=4.0)
    found = family.emission(family.base()[None], X).log_under()[:, 0]
    np.testing.assert_allclose(found, law.logpdf(X), rtol=1e-12)


def test_a_discount_is_a_power_of_the_posterior() -> None:
    """Base to the power 1 - delta, posterior to delta: sums times delta."""
    X = np.random.default_rng(1).normal(size=(20, 2))
    family = GaussianUnknown(base_mean=0.0, kappa=0.5, scale=1.0).resolved(X)
    sums = family.sums(X, np.zeros(20, dtype=int), 1)
    row = family.posterior(family.base()[None], sums)
    moved = family.moved(row, Discount(0.25))
    np.testing.assert_allclose(moved, family.base() + 0.25 * sums, rtol=1e-12)
    walked = family.moved(row, Discount(1.0, walk=0.3))
    part = family._parts(row)[0]
    kappa = 1.0 / (1.0 / 20.5 + 0.3 * 2 / np.trace(part.sigma[0]))
    np.testing.assert_allclose(family._parts(walked)[0].precision[0, 0, 0], kappa)
    np.testing.assert_allclose(family.means(walked), family.means(row), rtol=1e-12)
    np.testing.assert_allclose(family._parts(walked)[0].scale, part.scale, rtol=1e-10)
    relative = family.moved(row, Discount(1.0, relative_walk=0.1))
    found = family._parts(relative)[0]
    np.testing.assert_allclose(found.precision[0, 0, 0], 1.0 / (1.0 / 20.5 + 0.1))
    np.testing.assert_allclose(found.scale, part.scale, rtol=1e-10)
    with pytest.raises(ValueError, match="relative_walk must be >= 0"):
        Discount(relative_walk=-0.1)


@pytest.mark.parametrize("seed", range(4))
def test_clusters_that_move_keep_their_ids_by_default(seed: int) -> None:
    """Steps of .7 sd a phase; without a walk a third of the phases had new clusters."""
    rng = np.random.default_rng(seed)
    centre = 9.0 * np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2], [2, 2, 2]])
    model = DependentDPMixture(GaussianUnknown(), n_sweeps=30, burn_in=10)
    for _ in range(15):
        truth = rng.integers(5, size=60)
        model.update(centre[truth] + rng.normal(size=(60, 3)))
        centre = centre + 0.7 * rng.normal(size=centre.shape)
        assert variation_of_information(model.labels_, truth) < 0.5
    assert len(model.lifelines()) == 5


def test_memory_of_weights_keeps_their_mean_and_widens_them() -> None:
    """With b ~ Beta(kappa m, (1 - kappa) m), g b / kappa is Gamma(kappa m, kappa E)."""
    rng = np.random.default_rng(1)
    m, E, kappa, n = 7.0, 2.0, 0.6, 400_000
    g = rng.gamma(m, 1.0 / E, size=n)
    faded = g * rng.beta(kappa * m, (1.0 - kappa) * m, size=n) / kappa
    error = np.sqrt(m / (kappa * E**2) / n)
    assert abs(faded.mean() - m / E) < 5.0 * error  # once in 1.7 million
    fourth = np.std((faded - m / E) ** 2) / np.sqrt(n)
    assert abs(faded.var() - m / (kappa * E**2)) < 5.0 * fourth


@pytest.mark.parametrize(
    ("family", "width"),
    [
        (GaussianKnownVariance([1.0, 2.0]), 2),
        (GaussianUnknown(df=8.0), 2),
        (AffineFlow(location=GaussianUnknown(df=8.0), velocity_df=8.0), 4),
    ],
)
def test_draws_have_the_predictive_law(family: Any, width: int) -> None:
    """Mean log density of draws against that of other draws, in either half."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, width))
    family = family.resolved(X)
    row = family.posterior(
        family.base()[None], family.sums(X, np.zeros(40, dtype=int), 1)
    )
    drawn = family.draw(row[0], 20000, rng)
    np.testing.assert_allclose(
        drawn.mean(axis=0),
        family.means(row)[0],
        atol=5.5 * drawn.std(axis=0).max() / 140,
    )
    # importance weights of draws under a wider law have mean 1
    wide = family.moved(row, family.default_transition())
    ahead = family.draw(wide[0], 20000, rng)
    logs = family.emission(np.concatenate([row, wide]), ahead).log_under()
    ratio = np.exp(logs[:, 0] - logs[:, 1])
    assert abs(ratio.mean() - 1.0) < 5.5 * ratio.std() / np.sqrt(len(ratio))


def test_words_are_drawn_by_their_probabilities() -> None:
    family = Multinomial(0.5).resolved(np.ones((1, 5)))
    rng = np.random.default_rng(2)
    prior = np.array([4.0, 1.0, 2.0, 0.5, 3.0])
    drawn = family.draw(prior, 4000, rng)
    assert (drawn.sum(axis=1) == 5).all()
    share = drawn.mean(axis=0) / 5
    error = drawn.std(axis=0) / 5 / np.sqrt(4000)
    assert (np.abs(share - prior / prior.sum()) < 5.5 * error).all()


def test_velocities_are_those_of_the_field() -> None:
    from dyntree.datasets import evolving_flows

    data = evolving_flows(3, 400, n_start=1, births=0.0, mean_life=1e9, seed=1)
    model = DependentDPMixture(AffineFlow(), n_sweeps=10, burn_in=3)
    for rows in data.phases:
        model.update(rows)
    ids, found = model.velocity(data.means[0][:, :2])
    at = int(np.argmax(model.particles().count))
    np.testing.assert_allclose(found[at, 0], data.means[0][0, 2:], atol=0.05)
    assert len(ids) == len(found)


def test_locations_are_read_as_rows_are() -> None:
    import pandas as pd

    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_normal((60, 4)), columns=["x", "y", "u", "v"])
    hours = rng.integers(-40, 40, 60)
    frame["x"] = pd.to_timedelta(hours, unit="h")
    flow = DependentDPMixture(AffineFlow(), n_sweeps=6, burn_in=2).update(frame)
    plain = frame.assign(x=hours / 24.0)
    twin = DependentDPMixture(AffineFlow(), n_sweeps=6, burn_in=2).update(plain)
    found = flow.velocity(frame[["y", "x"]])[1]
    np.testing.assert_array_equal(found, twin.velocity(plain[["x", "y"]])[1])
    with pytest.raises(ValueError, match="points must hold durations in column 'x'"):
        flow.velocity(plain[["x", "y"]])
    with pytest.raises(ValueError, match="points must hold numbers in column 'y'"):
        flow.velocity(frame[["x", "y"]].astype({"y": str}))


def particles_of(family: Any, n: int, width: int, seed: int) -> Any:
    """A resolved family, and prior rows of n particles that have seen some rows."""
    rng = np.random.default_rng(seed)
    centres = 6.0 * rng.normal(size=(n, width))
    X = np.repeat(centres, 5, axis=0) + rng.normal(size=(5 * n, width))
    made = family.resolved(X)
    sums = made.sums(X, np.repeat(np.arange(n), 5), n)
    return made, made.posterior(np.tile(made.base(), (n, 1)), sums)


@pytest.mark.parametrize("family", [GaussianUnknown(scale=1.0), AffineFlow()])
def test_distances_are_of_mahalanobis_and_far_ones_bounds(family: Any) -> None:
    family, priors = particles_of(family, 9, 4, 1)
    means, sigma = family.means(priors), family.row_covariances(priors)
    step = means[:, None] - means
    pooled = 0.5 * (sigma[:, None] + sigma)
    expected = np.sqrt(np.einsum("abi,abij,abj->ab", step, np.linalg.inv(pooled), step))
    found = family.distances(priors)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    most = float(np.median(expected))
    bounded = family.distances(priors, most)
    np.testing.assert_allclose(bounded[expected <= most], expected[expected <= most])
    assert (bounded[expected > most] > most).all()
    assert (bounded <= expected * (1.0 + 1e-9)).all()


def test_distances_of_many_wide_particles_take_little_memory() -> None:
    """All pairs of 100 covariances of 60 columns would be 288 MB."""
    family, priors = particles_of(GaussianUnknown(scale=1.0), 100, 60, 2)
    tracemalloc.start()
    try:
        family.distances(priors, 3.0)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("family", [GaussianUnknown(), AffineFlow()])
@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_a_step_without_bounds_leaves_a_model_that_answers(
    family: Any, unit: float
) -> None:
    rng = np.random.default_rng(1)
    walk = Discount(walk=1e300)
    model = DependentDPMixture(family, transition=walk, n_sweeps=4, burn_in=1)
    for _ in range(3):
        model.update(unit * rng.normal(size=(30, 4)))
    assert np.isfinite(model.particles().mean).all()
    assert np.isfinite(model.log_predictive(np.zeros((1, 4)), ahead=2)).all()


@pytest.mark.parametrize("made", [RandomWalk, lambda v: Discount(walk=v)])
def test_steps_are_checked_against_the_columns(made: Any) -> None:
    assert made([0.1, 2.0]) == made(np.array([0.1, 2.0]))
    for bad in ([-1.0, 1.0], [[1.0]], [np.nan]):
        with pytest.raises(ValueError, match=r"(variance|walk) must be"):
            made(bad)
    walks = isinstance(made([1.0]), RandomWalk)
    family: Any = GaussianKnownVariance() if walks else GaussianUnknown()
    model = DependentDPMixture(family, transition=made([0.1, 0.2, 0.3]))
    with pytest.raises(ValueError, match="one for each of the 2 columns"):
        model.update(np.random.default_rng(1).normal(size=(9, 2)))
    assert model.n_phases == 0
