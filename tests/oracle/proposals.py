"""Odds of splitting a leaf under the native rules, one split at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Cut = tuple[int, float, bool]  # column, value, whether rows without a value go left


def goes_left(X: NDArray[np.float64], cut: Cut) -> Mask:
    """Which rows a split sends left."""
    variable, value, missing_left = cut
    x = X[:, variable]
    left: Mask = (x <= value) | (np.isnan(x) & missing_left)
    return left


def log_odds(
    X: NDArray[np.float64],
    cuts: Sequence[Cut],
    evidence: Callable[[Mask], float],
    *,
    depth: int = 0,
    alpha: float = 0.95,
    beta: float = 2.0,
    min_leaf: int = 1,
) -> NDArray[np.float64]:
    """Log posterior odds of each split of the active rows X against no split."""

    def split(d: int) -> float:
        return float(np.log(alpha * (1.0 + d) ** -beta))

    def stay(d: int) -> float:
        return float(np.log(1.0 - alpha * (1.0 + d) ** -beta))

    whole = stay(depth) + evidence(np.ones(len(X), dtype=bool))
    odds = []
    for cut in cuts:
        left = goes_left(X, cut)
        if min(left.sum(), (~left).sum()) < min_leaf:
            odds.append(-np.inf)
            continue
        below = 2.0 * stay(depth + 1) + evidence(left) + evidence(~left)
        odds.append(split(depth) + below - whole)
    return np.array(odds)
