"""Clusters that move, are born and die: Dynamic Means beside its sampled model.

Run ``python -m tests.statistical.dynamic_means``; its last result is in
dynamic_means.txt beside this file. Ten streams of a hundred phases, as in the example
of the authors of Dynamic Means (Campbell et al. 2013): four clusters in the unit
square, of 15 rows a phase each, whose distances from the centre are normal with
standard deviation .05, as are the steps of centres. A cluster ends with probability .05
a phase, and one begins with probability .1.

Shown are the share of rows with the right label, where the first match of an id with a
true cluster counts for all phases, and seconds a stream. The options of the authors are
lambda .05, T_Q 6.8 and k_tau 1.01; true scales are those of the drawn streams.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import dyntree
from dyntree.mixtures import (
    DependentDPMixture,
    DynamicMeans,
    GaussianKnownVariance,
    OnlineDPGMM,
    RandomWalk,
)

SEEDS, N_PHASES, N_ROWS, SD = 10, 100, 15, 0.05
VARIANCE = SD**2 / 2.0  # of a coordinate
MODELS: dict[str, Callable[[], Any]] = {
    "DynamicMeans, default": lambda: DynamicMeans(seed=0),
    "DynamicMeans, options of the authors": lambda: DynamicMeans(
        0.05, max_absence=6.8, reach=1.01, seed=0
    ),
    "the same, two starts": lambda: DynamicMeans(
        0.05, max_absence=6.8, reach=1.01, n_starts=2, seed=0
    ),
    "DependentDPMixture, default": lambda: DependentDPMixture(seed=0),
    "DependentDPMixture, true scales": lambda: DependentDPMixture(
        GaussianKnownVariance(VARIANCE), transition=RandomWalk(VARIANCE), seed=0
    ),
    "OnlineDPGMM, memory of three phases": lambda: OnlineDPGMM(
        0.05, forget=1.0 - 1.0 / 180.0, seed=0
    ),
}


def steps(n: int, rng: np.random.Generator) -> np.ndarray:
    """Steps in any direction, of normal length."""
    angle, length = rng.uniform(0.0, 2.0 * np.pi, n), SD * rng.normal(size=n)
    return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def stream(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and true labels of each phase."""
    rng = np.random.default_rng(seed)
    centres = dict(enumerate(rng.uniform(size=(4, 2))))
    n_ever, phases = 4, []
    for _ in range(N_PHASES):
        alive = [k for k in centres if rng.random() >= 0.05]
        centres = {k: centres[k] + steps(1, rng)[0] for k in alive}
        if rng.random() < 0.1 or not centres:
            centres[n_ever] = rng.uniform(size=2)
            n_ever += 1
        truth = np.repeat([*centres], N_ROWS)
        rows = np.array([centres[k] for k in truth.tolist()])
        phases.append((rows + steps(len(rows), rng), truth))
    return phases


def accuracy(labels: list[np.ndarray], truths: list[np.ndarray]) -> float:
    """Share of rows whose id belongs to their true cluster, by matches that stay."""
    match: dict[int, int] = {}
    right = []
    for label, truth in zip(labels, truths, strict=True):
        ids = [k for k in np.unique(label).tolist() if k not in match]
        free = [z for z in np.unique(truth).tolist() if z not in match.values()]
        both = np.array(
            [[((label == k) & (truth == z)).sum() for z in free] for k in ids]
        )
        if both.size:
            for i, j in zip(*linear_sum_assignment(-both), strict=True):
                if both[i, j]:
                    match[ids[i]] = free[j]
        matched = np.array([match.get(k, -1) for k in label.tolist()])
        right.append((matched == truth).mean())
    return float(np.mean(right))


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"dyntree {dyntree.__version__}; {SEEDS} streams of {N_PHASES} phases")
    print(f"\n{'':<38}accuracy    (se)   seconds   ids")
    for name, make in MODELS.items():
        right, seconds, n_ids = [], [], []
        for seed in range(SEEDS):
            phases, model, labels = stream(seed), make(), []
            clock = time.perf_counter()
            for rows, _ in phases:
                model.update(rows, progress=False)
                labels.append(model.labels_)
            seconds.append(time.perf_counter() - clock)
            right.append(accuracy(labels, [truth for _, truth in phases]))
            n_ids.append(len(np.unique(np.concatenate(labels))))
        error = np.std(right) / np.sqrt(SEEDS)
        print(
            f"{name:<38}{np.mean(right):8.3f}  ({error:.3f})  {np.mean(seconds):7.3f}"
            f"  {np.mean(n_ids):4.0f}",
            flush=True,
        )
    n_true = [len({*np.concatenate([z for _, z in stream(s)])}) for s in range(SEEDS)]
    print(f"true clusters of a stream: {np.mean(n_true):.0f}")


if __name__ == "__main__":
    main()
