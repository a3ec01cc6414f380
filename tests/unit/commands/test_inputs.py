"""Inputs of the shell's stream: known again, unfinished, followed, and bad rows."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dyntree import cli, load
from dyntree.checkpoint import dumps, load_with
from dyntree.commands.outputs import Output
from dyntree.commands.session import Session
from tests.unit.commands.conftest import STREAM, Runs
from tests.unit.commands.test_stops import running, wait_for
from tests.unit.conftest import short_files

HEADER = "x,y\n"


def lines(n: int = 40) -> list[str]:
    rng = np.random.default_rng(2)
    return [f"{x:.3f},{2 * x:.3f}\n" for x in rng.normal(size=n).tolist()]


# The input known again.
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: rows[:20], "it has 20 of the 30 rows taken"),
        (lambda rows: rows[5:], "its first row is another"),
        (lambda rows: [*rows[:29], "7,7\n", *rows[30:]], "its row 29, the last one"),
        (lambda rows: [], "it has 0 of the 30 rows taken"),
        (lambda rows: rows[30:], "its first row is another"),
    ],
)
def test_another_input_is_told(change: Any, told: str, runs: Runs) -> None:
    rows = lines()
    runs.write(HEADER, *rows[:30])
    assert runs() == 0
    before = runs.saved.read_bytes(), runs.out.read_bytes()
    runs.write(HEADER, *change(rows))
    assert runs() == 1
    message = runs.told()
    assert told in message
    assert "--input-continues" in message
    assert (runs.saved.read_bytes(), runs.out.read_bytes()) == before
    runs.write(HEADER, *rows)
    assert runs() == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def test_an_input_that_continues_is_known_as_well(runs: Runs) -> None:
    rows = lines()
    runs.write(HEADER, *rows[:20])
    assert runs() == 0
    runs.write(HEADER, *rows[20:30])
    assert runs("--input-continues") == 0
    assert runs("--input-continues") == 1  # a supervisor calls again
    assert "begins with them, 10 rows" in runs.told()
    runs.write(HEADER, *rows[20:])
    assert runs() == 0  # from its own first row
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def test_options_that_differ_are_told(runs: Runs) -> None:
    runs.write(HEADER, *lines())
    assert runs("--window", 30, "--surprise") == 0
    assert runs("--window", 30, "--drift") == 1
    message = runs.told()
    assert "surprise: on then, none now" in message
    assert "drift: off then, on now" in message
    runs.forget()
    assert runs("--window", 30) == 0
    assert runs("--window", 20, "--model", "linear") == 1
    message = runs.told()
    assert "window: 30 then, 20 now" in message
    assert "model: none then, linear now" in message
    for formula in ("y~x", " y  ~x", "y ~ x"):
        assert runs("--window", 30, "--formula", formula) == 0
    assert runs("--window", 30, "--formula", "x ~ y") == 1
    assert "formula: y ~ x then, x ~ y now" in runs.told()


# A last line without a newline.
def test_a_whole_last_line_is_taken_and_told(runs: Runs) -> None:
    rows = lines(20)
    runs.write(HEADER, *rows[:19], rows[19][:-1])
    with pytest.warns(UserWarning, match="line 21 .* has no newline .* as a whole row"):
        assert in_python(runs) == 0
    runs.write(HEADER, *rows)
    assert runs() == 0  # the newline came
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def in_python(runs: Runs, *more: Any) -> int | None:
    """The command with warnings as Python's."""
    given = cli.parser().parse_args(
        [str(one) for one in ["stream", runs.path, "--out", runs.out, *STREAM, *more,
                              "--checkpoint", runs.saved, "--resume", "--quiet"]]
    )  # fmt: skip
    return given.run(given) or 0


@pytest.mark.filterwarnings("default")
def test_a_last_line_that_has_grown_is_an_error(runs: Runs) -> None:
    rows = lines(20)
    runs.write(HEADER, *rows[:19], rows[19][:-2])  # 1.234,2.46 of 2.468
    assert runs() == 0
    assert "was taken as a whole row" in runs.told()
    runs.write(HEADER, *rows)
    assert runs() == 1
    assert "row 19 of" in (message := runs.told())
    assert "has grown since" in message


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("way", ["stop", "skip"])
@pytest.mark.parametrize("rest", ["0.1", "0.1,-", '"0.1,0.2\n0.3,0.4\n'])
def test_an_unfinished_line_waits_for_the_next_call(
    way: str, rest: str, runs: Runs
) -> None:
    rows = lines(20)
    runs.write(HEADER, *rows[:10], rest)
    assert runs("--bad-rows", way) == 0
    assert "left for the next call" in runs.told()
    assert load_with(runs.saved)[1]["rows"] == 10
    runs.write(HEADER, *rows)
    assert runs("--bad-rows", way) == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


