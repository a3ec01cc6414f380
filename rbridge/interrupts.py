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

_ACTION = ctypes.c_char * 512  # more than any system's struct sigaction
_SIGINT = int(signal.SIGINT)


def _sigaction() -> Any:
    """Return the C function, or None where there is none."""
    if os.name != "posix":
        return None
    function = ctypes.CDLL(None).sigaction
    function.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p
    return function


_set_action = _sigaction()


class Interruptible:
    """While this context is active, SIGINT raises KeyboardInterrupt, once.

    A signal that comes too late for this is sent to R again. The context has no effect
    outside the main thread, and on systems without sigaction.
    """

    __slots__ = ("_acts", "_armed", "_late", "_of_python", "_of_r")

    def __init__(self) -> None:
        self._armed = self._late = False
        self._of_python: Any = None
        main = threading.current_thread() is threading.main_thread()
        self._acts = main and _set_action is not None
        self._of_r = _ACTION() if self._acts else None

    def __enter__(self) -> Self:
        if self._acts:
            _set_action(_SIGINT, None, self._of_r)
            self._of_python = signal.signal(_SIGINT, self._take)
            self._armed = True
        return self

    def __exit__(self, *_: object) -> None:
        self._armed = False
        if self._acts:
            signal.signal(_SIGINT, self._of_python or signal.default_int_handler)
            _set_action(_SIGINT, self._of_r, None)
        if self._late:
            os.kill(os.getpid(), _SIGINT)

    def _take(self, *_: object) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt
        self._late = True
