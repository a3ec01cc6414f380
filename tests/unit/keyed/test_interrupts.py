"""A call of a model for keys that is interrupted, wherever, is whole or not at all."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import KeyedStream
from dyntree.errors import CheckpointError
from dyntree.keyed import model as keyed_model
from dyntree.keyed.key_file import KeyFile
from dyntree.storage.atomic_files import replacing
from dyntree.storage.one_writer import sole_writer
from tests.helpers import model_bytes, mostly_slow
from tests.kills import contents
from tests.unit.keyed.test_model import KINDS, panel, small

FIRST, N = 30, 90


def interrupted(call: Callable[[], Any], at: int) -> tuple[bool, int]:
    """Whether Ctrl-C at a call of a function of Python ended a call; such calls in all.

    It is a signal, which the handler of the moment gets.
    """
    n_calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal n_calls
        if event == "call":
            n_calls += 1
            if n_calls == at:
                signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.setprofile(count)
    try:
        call()
    except KeyboardInterrupt:
        return True, n_calls
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, before)
    return False, n_calls


def in_memory(model: KeyedStream) -> bytes:
    """The bytes of a model, wherever its keys are and however many are live."""
    twin = model.copy()
    twin.hot = 500
    return model_bytes(twin)


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize(
    "place", mostly_slow(["file", "memory", "file that the user commits"])
)
@pytest.mark.parametrize("kind", mostly_slow(KINDS))
def test_a_call_that_is_interrupted_is_whole_or_not_at_all(
    kind: str, place: str, short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, key = panel(kind, N)
    monkeypatch.setattr(keyed_model, "AT_ONCE", N if short else 0)
    if kind == "class":
        y = y.astype(object)
        y[FIRST + 20 :: 9] = "late"  # a label that begins within the call

    def begun(name: str) -> KeyedStream:
        path = None if place == "memory" else tmp_path / f"{name}.db"
        model = small(kind, store=path, hot=3)
        model.autocommit = place != "file that the user commits"
        return model.update(X[:FIRST], y[:FIRST], key[:FIRST], position=[*range(FIRST)])

    def learn(model: KeyedStream) -> KeyedStream:
        again = [*range(FIRST, N - 2), 0, 1]  # of which the last two are late
        return model.update(X[FIRST:], y[FIRST:], key[FIRST:], position=again)

    whole = begun("whole")
    before = in_memory(whole)
    _, n_calls = interrupted(lambda: learn(whole), 0)
    after = in_memory(whole)
    whole.commit().close()
    rng = np.random.default_rng(0)
    results = set()
    parts = np.linspace(1, n_calls, 7).astype(int)  # a random place in each
    for turn, at in enumerate(rng.integers(parts[:-1], parts[1:]).tolist()):
        model = begun(f"{turn}")
        was_stopped, _ = interrupted(lambda model=model: learn(model), at)
        state = in_memory(model)
        assert state in (before, after)
        results.add((was_stopped, state == after))
        if state == before:
            assert in_memory(learn(model)) == after
        model.commit().close()
        if place != "memory":
            assert contents(tmp_path / f"{turn}.db") == contents(tmp_path / "whole.db")
    assert any(was_stopped for was_stopped, _ in results)
    assert (True, short) in results


def test_a_long_call_beside_a_snapshot_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyed_model, "AT_ONCE", 0)
    monkeypatch.setattr(keyed_model, "MOST_BESIDE", 7)
    X, y, key = panel("linear", N)
    snapshot = small(hot=3).update(X, y, key).snapshot()
    whole = snapshot.copy().update(X[:FIRST], y[:FIRST], key[:FIRST])
    before = model_bytes(whole)
    _, n_calls = interrupted(lambda: whole.update(X, y, key), 0)
    for at in np.random.default_rng(0).integers(1, n_calls, 5).tolist():
        model = snapshot.copy().update(X[:FIRST], y[:FIRST], key[:FIRST])
        interrupted(lambda model=model: model.update(X, y, key), at)
        if model.n_seen == FIRST:
            assert model_bytes(model) == before
            model.update(X, y, key)
        assert model_bytes(model) == model_bytes(whole)


@pytest.mark.parametrize("how", ["Ctrl-C", "a callable"])
def test_a_long_call_on_a_file_goes_back_to_its_last_commit(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, key = panel("linear", N)
    monkeypatch.setattr(keyed_model, "AT_ONCE", 10)
    monkeypatch.setattr(keyed_model, "COMMIT_ROWS", 20)
    path = tmp_path / "fleet.db"
    model = small(store=path, hot=3)
    if how == "Ctrl-C":
        with small(store=tmp_path / "b.db") as twin:
            _, n = interrupted(lambda: twin.update(X, y, key), 0)
        assert interrupted(lambda: model.update(X, y, key), n * 2 // 3)[0]
    else:

        def stop(done: int, total: int) -> None:
            if done > 60:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            model.update(X, y, key, progress=stop)
    n = model.n_seen
    assert 0 < n < N
    assert in_memory(model) == model_bytes(small().update(X[:n], y[:n], key[:n]))
    with KeyedStream.from_store(path, read_only=True) as stored:
        assert in_memory(stored) == in_memory(model)
    model.update(X[n:], y[n:], key[n:]).close()
    with small(store=path) as model:
        assert in_memory(model) == model_bytes(small().update(X, y, key))


def open_in(folder: Path) -> list[Path]:
    """Files of a folder that this process has open."""
    names = map(os.path.realpath, Path("/proc/self/fd").glob("*"))
    return [Path(name) for name in names if name.startswith(str(folder))]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for open files")
# a file object that an interrupt left closes itself, and Python says so
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("context", [sole_writer, replacing])
def test_an_interrupt_leaves_no_file_open(
    context: Callable[[Path], AbstractContextManager[Any]], tmp_path: Path
) -> None:
    def use() -> None:
        with context(tmp_path / "model.dyn"):
            pass

    _, n_calls = interrupted(use, 0)
    for at in range(1, n_calls + 1):
        interrupted(use, at)
        assert not open_in(tmp_path)
    use()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for open files")
def test_an_interrupt_leaves_no_store_open(tmp_path: Path) -> None:
    path = tmp_path / "fleet.db"
    KeyFile(path).close()  # which makes it
    opened: list[KeyFile] = []
    for at in itertools.count(1):
        was_stopped, _ = interrupted(lambda: opened.append(KeyFile(path)), at)
        if opened:
            break
        assert was_stopped
        assert not open_in(tmp_path)
    assert at > 10
    _, n_calls = interrupted(opened.pop().close, 0)
    for at in range(1, n_calls + 1):
        file = KeyFile(path)
        assert interrupted(file.close, at)[0]
        file.close()
        assert not open_in(tmp_path)


def test_keys_that_are_counted_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes long where there are many; the file is closed then."""
    went_on: list[bool] = []

    def count(*_: Any) -> list[int]:
        signal.raise_signal(signal.SIGINT)
        went_on.append(True)
        return [0]

    monkeypatch.setattr(KeyFile, "_one", count)
    with pytest.raises(KeyboardInterrupt):
        KeyFile(tmp_path / "fleet.db")
    monkeypatch.undo()
    assert not went_on
    KeyFile(tmp_path / "fleet.db").close()


