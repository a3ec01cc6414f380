"""Interrupts of an R that hosts this Python.

R answers SIGINT by a jump out of whatever runs, and jumping over Python's frames leaves
them broken (reticulate before 1.37 crashes on it). So Python takes the signal itself
while it works for R, and R's own answer is back in place when it is done.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from typing import Any, Self

_SIZE = 512  # bytes, more than any system's struct sigaction
_LIBC: Any = ctypes.CDLL(None) if os.name == "posix" else None


class Interruptible:
    """While in force, SIGINT raises KeyboardInterrupt, once.

    A signal that comes too late for that is sent again to R. In another thread than the
    main one, and where there is no sigaction, nothing is done.
    """

    def __init__(self) -> None:
        self._armed = self._late = False
        self._of_python: Any = None
        self._of_r = ctypes.create_string_buffer(_SIZE)
        main = threading.current_thread() is threading.main_thread()
        self._libc = _LIBC if main else None

    def __enter__(self) -> Self:
        if self._libc is not None:
            self._libc.sigaction(signal.SIGINT, None, self._of_r)
            self._of_python = signal.signal(signal.SIGINT, self._take)
            self._armed = True
        return self

    def __exit__(self, *_: object) -> None:
        self._armed = False
        if self._libc is not None:
            signal.signal(signal.SIGINT, self._of_python or signal.default_int_handler)
            self._libc.sigaction(signal.SIGINT, self._of_r, None)
        if self._late:
            os.kill(os.getpid(), signal.SIGINT)

    def _take(self, *_: object) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt
        self._late = True
