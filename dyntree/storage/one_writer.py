"""One process at a time writes a file that is replaced again and again."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dyntree.errors import ArgumentError, shown
from dyntree.runtime.parallel import late_interrupts

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MARK = b"dyntree lock of process "  # how the content of a lock file begins
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
open_locks: set[int] = set()  # lock files of this process, open


def lock_of(path: str | os.PathLike[str]) -> Path:
    """The lock file of a path, which stands beside it.

    Examples
    --------
    >>> lock_of("/data/m.dyn").name
    '.m.dyn.dyntree-lock'
    """
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.dyntree-lock")


@contextmanager
def sole_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which no other process can enter it with the same path.

    The system holds the lock on a hidden file beside `path`, ``.NAME.dyntree-lock``,
    with the process's number in it, and lets go of it when the process ends, however it
    does. A file of that name which is none of ours is never changed. Where the system
    has no such locks (Windows, some network disks), anybody may enter.

    Parameters
    ----------
    path : str or path
        Of the file that is written, which need not be there yet. A link is followed.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        If another process is in it, or this one already, or if the name of the lock
        file is taken by something else.
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
    beside, file = lock_of(path), None
    try:
        with late_interrupts():  # nobody would release it before the process ends
            file = None if fcntl is None else _locked(beside, os.fspath(path))
        if file is not None:
            try:
                os.ftruncate(file, 0)
                os.pwrite(file, MARK + str(os.getpid()).encode("ascii"), 0)
            except OSError as error:
                raise _failed(error, beside, path) from error
        yield
    finally:
        if file in open_locks:  # not in a process that was forked meanwhile
            open_locks.remove(file)
            try:
                with suppress(OSError):  # a lock file that stays locks nobody out
                    if _is_there(file, beside):  # and it is nobody else's
                        os.unlink(beside)
            finally:
                os.close(file)


@contextmanager
def sole_appender(file: int, name: str) -> Iterator[None]:
    """Context in which no other open file of the system can enter for the same file.

    For an output whose name nobody knows, such as standard output after ``>>``.

    Parameters
    ----------
    file : int
        Number of an open file.
    name : str
        What errors call it.

    Raises
    ------
    ValueError
        If another process is in it.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(name, "another process") from None
    except OSError:  # none has locks there
        yield
        return
    try:
        yield
    finally:
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)


def _locked(beside: Path, path: str) -> int | None:
    """The lock file, open and locked; None where the system has no such locks."""
    while True:
        file = _opened(beside, path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(file, beside):
                open_locks.add(file)
                return file
        except BlockingIOError:
            number = os.pread(file, 64, 0).removeprefix(MARK).decode("ascii", "replace")
            if number == str(os.getpid()):
                raise _open_here(path) from None
            other = f"another process, number {number or 'unknown'}"
            raise _taken(path, other) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            os.unlink(beside)
            return None
        finally:
            if file not in open_locks:  # or its holder removed it since it was opened
                os.close(file)


def _opened(beside: Path, path: str) -> int:
    """The lock file, open; what has its name and is none is refused."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(beside, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _not_ours(beside, path) from None
        raise _failed(error, beside, path) from error
    start = b""
    is_file = stat.S_ISREG(os.fstat(file).st_mode)
    if is_file:
        start = os.pread(file, len(MARK), 0)
    if not is_file or start not in (b"", MARK):
        os.close(file)
        raise _not_ours(beside, path)
    return file


def cause_of(error: OSError, path: str | os.PathLike[str]) -> str:
    """Why a file cannot be written, in words; a folder that is missing is named."""
    folder = Path(os.path.realpath(path)).parent
    if error.errno == errno.ENOENT and not folder.exists():
        return f"there is no folder {shown(folder)}"
    return error.strerror or str(error)


def _failed(error: OSError, beside: Path, path: str | os.PathLike[str]) -> OSError:
    """Error for a path beside which no lock can be written."""
    lock = f", as its lock {beside} cannot be" if beside.parent.exists() else ""
    reason = f"cannot be written{lock}: {cause_of(error, beside)}"
    return OSError(error.errno, reason, os.fspath(path))


def _not_ours(beside: Path, path: str) -> ValueError:
    return ArgumentError(
        path,
        "cannot be locked: {beside} must be a lock file of dyntree, or a free name; "
        "it is something else",
        remedy="Move it away, or name another file.",
        beside=beside,
    )


def _taken(path: str, who: str) -> ValueError:
    return ArgumentError(
        path,
        "is written by {who}",
        remedy="Wait until it has ended, stop it, or name another file.",
        who=who,
    )


def _open_here(path: str) -> ValueError:
    return ArgumentError(
        path,
        "is written by this process already",
        remedy="Close what writes it (for a KeyedStream, call its close method), or "
        "name another file.",
    )


def _is_there(file: int, beside: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(beside))
    except FileNotFoundError:
        return False


def begin_child() -> None:
    """Leave the locks to the process that this one was forked from."""
    while open_locks:
        os.close(open_locks.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin_child)