@pytest.mark.filterwarnings("default")
def test_without_a_checkpoint_an_unfinished_line_is_bad(runs: Runs) -> None:
    runs.write(HEADER, *lines(5), "0.1")
    assert runs(saves=False) == 1
    assert "row 5: it must have 2 cells" in runs.told()
    assert runs("--bad-rows", "skip", saves=False) == 0
    assert "1 bad" in runs.told()


@pytest.mark.filterwarnings("default")
def test_a_quote_without_an_end_is_no_row(runs: Runs) -> None:
    """Though the file ends with a newline: it is within the quotes."""
    rows, more = lines(20), '5,7,"and\non"\n'
    header = "x,y,note\n"
    rows = [f"{row[:-1]},\n" for row in rows]
    runs.write(header, *rows, more[:-5])
    assert runs() == 0
    told = runs.told()
    assert "begins with a quote that has no end); it is left for the next call" in told
    assert "20 rows taken" in told
    assert runs("--bad-rows", "skip", saves=False) == 0
    assert "1 bad" in runs.told()
    runs.write(header, *rows, more)
    assert runs() == 0
    assert runs.out.read_bytes() == runs.undisturbed(header, *rows, more)


def test_rows_by_other_names_are_bad(runs: Runs) -> None:
    """A renamed input must not be taken for one that is missing."""
    runs.path = runs.folder / "rows.ndjson"
    runs.write('{"x": 1, "y": 2}\n', '{"x": null, "y": 2}\n', '{"X": 1, "y": 2}\n')
    assert runs() == 1
    assert "row 2: a row must have one of the columns ['x'] at least" in runs.told()
    assert runs("--bad-rows", "skip") == 0
    assert "3 rows taken, 2 learned, 1 bad" in runs.told()


# Files that are followed.
def test_follow_reads_on_and_through_rotations(tmp_path: Path) -> None:
    rng, rows = random.Random(1), lines(300)
    path, out, saved = (tmp_path / name for name in ("rows.csv", "out.csv", "m.dyn"))
    path.write_text(HEADER[:2])
    with running(str(path), out, saved, "--follow") as process:
        writer, turns = path.open("a"), 0
        writer.write(HEADER[2:])
        for k, row in enumerate(rows):
            if k % 50 == 49:  # renamed; the writer ends its words, then opens anew
                turns += 1
                path.rename(tmp_path / f"rows.csv.{turns}")
                writer.write(row)
                writer.close()
                writer = path.open("a")
                writer.write(HEADER)
            else:
                if k == 1:
                    writer.flush()
                    wait_for(out, 2)  # it is under way before files are renamed
                cut = rng.randrange(len(row))
                writer.write(row[:cut])
                writer.flush()
                if k % 20 == 0:
                    time.sleep(0.15)
                writer.write(row[cut:])
        writer.close()
        wait_for(out, len(rows) + 1)
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=60)
    assert (process.returncode, complaint) == (143, "dyntree: interrupted\n")
    whole = tmp_path / "whole.csv"
    whole.write_text(HEADER + "".join(rows))
    with running(str(whole), tmp_path / "w.csv", tmp_path / "w.dyn") as process:
        assert process.wait(60) == 0
    assert out.read_bytes() == (tmp_path / "w.csv").read_bytes()


