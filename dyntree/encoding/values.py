"""Values as users hold them: what is missing, a number, a level, or too large."""

from __future__ import annotations

import numbers
from collections.abc import Sized
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import is_missing as is_missing  # asked of every value here
from dyntree.params.labels import reads_as_number

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

LARGEST = 1e150  # size of a value under the native rules: sums of squares stay finite
NUMBER = (numbers.Real, Decimal, np.bool_)
MOST_LEVELS = 1000  # of a column, learned from the rows and not named
MOST_COLUMNS = 1000  # of rows whose columns may come late; a first row may have more
NAMED = "categories={{{name!r}: [...]}}"  # how levels of a column are named
DECLARED = f"{NAMED} or a categorical column of a frame"
PLAIN = (float, np.float64, int, bool)  # numbers that need no closer look


def declared(name: Any) -> Message:
    """How levels of a column are named beforehand, for errors and warnings."""
    return Message(DECLARED, name=name)


def check_levels(name: str, levels: Sized) -> None:
    """Refuse more levels than anybody means, which would be as many features."""
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            Message(
                "column {name!r} must have at most {most_levels} levels; got "
                "{n_levels}, a feature each. Leave such a column out, make it "
                "numbers, or name the levels to use: {declared}.",
                name=name,
                most_levels=MOST_LEVELS,
                n_levels=len(levels),
                declared=declared(name),
            )
        )


def is_many(value: Any) -> bool:
    """Whether a value is a list, an array or the like, of any length."""
    plain = isinstance(value, str | bytes) or not hasattr(value, "__len__")
    return not plain and np.ndim(value) > 0


def is_number(value: Any) -> bool:
    """Whether a value is a real number; NumPy counts durations among its integers."""
    return isinstance(value, NUMBER) and not isinstance(value, np.timedelta64)


def as_number(value: Any) -> float | None:
    """Return a number as a float; None for all else, NaN, and what is too large."""
    if type(value) is float:  # of most rows, without a look at its classes
        return value if abs(value) <= LARGEST else None
    if not is_number(value):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int beyond every float
        return None
    return number if abs(number) <= LARGEST else None


def real_number(value: Any) -> float:
    """A number as a float: infinite where it is beyond every float, NaN if missing."""
    if is_missing(value):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def real_array(argument: str, values: NDArray[Any], remedy: str) -> NDArray[np.float64]:
    """A new float64 array of numbers or objects that are some; NaN where missing.

    Raises
    ------
    ValueError
        Of the first entry that is no real number; `remedy` is what may be done, if it
        does not read as one.
    """
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64, order="C")
    if values.dtype.kind not in "OUST":
        raise ArgumentError(
            argument,
            "must hold real numbers",
            Message("an array of type {dtype}", dtype=values.dtype),
            "Make it numbers first.",
        )
    numbers = np.empty(values.shape)
    for place, value in np.ndenumerate(values.astype(object)):
        if not is_number(value) and not is_missing(value):
            where = dict(zip(("row", "column"), place, strict=False))
            rule = "must hold real numbers"
            if isinstance(value, str) and reads_as_number(value):
                remedy = "Convert text to numbers first."
            raise ArgumentError(argument, rule, value, remedy, **where)
        numbers[place] = real_number(value)
    return numbers


def too_large(
    name: str, value: float, row: int | None = None, column: Any = None
) -> ArgumentError:
    """Error for values whose squares would overflow."""
    return ArgumentError(
        name,
        f"must be at most {LARGEST:g} in size, so that its square is finite",
        value,
        "Rescale it first.",
        row=row,
        column=column,
    )
