"""Data of the figures; those that other tables have as well come from there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyntree.datasets import load_elec2, load_spambase
from tests.statistical.native_tables import drifting, fried, rotating_xor

__all__ = [
    "drifting", "elec2", "folds", "fried", "in_outer_sixth", "parabola", "rare_events",
    "rotating_xor", "simple_and_not", "spambase",
]  # fmt: skip
Table = tuple[np.ndarray, np.ndarray]


def parabola(n: int, seed: int) -> Table:
    """y = x + x^2 + N(0, 1), x uniform on (-3, 2), as in the paper."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3.0, 2.0, size=(n, 1))
    return x, (x + x * x)[:, 0] + rng.standard_normal(n)


def in_outer_sixth(x: np.ndarray) -> np.ndarray:
    """Whether places are in the twelfth of (-3, 2) at either end."""
    return np.abs(x + 0.5) > 2.5 * 5.0 / 6.0


def simple_and_not(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Friedman's function without its wave, with three times of it, and without it.

    Three parts of n rows: inputs, responses with noise of variance 1, and the truth.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((3 * n, 10))
    wave = 30.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) * (np.arange(3 * n) // n == 1)
    rest = 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]
    return X, wave + rest + rng.standard_normal(3 * n), wave + rest


def spambase(seed: int) -> Table:
    """Spambase, shuffled: 4,601 rows of 57 inputs, label 1 for spam."""
    frame = load_spambase()
    y = (frame.pop("type") == "spam").to_numpy(dtype=int)
    order = np.random.default_rng(seed).permutation(len(y))
    return frame.to_numpy(dtype=float)[order], y[order]


def elec2(path: str, seed: int) -> Table:
    """ELEC2, shuffled: 27,552 rows of 4 inputs, label 1 for what the file calls 2."""
    frame = load_elec2(path)
    y = (frame["y"] == 2).to_numpy(dtype=int)
    X = frame.drop(columns="y").to_numpy(dtype=float)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def folds(y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Five stratified folds: rows to learn, in random order, and rows held out."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    fold = np.empty(len(y), dtype=int)
    for label in np.unique(y):
        rows = order[y[order] == label]
        fold[rows] = np.arange(len(rows)) % 5
    for k in range(5):
        yield order[fold[order] != k], np.flatnonzero(fold == k)


def rare_events(n: int, seed: int, share: float = 0.005) -> Table:
    """A stream of rare labels that drift, in place of the paper's private one.

    Ten inputs. Label 0 is a mixture of two normals, at -1 and 1 in the first input;
    label 1, a share of the rows that swings between .2 and 1 % with a period of 20,000
    rows, has its mean at distance 3 in a direction that turns once in 40,000 rows
    through the second and third inputs, and unit variances. Inputs 4 to 10 are noise.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    t = np.arange(n)
    rate = np.clip(share * (1.0 + 0.8 * np.sin(2 * np.pi * t / 20_000)), 0.002, 0.01)
    y = (rng.random(n) < rate).astype(int)
    X[:, 0] += np.where(rng.random(n) < 0.5, -1.0, 1.0) * (y == 0)
    angle = 2 * np.pi * t / 40_000
    X[:, 1] += 3.0 * y * np.cos(angle)
    X[:, 2] += 3.0 * y * np.sin(angle)
    return X, y
