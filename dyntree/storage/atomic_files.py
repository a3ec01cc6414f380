"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PART = ".part"  # how the names of unfinished files end
STALE = 3600.0  # seconds after which nobody writes an unfinished file any more


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when the block ends.

    Until then, and after any error, `path` is what it was; whoever reads it, even after
    a power cut, finds the old content or the new one. A process that is killed may
    leave an unfinished hidden file ``.NAME.XXXX.part`` behind, which the first one to
    write `path` an hour later removes (`sweep`).

    Parameters
    ----------
    path : str or path
        The folder must exist. A link is followed.

    Raises
    ------
    OSError
        If the file cannot be written; it says that the old one is still there.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        _sync_folder(target.parent)
        with suppress(OSError):
            sweep(target, STALE)
    except OSError as error:
        kept = "; the file that was there is as it was" if target.is_file() else ""
        reason = f"cannot be written: {error.strerror or error}{kept}"
        raise OSError(error.errno, reason, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


@contextmanager
def beginning(
    path: str | os.PathLike[str],
) -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """Open a file that takes the place of `path` once the second value is called.

    For what is written bit by bit and read meanwhile. Until that call `path` is what it
    was; if the block ends without it, nothing has changed.

    Parameters
    ----------
    path : str or path
        The folder must exist. A link is followed.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        with open(part, "xb") as file:
            yield file, lambda: os.replace(part, target)
    except OSError as error:
        if error.filename != str(part):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


def sweep(path: str | os.PathLike[str], age: float = 0.0) -> None:
    """Remove what killed writers of `path` have left unfinished beside it.

    Parameters
    ----------
    path : str or path
    age : float, default 0.0
        Seconds since the last writing; what is younger may still be written.
    """
    target = Path(os.path.realpath(path))
    for found in target.parent.iterdir():
        if found.name.startswith(f".{target.name}.") and found.suffix == PART:
            with suppress(FileNotFoundError):
                if time.time() - found.stat().st_mtime >= age:
                    found.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
