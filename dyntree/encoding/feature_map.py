"""FeatureMap: rows as users hold them -> float64 rows of a fixed width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import LEVELS, TIMES, UNKNOWN, first_kind, kind_of
from dyntree.encoding.frames import check_eager, is_frame
from dyntree.encoding.known_columns import Columns, KnownColumns
from dyntree.encoding.levels import (
    check_level,
    check_level_text,
    level_codes,
    new_levels,
)
from dyntree.encoding.row_input import named_columns, unnamed_columns
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import MOST_LEVELS, Matrix, check_levels
from dyntree.errors import ArgumentError, Message
from dyntree.params import as_array
from dyntree.params.labels import check_names, level_text

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
    if is_frame(X):
        check_eager(X, "X")
        return not len(X)
    if isinstance(X, Mapping) or hasattr(X, "tocsr"):
        return False
    return hasattr(X, "__len__") and len(X) == 0 and np.ndim(X) != 0


@dataclass(frozen=True)
class FeatureMap(KnownColumns):
    """The columns a model was first given, and how later rows become arrays.

    Rows become codes, one number a column: a number stands for itself, a level for its
    place among the levels, -1 for a level that is not among them, NaN for what is
    missing. Codes become features, in which levels are 0/1 columns. While a model still
    waits for its first trees, `extend` lets more rows add levels and decide the kind of
    columns that were missing so far; `settle` fixes all that. From then on `grown` adds
    levels, whose features come last, in the order in which they came; the first level
    of a column that had no value takes the column's own place. Two levels share one
    feature, as the values of a bool do: 1 for the second of two that are settled, and
    for the first where the other comes late. Each further level adds a feature.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Their names, where the first rows came as a frame or as dicts; later frames and
        dicts are matched by name, in any order. A column of strings or categories makes
        one 0/1 feature a level, named "column=level", or one for two levels.
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
    times : tuple of (int, str)
        Places of the columns of times, and of which kind; see `columns`.

    Examples
    --------
    >>> features, rows = FeatureMap.learn([[0.5, 1.0], [0.25, 2.0]])
    >>> features.encode([[1, 2]])
    array([[1., 2.]])
    """

    @classmethod
    def learn(
        cls, X: Any, allow_missing: bool = False, categories: Categories = ()
    ) -> tuple[FeatureMap, Matrix]:
        """Learn the columns of a first batch; returns the map and the batch's codes."""
        columns = named_columns(X)
        given = unnamed_columns(X) if columns is None else columns
        names = None if columns is None else tuple(columns)
        n_columns = len(given) if isinstance(given, dict) else given.shape[1]
        if n_columns < 1:
            raise ArgumentError("X", "must have at least one column", Message("none"))
        check_names(names or (), "X")
        declared = tuple(name for name, _ in categories)
        for name in declared:
            if name not in (names or ()):
                raise ArgumentError(
                    "categories",
                    "must name columns of X",
                    Message(
                        "{name!r}, and X has {value}",
                        name=name,
                        value="no names" if names is None else list(names),
                    ),
                    "Give X as a frame or as dicts with that column.",
                )
        unknown: tuple[str, ...] = ()
        if names is not None and allow_missing:
            named = frozenset(declared)
            unknown = tuple(name for name in names if name not in named)
        features = cls(n_columns, names, categories, declared, unknown, allow_missing)
        if isinstance(given, dict) and not unknown:  # nothing is left to later rows
            features = features._with_times(given)
        return features._extended(given)

    def extend(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Learn kinds and levels from more rows; earlier codes keep their meaning.

        Returns
        -------
        FeatureMap
        codes : ndarray of shape (n_rows, n_columns)
        """
        return self._extended(self._matched(X))

    def _extended(self, columns: Matrix | Columns) -> tuple[FeatureMap, Matrix]:
        """See `extend`; columns are as `_matched` gives them."""
        levels, unknown, times = dict(self.levels), [], dict(self.times)
        named = columns if isinstance(columns, dict) and self.names else {}
        declared = frozenset(self.declared)
        for k, (name, column) in enumerate(named.items()):
            kind = kind_of(name, column, "X") if name in self._unknown else ""
            if kind == UNKNOWN:
                unknown.append(name)
            if kind in TIMES:
                times[k] = kind
            if kind == LEVELS or (name in levels and name not in declared):
                known, values = levels.get(name, ()), column.objects()
                fresh = new_levels(values, known)
                check = check_level_text if column.is_category else check_level
                for row in fresh.values():
                    check(name, values[row], row, "X")
                levels[name] = (*known, *fresh)
        grown = replace(
            self,
            levels=self._in_order(levels),
            unknown=tuple(unknown),
            times=tuple(sorted(times.items())),
        )
        return grown, grown._codes(columns)

    def _with_times(self, columns: Columns) -> FeatureMap:
        """The map where these columns say which of them hold times."""
        kinds = [kind_of(name, column, "X") for name, column in columns.items()]
        declared = frozenset(self.declared)
        times = [
            (k, kind)
            for k, (kind, name) in enumerate(zip(kinds, columns, strict=True))
            if kind in TIMES and name not in declared
        ]
        return replace(self, times=tuple(times))

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
        codes, levels, unknown = codes.copy(), [], {*self.unknown}
        declared = frozenset(self.declared)
        for name, old in self.levels:
            column = codes[:, self.column_places[name]]
            new = old
            if name not in declared:
                n_levels = len(old)
                if n_first is not None:  # levels are in the order in which they came
                    n_levels = int(np.nanmax(column[:n_first], initial=-1.0)) + 1
                new = tuple(sorted(old[:n_levels]))
                check_levels(name, new)
            if not new:
                unknown.add(name)
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
            if name not in features._unknown
        }
        came = {name: int(row[0]) for name, row in decided.items() if len(row)}
        new = [
            features.has_level(rows, name, level)
            for name, level in features.late[len(self.late) :]
        ]
        starts = np.array(
            [has.argmax() if has.any() else len(rows) for has in new], int
        )
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
        levels, unknown, times = dict(self.levels), [], dict(self.times)
        declared = frozenset(self.declared)
        fresh: dict[tuple[str, str], int] = {}
        for k, (name, column) in enumerate(
            columns.items() if isinstance(columns, dict) else ()
        ):
            if name in self._unknown:
                kind = first_kind(name, column, argument)
                if kind == UNKNOWN:
                    unknown.append(name)
                elif kind in TIMES:
                    times[k] = kind
                elif kind == LEVELS:
                    (_, first), *_ = column.present()
                    levels[name] = (level_text(first),)
            if name not in levels or name in declared:
                continue
            known = self.known.get(name, levels[name])
            places = self._codes_of.get(name) or dict.fromkeys(known, 0)
            level_codes(name, column, places, argument)  # refuses what can be no level
            late = new_levels(column.objects(), known, MOST_LEVELS - len(known))
            fresh |= {(name, level): row for level, row in late.items()}
        order = {name: k for k, name in enumerate(columns)}  # of levels of one row
        came = sorted(fresh, key=lambda level: (fresh[level], order[level[0]]))
        found = replace(
            self,
            levels=self._in_order(levels),
            unknown=tuple(unknown),
            late=(*self.late, *came),
            times=tuple(sorted(times.items())),
        )
        return self if found == self else found  # which has its plans made

    def _before(self, n_late: int, unknown: tuple[str, ...]) -> FeatureMap:
        """The map as it was with so many late levels, and these columns unknown."""
        left, names = frozenset(unknown), self.names or ()
        levels = tuple(one for one in self.levels if one[0] not in left)
        times = tuple(
            (k, kind) for k, kind in self.times if not names or names[k] not in left
        )
        late = self.late[:n_late]
        return replace(self, levels=levels, unknown=unknown, late=late, times=times)

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
        for name in features.known:
            if name in self._unknown:
                rows[:, self.places[name]] = np.nan
                continue
            for level in features.known[name][len(self.known[name]) :]:
                unseen = np.flatnonzero(features.has_level(X.rows, name, level))
                rows[unseen[:, None], self.level_places[name]] = np.nan
        return np.ascontiguousarray(rows[:, :width])

    def _check_previewed(self, features: FeatureMap) -> None:
        """Refuse rows of another map that has met other late levels."""
        n = min(len(features.late), len(self.late))
        same = features.late[:n] == self.late[:n] and all(
            mine.get(name) == theirs.get(name)
            or name in (self._unknown if name in theirs else features._unknown)
            for mine, theirs in (
                (dict(self.levels), dict(features.levels)),
                (self._named_times, features._named_times),
            )
            for name in {*mine, *theirs}
        )
        if not same:
            raise ArgumentError(
                "X",
                "must be rows that this model has previewed; it has met other levels "
                "since",
                remedy="Preview them again.",
            )


def take(X: Any, rows: slice | NDArray[np.int64]) -> Any:
    """Some rows of a frame, a dict, a list of dicts or an array, as they were given."""
    if isinstance(X, Encoded):
        return Encoded(X.rows[rows], X.features)
    if is_frame(X):
        return table_of(X, "X").take(rows).native
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple):
        return [X[k] for k in np.arange(len(X))[rows]]
    matrix = as_array("X", X)
    return matrix[rows] if matrix.ndim else matrix
