"""One page: what the small-variance mixtures find and cost, beside targets and peers.

``python -m tests.bench.sva [--elec2 FILE] [--only quality|speed]`` takes a few minutes
on one core. The last page is stored beside this file.
"""

from __future__ import annotations

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded


def main() -> None:
    from importlib.metadata import PackageNotFoundError, version

    from . import sva_quality, sva_speed

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elec2", help="CSV file with columns x1 to x4, y")
    parser.add_argument("--only", choices=("quality", "speed"))
    given = parser.parse_args()
    for package in ("numpy", "scikit-learn", "river", "hmmlearn"):
        try:
            print(package, version(package), end="; ")
        except PackageNotFoundError:
            print(package, "absent", end="; ")
    print()
    if given.only != "speed":
        for line in sva_quality.experiments(given.elec2):
            print(line, flush=True)
    if given.only != "quality":
        for line in sva_speed.speeds():
            print(line, flush=True)


if __name__ == "__main__":
    main()
