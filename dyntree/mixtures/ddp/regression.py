"""GaussianUnknown and AffineFlow: rows whose covariance is unknown as well."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dyntree import params
from dyntree._core.mixtures.emissions import Emission
from dyntree._core.mixtures.regressions import Regressions
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.ddp.blocks import (
    Block,
    Natural,
    log_normaliser,
    natural,
    of_usual,
    prior_block,
)
from dyntree.mixtures.ddp.families import (
    Family,
    covariance,
    frozen_value,
    label_sums,
    spread_of,
    vector,
)
from dyntree.mixtures.ddp.scales import MOST_KAPPA, partition, scale_of
from dyntree.mixtures.ddp.shapes import chosen
from dyntree.mixtures.ddp.transitions import (
    ConstantVelocity,
    Discount,
    OwnTransition,
    Parameters,
    steps_of,
)
from dyntree.mixtures.shared.arrays import Ids, constants, means_of
from dyntree.params.names import suggesting

LEAST_KAPPA = 1e-100  # rows that a centre is known from, after any step
OF_SPREAD = 0.1  # default scale of the base, over the variances of rows
OF_VELOCITY = 0.01  # the same of velocities
AHEAD = np.array([[1.0, 1.0], [0.0, 1.0]])  # centre and velocity a phase later
BROWNIAN = np.array([[1.0 / 3.0, 0.5], [0.5, 1.0]])  # what a changing velocity adds


def rescaled(scale: Any, columns: NDArray[np.bool_], diagonal: Any) -> Any:
    """A scale with other entries for some columns, in which it is diagonal."""
    matrix = np.array(scale)
    np.fill_diagonal(matrix, np.where(columns, diagonal, np.diag(matrix)))
    return covariance("scale", matrix, len(matrix))


class Regression(Family):
    """Normal-inverse-Wishart blocks, centred at the mean of the base."""

    transitions: tuple[type, ...] = (Discount,)
    parameter_rules = MappingProxyType({
        "kappa": "positive", "df": "positive", "scale": "definite",
        "precision": "definite", "velocity_df": "positive",
        "velocity_scale": "definite",
    })  # fmt: skip

    def default_transition(self) -> Discount:
        """Sums that fade by a tenth each phase."""
        return Discount(0.9)

    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of a prior row."""

    @abstractmethod
    def origin(self) -> Vector:
        """What is taken off rows, shape (n_columns,)."""

    def check_rows(self, rows: Matrix, names: tuple[str, ...]) -> None:
        """Raise ValueError for rows without a density."""
        return

    def n_sums(self) -> int:
        """Length of sums."""
        return sum(block.size for block in self.blocks())

    def in_units(
        self, columns: NDArray[np.bool_], sums: Matrix, is_prior: bool
    ) -> Matrix:
        """Prior rows or sums of the family before `with_units`; see `Family`."""
        found, base = [], self._parts(self.base()[None])
        for part, after, (first, d, p) in zip(
            self._parts(sums), base, self.blocks(), strict=True
        ):
            own, regressors = self._columns_of(columns, first, d, p)
            unit = np.diag(after.square[0])  # base means of these columns are 0
            expected = unit / scale_of(1.0, after.nu[0], d)
            n = part.nu - is_prior * after.nu[0]
            square = np.einsum("nii->ni", part.square)
            square[:, own] = (is_prior * unit + n[:, None] * expected)[:, own]
            slopes = np.einsum("nii->ni", part.precision)[:, 1:]
            slopes[:, regressors] = (
                is_prior * np.diag(after.precision[0])[1:][regressors]
            )
            found.append(part.flat())
        return np.hstack(found)

    def _columns_of(
        self, columns: NDArray[np.bool_], first: int, d: int, p: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of some columns are responses of a block, and which regressors."""
        return columns[first : first + d], columns[: p - 1]

    def _designed(self, rows: Matrix) -> Matrix:
        """Rows about the origin, with regressors before their responses."""
        return rows - self.origin()

    def _parts(self, flat: Matrix) -> list[Natural]:
        """Parts of prior rows, block by block."""
        ends = np.cumsum([block.size for block in self.blocks()])[:-1]
        pieces = np.split(flat, ends, axis=1)
        return [natural(f, b) for f, b in zip(pieces, self.blocks(), strict=True)]

    def emission(self, priors: Matrix, rows: Matrix) -> Emission:
        """Rows and priors as the core takes them."""
        return Regressions(
            np.ascontiguousarray(priors),
            np.ascontiguousarray(self._designed(rows)),
            np.array(self.blocks(), dtype=np.int32),
        )

    def sums(self, rows: Matrix, labels: Ids, n: int) -> Matrix:
        """Sums of the rows of each label."""
        rows = self._designed(rows)
        parts = []
        for first, d, p in self.blocks():
            z = np.column_stack([np.ones(len(rows)), rows[:, : p - 1]])
            y = rows[:, first : first + d]
            parts.append(
                Natural(
                    np.ones(len(rows)), z[:, :, None] * z[:, None],
                    z[:, :, None] * y[:, None], y[:, :, None] * y[:, None],
                ).flat()
            )  # fmt: skip
        return label_sums(np.hstack(parts), labels, n)

    def posterior(self, priors: Matrix, sums: Matrix) -> Matrix:
        """Prior rows updated by the sums of rows."""
        return priors + sums

    def stepped(self, priors: Matrix, transition: OwnTransition) -> Matrix:
        """Prior rows one phase later, by a discount."""
        assert isinstance(transition, Discount)
        base = self.base()
        out = base + transition.delta * (priors - base)
        if np.any(transition.walk) or transition.relative_walk:
            out[:, : self.blocks()[0].size] = self._walked(out, transition)
        return out

    def _walked(self, priors: Matrix, transition: Discount) -> Matrix:
        """The first block once its centre has taken a step."""
        part = self._parts(priors)[0]
        d = part.square.shape[1]
        kappa, mean, scale = part.precision[:, 0, 0], part.coefficients, part.scale
        walk = transition.walk
        steps, variances = steps_of("walk", walk, d), np.diagonal(part.sigma, 0, 1, 2)
        with np.errstate(over="ignore"):
            if np.ndim(walk):
                more = (steps / variances).mean(axis=1)
            else:
                more = steps[0] * d / variances.sum(axis=1)
        more = more + transition.relative_walk
        kappa = np.maximum(1.0 / (1.0 / kappa + more), LEAST_KAPPA)
        return of_usual(part.nu, kappa[:, None, None], mean, scale).flat()

    def parameters(self, priors: Matrix) -> Parameters:
        """Usual parameters of the locations, and of the flow if there is one."""
        part, *flows = self._parts(priors)
        d = part.square.shape[1]
        found = {
            "mean": part.coefficients[:, 0] + self.origin()[:d],
            "kappa": part.precision[:, 0, 0], "df": part.nu, "scale": part.scale,
        }  # fmt: skip
        for flow in flows:
            found |= {
                "coefficients": flow.coefficients, "precision": flow.precision,
                "velocity_df": flow.nu, "velocity_scale": flow.scale,
            }  # fmt: skip
        return found

    def with_parameters(self, found: Parameters) -> Matrix:
        """Prior rows of these parameters."""
        d = found["scale"].shape[1]
        for name in {"df", "velocity_df"} & set(found):
            if np.any(found[name] <= d - 1.0):
                raise ArgumentError(
                    "transition",
                    "must return {label} > {d} for {d_2} columns",
                    found[name].min(),
                    label=name,
                    d=d - 1,
                    d_2=d,
                )
        mean = (found["mean"] - self.origin()[:d])[:, None]
        kappa = found["kappa"][:, None, None]
        flat = of_usual(found["df"], kappa, mean, found["scale"]).flat()
        if "coefficients" not in found:
            return flat
        names = ("velocity_df", "precision", "coefficients", "velocity_scale")
        return np.hstack([flat, of_usual(*(found[name] for name in names)).flat()])

    def is_sound(self, priors: Matrix) -> bool:
        """Whether these are valid prior rows."""
        for part in self._parts(priors):
            d = part.square.shape[1]
            diagonal = np.diagonal(part.square, axis1=1, axis2=2)
            if np.any(part.nu <= d - 1.0) or np.any(diagonal <= 0.0):
                return False
            if np.any(np.linalg.eigvalsh(part.precision) <= 0.0):
                return False
        return True

    def log_marginal(self, priors: Matrix, sums: Matrix) -> Vector:
        """Log marginal likelihood of the rows behind sums."""
        total = np.zeros(len(priors))
        after = self._parts(priors + sums)
        for prior, post in zip(self._parts(priors), after, strict=True):
            d = prior.square.shape[1]
            total += log_normaliser(post) - log_normaliser(prior)
            total -= 0.5 * sums[:, 0] * d * np.log(np.pi)
        return total

    def n_free(self, n_columns: int) -> int:
        """Free parameters of a particle: coefficients and covariances of blocks."""
        return sum(p * d + d * (d + 1) // 2 for _, d, p in self.blocks())

    def means(self, priors: Matrix) -> Matrix:
        """Mean location of each particle; for flows, with the mean velocity there."""
        parts = self._parts(priors)
        centre = parts[0].coefficients[:, 0]
        found = [centre]
        for part in parts[1:]:
            z = np.hstack([np.ones((len(centre), 1)), centre])
            found.append(np.einsum("np,npd->nd", z, part.coefficients))
        return np.hstack(found) + self.origin()

    def covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the location of each particle."""
        parts = self._parts(priors)
        width = sum(block.d for block in self.blocks())
        out = np.zeros((len(priors), width, width))
        centre = parts[0].coefficients[:, 0]
        z = np.hstack([np.ones((len(centre), 1)), centre])
        for part, (first, d, p) in zip(parts, self.blocks(), strict=True):
            h = np.einsum(
                "np,npq,nq->n", z[:, :p], np.linalg.inv(part.precision), z[:, :p]
            )
            out[:, first : first + d, first : first + d] = h[:, None, None] * part.sigma
        return out

    def row_covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the rows of each particle about location and field."""
        width = sum(block.d for block in self.blocks())
        out = np.zeros((len(priors), width, width))
        for part, (first, d, _) in zip(self._parts(priors), self.blocks(), strict=True):
            out[:, first : first + d, first : first + d] = part.sigma
        return out

    def draw(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw rows, each around its own location."""
        rows = np.zeros((n, len(self.origin())))
        for part, (first, d, p) in zip(
            self._parts(prior[None]), self.blocks(), strict=True
        ):
            z = np.column_stack([np.ones(n), rows[:, : p - 1]])
            root = np.linalg.cholesky(part.scale[0])
            h = np.einsum("np,pq,nq->n", z, np.linalg.inv(part.precision[0]), z)
            df = part.nu[0] - d + 1.0
            stretch = np.sqrt((1.0 + h) / rng.chisquare(df, size=n))
            noise = rng.normal(size=(n, d)) @ root.T
            rows[:, first : first + d] = (
                z @ part.coefficients[0] + stretch[:, None] * noise
            )
        return rows + self.origin()

    def distances(self, priors: Matrix, most: float = np.inf) -> Matrix:
        """Mahalanobis distances of the centres under the pooled covariances of rows.

        Each axis is a lower bound, which is returned if it exceeds `most`.
        """
        means, sigma = self.means(priors), self.row_covariances(priors)
        variances = np.diagonal(sigma, axis1=1, axis2=2)
        found = np.zeros((len(means), len(means)))
        for k in range(len(means) - 1):
            step, pooled = means[k + 1 :] - means[k], variances[k + 1 :] + variances[k]
            axes = 2.0 * step**2 / pooled
            found[k, k + 1 :] = np.sqrt(axes.max(axis=1))
            for at in np.flatnonzero(found[k, k + 1 :] <= most).tolist():
                other = k + 1 + at
                try:
                    root = np.linalg.cholesky(0.5 * (sigma[k] + sigma[other]))
                except np.linalg.LinAlgError:  # scales too far apart: by axes alone
                    square = axes[at].sum()
                else:
                    square = (solve_triangular(root, step[at], lower=True) ** 2).sum()
                found[k, other] = np.sqrt(square)
        return found + found.T


@suggesting
@dataclass(frozen=True)
class GaussianUnknown(Regression):
    """Gaussian rows of unknown mean and covariance: normal-inverse-Wishart.

    Parameters
    ----------
    base_mean : float or array_like of shape (n_columns,), optional
        Mean of the base; by default the mean of the first phase.
    kappa : float, optional
        Number of rows to which the base's mean is equivalent, > 0. By default it is
        chosen together with `scale`, or is 0.05 if `scale` is given.
    df : float, optional
        Degrees of freedom, > n_columns - 1. By default they are chosen together with
        `scale`, or are n_columns + 2 if `scale` is given.
    scale : float or array_like, optional
        Psi of the base: a number, one for each column, or a matrix. With the default
        `df` it is the expected covariance. By default this is a share of the variances
        of the first rows, which is chosen by evidence.

    Notes
    -----
    Sigma ~ IW(Psi, df), mu | Sigma ~ N(m, Sigma / kappa). When the knowledge of a
    centre fades, the centre moves towards the base.

    The default scales have the highest evidence for the first rows (empirical Bayes),
    over partitions of it from 40 cells of k-means++ down to one cluster. The share is a
    power of two down to 2^-16, kappa is half of it and at most 0.05, and the degrees of
    freedom are n_columns + 2, 6, 14 and so on up to 510. The share refers to all
    variances or, if clusters are far apart along a column or a principal axis, to the
    shares within clusters along each of these (up to 64 columns). Scales are compared
    as if centres had the spread of all rows. The units of the columns make no
    difference. The first rows are those of the first phase. When twice as many have
    come as for the last choice, scales are chosen again, until a choice has had 200
    rows; all phases are then learned again. Give `scale` if the first phase is not
    like later ones.

    In a column of few values (eight rows each or more), a row stands for places up to
    the next values to both sides: rows are learned at random places there.

    Examples
    --------
    >>> GaussianUnknown(base_mean=0.0, scale=2.0)
    GaussianUnknown(base_mean=0.0, kappa=None, df=None, scale=2.0)
    """

    base_mean: Any = None
    kappa: float | None = None
    df: float | None = None
    scale: Any = None

    def __post_init__(self) -> None:
        for name in ("kappa", "df"):
            if getattr(self, name) is not None:
                value = params.positive(name, getattr(self, name))
                object.__setattr__(self, name, value)
        for name in ("base_mean", "scale"):
            value = frozen_value(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, float) and name == "scale":
                vector(name, value, 1, positive=True)

    def default_transition(self) -> Discount:
        """Sums that fade by a tenth, and steps of a fifth of the rows' covariance."""
        return Discount(0.9, relative_walk=0.2)

    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales filled in; see `Family`."""
        width = rows.shape[1]
        mean = means_of(rows) if self.base_mean is None else self.base_mean
        mean = vector("base_mean", mean, width)
        if self.df is not None and not self.df > width - 1:
            raise ArgumentError(
                "df", f"must be > n_columns - 1, which is {width - 1}", self.df
            )
        filled = self if self.scale is not None else self._scaled(rows, mean)
        return replace(
            self, base_mean=mean,
            kappa=MOST_KAPPA if filled.kappa is None else filled.kappa,
            df=width + 2.0 if filled.df is None else filled.df,
            scale=covariance("scale", filled.scale, width),
        )  # fmt: skip

    def _scaled(self, rows: Matrix, mean: Vector) -> Self:
        """The family with the scales of highest evidence for some rows."""
        spread, varying = spread_of(rows, mean), ~constants(rows)
        if not varying.any():
            return self.with_tenth(rows)
        rows = (rows - mean)[:, varying] / np.sqrt(spread[varying])
        more = len(spread) - rows.shape[1]  # of degrees of freedom
        df = None if self.df is None else max(self.df - more, rows.shape[1] - 0.5)
        found = chosen(rows, self.kappa, df)
        df = found.df + more if self.df is None else self.df
        scale = np.diag(np.diag(found.scale).max() * spread)
        units = np.sqrt(spread[varying])
        scale[np.ix_(varying, varying)] = units[:, None] * found.scale * units
        scale = scale_of(scale, df, len(spread))
        return replace(self, kappa=found.kappa, df=df, scale=scale)

    def with_tenth(self, rows: Matrix) -> Self:
        """The family with a tenth of the variances of rows where no scale was given."""
        if self.scale is not None:
            return self
        mean = means_of(rows) if self.base_mean is None else self.base_mean
        return replace(self, scale=OF_SPREAD * spread_of(rows, mean))

    def partition(self, rows: Matrix) -> Ids:
        """Labels of rows that may all belong to new clusters; see `Family`."""
        assert self.kappa is not None
        assert self.df is not None
        root = np.linalg.cholesky(np.array(self.scale))
        units = solve_triangular(root, (rows - self.origin()).T, lower=True).T
        return partition(units, self.kappa, self.df)

    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""
        return {
            "family": type(self).__name__, "base_mean": self.base_mean,
            "kappa": self.kappa, "df": self.df, "scale": self.scale,
        }  # fmt: skip

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of a prior row."""
        return (Block(0, len(self.base_mean), 1),)

    def origin(self) -> Vector:
        """The values that are subtracted from rows."""
        return np.array(self.base_mean)

    def scaled_by_rows(self) -> NDArray[np.bool_]:
        """Which columns of the rows determine a scale that was not given."""
        return np.array([self.scale is None])

    @property
    def knows_widths(self) -> bool:
        """Whether the widths of clusters were given instead of chosen from rows."""
        return self.scale is not None

    def with_units(self, fresh: Self, columns: NDArray[np.bool_]) -> Self:
        """Return the resolved family with new default scales for some columns."""
        d = len(columns)
        same = scale_of(1.0, self.df, d) / scale_of(1.0, fresh.df, d)
        diagonal = same * np.diag(np.array(fresh.scale))
        return replace(self, scale=rescaled(self.scale, columns, diagonal))

    def base(self) -> Vector:
        """Prior row of a new particle."""
        width = len(self.base_mean)
        precision = np.array([[self.kappa]])
        assert self.df is not None
        return prior_block(
            np.zeros((1, width)), precision, self.df, np.array(self.scale)
        )


@suggesting
@dataclass(frozen=True)
class AffineFlow(Regression):
    """Pairs of a location x and a velocity v = B'(1, x - c) + noise, all unknown.

    Parameters
    ----------
    location : GaussianUnknown, optional
        Family of the locations x, the first half of the columns.
    level_precision, slope_precision : float, default 0.01 and 0.1
        Number of rows to which the prior is equivalent: no movement at c, and no change
        of the movement around c; > 0.
    velocity_df : float, optional
        Degrees of freedom of the noise; by default half the columns + 2.
    velocity_scale : float or array_like, optional
        Scale of the noise: a number, one for each column of v, or a matrix. By default
        it is a hundredth of the variances of v in the first phase.
    location_variance : float or array_like, optional
        Variances of x, for all columns or for each. The prior of a slope is equivalent
        to `slope_precision` rows with these variances. By default they are those of the
        first phase.

    Notes
    -----
    The first half of the columns is x, and the second half is v. x is
    normal-inverse-Wishart. Given x, v is a multivariate regression on 1 and x - c with
    a matrix-normal-inverse-Wishart prior, where c is the base mean of the locations.

    Examples
    --------
    >>> AffineFlow(slope_precision=1.0).slope_precision
    1.0
    """

    location: GaussianUnknown = field(default_factory=GaussianUnknown)
    level_precision: float = 0.01
    slope_precision: float = 0.1
    velocity_df: float | None = None
    velocity_scale: Any = None
    location_variance: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.location, GaussianUnknown):
            raise ArgumentError("location", "must be a GaussianUnknown", self.location)
        for name in ("level_precision", "slope_precision", "velocity_df"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, params.positive(name, value))
        for name in ("velocity_scale", "location_variance"):
            value = frozen_value(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, float):
                vector(name, value, 1, positive=True)

    def check_rows(self, rows: Matrix, names: tuple[str, ...]) -> None:
        """Raise ValueError for rows without a density."""
        if rows.shape[1] % 2:
            raise ArgumentError(
                "X",
                "must have an even number of columns for AffineFlow, locations "
                "first, then velocities",
                rows.shape[1],
            )

    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales filled in; see `Family`."""
        half = rows.shape[1] // 2
        x, scale = rows[:, :half], self.velocity_scale
        if scale is None:
            scale = OF_VELOCITY * spread_of(rows[:, half:], 0.0)
        units = self.location_variance
        if units is None:
            units = spread_of(x, means_of(x))
        df = half + 2.0 if self.velocity_df is None else self.velocity_df
        if not df > half - 1:
            raise ArgumentError(
                "velocity_df",
                f"must be > {half - 1} for {half} velocities",
                self.velocity_df,
            )
        return replace(
            self, location=self.location.with_tenth(x).resolved(x), velocity_df=df,
            velocity_scale=covariance("velocity_scale", scale, half),
            location_variance=vector("location_variance", units, half, positive=True),
        )  # fmt: skip

    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""
        return {
            "family": type(self).__name__, "location": self.location.to_header(),
            "level_precision": self.level_precision,
            "slope_precision": self.slope_precision, "velocity_df": self.velocity_df,
            "velocity_scale": self.velocity_scale,
            "location_variance": self.location_variance,
        }  # fmt: skip

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of a prior row."""
        half = len(self.location.base_mean)
        return Block(0, half, 1), Block(half, half, half + 1)

    def origin(self) -> Vector:
        """The values that are subtracted from rows."""
        centre = np.array(self.location.base_mean)
        return np.concatenate([centre, np.zeros(len(centre))])

    def scaled_by_rows(self) -> NDArray[np.bool_]:
        """Which columns of the rows determine a scale that was not given: x, then v."""
        return np.array([self.location.scale is None, self.velocity_scale is None])

    @property
    def knows_widths(self) -> bool:
        """Whether the widths of clusters were given instead of chosen from rows."""
        return self.location.knows_widths

    def with_units(self, fresh: Self, columns: NDArray[np.bool_]) -> Self:
        """Return the resolved family with new default scales for some columns."""
        half = len(columns) // 2
        x, v = columns[:half], columns[half:]
        units = np.where(x, fresh.location_variance, self.location_variance)
        return replace(
            self, location=self.location.with_units(fresh.location, x),
            velocity_scale=rescaled(
                self.velocity_scale, v, np.diag(np.array(fresh.velocity_scale))
            ),
            location_variance=vector("location_variance", units, half),
        )  # fmt: skip

    def base(self) -> Vector:
        """Prior row of a new particle."""
        half = len(self.location.base_mean)
        slopes = self.slope_precision * np.array(self.location_variance)
        precision = np.append(self.level_precision, slopes)
        assert self.velocity_df is not None
        velocity = prior_block(
            np.zeros((half + 1, half)), np.diag(precision), self.velocity_df,
            np.array(self.velocity_scale),
        )  # fmt: skip
        return np.concatenate([self.location.base(), velocity])

    def velocities(self, priors: Matrix, points: Matrix) -> Matrix:
        """Mean velocity of each particle at points, shape (n, n_points, half)."""
        z = points - self.origin()[: points.shape[1]]
        z = np.column_stack([np.ones(len(z)), z])
        return z @ self._parts(priors)[1].coefficients


