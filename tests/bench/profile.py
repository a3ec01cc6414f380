"""Where the instructions go: the ten functions that cost most, counted by callgrind.

``python -m tests.bench.profile > tests/bench/profile.txt`` needs valgrind. Each work
runs once in full speed to warm up, then once while instructions are counted; they are
those of the function itself, not of what it calls. ``... profile WORK MODEL`` is such a
process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .results import today
from .steps import VALGRIND, tell
from .task import Rows
from .work import WORK

PARTICLES, WINDOW, ROWS, POINTS = 500, 500, 1000, 500
WORKS = [  # and how many rows or points are counted
    ("fit native", "constant", ROWS),
    ("fit native", "linear implicit", ROWS),
    ("fit native", "class", ROWS),
    ("learn", "constant", ROWS),
    ("learn", "linear", ROWS),
    ("learn", "class", ROWS),
    ("predict native", "constant", POINTS),
    ("predict native", "linear implicit", POINTS),
]


def run(work: str, model: str) -> None:
    """The work once unseen and once counted."""
    before = 2 * WINDOW if work == "learn" else 0
    rows = Rows.draw("friedman", before + ROWS, POINTS, 1)
    go = WORK[work](rows, model, PARTICLES, WINDOW)
    go()
    tell("instrumentation on")
    tell("zero")
    go()
    tell("dump")


def plain(name: str) -> str:
    """A function's name without what Cython adds: its module, class and own name."""
    found = re.match(r"__pyx_\w*?f_7dyntree_5_core_(?:5trees_)?\d+(\w+)", name)
    if found is None:
        return name.split("@")[0]
    return re.sub(r"_\d+(?=[A-Za-z])", ".", found[1])


def costs(work: str, model: str) -> list[tuple[str, int]]:
    """Instructions of each function, most first."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        this = [sys.executable, "-m", "tests.bench.profile", work, model]
        subprocess.run(
            [*VALGRIND, f"--callgrind-out-file={out}", *this],
            check=True,
            env=os.environ | {"DYNTREE_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        told = subprocess.run(
            ["callgrind_annotate", "--threshold=100", f"{out}.1"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    total: dict[str, int] = {}
    for line in told.splitlines():
        found = re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+\S*?:(\S+)", line)
        if found is not None:
            name = plain(found[2])
            total[name] = total.get(name, 0) + int(found[1].replace(",", ""))
    return sorted(total.items(), key=lambda cost: -cost[1])


def main() -> None:
    """Print the ten functions that cost most, for each work."""
    print(f"{today()}, {PARTICLES} particles, {ROWS} rows of Friedman's function")
    print(f"learn: those after two windows of {WINDOW}, all else the default")
    for work, model, n in WORKS:
        found = costs(work, model)
        total = sum(cost for _, cost in found)
        print(f"\n{work}, {model} leaves: {total / n / PARTICLES:.0f} instructions "
              f"per particle and {'row' if n == ROWS else 'point'}")  # fmt: skip
        for name, cost in found[:10]:
            print(f"{100 * cost / total:6.1f} %  {name}")


if __name__ == "__main__":
    run(*sys.argv[1:]) if len(sys.argv) > 1 else main()
