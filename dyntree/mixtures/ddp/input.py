"""What users hold -> checked rows of a family, and the rows of each phase."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import Column
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.given import named_columns
from dyntree.encoding.pairing import check_paired
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import is_frame, table_of
from dyntree.encoding.values import Matrix, is_missing
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.rows import encoded


class Rows(ABC):
    """A model that knows its columns once a row has come."""

    @property
    @abstractmethod
    def _columns_learned(self) -> FeatureMap | None:
        """The columns that the first rows had; None while not known."""

    @property
    @abstractmethod
    def _rows_of(self) -> Family:
        """The family that rows have to suit."""

    def _encoded(self, X: Any, argument: str = "X") -> tuple[FeatureMap | None, Matrix]:
        """Columns and rows, checked; nothing changes."""
        params.check_dense(argument, X)
        known = self._columns_learned
        if is_nothing(X):
            return known, np.empty((0, 0 if known is None else known.n_features))
        self._check_missing(X, argument)
        features, rows = encoded(X, known, argument)
        self._rows_of.check_rows(rows, features.feature_names)
        return features, rows

    def _check_missing(self, X: Any, argument: str) -> None:
        """Refuse NaN in words of this model."""
        if isinstance(X, Encoded):
            return
        names: tuple[str, ...] = ()
        values = None
        if is_frame(X):
            columns = named_columns(X, argument) or {}
            names = tuple(columns)
            if all(column.values.dtype.kind in "biuf" for column in columns.values()):
                values = np.column_stack([one.values for one in columns.values()])
        elif isinstance(X, np.ndarray | list | tuple):
            values = params.as_array(argument, X)
        if values is None or values.dtype.kind != "f" or values.ndim != 2:
            return
        bad = np.isnan(values)
        if np.any(bad):
            row, column = np.argwhere(bad)[0]
            name = names[column] if names else f"x{column}"
            raise ValueError(
                f"{argument} must be finite: row {row}, column {name!r} is NaN; "
                f"{type(self).__name__} has no missing-value model; drop or impute the "
                "row."
            )


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
