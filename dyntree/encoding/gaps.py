"""Arguments with a value a row, of which some may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.series import column_of
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Vector, is_missing
from dyntree.errors import ArgumentError

# Also of rows that are appended: the rule for them is the model's.
LEAVE_OUT = "Leave such rows out, as a model with missing='drop' does."


def checked_with_gaps(
    name: str, values: Any, check: Callable[[Any], Vector], allow_missing: bool
) -> Vector:
    """Values as numbers that pass a check, NaN where they are missing.

    Parameters
    ----------
    name : str
        Name of the argument.
    values : array_like of shape (n_rows,), or a number
    check : callable
        Returns the values that are there as an array of shape (n_rows,), or raises
        ValueError.
    allow_missing : bool
        Whether rows without a value are left out later.

    Raises
    ------
    ValueError
        By the check, or if a value is missing and must not be.
    """
    if allow_missing and not np.ndim(values) and is_missing(values):
        return np.full_like(check(1.0), np.nan)
    if np.ndim(values) != 1:
        return check(values)
    filled = np.array(column_of(values).values)
    if filled.dtype.kind not in "fO":
        return check(values)
    missing = np.array([is_missing(value) for value in filled.tolist()], dtype=bool)
    if not missing.any():
        return check(values)
    if not allow_missing:
        row = int(missing.argmax())
        raise ArgumentError(
            name,
            "must have a value in every row",
            filled[row],
            LEAVE_OUT,
            row=row,
        )
    filled[missing] = 1.0
    found = np.array(check(filled))
    found[missing] = np.nan
    return found


def complete_rows(
    table: Table, weights: Vector | None, offsets: Mapping[str, Vector]
) -> tuple[Table, Vector | None, dict[str, Vector]]:
    """The rows that have a weight and all offsets, and these, each of shape (n_rows,).

    Offsets are by argument, as from `RowOffsets.of`.
    """
    there: NDArray[np.bool_] = np.ones(table.n_rows, dtype=bool)
    for values in (*offsets.values(), *(() if weights is None else (weights,))):
        there &= ~np.isnan(values)
    if there.all():
        return table, weights, {**offsets}
    left = {name: values[there] for name, values in offsets.items()}
    weights = None if weights is None else weights[there]
    return table.take(np.flatnonzero(there)), weights, left


def no_complete_row(table: Table, names: Iterable[str]) -> ValueError:
    """The error for data without a complete row, with the columns that have no value.

    Parameters
    ----------
    table : Table
        The data.
    names : iterable of str
        Columns that a complete row has values in.
    """
    empty = [
        name
        for name in dict.fromkeys(names)
        if name in table.names and all(map(is_missing, table.column(name).tolist()))
    ]
    message = "data must have at least one complete row; got none."
    if table.n_rows and empty:
        message += (
            f" There is no value at all in {empty}. Give values, or leave such a "
            "variable out of the formula."
        )
    return ValueError(message)
