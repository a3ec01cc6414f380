"""FeatureMap: rows as users hold them -> float64 rows of a fixed width."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.as_text import Meaning
from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    TIMES,
    UNKNOWN,
    Column,
    first_kind,
    kind_of,
    numbers_of,
)
from dyntree.encoding.frames import check_eager, is_frame
from dyntree.encoding.levels import (
    MOST_EFFECTS,
    ONEHOT,
    ColumnFeatures,
    LevelCoding,
    LevelCounts,
    Levels,
    Slot,
)
from dyntree.encoding.row_input import (
    finite_rows,
    named_columns,
    names_amiss,
    unnamed_columns,
)
from dyntree.encoding.tables import table_of
from dyntree.encoding.values import (
    LARGEST,
    Matrix,
    Vector,
    check_levels,
    declared,
)
from dyntree.errors import ArgumentError, ColumnsByPlaceWarning, Message, warn
from dyntree.params import ENCODE_LEVELS, as_array, count, flag, one_of
from dyntree.params.labels import check_names, level_text

MOST_NAMED = 5  # columns that a warning lists
Categories = tuple[tuple[str, tuple[str, ...]], ...]
Places = NDArray[np.int64]
Columns = dict[Any, Column]  # by name, or by place where there are no names


class Checked(ABC):
    """Rows that a model has checked already, in a form of its own."""

    @abstractmethod
    def taken(self, rows: slice | NDArray[np.int64]) -> Any:
        """Some of the rows."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""


@dataclass(frozen=True, eq=False)
class Encoded(Checked):
    """Rows that a model's own FeatureMap has encoded and checked: taken as they are.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    features : FeatureMap, optional
        Their columns, where late levels may have come with them; a model that has not
        met such a level yet takes it as it would have taken the row itself.
    has_effects : bool, default False
        Whether effect columns hold effects of levels, as trees see them; else codes.
    """

    rows: Matrix
    features: FeatureMap | None = None
    has_effects: bool = False

    def taken(self, rows: slice | NDArray[np.int64]) -> Encoded:
        """Some of the rows."""
        return Encoded(self.rows[rows], self.features)

    def __len__(self) -> int:
        return len(self.rows)


def is_nothing(X: Any) -> bool:
    """Whether X is a table, or a list, without rows; a dict is a row.

    Examples
    --------
    >>> is_nothing([]), is_nothing(np.empty((0, 3))), is_nothing({})
    (True, True, False)
    """
    if isinstance(X, Checked):
        return not len(X)
    if is_frame(X):
        check_eager(X, "X")
        return not len(X)
    if isinstance(X, Mapping) or hasattr(X, "tocsr"):
        return False
    return hasattr(X, "__len__") and len(X) == 0 and np.ndim(X) != 0


