"""Missing values of sequences: steps without rows, distances without columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dyntree.encoding.frames import is_frame
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.sva.column_laws import ColumnLaws, beside_subspace


def filled(X: Any, value: float) -> Any:
    """Rows with a value in the place of NaN; X itself where it has none."""
    if isinstance(X, Mapping):
        return {name: value if is_nan(one) else one for name, one in X.items()}
    if hasattr(X, "fill_nan"):  # polars
        return X.fill_null(value).fill_nan(value)
    if hasattr(X, "fillna") and hasattr(X, "columns"):  # a frame of pandas
        return X.fillna({k: value for k, kind in X.dtypes.items() if kind.kind == "f"})
    if isinstance(X, np.ma.MaskedArray) or is_frame(X):
        return X
    if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        return [filled(row, value) for row in X]
    try:
        rows = np.asarray(X)
    except ValueError:  # ragged, which the encoding refuses
        return X
    if rows.dtype.kind != "f" or not np.isnan(rows).any():
        return X
    return np.where(np.isnan(rows), value, rows)


def is_nan(value: Any) -> bool:
    """Whether a value of a dict is a missing number."""
    return isinstance(value, float | np.floating) and bool(value != value)


def learned_row(clusters: Any, row: Vector) -> int:
    """Let clusters of a sequence learn a row with gaps; returns the id of its cluster.

    It goes to the cluster of the least cost by the other columns. With the mean of that
    one in its gaps, no other cluster costs less. A row before all clusters is passed
    over, and so is one without a value.
    """
    gaps = np.isnan(row)
    if gaps.all() or not clusters.n:
        return int(clusters.pass_over())
    filled = np.where(gaps, clusters.means(), row)
    cost = np.diag(clusters.squared_distances(np.ascontiguousarray(filled))).copy()
    clusters.with_chain(cost)
    best = np.ascontiguousarray(filled[np.argmin(cost)])
    return int(clusters.learn_filled(best, gaps.astype(np.uint8)))


def log_density_of_seen(laws: ColumnLaws, rows: Matrix, is_normal: bool) -> Matrix:
    """Log density of the values of rows that are there, by clusters."""
    out = np.zeros((len(rows), len(laws.mean)))
    patterns, owner = np.unique(np.isnan(rows), axis=0, return_inverse=True)
    for number, gaps in enumerate(patterns):
        mine = np.flatnonzero(owner.ravel() == number)
        if not gaps.all():
            part = laws.of_columns(~gaps)
            seen = np.ascontiguousarray(rows[mine][:, ~gaps])
            out[mine] = (
                normal_densities(part, seen) if is_normal else (part.log_density(seen))
            )
    return out


def normal_densities(laws: ColumnLaws, rows: Matrix) -> Matrix:
    """Log densities of normals with the variances of the laws, as they are."""
    return np.column_stack(
        [
            beside_subspace(rows - mean, variance, B)
            for mean, variance, B in zip(
                laws.mean, laws.variance, laws.along, strict=True
            )
        ]
    )
