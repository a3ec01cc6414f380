"""Levels of a column -> one 0/1 feature a level, for every map that rows go through."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dyntree.encoding.values import Matrix, Vector

COLUMN = "{column}={level}"  # names of features of columns as they are
TERM = "{column}[{level}]"  # those of a formula's terms, as statsmodels has them


def level_names(form: str, column: object, levels: Iterable[object]) -> list[str]:
    """Names of the features of a column's levels.

    Parameters
    ----------
    form : str
        `COLUMN` or `TERM`.
    column : object
    levels : iterable

    Examples
    --------
    >>> level_names(COLUMN, "site", ["u", "v"]), level_names(TERM, "C(site)", [1])
    (['site=u', 'site=v'], ['C(site)[1]'])
    """
    return [form.format(column=column, level=level) for level in levels]


def indicators(places: Vector, n_levels: int, first: int = 0) -> Matrix:
    """Features of levels, 1 where a row has the level and 0 where it has another.

    Parameters
    ----------
    places : ndarray of shape (n_rows,)
        Of each row's level; below 0 or NaN where it has none that is known.
    n_levels : int
        How many of the levels have features here.
    first : int, default 0
        Place of the first of them.

    Returns
    -------
    ndarray of shape (n_rows, n_levels)
        NaN in rows without a known level.

    Examples
    --------
    >>> indicators(np.array([1.0, -1.0]), 2)
    array([[ 0.,  1.],
           [nan, nan]])
    """
    levels = np.arange(first, first + n_levels)
    rows: Matrix = (places[:, None] == levels).astype(np.float64)
    rows[~(places >= 0.0)] = np.nan
    return rows
