"""The phases of rows: labels, in an array or a column of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import Column
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.frames import is_frame
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.row_input import named_columns
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import is_missing
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.arrays import Ids


def separated(X: Any, phases: Any) -> tuple[Any, list[Ids]]:
    """Rows without their column of phases, and the numbers of the rows of each phase.

    Phases are in the order of their labels, and the rows of each in the order given.
    Without labels there are no parts: all rows are one phase.
    """
    if _are_tables(X):
        raise ArgumentError(
            "X",
            "must be one table of rows",
            Message("{n} tables", n=len(X)),
            "Pass one phase a call, or one table with phases=, a label for each row.",
        )
    if phases is None:
        return X, []
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(phases, str):
        columns = named_columns(X)
        if columns is None or phases not in columns:
            known = "an array without names" if columns is None else list(columns)
            raise ArgumentError(
                "phases",
                "must name a column of X, or hold a label for each row",
                Message("{phases!r}, and X has {known}", phases=phases, known=known),
            )
        labels = columns[phases]
        X = without_phases(X, phases)
    else:
        check_paired(X, phases, "phases")
        labels = phases
    rows = X.rows if isinstance(X, Encoded) else X
    return X, parts_of(labels, len(rows) if hasattr(rows, "__len__") else 1)


def _are_tables(X: Any) -> bool:
    """Whether rows are tables themselves."""
    if not isinstance(X, list | tuple):
        return getattr(X, "ndim", 2) == 3
    return len(X) > 0 and (is_frame(X[0]) or getattr(X[0], "ndim", 1) == 2)


def without_phases(X: Any, column: str | None) -> Any:
    """Rows without the column that contains the phases, if they have it."""
    if column is None:
        return X
    if isinstance(X, Mapping):
        return {name: value for name, value in X.items() if name != column}
    if column not in (named_columns(X) or ()):
        return X
    if is_frame(X):
        return table_of(X, "X").without(column).native
    return [{k: v for k, v in row.items() if k != column} for row in X]


def _ordered(labels: Any) -> tuple[NDArray[Any], bool]:
    """Labels as they can be sorted, and whether these are places of categories."""
    column = labels if isinstance(labels, Column) else column_of(labels)
    if column.categories is None:
        return column.values, False
    places = {label: float(k) for k, label in enumerate(column.categories)}
    ordered = [places.get(label, np.nan) for label in column.objects()]
    return np.array(ordered), True


def parts_of(labels: Any, n_rows: int) -> list[Ids]:
    """Rows of each label, in the order of the labels.

    A category between two that have rows is a phase without rows. Those before the
    first and after the last are not: parts of a frame have the categories of the whole.
    """
    plain = isinstance(labels, np.ndarray | list | tuple)
    values, are_places = (
        (params.as_array("phases", labels), False) if plain else _ordered(labels)
    )
    if values.shape != (n_rows,):
        raise ArgumentError(
            "phases",
            f"must hold a label for each of the {n_rows} rows",
            Message("shape {shape}", shape=values.shape),
        )
    for row, label in enumerate(values.tolist()):
        if is_missing(label):
            raise ArgumentError("phases", "must not be missing", label, row=row)
    try:
        distinct, place = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ArgumentError(
            "phases",
            "must be labels that can be sorted",
            labels,
            "Give numbers or text alone.",
        ) from error
    n_parts = len(distinct)
    if are_places and n_parts:
        first, last = int(distinct[0]), int(distinct[-1])
        place, n_parts = values.astype(np.int64) - first, last - first + 1
    return [np.flatnonzero(place == k).astype(np.int64) for k in range(n_parts)]
