"""Lines of a text, as they come: from files, pipes, and files that grow.

A line that has not ended yet waits until its newline comes, or until the input ends; a
`Lines` gives out what a reader could not make a row of once more. No line and no row is
collected beyond its `Limits`.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dyntree.commands.stops import Stopped, Stops

CHUNK = 1 << 16  # bytes
END = re.compile(r"\r\n|\n|\r")  # of a line
ENDS = ("\n", "\r")


@dataclass(frozen=True)
class Limits:
    """How much text a row may be.

    Parameters
    ----------
    line : int, default 2**24
        Characters of a line, and of a row of several.
    quoted : int, default 100
        Lines of a row of CSV, whose cells in quotes may have several.
    """

    line: int = 1 << 24
    quoted: int = 100


class BeyondLimits(Exception):
    """A line or a row is longer than its `Limits`."""


class NotYet(Exception):
    """There is nothing to read now, and the input has not ended."""


class LineReader:
    """Lines of a file in UTF-8 as they can be read, until a signal comes.

    Parameters
    ----------
    file : binary file
        Not read yet. Bytes that are no UTF-8 become surrogates (`is_text`).
    stops : Stops
    before : str, default ""
        What of the first line arrived earlier.
    grows : bool, default False
        Whether an end of the file is none of the input. `is_cut` may look after it.
    most : int, default 2**24
        Characters of a line. Of a longer one the next one is given out, too, and its
        end.

    Attributes
    ----------
    ended : bool
        Whether all lines were given out. `finish` lets a file that grows end.
    is_file : bool
        Whether it is a file on disk, packed or not, which can be read again.
    has_more : bool
        Whether the last look into the file found something.

    Raises
    ------
    Stopped
        After a signal, in place of the next line: of a file at once, of anything else
        once all whole lines that were read are given out.
    NotYet
        Where a file that grows has no more lines, and where `waits` is False and a pipe
        has none.
    """

    def __init__(
        self,
        file: Any,
        stops: Stops,
        before: str = "",
        grows: bool = False,
        most: int = Limits.line,
    ) -> None:
        self._file, self._stops, self._grows = file, stops, grows
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._lines: deque[str] = deque()
        self._most = most
        self._tail: list[str] = []  # parts of a line without an end so far
        self._n_tail = 0  # characters of it
        self._half_end = ""  # a \r, which may be half of an end
        self._part(self._decoder.decode(before.encode("utf-8", "surrogateescape")))
        self._is_over = False
        self.n_read = 0
        self.waits = self.has_more = True
        self.is_file = is_file(file)

    @property
    def ended(self) -> bool:
        """Whether all lines were given out."""
        return self._is_over and not self._lines

    def __next__(self) -> str:
        while True:
            if self.is_file and self._stops.signal is not None:
                raise Stopped
            if self._lines:
                return self._lines.popleft()
            if self._is_over:
                raise StopIteration
            self._read()

    @property
    def unread(self) -> str:
        """What was read and not given out; half a character as surrogates."""
        half = self._decoder.getstate()[0].decode("utf-8", "surrogateescape")
        return "".join([*self._lines, *self._tail, self._half_end, half])

    def finish(self) -> None:
        """Let a file that grows end here."""
        self._end("")

    def _read(self) -> None:
        """Read on, to the end of a line or of the input."""
        if not self.is_file and not self._stops.wait(
            [self._file], None if self.waits else 0.0
        ):
            raise NotYet
        chunk: bytes = self._file.read1(CHUNK)
        self.has_more = bool(chunk)
        self.n_read += len(chunk)
        if not chunk and self._grows:
            raise NotYet
        text = self._decoder.decode(chunk, final=not chunk)
        if not chunk:
            self._end(text)
        else:
            self._part(text)

    def _part(self, text: str) -> None:
        """Part what was read at the ends of lines."""
        text = self._half_end + text
        self._half_end = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        start = 0
        for end in END.finditer(text):
            self._collect(text[start : end.start()])
            self._give_out(end.group())
            start = end.end()
        self._collect(text[start:])

    def _collect(self, text: str) -> None:
        """Add to the line under way, up to one character beyond its limit."""
        part = text[: self._most + 1 - self._n_tail]
        if part:
            self._tail.append(part)
            self._n_tail += len(part)

    def _give_out(self, end: str) -> None:
        """End the line under way."""
        self._lines.append("".join([*self._tail, end]))
        self._tail.clear()
        self._n_tail = 0

    def _end(self, text: str) -> None:
        self._part(text)
        self._is_over = True
        if self._tail or self._half_end:
            self._give_out(self._half_end)
            self._half_end = ""


class Lines:
    """Lines of a source, stored and counted until their reader has made rows of them.

    Parameters
    ----------
    source : LineReader
    limits : Limits, optional

    Raises
    ------
    BeyondLimits
        In place of a line that is too long, or one too many for a row. `first` then
        gives out the line at which reading goes on after the next call.
    """

    def __init__(self, source: LineReader, limits: Limits | None = None) -> None:
        self._source, self._limits = source, limits or Limits()
        self._given: list[str] = []  # lines of a row that is not complete
        self._n_given = 0  # characters of them
        self._again: deque[str] = deque()
        self._number = 0  # of lines that were taken

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._again:
            line = self._again.popleft()
        else:
            try:
                line = next(self._source)
            except NotYet:
                self._again.extend(self._given)
                self._clear()
                raise
        self._given.append(line)
        self._n_given += len(line)
        most = self._limits.line
        if len(line) > most and len(line.rstrip("\r\n")) > most:
            raise BeyondLimits(
                f"a line must have at most {most} characters (--longest-line)"
            )
        if len(self._given) > 1 and self._n_given > most:
            raise BeyondLimits(
                f"a row must have at most {most} characters (--longest-line)"
            )
        if len(self._given) > self._limits.quoted:
            raise BeyondLimits(
                "a cell of it begins with a quote that does not end within "
                f"{self._limits.quoted} lines (--most-quoted)"
            )
        return line

    def _clear(self) -> None:
        """Begin another row."""
        self._given.clear()
        self._n_given = 0

    @property
    def n_given(self) -> int:
        """Lines given since the last call of `taken` or `first`."""
        return len(self._given)

    @property
    def text(self) -> str:
        """They in one text."""
        return "".join(self._given)

    def first(self) -> tuple[int, str]:
        """As `taken`, but of the first line alone; the others are given once more."""
        self._again.extendleft(reversed(self._given[1:]))
        del self._given[1:]
        return self.taken()

    def taken(self) -> tuple[int, str]:
        """The lines given since the last call, which made a row: number, and text."""
        number, text = self._number + 1, "".join(self._given)
        self._number += len(self._given)
        self._clear()
        return number, text

    def put_back(self, text: str) -> None:
        """Give out lines that were taken once more, before all others."""
        lines, start = [], 0
        for end in END.finditer(text):
            lines.append(text[start : end.end()])
            start = end.end()
        lines += [text[start:]] if start < len(text) else []
        self._again.extendleft(reversed(lines))
        self._number -= len(lines)

    @property
    def ended(self) -> bool:
        """Whether all lines were given out."""
        return self._source.ended and not self._again

    @property
    def unfinished(self) -> str:
        """What was given of a row that is not complete."""
        return "".join([*self._given, *self._again])


def is_file(file: Any) -> bool:
    """Whether it is a file on disk, packed or not, which can be read again."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except OSError:  # no file of the system's
        return True


def first_line(text: str) -> str:
    r"""The first line of a text, with its end.

    Examples
    --------
    >>> first_line("a\r\nb\n"), first_line("a")
    ('a\r\n', 'a')
    """
    end = END.search(text)
    return text if end is None else text[: end.end()]


def is_text(text: str) -> bool:
    """Whether a text has no surrogates, which stand for bytes that are no text."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
