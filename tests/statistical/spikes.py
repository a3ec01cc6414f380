"""What `robust=True` costs on clean streams, and buys where responses spike or jump.

Run ``python -m tests.statistical.spikes [--elec2 FILE] [--part NAME]``, with the parts
clean, spikes, jumps and speed; the last result is stored beside this file in
spikes.txt. Pairs of models differ by the option alone and share their seed and rows, so
differences are paired; standard errors are those over seeds. Clean streams are
Friedman's function, still and drifting, a noise with three degrees of freedom, a level
that jumps by 17 standard deviations in half of the space, the motorcycle data in random
order, and demand in ELEC2 by the half hour before (which is not part of the project).
Each row is predicted, scored, then learned.
Spikes come into a stream of even noise about 0, or about 0 and 3: what is told is the
root mean square distance to the truth a hundred rows later. Jumps are told by the rows
until the error is half of the jump.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dyntree
from dyntree import AveragedStream, StreamingTree
from dyntree.datasets import load_mcycle
from dyntree.evaluate import prequential

from .native_tables import drifting, fried

SEEDS = 3
Maker = Callable[[bool, int], Any]
MAKERS: dict[str, Maker] = {
    "window 500, constant": lambda on, seed: StreamingTree(
        n_particles=200, robust=on, seed=seed
    ),
    "window 500, linear": lambda on, seed: StreamingTree(
        "linear", n_particles=200, robust=on, seed=seed
    ),
    "drift, linear": lambda on, seed: StreamingTree(
        "linear", n_particles=100, drift=True, robust=on, seed=seed
    ),
    "average, constant": lambda on, seed: AveragedStream(
        n_particles=50, robust=on, seed=seed
    ),
    "average, linear": lambda on, seed: AveragedStream(
        "linear", n_particles=50, robust=on, seed=seed
    ),
}
Rows = tuple[str, np.ndarray, np.ndarray, int]


def clean_streams(elec2: str | None) -> Iterator[Rows]:
    """Name, rows, responses, and the first row that is scored."""
    X, y, _ = fried(1500, 1)
    yield "fried5", X, y, 200
    X, y, _ = drifting(1500, 11, 0.5)
    yield "drift k = 0.5", X, y, 200
    rng = np.random.default_rng(3)
    X = rng.random((1500, 3))
    yield "noise t3", X, 5.0 * X[:, 0] + rng.standard_t(3, size=1500), 200
    level = np.where(np.arange(1500) // 250 % 2 == 1, 5.0, 0.0) * (X[:, 0] > 0.5)
    yield "jumps in half", X, level + 0.3 * rng.standard_normal(1500), 200
    table = load_mcycle().to_numpy(dtype=float)
    table = table[np.random.default_rng(0).permutation(len(table))]
    yield "mcycle, mixed", table[:, :1], table[:, 1], 10
    if elec2 is not None:
        table = np.genfromtxt(elec2, delimiter=",", skip_header=1)[5000:6501]
        yield "elec2, demand", table[:-1, :2], table[1:, 0], 200


def clean(elec2: str | None) -> None:
    """Print the differences that the option makes on clean streams."""
    print(
        f"\n{'clean streams: change by the option (se)':<38}{'rmse, %':>16}"
        f"{'log density':>20}{'coverage':>18}"
    )
    for name, X, y, start in clean_streams(elec2):
        for model, make in MAKERS.items():
            found = []
            for seed in range(SEEDS):
                off, on = (
                    prequential(make(on, seed), X, y, start=start, progress=False)
                    for on in (False, True)
                )
                one, two = off.to_dict(), on.to_dict()
                found.append(
                    (
                        100.0 * (two["rmse"] / one["rmse"] - 1.0),
                        two["log_density"] - one["log_density"],
                        two["coverage"] - one["coverage"],
                    )
                )
            mean = np.mean(found, axis=0)
            error = np.std(found, axis=0, ddof=1) / SEEDS**0.5
            cells = "".join(
                f"{m:+.{d}f} ({s:.{d}f})".rjust(w)
                for m, s, d, w in zip(mean, error, (2, 4, 4), (16, 20, 18), strict=True)
            )
            print(f"{name + ', ' + model:<38}{cells}", flush=True)


def level_and_noise(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(100 + seed)
    X = rng.random((n, 2))
    return X, 3.0 * (X[:, 0] > 0.5) + rng.uniform(-0.5, 0.5, n)


def places(kind: str, seed: int) -> Any:
    """Rows of the first 500 that a spike comes to, of a kind."""
    rng = np.random.default_rng(seed)
    if kind == "four in a row":
        return [400, 401, 402, 403]
    if kind == "row 1" or kind == "row 5":
        return [int(kind[-1]) - 1]
    if kind.endswith("%"):
        return np.flatnonzero(rng.random(400) < float(kind[:-1]) / 100.0)
    return [400]


SPIKES = {
    "none": 0.0, "1e3": 1e3, "1e6": 1e6, "-1e6": -1e6, "four in a row": 1e6,
    "row 1": 1e6, "row 5": 1e6, "1 %": 1e6, "5 %": 1e6, "10 %": 1e6,
}  # fmt: skip


def spikes() -> None:
    """Print errors and widths of intervals a hundred rows after spikes."""
    print(f"\n{'spikes: error 100 rows later / width of 90 % interval, median of 5'}")
    print(f"{'':<24}" + "".join(f"{kind:>24}" for kind in ("off", "robust")))
    X_new = np.random.default_rng(0).random((200, 2))
    truth = 3.0 * (X_new[:, 0] > 0.5)
    for model, make in MAKERS.items():
        print(model)
        for kind, value in SPIKES.items():
            cells = ""
            for on in (False, True):
                found = []
                for seed in range(5):
                    X, y = level_and_noise(seed)
                    n = 110 if kind.startswith("row") else 500
                    y[places(kind, seed)] += value
                    model_ = make(on, seed).update(X[:n], y[:n])
                    answer = model_.predict(X_new)
                    low, high = answer.quantile([0.05, 0.95]).T
                    error = np.sqrt(np.mean((answer.mean - truth) ** 2))
                    found.append((error, float(np.median(high - low))))
                error, width = np.median(found, axis=0)
                cells += f"{error:.3g} / {width:.3g}".rjust(24)
            print(f"  {kind:<22}{cells}", flush=True)


def jumps() -> None:
    """Print how many rows it takes to see a jump of the level."""
    print("\njumps of the level: rows until half of it is predicted, mean of 5 (se)")
    print(f"{'':<24}" + "".join(f"{kind:>24}" for kind in ("off", "robust")))
    for model, make in MAKERS.items():
        print(model)
        for size in (1, 5, 50, 1e6):
            cells = ""
            for on in (False, True):
                found = []
                for seed in range(5):
                    X, y = level_and_noise(seed, 900)
                    y[300:] += size * 12**-0.5
                    tree = make(on, seed).update(X[:300], y[:300])
                    X_new, rows = X[:60], 600
                    truth = 3.0 * (X_new[:, 0] > 0.5)
                    for k in range(300, 900, 2):
                        tree.update(X[k : k + 2], y[k : k + 2])
                        moved = float(np.mean(tree.predict(X_new).mean - truth))
                        if moved > 0.5 * size * 12**-0.5:
                            rows = k + 2 - 300
                            break
                    found.append(rows)
                error = np.std(found, ddof=1) / 5**0.5
                cells += f"{np.mean(found):.0f} ({error:.0f})".rjust(24)
            print(f"  {size:<22g}{cells}", flush=True)


def speed() -> None:
    """Print the CPU time of a row, best of three."""
    print("\nmicroseconds of CPU a row, without spikes, best of 3: off, robust, ratio")
    X, y, _ = fried(2000, 1)
    for model, make in MAKERS.items():
        best = {False: np.inf, True: np.inf}
        for on in (False, True) * 3:
            tree = make(on, 1).update(X[:200], y[:200])
            clock = time.process_time()
            tree.update(X[200:], y[200:], progress=False)
            best[on] = min(best[on], (time.process_time() - clock) / 1800 * 1e6)
        print(
            f"{model:<24}{best[False]:8.0f}{best[True]:8.0f}"
            f"{best[True] / best[False]:8.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elec2", help="CSV file with x1, x2, x3, x4, y")
    parser.add_argument("--part", default="", help="one part alone")
    chosen = parser.parse_args()
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}, one thread")
    warnings.simplefilter("ignore")  # of spikes
    parts = {"clean": lambda: clean(chosen.elec2), "spikes": spikes, "jumps": jumps}
    for name, run in (parts | {"speed": speed}).items():
        if chosen.part in name:
            run()


if __name__ == "__main__":
    main()
