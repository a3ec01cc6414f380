"""What IECI costs beside ALC over the same points: ``python -m tests.bench.ieci``.

50 rows, 500 particles, 300 candidates and 300 references; CPU seconds of the best of
five calls each. The aim is a ratio of five at most.
"""

from __future__ import annotations

import time

import numpy as np

from dyntree import DynamicTree


def main() -> None:
    rng = np.random.default_rng(0)
    X, candidates, references = (rng.random((n, 2)) for n in (50, 300, 300))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(50)
    print(f"{'leaves':<10}{'alc, s':>10}{'ieci, s':>10}{'ratio':>8}")
    for model in ("constant", "linear"):
        tree = DynamicTree(model, n_particles=500, seed=1).update(X, y)
        seconds = []
        for rule in ("alc", "ieci"):
            clocks = []
            for _ in range(5):
                clock = time.process_time()
                tree.acquisition(candidates, rule, Xref=references)
                clocks.append(time.process_time() - clock)
            seconds.append(min(clocks))
        print(
            f"{model:<10}{seconds[0]:10.4f}{seconds[1]:10.4f}"
            f"{seconds[1] / seconds[0]:8.2f}"
        )


if __name__ == "__main__":
    main()
