"""Clouds under native rules, straight on the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree._core.rng import CounterSource
from dyntree._core.trees.cloud import Cloud


def native_cloud(
    model: str,
    n_features: int,
    *,
    seed: int = 1,
    n_particles: int = 50,
    n_basis: int | None = None,
    min_leaf: int = 3,
    alpha: float = 0.95,
    b0: float = 0.1,
    adaptive: bool = False,
    n_classes: int = 0,
    **options: Any,
) -> Cloud:
    """A started cloud with no rows, on the scale of the data as they are."""
    cloud = Cloud(
        CounterSource(seed),
        model=model,
        n_features=n_features,
        n_particles=n_particles,
        min_leaf=min_leaf,
        tree_prior=(alpha, 2.0),
        n_basis=n_basis,
        n_classes=n_classes,
        rules="native",
        prior={"b0": b0, "adaptive": adaptive, "class_mass": 1.0},
        **options,
    )
    cloud.start(np.empty((0, n_features)), np.empty(0))
    return cloud


def friedman(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five uniform inputs and Friedman's (1991) function of them, plus N(0, 1)."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)
