"""A file of SQLite with the states of keys, and of the model beside them.

One process writes it. Others may read it meanwhile: they see all of it as it was at one
commit, the last one before they opened it.

A process that is forked can use no file that was open at the fork: SQLite holds locks
by processes, and would take those of the parent for its own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from dyntree.checkpoint.models import FORMAT, VERSION
from dyntree.errors import CheckpointError, Message, shown
from dyntree.runtime.parallel import late_interrupts
from dyntree.storage.atomic_files import PRIVATE
from dyntree.storage.one_writer import sole_writer

TABLES = (
    "create table if not exists keys (key text primary key, blob blob not null) "
    "without rowid",
    "create table if not exists facts (name text primary key, blob blob not null) "
    "without rowid",
)
MARK = f"{FORMAT} keys {VERSION}".encode("ascii")
open_files: WeakValueDictionary[int, KeyFile] = WeakValueDictionary()  # by their ids
inherited: set[tuple[int, int]] = set()  # devices and inodes, open at a fork


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise OSError where there is no file, or none that may be read."""
    os.stat(path)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def stamp(path: str) -> tuple[int, ...]:
    """What changes when a file is written."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


class KeyFile(MutableMapping[str, bytes]):
    """Blobs of keys by their texts, in a file that one process writes.

    What was set since the last `commit` is in the file with it, or not at all. After an
    error of the file nothing more can be done with this object; the file is then as at
    the last commit.

    Parameters
    ----------
    path : str or path
        A file that is made where there is none.
    read_only : bool, default False
        Whether it is only read, and must be there; another process may write it.

    Raises
    ------
    CheckpointError
        If there is another file of that name.
    ValueError
        If another process writes it.
    RuntimeError
        If it was open when this process was forked.
    """

    def __init__(self, path: str | os.PathLike[str], read_only: bool = False) -> None:
        self.path, self.read_only = os.path.abspath(path), read_only
        self.is_closed, self._is_forked, self._stack = False, False, ExitStack()
        self._stamp: tuple[int, ...] = ()  # of a file that is read as it stands
        if os.path.exists(self.path) and self._place() in inherited:
            raise forked(self.path)
        try:
            with late_interrupts():  # nobody would close what is open by then
                if not read_only:
                    self._stack.enter_context(sole_writer(self.path))
                self._open()
            self._n = self._one("select count(*) from keys")[0]  # of many keys, long
        except BaseException:
            self.close()
            raise

    def _place(self) -> tuple[int, int]:
        """Device and inode of the file."""
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def _open(self) -> None:
        """Connect, and make the tables of a new file."""
        # Only a file that is not there yet is opened beside SQLite: who closes a
        # descriptor gives up all locks of the process on that file, and another one
        # would take the log away from under a writer.
        if not self.read_only and not os.path.exists(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(self.path, flags, PRIVATE))
        check_readable(self.path)
        # who may write takes the log of the file away with the last connection
        mode = "mode=rw" if os.access(self.path, os.W_OK) else "mode=ro"
        if self.read_only and self._stands_still():
            mode, self._stamp = "immutable=1", stamp(self.path)
        try:
            self._base = sqlite3.connect(
                f"{Path(self.path).as_uri()}?{mode}", uri=True,
                isolation_level=None, check_same_thread=False,
            )  # fmt: skip
            self._stack.callback(self._base.close)
            self._at_open = self._place()
            open_files[id(self)] = self
            if self.read_only:
                self._base.execute("pragma query_only = on")
                self._base.execute("begin")  # the first look settles what it sees
                self._check_ours()
                return
            self._check_ours()
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = full")
            self._base.execute("begin immediate")
            for table in TABLES:
                self._base.execute(table)
        except sqlite3.DatabaseError as error:
            raise self._not_ours(error) from error
        self.set_fact("format", MARK)
        self.commit()

    def _stands_still(self) -> bool:
        """Whether nobody has it open, in a folder where this process cannot write.

        SQLite needs files beside it then, which it cannot make; it is read without any.
        """
        log, index = Path(f"{self.path}-wal"), Path(f"{self.path}-shm")
        for beside in (log, index):
            with suppress(FileNotFoundError):
                check_readable(beside)
        if index.exists() or os.access(os.path.dirname(self.path), os.W_OK):
            return False
        if log.exists() and log.stat().st_size:
            raise PermissionError(
                errno.EACCES,
                f"cannot be read: its last commits are in {shown(str(log))}, and "
                "SQLite has to write in the folder to read them. Open it once, and "
                "close it, where the folder can be written",
                self.path,
            )
        return True

    def _check_ours(self) -> None:
        """Raise CheckpointError for a database of somebody else, before it changes."""
        tables = self._base.execute(
            "select name from sqlite_master where type = 'table'"
        )
        if {name for (name,) in tables} in (set(), {"keys", "facts"}):
            if not self._base.execute("select 1 from sqlite_master").fetchone():
                if self.read_only:
                    raise self._not_ours("it is empty")
                return
            if self.fact("format") == MARK:
                return
        raise self._not_ours("it has other tables, or another format")

    def _not_ours(self, reason: object) -> CheckpointError:
        """Error for a file that is no store."""
        name = shown(self.path)
        return CheckpointError(
            Message("{name} cannot be opened: {reason}", name=name, reason=reason)
        )

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Turn an error of the file into an OSError, after which it is closed."""
        self.check_usable()
        try:
            yield
            if self._stamp and self._stamp != stamp(self.path):
                self.close()
                raise OSError(
                    f"{shown(self.path)} was written by another process meanwhile, and "
                    "its folder cannot be written by this one; open it again to go on."
                )
        except sqlite3.Error as error:
            self.close()
            raise OSError(
                f"{shown(self.path)} cannot be read or written: {error}. It is as it "
                "was after the last call that returned; open it again to go on."
            ) from error

    def _run(self, statement: str, *values: Any) -> Any:
        with self._whole():
            return self._base.execute(statement, values)

    def _one(self, statement: str, *values: Any) -> Any:
        with self._whole():
            return self._base.execute(statement, values).fetchone()

    def check_usable(self) -> None:
        """Raise an error if it was closed, or open when this process was forked."""
        if self._is_forked:
            raise forked(self.path)
        if self.is_closed:
            raise OSError(f"{shown(self.path)} was closed; open it again to go on.")

    def leave(self) -> None:
        """Leave the file to the process that this one was forked from.

        SQLite must not even close it here, so it stays open until the process ends.
        """
        self._is_forked = self.is_closed = True
        inherited.add(self._at_open)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._base))

    def close(self) -> None:
        """Close the file and let others write it; what was not committed is lost."""
        with late_interrupts():
            self.is_closed = True
            open_files.pop(id(self), None)
            if not self._is_forked:
                self._stack.close()

    def commit(self) -> None:
        """Have all changes on disk."""
        if self._base.in_transaction:
            self._run("commit")

    def _change(self, statement: str, *values: Any) -> None:
        """Change the file, within a transaction that the first change begins."""
        if not self._base.in_transaction:
            self._run("begin immediate")
        self._run(statement, *values)

    def fact(self, name: str) -> bytes | None:
        """What is stored beside the keys under a name."""
        row = self._one("select blob from facts where name = ?", name)
        return None if row is None else row[0]

    def set_fact(self, name: str, blob: bytes) -> None:
        """Store something beside the keys."""
        self._change("insert or replace into facts values (?, ?)", name, blob)

    # ------------------------------------------------------------ a mapping
    def __getitem__(self, text: str) -> bytes:
        row = self._one("select blob from keys where key = ?", text)
        if row is None:
            raise KeyError(text)
        return bytes(row[0])

    def __setitem__(self, text: str, blob: bytes) -> None:
        self._n += text not in self
        self._change("insert or replace into keys values (?, ?)", text, blob)

    def __delitem__(self, text: str) -> None:
        if text not in self:
            raise KeyError(text)
        self._change("delete from keys where key = ?", text)
        self._n -= 1

    def __contains__(self, text: object) -> bool:
        return self._one("select 1 from keys where key = ?", text) is not None

    def __iter__(self) -> Iterator[str]:
        with self._whole():
            rows = self._base.execute("select key from keys order by key").fetchall()
        return (row[0] for row in rows)

    def __len__(self) -> int:
        return int(self._n)


def forked(path: str) -> RuntimeError:
    """Error for a file that was open when this process was forked."""
    return RuntimeError(
        f"{shown(path)} was open when this process was forked, and only the process "
        "that opened it can use it. Close the model before the fork, or start "
        "processes by the method 'spawn' of multiprocessing; then open it anew in the "
        "child with KeyedStream.from_store(path, read_only=True). Or use a copy() that "
        "was made before the fork, which is in memory."
    )


def begin_child() -> None:
    """Leave all open files to the process that this one was forked from."""
    for file in [*open_files.values()]:
        file.leave()
    open_files.clear()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=begin_child)