@dataclass(frozen=True)
class GaussianMoving(Regression):
    """Rows of `GaussianUnknown` whose centre has a velocity; see `ConstantVelocity`.

    A row regresses on 1 and 0: on the centre, and not on the velocity, of which only
    steps of the centre tell. So a prior row has a 2 x 2 precision, and coefficients
    that are the centre and the velocity.
    """

    location: GaussianUnknown = field(default_factory=GaussianUnknown)
    start: float = 10.0

    transitions = (ConstantVelocity,)
    parameter_rules = MappingProxyType({
        "df": "positive", "scale": "definite", "precision": "definite",
    })  # fmt: skip

    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales filled in; see `Family`."""
        return replace(self, location=self.location.resolved(rows))

    def partition(self, rows: Matrix) -> Ids:
        """Labels of rows that may all belong to new clusters; see `Family`."""
        return self.location.partition(rows)

    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""
        return {
            "family": type(self).__name__, "location": self.location.to_header(),
            "start": self.start,
        }  # fmt: skip

    def blocks(self) -> tuple[Block, ...]:
        """The block of a prior row, of rows with a first column of zeros."""
        return (Block(1, len(self.location.base_mean), 2),)

    def origin(self) -> Vector:
        """The values that are subtracted from rows."""
        return self.location.origin()

    def _designed(self, rows: Matrix) -> Matrix:
        """Rows about the origin, after the regressor 0."""
        return np.hstack([np.zeros((len(rows), 1)), rows - self.origin()])

    def _columns_of(
        self, columns: NDArray[np.bool_], first: int, d: int, p: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """All columns are responses; the regressor is none of them."""
        return columns, np.zeros(p - 1, dtype=np.bool_)

    def scaled_by_rows(self) -> NDArray[np.bool_]:
        """Which columns of the rows determine a scale that was not given."""
        return self.location.scaled_by_rows()

    @property
    def knows_widths(self) -> bool:
        """Whether the widths of clusters were given instead of chosen from rows."""
        return self.location.knows_widths

    def with_units(self, fresh: Self, columns: NDArray[np.bool_]) -> Self:
        """Return the resolved family with new default scales for some columns."""
        return replace(self, location=self.location.with_units(fresh.location, columns))

    def base(self) -> Vector:
        """Prior row of a new particle."""
        width, df = len(self.location.base_mean), self.location.df
        assert df is not None
        precision = np.diag([self.location.kappa, 1.0 / self.start])
        scale = np.array(self.location.scale)
        return prior_block(np.zeros((2, width)), precision, df, scale)

    def stepped(self, priors: Matrix, transition: OwnTransition) -> Matrix:
        """Prior rows one phase later, by their velocities."""
        assert isinstance(transition, ConstantVelocity)
        part = self._parts(priors)[0]
        spread = AHEAD @ np.linalg.inv(part.precision) @ AHEAD.T
        inverse = np.linalg.inv(spread + transition.noise * BROWNIAN)
        precision: Any = 0.5 * (inverse + np.swapaxes(inverse, 1, 2))
        ahead = AHEAD @ part.coefficients
        return of_usual(part.nu, precision, ahead, part.scale).flat()

    def parameters(self, priors: Matrix) -> Parameters:
        """Usual parameters of locations and velocities."""
        part = self._parts(priors)[0]
        return {
            "mean": part.coefficients[:, 0] + self.origin(),
            "velocity": part.coefficients[:, 1], "precision": part.precision,
            "df": part.nu, "scale": part.scale,
        }  # fmt: skip

    def with_parameters(self, found: Parameters) -> Matrix:
        """Prior rows of these parameters."""
        centre = np.stack([found["mean"] - self.origin(), found["velocity"]], axis=1)
        names = ("precision", "scale")
        precision, scale = (found[name] for name in names)
        return of_usual(found["df"], precision, centre, scale).flat()

    def _here(self, priors: Matrix) -> Matrix:
        """Prior rows of `location`, velocities integrated out."""
        part = self._parts(priors)[0]
        kappa: Any = 1.0 / np.linalg.inv(part.precision)[:, :1, :1]
        return of_usual(part.nu, kappa, part.coefficients[:, :1], part.scale).flat()

    def means(self, priors: Matrix) -> Matrix:
        """Mean location of each particle."""
        return self.location.means(self._here(priors))

    def covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the location of each particle."""
        return self.location.covariances(self._here(priors))

    def row_covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the rows of each particle about its location."""
        return self.location.row_covariances(self._here(priors))

    def draw(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw rows, each around its own location."""
        return self.location.draw(self._here(prior[None])[0], n, rng)

    def centre_velocities(self, priors: Matrix) -> Matrix:
        """Mean velocity of each particle, in units of the rows a phase."""
        return self._parts(priors)[0].coefficients[:, 1]
