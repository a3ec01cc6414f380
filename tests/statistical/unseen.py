"""Averaged streams on streams that their design has not seen, beside single windows.

Run ``python -m tests.statistical.unseen``; the last result is stored beside this file
in unseen.txt. `AveragedStream` has its defaults; beside it `StreamingTree` with its own
(1000 particles, a window of 500), told of drift or not. Real responses have linear
leaves. Rows are scored from row 100 on; three seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from river import datasets

from dyntree import AveragedStream, StreamingTree
from dyntree.evaluate import prequential

SEEDS = range(3)
MARGIN = 0.03  # by which the better of the single windows may be ahead
Rows = tuple[np.ndarray, np.ndarray]


def trump() -> Rows:
    """River's TrumpApproval: a rating by six polls, day by day."""
    rows, y = zip(*datasets.TrumpApproval(), strict=True)
    return np.array([[*row.values()] for row in rows], dtype=float), np.array(y)


def phishing() -> Rows:
    """River's Phishing: web sites by nine features."""
    rows, y = zip(*datasets.Phishing(), strict=True)
    return np.array([[*row.values()] for row in rows], dtype=float), np.array(y) * 1


def jump() -> Rows:
    """A plane whose slopes change sign after 1500 of 3000 rows."""
    rng = np.random.default_rng(31)
    X = rng.random((3000, 4))
    sign = np.where(np.arange(3000) < 1500, 1.0, -1.0)
    return X, sign * (3 * X[:, 0] - 2 * X[:, 1]) + 0.3 * rng.standard_normal(3000)


def flip() -> Rows:
    """Labels by two of four inputs, exchanged after 1500 of 3000 rows."""
    rng = np.random.default_rng(32)
    X = rng.random((3000, 4))
    label = X[:, 0] + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(3000) > 0.75
    return X, (label ^ (np.arange(3000) >= 1500)).astype(int)


def faster() -> Rows:
    """A bump that walks, from row 2000 of 4000 on ten times as fast."""
    rng = np.random.default_rng(33)
    X = rng.random((4000, 2))
    t = np.arange(4000)
    place = 0.5 + 0.4 * np.sin(np.where(t < 2000, t / 800, 2.5 + (t - 2000) / 80))
    mean = 3 * np.exp(-50 * (X[:, 0] - place) ** 2) + X[:, 1]
    return X, mean + 0.2 * rng.standard_normal(4000)


STREAMS: dict[str, tuple[str, Callable[[], Rows]]] = {
    "Trump's approval": ("linear", trump),
    "phishing": ("class", phishing),
    "a jump": ("linear", jump),
    "labels exchanged": ("class", flip),
    "drift, slow then fast": ("linear", faster),
}


def main() -> int:
    missed = []
    for name, (model, rows) in STREAMS.items():
        X, y = rows()
        known = {"classes": (0, 1)} if model == "class" else {}
        models = {
            "averaged": lambda s, m=model, k=known: AveragedStream(m, seed=s, **k),
            "one window": lambda s, m=model, k=known: StreamingTree(m, seed=s, **k),
            "one, drift told": lambda s, m=model, k=known: StreamingTree(
                m, drift=True, seed=s, **k
            ),
        }
        cells, errors = [], {}
        for title, make in models.items():
            found = [
                prequential(make(seed), X, y, start=100, progress=False).scores
                for seed in SEEDS
            ]
            if model == "class":
                error = np.mean([scores.error for scores in found])
                more = f"log loss {np.mean([s.log_loss for s in found]):.3f}"
            else:
                error = np.mean([scores.rmse for scores in found])
                more = f"log density {np.mean([s.log_density for s in found]):.3f}, "
                more += f"coverage {np.mean([s.coverage for s in found]):.2f}"
            errors[title] = error
            cells.append(f"{title} {error:.4f} ({more})")
        own, *others = errors.values()
        if own > (1.0 + MARGIN) * min(others):
            missed.append(name)
        print(f"{name:<22}{len(y):>6} rows  " + " | ".join(cells), flush=True)
    print(f"\nworse than the better single window by more than 3 %: {missed or 'none'}")
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
