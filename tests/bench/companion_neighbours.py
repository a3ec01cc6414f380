"""Nearest neighbours beside SciPy's tree and faiss' flat index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dyntree.mixtures import CoverTree

from .companion_tables import SEEDS, Cells, Table, needs, timed

N_ROWS, N_QUERIES, N_NEAREST = 20_000, 500, 10


def rows_of(width: int, own: int, seed: int) -> tuple[Any, Any]:
    """Rows on a bent surface of `own` dimensions, and queries beside some of them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N_ROWS, own))
    X = z if own == width else np.tanh(z @ rng.normal(size=(own, width)))
    at = X[rng.choice(N_ROWS, N_QUERIES, replace=False)]
    return X, at + 0.01 * X.std() * rng.normal(size=at.shape)


def ours(X: Any) -> Callable[[Any], Any]:
    """The cover tree with its defaults."""
    tree = CoverTree(X, seed=0)
    return lambda Q: tree.query(Q, N_NEAREST)[0]


def scipys(X: Any) -> Callable[[Any], Any]:
    """SciPy's k-d tree."""
    from scipy.spatial import cKDTree

    tree = cKDTree(X)
    return lambda Q: tree.query(Q, N_NEAREST)[0]


def faiss_flat(X: Any) -> Callable[[Any], Any]:
    """faiss' exhaustive index, in single precision."""
    needs("faiss")
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X.astype(np.float32))
    return lambda Q: np.sqrt(index.search(Q.astype(np.float32), N_NEAREST)[0])


def asked(make: Callable[[Any], Any], width: int, own: int, seed: int) -> Cells:
    """Microseconds a query, seconds of building, and the error of the distances."""
    X, Q = rows_of(width, own, seed)
    ask, build = timed(lambda: make(X))
    found, seconds = timed(lambda: ask(Q))
    best = np.sort(((Q[:20, None] - X) ** 2).sum(axis=2), axis=1)[:, :N_NEAREST]
    error = float(np.abs(found[:20] - np.sqrt(best)).max() / X.std())
    return {"us a query": 1e6 * seconds / N_QUERIES, "build s": build, "error": error}


def neighbours() -> Iterator[Table]:
    """From 3 to 64 columns, of own dimension 3 and of all columns."""
    columns = {"us a query": "high", "build s": "high", "error": "high"}
    for width, own in ((3, 3), (8, 3), (16, 3), (32, 3), (64, 3), (8, 8), (16, 16),
                       (32, 32), (64, 64)):  # fmt: skip
        table = Table(
            f"neighbours: {N_ROWS} x {width}, own dimension {own}, {N_NEAREST} nearest",
            columns,
        )
        table.fill({
            name: lambda seed, make=make, d=width, own=own: asked(make, d, own, seed)
            for name, make in (
                ("CoverTree", ours), ("cKDTree", scipys), ("faiss flat", faiss_flat)
            )
        }, SEEDS)  # fmt: skip
        yield table
