"""Offsets of a formula: what stands beside its terms, and is known of every row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from dyntree.encoding.columns import numbers_of
from dyntree.encoding.expressions import Expression, columns_of
from dyntree.encoding.required_columns import absence, check_columns
from dyntree.encoding.tables import Row, Table
from dyntree.encoding.values import LARGEST, Vector

ARGUMENTS = ("offset", "exposure")  # beside a formula, in the order of their columns


class KnownOffsets:
    """The part of a `Design` that sums its offsets.

    Arguments that a call passes, `replaced`, take the place of the columns that the
    arguments of the same names had when the design was made.
    """

    offsets: tuple[Expression, ...]
    kinds: dict[str, str]
    beside: dict[str, str | None]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns that the terms need."""

    @property
    def named_offsets(self) -> tuple[str, ...]:
        """Arguments that named a column, to which the last of the offsets belong."""
        return tuple(name for name in ARGUMENTS if self.beside.get(name) is not None)

    def offsets_without(self, replaced: Sequence[str]) -> tuple[Expression, ...]:
        """Offsets of the formula, and those of arguments that are not replaced."""
        named = self.named_offsets
        n_terms = len(self.offsets) - len(named)
        last = zip(named, self.offsets[n_terms:], strict=True)
        kept = [offset for name, offset in last if name not in replaced]
        return (*self.offsets[:n_terms], *kept)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that the terms and the offsets need."""
        return self.needed_without(())

    def needed_without(self, replaced: Sequence[str]) -> tuple[str, ...]:
        """Columns that are needed where a call passes these arguments."""
        offsets = columns_of(self.offsets_without(replaced))
        return tuple(dict.fromkeys((*self.columns, *offsets)))

    def offset(self, table: Table, replaced: Sequence[str] = ()) -> Vector | None:
        """Sum of the offsets, shape (n_rows,), or None without any.

        NaN where a column is missing, and where the sum is not finite.
        """
        offsets = self.offsets_without(replaced)
        if not offsets:
            return None
        check_columns(table, columns_of(offsets))

        def read(name: str) -> Vector:
            return numbers_of(name, table.read(name), self.kinds[name])

        with np.errstate(all="ignore"):
            total = sum(offset.value(read) for offset in offsets)
        known = np.abs(total) <= LARGEST
        return np.array(np.broadcast_to(np.where(known, total, np.nan), table.n_rows))

    def offset_of(self, row: Row, replaced: Sequence[str] = ()) -> float | None:
        """The same of a bare row."""
        columns = columns_of(self.offsets_without(replaced))
        if not columns:
            return None
        absent = [name for name in columns if name not in row]
        if absent:
            raise absence(absent, list(row))
        table = Table({name: [row[name]] for name in columns})
        found = self.offset(table, replaced)
        return None if found is None else float(found[0])
