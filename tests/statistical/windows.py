"""Full fit and two windows on Friedman's function, native against R's rules.

Run ``python -m tests.statistical.windows``; the last result is stored in windows.txt
beside this file. Five inputs, 2000 rows, linear leaves, 1000 particles, ten repeats
(seeds 0 to 9 of data and model): root mean squared error against the noise-free mean at
1000 points. R's rules fit with an implicit intercept and stream with an augmented one,
as CRAN dynaTree must; windows hold 100 rows.
"""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np

import dyntree
from dyntree import DynamicTree, StreamingTree

from .native_tables import fried

REPEATS, ROWS, WINDOW, PARTICLES = 10, 2000, 100, 1000


def full(rules: str, seed: int) -> float:
    return error(
        DynamicTree("linear", rules=rules, n_particles=PARTICLES, seed=seed), seed
    )


def window(discard: str, rules: str, seed: int) -> float:
    intercept = "augmented" if rules == "r" else "implicit"
    stream = StreamingTree(
        "linear", window=WINDOW, discard=discard, rules=rules, intercept=intercept,
        n_particles=PARTICLES, seed=seed,
    )  # fmt: skip
    return error(stream, seed)


def error(model: DynamicTree | StreamingTree, seed: int) -> float:
    X, y, _ = fried(ROWS, seed)
    new, _, mean = fried(1000, 1000 + seed)
    model.update(X, y, progress=False)
    return float(np.sqrt(np.mean((model.predict(new).mean - mean) ** 2)))


def main() -> int:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}; RMSE (se) of "
          f"{REPEATS} repeats")  # fmt: skip
    print(f"{'':<22}{'native':>15}{'R rules':>15}{'paired difference':>20}")
    failed = 0
    tasks = {"full fit": full} | {
        f"window, {discard}": partial(window, discard) for discard in ("random", "alc")
    }
    for title, run in tasks.items():
        native, r = (
            np.array([run(rules, seed) for seed in range(REPEATS)])
            for rules in ("native", "r")
        )
        gain = r - native
        se = gain.std(ddof=1) / REPEATS**0.5
        met = gain.mean() > (2.0 if run is full else -2.0) * se
        failed += not met
        cells = "".join(
            f"{v.mean():8.3f} ({v.std(ddof=1) / REPEATS**0.5:.3f})"
            for v in (native, r, gain)
        )
        print(f"{title:<22}{cells}   {'met' if met else 'NOT MET'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
