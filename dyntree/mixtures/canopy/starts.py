"""Starts: rows at which components begin."""

from __future__ import annotations

import numpy as np

from dyntree._core.covertree import build
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.canopy.groups import BASE, Singles
from dyntree.mixtures.canopy.scaling import blocks
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.blas import single_threaded_blas

NODES = 8  # of a cover tree, for each component
KMEANS_ROWS = 20_000  # of the sample that k-means looks at, or 20 a component
N_RUNS, FEW = 4, 64  # of k-means, where components are few
N_STEPS = 10  # of Lloyd's in each


def chosen_start(init: str, m: int) -> str:
    """What "auto" stands for."""
    if init != "auto":
        return init
    return "kmeans" if m <= 256 else "random"


def n_wanted(init: str, m: int, n_rows: int) -> int:
    """Rows that a start wants to see."""
    if init.startswith("kmeans"):
        return min(n_rows, max(20 * m, KMEANS_ROWS))
    return n_rows if init.startswith("covertree") else min(n_rows, 4 * m + 100)


def start(init: str, m: int, rows: Singles, seed: int, n_threads: int) -> Matrix:
    """Rows, or means of rows, at which m components begin, in float64.

    `rows` are all, or a sample of them in random order, scaled; fewer different ones
    than components raise ValueError.
    """
    rng = np.random.default_rng([seed, 1])
    if init == "random":
        found = distinct(rows, m, rng)
    elif init == "kmeans++":
        found = kmeans_plus_plus(rows, m, rng)
    elif init == "kmeans":
        found = kmeans(rows, m, rng)
    else:
        found = truncated(rows, m, init == "covertree_means", seed, n_threads)
    return found


def too_few(m: int, n: int) -> ValueError:
    """Error for rows that are the same too often."""
    return ValueError(
        f"n_components must be at most the number of different rows, {n}; got {m}."
    )


def distinct(rows: Singles, m: int, rng: np.random.Generator) -> Matrix:
    """Rows drawn at random, all different."""
    order = rng.permutation(len(rows))
    _, place = np.unique(rows[order], axis=0, return_index=True)
    if len(place) < m:
        raise too_few(m, len(place))
    return rows[order[np.sort(place)[:m]]].astype(np.float64)


def kmeans_plus_plus(rows: Singles, m: int, rng: np.random.Generator) -> Matrix:
    """Rows drawn by their squared distance to those before, 2 + log m tries each.

    k-means++ (Arthur and Vassilvitskii 2007), the greedy version.
    """
    points = rows.astype(np.float64)
    squares = (points**2).sum(axis=1)

    def distances(places: np.ndarray) -> Matrix:
        out: Matrix = squares - 2.0 * points[places] @ points.T + squares[places, None]
        return np.maximum(out, 0.0)

    n_tries = 2 + int(np.log(m))
    found = [int(rng.integers(len(points)))]
    nearest = distances(np.array(found))[0]
    nearest[found] = 0.0
    while len(found) < m:
        total = nearest.sum()
        if not total > 0.0:
            return distinct(rows, m, rng)  # which says what is wrong, or is right
        draws = np.searchsorted(np.cumsum(nearest), rng.random(n_tries) * total)
        tries = np.minimum(draws, len(points) - 1)
        nearer = np.minimum(nearest, distances(tries))
        best = int(np.argmin(nearer.sum(axis=1)))
        found.append(int(tries[best]))
        nearest = nearer[best]
        nearest[found[-1]] = 0.0
    return points[found]


def kmeans(rows: Singles, m: int, rng: np.random.Generator) -> Matrix:
    """Means of the tightest of some runs of k-means, each begun by k-means++."""
    points = rows.astype(np.float64)
    best, least = points[:m], np.inf
    for _ in range(N_RUNS if m <= FEW else 1):
        means = kmeans_plus_plus(rows, m, rng)
        for _ in range(N_STEPS):
            nearest, squares = nearest_means(points, means)
            total = squares.sum()
            if total < least:
                best, least = means, total
            count = np.bincount(nearest, minlength=m)
            order = np.argsort(nearest, kind="stable")
            filled = np.flatnonzero(count)
            first = np.cumsum(count)[filled] - count[filled]
            means = means.copy()
            means[filled] = np.add.reduceat(points[order], first)
            means[filled] /= count[filled, None]
    return best


def nearest_means(points: Matrix, means: Matrix) -> tuple[Ids, Vector]:
    """The nearest mean of each point, and the squared distance to it."""
    nearest, squares = np.empty(len(points), dtype=np.int64), np.empty(len(points))
    about = (means**2).sum(axis=1)
    with single_threaded_blas():  # any number of threads gives the same bits
        for part in blocks(np.broadcast_to(0.0, (len(points), len(means)))):
            apart = about - 2.0 * points[part] @ means.T
            nearest[part] = apart.argmin(axis=1)
            squares[part] = apart.min(axis=1) + (points[part] ** 2).sum(axis=1)
    return nearest, squares


def truncated(rows: Singles, m: int, means: bool, seed: int, n_threads: int) -> Matrix:
    """Centres of a cover tree, or means of their own rows: of the m fullest nodes.

    The tree has more nodes than are wanted, as its first are the rows farthest out.
    """
    tree = build(rows, BASE, 1, NODES * m, seed, n_threads)
    n, sizes = len(tree["centre"]), tree["own_end"] - tree["row_begin"]
    if n < m:
        raise too_few(m, n)
    fullest = np.sort(np.argsort(-sizes, kind="stable")[:m])
    if not means:
        return rows[tree["centre"][fullest]].astype(np.float64)
    ordered = rows[tree["order"]].astype(np.float64)
    first, last = tree["row_begin"][fullest], tree["own_end"][fullest]
    return np.stack(
        [ordered[a:b].mean(axis=0) for a, b in zip(first, last, strict=True)]
    )
