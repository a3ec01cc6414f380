"""Readers of tables, row by row: CSV, NDJSON, and with pyarrow Parquet and Arrow.

A reader gives a `Record` for each row, good or bad, and goes on after a bad one. What
its values mean is read in `rows`.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import reprlib
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dyntree.commands.lines import (
    ENDS,
    BeyondLimits,
    Limits,
    LineReader,
    Lines,
    first_line,
    is_text,
)
from dyntree.commands.stops import Stops

Row = dict[str, Any]
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": ""}  # who reads them
FORMATS = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".arrows": "arrow", ".feather": "arrow",
}  # fmt: skip
TABULAR = ("parquet", "arrow")  # formats that pyarrow reads
N_AT_ONCE = 1024  # rows that pyarrow is asked for


class Record(NamedTuple):
    """A row as it arrived.

    Attributes
    ----------
    line : int
        Number of its first line, from 1; of a format without lines, of the row.
    text : str
        As it arrived, with the ends of its lines.
    row : dict or None
        Its cells by column, where it could be read.
    reason : str
        Why it could not be read.
    finished : bool
        False where the input ends before a newline, so that more may have been meant.
    """

    line: int
    text: str
    row: Row | None
    reason: str = ""
    finished: bool = True

    def cut_to(self, text: str) -> Record:
        """The record with the first part of its text alone."""
        return Record(self.line, text, self.row, self.reason, self.finished)

    @property
    def is_one_line(self) -> bool:
        """Whether its text is one line."""
        return first_line(self.text) == self.text


OPEN = "a cell of it begins with a quote that has no end"
OTHERS = ";\t|"  # separators that are common beside the comma


class Csv:
    """Records of CSV with a header.

    A row of several lines must have the cells of the header, and its quotes must close
    as they should. Where they do not, a quote is missing somewhere: the first line is a
    bad row, and reading goes on at the second one.

    Parameters
    ----------
    lines : Lines
    separator : str, default ","

    Attributes
    ----------
    columns : list of str or None
        Those of the header, once it was read.
    """

    def __init__(self, lines: Lines, separator: str = ",") -> None:
        self._lines, self._separator = lines, separator
        self._cells = csv.reader(lines, delimiter=separator)
        self.columns: list[str] | None = None

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        if self.columns is None:
            self.columns = self._header()
        cells, reason = self._read()
        names, is_long, text = self.columns, self._lines.n_given > 1, self._lines.text
        # a quote that does not close makes a row of all lines that follow
        if not reason and (is_long or (self._lines.ended and text.count('"') % 2)):
            reason = self._quotes(text, is_long)
        finished = text.endswith(ENDS) and reason != OPEN
        if not reason and not is_text(text):
            reason = "it must be text in UTF-8"
        elif not reason and len(cells) != len(names):
            reason = self._misfit(len(cells), text)
        line, text = self._lines.first() if reason else self._lines.taken()
        if reason:
            return Record(line, text, None, reason, finished)
        return Record(line, text, dict(zip(names, cells, strict=True)), "", finished)

    def _read(self) -> tuple[list[str], str]:
        """The cells of the next row that is not empty, and why they cannot be read."""
        try:
            while not (cells := next(self._cells)):
                self._lines.taken()
        except csv.Error as error:
            return [], f"it is no CSV: {error}"
        except BeyondLimits as error:
            return [], str(error)
        return cells, ""

    def _misfit(self, n_cells: int, text: str) -> str:
        """What to say of a row that has another number of cells than the header."""
        names = self.columns or [""]
        reason = f"it must have {len(names)} cells, as the header has; got {n_cells}"
        if other := next((c for c in OTHERS if c in names[0] and c in text), ""):
            word = "tab" if other == "\t" else f'"{other}"'
            reason += f". If cells are separated by {other!r}: --separator {word}"
        return reason

    def _header(self) -> list[str]:
        try:
            names = next(self._cells, None)
        except (csv.Error, BeyondLimits) as error:
            raise ValueError(f"the header cannot be read: {error}.") from error
        is_long = self._lines.n_given > 1
        _, text = self._lines.taken()
        if reason := self._quotes(text, is_long):
            raise ValueError(f"the header cannot be read: {reason}.")
        if not names:
            raise ValueError("the table must have a header; got nothing.")
        if not is_text(text):
            raise ValueError("the header must be text in UTF-8.")
        if text.lstrip().startswith(("{", "[{")):
            raise ValueError(
                "it looks like JSON and is read as CSV. Write NDJSON, an object a "
                "line, into a file whose name ends in .ndjson."
            )
        if twice := [name for name, n in Counter(names).items() if n > 1]:
            raise ValueError(
                "the header must name each column once; got "
                f"{reprlib.repr(twice[0])} twice."
            )
        return names

    def _quotes(self, text: str, is_long: bool) -> str:
        """What is wrong with the quotes of a row, if anything.

        A row of one line may have quotes within its cells, which are read as they are.
        """
        try:
            list(csv.reader([text], delimiter=self._separator, strict=True))
        except csv.Error as error:
            if "end of data" in str(error):
                return OPEN
            return f"its quotes do not close: {error}" if is_long else ""
        return ""


class Ndjson:
    """Records of a text with one JSON object a line; parameters as `Csv`."""

    columns = None

    def __init__(self, lines: Lines, separator: str = ",") -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        reason, row = "", None
        try:
            while next(self._lines).isspace():
                self._lines.taken()
        except BeyondLimits as error:
            reason = str(error)
        line, text = self._lines.taken()
        finished = text.endswith(ENDS)
        if not reason and not is_text(text):
            reason = "it must be text in UTF-8"
        if not reason:
            try:
                row = json.loads(text, object_pairs_hook=_row_of)
            except (ValueError, RecursionError) as error:
                reason = f"it is not JSON: {error}"
        plain = str | int | float | None
        if reason:
            pass
        elif not isinstance(row, dict) or not all(
            isinstance(value, plain) for value in row.values()
        ):
            reason = "it must be an object of plain values"
        elif "\\u" in text and not has_texts(row):
            reason = "its text must be Unicode; a half of a surrogate pair is none"
        finished = finished or not reason  # an object ends with its brace
        return Record(line, text, None if reason else row, reason, finished)


class Tabular:
    """Records of a Parquet file, or of an Arrow file or stream.

    Parameters
    ----------
    file : binary file
    kind : {"parquet", "arrow"}

    Raises
    ------
    ImportError
        Without pyarrow.
    ValueError
        If it is none.
    """

    def __init__(self, file: BinaryIO, kind: str) -> None:
        try:
            import pyarrow as pa
            from pyarrow import ipc, parquet
        except ImportError as error:
            raise ImportError(
                f"reading {kind} needs pyarrow: pip install pyarrow."
            ) from error
        self._failures = pa.ArrowException
        try:
            if kind == "parquet":
                read = parquet.ParquetFile(file)
                self.columns = list(read.schema_arrow.names)
                self._batches = read.iter_batches(N_AT_ONCE)
            else:
                self.columns, self._batches = _arrow(file, ipc)
        except pa.ArrowException as error:
            fault = str(error).rstrip(".")
            raise ValueError(f"it is no {kind.capitalize()}: {fault}.") from error
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(f"it must name each column once; got {self.columns}.")
        self._rows: Iterator[Row] = iter(())
        self._number = 0

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        row = next(self._rows, None)
        while row is None:
            try:
                batch = next(self._batches)
            except self._failures as error:
                raise ValueError(f"it cannot be read on: {error}.") from error
            self._rows = iter(batch.to_pylist())
            row = next(self._rows, None)
        self._number += 1
        reason = ""
        for name, value in row.items():
            if isinstance(value, bytes | list | dict):
                reason = f"column {name!r} must hold plain values; got {value!r}"
        return Record(self._number, repr(row), None if reason else row, reason)


def _arrow(file: BinaryIO, ipc: Any) -> tuple[list[str], Iterator[Any]]:
    """Columns and batches of an Arrow file, if it begins as one, or stream."""
    magic = b"ARROW1"
    if file.seekable():
        start = file.read(len(magic))
        file.seek(0)
        if start == magic:
            read = ipc.open_file(file)
            return read.schema.names, map(
                read.get_batch, range(read.num_record_batches)
            )
    stream = ipc.open_stream(file)
    return stream.schema.names, iter(stream)


def words_of(text: str) -> list[str]:
    r"""Words that are written as the cells of one row of CSV.

    Raises
    ------
    ValueError
        For more than one row.

    Examples
    --------
    >>> words_of('NA,"a,b",'), words_of("")
    (['NA', 'a,b', ''], [''])
    """
    rows: list[list[str]] = [*csv.reader(io.StringIO(text, newline=""))]
    first, *others = rows or [[""]]
    if others:
        raise ValueError(f"words with a line break must be in quotes; got {text!r}.")
    return first


TEXTS: dict[str, Callable[[Lines, str], Any]] = {"csv": Csv, "ndjson": Ndjson}


def _row_of(pairs: list[tuple[str, Any]]) -> Row:
    """A JSON object, whose names must be distinct."""
    row: Row = {}
    for name, value in pairs:
        if name in row:
            raise ValueError(f"it names {name!r} twice")
        row[name] = value
    return row


def has_texts(row: Row) -> bool:
    r"""Whether the text in the names and values of a row can be written in UTF-8.

    Examples
    --------
    >>> has_texts({"u": "v", "w": 1}), has_texts({"u": "\ud800"})
    (True, False)
    """
    return all(is_text(part) for item in row.items() for part in map(str, item))


def text_rows(
    file: BinaryIO, kind: str, separator: str = ",", limits: Limits | None = None
) -> Iterator[Row]:
    """Rows of a text, "csv" or "ndjson", all of them good; errors as in `good_rows`."""
    limits = limits or Limits()
    lines = Lines(LineReader(file, Stops(), most=limits.line), limits)
    return good_rows(TEXTS[kind](lines, separator))


def good_rows(records: Iterable[Record]) -> Iterator[Row]:
    """Rows of records, all of them good.

    Raises
    ------
    ValueError
        For the first one that is not.
    """
    for number, record in enumerate(records):
        if record.row is None:
            raise ValueError(f"row {number}: {record.reason}.")
        yield record.row


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file, unpacked where its name ends as `PACKED` says; "-" is standard input.

    Raises
    ------
    ValueError
        If it cannot be unpacked.
    ImportError
        If it is packed by Zstandard, and nothing here unpacks that.
    """
    try:
        if path == "-":
            yield sys.stdin.buffer
            return
        with unpacker(Path(path).suffix)(path, "rb") as file:
            yield file
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}.") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} cannot be unpacked: {error}.") from error


