"""Rows as users hold them -> columns by name or place, or an array of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyntree.encoding.columns import Column
from dyntree.encoding.frames import is_frame
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import columns_of_rows, table_of
from dyntree.encoding.values import LARGEST, Matrix, is_many, too_large
from dyntree.errors import ArgumentError, Message, UnusableValueError
from dyntree.params import as_array

NAN_IS_MISSING = "Pass NaN if the value is missing, or drop such rows first."


def names_amiss(missing: Sequence[Any], unknown: Sequence[Any]) -> str:
    """What is wrong with names of columns, as a template of those that there are.

    Examples
    --------
    >>> names_amiss(["x"], []), names_amiss(["x"], ["y"])
    ('missing {missing}', 'missing {missing}, unknown {unknown}')
    """
    parts = ["missing {missing}"] * bool(missing) + ["unknown {unknown}"] * bool(
        unknown
    )
    return ", ".join(parts)


def named_columns(X: Any, argument: str = "X") -> dict[str, Column] | None:
    """Columns by name of a frame, a dict or a list of dicts; None for arrays.

    A dict is one row. Frames are those of any library that `tables.table_of` knows.
    """
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        for name, values in (columns := columns_of_rows(X, argument)).items():
            for value in values:
                if is_many(value):
                    raise ArgumentError(
                        argument,
                        "must hold one value a column in a dict, which is one row",
                        Message(
                            "a {kind} in column {name!r}",
                            kind=type(value).__name__,
                            name=name,
                        ),
                        "Give a frame for several rows.",
                    )
        return {name: column_of(values) for name, values in columns.items()}
    if not is_frame(X):
        return None
    return table_of(X, argument).columns()


def unnamed_columns(X: Any, argument: str = "X") -> Matrix | dict[int, Column]:
    """Rows without names: numbers as a new float64 array, all else column by column."""
    rule, values = "must be of shape (n_rows, n_features)", as_array(argument, X)
    if values.ndim == 0:
        raise ArgumentError(argument, rule, X)
    if values.ndim != 2:
        ways = "reshape(-1, 1)", "reshape(1, -1)"
        if hasattr(X, "to_frame"):  # a series
            ways = "to_frame()", "to_frame().T"
        raise ArgumentError(
            argument,
            rule,
            Message("shape {shape}", shape=values.shape),
            "Use {ways} for one column and {ways_2} for one row.",
            ways=ways[0],
            ways_2=ways[1],
        )
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64, order="C")
    if values.dtype.kind not in "OUSTmM":
        raise UnusableValueError(
            argument,
            "must hold real numbers",
            Message("an array of type {dtype}", dtype=values.dtype),
            "Make it numbers first.",
        )
    if values.dtype.kind in "UST":
        values = values.astype(object)
    return {k: Column(column) for k, column in enumerate(values.T)}


def finite_rows(
    rows: Matrix, names: Sequence[str] | None, native: bool, argument: str = "X"
) -> Matrix:
    """Refuse NaN, infinities and what is too large, naming the first."""
    bad = np.abs(rows) > LARGEST if native else ~np.isfinite(rows)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        name = names[column] if names else int(column)
        value = rows[row, column]
        if np.isfinite(value):
            raise too_large(argument, value, row, name)
        raise ArgumentError(
            argument,
            "must be finite",
            value,
            NAN_IS_MISSING if native else "Drop or impute such rows first.",
            row=row,
            column=name,
        )
    return np.ascontiguousarray(rows)
