"""What is stored of the data: single points, and clumps of points that share a topic.

What depends on whether points are rows or words stands in `RowStore` and `WordStore`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Expected, Family
from dyntree.mixtures.shared.arrays import Arrays

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
FIELDS = {  # where the name in a file is another one
    "singlet_x": "x", "singlet_group": "group", "singlet_word": "word",
    "singlet_count": "word_count",
}  # fmt: skip
SLACK = 1e-6  # relative, of sums that were taken in another order
ASIDE = 0.1  # share of new points that are put aside to score topics


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
    """Sum values by place; the sums are floats even where there are no values."""
    return np.bincount(place, value, n).astype(np.float64, copy=False)


def distinct(owner: Any, column: Any, n: int, n_columns: int) -> Longs:
    """How many different columns each of n owners has."""
    pairs = np.unique(owner.astype(np.int64) * n_columns + column)
    return np.bincount(pairs // n_columns, minlength=n).astype(np.int64)


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
class Store(ABC):
    """Points and clumps; item i < n_points is a point, others are clump i - n_points.

    Points of words are pairs of a word and a document, with how often they occur.
    """

    stored: ClassVar[tuple[str, ...]]  # arrays that such a store has, as in files

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

    @property
    @abstractmethod
    def points(self) -> Any:
        """Single points: rows, or ids of words."""

    @property
    @abstractmethod
    def point_counts(self) -> Vector:
        """Points in each single point; words come several times."""

    @cached_property
    def weights(self) -> Vector:
        """Points in each item."""
        return np.concatenate([self.point_counts, self.clump_count])

    @property
    def total(self) -> float:
        """Points in all."""
        return float(self.weights.sum())

    def arrays(self) -> Arrays:
        """All arrays that a checkpoint holds, and memory is counted by."""
        return {name: getattr(self, FIELDS.get(name, name)) for name in self.stored}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @classmethod
    def from_arrays(cls, family: Family, arrays: Arrays) -> Self:
        """The store whose arrays these are."""
        given = {
            FIELDS.get(name, name): arrays.get(name, empty)
            for name, empty in empty_arrays(family).items()
        }
        return cls(family, **given)

    @classmethod
    def empty(cls, family: Family) -> Self:
        """A store that holds nothing."""
        return cls.from_arrays(family, {})

    def at_rest(self) -> Self:
        """The same store without what it has worked out for sweeps."""
        return self.from_arrays(self.family, self.arrays())

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
        if not self.n_clumps:
            return np.arange(len(items)), np.empty(0, dtype=np.int64)
        is_point = items < self.n_points
        return np.flatnonzero(is_point), np.flatnonzero(~is_point)

    def items_of(self, group: int) -> Longs:
        """Items of a group that no clump shares with others."""
        clumps = row_numbers(self.clump_indptr)[self.clump_group == group]
        points = np.flatnonzero(self.group == group)
        return np.concatenate([points, self.n_points + clumps]).astype(np.int64)

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

    @abstractmethod
    def moments(self, items: Longs, share: Vector) -> tuple[float, Vector, Vector]:
        """Count, mean and scatter of items, of which a share counts."""

    @abstractmethod
    def positions(self, items: Longs) -> Any:
        """Points, or means of clumps; ids of words."""

    def words_in(self, label: Any, n: int) -> Longs:
        """Different words among the items of each of n labels; 0 without words."""
        return np.zeros(n, dtype=np.int64)

    @abstractmethod
    def add_log_odds(
        self, logit: Vector, items: Longs, expected: Expected, a: int, b: int
    ) -> None:
        """Add log odds of topic a against b, by content alone, for some items."""

    # ------------------------------------------------------------ changes
    def regrouped(self, group_of: Ints, n_groups: int) -> Self:
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
        return self.from_arrays(self.family, arrays)

    def joined(self, other: Store) -> Self:
        """Both stores, whose groups are the same."""
        one, two = self.arrays(), other.arrays()
        both: Arrays = {}
        for name, array in one.items():
            more = two[name]
            if name.endswith("indptr"):
                more = more[1:] + array[-1]
            both[name] = np.concatenate([array, more])
        return self.from_arrays(self.family, both)

    @abstractmethod
    def singles(self, places: Any, group: Any) -> Self:
        """A store of some of the single points, of these groups."""

    def taken(self, points: Longs, clumps: Longs) -> Self:
        """Some of the points and clumps."""
        out: Arrays = {}
        for name, array in self.arrays().items():
            if name.startswith("singlet"):
                out[name] = array[points]
            elif name.endswith("indptr"):
                lengths = np.diff(array)[clumps]
                out[name] = np.concatenate([array[:1], np.cumsum(lengths)])
            elif name in ("clump_count", "clump_mean", "clump_scatter"):
                out[name] = array[clumps]
            else:
                by_word = name.startswith("clump_word")
                indptr = self.clump_word_indptr if by_word else self.clump_indptr
                out[name] = array[rows_of(indptr, clumps)[0]]
        return self.from_arrays(self.family, out)

    def of_groups(self, groups: Any) -> Self:
        """Single points of some groups, numbered from 0."""
        place = np.full(int(self.group.max()) + 1, -1, dtype=np.int32)
        known = groups < len(place)
        place[groups[known]] = np.flatnonzero(known)
        own = place[self.group]
        return self.singles(own >= 0, own[own >= 0])

    @abstractmethod
    def put_aside(self, before: Self, rng: np.random.Generator) -> tuple[Self, Self]:
        """The store without a tenth of the latest points, and these points."""

    def on_scale(self, ratio: Vector, offset: Vector) -> Self:
        """The store in other units, where it has some."""
        return self

    @abstractmethod
    def content(self, items: Longs, clump: Longs, count: Vector, stay: Longs) -> Arrays:
        """Arrays of content, once items are in clumps of so many points.

        Item items[i] goes into clump[i]; single points `stay` remain.
        """

    def clumped(self, part_of: Longs, is_clump: NDArray[np.bool_]) -> Self:
        """The store once the items of some parts are clumps, and other points stay.

        `part_of` has a place for each item, `is_clump` a flag for each part.
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
        arrays |= self.content(items, clump, arrays["clump_count"], stay)
        return self.from_arrays(self.family, arrays)


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
