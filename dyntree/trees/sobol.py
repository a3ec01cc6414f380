"""Rows in which inputs were exchanged -> the Sobol' indices of each tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyntree._core.trees.sensitivity import moving_average
from dyntree.encoding.values import Matrix, Vector
from dyntree.trees.view import TreeView

MOST_VALUES = 1 << 21  # of a block: predictions of all trees at some rows


def sobol_indices(
    view: TreeView, a: Matrix, b: Matrix, mixed: Sequence[Matrix], place: int | None
) -> tuple[Matrix, Matrix]:
    """First-order and total indices of each tree under native rules.

    Parameters
    ----------
    view : TreeView
    a, b : ndarray of shape (n_samples, n_features)
        Two independent samples of rows.
    mixed : sequence of ndarray of shape (n_samples, n_features)
        For each input b with this input from a.
    place : int or None
        Of the class whose probability is analysed; None for real responses.

    Returns
    -------
    first, total : ndarray of shape (n_particles, n_inputs)

    Notes
    -----
    With f the means about their mean and V the variance of a response, noise included,
    first = mean f(a) (f(mixed) - f(b)) / V and total = (noise + mean (f(b) -
    f(mixed))^2 / 2) / V (Saltelli et al. 2010, table 2, rows b and f).
    """
    parts = [a, b, *mixed]
    step = max(1, MOST_VALUES // (view.n_particles * len(parts)))
    sums = np.zeros((3 * len(mixed) + 3, view.n_particles))
    middle: Matrix | None = None
    for first in range(0, len(a), step):
        some = [part[first : first + step] for part in parts]
        level, noise = _moments_by_tree(view, np.concatenate(some), place)
        if middle is None:  # may be far from 0: sums are of what is about it
            middle = level.mean(axis=1)[:, None]
        f_a, f_b, *f_mixed = np.split(level - middle, len(parts), axis=1)
        change = np.array([one - f_b for one in f_mixed])
        sums += np.concatenate(
            [
                change.sum(axis=2), (change * f_a).sum(axis=2),
                (change**2).sum(axis=2), [(f_a + f_b).sum(axis=1)],
                [(f_a**2 + f_b**2).sum(axis=1)],
                [noise[:, : 2 * len(some[0])].sum(axis=1)],
            ]
        )  # fmt: skip
    n = len(a)
    changes, with_a, squares = np.split(sums[:-3] / n, 3)
    mean, square, noise = sums[-3:] / (2 * n)
    spread = square - mean**2
    with np.errstate(all="ignore"):
        variance = spread + noise
        first_order = (with_a - mean * changes) / variance
        total = (noise + squares / 2.0) / variance
    return np.ascontiguousarray(first_order.T), np.ascontiguousarray(total.T)


def _moments_by_tree(
    view: TreeView, rows: Matrix, place: int | None
) -> tuple[Matrix, Matrix]:
    """Mean and variance of a response by each tree, of shape (n_particles, n_rows)."""
    if place is not None:
        proba = view.proba(rows)[:, :, place]
        return proba, proba * (1.0 - proba)
    return view.moments(rows)


def smoothed(x: Vector, levels: Matrix, grid: Vector, span: float) -> Matrix:
    """Main effect of numbers by a moving average (Gramacy and Taddy 2010).

    Parameters
    ----------
    x : ndarray of shape (n_rows,)
        Values of the variable; rows without one are left out.
    levels : ndarray of shape (n_draws, n_rows)
        The response there.
    grid : ndarray of shape (n_points,)
    span : float in [0, 1]
        Share of the rows that a point averages over.

    Returns
    -------
    ndarray of shape (n_draws, n_points)
        Their means where no row has a value.
    """
    order = np.argsort(x, kind="stable")[: np.count_nonzero(~np.isnan(x))]
    means = levels.mean(axis=1, keepdims=True)
    if not len(order):
        return np.asarray(np.repeat(means, len(grid), axis=1))
    x, about = x[order], levels[:, order] - means
    rows = np.ascontiguousarray(about)
    found = [moving_average(x, row, grid, span, True) for row in rows]
    return np.asarray(means + np.array(found))


def level_means(places: Vector, levels: Matrix, n_levels: int) -> Matrix:
    """Main effect of a factor: mean responses of rows of each of its levels.

    Parameters
    ----------
    places : ndarray of shape (n_rows,)
        Place of the level in each row, NaN where there is none.
    levels : ndarray of shape (n_draws, n_rows)
    n_levels : int

    Returns
    -------
    ndarray of shape (n_draws, n_levels)
        The mean of all rows for a level that no row has.
    """
    is_there = (places[:, None] == np.arange(n_levels)).astype(np.float64)
    counts = is_there.sum(axis=0)
    means = levels.mean(axis=1, keepdims=True)
    found = (levels - means) @ is_there / np.maximum(counts, 1.0)
    return np.asarray(means + found)
