"""How well one covariance describes all clusters, whatever their shape."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.sva.resolution import Sample

LEAST_FREEDOM = 10.0  # rows beyond clusters, fewer than which tell of no covariance
LEAST_SHARE = 1e-9  # of the largest variance, that others have at least
OVERLAP = 0.003  # mean probability of another cluster, up to which all are far apart


def tells_of_shape(sample: Sample) -> bool:
    """Whether the rows are enough for a covariance."""
    n, width = sample.rows.shape
    return bool(n >= max(LEAST_FREEDOM, 4 * width**2))


def tied_bic(sample: Sample, label: Ids) -> float:
    """BIC of a mixture whose clusters, these, have one covariance in common.

    Infinite where these are not far apart, as pieces of one cluster, and where
    covariances of their own describe them better.
    """
    from scipy.linalg import solve_triangular  # slow to import
    from scipy.spatial.distance import cdist

    rows = sample.rows - sample.rows.mean(axis=0)
    n, width = rows.shape
    _, label, count = np.unique(label, return_inverse=True, return_counts=True)
    freedom = n - len(count)
    means = np.zeros((len(count), width))
    np.add.at(means, label, rows)
    means /= count[:, None]
    steps = rows - means[label]
    covariance = steps.T @ steps / max(freedom, 1)
    own = np.diag(covariance).copy()
    if freedom < LEAST_FREEDOM or not own.max() > 0.0:
        return np.inf
    least = np.diag(sample.lacking(own) + LEAST_SHARE * own.max())
    covariance += least
    if gain_of_own_shapes(steps, label, covariance, least) > 0.0:
        return np.inf
    root = np.linalg.cholesky(covariance)
    places, centres = (
        solve_triangular(root, one.T, lower=True).T for one in (rows, means)
    )
    joint = np.log(count / n) - 0.5 * cdist(places, centres, "sqeuclidean")
    density = logsumexp(joint, axis=1)
    if 1.0 - np.exp(joint.max(axis=1) - density).mean() > OVERLAP:
        return np.inf
    volume = width * np.log(2.0 * np.pi) + 2.0 * np.log(np.diag(root)).sum()
    log_likelihood = float(density.sum()) - 0.5 * n * volume
    p = len(count) * (width + 1.0) + 0.5 * width * (width + 1.0) - 1.0
    return float(p * np.log(n) - 2.0 * log_likelihood)


def gain_of_own_shapes(
    steps: Matrix, label: Ids, shared: Matrix, least: Matrix
) -> float:
    """By how much BIC is better if clusters have covariances of their own.

    Those of fewer rows than a covariance needs are not asked; `steps` are of rows
    from the means of their clusters, far apart.
    """
    n, width = steps.shape
    volume, gain = np.linalg.slogdet(shared)[1], 0.0
    for k, count in enumerate(np.bincount(label)):
        if count < 4 * width:
            continue
        mine = steps[label == k]
        own = mine.T @ mine / (count - 1.0) + least
        square = np.einsum("ij,ji", np.linalg.inv(shared), own)
        gain += count * (volume - np.linalg.slogdet(own)[1] + square - width)
        gain -= 0.5 * width * (width + 1.0) * np.log(n)
    return float(gain)
