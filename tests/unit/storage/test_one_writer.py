"""One writer at a time: forks, links, killed processes and removed lock files."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dyntree.checkpoint import sole_writer
from dyntree.storage import one_writer
from dyntree.storage.atomic_files import replacing, writing
from tests.unit.conftest import here, python

pytest.importorskip("fcntl", reason="this system has no such locks")

LOCK, MARK = ".m.dyn.dyntree-lock", one_writer.MARK.decode("ascii")

HOLD = """
import sys, time
from dyntree.checkpoint import sole_writer
with sole_writer(sys.argv[1]):
    print("in", flush=True)
    time.sleep(100)
"""


@contextmanager
def other_writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a path."""
    environment = here()
    call = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        call, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        try:
            yield process
        finally:
            process.kill()


def is_free(path: Path) -> bool:
    """Whether one can enter, as seen by a new process."""
    code = "import sys\nfrom dyntree.checkpoint import sole_writer\n"
    code += "with sole_writer(sys.argv[1]): pass"
    done = python("-c", code, path)
    assert done.returncode == 0 or "is written by" in done.stderr
    return done.returncode == 0


def test_the_lock_is_there_as_long_as_the_block(tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    for _ in range(2):
        with sole_writer(path):
            lock = (tmp_path / LOCK).read_text()
            assert lock == f"{MARK}{os.getpid()}"
        assert [*tmp_path.iterdir()] == []


def test_an_error_lets_go_of_it(tmp_path: Path) -> None:
    with pytest.raises(KeyError), sole_writer(tmp_path / "m.dyn"):
        raise KeyError
    with sole_writer(tmp_path / "m.dyn"):
        pass
    assert not one_writer.open_locks


def test_another_process_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.dyn"
    with other_writer(path) as process:
        words = rf"m\.dyn is written by another process, number {process.pid}\. Wait"
        with pytest.raises(ValueError, match=words), sole_writer(path):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / LOCK).exists()
        with sole_writer(path):
            assert (tmp_path / LOCK).read_text() == f"{MARK}{os.getpid()}"
    assert not (tmp_path / LOCK).exists()


def test_the_same_process_is_told_so(tmp_path: Path) -> None:
    path, said = tmp_path / "m.dyn", []

    def enter() -> None:
        try:
            with sole_writer(path):
                pass
        except ValueError as error:
            said.append(str(error))

    with sole_writer(path):
        enter()
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert len(said) == 2
    assert all("is written by this process already. Close what" in one for one in said)


def test_a_link_names_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "m.dyn").touch()
    (tmp_path / "latest.dyn").symlink_to(tmp_path / "m.dyn")
    with (
        sole_writer(tmp_path / "latest.dyn"),
        pytest.raises(ValueError, match="already"),
        sole_writer(tmp_path / "m.dyn"),
    ):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("end", ["leaves the block", "goes on"])
def test_a_forked_child_holds_nothing_and_removes_nothing(
    end: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.dyn"
    release, wait = os.pipe()[::-1]
    child = 0
    try:
        with sole_writer(path):
            child = os.fork()
            if child == 0:
                if end == "goes on":
                    os.close(release)
                    os.read(wait, 1)
                    os._exit(0)
            else:
                if end == "leaves the block":
                    assert os.waitpid(child, 0)[1] == 0
                assert (tmp_path / LOCK).read_text() == f"{MARK}{os.getpid()}"
                assert not is_free(path)
        if child == 0:
            os._exit(0)
        assert is_free(path)  # while the child goes on
    finally:
        if child == 0:
            os._exit(1)
        os.close(release)
        if end == "goes on":
            assert os.waitpid(child, 0)[1] == 0
        os.close(wait)


def test_who_leaves_removes_nobody_elses_lock(tmp_path: Path) -> None:
    """As where somebody removed the lock file, and a third one came meanwhile."""
    path = tmp_path / "m.dyn"
    with sole_writer(path):
        (tmp_path / LOCK).unlink()
        with other_writer(path) as process:
            lock = tmp_path / LOCK
            assert lock.read_text() == f"{MARK}{process.pid}"
            process.kill()
            process.wait()
    assert lock.exists()
    with sole_writer(path):
        pass


def test_a_lock_file_that_is_gone_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with sole_writer(folder / "m.dyn"):
        (folder / LOCK).unlink()
        folder.rmdir()
    assert not one_writer.open_locks


@pytest.mark.parametrize("number", sorted(one_writer.NO_LOCKS))
def test_where_a_disk_has_no_locks_anybody_enters(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(one_writer.fcntl, "flock", refuse)
    with sole_writer(tmp_path / "m.dyn"), sole_writer(tmp_path / "m.dyn"):
        assert [*tmp_path.iterdir()] == []


def test_other_errors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(FileNotFoundError, match="absent"),
        sole_writer(tmp_path / "absent" / "m.dyn"),
    ):
        pass

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "the disk burns")

    monkeypatch.setattr(one_writer.fcntl, "flock", fail)
    with pytest.raises(OSError, match="burns"), sole_writer(tmp_path / "m.dyn"):
        pass
    assert not one_writer.open_locks


@pytest.mark.parametrize(
    "name", [".m.dyn.dyntree-lock", "m.dyn.lock", "m.lock", ".m.dyn.lock", "m.dyn"]
)
def test_files_of_others_are_as_they_were(name: str, tmp_path: Path) -> None:
    theirs = tmp_path / name
    theirs.write_text("[[package]]\n")
    try:
        with sole_writer(tmp_path / "m.dyn"):
            assert theirs.read_text() == "[[package]]\n"
    except ValueError as error:
        assert name == LOCK
        assert "must be a lock file of dyntree, or a free name" in str(error)  # noqa: PT017
    assert theirs.read_text() == "[[package]]\n"
    assert not one_writer.open_locks


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_what_is_no_lock_file_is_refused(kind: str, tmp_path: Path) -> None:
    target, lock = tmp_path / "target", tmp_path / LOCK
    if kind == "pipe":
        os.mkfifo(lock)
    elif kind == "folder":
        lock.mkdir()
    else:
        lock.symlink_to(target)
        if kind == "link":
            target.write_text("theirs")
    with (
        pytest.raises(ValueError, match="must be a lock file"),
        sole_writer(tmp_path / "m.dyn"),
    ):
        pass
    assert target.exists() == (kind == "link")
    assert kind != "link" or target.read_text() == "theirs"
    assert lock.is_symlink() == ("link" in kind)


def test_an_open_file_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with open(path, "ab") as mine, open(path, "ab") as other:
        with (
            one_writer.sole_appender(mine.fileno(), "standard output"),
            pytest.raises(ValueError, match="standard output is written by another"),
            one_writer.sole_appender(other.fileno(), "standard output"),
        ):
            pass
        with one_writer.sole_appender(other.fileno(), "standard output"):
            pass


@pytest.mark.parametrize("opened", [replacing, writing, sole_writer])
def test_a_folder_that_is_missing_is_named(tmp_path: Path, opened: Any) -> None:
    path = tmp_path / "absent" / "a.dyn"
    with pytest.raises(FileNotFoundError) as raised, opened(path):
        pass
    assert (
        raised.value.strerror == f"cannot be written: there is no folder {path.parent}"
    )
