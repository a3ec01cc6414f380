"""What regressions beside trees gain for labels and counts, and cost where useless.

Run ``python -m tests.statistical.leaves``; the last results are in leaves.txt. Each
line has the mean log probability of a row under averages of streams (predicted before
it is learned, from row 100 on) or tables (five folds) without and with regressions,
the gain with its standard error over seeds, and both errors: of labels the share that
is wrong, of counts the root of the mean square. Counts are negative binomial, with
exposures. Rows are simulated, or of tables that come with scikit-learn and with the
package; none of them is in `tests.statistical.unseen`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold

from dyntree import AveragedStream, AveragedTrees
from dyntree.datasets import load_quine, load_warpbreaks
from dyntree.evaluate import prequential

START, SEEDS, LEAST = 100, (1, 2, 3), 1e-12
Rows = tuple[np.ndarray, np.ndarray]
WAVES = np.maximum(
    6.0 - np.abs(np.arange(1, 22)[None] - np.array([[7], [15], [11]])), 0
)


def plane(rng: np.random.Generator, turns: bool = False) -> Rows:
    """Sides of a plane in five columns with noise, which may turn by 120 degrees."""
    n = 1500
    X = rng.normal(size=(n, 5))
    angle = 0.8 + (np.linspace(0.0, 2.1, n) if turns else np.zeros(n))
    score = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return X, (score + 0.5 * rng.normal(size=n) > 0.0).astype(int)


def waves(rng: np.random.Generator) -> Rows:
    """Breiman's waveforms: three labels, 21 columns."""
    y, share = rng.integers(3, size=1500), rng.random((1500, 1))
    first, second = WAVES[y], WAVES[(y + 1) % 3]
    return share * first + (1.0 - share) * second + rng.normal(size=(1500, 21)), y


def noise(rng: np.random.Generator) -> Rows:
    """A plane, and thirty columns that say nothing."""
    X, y = plane(rng)
    return np.column_stack([X, rng.normal(size=(len(y), 30))]), y


def rare(rng: np.random.Generator) -> Rows:
    """One label in fifty, by a plane."""
    X = rng.normal(size=(1500, 5))
    return X, (X[:, 0] + X[:, 1] + rng.logistic(size=1500) > 4.5).astype(int)


def gaps(rng: np.random.Generator) -> Rows:
    """A plane whose columns miss a fifth of their values."""
    X, y = plane(rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def checker(rng: np.random.Generator) -> Rows:
    """Four fields, of which no plane tells anything."""
    X = rng.random((1500, 2))
    y = (X[:, 0] > 0.5) == (X[:, 1] > 0.5)
    return X, np.where(rng.random(1500) < 0.05, ~y, y).astype(int)


def ring(rng: np.random.Generator) -> Rows:
    """Inside or outside of a circle."""
    X = rng.normal(size=(1500, 3))
    return X, (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4).astype(int)


def step(rng: np.random.Generator) -> Rows:
    """A probability that jumps in one of four columns."""
    X = rng.random((1500, 4))
    return X, (rng.random(1500) < np.where(X[:, 0] > 0.3, 0.85, 0.2)).astype(int)


def events(rng: np.random.Generator, rate: np.ndarray) -> np.ndarray:
    """Counts of such rates, which vary by a gamma of shape 2."""
    return rng.poisson(rate * rng.gamma(2.0, 0.5, len(rate)))


def line_of_rates(rng: np.random.Generator, turns: bool = False) -> Rows:
    """Rates that two of four columns multiply, which may turn by 120 degrees."""
    X = rng.normal(size=(1500, 4))
    angle = 0.8 + (np.linspace(0.0, 2.1, 1500) if turns else np.zeros(1500))
    score = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle)
    return X, events(rng, np.exp(0.5 + 0.5 * score))


def steps_of_rates(rng: np.random.Generator) -> Rows:
    """Two rates, by one of four columns."""
    X = rng.random((1500, 4))
    return X, events(rng, np.where(X[:, 0] > 0.5, 4.0, 1.0))


def hill_of_rates(rng: np.random.Generator) -> Rows:
    """A rate that is high in the middle of a column."""
    X = rng.normal(size=(1500, 4))
    return X, events(rng, 0.5 + 4.0 * np.exp(-2.0 * X[:, 0] ** 2))


COUNTS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "line of rates": line_of_rates,
    "line that turns": lambda rng: line_of_rates(rng, True),
    "steps of rates": steps_of_rates, "hill of rates": hill_of_rates,
}  # fmt: skip
STREAMS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "plane": plane, "plane that turns": lambda rng: plane(rng, True),
    "waveforms": waves, "30 noise columns": noise, "one in fifty": rare, "gaps": gaps,
    "checker": checker, "ring": ring, "step": step,
}  # fmt: skip


