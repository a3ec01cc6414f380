"""A disk that is full: saves and streams fail by name and leave what was there.

Run ``python -m tests.heavy.full_disk`` as root, who may mount a small tmpfs; the last
result is stored beside this file in full_disk.txt. Met: a save that finds too little
room raises an OSError, the old file stays byte for byte, and no part of the new one is
left; a stream ends with exit code 1 and a line, and goes on, once there is room, to
the bytes of an undisturbed run.
"""

from __future__ import annotations

import errno
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dyntree
from dyntree import checkpoint
from tests.kills import command, finish, models, start, write_rows

PAGE = 4096


@contextmanager
def small_disk(n_pages: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        size = f"size={n_pages * PAGE}"
        mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder]
        subprocess.run(mount, check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def refusal(model: dyntree.DynamicTree, path: Path) -> OSError | None:
    """Save a model; the error that came, if any."""
    try:
        dyntree.save(model, path)
    except OSError as error:
        return error
    return None


def saves() -> int:
    """Save with less and less room, page by page; returns how many saves failed."""
    small, large = models()
    need, failed = -(-len(checkpoint.dumps(large)) // PAGE), 0
    for room in range(need + 4):
        with small_disk(4 * need) as disk:
            path, filler = disk / "m.dyn", disk / "filler"
            dyntree.save(small, path)
            old = path.read_bytes()
            free = 4 * need - -(-len(old) // PAGE) - room
            filler.write_bytes(bytes(free * PAGE))
            told = refusal(large, path)
            if told is None:
                assert path.read_bytes() == checkpoint.dumps(large)
            else:
                failed += 1
                assert told.errno == errno.ENOSPC
                assert "the file that was there is as it was" in str(told)
                assert path.read_bytes() == old
            assert {*disk.iterdir()} == {path, filler}
    return failed


def streams() -> int:
    """Stream onto a disk that fills up, make room, resume; returns how many failed."""
    failed = 0
    for n_pages in range(12, 60, 6):
        with small_disk(n_pages) as disk, tempfile.TemporaryDirectory() as folder:
            calm = Path(folder)
            for place in (calm, disk):
                write_rows(calm / "rows.csv", "linear", 600)
                call = command(place, "out", "linear", 20)
                call[4] = str(calm / "rows.csv")
                if place == calm:
                    finish(call)
            with start(call) as process:
                _, told = process.communicate(timeout=300)
            if process.returncode:
                failed += 1
                assert process.returncode == 1, process.returncode
                assert "No space left on device" in told, told
                assert told.count("\n") == 1, told
                size = f"remount,size={64 * n_pages * PAGE}"
                subprocess.run(["mount", "-o", size, str(disk)], check=True)
                finish(call)
            for name in ("out.csv", "out.dyn"):
                assert (disk / name).read_bytes() == (calm / name).read_bytes(), name
    return failed


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    print(f"{saves()} saves found the disk full and left the old file  met", flush=True)
    print(f"{streams()} streams did, and went on when there was room  met")


if __name__ == "__main__":
    main()
