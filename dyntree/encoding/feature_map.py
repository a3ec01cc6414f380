"""FeatureMap: rows as users hold them -> float64 rows of a fixed width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.levels import COLUMN, indicators, level_names
from dyntree.encoding.values import (
    LARGEST,
    Matrix,
    Vector,
    as_texts,
    check_levels,
    check_readable,
    column_of_numbers,
    is_many,
    is_number,
    present_values,
    real_array,
    too_large,
)
from dyntree.params import as_array, count, flag

Categories = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows that a model's own FeatureMap has encoded and checked: taken as they are."""

    rows: Matrix


@dataclass(frozen=True)
class FeatureMap:
    """The columns a model was first given, and how later rows become arrays.

    Rows become codes, one number a column: a number stands for itself, a level for its
    place among the levels, -1 for a level that is not among them, NaN for what is
    missing. Codes become features, in which levels are 0/1 columns. While a model still
    waits for its first trees, `extend` lets more rows add levels and decide the kind of
    columns that were missing so far; `settle` fixes all that.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Their names, where the first rows came as a frame or as dicts; later frames and
        dicts are matched by name, in any order. A column of strings or categories makes
        one 0/1 feature a level, named "column=level".
    levels : tuple of (str, tuple of str)
        Levels of the columns of strings or categories.
    declared : tuple of str
        Columns whose levels the user named: no others are learned.
    unknown : tuple of str
        Columns without any value so far.
    allow_missing : bool
        Whether NaN may stand for a missing value, and columns hold levels: the native
        rules, which also bound values by `LARGEST`.

    Examples
    --------
    >>> features, rows = FeatureMap.learn([[0.5, 1.0], [0.25, 2.0]])
    >>> features.encode([[1, 2]])
    array([[1., 2.]])
    """

    n_columns: int
    names: tuple[str, ...] | None = None
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    declared: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    allow_missing: bool = False

    @classmethod
    def learn(
        cls, X: Any, allow_missing: bool = False, categories: Categories = ()
    ) -> tuple[FeatureMap, Matrix]:
        """Learn the columns of a first batch; returns the map and the batch's codes."""
        columns = _columns(X)
        if columns is None:
            names, n_columns = None, _matrix(X).shape[1]
        else:
            names, n_columns = tuple(columns), len(columns)
        if n_columns < 1:
            raise ValueError("X must have at least one column; got none.")
        declared = tuple(name for name, _ in categories)
        for name in declared:
            if name not in (names or ()):
                raise ValueError(
                    f"categories must name columns of X; got {name!r}, and X has "
                    f"{'no names' if names is None else list(names)}. Give X as a "
                    "frame or as dicts with that column."
                )
        unknown: tuple[str, ...] = ()
        if names is not None and allow_missing:
            unknown = tuple(name for name in names if name not in declared)
        features = cls(n_columns, names, categories, declared, unknown, allow_missing)
        return features.extend(X)

    def extend(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Learn kinds and levels from more rows; earlier codes keep their meaning.

        Returns
        -------
        FeatureMap
        codes : ndarray of shape (n_rows, n_columns)
        """
        columns = self._matched(X)
        levels, unknown = dict(self.levels), []
        for name, column in columns.items() if isinstance(columns, dict) else ():
            kind = _kind(name, column) if name in self.unknown else ""
            if kind == "unknown":
                unknown.append(name)
            if kind == "levels" or (name in levels and name not in self.declared):
                texts = [text for text in as_texts(column) if text is not None]
                levels[name] = tuple(dict.fromkeys([*levels.get(name, ()), *texts]))
                check_levels(name, levels[name])
        grown = replace(self, levels=tuple(levels.items()), unknown=tuple(unknown))
        return grown, grown._codes(columns)

    def settle(self, codes: Matrix) -> tuple[FeatureMap, Matrix]:
        """Fix kinds and the order of levels; returns the map and what codes become.

        Learned levels are sorted, declared ones stay as they were given. A column
        without any value counts as one of numbers.
        """
        codes, levels = codes.copy(), []
        for name, old in self.levels:
            new = old if name in self.declared else tuple(sorted(old))
            place = np.array([new.index(level) for level in old], dtype=np.float64)
            column = codes[:, (self.names or ()).index(name)]
            hit = column >= 0.0
            column[hit] = place[column[hit].astype(np.int64)]
            levels.append((name, new))
        settled = replace(self, levels=tuple(levels), unknown=())
        return settled, settled.expand(codes)

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        return self.n_columns + sum(len(levels) - 1 for _, levels in self.levels)

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
                level_names(COLUMN, name, levels[name]) if name in levels else [name]
            )
        )

    def codes(self, X: Any, argument: str = "X") -> Matrix:
        """Codes of rows, ndarray of shape (n_rows, n_columns); see `encode`.

        `argument` is what errors call them.
        """
        return self._codes(self._matched(X, argument), argument)

    def _codes(self, columns: Matrix | dict[str, Any], argument: str = "X") -> Matrix:
        """Codes of what `_matched` gives."""
        if not isinstance(columns, dict):
            return _finite(columns, self, argument)
        levels = dict(self.levels)
        arrays = [
            _places(column, levels[name])
            if name in levels
            else column_of_numbers(name, column, self.allow_missing, argument)
            for name, column in columns.items()
        ]
        return _finite(np.column_stack(arrays), self, argument)

    def unseen(self, codes: Matrix) -> list[str]:
        """Columns with levels that nobody declared and no row had in time."""
        return [
            name
            for name, _ in self.levels
            if name not in self.declared
            and np.any(codes[:, (self.names or ()).index(name)] < 0.0)
        ]

    def is_plain(self, X: Any) -> bool:
        """Whether X is a float64 array that `encode` would give back as it is."""
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.flags.c_contiguous
            and X.ndim == 2
            and X.shape[1] == self.n_columns
            and not self.levels
            and not self.unknown
            and X.size > 0
            and bool(np.vdot(X, X) <= LARGEST * LARGEST)  # not where NaN
        )

    def expand(self, codes: Matrix) -> Matrix:
        """Features of codes, ndarray of shape (n_rows, n_features)."""
        if not self.levels:
            return codes
        levels, arrays = dict(self.levels), []
        for name, column in zip(self.names or (), codes.T, strict=True):
            coded = name in levels
            arrays.append(indicators(column, len(levels[name])) if coded else column)
        return np.ascontiguousarray(np.column_stack(arrays))

    def encode(
        self,
        X: Any,
        argument: str = "X",
        tell_unseen: Callable[[list[str]], None] | None = None,
    ) -> Matrix:
        """Rows as a float64 array of shape (n_rows, n_features).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers only, all finite; with `allow_missing` also NaN and levels. Arrays
            are matched by position, everything named by name. Or `Encoded` rows.
        argument : str, default "X"
            What errors call them.
        tell_unseen : callable, optional
            Called with the columns of `unseen` levels, where there are some.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            X itself where it is such an array already; otherwise a new one.

        Raises
        ------
        ValueError
            If columns are missing, unknown, not numeric, or hold NaN or infinities.
        """
        if self.is_plain(X):
            rows: Matrix = X
            return rows
        if isinstance(X, Encoded):
            return X.rows
        codes = self.codes(X, argument)
        if tell_unseen is not None and (late := self.unseen(codes)):
            tell_unseen(late)
        return self.expand(codes)

    def _matched(self, X: Any, argument: str = "X") -> Matrix | dict[str, Any]:
        """X as an array of the map's width, or as columns by name in its order."""
        columns = _columns(X, argument)
        rows = _matrix(X, argument) if columns is None else None
        if rows is not None and self.levels:
            raise ValueError(
                f"{argument} must have named columns, because column "
                f"{self.levels[0][0]!r} holds levels; got an array. Give a frame or "
                "dicts."
            )
        if columns is not None and self.names is not None:
            missing = [name for name in self.names if name not in columns]
            unknown = [name for name in columns if name not in self.names]
            if missing or unknown:
                raise ValueError(
                    f"{argument} must have the columns of the first update; missing "
                    f"{missing}, unknown {unknown}."
                )
            return {name: columns[name] for name in self.names}
        width = len(columns or ()) if rows is None else rows.shape[1]
        if width != self.n_columns:
            raise ValueError(
                f"{argument} must have {self.n_columns} columns, as at the first "
                f"update; got {width}."
            )
        if rows is None:
            return columns or {}
        if self.unknown:
            return dict(zip(self.names or (), rows.T, strict=True))
        return rows

    def to_header(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        return {
            "n_columns": self.n_columns,
            "names": None if self.names is None else list(self.names),
            "levels": [[name, list(levels)] for name, levels in self.levels],
            "declared": list(self.declared),
            "unknown": list(self.unknown),
            "allow_missing": self.allow_missing,
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> FeatureMap:
        """The map that `to_header` described.

        Raises
        ------
        ValueError
            If no rows could have made such a map.
        """
        n_columns = count("n_columns", header["n_columns"], 1)
        names = None if header["names"] is None else _texts_of("names", header["names"])
        levels = tuple(
            (str(name), _texts_of(f"levels of {name!r}", texts))
            for name, texts in header["levels"]
        )
        features = cls(
            n_columns,
            names,
            levels,
            _texts_of("declared", header["declared"]),
            _texts_of("unknown", header["unknown"]),
            flag("allow_missing", header["allow_missing"]),
        )
        with_levels = [name for name, _ in levels]
        if (
            (names is not None and len(names) != n_columns)
            or not {*with_levels, *features.unknown} <= {*(names or ())}
            or not {*features.declared} <= {*with_levels}
            or {*features.unknown} & {*with_levels}
            or len({*with_levels}) != len(with_levels)
            or not all(texts for _, texts in levels)
        ):
            raise ValueError(f"columns must fit one another; got {dict(header)!r}.")
        return features

    def check_codes(self, codes: Matrix) -> None:
        """Raise ValueError unless an array holds codes of these columns."""
        if codes.shape[1] != self.n_columns:
            raise ValueError(
                f"codes must have {self.n_columns} columns; got {codes.shape[1]}."
            )
        _finite(codes, self, "codes")
        for name, texts in self.levels:
            column = codes[:, (self.names or ()).index(name)]
            places = np.arange(-1.0, len(texts))
            if not np.all(np.isin(column[~np.isnan(column)], places)):
                raise ValueError(f"codes must be places of levels; column {name!r}.")


def _texts_of(what: str, values: Any) -> tuple[str, ...]:
    """A list of distinct strings as a tuple."""
    good = isinstance(values, list | tuple)
    if not good or not all(isinstance(v, str) for v in values):
        raise ValueError(f"{what} must be a list of strings; got {values!r}.")
    if len(set(values)) != len(values):
        raise ValueError(f"{what} must be distinct; got {values!r}.")
    return tuple(values)


def _columns(X: Any, argument: str = "X") -> dict[str, Any] | None:
    """Columns by name of a frame, a dict or a list of dicts; None for arrays."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        names = [str(name) for name in X.columns]
        if len(set(names)) != len(names):
            raise ValueError(
                f"{argument} must have distinct column names; got {names}."
            )
        return {str(name): X[name] for name in X.columns}
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        for number, row in enumerate(X):
            if not isinstance(row, Mapping) or row.keys() != X[0].keys():
                raise ValueError(
                    f"{argument} must be dicts with the same keys; row {number} "
                    f"differs from row 0, {list(X[0])}."
                )
            for name, value in row.items():
                if is_many(value):
                    raise ValueError(
                        f"{argument} must hold one value a column in a dict, which is "
                        f"one row; got a {type(value).__name__} in column {name!r}. "
                        "Give a frame for several rows."
                    )
        return {str(name): [row[name] for row in X] for name in X[0]}
    return None


def take(X: Any, rows: slice | NDArray[np.int64]) -> Any:
    """Some rows of a frame, a dict, a list of dicts or an array, as they were given."""
    if isinstance(X, Encoded):
        return Encoded(X.rows[rows])
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple):
        return [X[k] for k in np.arange(len(X))[rows]]
    matrix = as_array("X", X)
    return matrix[rows] if matrix.ndim else matrix


def _kind(name: str, column: Any) -> str:
    """Whether a column holds "numbers", "levels", or, without any value, "unknown"."""
    values = np.asarray(column)
    if values.dtype.kind == "f":
        return "unknown" if np.all(np.isnan(values)) else "numbers"
    if values.dtype.kind not in "OUST":
        return "numbers"
    present = present_values(column)
    if not present:
        return "unknown"
    if all(is_number(v) for v in present):
        return "numbers"
    check_readable(name, "X", values)
    return "levels"


def _places(column: Any, levels: tuple[str, ...]) -> Vector:
    """Place of each value among the levels: -1 where it is none, NaN where missing.

    Whole numbers need not be ints: a column of them that misses a value holds floats.
    """
    place: dict[str | None, float] = {level: float(k) for k, level in enumerate(levels)}
    place[None] = np.nan
    places = np.array([place.get(text, -1.0) for text in as_texts(column)])
    values = np.asarray(column, dtype=object)
    for k in np.flatnonzero(places < 0.0):
        value = values[k]
        if isinstance(value, float | np.floating) and value.is_integer():
            places[k] = place.get(str(int(value)), -1.0)
    return places


def _matrix(X: Any, argument: str = "X") -> Matrix:
    """X as a new two-dimensional float64 array."""
    values = as_array(argument, X)
    if values.ndim != 2:
        raise ValueError(
            f"{argument} must be of shape (n_rows, n_features); got shape "
            f"{values.shape}. Use reshape(-1, 1) for one column and reshape(1, -1) for "
            "one row."
        )
    return real_array(argument, values, "Encode text as numbers, or give a frame.")


def _finite(rows: Matrix, features: FeatureMap, argument: str = "X") -> Matrix:
    """Refuse NaN, infinities and what is too large, naming the first."""
    native = features.allow_missing
    bad = np.abs(rows) > LARGEST if native else ~np.isfinite(rows)
    if np.any(bad):
        row, column = np.argwhere(bad)[0]
        name = features.names[column] if features.names else int(column)
        value, where = rows[row, column], f"in row {row}, column {name!r}"
        if np.isfinite(value):
            raise ValueError(too_large(argument, value, where))
        raise ValueError(
            f"{argument} must be finite; got {value} {where}. Drop or impute such rows "
            "first" + ("." if native else "; trees under rules='native' take NaN.")
        )
    return np.ascontiguousarray(rows)
