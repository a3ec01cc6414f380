"""Ratios to CRAN dynaTree.

``python -m tests.bench.compare [--only NAME] [--json FILE]``: both sides get the same
rows. A figure is user CPU seconds of a fresh process less those of the same process
without the work, per point; the two sides take turns, and a ratio is the median over
pairs. The peer needs Rscript and an R library with dynaTree in it (R_LIBS); without
them nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.bench.work import friedman

HERE = Path(__file__).parent
PEER = HERE / "peer.R"
N_LEARNED = 2000


@dataclass(frozen=True)
class Line:
    """One line of the table; `points` and `times` are what each side predicts."""

    work: str
    target: float
    unit: str
    points: int
    times: int
    peer_points: int


LINES = [
    Line("predict r constant", 250.0, "ns/(point particle)", 10_000, 20, 10_000),
    Line("predict r linear", 500.0, "ns/(point particle)", 10_000, 20, 10_000),
    Line("predict native constant", 150.0, "ns/(point particle)", 10_000, 20, 10_000),
    Line("predict native linear", 400.0, "ns/(point particle)", 10_000, 20, 10_000),
]


def user_seconds(command: list[str]) -> float:
    """User CPU seconds of a process and its children."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | single | {"DYNTREE_NUM_THREADS": "1"},
    )
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def write_rows(folder: Path, points: int) -> str:
    """Rows to learn and points to predict, as both sides read them."""
    folder.mkdir()
    learned = np.column_stack(friedman(N_LEARNED, 1))
    np.savetxt(folder / "learned.csv", learned, delimiter=",", fmt="%.17g")
    new = friedman(points, 2)[0]
    np.savetxt(folder / "new.csv", new, delimiter=",", fmt="%.17g")
    return str(folder)


def measure(line: Line, pairs: int) -> dict[str, object]:
    """Median ratio over pairs, and what it was to be."""
    with tempfile.TemporaryDirectory() as place:
        ours = write_rows(Path(place) / "ours", line.points)
        theirs = write_rows(Path(place) / "theirs", line.peer_points)
        own = [sys.executable, "-m", "tests.bench.work", line.work, ours]
        peer = ["Rscript", "--vanilla", str(PEER), line.work, theirs]

        def own_cost() -> float:
            spent = user_seconds([*own, "1", str(line.times)])
            spent -= user_seconds([*own, "0", "1"])
            return spent / (line.points * line.times)

        def peer_cost() -> float:
            spent = user_seconds([*peer, "1"]) - user_seconds([*peer, "0"])
            return spent / line.peer_points

        ratios = []
        for _ in range(pairs):
            mine = own_cost()
            ratios.append(peer_cost() / mine)
    ratio = statistics.median(ratios)
    return {
        "work": line.work,
        "ratio": round(ratio, 1),
        "target": line.target,
        "met": ratio >= line.target,
        "unit": line.unit,
    }


def peer_is_there() -> bool:
    """Whether R can load dynaTree."""
    try:
        ask = ["Rscript", "--vanilla", "-e", "library(dynaTree)"]
        return subprocess.run(ask, capture_output=True).returncode == 0
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--pairs", type=int, default=3, help="pairs a line, at least 3")
    given = parser.parse_args()
    rows = []
    if peer_is_there():
        for line in LINES:
            if given.only in line.work:
                rows.append(measure(line, max(3, given.pairs)))
                print(
                    "{work}: {ratio} (target {target}, met: {met})".format(**rows[-1])
                )
    else:
        print("R or its package dynaTree is not there: nothing is compared.")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
