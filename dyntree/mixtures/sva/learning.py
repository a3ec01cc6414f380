"""Learning: rows into clusters: checked, kept back for their scales, learned."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.base import Mixture
from dyntree.mixtures.shared.rows import encoded, no_rows
from dyntree.mixtures.sva.emission import learn_together, new_clusters
from dyntree.mixtures.sva.misfit import (
    MANY_ROWS,
    warn_of_few,
    warn_of_misfit,
    warn_of_none,
)
from dyntree.mixtures.sva.options import ClusterOptions
from dyntree.mixtures.sva.state import State
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar

CHUNK_SECONDS = 0.1  # between two moves of a progress bar
MOST_ROWS, MOST_WORK = 4096, 2**18  # of a first chunk; work is rows times columns^2


def first_chunk(n_features: int) -> int:
    """Rows that surely take less than about a tenth of a second."""
    return max(16, min(MOST_ROWS, MOST_WORK // n_features**2))


TOO_FEW = "finish_warm_up needs at least 2 rows; {n_waiting} have come."


class Learning(Mixture):
    """The part of a small-variance mixture that learns rows.

    The method `_scales_of` of a class finds the scales that its user has not given.
    """

    unit = "row"
    _counted = "clusters"
    options: ClusterOptions
    _state: State

    def _begin(self, options: ClusterOptions, seed: Any) -> None:
        """Become a model that has seen no row."""
        super()._begin(options, seed)
        self._state = State()
        self._keys: tuple[Any, ...] = ()
        self._labels: Ids | None = np.empty(0, dtype=np.int64)
        self._last_label = -1  # what stands for `_labels` where these are None

    @abstractmethod
    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[float, float | None]:
        """Cost of a new cluster, and noise: as given, or chosen from rows."""

    # ------------------------------------------------------------ rows
    @property
    def last_label_(self) -> int:
        """Id of the cluster of the last row learned, confirmed or not; else -1."""
        labels = self.labels_
        return int(labels[-1]) if len(labels) else -1

    @property
    def labels_(self) -> Ids:
        """Ids of the clusters of the rows of the last call, as they were learned.

        If a cluster has merged into another one since, `aliases_` has its new id. Rows
        that are held back have -1.
        """
        if self._labels is None:
            return np.array([self._last_label])
        return self._labels.copy()

    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Finite numbers. The first call fixes the columns. A call without rows
            changes nothing.
        y : object, optional
            Ignored. It is there because other models have responses.
        progress : bool, callable or None, default None
            As in `dyntree.DynamicTree.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If a value is not a finite number, or the columns are not those of the first
            call. The model is then as it was before the call.
        KeyboardInterrupt
            If the call is interrupted. The model has then learned all rows up to the
            last complete one.
        """
        if (progress is None or progress is False) and self._is_plain(X):
            self._labels = np.empty(len(X), dtype=np.int64)
            self._learn(X, self._labels)
            return self
        check_progress(progress)
        if is_nothing(X):
            self._labels = np.empty(0, dtype=np.int64)
            return self
        features, rows = self._encoded(X)
        with rows_bar(progress, len(rows), "learning") as tell:
            self._take(features, rows, tell)
        return self

    def _is_plain(self, X: Any) -> bool:
        """Whether X is a short array that can be learned as it is, without a bar."""
        state = self._state
        return (
            type(X) is np.ndarray
            and state.clusters is not None
            and state.features is not None
            and state.features.is_plain(X)
            and len(X) <= first_chunk(X.shape[1])
        )

    def _take(self, features: FeatureMap, rows: Matrix, tell: Any) -> None:
        """Keep rows back, or learn them in chunks of about a tenth of a second."""
        labels = np.full(len(rows), -1, dtype=np.int64)
        first = 0
        if self._state.clusters is None:
            first = self._keep_back(features, rows, labels)
            tell(first)
        self._labels = labels[:first]
        size = first_chunk(rows.shape[1])
        while first < len(rows):
            last = min(first + size, len(rows))
            clock = time.perf_counter()
            self._learn(rows[first:last], labels[first:last])
            clock = time.perf_counter() - clock
            self._labels = labels[:last]
            tell(last - first)
            size = int((last - first) * CHUNK_SECONDS / (clock + 1e-9))
            size = max(1, min(4 * (last - first), size))
            first = last

    def _learn(self, rows: Matrix, labels: Ids) -> None:
        """Learn rows; labels become the ids of their clusters."""
        first = 0
        while first < len(rows):
            clusters = self._state.clusters
            n_left = MANY_ROWS - self.n_seen
            last = first + n_left if n_left > 0 else len(rows)
            first += clusters.learn(rows[first:last], labels[first:last])
            if clusters.watch.stopped:
                self._meet_misfit(clusters.watch)
            if self.n_seen == MANY_ROWS:
                warn_of_none(clusters, self.options.min_weight)

    def _meet_misfit(self, watch: Any) -> None:
        """Say that scales no longer fit, and gather rows to choose new ones from."""
        rows = watch.gathered()
        if len(rows):
            self._start_again(rows)
            return
        n_wanted = self.options.n_kept_back
        watch.gather(n_wanted)
        warn_of_misfit(watch, n_wanted)

    def _start_again(self, rows: Matrix) -> None:
        """Choose scales from these newest rows, and begin clusters anew with them."""
        old = self._state
        assert old.features is not None
        old.clusters.watch.go_on()
        lambda_, noise = self._scales_of(rows, old.features.feature_names)
        clusters = new_clusters(self.options, rows.shape[1], lambda_, noise)
        clusters.go_on_from(old.clusters.n_rows - len(rows), old.clusters.next_id)
        learn_together(clusters, rows, np.empty(len(rows), dtype=np.int64))
        self._state = State(old.features, no_rows(), lambda_, noise, clusters)

    def _keep_back(self, features: FeatureMap, rows: Matrix, labels: Ids) -> int:
        """Hold the first rows back until scales can be chosen; returns how many."""
        held = self._state.waiting.reshape(-1, rows.shape[1])
        n_needed = self.options.n_kept_back
        n_new = min(len(rows), max(0, n_needed - len(held)))
        waiting = np.concatenate([held, rows[:n_new]])
        if len(waiting) < n_needed:
            self._state = State(features, waiting)
            return n_new
        labels[:n_new] = self._start(features, waiting)[len(held) :]
        return n_new

    def _start(self, features: FeatureMap, waiting: Matrix) -> Ids:
        """Choose scales, and learn the rows held back; returns their labels."""
        lambda_, noise = self._scales_of(waiting, features.feature_names)
        clusters = new_clusters(self.options, waiting.shape[1], lambda_, noise)
        labels = np.full(len(waiting), -1, dtype=np.int64)
        learn_together(clusters, waiting, labels)
        self._state = State(features, no_rows(), lambda_, noise, clusters)
        return labels

    @locked
    def finish_warm_up(self) -> Self:
        """Choose scales from the rows held back so far, and learn these rows.

        Returns
        -------
        self

        Raises
        ------
        NotReadyError
            If fewer than two rows are held back.
        """
        state = self._state
        if state.clusters is None:
            if len(state.waiting) < 2 or state.features is None:
                raise NotReadyError(
                    Message(
                        TOO_FEW,
                        n_waiting=len(state.waiting),
                    )
                )
            warn_of_few(len(state.waiting))
            self._labels = self._start(state.features, state.waiting)
        return self

    def learn_one(self, x: Any) -> Self:
        """Learn one row; its label is `last_label_`.

        Parameters
        ----------
        x : dict or array_like of shape (n_features,)
            A dict may have its keys in any order; the first one fixes them.

        Returns
        -------
        self
        """
        with self._lock:
            if type(x) is dict and self._keys:
                label = self._state.clusters.learn_dict(x, self._keys)
                if label >= 0:
                    self._labels, self._last_label = None, label
                    return self
            self.update(self._one_row(x), progress=False)
            features = self._state.features
            if isinstance(x, dict) and self.is_ready and features is not None:
                names = {str(key): key for key in x}
                if features.times:  # which are no floats
                    return self
                self._keys = tuple(names[name] for name in features.names or ())
        return self

    @staticmethod
    def _one_row(x: Any) -> Any:
        """A dict or a sequence as a table of one row."""
        if isinstance(x, Mapping):
            return x
        row = params.as_array("x", x)
        if row.ndim != 1:
            raise ArgumentError(
                "x",
                "must be one row: a dict, or of shape (n_features,)",
                Message("shape {shape}", shape=row.shape),
                "Give several rows to update.",
            )
        return row[None, :]

    def _encoded(self, X: Any, argument: str = "X") -> tuple[FeatureMap, Matrix]:
        known = self._state.features
        features, rows = encoded(X, known, argument)
        if known is None:
            self.options.with_width(features.n_features)
        return features, rows

    @property
    def is_ready(self) -> bool:
        """Whether there are clusters to answer from."""
        return self._state.clusters is not None

    def _ready(self, what: str) -> Any:
        """The clusters of the kernel, or why there are none."""
        if self._state.clusters is not None:
            return self._state.clusters
        if not self.n_seen:
            raise NotReadyError(
                Message(
                    "{what!a} needs rows; none has come. Call update first.", what=what
                )
            )
        scales = "lambda_ and noise" if self.options.has_noise else "lambda_"
        raise NotReadyError(
            Message(
                "{what!a} needs the scales, which are chosen from {n_kept_back} "
                "rows; got {n_seen}. Call finish_warm_up() to choose them now, or "
                "give {scales} to the model.",
                what=what,
                n_kept_back=self.options.n_kept_back,
                n_seen=self.n_seen,
                scales=scales,
            )
        )

    def _answered(self, X: Any, what: str) -> tuple[Any, Matrix]:
        """The clusters of the kernel, and rows to be answered for."""
        clusters = self._ready(what)
        if is_nothing(X):
            return clusters, np.empty((0, clusters.n_features))
        return clusters, self._encoded(X)[1]
