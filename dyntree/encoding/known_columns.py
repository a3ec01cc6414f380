"""Columns that are known: rows by name or place -> codes, and codes -> features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    TIMES,
    UNKNOWN,
    Column,
    kind_of,
    numbers_of,
)
from dyntree.encoding.levels import COLUMN, level_codes, level_names
from dyntree.encoding.row_input import finite_rows, named_columns, unnamed_columns
from dyntree.encoding.values import LARGEST, Matrix, Vector, declared
from dyntree.params import count, flag
from dyntree.params.labels import level_text

Places = NDArray[np.int64]
Columns = dict[Any, Column]  # by name, or by place where there are no names


@dataclass(frozen=True)
class KnownColumns:
    """The part of `FeatureMap` that reads rows by the columns as they are known.

    Parameters
    ----------
    n_columns, names, levels, declared, unknown, allow_missing, late, times
        As in `FeatureMap`.
    """

    n_columns: int
    names: tuple[str, ...] | None = None
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    declared: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    allow_missing: bool = False
    late: tuple[tuple[str, str], ...] = ()
    times: tuple[tuple[int, str], ...] = ()

    def _in_order(
        self, levels: Mapping[str, tuple[str, ...]]
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels in the order of their columns, whichever came first."""
        return tuple(
            (name, levels[name]) for name in self.names or () if name in levels
        )

    @cached_property
    def known(self) -> dict[str, tuple[str, ...]]:
        """Levels of each column that has some, in the order of their codes."""
        late: dict[str, list[str]] = {}
        for name, level in self.late:
            late.setdefault(name, []).append(level)
        return {name: (*levels, *late.get(name, ())) for name, levels in self.levels}

    @cached_property
    def _codes_of(self) -> dict[str, dict[str, int]]:
        """Code of each level of each column that has some."""
        return {
            name: {level: k for k, level in enumerate(levels)}
            for name, levels in self.known.items()
        }

    @cached_property
    def column_places(self) -> dict[str, int]:
        """Place of each column among the columns, where they have names."""
        return {name: k for k, name in enumerate(self.names or ())}

    @cached_property
    def _unknown(self) -> frozenset[str]:
        """Columns without any value so far, to be asked of each column."""
        return frozenset(self.unknown)

    @cached_property
    def _kinds_of_times(self) -> dict[int, str]:
        """Kind of each column of times, by its place."""
        return dict(self.times)

    @cached_property
    def _early(self) -> dict[str, tuple[str, ...]]:
        """Settled levels with a feature: all, but of two the second alone."""
        return {
            name: levels[1:] if len(levels) == 2 else levels
            for name, levels in self.levels
        }

    @cached_property
    def _later(self) -> tuple[tuple[str, str], ...]:
        """Late levels with a feature: all but the second one of a column."""
        return tuple((name, lev) for name, lev in self.late if lev != self.rest[name])

    @cached_property
    def rest(self) -> dict[str, str | None]:
        """Of each column with levels the one that is 0 in all its features, if any.

        That is one of the two levels that share the column's first feature: the first
        one, or the second where that came late.
        """
        n_settled = {name: len(levels) for name, levels in self.levels}
        return {
            name: levels[2 - n_settled[name]]
            if len(levels) > 1 and n_settled[name] <= 2
            else None
            for name, levels in self.known.items()
        }

    @property
    def may_grow(self) -> bool:
        """Whether there are columns that can bring levels."""
        return bool(self.levels or self.unknown)

    @cached_property
    def n_features(self) -> int:
        """Number of encoded columns."""
        n_early = sum(len(levels) - 1 for levels in self._early.values())
        return self.n_columns + n_early + len(self._later)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns; x0, x1, ... where none were given."""
        if self.names is None:
            return tuple(f"x{k}" for k in range(self.n_features))
        levels, titles = self._early, []
        for name in self.names:
            own = level_names(COLUMN, name, levels.get(name, ()))
            titles += own if name in levels else [name]
        for name, level in self._later:
            titles += level_names(COLUMN, name, [level])
        return tuple(titles)

    @cached_property
    def level_places(self) -> dict[str, list[int]]:
        """Places of the features of each column that has levels."""
        places = {
            name: list(range(self.places[name], self.places[name] + len(levels)))
            for name, levels in self._early.items()
        }
        for k, (name, _) in enumerate(self._later, self.n_features - len(self._later)):
            places[name].append(k)
        return places

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of the first feature of each column, where columns have names."""
        levels, places, n = self._early, {}, 0
        for name in self.names or ():
            places[name] = n
            n += len(levels.get(name, ("",)))
        return places

    def column_at(self, place: int) -> str | int:
        """Name of the column of a feature, or its place where columns have none."""
        return self.columns_of_features[place]

    @cached_property
    def columns_of_features(self) -> list[str | int]:
        """Name of the column of each feature, or its place where columns have none."""
        if self.names is None:
            return [*range(self.n_features)]
        columns: list[str | int] = [0] * self.n_features
        for name, first in self.places.items():
            for place in self.level_places.get(name, [first]):
                columns[place] = name
        return columns

    def first(self, n: int) -> Self:
        """The first columns, where all are of numbers or times."""
        names = None if self.names is None else self.names[:n]
        times = tuple(one for one in self.times if one[0] < n)
        return replace(self, n_columns=n, names=names, times=times)

    def codes(self, X: Any, argument: str = "X") -> Matrix:
        """Codes of rows, ndarray of shape (n_rows, n_columns); see `encode`.

        `argument` is what errors call them.
        """
        return self._codes(self._matched(X, argument), argument)

    def text_at(self, X: Any, name: str, row: int) -> str:
        """What a row of X has in a column of levels."""
        return level_text((named_columns(X) or {})[name].objects()[row])

    def _codes(self, columns: Matrix | Columns, argument: str = "X") -> Matrix:
        """Codes of what `_matched` gives."""
        if not isinstance(columns, dict):
            return finite_rows(columns, self.names, self.allow_missing, argument)
        arrays = [
            level_codes(name, column, self._codes_of[name], argument)
            if name in self.known
            else self._numbers(k, name, column, argument)
            for k, (name, column) in enumerate(columns.items())
        ]
        rows = np.array(arrays).T
        return finite_rows(rows, self.names, self.allow_missing, argument)

    def _numbers(self, k: int, name: Any, column: Column, argument: str) -> Vector:
        """A column of numbers; of those not known to be, text counts for nothing."""
        if column.values.dtype.kind == "f" and not self.times:
            return np.array(column.values, dtype=np.float64)
        kind = self._kinds_of_times.get(k, NUMBERS)
        if name in self._unknown:
            found = kind_of(name, column, argument)
            if found == LEVELS:
                return np.full(len(column), np.nan)
            kind = NUMBERS if found == UNKNOWN else found
        remedy = "Encode it as numbers or indicator columns first."
        if self.names is None:
            remedy = "Encode text as numbers, or give a frame."
        elif kind in TIMES:
            remedy = "It did at first; give another kind of value another column."
        elif self.allow_missing:
            remedy = (
                "It did before; name the levels of such a column at the start: "
                f"{declared(name)}."
            )
        if column.is_category and not self.allow_missing:
            raise ValueError(
                f"{argument} must hold numbers in column {name!r}; it holds "
                f"categories. {remedy}"
            )
        return numbers_of(name, column, kind, argument, remedy, allow_beyond=True)

    def undecided(self, X: Any) -> list[str]:
        """Columns that had no value so far, and of which rows have text."""
        columns = (named_columns(X) if self.unknown else None) or {}
        return [
            name
            for name in self.unknown
            if name in columns and kind_of(name, columns[name], "X") == LEVELS
        ]

    def unseen(self, codes: Matrix, with_declared: bool = False) -> list[str]:
        """Columns with levels that are not known, as far as others are taken there."""
        declared = () if with_declared else frozenset(self.declared)
        return [
            name
            for name in self.known
            if name not in declared and np.any(codes[:, self.column_places[name]] < 0)
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
            and not self.times
            and not self.unknown
            and X.size > 0
            and bool(np.vdot(X, X) <= LARGEST * LARGEST)  # not where NaN
        )

    def expand(self, codes: Matrix) -> Matrix:
        """Features of codes, ndarray of shape (n_rows, n_features)."""
        if not self.levels:
            return codes
        rows = np.zeros((len(codes), self.n_features))
        numbers, features = self._numbered
        rows[:, features] = codes[:, numbers]
        columns, firsts, feature_of = self._levelled
        own = codes[:, columns]
        is_known = own >= 0.0
        row, which = np.nonzero(is_known)
        found = feature_of[firsts[which] + own[is_known].astype(np.int64)]
        rows[row[found >= 0], found[found >= 0]] = 1.0
        for k in np.flatnonzero(~is_known.all(axis=0)):
            places = np.array(self.level_places[self.levels[k][0]], dtype=np.int64)
            rows[np.flatnonzero(~is_known[:, k])[:, None], places] = np.nan
        return rows

    @cached_property
    def _numbered(self) -> tuple[Places, Places]:
        """Places of the columns without levels, and of their features."""
        names = [name for name in self.names or () if name not in self._early]
        columns = [self.column_places[name] for name in names]
        features = [self.places[name] for name in names]
        return np.array(columns, dtype=np.int64), np.array(features, dtype=np.int64)

    @cached_property
    def _levelled(self) -> tuple[Places, Places, Places]:
        """Columns with levels, where the levels of each begin, and features of levels.

        Columns and features are places; -1 stands for a level that has no feature.
        """
        columns = [self.column_places[name] for name, _ in self.levels]
        firsts, features = [], list[int]()
        for name, levels in self.known.items():
            firsts.append(len(features))
            places = iter(self.level_places[name])
            rest = self.rest[name]
            features += [-1 if level == rest else next(places) for level in levels]
        return (
            np.array(columns, dtype=np.int64),
            np.array(firsts, dtype=np.int64),
            np.array(features, dtype=np.int64),
        )

    def has_level(self, rows: Matrix, name: str, level: str) -> NDArray[np.bool_]:
        """Which rows of features have a level of a column, of shape (n_rows,)."""
        places, rest = self.level_places[name], self.rest[name]
        if level == rest:
            found: NDArray[np.bool_] = (rows[:, places] == 0.0).all(axis=1)
            return found
        place = self._codes_of[name][level]
        if rest is not None and place > self._codes_of[name][rest]:
            place -= 1
        found = rows[:, places[place]] == 1.0
        return found

    def _matched(self, X: Any, argument: str = "X") -> Matrix | dict[str, Any]:
        """X as an array of the map's width, or as columns by name in its order."""
        columns = named_columns(X, argument)
        given = unnamed_columns(X, argument) if columns is None else columns
        if columns is None and self.levels:
            raise ValueError(
                f"{argument} must have named columns, because column "
                f"{self.levels[0][0]!r} holds levels; got an array. Give a frame or "
                "dicts."
            )
        if columns is not None and self.names is not None:
            known = self.column_places
            missing = [name for name in self.names if name not in columns]
            unknown = [name for name in columns if name not in known]
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
        width = len(given) if isinstance(given, dict) else given.shape[1]
        if width != self.n_columns:
            raise ValueError(
                f"{argument} must have {self.n_columns} columns, as at the first "
                f"update; got {width}."
            )
        if isinstance(given, dict):
            keys: Iterable[Any] = self.names or given
            return dict(zip(keys, given.values(), strict=True))
        if self.unknown or self.times:
            places: Iterable[Any] = self.names or range(self.n_columns)
            return dict(zip(places, map(Column, given.T), strict=True))
        return given

    @property
    def _named_times(self) -> dict[Any, str]:
        """Kinds of the columns of times, by name where columns have some."""
        names = self.names or range(self.n_columns)
        return {names[k]: kind for k, kind in self.times}

    def to_header(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        return {
            "n_columns": self.n_columns,
            "names": None if self.names is None else list(self.names),
            "levels": [[name, list(levels)] for name, levels in self.levels],
            "declared": list(self.declared),
            "unknown": list(self.unknown),
            "allow_missing": self.allow_missing,
            "late": [list(pair) for pair in self.late],
            "times": [list(pair) for pair in self.times],
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Self:
        """The columns that `to_header` described.

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
            tuple(
                (name, _texts_of("late", [level])[0]) for name, level in header["late"]
            ),
            tuple(
                (count("times", k, 0, n_columns - 1), kind)
                for k, kind in header["times"]
            ),
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
            or not {kind for _, kind in features.times} <= {*TIMES}
            or {*features._named_times} & {*with_levels, *features.unknown}
            or len(features._named_times) != len(features.times)
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
            column = codes[:, self.column_places[name]]
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
