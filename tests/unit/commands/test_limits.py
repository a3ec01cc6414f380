"""What one line of a feed can cost: neither the lines after it nor time or memory."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyntree.checkpoint import load_with
from dyntree.commands.lines import Limits, LineReader, Lines
from dyntree.commands.readers import Csv, Ndjson
from dyntree.commands.stops import Stops
from tests.unit.commands.conftest import Runs
from tests.unit.commands.test_stops import wait_for
from tests.unit.conftest import python

N = 400
QUOTES = {
    "first cell": '"1,2,u\n', "last cell": '1,2,"u\n', "middle": '1,"2,u\n',
    "alone": '"\n', "two rows": '1,"2,u\n3,4","u\n',
    "two cells": '"1,2,"u\n', "closes later": '1,"2,u\n3,4,u\n5",6,u\n',
    "a cell of lines": '1,"2\n3,4\n5,6",u\n',
}  # fmt: skip


def good(n: int = N) -> list[str]:
    return [f"{k / 8},{(k * 7 % 11) / 2},u\n" for k in range(n)]


@pytest.mark.parametrize("kind", QUOTES)
@pytest.mark.parametrize("at", [1, 200, N - 150])
def test_a_quote_costs_its_own_lines_alone(kind: str, at: int, runs: Runs) -> None:
    rows, bad = good(), QUOTES[kind]
    head = "x,y,s\n"
    runs.write(head, *rows[:at], bad, *rows[at:])
    call = ["--bad-rows", runs.folder / "bad.csv"]
    assert runs(*call) == 0
    n_good = N + ("3,4,u\n" in bad)  # a row of its own
    notes = load_with(runs.saved)[1]
    assert notes["learned"] == n_good, runs.told()
    text = (runs.folder / "bad.csv").read_text()
    told = [*csv.DictReader(text.splitlines(keepends=True))]
    first = bad.splitlines()[0]
    assert told[0]["row"] == first
    assert int(told[0]["line"]) == at + 2
    assert notes["bad"]["rows"] == len(told) <= bad.count("\n")
    before, out = runs.saved.read_bytes(), runs.out.read_bytes()
    assert runs(*call) == 0  # the rows are counted as they were
    assert (runs.saved.read_bytes(), runs.out.read_bytes()) == (before, out)
    more = ["9,1,u\n"]
    runs.write(head, *rows[:at], bad, *rows[at:], *more)
    assert runs(*call) == 0
    assert load_with(runs.saved)[1]["learned"] == n_good + 1


@pytest.mark.parametrize("kind", QUOTES)
@pytest.mark.parametrize("n_after", [0, 1, 20])
def test_no_row_at_the_end_is_lost_either(kind: str, n_after: int, runs: Runs) -> None:
    """Without a checkpoint; with one they are left to the next call, by a warning."""
    rows, bad = good(30 + n_after), QUOTES[kind]
    runs.write("x,y,s\n", *rows[:30], bad, *rows[30:])
    assert runs("--bad-rows", "skip", saves=False) == 0
    n_good = len(rows) + ("3,4,u\n" in bad)
    assert f"{n_good} learned" in runs.told()


def test_most_bad_counts_lines(runs: Runs) -> None:
    runs.write("x,y,s\n", *good(3), *['1,2,"u\n'] * 30, *good(103))
    assert runs("--bad-rows", "skip", "--most-bad", 30) == 0
    assert load_with(runs.saved)[1]["learned"] == 106
    runs.forget()
    assert runs("--bad-rows", "skip", "--most-bad", 29) == 1
    assert "--most-bad is 29" in runs.told()


@pytest.mark.parametrize("n_lines", [1, 2, 100, 101])
def test_cells_may_have_lines_up_to_a_limit(n_lines: int, runs: Runs) -> None:
    cell = "\n".join(["Dear reader"] * n_lines)
    runs.write("x,y,s\n", *good(5), f'1,2,"{cell}"\n', *good(5))
    skips = ["--bad-rows", "skip", "--most-bad", 200]
    assert runs(*skips, "--formula", "y ~ x") == 0
    assert load_with(runs.saved)[1]["learned"] == 10 + (n_lines <= 100)
    runs.forget()
    more = ["--most-quoted", 101, *skips]
    assert runs("--formula", "y ~ x", *more) == 0
    assert load_with(runs.saved)[1]["learned"] == 11


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_lines_without_a_quote_are_rows_whatever_stands_in_others(data: Any) -> None:
    """Every line that nobody touched is a row, but where it is within a good one."""
    lines = [f"{k},{k}.5,{k}.25\n" for k in range(30)]
    touched = data.draw(st.sets(st.integers(0, 29), max_size=4))
    for k in touched:
        place = data.draw(st.integers(0, len(lines[k]) - 1))
        lines[k] = f'{lines[k][:place]}"{lines[k][place:]}'
    text = "a,b,c\n" + "".join(lines)
    path = data.draw(st.just(text)).encode()
    records = [*Csv(Lines(Source(path), Limits(quoted=10)))]
    rows = [record for record in records if record.row is not None]
    within = "".join(record.text for record in rows)
    for k, line in enumerate(lines):
        assert k in touched or line in within
    assert "".join(record.text for record in records) == "".join(lines)


class Source(LineReader):
    """Lines of bytes."""

    def __init__(self, data: bytes) -> None:
        import io

        super().__init__(io.BytesIO(data), Stops())
        self.is_file = True
        self._file.read1 = self._file.read


# ------------------------------------------------------------ long lines
@pytest.mark.parametrize("kind", ["csv", "ndjson"])
@pytest.mark.parametrize("at", [1, 20, 40])
def test_a_line_that_is_too_long_is_a_bad_row(kind: str, at: int, runs: Runs) -> None:
    rows = [{"x": k / 4, "y": k % 5} for k in range(40)]
    lines = [f"{row['x']},{row['y']}\n" for row in rows]
    bad, head = f"1,{'2' * 3000}\n", "x,y\n"
    if kind == "ndjson":
        lines, head = [json.dumps(row) + "\n" for row in rows], ""
        bad = f'{{"x": 1, "y": {"2" * 3000}}}\n'
        runs.path, runs.out = runs.folder / "a.ndjson", runs.folder / "o.ndjson"
    runs.write(head, *lines[:at], bad, *lines[at:])
    more = ["--longest-line", 500, "--bad-rows", runs.folder / "bad.ndjson"]
    assert runs(*more) == 0
    assert load_with(runs.saved)[1]["learned"] == 40
    (told,) = map(json.loads, (runs.folder / "bad.ndjson").read_text().splitlines())
    assert told["line"] == at + 1 + (kind == "csv")
    assert told["reason"].startswith("a line must have at most 500 characters")
    assert runs(*more) == 0
    assert load_with(runs.saved)[1]["rows"] == 41


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_long_lines_are_not_collected(end: str, tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"a\n" + b"z" * (1 << 20) + end.encode() + b"b")
    with path.open("rb") as file:
        chunks, lines = LineReader(file, Stops(), most=1000), []
        while not chunks.ended:
            lines.append(next(chunks))
    assert lines[0] == "a\n"
    assert 1000 < len(lines[1]) < 1000 + (1 << 17)
    assert lines[1].endswith(end or "z")
    assert lines[2:] == (["b"] if end else [])


MEMORY = """
import re, sys
from pathlib import Path
from dyntree import cli
code = cli.main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(code, int(peak[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_line_of_a_hundred_megabytes_is_refused_in_little_memory(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b"x,y\n1,2\n1,")
        for _ in range(100):
            file.write(b"9" * (1 << 20))
        file.write(b"\n3,4\n")
    call = ["stream", path, "--formula", "y ~ x", "--bad-rows", "skip", "--quiet"]
    done = python("-c", MEMORY, *call, "--out", tmp_path / "o")
    code, megabytes = map(int, done.stdout.split())
    assert code == 0
    assert megabytes < 300


# ------------------------------------------------------------ text that is none
@pytest.mark.parametrize(
    "bad",
    [
        '{"x": 1, "y": 2, "s": "\\ud800"}', '{"x": 1, "y": "\\udfff"}',
        '{"x": 1, "y": 2, "\\ud83d": 1}', '{"x": 1, "y": 2, "s": "a\\uDC00b"}',
    ],
)  # fmt: skip
def test_half_of_a_surrogate_pair_is_a_bad_row(bad: str, runs: Runs) -> None:
    rows = [{"x": k / 4, "y": k % 5, "s": "\U0001f600é"} for k in range(30)]
    lines = [json.dumps(row) + "\n" for row in rows]  # with pairs of escapes
    runs.path, runs.out = runs.folder / "a.ndjson", runs.folder / "o.ndjson"
    runs.write(*lines[:9], bad + "\n", *lines[9:])
    assert runs("--formula", "y ~ x + s") == 1
    assert "row 9: its text must be Unicode" in runs.told()
    assert runs("--formula", "y ~ x + s", "--bad-rows", "skip") == 0
    model, notes = load_with(runs.saved)
    assert notes["learned"] == 30
    assert model.tree.levels["s"] == ("\U0001f600é",)


# ------------------------------------------------------------ terminals
@pytest.mark.parametrize(
    "name", ["\x1b[31mx", "a\nb", "a\rb", "\x07", "\u202ex", "\x9b"]
)
def test_messages_are_one_line_without_controls(name: str, runs: Runs) -> None:
    with runs.path.open("w", newline="") as file:
        csv.writer(file).writerows([[name, "y"], *[[k, k] for k in range(20)]])
    for formula in ("z ~ .", f"y ~ {name}z", "y ~ absent"):
        assert runs("--formula", formula, saves=False) == 1
        told = runs.told()
        assert told.startswith("dyntree: ")
        assert told.count("\n") == 1
        assert told.rstrip("\n").isprintable(), told
    runs.path.write_text(
        "\n".join(json.dumps({name: "u" if k else k, "y": k}) for k in range(20))
    )
    assert runs("--format", "ndjson", "--formula", "y ~ .", saves=False) == 1
    assert runs.told().rstrip("\n").isprintable()


# ------------------------------------------------------------ headers, rows, names
def test_a_row_of_several_lines_is_bounded_as_a_line_is(runs: Runs) -> None:
    cell = "\n".join(["z" * 90] * 8)
    runs.write("x,y,s\n", *good(5), f'1,2,"{cell}"\n', *good(5))
    assert runs("--formula", "y ~ x", "--longest-line", 800) == 0
    runs.forget()
    more = ["--longest-line", 700, "--bad-rows", "skip"]
    assert runs("--formula", "y ~ x", *more) == 0
    assert load_with(runs.saved)[1]["learned"] == 10


def test_a_line_may_be_as_long_as_its_limit(runs: Runs) -> None:
    runs.write("x,y\n", "1,2\n", "10,20,\n", "10,200\n", "100,200\n")
    assert runs("--longest-line", 6, "--bad-rows", "skip") == 0
    assert load_with(runs.saved)[1]["learned"] == 2


@pytest.mark.parametrize("option", ["--most-quoted", "--longest-line"])
def test_limits_are_those_of_the_first_call(option: str, runs: Runs) -> None:
    runs.write("x,y,s\n", *good(5))
    assert runs(option, 50) == 0
    assert runs(option, 60) == 1
    assert f"{option[2:]}: 50 then, 60 now" in runs.told()


@pytest.mark.parametrize("sizes", [[190], [90, 50, 50], [10] * 19])
def test_a_long_line_is_cut_at_one_place(sizes: list[int], tmp_path: Path) -> None:
    source = Source(b"z" * 190 + b"\nend\n")
    source._most, parts = 100, iter(sizes)
    source._file.read1 = lambda n: source._file.read(next(parts, 5))
    assert next(source) == "z" * 101 + "\n"
    assert next(source) == "end\n"


def test_many_names_of_an_object_are_read_in_linear_time() -> None:
    names = [f'"c{k}": {k}' for k in range(200_000)]
    lines = Lines(Source(f"{{{', '.join([*names, names[-1]])}}}\n".encode()))
    (record,) = Ndjson(lines)
    assert record.reason == "it is not JSON: it names 'c199999' twice"


def test_lines_behind_a_quote_of_a_pipe_are_told(tmp_path: Path) -> None:
    source, target = os.pipe()
    with os.fdopen(target, "w") as pipe:
        pipe.write("x,y,s\n" + "".join(good(30)) + '2,"u,2\n' + "".join(good(20)))
        pipe.flush()
        out = tmp_path / "out"
        call = ["stream", "-", "--formula", "y ~ x", "--bad-rows", "skip", "--out", out]
        with subprocess.Popen(
            [sys.executable, "-m", "dyntree", *map(str, call)],
            stdin=source, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            wait_for(out, 31)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=60)
    os.close(source)
    assert process.returncode == 143
    assert "21 lines were read from a pipe but not used" in told
