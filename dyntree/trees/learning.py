"""TreeLearning: rows into a tree: checked, kept back or planted, learned in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, FeatureMap, take
from dyntree.encoding.targets import (
    label_codes,
    label_list,
    real_response,
    sorted_labels,
)
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import DegenerateWeightsWarning, warn
from dyntree.params import TreeOptions
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.trees.queries import TreeQueries
from dyntree.trees.scaling import check_scale, on_scale
from dyntree.trees.view import Rehearsal, rehearsed
from dyntree.trees.warmup import n_waiting, plant, widened, with_ones

CHUNK_SECONDS = 0.1  # between two moves of a progress bar


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that a tree can learn, as it will know them.

    Attributes
    ----------
    features : FeatureMap
        The columns with these rows.
    rows : ndarray of shape (n_rows, n_features), or codes while there are no trees
    labels : list
        Responses or labels.
    options : TreeOptions
        Complete for this width.
    """

    features: FeatureMap
    rows: Matrix
    labels: list[Any]
    options: TreeOptions


class TreeLearning(TreeQueries):
    """The part of `DynamicTree` that takes rows in."""

    @property
    def n_degenerate(self) -> int:
        """Steps at which no particle gave the row a positive density."""
        return 0 if self._cloud is None else self._cloud.n_degenerate

    @locked
    def update(self, X: Any, y: Any, *, progress: Progress = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers; under native rules also strings and categories, and NaN for what is
            missing. The first call fixes the columns; their kinds and levels are those
            of all rows until there are trees. A level that comes later counts as
            missing, with a warning the first time (copies and loaded models warn anew).
        y : array_like of shape (n_rows,)
            Responses, or labels of a class model.
        progress : bool, callable or None, default None
            True: progress bar; False: none; None: a bar for long work on a terminal;
            a callable is called with (rows done, rows in all).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input; the model is then what it was before.
        KeyboardInterrupt
            The model is then what it is after the last complete row.
        """
        check_progress(progress)
        before = self.n_seen
        rows, responses = self._accept(X, y)
        with self._watch():
            self._learn(rows, responses, progress, self.n_seen - before, self._take)
        return self

    def _check(self, X: Any, y: Any) -> CheckedRows:
        """Rows and responses or labels, checked; nothing changes."""
        options = self.options
        if self._cloud is None:
            features, rows = self._extended(X)
            options = options.with_width(features.n_features)
        else:
            assert self._features is not None
            features = self._features
            rows = features.encode(X, tell_unseen=self._warn_unseen)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        if options.model == "class":
            labels = label_list(y, len(rows))
        else:
            response = real_response(y, len(rows), options.rules)
            if self._cloud is not None:
                rows = on_scale(self._cloud, features, rows, response)
            labels = response.tolist()
        if options.classes is not None and options.rules == "r":
            label_codes(labels, options.classes)
        return CheckedRows(features, rows, labels, options)

    def _accept(self, X: Any, y: Any) -> tuple[Matrix, Vector]:
        """Check rows, keep them back or plant trees; what is left is to be learned.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_stored)
            As the cloud stores them.
        responses : ndarray of shape (n_rows,)
        """
        rows, responses, n_old = self._admit(X, y)
        self._relearn(rows[:n_old], responses[:n_old])
        return rows[n_old:], responses[n_old:]

    def _admit(self, X: Any, y: Any) -> tuple[Matrix, Vector, int]:
        """Check rows, keep them back or plant trees.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_stored)
            What the cloud has to learn, as it stores them: with those that earlier
            calls kept back, none while there are no trees.
        responses : ndarray of shape (n_rows,)
        n_old : int
            How many of them came with earlier calls.
        """
        given, ones = self._check(X, y), self._ones
        rows, labels = given.rows, given.labels
        if self._cloud is not None:
            self._take_new_labels(labels)
            return with_ones(rows, ones), self._responses(labels), 0
        n_before = len(self._waiting_y)
        rows = np.concatenate([self._waiting_X.reshape(-1, rows.shape[1]), rows])
        labels = [*self._waiting_y, *labels]
        if len(labels) < n_waiting(given.options, self._n_scale):
            self._features = given.features
            self._waiting_X, self._waiting_y = rows, labels
            return np.empty((0, rows.shape[1] + ones)), np.empty(0), 0
        features, rows = given.features.settle(rows)
        planted = plant(given.options, rows, labels, self.seed, self._n_scale)
        rows = on_scale(planted.cloud, features, rows, planted.responses, n_before)
        self._features, self.options = features, planted.options
        self._cloud = planted.cloud
        self._waiting_X, self._waiting_y = np.empty((0, 0)), []
        rows, responses = with_ones(rows, ones), planted.responses
        n_held = planted.n_held
        return rows[n_held:], responses[n_held:], max(0, n_before - n_held)

    def _take_new_labels(self, labels: list[Any]) -> None:
        """Give labels that were not known a place after the others (native rules)."""
        known = self.options.classes
        if known is None or self.options.rules == "r":
            return
        fresh = [label for label in dict.fromkeys(labels) if label not in known]
        if fresh:
            self._cloud = self._cloud.with_classes(len(known) + len(fresh))
            self.options = replace(self.options, classes=(*known, *fresh))

    def _responses(self, y: list[Any]) -> Vector:
        """Responses as the cloud takes them."""
        if self.options.classes is not None:
            return label_codes(y, self.options.classes)
        return np.array(y, dtype=np.float64)

    def _relearn(self, rows: Matrix, responses: Vector) -> None:
        """Learn what earlier calls have kept back; an interrupt waits for all of it."""
        interrupt = None
        first = self.n_seen
        with self._watch():
            while (done := self.n_seen - first) < len(rows):
                try:
                    self._cloud.update(rows[done:], responses[done:])
                except KeyboardInterrupt as error:
                    interrupt = error
        if interrupt is not None:
            raise interrupt

    def _learn(
        self,
        rows: Matrix,
        responses: Vector,
        progress: Progress,
        n_kept: int,
        learn: Callable[[Matrix, Vector], int],
    ) -> None:
        """Give rows to `learn` in chunks of about a tenth of a second.

        It learns some of them, at least one, and tells how many. `n_kept` rows of the
        same call were kept back or planted; the bar counts them.
        """
        size, first = 16, 0
        with rows_bar(progress, n_kept + len(rows), "learning") as tell:
            if not len(rows):
                tell(n_kept)
            while first < len(rows):
                part = slice(first, first + size)
                clock = time.perf_counter()
                done = learn(rows[part], responses[part])
                clock = time.perf_counter() - clock
                tell(done if first else n_kept + done)
                first += done
                size = max(1, min(4 * size, int(done * CHUNK_SECONDS / (clock + 1e-9))))

    def _take(self, rows: Matrix, responses: Vector) -> int:
        """Learn rows; returns how many."""
        return len(self._cloud.update(rows, responses))

    @contextmanager
    def _watch(self) -> Iterator[None]:
        """Warn once where rows had no density under any particle."""
        before = self.n_degenerate
        yield
        self._warn_degenerate(before)

    def _warn_degenerate(self, before: int, now: int | None = None) -> None:
        """Warn if there are more degenerate steps now than before."""
        now = self.n_degenerate if now is None else now
        if now > before:
            warn(
                DegenerateWeightsWarning,
                f"{now - before} row(s) had density zero or NaN under "
                "every particle and weighed them equally: leaves without variance, "
                "from repeated or noise-free responses.",
            )

    @locked
    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Encoded, list[Any]]:
        """Check a stream that is to be learned, and encode it; see `Learner.preview`.

        The first rows fix the encoding just as they will when the model learns them.
        While there are no trees, values that are beyond the scale of the first rows are
        refused by `update` alone.
        """
        if start is not None:
            start = params.count("start", start, 0)
        features, n_first = self._features, 0
        if self._cloud is None:
            first = X if start is None else take(X, slice(max(1, start)))
            features, codes = self._extended(first)
            n_first = len(codes) if start is None else start
            options = self.options.with_width(features.n_features)
            needed = n_waiting(options, self._n_scale) - len(self._waiting_y)
            one_by_one = range(n_first + 1, needed + 1) if start is not None else ()
            for end in one_by_one if features.allow_missing else ():
                features, codes = features.extend(take(X, slice(end)))
            n_first = max(n_first, needed)
            features, _ = features.settle(codes)
        assert features is not None
        rows = features.encode(X, tell_unseen=self._warn_unseen)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        rows = rows.copy() if rows is X else rows  # which is the caller's to change
        if self.options.model != "class":
            response = real_response(y, len(rows), self.options.rules)
            if self._cloud is not None:
                check_scale(self._cloud, features, rows, response)
            return Encoded(rows), response.tolist()
        labels = label_list(y, len(rows))
        if self.options.rules == "r":
            known = self.classes or sorted_labels([*self._waiting_y, *labels[:n_first]])
            label_codes(labels, known)
        return Encoded(rows), labels

    @locked
    def rehearse(self, X: Any, y: Any) -> Rehearsal | None:
        """What would become of the particles at one more row; nothing changes.

        Parameters
        ----------
        X, y
            One row, as for `update`.

        Returns
        -------
        Rehearsal, or None for a label that comes for the first time
        """
        cloud, given = self._ready("rehearse"), self._check(X, y)
        if len(given.rows) != 1:
            raise ValueError(f"X must be one row to rehearse; got {len(given.rows)}.")
        known = self.options.classes
        if known is not None and given.labels[0] not in known:
            return None
        rows = with_ones(given.rows, self._ones)
        return rehearsed(cloud, rows, self._responses(given.labels))

    @locked
    def fix_columns(self, features: FeatureMap) -> None:
        """Settle which columns rows have, before the first row comes.

        Parameters
        ----------
        features : FeatureMap
        """
        if self.n_seen:
            raise ValueError(
                f"columns can be fixed before the first row only; {self.n_seen} rows "
                "have come."
            )
        self._features = features

    @contextmanager
    def with_columns(
        self, features: FeatureMap, widen: Callable[[Matrix], Matrix]
    ) -> Iterator[None]:
        """Have more columns from the block on; an error in it takes them back.

        An interrupt does not, as the block may have learned its row by then.

        Parameters
        ----------
        features : FeatureMap
            The columns then, the new ones last.
        widen : callable
            Gives rows, an array of shape (n_rows, old width), their new columns.
        """
        with self._lock:
            before = self._features, self._waiting_X, self._cloud
            waiting, cloud = self._waiting_X, self._cloud
            if cloud is not None:
                cloud = widened(cloud, widen)
            elif self._waiting_y:
                waiting = widen(waiting)
            self._features, self._waiting_X, self._cloud = features, waiting, cloud
            try:
                yield
            except Exception:  # warnings that are made errors, too
                self._features, self._waiting_X, self._cloud = before
                raise