def unpacker(suffix: str) -> Callable[..., Any]:
    """What opens files whose name ends so."""
    if suffix == ".zst":
        return _zstd().open  # type: ignore[no-any-return]
    way: Callable[..., Any] = import_module(PACKED.get(suffix, "io")).open
    return way


def _zstd() -> Any:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            "reading .zst needs backports.zstd: pip install '.[zstd]' in a clone of "
            "dyntree."
        ) from error


def format_of(path: str) -> str:
    """Format of a file by its name: "csv", "ndjson", "parquet" or "arrow"."""
    bare = Path(path)
    if bare.suffix in PACKED:
        bare = bare.with_suffix("")
    return FORMATS.get(bare.suffix, "csv")


def format_to_write(path: str | None, flag: str, default: str = "csv") -> str:
    """Format of an output by its name: "csv" or "ndjson"; default where it says none.

    Raises
    ------
    ValueError
        For names of formats that are read only.

    Examples
    --------
    >>> [format_to_write(name, "--out", "ndjson") for name in ("a.csv", "a", "-")]
    ['csv', 'ndjson', 'ndjson']
    """
    suffix = "" if path is None else Path(path).suffix
    kind = "csv" if suffix == ".csv" else FORMATS.get(suffix, default)
    if suffix in PACKED or kind in TABULAR:
        raise ValueError(
            f"{flag} must be written as CSV or NDJSON, not packed; got {path}. Give a "
            "name that ends in .csv or .ndjson."
        )
    return kind
