"""Movements for task frames that are new, learned jointly and in one frame alone.

Run ``python -m tests.statistical.task_frames``; its last result is in task_frames.txt
beside this file. Eight strokes of `dyntree.datasets.task_strokes`, learned one by
one, ten seeds; then a hundred movements for frames of other seeds. Shown are the most
frequent number of clusters, the distance of the ends from the goals (mean, and mean of
the worst seed), and the mean distance from the curve without noise.

One frame is that of the start, that of the goal, or the world: the same mixture with
``n_frames=1``, which knows where the movement begins and nothing else of the frames.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import dyntree
from dyntree.datasets import task_strokes
from dyntree.mixtures import OnlineDPMPPCA, OnlineHDPHSMM, TaskParameterizedMixture

SEEDS, N_NEW, NEW = 10, 100, 1000
WORLD = (np.eye(2), np.zeros(2))
MIXTURES: dict[str, Any] = {
    "default (DP-GMM)": None,
    "DP-MPPCA": OnlineDPMPPCA(9.0, noise=0.5, gate="bandwidth", bandwidth=9.0, seed=0),
    "HDP-HSMM": OnlineHDPHSMM(64.0, noise=2.0, emission="gmm", seed=0),
}
VIEWS: dict[str, Any] = {
    "both frames": lambda frames: frames,
    "frame of the start": lambda frames: frames[:1],
    "frame of the goal": lambda frames: frames[1:],
    "world": lambda frames: [WORLD],
}


def learned(view: str, mixture: Any, tied: bool, seed: int, n: int = 8) -> Any:
    """A model of n strokes, and the seconds that each took."""
    n_frames = 2 if view == "both frames" else 1
    model = TaskParameterizedMixture(n_frames, mixture=mixture, tied=tied)
    seconds = []
    for rows, frames in task_strokes(n, seed=seed):
        clock = time.perf_counter()
        model.update(rows, VIEWS[view](frames))
        seconds.append(time.perf_counter() - clock)
    return model, seconds


def errors(model: Any, view: str, seed: int) -> tuple[float, float]:
    """Mean distance of ends, and of paths, for new frames."""
    ends, paths = [], []
    for rows, frames in task_strokes(N_NEW, noise=0.0, seed=NEW + seed):
        asked = VIEWS[view](frames)
        path = model.reproduce(asked, frames[0][1], n_steps=len(rows)).path
        ends.append(np.linalg.norm(path[-1] - frames[1][1]))
        paths.append(np.linalg.norm(path - rows, axis=1).mean())
    return float(np.mean(ends)), float(np.mean(paths))


def clusters_of_auto(seed: int) -> int:
    """Clusters in what both frames see, without time, with automatic scales."""
    model = OnlineDPMPPCA(seed=0)
    for rows, frames in task_strokes(8, seed=seed):
        views = [np.linalg.solve(A, (rows - b).T).T for A, b in frames]
        model.update(np.hstack(views))
    return model.n_clusters


def usual(K: np.ndarray) -> str:
    """The most frequent number of clusters, and how often it is."""
    values, counts = np.unique(K, return_counts=True)
    return f"{values[counts.argmax()]:.0f} in {counts.max()} of {len(K)}"


def main() -> None:
    """Print the tables."""
    print(f"dyntree {dyntree.__version__}; eight strokes, {SEEDS} seeds")
    print(f"\n{'':<42}clusters          end   worst    path")
    for name, mixture in MIXTURES.items():
        views = VIEWS if mixture is None else ["both frames"]
        for view in views:
            for tied in (False, True) if view == "both frames" else (False,):
                some = []
                for seed in range(SEEDS):
                    model, _ = learned(view, mixture, tied, seed)
                    some.append((model.n_clusters, *errors(model, view, seed)))
                K, end, path = np.transpose(some)
                title = f"{name}, {view}{', tied' if tied else ''}"
                print(
                    f"{title:<42}{usual(K):<14}{end.mean():7.3f}"
                    f"{end.max():8.3f}{path.mean():8.3f}",
                    flush=True,
                )
    of_auto = [clusters_of_auto(seed) for seed in range(SEEDS)]
    print(
        f"\nOnlineDPMPPCA() of what both frames see of the eight strokes: K {of_auto}"
    )
    print("\nafter so many strokes       1      2      3      4      6      8     16")
    for tied in (False, True):
        row = []
        for n in (1, 2, 3, 4, 6, 8, 16):
            models = [learned("both frames", None, tied, s, n)[0] for s in range(SEEDS)]
            ends = [
                errors(model, "both frames", s)[0] for s, model in enumerate(models)
            ]
            row.append(np.mean(ends))
        print(f"end{', tied' if tied else '':<22}", *(f"{one:6.3f}" for one in row))
    seconds = np.array(
        [learned("both frames", None, False, s)[1] for s in range(SEEDS)]
    )
    second, eighth = 1e3 * np.median(seconds[:, [1, 7]], axis=0)
    print(f"\nthe second stroke takes {second:.1f} ms, the eighth {eighth:.1f} ms")


if __name__ == "__main__":
    main()
