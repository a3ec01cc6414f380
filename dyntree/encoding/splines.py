"""Splines by knots -> pieces of polynomials: B-splines, natural and cyclic cubics."""

from __future__ import annotations

import numpy as np

from dyntree.encoding.bases import EXTENDED, REFUSED, WRAPPED, Pieces, as_pieces
from dyntree.encoding.values import Matrix, Vector

CUBIC = 3


def b_spline(knots: Vector, bounds: tuple[float, float], degree: int) -> Pieces:
    """B-splines with knots within bounds, refused beyond them (de Boor 1978).

    Parameters
    ----------
    knots : ndarray of shape (n_knots,)
        Inner ones, in order; some may be equal.
    bounds : tuple of float
    degree : int
    """
    low, high = bounds
    ends = np.r_[low, knots, high]
    all_knots = np.r_[np.full(degree, low), ends, np.full(degree, high)]
    starts = np.flatnonzero(ends[:-1] < ends[1:]).tolist()
    found = [_local_b_splines(all_knots, degree + k, degree) for k in starts]
    breaks, origins = ends[starts[1:]], ends[starts]
    return Pieces(
        (*breaks.tolist(),), (*origins.tolist(),), as_pieces(np.array(found)), bounds,
        REFUSED,
    )  # fmt: skip


def _local_b_splines(t: Vector, place: int, degree: int) -> Matrix:
    """Polynomials of all B-splines between knots t[place] and the next, from t[place].

    The recursion of Cox and de Boor, over coefficients in place of values.
    """
    n_splines = len(t) - 1
    found = np.zeros((n_splines, degree + 1))
    found[place, 0] = 1.0
    for d in range(1, degree + 1):
        higher = np.zeros_like(found)
        for i in range(place - d, place + 1):
            for k, first, sign in ((i, i, 1.0), (i + 1, i + d + 1, -1.0)):
                width = t[k + d] - t[k]
                if k <= place and width > 0.0:
                    offset = sign * (t[place] - t[first])
                    higher[i] += found[k] * (offset / width)
                    higher[i, 1:] += found[k, :-1] * (sign / width)
        found = higher
    return found[: n_splines - degree]


def cubic_spline(knots: Vector, *, cyclic: bool) -> Pieces:
    """Cubic splines that are 1 at one knot and 0 at the others (Wood 2006, 4.1.2).

    Natural ones go on as straight lines, cyclic ones begin anew.
    """
    h = np.diff(knots)
    n_columns = len(h) if cyclic else len(knots)
    values = np.eye(n_columns)
    values = values[[*range(n_columns), 0]] if cyclic else values
    bends = _second_derivatives(h, values, cyclic)
    pieces = np.zeros((len(h), n_columns, CUBIC + 1))
    pieces[:, :, 0] = values[:-1]
    rise = np.diff(values, axis=0) / h[:, None]
    pieces[:, :, 1] = rise - h[:, None] * (2.0 * bends[:-1] + bends[1:]) / 6.0
    pieces[:, :, 2] = bends[:-1] / 2.0
    pieces[:, :, 3] = np.diff(bends, axis=0) / (6.0 * h[:, None])
    if cyclic:
        bounds = float(knots[0]), float(knots[-1])
        inner, origins = (*knots[1:-1].tolist(),), (*knots[:-1].tolist(),)
        return Pieces(inner, origins, as_pieces(pieces), bounds, WRAPPED)
    return _with_lines(knots, pieces)


def _second_derivatives(h: Vector, values: Matrix, cyclic: bool) -> Matrix:
    """Second derivatives at the knots of splines through these values."""
    rise = np.diff(values, axis=0) / h[:, None]
    bends = np.zeros_like(values)
    if cyclic:
        n = len(h)
        k, before = np.arange(n), np.arange(n) - 1
        system = np.zeros((n, n))
        np.add.at(system, (k, k), (h[before] + h) / 3.0)
        np.add.at(system, (k, before), h[before] / 6.0)
        np.add.at(system, (before, k), h[before] / 6.0)
        bends[:-1] = np.linalg.solve(system, rise - rise[before])
        bends[-1] = bends[0]
    elif len(h) > 1:
        system = np.diag((h[:-1] + h[1:]) / 3.0)
        system += np.diag(h[1:-1] / 6.0, 1) + np.diag(h[1:-1] / 6.0, -1)
        bends[1:-1] = np.linalg.solve(system, np.diff(rise, axis=0))
    return bends


def natural_spline(
    knots: Vector, bounds: tuple[float, float], *, with_intercept: bool
) -> Pieces:
    """Natural cubic splines as B-splines, in the coordinates of R's ``ns``.

    Parameters
    ----------
    knots : ndarray of shape (n_knots,)
        Inner ones, in order.
    bounds : tuple of float
        Beyond them they go on as straight lines.
    with_intercept : bool
        Whether the constant is among what they span.
    """
    free = b_spline(knots, bounds, CUBIC)
    pieces = np.array(free.coefficients)[:, 0 if with_intercept else 1 :]
    length = bounds[1] - free.origins[-1]
    straight = [pieces[0] @ [0.0, 0.0, 2.0, 0.0]]
    straight.append(pieces[-1] @ [0.0, 0.0, 2.0, 6.0 * length])
    straight[1][:-CUBIC] = 0.0  # but for rounding
    turned = _complement(np.array(straight).T)
    pieces = np.einsum("pcd,ck->pkd", pieces, turned)
    return _with_lines(np.r_[free.origins, bounds[1]], pieces)


def _complement(columns: Matrix) -> Matrix:
    """An orthonormal basis of what is orthogonal to some columns.

    By Householder's reflections, with the signs of LINPACK, which R has.
    """
    rest, turned = columns.copy(), np.eye(len(columns))
    for k in range(columns.shape[1]):
        mirror = rest[k:, k] / np.copysign(
            np.linalg.norm(rest[k:, k]), rest[k, k] + 0.0
        )
        mirror[0] += 1.0
        reflection = np.eye(len(mirror)) - np.outer(mirror, mirror) / mirror[0]
        rest[k:] = reflection @ rest[k:]
        turned[:, k:] = turned[:, k:] @ reflection
    return turned[:, columns.shape[1] :]


def _with_lines(knots: Vector, pieces: Matrix) -> Pieces:
    """Pieces between knots, with straight lines before the first and after the last."""
    length, last = knots[-1] - knots[-2], pieces[-1]
    lines = np.zeros((2, *last.shape))
    lines[0, :, :2] = pieces[0, :, :2]
    lines[1, :, 0] = last @ length ** np.arange(4.0)
    lines[1, :, 1] = last @ [0.0, 1.0, 2.0 * length, 3.0 * length**2]
    both = np.concatenate([lines[:1], pieces, lines[1:]])
    origins = (float(knots[0]), *knots.tolist())
    bounds = float(knots[0]), float(knots[-1])
    return Pieces((*knots.tolist(),), origins, as_pieces(both), bounds, EXTENDED)
