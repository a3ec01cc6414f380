"""Rows whose clusters are known, for the experiments with small-variance mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np

NOISE = 0.2
DIMS = (1, 2, 3, 2, 1)
MEANS = (20, 30, 40, 25, 35)


def agreement(a: Any, b: Any) -> float:
    """Adjusted Rand index of two labellings."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(np.asarray(a), np.asarray(b)))


def blobs(
    k: int, width: int, apart: float, n: int, seed: int, order: str = "random"
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit variance about k centres at least `apart` from one another."""
    rng = np.random.default_rng(seed)
    centres: list[np.ndarray] = []
    while len(centres) < k:
        c = rng.uniform(-0.8, 0.8, size=width) * apart * k ** (1.0 / width)
        if all(np.linalg.norm(c - other) >= apart for other in centres):
            centres.append(c)
    label = rng.integers(k, size=n)
    X = np.array(centres)[label] + rng.normal(size=(n, width))
    return ordered(X, label, np.argsort(label, kind="stable"), order)


def ordered(
    X: np.ndarray, label: np.ndarray, by_label: np.ndarray, order: str
) -> tuple[np.ndarray, np.ndarray]:
    """Rows as they are, sorted, or the other way round."""
    turn = {
        "random": np.arange(len(X)), "sorted": by_label, "reversed": by_label[::-1]
    }[order]  # fmt: skip
    return X[turn], label[turn]


def planes(
    seed: int, order: str = "random", apart: float = 8.0, width: int = 10, n: int = 2000
) -> tuple[np.ndarray, np.ndarray]:
    """Five pieces of subspaces; "swept" is by cluster, then along a direction."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(len(DIMS), width))
    bases = [np.linalg.qr(rng.normal(size=(width, d)))[0] for d in DIMS]
    label = rng.integers(len(DIMS), size=n)
    along = [3.0 * rng.normal(size=DIMS[k]) for k in label]
    X = np.array([centres[k] + bases[k] @ g for k, g in zip(label, along, strict=True)])
    X += NOISE * rng.normal(size=X.shape)
    if order == "swept":
        turn = np.lexsort(([g[0] for g in along], label))
        return X[turn], label[turn]
    return ordered(X, label, np.argsort(label, kind="stable"), order)


def crossing(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three lines through one centre in ten columns, noise .1."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=1500)
    way = np.linalg.qr(rng.normal(size=(10, 3)))[0].T
    X = way[label] * rng.uniform(-6.0, 6.0, size=(1500, 1))
    return X + 0.1 * rng.normal(size=X.shape), label


def semi_markov(
    seed: int, outliers: float, n_segments: int = 200, width: int = 6
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, states and outliers: five planes, branching .8 and .2."""
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.normal(size=(5, width))
    bases = [np.linalg.qr(rng.normal(size=(width, 2)))[0] for _ in range(5)]
    states: list[int] = []
    state = 0
    for _ in range(n_segments):
        states += [state] * max(1, round(rng.normal(MEANS[state], 3.0)))
        state = (state + (1 if rng.random() < 0.8 else 2)) % 5
    label = np.array(states)
    X = np.array([centres[k] + bases[k] @ rng.normal(size=2) for k in label])
    X += NOISE * rng.normal(size=X.shape)
    far = rng.random(len(X)) < outliers
    X[far] += 10.0 * rng.normal(size=(int(far.sum()), width))
    return X, label, far


def walking(seed: int, n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Four blobs in two columns whose centres walk some 15 standard deviations."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [25.0, 0.0], [0.0, 25.0], [25.0, 25.0]])
    label = rng.integers(4, size=n)
    paths = centres + np.cumsum(0.2 * rng.normal(size=(n, 4, 2)), axis=0)
    return paths[np.arange(n), label] + rng.normal(size=(n, 2)), label
