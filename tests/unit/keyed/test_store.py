"""Blobs of keys, and the file that holds them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import KeyedStream
from dyntree.errors import CheckpointError, NotReadyError
from dyntree.keyed import key_file
from dyntree.storage.atomic_files import beginning, replacing
from tests.helpers import model_bytes
from tests.kills import contents
from tests.unit.keyed.test_model import KINDS, panel, small

Spawned = multiprocessing.get_context("spawn")


def in_memory(model: KeyedStream) -> bytes:
    """The bytes of a model, wherever its keys are."""
    twin = model.copy()
    twin.hot = 500
    return model_bytes(twin)


# ---------------------------------------------------------------- blobs
@pytest.mark.parametrize("kind", KINDS)
def test_blobs_are_small_and_one_changed_bit_is_seen(kind: str) -> None:
    X, y, key = panel(kind, 300, 5)
    model = KeyedStream(kind, seed=1, members=[{"window": 20, "n_particles": 5}])
    header, arrays = model.update(X, y, key).to_arrays()
    ends = arrays["blob_ends"]
    assert np.diff(ends, prepend=0).max() < {"class": 6_000}.get(kind, 24_000)
    data = bytearray(arrays["blobs"].tobytes())
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * int(ends[-1]), 60).tolist():
        data[place // 8] ^= 1 << place % 8
        changed = arrays | {"blobs": np.frombuffer(bytes(data), np.uint64)}
        with pytest.raises(CheckpointError, match="checksum"):
            KeyedStream.from_arrays(header, changed)
        data[place // 8] ^= 1 << place % 8


@pytest.mark.parametrize(("kind", "most"), [("linear", 110_000), ("class", 60_000)])
def test_live_trees_of_keys_are_small(kind: str, most: int) -> None:
    X, y, key = panel(kind, 300, 5)
    model = KeyedStream(kind, seed=1, members=[{"window": 20, "n_particles": 5}])
    model.update(X, y, key)
    for k in range(5):
        assert model.model_of(k).memory_usage() < most


def test_a_new_key_without_a_tree_is_half_a_kilobyte() -> None:
    X, y, key = panel("linear", 100, 5)
    _, arrays = small(own=False).update(X, y, key).to_arrays()
    assert np.diff(arrays["blob_ends"], prepend=0).max() < 500


# ---------------------------------------------------------------- the file
@pytest.mark.parametrize("is_open", [True, False])
def test_a_store_is_neither_replaced_nor_loaded_as_a_file(
    tmp_path: Path, is_open: bool
) -> None:
    X, y, key = panel("linear", 60)
    path, link = tmp_path / "fleet.db", tmp_path / "link.db"
    link.symlink_to(path)
    tree = dyntree.StreamingTree(seed=1).update(X, y)
    model = small(store=path).update(X[:30], y[:30], key[:30])
    if not is_open:
        model.close()
    for name in (path, link, os.path.relpath(path), f"{path}-wal", f"{path}-shm"):
        for other in (model.copy() if is_open else small(), tree):
            with pytest.raises(OSError, match="a database, such as the store") as error:
                dyntree.save(other, name)
            assert error.value.filename == str(name)
        if str(name).endswith("db"):
            with pytest.raises(CheckpointError, match="Open the store of a Keyed"):
                dyntree.load(name)
    for place in (replacing, beginning):
        with pytest.raises(OSError, match="no other file may replace"), place(path):
            pass
    if not is_open:
        model = KeyedStream.from_store(path)
    with model:
        with Spawned.Pool(1) as pool, pytest.raises(ValueError, match="another proces"):
            pool.apply(KeyedStream.from_store, (path,))
        model.update(X[30:], y[30:], key[30:])
    with KeyedStream.from_store(path, read_only=True) as again:
        assert in_memory(again) == model_bytes(small().update(X, y, key))


def test_a_model_in_a_file_is_as_one_in_memory(tmp_path: Path) -> None:
    X, y, key = panel("linear", 200, 12)
    plain, path = small().update(X, y, key), tmp_path / "fleet.db"
    for first in range(0, 200, 50):
        with small(store=path, hot=3) as model:
            part = slice(first, first + 50)
            assert model.n_seen == first
            model.update(X[part], y[part], key[part]).check()
            assert model.facts()["store"] == str(path)
            assert model.facts()["live keys"] <= 3
    with small(store=path) as model:
        assert in_memory(model) == model_bytes(plain)
        dyntree.save(model, tmp_path / "m.dyn")
        model.drop(3)
        assert len(model) == 11
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert in_memory(dyntree.load(tmp_path / "m.dyn")) == model_bytes(plain)
    with KeyedStream(
        store=path, members=small().members, window=20, n_particles=5, block=7
    ) as m:
        assert (len(m), m.seed, m.model) == (11, 3, "linear")


def test_a_store_is_opened_with_the_options_that_it_has(tmp_path: Path) -> None:
    X, y, key = panel("class", 40)
    path = tmp_path / "fleet.db"
    with pytest.raises(FileNotFoundError):
        KeyedStream.from_store(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(NotReadyError, match="holds no model yet"):
        KeyedStream.from_store(path)
    with small("class", key=("a", 1), own=False, late="learn", store=path) as model:
        model.update(X, y, key)
        expected = model_bytes(model.copy())
    for read_only in (False, True):
        with KeyedStream.from_store(path, read_only=read_only) as again:
            assert (again.key, again.own, again.late) == (("a", 1), False, "learn")
            assert model_bytes(again.copy()) == expected
    with pytest.raises(ValueError, match="read_only must be True or False"):
        KeyedStream.from_store(path, read_only=1)  # type: ignore[arg-type]


def test_a_model_that_is_read_only_does_not_change(tmp_path: Path) -> None:
    X, y, key = panel("linear", 40)
    path = tmp_path / "fleet.db"
    small(store=path).update(X, y, key).close()
    before = path.read_bytes()
    with KeyedStream.from_store(path, read_only=True) as model:
        for call in (
            lambda: model.update(X, y, key), lambda: model.drop(1), model.commit,
            lambda: model.predict_then_learn(X, y, key),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="store must be open to write before"):
                call()
        assert model.check().copy().update(X, y, key).n_seen == 80
    assert path.read_bytes() == before


def test_notes_are_on_disk_with_what_was_learned(tmp_path: Path) -> None:
    X, y, key = panel("linear", 60)
    path = tmp_path / "fleet.db"
    notes = {"classes": ["a", {"tuple": [1]}], "at": 30}  # no labels, though so named
    with small(store=path) as model:
        assert model.notes == {}
        model.autocommit = False
        model.update(X[:30], y[:30], key[:30]).commit(notes)
        model.update(X[30:], y[30:], key[30:])  # which nobody commits
    with small(store=path) as model:
        assert (model.n_seen, model.notes) == (30, notes)
        model.update(X[30:], y[30:], key[30:])
    with KeyedStream.from_store(path, read_only=True) as model:
        assert (model.n_seen, model.notes) == (60, notes)
        assert in_memory(model) == model_bytes(small().update(X, y, key))


def test_what_is_done_to_a_model_is_on_disk_at_once(tmp_path: Path) -> None:
    X, y, key = panel("linear", 60)
    path = tmp_path / "fleet.db"
    with small(store=path) as model:
        model.update(X, y, key).drop(3)
        with KeyedStream.from_store(path, read_only=True) as reader:
            assert 3 not in reader
            assert len(reader) == len(model) == 7
        model.freeze()
        with KeyedStream.from_store(path, read_only=True) as reader:
            assert reader.is_frozen


def test_keys_are_counted_as_they_come_and_go(tmp_path: Path) -> None:
    X, y, key = panel("linear", 60, 12)
    with small(store=tmp_path / "fleet.db", hot=3) as model:
        model.autocommit = False
        for row in range(60):
            model.update(X[row : row + 1], y[row : row + 1], key[row : row + 1])
            assert len(model) == len(model.keys()) == len({*key[: row + 1]})
        assert len(model.drop(3)) == len(model.copy()) == 11


def test_a_store_of_other_options_is_refused(tmp_path: Path) -> None:
    X, y, key = panel("class", 40)
    path = tmp_path / "fleet.db"
    with small(None, key=0, store=path) as model:
        model.update(np.column_stack([key, X]), y)
    for name, value in (("window", 30), ("seed", 4), ("own", False), ("key", 1),
                        ("discount", 0.9)):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} must be as in the store"):
            small("class", store=path, **{name: value})
    with pytest.raises(ValueError, match="model must be as in the store"):
        small("linear", store=path)
    with small(None, key=0, store=path) as model:
        assert (model.model, model.n_seen) == ("class", 40)
        with pytest.raises(ValueError, match="written by this process already"):
            small(None, store=path)


def test_files_of_others_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, base = tmp_path / "a.txt", tmp_path / "b.db"
    text.write_text("no database" * 100)
    with sqlite3.connect(base) as other:
        other.execute("create table facts (name text primary key, blob blob)")
        other.execute("insert into facts values ('format', x'00')")
    other.close()
    for path in (text, base):
        before = path.read_bytes()
        with pytest.raises(CheckpointError, match="cannot be opened"):
            small(store=path)
        assert path.read_bytes() == before
    with pytest.raises(OSError, match="there is no folder"):
        small(store=tmp_path / "no" / "folder.db")


def test_a_changed_row_of_the_file_is_seen(tmp_path: Path) -> None:
    X, y, key = panel("linear", 60, 3)
    path = tmp_path / "fleet.db"
    with small(store=path) as model:
        model.update(X, y, key)
    with sqlite3.connect(path) as base:
        (blob,) = base.execute("select blob from keys where key = '1'").fetchone()
        changed = blob[:-1] + bytes([blob[-1] ^ 1])
        base.execute("update keys set blob = ? where key = '1'", (changed,))
    base.close()
    with small(store=path) as model:
        model.predict(X[:1], [0])
        for call in (lambda: model.predict(X[:1], [1]), model.check):
            with pytest.raises(CheckpointError, match="checksum"):
                call()


def test_after_an_error_of_the_file_nothing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, key = panel("linear", 60, 3)
    path = tmp_path / "fleet.db"
    model = small(store=path).update(X[:30], y[:30], key[:30])
    run = key_file.KeyFile._run

    def full(self: Any, statement: str, *values: Any) -> Any:
        if statement == "commit":
            statement, values = "no statement", ()
        return run(self, statement, *values)

    monkeypatch.setattr(key_file.KeyFile, "_run", full)
    with pytest.raises(OSError, match="as it was after the last call that returned"):
        model.update(X[30:], y[30:], key[30:])
    monkeypatch.undo()
    with pytest.raises(OSError, match="open it again"):
        model.update(X[30:], y[30:], key[30:])
    with small(store=path) as again:
        assert again.n_seen <= 60
        n = again.n_seen
        again.update(X[n:], y[n:], key[n:])
        assert in_memory(again) == model_bytes(small().update(X, y, key))


def learn_on(path: str, n: int) -> None:
    """Learn a panel into a file, from where it stands, a few rows a call."""
    X, y, key = panel("linear", n, 30)
    with small(store=path, hot=4, block=30) as model:
        for first in range(model.n_seen, n, 3):
            part = slice(first, min(first + 3, n))
            model.update(X[part], y[part], key[part])


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_whole_calls(tmp_path: Path) -> None:
    n, path = 600, str(tmp_path / "fleet.db")
    rng = np.random.default_rng(time.time_ns() % 2**32)  # at any time
    for _ in range(3):
        child = Spawned.Process(target=learn_on, args=(path, n))
        child.start()
        while not os.path.exists(path):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.1, 1.5))
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
    learn_on(path, n)
    whole = str(tmp_path / "whole.db")
    learn_on(whole, n)
    assert contents(Path(path)) == contents(Path(whole))


def test_a_closed_model_says_so(tmp_path: Path) -> None:
    X, y, key = panel("linear", 40)
    model = small(store=tmp_path / "fleet.db").update(X, y, key)
    model.close()
    model.close()
    asked: list[Callable[[], Any]] = [
        lambda: model.update(X, y, key), lambda: model.predict(X, [-1] * 40),
        lambda: model.predict(X, key), lambda: model.predict_then_learn(X, y, key),
        lambda: model.weights(0), lambda: model.facts(0), lambda: model.model_of(0),
        lambda: 0 in model, model.keys, lambda: model.drop(0), model.copy,
        lambda: model.preview(X, y), model.snapshot, model.to_arrays,
        model.commit, model.check, model.freeze,
    ]  # fmt: skip
    for call in asked:
        with pytest.raises(OSError, match=r"fleet.db was closed; open it again"):
            call()


def test_notes_are_the_same_before_and_after_they_were_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    X, y, key = panel("linear", 40)
    with small(store=path) as model:
        model.update(X, y, key).commit({"at": (1, 2), "b": [(4.5, np.inf)]})
        assert model.notes == {"at": [1, 2], "b": [[4.5, np.inf]]}
        in_hand = model.notes
    with KeyedStream.from_store(path, read_only=True) as model:
        assert model.notes == in_hand


@pytest.mark.parametrize("notes", [{"a": object()}, {"a": {1, 2}}, [1], {1: 2}])
def test_notes_that_no_file_can_hold_change_nothing(notes: Any, tmp_path: Path) -> None:
    X, y, key = panel("linear", 40)
    path = tmp_path / "fleet.db"
    with small(store=path) as model:
        model.update(X, y, key).commit({"at": 40})
        with pytest.raises(
            ValueError, match="notes must be a dict of values that JSON"
        ):
            model.commit(notes)
        model.update(X, y, key)
    with KeyedStream.from_store(path, read_only=True) as model:
        assert (model.n_seen, model.notes) == (80, {"at": 40})


WRITER = """
import os, subprocess, sys
import numpy as np
from dyntree import KeyedStream

