"""Streams and saves killed again and again, which must leave what is whole."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dyntree
from dyntree import checkpoint
from dyntree.storage.atomic_files import PART, is_database
from tests.unit.models import grown

ROOT = Path(dyntree.__file__).parent.parent
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
KINDS = {
    "linear": ["--model", "linear", "--window", "60", "--drift"],
    "class": ["--model", "class", "--window", "60", "--discard", "random"],
    "R": ["--rules", "r", "--window", "60", "--discard", "alc"],
    "keys": ["--window", "20", "--key-by", "site"],
}


def write_rows(path: Path, kind: str, n_rows: int) -> None:
    """Write a CSV file; native kinds get missing values, levels and lone inputs too."""
    rng = np.random.default_rng(3)
    X = rng.random((n_rows, 2))
    y = 2.0 * (X[:, 0] > 0.5) + X[:, 1] + 0.2 * rng.normal(size=n_rows)
    lines = ["p,q,site,y" if kind != "R" else "p,q,y"]
    for k, ((p, q), response) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        text = f"{response}" if kind != "class" else f'"{"hi, lo"[response > 1.5 :]}"'
        if kind == "R":
            lines.append(f"{p},{q},{text}")
            continue
        q_text = "" if k % 7 == 0 else f"{q}"
        y_text = "" if k % 50 == 49 else text
        lines.append(f"{p},{q_text},{'uvw'[k % 3]},{y_text}")
    path.write_text("\n".join(lines) + "\n")


def command(folder: Path, name: str, kind: str, every: int) -> list[str]:
    """The call that streams rows.csv to NAME.csv with checkpoints in NAME.dyn."""
    return [
        sys.executable, "-m", "dyntree", "stream", str(folder / "rows.csv"),
        "--formula", "y ~ .", "--particles", "20", "--seed", "5", "--quiet",
        "--out", str(folder / f"{name}.csv"), "--every", str(every),
        "--checkpoint", str(folder / f"{name}.dyn"), "--resume", *KINDS[kind],
    ]  # fmt: skip


def start(call: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        call,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heeds,
    )


def heeds() -> None:
    """Heed the signals of a stop in a new process, also where nohup began the tests."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def finish(call: list[str]) -> None:
    """Run a call to its end."""
    with start(call) as process:
        _, complaint = process.communicate(timeout=300)
    assert process.returncode == 0, complaint


def kill(call: list[str], out: Path, seconds: float, number: int) -> bool:
    """Signal a call so many seconds after its first line; whether that came in time."""
    before = out.stat().st_mtime_ns if out.exists() else 0
    with start(call) as process:
        while process.poll() is None:
            if out.exists() and out.stat().st_mtime_ns > before:
                break
            time.sleep(0.001)
        time.sleep(seconds)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=300)
    ended = -9 if number == signal.SIGKILL else 128 + number
    assert process.returncode in (0, ended), (process.returncode, complaint)
    return process.returncode == ended


def torture(
    folder: Path, kind: str, n_kills: int, n_rows: int, chance: int, every: int
) -> int:
    """Stream undisturbed and killed, compare; returns how many kills hit."""
    rng = random.Random(chance)
    write_rows(folder / "rows.csv", kind, n_rows)
    finish(command(folder, "plain", kind, every))
    call, hits = command(folder, "killed", kind, every), 0
    for _ in range(n_kills):
        hits += kill(
            call, folder / "killed.csv", rng.uniform(0.0, 0.15), rng.choice(SIGNALS)
        )
    finish(call)
    for suffix in ("csv", "dyn"):
        plain, killed = folder / f"plain.{suffix}", folder / f"killed.{suffix}"
        assert contents(plain) == contents(killed), suffix
    assert len((folder / "plain.csv").read_text().splitlines()) == n_rows + 1
    assert not list(folder.glob(".*"))
    return hits


def contents(path: Path) -> Any:
    """The bytes of a file, or all that a file of SQLite holds."""
    if not is_database(path):
        return path.read_bytes()
    with sqlite3.connect(path) as base:
        tables = ("keys", "facts")
        rows = [base.execute(f"select * from {name}").fetchall() for name in tables]
    base.close()
    return rows


SAVES = """
import sys
import dyntree
from tests.kills import models
for model in models() * 10**6:
    dyntree.save(model, sys.argv[1])
"""


def models() -> list[dyntree.DynamicTree]:
    """Two models whose files differ much in length."""
    return [grown("constant", 30), grown("class", 2000)]


def tear(folder: Path, n_kills: int, chance: int) -> int:
    """Kill a process that saves two models in turn; returns how many saves were torn.

    After each kill the file must be one or the other, complete, and load. A save was
    torn where it left an unfinished file.
    """
    rng = random.Random(chance)
    path, n_torn = folder / "m.dyn", 0
    whole = {checkpoint.dumps(model) for model in models()}
    dyntree.save(models()[0], path)
    for _ in range(n_kills):
        before = path.stat().st_mtime_ns
        with start([sys.executable, "-c", SAVES, str(path)]) as process:
            while path.stat().st_mtime_ns == before and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 0.02))
            process.kill()
        assert process.returncode == -9, process.returncode
        assert path.read_bytes() in whole
        assert dyntree.load(path).n_seen in (30, 2000)
        for part in folder.glob(f".*{PART}"):
            n_torn += 1
            part.unlink()
    return n_torn
