"""Frozen predictions of counts of events: mixtures of conjugate laws, one a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dyntree import params
from dyntree._core import beta_counts
from dyntree.encoding.targets import count_response, real_response
from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.records import Record
from dyntree.summaries.real import Prediction, RowMixture

CLOSE = 1e-11  # relative width of a bracket: what distribution functions can tell
MOST_ODDS = 20.0  # logs of odds that a search for a quantile tells apart
FARTHEST = 1e300  # and its inverse: ends of the search for a quantile

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class RateLaws(RowMixture, Record):
    """Mixture distributions of the mean number of events at n_rows rows.

    Row j has the components ``start[j] .. start[j + 1] - 1``, whose weights sum to one.
    A component with an infinite `size` has the mean e g, where g is Gamma(first,
    second); any other has size (1 - p) / p, where p is Beta(first, second).

    Parameters
    ----------
    start : ndarray of int64 of shape (n_rows + 1,)
    weight, first, second, size, exposure : ndarray of shape (n_components,)
        In the components above, `exposure` is e.
    """

    start: Places
    weight: Vector
    first: Vector
    second: Vector
    size: Vector
    exposure: Vector

    @property
    def is_poisson(self) -> NDArray[np.bool_]:
        """Which components are Poisson given their rate."""
        return np.isinf(self.size)

    def _by_kind(self, poisson: Callable[..., Any], beta: Callable[..., Any]) -> Vector:
        """One value a component, of the components of each kind by a function."""
        parts = np.stack([self.first, self.second, self.size, self.exposure])
        found, is_poisson = np.empty(len(self.weight)), self.is_poisson
        with np.errstate(all="ignore"):
            found[is_poisson] = poisson(is_poisson, *parts[:, is_poisson])
            found[~is_poisson] = beta(~is_poisson, *parts[:, ~is_poisson])
        return found

    def means(self) -> Vector:
        """Mean of each component; infinite if the first beta parameter is at most 1."""
        return self._by_kind(
            lambda _, a, b, r, e: e * a / b,
            lambda _, a, b, r, e: np.where(a > 1.0, r * b / (a - 1.0), np.inf),
        )

    def variances(self) -> Vector:
        """Variance of the mean in each component; infinite if it does not exist."""
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
        """Mean and variance for each row, two arrays of shape (n_rows,)."""
        return self._moments(self.variances())

    def _varied(self, spread: Vector) -> RateLaws:
        """The laws times independent factors of mean 1, by their first two moments.

        Parameters
        ----------
        spread : ndarray of shape (n_rows,)
            Standard deviation of the factor of each row.
        """
        square, mean = spread[self.row] ** 2, self.means()
        with np.errstate(all="ignore"):
            var = self.variances() * (1.0 + square) + square * mean**2

            def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
                return mean[part] ** 2 / var[part]

            def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
                return 2.0 + mean[part] * (r + mean[part]) / var[part]

            first = self._by_kind(poisson, beta)
            second = self._by_kind(
                lambda part, a, b, r, e: e * first[part] / mean[part],
                lambda part, a, b, r, e: mean[part] / r * (first[part] - 1.0),
            )
        is_wider = (square > 0.0) & np.isfinite(var) & (mean > 0.0)
        first = np.where(is_wider, first, self.first)
        second = np.where(is_wider, second, self.second)
        return RateLaws(
            self.start, self.weight, first, second, self.size, self.exposure
        )

    def _cdf(self, y: Vector) -> Vector:
        at = np.maximum(y, 0.0)[self.row]
        return self.average(
            self._by_kind(
                lambda part, a, b, r, e: special.gammainc(a, at[part] * b / e),
                lambda part, a, b, r, e: rates_upto(at[part] / r, a, b),
            )
        )

    def _quantiles(self, levels: Vector) -> Matrix:
        found = np.empty((self.n_rows, len(levels)))
        for k, level in enumerate(levels):
            found[:, k] = self._least(level)
        return found

    def _least(self, level: float) -> Vector:
        """Least point of each row with this probability at or below it."""
        mean = self.average(self.means())
        high = np.where(np.isfinite(mean) & (mean > 0.0), mean, 1.0)
        low, above, factor = 0.5 * high, self._cdf(high), 4.0
        below = self._cdf(low)
        while np.any(far := (above < level) & (high < FARTHEST)):
            low, below = np.where(far, high, low), np.where(far, above, below)
            high = np.where(far, np.minimum(factor * high, FARTHEST), high)
            above, factor = self._cdf(high), factor * factor
        factor = 4.0
        while np.any(far := (below >= level) & (low > 1.0 / FARTHEST)):
            high, above = np.where(far, low, high), np.where(far, below, above)
            low = np.where(far, np.maximum(low / factor, 1.0 / FARTHEST), low)
            below, factor = self._cdf(low), factor * factor
        ends = Bracket(low, high, below, above)
        return least(self._cdf, level, ends, np.log, lambda u, _, high: np.exp(u))

    def _drawn(self, part: Places, rng: np.random.Generator) -> Matrix:
        return self._drawn_means(part, rng)

    def _drawn_means(self, part: Places, rng: np.random.Generator) -> Matrix:
        drawn: Matrix = drawn_means(
            self.first[part], self.second[part], self.size[part],
            self.exposure[part], rng,
        )  # fmt: skip
        return drawn


def rates_upto(odds: Vector, first: Vector, second: Vector) -> Vector:
    """Probability that (1 - p) / p is at most the odds, p ~ Beta(first, second)."""
    found, far = np.empty(len(odds)), odds > 1.0
    a, b, at = first[~far], second[~far], odds[~far]
    found[~far] = special.betainc(b, a, at / (1.0 + at))
    a, b, at = first[far], second[far], odds[far]  # whose share of 1 loses its digits
    found[far] = special.betaincc(a, b, 1.0 / (1.0 + at))
    return found


def drawn_means(
    first: Any, second: Any, size: Any, exposure: Any, rng: np.random.Generator
) -> Any:
    """Draw mean numbers of events from the distributions of `RateLaws`."""
    is_poisson = np.isinf(size)
    upper = rng.standard_gamma(np.where(is_poisson, first, second))
    lower = rng.standard_gamma(np.where(is_poisson, 1.0, first))
    with np.errstate(all="ignore"):
        return np.where(is_poisson, exposure * upper / second, size * upper / lower)


def drawn_events(mean: Any, size: Any, rng: np.random.Generator) -> Any:
    """Draw events given their means: negative binomial, or Poisson if size is infinite.

    The negative binomial is drawn as Poisson given a gamma variable of shape `size`;
    the shapes of arrays broadcast.
    """
    size = np.broadcast_to(size, np.shape(mean))
    spread = np.where(np.isinf(size), 1.0, size)
    own = np.where(np.isinf(size), mean, rng.standard_gamma(spread) * mean / spread)
    drawable = np.minimum(own, 9e18)  # what an int64 holds
    return rng.poisson(np.where(np.isnan(drawable), 0.0, drawable)).astype(np.float64)


class CountMixture(RateLaws):
    """Mixture distributions of counts at n_rows rows: `RateLaws` with noise.

    Given its rate a count is Poisson, or negative binomial of a size: components are
    NB(first, second / (second + e)), or beta negative binomial. A quantile is the
    smallest count that reaches its probability.
    """

    def variances(self) -> Vector:
        """Variance of each component; infinite if it does not exist."""

        def beta(_: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            mean = b / (a - 1.0)
            square = b * (b + 1.0) / ((a - 1.0) * (a - 2.0))
            found = r * (mean + square) + r * r * (square - mean * mean)
            return np.where(a > 2.0, found, np.inf)

        return self._by_kind(lambda _, a, b, r, e: e * a / b * (1.0 + e / b), beta)

    def _cdf(self, y: Vector) -> Vector:
        at = np.floor(y)[self.row]

        def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            k = at[part]
            found = special.betainc(a, np.maximum(k, 0.0) + 1.0, b / (b + e))
            return np.where(k >= 0.0, found, np.where(np.isnan(k), np.nan, 0.0))

        def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            return beta_counts.cdf(at[part], r, a, b)

        return self.average(self._by_kind(poisson, beta))

    def upper_tail(self, y: ArrayLike) -> Vector:
        """Probability of at least y events, each row at its own y, shape (n_rows,).

        It is exact to full precision: for a negative binomial it is another beta
        integral.
        """
        return self._upper_tail(real_response(y, self.n_rows))

    def _upper_tail(self, y: Vector) -> Vector:
        at = np.ceil(y)[self.row]

        def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            k = at[part]
            found = special.betainc(np.maximum(k, 1.0), a, e / (b + e))
            return np.where(k >= 1.0, found, np.where(np.isnan(k), np.nan, 1.0))

        def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Vector:
            return beta_counts.sf(at[part], r, a, b)

        return self.average(self._by_kind(poisson, beta))

    def log_density(self, y: ArrayLike) -> Vector:
        """Log probability of each row's own count, shape (n_rows,)."""
        at = count_response(y, self.n_rows)[self.row]
        gammaln = special.gammaln

        def poisson(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
            k = at[part]
            return (
                gammaln(a + k) - gammaln(a) - a * np.log1p(e / b)
                - k * np.log1p(b / e) - gammaln(k + 1.0)
            )  # fmt: skip

        def beta(part: Any, a: Vector, b: Vector, r: Vector, e: Vector) -> Any:
            return beta_counts.log_pmf(at[part], r, a, b)

        log_p = self._by_kind(poisson, beta)
        if not self.n_rows:
            return log_p
        top = np.maximum.reduceat(log_p, self.start[:-1])
        with np.errstate(divide="ignore"):
            return top + np.log(self.average(np.exp(log_p - top[self.row])))

    def _least(self, level: float) -> Vector:
        mean = self.average(self.means())
        low, below = np.full(self.n_rows, -1.0), np.zeros(self.n_rows)
        high, factor = np.ceil(np.where(np.isfinite(mean), mean, 1.0)), 4.0
        above = self._cdf(high)
        while np.any(far := (above < level) & (high < FARTHEST)):
            low, below = np.where(far, high, low), np.where(far, above, below)
            high = np.where(far, np.clip(factor * high, 1.0, FARTHEST), high)
            above, factor = self._cdf(high), factor * factor

        def whole(u: Vector, low: Vector, high: Vector) -> Vector:
            return np.clip(np.floor(np.expm1(u)) - 1.0, low + 1.0, high - 1.0)

        ends = Bracket(low, high, below, above)
        return least(self._cdf, level, ends, lambda k: np.log(k + 2.0), whole, 0.0)

    def _drawn(self, part: Places, rng: np.random.Generator) -> Matrix:
        drawn: Matrix = drawn_events(self._drawn_means(part, rng), self.size[part], rng)
        return drawn


class Bracket(NamedTuple):
    """Points around a quantile and their probabilities, all of shape (n_rows,)."""

    low: Vector
    high: Vector
    below: Vector
    above: Vector


def log_odds_ratio(p: Vector, level: float) -> Vector:
    """Log odds of probabilities minus those of a level, limited to MOST_ODDS."""
    with np.errstate(divide="ignore"):
        beyond = np.maximum(1.0 - p, 0.0)  # sums may be 1 and a last digit
        found = np.log(p / level) - np.log(beyond / (1.0 - level))
    return np.asarray(np.clip(found, -MOST_ODDS, MOST_ODDS))


def least(
    cdf: Callable[[Vector], Vector],
    level: float,
    ends: Bracket,
    inward: Callable[[Vector], Vector],
    outward: Callable[[Vector, Vector, Vector], Vector],
    close: float = CLOSE,
) -> Vector:
    """Smallest points at which distribution functions reach a level.

    It uses regula falsi on log odds along a scale. An end that stays twice is given
    less weight (Anderson and Björck 1973). Every other step is a bisection if two steps
    did not halve the bracket.

    Parameters
    ----------
    cdf : callable
        Points of shape (n_rows,) -> the distribution function of each row there.
    level : float
    ends : Bracket
        Points below the level, and points at the level or above.
    inward : callable
        Points -> their positions on the scale.
    outward : callable
        Positions on the scale, and both ends -> the nearest points.
    close : float
        Width of a bracket, relative to its upper end, at which the search stops.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    low, high, below, above = ends
    below, above = log_odds_ratio(below, level), log_odds_ratio(above, level)
    last, before, step = np.zeros(len(low)), np.full(len(low), np.inf), 0
    while True:
        left, right = inward(low), inward(high)
        width = right - left
        with np.errstate(all="ignore"):
            share = below / (below - above)
        if step % 2:
            share = np.where(width > 0.5 * before, 0.5, share)
            before = width
        inside = np.clip(left + share * width, left + 0.5 * close, right - 0.5 * close)
        at = outward(inside, low, high)
        is_open = (low < at) & (at < high) & (high - low > close * high)
        if not is_open.any():
            return high
        off, step = log_odds_ratio(cdf(at), level), step + 1
        side = np.where(is_open, np.where(off >= 0.0, 1.0, -1.0), 0.0)
        with np.errstate(all="ignore"):
            fall = 1.0 - off / np.where(side > 0.0, above, below)
            fall = np.where(side == last, np.where(fall > 0.0, fall, 0.5), 1.0)
        up, down, last = side > 0.0, side < 0.0, side
        high, above = np.where(up, at, high), np.where(up, off, above)
        low, below = np.where(down, at, low), np.where(down, off, below)
        above = np.where(down, fall * above, above)
        below = np.where(up, fall * below, below)


class CountPrediction(Prediction):
    """Predictive distribution of a count of events at n_rows rows.

    Attributes
    ----------
    mean : ndarray of shape (n_rows,)
        Expected number of events at the given exposures.
    var : ndarray of shape (n_rows,)
        Predictive variance; infinite if a leaf has too few rows.
    exposure : ndarray of shape (n_rows,)
    mixture : CountMixture
        The distribution itself.
    of_mean : RateLaws
        Posterior of the expected number of events.
    df : ndarray of shape (n_rows,)
        NaN, since counts have no Student t distribution.
    """

    mixture: CountMixture  # type: ignore[assignment]
    of_mean: RateLaws  # type: ignore[assignment]
    exposure: Vector

    @classmethod
    def of_laws(
        cls, parts: Sequence[Any], exposure: Vector, spreads: Vector | None = None
    ) -> CountPrediction:
        """Return the prediction that follows from rate distributions.

        Parameters
        ----------
        parts : sequence of ndarray
            Of `RateLaws`.
        exposure : ndarray of shape (n_rows,)
            Exposures as users give them.
        spreads : ndarray of shape (n_rows,), optional
            Standard deviations by which means vary beside that.
        """
        mixture, of_mean = CountMixture(*parts), RateLaws(*parts)
        mean, var = mixture.moments()
        none = np.full(len(mean), np.nan)
        if spreads is not None:
            of_mean = of_mean._varied(spreads / np.maximum(mean, 1.0 / FARTHEST))
        found = cls(mean, var, none, mixture, of_mean)  # type: ignore[arg-type]
        found.__dict__["exposure"] = exposure
        return found

    @classmethod
    def of_sample(  # type: ignore[override]
        cls, counts: Vector, over: Vector, exposure: Vector
    ) -> CountPrediction:
        """Predictive distribution of Poisson counts under a weak prior, for every row.

        The rate is Gamma(1/2 + events, exposures); without any, it is Gamma(1/2, 1/2).

        Parameters
        ----------
        counts, over : ndarray of shape (n,)
            Counts, and their exposures.
        exposure : ndarray of shape (n_rows,)
            Exposures of the predicted counts.
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
        return self.mixture.log_density(y)

    def tail_probability(self, y: ArrayLike) -> Vector:
        """Two-sided tail probability of each row's count; small means anomalous.

        2 min(P(Y <= y), P(Y >= y)), at most 1; both tails include the count itself. If
        counts follow the prediction, at most a share alpha of rows have a tail
        probability of alpha or less. Both tails are accurate to full precision, however
        extreme the count is.

        Parameters
        ----------
        y : array_like of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._two_sided(count_response(y, len(self.mean)))

    def pit(
        self, y: ArrayLike, seed: int | np.random.Generator | None = None
    ) -> Vector:
        """Randomised probability integral transform of counts, uniform if they fit.

        F(y - 1) + u p(y) with u uniform (Czado, Gneiting and Held 2009), shape
        (n_rows,).
        """
        counts = count_response(y, len(self.mean))
        below, upto = self.mixture._cdf(counts - 1.0), self.mixture._cdf(counts)
        rng = params.generator(seed)
        return below + rng.random(len(counts)) * (upto - below)