path = sys.argv[1]
rng = np.random.default_rng(0)
X, key = rng.random((60, 2)), rng.integers(0, 5, 60)
model = KeyedStream(seed=1, store=path, n_particles=5)
model.update(X[:20], X[:20, 0], key=key[:20])
KeyedStream.from_store(path, read_only=True).close()
try:
    KeyedStream.from_store(path)
except ValueError:
    pass
subprocess.run([sys.executable, "-m", "dyntree", "keys", path], check=True)
model.update(X[20:], X[20:, 0], key=key[20:])
os.kill(os.getpid(), 9)
"""


def test_who_reads_takes_no_log_away_from_a_writer(tmp_path: Path) -> None:
    """Not even where the writer itself has opened the store once more."""
    path = tmp_path / "fleet.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with KeyedStream(store=path, n_particles=5) as model:
        assert model.n_seen == 60


def test_a_store_goes_on_with_its_key_and_labels(tmp_path: Path) -> None:
    path, frame = tmp_path / "fleet.db", pd.DataFrame({"s": [0, 1] * 20})
    frame["a"] = np.random.default_rng(0).random(40)
    labels = ["u", "v", "v", "u"] * 10
    with KeyedStream("class", key="s", store=path, n_particles=5) as model:
        model.update(frame, labels)
    with KeyedStream("class", store=path, n_particles=5) as model:
        assert model.key == "s"
        model.update(frame, labels)
    with KeyedStream.from_store(path, read_only=True) as model:
        assert model.key == "s"
        with pytest.raises(ValueError, match="one that is read only"):
            model.commit({"offset": 1})
        assert model.notes == {}
    with pytest.raises(ValueError, match="classes must be as in the store"):
        KeyedStream("class", store=path, n_particles=5, classes=["k", "l"])


FORKER = """
import gc, multiprocessing, os, sys
import numpy as np
from dyntree import KeyedStream

