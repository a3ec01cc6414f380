"""Polite stops of the shell's stream: no row is lost, none is doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree.checkpoint import load_with
from dyntree.commands.lines import CHUNK, LineReader, Lines
from dyntree.commands.stops import Stopped, Stops
from tests.helpers import mostly_slow
from tests.kills import heeds
from tests.unit.conftest import here, python

POLITE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
ROWS = [
    json.dumps({"x": float(x), "y": float(2.0 * x)})
    for x in np.random.default_rng(0).normal(size=400)
]


def stream(
    table: str, out: Path, saved: Path, *more: str, source: Any = None
) -> subprocess.Popen[str]:
    """A stream under way in a process of its own."""
    call = [
        sys.executable, "-m", "dyntree", "stream", table, "--formula", "y ~ x",
        "--particles", "10", "--seed", "1", "--quiet", "--out", str(out),
        "--checkpoint", str(saved), "--every", "100000", *more,
    ]  # fmt: skip
    return subprocess.Popen(
        call,
        env=here(),
        stdin=source,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeds,
    )


@contextmanager
def running(*call: Any, source: Any = None) -> Iterator[subprocess.Popen[str]]:
    """The same, killed where the test fails meanwhile."""
    with stream(*call, source=source) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(out: Path, n_lines: int) -> None:
    """Wait until an output has so many lines."""
    end = time.monotonic() + 60.0
    while not out.exists() or out.read_bytes().count(b"\n") < n_lines:
        assert time.monotonic() < end
        time.sleep(0.005)


def undisturbed(folder: Path) -> bytes:
    """Output of all rows in one run."""
    table, out = folder / "whole.ndjson", folder / "whole.out"
    table.write_text("".join(f"{row}\n" for row in ROWS))
    with stream(str(table), out, folder / "whole.dyn") as process:
        assert process.wait(60) == 0, process.stderr
    return out.read_bytes()


@pytest.mark.parametrize("number", mostly_slow(POLITE))
def test_a_stopped_pipe_goes_on_where_it_was(number: int, tmp_path: Path) -> None:
    """The pipe is kept open and its writer knows nothing of the stop."""
    out, saved = tmp_path / "o.out", tmp_path / "m.dyn"
    source, target = os.pipe()
    with os.fdopen(target, "w") as pipe:
        pipe.write("".join(f"{row}\n" for row in ROWS[:150]) + ROWS[150][:9])
        pipe.flush()
        with stream("-", out, saved, "--format", "ndjson", source=source) as process:
            wait_for(out, 150)
            process.send_signal(number)
            _, complaint = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        assert complaint == "dyntree: interrupted\n"
        model, notes = load_with(saved)
        assert (notes["rows"], model.n_seen) == (150, 150)
        assert notes["unfinished"] == ROWS[150][:9]
        pipe.write(ROWS[150][9:] + "\n")
        pipe.write("".join(f"{row}\n" for row in ROWS[151:]))
    more = "--resume", "--input-continues", "--format", "ndjson"
    with stream("-", out, saved, *more, source=source) as process:
        _, complaint = process.communicate(timeout=60)
    os.close(source)
    assert process.returncode == 0, complaint
    assert out.read_bytes() == undisturbed(tmp_path)


@pytest.mark.parametrize("number", mostly_slow(POLITE))
def test_a_stop_leaves_a_file_after_the_row(number: int, tmp_path: Path) -> None:
    whole = undisturbed(tmp_path)
    table, out, saved = (tmp_path / name for name in ("whole.ndjson", "o", "m.dyn"))
    with stream(str(table), out, saved) as process:
        wait_for(out, 20)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=60)
    if process.returncode:  # it may have been done already
        assert process.returncode == 128 + number
        assert complaint == "dyntree: interrupted\n"
    model, notes = load_with(saved)
    assert notes["rows"] == model.n_seen == out.read_bytes().count(b"\n")
    with stream(str(table), out, saved, "--resume") as process:
        assert process.wait(60) == 0
    assert out.read_bytes() == whole


def test_a_stop_before_the_first_row_leaves_no_file(tmp_path: Path) -> None:
    source, target = os.pipe()
    saved = tmp_path / "m.dyn"
    with stream("-", tmp_path / "o", saved, source=source) as process:
        os.write(target, b"x,y\n")
        time.sleep(3.0)  # whenever the signal comes, the end is the same
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    os.close(source)
    os.close(target)
    assert process.returncode in (143, -15)  # -15 before the command began to listen
    assert not saved.exists()


def test_what_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stops() as stops:
            signal.raise_signal(signal.SIGHUP)
        assert stops.signal is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_second_signal_ends_at_once() -> None:
    script = (
        "import signal\n"
        "from dyntree.commands.stops import Stops\n"
        "with Stops() as stops:\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    print(stops.signal, flush=True)\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    print('still here')\n"
    )
    done = python("-c", script, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "15\n")


def test_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in POLITE]
    with Stops() as stops:
        signal.raise_signal(signal.SIGTERM)
    assert stops.signal == signal.SIGTERM
    assert [signal.getsignal(number) for number in POLITE] == before


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "a\n", "a\nb", "a\r\nb\r\n", "a\rb\r", "a\r\n\r\r\nb", "\n\n", "\r",
        "\ufeffa,é\n1,ü\n", "é" * CHUNK + "\r\n" + "b" * (CHUNK - 1) + "\r\nc\rd",
        "a\u2028b\x0cc\x1cd\n",
    ],
)  # fmt: skip
def test_lines_are_those_of_the_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(text.encode("utf-8"))
    with path.open(encoding="utf-8-sig", newline="") as file:
        expected = list(file)
    with path.open("rb") as file:
        assert list(Lines(LineReader(file, Stops()))) == expected


def test_a_stop_ends_a_file_at_once_and_keeps_what_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('a\n"b\nb"\nc\nd')
    stops = Stops()
    with path.open("rb") as file:
        chunks = LineReader(file, stops)
        lines = Lines(chunks)
        assert next(lines) == "a\n"
        lines.taken()
        assert next(lines) == '"b\n'
        stops.signal = 15
        with pytest.raises(Stopped):
            next(lines)
    assert lines.unfinished + chunks.unread == '"b\nb"\nc\nd'


def test_a_stop_takes_what_a_pipe_has_given() -> None:
    source, target = os.pipe()
    os.write(target, b"a\nb\nc")
    with Stops() as stops, os.fdopen(source, "rb") as file:
        chunks = LineReader(file, stops)
        lines = Lines(chunks)
        assert next(lines) == "a\n"
        signal.raise_signal(signal.SIGTERM)
        assert next(lines) == "b\n"
        lines.taken()
        with pytest.raises(Stopped):
            next(lines)
        assert lines.unfinished + chunks.unread == "c"
    os.close(target)


def test_a_second_writer_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    out, saved = tmp_path / "o.out", tmp_path / "m.dyn"
    source, target = os.pipe()
    with stream("-", out, saved, "--format", "ndjson", source=source) as first:
        os.write(target, f"{ROWS[0]}\n".encode())
        wait_for(out, 1)
        before = saved.read_bytes(), out.read_bytes()
        more = "--format", "ndjson", "--resume"
        with stream("-", out, saved, *more, source=subprocess.DEVNULL) as second:
            _, complaint = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"written by another process, number {first.pid}." in complaint
        assert (saved.read_bytes(), out.read_bytes()) == before
        first.kill()
        first.communicate(timeout=60)
    os.close(target)
    with stream("-", out, saved, *more, source=source) as third:
        _, complaint = third.communicate(timeout=60)
    os.close(source)
    assert third.returncode == 1  # the pipe is empty, but the lock went with its owner
    assert "it has no row" in complaint
    assert not list(tmp_path.glob("*lock*"))
