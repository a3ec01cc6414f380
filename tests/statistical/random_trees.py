"""When random trees split a leaf, and among how many cuts: what each choice gives.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.random_trees``; the last result is
stored beside this file in random_trees.txt. Streams of 2,500 rows with 2 to 100 columns
are predicted and learned row by row, with three seeds each. A line has a stream and a
discount, and for each pair of `min_split` and `n_candidates` the mean log loss of
labels, or minus the mean log density of numbers, of the rows from 30 to 300 and of
those after, and the error (of labels) or RMSE after row 300. At the end stand the
means of the losses and of the ratios of errors, compared with the first pair, and
the time of a row.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from dyntree import RandomTreesStream
from dyntree.evaluate import prequential

from .native_tables import friedman_mean

N_ROWS, EARLY, LATE, SEEDS = 2500, 30, 300, range(3)
PAIRS = ((8, 16), (8, 64), (16, 32), (16, 64), (32, 16), (32, 64), (64, 64))
Stream = tuple[str, np.ndarray, np.ndarray]


def of_labels(rng: np.random.Generator) -> Iterator[Stream]:
    """Names, inputs and labels."""
    n, late = N_ROWS, np.arange(N_ROWS) >= N_ROWS // 2
    X = rng.random((n, 2))
    yield "checker of 2", X, ((X > 0.5).sum(axis=1) == 1).astype(int)
    X = rng.random((n, 40))
    yield "checker, 2 of 40", X, ((X[:, :2] > 0.5).sum(axis=1) == 1).astype(int)
    X = rng.random((n, 100))
    noise = 0.3 * rng.standard_normal(n)
    yield "plane, 4 of 100", X, (X[:, :4].sum(axis=1) + noise > 2.0).astype(int)
    X = rng.random((n, 12))
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)
    yield (
        "steps, noisy, 12",
        X,
        np.where(rng.random(n) < 0.15, rng.integers(0, 3, n), y),
    )
    X = rng.standard_normal((n, 20))
    y = rng.integers(0, 5, n)
    X[:, :5] += 2.0 * np.eye(5)[y]
    yield "blobs, 5 of 20", X, y
    X = rng.standard_normal((n, 4))
    y = (np.square(X[:, :2]).sum(axis=1) < 1.5).astype(int)
    yield "ring, 2 of 4", X, np.where(late, 1 - y, y)
    X = rng.random((n, 8))
    yield "change of 8", X, np.where(late, X[:, 3] > 0.5, X[:, 0] > 0.5).astype(int)


def of_numbers(rng: np.random.Generator) -> Iterator[Stream]:
    """Names, inputs and responses."""
    n, late = N_ROWS, np.arange(N_ROWS) >= N_ROWS // 2
    X = rng.random((n, 5))
    yield "friedman", X, friedman_mean(X) + rng.standard_normal(n)
    X = rng.random((n, 60))
    y = 3.0 * (X[:, 0] > 0.4) + 2.0 * (X[:, 1] > 0.7)
    yield "steps, 2 of 60", X, y + 0.5 * rng.standard_normal(n)
    X = rng.standard_normal((n, 15))
    yield "plane, 4 of 15", X, X[:, :4] @ [2, 1, 1, 1] + rng.standard_normal(n)
    X = rng.random((n, 2))
    yield "wave, 1 of 2", X, np.sin(9.0 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    X = rng.random((n, 6))
    y = np.where(late, 3.0 * (X[:, 2] > 0.5), 3.0 * (X[:, 0] > 0.5))
    yield "change of 6", X, y + 0.5 * rng.standard_normal(n)
    yield "nothing", X, rng.standard_normal(n)


def scores(
    stream: Stream, model: str, discount: float, pair: tuple[int, int], seed: int
) -> list[float]:
    """Early loss, late loss, late error, and microseconds a row."""
    trees = RandomTreesStream(
        model, discount=discount, min_split=pair[0], n_candidates=pair[1], seed=seed
    )
    seen = prequential(trees, *stream[1:], start=EARLY, progress=False)
    loss, late = -seen.log_density, slice(LATE - EARLY, None)
    error = seen.losses[late].mean() ** (1.0 if model == "class" else 0.5)
    time = 1e6 * seen.seconds_per_row
    return [loss[: late.start].mean(), loss[late].mean(), error, time]


def main() -> None:
    """Print all lines."""
    for discount in (1.0, 1.0 - 1.0 / 200.0):
        for model, kind in (("class", of_labels), ("constant", of_numbers)):
            print(f"model={model!r}, discount={discount:g}: early loss, late loss, "
                  "error, us a row")  # fmt: skip
            print(" " * 18 + "".join(f"{pair!s:>26}" for pair in PAIRS))
            found: dict[str, list[list[list[float]]]] = {}
            for seed in SEEDS:
                for stream in kind(np.random.default_rng([2065, seed])):
                    found.setdefault(stream[0], []).append(
                        [scores(stream, model, discount, pair, seed) for pair in PAIRS]
                    )
            for name, each in found.items():
                show(name, np.mean(each, axis=0))
            every = np.array([np.mean(each, axis=0) for each in found.values()])
            every[:, :, :2] -= every[:, :1, :2]
            every[:, :, 2:] = np.log(every[:, :, 2:] / every[:, :1, 2:])
            change = every.mean(axis=0)
            change[:, 2:] = np.exp(change[:, 2:])
            show("change", change)
            print()


def show(name: str, cells: np.ndarray) -> None:
    """Print a line."""
    text = "".join(
        f"{early:9.3f}{late:7.3f}{error:6.3f}{time:4.0f}" if name != "change" else
        f"{early:+9.3f}{late:+7.3f}{error:6.3f}{time:4.1f}"
        for early, late, error, time in cells
    )  # fmt: skip
    print(f"{name:<18}{text}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
