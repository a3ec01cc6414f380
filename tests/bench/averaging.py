"""Rows per second of averaged streams beside one cloud and river's forest; memory.

Run ``python -m tests.bench.averaging [--rows-of-memory N]`` on an idle machine; the
last result is stored beside this file in averaging.txt. Rows are learned in one call,
after 500 that are not timed; the forest learns and foresees row by row, as it must. The
best of three runs counts; the forest has one.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from river import forest

from dyntree import AveragedStream, StreamingTree

from ..statistical.native_tables import drifting, fried, rotating_xor

FIRST, ROWS, FOREST_ROWS = 500, 6000, 2000
# Least ratios to one cloud: on one thread, on two.
ASKED = {"regression": (0.8, 1.5), "classes": (0.4, 0.75)}
FOREST = 5.0


def rate(make: Callable[[], Any], X: Any, y: Any, **more: Any) -> float:
    """Rows per second of `update`, the best of three."""
    best = np.inf
    for _ in range(3):
        model = make().update(X[:FIRST], y[:FIRST], progress=False)
        clock = time.perf_counter()
        model.update(X[FIRST:], y[FIRST:], progress=False, **more)
        best = min(best, time.perf_counter() - clock)
    return float((len(y) - FIRST) / best)


def forest_rate(model: Any, X: Any, y: Any) -> float:
    """The same of a forest of river's, foreseeing included."""
    rows = [dict(enumerate(row)) for row in X[:FOREST_ROWS].tolist()]
    clock = time.perf_counter()
    for row, response in zip(rows, y[:FOREST_ROWS].tolist(), strict=True):
        model.predict_one(row)
        model.learn_one(row, response)
    return FOREST_ROWS / (time.perf_counter() - clock)


def streams() -> dict[str, tuple[str, str, Any, Any, dict[str, Any]]]:
    X, y, _ = fried(ROWS, 2)
    D, v, _ = drifting(ROWS, 11, 0.5)
    Z, label, _ = rotating_xor(ROWS, 21)
    known = {"classes": (0, 1)}
    return {
        "fried5, linear": ("regression", "linear", X, y, {}),
        "drift .5, linear": ("regression", "linear", D, v, {"drift": True}),
        "rotating XOR": ("classes", "class", Z, label, known),
    }


def speeds() -> int:
    """Print rates and ratios; returns how many are below what was asked."""
    missed = 0
    for name, (kind, model, X, y, more) in streams().items():
        known = {"classes": (0, 1)} if kind == "classes" else {}
        one = rate(partial(StreamingTree, model, seed=1, **more), X, y)
        own = [
            rate(
                lambda m=model, k=known: AveragedStream(m, seed=1, **k), X, y, threads=n
            )
            for n in (1, 2)
        ]
        peer = forest.ARFClassifier if kind == "classes" else forest.ARFRegressor
        other = forest_rate(peer(n_models=10, seed=1), X, y)
        asked = (*ASKED[kind], FOREST)
        ratios = own[0] / one, own[1] / one, own[0] / other
        pairs = list(zip(ratios, asked, strict=True))
        missed += sum(r < a for r, a in pairs)
        print(
            f"{name:<18} one cloud of 1000 {one:.0f} rows/s; average {own[0]:.0f}, on "
            f"two threads {own[1]:.0f}; forest of ten {other:.0f}\n{'':<18} ratios "
            + ", ".join(
                f"{r:.2f} (asked {a})" for r, a in zip(ratios, asked, strict=True)
            ),
            flush=True,
        )
    return missed


def memory(n_rows: int) -> None:
    """Print what an average holds as the stream goes on."""
    rng = np.random.default_rng(0)
    stream = AveragedStream("class", classes=(0, 1), n_particles=5, seed=1)
    told = []
    for k in range(20):
        X = rng.random((n_rows // 20, 3))
        stream.update(X, (X[:, 0] > 0.5 + 0.3 * np.sin(k)).astype(int), progress=False)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        told.append((stream.n_seen, stream.memory_usage() / 2**20, peak))
    for n, held, peak in told[1::6]:
        print(f"{n:>9} rows: {held:.2f} MiB held, process {peak:.0f} MiB at most")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows-of-memory", type=int, default=1_000_000)
    chosen = parser.parse_args()
    missed = speeds()
    memory(chosen.rows_of_memory)
    print(f"{missed} below what was asked")
    return missed


if __name__ == "__main__":
    sys.exit(main())
