"""What a value of a column means: a number, a time in days, or a level.

One rule for every face, for rows that are learned and rows that are asked:

- Numbers and truth values are numbers.
- Time stamps and dates of every library are days since 1970-01-01 in UTC, and durations
  and times of day are days. Periods stand for their start. A column has times with a
  zone or without one, never both.
- Text is a level, and so is whatever a column of a category type holds; see `levels`.
- Anything else is an error that names the column and the row.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.as_text import measured
from dyntree.encoding.values import NUMBER, Vector, is_missing, is_number, real_number
from dyntree.errors import ArgumentError, Message, UnusableValueError
from dyntree.params.labels import reads_as_number

NUMBERS, LEVELS, UNKNOWN = "number", "levels", "unknown"
LOCAL, ZONED, DURATION = "local date", "zoned date", "duration"
TIMES = (LOCAL, ZONED, DURATION)

EPOCH, ZONED_EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = 86_400_000_000.0  # in microseconds
FAR = 10**8  # days from 1970 beyond which int64 cannot count microseconds
SINCE = "days since 1970-01-01 UTC"
UNITS = {NUMBERS: "", LOCAL: SINCE, ZONED: SINCE, DURATION: "days"}
NOUNS = {
    NUMBERS: "numbers", DURATION: "durations", LOCAL: "dates", ZONED: "dates",
    LEVELS: "text or numbers",
}  # fmt: skip
TRUTHS = ("true", "false")
TIMES_AS_TEXT = "It is text: convert such a column to dates or durations."
ZONES = {LOCAL: "dates without a zone", ZONED: "dates with a zone"}
PLAIN_KINDS: dict[type, str] = {
    float: NUMBERS, int: NUMBERS, bool: NUMBERS, str: LEVELS, timedelta: DURATION,
}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """A column of any library, as it was read.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Numbers, times of NumPy's, or objects.
    is_category : bool
        Whether the library holds it as categories.
    is_zoned : bool
        Whether times of NumPy's had a zone; they are in UTC then.
    categories : tuple, optional
        Categories in their order, where the type names them.
    is_ordered : bool
        Whether the type says that their order means something.
    """

    values: NDArray[Any]
    is_category: bool = False
    is_zoned: bool = False
    categories: tuple[Any, ...] | None = None
    is_ordered: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: slice | NDArray[np.int64]) -> Column:
        """Some rows."""
        return replace(self, values=self.values[rows])

    def objects(self) -> list[Any]:
        """Values as plain objects; None or NaN where missing."""
        code, fine = self.values.dtype.kind, self.values
        if self._is_fine:
            fine = fine.astype(f"{code}8[us]")
        plain: list[Any] = fine.tolist()
        if code in "mM":  # Python has no months, and no year 10,000
            raw = self.values
            plain = [raw[k] if isinstance(v, int) else v for k, v in enumerate(plain)]
        if self.is_zoned:
            return [_in_utc(value) for value in plain]
        return plain

    @property
    def _is_fine(self) -> bool:
        """Whether values are NumPy's times in hours or less."""
        dtype = self.values.dtype
        return dtype.kind in "mM" and np.datetime_data(dtype)[0] not in "YMWD"

    def labels(self) -> list[Any]:
        """Values as labels: as objects, but times finer than a microsecond as NumPy's.

        These cannot be labels, and would be one with others if they were cut.
        """
        plain = self.objects()
        if self._is_fine:
            cut = self.values.astype(f"{self.values.dtype.kind}8[us]")
            for row in np.flatnonzero((cut != self.values) & ~np.isnat(self.values)):
                plain[row] = self.values[row]
        return plain

    def present(self) -> Iterator[tuple[int, Any]]:
        """Rows that have a value, and the value."""
        for row, value in enumerate(self.objects()):
            if not is_missing(value):
                yield row, value


