"""What cells of tables mean, and predictions as lines of text.

All commands read tables by the same rules, row by row or as a whole (`Kinds`):

- What is empty or one of `MISSING` is missing.
- The first value of a column that is not missing makes it one of numbers or one of
  levels. Among numbers whatever is none is an error, which names row and column; among
  levels numbers are levels, too.
- ``--levels COLUMN=A,B`` makes a column one of levels, whatever comes first. A level
  that is written as a number is that number, so that 1 and 1.0 are one level.
- Numbers have a decimal point, or with ``--decimal ,`` a comma, and nothing between
  thousands; a column that begins with commas where points are meant, or between
  thousands, is an error that says so.
- A response that begins with text is of labels, and the model classifies, unless
  ``--model`` says otherwise; labels may be text and numbers.
- Whole numbers are kept as such up to 2^63, then as floats.
- ``--times COLUMN`` makes a column one of times, in ISO 8601 or by a form that follows,
  as in ``--times day=%d.%m.%Y``. Tables that have times of their own keep them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from dyntree.commands.readers import Row
from dyntree.storage.plain import in_cell, strict

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
TIME = "time"  # kind of a column; a form may follow, as in "time %d.%m.%Y"
COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][-+]?\d+)?")
GROUPED = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}  # by the decimal mark: numbers with the other mark between thousands
MARKS = {".": "commas", ",": "dots"}  # between thousands, by the decimal mark


def cell(text: Any, decimal: str = ".") -> Any:
    """What a cell of a CSV file means: a number, text, or None where missing.

    Examples
    --------
    >>> [cell(text) for text in ("1", "1.5", "1,5", "u", "NA")]
    [1, 1.5, '1,5', 'u', None]
    >>> [cell(text, decimal=",") for text in ("1", "1.5", "1,5")]
    [1, '1.5', 1.5]
    """
    if not isinstance(text, str):
        return None if text != text else text
    if text in MISSING:
        return None
    if "_" in text or (decimal != "." and "." in text):
        return text
    for kind in (int, float):
        try:
            number = kind(text if decimal == "." else text.replace(decimal, ".", 1))
        except ValueError:  # also ints of more digits than Python reads
            continue
        return number if abs(number) < 2**63 else float(text)
    return text


def level_cell(text: Any, decimal: str = ".") -> Any:
    """What a cell means in a column of levels: a number where it is written as one is.

    Examples
    --------
    >>> [level_cell(text) for text in ("1", "1.0", "007", "1e3", "u", "NA")]
    [1, 1.0, '007', '1e3', 'u', None]
    """
    value = cell(text, decimal)
    plain = isinstance(value, str) or value is None
    if plain or not isinstance(text, str):
        return value
    return value if str(value) == text.replace(decimal, ".") else text


class Kinds:
    """What each column holds: "number", "level", "any" of both, "time"; found or told.

    Parameters
    ----------
    known : dict of str to str
        Of columns that are known; those found are added to it.
    response : str, optional
        The column that errors call the response.
    decimal : str, default "."
        What stands before the decimals of a number.
    """

    def __init__(
        self, known: dict[str, str], response: str = "", decimal: str = "."
    ) -> None:
        self.known, self.response, self.decimal = known, response, decimal

    def values(self, row: Row, names: Sequence[str]) -> Row:
        """The values of a row of cells, None where missing.

        Raises
        ------
        ValueError
            For text among numbers.
        """
        return {name: self._value(name, row.get(name)) for name in names}

    def _value(self, name: str, given: Any) -> Any:
        value = cell(given, self.decimal)
        if value is None:
            return None
        if self.known.get(name, "").startswith(TIME):
            return self._time(name, given)
        text = isinstance(value, str)
        if text and name not in self.known and is_odd_number(value, self.decimal):
            is_text = f"name the column's levels: --levels {name}=A,B,..."
            if name == self.response:
                is_text = "say --model class if the response is of labels."
            told, remedy = self._odd_number(value)
            raise ValueError(
                f"column {name!r} holds {reprlib.repr(value)}, {told}. {remedy}, or "
                f"{is_text}"
            )
        if isinstance(value, date) and name not in self.known:
            self.known[name] = TIME
            return value
        kind = self.known.setdefault(name, "level" if text else "number")
        if kind == "number" and text:
            remedy = f"leave it out, or name its levels: --levels {name}=A,B,..."
            if name == self.response:
                remedy = "or say --model class if the response is of labels."
            advice, told = "Mend it", ""
            if is_grouped(value, self.decimal):
                told, advice = self._odd_number(value)
                told = f", {told}"
            elif self.decimal == "." and has_decimal_comma(value):
                remedy = "or say --decimal , if it has decimal commas."
            elif time_of(value) is not None:
                remedy = f"or say --times {name} if it holds times."
            raise ValueError(
                f"column {name!r} must hold numbers; got {reprlib.repr(value)}{told}. "
                f"{advice}, {remedy}"
            )
        return level_cell(given, self.decimal) if kind == "level" else value

    def _odd_number(self, text: str) -> tuple[str, str]:
        """What a number with a comma, or with thousands apart, is; and the remedy."""
        if not is_grouped(text, self.decimal):
            remedy = "Say --decimal , (no dots between thousands)"
            return "a number with a decimal comma", remedy
        marks = MARKS[self.decimal]
        told = f"which looks like a number with {marks} between thousands"
        remedy = f"Remove these {marks} from the column"
        if self.decimal == "." and has_decimal_comma(text):
            meant = text.replace(",", ".")
            remedy += f" (only if {text} means {meant}, say --decimal , instead)"
        return told, remedy

    def _time(self, name: str, given: Any) -> date:
        """The value of a column of times."""
        if isinstance(given, date):
            return given
        form = self.known[name][len(TIME) + 1 :]
        value = time_of(given, form) if isinstance(given, str) else None
        if value is None:
            like = f"written as {form}" if form else "in ISO 8601"
            raise ValueError(
                f"column {name!r} must hold times {like}; got {reprlib.repr(given)}. "
                f"Mend it, or say how they are written: --times {name}=FORM, such as "
                "%d.%m.%Y."
            )
        return value


def time_of(text: str, form: str = "") -> datetime | None:
    """A time in ISO 8601, or in another form; None where a text is none.

    Examples
    --------
    >>> time_of("2024-02-29T12:30"), time_of("29.02.2024", "%d.%m.%Y"), time_of("u")
    (datetime.datetime(2024, 2, 29, 12, 30), datetime.datetime(2024, 2, 29, 0, 0), None)
    """
    try:
        if form:
            return datetime.strptime(text, form)
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def has_decimal_comma(text: str) -> bool:
    """Whether a text looks like a number with a decimal comma.

    Examples
    --------
    >>> [has_decimal_comma(text) for text in ("-1,06161", "1.234,5", "1,2,3", "a,5")]
    [True, True, False, False]
    """
    return COMMA.fullmatch(text) is not None


def is_grouped(text: str, decimal: str = ".") -> bool:
    """Whether a text looks like a number with marks between thousands.

    Examples
    --------
    >>> [is_grouped(text) for text in ("1,000", "-12,345.6", "1,5", "1000,25", "0,125")]
    [True, True, False, False, False]
    >>> [is_grouped(text, decimal=",") for text in ("1.000", "1.234,5", "1.5")]
    [True, True, False]
    """
    return GROUPED[decimal].fullmatch(text) is not None


def is_odd_number(text: str, decimal: str = ".") -> bool:
    """Whether a text is a number to the eye, and none by this decimal mark.

    Under a decimal comma 1.000 may be other text, such as the number of a version.

    Examples
    --------
    >>> [is_odd_number(text) for text in ("1,5", "1,000", "1,234.5", "u")]
    [True, True, True, False]
    >>> [is_odd_number(text, decimal=",") for text in ("1.234,5", "1.000", "1.5")]
    [True, False, False]
    """
    if decimal == ",":
        return decimal in text and is_grouped(text, decimal)
    return has_decimal_comma(text) or is_grouped(text)


def told_by_all(cells: Sequence[Any], decimal: str = ".") -> str | None:
    """What all cells tell of a column that begins with text like a number.

    A column of levels if it has other text, too; one of numbers if all its text has
    marks between thousands, and there are numbers beside it; else None.

    Examples
    --------
    >>> [told_by_all(["1,5", text]) for text in ("u", "2,5")]
    ['level', None]
    >>> [told_by_all(["1.000", text], decimal=",") for text in ("2,5", "2.500")]
    ['number', 'level']
    """
    values = [value for text in cells if (value := cell(text, decimal)) is not None]
    texts = [value for value in values if isinstance(value, str)]
    if not isinstance(next(iter(values), None), str):
        return None
    if len(texts) < len(values) and all(is_grouped(text, decimal) for text in texts):
        return "number"
    odd = all(is_odd_number(text, decimal) for text in texts)
    return None if odd else "level"


def csv_line(values: Row) -> bytes:
    """A line of CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(in_cell, values.values()))
    return text.getvalue().encode("utf-8", "surrogateescape")


def ndjson_line(values: Row) -> bytes:
    """A line of JSON; null for what is no finite number."""
    return json.dumps(strict(values)).encode("ascii") + b"\n"


WRITERS: dict[str, Callable[[Row], bytes]] = {"csv": csv_line, "ndjson": ndjson_line}
