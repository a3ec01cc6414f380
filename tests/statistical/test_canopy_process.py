"""`weights="collapsed"` is a Dirichlet process: laws of the partition of the rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from dyntree._core.mixtures.sweeps import Shard
from dyntree._core.rng import CounterSource
from dyntree.mixtures import Canopy
from dyntree.mixtures.canopy.components import Components, Moments, Prior
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.sweep_loop import with_drawn_weights
from tests.helpers import mostly_slow
from tests.oracle import canopy as oracle

UNITS = (2.0**40, 2.0**36, 2.0**32)
FAMILY = FAMILY_OF["diag"]


def law_of_number(n: int, alpha: float) -> np.ndarray:
    """P(K = 0, .., n) of n rows (Ewens 1972): row i begins a cluster by itself."""
    law = np.zeros(n + 1)
    law[0] = 1.0
    for i in range(n):
        new = alpha / (alpha + i)
        law[1:] = law[1:] * (1.0 - new) + law[:-1] * new
        law[0] *= 1.0 - new
    return law


def distance(values: np.ndarray, mean: float) -> float:
    """How far the mean of a chain is from its own, in errors of 40 batches."""
    batches = values.reshape(40, -1).mean(axis=1)
    return float(abs(batches.mean() - mean) / (batches.std(ddof=1) / np.sqrt(40)))


@pytest.mark.parametrize(
    ("n", "alpha", "sweeps"),
    mostly_slow(
        [(50, 1.0, 20_000), (50, 0.5, 20_000), (50, 4.0, 20_000), (400, 1.0, 40_000)]
    ),
)
def test_the_number_of_clusters_has_ewens_law(
    n: int, alpha: float, sweeps: int
) -> None:
    """Rows whose density is flat: mean and variance of the number of clusters.

    Eight numbers by batch means, |z| < 6.5: one false alarm in 10^6. More rows take
    more sweeps to change their clusters.
    """
    m = 90
    rng = np.random.default_rng(int(10 * alpha))
    flat = Components(np.full(m, 1.0 / m), np.zeros((m, 1)), np.ones((m, 1)))
    count = np.bincount(np.zeros(n, dtype=int), minlength=m).astype(float)
    found = np.empty(sweeps)
    for t in range(-500, sweeps):
        weight = with_drawn_weights(flat, flat, count, alpha, rng).weight
        count = rng.multinomial(n, weight).astype(float)
        found[t] = (count > 0.0).sum()
    law, number = law_of_number(n, alpha), np.arange(n + 1)
    mean = float(law @ number)
    assert distance(found, mean) < 6.5
    assert distance((found - mean) ** 2, float(law @ (number - mean) ** 2)) < 6.5


def test_a_fit_has_ewens_law() -> None:
    """A column of counts says nothing of probabilities; 30 rows, through the model.

    One number by batch means, |z| < 6.5: one false alarm in 10^7.
    """
    model = Canopy(
        30, family="multinomial", inference="esca", weights="collapsed", init="random",
        concentration=1.0, max_iter=4_400, tol=0.0, seed=2,
    ).fit(np.arange(1, 31)[:, None], progress=False)  # fmt: skip
    n_clusters = 30 - model.history.n_empty[400:]
    law = law_of_number(30, 1.0)
    assert distance(n_clusters, float(law @ np.arange(31))) < 6.5


def partition(labels: np.ndarray) -> tuple[int, ...]:
    """Labels in the order in which they first come."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(int(z), len(first)) for z in labels)


def partitions(n: int) -> list[tuple[int, ...]]:
    """All partitions of n rows, as labels in the order in which they come."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(n):
        found = [(*z, k) for z in found for k in range(max(z, default=-1) + 2)]
    return found


@pytest.mark.slow
def test_all_partitions_of_six_rows_have_their_posterior() -> None:
    """203 partitions by enumeration, parameters integrated out.

    All that more than 20 visits are expected of by batch means, |z| < 7: one false
    alarm in 10^6 for all of them.
    """
    alpha, m, sweeps = 1.5, 40, 24_000
    X = np.array([-1.6, -1.1, -0.2, 0.1, 1.4, 1.9])
    prior = Prior(
        mean=np.zeros(1), strength=0.5, df=8.0, variance=np.ones(1), rate=np.zeros(1),
        exposure=0.0, reg_covar=None, concentration=alpha,
    )  # fmt: skip
    every = partitions(6)
    assert len(every) == 203
    log_p = np.empty(203)
    for i, z in enumerate(every):
        counts = np.bincount(z)
        rows = [X[np.array(z) == k][:, None] for k in range(len(counts))]
        log_p[i] = len(counts) * np.log(alpha) + gammaln(counts).sum()
        log_p[i] += sum(oracle.log_marginal(x, 0.5, 8.0, 1.0) for x in rows)
    exact = np.exp(log_p - logsumexp(log_p))

    rng = np.random.default_rng(11)
    shard = Shard(
        np.ascontiguousarray(X[:, None], dtype=np.float32),
        np.arange(6, dtype=np.uint32), FAMILY.layout, UNITS,
    )  # fmt: skip
    source, sums = CounterSource(3), np.zeros((m, 3))
    place = {z: i for i, z in enumerate(every)}
    visits = np.empty(sweeps, dtype=int)
    for t in range(-200, sweeps):
        moments = Moments(
            sums[:, 0] / UNITS[0], sums[:, 1:2] / UNITS[1], sums[:, 2:] / UNITS[2]
        )
        known = FAMILY.draw(moments, prior, rng)
        known = with_drawn_weights(known, known, moments.weight, alpha, rng)
        shard.esca(FAMILY.scores(known), source, t + 201, 1)
        sums = shard.sums_of(m)
        visits[t] = place[partition(shard.labels)]
    expected = Counter(dict(enumerate(exact * sweeps)))
    for i, n_expected in expected.items():
        if n_expected > 20.0:
            assert distance((visits == i).astype(float), exact[i]) < 7.0, every[i]