def test_a_file_rotated_between_calls_is_told(runs: Runs) -> None:
    rows, old = lines(60), runs.folder / "rows.csv.1"
    runs.write(HEADER, *rows[:20])
    assert runs() == 0
    runs.path.rename(old)
    with old.open("a") as file:
        file.write("".join(rows[20:40]))
    runs.write(HEADER, *rows[40:])
    assert runs() == 1
    assert "if files were rotated, resume with the old one first" in runs.told()
    new, runs.path = runs.path, old
    assert runs() == 0
    runs.path = new
    assert runs("--input-continues") == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def test_a_file_rotated_before_its_first_checkpoint_is_told(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint that begins a stream tells the first row, of none taken."""
    rows = lines(30)
    runs.write(HEADER, *rows[:10])

    def killed(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("dyntree.commands.session.Session.take", killed)
        with pytest.raises(MemoryError):
            runs()
    assert load_with(runs.saved)[1]["rows"] == 0
    new, runs.path = runs.path, runs.path.rename(runs.folder / "rows.csv.1")
    runs.path = new
    runs.write(HEADER, *rows[10:])
    assert runs() == 1
    assert "its first row is another" in runs.told()
    runs.write(HEADER, *rows)
    assert runs() == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("nth", [0, 1])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(Session, "begin"), (Session, "save"), (Session, "take"), (Output, "write"),
     (Output, "settle")],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_a_stream_killed_at_its_beginning_is_resumed(
    suffix: str,
    owner: type,
    name: str,
    nth: int,
    is_after: bool,
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before a step, or after it: its first rows have no regular checkpoint yet."""
    rows = lines(30)
    runs.out = runs.folder / f"o.{suffix}"
    runs.write(HEADER, *rows)
    assert runs(saves=False) == 0
    whole = runs.out.read_bytes()
    way, calls = getattr(owner, name), [0]

    def killed(self: Any, *given: Any) -> Any:
        calls[0] += 1
        if calls[0] <= nth:
            return way(self, *given)
        if is_after:
            way(self, *given)
        raise MemoryError

    runs.out.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed)
        with suppress(MemoryError):
            runs()
    assert runs() == 0
    assert runs.out.read_bytes() == whole


def test_a_misspelt_checkpoint_overwrites_no_output(runs: Runs) -> None:
    rows = lines(30)
    runs.write(HEADER, *rows)
    assert runs() == 0
    before, runs.saved = runs.out.read_bytes(), runs.folder / "typo.dyn"
    assert runs() == 1
    said = f"there is no checkpoint {runs.saved}, but {runs.out} has rows: correct"
    assert said in runs.told()
    assert runs.out.read_bytes() == before
    assert not runs.saved.exists()
    runs.out.write_bytes(b"")  # which holds nothing to lose
    assert runs() == 0
    assert runs.out.read_bytes() == before


def test_a_bad_first_row_may_be_mended(runs: Runs) -> None:
    rows = lines(10)
    runs.write(HEADER, "inf,1\n", *rows[1:])
    assert runs() == 1
    runs.write(HEADER, *rows)
    assert runs() == 0
    assert runs.out.read_bytes() == runs.undisturbed(HEADER, *rows)


def test_a_file_cut_in_place_is_told(tmp_path: Path) -> None:
    path, out, saved = (tmp_path / name for name in ("rows.csv", "out.csv", "m.dyn"))
    path.write_text(HEADER + "".join(lines(20)))
    with running(str(path), out, saved, "--follow") as process:
        wait_for(out, 21)
        os.truncate(path, 0)
        with path.open("a") as file:
            file.write(HEADER + "".join(lines(5)))
        wait_for(out, 26)
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=60)
    assert "was truncated. It is now read from its beginning" in complaint


# Other formats.
def frame() -> Any:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    times = pd.date_range("2026-01-01", periods=30, freq="h")
    x = rng.normal(size=30).round(3)
    return pd.DataFrame({"x": x, "t": times, "s": np.tile(["u", "v"], 15), "y": 2 * x})


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "zst", "iso", "form"])
def test_formats_say_the_same(kind: str, tmp_path: Path) -> None:
    table, flags = frame(), ["--formula", "y ~ .", "--particles", "10", "--seed", "1"]
    path = tmp_path / f"rows.{kind}"
    if kind in ("parquet", "arrow", "arrows"):
        pa = pytest.importorskip("pyarrow")
        from pyarrow import ipc, parquet

        held = pa.Table.from_pandas(table)
        if kind == "parquet":
            parquet.write_table(held, path)
        else:
            begin = ipc.new_file if kind == "arrow" else ipc.new_stream
            with begin(path, held.schema) as writer:
                writer.write_table(held, max_chunksize=7)
    else:
        text = table.copy()
        if kind == "form":
            text["t"] = text["t"].dt.strftime("%d.%m.%Y %H:%M")
            flags += ["--times", "t=%d.%m.%Y %H:%M"]
        else:
            flags += ["--times", "t"]
        path = tmp_path / "rows.csv"
        text.to_csv(path, index=False)
        if kind == "zst":
            zstd = pytest.importorskip(
                "compression.zstd" if sys_has_zstd() else "backports.zstd"
            )
            data, path = path.read_bytes(), tmp_path / "rows.csv.zst"
            path.write_bytes(zstd.compress(data[:300]) + zstd.compress(data[300:]))
    plain, told = tmp_path / "plain.csv", []
    table.to_csv(plain, index=False)
    for source, more in ((path, flags), (plain, [*flags[:6], "--times", "t"])):
        out = tmp_path / "out.csv"
        assert cli.main(["stream", str(source), *more, "--out", str(out)]) == 0
        told.append(out.read_bytes())
        saved = tmp_path / "m.dyn"
        assert cli.main(["fit", str(source), *more, "--out", str(saved)]) == 0
        told.append(dumps(load(saved)))  # whose notes say how times were written
    assert told[:2] == told[2:]


