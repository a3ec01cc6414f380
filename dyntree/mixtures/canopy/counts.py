"""Families of counts."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dyntree._core.mixtures.scores import Scores
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.canopy.components import (
    LINEAR,
    Components,
    Family,
    Moments,
    Prior,
    singles,
)


class Counts(Family):
    """Counts by column: what Poisson and multinomial components have in common."""

    layout = LINEAR
    is_count = True

    @abstractmethod
    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        """Posterior means, none of them 0 under a prior."""

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """As `Family` says."""
        rates = self._rates(moments.weight, moments.first, prior)
        return Components(self.weights_of(moments, prior), rates, np.empty(0)), 0

    def begin(self, rows: Matrix, prior: Prior) -> Components:
        """As `Family` says."""
        m = len(rows)
        rates = self._rates(np.ones(m), rows, prior)
        return Components(np.full(m, 1.0 / m), rates, np.empty(0))


class Poisson(Counts):
    """Independent counts, each with a rate of its own."""

    name = "poisson"

    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        out: Matrix = (prior.rate + first) / (prior.exposure + weight)[:, None]
        return out

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """As `Family` says."""
        shape = prior.rate + moments.first
        rates = rng.gamma(shape) / (prior.exposure + moments.weight)[:, None]
        rates = np.maximum(rates, 1e-30)
        return Components(self.weights_of(moments, prior), rates, np.empty(0))

    def scores(self, known: Components) -> Scores:
        """As `Family` says."""
        with np.errstate(divide="ignore"):
            whole = np.log(known.weight) - known.mean.sum(axis=1)
        d = known.mean.shape[1]
        return Scores(self.layout, singles(np.log(known.mean)), singles(whole), d)

    def log_base(self, rows: Matrix) -> Vector | None:
        """As `Family` says."""
        out: Vector = -gammaln(rows + 1.0).sum(axis=1)
        return out

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """As `Family` says."""
        base = self.log_base(rows)
        assert base is not None
        out: Matrix = (
            rows @ np.log(known.mean).T - known.mean.sum(axis=1) + base[:, None]
        )
        return out

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """As `Family` says."""
        return rng.poisson(known.mean[labels]).astype(float)

    def n_parameters(self, m: int, d: int) -> int:
        """As `Family` says."""
        return m * d


class Multinomial(Counts):
    """Counts of one total, which is taken as given."""

    name = "multinomial"

    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        mass = prior.rate + first
        out: Matrix = mass / mass.sum(axis=1, keepdims=True)
        return out

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """As `Family` says."""
        mass = np.maximum(rng.gamma(prior.rate + moments.first), 1e-30)
        rates = mass / mass.sum(axis=1, keepdims=True)
        return Components(self.weights_of(moments, prior), rates, np.empty(0))

    def scores(self, known: Components) -> Scores:
        """As `Family` says."""
        with np.errstate(divide="ignore"):
            whole = np.log(known.weight)
        d = known.mean.shape[1]
        return Scores(self.layout, singles(np.log(known.mean)), singles(whole), d)

    def log_base(self, rows: Matrix) -> Vector | None:
        """As `Family` says."""
        out: Vector = gammaln(rows.sum(axis=1) + 1.0) - gammaln(rows + 1.0).sum(axis=1)
        return out

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """As `Family` says."""
        base = self.log_base(rows)
        assert base is not None
        out: Matrix = rows @ np.log(known.mean).T + base[:, None]
        return out

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """As `Family` says."""
        raise ValueError(
            "sample needs totals, which a multinomial family takes as given; draw rows "
            "by numpy's Generator.multinomial from probabilities."
        )

    def n_parameters(self, m: int, d: int) -> int:
        """As `Family` says."""
        return m * (d - 1)
