"""GrowingMap: named rows -> float64 rows, in which columns and levels may come late."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    misfit,
    number_of,
    unusable,
    value_kind,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import (
    ColumnFeatures,
    LevelCoding,
    Levels,
    Slot,
    check_level,
)
from dyntree.encoding.values import (
    LARGEST,
    MOST_COLUMNS,
    PLAIN,
    Matrix,
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


@dataclass(frozen=True)
class GrowingMap(ColumnFeatures):
    """The columns that rows have had so far, each with a place it never leaves.

    A column of numbers, or of times, which count in days, is one feature. A column of
    text has one 0/1 feature a level, "column=level", but for its second level, which is
    0 in all of them. A column that comes is new at the end, and was missing in all rows
    before; a level that comes was 0 in rows that had another. A column that a row does
    not have is missing in it. What a column holds is settled by its first value. A
    column of text takes `MOST_LEVELS` levels; all others are missing in it. Once there
    are `MOST_COLUMNS` columns, no more are taken; only a first row may have more.

    Attributes
    ----------
    slots, levels_of
        See `ColumnFeatures`.
    kinds : dict of str
        What each column holds: numbers, levels or a kind of time; see `columns`.
    encode_levels : {"onehot", "auto", "effect"}
        Which levels have features; see `LevelCoding`.

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

    slots: Sequence[Slot] = ()
    levels_of: dict[Hashable, Levels] = field(default_factory=dict)
    kinds: dict[Hashable, str] = field(default_factory=dict)
    encode_levels: str = "onehot"

    @cached_property
    def n_features(self) -> int:
        """Features of a row: one that is missing throughout while there is no other."""
        return len(self.slots) or 1

    def features(self) -> FeatureMap:
        """The columns of encoded rows, as a tree knows them."""
        coded = tuple(
            (tuple(places), tuple(self.level_places[name]))
            for name, places in self.effect_places.items()
        )
        names = self.feature_names or None
        return FeatureMap(
            self.n_features, names, allow_missing=True, coded=coded,
            encode_levels=self.encode_levels,
        )  # fmt: skip

    def has_numbers_alone(self, row: Mapping[Hashable, Any]) -> bool:
        """Whether all columns of a row are known ones of numbers, as of most rows."""
        return row.keys() <= self.numbers.keys()

    def news(self, row: Mapping[Hashable, Any]) -> News:
        """Columns and levels of a row that are new."""
        news, is_full = News(), self.slots and len(self.kinds) >= MOST_COLUMNS
        for name, value in row.items():
            if name in self.numbers or is_missing(value):
                continue
            levels = self.levels_of.get(name)
            if levels is None:
                (news.surplus if is_full else news.taken).append(name)
                if value_kind(value) == LEVELS:
                    news.counts[name] = 1
            else:
                is_new = levels.place_of(value) is None
                if is_new:
                    (news.beyond if levels.is_full else news.taken).append(name)
                news.counts[name] = int(is_new and not levels.is_full)
        return news

    def grown(self, row: Mapping[Hashable, Any], n_labels: int = 2) -> Self:
        """The map with the new columns and levels of a row, in the order of names.

        `n_labels` are known with the row.
        """
        coding = LevelCoding.of(self.encode_levels, n_labels)
        slots, levels_of, kinds = [*self.slots], dict(self.levels_of), dict(self.kinds)
        names = self.news(row).taken
        for name in sorted(names, key=lambda name: (str(name), type(name).__name__)):
            value = row[name]
            if name not in kinds:
                if self.slots and len(kinds) >= MOST_COLUMNS:
                    continue
                kind = value_kind(value)
                if kind is None:
                    raise unusable("x", name, value)
                check_names([name], "x")
                kinds[name] = kind
            if kinds[name] != LEVELS:
                slots.append((name, None))
                continue
            check_level(name, value, argument="x")
            before = levels_of.get(name, Levels(limit=coding.most))
            levels_of[name] = levels = before.grown(level_text(value), coding=coding)
            slots += levels.slots(name, before)
        return type(self)(tuple(slots), levels_of, kinds, self.encode_levels)

    def encode(self, row: Mapping[Hashable, Any]) -> Matrix:
        """A row's features, ndarray of shape (1, width); what is not known is left out.

        Raises
        ------
        UnusableValueError, ValueError
            For what is no dict, what is no number in a column of numbers, and numbers
            that are too large.
        """
        check_row(row)
        values, numbers, kinds = [np.nan] * self.n_features, self.numbers, self.kinds
        for name, value in row.items():
            place = numbers.get(name)
            if place is None:
                self._mark(values, name, value)
            elif (
                type(value) in PLAIN
                and kinds[name] == NUMBERS
                and -LARGEST <= value <= LARGEST
            ):
                values[place] = value
            elif not is_missing(value):
                values[place] = self._number(name, value)
        return np.array([values], dtype=np.float64)

    def _number(self, name: Hashable, value: Any) -> float:
        """A value of a column of numbers, or of times in days."""
        kind = self.kinds[name]
        number = number_of(value, kind)
        if number is not None and abs(number) <= LARGEST:
            return number
        if value_kind(value) == kind:
            raise ArgumentError(
                "x",
                "must hold numbers of at most {largest:g} in size in column {label!r}",
                value,
                "Rescale it first.",
                largest=LARGEST,
                label=name,
            )
        remedy = "It did before; give another kind of value a column of its own."
        raise misfit("x", name, kind, value, remedy=remedy)

    def _mark(self, values: list[float], name: Hashable, value: Any) -> None:
        """Put 0 and 1 in the places of a column's levels."""
        if is_missing(value):
            return
        levels = self.levels_of.get(name)
        code = None if levels is None else levels.place_of(value)
        if levels is None or code is None:
            check_level(name, value, argument="x", takes_times=levels is None)
            return  # a level that no row had is missing, as everywhere
        feature = levels.features_of[code]
        for k, place in enumerate(self.level_places[name]):
            values[place] = float(k == feature)
        for place in self.effect_places.get(name, ()):
            values[place] = float(code)


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
