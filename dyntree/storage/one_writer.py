"""One process at a time writes a file that is replaced again and again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".lock"


@contextmanager
def sole_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which no other process can enter it with the same path.

    The system holds the lock, on a file beside `path` with the process's number in it,
    and lets go of it when the process ends, however it does. Where the system has no
    such locks (Windows), anybody may enter.

    Raises
    ------
    ValueError
        If another process is in it.
    OSError
        If there can be no file beside `path`.
    """
    if fcntl is None:
        yield
        return
    beside = f"{os.fspath(path)}{SUFFIX}"
    file = _locked(beside, os.fspath(path))
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode("ascii"))
        yield
    finally:
        os.unlink(beside)
        os.close(file)


def _locked(beside: str, path: str) -> int:
    """The lock file, open and held."""
    while True:
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(file, 32).decode("ascii", "replace") or "unknown"
            os.close(file)
            raise ValueError(
                f"{path} is written by another process, number {pid}. Wait until it "
                "has ended, stop it, or name another file."
            ) from None
        if _is_there(file, beside):
            return file
        os.close(file)  # who held it has removed it since it was opened


def _is_there(file: int, beside: str) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(beside))
    except FileNotFoundError:
        return False
