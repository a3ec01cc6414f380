"""RowLearner: what models beside clouds have in common, which learn row by row."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.progress import Progress
from dyntree.trees.base import TreePredictions
from dyntree.trees.learning.check import checked, learnable, learnable_row
from dyntree.trees.learning.warmup import learn_table
from dyntree.trees.learning.weights import Responses, one_weight
from dyntree.trees.state import TreeState


class RowLearner(TreePredictions, checkpoint.Stored):
    """A model that adds each row to what it knows, and has no particles.

    Attributes
    ----------
    is_frozen : bool
        Whether `update` learns nothing, because `freeze` was called.
    """

    is_frozen: bool

    def _hold(self, state: TreeState, is_frozen: bool) -> None:
        """Have this state."""
        self.state, self._lock, self.is_frozen = state, state.lock, is_frozen

    @classmethod
    def of_state(cls, state: TreeState, is_frozen: bool) -> Self:
        """Return a model that uses a given state."""
        model = cls.__new__(cls)
        model._hold(state, is_frozen)
        return model

    @property
    def tree(self) -> Self:
        """The model itself, under the name that streams use for their tree."""
        return self

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows in order.

        A frozen model checks the rows and learns nothing from them. Random trees learn
        in `threads` parallel threads, by default DYNTREE_NUM_THREADS or 1; the result
        does not depend on it. Other parameters, the return value, and the handling of
        bad rows and interrupts are as in `DynamicTree.update`.
        """
        n_threads = params.n_threads(threads)
        return self._take_rows(X, y, sample_weight, exposure, progress, n_threads)

    def learn_row(self, row: Matrix, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row by a faster path; see `StreamingTree.learn_row`."""
        state = self.state
        with self._lock:
            weight = one_weight(state.options, sample_weight)
            if weight == 0.0:
                return
            known = state.options.classes
            is_new = known is not None and y not in known
            if state.cloud is None or self.is_frozen or is_new:
                self._learn(row, [y], np.array([weight]), 1, None)
                return
            row, responses = learnable_row(state, row, y, weight)
            self.learn_encoded(learnable(state, row, responses), responses)

    def learn_encoded(
        self, rows: Matrix, responses: Responses, proba: Matrix | None = None,
        n_threads: int = 1,
    ) -> Vector:  # fmt: skip
        """Learn encoded rows; see `StreamingTree.learn_encoded`."""
        more = () if responses.exposures is None else (responses.exposures,)
        found: Vector = self.state.cloud.update(
            rows, responses.y, proba, n_threads, responses.weights, *more
        )
        return found

    def _learn(
        self,
        X: Any,
        y: Any,
        weights: Vector | None,
        n_threads: int,
        progress: Progress,
    ) -> None:
        """Check and learn rows of any form."""
        state = self.state
        warn_of_times(X, state.warned)
        if self.is_frozen:
            checked(state, X, y)
            return
        learn = partial(self.learn_part, n_threads=n_threads)
        learn_table(state, X, y, weights, progress, learn)

    def learn_part(self, rows: Matrix, responses: Responses, n_threads: int = 1) -> int:
        """Learn encoded rows once there are trees; returns how many."""
        return len(self.learn_encoded(rows, responses, None, n_threads))

    @locked
    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows, but learns nothing."""
        self.is_frozen = True
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        seed = params.count("seed", seed, 0, params.MAX_SEED)
        state = self.state.copy()
        if state.n_seen:
            raise ValueError(
                Message(
                    "the seed of a model can change only before its first row; "
                    f"{state.n_seen} rows have come."
                )
            )
        state.seed = seed
        return self.of_state(state, self.is_frozen)

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self.of_state(self.state.copy(), self.is_frozen)

    @abstractmethod
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
