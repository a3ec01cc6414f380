"""What a value of a column means: a number, days, or a level."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import NUMBER, Vector, is_missing
from dyntree.params import plain_label

Level = str | int | float | bool

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000.0  # in microseconds
UNITS = {
    "number": "",
    "date": "days since 1970-01-01 UTC",
    "duration": "days",
}
ARRAYS = {"b": "number", "i": "number", "u": "number", "f": "number"} | {
    "M": "date", "m": "duration",
}  # fmt: skip


def kind_of(values: NDArray[Any]) -> str:
    """What an array holds: "number", "date", "duration" or "levels".

    An array without any value counts as one of numbers.
    """
    if values.dtype.kind in ARRAYS:
        return ARRAYS[values.dtype.kind]
    kinds = {_kind(value) for value in values.tolist() if not is_missing(value)}
    return "number" if not kinds else kinds.pop() if len(kinds) == 1 else "levels"


def _kind(value: Any) -> str:
    if isinstance(value, timedelta | np.timedelta64):  # NumPy's are integers too
        return "duration"
    if isinstance(value, date | np.datetime64):
        return "date"
    return "number" if isinstance(value, NUMBER) else "levels"


def number_of(value: Any, kind: str) -> float | None:
    """A value as a float, NaN where missing; None for what is not of this kind."""
    if is_missing(value):
        return float("nan")
    if _kind(value) != kind:
        return None
    try:
        return READERS[kind](value)
    except OverflowError:  # an int beyond every float
        return None


def numbers_of(name: str, values: NDArray[Any], kind: str) -> Vector:
    """A column as floats, NaN where missing.

    Raises
    ------
    ValueError
        If it holds anything of another kind.
    """
    found = ARRAYS.get(values.dtype.kind)
    if found is None:
        numbers = np.empty(len(values))
        for row, value in enumerate(values.tolist()):
            number = number_of(value, kind)
            if number is None:
                raise refusal(name, kind, value, row)
            numbers[row] = number
        return numbers
    missing = np.isnat(values) if found in ("date", "duration") else np.isnan(values)
    if found != kind and not np.all(missing):
        row = int(np.flatnonzero(~missing)[0])
        raise refusal(name, kind, values[row], row)
    if found == "number" or found != kind:
        return np.where(missing, np.nan, values.astype(np.float64))
    code = values.dtype.kind
    ticks = values.astype(f"{code}8[us]").astype(np.int64)
    return np.where(missing, np.nan, ticks / DAY)


def refusal(name: str, kind: str, value: Any, row: int | None = None) -> ValueError:
    """Error for a value that is not of its column's kind."""
    where = "" if row is None else f" in row {row}"
    return ValueError(
        f"data must hold {kind}s in column {name!r}, as at first; got {value!r}{where}."
        f" Give another kind of value another column; C({name}) makes levels."
    )


def level_of(value: Any) -> Level | None:
    """A value as a level: text, a number or a bool; None where missing."""
    if is_missing(value):
        return None
    plain = plain_label(value)
    return plain if isinstance(plain, str | int | float) else str(plain)


def as_levels(values: Iterable[Any]) -> list[Level]:
    """Distinct levels among values, in the order they come."""
    levels = (level_of(value) for value in values)
    return [level for level in dict.fromkeys(levels) if level is not None]


def levels_in(values: NDArray[Any]) -> list[Level]:
    """Distinct levels of an array: sorted, or as they come where that cannot be."""
    levels = as_levels(values.tolist())
    try:
        return sorted(levels)
    except TypeError:
        return levels


def _days_of_date(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return int(value.astype("M8[us]").astype(np.int64)) / DAY
    if isinstance(value, datetime):
        start = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=UTC)
        return ((value - start) // MICROSECOND) / DAY
    return float((value - EPOCH.date()).days)


def _days(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return int(value.astype("m8[us]").astype(np.int64)) / DAY
    ticks: int = value // MICROSECOND
    return ticks / DAY


READERS: dict[str, Callable[[Any], float]] = {
    "number": float,
    "date": _days_of_date,
    "duration": _days,
}