path, read_only = sys.argv[1], sys.argv[2] == "reader"
rng = np.random.default_rng(0)
X, key = rng.random((90, 2)), rng.integers(0, 5, 90)
model = KeyedStream(seed=1, store=path, n_particles=5, hot=3)
model.update(X[:30], X[:30, 0], key=key[:30])
reader = KeyedStream.from_store(path, read_only=True)
model.autocommit = False
model.update(X[30:60], X[30:60, 0], key=key[30:60])
before = model.copy()
if read_only:
    model.commit().close()
forked = reader if read_only else model


def refused(call, words):
    try:
        call()
    except RuntimeError as error:
        assert words in str(error), error
    else:
        raise AssertionError("not refused")


def child():
    X1, y1, key1 = X[60:], X[60:, 0], key[60:]
    for call in (
        lambda: forked.update(X1, y1, key=key1),
        lambda: forked.predict_then_learn(X1, y1, key=key1),
        lambda: forked.predict(X1[:1], key=key1[:1]), lambda: forked.facts(0),
        lambda: forked.drop(0), forked.commit, forked.copy, forked.check,
        lambda: KeyedStream.from_store(path, read_only=True),
    ):
        refused(call, "from_store(path, read_only=True)")
    refused(lambda: KeyedStream.from_store(path), "when this process was forked")
    before.update(X1, y1, key=key1)  # which is in memory
    with KeyedStream(store=path + "2") as other:  # which this process opens
        other.update(X1, y1, key=key1)
    with forked:
        pass
    forked.close()


