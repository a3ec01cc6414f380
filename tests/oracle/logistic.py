"""Logistic leaves in plain NumPy: sums of a bound on the likelihood of two labels.

Jaakkola and Jordan (2000): for any xi the likelihood of a label t, 0 or 1, at the log
odds a is at least exp(c + (t - 1/2) a - lam a^2 / 2), so that normal coefficients stay
normal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.linear_filters import site

Vector = NDArray[np.float64]

LEVEL_VARIANCE = 25.0  # of the log odds where all columns are at their centres
TAUS = (0.1, 0.5, 2.0)  # the grid that a cloud chooses from


def sigmoid(z: Any) -> Any:
    """1 / (1 + exp(-z))."""
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


def precision(xi: Any) -> Any:
    """What a row adds to the precision of its log odds: lam."""
    xi = np.asarray(xi, dtype=np.float64)
    safe = np.where(xi > 0, xi, 1.0)
    return np.where(xi > 0, np.tanh(safe / 2) / (2 * safe), 0.25)


def constant(xi: Any) -> Any:
    """What a row adds to the logarithm of the bound, apart from its log odds: c."""
    return -np.logaddexp(0, -xi) - xi / 2 + xi * np.tanh(xi / 2) / 4


def squared_xi(e: float, v: float, t: float, times: float = 1.0) -> float:
    """xi^2 of a row whose log odds were N(e, v), after two steps for this row alone."""
    square = e**2 + v
    for _ in range(2):
        m, u = updated(e, v, t, times, float(np.sqrt(square)))
        square = m**2 + u
    return square


def updated(
    e: float, v: float, t: float, times: float, xi: float
) -> tuple[float, float]:
    """Mean and variance of the log odds after the row."""
    u = v / (1 + times * float(precision(xi)) * v)
    return u * (e / v + times * (t - 0.5)), u


def shared_xi(weights: Any, squares: Any) -> float:
    """The xi of a row in all particles, by their weights."""
    weights = np.asarray(weights)
    return float(np.sqrt(weights @ np.asarray(squares) / weights.sum()))


@dataclass(frozen=True)
class Sums:
    """What a leaf knows of its rows."""

    n: float
    gram: Vector  # sum of lam w w', w = (1, z)
    moment: Vector  # sum of (t - 1/2) w
    constant: float  # sum of c

    @classmethod
    def of(cls, z: Any, t: Any, xi: Any, times: Any = None) -> Sums:
        """Of these rows; `times` are frequencies, 1 by default."""
        w = np.column_stack([np.ones(len(t)), z])
        f = np.ones(len(t)) if times is None else np.asarray(times)
        lam = f * precision(xi)
        return cls(
            float(f.sum()),
            (w * lam[:, None]).T @ w,
            (f * (np.asarray(t) - 0.5)) @ w,
            float(f @ constant(np.asarray(xi))),
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.n + other.n, self.gram + other.gram, self.moment + other.moment,
            self.constant + other.constant,
        )  # fmt: skip

    def times(self, factor: float) -> Sums:
        """The bound to this power."""
        return Sums(
            factor * self.n, factor * self.gram, factor * self.moment,
            factor * self.constant,
        )  # fmt: skip

    @classmethod
    def unpacked(cls, row: Vector) -> Sums:
        """From a row of the core: n, packed columns of products, the rest of the bound.

        The last column is the moment, and minus twice the constant below it.
        """
        size = int(sqrt(2 * (len(row) - 1)))
        half = np.zeros((size, size))
        half[np.tril_indices(size)] = row[1:]
        gram = half + np.tril(half, -1).T
        return cls(row[0], gram[:-1, :-1], gram[:-1, -1], -gram[-1, -1] / 2)


def prior_precisions(spreads: Any, tau: float) -> Vector:
    """Diagonal of L: of the level, then of the columns with these spreads."""
    slopes = (np.asarray(spreads) / tau) ** 2
    return np.concatenate([[1 / LEVEL_VARIANCE], slopes])


def law(sums: Sums, prior: Vector) -> tuple[Vector, Vector]:
    """Mean and covariance of the coefficients."""
    covariance = np.linalg.inv(sums.gram + np.diag(prior))
    return covariance @ sums.moment, covariance


def log_evidence(sums: Sums, prior: Vector) -> float:
    """The logarithm of the bound on the evidence."""
    post = sums.gram + np.diag(prior)
    _, log_det = np.linalg.slogdet(post)
    fit = sums.moment @ np.linalg.solve(post, sums.moment)
    return float(sums.constant + fit / 2 + (np.sum(np.log(prior)) - log_det) / 2)


def log_odds(sums: Sums, prior: Vector, z: Any) -> tuple[float, float]:
    """Mean and variance of the log odds at a row."""
    mean, covariance = law(sums, prior)
    w = np.concatenate([[1.0], z])
    return float(mean @ w), float(w @ covariance @ w)


def probability(e: Any, v: Any) -> Any:
    """Of the second label, where the log odds are N(e, v): MacKay (1992)."""
    return sigmoid(e / np.sqrt(1 + pi * np.asarray(v) / 8))


def log_density(e: float, v: float, t: float, times: float = 1.0) -> float:
    """Log probability of a label, or of several equal ones together."""
    if times == 1.0:
        p = float(probability(e, v))
        return float(np.log(p if t == 1 else 1 - p))
    return site(e, v, t, times)[0]
