"""Rows as text: CSV or NDJSON in, predictions out, one line a row."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
Row = dict[str, Any]


def read_csv(file: TextIO) -> Iterator[Row]:
    """Rows of a CSV file with a header, as text."""
    lines = csv.reader(file)
    names = next(lines, None)
    if names is None:
        return
    if len(set(names)) != len(names):
        raise ValueError(f"the header must name each column once; got {names}.")
    for number, cells in enumerate(line for line in lines if line):
        if len(cells) != len(names):
            raise ValueError(
                f"row {number} must have {len(names)} cells, as the header has; got "
                f"{len(cells)}."
            )
        yield dict(zip(names, cells, strict=True))


def read_ndjson(file: TextIO) -> Iterator[Row]:
    """Rows of a file with one JSON object a line."""
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


def cell(text: Any) -> Any:
    """What a cell of a CSV file means: a number, text, or None where missing."""
    if not isinstance(text, str):
        return text
    if text in MISSING:
        return None
    for kind in () if "_" in text else (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def inputs_of(row: Row, names: Sequence[str], with_levels: Sequence[str]) -> Row:
    """The inputs of a row; columns with levels keep their text."""
    values: Row = {}
    for name in names:
        value = row.get(name)
        if name in with_levels:
            values[name] = None if value in MISSING else value
        else:
            values[name] = cell(value)
    return values


def csv_line(values: Row) -> bytes:
    """A line of CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values.values())
    return text.getvalue().encode("utf-8")


def ndjson_line(values: Row) -> bytes:
    """A line of JSON; null for what is no finite number."""
    return json.dumps(_finite(values)).encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


READERS: dict[str, Callable[[TextIO], Iterator[Row]]] = {
    "csv": read_csv,
    "ndjson": read_ndjson,
}
WRITERS: dict[str, Callable[[Row], bytes]] = {"csv": csv_line, "ndjson": ndjson_line}
