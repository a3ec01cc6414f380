"""What a row of a stream costs, and what is left of that without the trees.

``python -m tests.bench.floor > tests/bench/floor.txt``: rows of Friedman's function are
predicted and learned one by one, in user microseconds each, medians of three fresh
processes. "Unsplit" trees keep all rows in their root, so that nothing is left but
calls, weighing, resampling and drawing a move for each particle.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

from .gauges import RIVER, ours, spend
from .results import today
from .task import Task

TASK = Task("prequential", "constant", 100, 5_000, window=200)
WORKS = {
    "100 particles, defaults": TASK,
    "100 particles, oldest first": replace(TASK, work="prequential, oldest first"),
    "100 particles, unsplit": replace(TASK, work="prequential, unsplit"),
    "1 particle, unsplit": replace(TASK, work="prequential, unsplit", particles=1),
}
PEER = "Hoeffding tree"


def seconds(task: Task, folder: Path) -> float:
    """User seconds of one process."""
    if task.work == PEER:
        return spend(RIVER + task.arguments(folder, 1)).user
    return ours(task, folder).user


def main() -> None:
    """Print the table."""
    print(f"{today()}, window {TASK.window}, constant leaves, microseconds a row")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        TASK.write_rows(folder)
        for name, task in (WORKS | {PEER: replace(TASK, work=PEER)}).items():
            taken = [seconds(task, folder) for _ in range(3)]
            print(f"{name:<28}{1e6 * statistics.median(taken) / TASK.rows:8.1f}")


if __name__ == "__main__":
    main()
