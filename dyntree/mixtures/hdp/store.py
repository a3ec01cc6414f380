"""What is held of the data: single points, and clumps of points that share a topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Family

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]


def row_numbers(indptr: Longs) -> Longs:
    """The row of each entry of a table of rows."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def rows_of(indptr: Longs, rows: Longs) -> tuple[Longs, Longs]:
    """Places of the entries of some rows, and which of these each belongs to."""
    lengths = np.diff(indptr)[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(indptr[:-1][rows], lengths) + np.arange(len(owner)) - before
    return places, owner


def added(place: Any, value: Any, n: int) -> Vector:
    """Sums of values at each of n places; none at all are floats, too."""
    out: Vector = np.bincount(place, value, n).astype(np.float64, copy=False)
    return out


def summed(
    owner: Longs, column: Any, value: Vector, n_rows: int, n_columns: int
) -> tuple[Longs, Ints, Vector]:
    """A table of rows (indptr, columns, values) with equal places added up."""
    key = owner.astype(np.int64) * n_columns + column
    found, place = np.unique(key, return_inverse=True)
    total = added(place, value, len(found))
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(found // n_columns, minlength=n_rows), out=indptr[1:])
    return indptr, (found % n_columns).astype(np.int32), total


@dataclass(frozen=True)
class Store:
    """Points and clumps; item i < n_points is a point, others are clump i - n_points.

    Points of words are pairs of a word and a document, with how often they came.
    """

    family: Family
    x: Matrix  # (n_points, d)
    group: Ints  # (n_points,)
    word: Ints  # (n_points,) or (0,)
    word_count: Ints  # the same
    clump_count: Vector  # (C,)
    clump_mean: Matrix  # (C, d)
    clump_scatter: Matrix  # (C, P), about the mean
    clump_indptr: Longs  # (C + 1,)
    clump_group: Ints  # (nnz,)
    clump_group_count: Vector  # (nnz,)
    clump_word_indptr: Longs  # (C + 1,), words only
    clump_word: Ints
    clump_word_count: Vector

    # ------------------------------------------------------------ sizes
    @property
    def n_points(self) -> int:
        """Single points, or pairs of word and document."""
        return len(self.group)

    @property
    def n_clumps(self) -> int:
        """Clumps."""
        return len(self.clump_count)

    @property
    def n_items(self) -> int:
        """Points and clumps."""
        return self.n_points + self.n_clumps

    @cached_property
    def weights(self) -> Vector:
        """Points in each item."""
        if self.family.kind == 2:
            single = self.word_count.astype(np.float64)
        else:
            single = np.ones(self.n_points)
        return np.concatenate([single, self.clump_count])

    @property
    def total(self) -> float:
        """Points in all."""
        return float(self.weights.sum())

    def arrays(self) -> Arrays:
        """All arrays that a checkpoint holds, and memory is counted by."""
        if self.family.kind == 2:
            return {
                "singlet_word": self.word,
                "singlet_count": self.word_count,
                "singlet_group": self.group,
                "clump_count": self.clump_count,
                "clump_indptr": self.clump_indptr,
                "clump_group": self.clump_group,
                "clump_group_count": self.clump_group_count,
                "clump_word_indptr": self.clump_word_indptr,
                "clump_word": self.clump_word,
                "clump_word_count": self.clump_word_count,
            }
        return {
            "singlet_x": self.x,
            "singlet_group": self.group,
            "clump_count": self.clump_count,
            "clump_mean": self.clump_mean,
            "clump_scatter": self.clump_scatter,
            "clump_indptr": self.clump_indptr,
            "clump_group": self.clump_group,
            "clump_group_count": self.clump_group_count,
        }

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @classmethod
    def from_arrays(cls, family: Family, arrays: Arrays) -> Store:
        """The store whose arrays these are."""
        empty = empty_arrays(family)
        given = {name: arrays.get(name, empty[name]) for name in empty}
        return cls(
            family,
            given["singlet_x"], given["singlet_group"], given["singlet_word"],
            given["singlet_count"], given["clump_count"], given["clump_mean"],
            given["clump_scatter"], given["clump_indptr"], given["clump_group"],
            given["clump_group_count"], given["clump_word_indptr"],
            given["clump_word"], given["clump_word_count"],
        )  # fmt: skip

    def at_rest(self) -> Store:
        """The same store without what it has worked out for sweeps."""
        return Store.from_arrays(self.family, self.arrays())

    # ------------------------------------------------------------ for the kernels
    @cached_property
    def kernel(self) -> dict[str, Any]:
        """Arrays of `topic_splits`."""
        return {
            "n_points": self.n_points,
            "x": self.x,
            "group": self.group,
            "word": self.word,
            "word_tally": self.word_count.astype(np.float64),
            "count": self.clump_count,
            "mean": self.clump_mean,
            "scatter": self.clump_scatter,
            "indptr": self.clump_indptr,
            "clump_group": self.clump_group,
            "tally": self.clump_group_count,
            "word_indptr": self.clump_word_indptr,
            "clump_word": self.clump_word,
            "clump_word_tally": self.clump_word_count,
        }

    @cached_property
    def sweeps(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays of `topic_sweep`: of points, and of clumps."""
        shape = {
            "kind": self.family.kind, "d": self.family.d,
            "F": self.family.n_statistics,
        }  # fmt: skip
        points = shape | {
            "n": self.n_points, "x": self.x, "group": self.group, "word": self.word,
            "word_tally": self.kernel["word_tally"],
        }  # fmt: skip
        clumps = shape | {
            "n": self.n_clumps, "x": self.clump_mean, "scatter": self.clump_scatter,
            "count": self.clump_count, "indptr": self.clump_indptr,
            "group": self.clump_group, "tally": self.clump_group_count,
            "word_indptr": self.clump_word_indptr, "word": self.clump_word,
            "word_tally": self.clump_word_count,
        }  # fmt: skip
        return points, clumps

    # ------------------------------------------------------------ sums over items
    def split_items(self, items: Longs) -> tuple[Longs, Longs]:
        """Which of some items are points, and which are clumps: places in `items`."""
        return np.flatnonzero(items < self.n_points), np.flatnonzero(
            items >= self.n_points
        )

    def items_of(self, group: int) -> Longs:
        """Items of a group that no clump shares with others."""
        clumps = row_numbers(self.clump_indptr)[self.clump_group == group]
        points = np.flatnonzero(self.group == group)
        out: Longs = np.concatenate([points, self.n_points + clumps]).astype(np.int64)
        return out

    def group_sums(self, items: Longs, share: Vector, n_groups: int) -> Vector:
        """Points of each group in items, of which a share counts."""
        single, joint = self.split_items(items)
        points = items[single]
        out = added(self.group[points], share[single] * self.weights[points], n_groups)
        places, owner = rows_of(self.clump_indptr, items[joint] - self.n_points)
        out += added(
            self.clump_group[places],
            self.clump_group_count[places] * share[joint][owner],
            n_groups,
        )
        return out

    def moments(self, items: Longs, share: Vector) -> tuple[float, Vector, Vector]:
        """Count, mean and scatter of items, of which a share counts."""
        single, joint = self.split_items(items)
        points, clumps = items[single], items[joint] - self.n_points
        weight = share * self.weights[items]
        N = float(weight.sum())
        if self.family.kind == 2:
            V = self.family.n_words
            counts = added(self.word[points], weight[single], V)
            places, owner = rows_of(self.clump_word_indptr, clumps)
            each = self.clump_word_count[places] * share[joint][owner]
            counts += added(self.clump_word[places], each, V)
            return N, counts, np.zeros(0)
        where = np.concatenate([self.x[points], self.clump_mean[clumps]])
        by = np.concatenate([weight[single], weight[joint]])
        mean = by @ where / N
        scatter = by @ self.family.outer(where - mean)
        scatter += share[joint] @ self.clump_scatter[clumps]
        return N, mean, scatter

    def positions(self, items: Longs) -> Matrix:
        """Points, or means of clumps."""
        single, joint = self.split_items(items)
        out = np.empty((len(items), self.family.d))
        out[single] = self.x[items[single]]
        out[joint] = self.clump_mean[items[joint] - self.n_points]
        return out

    # ------------------------------------------------------------ changes
    def regrouped(self, group_of: Ints, n_groups: int) -> Store:
        """The store once groups have other numbers, and some the same."""
        owner = row_numbers(self.clump_indptr)
        indptr, group, count = summed(
            owner, group_of[self.clump_group], self.clump_group_count,
            self.n_clumps, n_groups,
        )  # fmt: skip
        arrays = self.arrays() | {
            "singlet_group": group_of[self.group],
            "clump_indptr": indptr,
            "clump_group": group,
            "clump_group_count": count,
        }
        return Store.from_arrays(self.family, arrays)

    def joined(self, other: Store) -> Store:
        """Both stores, whose groups are the same."""
        one, two = self.arrays(), other.arrays()
        both: Arrays = {}
        for name, array in one.items():
            more = two[name]
            if name.endswith("indptr"):
                more = more[1:] + array[-1]
            both[name] = np.concatenate([array, more])
        return Store.from_arrays(self.family, both)

    def clumped(self, part_of: Longs, is_clump: NDArray[np.bool_]) -> Store:
        """The store once the items of some parts are clumps.

        Parameters
        ----------
        part_of : ndarray of shape (n_items,)
        is_clump : ndarray of shape (n_parts,)
            Points of other parts stay as they are.
        """
        number = np.cumsum(is_clump) - 1
        inside = is_clump[part_of]
        items = np.flatnonzero(inside)
        clump = number[part_of[items]]
        n_clumps = int(is_clump.sum())
        stay = np.flatnonzero(~inside[: self.n_points])
        single, joint = self.split_items(items)
        places, owner = rows_of(self.clump_indptr, items[joint] - self.n_points)
        n_groups = 1 + max(
            int(self.group.max(initial=0)), int(self.clump_group.max(initial=0))
        )
        indptr, group, count = summed(
            np.concatenate([clump[single], clump[joint][owner]]),
            np.concatenate([self.group[items[single]], self.clump_group[places]]),
            np.concatenate(
                [self.weights[items[single]], self.clump_group_count[places]]
            ),
            n_clumps, n_groups,
        )  # fmt: skip
        arrays: Arrays = {
            "singlet_group": self.group[stay],
            "clump_count": added(clump, self.weights[items], n_clumps),
            "clump_indptr": indptr,
            "clump_group": group,
            "clump_group_count": count,
        }
        if self.family.kind == 2:
            places, owner = rows_of(
                self.clump_word_indptr, items[joint] - self.n_points
            )
            indptr, word, count = summed(
                np.concatenate([clump[single], clump[joint][owner]]),
                np.concatenate([self.word[items[single]], self.clump_word[places]]),
                np.concatenate(
                    [self.weights[items[single]], self.clump_word_count[places]]
                ),
                n_clumps, self.family.n_words,
            )  # fmt: skip
            arrays |= {
                "singlet_word": self.word[stay],
                "singlet_count": self.word_count[stay],
                "clump_word_indptr": indptr,
                "clump_word": word,
                "clump_word_count": count,
            }
            return Store.from_arrays(self.family, arrays)
        where, weight = self.positions(items), self.weights[items]
        mean = np.empty((n_clumps, self.family.d))
        for j in range(self.family.d):
            mean[:, j] = added(clump, weight * where[:, j], n_clumps)
        mean /= arrays["clump_count"][:, None]
        where -= mean[clump]
        scatter = np.empty((n_clumps, self.family.n_second))
        within, own = self.clump_scatter[items[joint] - self.n_points], clump[joint]
        pairs = zip(self.family.rows, self.family.columns, strict=True)
        for j, (a, b) in enumerate(pairs):
            each = weight * where[:, a] * where[:, b]
            scatter[:, j] = added(clump, each, n_clumps)
            scatter[:, j] += added(own, within[:, j], n_clumps)
        arrays |= {
            "singlet_x": self.x[stay],
            "clump_mean": mean,
            "clump_scatter": scatter,
        }
        return Store.from_arrays(self.family, arrays)


def empty_arrays(family: Family) -> Arrays:
    """The arrays of a store that holds nothing, all of them."""
    d, P = family.d, family.n_second
    none, start = np.zeros(0), np.zeros(1, dtype=np.int64)
    whole = np.zeros(0, dtype=np.int32)
    return {
        "singlet_x": np.zeros((0, d)),
        "singlet_group": whole,
        "singlet_word": whole,
        "singlet_count": whole,
        "clump_count": none,
        "clump_mean": np.zeros((0, d)),
        "clump_scatter": np.zeros((0, P)),
        "clump_indptr": start,
        "clump_group": whole,
        "clump_group_count": none,
        "clump_word_indptr": start,
        "clump_word": whole,
        "clump_word_count": none,
    }


def empty_store(family: Family) -> Store:
    """A store that holds nothing."""
    return Store.from_arrays(family, empty_arrays(family))


def store_of(
    family: Family,
    rows: Any,
    group: Any,
    weight: Vector | None = None,
    words: tuple[Any, Any] | None = None,
) -> Store:
    """A store of points, of clumps of so many equal points, or of words.

    Parameters
    ----------
    rows : ndarray of shape (n, d), or None
    group : ndarray of shape (n,)
    weight : ndarray of shape (n,), optional
    words : (ids, counts), optional
        Both of shape (n,), in the place of rows.
    """
    group = np.asarray(group, dtype=np.int32)
    arrays = empty_arrays(family)
    if words is not None:
        ids, counts = words
        arrays |= {
            "singlet_word": np.asarray(ids, dtype=np.int32),
            "singlet_count": np.asarray(counts, dtype=np.int32),
            "singlet_group": group,
            "singlet_x": np.zeros((len(group), 0)),
        }
    elif weight is None:
        arrays |= {"singlet_x": np.ascontiguousarray(rows), "singlet_group": group}
    else:
        arrays |= {
            "clump_count": np.asarray(weight, dtype=np.float64),
            "clump_mean": np.ascontiguousarray(rows),
            "clump_scatter": np.zeros((len(rows), family.n_second)),
            "clump_indptr": np.arange(len(rows) + 1, dtype=np.int64),
            "clump_group": group,
            "clump_group_count": np.asarray(weight, dtype=np.float64),
        }
    return Store.from_arrays(family, arrays)