def sys_has_zstd() -> bool:
    import sys

    return sys.version_info >= (3, 14)


def test_parquet_is_resumed(runs: Runs) -> None:
    pytest.importorskip("pyarrow")
    table, runs.path = frame(), runs.path.with_suffix(".parquet")
    table[["x", "y"]].head(12).to_parquet(runs.path)
    assert runs() == 0
    table[["x", "y"]].to_parquet(runs.path)
    assert runs() == 0
    text = table.to_csv(columns=["x", "y"], index=False)
    assert runs.out.read_bytes() == runs.undisturbed(text)
    table[["y", "x"]].to_parquet(runs.path)
    assert runs() == 1
    assert "its columns are" in runs.told()


def test_a_broken_parquet_file_is_named(runs: Runs) -> None:
    pytest.importorskip("pyarrow")
    runs.path = runs.folder / "rows.parquet"
    runs.path.write_bytes(b"PAR1")
    assert runs() == 1
    told = runs.told()
    assert "rows.parquet cannot be read: it is no Parquet: " in told
    assert ".." not in told.replace(str(runs.folder), "")


@pytest.mark.parametrize("option", ["--out", "--bad-rows"])
def test_a_full_disk_is_named(option: str, runs: Runs) -> None:
    few = lines(1 if option == "--bad-rows" else 20)
    runs.write(HEADER, *few, 50 * "u,1\n", *lines(20))
    full = runs.folder / "full.csv"
    rest = ["--out", runs.folder / "none"] if option == "--bad-rows" else []
    with short_files(300):
        assert runs(*rest, option, full, "--model", "constant", saves=False) == 1
    assert "full.csv: cannot be written: File too large" in runs.told()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc")
def test_an_input_that_cannot_be_read_is_named(runs: Runs) -> None:
    runs.path = Path("/proc/self/mem")  # opens, and has nothing at its beginning
    assert runs() == 1
    assert "/proc/self/mem: cannot be read: Input/output error" in runs.told()


# ---------------------------------------------------------------- outputs
def output_of(
    command: str, rows: Path, out: Path, tmp_path: Path
) -> list[dict[str, Any]]:
    """What a command writes, read by the name of the file."""
    small = ["--particles", "10", "--seed", "1", "--quiet", "--formula", "y ~ x"]
    if command == "predict":
        assert cli.main(["fit", str(rows), "--out", str(tmp_path / "m"), *small]) == 0
        assert (
            cli.main(["predict", f"{tmp_path / 'm'}", f"{rows}", "--out", f"{out}"])
            == 0
        )
    else:
        assert cli.main([command, str(rows), "--out", str(out), *small]) == 0
    if out.suffix == ".csv":
        with out.open(newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("command", ["predict", "stream", "evaluate"])
def test_the_name_of_an_output_says_its_format(
    command: str, label: bool, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": np.arange(40) % 3 + 0.5})
    if label:
        frame["y"] = np.where(frame["y"] > 1, "high", "low")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_json(tmp_path / "rows.ndjson", orient="records", lines=True)
    told: dict[str, list[bytes]] = {}
    for rows in ("rows.csv", "rows.ndjson"):
        for name in ("out.csv", "out.ndjson", "out.jsonl"):
            out = tmp_path / name
            found = output_of(command, tmp_path / rows, out, tmp_path)
            assert len(found) >= 30
            told.setdefault(out.suffix, []).append(out.read_bytes())
    for same in told.values():
        assert {*same} == {same[0]}
    assert told[".ndjson"] == told[".jsonl"]
    if command != "stream":
        ndjson = pd.read_json(tmp_path / "out.ndjson", lines=True)
        pd.testing.assert_frame_equal(
            pd.read_csv(tmp_path / "out.csv"), ndjson, check_dtype=False
        )
