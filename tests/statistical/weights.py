"""What weights do for trees, by their meaning: ignored, of variances, of frequencies.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.weights``; the last result is stored
beside this file in weights.txt. Nine sets of 150 rows, sin(6 x1) + step(x2) with noise
of the variance .16 / w, where w is .05, 1 or 5 by chance; one cloud of fifty constant
trees. Shown are means over the sets: the error of the mean at 60 further rows, how many
responses of weight 1 there lie in their central interval of 90 %, and the leaves.

Two things must hold, as they did when weights were specified: weights of variances
have an error of at most .7 of what comes without weights, and their intervals hold .87
to .94 of the new responses. (Of 540 responses, of which .9 lie inside, that share has a
standard error of .013 by chance alone.) Sets and trees have fixed seeds: a run that
fails, fails again.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dyntree
from dyntree import DynamicTree

N_SETS, N_ROWS, N_NEW, NOISE = 9, 150, 60, 0.4
WAYS = {
    "ignored": ("variance", 0.0),
    "variance": ("variance", 1.0),
    "frequency": ("frequency", 1.0),
    "frequency x 10": ("frequency", 10.0),
}


def mean_of(X: np.ndarray) -> np.ndarray:
    return np.sin(6 * X[:, 0]) + (X[:, 1] > 0.5)


def measured(way: str, seed: int) -> tuple[float, float, float]:
    """Error of the mean, share of new responses inside, and leaves of a tree."""
    rng = np.random.default_rng(seed)
    X, w = rng.random((N_ROWS, 2)), rng.choice([0.05, 1.0, 5.0], N_ROWS)
    y = mean_of(X) + NOISE * rng.standard_normal(N_ROWS) / np.sqrt(w)
    new = rng.random((N_NEW, 2))
    came = mean_of(new) + NOISE * rng.standard_normal(N_NEW)
    weighting, times = WAYS[way]
    tree = DynamicTree("constant", n_particles=50, weighting=weighting, seed=seed)
    told = tree.update(X, y, times * w if times else None).predict(new)
    low, high = told.quantile([0.05, 0.95]).T
    error = float(np.sqrt(np.mean((told.mean - mean_of(new)) ** 2)))
    inside = float(np.mean((low <= came) & (came <= high)))
    return error, inside, tree.stats().n_leaves


def main() -> int:
    print(f"dyntree {dyntree.__version__}, {time.strftime('%Y-%m-%d')}")
    print(f"{'weights':<16}{'RMSE':>8}{'cover':>8}{'leaves':>8}")
    found = {}
    for way in WAYS:
        sets = np.array([measured(way, seed) for seed in range(N_SETS)])
        error, inside, leaves = found[way] = sets.mean(axis=0)
        print(f"{way:<16}{error:8.3f}{inside:8.2f}{leaves:8.1f}", flush=True)
    ratio, cover = found["variance"][0] / found["ignored"][0], found["variance"][1]
    met = ratio <= 0.7 and 0.87 <= cover <= 0.94
    print(f"variance / ignored {ratio:.2f}, cover {cover:.2f}: ", end="")
    print("met" if met else "NOT MET")
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
