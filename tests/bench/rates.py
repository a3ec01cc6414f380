"""Rows that a stream learns per second of one core, by leaves, particles and window."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .gauges import ours
from .results import Row, stamp
from .task import Task

FORMAT = "{:<12}{:>10}{:>8}{:>10}"
HEADER = FORMAT.format("leaves", "particles", "window", "rows/s")
LEAVES = ("constant", "linear", "class")
PARTICLES = (50, 100, 1000)
WINDOWS = (100, 500, 1000)


@dataclass(frozen=True)
class Rate:
    """Rows of Friedman's function after two windows, learned in one call."""

    model: str
    particles: int
    window: int
    pairs: int = 3

    @property
    def work(self) -> str:
        return f"learn {self.model} N={self.particles} w={self.window}"

    def measure(self, pairs: int) -> Row:
        """Median over so many streams: rows by user seconds of a fresh process."""
        taken = stamp()
        n, first = 1_000_000 // self.particles, 2 * self.window
        task = Task("learn", self.model, self.particles, n + first, window=self.window)
        rates = []
        with tempfile.TemporaryDirectory() as place:
            for pair in range(pairs):
                folder = Path(place) / str(pair)
                task = replace(task, seed=pair + 1)
                task.write_rows(folder)
                rates.append(n / ours(task, folder).user)
        return {
            "work": self.work,
            "model": self.model,
            "particles": self.particles,
            "window": self.window,
            "rows_per_second": round(statistics.median(rates), 1),
            "pairs": pairs,
            **taken,
        }


RATES = [Rate(*which) for which in itertools.product(LEAVES, PARTICLES, WINDOWS)]


def text(row: Row) -> str:
    """A row of results as a line of the table."""
    cells = (row["model"], row["particles"], row["window"], row["rows_per_second"])
    return FORMAT.format(*cells)
