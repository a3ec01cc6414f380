"""Components and rows of every family, for the tests of their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree._core.mixtures.sweeps import Shard
from dyntree.mixtures.canopy.components import Components
from dyntree.mixtures.canopy.families import FAMILY_OF

FAMILIES = tuple(FAMILY_OF)
UNITS = (2.0**40, 2.0**30, 2.0**26)
QUICK: dict[str, Any] = {"max_iter": 12, "tol": 0.0, "seed": 1}


def components(name: str, m: int, d: int, seed: int = 0) -> Components:
    """Components that overlap."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet(np.full(m, 2.0))
    mean = rng.normal(size=(m, d))
    if name == "poisson":
        return Components(weight, rng.gamma(3.0, size=(m, d)), np.empty(0))
    if name == "multinomial":
        return Components(weight, rng.dirichlet(np.ones(d), size=m), np.empty(0))
    spread: Any = rng.uniform(0.3, 1.5, size=(m, d))
    if name == "spherical":
        spread = spread[:, 0]
    elif name == "spherical_tied":
        spread = np.full(m, 0.6)
    elif name == "full":
        root = rng.normal(size=(m, d, d))
        spread = root @ root.transpose(0, 2, 1) / d + 0.2 * np.eye(d)
    return Components(weight, mean, spread)


def rows_of(name: str, known: Components, n: int, seed: int = 0) -> np.ndarray:
    """Rows of a mixture, as float32 has them."""
    rng = np.random.default_rng(seed + 100)
    labels = rng.choice(len(known.weight), size=n, p=known.weight)
    if name == "multinomial":
        return rng.multinomial(7, known.mean[labels]).astype(np.float32)
    return FAMILY_OF[name].sample(known, labels, rng).astype(np.float32)


def shard_of(name: str, X: np.ndarray, weight: Any = None, first_id: int = 0) -> Shard:
    """A shard of rows that are scaled already."""
    family = FAMILY_OF[name]
    base = family.log_base(X.astype(float))
    ids = np.arange(first_id, first_id + len(X), dtype=np.uint32)
    return Shard(np.ascontiguousarray(X), ids, family.layout, UNITS, weight, base)


def blobs(n: int = 3000, m: int = 8, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(m, d)) * 6)[rng.integers(m, size=n)] + rng.normal(
        size=(n, d)
    )


def rows_for(family: str, n: int = 3000) -> np.ndarray:
    if FAMILY_OF[family].is_count:
        rng = np.random.default_rng(0)
        rates = rng.gamma(1.0, 6.0, size=(8, 4)) + 0.1
        X = rng.poisson(rates[rng.integers(8, size=n)]).astype(float)
        X[X.sum(axis=1) == 0, 0] = 1.0
        return X
    return blobs(n)
