"""The kernel of dependent mixtures against the oracle, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree._core.mixtures.ddp import PhaseSampler, voted
from dyntree._core.mixtures.emissions import AxisGaussians
from dyntree.mixtures import AffineFlow, GaussianUnknown, Multinomial
from tests.oracle import ddp
from tests.unit.mixtures.ddp.phases import sampler_of, state_of


def phase(K: int, seed: int, weights: str = "gamma") -> tuple[ddp.Phase, np.ndarray]:
    """A phase of 30 rows in the plane, and K inherited particles."""
    rng = np.random.default_rng(seed)
    p = ddp.Phase(
        m=rng.uniform(1.0, 30.0, K), E=rng.uniform(1.0, 40.0, K),
        q=rng.uniform(0.2, 1.0, K), mean=3.0 * rng.normal(size=(K, 2)),
        var=rng.uniform(0.1, 2.0, (K, 2)), a=rng.uniform(0.1, 1.0, 3),
        Es=rng.uniform(1.0, 9.0, 3), base_mean=np.array([1.0, -1.0]),
        base_var=np.array([9.0, 4.0]), noise=np.array([1.0, 0.5]), weights=weights,
    )  # fmt: skip
    return p, 4.0 * rng.normal(size=(30, 2))


@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("uncollapsed", [False, True])
@pytest.mark.parametrize("K", [0, 3])
def test_the_log_joint_is_the_oracles_after_any_sweep(
    weights: str, uncollapsed: bool, K: int
) -> None:
    p, X = phase(K, 2, weights)
    sampler = sampler_of(p, X, uncollapsed)
    sampler.labels_once(0, True)
    for sweep in range(1, 30):
        sampler.labels_once(sweep, False)
        sampler.rest_of_sweep(sweep, True)
        u = sampler.u if weights == "gamma" else 1.0
        expected = ddp.log_joint(p, X, *state_of(sampler, K), u)
        np.testing.assert_allclose(sampler.log_joint(), expected, rtol=1e-11)
        assert sampler.n_clusters == len(set(sampler.labels().tolist()))


def test_alive_probabilities_are_the_oracles() -> None:
    p, X = phase(4, 3)
    p.mean = p.mean + 1000.0  # so that nobody chooses them
    sampler = sampler_of(p, X)
    sampler.labels_once(0, True)
    gibbs = ddp.Gibbs(p, X, np.random.default_rng(1))
    gibbs.u = sampler.u
    np.testing.assert_allclose(
        sampler.alive(), [gibbs.rho(k) for k in range(4)], rtol=1e-12
    )


def test_the_bootstrap_of_a_first_phase_is_the_chinese_restaurant() -> None:
    """u after n rows is n / alpha, whatever the rows are."""
    p, X = phase(0, 4)
    p.a, p.Es = np.array([2.0]), np.ones(1)
    sampler = sampler_of(p, X)
    sampler.labels_once(0, True)
    np.testing.assert_allclose(sampler.u, len(X) / 2.0, rtol=1e-12)


def test_there_is_room_for_as_many_particles_as_rows_want() -> None:
    p, _ = phase(2, 5)
    X = 1e4 * np.random.default_rng(1).normal(size=(300, 2))
    p.base_var = np.full(2, 1e8)
    sampler = sampler_of(p, X)
    sampler.labels_once(0, True)
    sampler.labels_once(1, False)
    sampler.rest_of_sweep(1, True)
    assert sampler.n_clusters > 250
    assert not sampler.was_full
    expected = ddp.log_joint(p, X, *state_of(sampler, 2), sampler.u)
    # squares of 1e8 are summed, so that the last digits of a sum are lost
    np.testing.assert_allclose(sampler.log_joint(), expected, rtol=1e-8)
    few = sampler_of(p, X, max_slots=9)
    few.labels_once(0, True)
    few.labels_once(1, False)
    assert few.was_full
    assert len(set(few.labels().tolist())) <= 9


def test_the_same_coordinates_give_the_same_labels() -> None:
    p, X = phase(3, 6)

    def labels(**where: int) -> list[int]:
        sampler = sampler_of(p, X, **where)
        for sweep in range(4):
            sampler.labels_once(sweep, sweep == 0)
            sampler.rest_of_sweep(sweep, True)
        found: list[int] = sampler.labels().tolist()
        return [*found, sampler.u]  # type: ignore[list-item]

    assert labels(seed=5, phase=2, chain=1) == labels(seed=5, phase=2, chain=1)
    for other in ({"seed": 6}, {"phase": 3}, {"chain": 2}):
        where = {"seed": 5, "phase": 2, "chain": 1} | other
        assert labels(**where) != labels(seed=5, phase=2, chain=1)


def test_rows_that_sum_beyond_the_exponents_of_densities_find_their_particle() -> None:
    """Precisions whose product is no number: 300 columns of tiny variance."""
    rng = np.random.default_rng(1)
    noise = np.full(300, 1e-6)
    priors = np.tile(np.concatenate([np.zeros(300), np.full(300, 1e-3)]), (2, 1))
    X = 1e-3 * rng.normal(size=(4, 300))
    found = AxisGaussians(priors, X, noise).log_under()
    s = 1e-3 + 1e-6
    expected = -0.5 * (300 * np.log(2 * np.pi * s) + (X**2).sum(axis=1) / s)
    np.testing.assert_allclose(
        found, np.stack([expected, expected], axis=1), rtol=1e-12
    )


FAMILIES = {
    "unknown": (GaussianUnknown(base_mean=0.0), 3),
    "flow": (AffineFlow(), 4),
    "words": (Multinomial(0.3), 6),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_marginals_are_products_of_predictives_and_those_of_numpy(name: str) -> None:
    option, width = FAMILIES[name]
    rng = np.random.default_rng(3)
    X = rng.poisson(1.5, size=(24, width)).astype(float)
    family: Any = option.resolved(X)
    labels = rng.integers(2, size=24)
    prior = family.posterior(family.base()[None], family.sums(X[:5], 0 * labels[:5], 1))
    priors = family.moved(np.repeat(prior, 2, axis=0), family.default_transition())
    sums = family.sums(X, labels, 2)
    by_core = family.emission(priors, X).log_marginals(labels)
    np.testing.assert_allclose(by_core, family.log_marginal(priors, sums), rtol=1e-11)
    for k in range(2):
        total, row = 0.0, priors[k : k + 1]
        for i in np.flatnonzero(labels == k):
            one = X[i : i + 1]
            total += float(family.emission(row, one).log_under()[0, 0])
            row = family.posterior(row, family.sums(one, np.zeros(1, dtype=int), 1))
        np.testing.assert_allclose(by_core[k], total, rtol=1e-11)


def test_votes_go_to_the_most_frequent_label_and_ties_to_the_lower() -> None:
    kept = np.array([[4, 1, 7], [2, 1, 5], [4, 2, 9], [2, 3, 8]])
    winner, share = voted(kept)
    assert winner.tolist() == [2, 1, 5]
    assert share.tolist() == [0.5, 0.5, 0.25]


@pytest.mark.parametrize("name", ["known", *FAMILIES])
def test_the_row_that_is_left_of_several_is_judged_by_the_prior_alone(
    name: str,
) -> None:
    """Uncollapsed, a particle of two rows that loses one has a stale location."""
    from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance

    option, width = FAMILIES.get(name, (GaussianKnownVariance(1.0, 0.0, 9.0), 2))
    if name == "flow":  # so wide that locations drawn for one row suit the other
        wide = GaussianUnknown(base_mean=0.0, kappa=1.0, df=9.0, scale=20.0)
        option = AffineFlow(wide, 1.0, 1.0, velocity_df=9.0, velocity_scale=20.0)
    rng = np.random.default_rng(1)
    X = np.abs(np.round(rng.normal(size=(2, width)) * 2.0)) + 1.0
    family: Any = option.resolved(X)
    prior = family.base()[None]
    exact = family.emission(prior, X).log_under()[:, 0]
    same, apart = 0, 0
    pair = family.log_marginal(prior, family.sums(X, np.zeros(2, dtype=int), 1))[0]
    a = 1.0
    sampler = PhaseSampler(
        family.emission(prior, X), np.empty(0), np.empty(0), np.empty(0), np.array([a]),
        np.ones(1), np.zeros(1, dtype=np.int32), True, True, 9, 1, 0, 0,
    )  # fmt: skip
    sampler.start(np.zeros(2, dtype=int), {0: 0})
    n = 20000
    for sweep in range(1, n + 1):
        sampler.labels_once(sweep, False)
        sampler.rest_of_sweep(sweep, False)
        one, other = sampler.labels().tolist()
        same += one == other
        apart += one != other
    # two states: together a exp(pair), apart a^2 exp(sum of exact)
    odds = np.exp(pair - exact.sum()) / a
    expected = odds / (1.0 + odds)
    error = np.sqrt(expected * (1.0 - expected) / n)
    assert abs(same / n - expected) < 4.9 * 5.0 * error  # draws up to 25 times as long
    assert min(same, apart) > 100
