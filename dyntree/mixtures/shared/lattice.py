"""Columns of few values: a row with one stands for any place in its cell.

Rows on a lattice would have any density for small enough clusters, and each of its
points could be one. Rounding to steps of h hides a variance of h^2 / 12 (Sheppard);
rows that are spread to both sides as far as the next value, with a triangular law of
variance h^2 / 6, have a density without gaps.

Rows that repeat as a whole in columns of many values are copies. They show no spread,
and are as much evidence as one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids, constants

ROUNDING = 8.0 * float(np.finfo(float).eps)  # of values, by which one may differ
LEAST_DISTINCT = 10  # rows, fewer than which cannot tell of clusters but by repeating
WIDEST_CELL = 2.0  # standard deviations: what the two values of a fair coin are apart
MOST_ROWS = 0.9  # share of distinct rows that repeat, if rows are said to be copies
CROWD = 8  # rows of a value, from which they are spread over its cell


@dataclass(frozen=True, eq=False)
class Steps:
    """Values of a column: each row's place among them, and the nearest other one."""

    place: Ids
    nearest: Vector  # distance to the nearest other value, by values

    def are_discrete(self, n_distinct: int) -> bool:
        """Whether values are few beside so many distinct rows, or are regular."""
        return 2 * len(self.nearest) <= n_distinct or self.is_regular

    def are_crowded(self, n_rows: int) -> bool:
        """Whether enough of so many rows have each value to be spread over its cell."""
        return CROWD * len(self.nearest) <= n_rows

    def cells(self, column: Vector) -> Vector:
        """Widths of the cells of the column's values: how far the nearest one is."""
        widest = WIDEST_CELL * column.std()
        cells: Vector = np.minimum(self.nearest, widest)[self.place]
        return cells

    @property
    def is_regular(self) -> bool:
        """Whether most values have another one as near to them as any two are."""
        least: float = self.nearest.min()
        return bool(np.median(self.nearest) <= (1.0 + 1e-6) * least)


def steps_of(column: Vector) -> Steps:
    """Find the values of a column that varies; those that rounding parts are one."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    limit = ROUNDING * np.abs(ordered[[0, -1]]).max()
    new = np.append(True, np.diff(ordered) > limit)
    place = np.empty(len(column), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    gaps = np.diff(ordered[new])
    ends = np.array([np.inf])
    return Steps(place, np.minimum(np.append(ends, gaps), np.append(gaps, ends)))


def cell_widths(rows: Matrix) -> Vector:
    """Widths of the cells that values of columns stand for; 0 of all but lattices.

    Lattices are columns with few values, each of which eight rows have on average. A
    few rows that repeat, all of them, are clusters without spread, as categories are;
    and rows that repeat beside a column of many values count once.
    """
    widths = np.zeros(rows.shape[1])
    moves = np.flatnonzero(~constants(rows))
    distinct = np.unique(rows[:, moves], axis=0)
    if len(distinct) < LEAST_DISTINCT:
        return widths
    every = [steps_of(column) for column in distinct.T]
    is_lattice = all(steps.are_discrete(len(distinct)) for steps in every)
    rows = rows[:, moves] if is_lattice else distinct
    for j, column in zip(moves, rows.T, strict=True):
        steps = steps_of(column)
        if steps.are_discrete(len(distinct)) and steps.are_crowded(len(rows)):
            widths[j] = np.median(steps.cells(column))
    return widths


def spread_over_cells(rows: Matrix, widths: Vector, *key: int) -> Matrix:
    """Return the rows at random places about them, which `key` and order decide.

    A place is less probable the farther it is, up to the next value: the density
    between values is a straight line from the one to the other. `rows` themselves where
    all widths are 0.
    """
    if not widths.any():
        return rows
    places = np.random.default_rng([*key]).random((*rows.shape, 2))
    spread: Matrix = rows + widths * (places[..., 0] - places[..., 1])
    return spread


def usual_copies(rows: Matrix) -> int:
    """How often nine of ten distinct rows are there at least; 1 on a lattice.

    A few distinct rows, and those of columns of few values, repeat by themselves.
    """
    distinct, count = np.unique(rows, axis=0, return_counts=True)
    usual = int(np.quantile(count, 1.0 - MOST_ROWS)) if len(count) else 1
    if usual < 2 or len(distinct) < LEAST_DISTINCT:
        return 1
    moves = np.flatnonzero(~constants(distinct))
    every = (steps_of(column) for column in distinct.T[moves])
    if all(steps.are_discrete(len(distinct)) for steps in every):
        return 1
    return usual


def without_copies(rows: Matrix) -> tuple[Ids, Ids]:
    """Places of rows once as many copies are one as rows usually have.

    Returns
    -------
    first : ndarray of int64 of shape (n_left,)
        Places of the rows that are left, rising.
    place : ndarray of int64 of shape (n_rows,)
        Of each row, which one of `first` stands for it.
    """
    n, usual = len(rows), usual_copies(rows)
    if usual == 1:
        return np.arange(n), np.arange(n)
    _, same = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(same.ravel(), kind="stable")
    ordered = same.ravel()[order]
    number = np.arange(n) - np.searchsorted(ordered, ordered)  # among its copies
    key = ordered * n + number // usual
    _, some, owner = np.unique(key, return_index=True, return_inverse=True)
    stays = order[some]
    by_place = np.argsort(stays)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.argsort(by_place)[owner]
    return stays[by_place].astype(np.int64), place
