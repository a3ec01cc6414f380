"""Growth: columns that begin among rows that a tree is to learn."""

from __future__ import annotations

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
    before : FeatureMap
        The columns at first.
    steps : list of (int, FeatureMap)
        Rows with which columns begin, after all others, and the columns from there on.
    widen : callable
        Gives rows, an array of shape (n_rows, fewer columns), all columns.
    """

    before: FeatureMap
    steps: list[tuple[int, FeatureMap]]
    widen: Callable[[Matrix], Matrix]

    @property
    def features(self) -> FeatureMap:
        """The columns at the end."""
        return self.steps[-1][1] if self.steps else self.before

    def since(self, row: int) -> Growth:
        """The growth among the rows from one on, which become row 0."""
        steps = [(max(0, first - row), features) for first, features in self.steps]
        return Growth(self.before, steps, self.widen)

    def at(self, row: int) -> FeatureMap:
        """The columns at a row."""
        known = [features for first, features in self.steps if first <= row]
        return known[-1] if known else self.before

    def steady(self, row: int, end: int) -> int:
        """Up to which row, at most `end`, no other column begins."""
        return min([end, *(first for first, _ in self.steps if first > row)])

    def widen_to(self, width: int) -> Callable[[Matrix], Matrix]:
        """What gives narrower rows so many columns."""
        return lambda rows: np.ascontiguousarray(self.widen(rows)[:, :width])


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
