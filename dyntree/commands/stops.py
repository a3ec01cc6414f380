"""Polite stops of a stream: what was read is taken, then the command ends.

SIGTERM, SIGHUP and Ctrl-C let the row under way be finished, and all that a pipe has
already given, which nobody could read again. A second signal ends the process at once.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import stat
import threading
from collections import deque
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self, TextIO

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # those that the system has
CHUNK = 1 << 16  # bytes
END = re.compile(r"\r\n|\n|\r(?!\Z)")  # of a line; \r at the end may be half of one


class Stopped(Exception):
    """The input was left because a signal came."""


class Stops:
    """Context in which the signals of a polite stop are noted, not obeyed.

    Attributes
    ----------
    came : int or None
        The signal that came.
    """

    def __init__(self) -> None:
        self.came: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self  # handlers belong to the main thread
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._woken = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # what is ignored stays so, as under nohup
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Remember the first signal; obey the second."""
        if self.came is None:
            self.came = number
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    def wait(self, file: Any) -> None:
        """Wait until there is something to read, or raise `Stopped`."""
        if self._before and os.name != "nt":
            select.select([file, self._read], [], [])
        if self.came is not None:
            raise Stopped


class Lines:
    """Lines of a text, as iterating over the file gives them, until a signal comes.

    Parameters
    ----------
    file : text file
        Opened in UTF-8 without translation of newlines, and not read yet.
    stops : Stops
    before : str, default ""
        What of the first line came earlier.

    Raises
    ------
    Stopped
        After a signal, in place of the next line: of a file at once, of anything else
        once all whole lines that were read are given out.

    Notes
    -----
    Whoever reads calls `taken` after each row, which may have several lines.
    """

    def __init__(self, file: TextIO, stops: Stops, before: str = "") -> None:
        self._file, self._bytes = file, file.buffer  # who drops the text closes both
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._stops, self._tail = stops, before
        self._lines: deque[str] = deque()
        self._given: list[str] = []  # lines of a row that is not complete
        self._ended = False
        self._is_file = is_file(self._bytes)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._is_file and self._stops.came is not None:
            raise Stopped
        while not self._lines:
            if self._ended:
                raise StopIteration
            self._read()
        line = self._lines.popleft()
        self._given.append(line)
        return line

    def taken(self) -> None:
        """Know that the lines given so far made a whole row."""
        self._given.clear()

    @property
    def unfinished(self) -> str:
        """What was read of a row that is not complete."""
        return "".join([*self._given, *self._lines]) + self._tail

    def _read(self) -> None:
        """Read on, to the end of a line or of the input."""
        if not self._is_file:
            self._stops.wait(self._bytes)
        chunk: bytes = self._bytes.read1(CHUNK)  # type: ignore[attr-defined]
        text = self._tail + self._decoder.decode(chunk, final=not chunk)
        self._ended = not chunk
        start = 0
        for found in END.finditer(text):
            self._lines.append(text[start : found.end()])
            start = found.end()
        self._tail = text[start:]
        if self._ended and self._tail:
            self._lines.append(self._tail)
            self._tail = ""


def is_file(file: Any) -> bool:
    """Whether it is a file on disk, packed or not, which can be read again."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
