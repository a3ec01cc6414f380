"""Leaves of counts in plain Python: evidence, predictive, criteria, a best prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats
from scipy.special import betaln, gammaln

Vector = NDArray[np.float64]

SIZES = (math.inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
SHAPES = (0.3, 1.0, 5.0, 30.0)


@dataclass(frozen=True)
class Prior:
    """Of the rate: mean m, shape a; size t of a count, infinite for Poisson ones."""

    rate: float
    size: float
    shape: float

    @property
    def parameters(self) -> tuple[float, float]:
        """Shape and rate of the gamma, or the two parameters of the beta."""
        if math.isinf(self.size):
            return self.shape, self.shape / self.rate
        return 1.0 + self.size * self.shape / self.rate, self.shape


@dataclass(frozen=True)
class Sums:
    """Rows, exposure and events, each row as often as it counts."""

    n: float
    exposure: float
    events: float

    @classmethod
    def of(cls, y: Vector, e: Vector, f: Vector | None = None) -> Sums:
        f = np.ones(len(y)) if f is None else f
        return cls(float(f.sum()), float(f @ e), float(f @ y))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.n + other.n,
            self.exposure + other.exposure,
            self.events + other.events,
        )


def posterior(sums: Sums, prior: Prior) -> tuple[float, float]:
    a, b = prior.parameters
    if math.isinf(prior.size):
        return a + sums.events, b + sums.exposure
    return a + prior.size * sums.exposure, b + sums.events


def log_evidence(sums: Sums, prior: Prior) -> float:
    """But for `row_terms`, which are the same in all trees of the same rows."""
    (a, b), (A, B) = prior.parameters, posterior(sums, prior)
    if math.isinf(prior.size):
        found = a * np.log(b) - gammaln(a) + gammaln(A) - A * np.log(B)
    else:
        found = betaln(A, B) - betaln(a, b)
    return float(found)


def row_terms(y: Vector, e: Vector, size: float) -> Vector:
    """What each row's log probability has beside the evidence."""
    if math.isinf(size):
        return np.asarray(y * np.log(e) - gammaln(y + 1))
    return np.asarray(gammaln(y + size * e) - gammaln(size * e) - gammaln(y + 1))


def log_predictive(sums: Sums, prior: Prior, y: float, e: float, f: float = 1) -> float:
    """Of f equal counts together."""
    more = sums + Sums(f, f * e, f * y)
    terms = float(row_terms(np.array([y]), np.array([e]), prior.size)[0])
    return log_evidence(more, prior) - log_evidence(sums, prior) + f * terms


def marginal_by_quadrature(y: Vector, e: Vector, prior: Prior) -> float:
    """Probability of all counts, integrated over the rate numerically."""
    a, b = prior.parameters
    if math.isinf(prior.size):
        law = stats.gamma(a, scale=1 / b)
        joint = lambda x: np.prod(stats.poisson.pmf(y, e * x)) * law.pdf(x)  # noqa: E731
        ends = (0.0, math.inf)
    else:
        law = stats.beta(a, b)
        joint = lambda x: (  # noqa: E731
            np.prod(stats.nbinom.pmf(y, prior.size * e, x)) * law.pdf(x)
        )
        ends = (0.0, 1.0)
    found, _ = integrate.quad(joint, *ends, epsabs=0, epsrel=1e-10, limit=500)
    return float(found)


def mean_rate(sums: Sums, prior: Prior) -> float:
    A, B = posterior(sums, prior)
    return A / B if math.isinf(prior.size) else prior.size * B / (A - 1)


def rate_variance(sums: Sums, prior: Prior) -> float:
    A, B = posterior(sums, prior)
    if math.isinf(prior.size):
        return A / B**2
    if A <= 2:
        return math.inf
    return prior.size**2 * B * (A + B - 1) / ((A - 1) ** 2 * (A - 2))


def reduction(sums: Sums, prior: Prior, e: float, most: int) -> float:
    """How much a count over e takes off the variance of the rate, by summing counts."""
    left = 0.0
    for y in range(most):
        p = math.exp(log_predictive(sums, prior, y, e))
        left += p * rate_variance(sums + Sums(1, e, y), prior)
    return rate_variance(sums, prior) - left


def best_prior(leaves: list[tuple[Vector, Vector]], rate: float) -> Prior:
    """The point of the grid with most evidence, of one tree's leaves (y, e)."""
    grid = [Prior(rate, size, shape) for size in SIZES for shape in SHAPES]
    return max(
        grid,
        key=lambda prior: sum(
            log_evidence(Sums.of(y, e), prior) + row_terms(y, e, prior.size).sum()
            for y, e in leaves
        ),
    )
