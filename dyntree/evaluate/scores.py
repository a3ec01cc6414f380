"""Scores of predictions of labels and of real responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Vector
from dyntree.runtime.records import Record

Codes = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ClassScores(Record):
    """Scores of predicted labels.

    Attributes
    ----------
    n_rows : int
        Rows scored.
    error : float
        Share of rows whose most probable label was wrong.
    auc : float
        Area under the ROC curve of each label against the rest, averaged over labels;
        for two labels this is the usual area. NaN if fewer than two labels occur.
    log_loss : float
        Minus the mean log probability of the true label, in nats, over the rows whose
        label the model knew; NaN if there are none.
    brier : float
        Mean squared distance between the probabilities and the indicator of the true
        label, summed over the labels (Brier 1950). For two labels this is twice the
        score of one of them, which scikit-learn's `brier_score_loss` returns.
    n_new_labels : int
        Number of rows whose label the model could not know. They count as errors, and
        with probability 0 for their label in `brier` and `auc`. `log_loss` excludes
        them.
    """

    n_rows: int
    error: float
    auc: float
    log_loss: float
    brier: float
    n_new_labels: int = 0


@dataclass(frozen=True, repr=False)
class RealScores(Record):
    """Scores of predicted real responses.

    Attributes
    ----------
    n_rows : int
        Rows scored.
    rmse : float
        Root mean squared error of the predictive mean, in units of y.
    log_density : float
        Mean log predictive density.
    coverage : float
        Share of rows inside the central interval.
    interval_score : float
        Mean width of the interval plus (2 / alpha) times the distance by which rows
        fall outside (Gneiting and Raftery 2007, equation 43); smaller is better.
    """

    n_rows: int
    rmse: float
    log_density: float
    coverage: float
    interval_score: float


def class_scores(
    y: Codes,
    proba: Vector,
    log_density: Vector,
    known: NDArray[np.bool_] | None = None,
    weights: Vector | None = None,
) -> ClassScores:
    """Score probabilities of shape (n_rows, n_classes) against the label codes y.

    `known` marks the rows whose label the model could know, by default all. Rows have
    equal weights by default.
    """
    hit = np.zeros_like(proba)
    hit[np.arange(len(y)), y] = 1.0
    predicted, own = log_density, weights
    if known is not None:
        predicted = log_density[known]
        own = None if weights is None else weights[known]
    is_scored = len(predicted) > 0 and (own is None or bool(own.any()))
    return ClassScores(
        n_rows=len(y),
        error=mean_of(proba.argmax(axis=1) != y, weights),
        auc=auc(y, proba, weights),
        log_loss=-mean_of(predicted, own) if is_scored else float("nan"),
        brier=mean_of(((proba - hit) ** 2).sum(axis=1), weights),
        n_new_labels=len(y) - len(predicted),
    )


def auc(y: Codes, proba: Vector, weights: Vector | None = None) -> float:
    """Area under the ROC curve, averaged over the labels (one against the rest).

    It is the probability that a row with the label is ranked above a row without it,
    where ties count half (Mann and Whitney 1947). Rows are drawn in proportion to their
    weights, which are equal by default.
    """
    if weights is not None:
        return _weighted_auc(y, proba, weights)
    from scipy.stats import rankdata  # slow to import

    areas = []
    for k in range(proba.shape[1]):
        positive = y == k
        n, m = int(positive.sum()), int((~positive).sum())
        if n and m:
            rank = rankdata(proba[:, k])
            areas.append((rank[positive].sum() - n * (n + 1) / 2) / (n * m))
    return float(np.mean(areas)) if areas else float("nan")


def real_scores(
    y: Vector,
    mean: Vector,
    log_density: Vector,
    interval: Vector,
    level: float,
    weights: Vector | None = None,
) -> RealScores:
    """Score means and central intervals of probability `level`.

    Rows have equal weights by default.
    """
    low, high = interval.T
    outside = np.maximum(0.0, np.maximum(low - y, y - high))
    return RealScores(
        n_rows=len(y),
        rmse=float(np.sqrt(mean_of((y - mean) ** 2, weights))),
        log_density=mean_of(log_density, weights),
        coverage=mean_of(outside == 0.0, weights),
        interval_score=mean_of(high - low + 2.0 / (1.0 - level) * outside, weights),
    )


def _weighted_auc(y: Codes, proba: Vector, weights: Vector) -> float:
    """`auc` of weighted rows: pairs count by the product of their weights."""
    areas = []
    for k in range(proba.shape[1]):
        place = np.unique(proba[:, k], return_inverse=True)[1].reshape(-1)
        own = np.bincount(place, weights * (y == k))
        others = np.bincount(place, weights * (y != k))
        if own.any() and others.any():
            below = np.cumsum(others) - 0.5 * others
            areas.append(own @ below / (own.sum() * others.sum()))
    return float(np.mean(areas)) if areas else float("nan")


def mean_of(values: NDArray[Any], weights: Vector | None) -> float:
    """Mean of one value per row, weighted if the rows have weights."""
    if weights is None:
        return float(np.mean(values))
    return float(np.average(values, weights=weights))
