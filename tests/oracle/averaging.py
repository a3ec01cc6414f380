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
    proba: np.ndarray, y: np.ndarray, coef: np.ndarray, cov: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probability of each label, and the last coefficients and covariance.

    Probabilities of shape (n_rows, n_models, n_classes) count as 2e-9 at least.
    """
    coef, precision, found = np.array(coef), np.linalg.inv(cov), []
    for p, label in zip(proba, y.astype(int), strict=True):
        if np.any(np.isnan(p)):
            found.append(np.nan)
            continue
        log_p = np.log(np.maximum(p, 2e-9))  # (n_models, n_classes)
        q = np.exp(coef @ log_p - np.max(coef @ log_p))
        q /= q.sum()
        found.append(np.log(max(q[label], 2e-9)))
        spread = np.diag(q) - np.outer(q, q)
        precision = precision + log_p @ spread @ log_p.T
        gradient = log_p[:, label] - log_p @ q
        coef = coef + np.linalg.solve(precision, gradient)
    return np.array(found), coef, np.linalg.inv(precision)
