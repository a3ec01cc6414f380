"""Time of single steps: the 99th percentile beside the median, over 10^5 rows.

Run ``python -m tests.heavy.latency`` on an idle machine; the last result is stored
beside this file in latency.txt. Each row is given alone, in CPU time of the process.
Steps at which the cloud looks at its prior or is rejuvenated stand apart. Met: the 99th
percentile is at most 5 times the median, that of looks at most 20 times. The last line
is a floor: the steps of the linear stream without the choice of the row that goes.
"""

from __future__ import annotations

import time

import numpy as np

import dyntree
from dyntree import StreamingTree
from dyntree._core.stream import next_to_go
from tests.bench.task import Rows

ROWS, PARTICLES, WINDOW = 100_000, 100, 200
STREAMS = [
    ("constant", {}),
    ("constant", {"discard": "age"}),
    ("linear", {}),
    ("linear", {"drift": True}),
    ("class", {}),
]


def full(model: str, options: dict) -> tuple[StreamingTree, np.ndarray, np.ndarray]:
    """A stream whose window is full, and the rows it comes from."""
    rows = Rows.draw("friedman", ROWS, 0, 1)
    y = np.asarray(rows.target(model), dtype=float)
    tree = StreamingTree(
        model, window=WINDOW, n_particles=PARTICLES, seed=1, **options
    ).update(rows.X[:WINDOW], y[:WINDOW], progress=False)
    return tree, rows.X, y


def stream(model: str, options: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds of each step, and which of them looked, or grew trees anew."""
    tree, X, y = full(model, options)
    cloud, every = tree.tree._cloud, tree.options.rejuvenate_every or ROWS + 1
    seconds, looked = np.empty(ROWS - WINDOW), np.zeros(ROWS - WINDOW, dtype=bool)
    for k, t in enumerate(range(WINDOW, ROWS)):
        before = cloud.last_look
        clock = time.process_time_ns()
        tree.update(X[t : t + 1], y[t : t + 1], progress=False)
        seconds[k] = (time.process_time_ns() - clock) / 1e9
        looked[k] = cloud.last_look != before
    return seconds, looked, np.arange(WINDOW + 1, ROWS + 1) % every == 0


def learning_alone() -> np.ndarray:
    """Seconds that steps of the linear stream take but for what ALC and retiring do."""
    tree, X, y = full("linear", {})
    cloud = tree.tree._cloud
    seconds = np.empty(ROWS - WINDOW)
    for k, t in enumerate(range(WINDOW, ROWS)):
        clock = time.process_time_ns()
        cloud.update(X[t : t + 1], y[t : t + 1])
        seconds[k] = (time.process_time_ns() - clock) / 1e9
        cloud.retire([next_to_go(cloud, "alc")], 1.0)
    return seconds


def told(name: str, seconds: np.ndarray) -> tuple[str, float, float]:
    """A line on steps, and their median and 99th percentile in microseconds."""
    median, late = np.quantile(seconds, [0.5, 0.99]) * 1e6
    return (
        f"{name:<30} median {median:6.1f} us, 99 % {late:6.1f} us or "
        f"{late / median:4.1f} x",
        median,
        late,
    )


def main() -> None:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, {ROWS:,} rows, "
          f"{PARTICLES} particles, window {WINDOW}")  # fmt: skip
    for model, options in STREAMS:
        seconds, looked, grown = stream(model, options)
        text, median, late = told(f"{model} {options or ''}", seconds[~looked & ~grown])
        met = late <= 5 * median
        if looked.any():
            look = np.quantile(seconds[looked & ~grown], 0.99) * 1e6
            met &= look <= 20 * median
            text += f", looks {look / median:4.1f} x"
        if grown.any():
            text += f", rejuvenated {np.median(seconds[grown]) * 1e6 / median:5.0f} x"
        print(f"{text}  {'met' if met else 'NOT MET'}", flush=True)
    print(told("linear, learning alone", learning_alone())[0])


if __name__ == "__main__":
    main()
