"""Columns of many levels: one feature for each level, or the effect of the level.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.many_levels``; the last result is
stored beside this file in many_levels.txt. Tables are repeated measures that R ships,
of which a level is a tree, a boy, a chick or a variety of sugar cane, and made ones, in
four folds; `AveragedTrees` have three clouds of 30 particles. Streams are 1,500 rows of
200 levels; a `StreamingTree` has 50 particles and a window of 300. Three seeds each.
Shown are the mean log density of the responses, the gain over one feature a level with
its standard error, the error of labels or the coverage of intervals of 90 %, and the
time.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import dyntree

WAYS = ("onehot", "auto", "left out")
N_SEEDS, N_FOLDS, N_STREAM = 3, 4, 1500
FROM_R = {
    "Sitka, 79 trees": ("MASS::Sitka", "size", ["Time", "treat"], "tree"),
    "Oxboys, 26 boys": (
        "as.data.frame(nlme::Oxboys)", "height", ["age", "Occasion"], "Subject",
    ),
    "ChickWeight, 50 chicks": (
        "as.data.frame(datasets::ChickWeight)", "weight", ["Time", "Diet"], "Chick",
    ),
    "cane, 45 varieties": (
        "transform(subset(boot::cane, n > 0), share = r / n)", "share", ["block"],
        "var",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Inputs, of which column "g" has many levels, and responses."""

    X: pd.DataFrame
    y: Any


def from_r(expression: str, response: str, others: list[str], level: str) -> Rows:
    """A table that R or one of its recommended packages ships."""
    code = f"write.csv({expression}, row.names = FALSE)"
    text = subprocess.run(
        ["Rscript", "-e", code], check=True, capture_output=True, text=True
    ).stdout
    frame = pd.read_csv(io.StringIO(text))
    X = frame[others].copy()
    for name in {"treat", "Diet", "block"} & {*others}:
        X[name] = X[name].astype(str)
    X["g"] = level[0] + frame[level].astype(str)
    return Rows(X, frame[response].to_numpy(float))


def made_table(n_levels: int, sd: float, seed: int, n: int = 400) -> Rows:
    """A step times a line, and an effect of each level with this deviation."""
    rng = np.random.default_rng(seed)
    g, effects = rng.integers(0, n_levels, n), sd * rng.standard_normal(n_levels)
    X = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "c"])
    y = effects[g] + 3.0 * X["a"] * (X["b"] > 0.5) + 0.5 * rng.standard_normal(n)
    return Rows(X.assign(g=[f"g{k}" for k in g]), y.to_numpy())


def made_labels(n_levels: int, sd: float, seed: int, n: int = 800) -> Rows:
    """Log odds of a line, and of each level."""
    rng = np.random.default_rng(seed)
    g, effects = rng.integers(0, n_levels, n), sd * rng.standard_normal(n_levels)
    X = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "c"])
    odds = effects[g] + 2.0 * (X["a"] - 0.5)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no")
    return Rows(X.assign(g=[f"g{k}" for k in g]), y)


def made_counts(n_levels: int, sd: float, seed: int, n: int = 800) -> Rows:
    """Log rates of a line, and of each level."""
    rng = np.random.default_rng(seed)
    g, effects = rng.integers(0, n_levels, n), sd * rng.standard_normal(n_levels)
    X = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "c"])
    y = rng.poisson(np.exp(1.0 + effects[g] + X["a"]))
    return Rows(X.assign(g=[f"g{k}" for k in g]), y)


def scores(prediction: Any, y: Any) -> tuple[np.ndarray, float, float]:
    """Log density of each response, error of labels, coverage of 90 % of numbers."""
    density = prediction.log_density(y)
    if hasattr(prediction, "proba"):
        return density, float(np.mean(prediction.label != y)), np.nan
    low, high = prediction.quantile([0.05, 0.95]).T
    return density, np.nan, float(np.mean((low <= y) & (y <= high)))


