"""Offsets of a formula: what stands beside its terms, and is known of every row."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from dyntree.encoding.columns import numbers_of
from dyntree.encoding.expressions import Expression, columns_of
from dyntree.encoding.needed import absence, check_columns
from dyntree.encoding.tables import Row, Table
from dyntree.encoding.values import LARGEST, Vector


class KnownOffsets:
    """The part of a `Design` that sums its offsets."""

    offsets: tuple[Expression, ...]
    kinds: dict[str, str]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns that the terms need."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that the terms and the offsets need."""
        return tuple(dict.fromkeys((*self.columns, *self._offset_columns)))

    def offset(self, table: Table) -> Vector | None:
        """Sum of the offsets, shape (n_rows,), or None without any.

        NaN where a column is missing, and where the sum is not finite.
        """
        if not self.offsets:
            return None
        check_columns(table, self._offset_columns)

        def read(name: str) -> Vector:
            return numbers_of(name, table.read(name), self.kinds[name])

        with np.errstate(all="ignore"):
            total = sum(offset.value(read) for offset in self.offsets)
        known = np.abs(total) <= LARGEST
        return np.array(np.broadcast_to(np.where(known, total, np.nan), table.n_rows))

    def offset_of(self, row: Row) -> float | None:
        """The same of a bare row."""
        if not self.offsets:
            return None
        absent = [name for name in self._offset_columns if name not in row]
        if absent:
            raise absence(absent, list(row))
        found = self.offset(Table({name: [row[name]] for name in self._offset_columns}))
        return None if found is None else float(found[0])

    @property
    def _offset_columns(self) -> tuple[str, ...]:
        """Columns that the offsets need."""
        return columns_of(self.offsets)
