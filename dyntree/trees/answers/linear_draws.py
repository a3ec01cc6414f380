"""Joint draws of probabilities and rates by regressions that learn row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix, Vector

N_POINTS = 256  # and their mirrors, at which means of probabilities are averaged
Draws = NDArray[np.float64]


class LinearDraws:
    """Draws of the coefficients of one kind of filters, and what they give at rows.

    Parameters
    ----------
    filters : LinearFilters
    rows : ndarray of shape (n_rows, n_features)
    same : ndarray of int64 of shape (n_rows,)
        Equal numbers for equal rows, whose gaps are filled alike.
    k : int
        Which kind.
    """

    def __init__(
        self, filters: LinearFilters, rows: Matrix, same: NDArray[np.int64], k: int
    ) -> None:
        self.w, gaps = filters.standardized(rows)
        self.deviation, self.same = np.sqrt(gaps), same
        of_rows = slice(None if filters.is_count else -1)  # no label has the last
        mean, covariance = (part[k, of_rows] for part in filters.coefficients)
        self.mean, self.covariance = mean, covariance
        try:
            self.factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:  # rounding has left a direction no variance
            values, vectors = np.linalg.eigh(covariance)
            scale = np.sqrt(np.maximum(values, 0.0))
            self.factor = vectors * scale[:, None, :]

    def __call__(self, n_draws: int, rng: np.random.Generator) -> Draws:
        """Values of b'w, of shape (n_draws, n_rows, n_filters)."""
        size = (n_draws, *self.mean.shape)
        unit = rng.standard_normal(size)
        coef = self.mean + np.einsum("cij,ncj->nci", self.factor, unit)
        odds = np.einsum("nci,ri->nrc", coef, self.w)
        has_gap = np.flatnonzero(self.deviation.any(axis=1))
        if len(has_gap):
            there = self.same[has_gap]
            value = rng.standard_normal((n_draws, there.max() + 1, size[2]))[:, there]
            value *= self.deviation[has_gap]
            odds[:, has_gap] += np.einsum("nri,nci->nrc", value, coef)
        return np.asarray(odds)

    def expected(self) -> Matrix:
        """Mean of probabilities by them, by quadrature; shape (n_rows, n_classes)."""
        rng, total = np.random.default_rng(0), 0.0
        has_gaps = self.deviation.any()
        mean, deviation = self._odds_at(self.w)
        for _ in range(N_POINTS):
            if has_gaps:  # all labels have the same value there
                value = rng.standard_normal(self.w.shape[1])
                mean, deviation = self._odds_at(self.w + self.deviation * value)
            off = deviation * rng.standard_normal(mean.shape[1])
            total = total + proba_by(mean + off) + proba_by(mean - off)
        return np.asarray(total / (2.0 * N_POINTS))

    def _odds_at(self, w: Matrix) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of log odds, both (n_rows, n_filters)."""
        variance = np.einsum("ri,cij,rj->rc", w, self.covariance, w)
        return w @ self.mean.T, np.sqrt(np.maximum(variance, 0.0))


def proba_by(odds: Any) -> Any:
    """Log odds of each label against the rest, or of the second of two, as shares."""
    each: Vector = expit(odds)
    if each.shape[-1] == 1:
        return np.concatenate([1.0 - each, each], axis=-1)
    return each / each.sum(axis=-1, keepdims=True)
