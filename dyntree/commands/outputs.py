"""Outputs that are written row by row, and cut back when a stream is resumed."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

from dyntree.storage.atomic_files import (
    beginning,
    descriptor_of,
    is_replaceable,
    through,
)
from dyntree.storage.one_writer import sole_appender, sole_writer

STANDARD_OUTPUT = "standard output"
BLOCK = 4096  # bytes at the end of an output by which it is recognised
Place = Callable[[], None]


class Output:
    """A file, a pipe or standard output that takes the lines of a stream.

    Parameters
    ----------
    file : binary file
    name : str
        What errors call it.
    path : str, optional
        Of a file that this stream alone writes; it can be set once the file is there.
    """

    def __init__(self, file: BinaryIO, name: str, path: str | None = None) -> None:
        self._file, self.name, self.path = file, name, path
        self._n_bytes = self._length() or 0
        self._has_moved = False

    @property
    def is_regular(self) -> bool:
        """Whether it is a file that can be cut."""
        return self._length() is not None

    def write(self, data: bytes) -> None:
        """Write to the end; whoever reads the output meanwhile can see it."""
        with written(self.name):
            self._file.write(data)
            self._file.flush()
        self._n_bytes += len(data)

    def settle(self) -> dict[str, Any]:
        """Have all on disk, and return what `resume` needs of it.

        Returns
        -------
        dict
            "bytes", the length of a regular file, and "end", a hash of its last block;
            both None of a pipe or a terminal.

        Raises
        ------
        ValueError
            If another program has written to the file or has cut it.
        """
        with written(self.name):
            self._file.flush()
            n_bytes = self._length()
            if n_bytes is None:
                return {"bytes": None, "end": None}
            os.fsync(self._file.fileno())
            if self.path is not None:
                self._check_ours(self.path, n_bytes)
            return {"bytes": n_bytes, "end": self._end(n_bytes)}

    def resume(self, n_bytes: int | None, end: str | None) -> None:
        """Cut a regular file back to a length, if it is the file that `settle` saw.

        Raises
        ------
        ValueError
            If it is shorter, or ends otherwise there.
        """
        length = self._length()
        if length is None or n_bytes is None:
            return
        if length < n_bytes:
            raise ValueError(
                f"--resume needs the output of the first call, with {n_bytes} bytes at "
                f"least; {self.name} has {length}. Append to it (>> in a shell)."
            )
        if end is not None and self._end(n_bytes) not in (None, end):
            raise ValueError(
                f"--resume needs the output of the first call; {self.name} has other "
                f"bytes before its byte {n_bytes}, where the checkpoint was written. "
                "Restore that output, or start again with another --checkpoint."
            )
        with written(self.name):
            os.ftruncate(self._file.fileno(), n_bytes)
            self._file.seek(n_bytes)
        self._n_bytes = n_bytes

    def _length(self) -> int | None:
        """Bytes in a regular file; None of anything else."""
        try:
            found = os.fstat(self._file.fileno())
        except OSError:  # no file of the system's
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def _end(self, n_bytes: int) -> str | None:
        """A hash of the last block of so many bytes; None where nobody may read it."""
        number, start = self._file.fileno(), max(0, n_bytes - BLOCK)
        try:
            block = os.pread(number, n_bytes - start, start)
        except OSError:  # standard output, which a shell opens to write only
            try:
                with open(f"/dev/fd/{number}", "rb") as again:
                    again.seek(start)
                    block = again.read(n_bytes - start)
            except OSError:
                return None
        return hashlib.sha256(block).hexdigest()[:16]

    def _check_ours(self, path: str, n_bytes: int) -> None:
        """Refuse a file that others have written to; warn once of one that moved."""
        if n_bytes != self._n_bytes:
            raise ValueError(
                f"{path} must be written by this stream alone; it has {n_bytes} bytes, "
                f"and the stream has written {self._n_bytes}. Give other programs "
                "another file."
            )
        try:
            is_there = os.path.samestat(os.fstat(self._file.fileno()), os.stat(path))
        except OSError:
            is_there = False
        if not is_there and not self._has_moved:
            self._has_moved = True
            warnings.warn(
                f"{path} was moved, removed or replaced. The rows go on to the file "
                "that had this name, which --resume will need.",
                stacklevel=2,
            )


@contextmanager
def output(
    path: str | None,
    resumed: bool,
    before: tuple[int | None, str | None],
    is_saved: bool,
) -> Iterator[tuple[Output, Place]]:
    """An output, and what puts a new file where it belongs, once the first row is good.

    No other stream can have the same file meanwhile.

    Parameters
    ----------
    path : str or None
        Of a file; "-" or None for standard output.
    resumed : bool
        Whether it goes on from a checkpoint.
    before : tuple
        Its length and its end then, as of `Output.settle`.
    is_saved : bool
        Whether there are checkpoints, which hold its length.
    """
    number = 1 if path is None or path == "-" else descriptor_of(path)
    with written(path), ExitStack() as stack:
        if number is not None or path is None:
            name = STANDARD_OUTPUT if number == 1 else str(path)
            file: Any = sys.stdout.buffer
            if number != 1:
                file = stack.enter_context(through(str(path)))
            out, place = Output(file, name), _nothing
            if is_saved and out.is_regular:
                _lock(file.fileno(), name, stack)
        elif not is_replaceable(path):
            out, place = Output(stack.enter_context(through(path)), path), _nothing
        else:
            stack.enter_context(sole_writer(path))
            if resumed and before[0] and not os.path.exists(path):
                raise ValueError(
                    "--resume needs the output of the first call, with "
                    f"{before[0]} bytes at least; there is no {path}."
                )
            out, place = _of_file(path, resumed, stack)
        if resumed:
            out.resume(*before)
        yield out, place


def has_content(path: str) -> bool:
    """Whether there is a regular file that holds something."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _lock(number: int, name: str, stack: ExitStack) -> None:
    """Lock an open file: by its path, as outputs that are named are, if it has one."""
    path = os.path.realpath(f"/dev/fd/{number}")
    try:
        if os.path.samestat(os.stat(path), os.fstat(number)):
            stack.enter_context(sole_writer(path))
            return
    except OSError:  # it has none, or nobody may write beside it
        pass
    stack.enter_context(sole_appender(number, name))


def _of_file(path: str, resumed: bool, stack: ExitStack) -> tuple[Output, Place]:
    """A file that is continued, or a new one."""
    if resumed:
        old = stack.enter_context(_continued(path))
        return Output(old, path, path), _nothing
    file, put = stack.enter_context(beginning(path))
    out = Output(file, path)

    def place() -> None:
        put()
        out.path = path

    return out, place


def _continued(path: str) -> BinaryIO:
    """A file that takes what is written at its end."""
    return open(path, "a+b")


@contextmanager
def written(path: str | None) -> Iterator[None]:
    """Context in which a file is written: errors that name no other file name it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        name = STANDARD_OUTPUT if path in (None, "-") else path
        reason = f"cannot be written: {error.strerror}"
        raise OSError(error.errno, reason, name) from error


def _nothing() -> None:
    """Leave an output where it is."""
