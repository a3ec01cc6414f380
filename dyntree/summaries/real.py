"""Predictions of numbers: mixtures of Student t laws, without the model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from dyntree import params
from dyntree._core import student_mixture as core
from dyntree._core.trees.leaf import LEAST_DF
from dyntree.encoding.targets import real_response
from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.records import Record


def student_log_density(distance: Vector, scale: Vector, df: Vector) -> Vector:
    """Log density of Student's t at a distance from its centre; finite in the tails."""
    with np.errstate(all="ignore"):
        log_ratio = 2.0 * (np.log(np.abs(distance)) - np.log(scale)) - np.log(df)
        density: Vector = (
            gammaln((df + 1.0) / 2.0)
            - gammaln(df / 2.0)
            - 0.5 * np.log(df * np.pi)
            - np.log(scale)
            - (df + 1.0) / 2.0 * np.logaddexp(0.0, log_ratio)
        )
    return density


def freeze(*arrays: NDArray[Any]) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.setflags(False)  # type: ignore[call-arg] # twice as fast as by name


class RowMixture(ABC):
    """A mixture distribution for each of n_rows rows.

    Row j has the components ``start[j] .. start[j + 1] - 1``; every row has one at
    least, and its weights sum to one.
    """

    start: NDArray[np.int64]
    weight: Vector

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def row(self) -> NDArray[np.int64]:
        """Row of each component, shape (n_components,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    def average(self, values: Vector) -> Vector:
        """Weighted mean per row of one value for each component, shape (n_rows,)."""
        if not self.n_rows:
            return np.empty(0)
        total: Vector = np.add.reduceat(self.weight * values, self.start[:-1])
        return total

    def cdf(self, y: ArrayLike) -> Vector:
        """Probability of at most y, each row at its own y, shape (n_rows,)."""
        return self._cdf(real_response(y, self.n_rows))

    @abstractmethod
    def _cdf(self, y: Vector) -> Vector:
        """Distribution function at points that were checked."""

    def quantile(self, q: ArrayLike) -> Vector:
        """Quantiles of each row.

        Parameters
        ----------
        q : float or array_like of shape (n_q,)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_q) for a sequence of probabilities
        """
        levels = params.probabilities("q", q)
        values = self._quantiles(levels.reshape(-1))
        return values[:, 0] if levels.ndim == 0 else values

    def quantiles(self, levels: ArrayLike) -> Matrix:
        """Quantiles of each row at several probabilities, shape (n_rows, n_levels)."""
        return self._quantiles(params.probabilities("levels", levels).reshape(-1))

    @abstractmethod
    def _quantiles(self, levels: Vector) -> Matrix:
        """Quantiles at probabilities that were checked, shape (n_rows, n_levels)."""

    def sample(self, n: int, seed: int | np.random.Generator | None = None) -> Matrix:
        """Independent draws, shape (n, n_rows)."""
        n, rng = params.count("n", n, 0), params.generator(seed)
        ends = np.add.accumulate(self.weight)
        before = np.concatenate([[0.0], ends])[self.start[:-1]]
        u = before + rng.random((n, self.n_rows)) * (ends[self.start[1:] - 1] - before)
        part = np.searchsorted(ends, u, side="right")
        return self._drawn(np.clip(part, self.start[:-1], self.start[1:] - 1), rng)

    @abstractmethod
    def _drawn(self, part: NDArray[np.int64], rng: np.random.Generator) -> Matrix:
        """One draw from each of these components, in an array of the same shape."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class StudentMixture(RowMixture, Record):
    """A mixture of Student t distributions for each of n_rows rows.

    Row j has the components ``start[j] .. start[j + 1] - 1``; every row has one at
    least, and its weights sum to one.

    Parameters
    ----------
    start : ndarray of int64 of shape (n_rows + 1,)
    weight, location, scale, df : ndarray of shape (n_components,)

    Notes
    -----
    Quantiles are those of a distribution function that is accurate to 1e-13 at any df.
    Infinite and zero scales give their limits, and a component without degrees of
    freedom makes its row NaN.
    """

    start: NDArray[np.int64]
    weight: Vector
    location: Vector
    scale: Vector
    df: Vector

    def __init__(
        self,
        start: NDArray[np.int64],
        weight: Vector,
        location: Vector,
        scale: Vector,
        df: Vector,
    ) -> None:
        freeze(start, weight, location, scale, df)
        self.__dict__.update(  # half the time of a dataclass's own, once a prediction
            start=start, weight=weight, location=location, scale=scale, df=df
        )

    @property
    def _parts(self) -> tuple[NDArray[np.int64], Vector, Vector, Vector, Vector]:
        return self.start, self.weight, self.location, self.scale, self.df

    def _cdf(self, y: Vector) -> Vector:
        return core.cdf(*self._parts, y)

    def upper_tail(self, y: ArrayLike) -> Vector:
        """Probability of >= y, each row at its own y, to full precision, (n_rows,).

        It is computed from the distribution function of the mirrored mixture.
        """
        return self._upper_tail(real_response(y, self.n_rows))

    def _upper_tail(self, y: Vector) -> Vector:
        mirrored = self.start, self.weight, -self.location, self.scale, self.df
        return core.cdf(*mirrored, -y)

    def log_density(self, y: ArrayLike) -> Vector:
        """Log density of each row at its own y, shape (n_rows,)."""
        return core.log_density(*self._parts, real_response(y, self.n_rows))

    def _quantiles(self, levels: Vector) -> Matrix:
        return core.quantiles(*self._parts, levels, params.n_threads())

    def _drawn(self, part: NDArray[np.int64], rng: np.random.Generator) -> Matrix:
        df = self.df[part]
        draws = np.full(df.shape, np.nan)  # where a component is no distribution
        draws[df > 0.0] = rng.standard_t(df[df > 0.0])
        result: Matrix = self.location[part] + self.scale[part] * draws
        return result


