"""What commands say on standard error, and standard streams that are closed or full."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

from dyntree.shown import shown

# what takes the place of a closed stream: a wrong use of it is an error that names it
CLOSED = (
    ("stdin", os.O_WRONLY, "r"),
    ("stdout", os.O_RDONLY, "w"),
    ("stderr", os.O_WRONLY, "w"),
)


def open_closed() -> None:
    """Put something in the place of standard streams that are closed (``2>&-``).

    Files that are opened later would have their numbers otherwise. Messages to a closed
    standard error are lost; reading and writing the others is an error.
    """
    for number, (name, flags, mode) in enumerate(CLOSED):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # which takes the least number that is free
        if getattr(sys, name) is None:
            file = io.FileIO(number, mode, closefd=False)
            buffered: Any = io.BufferedReader if mode == "r" else io.BufferedWriter
            buffer = buffered(file)
            setattr(sys, name, io.TextIOWrapper(buffer, errors="backslashreplace"))


def say(text: str, start: str = "", end: str = "\n") -> None:
    """Write a line to standard error; it is lost where that takes none.

    Parameters
    ----------
    text : str
        Shown on one line, control characters as escapes.
    start, end : str
        What stands before and after it, as it is.
    """
    with suppress(OSError, ValueError):  # full, or closed meanwhile
        print(f"{start}dyntree: {shown(text)}", end=end, file=sys.stderr, flush=True)


def forget_unwritten() -> None:
    """Drop what standard output and error could not take, as nobody can have it.

    Python would try again when it ends, and exit with a code of its own.
    """
    for file, number in (sys.stdout, 1), (sys.stderr, 2):
        try:
            file.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, number)
            os.close(null)
        except ValueError:  # closed
            pass