def _in_utc(value: Any) -> Any:
    """A time that is in UTC, and says so where Python has such a time."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def value_kind(value: Any) -> str | None:
    """What a value that is not missing means; None for what cannot be used.

    Examples
    --------
    >>> [value_kind(v) for v in (1.5, True, "u", timedelta(2), date(2024, 2, 29), b"u")]
    ['number', 'number', 'levels', 'duration', 'local date', None]
    """
    kind = PLAIN_KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.datetime_data(value.dtype)[0] == "generic":  # of no unit
            return None
        return LOCAL if isinstance(value, np.datetime64) else DURATION
    if isinstance(value, datetime):
        return LOCAL if value.tzinfo is None else ZONED
    if isinstance(value, date) or _is_period(value):
        return LOCAL
    if isinstance(value, timedelta | time):
        return None if getattr(value, "tzinfo", None) else DURATION
    if isinstance(value, str):
        return LEVELS
    return NUMBERS if isinstance(value, NUMBER) else None


def is_nameless(value: Any) -> bool:
    """Whether text can tell a value from another only by its address in memory."""
    kind = type(value)
    plain: Any = object
    return kind.__str__ is plain.__str__ and kind.__repr__ is plain.__repr__


def kind_of(name: object, column: Column, argument: str = "data") -> str:
    """What a column holds: one of `TIMES`, "number", "levels" or "unknown".

    Text beside numbers makes levels. A column without any value is unknown.

    Raises
    ------
    UnusableValueError
        For a value that is none of these.
    ValueError
        For times beside anything else, and times with and without a zone.
    """
    values, code = column.values, column.values.dtype.kind
    if code in "biu" and not column.is_category:
        return NUMBERS
    if code == "f" and not column.is_category:
        return UNKNOWN if np.all(np.isnan(values)) else NUMBERS
    if code in "mM":
        rows = np.flatnonzero(~np.isnat(values))
        if not len(rows):
            return UNKNOWN
        _check_unit(name, column, int(rows[0]), argument)
        return _array_kind(column)
    for one in filter(is_nameless, column.categories or ()):
        places = (row for row, value in column.present() if value is one)
        raise unusable(argument, name, one, next(places, None))
    found: dict[str, int] = {}
    for row, value in column.present():
        if column.is_category:
            return LEVELS
        kind = value_kind(value)
        if kind is None:
            raise unusable(argument, name, value, row)
        found.setdefault(kind, row)
    if found.keys() <= {NUMBERS, LEVELS}:
        kinds = [kind for kind in (LEVELS, NUMBERS) if kind in found]
        return kinds[0] if kinds else UNKNOWN
    first, *others = found
    if others:
        row = found[others[0]]
        remedy = "Give another kind of value another column."
        raise misfit(argument, name, first, column.objects()[row], row, remedy)
    return first


def first_kind(name: object, column: Column, argument: str = "data") -> str:
    """What the first value of a column makes of it; "unknown" where there is none."""
    first = next((row for row, _ in column.present()), None)
    if first is None:
        return UNKNOWN
    return kind_of(name, column.take(slice(first, first + 1)), argument)


def number_of(value: Any, kind: str) -> float | None:
    """A value as a float, NaN where missing; None for what is not of this kind."""
    if is_missing(value):
        return float("nan")
    if value_kind(value) != kind:
        return None
    if kind != NUMBERS:
        return days_of(value)
    try:
        return float(value)
    except OverflowError:  # an int beyond every float
        return None


def days_of(value: Any) -> float:
    """Days of a time stamp or date since 1970-01-01 in UTC, or of a duration.

    Examples
    --------
    >>> days_of(datetime(1970, 1, 2, 12)), days_of(np.timedelta64(6, "h"))
    (1.5, 0.25)
    """
    if isinstance(value, datetime):
        gone = value - (EPOCH if value.tzinfo is None else ZONED_EPOCH)
        return (gone // MICROSECOND) / DAY
    if isinstance(value, timedelta):
        ticks: int = value // MICROSECOND
        return ticks / DAY
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(_days(np.array([value]))[0])
    if isinstance(value, time):
        return (datetime.combine(EPOCH.date(), value) - EPOCH) // MICROSECOND / DAY
    if isinstance(value, date):
        return float((value - EPOCH.date()).days)
    return days_of(value.start_time)  # of a period


def numbers_of(
    name: object,
    column: Column,
    kind: str,
    argument: str = "data",
    remedy: str | None = None,
    allow_beyond: bool = False,
) -> Vector:
    """A column as floats, NaN where missing.

    Parameters
    ----------
    name : object
    column : Column
    kind : str
        "number", or one of `TIMES`.
    argument : str, default "data"
        What errors call the table.
    remedy : str, optional
        What errors advise.
    allow_beyond : bool, default False
        Whether an int beyond every float is infinite, and not an error.

    Raises
    ------
    UnusableValueError
        If it holds what is neither a number, text nor a time.
    ValueError
        If it holds anything of another kind.
    """
    values, code = column.values, column.values.dtype.kind
    if code in "biuf" and kind == NUMBERS:
        return np.array(values, dtype=np.float64)
    if code in "mM":
        return _numbers_of_times(name, column, kind, argument, remedy)
    numbers = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        number = number_of(value, kind)
        if number is None:
            if not (allow_beyond and kind == NUMBERS and is_number(value)):
                raise misfit(argument, name, kind, value, row, remedy)
            number = real_number(value)
        numbers[row] = number
    return numbers


def _numbers_of_times(
    name: object, column: Column, kind: str, argument: str, remedy: str | None
) -> Vector:
    """An array of times as days, if they are of the kind."""
    present = np.flatnonzero(~np.isnat(column.values))
    if not len(present):
        return np.full(len(column), np.nan)
    row, found = int(present[0]), _array_kind(column)
    _check_unit(name, column, row, argument)
    if found != kind:
        value = column.values[row]
        if found == ZONED:
            value = column.take(slice(row, row + 1)).objects()[0]
        raise misfit(argument, name, kind, value, row, remedy)
    return _days(column.values)


def misfit(
    argument: str,
    name: object,
    kind: str,
    value: Any,
    row: int | None = None,
    remedy: str | None = None,
) -> ValueError:
    """Error for a value that is not of its column's kind."""
    found = value_kind(value)
    if found is None:
        return unusable(argument, name, value, row)
    noun = "real numbers" if (kind, type(name)) == (NUMBERS, int) else NOUNS[kind]
    if {kind, found} == {LOCAL, ZONED}:
        noun = ZONES[kind]
        remedy = "Give all times of a column a zone, or none of them."
    if kind == NUMBERS and isinstance(value, str) and reads_as_number(value):
        remedy = "It is a number as text: convert such a column to numbers."
    if kind == NUMBERS and isinstance(value, str) and value.lower() in TRUTHS:
        remedy = "It is a truth value as text: convert it to one, or to a number."
    if kind in TIMES and isinstance(value, str):
        remedy = TIMES_AS_TEXT
    if kind == NUMBERS and found in TIMES:
        remedy = "Convert times to numbers in the unit of the other rows, such as days."
    remedy = remedy or (
        "It did at first; give another kind of value another column. C({label}) makes "
        "levels."
    )
    return ArgumentError(
        argument,
        f"must hold {noun}" + _in_column(name),
        value,
        remedy,
        row=row,
        column=name if isinstance(name, int) else None,
        label=name,
    )


