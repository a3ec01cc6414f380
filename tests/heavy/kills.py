"""kill -9 of ``dyntree stream`` and of ``save`` at random times: nothing is torn.

Run ``python -m tests.heavy.kills [N]``; the last result is stored beside this file in
kills.txt. Rounds of kills over one stream each (`tests.kills`): a kill comes up to
.15 s after the first line that a call writes, with a checkpoint after every row, every
7 or every 40 rows, so that many hit a save. Met: output and last checkpoint are, byte
for byte, those of the undisturbed run. Then as many kills of a process that saves two
models in turn, up to .02 s after its first save. Met: the file is always one or the
other, complete.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import dyntree
from tests.kills import KINDS, tear, torture

KILLS = 7  # in a round
N_ROWS = {1: 150, 7: 800, 40: 2000}  # by the rows between checkpoints


def main() -> None:
    n_all = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    clock, hits, n_rounds = time.perf_counter(), 0, 0
    while hits < n_all:
        kind = list(KINDS)[n_rounds % len(KINDS)]
        every = list(N_ROWS)[n_rounds // len(KINDS) % len(N_ROWS)]
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            hits += torture(place, kind, KILLS, N_ROWS[every], n_rounds, every)
        n_rounds += 1
    seconds = time.perf_counter() - clock
    print(
        f"{hits} kills in {n_rounds} streams, all resumed alike, {seconds:.0f} s  met",
        flush=True,
    )
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        n_torn = tear(Path(folder), n_all, 1)
    seconds = time.perf_counter() - clock
    print(
        f"{n_all} kills of saves, {n_torn} while a file was being written, each time "
        f"one or the other whole, {seconds:.0f} s  met"
    )


if __name__ == "__main__":
    main()
