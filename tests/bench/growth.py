"""What a step costs as a stream goes on, beside the trees that it works on.

``python -m tests.bench.growth > tests/bench/growth.txt``: the streams of the lines
"instructions", linear leaves, stopped at more places. A row meets one leaf in each
tree; those of trees that share it count once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean

from dyntree import checkpoint

from . import steps
from .results import today
from .task import Rows, Task

TASK = Task("stream", "linear", particles=100, rows=500)
PLACES = (10_000, 30_000, 100_000, 200_000, 500_000, 1_000_000)


def trees(task: Task, folder: Path, row: int) -> tuple[float, float]:
    """Leaves of a tree, and distinct leaves that a row meets, mean over seeds."""
    rows = Rows.read(folder)
    leaves, met = [], []
    for seed in steps.SEEDS:
        stream = checkpoint.load(folder / f"{row}-{seed}.dyntree")
        leaves.append(stream.tree.stats().n_leaves)
        met.append(len(stream.predict(rows.X).mixture.weight) / task.rows)
    return mean(leaves), mean(met)


def main() -> None:
    """Print the table."""
    task = TASK
    print(f"{today()}, linear leaves, {task.particles} particles, window {task.window}")
    print(f"{'':>10}  leaves of  distinct leaves  instructions  instructions")
    print(f"{'row':>10}     a tree     a row meets        a step       by leaf")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        task.write_rows(folder)
        steps.save(task, folder, PLACES)
        for row in PLACES:
            leaves, met = trees(task, folder, row)
            count = steps.count(task, folder, row) / task.rows
            counts = f"{count:14,.0f}{count / met:14,.0f}"
            print(f"{row:>10,}{leaves:11.1f}{met:16.1f}{counts}", flush=True)


if __name__ == "__main__":
    main()
