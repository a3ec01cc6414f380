"""Rows that occur several times -> pieces of them, in a random order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError
from dyntree.params import TreeOptions
from dyntree.runtime.progress import Progress
from dyntree.trees.learning.check import checked
from dyntree.trees.learning.growth import Growth, with_columns
from dyntree.trees.learning.parts import learn_in_parts, learn_rows
from dyntree.trees.learning.warmup import admit_rows, share_labels
from dyntree.trees.learning.weights import in_units
from dyntree.trees.state import TreeState


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of a table that occur several times, and their copies in some bunches.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_bunches,)
        The row of each; rows in their order.
    sizes : ndarray of shape (n_bunches,)
        How often each counts; those of a row sum to its weight.
    """

    rows: NDArray[np.int64]
    sizes: Vector

    @classmethod
    def of(cls, weights: Vector, most: int = 1) -> Copies:
        """Those of rows of such weights, in at most so many bunches a row.

        More than one are for weights that are whole numbers.
        """
        n = np.minimum(weights, most).astype(np.int64) if most > 1 else 1
        n = np.broadcast_to(n, weights.shape)
        rows = np.repeat(np.arange(len(weights)), n)
        if most == 1:
            return cls(rows, weights)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(n) - n, n)
        return cls(rows, (weights[rows] // n[rows]) + (place < (weights % n)[rows]))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of the rows of a table in the order in which trees learn them.

    A piece counts once, or at most half as often as all before it of its row: those of
    a row are 1, 1, 1, 1, 2, 3, 4, 6, 9, 14, ..., and the rest. Each is where, by
    chance, one of its copies would be if the rows were written out and shuffled: copies
    a to b of a row of weight w are between a / w and b / w of the way.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_pieces,)
        The row of each.
    sizes : ndarray of shape (n_pieces,)
        How often each counts.
    ends : list of int
        Where each part of the copies ends; one is learned after the other.
    copies : Copies
        What they are pieces of.
    part : ndarray of int64 of shape (n_bunches,)
        The part of each bunch of copies.
    """

    rows: NDArray[np.int64]
    sizes: Vector
    ends: list[int]
    copies: Copies
    part: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        copies: Copies,
        seed: int,
        n_seen: int,
        part: NDArray[np.int64] | None = None,
    ) -> Pieces:
        """Those of some copies, which are all in one part by default."""
        rows, sizes, ends = [], [], []
        n_rows = int(copies.rows[-1]) + 1
        before = np.zeros(n_rows)
        part = np.zeros(len(copies.rows), dtype=np.int64) if part is None else part
        for k in range(int(part.max()) + 1):
            own = part == k
            whole = np.bincount(copies.rows[own], copies.sizes[own], n_rows)
            left, rng = whole.copy(), np.random.default_rng([seed, n_seen, k])
            parts: list[NDArray[Any]] = []
            while len(some := np.flatnonzero(left)):
                size = np.minimum(left[some], np.maximum(before[some] // 2, 1.0))
                done = whole[some] - left[some] + rng.random(len(some)) * size
                parts.append(np.array([some, size, done / whole[some]]))
                left[some] -= size
                before[some] += size
            row, size, place = np.concatenate(parts, axis=1)
            order = np.argsort(place, kind="stable")
            rows.append(row[order].astype(np.int64))
            sizes.append(size[order])
            ends.append(sum(map(len, rows)))
        return cls(np.concatenate(rows), np.concatenate(sizes), ends, copies, part)


def has_copies(weights: Vector | None, options: TreeOptions) -> TypeGuard[Vector]:
    """Whether a table has several rows, and some of them occur more than once."""
    if weights is None or options.meaning_of_weights != "frequency":
        return False
    in_units(weights, 1.0, len(weights))
    return len(weights) > 1 and bool(weights.max() > 1.0)


def learn_in_pieces(
    state: TreeState, X: Any, y: Any, pieces: Pieces, progress: Progress
) -> None:
    """Let a tree learn a table in pieces; it does so wholly or not at all.

    Parameters
    ----------
    state : TreeState
    X, y
        As for `update`.
    pieces : Pieces
    progress
        As for `update`; it counts pieces.
    """
    which, fresh = pieces.rows, state.copy()
    fresh.warned, fresh.settles_all = set(state.warned), True
    rows, labels, growth = checked(fresh, X, y)
    levels, fresh.new_levels = fresh.new_levels, None
    if levels is not None and growth.features.levels:
        growth.features.count_new(levels, fresh.features, rows, fresh.cloud is None)
    if growth.steps:
        with with_columns([fresh], growth.features, growth.widen):
            pass  # for good, of this copy
        growth = Growth(growth.features, [], growth.features.widen)
    if fresh.options.has_labels:
        share_labels(fresh, labels)
    known = rows[which], [labels[k] for k in which.tolist()], growth
    try:
        own, responses, growth = admit_rows(fresh, X, y, pieces.sizes, known=known)
    except ArgumentError as error:
        raise error if error.row is None else error.at(int(which[error.row])) from None
    n_kept = len(which) - len(own)
    learn = partial(learn_rows, fresh)
    learn_in_parts([fresh], own, responses, growth, progress, n_kept, learn)
    fresh.add_pieces(which)
    fresh.new_levels, fresh.settles_all = levels, state.settles_all
    fresh.lock = state.lock
    vars(state).update(vars(fresh))
