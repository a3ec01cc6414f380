"""Persistence, the last response again, in an average of streams; plain NumPy."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

KEPT, LEAST, DF = 0.8, 1e-3, 4.0


def densities(
    y: np.ndarray, unit: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Log density of each response but the first by the one before it.

    The squared scale is the mean of the squared errors before, each of which counts
    0.8 times as much as the next; the first row has one of 0. `weights` divide
    variances. All responses up to the first that differs are stated in a unit of 1.
    """
    w = np.ones(len(y)) if weights is None else weights
    found = []
    for t in range(1, len(y)):
        own = unit if np.ptp(y[: t + 1]) else 1.0
        errors = np.concatenate([[0.0], np.diff(y[:t]) ** 2 * w[1:t]]) / own**2
        scale = np.sqrt(
            np.average(errors, weights=KEPT ** np.arange(t)[::-1]) + LEAST**2
        )
        found.append(student.logpdf(y[t], DF, y[t - 1], own * scale / np.sqrt(w[t])))
    return np.array(found)


def law(y: np.ndarray, unit: float) -> tuple[float, float]:
    """Location and scale of what persistence predicts after these responses."""
    errors = np.concatenate([[0.0], np.diff(y) ** 2]) / unit**2
    scale = np.sqrt(
        np.average(errors, weights=KEPT ** np.arange(len(y))[::-1]) + LEAST**2
    )
    return float(y[-1]), unit * float(scale)
