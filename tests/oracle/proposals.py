"""Odds of splitting a leaf under the native rules, one split at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
# column, value, whether rows without a value go left, whether the children inherit
Cut = tuple[int, float, bool, bool]
Evidence = Callable[[Mask, float], float]


def goes_left(X: NDArray[np.float64], cut: Cut) -> Mask:
    """Which rows a split sends left."""
    variable, value, missing_left, _ = cut
    x = X[:, variable]
    left: Mask = (x <= value) | (np.isnan(x) & missing_left)
    return left


def share(n_child: int, n_parent: int, n_retired: float) -> float:
    """Part of its parent's retired sums that a child inherits.

    In proportion to its active rows, but of no more weight than they have.
    """
    return min(n_child / n_parent, n_child / n_retired)


def log_odds(
    X: NDArray[np.float64],
    cuts: Sequence[Cut],
    evidence: Evidence,
    n_retired: float,
    *,
    depth: int = 0,
    alpha: float = 0.95,
    beta: float = 2.0,
    min_leaf: int = 1,
) -> NDArray[np.float64]:
    """Log posterior odds of each split of the active rows X against no split.

    evidence(rows, weight) is the log evidence of active rows together with the
    n_retired ones at that weight. Where the children inherit, all is judged given what
    was retired; else as if nothing had been. A cut at infinity parts the rows that have
    a value from those that have none; one row is enough on either side of it.
    """
    everything = np.ones(len(X), dtype=bool)

    def given(rows: Mask, weight: float) -> float:
        return evidence(rows, weight) - evidence(~everything, weight)

    def split(d: int) -> float:
        return float(np.log(alpha * (1.0 + d) ** -beta))

    def stay(d: int) -> float:
        return float(np.log(1.0 - alpha * (1.0 + d) ** -beta))

    odds = []
    for cut in cuts:
        left = goes_left(X, cut)
        least = 1 if cut[1] == np.inf else min_leaf
        if min(left.sum(), (~left).sum()) < least:
            odds.append(-np.inf)
            continue
        gain = split(depth) + 2.0 * stay(depth + 1) - stay(depth)
        for rows in (left, ~left):
            heir = share(rows.sum(), len(X), n_retired) if cut[3] else 0.0
            gain += given(rows, heir)
        odds.append(gain - given(everything, float(cut[3])))
    return np.array(odds)
