"""Rows as users hold them -> columns by name, numbers, places of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyntree.encoding.values import (
    LARGEST,
    Matrix,
    Vector,
    as_texts,
    check_readable,
    is_many,
    is_number,
    is_of_objects,
    present_values,
    real_array,
    too_large,
)
from dyntree.params import as_array


def named_columns(X: Any, argument: str = "X") -> dict[str, Any] | None:
    """Columns by name of a frame, a dict or a list of dicts; None for arrays."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns]
        if len(set(names)) != len(names):
            raise ValueError(
                f"{argument} must have distinct column names; got {names}."
            )
        return {str(name): X[name] for name in X.columns}
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        for number, row in enumerate(X):
            if not isinstance(row, Mapping) or row.keys() != X[0].keys():
                raise ValueError(
                    f"{argument} must be dicts with the same keys; row {number} "
                    f"differs from row 0, {list(X[0])}."
                )
            for name, value in row.items():
                if is_many(value):
                    raise ValueError(
                        f"{argument} must hold one value a column in a dict, which is "
                        f"one row; got a {type(value).__name__} in column {name!r}. "
                        "Give a frame for several rows."
                    )
        return {str(name): [row[name] for row in X] for name in X[0]}
    return None


def column_kind(name: str, column: Any) -> str:
    """Whether a column holds "numbers", "levels", or, without any value, "unknown"."""
    values = np.asarray(column)
    if values.dtype.kind == "f":
        return "unknown" if np.all(np.isnan(values)) else "numbers"
    if not is_of_objects(column):
        return "numbers"
    present = present_values(column)
    if not present:
        return "unknown"
    if all(is_number(v) for v in present):
        return "numbers"
    check_readable(name, "X", values)
    return "levels"


def level_text(value: Any) -> str:
    """A value as a level; whole numbers need not be ints, as for `level_codes`."""
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value)) if whole else str(value)


def level_codes(column: Any, levels: tuple[str, ...]) -> Vector:
    """Place of each value among the levels: -1 where it is none, NaN where missing.

    Whole numbers need not be ints: a column of them that misses a value holds floats.
    """
    place: dict[str | None, float] = {level: float(k) for k, level in enumerate(levels)}
    place[None] = np.nan
    places = np.array([place.get(text, -1.0) for text in as_texts(column)])
    values = np.asarray(column, dtype=object)
    for k in np.flatnonzero(places < 0.0):
        value = values[k]
        if isinstance(value, float | np.floating) and value.is_integer():
            places[k] = place.get(str(int(value)), -1.0)
    return places


def matrix_of(X: Any, argument: str = "X") -> Matrix:
    """X as a new two-dimensional float64 array."""
    values = as_array(argument, X)
    if values.ndim != 2:
        ways = "reshape(-1, 1)", "reshape(1, -1)"
        if hasattr(X, "to_frame"):  # a Series
            ways = "to_frame()", "to_frame().T"
        raise ValueError(
            f"{argument} must be of shape (n_rows, n_features); got shape "
            f"{values.shape}. Use {ways[0]} for one column and {ways[1]} for one row."
        )
    return real_array(argument, values, "Encode text as numbers, or give a frame.")


def finite_rows(
    rows: Matrix, names: Sequence[str] | None, native: bool, argument: str = "X"
) -> Matrix:
    """Refuse NaN, infinities and what is too large, naming the first."""
    bad = np.abs(rows) > LARGEST if native else ~np.isfinite(rows)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        name = names[column] if names else int(column)
        value, where = rows[row, column], f"in row {row}, column {name!r}"
        if np.isfinite(value):
            raise ValueError(too_large(argument, value, where))
        raise ValueError(
            f"{argument} must be finite; got {value} {where}. Drop or impute such rows "
            "first" + ("." if native else "; trees under rules='native' take NaN.")
        )
    return np.ascontiguousarray(rows)
