"""What logistic leaves see that constant leaves and regressions beside them do not.

Run ``python -m tests.statistical.logit_leaves``; the last results are in
logit_leaves.txt. The first table has the mean log probability of a row, each predicted
before it is learned, by one cloud of constant leaves, one of logistic leaves, and one
regression, with standard errors over three seeds, how many leaves trees have and what a
row costs. The second has the same of an average of streams, without and with two
members of logistic leaves, and the gain. Streams of 500 rows are of the five worlds
below; those of 1,500 rows are the streams of two labels of `tests.statistical.leaves`.
None of the rows is in `tests.statistical.unseen`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dyntree import AveragedStream, DynamicTree, LinearStream
from dyntree.trees.averages.memories import default_memories
from tests.statistical import leaves

SEEDS, N_ROWS = (1, 2, 3), 500
MEMBERS: list[dict[str, Any]] = [
    {"model": "logit", "window": 200, "forget": 0.95, "n_particles": 10},
    {"model": "logit", "window": 8000, "n_particles": 10},
]
Rows = tuple[np.ndarray, np.ndarray]
World = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def line(rng: np.random.Generator) -> Rows:
    """Log odds that are a line in three of five columns."""
    X = rng.normal(size=(N_ROWS, 5))
    return X, X @ [1.5, -1.0, 0.7, 0.0, 0.0] - 0.3


def step(rng: np.random.Generator) -> Rows:
    """Three probabilities, by two of four columns."""
    X = rng.random((N_ROWS, 4))
    p = np.where(X[:, 0] > 0.6, 0.85, np.where(X[:, 1] > 0.5, 0.5, 0.1))
    return X, np.log(p / (1.0 - p))


def xor(rng: np.random.Generator) -> Rows:
    """Four fields."""
    X = rng.uniform(-1.0, 1.0, size=(N_ROWS, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 2.9, -2.9)


def slopes(rng: np.random.Generator) -> Rows:
    """Slopes of opposite sign on either side of 0 in another column."""
    X = rng.normal(size=(N_ROWS, 3))
    return X, np.where(X[:, 0] > 0.0, 2.5, -2.5) * X[:, 1] + 0.5


def step_and_line(rng: np.random.Generator) -> Rows:
    """A line in one column, and a step in another."""
    X = rng.normal(size=(N_ROWS, 4))
    return X, 1.5 * X[:, 0] + np.where(X[:, 1] > 0.5, 2.0, -0.5)


WORLDS: dict[str, World] = {
    "line": line, "step": step, "xor": xor, "opposite slopes": slopes,
    "step + line": step_and_line,
}  # fmt: skip
OF_TWO = (
    "plane", "plane that turns", "30 noise columns", "one in fifty", "gaps", "checker",
    "ring", "step",
)  # fmt: skip


def labelled(world: World, seed: int) -> Rows:
    """Rows of a world, with labels by its log odds."""
    rng = np.random.default_rng(seed)
    X, log_odds = world(rng)
    return X, (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)


def alone(model: str, seed: int) -> Any:
    """One cloud of these leaves, or one regression."""
    if model == "regression":
        return LinearStream("class", classes=(0, 1), seed=seed)
    return DynamicTree(
        model, n_particles=100, tree_prior=(0.95, 0.5), classes=(0, 1), seed=seed
    )


def average(has_them: bool, seed: int) -> AveragedStream:
    """The default average of labels, or that and the members of logistic leaves."""
    plain = AveragedStream("class", classes=(0, 1), seed=seed)
    if not has_them:
        return plain
    members = [*default_memories(plain._shared()), *MEMBERS]
    return AveragedStream("class", classes=(0, 1), members=members, seed=seed)


def scored(model: Any, rows: Rows) -> tuple[float, float]:
    """Mean log probability of a row, and milliseconds for each."""
    begun = time.process_time()
    model.update(*rows)
    n = len(rows[1])
    return model.log_evidence / n, 1e3 * (time.process_time() - begun) / n


def shown(values: Any) -> str:
    """A mean and its standard error."""
    values = np.asarray(values)
    return f"{values.mean():+.4f} ({values.std(ddof=1) / np.sqrt(len(values)):.4f})"


def main() -> None:
    print("alone: log probability (se), ms a row, leaves")
    for name, world in WORLDS.items():
        parts = []
        for model in ("class", "logit", "regression"):
            each, cost, n_leaves = [], [], []
            for seed in SEEDS:
                one = alone(model, seed)
                score, ms = scored(one, labelled(world, seed))
                each.append(score)
                cost.append(ms)
                n_leaves.append(1 if model == "regression" else one.stats().n_leaves)
            more = "" if model == "regression" else f", {np.mean(n_leaves):4.1f}"
            parts.append(f"{model} {shown(each)} {np.mean(cost):.2f}{more}")
        print(f"{name:18s}", "  ".join(parts), flush=True)
    print("\naverages: log probability without, with members, gain (se), time")
    streams = {name: lambda seed, w=w: labelled(w, seed) for name, w in WORLDS.items()}
    streams |= {
        f"{name}, 1500": lambda seed, made=leaves.STREAMS[name]: made(
            np.random.default_rng(seed)
        )
        for name in OF_TWO
    }
    for name, made in streams.items():
        each = np.array(
            [
                [scored(average(has_them, seed), made(seed)) for seed in SEEDS]
                for has_them in (False, True)
            ]
        )
        (without, with_them), cost = each[:, :, 0], each[:, :, 1].mean(axis=1)
        print(
            f"{name:22s} {without.mean():.4f} {with_them.mean():.4f} gain "
            f"{shown(with_them - without)} cpu x{cost[1] / cost[0]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
