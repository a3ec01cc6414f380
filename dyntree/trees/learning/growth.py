"""Columns that begin among rows that are to be learned, and trees that get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree._core.trees.forest import Forest
from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.errors import ManyLevelsWarning, warn
from dyntree.trees.state import TreeState


@dataclass(frozen=True, eq=False)
class Growth:
    """The columns at each of some rows: with which row another one begins.

    The rows themselves have all the columns. A row is learned by a cloud that has the
    columns which began with it or before, so that what comes of rows does not depend on
    the calls that bring them.

    Attributes
    ----------
    before : FeatureMap
        The columns at first.
    steps : list of (int, FeatureMap)
        Rows with which columns begin, after all others, and the columns from there on.
    widen : callable
        Gives rows, an array of shape (n_rows, fewer columns), all columns.
    """

    before: FeatureMap
    steps: list[tuple[int, FeatureMap]]
    widen: Callable[[Matrix], Matrix]

    @property
    def features(self) -> FeatureMap:
        """The columns at the end."""
        return self.steps[-1][1] if self.steps else self.before

    def since(self, row: int) -> Growth:
        """The growth among the rows from one on, which becomes row 0."""
        if not self.steps:
            return self
        steps = [(max(0, first - row), features) for first, features in self.steps]
        return Growth(self.before, steps, self.widen)

    def at(self, row: int) -> FeatureMap:
        """The columns at a row."""
        features = self.before
        for first, later in self.steps:
            if first <= row:
                features = later
        return features

    def steady(self, row: int, end: int) -> int:
        """End of the rows from one on, at most `end`, before another column begins."""
        for first, _ in self.steps:
            if row < first < end:
                return first
        return end

    def widen_to(self, width: int) -> Callable[[Matrix], Matrix]:
        """A function that widens rows of fewer columns to the first `width` of all."""
        return lambda rows: np.ascontiguousarray(self.widen(rows)[:, :width])


@dataclass(frozen=True, eq=False)
class GrowingRows:
    """Rows that are encoded already, and the columns that begin among them.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    growth : Growth
    """

    rows: Matrix
    growth: Growth


def widened(cloud: Any, widen: Callable[[Matrix], Matrix]) -> Any:
    """Return a cloud like this one with more columns, the new ones last (native rules).

    `widen` gives the active rows their values there, and so the rows that were retired.
    """
    if isinstance(cloud, Forest | LinearFilters):
        return cloud.widened(widen)
    header, arrays = cloud.to_arrays()
    X, known = widen(arrays["X"]), arrays["spans"]
    spans = np.zeros((X.shape[1], known.shape[1]))
    spans[:, :2] = widen(known[:, :2].T).T  # 0 at most where a column was missing
    spans[: len(known), 2:] = known[:, 2:]
    if len(X):  # retired rows had gaps as often as the active ones
        late = np.isnan(X[:, len(known) :])
        spans[len(known) :, 3] = header["n_seen"] * late.mean(axis=0)
    return cloud.with_columns(X, spans)


def warn_of_terms(state: TreeState, n_basis: int) -> None:
    """Warn the first time that linear leaves regress on no column that comes late."""
    assert state.features is not None  # those before
    had_all = state.options.n_basis == state.features.n_features
    if had_all and n_basis == state.options.n_basis and "terms" not in state.warned:
        warn(
            ManyLevelsWarning,
            f"linear leaves regress on {n_basis} columns, and on no level that comes "
            "later: splits alone tell these from others. Each column makes a row "
            "slower. Leave columns with so many levels out, make them numbers, or "
            "use model='constant'.",
        )
        state.warned.add("terms")


@contextmanager
def with_columns(
    states: Sequence[TreeState], features: FeatureMap, widen: Callable[[Matrix], Matrix]
) -> Iterator[None]:
    """Add columns for the body of a with statement; remove them if it raises.

    An interrupt removes them where the body has not learned a row by then.

    Parameters
    ----------
    states : sequence of TreeState
        Of trees that learn the same rows.
    features : FeatureMap
        The columns then, the new ones last.
    widen : callable
        Gives rows, an array of shape (n_rows, old width), their new columns.
    """
    with ExitStack() as stack:
        for state in states:
            stack.enter_context(_with_columns(state, features, widen))
        yield


@contextmanager
def _with_columns(
    state: TreeState, features: FeatureMap, widen: Callable[[Matrix], Matrix]
) -> Iterator[None]:
    """Have more columns in one tree, as `with_columns` says."""
    with state.lock:
        before = state.features, state.waiting_X, state.cloud, state.options
        n_seen, waiting, cloud = state.n_seen, state.waiting_X, state.cloud
        options = state.options
        assert features is not None
        if state.features is not None and (
            features.n_features == state.features.n_features
        ):
            pass  # a level without a feature of its own
        elif cloud is not None:
            cloud = widened(cloud, widen)
            if options.n_basis is not None:
                if features.n_features > cloud.n_basis:
                    warn_of_terms(state, cloud.n_basis)
                options = replace(options, n_basis=cloud.n_basis)
        elif state.waiting_y:
            waiting = widen(waiting)
        try:
            state.features, state.waiting_X = features, waiting
            state.cloud, state.options = cloud, options
            yield
        except BaseException as error:  # warnings that are made errors, too
            if isinstance(error, Exception) or state.n_seen == n_seen:
                state.features, state.waiting_X, state.cloud, state.options = before
            raise
