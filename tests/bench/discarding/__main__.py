"""Run what is missing of some figures, and print their tables."""

from __future__ import annotations

import argparse
import os

from .figures import CI, PAPER, figure
from .store import HERE, Results, run
from .tables import table

FIGURES = ("1", "2", "3", "table1", "4", "windows", "5", "6")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--scale", choices=("paper", "ci"), default="ci")
    parser.add_argument("--repeats", type=int, help="instead of those of the scale")
    parser.add_argument(
        "--rules",
        nargs="+",
        help="run their cases only",
    )
    parser.add_argument("--elec2", help="a CSV file with the columns x1 to x4, y")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--print", action="store_true", help="run nothing")
    given = parser.parse_args()
    os.environ.setdefault("DYNTREE_NUM_THREADS", "1")
    scale = PAPER if given.scale == "paper" else CI
    for name in given.figure:
        function, cases = figure(name, scale, given.elec2)
        path = HERE / f"figure_{name}.json" if scale is PAPER else None
        results = Results(path)
        repeats = given.repeats or scale.repeats[name]
        if not given.print:
            wanted = [c for c in cases if not given.rules or c["rules"] in given.rules]
            jobs = [(case, repeat) for repeat in range(repeats) for case in wanted]
            run(function, jobs, results, given.workers)
        print(table(name, cases, results), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
