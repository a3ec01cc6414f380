"""Weights and stacking of models, row by row, as the formulas read."""

from __future__ import annotations

import numpy as np


def weigh(
    log_densities: np.ndarray, discount: float, tempering: float, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights before each row, log densities of the mixture, and the last log weights.

    Log densities that are 700 below the best count as that far below it.
    """
    log_weights, weights, mixture = np.array(start), [], []
    for row in log_densities:
        w = np.exp(log_weights - log_weights.max())
        w /= w.sum()
        weights.append(w)
        if np.any(np.isnan(row)) or np.all(row == -np.inf):
            mixture.append(row.max())
            continue
        row = np.maximum(row, row.max() - 700.0)
        mixture.append(row.max() + np.log(w @ np.exp(row - row.max())))
        log_weights = discount * (log_weights + tempering * (row - row.max()))
        log_weights -= log_weights.max()
    return np.array(weights), np.array(mixture), log_weights


def stack(
    log_probabilities: np.ndarray, y: np.ndarray, coef: np.ndarray, cov: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probability of each label, and the last coefficients and covariance."""
    coef, precision, found = np.array(coef), np.linalg.inv(cov), []
    for log_p, label in zip(log_probabilities, y, strict=True):
        if np.any(np.isnan(log_p)):
            found.append(np.nan)
            continue
        with np.errstate(divide="ignore"):
            odds = log_p - np.log(-np.expm1(log_p))
        z = (1.0 if label else -1.0) * np.clip(odds, -20.0, 20.0)
        p = 1.0 / (1.0 + np.exp(-z @ coef))
        found.append(np.log(p if label else 1.0 - p))
        precision = precision + p * (1.0 - p) * np.outer(z, z)
        coef = coef + np.linalg.solve(precision, (label - p) * z)
    return np.array(found), coef, np.linalg.inv(precision)
