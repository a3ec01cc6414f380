"""Checked rows -> trees that learn them, some at a time, with columns as they begin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dyntree.encoding.values import Matrix
from dyntree.errors import DegenerateWeightsWarning, warn
from dyntree.runtime.progress import Progress, rows_bar
from dyntree.trees.learning.growth import Growth, with_columns
from dyntree.trees.learning.weights import Responses
from dyntree.trees.state import TreeState

CHUNK_SECONDS = 0.1  # between two moves of a progress bar

Learn = Callable[[Matrix, Responses], int]


def learn_in_parts(
    states: Sequence[TreeState],
    rows: Matrix,
    responses: Responses,
    growth: Growth,
    progress: Progress,
    n_kept: int,
    learn: Learn,
) -> None:
    """Give rows to `learn` in parts of about a tenth of a second, and move the bar.

    Rows without density are warned of at the end.

    Parameters
    ----------
    states : sequence of TreeState
        Of the trees that learn, which know the same columns.
    rows : ndarray of shape (n_rows, n_stored)
        With all columns of the last.
    responses : Responses of length n_rows
    growth : Growth
        Where among the rows columns begin.
    progress
        As for `update`.
    n_kept : int
        Rows of the same call that were set aside or planted; the bar counts them.
    learn : callable
        Learns some of the rows it is given, at least one, and returns how many.
    """
    bar = rows_bar(progress, n_kept + len(rows), "learning")
    with degenerate_rows_warned(states), bar as tell:
        if not len(rows):
            tell(n_kept)
        learn_piecewise(states, rows, responses, growth, tell, learn, n_kept)


def learn_piecewise(
    states: Sequence[TreeState],
    rows: Matrix,
    responses: Responses,
    growth: Growth,
    tell: Callable[[int], object],
    learn: Learn,
    n_kept: int = 0,
) -> None:
    """As `learn_in_parts`, without bar and warning: `tell` is called with rows done."""
    size, first, state = 16, 0, states[0]
    while first < len(rows):
        part = slice(first, growth.steady(first, first + size))
        clock = time.perf_counter()
        features, own, y = growth.at(first), rows[part], responses[part]
        if growth.steps and features.n_features + state.ones < rows.shape[1]:
            own = np.ascontiguousarray(own[:, : features.n_features])
        if features is state.features or features == state.features:
            done = learn(own, y)
        else:
            widen = growth.widen_to(features.n_features)
            with with_columns(states, features, widen):
                done = learn(own, y)
        clock = time.perf_counter() - clock
        tell(done if first else n_kept + done)
        first += done
        size = max(1, min(4 * size, int(done * CHUNK_SECONDS / (clock + 1e-9))))
    for state in states:
        if state.effects is not None:
            state.effects.finish(state.n_pieces)


def learn_rows(state: TreeState, rows: Matrix, responses: Responses) -> int:
    """Let a tree learn rows, none of which retires; returns how many."""
    more = {"weights": responses.weights}
    if responses.exposures is not None:
        more["exposures"] = responses.exposures
    return len(state.cloud.update(rows, responses.y, **more))


@contextmanager
def degenerate_rows_warned(states: Sequence[TreeState]) -> Iterator[None]:
    """Warn at the end of the block if rows had no density under any particle."""
    before = [state.n_degenerate for state in states]
    yield
    warn_degenerate(sum([state.n_degenerate for state in states]) - sum(before))


def warn_degenerate(n_rows: int) -> None:
    """Warn if any rows had no density under any particle."""
    if n_rows > 0:
        warn(
            DegenerateWeightsWarning,
            f"{n_rows} row(s) had density zero or NaN under every particle, so that "
            "all particles got equal weights. This happens if leaves have no "
            "variance, because responses are repeated or have no noise.",
        )
