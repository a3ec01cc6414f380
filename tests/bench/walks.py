"""How many Python functions a row, a line, a fit and an interval pass through.

Run ``python -m tests.bench.walks``. Counted are calls of Python functions of `dyntree`,
once all has been called before, and not those of other packages; river's walk is that
of ``learn_one`` with three features, the shell's that of one more line of a stream.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import dyntree

PACKAGE = str(Path(dyntree.__file__).parent)
Counts = collections.Counter[tuple[str, str]]


@contextmanager
def counting() -> Iterator[Counts]:
    """Count the calls of Python functions by file and name."""
    counts: Counts = collections.Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(PACKAGE):
                counts[code.co_filename, code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counts
    finally:
        sys.setprofile(before)


def of_river() -> Counts:
    """One row of `learn_one`, three features."""
    from dyntree.api.adapters import RiverDynamicTreeRegressor

    model = RiverDynamicTreeRegressor(n_particles=20, seed=1)
    rng = np.random.default_rng(1)
    for row in rng.random((60, 4)).tolist():
        model.learn_one(dict(zip("abc", row[:3], strict=True)), row[3])
    x = {"a": 0.5, "b": 0.25, "c": 0.75}
    with counting() as counts:
        model.learn_one(x, 0.5)
    return counts


def of_formula(**options: Any) -> Counts:
    """A fit of 60 rows by a formula, and its summary: of ten clouds by default."""
    import dyntree.formula.api as dtf

    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.random((60, 3)), columns=[*"yab"])

    def fit() -> None:
        model = dtf.dynamic_tree("y ~ a + b", data, n_particles=20, seed=1, **options)
        str(model.fit().summary())

    fit()
    with counting() as counts:
        fit()
    return counts


def of_interval() -> Counts:
    """A prediction of one row with its interval."""
    from dyntree import AveragedStream

    rng = np.random.default_rng(1)
    model = AveragedStream(n_particles=20, seed=1)
    model.update(rng.random((60, 3)), rng.random(60), progress=False)
    row = rng.random((1, 3))
    model.predict(row).quantile([0.05, 0.95])
    with counting() as counts:
        model.predict(row).quantile([0.05, 0.95])
    return counts


def of_shell() -> Counts:
    """One more line of ``dyntree stream``."""
    few, more = (_of_stream(n) for n in (100, 140))
    counts: Counts = collections.Counter()
    for key in few | more:
        each = (more[key] - few[key]) / 40
        counts[key] = round(each, 2)  # type: ignore[assignment] # some are of every tenth
    return counts


def _of_stream(n_rows: int) -> Counts:
    """Calls of a stream of so many lines."""
    from dyntree import cli

    rows = np.random.default_rng(1).random((n_rows, 4)).round(6)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        pd.DataFrame(rows, columns=[*"abcy"]).to_csv(table, index=False)
        command = ["stream", str(table), "--formula", "y ~ .", "--particles", "20"]
        command += ["--window", "50", "--seed", "1"]
        command += ["--out", str(Path(folder) / "out.csv")]
        with counting() as counts:
            assert cli.main(command) == 0
    return counts


WALKS: dict[str, Callable[[], Counts]] = {
    "river": of_river, "shell": of_shell, "formula": of_formula,
    "one cloud": lambda: of_formula(n_clouds=1), "interval": of_interval,
}  # fmt: skip


def main() -> None:
    """Print the walks, and where their calls go."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=0, help="functions to list")
    parser.add_argument("--only", choices=WALKS, nargs="*", default=[*WALKS])
    asked = parser.parse_args()
    print(f"{'walk':10} {'calls':>8} {'functions':>10} {'files':>6}")
    for name in asked.only:
        counts = WALKS[name]()
        files = {file for file, _ in counts}
        total = sum(counts.values())
        print(f"{name:10} {total:8.0f} {len(counts):10} {len(files):6}")
        for (file, function), n in counts.most_common(asked.most):
            print(f"    {n:8} {'/'.join(Path(file).parts[-3:])} {function}")


if __name__ == "__main__":
    main()
