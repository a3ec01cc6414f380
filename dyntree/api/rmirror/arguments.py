"""Scalars and options as R takes them: one check each, one voice."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.errors import ArgumentError, Message


def match_arg(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return the choice that `value` is, or is the only prefix of (R's match.arg)."""
    listed = ", ".join(repr(choice) for choice in choices)
    if not isinstance(value, str):
        raise TypeError(
            Message(
                "{name!a} must be one of {listed}; got {value!r}.",
                name=name,
                listed=listed,
                value=value,
            )
        )
    found = [choice for choice in choices if choice.startswith(value)]
    if value in choices:
        return value
    if not value or not found:
        raise ArgumentError(name, "must be one of {listed}", value, listed=listed)
    if len(found) > 1:
        raise ArgumentError(
            name,
            "must be one of {listed}; {value!r} fits more than one, write it out",
            listed=listed,
            value=value,
        )
    return found[0]


def as_flag(value: Any, name: str) -> bool:
    """Return a single truth value."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(
            Message(
                "{name!a} must be True or False; got {value!r}.", name=name, value=value
            )
        )
    return bool(value)


def as_count(value: Any, name: str, least: int = 1) -> int:
    """Return an int >= `least`; whole floats count, as R has no other numbers."""
    number = as_number(value, name)
    if number != int(number) or number < least:
        raise ArgumentError(name, f"must be an int >= {least}", value)
    return int(number)


def as_rounded_count(value: Any, name: str) -> int:
    """Return `value` rounded half to even, as R rounds it here; at least 1."""
    number = round(as_number(value, name))
    if number < 1:
        raise ArgumentError(name, "must round to an int >= 1", value)
    return number


def as_number(value: Any, name: str) -> float:
    """Return one finite real number."""
    item = value
    if isinstance(value, np.ndarray) and value.size == 1:
        item = value.reshape(())[()]
    if isinstance(item, bool | np.bool_) or not isinstance(item, numbers.Real):
        raise TypeError(
            Message(
                "{name!a} must be a single number; got {value!r}.",
                name=name,
                value=value,
            )
        )
    number = float(item)
    if not np.isfinite(number):
        raise ArgumentError(name, "must be finite", value)
    return number


def as_numbers(value: Any, name: str, length: int | None = None) -> NDArray[np.float64]:
    """Return a vector of finite reals; a number is a vector of length one."""
    array = real_array(value, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim > 1:
        raise ArgumentError(
            name, "must be a vector", Message("shape {shape}", shape=array.shape)
        )
    array = array.reshape(-1)
    if length is not None and array.size != length:
        raise ArgumentError(name, f"must have length {length}", array.size)
    finite = np.isfinite(array)
    if not finite.all():
        bad = finite.argmin()
        raise ArgumentError(
            name,
            "must be finite",
            Message("{array} at element {element}", array=array[bad], element=bad + 1),
            "Drop or replace missing values first.",
        )
    return array


def as_flags(value: Any, name: str, length: int) -> NDArray[np.bool_]:
    """Return a vector of truth values of that length."""
    array = np.asarray(value)
    if array.dtype.kind != "b":
        raise TypeError(
            Message(
                "{name!a} must hold True and False only; got {value!r}.",
                name=name,
                value=value,
            )
        )
    array = array.reshape(-1)
    if array.size != length:
        raise ArgumentError(
            name, f"must have one entry for each of the {length} inputs", array.size
        )
    return array.copy()


def as_indices(value: Any, name: str, upper: int) -> NDArray[np.int64]:
    """Return whole numbers in 1..upper as positions counted from 0."""
    array = as_numbers(value, name) if np.size(value) else np.empty(0)
    wrong = (array != np.floor(array)) | (array < 1) | (array > upper)
    if wrong.any():
        bad = wrong.argmax()
        raise ArgumentError(
            name,
            f"must hold ints in 1..{upper}",
            Message(
                "{array:g} at element {element}", array=array[bad], element=bad + 1
            ),
        )
    return array.astype(np.int64) - 1


def as_permutation(value: Any, name: str, n: int) -> NDArray[np.int64]:
    """Return a permutation of 1..n as positions counted from 0."""
    places = as_indices(value, name, n)
    distinct = np.unique(places).size
    if places.size != n or distinct != n:
        raise ArgumentError(
            name,
            f"must hold each of 1..{n} once",
            Message(
                "{size} entries, {distinct} distinct",
                size=places.size,
                distinct=distinct,
            ),
        )
    return places


def as_verb(verb: Any, rows: int, name: str = "verb") -> int:
    """Return the reporting interval; None means a tenth of the rows, True means 1."""
    if verb is None:
        return round(rows / 10)
    if isinstance(verb, bool | np.bool_):
        return int(verb)
    return int(as_number(verb, name))


def real_array(value: Any, name: str) -> NDArray[np.float64]:
    """Return a float64 copy; strings, objects and complex numbers are refused."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ArgumentError(
            name, "must be a vector or a matrix", Message("rows of different lengths")
        ) from None
    if is_real_extension(getattr(value, "dtype", None)):
        array = value.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            Message(
                "{name!a} must hold real numbers; got {value!r}. Turn text and "
                "categories into 0/1 columns first.",
                name=name,
                value=value,
            )
        )
    if array.ndim > 2:
        raise ArgumentError(name, "must have at most 2 dimensions", array.ndim)
    if array.dtype == np.float64:
        return array.copy(order="C")
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64, order="C")


def is_real_extension(dtype: Any) -> bool:
    """Whether a type is a nullable number of pandas', which NumPy sees as objects."""
    kind = getattr(dtype, "kind", None)
    return not isinstance(dtype, np.dtype) and kind in ("b", "i", "u", "f")
