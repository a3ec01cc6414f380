"""A service disturbed again and again: its outputs are those of one undisturbed run.

Run ``python -m tests.heavy.service [--rounds 200] [--seed 0]`` as root, who may mount a
small tmpfs; the last result is stored beside this file in service.txt. A round is one
disturbance of a stream under way: SIGTERM, SIGINT or SIGHUP, kill -9, a full disk, a
rotation of its input, a second writer of its checkpoint or of its output, closed
standard streams, or a line that is cut. Streams read CSV and NDJSON, with some bad rows
and with quotes that do not close, from files that grow, from files that are followed
through rotations, from pipes, and with labels that come late from a file of their own.
Met: at the end the output, the bad rows and the model are, byte for byte, those of one
run that nobody disturbed, so that no row is lost and none doubled, and each has the
mode that it was given.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dyntree
from dyntree.checkpoint import dumps, load_with
from dyntree.storage.one_writer import lock_of
from tests.heavy.full_disk import PAGE, small_disk
from tests.kills import ROOT, heeds

POLITE = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
N_ROWS = 400
MODE = 0o640  # of each output, as soon as it is there
MODELS = [
    ["--model", "constant", "--window", "40"],
    ["--model", "linear", "--window", "40", "--drift", "--alarm", "1e-3"],
    ["--model", "class", "--window", "40", "--surprise"],
    ["--model", "constant"],
]


class Stream:
    """A stream, what it reads, and its calls.

    Parameters
    ----------
    folder : Path
        Of inputs.
    kept : Path
        Of the output, the checkpoint and the bad rows.
    rng : Random
    counts : Counter
        Disturbances, by name.
    has_quotes : bool
        Whether some bad rows have quotes that do not close. Where files are rotated
        while nobody reads them, the end of one within quotes is left to a next call.
    """

    def __init__(
        self,
        folder: Path,
        kept: Path,
        rng: random.Random,
        counts: Counter[str],
        has_quotes: bool,
    ) -> None:
        self.has_quotes = has_quotes
        self.rng, self.counts, self.folder, self.kept = rng, counts, folder, kept
        self.kind = rng.choice(["csv", "ndjson"])
        self.model = rng.choice(MODELS)
        self.header = "key,x,y\n" if self.kind == "csv" else ""
        self.rows = [self.row(k) for k in range(N_ROWS)]
        self.more: list[str] = []
        self.held: list[int] = []  # pipes
        self.has_mode: set[Path] = set()

    def row(self, k: int) -> str:
        """A row of the input; one of 25 is bad."""
        x = round(self.rng.gauss(0.0, 1.0), 4)
        y: Any = round(2.0 * x + self.rng.gauss(0.0, 0.2), 4)
        if self.model[1] == "class":
            y = "up" if y > 0 else "down"
        if self.rng.random() < 0.04:
            bad = ["0.1\n", "u,v,w,z\n", f"{k},inf,{y}\n", f"{k},text,{y}\n"]
            # later ones may begin a row of several lines, which waits for the others
            if self.has_quotes and k < N_ROWS - 150:
                bad += [f'"{k},{x},{y}\n', f'{k},"{x},{y}\n', f'{k},{x},"{y}\n']
            cut = ['{"x": \n', "[]\n", f'{{"key": {k}, "x": Infinity, "y": "{y}"}}\n']
            return self.rng.choice(bad if self.kind == "csv" and k else cut)
        if self.kind == "csv":
            return f"{k},{x},{y}\n"
        return json.dumps({"key": k, "x": x, "y": y}) + "\n"

    @property
    def saved(self) -> Path:
        return self.kept / "m.dyn"

    def call(self, kept: Path, source: str, *more: str) -> list[str]:
        return [
            sys.executable, "-m", "dyntree", "stream", source, "--format", self.kind,
            "--formula", "y ~ x", "--particles", "20", "--seed", "5", *self.model,
            "--out", str(kept / f"out.{self.kind}"), "--every", "17", "--quiet",
            "--bad-rows", str(kept / "bad.csv"), "--most-bad", "1000",
            "--checkpoint", str(kept / "m.dyn"), "--resume", *self.more, *more,
        ]  # fmt: skip

    def start(
        self, source: str, *more: str, stdin: Any = None
    ) -> subprocess.Popen[str]:
        for path in self.kept.iterdir():
            if path.name in (f"out.{self.kind}", "bad.csv", "m.dyn"):
                path.chmod(MODE)
                self.has_mode.add(path)
        return subprocess.Popen(
            self.call(self.kept, source, *more),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=stdin,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heeds,
        )

    def finish(self, source: str, *more: str, stdin: Any = None) -> None:
        with self.start(source, *more, stdin=stdin) as process:
            _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told

    def disturb(self, process: subprocess.Popen[str], seconds: float) -> None:
        """Signal a process once it has been under way for a while, and let it end."""
        self.wait_for_life(process)
        time.sleep(0.1 + seconds)  # until it listens, at least
        number = self.rng.choice([*POLITE, signal.SIGKILL])
        process.send_signal(number)
        _, told = process.communicate(timeout=300)
        self.counts["kill -9" if number == signal.SIGKILL else "polite stop"] += 1
        ended = -9 if number == signal.SIGKILL else 128 + number
        # a polite signal may come while Python itself ends
        assert process.returncode in (0, ended, -number), (process.returncode, told)

    def wait_for_life(
        self, process: subprocess.Popen[str], path: Path | None = None
    ) -> None:
        """Wait until a process holds the lock of a file, or has ended."""
        lock = lock_of(path or self.saved)
        while process.poll() is None:
            if lock.exists() and lock.read_text().endswith(f" {process.pid}"):
                return
            time.sleep(0.002)

    @property
    def n_taken(self) -> int:
        return int(load_with(self.saved)[1]["rows"]) if self.saved.exists() else 0

    def compare(self, by_line: bool = True) -> None:
        """Run undisturbed, and compare; line numbers too where there is one file."""
        calm = self.folder / "calm"
        calm.mkdir()
        path = self.folder / f"whole.{self.kind}"
        path.write_text(self.header + "".join(self.rows))
        done = subprocess.run(
            self.call(calm, str(path)), capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        for path in self.has_mode:
            assert stat.S_IMODE(path.stat().st_mode) == MODE, path
        self.counts["mode of an output kept"] += len(self.has_mode)
        for name in (f"out.{self.kind}", "bad.csv"):
            found = [(place / name).read_bytes() for place in (calm, self.kept)]
            if name == "bad.csv" and not by_line:
                found = [without_lines(text) for text in found]
            assert found[0] == found[1], name
        models = [load_with(place / "m.dyn") for place in (calm, self.kept)]
        assert dumps(models[0][0]) == dumps(models[1][0])
        for name in ("rows", "learned"):
            assert models[0][1][name] == models[1][1][name], name
        assert models[0][1]["rows"] == N_ROWS


def without_lines(text: bytes) -> bytes:
    """Bad rows without the numbers of their lines, and without what follows them.

    A quote does not close within so many lines, or within its file.
    """
    rows = csv.DictReader(io.StringIO(text.decode()))
    return json.dumps([[row["input"], row["row"]] for row in rows]).encode()


def grown(stream: Stream, n_rounds: int) -> None:
    """A file that grows between calls, its last line cut."""
    path = stream.folder / f"rows.{stream.kind}"
    text, rng, n = stream.header + "".join(stream.rows), stream.rng, 0
    for _ in range(n_rounds):
        n = min(N_ROWS, n + rng.randrange(1, 2 * N_ROWS // n_rounds))
        part = stream.header + "".join(stream.rows[:n])
        rest = text[len(part) :].partition("\n")[0]
        comma = rest.find(",")
        if comma > 0:  # cut before the first comma, where it is no whole row
            part += rest[: rng.randrange(comma)]
            stream.counts["line cut"] += 1
        path.write_text(part)
        way = rng.choice([
            "signal", "signal", "full disk", "second writer", "second output",
            "closed streams",
        ])  # fmt: skip
        if way == "closed streams":
            line = shlex.join(stream.call(stream.kept, str(path)))
            closed = rng.choice(["2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            subprocess.run(f"{line} {closed}", shell=True, env=environment, check=True)
            stream.counts[way] += 1
            continue
        if way == "full disk":
            filler = stream.kept / "filler"
            free = os.statvfs(stream.kept).f_bavail
            filler.write_bytes(bytes(max(0, free - rng.randrange(8)) * PAGE))
            with stream.start(str(path)) as process:
                _, told = process.communicate(timeout=300)
            assert process.returncode in (0, 1), told
            if process.returncode:
                assert "No space left on device" in told, told
                stream.counts["full disk"] += 1
            filler.unlink()
            continue
        with stream.start(str(path)) as process:
            if way.startswith("second"):
                out = stream.kept / f"out.{stream.kind}"
                stream.wait_for_life(process, out if way == "second output" else None)
                process.send_signal(signal.SIGSTOP)  # so that it outlives the second
                alive = process.poll() is None
                if alive:
                    other = ["--checkpoint", str(stream.kept / "other.dyn")]
                    more = other if way == "second output" else []
                    with stream.start(str(path), *more) as second:
                        _, told = second.communicate(timeout=300)
                    assert second.returncode == 1, told
                    assert f"written by another process, number {process.pid}" in told
                    stream.counts[f"{way} refused"] += 1
                    process.send_signal(signal.SIGCONT)
                _, told = process.communicate(timeout=300)
                assert process.returncode == 0, told
            else:
                stream.disturb(process, rng.uniform(0.0, 0.4))
    path.write_text(text)
    stream.finish(str(path))
    stream.compare()


def followed(stream: Stream, n_rounds: int) -> None:
    """A file that is followed, and rotated also while nobody reads it."""
    rng, path = stream.rng, stream.folder / f"rows.{stream.kind}"
    files, counts, n = [path], [0], 0  # oldest first; rows of each
    writer = path.open("w")
    writer.write(stream.header)
    writer.flush()

    def write(n_rows: int) -> None:
        nonlocal writer, n
        for text in stream.rows[n : n + n_rows]:
            cut = rng.randrange(len(text))
            writer.write(text[:cut])
            writer.flush()
            writer.write(text[cut:])
            writer.flush()
            counts[-1] += 1
            n += 1

    def rotate() -> None:
        nonlocal writer
        old = path.with_name(f"{path.name}.{len(files)}")
        path.rename(old)
        writer.close()
        files[-1] = old
        files.append(path)
        counts.append(0)
        writer = path.open("w")
        writer.write(stream.header)
        writer.flush()
        stream.counts["rotation"] += 1

    def resumed() -> list[str]:
        """Take over what was rotated meanwhile; what the next call must say."""
        if not stream.saved.exists():
            return []
        taken, before, place = stream.n_taken, 0, 0
        while taken > before + counts[place]:
            before += counts[place]
            place += 1
        if taken == 0 or files[place] == path:
            return []
        for k in range(place, len(files) - 1):
            stream.finish(str(files[k]), *(["--input-continues"] if k > place else []))
        return ["--input-continues"]

    write(20)
    for _ in range(n_rounds):
        if stream.saved.exists():
            write(rng.randrange(10))
            if counts[-1] and rng.random() < 0.3:
                rotate()
                write(1)
        more = resumed()
        with stream.start(str(path), "--follow", *more) as process:
            stream.wait_for_life(process)
            time.sleep(0.5)
            for _ in range(rng.randrange(3)):
                write(rng.randrange(1, 12))
                if counts[-1] and rng.random() < 0.5:
                    rotate()
                    write(1)
                    time.sleep(0.3)
            stream.disturb(process, rng.uniform(0.0, 0.3))
    write(N_ROWS)
    writer.close()
    more = resumed()
    stream.finish(str(path), *more)
    stream.compare(by_line=False)


def piped(stream: Stream, n_rounds: int) -> None:
    """A pipe, whose writer begins again after the last row taken."""
    rng = stream.rng
    for _ in range(n_rounds):
        first = stream.n_taken
        with feed(stream, first, rng.randrange(1, 100)) as process:
            stream.disturb(process, rng.uniform(0.0, 0.2))
    with feed(stream, stream.n_taken, N_ROWS) as process:
        _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    stream.compare(by_line=False)


def feed(stream: Stream, first: int, n_rows: int) -> subprocess.Popen[str]:
    """A stream that reads some rows from a pipe, the last one cut."""
    source, target = os.pipe()
    more = ["--input-continues"] if stream.saved.exists() else []
    process = stream.start("-", *more, stdin=source)
    os.close(source)
    text = "".join(stream.rows[first : first + n_rows])
    begun = load_with(stream.saved)[1].get("unfinished", "") if more else ""
    assert text.startswith(begun)  # a pipe of NDJSON goes on where it was
    text = stream.header + text[len(begun) :]
    if first + n_rows < N_ROWS:
        text += stream.rows[first + n_rows][:3]
    with os.fdopen(target, "w") as pipe:
        pipe.write(text)
        pipe.flush()
        if first + n_rows < N_ROWS:  # else the pipe ends
            stream.wait_for_life(process)
            time.sleep(0.3)
            stream.held.append(os.dup(pipe.fileno()))  # open until the reader has ended
    return process


def labelled(stream: Stream, n_rounds: int) -> None:
    """Labels that come late, from a file of their own, some of them never."""
    rng, pairs = stream.rng, []
    stream.kind, stream.header = "csv", "key,x\n"
    stream.rows = [f"{k},{round(rng.gauss(0.0, 1.0), 4)}\n" for k in range(N_ROWS)]
    for k in range(N_ROWS):
        if rng.random() < 0.9:
            y = "up" if rng.random() < 0.5 else "down"
            text = y if stream.model[1] == "class" else str(round(rng.gauss(0, 1), 4))
            pairs.append((k + rng.expovariate(0.05), f"{k},{text}\n"))
    pairs += [(rng.uniform(0, N_ROWS), f"no {k},1\n") for k in range(5)]
    labels = stream.folder / "labels.csv"
    labels.write_text("key,y\n" + "".join(text for _, text in sorted(pairs)))
    stream.more = ["--key", "key", "--labels", str(labels), "--pending", "60"]
    path = stream.folder / "rows.csv"
    path.write_text(stream.header + "".join(stream.rows))
    for _ in range(n_rounds):
        with stream.start(str(path)) as process:
            stream.disturb(process, rng.uniform(0.0, 0.3))
    stream.finish(str(path))
    stream.compare()


WAYS = {
    "files that grow": grown, "files followed": followed, "pipes": piped,
    "late labels": labelled,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=10, help="rounds of a stream")
    given = parser.parse_args()
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    clock, k = time.monotonic(), 0
    while k * given.each < given.rounds:
        name = [*WAYS][k % len(WAYS)]
        with tempfile.TemporaryDirectory() as folder, small_disk(4000) as kept:
            rng = random.Random(f"{given.seed} {k}")
            quotes = name != "files followed"
            stream = Stream(Path(folder), kept, rng, counts, quotes)
            try:
                WAYS[name](stream, given.each)
            except BaseException:
                print(f"stream {k}, {name}, {stream.kind}, {stream.model}", flush=True)
                raise
            finally:
                for pipe in stream.held:
                    os.close(pipe)
        kinds[f"{name}, {stream.kind}"] += 1
        k += 1
    for name, number in sorted(kinds.items()):
        print(f"{number} streams from {name}")
    for name, number in sorted(counts.items()):
        print(f"{number} times: {name}")
    seconds = time.monotonic() - clock
    print(
        f"{k * given.each} rounds in {k} streams of {N_ROWS} rows, {seconds:.0f} s: "
        "outputs, bad rows and models as undisturbed  met"
    )


if __name__ == "__main__":
    main()
