"""Trivial models beside which `evaluate` puts scores: they know earlier responses only.

Each takes the responses of a stream, in order. `scored` are the rows to score,
and `known` is the number of first rows whose response is known by then.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from dyntree.encoding.values import Vector
from dyntree.evaluate.scores import (
    ClassScores,
    Codes,
    RealScores,
    class_scores,
    real_scores,
)
from dyntree.summaries import student_log_density
from dyntree.summaries.counts import CountPrediction


def class_baseline(
    codes: Codes,
    scored: Codes,
    known: Codes,
    n_known: Codes,
    n_classes: int,
    weights: Vector | None,
) -> ClassScores:
    """Running label frequencies under a Dirichlet prior of total weight 1.

    The prior is spread over the labels that the model knows at each row, and `known` is
    how many of the first rows are counted at it.
    """
    y = codes[scored]
    counts = np.zeros((len(codes) + 1, n_classes))
    counts[np.arange(1, len(codes) + 1), codes] = 1.0
    counts = counts.cumsum(axis=0)[known]
    counts += (np.arange(n_classes) < n_known[:, None]) / n_known[:, None]
    proba = counts / counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        density = np.log(proba[np.arange(len(y)), y])
    return class_scores(y, proba, density, y < n_known, weights)


def real_baseline(
    response: Vector, scored: Codes, known: Codes, level: float, weights: Vector | None
) -> RealScores:
    """Running normal model with flat prior: Student's t about the mean so far."""
    y, shift = response[scored], response[0]
    n = known.astype(np.float64)
    sums = np.concatenate([[0.0], np.cumsum(response - shift)])[known]
    squares = np.concatenate([[0.0], np.cumsum((response - shift) ** 2)])[known]
    with np.errstate(all="ignore"):
        centre = sums / n
        df = n - 1.0
        scale = np.sqrt((squares - n * centre**2) / df * (1.0 + 1.0 / n))
        mean = np.where(n > 0, centre + shift, 0.0)
        density = student_log_density(y - mean, scale, df)
        half = scale * stdtrit(df, (1.0 + level) / 2.0)
    interval: Vector = np.column_stack([mean - half, mean + half])
    return real_scores(y, mean, density, interval, level, weights)


def count_baseline(
    counts: Vector,
    exposure: Vector,
    scored: Codes,
    known: Codes,
    level: float,
    weights: Vector | None,
) -> RealScores:
    """One running rate for all rows, and Poisson counts."""
    events = 0.5 + np.concatenate([[0.0], np.cumsum(counts)])[known]
    over = np.concatenate([[0.0], np.cumsum(exposure)])[known]
    over = np.where(over > 0.0, over, 0.5)
    y, at, one = counts[scored], exposure[scored], np.ones(len(scored))
    start = np.arange(len(scored) + 1)
    prediction = CountPrediction.of_laws(
        (start, one, events, over, np.inf * one, at), at
    )
    interval = prediction.quantile([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    density = prediction.log_density(y)
    return real_scores(y, prediction.mean, density, interval, level, weights)
