"""Task-parameterised movements from all rows at once, in plain NumPy.

Nothing is added up online: the rows of all demonstrations are there, with the labels
that a model has for them, and the movement is one system of linear equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST_SD, LEAST_TIME, SPANS = 1e-3, 1e-3, 20
Frames = list[tuple[Any, Any]]


class Demonstrations:
    """All demonstrations: times, what frames see, and accelerations."""

    def __init__(self) -> None:
        self.times: list[Any] = []
        self.seen: list[Any] = []
        self.second: list[Any] = []

    def add(self, X: Any, frames: Frames) -> None:
        self.times.append(np.arange(len(X)) / (len(X) - 1.0))
        views = [np.array([np.linalg.inv(A) @ (x - b) for x in X]) for A, b in frames]
        self.seen.append(np.hstack(views))
        span = max(1, len(X) // SPANS)
        steps = range(span, len(X) - span)
        second = [(X[t + span] - 2.0 * X[t] + X[t - span]) / span**2 for t in steps]
        self.second += second

    @property
    def rows(self) -> Any:
        return np.column_stack([np.concatenate(self.times), np.vstack(self.seen)])


def product_of(frames: Frames, means: Any, covariances: Any) -> tuple[Any, Any]:
    """The Gaussian whose density is the product of those of all frames."""
    width = len(frames[0][1])
    precision, weighted = np.zeros((width, width)), np.zeros(width)
    for k, (A, b) in enumerate(frames):
        its = np.linalg.inv(A @ covariances[k] @ A.T)
        precision, weighted = precision + its, weighted + its @ (A @ means[k] + b)
    together = np.linalg.inv(precision)
    return together @ weighted, together


def targets(
    seen: Demonstrations, labels: Any, ids: Any, frames: Frames, n_steps: int
) -> tuple[Any, Any, Any]:
    """Ids, means and covariances at each step."""
    width = len(frames[0][1])
    n, laws = len(seen.seen), []
    shrink = (width + 1.0) / (width + 1.0 + n)
    for id in ids:
        rows = seen.rows[labels == id]
        centred = rows - rows.mean(axis=0)
        laws.append((len(rows), rows.mean(axis=0), centred.T @ centred / len(rows)))
    every = np.concatenate([seen.rows[labels == id] for id in ids])
    least = LEAST_SD**2 * every.var(axis=0)
    out: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for time in np.arange(n_steps) / (n_steps - 1.0):
        score = []
        for n_rows, mean, covariance in laws:
            variance = covariance[0, 0] + LEAST_TIME**2
            square = (time - mean[0]) ** 2 / variance
            score.append(np.log(n_rows) - 0.5 * np.log(variance) - 0.5 * square)
        at = int(np.argmax(score))
        _, mean, covariance = laws[at]
        variance = covariance[0, 0] + LEAST_TIME**2
        means, covariances = [], []
        for k in range(len(frames)):
            part = slice(1 + k * width, 1 + (k + 1) * width)
            slope = covariance[part, 0] / variance
            means.append(mean[part] + slope * (time - mean[0]))
            rest = covariance[part, part] - variance * np.outer(slope, slope)
            rest = (1.0 - shrink) * rest + shrink * np.diag(np.diag(rest))
            covariances.append(rest + np.diag(least[part]))
        centre, spread = product_of(frames, means, covariances)
        for values, value in zip(out, (ids[at], centre, spread), strict=True):
            values.append(value)
    return tuple(np.array(values) for values in out)  # type: ignore[return-value]


def cheapest_path(mean: Any, covariance: Any, start: Any, cost: Any) -> Any:
    """The path of least cost, as the solution of its normal equations."""
    n, width = mean.shape
    # position at t: start + sum over s < t of (t - s - 1/2) u_s
    lags = np.arange(1, n)[:, None] - np.arange(n - 1)
    moves = np.kron(np.where(lags > 0, lags - 0.5, 0.0), np.eye(width))
    weight = np.zeros((width * (n - 1), width * (n - 1)))
    for t in range(n - 1):
        part = slice(t * width, (t + 1) * width)
        weight[part, part] = np.linalg.inv(covariance[t + 1])
    rest = (mean[1:] - start).ravel()
    normal = moves.T @ weight @ moves + np.kron(np.eye(n - 1), cost)
    commands = np.linalg.solve(normal, moves.T @ weight @ rest)
    path = start + (moves @ commands).reshape(n - 1, width)
    return np.vstack([start, path])
