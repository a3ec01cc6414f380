"""How the scales of mixtures with subspaces are found in the first rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dyntree.encoding.values import Matrix
from dyntree.errors import ScaleWarning, warn
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.scales import LEAST_SHARE, Trial

N_LAMBDA = 14
N_PROBES = 80  # rows whose neighbours tell of the noise
SAME = 1e-3  # BIC that a difference of rounding may make
SETTLED = 0.01  # rise of the noise that ends the search for it
MOST_ROUNDS = 30
LEAST_VARIANCE = 1e-150  # of noise where all rows are equal

Run = Callable[[float, float], Any]


def subspace_scales(
    rows: Matrix, lambda_: float | str, noise: float | str, run: Run
) -> tuple[float, float]:
    """Cost of a new cluster, and noise: as given, or chosen from rows."""
    if isinstance(lambda_, str):
        path = subspace_path(rows, noise, run)
        return path.chosen, path.noise
    sd = float(np.sqrt(local_variance(rows)))
    for _ in range(MOST_ROUNDS):
        before, sd = sd, float(np.sqrt(residual_variance(rows, run(lambda_, sd))))
        if sd <= (1.0 + SETTLED) * before:
            break
    return lambda_, sd


def subspace_path(rows: Matrix, noise: float | str, run: Run) -> LambdaPath:
    """Try costs of a new cluster; noise that is not given is found on the way.

    `run` makes clusters at a cost and a noise, learns all rows, and merges.
    """
    square = mean_square(rows)
    if not square > 0.0:
        least = sys.float_info.min
        warn(
            ScaleWarning,
            "all rows that lambda_='auto' was to be chosen from are equal; any other "
            "row will open a cluster. Give lambda_ and noise.",
        )
        one = np.ones(1, dtype=np.int64)
        sd = noise if isinstance(noise, float) else float(np.sqrt(LEAST_VARIANCE))
        return LambdaPath(np.array([least]), one, np.zeros(1), least, sd)
    known = isinstance(noise, float)
    sd = noise if isinstance(noise, float) else float(np.sqrt(local_variance(rows)))
    values, trials = trials_at(rows, sd, run)
    best = middle_of_best(trials)
    for _ in range(0 if known else MOST_ROUNDS):
        before, sd = sd, float(np.sqrt(trials[best].variance))
        values, trials = trials_at(rows, sd, run)
        best = middle_of_best(trials)
        if sd <= (1.0 + SETTLED) * before:  # the first guess is too low, if anything
            break
    return LambdaPath(
        lambda_=values,
        n_clusters=np.array([trial.n_clusters for trial in trials]),
        bic=np.array([trial.bic for trial in trials]),
        chosen=float(values[best]),
        noise=sd,
    )


def trials_at(rows: Matrix, noise: float, run: Run) -> tuple[Matrix, list[Trial]]:
    """Costs between what noise and what all rows together suggest, and their trials."""
    low, high = 10.0 * rows.shape[1] * noise**2, 4.0 * mean_square(rows)
    values = np.geomspace(min(low, high), max(low, high), N_LAMBDA)
    return values, [subspace_trial(rows, run(value, noise)) for value in values]


def middle_of_best(trials: list[Trial]) -> int:
    """Of costs that lead to the same best mixture, the one in the middle."""
    bic = np.array([trial.bic for trial in trials])
    best = np.flatnonzero(bic <= bic.min() + SAME)
    return int(best[len(best) // 2])


def subspace_trial(rows: Matrix, found: Any) -> Trial:
    """BIC of the mixture found, and the noise that its residuals tell of."""
    n, width = rows.shape
    places = np.arange(found.n)
    weight, dim = found.array("weight"), found.array("dim").astype(np.float64)
    variance = found.variance
    density = -0.5 * (
        width * np.log(2.0 * np.pi * variance)
        + found.volumes(places)
        + found.mahalanobis(rows, places) / variance
    )
    joint = density + np.log(weight / weight.sum())
    log_likelihood = float(logsumexp(joint, axis=1).sum())
    p = width + dim * (width - dim) + dim * (dim + 1.0) / 2.0
    bic = -2.0 * log_likelihood + (p.sum() + found.n - 1.0) * np.log(n)
    return Trial(found.n, float(bic), residual_variance(rows, found))


def residual_variance(rows: Matrix, found: Any) -> float:
    """Mean variance of the directions outside the subspaces, weighted by rows."""
    weight, dim, eig = (found.array(name) for name in ("weight", "dim", "eig"))
    inside = np.where(np.arange(eig.shape[1]) < dim[:, None], eig, 0.0).sum(axis=1)
    left = np.maximum(found.array("scatter") - weight * inside, 0.0).sum()
    # a cluster of w rows has lost a degree of freedom a direction to its mean
    freedom = ((weight - 1.0) * (rows.shape[1] - dim)).sum()
    share = float(left / freedom) if freedom > 0.0 else 0.0
    return max(share, least_variance(rows))


def local_variance(rows: Matrix) -> float:
    """Noise among neighbours: the smaller half of the eigenvalues, median over rows.

    Rows are taken at even distances; each has 3 n_features + 2 neighbours.
    """
    n, width = rows.shape
    places = np.unique(np.linspace(0, n - 1, min(n, N_PROBES)).astype(np.int64))
    n_near = min(n, 3 * width + 2)
    found = []
    for x in rows[places]:
        distance = ((rows - x) ** 2).sum(axis=1)
        near = rows[np.argpartition(distance, n_near - 1)[:n_near]]
        values = np.linalg.eigvalsh(np.atleast_2d(np.cov(near.T)))
        found.append(max(float(values[: max(1, width // 2)].mean()), 0.0))
    return max(float(np.median(found)), least_variance(rows))


def least_variance(rows: Matrix) -> float:
    """What noise is taken to have at least, however few rows tell of it."""
    floor: float = LEAST_SHARE * mean_square(rows) / rows.shape[1]
    return max(floor, LEAST_VARIANCE)


def mean_square(rows: Matrix) -> float:
    """Mean squared distance of rows to their mean."""
    return float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
