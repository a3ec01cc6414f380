"""Laws of counts by regressions that learn row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix, Vector

NODES, _weights = np.polynomial.hermite_e.hermegauss(7)
NODE_SHARES = _weights / _weights.sum()
SPREAD = 1.0 / 3.0  # of the variance of a log rate, that is within a component
MOST_WITHIN = 0.5  # a gamma law of a larger log variance is far from log-normal
LEAST_WITHIN = 1e-8
LEAST_SHARE = 1e-6  # of a kind that is left out
FARTHEST = 300.0  # log rates beyond which nothing is computed
MOST_LOG_RATIO = np.log(10.0)  # of a predicted rate, to the highest so far


def highest(filters: LinearFilters) -> float:
    """Log rate above which no row is predicted.

    A log-linear rate of few rows has a law whose mean is far above any event so far.
    """
    return float(min(filters.most + MOST_LOG_RATIO, FARTHEST))


def linear_laws(filters: LinearFilters, rows: Matrix, exposure: Vector) -> Any:
    """Laws of counts at encoded rows; see `RateLaws`.

    The law of a log rate is normal for each kind of filter. It is written as a mixture
    over the nodes of Gauss-Hermite quadrature, of gamma laws (or beta prime ones)
    whose logs have about the mean of a node and the variance that the nodes lack: with
    x - 1/2 for x, digamma(x) is near log x, and trigamma(x) near 1 / x.

    Exposures, of shape (n_rows,), are in the filters' unit.
    """
    shares = filters.weights
    used = shares > LEAST_SHARE * shares.max()
    shares = shares[used] / shares[used].sum()
    mean, variance = (part[:, used, None] for part in filters.log_rates(rows))
    within = np.clip(SPREAD * variance, LEAST_WITHIN, MOST_WITHIN)
    between = np.sqrt(np.maximum(variance - within, 0.0))
    at = np.clip(mean + between * NODES, -FARTHEST, highest(filters))
    sizes = filters.kind_sizes[used][:, None]
    with np.errstate(divide="ignore"):
        ratio = np.exp(at - np.log(sizes))  # of the mean to the size; 0: Poisson
        is_poisson = np.isinf(sizes)
        first = 0.5 + np.where(is_poisson, 1.0, 1.0 + 1.0 / ratio) / within
        second = 0.5 + (1.0 + ratio) / within
    second = np.where(is_poisson, np.exp(-at) / within, second)
    n_each = at[0].size if len(rows) else 0
    share = np.tile((shares[:, None] * NODE_SHARES).ravel(), len(rows))
    each = np.repeat(exposure, n_each)
    size = np.broadcast_to(sizes, at.shape).ravel() * each
    start = np.arange(len(rows) + 1) * n_each
    return start, share, first.ravel(), second.ravel(), size, each
