"""Ctrl-C while this Python waits for R: R goes back to its prompt, its clouds stay.

Python answers a signal between two steps of its own, and while R works there are none.
A thread waits for the byte that C's signal handler writes at once, and ends the call.
When R has returned, the signal is KeyboardInterrupt in Python.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_STOP = b"\0"  # no signal has this number


class CtrlC:
    """While this context is active, SIGINT only calls `tell` in a thread.

    It has no effect outside the main thread, because other threads get no signals.

    Parameters
    ----------
    tell : callable
        Called with the number of signals so far.

    Attributes
    ----------
    n_signals : int
        Number of signals so far.
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self.n_signals, self._noted = tell, 0, 0
        main = threading.current_thread() is threading.main_thread()
        self._acts = main and signal.getsignal(signal.SIGINT) is not None
        self._before: Any = None

    def __enter__(self) -> Self:
        if not self._acts:
            return self
        self._before = signal.signal(signal.SIGINT, self._note)
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        self._woken = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        if self._noted:  # before the thread was there
            os.write(self._write, bytes([signal.SIGINT]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._acts:
            return
        signal.set_wakeup_fd(self._woken)
        os.write(self._write, _STOP)
        self._thread.join()
        os.close(self._read)
        os.close(self._write)
        signal.signal(signal.SIGINT, self._before)  # last: a later signal may raise
        self.n_signals = max(self.n_signals, self._noted)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Leave the signal to the thread; know of those that come too late for it."""
        self._noted += 1

    def _listen(self) -> None:
        """Pass each SIGINT on to R."""
        while (found := os.read(self._read, 1)) != _STOP:
            if found[0] == signal.SIGINT:
                self.n_signals += 1
                self._tell(self.n_signals)
