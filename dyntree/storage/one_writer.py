"""One process at a time writes a file that is replaced again and again."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".lock"
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
held: set[int] = set()  # lock files of this process, open


@contextmanager
def sole_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which no other process can enter it with the same path.

    The system holds the lock, on a file beside `path` with the process's number in it,
    and lets go of it when the process ends, however it does. Where the system has no
    such locks (Windows, some network disks), anybody may enter.

    Parameters
    ----------
    path : str or path
        Of the file that is written, which need not be there yet. A link is followed.

    Raises
    ------
    ValueError
        If another process is in it, or this one already.
    OSError
        If there can be no file beside `path`.

    Examples
    --------
    >>> import tempfile, dyntree
    >>> from dyntree.checkpoint import sole_writer
    >>> model = dyntree.StreamingTree(window=50, n_particles=50, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with sole_writer(f"{folder}/m.dyn"):
    ...         dyntree.save(model.update([[0.5]], [1.0]), f"{folder}/m.dyn")
    """
    beside = f"{os.path.realpath(path)}{SUFFIX}"
    file = None if fcntl is None else _locked(beside, os.fspath(path))
    if file is None:
        yield
        return
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode("ascii"))
        yield
    finally:
        if file in held:  # not in a process that was forked meanwhile
            held.remove(file)
            with suppress(OSError):  # a lock file that stays locks nobody out
                if _is_there(file, beside):  # and it is nobody else's
                    os.unlink(beside)
            os.close(file)


def _locked(beside: str, path: str) -> int | None:
    """The lock file, open and held; None where the system has no such locks."""
    while True:
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(file, beside):
                held.add(file)
                return file
        except BlockingIOError:
            number = os.read(file, 32).decode("ascii", "replace") or "unknown"
            own = number == str(os.getpid())
            who = "this process already" if own else f"another process, number {number}"
            raise ValueError(
                f"{path} is written by {who}. Wait until it has ended, stop it, or "
                "name another file."
            ) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            os.unlink(beside)
            return None
        finally:
            if file not in held:  # or who held it has removed it since it was opened
                os.close(file)


def _is_there(file: int, beside: str) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(beside))
    except FileNotFoundError:
        return False


def begin_child() -> None:
    """Leave the locks to the process that this one was forked from."""
    while held:
        os.close(held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin_child)
