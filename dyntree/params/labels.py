"""Labels of classes and levels of columns, as plain objects and in a file.

A label is text, a number, a truth value, a date, time stamp, time of day or duration,
bytes, a period or an interval of pandas', or a tuple of these. Each comes back from a
file equal to what went in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from dyntree.errors import ArgumentError, Message, UnusableValueError

Level = str | int | float | bool
PLAIN = (str, int, float)  # and bool, which is an int: as they are, in JSON
LARGEST_INT = 10**600  # reading longer numbers may be switched off in Python


@dataclass(frozen=True)
class Codec:
    """How labels of a type are written in JSON, and read back.

    Attributes
    ----------
    fits : callable
        Whether a label is of the type.
    write, read : callable
    """

    fits: Callable[[Any], bool]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _is(kind: type) -> Callable[[Any], bool]:
    """Whether something is exactly of a type."""
    return lambda label: type(label) is kind


def _is_pandas(name: str) -> Callable[[Any], bool]:
    """Whether the type of a value is one of pandas', which may not be installed."""
    return lambda label: (
        type(label).__name__ == name
        and type(label).__module__.partition(".")[0] == "pandas"
    )


def _period(parts: Any) -> Any:
    import pandas as pd

    return pd.Period(ordinal=parts[0], freq=parts[1])


def _interval(parts: Any) -> Any:
    import pandas as pd

    return pd.Interval(*parts)


