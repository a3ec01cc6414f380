"""Native leaves in plain NumPy: evidence, prediction, choice of the prior point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Vector = NDArray[np.float64]

SHAPE_0, SLOPE_UNIT = 0.5, 0.04


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
    """

    def __init__(
        self, z: Vector, t: Vector, weight: Vector, b0: float, kappa0: float
    ) -> None:
        w = np.column_stack([np.ones(len(t)), z])
        p = z.shape[1]
        prior = np.diag([kappa0] + [SLOPE_UNIT * max(p, 1)] * p)
        self.precision = prior + (w * weight[:, None]).T @ w
        cross = (w * weight[:, None]).T @ t
        self.mean = np.linalg.solve(self.precision, cross)
        self.shape = SHAPE_0 + weight.sum() / 2
        self.scale = b0 + (weight @ (t * t) - cross @ self.mean) / 2
        self.log_evidence = (
            -weight.sum() / 2 * np.log(2 * np.pi)
            + (np.linalg.slogdet(prior)[1] - np.linalg.slogdet(self.precision)[1]) / 2
            + SHAPE_0 * np.log(b0)
            - self.shape * np.log(self.scale)
            + gammaln(self.shape)
            - gammaln(SHAPE_0)
        )

    def predictive(self, z: Vector) -> tuple[float, float, float]:
        """Location, scale and df of the predictive t at one row."""
        w = np.concatenate([[1.0], z])
        kappa = w @ np.linalg.solve(self.precision, w)
        scale = np.sqrt(self.scale / self.shape * (1 + kappa))
        return float(w @ self.mean), float(scale), 2 * self.shape


def dirichlet_evidence(counts: Vector, mass: float) -> float:
    """Log evidence of label counts under a Dirichlet prior of total mass `mass`."""
    share = mass / len(counts)
    return float(
        gammaln(mass)
        - gammaln(mass + counts.sum())
        + (gammaln(counts + share) - gammaln(share)).sum()
    )