@dataclass(frozen=True)
class FeatureMap(ColumnFeatures):
    """The columns a model was first given, and how later rows become arrays.

    Rows become codes, one number a column: a number stands for itself, a level for its
    place among the levels, -1 for a level that is not among them, NaN for what is
    missing. Codes become features, in which levels are 0/1 columns. While a model still
    waits for its first trees, `extend` lets more rows add levels and decide the kind of
    columns that were missing so far; `settle` fixes all that. From then on `grown` adds
    levels, whose features come last, in order of arrival; the first level
    of a column that had no value takes the column's own place. Two levels share one
    feature, as the values of a bool do: 1 for the second of two that are settled, and
    for the first where the other comes late. Each further level adds a feature.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : tuple of str or None
        Their names, where the first rows were a frame or dicts; later frames and
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
        Levels that arrived once the map was settled, with their columns.
    times : tuple of (int, str)
        Places of the columns of times, and of which kind; see `columns`.
    encode_levels : {"onehot", "auto", "effect"}
        Which levels have features; see `LevelCoding`.
    effects : tuple of (str, int)
        Columns that have effect columns, and how many.
    coded : tuple of (tuple of int, tuple of int)
        Where another encoder made the rows: places of the effect columns of one column
        of levels, and of the features of its levels.
    categories : tuple of (str, tuple of str)
        Levels that the type of a column names, whether a row has them or not; until the
        map is settled.

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
    times: tuple[tuple[int, str], ...] = ()
    encode_levels: str = "onehot"
    effects: tuple[tuple[str, int], ...] = ()
    coded: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    categories: Categories = ()

    @classmethod
    def learn(
        cls,
        X: Any,
        allow_missing: bool = False,
        categories: Categories = (),
        encode_levels: str = "onehot",
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
        named = frozenset(declared)
        unknown = tuple(k for k in names or () if allow_missing and k not in named)
        features = cls(
            n_columns, names, categories, declared, unknown, allow_missing,
            encode_levels=encode_levels,
        )  # fmt: skip
        if isinstance(given, dict) and not unknown:  # nothing is left to later rows
            times = tuple(
                (k, kind)
                for k, (name, column) in enumerate(given.items())
                if (kind := kind_of(name, column, "X")) in TIMES and name not in named
            )
            features = replace(features, times=times)
        features, _ = features._learned(given)
        return features, features._codes(given)

    def extend(self, X: Any) -> tuple[FeatureMap, Matrix]:
        """Learn kinds and levels from more rows; earlier codes keep their meaning.

        Returns
        -------
        FeatureMap
        codes : ndarray of shape (n_rows, n_columns)
        """
        columns = self._matched(X)
        features, _ = self._learned(columns)
        return features, features._codes(columns)

    def _learned(
        self, columns: Matrix | Columns, argument: str = "X", is_settled: bool = False
    ) -> tuple[FeatureMap, list[tuple[int, str, str]]]:
        """Learn kinds and levels; returns the map and its new levels in their order.

        New levels are rows, columns and levels.

        Columns are as `_matched` returns them. All of a column's values say what it
        holds, or the first alone once the map is settled: that level is the column's
        own then, and all others are left to be appended to `late`.
        """
        levels, unknown, times = dict(self.levels), [], dict(self.times)
        named = columns if isinstance(columns, dict) and self.names else {}
        declared = frozenset(self.declared)
        categories = dict(self.categories)
        kind_in = first_kind if is_settled else kind_of
        new: list[tuple[int, int, str, str]] = []
        for k, (name, column) in enumerate(named.items()):
            if name in self._unknown:
                kind = kind_in(name, column, argument)
                if not is_settled and Levels().of_type(name, column, argument):
                    kind = LEVELS  # which the type names before any row has one
                if kind == UNKNOWN:
                    unknown.append(name)
                elif kind in TIMES:
                    times[k] = kind
                elif kind == LEVELS:
                    firsts = [*islice(column.present(), int(is_settled))]
                    levels[name] = tuple(level_text(value) for _, value in firsts)
            if name not in levels or name in declared:
                continue
            own = self.levels_of.get(name) or Levels(levels[name])
            late = own.new(name, column, argument, is_limited=is_settled)
            new += [(row, k, name, level_text(level)) for row, level in late.items()]
            if not is_settled:
                levels[name] = (*levels[name], *map(level_text, late.values()))
                typed = Levels(levels[name]).of_type(name, column, argument)
                levels[name] = tuple(dict.fromkeys([*levels[name], *typed]))
                if typed:
                    typed = (*categories.get(name, ()), *typed)
                    categories[name] = tuple(dict.fromkeys(typed))
        features = replace(
            self,
            levels=tuple((name, levels[name]) for name in named if name in levels),
            unknown=tuple(unknown),
            times=tuple(sorted(times.items())),
            categories=tuple(categories.items()),
        )
        return features, [(row, name, level) for row, _, name, level in sorted(new)]

    def settle(
        self,
        codes: Matrix,
        n_first: int | None = None,
        grows: bool = False,
        n_labels: Callable[[int], int] = lambda row: 2,
    ) -> tuple[FeatureMap, Matrix]:
        """Fix kinds and the order of levels; returns the map and what codes become.

        Learned levels are sorted, with those that the type of a column names; declared
        ones stay as they were given.

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
        n_labels : callable, optional
            Gives the number of labels that are known with a row, on which the number of
            effect columns depends.

        Raises
        ------
        ValueError
            For more levels of a column than anybody means.
        """
        codes, levels, unknown = codes.copy(), [], {*self.unknown}
        declared, categories = frozenset(self.declared), dict(self.categories)
        for name, old in self.levels:
            column = codes[:, self.column_places[name]]
            new = old
            if name not in declared:
                n_levels = len(old)
                if n_first is not None:  # levels are in order of first appearance
                    n_levels = int(np.nanmax(column[:n_first], initial=-1.0)) + 1
                new = tuple(sorted({*old[:n_levels], *categories.get(name, ())}))
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
        coding = LevelCoding.of(self.encode_levels)
        many = [name for name, texts in levels if len(texts) >= coding.fewest]
        if many:
            last = (len(codes) if n_first is None else n_first) - 1
            coding = LevelCoding.of(self.encode_levels, n_labels(last))
        effects = tuple((name, coding.n_effects) for name in many)
        settled = replace(
            self, levels=tuple(levels), unknown=left, effects=effects, categories=()
        )
        return settled, settled.expand(codes)

    def grown(
        self,
        X: Any,
        argument: str = "X",
        n_labels: Callable[[int], int] = lambda row: 2,
    ) -> tuple[list[tuple[int, FeatureMap]], Matrix]:
        """Learn late levels from more rows, those of declared columns excepted.

        Parameters
        ----------
        X, argument
            As for `encode`.
        n_labels : callable, optional
            Gives the number of labels that are known with a row.

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
            columns = self._matched(X, argument)
            found, new = self._learned(columns, argument, is_settled=True)
            for row, name, level in new:
                found = found._with_level(name, level, row, n_labels)
            features = self if found == self else found  # which has its plans made
            rows = features.expand(features._codes(columns, argument))
        decided = {
            name: _first(~np.isnan(rows[:, self.places[name]]))
            for name in self.unknown
            if name not in features._unknown
        }
        late = features.late[len(self.late) :]
        starts = np.array([_first(features.has_level(rows, *one)) for one in late], int)
        starts = np.minimum.accumulate(starts[::-1])[::-1]  # some may have no row here
        steps = []
        for row in sorted({*decided.values(), *starts.tolist()} - {len(rows)}):
            n_late = len(self.late) + int(np.sum(starts <= row))
            left = (k for k in self.unknown if decided.get(k, len(rows)) > row)
            steps.append((row, features.before(n_late, tuple(left))))
        last = steps[-1][1] if steps else self
        return steps, last.encode(X) if isinstance(X, Encoded) else rows

    def _with_level(
        self, name: str, level: str, row: int, n_labels: Callable[[int], int]
    ) -> FeatureMap:
        """The map with a level that comes with a row, and effect columns if it is due.

        `n_labels` is as in `grown`.
        """
        grown = replace(self, late=(*self.late, (name, level)))
        n_levels = len(grown.levels_of[name])
        coding = LevelCoding.of(self.encode_levels)
        if n_levels < coding.fewest or name in dict(self.effects):
            return grown
        coding = LevelCoding.of(self.encode_levels, n_labels(row))
        return replace(grown, effects=(*self.effects, (name, coding.n_effects)))

    def before(self, n_late: int, unknown: tuple[str, ...]) -> FeatureMap:
        """The map as it was with so many late levels, and these columns unknown."""
        left, names = frozenset(unknown), self.names or ()
        levels = tuple(one for one in self.levels if one[0] not in left)
        times = tuple(
            (k, kind) for k, kind in self.times if not names or names[k] not in left
        )
        late = self.late[:n_late]
        earlier = replace(self, levels=levels, unknown=unknown, late=late, times=times)
        effects = tuple(e for e in self.effects if e[0] in earlier.effect_places)
        return replace(earlier, effects=effects)

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
        for name in features.levels_of:
            if name in self._unknown:
                rows[:, self.places[name]] = np.nan
                continue
            for level in [*features.levels_of[name].places][
                len(self.levels_of[name]) :
            ]:
                if X.has_effects and name in self.effect_places:
                    break  # effects of such levels are missing already
                unseen = np.flatnonzero(features.has_level(X.rows, name, level))
                rows[unseen[:, None], self._places_of(name)] = np.nan
        return np.ascontiguousarray(rows[:, :width])

    def _places_of(self, name: str) -> list[int]:
        """Places of all features of a column of levels."""
        return [*self.level_places[name], *self.effect_places.get(name, ())]

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

    # ------------------------------------------------------------ columns
    @cached_property
    def levels_of(self) -> dict[str, Levels]:
        """Levels of each column that has some, in the order of their codes."""
        return self._levels_and_slots[0] if self.levels else {}

    @cached_property
    def _levels_and_slots(self) -> tuple[dict[str, Levels], list[Slot]]:
        """Levels of each column that has some, and the column and code of features."""
        codings = {name: ONEHOT for name, _ in self.levels}  # without effect columns
        for text, n_effects in self.effects:
            coding = LevelCoding.of(self.encode_levels)
            codings[text] = replace(coding, n_effects=n_effects)
        levels = {
            name: Levels.settled(settled, codings[name])
            for name, settled in self.levels
        }
        slots: list[Slot] = []
        for name in self.names or range(self.n_columns):
            slots += levels[name].slots(name) if name in levels else [(name, None)]
        late: dict[str, list[str]] = {}
        for name, level in self.late:
            late.setdefault(name, []).append(level)
        counts = {name: len(levels[name]) for name in late}
        waiting = {name for name in late if not levels[name].n_effects}
        for name, more in late.items():
            levels[name] = levels[name].grown(*more, coding=codings[name])
        for name, _ in self.late:  # of all columns, in the order of the rows
            code, all_levels = counts[name], levels[name]
            counts[name] += 1
            if all_levels.features_of[code] >= 0:
                slots.append((name, code))
            if name in waiting and counts[name] >= codings[name].fewest:
                waiting.remove(name)
                slots += [(name, -1 - k) for k in range(all_levels.n_effects)]
        return levels, slots

    @cached_property
    def column_places(self) -> dict[str, int]:
        """Place of each column among the columns, where they have names."""
        return {name: k for k, name in enumerate(self.names or ())}

    @cached_property
    def _unknown(self) -> frozenset[str]:
        """Columns without any value so far, to be asked of each column."""
        return frozenset(self.unknown)

    @property
    def may_grow(self) -> bool:
        """Whether there are columns that can bring levels."""
        return bool(self.levels or self.unknown)

    @cached_property
    def slots(self) -> Sequence[Slot]:
        """Column of each feature, and the code of its level where it is of one."""
        return self._levels_and_slots[1]

    @cached_property
    def effect_places(self) -> dict[Any, list[int]]:
        """Places of the effect columns of each column that has some."""
        if not self.effects:  # there may be as many columns as a file claims
            return {}
        return super().effect_places

    @cached_property
    def effect_groups(self) -> list[list[int]]:
        """Places of the effect columns of each column of levels that has some.

        Later ones are last.
        """
        return [*self.effect_places.values(), *([*group] for group, _ in self.coded)]

    @cached_property
    def regressors(self) -> list[int]:
        """Places of the features of all columns without effect columns."""
        left = {place for name in self.effect_places for place in self._places_of(name)}
        left |= {place for group in self.coded for part in group for place in part}
        return [place for place in range(self.n_features) if place not in left]

    @cached_property
    def n_features(self) -> int:
        """Number of encoded columns."""
        if self.names is None:  # as many as a file may claim, and none has levels
            return self.n_columns
        return len(self.slots)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns; x0, x1, ... where none were given."""
        if self.names is None:
            return tuple(f"x{k}" for k in range(self.n_features))
        return super().feature_names

    @cached_property
    def places(self) -> dict[Any, int]:
        """Place of the first feature of each column."""
        places: dict[Any, int] = {}
        for place, (name, _) in enumerate(self.slots):
            places.setdefault(name, place)
        return places

    def after_numbers(self, names: Sequence[str]) -> Self:
        """These columns after columns of numbers, whose names count if these have some.

        A name that one of these has gains an underscore.
        """
        n, known = len(names), self.column_places
        own = [name + "_" if name in known else name for name in names]
        return replace(
            self,
            n_columns=n + self.n_columns,
            names=None if self.names is None else (*own, *self.names),
            times=tuple((n + place, kind) for place, kind in self.times),
        )

    def first(self, n: int) -> Self:
        """The first columns, where all are of numbers or times."""
        names = None if self.names is None else self.names[:n]
        times = tuple(one for one in self.times if one[0] < n)
        return replace(self, n_columns=n, names=names, times=times)

    # ------------------------------------------------------------ rows
    def codes(self, X: Any, argument: str = "X") -> Matrix:
        """Codes of rows, ndarray of shape (n_rows, n_columns); see `encode`.

        `argument` is what errors call them.
        """
        return self._codes(self._matched(X, argument), argument)

    def _codes(self, columns: Matrix | Columns, argument: str = "X") -> Matrix:
        """Codes of what `_matched` gives."""
        if not isinstance(columns, dict):
            return finite_rows(columns, self.names, self.allow_missing, argument)
        arrays = [
            self.levels_of[name].codes(name, column, argument)
            if name in self.levels_of
            else self._numbers(name, column, argument)
            for name, column in columns.items()
        ]
        rows = np.array(arrays).T
        return finite_rows(rows, self.names, self.allow_missing, argument)

    def _numbers(self, name: Any, column: Column, argument: str) -> Vector:
        """A column of numbers; of those not known to be, text counts for nothing."""
        if column.values.dtype.kind == "f" and not self.times:
            return np.array(column.values, dtype=np.float64)
        kind = self._named_times.get(name, NUMBERS)
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
            remedy = Message(
                "It had no levels before; name the levels of such a column at the "
                "start: {declared}.",
                declared=declared(name),
            )
        if column.is_category and not self.allow_missing:
            raise ArgumentError(
                argument,
                "must hold numbers in column {label!r}; it holds categories",
                remedy=remedy,
                label=name,
            )
        return numbers_of(name, column, kind, argument, remedy, allow_beyond=True)

    def plain_row(self, row: Mapping[Any, Any]) -> Matrix | None:
        """Features of a dict, (1, n_features), if they are its floats as they are.

        None where a column is missing, or holds anything else than a float.
        """
        names = self.names
        if names is None or self.levels or self.times or self.unknown:
            return None
        values = [*map(row.get, names)]
        if len(row) != len(names) or {*map(type, values)} != {float}:
            return None
        rows = np.array([values])
        return rows if np.vdot(rows, rows) <= LARGEST * LARGEST else None  # not NaN

    def undecided(self, X: Any) -> list[str]:
        """Columns that had no value so far, and of which rows have text."""
        columns = (named_columns(X) if self.unknown else None) or {}
        return [
            name
            for name in self.unknown
            if name in columns and kind_of(name, columns[name], "X") == LEVELS
        ]

    def refuse_unseen(self, X: Any, codes: Matrix, argument: str) -> None:
        """Raise ValueError for the first level that is not known, declared or not.

        `codes` are those of the rows X, shape (n_rows, n_columns).
        """
        places = [self.column_places[name] for name in self.levels_of]
        unseen = np.argwhere(codes[:, places] < 0.0)
        if not len(unseen):
            return
        name = [*self.levels_of][unseen[0, 1]]
        row, text = self.first_unseen(X, codes, name)
        meant = None if name in self.declared else self.meaning_of(X, name)
        way = "Make a model with new_levels='grow', or name all levels at the start"
        if name in self.declared:
            way = "Add it to those named"
        remedy = Message(f"{way}: {{declared}}.", declared=declared(name))
        raise ArgumentError(
            argument,
            "must hold known levels in column {label!r}",
            text,
            meant.remedy(name) if meant else remedy,
            row=row,
            label=name,
        )

    def first_unseen(self, X: Any, codes: Matrix, name: str) -> tuple[int, str]:
        """The first row with a level of a column that is not known, and that level."""
        column = (named_columns(X) or {})[name]
        if name not in self.levels_of:
            row, value = next(iter(column.present()))
            return row, level_text(value)
        row = int(np.argmax(codes[:, self.column_places[name]] < 0.0))
        return row, level_text(column.objects()[row])

    def meaning_of(self, X: Any, name: str) -> Meaning | None:
        """What a column of X should hold in place of text; None where it is meant."""
        own, column = self.levels_of.get(name), (named_columns(X) or {}).get(name)
        if own is None or column is None or column.is_category:
            return None
        return own.meaning

    def count_new(
        self,
        counts: LevelCounts,
        before: FeatureMap | None,
        rows: Matrix,
        are_codes: bool = False,
    ) -> None:
        """Count new levels among rows that are to be learned, but for declared ones.

        `before` are the columns without these rows, which are features or codes.
        """
        levels_before = {} if before is None else before.levels_of
        places = self.column_places if are_codes else self.places
        typed = dict(self.categories)
        for name in typed:  # also of later rows
            counts.leave(name)
        named = {*self.declared, *typed}
        for name, own in self.levels_of.items():
            if name not in named:
                n_values = int(np.count_nonzero(~np.isnan(rows[:, places[name]])))
                n_new = len(own) - len(levels_before.get(name, ()))
                counts.count(name, n_values, n_new, own.labels)

    def unseen(self, codes: Matrix) -> list[str]:
        """Names of the columns in which a code is that of a level never seen (-1).

        Columns with declared levels are left out.
        """
        declared = frozenset(self.declared)
        return [
            name
            for name in self.levels_of
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
        for name, places in self.effect_places.items():
            rows[:, places] = codes[:, [self.column_places[name]]]
        for k in np.flatnonzero(~is_known.all(axis=0)):
            places = self._places_of(self.levels[k][0])
            rows[np.flatnonzero(~is_known[:, k])[:, None], places] = np.nan
        return rows

    @cached_property
    def _numbered(self) -> tuple[Places, Places]:
        """Places of the columns without levels, and of their features."""
        columns = [self.column_places[name] for name in self.numbers]
        return np.array(columns, int), np.array([*self.numbers.values()], int)

    @cached_property
    def _levelled(self) -> tuple[Places, Places, Places]:
        """Columns with levels, where the levels of each begin, and features of levels.

        Columns and features are places; -1 stands for a level that has no feature.
        """
        columns = [self.column_places[name] for name, _ in self.levels]
        firsts, features = [], list[int]()
        for name, own in self.levels_of.items():
            firsts.append(len(features))
            places = [*self.level_places[name], -1]  # -1 for the level without feature
            features += [places[k] for k in own.features_of]
        return (
            np.array(columns, dtype=np.int64),
            np.array(firsts, dtype=np.int64),
            np.array(features, dtype=np.int64),
        )

    def has_level(self, rows: Matrix, name: str, level: str) -> NDArray[np.bool_]:
        """Which rows of features have a level of a column, of shape (n_rows,)."""
        levels = self.levels_of[name]
        if name in self.effect_places:
            codes = rows[:, self.effect_places[name][0]]
            return np.asarray(codes == levels.places[level])
        return levels.has(rows[:, self.level_places[name]], level)

    def _matched(self, X: Any, argument: str = "X") -> Matrix | dict[str, Any]:
        """X as an array of the map's width, or as columns by name in its order."""
        columns = named_columns(X, argument)
        given = unnamed_columns(X, argument) if columns is None else columns
        if columns is None and self.levels:
            raise ArgumentError(
                argument,
                "must have named columns, because column {levels!r} holds levels",
                Message("an array"),
                "Give a frame or dicts.",
                levels=self.levels[0][0],
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
                raise ArgumentError(
                    argument,
                    "must have the columns of the first update; "
                    + names_amiss(missing, unknown),
                    remedy="{remedies}",
                    missing=missing,
                    unknown=unknown,
                    remedies=" ".join(remedies),
                )
            return {name: columns[name] for name in self.names}
        width = len(given) if isinstance(given, dict) else given.shape[1]
        if width != self.n_columns:
            raise ArgumentError(
                argument,
                f"must have {self.n_columns} columns, as at the first update",
                width,
            )
        if columns is not None and not all(name.isdecimal() for name in columns):
            warn(
                ColumnsByPlaceWarning,
                "{argument} has named columns, {names}, and the model has learned rows "
                "without names: columns are taken in their order. Pass an array to "
                "say so, or let a new model learn a frame.",
                argument=argument,
                names=[*columns][:MOST_NAMED],
            )
        if isinstance(given, dict):
            keys: Iterable[Any] = self.names or given
            return dict(zip(keys, given.values(), strict=True))
        if self.unknown or self.times:
            places: Iterable[Any] = self.names or range(self.n_columns)
            return dict(zip(places, map(Column, given.T), strict=True))
        return given

    @cached_property
    def _named_times(self) -> dict[Any, str]:
        """Kinds of the columns of times, by name where columns have some."""
        names = self.names or range(self.n_columns)
        return {names[k]: kind for k, kind in self.times}

    # ------------------------------------------------------------ files
    def to_header(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        header = {
            "n_columns": self.n_columns,
            "names": None if self.names is None else list(self.names),
            "levels": [[name, list(levels)] for name, levels in self.levels],
            "declared": list(self.declared),
            "unknown": list(self.unknown),
            "allow_missing": self.allow_missing,
            "late": [list(pair) for pair in self.late],
            "times": [list(pair) for pair in self.times],
            "encode_levels": self.encode_levels,
            "effects": [list(pair) for pair in self.effects],
            "coded": [[list(part) for part in group] for group in self.coded],
        }
        if self.categories:  # of maps that are not settled
            header["categories"] = [[k, list(texts)] for k, texts in self.categories]
        return header

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
            one_of("encode_levels", header["encode_levels"], ENCODE_LEVELS),
            tuple(
                (str(name), count("effects", n, 1, MOST_EFFECTS))
                for name, n in header["effects"]
            ),
            _groups_of(header["coded"], n_columns),
            tuple(
                (str(name), _texts_of(f"categories of {name!r}", texts))
                for name, texts in header.get("categories", ())
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
            or not all(
                len(own.places) == len(own) for own in features.levels_of.values()
            )
            or {*dict(features.effects)} != {*features.effect_places}
            or len(dict(features.effects)) != len(features.effects)
            or (features.coded and with_levels)
            or not all(
                {*texts} <= {*dict(levels).get(name, ())}
                for name, texts in features.categories
            )
        ):
            raise ArgumentError("columns", "must fit one another", dict(header))
        return features

    def check_codes(self, codes: Matrix) -> None:
        """Raise ValueError unless an array holds codes of these columns."""
        if codes.shape[1] != self.n_columns:
            raise ArgumentError(
                "codes", f"must have {self.n_columns} columns", codes.shape[1]
            )
        finite_rows(codes, self.names, self.allow_missing, "codes")
        for name, own in self.levels_of.items():
            column = codes[:, self.column_places[name]]
            places = np.arange(-1.0, len(own))
            if not np.all(np.isin(column[~np.isnan(column)], places)):
                raise ArgumentError(
                    "codes", "must be places of levels; column {label!r}", label=name
                )


def _first(holds: NDArray[np.bool_]) -> int:
    """The first row of which something holds; their number where it holds of none."""
    return int(holds.argmax()) if holds.any() else len(holds)


def take(X: Any, rows: slice | NDArray[np.int64]) -> Any:
    """Some rows of a frame, a dict, a list of dicts or an array, as they were given."""
    if isinstance(X, Checked):
        return X.taken(rows)
    if is_frame(X):
        return table_of(X, "X").take(rows).native
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple):
        return [X[k] for k in np.arange(len(X))[rows]]
    matrix = as_array("X", X)
    return matrix[rows] if matrix.ndim else matrix


def _groups_of(
    groups: Any, n_columns: int
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Places of effect columns and of features of levels, checked."""
    checked = tuple(
        (
            tuple(count("coded", place, 0, n_columns - 1) for place in effects),
            tuple(count("coded", place, 0, n_columns - 1) for place in levels),
        )
        for effects, levels in groups
    )
    all_places = [place for group in checked for part in group for place in part]
    if len({*all_places}) != len(all_places) or not all(e for e, _ in checked):
        raise ArgumentError("coded", "must name distinct places", groups)
    return checked


def _texts_of(what: str, values: Any) -> tuple[str, ...]:
    """A list of distinct strings as a tuple."""
    good = isinstance(values, list | tuple)
    if not good or not all(isinstance(v, str) for v in values):
        raise ArgumentError(what, "must be a list of strings", values)
    if len(set(values)) != len(values):
        raise ArgumentError(what, "must be distinct", values)
    return tuple(values)
