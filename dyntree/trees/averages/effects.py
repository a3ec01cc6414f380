"""Effects of columns of two values on labels and counts, by regressions and trees.

Trees shrink the effect of a column that few of them split on. A regression does not, as
a line through two values is no assumption; but it knows no differences between rows.
Regressions therefore say how large an effect is on average, and trees how the effects
of single rows differ from that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix

N_REFERENCE = 200  # rows at most over which the average effect is taken

Values = NDArray[np.float64]


def reference_rows(
    filters: LinearFilters, rows: Matrix, n_compared: int, pool: Matrix
) -> Matrix | None:
    """Rows over which regressions say how large an effect is, or None if they do not.

    They do where the settings differ in columns of two values alone.

    Parameters
    ----------
    filters : LinearFilters
    rows : ndarray of shape (n_compared * n_rows, n_features)
        The settings of the same rows, one after another.
    n_compared : int
    pool : ndarray of shape (n_pool, n_features)
        Rows that were learned.

    Returns
    -------
    ndarray of shape (n_compared * n_reference, n_features)
        Where one column is set to one value in each setting, rows that were learned;
        else those that are compared.
    """
    if n_compared < 2 or not len(rows):
        return None
    settings = rows.reshape(n_compared, -1, rows.shape[1])
    same = (settings == settings[0]) | (np.isnan(settings) & np.isnan(settings[0]))
    moved = np.flatnonzero(~same.all(axis=(0, 1)))
    low, high = filters.two_values[:, moved]
    there = settings[:, :, moved]
    if not len(moved) or not np.all((there == low) | (there == high)):
        return None
    if len(moved) > 1 or not len(pool) or not np.all(there == there[:, :1]):
        return rows
    step = -(-len(pool) // N_REFERENCE)
    reference = np.tile(pool[::step], (n_compared, 1, 1))
    reference[:, :, moved] = there[:, :1]
    return np.ascontiguousarray(reference.reshape(-1, rows.shape[1]))


def setting_means(values: Values, n_compared: int) -> Values:
    """Means over the rows of each setting: (n_draws, n_compared, 1, ...)."""
    n_draws, _, *classes = values.shape
    parts = values.reshape(n_draws, n_compared, -1, *classes)
    return np.asarray(parts.mean(axis=2, keepdims=True))


def level(values: Values, is_count: bool) -> Values:
    """Mean of the means of all settings, geometric for counts: (n_draws, 1, 1, ...)."""
    if is_count:
        return np.asarray(np.exp(np.log(values).mean(axis=1, keepdims=True)))
    return np.asarray(values.mean(axis=1, keepdims=True))


def calibrated(
    values: Values,
    trees: Values,
    regressions: Values,
    correction: Values,
    n_compared: int,
    is_count: bool,
) -> Values:
    """Values at rows, moved so that their average effect is that of regressions.

    Parameters
    ----------
    values : ndarray of shape (n_draws, n_compared * n_rows), or with one more axis
        What trees say: mean counts, or probabilities of classes.
    trees, regressions : ndarray of shape (n_draws, n_compared, 1)
        Means over reference rows, see `setting_means`, or with one more axis. Their
        ratios to the `level` are the effects on counts, and their differences from it
        those on probabilities.
    correction : ndarray of shape (1, 1, 1), or with one more axis
        What the level of trees is multiplied by (counts), or what is added to it.
    n_compared : int
    is_count : bool
    """
    n_draws, _, *classes = values.shape
    parts: Any = values.reshape(n_draws, n_compared, -1, *classes)
    own, wanted = (level(means, is_count) for means in (trees, regressions))
    if is_count:
        parts = parts * (correction * (regressions / wanted) / (trees / own))
    else:
        parts = parts + (correction + (regressions - wanted) - (trees - own))
    moved: Values = parts.reshape(values.shape)
    return moved
