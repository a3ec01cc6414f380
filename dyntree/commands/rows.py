"""What cells of tables mean, and predictions as lines of text.

All commands read tables by the same rules, row by row or as a whole (`Kinds`):

- NDJSON, Parquet and Arrow say themselves what is a number, a truth value or text, and
  what is missing (null). Their text is never parsed: "007", "NA" and "" are text.
- The cells of CSV are parsed (`Cells`). A cell that is empty or one of `MISSING`, or of
  the words of ``--missing A,B``, is missing. A cell that a user named as a level or as
  a class, or that is a level of a saved model, is that level, whatever else it could
  mean.
- The first value of a column that is not missing makes it one of numbers or one of
  levels. Among numbers whatever is none is an error, which names row and column; among
  levels numbers are levels, too.
- ``--levels COLUMN=A,B`` makes a column one of levels, whatever comes first. In CSV a
  cell that is none of them and is written as a number is that number, so that 1 and 1.0
  are one level.
- ``--classes A,B`` names the labels, which are text. A number or truth value is the
  class of the same text.
- Numbers in CSV have a decimal point, or with ``--decimal ,`` a comma, and nothing
  between thousands; a column that begins with commas where points are meant, or between
  thousands, is an error that says so.
- A response that begins with text holds labels, and the model classifies, unless
  ``--model`` says otherwise; labels may be text and numbers.
- Whole numbers of CSV are ints up to 2^63, then floats.
- ``--times COLUMN`` makes a column one of times, in ISO 8601 or by a form that follows,
  as in ``--times day=%d.%m.%Y``. Tables that have times of their own keep them.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from dyntree.commands.readers import Row
from dyntree.encoding.levels import place_of
from dyntree.params.labels import Level, is_missing, level_text
from dyntree.storage.plain import in_cell, strict

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
TIME = "time"  # kind of a column; a form may follow, as in "time %d.%m.%Y"
COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][-+]?\d+)?")
GROUPED = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}  # by the decimal mark: numbers with the other mark between thousands
MARKS = {".": "commas", ",": "dots"}  # between thousands, by the decimal mark


@dataclass(frozen=True)
class Cells:
    """How the cells of CSV are read.

    Parameters
    ----------
    decimal : str, default "."
        What stands before the decimals of a number.
    missing : collection of str, default `MISSING`
        Words that mean a missing value. An empty cell is missing, too.
    named : dict, optional
        Levels or classes by column; a cell that is one of them is text, not missing.

    Examples
    --------
    >>> cells = Cells(named={"country": {"NA"}})
    >>> cells.is_named("country", "NA"), cells.value("NA")
    (True, None)
    """

    decimal: str = "."
    missing: Collection[str] = MISSING
    named: Mapping[str, Collection[str]] = field(default_factory=dict)

    def is_named(self, name: str, text: Any) -> bool:
        """Whether a cell of a column is one of the levels that are named for it."""
        return text in self.named.get(name, ())

    def is_missing(self, text: Any) -> bool:
        """Whether a cell means a missing value, unless it is named."""
        return text is None or text == "" or text in self.missing

    def way_to_miss(self, text: str) -> str:
        """How to say that a cell means a missing value, as a sentence.

        Examples
        --------
        >>> print(Cells().way_to_miss("?"))
         If '?' means missing: --missing '?'
        >>> print(Cells(missing=["NA"]).way_to_miss("x"))
         If 'x' means missing: --missing NA,x
        """
        words = [text] if self.missing is MISSING else [*self.missing, text]
        return f" If {reprlib.repr(text)} means missing: --missing {as_option(words)}"

    def value(self, text: str | None) -> Any:
        """What a cell means: a number, text, or None where missing.

        Examples
        --------
        >>> [Cells().value(text) for text in ("1", "1.5", "1,5", "u", "NA")]
        [1, 1.5, '1,5', 'u', None]
        >>> [Cells(decimal=",").value(text) for text in ("1", "1.5", "1,5")]
        [1, '1.5', 1.5]
        """
        if text is None or self.is_missing(text):
            return None
        if "_" in text or (self.decimal != "." and "." in text):
            return text
        plain = text.replace(self.decimal, ".", 1)
        for kind in (float,) if "." in plain else (int, float):
            try:
                number = kind(plain)
            except ValueError:  # also ints of more digits than Python reads
                continue
            return number if abs(number) < 2**63 else float(plain)
        return text

    def level(self, text: str | None) -> Any:
        """What a cell means among levels: a number where it is written as one is.

        Examples
        --------
        >>> [Cells().level(text) for text in ("1", "1.0", "007", "1e3", "u", "NA")]
        [1, 1.0, '007', '1e3', 'u', None]
        """
        value = self.value(text)
        if value is None or text is None or value != value:
            return None if value is None else text
        return value if str(value) == text.replace(self.decimal, ".") else text


def as_option(words: Sequence[str]) -> str:
    """Words as the value of an option like ``--missing A,B``, quoted for a shell.

    Examples
    --------
    >>> print(as_option(["NA"]), as_option(["?", "a,b"]))
    NA '?,"a,b"'
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(words)
    return shlex.quote(line.getvalue())


def named_level(text: str) -> Level:
    """A level that a user named: a number where it is written as Python writes it.

    Examples
    --------
    >>> [named_level(text) for text in ("1", "0.5", "1.0", "007", "NA")]
    [1, 0.5, '1.0', '007', 'NA']
    """
    level: Level | None = Cells().level(text)
    return text if level is None or level_text(level) != text else level


