"""Which files a command reads and writes: none of them may be the same."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from dyntree.storage.atomic_files import (
    check_no_database,
    check_replaceable,
    is_database,
)

READ = {"table": "the table", "saved": "the model", "labels": "--labels"}
WRITTEN = {
    name: f"--{name.replace('_', '-')}"
    for name in ("out", "checkpoint", "html", "csv", "picture", "bad_rows", "status")
}
WORDS = ("stop", "skip")  # of --bad-rows, which are no files
ARCHIVE = b"PK\x03\x04"  # what saved models begin with that are no databases
STANDARD = {"table": (0, "standard input"), "out": (1, "standard output")}


def check_paths(arguments: Mapping[str, Any]) -> None:
    """Raise ValueError where a command would write to what it reads, or twice.

    Nor may a table or a report replace a saved model, or a model or a status anything
    that is no file.

    Files are distinguished by what they are, not by their names: links lead to what
    they point to, and a shell's ``<`` and ``>`` count as the files behind them.

    Parameters
    ----------
    arguments : mapping
        Of a command, by name: those of `READ` and `WRITTEN` are paths, None or "-".
    """
    taken = {file: title for title, file in _files(arguments, READ)}
    for title, file in _files(arguments, WRITTEN):
        if file in taken:
            other = taken[file]
            read = other in READ.values() or other == "standard input"
            raise ValueError(
                f"{title} must be another file than {other}, which the command "
                f"{'reads' if read else 'writes'}, too; got the same by both names. "
                "Give it a name of its own."
            )
        taken[file] = title
    models = (
        {"checkpoint", "out"} if arguments.get("command") == "fit" else {"checkpoint"}
    )
    for name, title in WRITTEN.items():
        path = arguments.get(name)
        if name not in models:
            _check_no_model(title, path)
        if name in models | {"status"} and path not in (None, "-"):
            check_replaceable(path)
        if name == "out" and name in models and path not in (None, "-"):
            check_no_database(path)  # before a long fit


def _check_no_model(title: str, path: Any) -> None:
    """Raise ValueError where a table would be written over a saved model."""
    if not isinstance(path, str) or not os.path.isfile(path):
        return
    is_model = is_database(path)
    if not is_model:
        with open(path, "rb") as stream:
            is_model = stream.read(len(ARCHIVE)) == ARCHIVE
    if is_model:
        raise ValueError(
            f"{title} must not be a saved model, which a table would replace; got "
            f"{path}. Remove it first, or give another name."
        )


def _files(
    arguments: Mapping[str, Any], titles: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """What each path leads to: a device and a number, or a place where nothing is yet.

    Pipes, terminals and devices are left out: what is read there is not lost.
    """
    for name, title in titles.items():
        path = arguments.get(name, "")
        if name in STANDARD and name in arguments and path in (None, "-"):
            number, title = STANDARD[name]
            try:
                found = os.fstat(number)
            except OSError:  # closed
                continue
        elif not isinstance(path, str) or path in ("", "-", *WORDS):
            continue
        else:
            try:
                found = os.stat(path)
            except OSError:
                yield title, os.path.realpath(path)
                continue
        if stat.S_ISREG(found.st_mode):
            yield title, (found.st_dev, found.st_ino)
