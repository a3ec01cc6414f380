"""What commands say on standard error, and standard streams that are closed or full."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

from dyntree.errors import shown

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
        if _is_open(number):
            continue
        # of this number, the least that is free, unless another file has it by now
        file = io.FileIO(os.open(os.devnull, flags), mode, closefd=False)
        buffered: Any = io.BufferedReader if mode == "r" else io.BufferedWriter
        text = io.TextIOWrapper(buffered(file), errors="backslashreplace")
        setattr(sys, name, text)


def _is_open(number: int) -> bool:
    """Whether a standard stream is open: a file that was there when Python began.

    What Python or a library has opened since closes when another program begins.
    """
    try:
        os.fstat(number)
    except OSError:
        return False
    return os.name != "posix" or os.get_inheritable(number)


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
    for file in sys.stdout, sys.stderr:
        try:
            file.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, file.fileno())
            os.close(null)
        except ValueError:  # closed
            pass
