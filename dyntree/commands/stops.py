"""Polite stops of a stream: what was read is taken, then the command ends.

SIGTERM, SIGHUP and Ctrl-C let the row under way be finished, and all that a pipe has
already given, which nobody could read again. A second signal ends the process at once.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # those that the system has

IDLE = 1.0  # seconds between two calls while nothing comes


class Stopped(Exception):
    """The input was left because of a signal."""


class Stops:
    """Context in which the signals of a polite stop are noted, not obeyed.

    Parameters
    ----------
    idle : callable, optional
        Called about every second while nothing comes.

    Attributes
    ----------
    signal : int or None
        The signal that ended the input.
    """

    def __init__(self, idle: Callable[[], None] | None = None) -> None:
        self._idle = idle
        self.signal: int | None = None
        self._before: dict[int, Any] = {}
        self._read: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self  # handlers belong to the main thread
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
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
        if self._read is None:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken)
        os.close(self._read)
        os.close(self._write)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Remember the first signal; obey the second."""
        if self.signal is None:
            self.signal = number
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    def wait(self, files: Sequence[Any], seconds: float | None = None) -> bool:
        """Wait until there is something to read, or raise `Stopped`.

        Returns whether there is; at most so many seconds are waited, where given.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = IDLE if end is None else max(0.0, end - time.monotonic())
            found = self._look(files, min(left, IDLE))
            if self.signal is not None:
                raise Stopped
            if found or (end is not None and time.monotonic() >= end):
                return found
            if self._idle is not None:
                self._idle()

    def _look(self, files: Sequence[Any], seconds: float) -> bool:
        """Whether there is something to read, or comes within so many seconds."""
        if self._read is None or not hasattr(select, "poll"):
            if not files:
                time.sleep(seconds)
            return bool(files)
        poll = select.poll()
        for file in files:
            poll.register(file, select.POLLIN)
        poll.register(self._read, select.POLLIN)
        ready = {number for number, _ in poll.poll(1000.0 * seconds)}
        if self._read in ready:  # woken by a signal, of which there may be others
            with suppress(BlockingIOError):
                os.read(self._read, 4096)
        return bool(ready - {self._read})
