"""Global sensitivity: main effects and Sobol indices of every particle.

Each particle draws its own two samples of inputs, and a response at every location.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv

from tests.oracle import ieee
from tests.oracle.cloud import Cloud
from tests.oracle.stream import RSource, student
from tests.oracle.tree import Tree


def sensitivity(
    cloud: Cloud,
    *,
    n_samples: int,
    grid,
    span: float,
    lower,
    upper,
    shape,
    mode,
    categorical,
    method: str = "lhs",
    label: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Main effects on a grid, and Sobol's first-order and total indices.

    Parameters
    ----------
    cloud : Cloud
        Draws come from its source.
    n_samples : int
        Size of each of the two samples.
    grid : ndarray of shape (n_grid, d)
    span : float
        Share of the sample in the window of the moving average.
    lower, upper, shape, mode : ndarray of shape (d,)
        Scaled beta distribution of each input; shape 0 is a coin with mean `mode`.
    categorical : ndarray of bool of shape (d,)
    method : {"lhs", "boot"}
        Latin hypercube, or stored rows with replacement.
    label : int, optional
        Class looked at.

    Returns
    -------
    main : ndarray of shape (n_particles, n_grid, d)
    first, total : ndarray of shape (n_particles, d)
        As computed; they may lie outside [0, 1].
    """
    grid = np.asarray(grid, dtype=np.float64)
    d = len(lower)
    ones = cloud.n_features - d
    inputs = [_Input(*values) for values in zip(lower, upper, shape, mode, strict=True)]
    main, first, total = [], [], []
    for tree in cloud.trees:
        if method == "lhs":
            a = _hypercube(cloud.source, n_samples, inputs)
            b = _hypercube(cloud.source, n_samples, inputs)
        else:
            a = _bootstrap(cloud, n_samples, ones)
            b = _bootstrap(cloud, n_samples, ones)
        level, response = _respond(tree, cloud.source, a, b, ones, label)
        both = np.concatenate([a, b])
        main.append(
            [
                _main_effect(both[:, j], level, grid[:, j], span, bool(categorical[j]))
                for j in range(d)
            ]
        )
        indices = _sobol(response, n_samples)
        first.append(indices[0])
        total.append(indices[1])
    return np.array(main).transpose(0, 2, 1), np.array(first), np.array(total)


class _Input:
    """Distribution of one input."""

    __slots__ = ("alpha", "lower", "probability", "shape", "upper")

    def __init__(self, lower: float, upper: float, shape: float, mode: float) -> None:
        self.lower, self.upper = float(lower), float(upper)
        self.probability = float(mode) if 0.0 <= mode <= 1.0 else 0.5
        place = ieee.divide(float(mode) - self.lower, self.upper - self.lower)
        if not 0.0 <= place <= 1.0:
            place = 0.5
        self.shape = float(shape)
        if 0.0 < self.shape < 1.0:
            self.shape = 1.0
        self.alpha = ieee.divide(1.0 + place * (self.shape - 2.0), 1.0 - place)

    def values(self, source: RSource, p: np.ndarray) -> np.ndarray:
        """Map a stratified sample to the input's distribution."""
        if self.shape == 0.0:
            unit = (source.uniforms(len(p)) < self.probability).astype(np.float64)
        elif self.alpha == math.inf:
            unit = np.ones(len(p))  # the mode is the upper bound: all mass is there
        else:
            unit = betaincinv(self.alpha, self.shape, p)
        return self.lower + (self.upper - self.lower) * unit


def _hypercube(source: RSource, n: int, inputs: list[_Input]) -> np.ndarray:
    """Latin hypercube sample: ndarray of shape (n, d)."""
    d = len(inputs)
    order = source.uniforms(d * n).reshape(d, n)
    jitter = source.uniforms(d * n).reshape(d, n)
    columns = []
    for j, one in enumerate(inputs):
        rank = np.empty(n)
        rank[np.argsort(order[j], kind="stable")] = np.arange(1, n + 1)
        columns.append(one.values(source, (rank - jitter[j]) / n))
    return np.column_stack(columns)


def _bootstrap(cloud: Cloud, n: int, ones: int) -> np.ndarray:
    """Stored rows with replacement: ndarray of shape (n, d)."""
    x = cloud.pool.x
    rows = [x[int(cloud.source.uniform() * len(x))][ones:] for _ in range(n)]
    return np.array(rows, dtype=np.float64)


def _respond(
    tree: Tree, source: RSource, a: np.ndarray, b: np.ndarray, ones: int, label
) -> tuple[np.ndarray, np.ndarray]:
    """Predict and draw at the rows of a, b, and b with one column of a each.

    Returns
    -------
    level : ndarray of shape (2 n,)
        Predictive mean (or probability) at a and b.
    response : ndarray of shape (2 + d, n)
        Drawn response at every location.
    """
    n, d = a.shape
    blocks = [a, b]
    for j in range(d):
        mixed = b.copy()
        mixed[:, j] = a[:, j]
        blocks.append(mixed)
    places = np.concatenate(blocks)
    places = np.concatenate([np.ones((len(places), ones)), places], axis=1)
    level, response = [], []
    for x in places.tolist():
        leaf = tree.leaf_at(x)
        if label is None:
            mu, sd, df = leaf.predictive(x)
            response.append(mu + sd * student(source, df))
        else:
            mu = leaf.probabilities()[label]
            response.append(float(source.uniform() < mu))
        level.append(mu)
    return np.array(level[: 2 * n]), np.array(response).reshape(2 + d, n)


def _main_effect(
    x: np.ndarray, level: np.ndarray, grid: np.ndarray, span: float, categorical: bool
) -> np.ndarray:
    """Mean level as a function of one input, at the grid."""
    if not categorical:
        return moving_average(x, level, grid, span)
    low, high = level[x == 0.0], level[x != 0.0]
    means = [part.sum() / len(part) if len(part) else math.nan for part in (low, high)]
    return np.where(grid < 0.5, means[0], means[1])


def moving_average(
    x: np.ndarray, level: np.ndarray, grid: np.ndarray, span: float
) -> np.ndarray:
    n = len(x)
    window = min(max(math.floor(span * n), 2), n)
    order = n - 1 - np.argsort(x[::-1], kind="stable")  # ties: decreasing index
    x, level = x[order], level[order]
    out = []
    start = 0
    for point in grid:
        edge = max(abs(point - x[start]), abs(point - x[start + window - 1]))
        while start + window < n:
            shifted = max(abs(point - x[start + 1]), abs(point - x[start + window]))
            if shifted > edge:
                break
            start += 1
            edge = shifted
        near = slice(start, start + window)
        with np.errstate(all="ignore"):
            weights = (1.0 - np.abs(x[near] - point) / edge) ** 2
            out.append((weights * level[near]).sum() / weights.sum())
    return np.array(out)


def _sobol(response: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total indices, each of shape (d,)."""
    f1, f2, mixed = response[0], response[1], response[2:]
    mean = (f1 + f2).sum() / (2 * n)
    square = (f1 * f1 + f2 * f2).sum() / (2 * n)
    with np.errstate(all="ignore"):
        log_variance = np.log(square - mean * mean)
        u = (mixed * f1).sum(axis=1) / (n - 1)
        w = (mixed * f2).sum(axis=1) / (n - 1)
        first = np.exp(np.log(np.maximum(u - mean**2, 0.0)) - log_variance)
        total = 1.0 - np.exp(np.log(np.maximum(w - mean**2, 0.0)) - log_variance)
    return first, total
