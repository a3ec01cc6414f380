"""The samplers of dependent mixtures draw from the law that is written down.

False alarms: each test fails by chance once in a million runs, at any seed. Means over
batches of sweeps are compared with exact values by Student's t, its level shared among
the quantities compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, t

from tests.helpers import mostly_slow
from tests.oracle import ddp
from tests.unit.mixtures.ddp.phases import sampler_of, state_of

LEVEL = 1e-6
N_BATCHES, BATCH = 100, 150


def worst(values: np.ndarray, exact: np.ndarray) -> float:
    """Largest t statistic of means over rows of values against exact values."""
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return float(np.max(np.abs(values.mean(axis=0) - exact) / spread))


def limit(n_values: int, n_batches: int = N_BATCHES) -> float:
    return float(t.isf(LEVEL / (2 * n_values), n_batches - 1))


def batches(
    p: ddp.Phase, X: Any, uncollapsed: bool, identities: bool, seed: int, n_splits: int
) -> Any:
    """Means of what is known of the toy, over batches of sweeps."""
    sampler = sampler_of(p, X, uncollapsed, seed)
    sampler.labels_once(0, True)
    sweep, out = 0, []
    for batch in range(N_BATCHES + 1):
        law: dict[ddp.State, float] = {}
        for _ in range(BATCH):
            sweep += 1
            sampler.labels_once(sweep, False)
            sampler.split_or_merge(sweep, n_splits)
            sampler.rest_of_sweep(sweep, identities)
            state = state_of(sampler, p.K)
            law[state] = law.get(state, 0.0) + 1.0 / BATCH
        if batch:  # the first one burns in
            out.append(list(ddp.toy_summary(law).values()))
    return np.array(out)


def exact(weights: str) -> np.ndarray:
    return np.array(list(ddp.toy_summary(ddp.enumerated(*ddp.toy(weights))).values()))


def test_the_enumerated_law_is_the_known_one() -> None:
    known = {
        "gamma": [0.874045, 0.534736, 0.369003, 0.851973, 0.758327, 0.202103],
        "counts": [0.976717, 0.794448, 0.629760, 0.431488, 0.826981, 0.410389],
    }
    for weights, values in known.items():
        np.testing.assert_allclose(exact(weights), values, atol=1.1e-6)


@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("uncollapsed", [False, True])
@pytest.mark.parametrize("identities", [False, True])
@pytest.mark.parametrize("n_splits", [0, 5])
def test_every_sampler_draws_the_enumerated_law(
    weights: str, uncollapsed: bool, identities: bool, n_splits: int
) -> None:
    """Errors of 0.02 in a probability would be seen."""
    p, X = ddp.toy(weights)
    values = batches(p, X, uncollapsed, identities, 3, n_splits)
    found = exact(weights)
    assert worst(values, found) < limit(len(found))


def test_the_weights_of_the_paper_do_not_draw_the_law_of_the_chain() -> None:
    """What the tests above would say of a sampler of the paper's equation 18."""
    p, X = ddp.toy("counts")
    values = batches(p, X, False, True, 3, 5)
    found = exact("gamma")
    assert worst(values, found) > 10.0 * limit(len(found))


@pytest.mark.parametrize("n_splits", mostly_slow([0, 3]))
def test_the_plain_sampler_draws_the_enumerated_law(n_splits: int) -> None:
    p, X = ddp.toy("gamma")
    gibbs = ddp.Gibbs(p, X, np.random.default_rng(2))
    gibbs.bootstrap()
    out = []
    for _ in range(40):
        law: dict[ddp.State, float] = {}
        for _ in range(40):
            gibbs.sweep()
            for _ in range(n_splits):
                gibbs.split_or_merge()
            law[gibbs.state()] = law.get(gibbs.state(), 0.0) + 1.0 / 40
        out.append(list(ddp.toy_summary(law).values()))
    found = exact("gamma")
    assert worst(np.array(out), found) < limit(len(found), 40)


