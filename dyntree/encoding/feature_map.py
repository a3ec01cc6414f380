"""FeatureMap: rows as users hold them -> float64 rows of a fixed width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.given import (
    column_kind,
    finite_rows,
    level_codes,
    level_text,
    matrix_of,
    named_columns,
)
from dyntree.encoding.levels import COLUMN, indicators, level_names
from dyntree.encoding.values import (
    LARGEST,
    MOST_LEVELS,
    Matrix,
    Vector,
    as_objects,
    as_texts,
    check_levels,
    check_readable,
    column_of_numbers,
    is_number,
    is_of_objects,
    present_values,
)
from dyntree.params import as_array, count, flag

Categories = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows that a model's own FeatureMap has encoded and checked: taken as they are.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    features : FeatureMap, optional
        Their columns, where late levels may have come with them; a model that has not
        met such a level yet takes it as it would have taken the row itself.
    """

    rows: Matrix
    features: FeatureMap | None = None


def is_nothing(X: Any) -> bool:
    """Whether X is a table, or a list, without rows; a dict is a row.

    Examples
    --------
    >>> is_nothing([]), is_nothing(np.empty((0, 3))), is_nothing({})
    (True, True, False)
    """
    if isinstance(X, Encoded):
        return not len(X.rows)
    if isinstance(X, Mapping) or hasattr(X, "tocsr"):
        return False
    return hasattr(X, "__len__") and len(X) == 0 and np.ndim(X) != 0