def tables() -> Iterator[tuple[str, Rows]]:
    """Tables of scikit-learn, and 300 rows of streams."""
    for name in ("iris", "wine", "breast_cancer"):
        made = getattr(datasets, f"load_{name}")()
        yield name, (made.data, made.target)
    digits = datasets.load_digits()
    yield "600 digits", (digits.data[:600], digits.target[:600])
    for name in ("plane", "waveforms", "checker", "step"):
        X, y = STREAMS[name](np.random.default_rng(0))
        yield f"300 of {name}", (X[:300], y[:300])


def tables_of_counts() -> Iterator[tuple[str, Rows]]:
    """Tables of the package, and 300 rows of streams."""
    warp, quine = load_warpbreaks(), load_quine()
    for name, frame, y in (("warpbreaks", warp, "breaks"), ("quine", quine, "Days")):
        yield name, (frame.drop(columns=y), frame[y].to_numpy())
    for name in ("line of rates", "steps of rates", "hill of rates"):
        X, y = COUNTS[name](np.random.default_rng(0))
        yield f"300 of {name}", (X[:300], y[:300])


def counts_on_stream(rows: Rows, linear: bool, seed: int) -> tuple[float, float]:
    """As `on_stream`, of counts."""
    stream = AveragedStream("negbin", linear=linear, seed=seed)
    scores: Any = prequential(stream, *rows, start=START, progress=False).scores
    return scores.log_density, scores.rmse


def counts_on_table(rows: Rows, linear: bool, seed: int) -> tuple[float, float]:
    """As `on_table`, of counts."""
    X, y = rows
    logs, squares = [], []
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        trees = AveragedTrees("negbin", linear=linear, seed=seed)
        some = X.iloc if hasattr(X, "iloc") else X
        answer: Any = trees.update(some[train], y[train]).predict(some[test])
        logs += answer.log_density(y[test]).tolist()
        squares += ((answer.mean - y[test]) ** 2).tolist()
    return float(np.mean(logs)), float(np.sqrt(np.mean(squares)))


def on_stream(rows: Rows, linear: bool, seed: int) -> tuple[float, float]:
    """Log probability of a row and error of an average of streams."""
    classes = np.unique(rows[1]).tolist()
    stream = AveragedStream("class", classes=classes, linear=linear, seed=seed)
    scores: Any = prequential(stream, *rows, start=START, progress=False).scores
    return -scores.log_loss, scores.error


def on_table(rows: Rows, linear: bool, seed: int) -> tuple[float, float]:
    """The same of an average of tables, by five folds."""
    X, y = rows
    logs, wrong = [], []
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        trees = AveragedTrees("class", linear=linear, seed=seed)
        answer: Any = trees.update(X[train], y[train]).predict(X[test])
        place = np.searchsorted(answer.classes, y[test])
        logs += np.log(
            np.maximum(answer.proba[np.arange(len(test)), place], LEAST)
        ).tolist()
        wrong += (answer.label != y[test]).tolist()
    return float(np.mean(logs)), float(np.mean(wrong))


def line(name: str, score: Callable[[bool, int], tuple[float, float]]) -> None:
    """Print the figures of one set."""
    cpu, found = [], []
    for linear in (False, True):
        begun = time.process_time()
        found.append([score(linear, seed) for seed in SEEDS])
        cpu.append(time.process_time() - begun)
    (without, error), (with_them, error_with) = np.array(found).transpose(0, 2, 1)
    gain = with_them - without
    spread = gain.std(ddof=1) / np.sqrt(len(gain))
    print(
        f"{name:20s} {without.mean():.4f} {with_them.mean():.4f} "
        f"gain {gain.mean():+.4f} ({spread:.4f}) "
        f"error {error.mean():.4f} {error_with.mean():.4f} cpu x{cpu[1] / cpu[0]:.2f}",
        flush=True,
    )


def main() -> None:
    print("streams: log probability without, with, gain (se), errors, time")
    for score, streams in ((on_stream, STREAMS), (counts_on_stream, COUNTS)):
        for name, made in streams.items():
            line(
                name,
                lambda linear, seed, made=made, score=score: score(
                    made(np.random.default_rng(seed)), linear, seed
                ),
            )
    print("\ntables, five folds")
    for score, each in ((on_table, tables), (counts_on_table, tables_of_counts)):
        for name, rows in each():
            line(
                name,
                lambda linear, seed, rows=rows, score=score: score(rows, linear, seed),
            )


if __name__ == "__main__":
    main()
