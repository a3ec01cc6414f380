"""How often intervals of the mean hold it: one cloud, and eight in orders of their own.

Run ``OMP_NUM_THREADS=1 python -m tests.statistical.means``; the last result is stored
beside this file in means.txt. Six functions of inputs that are uniform on the unit cube
are seen with noise in 300 rows, with eight seeds each. Clouds have the same number of
particles together, 800. Shown are the share of 300 further rows whose mean lies in the
central interval of 90 %, the range of that share over functions, and how wide the
intervals of eight clouds are beside those of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from dyntree import AveragedTrees, DynamicTree

N_ROWS, N_SEEDS, LEVEL = 300, 8, 0.9
FUNCTIONS: dict[str, tuple[int, float, Callable[[np.ndarray], np.ndarray]]] = {
    "sine": (1, 0.3, lambda X: np.sin(6 * X[:, 0])),
    "parabola": (1, 0.2, lambda X: 4 * (X[:, 0] - 0.5) ** 2),
    "steps": (1, 0.3, lambda X: np.floor(4 * X[:, 0])),
    "plane": (2, 0.3, lambda X: 2 * X[:, 0] - X[:, 1]),
    "ridge": (2, 0.3, lambda X: 1 / (1 + np.exp(-8 * (X[:, 0] + X[:, 1] - 1)))),
    "friedman": (
        5,
        1.0,
        lambda X: (
            10 * np.sin(np.pi * X[:, 0] * X[:, 1])
            + 20 * (X[:, 2] - 0.5) ** 2
            + 10 * X[:, 3]
            + 5 * X[:, 4]
        ),
    ),
}


def covered(name: str, model: str, seed: int) -> list[tuple[float, float]]:
    """Share of means that intervals hold, and their mean width: one cloud, eight."""
    width, noise, f = FUNCTIONS[name]
    rng = np.random.default_rng([seed, width])
    X, Z = rng.random((2, N_ROWS, width))
    y = f(X) + noise * rng.standard_normal(N_ROWS)
    found = []
    for fit in (
        DynamicTree(model, n_particles=800, seed=seed),
        AveragedTrees(model, n_clouds=8, n_particles=100, seed=seed),
    ):
        told = fit.update(X, y).predict(Z)
        low, high = told.of_mean.quantile(
            np.array([0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
        ).T
        inside = (low <= f(Z)) & (f(Z) <= high)
        found.append((float(inside.mean()), float(np.mean(high - low))))
    return found


def main() -> int:
    low = 1.0
    print(
        f"share of means in intervals of {LEVEL:.0%}: one cloud, eight; times as wide"
    )
    for model in ("constant", "linear"):
        means = []
        for name in FUNCTIONS:
            shares = np.array([covered(name, model, seed) for seed in range(N_SEEDS)])
            one, eight = shares.mean(axis=0)
            means.append((one[0], eight[0]))
            print(
                f"{model:<9} {name:<9} {one[0]:.2f} {eight[0]:.2f}  "
                f"{eight[1] / one[1]:.2f}",
                flush=True,
            )
        of_one, of_eight = np.array(means).T
        low = min(low, float(of_eight.mean()))
        print(
            f"{model:<9} all       {of_one.mean():.2f} ({of_one.min():.2f} to "
            f"{of_one.max():.2f}), {of_eight.mean():.2f} ({of_eight.min():.2f} to "
            f"{of_eight.max():.2f})\n"
        )
    return int(low < 0.8)


if __name__ == "__main__":
    sys.exit(main())
