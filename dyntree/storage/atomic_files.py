"""Files that are replaced whole or not at all, and outputs that cannot be replaced."""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dyntree.runtime.parallel import late_interrupts
from dyntree.storage.one_writer import cause_of, sole_writer

PART = ".dyntree-part"  # how the names of unfinished files end
STALE = 3600.0  # seconds after which nobody writes an unfinished file any more
DATABASE = b"SQLite format 3\0"  # what files of SQLite begin with
PRIVATE = 0o600  # mode of new files that only their owner may read
DESCRIPTORS = re.compile(r"/proc/(\d+)(/task/\d+)?/fd|/dev/fd")
KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip


@contextmanager
def replacing(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when the block ends.

    Until then, and after any error, `path` is what it was; whoever reads it, even after
    a power cut, finds the old content or the new one. A process that is killed may
    leave an unfinished hidden file ``.NAME.XXXX.dyntree-part`` behind, which the first
    one to write `path` an hour later removes (`sweep`).

    Parameters
    ----------
    path : str or path
        The folder must exist. A link is followed. A file that is replaced passes its
        owner and its mode on.
    mode : int, default 0o666
        Mode of a new file, less the process's mask.

    Raises
    ------
    OSError
        If the file cannot be written; it says that the old one is still there. A
        device, a named pipe or a socket is refused, as nothing can take its place, and
        a database, which may be open.
    """
    target = Path(os.path.realpath(path))
    try:
        check_replaceable(path)
        check_no_database(path)
        with _part_of(target, mode) as (part, file):
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, target)
        _sync_folder(target.parent)
        with suppress(OSError):
            sweep(target, STALE)
    except OSError as error:
        if error.filename == str(path):
            raise
        unchanged = "; the file that was there is as it was" if target.is_file() else ""
        reason = f"cannot be written: {cause_of(error, path)}{unchanged}"
        raise OSError(error.errno, reason, str(path)) from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an output: a file as by `replacing`, and anything else to write through it.

    A device, a named pipe, a socket, or an open file of this process such as
    ``/dev/stdout`` takes the bytes as they are written. A file that another command
    writes meanwhile is refused.

    Parameters
    ----------
    path : str or path
    """
    if is_replaceable(path):
        with sole_writer(path), replacing(path) as file:
            yield file
        return
    try:
        with through(path) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"cannot be written: {cause_of(error, path)}"
        raise OSError(error.errno, reason, str(path)) from error


@contextmanager
def beginning(
    path: str | os.PathLike[str],
) -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """Open a file that takes the place of `path` once the second value is called.

    For what is written bit by bit and read meanwhile. Until that call `path` is what it
    was; if the block ends without it, nothing has changed. What is written goes to the
    end of the file.

    Parameters
    ----------
    path : str or path
        As of `replacing`.
    """
    target = Path(os.path.realpath(path))
    try:
        check_replaceable(path)
        check_no_database(path)
        with _part_of(target, 0o666, os.O_APPEND) as (part, file):
            yield file, lambda: os.replace(part, target)
    except OSError as error:
        if PART not in str(error.filename):
            raise
        raise OSError(error.errno, cause_of(error, path), str(path)) from error


@contextmanager
def through(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open what is no regular file, or is an open one of this process, to write to it.

    Parameters
    ----------
    path : str or path
    """
    number = descriptor_of(path)
    if number is not None:
        with os.fdopen(os.dup(number), "wb") as file:
            yield file
    elif stat.S_ISSOCK(os.stat(path).st_mode):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(os.fspath(path))
            with peer.makefile("wb") as file:
                yield file
    else:
        with open(path, "wb") as file:
            yield file


def is_replaceable(path: str | os.PathLike[str]) -> bool:
    """Whether a new file can take the place of a path: of a file, or of nothing yet."""
    return descriptor_of(path) is None and kind_of_file(path) in ("", "a folder")


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise OSError where no file can take the place of a path."""
    kind = kind_of_file(path)
    if descriptor_of(path) is not None:
        kind = "an open file of this process"
    if kind:
        reason = (
            "cannot be written: it must be a file, or a free name, because a new file "
            f"takes its place; it is {kind}"
        )
        number = errno.EISDIR if kind == "a folder" else errno.EINVAL
        raise OSError(number, reason, str(path))


def check_no_database(path: str | os.PathLike[str]) -> None:
    """Raise OSError where a file would take the place of a database."""
    if is_database(path):
        reason = (
            "cannot be written: it is a database, such as the store of a KeyedStream, "
            "which no other file may replace. Choose another name, or remove it first"
        )
        raise OSError(errno.EEXIST, reason, str(path))


def is_database(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file of SQLite, such as a store, of this name.

    One with a log beside it is open somewhere, or was not closed. It is not looked
    into: who closes a descriptor of a file gives up all locks that this process has on
    it, and so those of SQLite.
    """
    path = os.path.realpath(path)
    for beside in ("-wal", "-shm"):
        if path.endswith(beside) and is_database(path.removesuffix(beside)):
            return True  # the log of one
    if not os.path.isfile(path):
        return False
    if os.path.exists(f"{path}-wal"):
        return True
    with open(path, "rb") as file:
        return file.read(len(DATABASE)) == DATABASE


def kind_of_file(path: str | os.PathLike[str]) -> str:
    """What a path leads to, in words: "" for a regular file, or nothing.

    Examples
    --------
    >>> kind_of_file("."), kind_of_file("no such file")
    ('a folder', '')
    """
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return KINDS.get(stat.S_IFMT(found.st_mode), "")


def descriptor_of(path: str | os.PathLike[str]) -> int | None:
    """The number of an open file of this process that a path leads to, or None.

    ``/dev/stdout``, ``/dev/fd/3`` and a shell's ``>(...)`` are such paths.

    Examples
    --------
    >>> descriptor_of("/dev/fd/2"), descriptor_of("2")
    (2, None)
    """
    path = os.path.abspath(path)
    for _ in range(40):  # links, as many as the system follows
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        place = DESCRIPTORS.fullmatch(folder)
        if place is not None and name.isdecimal():
            is_own = place[1] in (None, str(os.getpid()))
            return int(name) if is_own else None
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def sweep(path: str | os.PathLike[str], age: float = 0.0) -> None:
    """Remove what killed writers of `path` have left unfinished beside it.

    Parameters
    ----------
    path : str or path
    age : float, default 0.0
        Seconds since the last writing; what is younger may still be written.
    """
    target = Path(os.path.realpath(path))
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}{re.escape(PART)}")
    for part in target.parent.iterdir():
        if name.fullmatch(part.name):
            with suppress(FileNotFoundError):
                if time.time() - part.stat().st_mtime >= age:
                    part.unlink()


@contextmanager
def _part_of(
    target: Path, mode: int, flags: int = 0
) -> Iterator[tuple[Path, BinaryIO]]:
    """An unfinished file beside its target, removed at the end if it is still there."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        before = target.stat()
    except OSError:
        before = None
    # nobody else reads it before it has the mode of the file that it replaces
    first = mode if before is None else PRIVATE
    flags |= os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with late_interrupts():  # nobody would close it
            file = os.fdopen(os.open(part, flags, first), "w+b")
        with file:
            if before is not None:
                _pass_on(target, before, file.fileno())
            yield part, file
    finally:
        with suppress(OSError):
            part.unlink()


def _pass_on(target: Path, before: os.stat_result, number: int) -> None:
    """Give an open file the owner, the mode and the access list of the one before."""
    mode = stat.S_IMODE(before.st_mode)
    if hasattr(os, "fchown"):
        try:
            os.fchown(number, before.st_uid, before.st_gid)
        except OSError:  # only root gives files away
            try:
                os.fchown(number, -1, before.st_gid)
            except OSError:
                mode &= ~0o070  # what one group may do, another may not
    if hasattr(os, "fchmod"):
        os.fchmod(number, mode)
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # a disk without such attributes
            for name in os.listxattr(target):
                os.setxattr(number, name, os.getxattr(target, name))


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
