"""Whether the scales of clusters, chosen from the first rows, still fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyntree.encoding.values import Matrix, Vector

N_LOOKED = 128  # rows of a phase whose neighbours are looked for
N_AMONG = 2_000  # rows that they may be
FEWEST = 20  # rows of a phase that tell
FEWEST_AT_FIRST = 6  # by which scales are chosen
SHARE = 0.125  # of the rows: less than a cluster has, and more than copies
MOST = 2.5  # times the distance of near rows may change, in all columns
MOST_OF_ONE = 4.0  # in one column


class Nearness(NamedTuple):
    """Distances between neighbouring rows of a phase.

    Attributes
    ----------
    n_rows : int
        Number of rows of the phase, or 0 before the first phase.
    distance : ndarray of shape (n_features,)
        Median distance in each column between a row and its nearest neighbour, or 0.
    """

    n_rows: int
    distance: Vector

    def change(self, other: Nearness) -> float:
        """Factor by which distances in another phase are larger, or 1 if they agree.

        Distances between n rows of the same distribution are proportional to n^(-1/d).
        If clusters move, neighbours are searched in other units, and are farther apart
        in one column and closer in another. The product of the distances, which is the
        inverse of the density, does not change. A column therefore counts only if the
        product changes, too.
        """
        if not (self.n_rows and other.n_rows):
            return 1.0
        both = (self.distance > 0.0) & (other.distance > 0.0)
        if not both.any():
            return 1.0
        logs = np.log(other.distance[both] / self.distance[both])
        logs += np.log(other.n_rows / self.n_rows) / len(self.distance)
        most = float(logs[np.abs(logs).argmax()])
        if abs(logs.mean()) > np.log(MOST):
            return float(np.exp(logs.mean()))
        goes_along = logs.sum() * np.sign(most) > 0.5 * abs(most)
        return (
            float(np.exp(most))
            if abs(most) > np.log(MOST_OF_ONE) and goes_along
            else 1.0
        )

    def succeeded(self, other: Nearness) -> Nearness:
        """What later phases are compared with: the other, if it differs or is first."""
        is_new = not self.n_rows or self.change(other) != 1.0
        return other if is_new and other.n_rows else self


UNKNOWN = Nearness(0, np.zeros(0))


def nearness_of(rows: Matrix) -> Nearness:
    """Distances between neighbouring rows; `UNKNOWN` if there are too few rows."""
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < FEWEST:
        return UNKNOWN
    rng = np.random.default_rng(0)
    among = rows[np.sort(rng.permutation(len(rows))[:N_AMONG])]
    units = among / _units(among)
    apart = np.empty((min(N_LOOKED, len(among)), rows.shape[1]))
    for i in range(len(apart)):
        far = np.square(units - units[i]).sum(axis=1)
        far[far == 0.0] = np.inf  # itself, and copies
        apart[i] = np.abs(among[int(far.argmin())] - among[i])
    return Nearness(len(rows), np.median(apart, axis=0))


def _units(rows: Matrix) -> Vector:
    """Units of columns for the search of neighbours: spans of `SHARE` of the rows.

    The median of all spans changes little where a cluster is born far away, in contrast
    to the standard deviation, in whose units a column would then count for nothing.
    """
    ranked = np.sort(rows, axis=0)
    n = max(1, int(SHARE * len(rows)))
    spans = np.median(ranked[n:] - ranked[:-n], axis=0)
    spans = np.where(spans > 0.0, spans, rows.std(axis=0))
    return np.where(spans > 0.0, spans, 1.0)
