"""Values as users hold them: what is missing, a number, a level, or too large."""

from __future__ import annotations

import numbers
from collections.abc import Sized
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

LARGEST = 1e150  # size of a value under the native rules: sums of squares stay finite
NUMBER = (numbers.Real, Decimal, np.bool_)
MOST_LEVELS = 1000  # of a column, learned from the rows and not named
PLAIN = (float, np.float64, int, bool)  # numbers that need no closer look


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA, which is neither equal nor unequal
        return True
    except ValueError:  # an array
        return False


def is_readable(value: Any) -> bool:
    """Whether a value can be a number or a level: no complex number, list or array."""
    return type(value).__hash__ is not None and not isinstance(value, complex)


def check_readable(name: str, argument: str, values: NDArray[Any]) -> None:
    """Refuse a column of complex numbers, lists or the like."""
    for value in values.tolist() if values.dtype.kind in "Oc" else ():
        if not is_readable(value):
            raise ValueError(
                f"{argument} must hold real numbers or levels in column {name!r}; got "
                f"{value!r}. Give its parts columns of their own."
            )


def check_levels(name: str, levels: Sized) -> None:
    """Refuse more levels than anybody means, which would be as many features."""
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"column {name!r} must have at most {MOST_LEVELS} levels; got "
            f"{len(levels)}, a feature each. Leave such a column out, make it numbers, "
            f"or name the levels that count: categories={{{name!r}: [...]}}."
        )


def is_many(value: Any) -> bool:
    """Whether a value is a list, an array or the like, of any length."""
    plain = isinstance(value, str | bytes) or not hasattr(value, "__len__")
    return not plain and np.ndim(value) > 0


def as_objects(column: Any) -> NDArray[Any]:
    """A column as an array of objects."""
    return np.asarray(column, dtype=object)


def is_of_objects(column: Any) -> bool:
    """Whether a column can hold text: no numbers, dates or durations of NumPy's."""
    return np.asarray(column).dtype.kind in "OUST"


def present_values(column: Any) -> list[Any]:
    """Values of a column that are not missing."""
    return [v for v in as_objects(column).tolist() if not is_missing(v)]


def as_texts(column: Any) -> list[str | None]:
    """Values as text, None where missing."""
    values = as_objects(column).tolist()
    return [None if is_missing(value) else str(value) for value in values]


def is_number(value: Any) -> bool:
    """Whether a value is a real number; NumPy counts durations among its integers."""
    return isinstance(value, NUMBER) and not isinstance(value, np.timedelta64)


def as_number(value: Any) -> float | None:
    """Return a number as a float; None for all else, NaN, and what is too large."""
    if not isinstance(value, NUMBER):
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
        Of the first entry that is no real number; `remedy` is what may be done.
    """
    if values.dtype.kind in "biuf":
        return np.array(values, dtype=np.float64, order="C")
    if values.dtype.kind not in "OUST":
        raise ValueError(
            f"{argument} must hold real numbers; got an array of type {values.dtype}. "
            "Make it numbers first."
        )
    numbers = np.empty(values.shape)
    for place, value in np.ndenumerate(values.astype(object)):
        if not is_number(value) and not is_missing(value):
            names = ("row", "column")[: len(place)]
            where = ", ".join(f"{a} {k}" for a, k in zip(names, place, strict=True))
            raise ValueError(
                f"{argument} must hold real numbers; got {value!r} in {where}. {remedy}"
            )
        numbers[place] = real_number(value)
    return numbers


def column_of_numbers(
    name: str, column: Any, allow_missing: bool, argument: str = "X"
) -> Vector:
    """A column of numbers; None and NA become NaN."""
    values = np.asarray(column)
    if values.dtype.kind in "OUST":
        given = np.asarray(column, dtype=object).tolist()
        for row, value in enumerate(given):
            if not is_number(value) and not is_missing(value):
                remedy = "Encode it as numbers or indicator columns first."
                if allow_missing:
                    remedy = (
                        "It did before; name the levels of such a column at the start: "
                        f"categories={{{name!r}: [...]}}."
                    )
                raise ValueError(
                    f"{argument} must hold numbers in column {name!r}; got {value!r} "
                    f"in row {row}. {remedy}"
                )
        return np.array([real_number(value) for value in given])
    if values.dtype.kind not in "biuf":
        remedy = "Encode it as numbers or indicator columns first."
        if values.dtype.kind in "mM":
            remedy = "Give times as numbers, such as days since a fixed date."
        kinds = "numbers, text or categories" if allow_missing else "numbers only"
        raise ValueError(
            f"{argument} must hold {kinds}; column {name!r} has type {values.dtype}. "
            f"{remedy}"
        )
    return values.astype(np.float64)


def too_large(name: str, value: float, where: str) -> str:
    """Error message for values whose squares would overflow."""
    return (
        f"{name} must be at most {LARGEST:g} in size, so that its square is finite; "
        f"got {value} {where}. Rescale it first."
    )
