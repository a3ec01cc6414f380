"""One table a scene: a line for each model, means (and the worst) over seeds."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = (0, 1, 2)
Cells = dict[str, float]


class Table:
    """Figures of several models, seed by seed.

    Parameters
    ----------
    title : str
    columns : dict of str to str
        Name of a column -> what is worst: "low" or "high" figures, or "each" to print
        whole numbers of all seeds.
    """

    def __init__(self, title: str, columns: dict[str, str]) -> None:
        self.title, self.columns = title, columns
        self.rows: dict[str, list[Cells]] = {}
        self.skipped: dict[str, str] = {}

    def add(self, model: str, cells: Cells) -> None:
        """Figures of a model at another seed."""
        self.rows.setdefault(model, []).append(cells)

    def fill(
        self, models: dict[str, Callable[[int], Cells]], seeds: Iterable[int] = SEEDS
    ) -> None:
        """Figures of all models at all seeds; those that lack a package are named."""
        for model, run in models.items():
            for seed in seeds:
                try:
                    self.add(model, run(seed))
                except ModuleNotFoundError as error:
                    self.skipped[model] = str(error.name)
                    break

    def lines(self) -> Iterator[str]:
        """The table as text."""
        yield self.title
        wide = max([len(name) for name in self.rows], default=0)
        cells = [
            [self._cell(name, found) for name in self.columns]
            for found in self.rows.values()
        ]
        widths = [
            max([len(name), *(len(row[at]) for row in cells)])
            for at, name in enumerate(self.columns)
        ]
        yield self._line(" " * wide, list(self.columns), widths)
        for name, row in zip(self.rows, cells, strict=True):
            yield self._line(name.ljust(wide), row, widths)
        for name, package in self.skipped.items():
            yield f"    {name}: skipped, {package} is not installed"
        yield ""

    def _line(self, first: str, cells: list[str], widths: list[int]) -> str:
        pairs = zip(cells, widths, strict=True)
        return f"    {first}" + "".join(f"   {one:>{width}}" for one, width in pairs)

    def _cell(self, column: str, found: list[Cells]) -> str:
        values = [cells[column] for cells in found if column in cells]
        if not values:
            return "-"
        worst = self.columns[column]
        if worst == "each":
            return " ".join(f"{value:.0f}" for value in values)
        least = min(values) if worst == "low" else max(values)
        return f"{digits(float(np.mean(values)))} ({digits(least)})"


def stored_tables(path: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Tables that were printed to a file: title -> model -> column -> cell.

    A cell has the mean without the worst; models are named without "(K given)".
    """
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        title, *lines = block.strip("\n").splitlines() or [""]
        if not lines or not lines[0].startswith("    "):
            continue
        columns = re.split(r"  +", lines[0].strip())
        for line in lines[1:]:
            name, *cells = re.split(r"  +", line.strip())
            means = [re.sub(r" \(.*\)", "", cell) for cell in cells]
            if len(means) == len(columns):
                name = name.replace(" (K given)", "")
                row = dict(zip(columns, means, strict=True))
                tables.setdefault(title, {})[name] = row
    return tables


def digits(value: float) -> str:
    """A number with two decimals, or fewer where it is large."""
    return f"{value:.2f}" if abs(value) < 1000 else f"{value:,.0f}"


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of peers and models, whose figures tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and its seconds of the processor."""
    with quietly():
        clock = time.process_time()
        found = run()
        return found, time.process_time() - clock


def needs(package: str) -> None:
    """Raise ModuleNotFoundError where a package is not installed."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)


def held_out(
    X: Any, labels: Any, seed: int, scaled: bool = True
) -> tuple[Any, Any, Any, Any]:
    """Four fifths of the rows to learn and a fifth to hold out, in an order of chance.

    `scaled`: in units of the standard deviations of those to learn; columns that are
    constant there stay as they are.
    """
    order = np.random.default_rng(seed).permutation(len(X))
    X, labels = np.asarray(X, dtype=np.float64)[order], np.asarray(labels)[order]
    n = int(0.8 * len(X))
    if scaled:
        spread = X[:n].std(axis=0)
        X = (X - X[:n].mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    return X[:n], labels[:n], X[n:], labels[n:]
