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
    """Where a prior stands on the frozen scale, and the least variance of a leaf."""

    middle: tuple[float, ...]
    spreads: tuple[float, ...]
    grain: float = 0.0

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


def prior_rows(kappa0: float, place: Place, level: bool = True) -> Vector:
    """Cross products of (1, z, t) that stand for the prior of level and slopes."""
    v = np.array([1.0, *place.middle])
    slopes = SLOPE_UNIT * max(len(place.spreads), 1) * np.array(place.spreads) ** 2
    return kappa0 * level * np.outer(v, v) + np.diag([0.0, *slopes, 0.0])


def log_evidence(
    gram: Vector,
    b0: float,
    kappa0: float,
    level: bool = True,
    place: Place | None = None,
) -> float:
    """Log evidence of rows with cross products `gram` of (1, z, t)."""
    first = 0 if level else 1
    weight, p = gram[0, 0], len(gram) - 2
    place = place or Place.first(p)
    prior = prior_rows(kappa0, place, level)
    both, inside = prior + gram, slice(first, -1)
    precision, cross = both[inside, inside], both[inside, -1]
    residual = both[-1, -1] - cross @ np.linalg.solve(precision, cross)
    residual = max(residual, weight * place.grain)
    shape = SHAPE_0 + weight / 2
    log_prior = np.linalg.slogdet(prior[inside, inside])[1]
    return float(
        -weight / 2 * np.log(2 * np.pi)
        + (log_prior - np.linalg.slogdet(precision)[1]) / 2
        + SHAPE_0 * np.log(b0)
        - shape * np.log(b0 + residual / 2)
        + gammaln(shape)
        - gammaln(SHAPE_0)
    )


class Leaf:
    """Posterior of a normal-inverse-gamma regression on a frozen scale.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_columns)
        Standardised columns; no column makes a constant leaf.
    t : ndarray of shape (n_rows,)
        Standardised responses.
    weight : ndarray of shape (n_rows,)
        1 for a whole row, less for one that was forgotten.
    b0, kappa0 : float
        Prior point.
    level : bool, default True
        False: regression through the origin.
    place : Place, optional
        By default where a prior stands at first.
    """

    def __init__(
        self,
        z: Vector,
        t: Vector,
        weight: Vector,
        b0: float,
        kappa0: float,
        level: bool = True,
        place: Place | None = None,
    ) -> None:
        place = place or Place.first(z.shape[1])
        rows = np.column_stack([np.ones(len(t)), z, t])
        gram = (rows * weight[:, None]).T @ rows
        inside = slice(None if level else 1, -1)
        self.level = level
        both = prior_rows(kappa0, place, level) + gram
        self.precision, cross = both[inside, inside], both[inside, -1]
        self.mean = np.linalg.solve(self.precision, cross)
        self.shape = SHAPE_0 + weight.sum() / 2
        residual = both[-1, -1] - cross @ self.mean
        self.scale = b0 + max(residual, weight.sum() * place.grain) / 2
        self.log_evidence = log_evidence(gram, b0, kappa0, level, place)

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
