"""Growth: columns that begin among rows that a tree is to learn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix


@dataclass(frozen=True, eq=False)
class Growth:
    """How columns grow among some rows, which have them all.

    A row is learned by a cloud that has the columns which began with it or before, so
    that what comes of rows does not depend on the calls that bring them.

    Attributes
    ----------
    features : FeatureMap
        The columns at the end; new ones are last.
    starts : list of int
        The row at which each of the last columns begins, in their order.
    widen : callable
        Gives rows, an array of shape (n_rows, fewer columns), all columns.
    """

    features: FeatureMap
    starts: list[int]
    widen: Callable[[Matrix], Matrix]

    @classmethod
    def of_levels(cls, features: FeatureMap, rows: Matrix, n_before: int) -> Growth:
        """Growth from `n_before` features to those of rows that have brought levels."""
        new = rows[:, n_before:] == 1.0
        starts = np.where(new.any(axis=0), new.argmax(axis=0), len(rows))
        starts = np.minimum.accumulate(starts[::-1])[::-1]  # some may have no row here
        return cls(features, starts.tolist(), features.widen)

    def since(self, row: int) -> Growth:
        """The growth among the rows from one on, which become row 0."""
        return Growth(self.features, [max(0, k - row) for k in self.starts], self.widen)

    def width(self, row: int) -> int:
        """How many features there are at a row."""
        later = len(self.starts) - bisect_right(self.starts, row)
        return self.features.n_features - later

    def steady(self, row: int, end: int) -> int:
        """Up to which row, at most `end`, no other column begins."""
        return min([end, *(start for start in self.starts if start > row)])

    def at(self, row: int) -> tuple[FeatureMap, Callable[[Matrix], Matrix]]:
        """The columns at a row, and what gives narrower rows all of those."""
        width = self.width(row)
        return (
            self.features.narrowed(width),
            lambda rows: np.ascontiguousarray(self.widen(rows)[:, :width]),
        )


@dataclass(frozen=True, eq=False)
class Grown:
    """Rows that were encoded elsewhere, and their growth: taken as they are.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    growth : Growth
    """

    rows: Matrix
    growth: Growth
