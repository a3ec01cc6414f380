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

    `floors` are the least spreads that a relaxed slope has; by default thirds.
    """

    middle: tuple[float, ...]
    spreads: tuple[float, ...]
    grain: float = 0.0
    y_spread: float = 1.0
    floors: tuple[float, ...] | None = None

    @classmethod
    def first(cls, p: int) -> Place:
        """At the centre of the frozen scale, with spreads of one."""
        return cls((0.0,) * (p + 1), (1.0,) * p)


def hidden_variance(y: Vector) -> float:
    """C^2 V: the share of equal pairs, squared, times the variance."""
    n = len(y)
    pairs = sum(float(np.sum(y[k + 1 :] == y[k])) for k in range(n))
    share = pairs / (n * (n - 1) / 2)
    return float(share**2 * np.var(y, ddof=1)) if share > 1e-4 else 0.0


def slopes(place: Place, relaxed: float) -> Vector:
    """Prior precisions of the slopes."""
    spreads = np.array(place.spreads)
    floors = np.full(len(spreads), 1 / 3) if place.floors is None else place.floors
    squares = np.maximum(relaxed * spreads**2, np.square(floors))
    return SLOPE_UNIT * max(len(spreads), 1) * squares


def posterior_rows(gram: Vector, lam: Vector, place: Place, level: bool) -> Vector:
    """Cross products of (1, z, t) together with what stands for the prior.

    A level of less than a row has the rest of one at the rows' own means; with no row
    at all, one at the place's middle.
    """
    weight = gram[0, 0]
    both = gram + np.diag([0.0, *lam, 0.0])
    if level and weight < 1.0:
        middle = gram[0, 1:] / weight if weight > 0.0 else np.array(place.middle)
        row = np.array([1.0, *middle])
        both = both + (1.0 - weight) * np.outer(row, row)
    return both


def beyond_level(weight: float, level: bool) -> float:
    """Weight that says something of the variance."""
    return max(weight - 1.0, 0.0) if level else weight


def log_evidence(
    gram: Vector,
    b0: float,
    level: bool = True,
    place: Place | None = None,
    relaxed: float = 1.0,
) -> float:
    """Log evidence of rows with cross products `gram` of (1, z, t)."""
    weight, p = gram[0, 0], len(gram) - 2
    if weight <= 0.0:
        return 0.0
    place = place or Place.first(p)
    lam = slopes(place, relaxed)
    inside = slice(0 if level else 1, -1)
    both = posterior_rows(gram, lam, place, level)
    precision, cross = both[inside, inside], both[inside, -1]
    residual = both[-1, -1] - cross @ np.linalg.solve(precision, cross)
    residual = max(residual, weight * place.grain)
    v = beyond_level(weight, level)
    shape = SHAPE_0 + v / 2
    of_level = np.log(np.sqrt(2 * np.pi) * place.y_spread) if level else 0.0
    return float(
        -v / 2 * np.log(2 * np.pi)
        - min(weight, 1.0) * of_level
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
    ) -> None:
        place = place or Place.first(z.shape[1])
        rows = np.column_stack([np.ones(len(t)), z, t])
        gram = (rows * weight[:, None]).T @ rows
        inside = slice(None if level else 1, -1)
        self.level = level
        both = posterior_rows(gram, slopes(place, relaxed), place, level)
        self.precision, cross = both[inside, inside], both[inside, -1]
        self.mean = np.linalg.solve(self.precision, cross)
        self.shape = SHAPE_0 + beyond_level(weight.sum(), level) / 2
        residual = both[-1, -1] - cross @ self.mean
        self.scale = b0 + max(residual, weight.sum() * place.grain) / 2
        self.log_evidence = log_evidence(gram, b0, level, place, relaxed)

    def solved(self, z: Vector) -> tuple[Vector, float]:
        """P^-1 w and kappa = w'P^-1 w of one row w = (1, z), or z without a level."""
        w = np.concatenate([[1.0] * self.level, z])
        u = np.linalg.solve(self.precision, w)
        return u, float(w @ u)

    def predictive(self, z: Vector) -> tuple[float, float, float]:
        """Location, scale and df of the predictive t at one row."""
        w = np.concatenate([[1.0] * self.level, z])
        kappa = self.solved(z)[1]
        scale = np.sqrt(self.scale / self.shape * (1 + kappa))
        return float(w @ self.mean), float(scale), 2 * self.shape

    def reduction(self, z: Vector, low: Vector, high: Vector) -> float:
        """Mean variance over a rectangle that a response at z takes off (Cohn 1996)."""
        u, kappa = self.solved(z)
        c = np.concatenate([[1.0] * self.level, (low + high) / 2]) @ u
        slopes = u[int(self.level) :]
        spread = c**2 + slopes**2 @ ((high - low) ** 2 / 12)
        return float(2 * self.scale / (2 * self.shape - 2) * spread / (1 + kappa))


def dirichlet_evidence(counts: Vector, mass: float) -> float:
    """Log evidence of label counts under a Dirichlet prior of total mass `mass`."""
    share = mass / len(counts)
    return float(
        gammaln(mass)
        - gammaln(mass + counts.sum())
        + (gammaln(counts + share) - gammaln(share)).sum()
    )
