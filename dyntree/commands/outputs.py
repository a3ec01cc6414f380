"""Outputs that are written row by row, and cut back when a stream is resumed."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from dyntree.storage.atomic_files import beginning

Place = Callable[[], None]


@contextmanager
def output(
    path: str | None, resumed: bool, n_bytes: int | None
) -> Iterator[tuple[BinaryIO, Place]]:
    """An output, and what puts a new file where it belongs, once the first row is good.

    Parameters
    ----------
    path : str or None
        Of a file; "-" or None for standard output.
    resumed : bool
        Whether it goes on from a checkpoint.
    n_bytes : int or None
        Its length then, to which it is cut back; None for a pipe.
    """
    with written(path), _output(path, resumed, n_bytes) as opened:
        yield opened


@contextmanager
def _output(
    path: str | None, resumed: bool, n_bytes: int | None
) -> Iterator[tuple[BinaryIO, Place]]:
    """The same; errors do not name it."""
    if path is None or path == "-":
        if resumed:
            _cut(sys.stdout.buffer, n_bytes, "standard output")
        yield sys.stdout.buffer, _nothing
        return
    is_special = os.path.exists(path) and not os.path.isfile(path)
    if not resumed and not is_special:
        with beginning(path) as (file, place):
            yield file, place
        return
    with open(path, "ab" if resumed else "wb") as file:
        if resumed:
            _cut(file, n_bytes, path)
        yield file, _nothing


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
        name = "standard output" if path in (None, "-") else path
        reason = f"cannot be written: {error.strerror}"
        raise OSError(error.errno, reason, name) from error


def settled_length(file: BinaryIO) -> int | None:
    """Bytes in a regular file, which are on disk now; None for a pipe or a terminal."""
    file.flush()
    length = _length(file)
    if length is not None:
        os.fsync(file.fileno())
    return length


def _nothing() -> None:
    """Leave an output where it is."""


def _length(file: BinaryIO) -> int | None:
    found = os.fstat(file.fileno())
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _cut(file: BinaryIO, n_bytes: int | None, name: str) -> None:
    """Cut a regular file back to a length."""
    length = _length(file)
    if length is None or n_bytes is None:
        return
    if length < n_bytes:
        raise ValueError(
            f"--resume needs the output of the first call, with {n_bytes} bytes at "
            f"least; {name} has {length}. Append to it (>> in a shell)."
        )
    os.ftruncate(file.fileno(), n_bytes)
    file.seek(n_bytes)
