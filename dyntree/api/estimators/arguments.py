"""Arguments as scikit-learn has them -> those of models: seeds and threads."""

from __future__ import annotations

import numbers
import os

import numpy as np
from sklearn.utils import check_random_state

from dyntree import params
from dyntree.errors import ArgumentError

RandomState = int | np.random.RandomState | np.random.Generator | None


def seed_of(random_state: RandomState) -> int | None:
    """Seed of a model: the int itself, or drawn from a generator; None stays None."""
    if random_state is None:
        return None
    if isinstance(random_state, numbers.Integral):
        return params.count("random_state", random_state, 0, params.MAX_SEED)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ArgumentError(
            "random_state",
            "must be an int >= 0, a RandomState, a Generator or None",
            random_state,
        ) from error


def threads_of(n_jobs: int | None) -> int | None:
    """Number of threads of a model: all cores for -1, and None for None."""
    if n_jobs is None:
        return None
    if n_jobs == -1:
        return os.cpu_count() or 1
    if isinstance(n_jobs, numbers.Integral) and n_jobs < 1:
        raise ArgumentError("n_jobs", "must be an int >= 1, or -1 for all", n_jobs)
    return params.count("n_jobs", n_jobs, 1, params.MAX_THREADS)
