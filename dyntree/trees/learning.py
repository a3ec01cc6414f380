"""TreeLearning: rows into a tree: checked, kept back or planted, learned in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import Encoded, FeatureMap, is_nothing, take
from dyntree.encoding.pairing import check_paired
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
from dyntree.runtime.parallel import late_interrupts
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.trees.growth import Grown, Growth
from dyntree.trees.levels import count_new, full_columns, refuse_unseen, warn_full
from dyntree.trees.queries import TreeQueries
from dyntree.trees.scaling import check_scale, on_scale
from dyntree.trees.view import Rehearsal, rehearsed
from dyntree.trees.warmup import n_waiting, options_for, plant, widened, with_ones

CHUNK_SECONDS = 0.1  # between two moves of a progress bar


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that a tree can learn, as it will know them.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), or codes while there are no trees
    labels : list
        Responses or labels.
    growth : Growth
        The columns with these rows.
    """

    rows: Matrix
    labels: list[Any]
    growth: Growth


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
            missing. Without rows there is nothing to learn, which is no error. The
            first call fixes the columns, and the rows until there are trees their kinds
            and first levels. Levels that come later bring columns of their own (and
            where no row had a value, the first one says of which kind the column is),
            count as missing, with a warning the first time (copies and loaded models
            warn anew), or are an error, as `new_levels` says.
        y : array_like of shape (n_rows,)
            Responses, or labels of a class model. They belong to the rows of X by their
            places; where X and y both have an index, these must be equal.
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
        if self._is_idle(X, y):
            return self
        before = self.n_seen
        rows, responses, growth = self._accept(X, y)
        n_kept = self.n_seen - before
        with self._watch():
            self._learn(rows, responses, growth, progress, n_kept, self._take)
        return self

    def _is_idle(self, X: Any, y: Any) -> bool:
        """Whether there is no row to learn, and no response; columns must be known."""
        if not is_nothing(X) or np.size(y):
            return False
        if self._features is not None and np.ndim(X) == 2:
            self._features.codes(X)
        return True

    def _check(self, X: Any, y: Any) -> CheckedRows:
        """Rows and responses or labels, checked; nothing changes."""
        options = self.options
        check_paired(X, y)
        if isinstance(X, Grown):
            rows, growth = X.rows, X.growth
        elif self._cloud is None:
            features, rows = self._extended(X)
            if options.new_levels == "error":
                refuse_unseen(features, X, rows, "X")
            growth = Growth(features, [], lambda codes: codes)
        else:
            rows, growth = self._with_levels(X)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        if options.model == "class":
            labels = label_list(y, len(rows))
        else:
            response = real_response(y, len(rows), options.rules)
            if self._cloud is not None:
                rows = on_scale(self._cloud, growth.features, rows, response)
            labels = response.tolist()
        if options.classes is not None and options.rules == "r":
            label_codes(labels, options.classes)
        return CheckedRows(rows, labels, growth)

    def _with_levels(self, X: Any) -> tuple[Matrix, Growth]:
        """Rows for trees that there are, with the levels that come new, if they may."""
        assert self._features is not None
        features = self._features
        if not features.may_grow or self.options.new_levels != "grow":
            return self._encoded(features, X), Growth(features, [], features.widen)
        steps, rows = features.grown(X)
        growth = Growth(features, steps, lambda old: growth.features.widen(old))
        self._tell_full(growth.features, X)
        return rows, growth

    def _tell_full(self, features: FeatureMap, X: Any) -> None:
        """Warn the first time that a column has more levels than it can take."""
        full = full_columns(features)
        if not full or "full" in self._told or isinstance(X, Encoded):
            return
        late = [name for name in features.unseen(features.codes(X)) if name in full]
        if late:
            self._told.add("full")
            warn_full(late[0])

    def _accept(
        self, X: Any, y: Any, check: Callable[[TreeOptions], None] | None = None
    ) -> tuple[Matrix, Vector, Growth]:
        """Check rows, keep them back or plant trees; what is left is to be learned.

        Parameters
        ----------
        X, y
            As for `update`.
        check : callable, optional
            Given the options, complete, of trees that are to be planted; may raise.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_stored)
            As the cloud stores them, with all columns of the last.
        responses : ndarray of shape (n_rows,)
        growth : Growth
            What comes of the columns among these rows.
        """
        waits = self._cloud is None  # rows that were kept back must not be lost
        with late_interrupts() if waits else nullcontext():
            rows, responses, growth, n_old = self._admit(X, y, check)
            if n_old:
                assert self._features is not None
                width = self._features.n_features + self._ones
                old = np.ascontiguousarray(rows[:n_old, :width])
                self._relearn(old, responses[:n_old])
        return rows[n_old:], responses[n_old:], growth.since(n_old)

    def _admit(
        self, X: Any, y: Any, check: Callable[[TreeOptions], None] | None = None
    ) -> tuple[Matrix, Vector, Growth, int]:
        """Check rows, keep them back or plant trees; learn none.

        Parameters are those of `_accept`.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_stored)
            What the cloud has to learn, as it stores them, with all columns of the
            last: also rows that earlier calls kept back; none while there are no trees.
        responses : ndarray of shape (n_rows,)
        growth : Growth
            What comes of the columns among these rows.
        n_old : int
            How many of the rows came with earlier calls.
        """
        given, ones = self._check(X, y), self._ones
        rows, labels, growth = given.rows, given.labels, given.growth
        if self._new_levels is not None and growth.features.known:
            last, coded = growth.features, self._cloud is None
            count_new(self._new_levels, self._features, last, rows, coded)
        if self._cloud is not None:
            self._take_new_labels(labels)
            return with_ones(rows, ones), self._responses(labels), growth, 0
        n_before = len(self._waiting_y)
        if n_before:
            rows = np.concatenate([growth.widen(self._waiting_X), rows])
        labels = [*self._waiting_y, *labels]
        options = self.options.with_width(growth.features.n_features)
        n_first = n_waiting(options, self._n_scale)
        if len(labels) >= n_first:
            rows, growth = self._settled(X, rows, growth, self._n_settling(n_first))
            first = growth.at(n_first - 1)
            width = first.n_features
            options = options_for(self.options, rows[: self._n_scale, :width])
        if check is not None:
            check(options)
        if len(labels) < n_first:
            self._features = growth.features
            self._waiting_X, self._waiting_y = rows, labels
            return np.empty((0, rows.shape[1] + ones)), np.empty(0), growth, 0
        planted = plant(options, rows[:, :width], labels, self.seed, self._n_scale)
        rows = on_scale(
            planted.cloud, growth.features, rows, planted.responses, n_before
        )
        self._features, self.options = first, planted.options
        self._cloud = planted.cloud
        self._waiting_X, self._waiting_y = np.empty((0, 0)), []
        rows, responses = with_ones(rows, ones), planted.responses
        n_held = planted.n_held
        n_old = max(0, n_before - n_held)
        return rows[n_held:], responses[n_held:], growth.since(n_held), n_old

    def _settled(
        self, X: Any, codes: Matrix, growth: Growth, n_first: int | None
    ) -> tuple[Matrix, Growth]:
        """Features of all rows so far, the last of which are X, and their growth."""
        if isinstance(X, Grown):
            return codes, growth.since(len(X.rows) - len(codes))
        grows = self.options.new_levels == "grow"
        first, rows = growth.features.settle(codes, n_first, grows)
        if n_first is None or not first.may_grow:
            return rows, Growth(first, [], first.widen)
        steps, last = first.grown(X)
        features = steps[-1][1] if steps else first
        self._tell_full(features, X)
        n_before = len(rows) - len(last)
        rows = np.concatenate([features.widen(rows[:n_before]), last])
        return rows, Growth(first, steps, features.widen).since(-n_before)

    def _n_settling(self, n_first: int) -> int | None:
        """How many of the rows that plant trees settle levels; None for all of them.

        Where levels may grow, those of later rows are as late as if their rows had come
        one by one. Linear leaves take all, as they regress on no column that is late.
        """
        options = self.options
        late = options.new_levels == "grow" and options.model != "linear"
        return n_first if late and not self._settles_all else None

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
        growth: Growth,
        progress: Progress,
        n_kept: int,
        learn: Callable[[Matrix, Vector], int],
        within: Callable[..., AbstractContextManager[None]] | None = None,
    ) -> None:
        """Give rows to `learn` in chunks of about a tenth of a second.

        It learns some of them, at least one, and tells how many. Columns begin between
        chunks, `within` their context, by default `with_columns`. `n_kept` rows of the
        same call were kept back or planted; the bar counts them.
        """
        within = within or self.with_columns
        size, first = 16, 0
        with rows_bar(progress, n_kept + len(rows), "learning") as tell:
            if not len(rows):
                tell(n_kept)
            while first < len(rows):
                part = slice(first, growth.steady(first, first + size))
                clock = time.perf_counter()
                done = self._learn_part(
                    rows[part], responses[part], growth.at(first), growth, learn, within
                )
                clock = time.perf_counter() - clock
                tell(done if first else n_kept + done)
                first += done
                size = max(1, min(4 * size, int(done * CHUNK_SECONDS / (clock + 1e-9))))

    def _learn_part(
        self,
        rows: Matrix,
        responses: Vector,
        features: FeatureMap,
        growth: Growth,
        learn: Callable[[Matrix, Vector], int],
        within: Callable[..., AbstractContextManager[None]],
    ) -> int:
        """Learn some rows that have the same columns, maybe new ones."""
        width = features.n_features
        if width + self._ones < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, :width])
        if features is self._features or features == self._features:
            return learn(rows, responses)
        with within(features, growth.widen_to(width)):
            return learn(rows, responses)

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
        check_paired(X, y)
        features, n_first = self._features, 0
        if self._cloud is None:
            first = X if start is None else take(X, slice(max(1, start)))
            features, codes = self._extended(first)
            n_first = len(codes) if start is None else start
            options = self.options.with_width(features.n_features)
            needed = n_waiting(options, self._n_scale)
            ahead = needed - len(self._waiting_y)
            one_by_one = range(n_first + 1, ahead + 1) if start is not None else ()
            for end in one_by_one if features.allow_missing else ():
                features, codes = features.extend(take(X, slice(end)))
            n_first = max(n_first, ahead)
            if self._waiting_y:
                codes = np.concatenate([self._waiting_X, codes])
            grows = self.options.new_levels == "grow"
            features, _ = features.settle(codes, self._n_settling(needed), grows)
        assert features is not None
        if features.may_grow and self.options.new_levels == "grow":
            steps, rows = features.grown(X)
            features = steps[-1][1] if steps else features
            self._tell_full(features, X)
        else:
            rows = self._encoded(features, X)
        if not len(rows):
            raise ValueError("X must have at least one row; got none.")
        rows = rows.copy() if rows is X else rows  # which is the caller's to change
        if self.options.model != "class":
            response = real_response(y, len(rows), self.options.rules)
            if self._cloud is not None:
                check_scale(self._cloud, features, rows, response)
            return Encoded(rows, features), response.tolist()
        labels = label_list(y, len(rows))
        if self.options.rules == "r":
            known = self.classes or sorted_labels([*self._waiting_y, *labels[:n_first]])
            label_codes(labels, known)
        return Encoded(rows, features), labels

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
        if given.growth.steps:
            cloud = widened(cloud, given.growth.widen)
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

    def hush(self) -> None:
        """Say nothing of columns of text: another model that learns the same does."""
        self._new_levels = None

    @contextmanager
    def with_columns(
        self, features: FeatureMap, widen: Callable[[Matrix], Matrix]
    ) -> Iterator[None]:
        """Have more columns from the block on; an error in it takes them back.

        An interrupt does where the block has not learned a row by then.

        Parameters
        ----------
        features : FeatureMap
            The columns then, the new ones last.
        widen : callable
            Gives rows, an array of shape (n_rows, old width), their new columns.
        """
        with self._lock:
            before, n_seen = (self._features, self._waiting_X, self._cloud), self.n_seen
            waiting, cloud = self._waiting_X, self._cloud
            if cloud is not None:
                cloud = widened(cloud, widen)
            elif self._waiting_y:
                waiting = widen(waiting)
            try:
                self._features, self._waiting_X, self._cloud = features, waiting, cloud
                yield
            except BaseException as error:  # warnings that are made errors, too
                if isinstance(error, Exception) or self.n_seen == n_seen:
                    self._features, self._waiting_X, self._cloud = before
                raise
