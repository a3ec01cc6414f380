"""Rows far from all others: units that a first batch decides are chosen without them.

A single row a thousand spreads away makes the standard deviation of a column hundreds
of times too large. So a value is *far* if it lies farther from the median than `FAR`
times the deviation of nine rows in ten. Rows that are equal to the median do not count,
so that a column may be constant for the most part; below ten rows none is far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ScaleWarning, warn
from dyntree.mixtures.shared.arrays import SAME

MOST = 0.9  # of the rows that differ from the median, whose deviation is the measure
FAR = 30.0  # times it; a normal row lies there with a probability of 1e-500


@dataclass(frozen=True, eq=False)
class Reach:
    """Medians of columns, and how far from them a value is not far; (n_features,)."""

    middle: Vector
    most: Vector

    def exceeded(self, rows: Matrix) -> NDArray[np.bool_]:
        """Which values of some rows are far, shape (n_rows, n_features)."""
        beyond: NDArray[np.bool_] = np.abs(rows - self.middle) > self.most
        return beyond


def reach_of(rows: Matrix, weight: Vector | None = None) -> Reach:
    """Return the reach of columns, which is infinite where a column is constant."""
    by = np.ones(len(rows)) if weight is None else weight
    middle, most = np.empty(rows.shape[1]), np.full(rows.shape[1], np.inf)
    for j, column in enumerate(rows.T):
        middle[j] = quantile(column, by, 0.5)
        apart = np.abs(column - middle[j])
        differs = (apart > SAME * np.abs(middle[j])) & (by > 0.0)
        if differs.any():
            most[j] = FAR * quantile(apart[differs], by[differs], MOST)
    return Reach(middle, most)


def quantile(values: Vector, weight: Vector, share: float) -> float:
    """Least value that, with those below, has a share of the weight."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    place = np.searchsorted(total, share * total[-1])
    return float(values[order[min(int(place), len(values) - 1)]])


def far_values(rows: Matrix, weight: Vector | None = None) -> NDArray[np.bool_]:
    """Which values of some rows are far, shape (n_rows, n_features)."""
    if not len(rows):
        return np.zeros(rows.shape, dtype=bool)
    return reach_of(rows, weight).exceeded(rows)


def without_far_rows(rows: Matrix, names: tuple[str, ...]) -> Matrix:
    """Return the rows without those that have a far value, which are warned of."""
    far = far_values(rows)
    if not far.any():
        return rows
    warn_of_far_rows(rows, far, names)
    return rows[~far.any(axis=1)]


def warn_of_far_rows(
    rows: Matrix, far: NDArray[np.bool_], names: tuple[str, ...]
) -> None:
    """Warn of the rows that have far values."""
    row, column = (int(place) for place in np.argwhere(far)[0])
    n_far = int(far.any(axis=1).sum())
    warn_of_far(names[column], rows[row, column], n_far, row=row)


def warn_of_far(
    column: str, value: float, n_far: int, where: str = "row {row}", **place: Any
) -> None:
    """Warn of `n_far` rows with far values, and name the first by `where`."""
    warn(
        ScaleWarning,
        f"{where} has {{value:g}} in column {{column!r}}, more than {FAR:g} times as "
        "far from the median as nine rows in ten. The units of the model are chosen "
        "without rows like this, of which there are {n_far}. Correct them, or leave "
        "them out.",
        column=column,
        value=value,
        n_far=n_far,
        **place,
    )
