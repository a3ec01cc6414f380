"""Frozen predictions of counts of events: mixtures of conjugate laws, one a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dyntree._core import beta_counts
from dyntree.encoding.targets import count_response
from dyntree.encoding.values import Matrix, Vector
from dyntree.summaries import Prediction

MOST_SUMMED = 1e5  # events up to which probabilities are summed one by one
N_NODES = 64  # of a quadrature beyond
HALVINGS = 200  # at most, of a bracket around a quantile
CLOSE = 1e-13  # relative width of a bracket that is narrow enough

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RateLaws:
    """Laws of a mean number of events, several for each of n_rows rows.

    Row j has the components ``start[j] .. start[j + 1] - 1``, whose weights sum to one.
    A component with an infinite `size` has the mean e g, where g is Gamma(first,
    second); any other has size (1 - p) / p, where p is Beta(first, second).

    Parameters
    ----------
    start : ndarray of int64 of shape (n_rows + 1,)
    weight, first, second, size, exposure : ndarray of shape (n_components,)
        The last is e.
    """

    start: Places
    weight: Vector
    first: Vector
    second: Vector
    size: Vector
    exposure: Vector

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def row(self) -> Places:
        """Row of each component, shape (n_components,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    @property
    def is_poisson(self) -> NDArray[np.bool_]:
        """Which components are Poisson given their rate."""
        return np.isinf(self.size)

    def average(self, values: Vector) -> Vector:
        """Weighted mean per row of one value a component, shape (n_rows,)."""
        if not self.n_rows:
            return np.empty(0)
        total: Vector = np.add.reduceat(self.weight * values, self.start[:-1])
        return total

    def _by_kind(self, poisson: Callable[..., Any], beta: Callable[..., Any]) -> Vector:
        """One value a component, of the components of each kind by a function."""
        parts = np.stack([self.first, self.second, self.size, self.exposure])
        found, is_poisson = np.empty(len(self.weight)), self.is_poisson
        with np.errstate(all="ignore"):
            found[is_poisson] = poisson(is_poisson, *parts[:, is_poisson])
            found[~is_poisson] = beta(~is_poisson, *parts[:, ~is_poisson])
        return found

    def means(self) -> Vector:
        """Mean of each component; infinite where a beta's first is 1 or less."""
        return self._by_kind(
            lambda _, a, b, r, e: e * a / b,
            lambda _, a, b, r, e: np.where(a > 1.0, r * b / (a - 1.0), np.inf),
        )

    def variances(self) -> Vector:
        """Variance of the mean in each component; infinite where it has none."""
        return self._by_kind(
            lambda _, a, b, r, e: a * (e / b) ** 2,
            lambda _, a, b, r, e: np.where(
                a > 2.0,
                r * r * b * (a + b - 1.0) / ((a - 1.0) ** 2 * (a - 2.0)),
                np.inf,
            ),
        )

    def _moments(self, within: Vector) -> tuple[Vector, Vector]:
        """Mean and variance per row, where components vary so much."""
        means = self.means()
        mean = self.average(means)
        with np.errstate(invalid="ignore"):
            between = self.average((means - mean[self.row]) ** 2)
            return mean, np.asarray(self.average(within) + between)

    def moments(self) -> tuple[Vector, Vector]:
        """Mean and variance of each row's law, two of shape (n_rows,)."""
        return self._moments(self.variances())

    def cdf(self, y: Vector) -> Vector:
        """Distribution function of each row at its own y, shape (n_rows,)."""
        at = np.maximum(y, 0.0)[self.row]
        return self.average(
            self._by_kind(
                lambda part, a, b, r, e: special.gammainc(a, at[part] * b / e),
                lambda part, a, b, r, e: special.betainc(
                    b, a, at[part] / (r + at[part])
                ),
            )
        )

    def quantiles(self, levels: Vector) -> Matrix:
        """Points below which each row has these probabilities.

        Parameters
        ----------
        levels : ndarray of shape (n_levels,)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows, n_levels)
        """
        found = np.empty((self.n_rows, len(levels)))
        for k, level in enumerate(levels):
            low, high = self._bracket(level)
            for _ in range(HALVINGS):
                if np.all(high - low <= CLOSE * high):
                    break
                middle = np.where(low > 0.0, np.sqrt(low * high), 0.5 * high)
                middle = np.where(high > 4.0 * low, middle, 0.5 * (low + high))
                above = self.cdf(middle) >= level
                low, high = np.where(above, low, middle), np.where(above, middle, high)
            found[:, k] = high
        return found

    def quantile(self, q: float) -> Vector:
        """Point below which each row has probability q, shape (n_rows,)."""
        return self.quantiles(np.array([q]))[:, 0]

    def _bracket(self, level: float) -> tuple[Vector, Vector]:
        """Ends between which each row has its quantile, both of shape (n_rows,)."""
        mean = self.average(self.means())
        low, high = np.zeros(self.n_rows), np.where(np.isfinite(mean), mean, 1.0) + 1.0
        while True:
            below = self.cdf(high) < level
            if not below.any() or not np.all(np.isfinite(high[below])):
                return low, high
            low = np.where(below, high, low)
            high = np.where(below, 2.0 * high, high)

    def sample(self, n: int, rng: np.random.Generator) -> Matrix:
        """Independent draws, shape (n, n_rows)."""
        return self._drawn_means(self._picked(n, rng), rng)

    def _picked(self, n: int, rng: np.random.Generator) -> Places:
        """Components drawn by weight, shape (n, n_rows)."""
        ends = np.add.accumulate(self.weight)
        before = np.concatenate([[0.0], ends])[self.start[:-1]]
        u = before + rng.random((n, self.n_rows)) * (ends[self.start[1:] - 1] - before)
        part = np.searchsorted(ends, u, side="right")
        found: Places = np.clip(part, self.start[:-1], self.start[1:] - 1)
        return found

    def _drawn_means(self, part: Places, rng: np.random.Generator) -> Matrix:
        drawn: Matrix = drawn_means(
            self.first[part], self.second[part], self.size[part],
            self.exposure[part], rng,
        )  # fmt: skip
        return drawn


def drawn_means(
    first: Any, second: Any, size: Any, exposure: Any, rng: np.random.Generator
) -> Any:
    """Mean numbers of events drawn from laws as of `RateLaws`, arrays of one shape."""
    is_poisson = np.isinf(size)
    upper = rng.standard_gamma(np.where(is_poisson, first, second))
    lower = rng.standard_gamma(np.where(is_poisson, 1.0, first))
    with np.errstate(all="ignore"):
        return np.where(is_poisson, exposure * upper / second, size * upper / lower)


def drawn_events(mean: Any, size: Any, rng: np.random.Generator) -> Any:
    """Events about their means: negative binomial of a size, or Poisson where infinite.

    As Poisson about a gamma variable of that shape; arrays of shapes that broadcast.
    """
    size = np.broadcast_to(size, np.shape(mean))
    spread = np.where(np.isinf(size), 1.0, size)
    own = np.where(np.isinf(size), mean, rng.standard_gamma(spread) * mean / spread)
    drawable = np.minimum(own, 9e18)  # what an int64 holds
    return rng.poisson(np.where(np.isnan(drawable), 0.0, drawable)).astype(np.float64)


class CountMixture(RateLaws):
    """Laws of counts, several for each of n_rows rows: those of `RateLaws`, with noise.

    Given its rate a count is Poisson, or negative binomial of a size: components are
    NB(first, second / (second + e)), or beta negative binomial.
    """

    def variances(self) -> Vector:
        """Variance of each component; infinite where it has none."""

        def beta(_: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            mean = b / (a - 1.0)
            square = b * (b + 1.0) / ((a - 1.0) * (a - 2.0))
            found = r * (mean + square) + r * r * (square - mean * mean)
            return np.where(a > 2.0, found, np.inf)

        return self._by_kind(lambda _, a, b, r, e: e * a / b * (1.0 + e / b), beta)

    def cdf(self, y: Vector) -> Vector:
        """Probability of at most y events, each row at its own y, shape (n_rows,)."""
        at = np.floor(y)[self.row]

        def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            k = at[part]
            found = special.betainc(a, np.maximum(k, 0.0) + 1.0, b / (b + e))
            return np.where(k >= 0.0, found, np.where(np.isnan(k), np.nan, 0.0))

        def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            k = at[part]
            found = np.empty(len(k))
            far = k > MOST_SUMMED
            found[~far] = beta_counts.cdf(k[~far], r[~far], a[~far], b[~far])
            if far.any():
                found[far] = far_cdf(k[far], r[far], a[far], b[far])
            return found

        return self.average(self._by_kind(poisson, beta))

    def log_density(self, y: Vector) -> Vector:
        """Log probability of each row's own count, shape (n_rows,)."""
        at = y[self.row]
        gammaln = special.gammaln

        def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
            k = at[part]
            return (
                gammaln(a + k) - gammaln(a) - a * np.log1p(e / b)
                - k * np.log1p(b / e) - gammaln(k + 1.0)
            )  # fmt: skip

        def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
            k = at[part]
            return (
                gammaln(r + k) - gammaln(r) - gammaln(k + 1.0)
                + gammaln(a + r) - gammaln(a) + gammaln(b + k) - gammaln(b)
                + gammaln(a + b) - gammaln(a + b + r + k)
            )  # fmt: skip

        log_p = self._by_kind(poisson, beta)
        if not self.n_rows:
            return log_p
        top = np.maximum.reduceat(log_p, self.start[:-1])
        with np.errstate(divide="ignore"):
            return top + np.log(self.average(np.exp(log_p - top[self.row])))

    def quantiles(self, levels: Vector) -> Matrix:
        """Least counts that each row is at or below with these probabilities.

        Parameters
        ----------
        levels : ndarray of shape (n_levels,)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows, n_levels)
        """
        found = np.empty((self.n_rows, len(levels)))
        for k, level in enumerate(levels):
            low, high = self._bracket(level)
            low, high = np.where(low > 0.0, np.floor(low), -1.0), np.ceil(high)
            while np.any(high - low > 1.0):
                middle = np.floor(0.5 * (low + high))
                above = self.cdf(middle) >= level
                low, high = np.where(above, low, middle), np.where(above, middle, high)
                if np.all((high - low <= 1.0) | (high > 2.0**53)):
                    break
            found[:, k] = high
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Matrix:
        """Independent draws, shape (n, n_rows)."""
        part = self._picked(n, rng)
        drawn: Matrix = drawn_events(self._drawn_means(part, rng), self.size[part], rng)
        return drawn


def far_cdf(y: Vector, size: Vector, first: Vector, second: Vector) -> Vector:
    """Distribution function of beta negative binomial counts, by quadrature.

    It is P(W <= p) of independent W ~ Beta(size, y + 1) and p ~ Beta(first, second):
    the mean of the distribution function of one over quantiles of the other, the
    narrower of the two, by Gauss and Legendre. It is good to 1e-4.
    """
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    u = 0.5 * (nodes + 1.0)
    p_is_narrow = 1.0 / first + 1.0 / second <= 1.0 / size + 1.0 / (y + 1.0)
    found = np.empty(len(y))
    for part, over_p in ((p_is_narrow, True), (~p_is_narrow, False)):
        a, b, r, k = (one[part, None] for one in (first, second, size, y + 1.0))
        if over_p:
            inner = special.betainc(r, k, special.betaincinv(a, b, u))
        else:  # 1 - W by its own quantiles, which keep their digits near 0
            inner = special.betainc(b, a, special.betaincinv(k, r, u))
        found[part] = inner @ (0.5 * weights)
    return found


class CountPrediction(Prediction):
    """Predictive distribution of a count of events at n_rows rows.

    Attributes
    ----------
    mean : ndarray of shape (n_rows,)
        Expected events at the exposures asked about.
    var : ndarray of shape (n_rows,)
        Predictive variance; infinite where a leaf has too few rows for one.
    exposure : ndarray of shape (n_rows,)
    mixture : CountMixture
        The distribution itself.
    of_mean : RateLaws
        Posterior of the expected number of events.
    df : ndarray of shape (n_rows,)
        NaN: no law here is Student's.
    """

    mixture: CountMixture  # type: ignore[assignment]
    of_mean: RateLaws  # type: ignore[assignment]
    exposure: Vector

    @classmethod
    def of_laws(cls, parts: Sequence[Any], exposure: Vector) -> CountPrediction:
        """Return the prediction that such laws make.

        Parameters
        ----------
        parts : sequence of ndarray
            Of `RateLaws`.
        exposure : ndarray of shape (n_rows,)
            As users give exposures.
        """
        mixture = CountMixture(*parts)
        mean, var = mixture.moments()
        none = np.full(len(mean), np.nan)
        found = cls(mean, var, none, mixture, RateLaws(*parts))  # type: ignore[arg-type]
        found.__dict__["exposure"] = exposure
        return found

    @classmethod
    def of_sample(  # type: ignore[override]
        cls, counts: Vector, over: Vector, exposure: Vector
    ) -> CountPrediction:
        """Predictive of Poisson counts under a weak prior, the same for every row.

        The rate is Gamma(1/2 + events, exposures); without any, it is Gamma(1/2, 1/2).

        Parameters
        ----------
        counts, over : ndarray of shape (n,)
            Counts, and their exposures.
        exposure : ndarray of shape (n_rows,)
            That are asked about.
        """
        one, known = np.ones(len(exposure)), float(over.sum())
        first, second = 0.5 + float(counts.sum()), known or 0.5
        start = np.arange(len(exposure) + 1)
        parts = start, one, first * one, second * one, np.inf * one, exposure.copy()
        return cls.of_laws(parts, exposure)

    @property
    def rate(self) -> Vector:
        """Expected events per unit of exposure, shape (n_rows,)."""
        rate: Vector = self.mean / self.exposure
        return rate

    @property
    def mean_se(self) -> Vector:
        """Standard deviation of the posterior of the mean, shape (n_rows,)."""
        return np.sqrt(self.of_mean.moments()[1])

    def log_density(self, y: ArrayLike) -> Vector:
        """Log predictive probability of each row's own count, shape (n_rows,)."""
        return self.mixture.log_density(count_response(y, len(self.mean)))

    def pit(
        self, y: ArrayLike, seed: int | np.random.Generator | None = None
    ) -> Vector:
        """Randomised probability integral transform of counts, uniform if they fit.

        F(y - 1) + u p(y) with u uniform (Czado, Gneiting and Held 2009), shape
        (n_rows,).
        """
        counts = count_response(y, len(self.mean))
        below, upto = self.mixture.cdf(counts - 1.0), self.mixture.cdf(counts)
        rng = np.random.default_rng(seed)
        return below + rng.random(len(counts)) * (upto - below)
