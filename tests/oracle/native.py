"""Native leaves in plain NumPy: evidence, prediction, choice of the prior point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Vector = NDArray[np.float64]

SHAPE_0, SLOPE_UNIT = 0.5, 0.04


@dataclass(frozen=True)
class Place:
    """Where a prior stands on the frozen scale, and the least variance of a leaf.

    `floors` are the least spreads that a relaxed slope has; by default thirds. `omega`
    is the mean of the weights that divide variances.
    """

    middle: tuple[float, ...]
    spreads: tuple[float, ...]
    grain: float = 0.0
    y_spread: float = 1.0
    floors: tuple[float, ...] | None = None
    omega: float = 1.0

    @classmethod
    def first(cls, p: int) -> Place:
        """At the centre of the frozen scale, with spreads of one."""
        return cls((0.0,) * (p + 1), (1.0,) * p)


def hidden_variance(y: Vector, f: Vector | None = None) -> float:
    """C^2 V: the share of equal pairs, squared, times the variance.

    A value of frequency f counts as f equal ones.
    """
    f = np.ones(len(y)) if f is None else f
    n = f.sum()
    groups = [float(f[y == value].sum()) for value in np.unique(y)]
    share = sum(m * max(m - 1, 0.0) for m in groups) / (n * (n - 1))
    variance = f @ (y - f @ y / n) ** 2 / (n - 1)
    return float(share**2 * variance) if share > 1e-4 else 0.0


@dataclass(frozen=True)
class Sums:
    """What a leaf knows of its rows: cross products of u = (1, z, t).

    A row of frequency f whose variance is sigma^2 / v adds f to `n` and f v u u' to
    `gram`.
    """

    n: float
    gram: Vector

    @classmethod
    def of(
        cls, z: Vector, t: Vector, f: Vector | None = None, v: Vector | None = None
    ) -> Sums:
        """Of these rows; f and v are 1 by default."""
        rows = np.column_stack([np.ones(len(t)), z, t])
        f = np.ones(len(t)) if f is None else f
        weight = f if v is None else f * v
        return cls(float(f.sum()), (rows * weight[:, None]).T @ rows)

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.n + other.n, self.gram + other.gram)

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.n - other.n, self.gram - other.gram)

    def times(self, factor: float) -> Sums:
        """The same rows, each of them factor times."""
        return Sums(factor * self.n, factor * self.gram)


def slopes(place: Place, relaxed: float) -> Vector:
    """Prior precisions of the slopes, at a mean weight of 1."""
    spreads = np.array(place.spreads)
    floors = np.full(len(spreads), 1 / 3) if place.floors is None else place.floors
    squares = np.maximum(relaxed * spreads**2, np.square(floors))
    return SLOPE_UNIT * max(len(spreads), 1) * squares


def posterior_rows(sums: Sums, lam: Vector, place: Place, level: bool) -> Vector:
    """Cross products of (1, z, t) together with what stands for the prior.

    A level of less than a row has the rest of one at the rows' own means, of their mean
    weight; with no row at all, one at the place's middle, of the prior's.
    """
    gram, n = sums.gram, sums.n
    both = gram + np.diag([0.0, *lam, 0.0])
    if level and n < 1.0:
        known = n > 0.0
        middle = gram[0, 1:] / gram[0, 0] if known else np.array(place.middle)
        weight = gram[0, 0] / n if known else place.omega
        row = np.array([1.0, *middle])
        both = both + (1.0 - n) * weight * np.outer(row, row)
    return both


def beyond_level(weight: float, level: bool) -> float:
    """Weight that says something of the variance."""
    return max(weight - 1.0, 0.0) if level else weight


def log_evidence(
    sums: Sums | Vector,
    b0: float,
    level: bool = True,
    place: Place | None = None,
    relaxed: float = 1.0,
) -> float:
    """Log evidence of rows with these sums, or cross products of (1, z, t).

    But for the constant sum f log(v) / 2, which is equal in all trees of these rows.
    """
    if not isinstance(sums, Sums):
        sums = Sums(sums[0, 0], sums)
    n, gram, p = sums.n, sums.gram, len(sums.gram) - 2
    if n <= 0.0:
        return 0.0
    place = place or Place.first(p)
    lam = place.omega * slopes(place, relaxed)
    inside = slice(0 if level else 1, -1)
    both = posterior_rows(sums, lam, place, level)
    precision, cross = both[inside, inside], both[inside, -1]
    residual = both[-1, -1] - cross @ np.linalg.solve(precision, cross)
    residual = max(residual, gram[0, 0] * place.grain)
    v = beyond_level(n, level)
    shape = SHAPE_0 + v / 2
    of_level = np.log(np.sqrt(2 * np.pi) * place.y_spread) if level else 0.0
    rest = max(1.0 - n, 0.0) / 2 * np.log(gram[0, 0] / n) if level else 0.0
    return float(
        -v / 2 * np.log(2 * np.pi)
        - min(n, 1.0) * of_level
        + rest
        + (np.log(lam).sum() - np.linalg.slogdet(precision)[1]) / 2
        + SHAPE_0 * np.log(b0)
        - shape * np.log(b0 + residual / 2)
        + gammaln(shape)
        - gammaln(SHAPE_0)
    )


class Leaf:
    """Posterior of a regression with a flat level on a frozen scale.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_columns)
        Standardised columns; no column makes a constant leaf.
    t : ndarray of shape (n_rows,)
        Standardised responses.
    weight : ndarray of shape (n_rows,)
        1 for a whole row, less for one that was forgotten.
    b0 : float
        Scale of the variance's prior.
    level : bool, default True
        False: regression through the origin.
    place : Place, optional
        By default where a prior stands at first.
    relaxed : float, default 1.0
        Factor on the precisions of slopes.
    v : ndarray of shape (n_rows,), optional
        Weights that divide the variances of rows, 1 by default.
    """

    def __init__(
        self,
        z: Vector,
        t: Vector,
        weight: Vector,
        b0: float,
        level: bool = True,
        place: Place | None = None,
        relaxed: float = 1.0,
        v: Vector | None = None,
    ) -> None:
        sums = Sums.of(z, t, weight, v)
        place = place or Place.first(z.shape[1])
        inside = slice(None if level else 1, -1)
        self.level = level
        lam = place.omega * slopes(place, relaxed)
        both = posterior_rows(sums, lam, place, level)
        self.precision, cross = both[inside, inside], both[inside, -1]
        self.mean = np.linalg.solve(self.precision, cross)
        self.shape = SHAPE_0 + beyond_level(sums.n, level) / 2
        residual = both[-1, -1] - cross @ self.mean
        self.scale = b0 + max(residual, sums.gram[0, 0] * place.grain) / 2
        self.log_evidence = log_evidence(sums, b0, level, place, relaxed)

    def solved(self, z: Vector) -> tuple[Vector, float]:
        """P^-1 w and kappa = w'P^-1 w of one row w = (1, z), or z without a level."""
        w = np.concatenate([[1.0] * self.level, z])
        u = np.linalg.solve(self.precision, w)
        return u, float(w @ u)

    def predictive(self, z: Vector, v: float = 1.0) -> tuple[float, float, float]:
        """Location, scale and df of the predictive t at one row of weight v."""
        w = np.concatenate([[1.0] * self.level, z])
        kappa = self.solved(z)[1]
        scale = np.sqrt(self.scale / self.shape * (1 / v + kappa))
        return float(w @ self.mean), float(scale), 2 * self.shape

    def reduction(self, z: Vector, low: Vector, high: Vector, w: float = 1.0) -> float:
        """Mean variance over a rectangle that a response at z takes off (Cohn 1996).

        w is its weight, of either kind.
        """
        u, kappa = self.solved(z)
        c = np.concatenate([[1.0] * self.level, (low + high) / 2]) @ u
        slopes = u[int(self.level) :]
        spread = c**2 + slopes**2 @ ((high - low) ** 2 / 12)
        return float(2 * self.scale / (2 * self.shape - 2) * spread / (1 / w + kappa))


def dirichlet_evidence(counts: Vector, mass: float) -> float:
    """Log evidence of label counts under a Dirichlet prior of total mass `mass`."""
    share = mass / len(counts)
    return float(
        gammaln(mass)
        - gammaln(mass + counts.sum())
        + (gammaln(counts + share) - gammaln(share)).sum()
    )
