"""What persistence and the width of the pool give to mixed averages.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.mixed_parts``; the last result is
stored beside this file in mixed_parts.txt. Streams are learned by the default average
with and without the last response, row by row; scored are the rows from 60 on. Tables
are those of `tests.statistical.tables`, in five folds, predicted by one fit with and
without the width that it has found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import statsmodels.datasets as sets
from river import datasets
from sklearn.model_selection import KFold

from dyntree import AveragedStream, AveragedTrees
from dyntree.evaluate import prequential

from .tables import REAL_SETS, rows

N_ROWS, START = 2000, 60
Rows = tuple[np.ndarray, np.ndarray]


class Memoryless(AveragedStream):
    """The default average without the last response."""

    _persists, _spreads = False, True  # type: ignore[assignment]


def lagged(y: np.ndarray, n_lags: int = 2) -> Rows:
    """The last values as inputs."""
    lags = [y[n_lags - 1 - j : len(y) - 1 - j] for j in range(n_lags)]
    return np.column_stack(lags), y[n_lags:]


def levels(rng: np.random.Generator, chance: float, noise: float) -> np.ndarray:
    """A level that is drawn anew now and then, with noise."""
    level = np.empty(N_ROWS + 2)
    now = 0.0
    for t in range(len(level)):
        if rng.random() < chance:
            now = rng.uniform(-10.0, 10.0)
        level[t] = now
    return level + noise * rng.standard_normal(len(level))


def streams() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, inputs and responses."""
    rng, n = np.random.default_rng(71), N_ROWS + 2
    yield "levels, lagged", *lagged(levels(rng, 0.02, 0.3))
    yield "levels, silent", rng.random((N_ROWS, 2)), levels(rng, 0.02, 0.3)[2:]
    yield "rare levels, lagged", *lagged(levels(rng, 0.005, 1.0))
    yield "quiet levels, lagged", *lagged(levels(rng, 0.005, 0.02), 1)
    yield "walk, lagged", *lagged(np.cumsum(rng.standard_normal(n)))
    walk = np.cumsum(rng.standard_t(3, n))
    yield "walk, silent", rng.random((N_ROWS, 2)), walk[2:]
    series = np.zeros(n)
    for t in range(1, n):
        series[t] = 0.7 * series[t - 1] + rng.standard_normal()
    yield "autoregression", *lagged(series)
    X = rng.random((N_ROWS, 5))
    mean = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    y = mean + 10.0 * X[:, 3] + 5.0 * X[:, 4] + rng.standard_normal(N_ROWS)
    yield "friedman", X, y
    yield "sunspots", *lagged(sets.sunspots.load_pandas().data.iloc[:, 1].to_numpy(), 3)
    air = sets.co2.load_pandas().data["co2"].interpolate().to_numpy()
    yield "CO2", *lagged(air[:N_ROWS], 3)
    yield "Nile", *lagged(sets.nile.load_pandas().data["volume"].to_numpy(float))
    flow = np.array([value for _, value in datasets.WaterFlow()], float)
    yield "water flow, lagged", *lagged(flow)
    hours = np.arange(len(flow), dtype=float)
    yield "water flow, hours", np.column_stack([hours % 24, hours]), flow


def on_streams() -> None:
    """Error and log density without and with the last response."""
    changes = []
    for name, X, y in streams():
        seen = [
            prequential(kind(seed=3), X, y, start=START, progress=False).scores
            for kind in (Memoryless, AveragedStream)
        ]
        before, after = seen
        gain = after.log_density - before.log_density
        ratio = after.rmse / before.rmse
        changes.append((np.log(ratio), gain))
        print(f"{name:<22} RMSE {before.rmse:.4g} -> {after.rmse:.4g} "
              f"({100 * (ratio - 1):+.1f} %), log density {gain:+.3f}",
              flush=True)  # fmt: skip
    mean, least = np.mean(changes, axis=0), np.min(changes, axis=0)
    worst = 100 * np.expm1(np.max(changes, axis=0)[0])
    print(f"geometric mean {100 * np.expm1(mean[0]):+.1f} %, worst {worst:+.1f} %; "
          f"log density {mean[1]:+.3f}, worst {least[1]:+.3f}\n")  # fmt: skip


def on_tables() -> None:
    """Log density and coverage of 90 % intervals without and with the width."""
    gains = []
    for name in REAL_SETS:
        X, y = rows(name)
        folds = []
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            model = AveragedTrees(seed=1).update(X[train], y[train], progress=False)
            plain = model.copy()
            plain._spread_factor = 1.0
            scores = []
            for one in (plain, model):
                answer = one.predict(X[test])
                low, high = answer.quantile([0.05, 0.95]).T
                inside = np.mean((low <= y[test]) & (y[test] <= high))
                scores += [answer.log_density(y[test]).mean(), inside]
            folds.append(scores)
        before, cover, after, covered = np.mean(folds, axis=0)
        gains.append(after - before)
        print(f"{name:<22} log density {after - before:+.3f}, "
              f"coverage {cover:.3f} -> {covered:.3f}", flush=True)  # fmt: skip
    print(f"mean {np.mean(gains):+.3f}, worst {np.min(gains):+.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    on_streams()
    on_tables()
