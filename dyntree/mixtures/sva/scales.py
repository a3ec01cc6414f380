"""Scales that are not passed are chosen by short runs over the first rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import chdtri, logsumexp

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ScaleWarning, warn
from dyntree.mixtures.shared.arrays import constants
from dyntree.mixtures.sva.options import FRAGMENT
from dyntree.mixtures.sva.records import LambdaPath
from dyntree.mixtures.sva.resolution import Sample
from dyntree.mixtures.sva.tied import tells_of_shape, tied_bic
from dyntree.runtime.blas import single_threaded_blas

MISS = 1e-5  # probability with which a row lies beyond the radius of its own cluster
N_LAMBDA = 24
LONG = 1.8  # times a cost is the radius left where it cuts long clusters in pieces
BELOW = 0.99  # so that rows that far apart are not in one cluster under every cost
MOST_SPREAD = 1e4  # of the variances of columns
LEAST_SHARE = 1e-9  # of the largest squared distance that noise may be
N_PLANAR = 14
LEAST_RADIUS = 0.7  # of a cluster's, whose square is the least cost: pieces still merge
N_PROBES, LEAST_PROBES = 80, 5  # rows whose neighbours tell of the noise
NARROW = 32  # columns from which fewer rows do: each averages over more of them
SAME = 1e-3  # BIC that a difference of rounding may make
WIDER = 2.0  # times a noise is the next one that is tried
SETTLED = 0.01  # rise of the noise that ends the search for it
MOST_ROUNDS = 30
LEAST_VARIANCE = 1e-150  # of noise where all rows are equal
Run = Callable[[float, float], Any]


@dataclass(frozen=True)
class Trial:
    """The result for one cost of a new cluster."""

    n_clusters: int
    bic: float
    variance: float  # of the noise
    tied: float = np.inf  # BIC of its clusters with one covariance in common

    def is_as(self, other: Trial) -> bool:
        """Whether both have the same mixture but for rounding."""
        return (
            self.n_clusters == other.n_clusters
            and self.bic <= other.bic + SAME
            and other.bic <= self.bic + SAME
        )


def radius(variance: float, n_features: int) -> float:
    """Squared distance beyond which a row of the cluster lies with probability MISS."""
    return float(variance * chdtri(n_features, MISS))


def check_columns(rows: Matrix, names: tuple[str, ...]) -> None:
    """Warn of columns whose scales differ so much that distances see few of them."""
    variance = np.var(rows, axis=0)
    varying = ~constants(rows)
    if not varying.any():
        return
    largest = variance.max()
    hidden = np.flatnonzero(varying & (variance * MOST_SPREAD < largest))
    small = [names[j] for j in hidden]
    if small:
        shown = ", ".join(map(repr, small[:5])) + (", ..." if len(small) > 5 else "")
        warn(
            ScaleWarning,
            "the variance of column {names!r} is more than {most_spread:g} times "
            "that of {shown}, which will hardly affect distances. Standardise the "
            "columns.",
            names=names[int(variance.argmax())],
            most_spread=MOST_SPREAD,
            shown=shown,
        )


def warn_of_equal_rows(scales: str) -> None:
    """Warn of rows that show no scale; `scales` is what to give instead."""
    warn(
        ScaleWarning,
        "all rows for the choice of lambda_='auto' are equal, so any different row "
        "will open a cluster. Give {scales}.",
        scales=scales,
    )


def spherical_cost_path(sample: Sample, run: Callable[[float], Any]) -> LambdaPath:
    """Try costs of a new cluster on two or more rows of round clusters of equal size.

    `run` makes clusters at a cost, learns all rows, and merges.
    """
    from scipy.spatial.distance import pdist  # slow to import

    rows = sample.rows
    distances = pdist(rows, "sqeuclidean")
    distances = distances[distances > 0.0]
    if not len(distances):
        least = sys.float_info.min
        warn_of_equal_rows("lambda_")
        one = np.ones(1, dtype=np.int64)
        return LambdaPath(np.array([least]), one, np.zeros(1), least, np.sqrt(least))
    low, high = np.quantile(distances, 0.001), distances.max()
    values = np.geomspace(BELOW * low, high, N_LAMBDA)
    floor = LEAST_SHARE * high / rows.shape[1]

    def trial_of(cost: float) -> Trial:
        return spherical_trial(sample, run(cost).means(), floor)

    trials = [trial_of(float(value)) for value in values]
    place = middle_of_best(trials)
    return LambdaPath(
        lambda_=values,
        n_clusters=np.array([trial.n_clusters for trial in trials]),
        bic=np.array([trial.bic for trial in trials]),
        chosen=radius_or_cost(sample, float(values[place]), trials[place], trial_of),
        noise=float(np.sqrt(trials[place].variance)),
    )


def radius_or_cost(
    sample: Sample, cost: float, best: Trial, trial_of: Callable[[float], Trial]
) -> float:
    """Radius of the best mixture's clusters, or the cost that led to it.

    The radius is that of round noise. Where few directions hold most of the noise, or
    where rows are so wide that two of a cluster are further apart, other clusters come
    of it, and the cost is taken. A much larger radius is taken all the same: then the
    best mixture cuts long clusters in pieces, which should merge.
    """
    n, width = sample.rows.shape
    own = radius(best.variance, width)
    if own >= LONG * cost:
        return own
    one_more = (width + 1) * np.log(n)
    return own if trial_of(own).bic <= best.bic + one_more else cost


def spherical_trial(sample: Sample, means: Matrix, floor: float) -> Trial:
    """Two steps of Lloyd's from these means, and the mixture that comes of them.

    No column of a cluster varies less than the places that a row stands for. Clusters
    far apart may be long, all alike: then the BIC is that of their covariance.
    """
    from scipy.spatial.distance import cdist  # slow to import

    rows = sample.rows
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
    inside = ((rows - means[label]) ** 2).sum(axis=0) / max(n - found, 1)
    lacking = n * float(sample.lacking(inside).sum())
    if n - found < max(10.0, 0.2 * n) and found > 1:
        own = scatter / max(n - found, 1) + lacking / n
        return Trial(found, np.inf, max(own / width, floor))
    variance = max((scatter / (n - found) + lacking / n) / width, floor)
    with np.errstate(divide="ignore"):
        log_weight = np.log(count / n)
    density = logsumexp(log_weight - 0.5 * distance / variance, axis=1)
    log_likelihood = float(np.sum(density)) - 0.5 * (
        n * width * np.log(2.0 * np.pi * variance) + lacking / variance
    )
    bic = -2.0 * log_likelihood + found * (width + 1) * np.log(n)
    if found > 1 and FRAGMENT * found <= n and tells_of_shape(sample):
        with single_threaded_blas():  # of small matrices
            bic = min(bic, tied_bic(sample, label))
    return Trial(found, float(bic), variance)


def pooled_variance(scatter: Vector, weight: Vector, width: int) -> float:
    """Variance of a coordinate within clusters; 0 with no more rows than clusters."""
    freedom = float(weight.sum()) - len(weight)
    return float(scatter.sum()) / (width * freedom) if freedom > 0.0 else 0.0


# ---------------------------------------------------------------- subspaces
def subspace_scales(
    sample: Sample, lambda_: float | str, noise: float | str, run: Run
) -> tuple[float, float]:
    """Cost of a new cluster, and noise: as given, or chosen from rows."""
    if isinstance(lambda_, str):
        if sample.rows.shape[1] == 1 or not mean_square(sample) > 0.0:
            path = subspace_cost_path(sample, noise, run)
            return path.chosen, path.noise
        found = settled_costs(sample, noise, run)
        return found.cost, found.costs.noise
    sd = float(np.sqrt(local_variances(sample)[0]))
    for _ in range(MOST_ROUNDS):
        before, sd = sd, float(np.sqrt(residual_variance(sample, run(lambda_, sd))))
        if sd <= (1.0 + SETTLED) * before:
            break
    return lambda_, sd


def subspace_cost_path(sample: Sample, noise: float | str, run: Run) -> LambdaPath:
    """Try costs of a new cluster; noise that is not passed is estimated on the way.

    `run` makes clusters at a cost and a noise, learns all rows, and merges. One column
    has no subspace: there clusters are round, and each cost has the noise of which it
    is the radius.
    """
    if sample.rows.shape[1] == 1:
        return line_cost_path(sample, noise, run)
    if not mean_square(sample) > 0.0:
        least = sys.float_info.min
        warn_of_equal_rows("lambda_ and noise")
        one = np.ones(1, dtype=np.int64)
        sd = noise if isinstance(noise, float) else float(np.sqrt(LEAST_VARIANCE))
        return LambdaPath(np.array([least]), one, np.zeros(1), least, sd)
    found = settled_costs(sample, noise, run)
    trials = bisected(N_PLANAR, found.costs.trial)
    return LambdaPath(
        lambda_=found.costs.values,
        n_clusters=np.array([trial.n_clusters for trial in trials]),
        bic=np.array([trial.bic for trial in trials]),
        chosen=found.cost,
        noise=found.costs.noise,
    )


def line_cost_path(sample: Sample, noise: float | str, run: Run) -> LambdaPath:
    """Try costs of a new cluster on rows of one column."""

    def run_with_cost(cost: float) -> Any:
        own = float(np.sqrt(cost / radius(1.0, 1)))
        return run(cost, noise if isinstance(noise, float) else own)

    found = spherical_cost_path(sample, run_with_cost)
    return replace(found, noise=noise) if isinstance(noise, float) else found


class Costs:
    """Costs between what noise and what all rows together suggest, and their trials."""

    def __init__(self, sample: Sample, noise: float, run: Run) -> None:
        width = sample.rows.shape[1]
        low = min(10.0 * width, LEAST_RADIUS * radius(1.0, width)) * noise**2
        high = 4.0 * mean_square(sample)
        self.values = np.geomspace(min(low, high), max(low, high), N_PLANAR)
        self.noise = noise
        self.trial = cache(
            lambda k: subspace_trial(sample, run(float(self.values[k]), noise))
        )

    def best(self) -> int:
        """Place of the best cost; those below one of fragments are not tried."""
        return middle_of_best(bisected(N_PLANAR, self.trial, skip_hopeless=True))

    def rise_at(self, k: int) -> float:
        """Noise by the residuals at a cost, over the noise that was assumed."""
        return float(np.sqrt(self.trial(k).variance)) / self.noise


@dataclass(frozen=True)
class Settled:
    """Costs at a noise that residuals confirm, and the place of the best."""

    costs: Costs
    place: int

    @property
    def cost(self) -> float:
        """The best cost."""
        return float(self.costs.values[self.place])

    def is_better(self, other: Settled) -> bool:
        """Whether clusters with one covariance in common are a better mixture."""
        mine, its = (one.costs.trial(one.place) for one in (self, other))
        return mine.tied <= float(min(its.bic, its.tied)) + SAME


def settled_costs(sample: Sample, noise: float | str, run: Run) -> Settled:
    """Costs at the noise given, or at one that residuals confirm; and the best place.

    More than one noise may be such. A direction in which clusters are thin makes the
    first guess so low that these have planes in common, and a low guess may settle
    where round clusters are in pieces. So where rows are enough to show shapes, the
    mean of all eigenvalues and larger noises are tried, too.
    """
    if isinstance(noise, float):
        costs = Costs(sample, noise, run)
        return Settled(costs, costs.best())
    thin, mean = local_variances(sample)
    found = settled_from(sample, thin, run)
    if not tells_of_shape(sample):
        return found
    if mean > found.costs.noise**2:
        other = settled_from(sample, mean, run)
        found = other if other.is_better(found) else found
    largest = mean_square(sample) / sample.rows.shape[1]
    while found.costs.noise**2 < largest:
        wider = settled_from(sample, (WIDER * found.costs.noise) ** 2, run)
        if not wider.is_better(found):
            break
        found = wider
    return found


def settled_from(sample: Sample, variance: float, run: Run) -> Settled:
    """Settle from a first guess of the noise, which is too low, if anything.

    While the noise rises the best cost alone is tried. Where it has settled all costs
    are tried again.
    """
    costs = Costs(sample, float(np.sqrt(variance)), run)
    best = costs.best()
    for _ in range(MOST_ROUNDS):
        rise = costs.rise_at(best)
        if rise <= 1.0 + SETTLED:
            before, best = best, costs.best()
            if best == before:
                break
            continue
        costs = Costs(sample, rise * costs.noise, run)
    return Settled(costs, best)


def bisected(
    n: int, trial_of: Callable[[int], Trial], *, skip_hopeless: bool = False
) -> list[Trial]:
    """Trials 0 to n - 1, at ascending costs.

    Costs between two that lead to the same mixture are taken to lead to it, too; and
    those below one of infinite BIC, which lead to more clusters, to be as bad if
    `skip_hopeless`.
    """
    trials = {k: trial_of(k) for k in (0, n - 1)}
    spans = [(0, n - 1)]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        first, last = trials[low], trials[high]
        if first.is_as(last) or (skip_hopeless and last.bic == np.inf):
            trials |= dict.fromkeys(range(low + 1, high), last)
            continue
        middle = (low + high) // 2
        trials[middle] = trial_of(middle)
        spans += [(low, middle), (middle, high)]
    return [trials[k] for k in range(n)]


def middle_of_best(trials: list[Trial]) -> int:
    """Of costs that lead to the same best mixture, the one in the middle."""
    bic = np.array([trial.bic for trial in trials])
    best = np.flatnonzero(bic <= bic.min() + SAME)
    return int(best[len(best) // 2])


def subspace_trial(sample: Sample, found: Any) -> Trial:
    """BIC of a fitted mixture, and the noise by its residuals."""
    rows = sample.rows
    n, width = rows.shape
    if found.n * FRAGMENT > n:
        return Trial(found.n, np.inf, residual_variance(sample, found))
    places = np.arange(found.n)
    weight, dim = found.array("weight"), found.array("dim").astype(np.float64)
    variance = found.variance
    density = -0.5 * (
        width * np.log(2.0 * np.pi * variance)
        + found.volumes(places)
        + found.mahalanobis(rows, places) / variance
    )
    lacking = n * float(sample.lacking(pooled_variances(found)).sum())
    joint = density + np.log(weight / weight.sum())
    log_likelihood = float(logsumexp(joint, axis=1).sum())
    log_likelihood -= 0.5 * lacking / variance
    p = width + dim * (width - dim) + dim * (dim + 1.0) / 2.0
    # a cluster is determined by its rows alone
    penalty = (p * np.log(np.maximum(weight, 1.0))).sum() + (found.n - 1.0) * np.log(n)
    bic = penalty - 2.0 * log_likelihood
    tied = np.inf
    if tells_of_shape(sample):
        with single_threaded_blas():  # of small matrices
            tied = tied_bic(sample, joint.argmax(axis=1))
    return Trial(found.n, float(bic), residual_variance(sample, found), tied)


def residual_variance(sample: Sample, found: Any) -> float:
    """Mean variance of the directions outside the subspaces, weighted by rows."""
    weight, dim, eig = (found.array(name) for name in ("weight", "dim", "eig"))
    inside = np.where(np.arange(eig.shape[1]) < dim[:, None], eig, 0.0).sum(axis=1)
    left = np.maximum(found.array("scatter") - weight * inside, 0.0).sum()
    left += weight.sum() * sample.lacking(pooled_variances(found)).sum()
    # a cluster of w rows has lost a degree of freedom a direction to its mean
    freedom = ((weight - 1.0) * (sample.rows.shape[1] - dim)).sum()
    share = float(left / freedom) if freedom > 0.0 else 0.0
    return max(share, least_variance(sample))


def pooled_variances(found: Any) -> Vector:
    """Variances of columns within clusters, over all of them."""
    freedom = max(float(found.array("weight").sum()) - found.n, 1.0)
    pooled: Vector = found.squared_deviations().sum(axis=0) / freedom
    return pooled


def local_variances(sample: Sample) -> tuple[float, float]:
    """Noise among neighbours: the smaller half of the eigenvalues, and all of them.

    Means, of which the medians over rows are taken. Rows are taken at even distances;
    each has 3 n_features + 2 neighbours.
    """
    rows = sample.rows
    n, width = rows.shape
    n_probes = max(LEAST_PROBES, int(N_PROBES * min(1.0, NARROW / width) ** 2))
    places = np.unique(np.linspace(0, n - 1, min(n, n_probes)).astype(np.int64))
    n_near = min(n, 3 * width + 2)
    found = []
    for x in rows[places]:
        distance = ((rows - x) ** 2).sum(axis=1)
        near = rows[np.argpartition(distance, n_near - 1)[:n_near]]
        covariance = np.atleast_2d(np.cov(near.T))
        covariance += np.diag(sample.lacking(np.diag(covariance)))
        values = np.linalg.eigvalsh(covariance)
        found.append((values[: max(1, width // 2)].mean(), values.mean()))
    thin, mean = np.maximum(np.median(found, axis=0), least_variance(sample))
    return float(thin), float(mean)


def least_variance(sample: Sample) -> float:
    """Least variance that noise is taken to have, however few the rows."""
    floor: float = LEAST_SHARE * mean_square(sample) / sample.rows.shape[1]
    return floor or LEAST_VARIANCE


def mean_square(sample: Sample) -> float:
    """Mean squared distance of rows to their mean."""
    rows = sample.rows
    return float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
