"""Offsets and exposures of rows as formulas take them: values, or names of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dyntree.arguments import as_numbers
from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.pairing import check_paired
from dyntree.encoding.tables import Row, Table, table_of
from dyntree.encoding.targets import Exposed, count_response
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.params import TreeOptions
from dyntree.trees.factory import Trees
from dyntree.trees.learning.exposures import check_exposure, refuse_exposure


@dataclass(frozen=True)
class RowOffsets:
    """Offset and exposure that the caller gave for some rows.

    Attributes
    ----------
    offset, exposure : array_like of shape (n_rows,), float, str, or None
        A number applies to all rows, and a str is the name of a column.
    """

    offset: Any = None
    exposure: Any = None

    @classmethod
    def given(cls, offset: Any, exposure: Any) -> Self | None:
        """Those of two arguments; None where neither is given."""
        return None if offset is None and exposure is None else cls(offset, exposure)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that they are, where some were named."""
        given = self.offset, self.exposure
        return tuple(one for one in given if isinstance(one, str))

    @property
    def named(self) -> list[Expression]:
        """Named columns as expressions, of an exposure its logarithm."""
        found = []
        if isinstance(self.offset, str):
            found.append(Expression.column(self.offset))
        if isinstance(self.exposure, str):
            steps = (("column", self.exposure), ("call", "np.log"))
            found.append(Expression(f"log({self.exposure})", steps))
        return found

    def by_value(self, table: Table) -> Vector | None:
        """Offset of the rows of a table by what is not named; None where all is."""
        offset, exposure = (
            None if isinstance(one, str) else one
            for one in (self.offset, self.exposure)
        )
        given = type(self).given(offset, exposure)
        return None if given is None else given.of(table, table.n_rows)

    def check_model(self, options: TreeOptions) -> None:
        """Raise ValueError unless such trees know them."""
        if self.exposure is not None:
            refuse_exposure(options)
        if options.model == "class":
            raise ValueError(
                "offset must not be given for labels: it is subtracted from numbers, "
                "or is the log exposure of counts. Leave it out."
            )

    def of(self, table: Table | None, n_rows: int) -> Vector:
        """Offset of each row, shape (n_rows,); a table is for what is named."""
        total = np.zeros(n_rows)
        if self.offset is not None:
            total = total + _numbers("offset", self.offset, table, n_rows)
        if self.exposure is not None:
            exposure = _named("exposure", self.exposure, table)
            total = total + np.log(check_exposure(exposure, n_rows))
        return total


def _named(name: str, values: Any, table: Table | None) -> Any:
    """Values, or those of the column of that name."""
    if not isinstance(values, str):
        if table is not None:
            check_paired(table.native, values, name, "data")
        return values
    names = () if table is None else table.names
    if table is None or values not in names:
        raise ValueError(
            f"{name} must name a column of the data, one of {list(names)}; got "
            f"{values!r}."
        )
    return table.column(values)


def _numbers(name: str, values: Any, table: Table | None, n_rows: int) -> Vector:
    """Finite numbers, one a row."""
    found = as_numbers(name, _named(name, values, table))
    if found.ndim == 0:
        found = np.full(n_rows, found)
    if found.shape != (n_rows,):
        raise ValueError(
            f"{name} must have one value a row, {n_rows}; got shape {found.shape}."
        )
    bad = np.flatnonzero(~(np.abs(found) <= LARGEST))
    if len(bad):
        raise ValueError(f"{name} must be finite; got {found[bad[0]]} in row {bad[0]}.")
    return np.asarray(found)


def shift_of(design: Design, table: Table, given: RowOffsets | None) -> Vector | None:
    """Offset of each row of a table, NaN where a column is missing; None: no offset.

    It is the sum of the offsets in the formula and of those that were given separately.
    """
    total = design.offset(table)
    if given is None:
        return total
    beside = given.of(table, table.n_rows)
    return beside if total is None else total + beside


def check_shift(design: Design, shift: Vector | None) -> None:
    """Raise ValueError for a row without a finite offset."""
    if shift is None:
        return
    bad = np.flatnonzero(~np.isfinite(shift))
    if len(bad):
        names = " + ".join(offset.label for offset in design.offsets)
        raise ValueError(
            f"data must give a finite offset, {names}, in every row; got none in row "
            f"{bad[0]}. An exposure must be > 0. Leave such rows out: missing='drop'."
        )


def row_shift(design: Design, row: Row, given: RowOffsets | None) -> float | None:
    """Offset of a bare row; None: no offset."""
    total = design.offset_of(row)
    if given is not None:
        beside = float(given.of(table_of([row]), 1)[0])
        total = beside if total is None else total + beside
    check_shift(design, None if total is None else np.array([total]))
    return total


def taught(options: TreeOptions, responses: Any, shift: Vector | None) -> Any:
    """Responses as trees learn them: less their offset, or counts over exposures."""
    if shift is None:
        return responses
    if not options.is_count:
        return np.asarray(responses, dtype=np.float64) - shift
    counts = count_response(responses, len(shift)).tolist()
    return [*map(Exposed, counts, np.exp(shift).tolist())]


def mean_with(tree: Any, row: Matrix, shift: float | None) -> float:
    """Predictive mean at one row of features with that offset."""
    mean: float = tree.mean_at(row)
    if shift is None:
        return mean
    return mean * float(np.exp(shift)) if tree.options.is_count else mean + shift


def foreseen(tree: Trees, rows: Any, shift: Vector | None, weights: Any = None) -> Any:
    """What trees predict of rows of features with these offsets."""
    if shift is None:
        return tree.predict(rows, weights)
    if tree.tree.options.is_count:
        return tree.predict(rows, weights, exposure=np.exp(shift))
    return tree.predict(rows, weights).shifted(shift)  # type: ignore[union-attr]