class Distribution(Record):
    """A predictive distribution, which is no array: errors say what has one."""

    _arrays = ""  # what has arrays, for a message

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} is a distribution and no array. {self._arrays}"
        )

    def __bool__(self) -> bool:
        return True

    __iter__ = __getitem__ = __len__ = __array__ = _refuse


NUMBERS = (
    "The responses were learned as numbers. If they are labels, pass model='class' to "
    "the model."
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Prediction(Distribution):
    """Predictive distribution of a real response at n_rows rows.

    Each row's distribution is the equally weighted mixture of the particles' Student
    t's (Taddy, Gramacy and Polson 2011, section 2.2).

    Attributes
    ----------
    mean : ndarray of shape (n_rows,)
        Predictive mean.
    var : ndarray of shape (n_rows,)
        Predictive variance: the mean variance of the particles plus the variance of
        their means. Leaves of fewer than three rows have fewer than three degrees of
        freedom. Native rules use three for them; under R's rules the variance is not
        finite. Quantiles, densities and draws keep the tails that such leaves have, so
        that draws may spread far more than `std`: after few rows, or where inputs are
        missing and many small leaves predict.
    df : ndarray of shape (n_rows,)
        Degrees of freedom, averaged over particles.
    mixture : StudentMixture
        The distribution itself.
    of_mean : StudentMixture
        Posterior of the mean response, without noise. In a leaf, let P be the posterior
        precision of the coefficients (in units of the noise) and IG(a, b) the posterior
        of the noise variance. The mean at w then has a Student t distribution around
        the prediction of the leaf, with 2a degrees of freedom and the scale
        sqrt(b / a w'P^-1 w) (O'Hagan and Forster 2004, section 11.4).
    """

    mean: Vector
    var: Vector
    df: Vector
    mixture: StudentMixture
    of_mean: StudentMixture
    _arrays = "Use mean, std, quantile(q) or sample(n) of it."
    _hints = MappingProxyType(
        dict.fromkeys(("proba", "label", "labels", "classes", "entropy"), NUMBERS)
        | dict.fromkeys(
            ("interval", "quantiles", "conf_int", "predict_interval"),
            "quantile([0.05, 0.95]) has an interval of 90 %.",
        )
        | dict.fromkeys(("ppf", "confint"), "quantile(q) has it.")
        | {
            "mu": "mean has it.",
            "median": "quantile(0.5) has it.",
            "values": "Use mean or quantile(q).",
        }
    )
    _least_df = 0.0  # for which fewer degrees of freedom count in variances

    def __init__(
        self,
        mean: Vector,
        var: Vector,
        df: Vector,
        mixture: StudentMixture,
        of_mean: StudentMixture,
        least_df: float = 0.0,
    ) -> None:
        freeze(mean, var, df)
        self.__dict__.update(
            mean=mean, var=var, df=df, mixture=mixture, of_mean=of_mean
        )
        self.__dict__["_least_df"] = least_df

    @classmethod
    def of(
        cls, mixture: StudentMixture, of_mean: StudentMixture, least_df: float = 0.0
    ) -> Prediction:
        """Return a mixture together with its moments and the mixture of its mean."""
        moments = core.moments(*mixture._parts, least_df=least_df)
        return cls(*moments, mixture, of_mean, least_df)

    @classmethod
    def of_mixture(
        cls, parts: Sequence[Any], n_threads: int = 1, least_df: float = 0.0
    ) -> Prediction:
        """Return predictive distributions from mixtures of the core, one per row.

        Parameters
        ----------
        parts : sequence of ndarray
            Start, weight, location, scale, degrees of freedom, and the scale of the
            mean, as of `StudentMixture`.
        n_threads : int, default 1
            Threads over rows.
        least_df : float, default 0.0
            Least degrees of freedom of a component in variances.
        """
        start, weight, location, scale, df, of_mean = parts
        return cls(
            *core.moments(start, weight, location, scale, df, n_threads, least_df),
            StudentMixture(start, weight, location, scale, df),
            StudentMixture(start, weight, location, of_mean, df),
            least_df,
        )

    @classmethod
    def of_sample(cls, values: Sequence[float], n_rows: int) -> Prediction:
        """Predictive distribution of a normal sample under a flat prior, for every row.

        It is Student's t around the mean with n - 1 degrees of freedom; variances use
        at least three. Without two distinct values the scale is infinite, and without
        any value the location is 0.

        Parameters
        ----------
        values : sequence of float of length n
        n_rows : int
        """
        n, df, spread = len(values), 1.0, np.inf
        location = float(np.mean(values)) if n else 0.0
        if n > 1 and np.ptp(values) > 0.0:
            df, spread = float(n - 1), float(np.std(values, ddof=1))
        start, one = np.arange(n_rows + 1), np.ones(n_rows)
        of_new, of_mean = (
            StudentMixture(start, one, location * one, spread * scale * one, df * one)
            for scale in (np.sqrt(1.0 + 1.0 / max(n, 1)), np.sqrt(1.0 / max(n, 1)))
        )
        return cls.of(of_new, of_mean, LEAST_DF)

    def shifted(self, by: Vector) -> Prediction:
        """Return the prediction shifted by a known amount.

        Parameters
        ----------
        by : ndarray of shape (n_rows,)

        Returns
        -------
        Prediction
        """
        mixture, of_mean = (
            StudentMixture(
                one.start, one.weight, one.location + by[one.row], one.scale, one.df
            )
            for one in (self.mixture, self.of_mean)
        )
        mean = self.mean + by
        return Prediction(mean, self.var, self.df, mixture, of_mean, self._least_df)

    @property
    def std(self) -> Vector:
        """Standard deviation of each response, sqrt(`var`), shape (n_rows,)."""
        return np.sqrt(self.var)

    @property
    def mean_se(self) -> Vector:
        """Standard deviation of the posterior of the mean, shape (n_rows,).

        Degrees of freedom count as in `var`, unlike in posterior draws. A single cloud
        of trees understates the uncertainty of the mean. Clouds that learned the rows
        in different orders (`AveragedTrees`) understate it less.
        """
        _, variance, _ = core.moments(*self.of_mean._parts, 1, self._least_df)
        return np.sqrt(variance)

    def quantile(self, q: ArrayLike) -> Vector:
        """Quantiles of the predictive distribution.

        Parameters
        ----------
        q : float or array_like of shape (n_q,)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_q) for a sequence of probabilities
            All but the median are infinite before two distinct responses were learned,
            because the scale is then infinite.
        """
        return self.mixture.quantile(q)

    def cdf(self, y: ArrayLike) -> Vector:
        """Probability of a response <= y, each row at its own y, shape (n_rows,)."""
        return self.mixture.cdf(y)

    def log_density(self, y: ArrayLike) -> Vector:
        """Log predictive density, each row at its own y, shape (n_rows,)."""
        return self.mixture.log_density(y)

    def tail_probability(self, y: ArrayLike) -> Vector:
        """Two-sided tail probability of each row's response; small means anomalous.

        2 min(P(Y <= y), P(Y >= y)), at most 1; both tails are accurate to full
        precision, however extreme the response is. If responses follow the prediction,
        it is uniform.

        Parameters
        ----------
        y : array_like of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> from dyntree import DynamicTree
        >>> tree = DynamicTree("constant", n_particles=50, seed=1)
        >>> tree = tree.update([[k] for k in range(40)], [k % 5 for k in range(40)])
        >>> prediction = tree.predict([[20], [20]])
        >>> prediction.tail_probability([2.0, 50.0]).round(1)
        array([1., 0.])
        """
        return self._two_sided(real_response(y, len(self.mean)))

    def _two_sided(self, at: Vector) -> Vector:
        """Two-sided tail probability at responses that were checked."""
        lower = upper = self.mixture._cdf(at)
        if np.any(lower > 0.5):  # else the lower tail is the smaller one
            upper = self.mixture._upper_tail(at)
        return np.minimum(2.0 * np.minimum(lower, upper), 1.0)

    def sample(self, n: int, seed: int | np.random.Generator | None = None) -> Matrix:
        """Draw n responses per row, ndarray of shape (n, n_rows)."""
        return self.mixture.sample(n, seed)
