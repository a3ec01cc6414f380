"""One page: what dependent mixtures find and cost, beside targets and baselines.

``python -m tests.bench.ddp [--elec2 FILE] [--only quality|speed]`` takes about five
minutes on one core. The last page is stored beside this file.
"""

from __future__ import annotations

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded


def main() -> None:
    from importlib.metadata import version

    from . import ddp_scenes, ddp_speed

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elec2", help="CSV file with columns x1 to x4, y")
    parser.add_argument("--only", choices=("quality", "speed"))
    given = parser.parse_args()
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn")))
    if given.only != "speed":
        for line in ddp_scenes.experiments():
            print(line, flush=True)
        for line in ddp_speed.markets(given.elec2):
            print(line, flush=True)
    if given.only != "quality":
        for line in ddp_speed.speeds():
            print(line, flush=True)


if __name__ == "__main__":
    main()
