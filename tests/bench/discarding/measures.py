"""What classifiers with rare labels are measured by."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import beta, rankdata


def auc(y: Any, score: Any) -> float:
    """Area under the ROC curve; ties count half."""
    y = np.asarray(y, dtype=bool)
    n1, n0 = int(y.sum()), int((~y).sum())
    if not n1 or not n0:
        return float("nan")
    ranks = rankdata(score)
    return float((ranks[y].sum() - n1 * (n1 + 1) / 2) / (n1 * n0))


def roc_hull(y: Any, score: Any) -> np.ndarray:
    """Upper convex hull of the ROC curve: false and true positive rates, ascending."""
    y, score = np.asarray(y, dtype=bool), np.asarray(score, dtype=float)
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(y) - 1)
    fpr = np.concatenate([[0.0], np.cumsum(~y[order])[last] / (~y).sum()])
    tpr = np.concatenate([[0.0], np.cumsum(y[order])[last] / y.sum()])
    hull: list[tuple[float, float]] = []
    for x, h in zip(fpr.tolist(), tpr.tolist(), strict=True):
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2:]
            if (c - a) * (h - b) - (d - b) * (x - a) < 0:
                break
            hull.pop()
        hull.append((x, h))
    return np.array(hull)


def h_measure(y: Any, score: Any) -> float:
    """Hand's H, costs c ~ Beta(1 + share of label 1, 1 + share of label 0).

    One minus the expected smallest loss over that of the best constant answer (Hand
    2009, Machine Learning 77, 103; the weights of Hand and Anagnostopoulos 2014). c is
    the cost of a false alarm for label 0, 1 - c that of a label 1 that was missed.
    """
    y = np.asarray(y, dtype=bool)
    pi1 = float(y.mean())
    pi0 = 1.0 - pi1
    if pi1 in (0.0, 1.0):
        return float("nan")
    a, b = 1.0 + pi1, 1.0 + pi0

    def part(low: float, high: float, miss: float, alarm: float) -> float:
        """Integral of (1 - c) pi1 miss + c pi0 alarm over the weight of c."""
        mass = beta.cdf(high, a, b) - beta.cdf(low, a, b)
        first = a / (a + b) * (beta.cdf(high, a + 1, b) - beta.cdf(low, a + 1, b))
        return float(pi1 * miss * (mass - first) + pi0 * alarm * first)

    hull = roc_hull(y, score)
    borders = [1.0]  # costs at which the best threshold passes to the next corner
    for (f0, t0), (f1, t1) in pairwise(hull):
        rise, run = pi1 * (t1 - t0), pi0 * (f1 - f0)
        borders.append(rise / (rise + run) if rise + run else borders[-1])
    borders.append(0.0)
    loss = sum(
        part(borders[k + 1], borders[k], 1.0 - t, f) for k, (f, t) in enumerate(hull)
    )
    worst = part(0.0, pi1, 0.0, 1.0) + part(pi1, 1.0, 1.0, 0.0)
    return float(1.0 - loss / worst)