def unusable(
    argument: str, name: object, value: Any, row: int | None = None
) -> UnusableValueError:
    """Error for a value that is neither a number, text nor a time."""
    return UnusableValueError(
        argument,
        "must hold real numbers or levels" + _in_column(name),
        value,
        "It is of type {kind}. Make it a number, text, a truth value, a date or a "
        "duration, or give its parts columns of their own.",
        row=row,
        column=name if isinstance(name, int) else None,
        label=name,
        kind=type(value).__name__,
    )


def _in_column(name: object) -> str:
    """The end of a rule about a column with a name; rows without names have numbers."""
    return "" if isinstance(name, int) else " in column {label!r}"


def _is_period(value: Any) -> bool:
    """Whether a value is a period of pandas'."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Period)


def _array_kind(column: Column) -> str:
    """Kind of an array of times."""
    if column.values.dtype.kind == "m":
        return DURATION
    return ZONED if column.is_zoned else LOCAL


def _check_unit(name: object, column: Column, row: int, argument: str) -> None:
    """Refuse times of NumPy's that count in no unit."""
    if np.datetime_data(column.values.dtype)[0] == "generic":
        raise unusable(argument, name, column.values[row], row)


def _days(values: NDArray[Any]) -> Vector:
    """Days of an array of times, NaN where missing; to a microsecond."""
    code, missing = values.dtype.kind, np.isnat(values)
    whole = values.astype(f"{code}8[D]").astype(np.int64)
    far = ~missing & (np.abs(whole) >= FAR)
    near = values.copy()
    near[missing | far] = values.dtype.type(0, np.datetime_data(values.dtype)[0])
    ticks = near.astype(f"{code}8[us]").astype(np.int64)
    days = np.where(far, whole.astype(np.float64), ticks / DAY)
    return np.where(missing, np.nan, days)


def refuse_numbers_as_text(
    responses: Column, argument: str, name: str | None = None
) -> None:
    """Raise ValueError for responses that are numbers as text, if not categories.

    Of mere whole numbers, which may be labels, and of other text there is no error.

    Parameters
    ----------
    responses : Column
    argument : str
        What the user passed them as.
    name : str, optional
        The column's name.
    """
    if responses.is_category:
        return
    found = measured(value for _, value in responses.present())
    if found is not None:
        raise ArgumentError(
            argument,
            "must have numbers, or labels, as responses",
            Message(
                "the text {text!r}, which reads as a number{also}",
                text=found.text,
                also=found.also,
            ),
            "Convert the responses to numbers, or pass model='class' if they are "
            "labels.",
            column=name,
        )
