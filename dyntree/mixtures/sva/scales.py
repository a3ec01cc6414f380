"""How scales that nobody gave are found: short runs over the first rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, logsumexp

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ScaleWarning, warn
from dyntree.mixtures.sva.records import LambdaPath

MISS = 1e-5  # probability with which a row lies beyond the radius of its own cluster
N_LAMBDA = 24
BELOW = 0.99  # so that rows that far apart are not in one cluster under every cost
MOST_SPREAD = 1e4  # of the variances of columns
LEAST_SHARE = 1e-9  # of the largest squared distance that noise may be


@dataclass(frozen=True)
class Trial:
    """What came of one cost of a new cluster."""

    n_clusters: int
    bic: float
    variance: float  # of the noise


def radius(variance: float, n_features: int) -> float:
    """Squared distance beyond which a row of the cluster lies with probability MISS."""
    return float(variance * chdtri(n_features, MISS))


def check_columns(rows: Matrix, names: tuple[str, ...]) -> None:
    """Warn of columns whose scales differ so much that distances see few of them."""
    variance = np.var(rows, axis=0)
    varying = variance > 0.0
    if not varying.any():
        return
    largest = variance.max()
    hidden = np.flatnonzero(varying & (variance * MOST_SPREAD < largest))
    small = [names[j] for j in hidden]
    if small:
        shown = ", ".join(map(repr, small[:5])) + (", ..." if len(small) > 5 else "")
        warn(
            ScaleWarning,
            f"the variance of column {names[int(variance.argmax())]!r} is more than "
            f"{MOST_SPREAD:g} times that of {shown}, which distances will not see. "
            "Standardise the columns.",
        )


def varying(rows: Matrix) -> Matrix:
    """Rows without columns that are constant, which are no dimensions of noise."""
    moves = np.ptp(rows, axis=0) > 0.0
    return np.ascontiguousarray(rows[:, moves]) if moves.any() else rows


def spherical_path(rows: Matrix, run: Callable[[float], Any]) -> LambdaPath:
    """Try costs of a new cluster on two or more rows of round clusters of equal size.

    `run` makes clusters at a cost, learns all rows, and merges.
    """
    from scipy.spatial.distance import pdist  # slow to import

    distances = pdist(rows, "sqeuclidean")
    distances = distances[distances > 0.0]
    if not len(distances):
        least = sys.float_info.min
        warn(
            ScaleWarning,
            "all rows that lambda_='auto' was to be chosen from are equal; any other "
            "row will open a cluster. Give lambda_.",
        )
        one = np.ones(1, dtype=np.int64)
        return LambdaPath(np.array([least]), one, np.zeros(1), least, np.sqrt(least))
    low, high = np.quantile(distances, 0.001), distances.max()
    values = np.geomspace(BELOW * low, high, N_LAMBDA)
    floor = LEAST_SHARE * high / rows.shape[1]
    trials = [spherical_trial(rows, run(value).means(), floor) for value in values]
    best = min(trials, key=lambda trial: trial.bic)
    return LambdaPath(
        lambda_=values,
        n_clusters=np.array([trial.n_clusters for trial in trials]),
        bic=np.array([trial.bic for trial in trials]),
        chosen=radius(best.variance, rows.shape[1]),
        noise=float(np.sqrt(best.variance)),
    )


def spherical_trial(rows: Matrix, means: Matrix, floor: float) -> Trial:
    """Two steps of Lloyd's from these means, and the mixture that comes of them."""
    from scipy.spatial.distance import cdist  # slow to import

    n, width = rows.shape
    for _ in range(2):
        distance = cdist(rows, means, "sqeuclidean")
        label = distance.argmin(axis=1)
        count = np.bincount(label, minlength=len(means))
        total = np.zeros_like(means)
        np.add.at(total, label, rows)
        means = total[count > 0] / count[count > 0, None]
    distance = cdist(rows, means, "sqeuclidean")
    label = distance.argmin(axis=1)
    count = np.bincount(label, minlength=len(means))
    found = int(np.sum(count > 0))
    scatter = float(distance[np.arange(n), label].sum())
    if n - found < max(10.0, 0.2 * n) and found > 1:
        return Trial(found, np.inf, max(scatter / (width * max(n - found, 1)), floor))
    variance = max(scatter / (width * (n - found)), floor)
    with np.errstate(divide="ignore"):
        log_weight = np.log(count / n)
    density = logsumexp(log_weight - 0.5 * distance / variance, axis=1)
    log_likelihood = float(np.sum(density)) - 0.5 * n * width * np.log(
        2.0 * np.pi * variance
    )
    bic = -2.0 * log_likelihood + found * (width + 1) * np.log(n)
    return Trial(found, float(bic), variance)


def pooled_variance(scatter: Vector, weight: Vector, width: int) -> float:
    """Variance of a coordinate within clusters; 0 where rows are no more than these."""
    freedom = float(weight.sum()) - len(weight)
    return float(scatter.sum()) / (width * freedom) if freedom > 0.0 else 0.0
