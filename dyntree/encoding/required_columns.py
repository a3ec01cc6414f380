"""What a formula needs of a table: its columns, and whether its response is a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyntree.encoding.columns import (
    LEVELS,
    refuse_numbers_as_text,
    unusable,
    value_kind,
)
from dyntree.encoding.expressions import Expression
from dyntree.encoding.tables import Table
from dyntree.errors import ArgumentError
from dyntree.params.labels import can_store, plain_label


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Raise ValueError unless a table has these columns."""
    given = dict.fromkeys(table.names)
    absent = [name for name in names if name not in given]
    if absent:
        raise absence(absent, table.names)


def absence(absent: Sequence[str], given: Any) -> ValueError:
    """Error for columns that the data do not have."""
    spaced = [str(name) for name in given if {*absent} & {*str(name).split()[:-1]}]
    return ArgumentError(
        "data",
        "must have the columns of the formula; {absent} are absent from {given}",
        remedy="Give them, with None or NaN for what is missing."
        + (" A name with blanks is written Q({spaced!r})." if spaced else ""),
        absent=list(absent),
        given=list(given),
        spaced=next(iter(spaced), None),
    )


def holds_labels(response: Expression, table: Table) -> bool:
    """Whether a response is a column of text, categories or bools.

    Numbers as text are refused.
    """
    if not response.is_bare:
        return False
    column = table.read(response.columns[0])
    if column.is_category or column.values.dtype == bool:
        return True
    if column.values.dtype.kind in "iuf":
        return False
    refuse_numbers_as_text(column, "data", response.columns[0])
    present = [value for _, value in column.present()]
    for row, value in column.present():
        kind = value_kind(value)
        if kind is None and not can_store(plain_label(value)):
            raise unusable("data", response.columns[0], value, row)
        if kind in (LEVELS, None):
            return True
    return column.values.dtype == object and {*map(type, present)} == {bool}