def named_class(value: Any, classes: Sequence[str] | None) -> Any:
    """The class that a label is, if classes are named; else the label as it is.

    Examples
    --------
    >>> [named_class(value, ["1", "NA"]) for value in (1, 1.0, "NA", "1.0", None)]
    ['1', '1', 'NA', '1.0', None]
    """
    if classes is None or isinstance(value, str) or is_missing(value):
        return value
    place = place_of(value, {name: k for k, name in enumerate(classes)})
    return value if place is None else classes[place]


class Kinds:
    """What each column holds: "number", "level", "any" of both, "time".

    Parameters
    ----------
    known : dict of str to str
        Of the columns so far; new ones are added to it.
    response : str, optional
        The column that errors call the response.
    cells : Cells, optional
        How cells of CSV are read; None where the table has types of its own.
    fixed : collection of str, optional
        Columns whose kind no option can change, as a model has learned them.
    """

    def __init__(
        self,
        known: dict[str, str],
        response: str = "",
        cells: Cells | None = None,
        fixed: Collection[str] = (),
    ) -> None:
        self.known, self.response, self.cells = known, response, cells
        self._fixed = fixed

    def values(self, row: Row, names: Sequence[str]) -> Row:
        """The values of a row of cells, None where missing.

        Raises
        ------
        ValueError
            For text among numbers.
        """
        return {name: self._value(name, row.get(name)) for name in names}

    def _value(self, name: str, given: Any) -> Any:
        cells = self.cells
        if cells is not None and cells.is_named(name, given):
            return given
        value = given if cells is None else cells.value(given)
        if cells is not None and self.known.get(name) == "level":
            return cells.level(given)
        if value is None or value != value:
            return None
        if self.known.get(name, "").startswith(TIME):
            return self._time(name, given)
        text = isinstance(value, str)
        if text and name not in self.known:
            self._check_first(name, value)
        if isinstance(value, date) and name not in self.known:
            self.known[name] = TIME
            return value
        kind = self.known.setdefault(name, "level" if text else "number")
        if kind == "number" and text:
            raise self._text_among_numbers(name, value)
        return cells.level(given) if kind == "level" and cells is not None else value

    def _check_first(self, name: str, text: str) -> None:
        """Refuse a cell that is a number to the eye, as the first of its column."""
        if self.cells is None or not is_odd_number(text, self.cells.decimal):
            return
        is_text = f"name the column's levels: --levels {name}=A,B,..."
        if name == self.response:
            is_text = "say --model class if the response holds labels."
        fault, remedy = odd_number(text, self.cells.decimal)
        raise ValueError(
            f"column {name!r} holds {reprlib.repr(text)}, {fault}. {remedy}, or "
            f"{is_text}"
        )

    def _text_among_numbers(self, name: str, text: str) -> ValueError:
        """Error for text in a column of numbers."""
        remedy = f"leave it out, or name its levels: --levels {name}=A,B,..."
        if name == self.response:
            remedy = "or say --model class if the response holds labels."
        elif name in self._fixed:
            remedy = "or leave the row out."
        advice, fault = "Mend it", ""
        missing = "" if self.cells is None else self.cells.way_to_miss(text)
        decimal = "" if self.cells is None else self.cells.decimal
        if decimal and is_grouped(text, decimal):
            fault, advice = odd_number(text, decimal)
            fault, missing = f", {fault}", ""
        elif decimal == "." and has_decimal_comma(text):
            remedy, missing = "or say --decimal , if it has decimal commas.", ""
        elif time_of(text) is not None:
            remedy, missing = f"or say --times {name} if it holds times.", ""
        return ValueError(
            f"column {name!r} must hold numbers; got {reprlib.repr(text)}{fault}. "
            f"{advice}, {remedy}{missing}"
        )

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


def odd_number(text: str, decimal: str) -> tuple[str, str]:
    """What a number with a comma, or with thousands apart, is; and the remedy."""
    if not is_grouped(text, decimal):
        remedy = "Say --decimal , (no dots between thousands)"
        return "a number with a decimal comma", remedy
    marks = MARKS[decimal]
    fault = f"which looks like a number with {marks} between thousands"
    remedy = f"Remove these {marks} from the column"
    if decimal == "." and has_decimal_comma(text):
        meant = text.replace(",", ".")
        remedy += f" (only if {text} means {meant}, say --decimal , instead)"
    return fault, remedy


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


def column_kind(texts: Sequence[str | None], cells: Cells) -> str | None:
    """Kind of a column that begins with text like a number, by all its cells.

    A column of levels if it has other text, too; one of numbers if all its text has
    marks between thousands, and there are numbers beside it; else None.

    Examples
    --------
    >>> [column_kind(["1,5", text], Cells()) for text in ("u", "2,5")]
    ['level', None]
    >>> [column_kind(["1.000", text], Cells(",")) for text in ("2,5", "2.500")]
    ['number', 'level']
    """
    decimal = cells.decimal
    values = [value for text in texts if (value := cells.value(text)) is not None]
    words = [value for value in values if isinstance(value, str)]
    if not isinstance(next(iter(values), None), str):
        return None
    if len(words) < len(values) and all(is_grouped(word, decimal) for word in words):
        return "number"
    odd = all(is_odd_number(word, decimal) for word in words)
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