def prior_law(p: ddp.Phase, n: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """States of n rows without data, a grid of log u, and their joint probabilities."""
    flat = ddp.replace(p, noise=np.ones(0), mean=p.mean[:, :0], var=p.var[:, :0],
                       base_mean=np.empty(0), base_var=np.empty(0))  # fmt: skip
    found = list(ddp.states(p.K, len(p.a), n))
    grid = np.linspace(-12.0, 25.0, 1200)
    nothing = np.empty((n, 0))
    logs = np.array([
        ddp.log_joint(flat, nothing, *state, np.exp(grid)) + grid for state in found
    ])  # fmt: skip
    weights = np.exp(logs - logs.max())
    return found, grid, weights / weights.sum()


@pytest.mark.parametrize("uncollapsed", [False, True])
def test_sweeps_leave_the_joint_law_of_labels_and_rows_as_it_is(
    uncollapsed: bool,
) -> None:
    """Geweke's joint test: labels, u and rows from their law, then sweeps given rows.

    What came out has the law of what went in, so that differences have mean 0; errors
    of 0.03 in the number of new particles would be seen.
    """
    p, _ = ddp.toy()
    rng = np.random.default_rng(11)
    found, grid, weights = prior_law(p, 4)
    picks = rng.choice(weights.size, size=3000, p=weights.ravel())
    before, after = [], []
    for number, pick in enumerate(picks.tolist()):
        labels, sources = found[pick // len(grid)]
        u = float(np.exp(grid[pick % len(grid)]))
        where = [
            p.prior(k)[0] + np.sqrt(p.prior(k)[1]) * rng.normal(size=1)
            for k in range(p.K + len(sources))
        ]
        X = np.array([where[k] + rng.normal(size=1) for k in labels])
        sampler = sampler_of(p, X, uncollapsed, seed=number)
        names = {p.K + j: s for j, s in enumerate(sources)}
        sampler.start(np.array(labels), names, u)
        before.append(describe((labels, sources), u))
        for sweep in range(1, 4):
            sampler.labels_once(sweep, False)
            sampler.split_or_merge(sweep, 3)
            sampler.rest_of_sweep(sweep, True)
        after.append(describe(state_of(sampler, p.K), sampler.u))
    difference = np.array(after) - np.array(before)
    assert worst(difference, np.zeros(difference.shape[1])) < limit(
        difference.shape[1], len(picks)
    )


def describe(state: ddp.State, u: float) -> list[float]:
    labels, sources = state
    return [
        float(labels.count(0)), float(labels.count(1)), float(len(sources)),
        float(sum(sources)), float(labels[0] == labels[1]), u / (1.0 + u),
    ]  # fmt: skip


def test_u_given_labels_has_the_density_that_is_written_down() -> None:
    """Labels that cannot change, as every row is far from every other particle."""
    p, _ = ddp.toy()
    p = ddp.replace(p, mean=np.array([[-500.0], [500.0]]), noise=np.array([1e-4]))
    X = np.array([[-500.0], [-500.0], [-500.0], [0.0]])
    state = ((0, 0, 0, 2), (1,))
    sampler = sampler_of(p, X, seed=5)
    sampler.start(np.array(state[0]), {2: 1}, 1.0)
    draws = []
    for sweep in range(1, 12001):
        sampler.rest_of_sweep(sweep, False)
        if sweep % 4 == 0 and sampler.sources() == {2: 1}:
            draws.append(np.log(sampler.u))
    grid = np.linspace(-12.0, 12.0, 4001)
    logs = ddp.log_joint(p, X, *state, np.exp(grid)) + grid
    density = np.exp(logs - logs.max())
    cdf = np.cumsum(density) / density.sum()
    thinned = np.array(draws)[::3]  # far enough apart to count as independent
    assert kstest(thinned, lambda v: np.interp(v, grid, cdf)).pvalue > LEVEL


@pytest.mark.parametrize(
    ("alpha", "q", "nu", "n", "known"),
    [
        (1.0, 0.8, 0.2, 5, (0.2165, 0.2107, 0.5727)),
        (1.0, 0.8, 0.2, 20, (0.2379, 0.1217, 0.6405)),
        (2.0, 0.5, 1.0, 10, (0.5672, 0.1368, 0.2960)),
    ],
)
def test_the_next_draw_comes_from_where_the_chain_says(
    alpha: float, q: float, nu: float, n: int, known: tuple[float, ...]
) -> None:
    """Quadrature over u against gamma variables that know nothing of u.

    Given n equal draws the particle has the share Beta(n, alpha) of a total that is
    still Gamma(alpha, 1).
    """
    found = np.array(ddp.next_draw(alpha, q, nu, n))
    np.testing.assert_allclose(found, known, atol=6e-5)
    rng, size = np.random.default_rng(7), 400_000
    total, share = rng.gamma(alpha, size=size), rng.beta(n, alpha, size=size)
    same = total * share * (rng.random(size) < q)
    other = total * (1.0 - share) * rng.beta(q * alpha, (1.0 - q) * alpha, size=size)
    new = rng.gamma(nu, size=size)
    drawn = np.stack([new, other, same], axis=1) / (same + other + new)[:, None]
    assert worst(drawn, found) < limit(3, size)
    paper = np.array([nu, q * alpha, q * n]) / (nu + q * alpha + q * n)
    assert worst(drawn, paper) > 10.0 * limit(3, size)


class Law:
    """The enumerated law, to draw a state from and a u given it."""

    GRID = np.linspace(-12.0, 40.0, 800)  # of log u

    def __init__(self, p: ddp.Phase, X: Any) -> None:
        self.p, self.X = p, X
        law = ddp.enumerated(p, X)
        self.states, self.chances = list(law), list(law.values())
        self.of_u: dict[ddp.State, np.ndarray] = {}  # as far as states were drawn

    def draw(self, rng: np.random.Generator) -> tuple[ddp.State, float]:
        state = self.states[rng.choice(len(self.states), p=self.chances)]
        if self.p.weights == "counts":
            return state, 1.0
        if state not in self.of_u:
            u = np.exp(self.GRID)
            logs = ddp.log_joint(self.p, self.X, *state, u) + self.GRID
            weights = np.exp(logs - logs.max())
            self.of_u[state] = weights / weights.sum()
        return state, float(np.exp(rng.choice(self.GRID, p=self.of_u[state])))


@pytest.mark.parametrize("identities", [False, True])
def test_identity_moves_alone_keep_the_law(identities: bool) -> None:
    """Rows from the enumerated law, identities changed: the law is what it was."""
    p, X = ddp.toy()
    law = Law(p, X)
    rng = np.random.default_rng(3)
    difference = []
    for number in range(3000):
        (labels, sources), u = law.draw(rng)
        sampler = sampler_of(p, X, seed=number)
        names = {p.K + j: s for j, s in enumerate(sources)}
        sampler.start(np.array(labels), names, u)
        sampler.rest_of_sweep(1, identities)
        after = describe(state_of(sampler, p.K), sampler.u)
        difference.append(np.array(after) - describe((labels, sources), u))
    values = np.array(difference)
    moved = values.std(axis=0) > 0.0
    assert moved.sum() == (5 if identities else 2)
    values = values[:, moved]
    assert worst(values, np.zeros(values.shape[1])) < limit(
        values.shape[1], len(values)
    )


@pytest.mark.parametrize("weights", ["gamma", "counts"])
@pytest.mark.parametrize("uncollapsed", mostly_slow([False, True]))
def test_split_merge_moves_alone_keep_the_law(weights: str, uncollapsed: bool) -> None:
    """Rows from the enumerated law, eight moves: every summary is what it was.

    Rows are rarely alone here, so that all kinds of moves are made: an error of
    0.015 in the chance of two rows to be together would be seen.
    """
    p, X = ddp.toy(weights)
    p = ddp.replace(p, a=4.0 * p.a)
    law = Law(p, X)
    rng = np.random.default_rng(4)
    difference, moves = [], np.zeros(2)
    for number in range(6000):
        (labels, sources), u = law.draw(rng)
        sampler = sampler_of(p, X, uncollapsed, seed=number)
        names = {p.K + j: s for j, s in enumerate(sources)}
        sampler.start(np.array(labels), names, u)
        sampler.split_or_merge(1, 8)
        moves += sampler.n_split, sampler.n_merged
        after = describe(state_of(sampler, p.K), sampler.u)
        difference.append(np.array(after) - describe((labels, sources), u))
    values = np.array(difference)[:, :5]  # u stays
    assert (moves > 2500).all()
    assert worst(values, np.zeros(5)) < limit(5, len(values))
