"""Rows of several phases at a time, cut by a column or by labels beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import Column
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.given import named_columns
from dyntree.encoding.pairing import check_paired
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import is_frame, table_of
from dyntree.encoding.values import is_missing
from dyntree.mixtures.shared.arrays import Ids


def separated(X: Any, phases: Any) -> tuple[Any, list[Ids]]:
    """Rows without their column of phases, and the rows of each phase.

    Parameters
    ----------
    X : table of n_rows
    phases : str, array_like of shape (n_rows,) or None
        Name of a column, or a label for each row; None is one phase.

    Returns
    -------
    X
    parts : list of ndarray of int64
        Phases in the order of their labels, rows of each in theirs.
    """
    if phases is None:
        return X, []
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(phases, str):
        columns = named_columns(X)
        if columns is None or phases not in columns:
            known = "an array without names" if columns is None else list(columns)
            raise ValueError(
                f"phases must name a column of X, or hold a label for each row; got "
                f"{phases!r}, and X has {known}."
            )
        labels = columns[phases]
        if is_frame(X):
            X = table_of(X, "X").without(phases).native
        else:
            X = [{k: v for k, v in row.items() if k != phases} for row in X]
    else:
        check_paired(X, phases, "phases")
        labels = phases
    held = X.rows if isinstance(X, Encoded) else X
    return X, parts_of(labels, len(held) if hasattr(held, "__len__") else 1)


def _ordered(labels: Any) -> NDArray[Any]:
    """Labels as they can be sorted: those of categories in their order."""
    column = labels if isinstance(labels, Column) else column_of(labels)
    if column.categories is None:
        return column.values
    places = {label: float(k) for k, label in enumerate(column.categories)}
    return np.array([places.get(label, np.nan) for label in column.objects()])


def parts_of(labels: Any, n_rows: int) -> list[Ids]:
    """Rows of each label, in the order of the labels."""
    plain = isinstance(labels, np.ndarray | list | tuple)
    values = params.as_array("phases", labels) if plain else _ordered(labels)
    if values.shape != (n_rows,):
        raise ValueError(
            f"phases must hold a label for each of the {n_rows} rows; got shape "
            f"{values.shape}."
        )
    for row, label in enumerate(values.tolist()):
        if is_missing(label):
            raise ValueError(f"phases must not be missing; got {label!r} in row {row}.")
    try:
        distinct, place = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"phases must be labels that can be sorted; got {labels!r}."
        ) from error
    return [np.flatnonzero(place == k).astype(np.int64) for k in range(len(distinct))]
