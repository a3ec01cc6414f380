"""Components: parameters, sums of rows, and what a family makes of them.

Everything here is in float64 and in the coordinates of `Scaling`: columns centred, and
divided by their scales. S1 and S2 are sums of rows and of second moments, N the weight
of a component; priors are those of `MixturePrior`, widened_to_float32.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.scores import Scores
from dyntree.encoding.values import LARGEST, Matrix, Vector

LINEAR, NORM, SQUARES, FULL = range(4)  # layouts of the core
LOG_2PI = np.log(2.0 * np.pi)
FLOOR = 1e-6  # of a variance, as a share of the prior's
NO_ROWS = 1e-12  # that a prior of means counts for where it is left out
LEAST = 1e-12  # variance, scaled: rows in float32 tell no smaller one


def summed(values: Iterable[float]) -> float:
    """Sum from left to right, to the same bit under every Python.

    The built-in `sum` compensates from Python 3.12 on.
    """
    return float(np.cumsum([0.0, *values])[-1])


@dataclass(frozen=True)
class Prior:
    """A prior in scaled coordinates."""

    mean: Vector  # shape (n_features,)
    strength: float
    df: float
    variance: Vector  # shape (n_features,)
    rate: Vector  # shape (n_features,); counts before any row
    exposure: float  # rows that they are of
    reg_covar: Vector | None  # maximum likelihood, with these floors
    concentration: float
    least: Vector | None = None  # of `variance`, for all columns alike; None: as given


@dataclass(frozen=True)
class Components:
    """Parameters of all components, in scaled coordinates."""

    weight: Vector  # (m,)
    mean: Matrix  # (m, d); rates of Poisson components, probabilities of words
    spread: NDArray[np.float64]  # (m,) or (m, d), or (m, d, d); (0,) of counts


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of components."""

    weight: Vector
    first: Matrix
    second: NDArray[np.float64]

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    def plus(self, other: Moments) -> Moments:
        """Sums over the rows of both."""
        return Moments(
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
        )


class Family(ABC):
    """What a component is; one object for all of a mixture."""

    name: str
    layout: int
    is_count = False
    one_scale = False  # whether columns must be divided by one number
    one_spread = False  # whether all components have the same
    needs_a_count = False  # whether a row without a count tells nothing
    mean_rule = f"finite, at most {LARGEST:g} in size,"

    @abstractmethod
    def spread_shape(self, m: int, d: int) -> tuple[int, ...]:
        """Shape of the variances or covariances of m components of d columns."""

    @abstractmethod
    def second_of(self, known: Components, weight: Vector) -> NDArray[np.float64]:
        """Second moments over as many rows of components as `weight` says."""

    @abstractmethod
    def variances_within(self, known: Components, centre: Vector) -> Vector:
        """Variance of columns about the means of their components, shape (d,)."""

    def invalid_means(self, mean: Matrix) -> NDArray[np.bool_]:
        """Return which means of components are impossible in this family."""
        return np.logical_not((np.abs(mean) <= LARGEST).all(axis=1))

    def least_df(self, d: int) -> float:
        """Least degrees of freedom of a prior in d columns."""
        return 0.0

    def count_prior(
        self, rate: float | None, mean_count: float, d: int
    ) -> tuple[Vector, float]:
        """Counts before any row, shape (d,), and how many rows they are of."""
        return np.zeros(d), 0.0

    def weights_of(self, moments: Moments, prior: Prior) -> Vector:
        """Posterior mean of the weights, which is never 0 under a prior."""
        weight = moments.weight + prior.concentration / len(moments.weight)
        out: Vector = weight / weight.sum()
        return out

    @abstractmethod
    def estimate(self, moments: Moments, prior: Prior) -> tuple[Components, int]:
        """Mode of the posterior, and how many variances were put on their floor."""

    def scatter(self, moments: Moments, prior: Prior) -> Vector | None:
        """Squared deviations from the components' means, by column; None for counts."""
        return None

    def tightened(self, moments: Moments, prior: Prior) -> Prior:
        """The prior, its variances no wider than those within components are.

        By default variances are drawn to a share of the columns', which is far too wide
        for clusters that are far apart. Here they are drawn to no more than a geometric
        mean of that and of the pooled variance within components: the share counts for
        one row a component, the pooled variance for the others. The prior of the means
        is weakened alike, as it is one in standard deviations of the components. How
        far means are from it says nothing of widths: one row far out would widen all.
        """
        if prior.least is None:
            return prior
        inner = self.scatter(moments, replace(prior, strength=NO_ROWS))
        if inner is None:
            return prior
        part = len(moments.weight) / max(moments.total, len(moments.weight))
        free = max(moments.total * (1.0 - part), 1.0)
        pooled = np.maximum(inner / free, FLOOR * prior.variance)
        share = np.minimum(pooled / prior.variance, 1.0) ** (1.0 - part)
        own = prior.variance - prior.least
        return replace(
            prior,
            variance=share * own + share.max() * prior.least,
            strength=prior.strength * float(share.min()),
        )

    @abstractmethod
    def draw(
        self, moments: Moments, prior: Prior, rng: np.random.Generator
    ) -> Components:
        """Parameters from their posterior, with the weights of `estimate`."""

    @abstractmethod
    def begin(
        self, rows: Matrix, prior: Prior, variance: Vector | None = None
    ) -> Components:
        """Components at some rows, with the spread of the prior and equal weights.

        Columns have no more than a `variance` that is given, unless the user has given
        that of the prior.
        """

    @abstractmethod
    def scores(self, known: Components) -> Scores:
        """Parameters in the form by which the core scores rows."""

    @abstractmethod
    def log_density(self, rows: Matrix, known: Components) -> Matrix:
        """Log density of rows in components, shape (n_rows, n_components)."""

    def widened_to_float32(
        self, known: Components, sharp: NDArray[np.bool_]
    ) -> Components:
        """Return components whose variances are large enough for sums in float32.

        Those that were sharp have sums in float64. Others that became so narrow stop
        where they are sharp in the next sweep, which finds what they are.
        """
        return known

    @abstractmethod
    def sample(
        self, known: Components, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> Matrix:
        """Rows of components."""

    def n_parameters(self, m: int, d: int) -> int:
        """Free parameters of m components, but for the weights."""
        return m * d + int(np.prod(self.spread_shape(m, d)))

    def log_base(self, rows: Matrix) -> Vector | None:
        """The log of h(x) where scores of the core lack such a factor."""
        return None

    def second(self, sums: NDArray[np.float64], d: int) -> NDArray[np.float64]:
        """Second moments in their own shape."""
        return sums

    def log_joint(self, rows: Matrix, known: Components) -> Matrix:
        """Log weight plus log density, shape (n_rows, n_components)."""
        with np.errstate(divide="ignore"):
            out: Matrix = self.log_density(rows, known) + np.log(known.weight)
        return out


def as_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return values as the core takes them: contiguous, in float32."""
    return np.ascontiguousarray(values, dtype=np.float32)
