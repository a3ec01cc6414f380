"""Rows as users hold them -> the matrix the cloud stores, and labels -> classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyntree.encoding.frames import is_frame
from dyntree.encoding.tables import Table, table_of
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import check_names

from .arguments import as_numbers, is_real_extension, real_array

Names = tuple[str, ...] | None


@dataclass(frozen=True)
class InputSpec:
    """Requirements for rows and responses that are given after the fit.

    Attributes
    ----------
    n_inputs : int
        Number of columns that the user gives, without the column of ones.
    augmented : bool
        Whether a column of ones is put before them.
    columns : tuple of str or None
        Column names of the frame to which the model was fitted, if it had any.
    n_classes : int
        Largest label, or 0 for regression.
    levels : tuple or None
        Categories, if the first labels were a categorical.
    gaps : bool, default False
        Whether rows may have missing values, as they may under native rules.
    """

    n_inputs: int
    augmented: bool
    columns: Names
    n_classes: int
    levels: tuple[Any, ...] | None
    gaps: bool = False

    @property
    def ones(self) -> int:
        """Number of columns stored before the user's own: 0 or 1."""
        return int(self.augmented)

    def encode(self, value: Any, name: str) -> Matrix:
        """Return the stored form of rows, shape (n_rows, m)."""
        matrix, columns = as_matrix(value, name, self.gaps)
        if matrix.shape[1] != self.n_inputs:
            raise ArgumentError(
                name,
                f"must have {self.n_inputs} column(s), as X had at the fit",
                matrix.shape[1],
                "Write one row as a matrix with one row.",
            )
        if columns is not None and self.columns is not None and columns != self.columns:
            raise ArgumentError(
                name,
                "must have the columns of the fit, {columns}, in that order",
                list(columns),
                columns=list(self.columns),
            )
        return augment(matrix) if self.augmented else matrix

    def responses(self, value: Any, name: str, rows: int) -> Vector:
        """Return responses as the cloud takes them: reals, or classes from 0."""
        if self.n_classes == 0:
            return as_responses(value, name, rows)
        labels, levels = as_labels(value, name, rows)
        if levels is not None and self.levels is not None and levels != self.levels:
            raise ArgumentError(
                name,
                "must have the categories of the fit, {levels}",
                list(levels),
                levels=list(self.levels),
            )
        wrong = (labels < 1) | (labels > self.n_classes)
        if wrong.any():
            raise ArgumentError(
                name,
                f"must hold labels in 1..{self.n_classes}, those of the fit",
                Message(
                    "{labels:g} at element {element}",
                    labels=labels[wrong][0],
                    element=wrong.argmax() + 1,
                ),
            )
        return labels - 1


def as_matrix(value: Any, name: str, gaps: bool = False) -> tuple[Matrix, Names]:
    """Return a finite float64 copy of shape (n_rows, n_columns), and column names.

    With `gaps`, values may be NaN.
    """
    if is_frame(value) and hasattr(value, "iloc"):
        matrix, names = _from_frame(value, name)
    elif is_frame(value):
        matrix, names = _from_table(table_of(value, name), name)
    else:
        matrix, names = real_array(value, name), None
        if matrix.ndim < 2:
            matrix = matrix.reshape(-1, 1)
    if 0 in matrix.shape:
        raise ArgumentError(
            name,
            "must have at least one row and one column",
            Message("shape {shape}", shape=matrix.shape),
        )
    finite = ~np.isinf(matrix) if gaps else np.isfinite(matrix)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        label = f" ({names[j]!r})" if names is not None else ""
        remedy = (
            "R's dynaTree cannot use missing values either: drop or fill such rows."
        )
        if gaps:
            remedy = "Give missing values as NaN (in R as NA), or drop such rows."
        raise ArgumentError(
            name,
            "must be finite",
            Message(
                "{matrix} in row {row_number}, column {column_number}{label}",
                matrix=matrix[i, j],
                row_number=i + 1,
                column_number=j + 1,
                label=label,
            ),
            remedy,
        )
    return matrix, names


def as_responses(value: Any, name: str, rows: int) -> Vector:
    """Return a finite float64 copy of shape (rows,)."""
    vector = as_numbers(value, name)
    if vector.size != rows:
        raise ArgumentError(
            name, f"must have one entry for each of the {rows} row(s)", vector.size
        )
    return vector


def as_labels(
    value: Any, name: str, rows: int
) -> tuple[Vector, tuple[Any, ...] | None]:
    """Return labels rounded half to even, or the codes 1.. of a categorical."""
    levels = _categories(value)
    if levels is None:
        return np.round(as_responses(value, name, rows)), None
    codes = getattr(value, "cat", value).codes
    codes = np.asarray(codes, dtype=np.float64)
    if codes.size != rows:
        raise ArgumentError(
            name, f"must have one entry for each of the {rows} row(s)", codes.size
        )
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise ArgumentError(
            name, "must not be missing; element {element} is", element=bad[0] + 1
        )
    return codes + 1, levels


def augment(matrix: Matrix) -> Matrix:
    """Put a column of ones first."""
    return np.hstack([np.ones((matrix.shape[0], 1)), matrix])


def _categories(value: Any) -> tuple[Any, ...] | None:
    categories = getattr(getattr(value, "dtype", None), "categories", None)
    has_codes = hasattr(getattr(value, "cat", value), "codes")
    return tuple(categories) if categories is not None and has_codes else None


def _from_frame(frame: Any, name: str) -> tuple[Matrix, Names]:
    names = tuple(str(column) for column in frame.columns)
    if len(set(names)) < len(names):
        raise ArgumentError(name, "must have columns of different names", names)
    check_names(names, name)
    block = np.empty((len(frame), len(names)))
    for j, column in enumerate(frame.columns):
        series = frame[column]
        values = np.asarray(series)
        if is_real_extension(series.dtype):
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        _check_numeric(values, name, names[j], series.dtype)
        block[:, j] = values
    return block, names


def _from_table(table: Table, name: str) -> tuple[Matrix, Names]:
    """Numbers and names of a table of another library than pandas."""
    columns = table.columns()
    for title, column in columns.items():
        _check_numeric(column.values, name, title, column.values.dtype)
    values = [column.values for column in columns.values()]
    return np.column_stack(values).astype(np.float64), tuple(columns)


def _check_numeric(values: Any, name: str, title: str, dtype: Any) -> None:
    """Raise TypeError unless a column holds numbers."""
    if values.dtype.kind not in "biuf":
        raise TypeError(
            Message(
                "{name!a} must have numeric columns; column {title!r} holds {dtype}. "
                "Turn text and categories into 0/1 columns first.",
                name=name,
                title=title,
                dtype=dtype,
            )
        )
