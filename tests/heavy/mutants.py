"""Mutated checkpoints: each is refused as such, or loads into a model that works.

Run ``python -m tests.heavy.mutants [N]``; the last result is stored beside this file
in mutants.txt. `tests.mutants` makes the mutants (bytes of the file, fields of the
header, elements and shapes of arrays) of small models of every kind, loads them, and
uses what was loaded. Met: no crash, no other error, no hang, and never more than 512 MB
asked for beyond what the process held.
"""

from __future__ import annotations

import subprocess
import sys
import time

import dyntree

FIRST = 1_000_000  # the tests of the suite have those from 0 on
BATCH = 10_000


def main() -> None:
    n_all = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    clock, n_loaded, failures = time.perf_counter(), 0, 0
    for first in range(FIRST, FIRST + n_all, BATCH):
        last = min(first + BATCH, FIRST + n_all)
        process = subprocess.run(
            [sys.executable, "-m", "tests.mutants", str(first), str(last)],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            failures += 1
            print(f"{first}..{last}: {process.returncode}\n{process.stderr}")
        else:
            n_loaded += int(process.stdout.split()[1])
    seconds = time.perf_counter() - clock
    verdict = "NOT MET" if failures else "met"
    print(f"{n_all:,} mutants, {n_loaded:,} loaded and used, {failures} failed batches")
    print(f"{seconds:.0f} s  {verdict}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
