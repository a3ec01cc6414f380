"""A recorder: feeds a model and notes how its particles are doing on the way."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import take
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.factory import Trees
from dyntree.trees.learning.exposures import with_exposure

from .canvas import Model

N_NOTED = 11  # numbers in a note, the fields of a Trace


@dataclass(frozen=True, eq=False)
class Trace:
    """The state of a cloud of particles over time, recorded at regular intervals.

    Attributes
    ----------
    n_seen : ndarray of int64 of shape (n_noted,)
        Number of rows learned at each record.
    log_evidence : ndarray of shape (n_noted,)
        Log evidence of the rows so far.
    ess : ndarray of shape (n_noted,)
        Effective sample size, ``sum(w)^2 / sum(w^2)``, of the weights of the particles
        at the last row, as a share of their number.
    n_distinct : ndarray of shape (n_noted,)
        Share of particles that survived the resampling at that row.
    grow, prune : ndarray of shape (n_noted,)
        Share of particles whose tree gained or lost leaves at that row.
    height, n_leaves, leaf_size : ndarray of shape (n_noted,)
        As in `TreeStats`: averages over particles after the row.
    n_active, n_retired : ndarray of int64 of shape (n_noted,)
        Numbers of active rows, and of rows retired so far.
    """

    n_seen: NDArray[np.int64]
    log_evidence: Vector
    ess: Vector
    n_distinct: Vector
    grow: Vector
    prune: Vector
    height: Vector
    n_leaves: Vector
    leaf_size: Vector
    n_active: NDArray[np.int64]
    n_retired: NDArray[np.int64]


class Recorder:
    """Feeds rows to a model and records its state at regular intervals.

    Parameters
    ----------
    model : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        The model. It learns the rows given to `update` as it would without a recorder.
    every : int, default 50
        Number of rows between two records, >= 1.

    Notes
    -----
    A copy of the particles first learns the row of a record and reports weights and
    moves. A record costs about as much as a checkpoint in memory. Under R's rules, a
    full window retires a row before it learns one, but the copy does not. Rows are
    given to the model in parts that end with the row of a record. Levels of columns of
    strings are therefore those of the parts before the first trees.
    ``evaluate.prequential`` accepts a recorder instead of its model.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.plots import Recorder
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> recorder = Recorder(DynamicTree(n_particles=50, seed=1), every=20)
    >>> recorder.update(x, np.sin(6 * x[:, 0])).trace().n_seen.tolist()
    [20, 40, 60, 80]
    """

    def __init__(self, model: Model, every: int = 50) -> None:
        if not isinstance(model, Trees):
            raise ArgumentError(
                "model",
                "must be a DynamicTree, a StreamingTree or an average of them",
                model,
            )
        self.model = model
        self.every = params.count("every", every, 1)
        self._notes: list[tuple[float, ...]] = []

    def update(
        self, X: Any, y: Any, *, exposure: Any = None, progress: Progress = None
    ) -> Self:
        """Let the model learn rows in order, and record its state.

        Parameters
        ----------
        X, y, exposure, progress
            As in `DynamicTree.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad (no row is then learned), or the model is frozen.
        """
        check_progress(progress)
        model, tree = self.model, self.tree
        if model.is_frozen:
            raise ArgumentError("model", "must not be frozen: it would learn nothing")
        y = with_exposure(tree.options, X, y, exposure)
        _, y = model.preview(X, y)
        done, n_rows = 0, len(y)
        with rows_bar(progress, n_rows, "recording") as tell:
            while done < n_rows:
                noted = done + self.every - 1 - tree.n_seen % self.every
                if noted > done:
                    end = min(noted, n_rows)
                    model.update(take(X, slice(done, end)), y[done:end], progress=False)
                else:
                    end = done + 1
                    self._learn_noted(take(X, slice(done, end)), y[done:end])
                tell(end - done)
                done = end
        return self

    def trace(self) -> Trace:
        """Return what was recorded so far."""
        table = np.array(self._notes, dtype=np.float64).reshape(-1, N_NOTED)
        counts = table[:, [0, -2, -1]].astype(np.int64)
        evidence, ess, left, grow, prune, height, leaves, size = table[:, 1:-2].T.copy()
        return Trace(
            counts[:, 0],
            evidence,
            ess,
            left,
            grow,
            prune,
            height,
            leaves,
            size,
            counts[:, 1],
            counts[:, 2],
        )

    def predict(self, X: Any, *, exposure: Any = None) -> Prediction | ClassPrediction:
        """Predictions of the model at rows; see `DynamicTree.predict`."""
        return self.model.predict(X, exposure=exposure)

    def preview(self, X: Any, y: Any, start: int | None = None) -> Any:
        """Check and encode a stream; see `DynamicTree.preview`."""
        return self.model.preview(X, y, start)

    @property
    def is_ready(self) -> bool:
        """Whether the model has trees."""
        return bool(self.tree.is_ready)

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels of the model."""
        labels: tuple[Hashable, ...] | None = self.tree.classes
        return labels

    @property
    def tree(self) -> Any:
        """The model's tree."""
        return self.model.tree

    def _learn_noted(self, row: Any, y: list[Any]) -> None:
        """Learn one row and take a note of it, once there are trees."""
        tree = self.tree
        with tree.exclusive():
            rehearsal = tree.rehearse(row, y) if tree.is_ready else None
            step = (np.nan,) * 4 if rehearsal is None else tuple(rehearsal)
            self.model.update(row, y, progress=False)
            if not tree.is_ready:
                return
            stats = tree.stats()
            shape = stats.height, stats.n_leaves, stats.leaf_size
            counts = tree.n_active, tree.n_retired
            self._notes.append((tree.n_seen, tree.log_evidence, *step, *shape, *counts))
