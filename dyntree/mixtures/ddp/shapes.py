"""What a cluster looks like before its rows are seen: the default base of normals.

The base expects a share of the variances of all rows. Clusters in a line are narrow in
its direction alone, and no share of all variances fits them. So three shapes are tried:
one share for all columns, one for each, and one for each principal axis. Those of a
column or axis are sought as if there were no other; where no column is cut into
clusters that are far apart, the first shape stands alone.

Rows on a lattice, or in a subspace, would have any density for small enough scales. So
a row counts as one of any place in its cell of the lattice, and directions in which no
row lies are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.ddp.scales import SHARES, Moments, best_scale, grid_of
from dyntree.runtime.blas import single_threaded_blas

MOST_ROWS = 10_000  # that are looked at
FINE = 1e-3  # smallest step of a column, as a share of its range, that is no lattice
NUMBERS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 30, 40)  # of clusters in a column or axis
MOST_AXES = 64  # columns beyond which there is one share for all
DF_OF_ONE = 31.0  # degrees of freedom
FAR_APART = 1.0 / 16.0  # share inside of clusters from which a shape is worth a try
RESOLVED = 1e-12  # of sums of squares: directions of less hold no rows


class Choice(NamedTuple):
    """What was chosen; `scale` is the covariance of a cluster that is expected."""

    scale: Matrix
    kappa: float
    df: float


def chosen(rows: Matrix, kappa: float | None, df: float | None) -> Choice:
    """Scales of highest evidence for rows in units of their standard deviations.

    The rows are relative to the base's mean, and no column is constant. Given values
    are retained.
    """
    rows = without_copies(rows)
    if len(rows) > MOST_ROWS:
        places = np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False)
        rows = rows[np.sort(places)]
    lattice = np.array([np.diff(np.unique(one)).min() for one in rows.T])
    values, axes = np.linalg.eigh(rows.T @ rows)
    seen = values > RESOLVED * values[-1]
    axes, values = axes[:, seen], values[seen] / len(rows)
    more, d = len(seen) - axes.shape[1], axes.shape[1]  # directions without rows
    given = None if df is None else max(df - more, d - 0.5)
    rounding, turned = (axes.T * lattice**2 / 12.0) @ axes, rows @ axes
    top, best = -np.inf, None
    with single_threaded_blas():
        for shape, least in shapes(rows, lattice, axes, values):
            grid = grid_of(d, kappa, given, least)
            root = np.linalg.cholesky(axes.T @ shape @ axes)
            inverse = solve_triangular(root, np.eye(d), lower=True)
            fit = best_scale(
                turned @ inverse.T, inverse @ rounding @ inverse.T, grid
            )  # fmt: skip
            evidence = fit.evidence - len(rows) * np.log(np.diag(root)).sum()
            if evidence > top:
                share = grid.psi[fit.scale] / max(grid.df[fit.scale] - d - 1.0, 1.0)
                own_df = grid.df[fit.scale] + more if df is None else df
                top = evidence
                best = Choice(share * shape, float(grid.kappa[fit.scale]), own_df)
    assert best is not None
    return best


def without_copies(rows: Matrix) -> Matrix:
    """The rows, with each set of copies reduced to one row.

    Copies contain no information about variances: a row and its copies would be a
    cluster. Rows of columns with few values are equal by chance, and are retained.
    """
    distinct, first = np.unique(rows, axis=0, return_index=True)
    if len(distinct) == len(rows):
        return rows
    steps = np.array([np.diff(np.unique(one)).min() for one in rows.T])
    is_fine = (steps < FINE * np.ptp(rows, axis=0)).any()
    return rows[np.sort(first)] if is_fine else rows


def shapes(
    rows: Matrix, lattice: Vector, axes: Matrix, values: Vector
) -> Iterator[tuple[Matrix, float]]:
    """Shapes of covariances of clusters, and the least share of variance of each.

    Values are in units of the columns' standard deviations.
    """
    width = len(lattice)
    yield np.eye(width), 1.0
    if width > MOST_AXES:
        return
    rounding = lattice**2 / 12.0
    own = np.array([share_inside(*one) for one in zip(rows.T, rounding, strict=True)])
    if own.min() < FAR_APART:
        yield np.diag(own), float(own.min())
    turned, rounding = rows @ axes, (axes**2).T @ rounding
    own = np.array([share_inside(*one) for one in zip(turned.T, rounding, strict=True)])
    if own.min() < FAR_APART:
        rest = float(own @ values) / width  # where no row lies, as in a mean column
        along = rest * np.eye(width) + (axes * (own * values - rest)) @ axes.T
        yield 0.5 * (along + along.T), float(own.min())


def share_inside(column: Vector, rounding: float) -> float:
    """Share of a column's variance within clusters, if there are several.

    Clusters end at the widest gaps, whose number is chosen by evidence.
    """
    n, variance = len(column), float((column**2).mean())
    rows = np.sort(column) / np.sqrt(variance)
    sums = np.cumsum([np.append(0.0, rows), np.append(0.0, rows**2)], axis=1)
    gaps, grid = np.argsort(-np.diff(rows)) + 1, grid_of(1, None, DF_OF_ONE)
    top, share = -np.inf, 1.0
    for k in NUMBERS:
        ends = np.concatenate([[0], np.sort(gaps[: k - 1]), [n]])
        size = np.diff(ends).astype(np.float64)
        first, second = np.diff(sums[:, ends])
        inside = np.maximum(second - first**2 / size, 0.0) + size * rounding / variance
        found = Moments(size, (first / size)[:, None], inside[:, None, None])
        evidence = float(grid.evidence(found).sum(axis=0).max())
        if evidence > top:
            top, share = evidence, 1.0 if k == 1 else float(inside.sum()) / n
    return float(np.clip(share, SHARES[-1], 1.0))
