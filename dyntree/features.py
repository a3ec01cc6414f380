"""FeatureMap: rows as users hold them -> float64 rows of a fixed width."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.params import as_array, is_label, plain_label

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """The columns a model was first given, and how later rows become arrays.

    Parameters
    ----------
    n_features : int
        Number of columns.
    names : tuple of str or None
        Their names, where the first rows came as a frame or as dicts; later frames and
        dicts are matched by name, in any order. A column of strings or categories makes
        one 0/1 column a level, named "column=level".
    levels : tuple of (str, tuple of str)
        Levels of the columns of strings or categories, as the first rows had them. A
        level that comes later counts as missing.
    allow_missing : bool
        Whether NaN may stand for a missing value.

    Examples
    --------
    >>> features, rows = FeatureMap.learn([[0.5, 1.0], [0.25, 2.0]])
    >>> features.encode([[1, 2]])
    array([[1., 2.]])
    """

    n_features: int
    names: tuple[str, ...] | None = None
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    allow_missing: bool = False

    @classmethod
    def learn(cls, X: Any, allow_missing: bool = False) -> tuple[FeatureMap, Matrix]:
        """Fix the columns by a first batch; returns the map and the encoded batch."""
        columns = _columns(X)
        if columns is None:
            rows = _matrix(X)
            features = cls(rows.shape[1], allow_missing=allow_missing)
        else:
            levels = tuple(_levels(columns)) if allow_missing else ()
            features = cls(0, tuple(columns), levels, allow_missing)
            rows = features._stack(columns)
            features = replace(features, n_features=rows.shape[1])
        if features.n_features < 1:
            raise ValueError("X must have at least one column; got none.")
        return features, _finite(rows, features)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns; x0, x1, ... where none were given."""
        if self.names is None:
            return tuple(f"x{k}" for k in range(self.n_features))
        levels = dict(self.levels)
        return tuple(
            title
            for name in self.names
            for title in (
                [f"{name}={level}" for level in levels[name]]
                if name in levels
                else [name]
            )
        )

    def _stack(self, columns: Mapping[str, Any]) -> Matrix:
        """Named columns side by side, levels as indicators."""
        levels = dict(self.levels)
        arrays: list[Vector] = []
        for name, column in columns.items():
            if name in levels:
                texts = _texts(column)
                seen = np.array([text in levels[name] for text in texts])
                for level in levels[name]:
                    hit = np.array([text == level for text in texts], dtype=np.float64)
                    arrays.append(np.where(seen, hit, np.nan))
            else:
                arrays.append(_numbers(name, column, self.allow_missing))
        if not arrays:
            raise ValueError("X must have at least one column; got none.")
        return np.column_stack(arrays)

    def encode(self, X: Any) -> Matrix:
        """Rows as a float64 array of shape (n_rows, n_features).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers only, all finite. Arrays are matched by position, everything named
            by name.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            A new array; X is left alone.

        Raises
        ------
        ValueError
            If columns are missing, unknown, not numeric, or hold NaN or infinities.
        """
        columns = _columns(X)
        if columns is None:
            rows = _matrix(X)
            if rows.shape[1] != self.n_features:
                raise ValueError(
                    f"X must have {self.n_features} columns, as at the first update; "
                    f"got {rows.shape[1]}."
                )
            return _finite(rows, self)
        if self.names is None:
            if len(columns) != self.n_features:
                raise ValueError(
                    f"X must have {self.n_features} columns, as at the first update; "
                    f"got {len(columns)}."
                )
            return _finite(self._stack(columns), self)
        missing = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self.names]
        if missing or unknown:
            raise ValueError(
                "X must have the columns of the first update; missing "
                f"{missing}, unknown {unknown}."
            )
        return _finite(self._stack({name: columns[name] for name in self.names}), self)

    def to_header(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        return {
            "n_features": self.n_features,
            "names": None if self.names is None else list(self.names),
            "levels": [[name, list(levels)] for name, levels in self.levels],
            "allow_missing": self.allow_missing,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> FeatureMap:
        """The map that `to_header` described."""
        names = header["names"]
        return cls(
            header["n_features"],
            None if names is None else tuple(names),
            tuple((name, tuple(levels)) for name, levels in header["levels"]),
            header["allow_missing"],
        )


def _columns(X: Any) -> dict[str, Any] | None:
    """Columns by name of a frame, a dict or a list of dicts; None for arrays."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"X must have distinct column names; got {names}.")
        return {str(name): X[name] for name in X.columns}
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        for number, row in enumerate(X):
            if not isinstance(row, Mapping) or row.keys() != X[0].keys():
                raise ValueError(
                    f"X must be dicts with the same keys; row {number} differs from "
                    f"row 0, {list(X[0])}."
                )
        return {str(name): [row[name] for row in X] for name in X[0]}
    return None


def _levels(columns: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """Sorted levels of every column that does not hold numbers."""
    found = []
    for name, column in columns.items():
        if hasattr(column, "cat") or np.asarray(column).dtype.kind in "OUST":
            texts = {text for text in _texts(column) if text is not None}
            numeric = all(isinstance(value, int | float) for value in _present(column))
            if texts and not numeric:
                found.append((name, tuple(sorted(texts))))
    return found


def _present(column: Any) -> list[Any]:
    """Values of a column that are not missing."""
    return [v for v in np.asarray(column, dtype=object).tolist() if not _is_missing(v)]


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    return value is None or not is_label(value)


def _texts(column: Any) -> list[str | None]:
    """Values as text, None where missing."""
    values = np.asarray(column, dtype=object).tolist()
    return [None if _is_missing(value) else str(value) for value in values]


def _numbers(name: str, column: Any, allow_missing: bool) -> Vector:
    """A column of numbers; None and NA become NaN where they may."""
    values = np.asarray(column)
    if values.dtype.kind == "O" and allow_missing:
        plain = [np.nan if _is_missing(v) else v for v in values.tolist()]
        if all(isinstance(value, int | float) for value in plain):
            return np.array(plain, dtype=np.float64)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"X must hold numbers only; column {name!r} has type {values.dtype}. "
            "Encode it as numbers or indicator columns first."
        )
    return values.astype(np.float64)


def _matrix(X: Any) -> Matrix:
    """X as a new two-dimensional float64 array."""
    values = as_array("X", X)
    if values.ndim != 2:
        raise ValueError(
            f"X must be of shape (n_rows, n_features); got shape {values.shape}. Use "
            "reshape(-1, 1) for one column and reshape(1, -1) for one row."
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"X must hold real numbers only; got an array of type {values.dtype}."
        )
    return np.array(values, dtype=np.float64, order="C")


def _finite(rows: Matrix, features: FeatureMap) -> Matrix:
    """Refuse NaN and infinities, naming the first."""
    bad = np.argwhere(np.isinf(rows) if features.allow_missing else ~np.isfinite(rows))
    if len(bad):
        row, column = bad[0]
        name = features.feature_names[column] if features.names else int(column)
        raise ValueError(
            f"X must be finite; got {rows[row, column]} in row {row}, column {name!r}. "
            "Drop or impute such rows first"
            + ("." if features.allow_missing else ", or use rules='native' for NaN.")
        )
    return np.ascontiguousarray(rows)


def real_response(y: Any, n_rows: int) -> Matrix:
    """Responses as a float64 array of shape (n_rows,), all finite."""
    values = _vector(y, n_rows)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"y must hold real numbers; got an array of type {values.dtype}. Labels "
            "need model='class'."
        )
    values = np.array(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"y must be finite; got {values[bad[0]]} in row {bad[0]}.")
    return values


def label_list(y: Any, n_rows: int) -> list[Any]:
    """Labels as a list of plain Python objects."""
    given = as_array("y", y, object) if isinstance(y, list | tuple) else y
    labels = [plain_label(label) for label in _vector(given, n_rows).tolist()]
    for row, label in enumerate(labels):
        if not is_label(label):
            raise ValueError(f"y must hold labels; got {label!r} in row {row}.")
    return labels


def _vector(y: Any, n_rows: int) -> NDArray[Any]:
    values = as_array("y", y)
    if values.ndim == 0:
        values = values.reshape(1)
    if values.ndim != 1 or len(values) != n_rows:
        raise ValueError(
            f"y must be of shape ({n_rows},), one response a row of X; got shape "
            f"{values.shape}."
        )
    return values


def with_ones(rows: Matrix, ones: int) -> Matrix:
    """Rows with a column of ones in front, where asked."""
    if ones:
        rows = np.concatenate([np.ones((len(rows), 1)), rows], axis=1)
    return np.ascontiguousarray(rows)


def label_codes(
    labels: Sequence[Any], classes: tuple[Hashable, ...], name: str = "y"
) -> Vector:
    """Labels as places in `classes`."""
    place = {label: float(k) for k, label in enumerate(classes)}
    codes = np.empty(len(labels))
    for row, label in enumerate(labels):
        if label not in place:
            raise ValueError(
                f"{name} must hold labels among {list(classes)}; got {label!r} in row "
                f"{row}. Name every label at the start: classes=(...)."
            )
        codes[row] = place[label]
    return codes


def sorted_labels(labels: Sequence[Any]) -> tuple[Hashable, ...]:
    """Distinct labels in increasing order."""
    try:
        return tuple(sorted(set(labels)))
    except TypeError as error:
        raise ValueError(
            "labels of different types cannot be sorted; name them in order with "
            "classes=(...)."
        ) from error
