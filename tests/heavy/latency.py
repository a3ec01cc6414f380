"""Time of single steps: late ones beside the median, over 30,000 rows.

Run ``python -m tests.heavy.latency`` on an idle machine; it takes some three minutes,
and the last result is stored beside this file in latency.txt. Each row comes alone, in
CPU time of the process, to clouds of the stream's own size, to small ones, and to those
of the benchmarks' online steps, whose window is small beside the cloud. Steps at which
the cloud looks at its prior stand apart, and count among all of 99.9 %; rejuvenation is
spread over all rows. Met: the 99th percentile is at most 5 times the median of other
steps, that of looks and 99.9 % of all at most 20 times. The last line of a size is a
floor: the linear stream's steps without the choice of the row that goes.
"""

from __future__ import annotations

import time

import numpy as np

import dyntree
from dyntree import StreamingTree
from dyntree._core.trees.window import next_to_go
from tests.bench.task import Rows

ROWS = 30_000
SIZES = [(1000, 500), (100, 200), (1000, 100)]  # particles, window; first the defaults
STREAMS = [
    ("constant", {}),
    ("constant", {"discard": "age"}),
    ("linear", {}),
    ("linear", {"discard": "random"}),
    ("linear", {"drift": True}),
    ("class", {}),
]


def full(
    model: str, particles: int, window: int, options: dict
) -> tuple[StreamingTree, np.ndarray, np.ndarray]:
    """A stream whose window is full, and the rows that follow."""
    rows = Rows.draw("friedman", ROWS, 0, 1)
    y = np.asarray(rows.target(model), dtype=float)
    tree = StreamingTree(
        model, window=window, n_particles=particles, seed=1, **options
    ).update(rows.X[:window], y[:window], progress=False)
    return tree, rows.X[window:], y[window:]


def stream(
    model: str, particles: int, window: int, options: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of each step, and which of them looked at the prior."""
    tree, X, y = full(model, particles, window, options)
    cloud = tree.tree.state.cloud
    seconds, looked = np.empty(len(y)), np.zeros(len(y), dtype=bool)
    for k in range(len(y)):
        before = cloud.last_look
        clock = time.process_time_ns()
        tree.update(X[k : k + 1], y[k : k + 1], progress=False)
        seconds[k] = (time.process_time_ns() - clock) / 1e9
        looked[k] = cloud.last_look != before
    return seconds, looked


def learning_alone(particles: int, window: int) -> np.ndarray:
    """Seconds that steps of the linear stream take but for what ALC and retiring do."""
    tree, X, y = full("linear", particles, window, {})
    cloud = tree.tree.state.cloud
    seconds = np.empty(len(y))
    for k in range(len(y)):
        clock = time.process_time_ns()
        cloud.update(X[k : k + 1], y[k : k + 1])
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


def measure(particles: int, window: int) -> None:
    """Print the lines of one size of clouds."""
    print(f"{particles} particles, window {window}")
    for model, options in STREAMS:
        seconds, looked = stream(model, particles, window, options)
        text, median, late = told(f"{model} {options or ''}", seconds[~looked])
        met = late <= 5 * median
        if looked.any():
            look = np.quantile(seconds[looked], 0.99) * 1e6
            met &= look <= 20 * median
            text += f", looks {look / median:4.1f} x"
        latest = np.quantile(seconds, 0.999) * 1e6
        met &= latest <= 20 * median
        text += f", 99.9 % {latest / median:4.1f} x"
        print(f"{text}  {'met' if met else 'NOT MET'}", flush=True)
    print(told("linear, learning alone", learning_alone(particles, window))[0])


def main() -> None:
    today = time.strftime("%Y-%m-%d")
    print(f"dyntree {dyntree.__version__}, {today}, {ROWS:,} rows")
    for particles, window in SIZES:
        measure(particles, window)


if __name__ == "__main__":
    main()