def leave():
    child()
    globals().pop("model"), globals().pop("reader"), globals().pop("forked")
    gc.collect()


for exit in (os._exit, sys.exit):  # with what an interpreter does at its end, and not
    number = os.fork()
    if not number:
        leave()
        exit(7)
    assert os.WEXITSTATUS(os.waitpid(number, 0)[1]) == 7
process = multiprocessing.get_context("fork").Process(target=leave)
process.start()
process.join()
assert process.exitcode == 0
assert len(reader) == 5 and reader.n_seen == 30 and reader.check()
if not read_only:
    try:
        KeyedStream.from_store(path)
    except ValueError as error:
        assert "written by this process already" in str(error)
    model.update(X[60:], X[60:, 0], key=key[60:]).commit().close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
@pytest.mark.parametrize("what", ["writer", "reader"])
def test_a_forked_process_leaves_the_store_alone(what: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    command = [sys.executable, "-c", FORKER, str(path), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    X, key = rng.random((90, 2)), rng.integers(0, 5, 90)
    n = 90 if what == "writer" else 60
    plain = KeyedStream(seed=1, n_particles=5)
    with KeyedStream.from_store(path) as model:
        assert model.n_seen == n
        twin = model.check().copy()
        twin.hot = 500
        assert model_bytes(twin) == model_bytes(plain.update(X[:n], X[:n, 0], key[:n]))


NOBODY = """
import os, sys
from dyntree import KeyedStream

path = sys.argv[1]
KeyedStream.from_store(sys.argv[2], read_only=True).close()  # which imports all
if os.getuid() == 0:
    os.setuid(65534)
assert not os.access(os.path.dirname(path), os.W_OK)
try:
    with KeyedStream.from_store(path, read_only=True) as model:
        print(model.n_seen, model.facts(1)["rows learned"], model.check().keys())
        sys.stdout.flush()
        sys.stdin.readline()
        print(model.facts(2)["rows learned"])
except OSError as error:
    print(error)
"""


def as_nobody(path: Path, other: Path, meanwhile: Any = None) -> list[str]:
    """What a process says of a store in a folder where it cannot write."""
    command = [sys.executable, "-c", NOBODY, str(path), str(other)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    path.parent.chmod(0o555)
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        path.parent.chmod(0o755)
        if meanwhile is not None:
            meanwhile()
        lines += process.communicate("\n")[0].splitlines()
    assert process.returncode == 0
    return [line.strip() for line in lines if line]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has other rights")
def test_a_store_in_a_folder_that_cannot_be_written_is_read() -> None:
    X, y, key = panel("linear", 60, 3)
    counts = np.bincount(key)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path, other = Path(folder, "in", "fleet.db"), Path(folder, "other.db")
        path.parent.mkdir()
        small(store=other).update(X, y, key).close()
        small(store=path).update(X, y, key).close()
        path.chmod(0o644)
        said = [f"60 {counts[1]} [0, 1, 2]", f"{counts[2]}"]
        assert as_nobody(path, other) == said

        def write() -> None:
            with small(store=path) as model:
                model.update(X, y, key)

        assert (
            "was written by another process meanwhile"
            in as_nobody(path, other, write)[1]
        )
        with small(store=path) as model:
            model.update(X, y, key)
            said = [f"180 {3 * counts[1]} [0, 1, 2]", f"{3 * counts[2]}"]
            assert as_nobody(path, other) == said  # while it may be written
            left = Path(folder, "left", "fleet.db")
            left.parent.mkdir()
            for name in ("", "-wal"):  # as one that was killed would leave it
                shutil.copy(f"{path}{name}", f"{left}{name}")
        (line,) = as_nobody(left, other)
        assert "its last commits are in" in line
        Path(f"{left}-wal").chmod(0)
        (line,) = as_nobody(left, other)
        assert "Permission denied" in line
        assert "fleet.db-wal" in line
