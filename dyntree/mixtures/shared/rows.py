"""Rows as users hold them become checked float64 rows, columns by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, too_large


def no_rows() -> Matrix:
    """Return a table without rows and columns."""
    return np.empty((0, 0))


def encoded(
    X: Any, features: FeatureMap | None, argument: str = "X"
) -> tuple[FeatureMap, Matrix]:
    """Return the columns of a table and its rows, whose squares are finite.

    Columns that rows had before are `features`, or else learned; errors call the table
    by its `argument`.
    """
    if features is None:
        features, rows = FeatureMap.learn(X)
    else:
        rows = features.encode(X, argument)
    if not features.is_plain(rows) and np.abs(rows).max(initial=0.0) > LARGEST:
        row, column = np.argwhere(np.abs(rows) > LARGEST)[0]
        name = features.feature_names[column]
        raise too_large(argument, rows[row, column], row, name)
    return features, rows
