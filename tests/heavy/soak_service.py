"""A service of a million rows, whose labels come late: memory, latency and alarms.

Run ``python -m tests.heavy.soak_service [--rows 1000000]``; the last result is stored
beside this file in soak_service.txt. A writer in a process of its own writes rows and
labels to two files, which the shell's stream follows through twenty rotations each. One
label of ten never comes, the others come up to a hundred rows late; cells are missing,
levels come that nobody has seen, the slope drifts, and four times it turns. Met: the
memory of the process stays within 3 % from a tenth of the rows on; 99.9 % of the rows,
and of the labels, take at most 20 times the median, in CPU time; each turn gives an
alarm within 200 labels, and there is at most one false alarm in 100,000 rows.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import dyntree
from dyntree import cli
from dyntree.commands.session import Session
from dyntree.commands.watch import Watch
from tests.heavy.memory import resident

TURNS = 4
ROTATIONS = 20
BLOCK = 500  # rows that are written at a time
LATEST = 100  # rows that a label comes late at most


def slope(k: int, n_rows: int) -> float:
    """The slope at a row: it drifts, and turns."""
    turns = sum(k >= at for at in turning(n_rows))
    return float((-1.0) ** turns * (2.0 + 0.5 * np.sin(2e1 * k / n_rows)))


def turning(n_rows: int) -> list[int]:
    """Rows at which the slope turns."""
    return [(2 * one + 3) * n_rows // 12 for one in range(TURNS)]


class Writer:
    """Two files that grow, and are renamed now and then."""

    def __init__(self, folder: Path, name: str, header: str) -> None:
        self.path, self.header, self.n = folder / name, header, 0
        self.file = self.path.open("w")
        self.write(header)

    def write(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()

    def rotate(self) -> None:
        self.n += 1
        old = self.path.with_name(f"{self.path.name}.{self.n}")
        self.path.rename(old)
        self.file.close()
        self.file = self.path.open("w")
        self.write(self.header)


def write(folder: Path, n_rows: int, seed: int, taken: Any) -> None:
    """Write rows and labels, no further ahead than a block."""
    rng = random.Random(seed)
    rows = Writer(folder, "rows.csv", "key,x,u,site\n")
    labels = Writer(folder, "labels.csv", "key,y\n")
    due: list[tuple[float, str]] = []
    for k in range(n_rows):
        if k % BLOCK == 0:
            while taken.value < k - BLOCK:
                time.sleep(0.002)
        if k and k % (n_rows // (ROTATIONS + 1)) == 0:
            time.sleep(0.5)
            rows.rotate()
            labels.rotate()
        x, u, site = rng.gauss(0.0, 1.0), rng.random(), rng.randrange(4)
        y = slope(k, n_rows) * x + (u > 0.5) + 0.3 * site + 0.3 * rng.gauss(0.0, 1.0)
        name = f"new {k * 10 // n_rows}" if rng.random() < 0.02 else f"s{site}"
        gap = rng.random() < 0.05
        rows.write(f"{k},{'' if gap else round(x, 4)},{u:.4f},{name}\n")
        if rng.random() < 0.9:
            late = rng.uniform(1.0, LATEST)
            heapq.heappush(due, (k + late, f"{k},{y:.4f}\n"))
        while due and due[0][0] <= k:
            labels.write(heapq.heappop(due)[1])
    while due:
        labels.write(heapq.heappop(due)[1])
    rows.file.close()
    labels.file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    n_rows = given.rows
    taken = multiprocessing.Value("l", 0)
    seconds, learning = np.ones(n_rows), np.ones(n_rows)  # in memory from now on
    scored = np.ones(n_rows, dtype=np.int64)
    memory: list[float] = []
    n_scored = 0
    alarms: list[int] = []  # places in it that gave an alarm

    take, score = Session.take, Watch.scored
    learn = Session._learn_late

    def timed(self: Session, *arguments: Any) -> None:
        began = time.process_time()
        take(self, *arguments)
        taken.value = n = self.notes["rows"]
        seconds[n - 1] = time.process_time() - began
        if n % (n_rows // 100) == 0:
            memory.append(resident() / 1e6)
        if n == n_rows:
            signal.setitimer(signal.ITIMER_REAL, 5.0)  # labels are read to their end

    def learned(self: Session, row: Any, key: str | None) -> bytes:
        nonlocal n_scored
        scored[n_scored] = int(str(key))
        n_scored += 1
        began = time.process_time()
        told = learn(self, row, key)
        learning[n_scored - 1] = time.process_time() - began
        return told

    def heard(self: Watch, answer: Any, y: Any) -> tuple[float, bool]:
        found = score(self, answer, y)
        if found[1]:
            alarms.append(n_scored - 1)
        return found

    Session.take, Watch.scored, Session._learn_late = timed, heard, learned
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = multiprocessing.Process(
            target=write, args=(folder, n_rows, given.seed, taken)
        )
        writer.start()
        while not (folder / "labels.csv").exists():
            time.sleep(0.01)
        status = folder / "status.json"
        clock = time.monotonic()
        code = cli.main(
            ["stream", str(folder / "rows.csv"), "--labels",
             str(folder / "labels.csv"), "--follow", "--key", "key", "--pending",
             "2000", "--formula", "y ~ x + u + site", "--model", "linear", "--window",
             "200", "--discard", "age", "--particles", "20", "--seed", "1", "--quiet",
             "--out", str(folder / "out.csv"), "--checkpoint", str(folder / "m.dyn"),
             "--every", "10000", "--status", str(status), "--alarm", "1e-5"]
        )  # fmt: skip
        clock = time.monotonic() - clock
        writer.join()
        held = json.loads(status.read_text())
        n_lines = (folder / "out.csv").read_text().count("\n") - 1
    assert (code, held["rows"], n_lines) == (143, n_rows, n_rows)
    steps = {"row": seconds, "label": learning[:n_scored]}
    report(held, steps, memory, scored[:n_scored], alarms, n_rows, clock)


def report(
    held: dict[str, Any],
    steps: dict[str, np.ndarray],
    memory: list[float],
    scored: np.ndarray,
    alarms: list[int],
    n_rows: int,
    clock: float,
) -> None:
    """Say what was met."""
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    print(
        f"{n_rows} rows and {held['learned']} labels through {ROTATIONS} rotations in "
        f"{clock:.0f} s; {held['pending']} rows wait, {held['dropped']} were dropped, "
        f"{held['unmatched']} labels found no row"
    )
    assert held["learned"] + held["pending"] + held["dropped"] == n_rows
    assert held["unmatched"] == 0
    late = np.array(memory[len(memory) // 10 :])
    spread = float(late.max() / late[0] - 1.0)
    said = "met" if spread <= 0.03 else "NOT MET"
    print(f"memory {late[0]:.1f} MB after a tenth, then at most {spread:+.1%}  {said}")
    for name, seconds in steps.items():
        p50, p999 = np.quantile(seconds, [0.5, 0.999])
        said = "met" if p999 <= 20.0 * p50 else "NOT MET"
        told = f"a {name} takes {1e3 * p50:.3f} ms, 99.9 % at most"
        print(f"{told} {p999 / p50:.1f} times as much  {said}")
    found = [int(scored[place]) for place in alarms]
    delays, true = [], set()
    for at in turning(n_rows):
        after = np.cumsum(scored >= at)
        hits = [place for place in alarms if 0 < after[place] <= 200]
        true |= set(hits)
        delays.append(int(after[hits[0]]) if hits else None)
    n_false = len(set(alarms) - true)
    said = "met" if None not in delays and n_false <= n_rows / 1e5 else "NOT MET"
    print(f"alarms {delays} labels after each turn, {n_false} others: {found}  {said}")


if __name__ == "__main__":
    main()
