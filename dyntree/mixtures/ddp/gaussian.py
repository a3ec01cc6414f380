"""GaussianKnownVariance: rows about a location, with a variance that is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.emissions import AxisGaussians, Emission
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import (
    Family,
    covariance,
    frozen_value,
    label_sums,
    spread_of,
    vector,
)
from dyntree.mixtures.ddp.transitions import (
    OwnTransition,
    Parameters,
    RandomWalk,
    steps_of,
)
from dyntree.mixtures.shared.arrays import Ids, means_of
from dyntree.params.names import suggesting

LOG_2PI = float(np.log(2.0 * np.pi))
LEAST = 1e-100  # variance of a location, as a share of that of rows
FARTHEST = 1e140  # standard deviations, so that sums of squares are finite


@suggesting
@dataclass(frozen=True)
class GaussianKnownVariance(Family):
    """Gaussian rows around an unknown location, with known variance R.

    Parameters
    ----------
    variance : float, array_like of shape (n_columns,) or (n_columns, n_columns)
        The variance R, in squared units of the rows: one number for all columns, one
        for each column, or a covariance matrix. With a matrix that is not diagonal,
        `base_variance` and the steps of the locations are along its axes.
    base_mean : float or array_like of shape (n_columns,), optional
        Mean of the base, from which new particles come; by default the mean of the
        first phase.
    base_variance : float or array_like of shape (n_columns,), optional
        Variance of the base; by default the variance of the first phase. If `variance`
        is a matrix that is not diagonal, it is a single number, or one for each axis of
        the matrix beside a `base_mean` of each column, as `family_` has both.

    Notes
    -----
    Given r rows with the sum s, a location N(m, P) becomes N(v (m/P + s/R), v), where v
    = 1/(1/P + r/R) along each axis. This is the Kalman filter. Rows are relative to the
    mean of the base, and are rotated so that a covariance matrix becomes diagonal.

    Examples
    --------
    >>> GaussianKnownVariance(2.0, base_mean=0.0, base_variance=49.0)
    GaussianKnownVariance(variance=2.0, base_mean=0.0, base_variance=49.0)
    """

    variance: Any = 1.0
    base_mean: Any = None
    base_variance: Any = None

    transitions = (RandomWalk,)
    has_smoother = True
    parameter_rules = MappingProxyType({"variance": "positive"})

    def __post_init__(self) -> None:
        for name in ("variance", "base_mean", "base_variance"):
            value = frozen_value(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, float) and name != "base_mean":
                vector(name, value, 1, positive=True)
        if self.variance is None:
            raise ArgumentError("variance", "must be > 0", None)
        self._noise_matrix()

    def default_transition(self) -> RandomWalk:
        """Steps of a tenth of the variance of rows, along each axis."""
        if np.ndim(self.variance) == 0:
            return RandomWalk(0.1 * self.variance)
        noise = self._noise_matrix()
        axes = np.linalg.eigvalsh(noise) if self.is_rotated else np.diag(noise)
        return RandomWalk(0.1 * axes)

    def _noise_matrix(self) -> Matrix:
        width = np.shape(self.variance)[0] if np.ndim(self.variance) else 1
        return covariance("variance", self.variance, width)

    @property
    def is_rotated(self) -> bool:
        """Whether R is a matrix that is not diagonal."""
        if np.ndim(self.variance) < 2:
            return False
        matrix = np.array(self.variance)
        return bool(np.any(matrix != np.diag(np.diag(matrix))))

    def _axes(self) -> tuple[Vector, Matrix | None]:
        """Variances along axes, and the axes where they are not the columns."""
        if not self.is_rotated:
            return np.diag(self._matrix()).copy(), None
        return np.linalg.eigh(self._matrix())

    def _matrix(self) -> Matrix:
        return covariance("variance", self.variance, len(self.base_mean))

    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales filled in; see `Family`."""
        width = rows.shape[1]
        covariance("variance", self.variance, width)
        mean, var = self.base_mean, self.base_variance
        if mean is None:
            mean = means_of(rows)
        if var is None:
            noise = np.diag(covariance("variance", self.variance, width))
            var = spread_of(rows, vector("base_mean", mean, width), noise)
            if self.is_rotated:
                values, axes = np.linalg.eigh(self._noise_matrix())
                var = spread_of((rows - mean) @ axes, 0.0, values)
        elif self.is_rotated and np.ndim(var) and not np.ndim(self.base_mean):
            raise ArgumentError(
                "base_variance",
                "must be one number where variance is a matrix that is not diagonal",
                Message("shape {shape}", shape=np.shape(var)),
            )
        mean = vector("base_mean", mean, width)
        var = vector("base_variance", var, width, positive=True)
        return replace(self, base_mean=mean, base_variance=var)

    def origin(self) -> Vector:
        """The base's mean of each column, shape (n_columns,)."""
        return np.array(self.base_mean)

    def scaled_by_rows(self) -> NDArray[np.bool_]:
        """Which columns of the rows determine a scale that was not given."""
        return np.array([self.base_variance is None and not self.is_rotated])

    def with_units(self, fresh: Self, columns: NDArray[np.bool_]) -> Self:
        """Return the resolved family with new default scales for some columns."""
        var = np.where(columns, fresh.base_variance, self.base_variance)
        return replace(self, base_variance=vector("base_variance", var, len(var)))

    def check_rows(self, rows: Matrix, names: tuple[str, ...]) -> None:
        """Raise ValueError for rows whose squares, in units of R, are not finite."""
        least = float(np.sqrt(np.linalg.eigvalsh(self._noise_matrix())[0]))
        most = FARTHEST * least
        if np.abs(rows).max(initial=0.0) > most:
            row, column = np.argwhere(np.abs(rows) > most)[0]
            raise ArgumentError(
                "X",
                "must be at most {farthest:g} standard deviations of a row in size",
                Message(
                    "{rows:g} in row {row}, column {names!r}, and a standard "
                    "deviation of {least:g}",
                    rows=rows[row, column],
                    row=row,
                    names=names[column],
                    least=least,
                ),
                "Rescale it, or give a larger variance.",
                farthest=FARTHEST,
            )

    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""
        return {
            "family": type(self).__name__,
            "variance": self.variance,
            "base_mean": self.base_mean,
            "base_variance": self.base_variance,
        }

    def n_sums(self) -> int:
        """Length of sums."""
        return len(self.base_mean) + 2

    def _turned(self, rows: Matrix) -> Matrix:
        """Rows about the mean of the base, along the axes."""
        axes, rows = self._axes()[1], rows - np.array(self.base_mean)
        return np.ascontiguousarray(rows if axes is None else rows @ axes)

    def _turned_back(self, rows: Matrix) -> Matrix:
        """Rows as the user has them."""
        axes = self._axes()[1]
        found: Matrix = (rows if axes is None else rows @ axes.T) + self.base_mean
        return found

    def base(self) -> Vector:
        """Prior row of a new particle."""
        mean = np.zeros(len(self.base_mean))
        return np.concatenate([mean, np.broadcast_to(self.base_variance, mean.shape)])

    def emission(self, priors: Matrix, rows: Matrix) -> Emission:
        """Rows and priors as the core takes them."""
        return AxisGaussians(
            np.ascontiguousarray(priors), self._turned(rows), self._axes()[0]
        )

    def sums(self, rows: Matrix, labels: Ids, n: int) -> Matrix:
        """Sums of the rows of each label."""
        turned, noise = self._turned(rows), self._axes()[0]
        squares = (turned * turned / noise).sum(axis=1)
        ones = np.ones(len(rows))
        return label_sums(np.column_stack([ones, turned, squares]), labels, n)

    def posterior(self, priors: Matrix, sums: Matrix) -> Matrix:
        """Prior rows updated by the sums of rows."""
        mean, var = np.split(priors, 2, axis=1)
        noise = self._axes()[0]
        v = 1.0 / (1.0 / var + sums[:, :1] / noise)
        return np.hstack([v * (mean / var + sums[:, 1:-1] / noise), v])

    def stepped(self, priors: Matrix, transition: OwnTransition) -> Matrix:
        """Prior rows one phase later, by a random walk."""
        assert isinstance(transition, RandomWalk)
        mean, var = np.split(priors, 2, axis=1)
        a, least = transition.reversion, LEAST * self._axes()[0]
        steps = steps_of("variance", transition.variance, mean.shape[1])
        var = np.maximum(a * a * var + steps, least)
        return np.hstack([a * mean, var])

    def parameters(self, priors: Matrix) -> Parameters:
        """Mean of the location, and its variance along each axis."""
        return {"mean": self.means(priors), "variance": np.split(priors, 2, axis=1)[1]}

    def with_parameters(self, found: Parameters) -> Matrix:
        """Prior rows of these means and variances."""
        var = np.maximum(found["variance"], LEAST * self._axes()[0])
        return np.hstack([self._turned(found["mean"]), var])

    def is_sound(self, priors: Matrix) -> bool:
        """Whether these are valid prior rows."""
        return bool(np.all(np.split(priors, 2, axis=1)[1] > 0.0))

    def log_marginal(self, priors: Matrix, sums: Matrix) -> Vector:
        """Log marginal likelihood of the rows behind sums."""
        mean, var = np.split(priors, 2, axis=1)
        noise = self._axes()[0]
        post_mean, post_var = np.split(self.posterior(priors, sums), 2, axis=1)
        fit = mean**2 / var - post_mean**2 / post_var
        logs = np.log(var / post_var) + sums[:, :1] * (LOG_2PI + np.log(noise))
        total: Vector = -0.5 * (sums[:, -1] + np.sum(fit + logs, axis=1))
        return total

    def n_free(self, n_columns: int) -> int:
        """Free parameters of a particle: its location."""
        return n_columns

    def means(self, priors: Matrix) -> Matrix:
        """Mean of the rows of each particle."""
        return self._turned_back(np.split(priors, 2, axis=1)[0])

    def covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the location of each particle."""
        var, axes = np.split(priors, 2, axis=1)[1], self._axes()[1]
        turn = np.eye(var.shape[1]) if axes is None else axes
        found: Matrix = np.einsum("ij,kj,lj->kil", turn, var, turn)
        return found

    def row_covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the rows of each particle about its location."""
        return np.repeat(self._matrix()[None], len(priors), axis=0)

    def draw(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw rows, each around its own location."""
        mean, var = np.split(prior, 2)
        noise = self._axes()[0]
        rows = mean + np.sqrt(var + noise) * rng.normal(size=(n, len(mean)))
        return self._turned_back(rows)

    def distances(self, priors: Matrix, most: float = np.inf) -> Matrix:
        """Mahalanobis distances of the centres under R."""
        mean = np.split(priors, 2, axis=1)[0] / np.sqrt(self._axes()[0])
        found: Matrix = np.sqrt(((mean[:, None] - mean) ** 2).sum(axis=2))
        return found

    def smoothed(
        self, filtered: Matrix, predicted: Matrix, transition: RandomWalk
    ) -> Matrix:
        """Prior rows of all phases given all phases (Rauch, Tung and Striebel 1965).

        `filtered` and `predicted` are prior rows after and before each phase.
        """
        width, a = filtered.shape[1] // 2, transition.reversion
        out = filtered.copy()
        for t in range(len(out) - 2, -1, -1):
            ahead = predicted[t + 1, width:]
            gain = a * filtered[t, width:] / ahead
            out[t, :width] += gain * (out[t + 1, :width] - predicted[t + 1, :width])
            out[t, width:] += gain**2 * (out[t + 1, width:] - ahead)
        return out
