"""Rows far outside of what is predicted, in plain NumPy: a leaf that learns them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from .native import Leaf

Vector = NDArray[np.float64]

FAR, RUN, HOLD = 25.0, 4, 50


def deviance(off: float, scale: float, df: float) -> float:
    """Twice the log of the mode of a Student t over its density at a distance."""
    return float((df + 1.0) * np.log1p((off / scale) ** 2 / df))


def weight_within(off: float, leaf: Leaf, z: Vector, weight: float) -> float:
    """The largest weight, at most the row's own, with which its deviance is FAR.

    Found by bisection on the logarithm.
    """

    def value(v: float) -> float:
        _, scale, df = leaf.predictive(z, v)
        return deviance(off, scale, df)

    if value(weight) <= FAR:
        return weight
    low, high = np.log(1e-300), np.log(weight)
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (low, middle) if value(np.exp(middle)) > FAR else (middle, high)
    return float(np.exp(low))


@dataclass
class OneLeaf:
    """All particles of a robust cloud whose trees are one leaf, on a frozen scale.

    Parameters
    ----------
    b0, centre, spread : float
        Of a fixed prior, and the responses' scale.
    """

    b0: float
    centre: float
    spread: float
    z: list[Vector] = field(default_factory=list)
    t: list[float] = field(default_factory=list)
    v: list[float] = field(default_factory=list)
    n_outside: int = 0

    def learn(self, z: Vector, y: float, weight: float = 1.0) -> float:
        """Learn a row; returns its log density with what it counts for."""
        t = (y - self.centre) / self.spread
        Z = np.array(self.z).reshape(len(self.t), len(z))
        leaf = Leaf(
            Z, np.array(self.t), np.ones(len(self.t)), self.b0, v=np.array(self.v)
        )
        location, _, _ = leaf.predictive(z)
        within = weight_within(t - location, leaf, z, weight)
        counted = max(within * (within / weight), 1e-300)
        if self.n_outside >= RUN:  # a change
            counted = weight
        if within == weight:
            self.n_outside = self.n_outside - 1 if self.n_outside > RUN else 0
        else:
            self.n_outside += 1
            if self.n_outside >= RUN:
                self.n_outside = RUN + HOLD
        _, scale, df = leaf.predictive(z, counted)
        self.z.append(z)
        self.t.append(t)
        self.v.append(counted)
        found = student.logpdf(t - location, df, scale=scale) - np.log(self.spread)
        return float(found)
