"""GrowingMap: named rows -> float64 rows, in which columns and levels may come late."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
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
    Levels,
    check_level,
    widened,
)
from dyntree.encoding.values import (
    LARGEST,
    MOST_COLUMNS,
    PLAIN,
    Matrix,
    as_number,
    is_missing,
)
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import check_names, level_text


@dataclass
class News:
    """What a row has that a map does not know.

    Attributes
    ----------
    taken : list
        Columns that are new, or have a level that is.
    beyond : list
        Columns that take no more levels, and of which the row has another.
    surplus : list
        New columns, where no more are taken.
    counts : dict of int
        Of each column of text in the row, how many of its levels are new: 0 or 1.
    """

    taken: list[Hashable] = field(default_factory=list)
    beyond: list[Hashable] = field(default_factory=list)
    surplus: list[Hashable] = field(default_factory=list)
    counts: dict[Hashable, int] = field(default_factory=dict)


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
    levels : dict of Levels
        Of each column of text.
    level_places : dict of list of int
        Places of the features of each column of text.
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
        self.levels: dict[Hashable, Levels] = {}
        self.level_places: dict[Hashable, list[int]] = {}
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

    @property
    def is_closed(self) -> bool:
        """Whether no more columns are taken."""
        return bool(self.names) and len(self.numbers) + len(self.levels) >= MOST_COLUMNS

    def news(self, row: Mapping[Hashable, Any]) -> News:
        """Columns and levels of a row that are new."""
        news = News()
        for name, value in row.items():
            if name in self.numbers or is_missing(value):
                continue
            levels = self.levels.get(name)
            if levels is None:
                (news.surplus if self.is_closed else news.taken).append(name)
                if value_kind(value) == LEVELS:
                    news.counts[name] = 1
            else:
                is_new = levels.place_of(value) is None
                if is_new:
                    (news.beyond if levels.is_full else news.taken).append(name)
                news.counts[name] = int(is_new and not levels.is_full)
        return news

    def grown(self, row: Mapping[Hashable, Any]) -> Self:
        """The map with the new columns and levels of a row, in the order of names."""
        wider = type(self)()
        wider.numbers, wider.times = dict(self.numbers), dict(self.times)
        wider.levels = dict(self.levels)
        wider.level_places = {name: [*own] for name, own in self.level_places.items()}
        names = list(self.names)
        for name, value in sorted(row.items(), key=_rank):
            levels = wider.levels.get(name)
            n_columns = len(wider.numbers) + len(wider.levels)
            if name in wider.numbers or is_missing(value):
                continue
            if levels is None and self.names and n_columns >= MOST_COLUMNS:
                continue
            kind = value_kind(value)
            if kind is None:
                raise unusable("x", name, value)
            if levels is None:
                check_names([name], "x")
                if kind != LEVELS:
                    wider.numbers[name] = len(names)
                    if kind in TIMES:
                        wider.times[name] = kind
                    names.append(str(name))
                    continue
                levels = Levels()
            if levels.place_of(value) is None and not levels.is_full:
                check_level(name, value, argument="x")
                text = level_text(value)
                wider.levels[name] = more = levels.with_level(text)
                own = wider.level_places.setdefault(name, [])
                if more.rest != len(levels):  # the second shares the first's feature
                    own.append(len(names))
                    names.append(COLUMN.format(column=name, level=text))
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
        levels = self.levels.get(name)
        code = None if levels is None else levels.place_of(value)
        if levels is None or code is None:
            check_level(name, value, argument="x", takes_times=levels is None)
            return  # a level that no row had is missing, as everywhere
        feature = levels.features_of[code]
        for k, place in enumerate(self.level_places[name]):
            values[place] = float(k == feature)

    def widen(self, rows: Matrix) -> Matrix:
        """Rows that an earlier, narrower map has encoded, as this one would have."""
        return widened(rows, self.width, self.level_places.values())


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
