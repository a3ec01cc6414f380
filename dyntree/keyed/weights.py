"""Weights of the members of a key, and those of all keys of an age."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector

START = (0.45, 0.45, 0.1)  # weights of level, history and own tree of a new key
MOST_BEHIND = 30.0  # nats at one row
N_AGES = 12  # groups of keys by rows: 0, 1 to 2, 3 to 6, ..., from 2047 on


def start_of(n_members: int) -> Vector:
    """Log weights of a key without rows, shape (n_members,)."""
    shares = np.array(START[:n_members])
    return np.asarray(np.log(shares / shares.sum()))


def age_of(n_rows: int) -> int:
    """Group of a key by the number of its rows.

    Examples
    --------
    >>> [age_of(n) for n in (0, 1, 2, 3, 10**6)]
    [0, 1, 1, 2, 11]
    """
    return min((n_rows + 1).bit_length() - 1, N_AGES - 1)


def weights_at(log_weights: Vector) -> Vector:
    """Log weights -> weights that sum to one."""
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def moved(
    log_weights: Vector, log_densities: Vector, discount: float, tempering: float
) -> Vector:
    """Log weights after a row: discount (L + tempering (log p - max log p)).

    Their maximum is 0. A member falls behind by at most 30, and a row that none of them
    gives a density, such as one with a new label, moves none.
    """
    best = log_densities.max()
    if not np.isfinite(best):
        return log_weights
    gains = np.maximum(log_densities - best, -MOST_BEHIND)
    after = discount * (log_weights + tempering * gains)
    return np.asarray(after - after.max())


def pooled(
    by_age: Matrix,
    ages: NDArray[np.int64],
    log_densities: Matrix,
    discount: float,
    tempering: float,
) -> Matrix:
    """Log weights by age after some rows, in order, shape (N_AGES, n_members)."""
    after = by_age.copy()
    for age, row in zip(ages.tolist(), log_densities, strict=True):
        after[age] = moved(after[age], row, discount, tempering)
    return after
