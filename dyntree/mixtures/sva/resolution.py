"""Evidence of the spread of clusters in rows: steps of columns, and repeats.

Rows on a lattice, or in a plane, would have any density for small enough scales. So a
row stands for any place in its cell of the lattice, and directions in which no row lies
are left out. Rows that repeat as a whole, and not because their columns have few
values, show no spread and count once.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Ids, constants
from dyntree.mixtures.shared.lattice import (
    CROWD,
    LEAST_DISTINCT,
    steps_of,
)

RESOLVED = 1e-12  # of the largest variance: directions of less hold no rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to choose scales from, and the variance that their rounding hides.

    `blur` is that variance, by columns: of the values that a rounded one stands for.
    """

    rows: Matrix
    blur: Vector

    def lacking(self, variance: Vector) -> Vector:
        """What variances within clusters lack of the `blur`, by columns.

        All of it where rows of a cluster are equal; nothing where the standard
        deviation is half a step or more: then the variance has it in it (Sheppard).
        """
        return np.maximum(self.blur - 0.25 * variance, 0.0)


def sample_of(rows: Matrix) -> Sample:
    """Return the rows that show spread, without constant columns.

    A few rows that repeat often, all of them, are clusters without spread. Elsewhere a
    column is discrete that has at most half as many values as there are distinct
    rows, or that is regular. Its cells are as wide as the nearest values are apart.
    """
    moves = ~constants(rows)
    if not moves.any():
        return Sample(rows, np.zeros(rows.shape[1]))
    rows = np.ascontiguousarray(rows[:, moves])
    _, first, count = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) < LEAST_DISTINCT and count.min() >= CROWD:
        return Sample(rows, np.zeros(rows.shape[1]))
    first.sort()
    every = [steps_of(column) for column in rows.T]
    discrete = [steps.are_discrete(len(first)) for steps in every]
    if LEAST_DISTINCT <= len(first) < len(rows) and not all(discrete):
        rows = rows[first]
        every = [steps_of(column) for column in rows.T]
    blur = np.zeros(rows.shape[1])
    for j in np.flatnonzero(discrete):
        cell = every[j].cells(rows[:, j])
        if CROWD * len(every[j].nearest) <= len(rows):
            rows[:, j] += cell * places_in_cells(every[j].place)
        else:
            blur[j] = np.median(cell) ** 2 / 12.0
    return Sample(rows, blur)


def places_in_cells(place: Ids) -> Vector:
    """Where rows lie in cells of width 1, by chance: it follows from the ranks alone.

    So neither units nor the order of columns matter, and a copy remains one.
    """
    rng = np.random.default_rng(crc32(place.tobytes()))
    return rng.uniform(-0.5, 0.5, size=len(place))


def in_their_directions(sample: Sample) -> Sample:
    """Return the rows by coordinates in the directions in which any of them lies.

    A column that others add up to, or a copy, is no direction of its own. Distances are
    what they were.
    """
    centred = sample.rows - sample.rows.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred)
    seen = values > RESOLVED * values[-1]
    if seen.all() or not seen.any():
        return sample
    axes = axes[:, seen]
    rows = np.ascontiguousarray(centred @ axes)
    return Sample(rows, np.zeros(rows.shape[1]))
