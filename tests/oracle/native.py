"""Native leaves in plain NumPy: evidence, prediction, choice of the prior point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Vector = NDArray[np.float64]

SHAPE_0, SLOPE_UNIT = 0.5, 0.04


def prior_precision(p: int, kappa0: float, level: bool = True) -> Vector:
    """Prior precision of level and p slopes over the variance of the noise."""
    return np.diag([kappa0] * level + [SLOPE_UNIT * max(p, 1)] * p)


def log_evidence(gram: Vector, b0: float, kappa0: float, level: bool = True) -> float:
    """Log evidence of rows with cross products `gram` of (1, z, t)."""
    first = 0 if level else 1
    weight, p = gram[0, 0], len(gram) - 2
    prior = prior_precision(p, kappa0, level)
    precision = prior + gram[first:-1, first:-1]
    cross = gram[first:-1, -1]
    residual = gram[-1, -1] - cross @ np.linalg.solve(precision, cross)
    shape = SHAPE_0 + weight / 2
    return float(
        -weight / 2 * np.log(2 * np.pi)
        + (np.linalg.slogdet(prior)[1] - np.linalg.slogdet(precision)[1]) / 2
        + SHAPE_0 * np.log(b0)
        - shape * np.log(b0 + max(residual, 0.0) / 2)
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
    """

    def __init__(
        self,
        z: Vector,
        t: Vector,
        weight: Vector,
        b0: float,
        kappa0: float,
        level: bool = True,
    ) -> None:
        p = z.shape[1]
        rows = np.column_stack([np.ones(len(t)), z, t])
        gram = (rows * weight[:, None]).T @ rows
        inside = slice(None if level else 1, -1)
        self.level = level
        self.precision = prior_precision(p, kappa0, level) + gram[inside, inside]
        cross = gram[inside, -1]
        self.mean = np.linalg.solve(self.precision, cross)
        self.shape = SHAPE_0 + weight.sum() / 2
        self.scale = b0 + (gram[-1, -1] - cross @ self.mean) / 2
        self.log_evidence = log_evidence(gram, b0, kappa0, level)

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
