"""Rows without a value in plain NumPy: both sides of splits, gaps of linear leaves."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracle.native import Leaf

Vector = NDArray[np.float64]
RIDGE = 1e-3


class Way(NamedTuple):
    """One way to fill the gaps of a row.

    Its share, the filled row, which columns have a normal value about that, and the
    covariance of those.
    """

    share: float
    z: Vector
    gaps: NDArray[np.int64]
    covariance: Vector


class Law(NamedTuple):
    """A component of a prediction: a Student t with a share."""

    share: float
    location: float
    scale: float
    df: float


def sides(tree: tuple[Any, ...], x: Vector) -> list[tuple[float, tuple[Any, ...]]]:
    """Leaves that a row may lie in, and their shares, if no split has parted a gap.

    The tree is one of ``Cloud.tree``, without retired rows.
    """
    if tree[0] == "leaf":
        return [(1.0, tree)]
    _, _, variable, value, left, right = tree
    if not np.isnan(x[variable]):
        return sides(left if x[variable] <= value else right, x)
    n_left, n_right = n_rows(left), n_rows(right)
    return [
        (n / (n_left + n_right) * share, leaf)
        for n, child in ((n_left, left), (n_right, right))
        for share, leaf in sides(child, x)
    ]


def n_rows(tree: tuple[Any, ...]) -> int:
    """Rows below a node."""
    return len(tree[2]) if tree[0] == "leaf" else n_rows(tree[4]) + n_rows(tree[5])


def groups_of(X: Vector, columns: NDArray[np.int64]) -> list[list[int]]:
    """Indicators that exclude one another in all rows."""
    groups: list[list[int]] = []
    for j in columns:
        for group in groups:
            if X[:, [*group, j]].sum(axis=1).max() <= 1.0:
                group.append(int(j))
                break
        else:
            groups.append([int(j)])
    return groups


def ways(X: Vector, z: Vector, x: Vector, spreads: Vector) -> list[Way]:
    """All ways to fill a row x, on the scale of the rows z of a leaf.

    X are these rows as they came: their columns of but 0 and 1 are indicators, whose
    scale is that of the values. `spreads` are those of all rows that leaves hold.
    """
    n = len(z)
    mean = z.mean(axis=0)
    covariance = (z - mean).T @ (z - mean) / n * n / max(n - 1, 1)
    covariance += RIDGE * np.diag(spreads**2)
    missing = np.isnan(x)
    binary = np.array([set(column) == {0.0, 1.0} for column in X.T], dtype=bool)
    groups = groups_of(X, np.flatnonzero(missing & binary))
    gaps = np.flatnonzero(missing & ~binary)
    set_columns = [j for group in groups for j in group]
    there = np.flatnonzero(~missing)
    known = np.array([*set_columns, *there], dtype=np.int64)
    found = []
    for levels in itertools.product(*([None, *group] for group in groups)):
        filled, share = x.copy(), 1.0
        for group, level in zip(groups, levels, strict=True):
            filled[group] = 0.0
            rest = 1.0 - X[:, group].mean(axis=0).sum()
            share *= rest if level is None else X[:, level].mean()
            if level is not None:
                filled[level] = 1.0
        if share < 1e-9:
            continue
        if set_columns:
            share *= _density(filled, mean, covariance, set_columns, there)
        weights = np.linalg.solve(
            covariance[np.ix_(known, known)], covariance[np.ix_(known, gaps)]
        )
        filled[gaps] = mean[gaps] + (filled[known] - mean[known]) @ weights
        left = (
            covariance[np.ix_(gaps, gaps)] - covariance[np.ix_(gaps, known)] @ weights
        )
        found.append(Way(share, filled, gaps, left))
    total = sum(way.share for way in found)
    return [way._replace(share=way.share / total) for way in found]


def _density(
    z: Vector, mean: Vector, S: Vector, given: list[int], there: NDArray[np.int64]
) -> float:
    """Normal density of the values that are there, given indicators, up to a factor."""
    if not len(there):
        return 1.0
    to = np.linalg.solve(S[np.ix_(given, given)], S[np.ix_(given, there)])
    off = z[there] - mean[there] - (z[given] - mean[given]) @ to
    left = S[np.ix_(there, there)] - S[np.ix_(there, given)] @ to
    return float(np.exp(-0.5 * off @ np.linalg.solve(left, off)))


def laws(leaf: Leaf, found: list[Way]) -> list[Law]:
    """Predictions of a linear leaf with a level, over ways to fill a row.

    A gap moves the mean by z b. Both have a variance: that of the sum is
    b'S b + sigma^2 tr(S V) beside sigma^2 w'V w at the filled row.
    """
    inverse = np.linalg.inv(leaf.precision)
    square = leaf.scale / leaf.shape
    answers = []
    for share, z, gaps, S in found:
        location, scale, df = leaf.predictive(z)
        b, V = leaf.mean[1 + gaps], inverse[np.ix_(1 + gaps, 1 + gaps)]
        more = b @ S @ b + square * np.trace(S @ V)
        answers.append(Law(share, location, float(np.sqrt(scale**2 + more)), df))
    return answers