@dataclass(frozen=True)
class FeatureMap:
    """The columns a model was first given, and how later rows become arrays.

    Rows become codes, one number a column: a number stands for itself, a level for its
    place among the levels, -1 for a level that is not among them, NaN for what is
    missing. Codes become features, in which levels are 0/1 columns. While a model still
    waits for its first trees, `extend` lets more rows add levels and decide the kind of
    columns that were missing so far; `settle` fixes all that. From then on `grown` adds
    levels, whose features come last, in the order in which they came; the first level
    of a column that had no value takes the column's own place.

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
    late : tuple of (str, str)
        Levels that came once the map was settled, with their columns.

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
    late: tuple[tuple[str, str], ...] = ()

    @classmethod
    def learn(
        cls, X: Any, allow_missing: bool = False, categories: Categories = ()
    ) -> tuple[FeatureMap, Matrix]:
        """Learn the columns of a first batch; returns the map and the batch's codes."""
        columns = named_columns(X)
        if columns is None:
            names, n_columns = None, matrix_of(X).shape[1]
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
            kind = column_kind(name, column) if name in self.unknown else ""
            if kind == "unknown":
                unknown.append(name)
            if kind == "levels" or (name in levels and name not in self.declared):
                texts = [text for text in as_texts(column) if text is not None]
                levels[name] = tuple(dict.fromkeys([*levels.get(name, ()), *texts]))
        grown = replace(self, levels=self._in_order(levels), unknown=tuple(unknown))
        return grown, grown._codes(columns)

    def _in_order(
        self, levels: Mapping[str, tuple[str, ...]]
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels in the order of their columns, whichever came first."""
        return tuple(
            (name, levels[name]) for name in self.names or () if name in levels
        )

    def settle(
        self, codes: Matrix, n_first: int | None = None, grows: bool = False
    ) -> tuple[FeatureMap, Matrix]:
        """Fix kinds and the order of levels; returns the map and what codes become.

        Learned levels are sorted, declared ones stay as they were given.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_columns)
            Of all rows so far.
        n_first : int, optional
            Rows at the front whose levels are meant, by default all: those of the
            others are missing in the features returned, and left to `grown`.
        grows : bool, default False
            Whether a column without any value is left to `grown`, too; else it counts
            as one of numbers.

        Raises
        ------
        ValueError
            For more levels of a column than anybody means.
        """
        codes, levels, unknown = codes.copy(), [], [*self.unknown]
        for name, old in self.levels:
            column = codes[:, (self.names or ()).index(name)]
            new = old
            if name not in self.declared:
                n_levels = len(old)
                if n_first is not None:  # levels are in the order in which they came
                    n_levels = int(np.nanmax(column[:n_first], initial=-1.0)) + 1
                new = tuple(sorted(old[:n_levels]))
                check_levels(name, new)
            if not new:
                unknown.append(name)
                column[:] = np.nan
                continue
            place = {level: float(k) for k, level in enumerate(new)}
            places = np.array([place.get(level, -1.0) for level in old])
            hit = column >= 0.0
            column[hit] = places[column[hit].astype(np.int64)]
            levels.append((name, new))
        left = tuple(name for name in self.names or () if grows and name in unknown)
        settled = replace(self, levels=tuple(levels), unknown=left)
        return settled, settled.expand(codes)

    def grown(
        self, X: Any, argument: str = "X"
    ) -> tuple[list[tuple[int, FeatureMap]], Matrix]:
        """Learn late levels from more rows, those of declared columns excepted.

        Parameters
        ----------
        X, argument
            As for `encode`.

        Returns
        -------
        steps : list of (int, FeatureMap)
            Rows that bring levels, or the first value of a column, and the map from
            there on. A column takes `MOST_LEVELS` levels.
        rows : ndarray of shape (n_rows, n_features of the last map)
        """
        if isinstance(X, Encoded):
            features, rows = X.features or self, X.rows
            self._check_previewed(features)
        else:
            codes = self.codes(X, argument)
            if not self.unknown and not self.unseen(codes):
                return [], self.expand(codes)
            features = self._after(X, argument)
            rows = features.expand(features.codes(X, argument))
        decided = {
            name: np.flatnonzero(~np.isnan(rows[:, self.places[name]]))[:1]
            for name in self.unknown
            if name not in features.unknown
        }
        came = {name: int(row[0]) for name, row in decided.items() if len(row)}
        new = rows[:, self.n_features :] == 1.0
        starts = np.where(new.any(axis=0), new.argmax(axis=0), len(rows))
        starts = np.minimum.accumulate(starts[::-1])[::-1]  # some may have no row here
        steps = []
        for row in sorted({*came.values(), *starts.tolist()} - {len(rows)}):
            n_late = len(self.late) + int(np.sum(starts <= row))
            left = (name for name in self.unknown if came.get(name, len(rows)) > row)
            steps.append((row, features._before(n_late, tuple(left))))
        last = steps[-1][1] if steps else self
        return steps, last.encode(X) if isinstance(X, Encoded) else rows

    def _after(self, X: Any, argument: str) -> FeatureMap:
        """The map once rows have come that may bring levels."""
        columns = self._matched(X, argument)
        levels, unknown = dict(self.levels), []
        fresh: dict[tuple[str, str], int] = {}
        for name, column in columns.items() if isinstance(columns, dict) else ():
            if name in self.unknown:
                present = present_values(column)
                if not present:
                    unknown.append(name)
                elif not is_number(present[0]) and is_of_objects(column):
                    levels[name] = (level_text(present[0]),)
            if name not in levels or name in self.declared:
                continue
            known, values = self.known.get(name, levels[name]), as_objects(column)
            codes, room = level_codes(column, known), MOST_LEVELS - len(known)
            if name in self.unknown or np.any(codes < 0.0):
                check_readable(name, argument, values)
            for row in np.flatnonzero(codes < 0.0) if room > 0 else ():
                level = name, level_text(values[row])
                if level not in fresh and room > 0:
                    fresh[level] = int(row)
                    room -= 1
        order = list(columns)  # of levels that come with one row
        came = sorted(fresh, key=lambda level: (fresh[level], order.index(level[0])))
        found, late = self._in_order(levels), (*self.late, *came)
        return replace(self, levels=found, unknown=tuple(unknown), late=late)

    def _before(self, n_late: int, unknown: tuple[str, ...]) -> FeatureMap:
        """The map as it was with so many late levels, and these columns unknown."""
        levels = tuple(one for one in self.levels if one[0] not in unknown)
        return replace(self, levels=levels, unknown=unknown, late=self.late[:n_late])

    def widen(self, rows: Matrix) -> Matrix:
        """Rows that an earlier, narrower map has encoded, as this one would have."""
        old = rows.shape[1]
        wide = np.full((len(rows), self.n_features), np.nan)
        wide[:, :old] = rows
        for places in self.level_places.values():
            came = ~np.isnan(rows[:, places[0]])
            for place in places:
                if place >= old:
                    wide[came, place] = 0.0
        return wide

    @cached_property
    def known(self) -> dict[str, tuple[str, ...]]:
        """Levels of each column that has some, in the order of their codes."""
        late = self.late
        return {
            name: (*levels, *(level for column, level in late if column == name))
            for name, levels in self.levels
        }

    @property
    def may_grow(self) -> bool:
        """Whether there are columns that can bring levels."""
        return bool(self.levels or self.unknown)

    @property
    def n_features(self) -> int:
        """Number of encoded columns."""
        n_settled = sum(len(levels) - 1 for _, levels in self.levels)
        return self.n_columns + n_settled + len(self.late)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns; x0, x1, ... where none were given."""
        if self.names is None:
            return tuple(f"x{k}" for k in range(self.n_features))
        levels, titles = dict(self.levels), []
        for name in self.names:
            own = level_names(COLUMN, name, levels.get(name, ()))
            titles += own if name in levels else [name]
        for name, level in self.late:
            titles += level_names(COLUMN, name, [level])
        return tuple(titles)

    @cached_property
    def level_places(self) -> dict[str, list[int]]:
        """Places among the features of the levels of each column that has some."""
        places = {
            name: list(range(self.places[name], self.places[name] + len(levels)))
            for name, levels in self.levels
        }
        for k, (name, _) in enumerate(self.late, self.n_features - len(self.late)):
            places[name].append(k)
        return places

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of the first feature of each column, where columns have names."""
        levels, places, n = dict(self.levels), {}, 0
        for name in self.names or ():
            places[name] = n
            n += len(levels.get(name, ("",)))
        return places

    def codes(self, X: Any, argument: str = "X") -> Matrix:
        """Codes of rows, ndarray of shape (n_rows, n_columns); see `encode`.

        `argument` is what errors call them.
        """
        return self._codes(self._matched(X, argument), argument)

    def text_at(self, X: Any, name: str, row: int) -> str:
        """What a row of X has in a column of levels."""
        return level_text(as_objects((named_columns(X) or {})[name])[row])

    def _codes(self, columns: Matrix | dict[str, Any], argument: str = "X") -> Matrix:
        """Codes of what `_matched` gives."""
        if not isinstance(columns, dict):
            return finite_rows(columns, self.names, self.allow_missing, argument)
        arrays = [
            level_codes(column, self.known[name])
            if name in self.known
            else self._numbers(name, column, argument)
            for name, column in columns.items()
        ]
        return finite_rows(
            np.column_stack(arrays), self.names, self.allow_missing, argument
        )

    def _numbers(self, name: str, column: Any, argument: str) -> Vector:
        """A column of numbers; of those not known to be, text counts for nothing."""
        if name in self.unknown and column_kind(name, column) == "levels":
            check_readable(name, argument, as_objects(column))
            column = [v if is_number(v) else None for v in as_objects(column).tolist()]
        return column_of_numbers(name, column, self.allow_missing, argument)

    def undecided(self, X: Any) -> list[str]:
        """Columns that had no value so far, and of which rows have text."""
        columns = (named_columns(X) if self.unknown else None) or {}
        return [
            name
            for name in self.unknown
            if name in columns and column_kind(name, columns[name]) == "levels"
        ]

    def unseen(self, codes: Matrix, with_declared: bool = False) -> list[str]:
        """Columns with levels that are not known, as far as others are taken there."""
        return [
            name
            for k, name in enumerate(self.names or ())
            if name in self.known
            and (with_declared or name not in self.declared)
            and np.any(codes[:, k] < 0.0)
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
        levels, arrays, names = dict(self.levels), [], self.names or ()
        for name, column in zip(names, codes.T, strict=True):
            coded = name in levels
            arrays.append(indicators(column, len(levels[name])) if coded else column)
        for name, level in self.late:
            column, place = codes[:, names.index(name)], self.known[name].index(level)
            arrays.append(indicators(column, 1, place))
        return np.ascontiguousarray(np.column_stack(arrays))

    def encode(self, X: Any, argument: str = "X") -> Matrix:
        """Rows as a float64 array of shape (n_rows, n_features).

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Numbers only, all finite; with `allow_missing` also NaN and levels. Arrays
            are matched by position, everything named by name. Or `Encoded` rows.
        argument : str, default "X"
            What errors call them.

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
            return self._aligned(X)
        return self.expand(self.codes(X, argument))

    def _aligned(self, X: Encoded) -> Matrix:
        """Rows that a map with more late levels, or with fewer, has encoded."""
        rows, features = X.rows, X.features
        if features is None or features == self:
            return rows
        self._check_previewed(features)
        width = self.n_features
        rows = self.widen(rows) if rows.shape[1] < width else rows.copy()
        for name, places in features.level_places.items():
            if name in self.unknown:
                rows[:, self.places[name]] = np.nan
                continue
            later = [place for place in places if place >= width]
            unseen = (rows[:, later] == 1.0).any(axis=1)
            rows[np.ix_(unseen, self.level_places[name])] = np.nan
        return np.ascontiguousarray(rows[:, :width])

    def _check_previewed(self, features: FeatureMap) -> None:
        """Refuse rows of another map that has met other late levels."""
        n = min(len(features.late), len(self.late))
        mine, theirs = dict(self.levels), dict(features.levels)
        same = features.late[:n] == self.late[:n] and all(
            mine.get(name) == theirs.get(name)
            or name in (self.unknown if name in theirs else features.unknown)
            for name in {*mine, *theirs}
        )
        if not same:
            raise ValueError(
                "X must be rows that this model has previewed; it has met other levels "
                "since. Preview them again."
            )

    def _matched(self, X: Any, argument: str = "X") -> Matrix | dict[str, Any]:
        """X as an array of the map's width, or as columns by name in its order."""
        columns = named_columns(X, argument)
        rows = matrix_of(X, argument) if columns is None else None
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
                remedies = ["Leave out what is unknown."] if unknown else []
                if missing:
                    gaps = ", with NaN or None for values that are not known"
                    remedies.append(f"Add what is missing{gaps * self.allow_missing}.")
                raise ValueError(
                    f"{argument} must have the columns of the first update; missing "
                    f"{missing}, unknown {unknown}. {' '.join(remedies)}"
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
        late = {"late": [list(level) for level in self.late]} if self.late else {}
        return late | {
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
        late = header.get("late", [])  # files from before levels came late
        features = cls(
            n_columns,
            names,
            levels,
            _texts_of("declared", header["declared"]),
            _texts_of("unknown", header["unknown"]),
            flag("allow_missing", header["allow_missing"]),
            tuple((name, _texts_of("late", [level])[0]) for name, level in late),
        )
        with_levels = [name for name, _ in levels]
        if (
            (names is not None and len(names) != n_columns)
            or not {*with_levels, *features.unknown} <= {*(names or ())}
            or not {*features.declared} <= {*with_levels}
            or {*features.unknown} & {*with_levels}
            or len({*with_levels}) != len(with_levels)
            or not {name for name, _ in features.late} <= {*with_levels}
            or not all(texts for _, texts in levels)
            or not all(len({*texts}) == len(texts) for texts in features.known.values())
        ):
            raise ValueError(f"columns must fit one another; got {dict(header)!r}.")
        return features

    def check_codes(self, codes: Matrix) -> None:
        """Raise ValueError unless an array holds codes of these columns."""
        if codes.shape[1] != self.n_columns:
            raise ValueError(
                f"codes must have {self.n_columns} columns; got {codes.shape[1]}."
            )
        finite_rows(codes, self.names, self.allow_missing, "codes")
        for name, texts in self.known.items():
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


def take(X: Any, rows: slice | NDArray[np.int64]) -> Any:
    """Some rows of a frame, a dict, a list of dicts or an array, as they were given."""
    if isinstance(X, Encoded):
        return Encoded(X.rows[rows], X.features)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple):
        return [X[k] for k in np.arange(len(X))[rows]]
    matrix = as_array("X", X)
    return matrix[rows] if matrix.ndim else matrix
