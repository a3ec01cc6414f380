"""GrowingMap: named rows -> float64 rows, in which columns and levels may come late."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np

from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    TIMES,
    days_of,
    misfit,
    unusable,
    value_kind,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import (
    COLUMN,
    LevelCounts,
    check_level,
    level_names,
    place_of,
)
from dyntree.encoding.values import (
    LARGEST,
    MOST_COLUMNS,
    MOST_LEVELS,
    PLAIN,
    Matrix,
    as_number,
    is_missing,
)
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import check_names, level_text

NO_FEATURE = -1  # the place of a level that is 0 in all features of its column


class GrowingMap:
    """The columns that rows have had so far, each with a place it never leaves.

    A column of numbers, or of times, which count in days, is one feature. A column of
    text has one 0/1 feature a level, "column=level", but for its second level, which is
    0 in all of them. A column that comes is new at the
    end, and was missing in all rows before; a level that comes was 0 in rows that had
    another. A column that a row does not have is missing in it. What a column holds is
    settled by its first value. A column of text takes `MOST_LEVELS` levels; all others
    are missing in it. Once there are `MOST_COLUMNS` columns, no more are taken; only a
    first row may have more.

    Attributes
    ----------
    numbers : dict
        Place of each column of numbers.
    times : dict of str
        Of each column of times the kind; see `columns`. It has a place in `numbers`.
    levels : dict of dict
        Places of the levels of each column of text; -1 for one without a feature.
    names : tuple of str
        Names of the features.

    Examples
    --------
    >>> columns = GrowingMap().grown({"size": 2.5, "colour": "red"})
    >>> columns.encode({"colour": "red"})
    array([[ 1., nan]])
    >>> both = columns.grown({"colour": "blue"})
    >>> both.encode({"colour": "blue"})
    array([[ 0., nan]])
    >>> both.grown({"colour": "green"}).widen(np.array([[1.0, 2.5]]))
    array([[1. , 2.5, 0. ]])
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.times: dict[Hashable, str] = {}
        self.levels: dict[Hashable, dict[str, int]] = {}
        self.names: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Features of a row: one that is missing throughout while there is no other."""
        return len(self.names) or 1

    def features(self) -> FeatureMap:
        """The columns of encoded rows, as a tree knows them."""
        return FeatureMap(self.width, self.names or None, allow_missing=True)

    def has_numbers_alone(self, row: Mapping[Hashable, Any]) -> bool:
        """Whether all columns of a row are known ones of numbers, as of most rows."""
        return row.keys() <= self.numbers.keys()

    def is_new(self, row: Mapping[Hashable, Any]) -> bool:
        """Whether a row has a value in a column, or a level, that is not known."""
        return not row.keys() <= self.numbers.keys() and any(
            name not in self.numbers
            and not is_missing(value)
            and not self.is_full(name)
            and (
                not self.is_closed
                if name not in self.levels
                else place_of(value, self.levels[name]) is None
            )
            for name, value in row.items()
        )

    @property
    def is_closed(self) -> bool:
        """Whether no more columns are taken."""
        return bool(self.names) and len(self.numbers) + len(self.levels) >= MOST_COLUMNS

    def surplus(self, row: Mapping[Hashable, Any]) -> list[Hashable]:
        """New columns of a row that are not taken."""
        if not self.is_closed:
            return []
        known = self.numbers.keys() | self.levels.keys()
        return [name for name in row if name not in known and not is_missing(row[name])]

    def is_full(self, name: Hashable) -> bool:
        """Whether a column of text takes no more levels."""
        return len(self.levels.get(name, ())) >= MOST_LEVELS

    def beyond(self, row: Mapping[Hashable, Any]) -> list[Hashable]:
        """Columns that take no more levels, and of which a row has another."""
        return [
            name
            for name, places in self.levels.items()
            if len(places) >= MOST_LEVELS
            and not is_missing(row.get(name))
            and place_of(row[name], places) is None
        ]

    def count(self, row: Mapping[Hashable, Any], counts: LevelCounts) -> None:
        """Count the levels that a row brings to each column of text."""
        for name, value in row.items():
            if name not in self.numbers and not is_missing(value):
                places = self.levels.get(name)
                if places is None and value_kind(value) != LEVELS:
                    continue
                is_new = place_of(value, places or {}) is None
                counts.count(name, 1, int(is_new and not self.is_full(name)))

    def grown(self, row: Mapping[Hashable, Any]) -> Self:
        """The map with the new columns and levels of a row, in the order of names."""
        wider = type(self)()
        wider.numbers, wider.times = dict(self.numbers), dict(self.times)
        wider.levels = {name: dict(places) for name, places in self.levels.items()}
        names, may_widen = list(self.names), not self.names
        for name, value in sorted(row.items(), key=_rank):
            if name in wider.numbers or is_missing(value):
                continue
            n_columns = len(wider.numbers) + len(wider.levels)
            if name not in wider.levels and not may_widen and n_columns >= MOST_COLUMNS:
                continue
            kind = value_kind(value)
            if kind is None:
                raise unusable("x", name, value)
            if name not in wider.levels:
                check_names([name], "x")
            if name not in wider.levels and kind != LEVELS:
                wider.numbers[name] = len(names)
                if kind in TIMES:
                    wider.times[name] = kind
                names.append(str(name))
                continue
            places = wider.levels.setdefault(name, {})
            if place_of(value, places) is None and not wider.is_full(name):
                check_level(name, value, argument="x")
                text = level_text(value)
                if len(places) == 1:  # shares the feature of the first
                    places[text] = NO_FEATURE
                    continue
                places[text] = len(names)
                names += level_names(COLUMN, name, [text])
        wider.names = tuple(names)
        return wider

    def encode(self, row: Mapping[Hashable, Any]) -> Matrix:
        """A row's features, ndarray of shape (1, width); what is not known is left out.

        Raises
        ------
        UnusableValueError, ValueError
            For what is no dict, what is no number in a column of numbers, and numbers
            that are too large.
        """
        check_row(row)
        values = [np.nan] * (len(self.names) or 1)
        numbers, times = self.numbers, self.times
        for name, value in row.items():
            place = numbers.get(name)
            if place is None:
                self._mark(values, name, value)
            elif name in times:
                if not is_missing(value):
                    if value_kind(value) != times[name]:
                        raise self._misfit(name, value)
                    values[place] = days_of(value)
            elif type(value) in PLAIN and -LARGEST <= value <= LARGEST:
                values[place] = value
            elif not is_missing(value):
                number = as_number(value)
                if number is None:
                    raise self._misfit(name, value)
                values[place] = number
        return np.array([values], dtype=np.float64)

    def _misfit(self, name: Hashable, value: Any) -> ValueError:
        """Error for what a column of numbers or of times cannot hold."""
        if value_kind(value) == NUMBERS and name not in self.times:
            return ArgumentError(
                "x",
                "must hold numbers of at most {largest:g} in size in column {label!r}",
                value,
                "Rescale it first.",
                largest=LARGEST,
                label=name,
            )
        remedy = "It did before; give another kind of value a column of its own."
        return misfit("x", name, self.times.get(name, NUMBERS), value, remedy=remedy)

    def _mark(self, values: list[float], name: Hashable, value: Any) -> None:
        """Put 0 and 1 in the places of a column's levels."""
        if is_missing(value):
            return
        places = self.levels.get(name)
        place = None if places is None else place_of(value, places)
        if place is None:
            check_level(name, value, argument="x", takes_times=places is None)
            return  # a level that no row had is missing, as everywhere
        for other in (places or {}).values():
            if other != NO_FEATURE:
                values[other] = float(other == place)

    def widen(self, rows: Matrix) -> Matrix:
        """Rows that an earlier, narrower map has encoded, as this one would have."""
        old = rows.shape[1]
        wide = np.full((len(rows), self.width), np.nan)
        wide[:, :old] = rows
        for places in self.levels.values():
            first, *others = (k for k in places.values() if k != NO_FEATURE)
            fresh = [place for place in others if place >= old]
            if fresh:
                wide[np.ix_(~np.isnan(wide[:, first]), fresh)] = 0.0
        return wide


def check_row(row: Any) -> None:
    """Raise ValueError for a row that is no dict."""
    if type(row) is not dict and not isinstance(row, Mapping):
        raise ArgumentError(
            "x",
            "must be a dict of features by name",
            Message("{kind}", kind=type(row).__name__),
            "Give one row as a dict, such as {{'size': 2.5}}; frames have calls of "
            "their own.",
        )


def _rank(item: tuple[Hashable, Any]) -> tuple[str, str]:
    """By name, so that the order in a dict does not matter."""
    return str(item[0]), type(item[0]).__name__
