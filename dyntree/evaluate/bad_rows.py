"""Rows of a stream that a model refuses, sorted out before it learns the others.

A copy of the model learns the stream row by row, and what it refuses is bad: the checks
of the model decide, on each row in the light of the good ones before it. Rows to be
learned in one call are tried in one call. A refusal does not say which of several rows
it is for, in a way that all models share, so that the row is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import take
from dyntree.encoding.frames import is_frame
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import is_row, table_of
from dyntree.errors import ArgumentError, Message, silenced, without_row
from dyntree.trees.learning.exposures import check_exposure
from dyntree.trees.learning.weights import check_weights, some

OnBadRows = Literal["raise", "skip"] | Callable[[int, ValueError], object]
CHOICES = ("raise", "skip")
Rows = NDArray[np.int64]


def check_on_bad_rows(value: Any) -> None:
    """Raise ValueError for what is neither "raise" nor "skip" nor a function."""
    if not callable(value) and not (isinstance(value, str) and value in CHOICES):
        raise ArgumentError(
            "on_bad_rows",
            "must be 'raise', 'skip' or a function of a row's number and the error",
            value,
        )


@dataclass(frozen=True, eq=False)
class GoodRows:
    """A stream without the rows that a model refuses.

    Attributes
    ----------
    X, y, sample_weight, exposure
        As `prequential` takes them.
    start : int
        As there, among these rows.
    rows : ndarray of int64 of shape (n_rows,), or None
        Numbers of these rows in the whole stream; None if all rows are good.
    bad : dict of int to str
        Numbers of the refused rows, and the reasons.
    """

    X: Any
    y: Any
    sample_weight: Any
    exposure: Any
    start: int
    rows: Rows | None = None
    bad: dict[int, str] = field(default_factory=dict)


def good_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, exposure: Any, start: int
) -> GoodRows:
    """Leave out the rows that a model refuses; it stays as it is.

    Parameters
    ----------
    model : Learner, or results of a formula
    X, y, sample_weight, exposure, start
        As for `prequential`. If their lengths differ, which is the fault of no single
        row, nothing is left out.

    Raises
    ------
    ValueError
        If the model refuses all rows.
    """
    X, n_rows = _counted(X, hasattr(model, "as_learner"))
    given = {"y": y, "sample_weight": sample_weight, "exposure": exposure}
    given = {name: _by_rows(values) for name, values in given.items()}
    for name, values in given.items():
        check_paired(X, values, name)
        if not _is_one(values) and len(values) != n_rows:
            return GoodRows(X, y, sample_weight, exposure, start)
    bad = _Trial(model, X, given).find(n_rows, min(start, n_rows))
    if not bad:
        return GoodRows(X, y, sample_weight, exposure, start)
    rows = np.setdiff1d(np.arange(n_rows), [*bad])
    if not len(rows):
        raise ValueError(
            Message(
                "X and y must have rows that the model takes; it refused all "
                "{n_rows}, row 0 for this: {bad}",
                n_rows=n_rows,
                bad=bad[0],
            )
        )
    given = {name: _part(values, rows) for name, values in given.items()}
    start -= sum(row < start for row in bad)
    return GoodRows(take(X, rows), **given, start=start, rows=rows, bad=bad)


class _Trial:
    """A copy of a model that tries rows.

    Parameters
    ----------
    model : Learner, or results of a formula
    X : rows
    given : dict
        Further values, one for each row, or one for all.
    """

    def __init__(self, model: Any, X: Any, given: dict[str, Any]) -> None:
        self._results = model if hasattr(model, "as_learner") else None
        self._first = model if self._results is None else self._results.tree
        self._model = deepcopy(self._first)
        self._X, self._given = X, given

    def find(self, n_rows: int, start: int) -> dict[int, str]:
        """Rows that are refused, in order, and why; the first `start` come at once."""
        bad: dict[int, str] = {}
        at_once = np.arange(start)
        with silenced(Warning):  # the model itself will warn
            for attempt in self._preview, self._learn_anew:
                while len(at_once):
                    found = first_refused(attempt, at_once)
                    if found is None:
                        break
                    place, bad[int(at_once[place])] = found
                    at_once = np.delete(at_once, place)
            for row in range(start, n_rows):
                found = first_refused(self._learn, np.array([row]))
                if found is not None:
                    bad[row] = found[1]
        return dict(sorted(bad.items()))

    def _preview(self, rows: Rows) -> None:
        """Check rows that come at once, which is quick; some are refused later."""
        self._first.preview(self._rows(rows), self._part("y", rows))

    def _learn_anew(self, rows: Rows) -> None:
        """Learn rows, and forget whatever was learned of others."""
        self._model = deepcopy(self._first)
        self._learn(rows)

    def _learn(self, rows: Rows) -> None:
        """Learn rows, those that weigh something."""
        X, y = self._rows(rows), self._part("y", rows)
        names = "sample_weight", "exposure"
        over = {name: self._part(name, rows) for name in names}
        over = {name: values for name, values in over.items() if values is not None}
        if "sample_weight" in over:  # rows without weight are predicted alone
            self._model.preview(X, y)
            if "exposure" in over:
                check_exposure(over["exposure"], len(rows))
            if not check_weights(over["sample_weight"], len(rows)).any():
                return
        self._model.update(X, y, **over, progress=False)

    def _rows(self, rows: Rows) -> Any:
        """Rows as the model learns them."""
        X = take(self._X, rows)
        return X if self._results is None else self._results.as_learner(X)[1]

    def _part(self, name: str, rows: Rows) -> Any:
        return _part(self._given[name], rows)


def first_refused(
    attempt: Callable[[Rows], object], rows: Rows
) -> tuple[int, str] | None:
    """Position of the first row that is refused, and the reason; None if there is none.

    Parameters
    ----------
    attempt : callable
        Raises ValueError if it refuses some rows.
    rows : ndarray of int64

    Examples
    --------
    >>> first_refused(lambda rows: ["ab".index("ac"[k]) for k in rows], np.arange(2))
    (1, 'substring not found')
    """

    def refusal(n: int) -> str | None:
        try:
            attempt(rows[:n])
        except ValueError as error:
            return without_row(error, n - 1)  # its number here
        return None

    passed, refused = 0, len(rows)
    reason = refusal(refused)
    if reason is None:
        return None
    while refused - passed > 1:
        n = (passed + refused) // 2
        found = refusal(n)
        if found is None:
            passed = n
        else:
            refused, reason = n, found
    return refused - 1, reason


def _counted(X: Any, is_of_columns: bool) -> tuple[Any, int]:
    """Rows, and how many there are; dicts of columns, where they may be, as tables."""
    if isinstance(X, Mapping):
        X = table_of(X) if is_of_columns and not is_row(X) else [X]
    if is_frame(X):
        return X, table_of(X).n_rows
    return X, len(X) if hasattr(X, "__len__") and not _is_one(X) else 0


def _is_one(values: Any) -> bool:
    """Whether there is one value for all rows, or none."""
    return (
        not hasattr(values, "__len__")
        or isinstance(values, str)
        or (getattr(values, "ndim", 1) == 0)
    )


def _by_rows(values: Any) -> Any:
    """One value a row as what can be cut: an array, a series of pandas', or a list."""
    if _is_one(values) or hasattr(values, "iloc") or isinstance(values, np.ndarray):
        return values
    if type(values).__module__.partition(".")[0] in ("polars", "pyarrow"):
        return column_of(values).labels()
    return list(values)


def _part(values: Any, rows: Rows) -> Any:
    """The values of some rows."""
    if _is_one(values):
        return values
    if len(rows) == 1 and isinstance(values, list):
        return [values[rows[0]]]
    return some(values, rows)
