"""Columns of a table in the order of names that are known, for counts of words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree.encoding.columns import Column
from dyntree.encoding.row_input import named_columns
from dyntree.errors import ArgumentError

Names = tuple[str, ...] | None


def ordered(
    X: Any, names: Names, argument: str = "X", ignore_unknown: bool = False
) -> tuple[Any, Names]:
    """Return columns in the order of `names`, and their names.

    Parameters
    ----------
    X : array_like, frame, dict or list of dicts
    names : tuple of str or None
        Names of the columns that are known; None where nothing is known of them, and
        then those of X stay as they are.
    argument : str, default "X"
        What errors call X.
    ignore_unknown : bool, default False
        Whether columns that are not known are left out and those that are missing hold
        zeros, where both would be errors.

    Returns
    -------
    X : object
        An array of shape (n_rows, n_columns) where X has names, else X itself.
    names : tuple of str or None
        None where X has no names.

    Raises
    ------
    ValueError
        Where X lacks a column or has one that is not known.

    Examples
    --------
    >>> ordered([{"b": 1.0, "a": 2.0}], ("a", "b"))[0].tolist()
    [[2.0, 1.0]]
    """
    columns = named_columns(X, argument)
    if columns is None:
        return X, None
    names = tuple(columns) if names is None else names
    missing = [name for name in names if name not in columns]
    unknown = [name for name in columns if name not in names]
    if (missing or unknown) and not ignore_unknown:
        raise ArgumentError(
            argument,
            "must have the columns that were learned; missing {missing}, unknown "
            "{unknown}",
            remedy="Add what is missing, and leave out what is unknown.",
            missing=missing[:10],
            unknown=unknown[:10],
        )
    n_rows = len(next(iter(columns.values()))) if columns else 0
    nothing = Column(np.zeros(n_rows))
    arrays = [columns.get(name, nothing).values for name in names]
    return np.column_stack(arrays) if arrays else np.empty((n_rows, 0)), names
