"""What a step by ALC costs as a stream goes on, beside the trees and rows it works on.

``python -m tests.bench.growth > tests/bench/growth.txt``: the streams of the line
"instructions linear augmented", but that rows retire by ALC. A row meets one leaf in
each tree; those of trees that share it count once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from dyntree import StreamingTree, checkpoint

from . import steps
from .results import today
from .task import Rows, Task

TASK = Task("online alc", "linear augmented", particles=100, rows=500)
PLACES = (10_000, 100_000, 1_000_000)


def trees(stream: StreamingTree, rows: Rows) -> tuple[float, float]:
    """Leaves of a tree, and distinct leaves that a row meets."""
    met = len(stream.predict(rows.X).mixture.weight) / len(rows.X)
    return stream.tree.stats().n_leaves, met


def main() -> None:
    """Print the table."""
    print(f"{today()}, linear leaves, {TASK.particles} particles, window {TASK.window}")
    print(f"{'':>10}  leaves of  distinct leaves  million instructions a step")
    print(f"{'row':>10}     a tree     a row meets    mean   least    most")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        TASK.write_rows(folder)
        rows = Rows.read(folder)
        steps.save(TASK, folder, PLACES)
        for row in PLACES:
            states = [f"{row}-{seed}" for seed in steps.SEEDS]
            streams = [checkpoint.load(folder / f"{s}.dyntree") for s in states]
            leaves, met = np.mean([trees(s, rows) for s in streams], axis=0)
            counts = [steps.count_from(TASK, folder, s) / TASK.rows for s in states]
            told = [1e-6 * f(counts) for f in (np.mean, min, max)]
            cells = "".join(f"{count:8.2f}" for count in told)
            print(f"{row:>10,}{leaves:11.1f}{met:16.1f}{cells}", flush=True)


if __name__ == "__main__":
    main()
