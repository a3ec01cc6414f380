"""CPU seconds of imports, beside those of scikit-learn's forests in the same run.

Run ``python -m tests.bench.imports``; the last result is stored beside this file in
imports.txt. Each line is the median over fresh processes that take turns, less that of
an empty process.
"""

from __future__ import annotations

import datetime
import os
import statistics
import subprocess
import sys
from pathlib import Path

import dyntree

N_TURNS = 7
PEER = "import sklearn.ensemble"
STATEMENTS = (
    PEER,
    "import dyntree",
    "from dyntree import DynamicTree",
    "from dyntree import mixtures",
    "import dyntree.formula.api",
    "import dyntree.api.estimators",
    "import numpy",
)


def seconds(code: str) -> float:
    """User and system seconds of a process that runs the code."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> None:
    """Measure, print and store."""
    taken: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(N_TURNS):
        empty = seconds("pass")
        for name in STATEMENTS:
            taken[name].append(seconds(name) - empty)
    cost = {name: statistics.median(values) for name, values in taken.items()}
    day = datetime.datetime.now(datetime.UTC).date()
    lines = [f"dyntree {dyntree.__version__}, {day}, CPU seconds of an import"]
    lines += [
        f"{name:<32}{value:6.2f}, {value / cost[PEER]:.2f} of the first"
        for name, value in cost.items()
    ]
    text = "\n".join(lines) + "\n"
    (Path(__file__).parent / "imports.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