def table_scores(rows: Rows, model: str, way: str, seed: int) -> tuple[Any, ...]:
    """Scores of four folds, and the time."""
    fold = np.random.default_rng(seed).permutation(len(rows.y)) % N_FOLDS
    X = rows.X.drop(columns="g") if way == "left out" else rows.X
    encode = "auto" if way == "left out" else way
    parts, clock = [], time.process_time()
    for k in range(N_FOLDS):
        trees = dyntree.AveragedTrees(
            model, n_clouds=3, n_particles=30, encode_levels=encode, seed=seed
        )
        trees.update(X[fold != k], rows.y[fold != k])
        parts.append(scores(trees.predict(X[fold == k]), rows.y[fold == k]))
    clock = time.process_time() - clock
    density, error, covered = zip(*parts, strict=True)
    return np.concatenate(density), np.mean(error), np.mean(covered), clock


def stream_scores(rows: Rows, model: str, way: str, seed: int) -> tuple[Any, ...]:
    """Scores of each row before it was learned, and the time."""
    X = rows.X.drop(columns="g") if way == "left out" else rows.X
    encode = "auto" if way == "left out" else way
    tree = dyntree.StreamingTree(
        model, window=300, n_particles=50, encode_levels=encode, seed=seed
    )
    n_first, parts, clock = 20, [], time.process_time()
    tree.update(X[:n_first], rows.y[:n_first])
    for k in range(n_first, len(rows.y)):
        row, y = X[k : k + 1], rows.y[k : k + 1]
        density, error, covered = scores(tree.predict(row), y)
        parts.append((density[0], error, covered))
        tree.update(row, y)
    clock = time.process_time() - clock
    density, error, covered = np.array(parts).T
    return density, error.mean(), covered.mean(), clock


Made = Callable[[int], Rows]


def cases() -> Iterator[tuple[str, str, Made, Callable[..., Any]]]:
    """Names, leaves, data by seed, and how they are learned."""
    for name, source in FROM_R.items():
        fixed = from_r(*source)
        for model in ("linear", "constant", "mixed"):
            yield f"{name}, {model}", model, lambda _, rows=fixed: rows, table_scores
    for n_levels, sd, what in (
        (100, 2.0, "100 levels"), (30, 2.0, "30 levels"), (100, 0.0, "100 of noise"),
        (50, 0.0, "50 of noise"),
    ):  # fmt: skip
        for model in ("linear", "constant", "mixed"):

            def made(seed: int, n_levels: int = n_levels, sd: float = sd) -> Rows:
                return made_table(n_levels, sd, seed)

            yield f"{what}, {model}", model, made, table_scores
    for n_levels, sd in ((200, 1.5), (40, 1.5), (200, 0.0)):

        def labels(seed: int, n_levels: int = n_levels, sd: float = sd) -> Rows:
            return made_labels(n_levels, sd, seed)

        def counts(seed: int, n_levels: int = n_levels, sd: float = sd) -> Rows:
            return made_counts(n_levels, sd / 2.0, seed)

        what = f"{n_levels} levels" if sd else f"{n_levels} of noise"
        yield f"{what}, labels", "class", labels, table_scores
        yield f"{what}, counts", "negbin", counts, table_scores
    for sd, what in ((2.0, "200 levels"), (0.0, "200 of noise")):

        def numbers(seed: int, sd: float = sd) -> Rows:
            return made_table(200, sd, seed, N_STREAM)

        def stream(seed: int, sd: float = sd) -> Rows:
            return made_labels(200, sd, seed, N_STREAM)

        yield f"stream of {what}, constant", "constant", numbers, stream_scores
        yield f"stream of {what}, linear", "linear", numbers, stream_scores
        yield f"stream of {what}, labels", "class", stream, stream_scores


def main() -> None:
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:]
    print("log density, (gain over onehot, its error), error or coverage, seconds")
    for name, model, made, score in cases():
        if chosen and not any(part in name for part in chosen):
            continue
        cells = []
        results = {
            way: [score(made(seed), model, way, seed) for seed in range(N_SEEDS)]
            for way in WAYS
        }
        first = np.concatenate([one[0] for one in results["onehot"]])
        for way, parts in results.items():
            density = np.concatenate([one[0] for one in parts])
            gain = density - first
            error, covered, clock = np.array([one[1:] for one in parts]).mean(axis=0)
            value = covered if np.isnan(error) else error
            change = f"({gain.mean():+.3f}, {gain.std() / len(gain) ** 0.5:.3f})"
            cells.append(
                f"{way} {density.mean():.3f} {change} {value:.2f} {clock:.1f} s"
            )
        print(f"{name:32s} {len(first) // N_SEEDS:5d} rows: " + "; ".join(cells))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
