"""Arrays of mixtures: checked where a file claims to hold some, frozen in answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.records import Record

Ids = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]
LEAST_SPREAD = 1e-151  # by which a column varies: squares of less are lost
SAME = 1e-13  # of their size, by which the values of one constant may differ


def is_constant(low: Vector, high: Vector) -> NDArray[np.bool_]:
    """Whether columns hold one value but for rounding, by their extremes.

    Or whether they vary by so little that squares of it are lost.
    """
    least = np.maximum(SAME * np.maximum(-low, high), LEAST_SPREAD)
    still: NDArray[np.bool_] = high - low <= least
    return still


def constants(rows: Matrix) -> NDArray[np.bool_]:
    """Which columns of some rows hold one value but for rounding."""
    return is_constant(rows.min(axis=0), rows.max(axis=0))


def means_of(rows: Matrix) -> Vector:
    """Means of columns, which of constants are their value, to the bit."""
    means: Vector = np.where(constants(rows), rows[0], rows.mean(axis=0))
    return means


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Record):
    """A record whose arrays, in tuples or not, nobody can write to either."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)


def settled_aliases(pairs: Any) -> dict[int, int]:
    """Ids that were merged away -> ids there are, from (old id, new id) in order."""
    into: dict[int, int] = dict(pairs)
    for old in reversed(into):  # later merges are settled first
        into[old] = into.get(into[old], into[old])
    return into
