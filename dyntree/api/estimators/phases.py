"""What clusterers over phases have in common, for scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dyntree.api.estimators.answers import Ids, times_of
from dyntree.api.estimators.base import Estimator
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix
from dyntree.mixtures.shared.arrays import settled_aliases
from dyntree.mixtures.shared.phases import separated, without_phases

WHOLE = 30  # rows, from which pieces of `partial_fit` are a phase


def labels_of(rows: Matrix, times: Ids, labels: Ids, model: Any) -> Ids:
    """Labels of rows that were learned so often; of those left out, as predicted."""
    out = np.full(len(rows), -1, dtype=np.int64)
    learned = times > 0
    out[learned] = labels[(np.cumsum(times) - times)[learned]]
    if not learned.all() and model.is_ready:
        out[~learned] = model.predict(rows[~learned])
    return out


class PhasesMixin(Estimator):
    """Learning of clusterers around models of phases.

    A class that uses it defines `_fresh`, which makes a model from its parameters.
    """

    model_: Any
    labels_: Ids
    _fresh: Callable[[], Any]
    _open: tuple[Any, Matrix] | None = None  # the model before a phase, and its rows
    _phase_columns: tuple[str, ...] = ()  # that frames of earlier calls had

    def fit(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn phases in the order of their labels; earlier learning is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        phases : str or array_like of shape (n_rows,), optional
            The name of a column of a frame, or a label for each row. By default all
            rows are one phase. Of categories, one between two that have rows is a
            phase without rows, in which time passes.
        sample_weight : array_like of int of shape (n_rows,), optional
            How often each row is learned; one of weight 0 is left out, and its label is
            what `predict` says after its phase.

        Returns
        -------
        self
        """
        return self._learned(self._fresh(), X, phases, sample_weight, reset=True)

    def partial_fit(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn one or more further phases on top of what was learned before.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        phases : str or array_like of shape (n_rows,), optional
            As in `fit`. By default rows of successive calls are one phase until it has
            30 rows, so that it does not matter in which pieces they come. With each
            piece, the phase is learned again, and `labels_` are those of the piece.
            Columns that earlier calls named as phases are left out of X.
        sample_weight : array_like of int of shape (n_rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "model_")
        if phases is not None:
            model = self._fresh() if first else self.model_.copy()
            return self._learned(model, X, phases, sample_weight, reset=first)
        every = checked_rows(self, self._plain(X), first, dtype=np.float64)
        times = times_of(sample_weight, len(every))
        rows = np.repeat(every, times, axis=0)
        if self._open is None:
            before, whole = self._fresh() if first else self.model_, rows
            model = before.copy().update(whole, progress=False)
        else:
            before, whole = self._open[0], np.concatenate([self._open[1], rows])
            model = self._relearned(before, whole)
        labels = model.labels_[len(whole) - len(rows) :]
        self.model_, self.labels_ = model, labels_of(every, times, labels, model)
        self._open = (before, whole) if len(whole) < WHOLE else None
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Ids:
        """Learn as `fit` does, and return `labels_`.

        Parameters
        ----------
        X, y, phases, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        return self.fit(X, phases=phases, sample_weight=sample_weight).labels_

    def _learned(
        self, model: Any, X: Any, phases: Any, sample_weight: Any,
        reset: bool,
    ) -> Self:  # fmt: skip
        """Let a model learn rows, and keep it and their labels."""
        columns = () if reset else self._phase_columns
        if isinstance(phases, str) and phases not in columns:
            columns += (phases,)
        X, parts = separated(X, phases)
        rows = checked_rows(
            self, X if reset else self._plain(X), reset, dtype=np.float64
        )
        times = times_of(sample_weight, len(rows))
        labels = np.full(len(rows), -1, dtype=np.int64)
        aliases: dict[int, int] = {}
        for part in parts or [np.arange(len(rows))]:
            some, often = rows[part], times[part]
            model.update(np.repeat(some, often, axis=0), progress=False)
            labels[part] = labels_of(some, often, model.labels_, model)
            aliases |= self._aliases(model)
        for old, new in settled_aliases(aliases).items():
            labels[labels == old] = new
        self.model_, self.labels_, self._open = model, labels, None
        self._phase_columns = columns
        return self

    def _plain(self, X: Any) -> Any:
        """Rows without the columns of phases of earlier calls."""
        for column in self._phase_columns:
            X = without_phases(X, column)
        return X

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        return checked_rows(self, self._plain(X), False, dtype=np.float64)

    def _relearned(self, before: Any, rows: Matrix) -> Any:
        """A model that learns a whole phase, of which `model_` has learned a part."""
        return before.copy().update(rows, progress=False)

    def _aliases(self, model: Any) -> dict[int, int]:
        """Clusters that have become others in the last phase."""
        return {}
