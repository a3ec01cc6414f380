"""Exact moments of joint posterior draws, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.native import Leaf
from tests.oracle.random_trees import Knot

Vector = NDArray[np.float64]


def terms(leaf: Leaf, z: Vector) -> Vector:
    """Rows of the regression, (1, z), or z without a level."""
    return np.column_stack([np.ones(len(z)), z]) if leaf.level else z


def covariance(leaf: Leaf, z: Vector) -> Vector:
    """Covariance of the leaf's means at rows, over sigma^2: W P^-1 W'."""
    W = terms(leaf, z)
    return W @ np.linalg.solve(leaf.precision, W.T)


def product_moment(
    knot: Knot, first: Any, second: Any, label: int, prior_odds: float
) -> float:
    """E[p(first) p(second)] of a label over prunings and leaves of one random tree.

    Prior odds are those of a node that splits.
    """

    def share(one: Knot) -> float:
        if not one.children:
            return 1.0
        return 1.0 / (1.0 + np.exp(one.odds) * prior_odds)

    def mean(one: Knot, x: Any) -> float:
        own, w = float(one.leaf.proba()[label]), share(one)
        return (
            own if w == 1.0 else w * own + (1 - w) * mean(one.children[one.side(x)], x)
        )

    counts = knot.leaf.n + knot.leaf.share
    total, w = counts.sum(), share(knot)
    here = float(counts[label] * (counts[label] + 1.0) / (total * (total + 1.0)))
    if w == 1.0:
        return here
    left, right = (knot.children[knot.side(x)] for x in (first, second))
    below = mean(left, first) * mean(right, second)
    if left is right:
        below = product_moment(left, first, second, label, prior_odds)
    return w * here + (1.0 - w) * below
