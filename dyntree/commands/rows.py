"""Rows as text: CSV or NDJSON in, predictions out, one line a row.

All commands read tables by the same rules, row by row or as a whole (`Kinds`):

- What is empty or one of `MISSING` is missing.
- The first value of a column that is not missing makes it one of numbers or one of
  levels. Among numbers whatever is none is an error, which names row and column; among
  levels numbers are levels, too.
- ``--levels COLUMN=A,B`` makes a column one of levels, whatever comes first. A level
  that is written as a number is that number, so that 1 and 1.0 are one level.
- Numbers have a decimal point, or with ``--decimal ,`` a comma; a column that begins
  with commas where points are meant is an error that says so.
- A response that begins with text is of labels, and the model classifies, unless
  ``--model`` says otherwise; labels may be text and numbers.
- Whole numbers are kept as such up to 2^63, then as floats.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
import reprlib
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from dyntree.storage.plain import in_cell, strict

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}  # suffixes, and who reads them
FORMATS = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+)?,\d+([eE][-+]?\d+)?")
Row = dict[str, Any]


@contextmanager
def opened(path: str) -> Iterator[TextIO]:
    """The text of a file, unpacked where its name ends as `PACKED` says; "-" is stdin.

    Raises
    ------
    ValueError
        If it is no text in UTF-8.
    """
    try:
        if path == "-":
            yield io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
            return
        way = import_module(PACKED.get(Path(path).suffix, "io")).open
        with way(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except (UnicodeDecodeError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} must be text in UTF-8: {error}") from error


def format_of(path: str) -> str:
    """Format of a file by its name: "csv", "ndjson" or "parquet"."""
    bare = Path(path)
    if bare.suffix in PACKED:
        bare = bare.with_suffix("")
    return FORMATS.get(bare.suffix, "csv")


def read_csv(file: Iterable[str], separator: str = ",") -> Iterator[Row]:
    """Rows of the lines of a CSV file with a header, as text."""
    lines = csv.reader(file, delimiter=separator)
    names = next(lines, None)
    if not names:
        raise ValueError("the table must have a header; got nothing.")
    if len(set(names)) != len(names):
        raise ValueError(f"the header must name each column once; got {names}.")
    for number, cells in enumerate(line for line in lines if line):
        if len(cells) != len(names):
            raise ValueError(
                f"row {number} must have {len(names)} cells, as the header has; got "
                f"{len(cells)}."
            )
        yield dict(zip(names, cells, strict=True))


def read_ndjson(file: Iterable[str], separator: str = ",") -> Iterator[Row]:
    """Rows of a file with one JSON object a line, which no separator parts."""
    for number, line in enumerate(line for line in file if not line.isspace()):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"row {number} is not JSON: {error}.") from error
        plain = str | int | float | None
        if not isinstance(row, dict) or not all(
            isinstance(value, plain) for value in row.values()
        ):
            raise ValueError(f"row {number} must be an object of plain values.")
        yield row


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
        return text
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
    """What each column holds: "number", "level", or "any" of both, as found or told.

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
        text = isinstance(value, str)
        has_comma = text and self.decimal == "." and has_decimal_comma(value)
        if has_comma and name not in self.known:
            is_text = f"name the column's levels: --levels {name}=A,B,..."
            if name == self.response:
                is_text = "say --model class if the response is of labels."
            raise ValueError(
                f"column {name!r} holds {reprlib.repr(value)}, a number with a decimal "
                f"comma. Say --decimal , (no dots between thousands), or {is_text}"
            )
        kind = self.known.setdefault(name, "level" if text else "number")
        if kind == "number" and text:
            remedy = f"leave it out, or name its levels: --levels {name}=A,B,..."
            if name == self.response:
                remedy = "or say --model class if the response is of labels."
            if has_comma:
                remedy = "or say --decimal , if it has decimal commas."
            raise ValueError(
                f"column {name!r} must hold numbers; got {reprlib.repr(value)}. Mend "
                f"it, {remedy}"
            )
        return level_cell(given, self.decimal) if kind == "level" else value


def has_decimal_comma(text: str) -> bool:
    """Whether a text looks like a number with a decimal comma.

    Examples
    --------
    >>> [has_decimal_comma(text) for text in ("-1,06161", "1.234,5", "1,2,3", "a,5")]
    [True, True, False, False]
    """
    return COMMA.fullmatch(text) is not None


def commas_are_levels(cells: Sequence[Any], decimal: str = ".") -> bool:
    """Whether a column begins with text like "1,5" and has other text, too."""
    values = [value for text in cells if (value := cell(text, decimal)) is not None]
    texts = [value for value in values if isinstance(value, str)]
    return isinstance(next(iter(values), None), str) and not all(
        map(has_decimal_comma, texts)
    )


def csv_line(values: Row) -> bytes:
    """A line of CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(in_cell, values.values()))
    return text.getvalue().encode("utf-8")


def ndjson_line(values: Row) -> bytes:
    """A line of JSON; null for what is no finite number."""
    return json.dumps(strict(values)).encode("ascii") + b"\n"


READERS: dict[str, Callable[[Iterable[str], str], Iterator[Row]]] = {
    "csv": read_csv,
    "ndjson": read_ndjson,
}
WRITERS: dict[str, Callable[[Row], bytes]] = {"csv": csv_line, "ndjson": ndjson_line}
