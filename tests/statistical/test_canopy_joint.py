"""Gibbs sampling of large mixtures: joint tests and an enumerated posterior.

With parameters and weights drawn from their posteriors ("sample"), a sweep is a Gibbs
step of the Bayesian finite mixture. Lists are frozen after the first sweep, as lists
that follow the parameters would be an adaptive proposal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from dyntree._core.mixtures.sweeps import Shard
from dyntree._core.mixtures.tree_sampler import sample_rows
from dyntree._core.rng import CounterSource
from dyntree.mixtures.canopy.components import Components, Moments, Prior
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.shards import component_tree
from tests.helpers import mostly_slow
from tests.oracle import canopy as oracle

N, M, D, ALPHA = 8, 3, 1, 2.0
UNITS = (2.0**40, 2.0**36, 2.0**32)
FAMILY = FAMILY_OF["diag"]
PRIOR = Prior(
    mean=np.zeros(D), strength=0.5, df=8.0, variance=np.ones(D), rate=np.zeros(D),
    exposure=0.0, reg_covar=None, concentration=ALPHA,
)  # fmt: skip
KERNELS = ("esca", "canopy1", "canopy2", "tree")
STEPS = 8000


def from_prior(rng: np.random.Generator) -> Components:
    none = Moments(np.zeros(M), np.zeros((M, D)), np.zeros((M, D)))
    known = FAMILY.draw(none, PRIOR, rng)
    return Components(rng.dirichlet(np.full(M, ALPHA / M)), known.mean, known.spread)


def moments(sums: np.ndarray) -> Moments:
    return Moments(
        sums[:, 0] / UNITS[0],
        sums[:, 1 : 1 + D] / UNITS[1],
        sums[:, 1 + D :] / UNITS[2],
    )


def given_labels(sums: np.ndarray, rng: np.random.Generator) -> Components:
    """Parameters and weights from their posterior given rows and labels."""
    mine = moments(sums)
    known = FAMILY.draw(mine, PRIOR, rng)
    weight = rng.dirichlet(np.full(M, ALPHA / M) + mine.weight)
    return Components(np.maximum(weight, 1e-300), known.mean, known.spread)


class Chain:
    """Labels of some rows under one kernel; lists hold two of three components."""

    def __init__(
        self, X: np.ndarray, labels: np.ndarray, kernel: str, seed: int
    ) -> None:
        rows = np.ascontiguousarray(X, dtype=np.float32)
        self.shard = Shard(
            rows, np.arange(len(X), dtype=np.uint32), FAMILY.layout, UNITS
        )
        self.shard.labels[:] = labels
        self.kernel, self.source, self.time = kernel, CounterSource(seed), 0
        begin = np.array([0, len(X) // 2, len(X)], dtype=np.int64)
        origin = np.array([[0.4], [-0.4]], dtype=np.float32)  # fixed, not of the rows
        self.shard.group(begin, origin)
        self.shard.take_lists(
            np.array([2, 2], dtype=np.int32), np.array([0, 2, 0, 1], dtype=np.int32)
        )

    def step(self, known: Components) -> np.ndarray:
        """New labels; returns the sums."""
        scores, self.time = FAMILY.scores(known), self.time + 1
        shard, source, t = self.shard, self.source, self.time
        if self.kernel == "esca":
            shard.esca(scores, source, t, 1)
        elif self.kernel == "canopy1":
            shard.canopy1(scores, source, t, 2, 1)
        elif self.kernel == "canopy2":
            none = np.zeros(2, dtype=np.uint8)
            shard.canopy2(scores, source, t, none, (0.003, 0.03, 0.2, 16, 1), 1)
        else:
            sample_rows(shard, component_tree("diag", known, 1), source, t, 1)
        return shard.sums_of(M)


def statistics(known: Components, labels: np.ndarray) -> np.ndarray:
    """What both ways of drawing must agree in."""
    together = (labels[:, None] == labels).sum() - len(labels)
    return np.array(
        [
            known.weight[0], known.weight[0] ** 2, np.tanh(known.mean[0, 0]),
            np.tanh(known.mean).mean(), np.log(known.spread).mean(),
            np.log(known.spread[0, 0]) ** 2, together, (labels == 0).sum() ** 2,
            np.tanh(known.mean[labels, 0]).mean(),
        ]
    )  # fmt: skip


@cache
def direct_draws() -> np.ndarray:
    """Statistics of independent draws from the joint law, once for all kernels."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(STEPS):
        known = from_prior(rng)
        found.append(statistics(known, rng.choice(M, size=N, p=known.weight)))
    return np.array(found)


@pytest.mark.parametrize("kernel", mostly_slow(KERNELS, 2))
def test_geweke_joint(kernel: str) -> None:
    """Marginal-conditional against successive-conditional draws (Geweke 2004).

    Nine statistics, batch means of 40 batches; |z| < 6.5 fails once in 10^7 or so for
    normal errors, in 10^6 with 39 degrees of freedom's tails and all kernels.
    """
    seed = 7
    rng = np.random.default_rng([seed, KERNELS.index(kernel)])
    known = from_prior(rng)
    labels = rng.choice(M, size=N, p=known.weight)
    X = FAMILY.sample(known, labels, rng)
    chain = Chain(X, labels, kernel, seed)
    found = []
    for _ in range(STEPS):
        rows = FAMILY.sample(known, chain.shard.labels.astype(np.int64), rng)
        chain.shard.X[:] = rows  # new rows for these labels and parameters
        known = given_labels(chain.step(known), rng)
        found.append(statistics(known, chain.shard.labels))
    one, other = direct_draws(), np.array(found)
    batches = other.reshape(40, -1, other.shape[1]).mean(axis=1)
    error = np.sqrt(one.var(axis=0) / len(one) + batches.var(axis=0, ddof=1) / 40)
    z = (one.mean(axis=0) - other.mean(axis=0)) / error
    assert (np.abs(z) < 6.5).all(), z.round(2)


@pytest.mark.parametrize("kernel", mostly_slow(KERNELS, 2))
def test_chains_visit_label_vectors_by_their_posterior(kernel: str) -> None:
    """Six rows, three components: 729 label vectors, parameters integrated out.

    The chance that any two rows are together, 15 numbers; batch means of 50 batches,
    |z| < 7: one false alarm in 10^6 for all of them.
    """
    rng = np.random.default_rng([3, KERNELS.index(kernel)])
    X = np.array([-1.6, -1.1, -0.2, 0.1, 1.4, 1.9])[:, None].astype(np.float32)
    exact = np.zeros((6, 6))
    posterior = oracle.label_posterior(
        X.astype(float), M, ALPHA, PRIOR.strength, PRIOR.df, 1.0
    )
    for labels, p in posterior.items():
        z = np.array(labels)
        exact += p * (z[:, None] == z)
    chain = Chain(X, np.zeros(6, dtype=np.int32), kernel, 5)
    known = from_prior(rng)
    seen: list[Any] = []
    for _ in range(STEPS):
        known = given_labels(chain.step(known), rng)
        z = chain.shard.labels
        seen.append(z[:, None] == z)
    batches = np.array(seen, dtype=float).reshape(50, -1, 6, 6).mean(axis=1)
    upper = np.triu_indices(6, 1)
    error = batches.std(axis=0, ddof=1)[upper] / np.sqrt(50) + 1e-4
    away = (batches.mean(axis=0) - exact)[upper] / error
    assert (np.abs(away) < 7.0).all(), away.round(2)