def test_progress_that_raises_takes_a_call_back() -> None:
    X, y, key = panel("linear", N)
    model = small(None)
    before = model_bytes(model)

    def stop(done: int, total: int) -> None:
        if done > N / 2:
            raise InterruptedError

    for kind in ("class", "linear"):
        labels = panel(kind, N)[1]
        with pytest.raises(InterruptedError):
            model.update(X, labels, key, progress=stop)
        assert model_bytes(model) == before
    assert model_bytes(model.update(X, y, key)) == model_bytes(
        small(None).update(X, y, key)
    )


def test_a_damaged_key_in_the_first_rows_of_a_call_changes_nothing(
    tmp_path: Path,
) -> None:
    X, y, key = panel("class", N, 3)
    path = tmp_path / "fleet.db"
    small("class", store=path).update(X, y, key).close()
    damage(path)
    with small("class", store=path) as model:
        labels = model.classes
        with pytest.raises(CheckpointError, match="checksum"):
            model.update(X[:9], ["late"] * 9, [2] * 9)
        assert model.classes == labels
        assert model.update(X, y, [1] * N).n_seen == 2 * N


def damage(path: Path) -> None:
    """Cut off the state of key 2 in a file."""
    with sqlite3.connect(path) as base:
        base.execute("update keys set blob = x'00' where key = '2'")
    base.close()


@pytest.mark.parametrize("short", [True, False])
def test_a_damaged_key_within_a_call_leaves_the_file_as_it_was(
    short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyed_model, "AT_ONCE", N if short else 0)
    X, y, key = panel("linear", N, 3)
    path = tmp_path / "fleet.db"
    small(store=path).update(X, y, key).close()
    damage(path)
    before = contents(path)
    key = np.where(np.arange(N) < N - 3, 1, 2)
    with small(store=path) as model, pytest.raises(CheckpointError, match="checksum"):
        model.update(X, y, key)
    assert contents(path) == before
