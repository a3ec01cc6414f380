"""Which inputs are categorical, and the rectangle an integral runs over."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree.errors import ArgumentError, Message

from .arguments import as_flag, as_flags, real_array

_LARGE_AREA = 2.0**26


@dataclass(frozen=True)
class Rectangle:
    """Checked bounds (m, 2), categorical flags (m,), and whether to count rows."""

    bounds: NDArray[np.float64]
    categ: NDArray[np.bool_]
    approx: bool

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds, shape (m,)."""
        return np.ascontiguousarray(self.bounds[:, 0])

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds, shape (m,)."""
        return np.ascontiguousarray(self.bounds[:, 1])

    def warn_if_large(self) -> None:
        """Warn where R warns: the exact area is beyond 2**26."""
        widths = (self.upper - self.lower)[~self.categ]
        if not self.approx and np.prod(widths) > _LARGE_AREA:
            warnings.warn(
                "the area of the bounding rectangle is very large; use approx=True or "
                "scale the inputs.",
                stacklevel=3,
            )


def plan_rectangle(
    X: NDArray[np.float64],
    ones: int,
    rect: ArrayLike | None,
    categ: ArrayLike | None,
    approx: bool,
    others: NDArray[np.float64] | None = None,
) -> Rectangle:
    """Check `rect`, `categ` and `approx`; fill in R's defaults.

    Parameters
    ----------
    X : ndarray of shape (n_rows, m)
        Stored rows, including the column of ones.
    ones : int
        1 if the first column of `X` is the column of ones, else 0.
    rect : array_like of shape (m - ones, 2) or None
        Lower and upper bounds; by default the ranges of `X` and `others`.
    categ : array_like of bool of shape (m - ones,) or None
        Which inputs are categorical; by default those whose values in `X` are exactly 0
        and 1.
    approx : bool
        Whether areas are measured by their numbers of rows.
    others : ndarray of shape (n_new, m), optional
        Further rows for the default ranges.

    Returns
    -------
    Rectangle

    Raises
    ------
    TypeError, ValueError
        If a shape is wrong, bounds are reversed, or a categorical input does not have
        the bounds (0, 1).
    """
    inputs = X[:, ones:]
    flags = resolve_categories(inputs, categ)
    if rect is None:
        stacked = inputs if others is None else np.vstack([inputs, others[:, ones:]])
        bounds = column_ranges(stacked)
    else:
        bounds = check_bounds(rect, "rect", inputs.shape[1])
    check_category_bounds(bounds, flags, "rect")
    if ones:
        bounds = np.vstack([[1.0, 1.0], bounds])
        flags = np.r_[False, flags]
    return Rectangle(bounds, flags, as_flag(approx, "approx"))


def resolve_categories(
    inputs: NDArray[np.float64], categ: ArrayLike | None
) -> NDArray[np.bool_]:
    """Return the flags given, or those of the inputs that are exactly {0, 1}."""
    if categ is not None:
        return as_flags(categ, "categ", inputs.shape[1])
    pair = np.array([0.0, 1.0])
    found = [np.unique(column[~np.isnan(column)]) for column in inputs.T]
    return np.array([np.array_equal(values, pair) for values in found])


def column_ranges(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return least and largest value of each column, shape (n_columns, 2)."""
    gaps = np.isnan(inputs)
    low = np.where(gaps, np.inf, inputs).min(axis=0)
    high = np.where(gaps, -np.inf, inputs).max(axis=0)
    return np.column_stack([low, high])


def check_bounds(rect: Any, name: str, n_inputs: int) -> NDArray[np.float64]:
    """Return bounds of shape (n_inputs, 2); a vector is one row."""
    if isinstance(rect, bool | np.bool_):
        raise TypeError(
            Message(
                "{name!a} must be bounds of shape ({n_inputs}, 2); got {rect}.",
                name=name,
                n_inputs=n_inputs,
                rect=rect,
            )
        )
    bounds = real_array(rect, name)
    if bounds.ndim < 2:
        bounds = bounds.reshape(1, -1)
    if bounds.shape != (n_inputs, 2):
        raise ArgumentError(
            name,
            f"must have one row (lower, upper) for each of the {n_inputs} input(s)",
            Message("shape {shape}", shape=bounds.shape),
        )
    if not np.all(np.isfinite(bounds)):
        raise ArgumentError(name, "must be finite", bounds.tolist())
    reversed_rows = np.flatnonzero(bounds[:, 0] > bounds[:, 1])
    if reversed_rows.size:
        i = reversed_rows[0]
        raise ArgumentError(
            name,
            "must have lower <= upper; row {i} is {bounds}",
            i=i + 1,
            bounds=bounds[i].tolist(),
        )
    return bounds


def check_category_bounds(
    bounds: NDArray[np.float64], categ: NDArray[np.bool_], name: str
) -> None:
    """Raise unless categorical inputs have the bounds (0, 1)."""
    for i in np.flatnonzero(categ):
        if not np.array_equal(bounds[i], [0.0, 1.0]):
            raise ArgumentError(
                name,
                "must be (0, 1) for categorical inputs; input {i} has {bounds}",
                remedy="Code it 0/1, or set its categ to False.",
                i=i + 1,
                bounds=bounds[i].tolist(),
            )
