"""Documents that were read: points, and the document of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Vector
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.store import Store

Longs = NDArray[np.int64]
Times = tuple[tuple[int, str], ...]  # places of columns of times, and of which kind


@dataclass(frozen=True, kw_only=True)
class Batch(ABC):
    """Documents that were read and checked; see `RowBatch` and `WordBatch`."""

    noun: ClassVar[str]  # what documents without any are said to lack

    document: Longs  # (n,) of each row, or of each pair of document and word
    n_documents: int
    names: tuple[str, ...] | None = None  # of the columns
    times: Times = ()
    labels: tuple[Any, ...] | None = None  # of the documents, from groups
    is_array: bool = False  # whether all rows were passed as one table
    order: Longs | None = None  # where each row stood in that table

    @property
    def n(self) -> int:
        """Rows, or pairs of document and word."""
        return len(self.document)

    @property
    @abstractmethod
    def n_points(self) -> float:
        """Points: rows by their weight, or words as often as they occur."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns, or words of the vocabulary."""

    @abstractmethod
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The document of each row, and the rows."""

    @property
    def features(self) -> FeatureMap:
        """Names of the columns, or the number of words."""
        return FeatureMap(self.width, self.names, times=self.times)

    @abstractmethod
    def taken(self, where: Any) -> Self:
        """Points at some places, numbered as before."""

    def part(self, first: int, last: int) -> Self:
        """Some of the documents, in order."""
        last = min(last, self.n_documents)
        some = self.taken((self.document >= first) & (self.document < last))
        labels = None if self.labels is None else self.labels[first:last]
        return replace(
            some, document=some.document - first, n_documents=last - first,
            labels=labels, order=None,
        )  # fmt: skip

    def unsorted(self, values: Any) -> Any:
        """Values of points in order of arrival."""
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def matched(self, features: FeatureMap) -> Self:
        """Documents with the columns that a model knows, in its order."""
        return self

    def scales(self, standardize: bool) -> tuple[Vector, Vector]:
        """Shift and scale of the columns, where there are some."""
        return np.zeros(0), np.zeros(0)

    def cells(self) -> Vector:
        """Widths of the cells that values stand for, where there are columns."""
        return np.zeros(0)

    def spread(self, cells: Vector, *key: int) -> Self:
        """Documents whose values are at random places of their cells, by a key."""
        return self

    def without_copies(self) -> Self:
        """Documents in which as many rows that repeat count as one as usually do."""
        return self

    def standardised(self, shift: Vector, scale: Vector) -> Self:
        """Documents on the scale of the first epoch."""
        return self

    def check_near(self) -> None:  # noqa: B027
        """Refuse standardised documents that are far out of scale."""

    @abstractmethod
    def store(self, family: Family, group: Any) -> Store:
        """Points, or clumps where they have weights, of so numbered groups."""
