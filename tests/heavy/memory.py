"""Resident memory of long streams: it must not grow with the rows seen.

Run ``python -m tests.heavy.memory``; the last result is stored beside this file in
memory.txt. Windows of 100 rows, 50 particles, native rules; each stream is a fresh
process. Met: resident memory after the last row is within 2 % of that after a tenth of
them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dyntree
from dyntree import StreamingTree

STREAMS = {
    "constant, age": ("constant", "age", 1_000_000),
    "linear, alc": ("linear", "alc", 100_000),
    "class, entropy": ("class", "entropy", 100_000),
}
BLOCK = 10_000


def resident() -> int:
    """Bytes of this process in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def stream(title: str) -> None:
    """Learn a drifting stream; print its memory after a tenth and at the end."""
    model, discard, n_rows = STREAMS[title]
    tree = StreamingTree(model, window=100, discard=discard, n_particles=50, seed=1)
    clock, early = time.perf_counter(), 0
    for start in range(0, n_rows, BLOCK):
        rng = np.random.default_rng(start)
        X = rng.random((BLOCK, 5))
        wave = np.sin(2 * np.pi * (start + np.arange(BLOCK)) / 50_000)
        y = 10 * wave * X[:, 0] + 5 * (X[:, 1] > 0.5) + rng.standard_normal(BLOCK)
        if model == "class":
            y = np.digitize(y, (0.0, 5.0))
        tree.update(X, y, progress=False)
        if start + BLOCK == n_rows // 10:
            early = resident()
    late = resident()
    seconds = time.perf_counter() - clock
    growth = late / early - 1.0
    verdict = "met" if growth <= 0.02 else "NOT MET"
    print(f"{title:<16}{n_rows // 10:>9,}: {early / 1e6:7.2f} MB {n_rows:>11,}: "
          f"{late / 1e6:7.2f} MB {growth:+8.2%}  {verdict}"
          f"  {n_rows / seconds:8.0f} rows/s  model {tree.memory_usage() / 1e6:.2f} MB",
          flush=True)  # fmt: skip


def main() -> None:
    if len(sys.argv) > 1:
        stream(sys.argv[1])
        return
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    for title in STREAMS:
        subprocess.run([sys.executable, "-m", "tests.heavy.memory", title], check=True)


if __name__ == "__main__":
    main()
