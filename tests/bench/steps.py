"""Instructions of a stream's steps, counted by callgrind early in it and late.

Streams of several seeds run up to both places at full speed and are saved there; a
process under valgrind loads each state and learns the same rows one by one, and nothing
else is counted. ``python -m tests.bench.steps MODEL STATE FOLDER`` is that process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dyntree import StreamingTree, checkpoint

from .task import Rows, Task
from .work import leaves

BLOCK = 10_000
EARLY, LATE = 10_000, 1_000_000
SEEDS = range(1, 5)  # of models and rows: one cloud's trees are small or large
VALGRIND = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no"]


def save(task: Task, folder: Path, places: tuple[int, ...]) -> None:
    """Learn rows by the online step of the task; leave the states at these rows."""
    for seed in SEEDS:
        stream = StreamingTree(
            **leaves(task.model),
            n_particles=task.particles,
            window=task.window,
            discard=task.work.removeprefix("online "),
            rejuvenate_every=0,
            seed=seed,
        )
        for first in range(0, max(places), BLOCK):
            rows = Rows.draw(task.stream, BLOCK, 0, LATE * seed + task.seed + first)
            stream.update(rows.X, rows.target(task.model), progress=False)
            if (seen := first + BLOCK) in places:
                checkpoint.save(stream, folder / f"{seen}-{seed}.dyntree")


def count(task: Task, folder: Path, row: int) -> float:
    """Instructions of `walk` from the states saved at a row, mean over seeds."""
    counts = [count_from(task, folder, f"{row}-{seed}") for seed in SEEDS]
    return sum(counts) / len(counts)


def count_from(task: Task, folder: Path, state: str) -> int:
    """Instructions of `walk` from one saved state."""
    out = folder / f"{state}.callgrind"
    this = [sys.executable, "-m", "tests.bench.steps"]
    subprocess.run(
        [*VALGRIND, f"--callgrind-out-file={out}", *this, task.model, state, folder],
        check=True,
        env=os.environ | {"DYNTREE_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    dump = Path(f"{out}.1").read_text()
    return int(dump.split("\ntotals:")[1].split()[0])


def tell(what: str) -> None:
    """Command the valgrind that runs this process."""
    ask = ["vgdb", f"--pid={os.getpid()}", what]
    subprocess.run(ask, check=True, capture_output=True)


def walk(model: str, state: str, folder: str) -> None:
    """Learn the rows in the folder, after the saved state; only that is counted."""
    stream = checkpoint.load(Path(folder) / f"{state}.dyntree")
    rows = Rows.read(Path(folder))
    y = rows.target(model)
    tell("instrumentation on")
    tell("zero")
    for t in range(len(y)):
        stream.update(rows.X[t : t + 1], y[t : t + 1], progress=False)
    tell("dump")


if __name__ == "__main__":
    walk(*sys.argv[1:])
