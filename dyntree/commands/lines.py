"""Lines of a text, as they come: from files, pipes, and files that grow.

A line that has not ended yet is held back until its newline comes, or until the input
ends; a `Lines` gives out what a reader could not make a row of once more.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from dyntree.commands.stops import Stopped, Stops

CHUNK = 1 << 16  # bytes
END = re.compile(r"\r\n|\n|\r(?!\Z)")  # of a line; \r at the end may be half of one
ENDS = ("\n", "\r")


class NotYet(Exception):
    """There is nothing to read now, and the input has not ended."""


class Source(Protocol):
    """What gives out lines; `ended` once it has given the last one."""

    @property
    def ended(self) -> bool:
        """Whether all lines were given out."""

    def __next__(self) -> str: ...


class Chunks:
    """Lines of a file in UTF-8 as they can be read, until a signal comes.

    Parameters
    ----------
    file : binary file
        Not read yet. Bytes that are no UTF-8 become surrogates (`is_text`).
    stops : Stops
    before : str, default ""
        What of the first line came earlier.
    grows : bool, default False
        Whether an end of the file is none of the input. `is_cut` may look after it.

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
        self, file: Any, stops: Stops, before: str = "", grows: bool = False
    ) -> None:
        self._file, self._stops, self._grows = file, stops, grows
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._tail = self._decoder.decode(before.encode("utf-8", "surrogateescape"))
        self._lines: deque[str] = deque()
        self._is_over = False
        self.n_read = 0
        self.waits = self.has_more = True
        self.is_file = is_file(file)

    @property
    def ended(self) -> bool:
        """Whether all lines were given out."""
        return self._is_over and not self._lines

    def __next__(self) -> str:
        if self.is_file and self._stops.came is not None:
            raise Stopped
        while not self._lines:
            if self._is_over:
                raise StopIteration
            self._read()
        return self._lines.popleft()

    @property
    def unread(self) -> str:
        """What was read and not given out; half a character as surrogates."""
        half = self._decoder.getstate()[0].decode("utf-8", "surrogateescape")
        return "".join(self._lines) + self._tail + half

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
        text = self._tail + text
        start = 0
        for found in END.finditer(text):
            self._lines.append(text[start : found.end()])
            start = found.end()
        self._tail = text[start:]

    def _end(self, text: str) -> None:
        self._part(text)
        self._is_over = True
        if self._tail:
            self._lines.append(self._tail)
            self._tail = ""


class Plain:
    """Lines of a text file that is read as a whole."""

    def __init__(self, file: Iterable[str]) -> None:
        self._file: Iterator[str] = iter(file)
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether all lines were given out."""
        return self._ended

    def __next__(self) -> str:
        try:
            return next(self._file)
        except StopIteration:
            self._ended = True
            raise


class Lines:
    """Lines of a source, kept and counted until their reader has made rows of them.

    Parameters
    ----------
    source : Source
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._given: list[str] = []  # lines of a row that is not complete
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
                self._given.clear()
                raise
        self._given.append(line)
        return line

    def taken(self) -> tuple[int, str]:
        """The lines given since the last call, which made a row: number, and text."""
        number, text = self._number + 1, "".join(self._given)
        self._number += len(self._given)
        self._given.clear()
        return number, text

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


def is_text(text: str) -> bool:
    """Whether a text has no surrogates, by which bytes that are none are told."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
