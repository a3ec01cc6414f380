"""What users hold -> checked rows of a family, and the rows of each phase."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing
from dyntree.encoding.frames import is_frame
from dyntree.encoding.row_input import named_columns
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.shared.rows import encoded


def read_rows(
    X: Any, features: FeatureMap | None, family: Family, model: str
) -> tuple[FeatureMap | None, Matrix]:
    """Columns, known or learned here, and rows that a family has a density for."""
    params.check_dense("X", X)
    if is_nothing(X):
        return features, np.empty((0, 0 if features is None else features.n_features))
    check_missing(X, model)
    features, rows = encoded(X, features)
    family.check_rows(rows, features.feature_names)
    return features, rows


def check_missing(X: Any, model: str) -> None:
    """Refuse NaN in words of a model."""
    if isinstance(X, Encoded):
        return
    names: tuple[str, ...] = ()
    values = None
    if is_frame(X):
        columns = named_columns(X, "X") or {}
        names = tuple(columns)
        if all(column.values.dtype.kind in "biuf" for column in columns.values()):
            values = np.column_stack([one.values for one in columns.values()])
    elif isinstance(X, np.ndarray | list | tuple):
        values = params.as_array("X", X)
    if values is None or values.dtype.kind != "f" or values.ndim != 2:
        return
    bad = np.isnan(values)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        name = names[column] if names else f"x{column}"
        raise ArgumentError(
            "X",
            "must be finite: row {number}, column {label!r} is NaN; {model} has no "
            "missing-value model; drop or impute the row",
            number=row,
            label=name,
            model=model,
        )
