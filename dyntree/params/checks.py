"""Arguments as they come -> values that are known to be good, or an error."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import ArgumentError, Message


def one_of(name: str, value: Any, choices: Sequence[str], remedy: str = "") -> str:
    """Return `value`, one of the choices."""
    if not isinstance(value, str) or value not in choices:
        rule = "must be one of {choices:items}"
        raise ArgumentError(name, rule, value, remedy, choices=list(choices))
    return value


def count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return `value` as an int >= least, and <= most where there is one."""
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or value < least
    ):
        raise ArgumentError(name, f"must be an int >= {least}", value)
    number = int(value)
    if most is not None and number > most:
        raise ArgumentError(name, f"must be at most {most}", value)
    return number


def flag(name: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(name, "must be True or False", value)
    return bool(value)


def generator(seed: Any) -> np.random.Generator:
    """Return the generator that `seed` is or starts; None starts one at random."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "seed", "must be an int >= 0 or a numpy Generator", seed
        ) from error


def real(name: str, value: Any) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentError(name, "must be a real number", value)
    try:
        number = float(value)
    except OverflowError:  # an int beyond every float
        number = math.inf
    if not math.isfinite(number):
        raise ArgumentError(name, "must be finite", value)
    return number


def pair(name: str, value: Any) -> tuple[float, float]:
    """Return `value` as two finite floats."""
    if not isinstance(value, tuple | list | np.ndarray) or np.shape(value) != (2,):
        raise ArgumentError(name, "must be a pair of numbers", value)
    return real(name, value[0]), real(name, value[1])


def check_dense(name: str, values: Any) -> None:
    """Raise ValueError for a sparse matrix."""
    if hasattr(values, "tocsr"):
        raise ArgumentError(
            name,
            "must be dense",
            Message("a sparse matrix"),
            "Give {label}.toarray().",
            label=name,
        )


def as_array(name: str, values: Any, dtype: Any = None) -> NDArray[Any]:
    """Return `values` as an array, of floats where dtype says so.

    What a masked array hides becomes NaN, or None among objects.
    """
    check_dense(name, values)
    if isinstance(values, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(values)):
        nothing: Any = np.nan if values.dtype.kind in "biuf" else None
        values = np.where(np.ma.getmaskarray(values), nothing, values.data)
    try:
        kind = values.dtype.kind if isinstance(values, np.ndarray | np.generic) else ""
        if dtype is not None and kind == "c":  # NumPy would drop what is imaginary
            raise TypeError("complex numbers are no floats")
        array = np.asarray(values, dtype=dtype)
        if array.dtype.kind in "US" and not hasattr(values, "dtype"):
            return np.asarray(values, dtype=object)  # numbers beside text stay numbers
        return array
    except (OverflowError, TypeError, ValueError) as error:
        kind = "rectangular" if dtype is None else "rectangular and of numbers"
        raise ArgumentError(name, "must be {kind}", values, kind=kind) from error


def probabilities(name: str, values: Any) -> NDArray[np.float64]:
    """Return a probability in (0, 1), or a sequence of them, as an array."""
    found = as_array(name, values, np.float64)
    if found.ndim > 1 or not np.all((found > 0.0) & (found < 1.0)):
        raise ArgumentError(name, "must hold probabilities in (0, 1)", values)
    return found


def as_numbers(name: str, values: Any, kinds: str = "buif") -> NDArray[np.float64]:
    """Return numbers as an array of floats; texts that spell numbers are none.

    `kinds` are those of the arrays that may come, as ``dtype.kind`` has them.
    """
    array = as_array(name, values)
    if array.dtype.kind in kinds:
        return np.array(array, dtype=np.float64)
    if array.dtype.kind in "OUS":
        for row, value in enumerate(array.ravel().tolist()):
            if isinstance(value, str | bytes):
                raise ArgumentError(
                    name,
                    "must be numbers",
                    Message("the text {value!r}", value=value),
                    "Make them numbers, as by astype(float).",
                    row=row,
                )
        try:
            return np.array(array, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):
            pass
    raise ArgumentError(name, "must be numbers", values)


def positive(name: str, value: Any) -> float:
    """Return `value` as a finite float > 0."""
    number = real(name, value)
    if not number > 0.0:
        raise ArgumentError(name, "must be > 0", value)
    return number
