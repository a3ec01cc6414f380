"""The lines of the table: what is done, how it is measured and what is asked of it."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .gauges import (
    Gauge,
    against_cran,
    against_river,
    exponent,
    instructions,
    memory_against_cran,
    two_threads,
)
from .results import Row, stamp
from .task import Task

FORMAT = "{:<42}{:>9}{:>12}{:>9}{:>13}{:>13}  {}"
HEADER = FORMAT.format("work", "ratio", "target", "met", "ours", "theirs", "unit")
THREADED = 15  # pairs: wall seconds scatter where cores are shared with other machines


@dataclass(frozen=True)
class Line:
    """One line of the table.

    `unit` is that of the figures of both sides; the ratio is theirs by ours where at
    least `target` is asked, as it is unless `at_most`. `pairs` is how many are taken
    unless told.
    """

    work: str
    task: Task
    gauge: Gauge
    target: float
    unit: str
    at_most: bool = False
    pairs: int = 3

    def is_met(self, ratio: float) -> bool:
        return ratio <= self.target if self.at_most else ratio >= self.target

    def measure(self, pairs: int) -> Row:
        """Median figures over pairs, and what they were to be."""
        taken = stamp()
        readings = []
        with tempfile.TemporaryDirectory() as place:
            for pair in range(pairs):
                task = replace(self.task, seed=self.task.seed + pair)
                folder = Path(place) / str(pair)
                task.write_rows(folder)
                readings.append(self.gauge(task, folder))
        ratio = statistics.median(r.ratio for r in readings)
        same = all(r.same_numbers for r in readings)
        return {
            "work": self.work,
            "ratio": float(f"{ratio:.3g}"),
            "target": self.target,
            "met": self.is_met(ratio) and same,
            "unit": self.unit,
            "at_most": self.at_most,
            "same_numbers": same,
            "pairs": pairs,
            "ratios": [float(f"{r.ratio:.4g}") for r in readings],
            "ours": statistics.median(r.ours for r in readings),
            "theirs": statistics.median(r.theirs for r in readings),
            **taken,
        }


def text(row: Row) -> str:
    """A row of results as a line of the table."""
    target = f"{'<=' if row['at_most'] else '>='} {row['target']:g}"
    met = "yes" if row["met"] else "no" if row["same_numbers"] else "differs"
    figures = (f"{row['ours']:.4g}", f"{row['theirs']:.4g}")
    return FORMAT.format(row["work"], row["ratio"], target, met, *figures, row["unit"])


FITTED = ("constant", "class", "linear implicit", "linear augmented")
ASKED = ("constant", "linear implicit")
LINES = [
    *(
        Line(
            f"fit native {model}",
            Task("fit native", model, times=4),
            against_cran,
            60.0 if "linear" in model else 25.0,
            "s/fit",
        )
        for model in FITTED
    ),
    *(
        Line(f"fit r {model}", Task("fit r", model, times=2), against_cran, 10, "s/fit")
        for model in FITTED
    ),
    *(
        Line(
            f"{work} {model}",
            Task(work, model, points=10_000, times=20),
            against_cran,
            target,
            "s/call",
        )
        for work, model, target in (
            ("predict r", "constant", 250.0),
            ("predict r", "linear implicit", 500.0),
            ("predict native", "constant", 150.0),
            ("predict native", "linear implicit", 400.0),
        )
    ),
    *(
        Line(
            work,
            Task(work, "linear augmented", times=3),
            against_cran,
            target,
            "s/1,900 steps",
        )
        for work, target in (("online random", 30.0), ("online alc", 20.0))
    ),
    *(
        Line(f"{task.work} {task.model}", task, against_cran, 10, "s/call")
        for model in ASKED
        for task in (
            Task("sens", model, particles=100, times=5, peer_times=3),
            Task("relevance", model, times=50, peer_times=10),
            Task("alc", model, points=1000, times=10, peer_times=10),
        )
    ),
    *(
        Line(
            f"threads predict {model}",
            Task("predict native", model, points=10_000, times=100),
            two_threads,
            1.7,
            "s/call",
            pairs=THREADED,
        )
        for model in ASKED
    ),
    *(
        Line(
            f"threads repeats {model}",
            Task("repeats", model),
            two_threads,
            1.7,
            "s/8 fits",
            pairs=THREADED,
        )
        for model in ASKED
    ),
    *(
        Line(
            f"memory fit {model}",
            Task("fit native", model),
            memory_against_cran,
            10,
            "bytes",
        )
        for model in ("linear implicit", "linear augmented")
    ),
    *(
        Line(
            f"exponent {stream} {model}",
            Task("fit native", model, particles=200, stream=stream),
            exponent,
            1.15,
            "s/fit",
            at_most=True,
        )
        for stream in ("friedman", "noise")
        for model in ("constant", "linear implicit", "class")
    ),
    *(
        Line(
            f"instructions {model}",
            Task("online random", model, particles=100, rows=500),
            instructions,
            1.1,
            "instructions/step",
            at_most=True,
        )
        for model in ("constant", "linear augmented", "class")
    ),
    *(
        Line(
            f"stream against {peer}",
            Task("prequential", "constant", 100, 20_000, window=200, seed=2),
            against_river(peer),
            target,
            "s/row",
        )
        for peer, target in (("adaptive random forest", 10), ("Hoeffding tree", 1))
    ),
]
