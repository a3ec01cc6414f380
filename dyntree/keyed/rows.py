"""Rows, keys and responses as users have them -> checked rows of a model for keys."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import Checked, FeatureMap, take
from dyntree.encoding.frames import is_frame
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.tables import columns_of_rows, table_of
from dyntree.encoding.targets import (
    count_response,
    real_response,
    refuse_booleans,
    warn_of_labels,
)
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.keyed.keys import Key, keys_of, whole_keys
from dyntree.params.checks import as_array
from dyntree.trees.learning.check import (
    extended,
    known_classes,
    label_counter,
    labels_of,
    with_levels,
)
from dyntree.trees.learning.exposures import check_exposure, refuse_exposure
from dyntree.trees.learning.growth import Growth
from dyntree.trees.state import TreeState


@dataclass(frozen=True, eq=False)
class KeyedRows(Checked):
    """Rows with their keys.

    Attributes
    ----------
    keys : list of length n_rows
    X : rows without keys
        As users have them, or `Encoded`.
    exposure : ndarray of shape (n_rows,)
    positions : list of int, or None
    """

    keys: list[Key]
    X: Any
    exposure: Vector
    positions: list[int] | None = None

    def taken(self, rows: slice | NDArray[np.int64]) -> KeyedRows:
        """Some of the rows."""
        places = np.arange(len(self))[rows].tolist()
        at = self.positions
        return KeyedRows(
            [self.keys[k] for k in places], take(self.X, rows), self.exposure[rows],
            None if at is None else [at[k] for k in places],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Run:
    """Rows of one block with the same columns.

    Attributes
    ----------
    texts : list of str
        Keys.
    X : ndarray of shape (n_rows, n_features)
    features : FeatureMap
        Their columns.
    y : list
        Responses, counts with exposures, or labels; empty if rows are asked about.
    exposure : ndarray of shape (n_rows,)
    positions : list of int, or None
    """

    texts: list[str]
    X: Matrix
    features: FeatureMap
    y: list[Any]
    exposure: Vector
    positions: list[int] | None

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class Part:
    """Checked rows of one call.

    Attributes
    ----------
    rows : KeyedRows
    texts : list of str
        Keys.
    X : ndarray of shape (n_rows, n_features)
        With all columns of the last row.
    growth : Growth
        With which rows columns begin.
    y : list of length n_rows
    learns : ndarray of bool of shape (n_rows,)
        Which rows are to be learned.
    """

    rows: KeyedRows
    texts: list[str]
    X: Matrix
    growth: Growth
    y: list[Any]
    learns: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, part: slice) -> Run:
        features = self.growth.at(part.start)
        X = np.ascontiguousarray(self.X[part, : features.n_features])
        at = self.rows.positions
        return Run(
            self.texts[part], X, features, self.y[part], self.rows.exposure[part],
            None if at is None else at[part],
        )  # fmt: skip


def apart_from_key(X: Any, key: Any, default: Hashable) -> tuple[Any, list[Key]]:
    """Rows without the column of their keys, and the keys.

    Parameters
    ----------
    X
        As for `update`.
    key : hashable, array_like of shape (n_rows,) or None
        Name of the column of keys, its place in an array, or the keys.
    default : hashable or None
        What `key` is where it is None.
    """
    if key is None and default is not None:
        key = default
        is_name = isinstance(key, str | int | np.integer) and not isinstance(key, bool)
        if not is_name:
            raise ArgumentError(
                "key",
                "must be the name of one column, or its place, where it is an option "
                "of the model",
                key,
                "Make one column of several, or pass the keys with the rows.",
            )
    if key is None:
        raise ArgumentError(
            "key", "must name a column or be an array with one key for each row",
            Message("none"),
        )  # fmt: skip
    names = _names(X)
    if names is not None and (named := _named(key, names)) is not None:
        rest, values = _apart(X, named)
        return rest, keys_of(values, len(values))
    if isinstance(key, np.integer) and not isinstance(X, Mapping):
        key = int(key)
    if isinstance(key, Mapping | Set) or is_frame(key):
        raise ArgumentError(
            "key",
            "must name a column or have one key for each row, in their order",
            key,
        )
    if isinstance(key, str | int) and not isinstance(key, bool):
        if names is not None or isinstance(key, str):
            listed = "no names" if names is None else "the columns {names}"
            raise ArgumentError(
                "X",
                "must have the column of the keys, {key!r}",
                Message(listed, names=names),
                "Pass key=, the name of another column or one key a row.",
                key=key,
            )
        rows = as_array("X", X)
        if rows.ndim != 2 or not -rows.shape[1] <= key < rows.shape[1]:
            raise ArgumentError(
                "key", "must be a column of X, which has shape {shape}", key,
                shape=rows.shape,
            )  # fmt: skip
        column = rows[:, key]
        numbers = column.dtype.kind in "fc"
        return np.delete(rows, key, axis=1), (
            whole_keys(column) if numbers else keys_of(column, len(rows))
        )
    check_paired(X, key, "key")
    if not hasattr(X, "__len__"):
        raise ArgumentError("X", "must be an array, a frame, a dict or dicts", X)
    n_rows = 1 if isinstance(X, Mapping) else len(X)
    if isinstance(X, Mapping) and not hasattr(key, "__len__"):
        key = [key]
    return X, keys_of(key, n_rows)


def position_apart(X: Any, position: Any) -> tuple[Any, Any]:
    """Rows without the column of their positions, and that column.

    Parameters
    ----------
    X
        As for `update`.
    position : str, array_like of int of shape (n_rows,) or None
        Name of that column, or the positions, which leave the rows as they are.
    """
    if not isinstance(position, str):
        return X, position
    names = _names(X)
    named = None if names is None else _named(position, names)
    if named is None:
        listed = "no names" if names is None else "the columns {names}"
        raise ArgumentError(
            "X",
            "must have the column of the positions, {position!r}",
            Message(listed, names=names),
            "Pass position=, the name of another column or one whole number a row.",
            position=position,
        )
    return _apart(X, named)


def response_apart(X: Any, name: str) -> tuple[Any, Any]:
    """Rows without the column of their responses, and that column."""
    if not is_frame(X):
        raise ArgumentError(
            "y", "must have one value a row of X, or name a column of a frame", name
        )
    names = _names(X) or []
    named = _named(name, names)
    if named is None:
        raise ArgumentError("y", "must name a column of X, one of {names}", name,
                            names=names)  # fmt: skip
    rest, column = _apart(X, named)
    return rest, column if hasattr(X, "iloc") else table_of(X, "X").read(name).objects()


def _names(X: Any) -> list[Any] | None:
    """Names of the columns of rows; None for arrays."""
    if is_frame(X):
        names = table_of(X, "X").names  # which refuses two of one text
        return [*X.columns] if hasattr(X, "iloc") else [*names]
    if isinstance(X, Mapping):
        return [*X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        columns_of_rows(X, "X")  # which refuses rows that differ
        return [*X[0]]
    return None


def _named(name: Any, names: list[Any]) -> Any:
    """Which of the names of columns a name means; None where it means none.

    That of the same text, as everywhere: pandas has whole numbers as names, too.
    """
    if hasattr(name, "__array__") and not isinstance(name, np.integer):
        return None
    try:
        hash(name)
    except TypeError:
        return None
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        return name if name in names else None
    same = [one for one in names if type(one) is type(name) and one == name]
    return next((one for one in (*same, *names) if str(one) == str(name)), None)


def _apart(X: Any, name: Any) -> tuple[Any, Any]:
    """Rows with names without one column, and that column."""
    if is_frame(X):
        return table_of(X, "X").without(str(name)).native, X[name]
    rows = [X] if isinstance(X, Mapping) else X
    column = [row.get(name) for row in rows]
    return [{k: v for k, v in row.items() if k != name} for row in rows], column


def responses_of(state: TreeState, y: Any, n_rows: int) -> list[Any]:
    """Responses of some rows, checked: numbers, counts, or labels."""
    options = state.options
    if options.has_labels:
        labels = labels_of(state, y, n_rows)
        warn_of_labels(labels, known_classes(state, labels), state.n_seen, state.warned)
        return labels
    if options.is_count:
        return [*count_response(y, n_rows).tolist()]
    refuse_booleans(y)
    return [*real_response(y, n_rows, "native").tolist()]


def exposures_of(state: TreeState, exposure: Any, n_rows: int) -> Vector:
    """Exposures of some rows; 1 by default."""
    if exposure is None:
        return np.ones(n_rows)
    refuse_exposure(state.options)
    return check_exposure(exposure, n_rows)


def positions_of(position: Any, n_rows: int) -> list[int] | None:
    """Positions of rows in their source, whole numbers; None without any."""
    if position is None:
        return None
    numbers: NDArray[Any] = as_array("position", position)
    if numbers.ndim == 0 and n_rows == 1:
        numbers = numbers[None]
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in "iu":
        got = Message(
            "{kind} of shape {shape}", kind=numbers.dtype.name, shape=numbers.shape
        )
        raise ArgumentError(
            "position", "must be one whole number a row of X, {n_rows}", got,
            "Convert times to integers, such as nanoseconds.", n_rows=n_rows,
        )  # fmt: skip
    return [*numbers.tolist()]


def learnable_rows(state: TreeState, X: Any, y: list[Any]) -> tuple[Matrix, Growth]:
    """Rows to be learned -> features, and the columns that begin among them.

    The first row that a model learns settles its columns.
    """
    features = state.features
    if features is None:
        features = first_columns(state, X, y)
    return with_levels(state, features, X, y)


def first_columns(state: TreeState, X: Any, y: list[Any]) -> FeatureMap:
    """The columns that the first row settles."""
    first, codes = extended(state, take(X, slice(0, 1)))
    features, _ = first.settle(codes, 1, True, label_counter(state, y))
    return features
