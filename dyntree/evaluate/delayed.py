"""DelayedLabels: predict rows when they come, learn them when their labels come."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.checkpoint import Stored, kind_named, savable
from dyntree.encoding.tables import check_distinct
from dyntree.errors import ArgumentError, Message, UnusableValueError
from dyntree.params.labels import (
    can_store,
    check_names,
    check_text,
    checked_label,
    from_json,
    is_missing,
    label_repr,
    plain_label,
    to_json,
)
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header, OnlineModel, check_online_model
from dyntree.runtime.parallel import late_interrupts
from dyntree.trees.learning.exposures import check_exposure

Row = dict[str, Any] | list[Any]
WORD = 8  # bytes of a number by which text is stored


@savable
class DelayedLabels(Suggesting, Stored):
    """Predicts rows when they come, and learns them when their labels come.

    Rows wait for their labels in a store of bounded size, under a key that the caller
    gives. Labels may come in any order, and some may never come; rows are learned in
    the order of the labels. The prediction of a row uses only the labels that arrived
    before it, as in `evaluate.prequential` with ``delay=``.

    Parameters
    ----------
    model : DynamicTree, StreamingTree or another OnlineModel
        A model with responses. It is not copied and may also be used directly. Its
        ``exclusive()`` also keeps other threads away from the waiting rows.
    max_pending : int, default 10_000
        Largest number of waiting rows. When one more comes, the oldest is dropped.

    Attributes
    ----------
    model : OnlineModel
    max_pending : int
    n_dropped : int
        Number of rows that were dropped because too many waited.
    n_unmatched : int
        Number of labels without a waiting row: it was dropped, was already learned, or
        never arrived.
    n_unlabelled : int
        Number of rows whose label was a missing value.

    Examples
    --------
    >>> import dyntree
    >>> model = dyntree.StreamingTree(window=50, n_particles=50, seed=1)
    >>> for x in range(40):
    ...     model = model.update([[x]], [2.0 * x])
    >>> late = dyntree.DelayedLabels(model, max_pending=100)
    >>> prediction = late.predict_later("order 17", [20.5])
    >>> late.pending
    ('order 17',)
    >>> late.learn("order 17", 41.0), late.n_pending, model.n_seen
    (True, 0, 41)
    """

    _hints = MappingProxyType(
        dict.fromkeys(
            ("fit", "partial_fit", "predict", "predict_one", "learn_one", "update"),
            "predict_later(key, row) takes a row, and learn(key, y) its label.",
        )
    )
    _nested = ("model",)

    def __init__(self, model: OnlineModel, *, max_pending: int = 10_000) -> None:
        check_online_model("model", model)
        if hasattr(model, "score_samples"):
            raise ArgumentError(
                "model",
                "must have responses; {kind} has none",
                remedy="Call its update as the rows come.",
                kind=type(model).__name__,
            )
        self.model = model
        self.max_pending = params.count("max_pending", max_pending, 1)
        self.n_dropped = self.n_unmatched = self.n_unlabelled = 0
        self._rows: dict[Hashable, tuple[Row, float | None]] = {}
        self._lock = model.exclusive()  # one for both: who waits for it holds neither

    def __repr__(self) -> str:
        return (
            f"<DelayedLabels: {self.n_pending} of at most {self.max_pending} rows "
            f"wait, around {self.model!r}>"
        )

    @property
    def n_pending(self) -> int:
        """Number of rows that wait for their label."""
        return len(self._rows)

    @locked
    def __contains__(self, key: Hashable) -> bool:
        """Whether a row waits under a key."""
        return key in self._rows

    @property
    @locked
    def oldest(self) -> Hashable:
        """Key of the oldest waiting row, the next to be dropped; None without rows."""
        return next(iter(self._rows), None)

    @property
    @locked
    def pending(self) -> tuple[Hashable, ...]:
        """Keys of the waiting rows, oldest first."""
        return tuple(self._rows)

    @locked
    def predict_later(
        self, key: Hashable, row: Any, *, exposure: float | None = None
    ) -> Any:
        """Predict a row now, and keep it until its label comes.

        Parameters
        ----------
        key : label
            Identifies the row when its label comes: text, a number, a date, or another
            value that can be saved. No waiting row may have the same key.
        row : mapping, Series or sequence of length n_features
            The values by name, or in the order of the columns.
        exposure : float, optional
            Exposure of a count, used to predict and to learn it.

        Returns
        -------
        Prediction, ClassPrediction or CountPrediction, of one row
            None if the model cannot predict yet; the row still waits for its label.

        Raises
        ------
        ValueError
            If a row with this key is already waiting, or the model refuses the row. The
            row is then not stored. A model that cannot predict yet checks rows when it
            learns them.
        """
        name = checked_label(key, "key")
        if name in self._rows:
            raise ArgumentError(
                "key",
                "must be that of no row that waits; {label!r} waits already",
                remedy=(
                    "Give each row its own key, or call learn or drop with this one "
                    "first."
                ),
                label=name,
            )
        values = plain_row(row)
        if exposure is not None:
            exposure = float(check_exposure(exposure, 1)[0])
        over = {} if exposure is None else {"exposure": exposure}
        prediction = (
            self.model.predict([values], **over) if self.model.is_ready else None
        )
        if len(self._rows) == self.max_pending:
            del self._rows[next(iter(self._rows))]
            self.n_dropped += 1
        self._rows[name] = values, exposure
        return prediction

    @locked
    def predict_again(self, key: Hashable) -> Any:
        """Predict a waiting row again, with everything learned so far.

        Parameters
        ----------
        key : label
            As given to `predict_later`.

        Returns
        -------
        Prediction, ClassPrediction or CountPrediction, of one row
            None if no row with this key is waiting, or the model cannot predict yet.
        """
        name = checked_label(key, "key")
        if name not in self._rows or not self.model.is_ready:
            return None
        row, exposure = self._rows[name]
        over = {} if exposure is None else {"exposure": exposure}
        return self.model.predict([row], **over)

    @locked
    def learn(
        self, key: Hashable, y: Any, *, sample_weight: float | None = None
    ) -> bool:
        """Learn the row of a key, now that its response or label is known.

        Parameters
        ----------
        key : label
            As given to `predict_later`.
        y : float or label
            If it is missing (None or NaN), the row is dropped and counted in
            `n_unlabelled`.
        sample_weight : float, optional
            Weight of the row, for models with weights.

        Returns
        -------
        bool
            Whether a row was learned. If no row with this key is waiting, only
            `n_unmatched` changes.

        Raises
        ------
        ValueError
            If the model refuses the response. The row then still waits.
        """
        name = checked_label(key, "key")
        if name not in self._rows:
            self.n_unmatched += 1
            return False
        if is_missing(y):
            self.n_unlabelled += 1
            del self._rows[name]
            return False
        row, exposure = self._rows[name]
        over: dict[str, Any] = {} if exposure is None else {"exposure": exposure}
        if sample_weight is not None:
            over["sample_weight"] = sample_weight
        with late_interrupts():
            self.model.update([row], [y], progress=False, **over)
            del self._rows[name]
        return True

    @locked
    def drop(self, key: Hashable) -> bool:
        """Drop a row whose label will not come; return whether the row was waiting."""
        return self._rows.pop(checked_label(key, "key"), None) is not None

    @locked
    def copy(self) -> Self:
        """Return an independent copy, with a copy of the model."""
        again = type(self)(self.model.copy(), max_pending=self.max_pending)
        again._rows = dict(self._rows)
        again.n_dropped, again.n_unmatched = self.n_dropped, self.n_unmatched
        again.n_unlabelled = self.n_unlabelled
        return again

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state, in the form of `OnlineModel.to_arrays`, as written by `save`."""
        described, arrays = self.model.to_arrays()
        rows = [
            [to_json(key), stored_row(row), exposure]
            for key, (row, exposure) in self._rows.items()
        ]
        text = json.dumps(rows).encode("ascii")
        text = text.ljust(-(-len(text) // WORD) * WORD)
        header = {
            "kind": type(self).__name__,
            "model": described,
            "max_pending": self.max_pending,
            "n_dropped": self.n_dropped,
            "n_unmatched": self.n_unmatched,
            "n_unlabelled": self.n_unlabelled,
        }
        return header, arrays | {"pending": np.frombuffer(text, "<u8")}

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return what `to_arrays` described."""
        rest = dict(arrays)
        text = rest.pop("pending").astype("<u8").tobytes()
        kind = kind_named(header["model"]["kind"])
        if kind is None or kind is cls:
            raise ValueError("it holds no model within")
        again = cls(
            kind.from_arrays(header["model"], rest),  # type: ignore[arg-type]
            max_pending=header["max_pending"],
        )
        for name in ("n_dropped", "n_unmatched", "n_unlabelled"):
            setattr(again, name, params.count(name, header[name], 0))
        rows = json.loads(text)
        if not isinstance(rows, list) or len(rows) > again.max_pending:
            raise ValueError(
                Message(
                    "at most {max_pending} rows may wait", max_pending=again.max_pending
                )
            )
        for key, row, exposure in rows:
            values = read_row(row)
            again._rows[checked_label(from_json(key), "key")] = values, exposure
        return again


def plain_row(row: Any) -> Row:
    """The values of a row as Python's, missing ones as None: by name, or a list."""
    if hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:
        check_distinct(row.index, "row")
        row = row.to_dict()
    if isinstance(row, Mapping):
        check_distinct(row, "row")
        check_names(row, "row")
        return {str(name): plain_value(value) for name, value in row.items()}
    if not isinstance(row, list | tuple) and getattr(row, "ndim", 0) != 1:
        raise ArgumentError(
            "row",
            "must be one row, a mapping of names to values or a flat sequence",
            row,
            "Call predict_later once for each row, with its own key.",
        )
    return [plain_value(value) for value in row]


def plain_value(value: Any) -> Any:
    """A value of a row as files hold it."""
    if is_missing(value):
        return None
    plain = plain_label(value)
    if not can_store(plain) or (isinstance(plain, float) and math.isinf(plain)):
        raise UnusableValueError(
            "row",
            "must hold finite numbers, text, truth values, dates or times",
            Message("{value}", value=label_repr(value)),
            "Turn it into one of these, or leave it out as None.",
        )
    if isinstance(plain, str):
        check_text(plain, "row")
    return plain


def stored_row(row: Row) -> Any:
    """What JSON holds of a row."""
    if isinstance(row, dict):
        return {name: None if v is None else to_json(v) for name, v in row.items()}
    return [None if v is None else to_json(v) for v in row]


def read_row(row: Any) -> Row:
    """Return the row from the JSON of `stored_row`."""
    if isinstance(row, dict):
        return {name: from_json(value) for name, value in row.items()}
    return [from_json(value) for value in row]
