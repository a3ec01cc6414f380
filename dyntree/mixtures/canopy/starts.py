"""Starts: rows at which components begin."""

from __future__ import annotations

import numpy as np

from dyntree._core.covertree import build
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.canopy.groups import BASE, Singles
from dyntree.mixtures.canopy.scaling import blocks
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.blas import single_threaded_blas

NODES = 8  # of a cover tree, for each component
KMEANS_ROWS = 20_000  # of the sample that k-means looks at, or 20 a component
N_RUNS, FEW = 2, 64  # of k-means in either unit, where components are few
N_LOOKED, N_NEAR = 256, 8  # rows by which a unit is chosen, and rows near each
LEAST = 1e-9  # variance of a component, where columns have one of 1
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
    elif init == "covertree_level":
        found = from_level(rows, m, rng, seed, n_threads)
    else:
        found = truncated(rows, m, init == "covertree_means", seed, n_threads)
    return found


def too_few(m: int, n: int) -> ValueError:
    """Error for rows that are the same too often."""
    return ArgumentError(
        "n_components", f"must be at most the number of different rows, {n}", m
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
    """Means of the likeliest of some runs of k-means, each begun by k-means++.

    Every other run counts columns in spreads of near rows, not of all: a column of two
    values would else be cut before clusters that the others separate widely.
    """
    points = rows.astype(np.float64)
    if m > FEW:
        return lloyd(points, kmeans_plus_plus(rows, m, rng))[0]
    steps = resolutions(points)
    best, most = points[:m], -np.inf
    for unit in (np.ones(points.shape[1]), local_spreads(points, steps)) * N_RUNS:
        own = points / unit
        _, nearest = lloyd(own, kmeans_plus_plus(own.astype(np.float32), m, rng))
        found = log_likelihood(points, nearest, m, steps)
        if found > most:
            most = found
            best = means_of(points, nearest, points[rng.integers(len(points), size=m)])
    return best


def lloyd(points: Matrix, means: Matrix) -> tuple[Matrix, Ids]:
    """Means after some steps, and the nearest of each point."""
    for _ in range(N_STEPS):
        means = means_of(points, nearest_means(points, means)[0], means)
    return means, nearest_means(points, means)[0]


def means_of(points: Matrix, nearest: Ids, means: Matrix) -> Matrix:
    """Means of labelled points; `means` where there is none."""
    count = np.bincount(nearest, minlength=len(means))
    order = np.argsort(nearest, kind="stable")
    filled = np.flatnonzero(count)
    first = np.cumsum(count)[filled] - count[filled]
    found = means.copy()
    found[filled] = np.add.reduceat(points[order], first)
    found[filled] /= count[filled, None]
    return found


def resolutions(points: Matrix) -> Vector:
    """Least variance that separates clusters by column: squares of smallest steps."""
    steps = [np.diff(np.unique(column)) for column in points.T]
    least = [step.min() if len(step) else 0.0 for step in steps]
    return np.square(least)


def local_spreads(points: Matrix, least: Vector) -> Vector:
    """Standard deviations of columns among near rows, shape (n_features,)."""
    some = points[: min(len(points), N_LOOKED)]
    squares = np.empty(some.shape)
    for i, one in enumerate(some):
        far = np.square(points - one).sum(axis=1)
        near = np.argpartition(far, min(N_NEAR, len(points) - 1))[: N_NEAR + 1]
        squares[i] = np.square(points[near] - one).sum(axis=0) / (2.0 * N_NEAR)
    found = np.maximum(np.median(squares, axis=0), least)
    spread: Vector = np.sqrt(np.where(found > 0.0, found, 1.0))
    return spread


def log_likelihood(points: Matrix, nearest: Ids, m: int, least: Vector) -> float:
    """Of labelled points in normals of their own, but for constants."""
    count = np.bincount(nearest, minlength=m).astype(np.float64)
    means = means_of(points, nearest, np.zeros((m, points.shape[1])))
    squares = np.square(points - means[nearest])
    spread = means_of(squares, nearest, np.ones(means.shape))
    logs = np.log(np.maximum(spread, np.maximum(least, LEAST))).sum(axis=1)
    filled = count > 0.0
    return float(count[filled] @ (np.log(count[filled]) - 0.5 * logs[filled]))


def variances_within(rows: Singles, means: Matrix) -> Vector:
    """Variance of columns about the nearest of some means, shape (n_features,)."""
    points = rows.astype(np.float64)
    nearest, _ = nearest_means(points, means)
    within: Vector = np.square(points - means[nearest]).mean(axis=0)
    return within


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


def from_level(
    rows: Singles, m: int, rng: np.random.Generator, seed: int, n_threads: int
) -> Matrix:
    """Centres of the last level of a cover tree with at most m nodes, filled up to m.

    Nodes of the level, drawn at random, are replaced by their children of the next one,
    of which they are one themselves (Zaheer et al. 2017, section 5). A child is farther
    from its parent than the radius of the first level that has it, and not as far as
    that of the level before.
    """
    tree = build(rows, BASE, 1, len(rows), seed, n_threads)
    centre, parent = tree["centre"], tree["parent"]
    if len(centre) < m:
        raise too_few(m, len(centre))
    points = rows[centre].astype(np.float64)
    apart = np.linalg.norm(points - points[parent], axis=1)
    apart[0] = np.inf  # the root, which every level has
    level = np.ceil(np.log(apart) / np.log(BASE))
    filled = np.sort(level)[::-1][m - 1]  # the first level with m nodes or more
    found = np.flatnonzero(level > filled)
    late = np.flatnonzero(level == filled)
    turn = np.empty(len(centre))
    turn[rng.permutation(len(centre))] = np.arange(len(centre))
    order = np.lexsort((turn[late], turn[parent[late]]))
    chosen: Matrix = points[np.sort(np.r_[found, late[order[: m - len(found)]]])]
    return chosen
