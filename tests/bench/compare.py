"""One table: what the package costs, beside its peers.

``python -m tests.bench.compare [--only NAME] [--json FILE] [--again]``: both sides get
the same rows and take turns. A figure is of a fresh process, from before the work to
after it, on one thread unless the line is about threads; a ratio is the median over
pairs, each on rows of its own. A line whose peer is absent is left out, with the
reason. Lines that stand in FILE, taken today with this version, are not taken again
unless told: a run that was broken off goes on where it was. With ``--rates`` the table
is that of rates.py: rows learned per second.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import lines, rates
from .gauges import Absent
from .results import Results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument("--json", type=Path, help="file that the rows are kept in")
    parser.add_argument("--again", action="store_true", help="even what stands there")
    parser.add_argument("--pairs", type=int, help="pairs a line, else its own number")
    parser.add_argument("--rates", action="store_true", help="rows learned per second")
    given = parser.parse_args()
    chosen = [
        line
        for line in (rates.RATES if given.rates else lines.LINES)
        if given.only in line.work
    ]
    text = rates.text if given.rates else lines.text
    results = Results(given.json)
    print(rates.HEADER if given.rates else lines.HEADER)
    for line in chosen:
        pairs = given.pairs or line.pairs
        row = None if given.again else results.fresh(line.work, pairs)
        if row is None:
            try:
                row = line.measure(pairs)
            except Absent as reason:
                print(f"{line.work}: left out, {reason}", flush=True)
                continue
            results.add(row)
        print(text(row), flush=True)


if __name__ == "__main__":
    main()
