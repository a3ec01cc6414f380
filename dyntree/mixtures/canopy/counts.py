"""Families of counts."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dyntree._core.mixtures.scores import Scores
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.canopy.components import (
    LINEAR,
    Components,
    Family,
    Moments,
    Prior,
    as_float32,
)


class Counts(Family):
    """Counts by column: what Poisson and multinomial components have in common."""

    layout = LINEAR
    is_count = True
    mean_rule = "> 0"

    def spread_shape(self, m: int, d: int) -> tuple[int, ...]:
        """There are no variances."""
        return (0,)

    def second_of(self, known: Components, weight: Vector) -> NDArray[np.float64]:
        """There are no second moments."""
        return np.zeros((len(weight), 0))

    def invalid_means(self, mean: Matrix) -> NDArray[np.bool_]:
        """Return which means of components are impossible in this family."""
        return super().invalid_means(mean) | ~(mean > 0).all(axis=1)

    @abstractmethod
    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        """Posterior means, none of them 0 under a prior."""

    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""
        rates = self._rates(moments.weight, moments.first, prior)
        return Components(self.weights_of(moments, prior), rates, np.empty(0)), 0

    def begin(
        self, rows: Matrix, prior: Prior, variance: Vector | None = None
    ) -> Components:
        """Components at some rows, of equal weights."""
        m = len(rows)
        rates = self._rates(np.ones(m), rows, prior)
        return Components(np.full(m, 1.0 / m), rates, np.empty(0))


class Poisson(Counts):
    """Independent counts, each with a rate of its own."""

    name = "poisson"

    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns about the means of their components."""
        return centre

    def count_prior(
        self, rate: float | None, mean_count: float, d: int
    ) -> tuple[Vector, float]:
        """Counts before any row, and how many rows they are of."""
        one = 1.0 if rate is None else rate
        return np.full(d, one), one / max(mean_count, 1e-12)

    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        return (prior.rate + first) / (prior.exposure + weight)[:, None]

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior."""
        shape = prior.rate + moments.first
        rates = rng.gamma(shape) / (prior.exposure + moments.weight)[:, None]
        rates = np.maximum(rates, 1e-30)
        return Components(self.weights_of(moments, prior), rates, np.empty(0))

    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""
        with np.errstate(divide="ignore"):
            whole = np.log(known.weight) - known.mean.sum(axis=1)
        d = known.mean.shape[1]
        return Scores(self.layout, as_float32(np.log(known.mean)), as_float32(whole), d)

    def log_base(self, rows: Matrix) -> Vector | None:
        """The log of h(x), which scores of the core lack."""
        out: Vector = -gammaln(rows + 1.0).sum(axis=1)
        return out

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""
        base = self.log_base(rows)
        assert base is not None
        out: Matrix = (
            rows @ np.log(known.mean).T - known.mean.sum(axis=1) + base[:, None]
        )
        return out

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Rows of components."""
        return rng.poisson(known.mean[labels]).astype(float)


class Multinomial(Counts):
    """Counts of one total, which is taken as given."""

    name = "multinomial"
    needs_a_count = True
    mean_rule = "> 0 and sum to 1"

    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns in rows of no count."""
        return np.zeros_like(centre)

    def invalid_means(self, mean: Matrix) -> NDArray[np.bool_]:
        """Return which means of components are impossible in this family."""
        total = np.abs(mean.sum(axis=1) - 1.0)
        broken: NDArray[np.bool_] = super().invalid_means(mean) | (total > 1e-6)
        return broken

    def count_prior(
        self, rate: float | None, mean_count: float, d: int
    ) -> tuple[Vector, float]:
        """Counts before any row, and how many rows they are of."""
        return np.full(d, 1.0 / d if rate is None else rate), 0.0

    def _rates(self, weight: Vector, first: Matrix, prior: Prior) -> Matrix:
        mass = prior.rate + first
        out: Matrix = mass / mass.sum(axis=1, keepdims=True)
        return out

    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior."""
        mass = np.maximum(rng.gamma(prior.rate + moments.first), 1e-30)
        rates = mass / mass.sum(axis=1, keepdims=True)
        return Components(self.weights_of(moments, prior), rates, np.empty(0))

    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""
        with np.errstate(divide="ignore"):
            whole = np.log(known.weight)
        d = known.mean.shape[1]
        return Scores(self.layout, as_float32(np.log(known.mean)), as_float32(whole), d)

    def log_base(self, rows: Matrix) -> Vector | None:
        """The log of h(x), which scores of the core lack."""
        out: Vector = gammaln(rows.sum(axis=1) + 1.0) - gammaln(rows + 1.0).sum(axis=1)
        return out

    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""
        base = self.log_base(rows)
        assert base is not None
        return rows @ np.log(known.mean).T + base[:, None]

    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Refused, as rows need a total."""
        raise ArgumentError(
            "sample",
            "needs totals, which a multinomial family takes as given; draw rows by "
            "numpy's Generator.multinomial from probabilities",
        )

    def n_parameters(self, m: int, d: int) -> int:
        """Free parameters of m components, but for the weights."""
        return m * (d - 1)
