"""An input of a stream: its rows, counted, known again, and skipped when resumed.

A checkpoint holds how many rows of its input were taken, and fingerprints of the first
and the last of them, so that an input that is another, or has changed, is an error.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, BinaryIO, Self

from dyntree.commands.lines import (
    ENDS,
    Limits,
    LineReader,
    Lines,
    NotYet,
    first_line,
    is_file,
)
from dyntree.commands.readers import (
    TABULAR,
    TEXTS,
    Record,
    Tabular,
    opened,
)
from dyntree.commands.stops import Stopped, Stops

LOOK = 0.1  # seconds between two looks at files that are followed
Seen = dict[str, Any]
NEW: Seen = {
    "rows": 0, "columns": None, "first": None, "last": None, "whole": True, "cut": [],
}  # fmt: skip


class Feed:
    """Rows of an input, those that were taken before left out.

    Parameters
    ----------
    path : str
        Of a file; "-" is standard input.
    kind : {"csv", "ndjson", "parquet", "arrow"}
    separator : str
        Of CSV.
    stops : Stops
    seen : dict, optional
        What `facts` said of the input of the last call, with the keys of `NEW`: how
        many rows were taken, their columns if the format declares them, fingerprints of
        the first and the last one, whether the last one had its newline, and which ones
        were cut.
    continues : bool, default False
        Whether the input begins after all rows taken.
    follows : bool, default False
        Whether a file is read on as it grows, and others that take its place.
    before : str, default ""
        What of the first row of a pipe arrived earlier.
    may_be_old : bool, default False
        Whether an input that continues may be the old one, whose rows are left out.
    limits : Limits, optional
        How much text a row may be.

    Attributes
    ----------
    ended : bool
        Whether all rows were given out.
    is_empty : bool
        Whether no row has come yet, old ones included.
    """

    def __init__(
        self,
        path: str,
        kind: str,
        separator: str,
        stops: Stops,
        seen: Seen | None = None,
        *,
        continues: bool = False,
        follows: bool = False,
        before: str = "",
        may_be_old: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.path, self._kind, self._separator = path, kind, separator
        self._stops, self._follows, self._before = stops, follows, before
        self._limits = limits or Limits()
        self._seen: Seen = dict(NEW if seen is None else seen)
        self._seen["cut"] = [*self._seen["cut"]]
        self._old = self._seen | {"cut": frozenset(self._seen["cut"])}
        self._continues, self._may_be_old = continues, may_be_old
        self._last: Record | None = None
        self._cut: Record | None = None
        self._columns: list[str] | None = None
        self._is_renewed = continues
        self._is_met = not continues and not self._seen["rows"]
        self._chunks: LineReader | None = None  # None of a format without lines
        self._lines: Lines | None = None
        self._stack = ExitStack()
        self._coming: deque[Any] = deque()  # files that have come since, open
        self._looks_at = 0.0
        self.ended, self.is_empty = False, True

    def __enter__(self) -> Self:
        try:
            self._open()
            is_old = self._continues and self._is_old()
            if is_old and not self._may_be_old:
                raise self._old_rows()
            if is_old or not self._continues:
                self._is_renewed = False
                self._skip()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        """The next record; waits for it."""
        while True:
            record = self.poll(wait=True)
            if record is not None:
                return record
            if self.ended:
                raise StopIteration
            self._stops.wait([], LOOK)

    def poll(self, wait: bool = False) -> Record | None:
        """The next record, or None: there is none yet, or the input has `ended`."""
        if self._chunks is not None:
            self._chunks.waits = wait
        elif self._stops.signal is not None:
            raise Stopped
        if self._follows and time.monotonic() >= self._looks_at:
            self._look()
        while not self.ended:
            try:
                record: Record = next(self._records)
            except NotYet:
                if not self._renew():
                    return None
            except StopIteration:
                if not self._follows:
                    self.ended = True
                    return None
                self._reopen()
            except ValueError as error:
                raise ValueError(f"{self.path} cannot be read: {error}") from error
            except OSError as error:
                if error.errno is None or error.filename is not None:
                    raise
                name = "standard input" if self.path == "-" else self.path
                reason = f"cannot be read: {error.strerror}"
                raise OSError(error.errno, reason, name) from error
            else:
                self.is_empty = False
                if self._is_met:
                    self._is_met = False
                    self._compare(record, 0, self.columns)
                return self._checked(record)
        return None

    def meets(self, record: Record | None) -> None:
        """Know the first row before it is taken; None where it is not to be known.

        The checkpoint that is written before it then identifies the input.
        """
        if self._seen["rows"] == 0 and not self._is_renewed:
            is_whole = record is not None and record.finished
            self._seen["first"] = fingerprint(record) if record and is_whole else None
            self._seen["columns"] = self.columns if is_whole else None

    def cut(self, record: Record) -> Record:
        """Cut a row of several lines, which is bad, down to the first.

        The others are read once more: a quote that is missing may have made them a part
        of the row.
        """
        first = first_line(record.text)
        if self._lines is None or first == record.text:
            return record
        self.put_back(record.text[len(first) :])
        self._cut = record.cut_to(first)
        return self._cut

    def put_back(self, text: str) -> None:
        """Read lines once more, in front of all that follow."""
        if self._lines is not None and text:
            self._lines.put_back(text)
            self.ended = False

    def leave(self) -> None:
        """Leave a record that is not whole, and all after it, to the next call."""
        self.ended = True

    def took(self, record: Record) -> None:
        """Count a record as taken, in what `facts` returns."""
        if self._is_renewed:
            self._seen, self._is_renewed = NEW | {"cut": []}, False
        if self._cut is not None:
            record, self._cut = self._cut, None
            self._seen["cut"].append(self._seen["rows"])
        if self._seen["rows"] == 0:
            self._seen["first"] = fingerprint(record)
            self._seen["columns"] = self.columns
        self._seen["rows"] += 1
        self._last = record

    @property
    def facts(self) -> Seen:
        """What a checkpoint stores about the input."""
        if self._last is not None:
            self._seen["last"] = fingerprint(self._last)
            self._seen["whole"] = self._last.finished
        return dict(self._seen)

    @property
    def n_taken(self) -> int:
        """Rows of the input that were taken."""
        return 0 if self._is_renewed else int(self._seen["rows"])

    @property
    def keeps(self) -> bool:
        """Whether the next call goes on within what this one has read.

        Files can be read again, and CSV begins anew, with a header.
        """
        return self._kind == "ndjson" and not self.is_file

    @property
    def n_lines_lost(self) -> int:
        """Number of whole lines of a pipe that made no row and will not be stored."""
        lost = not (self.keeps or self.is_file)
        return self.unfinished.count("\n") if lost else 0

    @property
    def columns(self) -> list[str] | None:
        """Columns of all rows, if the format declares them."""
        found: list[str] | None = self._records.columns
        return found

    @property
    def grows(self) -> bool:
        """Whether it is a file that is read on."""
        return self._follows

    @property
    def is_live(self) -> bool:
        """Whether rows come when they happen: of a pipe, and of what is followed."""
        return self._follows or not self.is_file

    @property
    def waits_for(self) -> list[Any]:
        """What to wait for by `Stops.wait` until there may be a record."""
        return [] if self.ended or self.is_file else [self._file]

    @property
    def unfinished(self) -> str:
        """What was read of rows that are not complete."""
        if self._lines is None or self._chunks is None:
            return ""
        return self._lines.unfinished + self._chunks.unread

    def _open(self) -> None:
        self._file: Any = self._opened()
        self._read()

    def _read(self) -> None:
        """Begin to read the file."""
        if self._kind in TABULAR:
            try:
                self._records: Any = Tabular(self._stoppable(), self._kind)
            except ValueError as error:
                raise ValueError(f"{self.path} cannot be read: {error}") from error
            self.is_file = self.path != "-"
            return
        self.is_file = is_file(self._file)
        self._follows = self._follows and self.is_file  # a pipe waits by itself
        chunks = LineReader(
            self._file, self._stops, self._before, self._follows, self._limits.line
        )
        self._before = ""
        self._chunks, self._lines = chunks, Lines(chunks, self._limits)
        self._records = TEXTS[self._kind](self._lines, self._separator)

    def _stoppable(self) -> BinaryIO:
        """The file, which can be left while it waits where it is a pipe."""
        if self.path != "-":
            file: BinaryIO = self._file
            return file
        return io.BufferedReader(_Waiting(self._file, self._stops))

    def _look(self) -> None:
        """Open a file that has come in the place of the last one, before it goes."""
        self._looks_at = time.monotonic() + LOOK
        newest = self._coming[-1] if self._coming else self._file
        try:
            if os.path.samestat(os.fstat(newest.fileno()), os.stat(self.path)):
                return
            self._coming.append(self._opened())
        except FileNotFoundError:  # between two files
            return

    def _opened(self) -> Any:
        """The file that has the name now."""
        return self._stack.enter_context(opened(self.path))

    def _renew(self) -> bool:
        """Whether there may be more of a file that is followed, or in the next one.

        The next one counts once it holds something: until then its writer may still
        write to the old one.
        """
        chunks = self._chunks
        if chunks is None or not self._follows:
            return False
        self._look()
        size = os.fstat(self._file.fileno()).st_size
        if size < chunks.n_read:
            warnings.warn(
                f"{self.path} was truncated. It is now read from its beginning, and "
                "rows that were not read yet are lost. Rotate files by renaming them.",
                stacklevel=2,
            )
            self._coming.appendleft(self._opened())
        elif size > chunks.n_read:
            return True  # the last words of its writer
        elif not any(os.fstat(file.fileno()).st_size for file in self._coming):
            return False
        if chunks.n_read == 0:
            self._reopen()
        else:
            chunks.finish()
        return True

    def _reopen(self) -> None:
        """Go on with the file that has come in the place of the one that ended."""
        if self._columns is None:
            self._columns = self._records.columns
        self._file.close()
        self._file = self._coming.popleft()
        self._read()
        self._is_renewed = True

    def _checked(self, record: Record) -> Record:
        """A record of a file that has the columns of the one before it."""
        columns = self._records.columns
        if self._columns is not None and {*(columns or ())} != {*self._columns}:
            raise ValueError(
                f"{self.path} must keep its columns, {self._columns}; the file that "
                f"has come in its place has {columns}."
            )
        return record

    def _skip(self) -> None:
        """Leave out the rows that were taken, once they are those that were."""
        old = self._old
        for number in range(old["rows"]):
            record = next(self, None)
            if record is None:
                raise self._another(f"it has {number} of the {old['rows']} rows taken")
            if number in old["cut"]:
                record, self._cut = self.cut(record), None
            self._compare(record, number, self.columns)

    def _compare(self, record: Record, number: int, columns: list[str] | None) -> None:
        """Refuse a row at the place of one that was taken, where it is another."""
        old = self._old
        if old["columns"] not in (None, columns):
            raise self._another(f"its columns are {columns}, and were {old['columns']}")
        if number == 0 and old["first"] not in (None, fingerprint(record)):
            raise self._another("its first row is another")
        if number == old["rows"] - 1 and old["last"] not in (None, fingerprint(record)):
            if not old["whole"]:
                raise ValueError(
                    f"row {number} of {self.path} was the last row and had no newline "
                    "at its end, but was taken, and has grown since; the model has "
                    "learned only a part of it. Resume from an older copy of the "
                    "checkpoint, or start again without it."
                )
            raise self._another(
                f"its row {number}, the last one taken, is another than it was"
            )

    def _another(self, difference: str) -> ValueError:
        return ValueError(
            f"--resume needs the input of the call before, and {self.path} is another: "
            f"{difference}. If it has only rows after those taken, add "
            "--input-continues; if files were rotated, resume with the old one first."
        )

    def _is_old(self) -> bool:
        """Whether a file begins with the rows that were taken."""
        old = self._old
        if not self.is_file or not old["rows"] or old["first"] is None:
            return False
        with Feed(
            self.path, self._kind, self._separator, self._stops, limits=self._limits
        ) as again:
            for number in range(old["rows"]):
                record = next(again, None)
                if record is None:
                    return False
                if number in old["cut"]:
                    record = again.cut(record)
                try:
                    self._compare(record, number, again.columns)
                except ValueError:
                    return False
        return True

    def _old_rows(self) -> ValueError:
        return ValueError(
            f"--input-continues needs an input without the rows taken; {self.path} "
            f"begins with them, {self._old['rows']} rows. Leave --input-continues out, "
            "so that they are skipped."
        )


class _Waiting(io.RawIOBase):
    """A pipe whose reader can be stopped."""

    def __init__(self, file: Any, stops: Stops) -> None:
        self._file, self._stops = file, stops

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._stops.wait([self._file])
        chunk = self._file.read1(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)


def fingerprint(record: Record) -> str:
    """A hash of a row without the end of its line."""
    text = record.text.rstrip("".join(ENDS))
    data = text.encode("utf-8", "surrogateescape")
    return hashlib.sha256(data).hexdigest()[:16]
