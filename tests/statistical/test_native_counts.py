"""Count leaves say how sure they are: ranks of true rates, and whole trees' evidence.

Each test states its rate of false alarms.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dyntree import AveragedTrees, DynamicTree
from dyntree.summaries.counts import RateLaws
from tests.oracle import counts as plain

N_SETS = 400


@pytest.mark.parametrize("size", [math.inf, 1.0, 10.0])
def test_rates_drawn_from_the_prior_have_uniform_ranks(size: float) -> None:
    """Simulation-based calibration (Talts et al. 2018) of the conjugate posterior.

    Kolmogorov's test at 10^-5.
    """
    rng = np.random.default_rng(7)
    prior = plain.Prior(2.0, size, 1.7)
    a, b = prior.parameters
    ranks = np.empty(N_SETS)
    for k in range(N_SETS):
        n = int(rng.integers(1, 9))
        e = np.exp(rng.standard_normal(n))
        if math.isinf(size):
            rate = rng.gamma(a) / b
            y = rng.poisson(e * rate)
        else:
            p = rng.beta(a, b)
            rate = size * (1.0 - p) / p
            y = rng.negative_binomial(size * e, p)
        A, B = plain.posterior(plain.Sums.of(y.astype(float), e), prior)
        one = [np.array([value]) for value in (1.0, A, B, size, 1.0)]
        law = RateLaws(np.array([0, 1]), *one)
        ranks[k] = law.cdf(np.array([rate]))[0]
    assert stats.kstest(ranks, "uniform").pvalue > 1e-5


@pytest.mark.parametrize("model", ["poisson", "negbin"])
def test_intervals_of_counts_hold_what_they_say(model: str) -> None:
    """Of 6,000 new counts in twelve sets a share of .9 within .03.

    A set's share has a standard deviation of .025, as measured over 48 others, so that
    of twelve sets has one of .007, and .03 is four of them: one false alarm in 10^4.
    """
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, e = rng.random((700, 2)), np.exp(0.5 * rng.standard_normal(700))
        rate = np.where(X[:, 0] > 0.4, 6.0, 2.0)
        spread = rng.gamma(3.0 * e) / (3.0 * e) if model == "negbin" else 1.0
        y = rng.poisson(e * rate * spread).astype(float)
        trees = AveragedTrees(model, n_clouds=3, n_particles=50, seed=seed)
        told = trees.update(X[:200], y[:200], exposure=e[:200]).predict(
            X[200:], exposure=e[200:]
        )
        pit = told.pit(y[200:], seed=seed)  # type: ignore[union-attr]
        inside.append(np.mean((pit > 0.05) & (pit < 0.95)))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)


def test_the_evidence_prefers_the_law_that_counts_have() -> None:
    """By more than ten nats at 300 rows, in each of ten sets of either kind.

    Of fifty other sets the smallest difference was 91 for loose counts, their standard
    deviation 30, and for Poisson ones the models differed by 6.3 at most.
    """
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, e = rng.random((300, 1)), np.ones(300)
        loose = rng.poisson(5.0 * rng.gamma(2.0, 0.5, 300)).astype(float)
        exact = rng.poisson(5.0, 300).astype(float)
        told = {
            (name, model): DynamicTree(model, n_particles=30, seed=1)
            .update(X, y, exposure=e)
            .log_evidence
            for name, y in (("loose", loose), ("exact", exact))
            for model in ("poisson", "negbin")
        }
        assert told["loose", "negbin"] > told["loose", "poisson"] + 10.0
        assert abs(told["exact", "negbin"] - told["exact", "poisson"]) < 10.0
