"""What adapters to river have in common: rows as dicts, or as frames of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

Row = Mapping[Hashable, Any]


def records_of(X: Any) -> list[Row]:
    """Rows of a frame as dicts.

    Raises
    ------
    ValueError
        If it is none of pandas', or names a column twice.
    """
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        raise ValueError(
            f"X must be a frame of pandas; got {type(X).__name__}. Give its rows to "
            "the calls of one row, or make it one."
        )
    if not X.columns.is_unique:
        raise ValueError(f"X must have distinct column names; got {[*X.columns]}.")
    records: list[Row] = X.to_dict("records")
    return records