CODECS = {
    "datetime": Codec(_is(datetime), datetime.isoformat, datetime.fromisoformat),
    "date": Codec(_is(date), date.isoformat, date.fromisoformat),
    "time": Codec(_is(time), time.isoformat, time.fromisoformat),
    "timedelta": Codec(
        _is(timedelta),
        lambda gap: [gap.days, gap.seconds, gap.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "decimal": Codec(_is(Decimal), str, Decimal),
    "bytes": Codec(_is(bytes), bytes.hex, bytes.fromhex),
    "period": Codec(
        _is_pandas("Period"), lambda one: [one.ordinal, one.freqstr], _period
    ),
    "interval": Codec(
        lambda one: _is_pandas("Interval")(one) and isinstance(one.left, Real),
        lambda one: [plain_label(one.left), plain_label(one.right), one.closed],
        _interval,
    ),
    "tuple": Codec(
        lambda label: type(label) is tuple and all(map(can_store, label)),
        lambda parts: [to_json(part) for part in parts],
        lambda parts: tuple(map(from_json, parts)),
    ),
}


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA, which is neither equal nor unequal
        return True
    except ValueError:  # an array
        return False


def is_label(label: Any) -> bool:
    """Whether it can name anything: hashable, not missing, no complex number."""
    try:
        hash(label)
    except TypeError:
        return False
    return not is_missing(label) and not isinstance(label, complex)


def plain_label(label: Any) -> Any:
    """Return a NumPy or pandas scalar as the Python object that it represents.

    Parameters
    ----------
    label : object

    Returns
    -------
    object

    Examples
    --------
    >>> plain_label(np.int64(3)), plain_label(np.datetime64("2024-01-01T12:00", "ns"))
    (3, datetime.datetime(2024, 1, 1, 12, 0))
    """
    if isinstance(label, np.datetime64 | np.timedelta64):
        as_is = np.datetime_data(label.dtype)[0] in ("Y", "M", "W", "D", "generic")
        plain = label if as_is else label.astype(f"{label.dtype.kind}8[us]")
        found = plain.item()  # an int of months, and of a year beyond Python's
        return found if plain == label and not isinstance(found, int) else label
    if isinstance(label, np.generic):
        return label.item()
    for name, turned in ("Timestamp", "datetime"), ("Timedelta", "timedelta"):
        if _is_pandas(name)(label):
            exact = label == label.floor("us")
            return getattr(label, f"to_py{turned}")() if exact else label
    return tuple(map(plain_label, label)) if type(label) is tuple else label


def level_of(value: Any) -> Level | None:
    """A value as a level: text, bool, or a number, which is an int if it is whole.

    Returns
    -------
    str, bool, int, float, or None if missing

    Examples
    --------
    >>> [level_of(v) for v in ("u", 1.0, np.float32(0.5), np.True_, None)]
    ['u', 1, 0.5, True, None]
    """
    if is_missing(value):
        return None
    plain = plain_label(value)
    if isinstance(plain, str):
        return str.__str__(plain)  # that of an enumeration's member, too
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int):
        return int(plain)
    if not isinstance(plain, Real | Decimal):
        return str(plain)
    try:
        number = float(plain)
    except OverflowError:
        return str(plain)
    return int(number) if number.is_integer() else number


def level_text(value: Any) -> str:
    """The text by which a level is known, of a value that is not missing."""
    return value if type(value) is str else str(level_of(value))


def can_store(label: Any) -> bool:
    """Whether a file can hold a label, which is a plain object."""
    if is_missing(label) or isinstance(label, np.generic):
        return False
    if isinstance(label, int):
        return -LARGEST_INT < label < LARGEST_INT
    fits = (codec.fits(label) for codec in CODECS.values())
    return isinstance(label, PLAIN) or any(fits)


def check_text(
    text: str,
    argument: str,
    got: Message | None = None,
    row: int | None = None,
    column: Any = None,
) -> None:
    """Raise ValueError for text with a lone surrogate, which no file can hold.

    Parameters
    ----------
    text : str
        A name, a level, a label or a formula.
    argument : str
        Name of what holds it in error messages.
    got : Message, optional
        What an error shows in place of the text.
    row : int, optional
        The row of the text.
    column : object, optional
        The column of the text.
    """
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentError(
            argument,
            "must hold text without lone surrogates, which are halves of characters",
            str.__str__(text) if got is None else got,
            "Mend the text where it comes from, such as an escape \\ud800 in JSON, "
            "or leave it out.",
            row=row,
            column=column,
        ) from None


def check_names(names: Iterable[Any], argument: str) -> None:
    """Raise ValueError for a name of a column that is text with a lone surrogate."""
    for name in names:
        if isinstance(name, str):
            got = Message("{text!r} as the name of a column", text=str.__str__(name))
            check_text(name, argument, got)


def label_repr(label: Any) -> str:
    """A label as errors show it."""
    try:
        return repr(label)
    except ValueError:  # Python writes no number of so many digits
        return "one with a number of more than 600 digits"


def checked_label(
    label: Any,
    argument: str,
    row: int | None = None,
    remedy: str = "",
    column: Any = None,
) -> Any:
    """Return a label of a class as a plain object.

    Parameters
    ----------
    label : object
    argument : str
        Name of the labels in error messages.
    row : int, optional
        The row of the label, for error messages.
    remedy : str, optional
        Advice if the label is missing.

    Raises
    ------
    ValueError
        If the label is missing, or text with a lone surrogate.
    UnusableValueError
        If the value cannot be a label.
    """
    kind = type(label)
    if kind is str:
        check_text(label, argument, row=row, column=column)
        return label
    if kind is float and label == label:
        return label
    if kind is int and -LARGEST_INT < label < LARGEST_INT:
        return label
    plain = plain_label(label)
    rule = "must hold labels"
    if is_missing(plain):
        raise ArgumentError(argument, rule, label, remedy, row=row, column=column)
    if not can_store(plain):
        raise UnusableValueError(
            argument,
            rule,
            label,
            "It is of type {kind}. Labels are text, numbers of at most 600 digits, "
            "truth values, dates, times to a microsecond, durations, bytes, periods, "
            "intervals of numbers, or tuples of these. Name the classes by one of "
            "them.",
            row=row,
            column=column,
            kind=kind.__name__,
        )
    _check_parts(plain, argument, row, column)
    return plain


def _check_parts(label: Any, argument: str, row: int | None, column: Any) -> None:
    """Raise ValueError for text with a lone surrogate, in a tuple of labels, too."""
    if isinstance(label, str):
        check_text(label, argument, row=row, column=column)
    elif type(label) is tuple:
        for part in label:
            _check_parts(part, argument, row, column)


def to_json(label: Any) -> Any:
    """What a header holds of a label.

    Examples
    --------
    >>> to_json(("u", date(2024, 2, 29)))
    {'tuple': ['u', {'date': '2024-02-29'}]}
    """
    if isinstance(label, PLAIN):
        return label
    name = next(name for name, codec in CODECS.items() if codec.fits(label))
    return {name: CODECS[name].write(label)}


def from_json(value: Any) -> Any:
    """Return the label from the JSON of `to_json`.

    Raises
    ------
    ValueError, LookupError, TypeError or ArithmeticError
        If `to_json` cannot have returned `value`.
    """
    if not isinstance(value, dict):
        return value
    ((name, parts),) = value.items()
    return CODECS[name].read(parts)


def level_table(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return `categories`, a dict from columns to levels, as pairs of text."""
    try:
        columns = dict(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "categories", "must be a dict from columns to their levels", value
        ) from error
    table = []
    for name, levels in columns.items():
        if isinstance(levels, str) or not np.iterable(levels):
            raise ArgumentError(
                "categories",
                "must give each column a sequence of levels",
                Message("{levels!r} for {name!r}", levels=levels, name=name),
            )
        check_names([name], "categories")
        given = list(levels)
        for level in given:
            if isinstance(level, str):
                got = Message("{level!r} for {name!r}", level=str(level), name=name)
                check_text(level, "categories", got)
        good = all(map(is_label, given)) and len({*given}) == len(given) > 0
        texts = tuple(level_text(level) for level in given if good)
        if not good or len({*texts}) != len(texts):
            raise ArgumentError(
                "categories",
                "must name at least one level a column, each once and none missing",
                Message("{given!r} for {name!r}", given=given, name=name),
            )
        table.append((str(name), texts))
    return tuple(table)


def is_measured(text: str) -> bool:
    """Whether a text reads as a number with a fraction, which hardly names a level.

    Examples
    --------
    >>> [is_measured(text) for text in ("3.01", "1e-3", "1.0", "007", "u", "nan")]
    [True, True, False, False, False, False]
    """
    return reads_as_number(text) and not float(text).is_integer()


def reads_as_number(text: str) -> bool:
    """Whether a text reads as a finite number.

    Examples
    --------
    >>> [reads_as_number(text) for text in ("3.01", "007", "u", "nan", "inf")]
    [True, True, False, False, False]
    """
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
