"""Microseconds of a row that is predicted and learned, by default, beside forests.

Run ``OMP_NUM_THREADS=1 python -m tests.bench.rows`` on an idle machine; the last result
is stored beside this file in rows.txt. Rows are predicted (mean, or probabilities) and
then learned one by one; the first 500 are not timed. River's forests of ten trees get
the same rows as dicts, which are made before the clock starts. Times are of the
process, on one thread. The next lines are of ``predict`` of one row, with its whole
distribution, and of a regression of 57 columns.

The last line, or all with ``shell`` as an argument, is of a line of ``dyntree stream``
beside our model in a loop of river's: both read a CSV file, predict mean, standard
deviation and quantiles, write them to another, and learn. Pairs are run in turn, and
their median is printed.
"""

from __future__ import annotations

import csv
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from river import forest, stream

from dyntree import AveragedStream, cli
from dyntree.api.adapters import RiverDynamicTreeRegressor
from tests.statistical.native_tables import fried, rotating_xor

FIRST, ROWS = 500, 2000
PAIRS = 15  # of the shell and river's loop


def micros(step: Callable[[int], Any], n: int = ROWS) -> float:
    """Time of a row: of all rows after the first ones."""
    for t in range(FIRST):
        step(t)
    clock = time.process_time()
    for t in range(FIRST, FIRST + n):
        step(t)
    return 1e6 * (time.process_time() - clock) / n


def of_average(X: np.ndarray, y: Any, n: int = ROWS, **options: Any) -> float:
    """An average of memories."""
    model = AveragedStream(seed=1, **options)
    ask = model.proba_at if options.get("classes") else model.mean_at
    rows = [X[t : t + 1] for t in range(len(X))]

    def step(t: int) -> None:
        ask(rows[t])
        model.learn_row(rows[t], y[t])

    model.update(X[:100], y[:100], progress=False)  # it knows its columns
    return micros(step, n)


def of_forest(model: Any, X: np.ndarray, y: Any) -> float:
    """A forest of river's."""
    rows = [dict(enumerate(row)) for row in X.tolist()]
    ask = getattr(model, "predict_proba_one", model.predict_one)

    def step(t: int) -> None:
        ask(rows[t])
        model.learn_one(rows[t], y[t])

    return micros(step)


def of_one(X: np.ndarray, y: np.ndarray) -> float:
    """The whole predictive distribution of one row."""
    model = AveragedStream(seed=1).update(X[:FIRST], y[:FIRST], progress=False)
    return micros(lambda t: model.predict(X[t : t + 1]))


def through_shell(rows: Path, out: Path) -> None:
    """A stream of the shell over a file."""
    command = ["stream", str(rows), "--formula", "y ~ .", "--seed", "1", "--quiet"]
    assert cli.main([*command, "--out", str(out)]) == 0


def through_river(rows: Path, out: Path) -> None:
    """The same in a loop of river's, whose output others can read meanwhile, too."""
    model = RiverDynamicTreeRegressor(seed=1)
    numbers = dict.fromkeys([*"abcy"], float)
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        for x, y in stream.iter_csv(str(rows), converters=numbers, target="y"):
            answer = model.predict_one(x, with_dist=True).prediction
            quantiles = answer.quantile([0.05, 0.5, 0.95])[0].tolist()
            std = float(answer.var[0] ** 0.5)
            writer.writerow([y, float(answer.mean[0]), std, *quantiles])
            file.flush()
            model.learn_one(x, y)


def of_files(way: Callable[[Path, Path], None], folder: Path) -> float:
    """Time of a row of a file, as of `micros`: a long file less a short one."""
    times = []
    for n in (FIRST, FIRST + ROWS):
        clock = time.process_time()
        way(folder / f"{n}.csv", folder / "out.csv")
        times.append(time.process_time() - clock)
    return 1e6 * (times[1] - times[0]) / ROWS


def shell() -> None:
    """Print the line of the shell."""
    table = pd.DataFrame(np.random.default_rng(1).random((FIRST + ROWS, 4)).round(6))
    table.columns = pd.Index([*"abcy"])
    with tempfile.TemporaryDirectory() as name:
        for n in (FIRST, FIRST + ROWS):
            table[:n].to_csv(Path(name) / f"{n}.csv", index=False)
        pairs = np.array(
            [
                [of_files(way, Path(name)) for way in (through_shell, through_river)]
                for _ in range(PAIRS)
            ]
        )
    ours, theirs = np.median(pairs, axis=0)
    ratio = statistics.median((pairs[:, 0] / pairs[:, 1]).tolist())
    print(
        f"a line of the shell   {ours:.0f} us, {ratio:.2f} times a loop of river's, "
        f"{theirs:.0f} us"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    if "shell" in sys.argv:
        shell()
        return
    n = FIRST + ROWS
    X, y, _ = fried(n, 1)
    base = of_forest(forest.ARFRegressor(n_models=10, seed=1), X, y.tolist())
    print(f"numbers, 5 columns    river's ARF of ten {base:.0f} us")
    for name, options in (
        ("default", {}),
        ("light", {"members": "light"}),
        ("fast", {"members": "fast"}),
        ("linear", {"model": "linear"}),
        ("constant", {"model": "constant"}),
    ):
        own = of_average(X, y, **options)
        print(f"  {name:<20} {own:.0f} us, the forest {base / own:.2f} times that")
    X2, label, _ = rotating_xor(n, 21)
    label = label.astype(int)
    base = of_forest(forest.ARFClassifier(n_models=10, seed=1), X2, label.tolist())
    own = of_average(X2, label, classes=(0, 1))
    print(f"labels, {X2.shape[1]} columns     river's ARF of ten {base:.0f} us")
    print(f"  {'default':<20} {own:.0f} us, the forest {base / own:.2f} times that")
    print(f"predict() of one row  {of_one(X, y):.0f} us")
    rng = np.random.default_rng(5)
    wide = np.hstack([X, rng.random((n, 52))])
    for model in (None, "linear"):
        many = of_average(wide, y, 500, model=model)
        few = of_average(X, y, 500, model=model)
        print(f"57 columns, {model or 'default'}: {many:.0f} us, "
              f"{many / few:.1f} times 5 columns")  # fmt: skip
    shell()


if __name__ == "__main__":
    main()
