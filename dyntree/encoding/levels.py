"""From a value to its level, and 0/1 features of levels, for all rows alike.

A level is known by its text. Equal numbers are one level: 1, 1.0 and ``np.int64(1)``,
and the texts "1" and "1.0", are the level 1; other text, such as "01", is itself. True
and False are levels of these names, and the levels 1 and 0 where a column has those
instead, and the other way around.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.as_text import ENOUGH, Meaning, meaning
from dyntree.encoding.columns import LEVELS, NUMBERS, Column, misfit, value_kind
from dyntree.encoding.values import MOST_LEVELS, Matrix, Vector, declared, is_missing
from dyntree.errors import (
    ManyLevelsWarning,
    UnseenLevelWarning,
    warn,
)
from dyntree.params.labels import (
    Level,
    check_text,
    level_of,
    level_text,
)

MOST_NEW = 100  # by how many new values may outnumber others before there is a warning

COLUMN = "{column}={level}"  # names of features of columns as they are
TERM = "{column}[{level}]"  # those of a formula's terms, as statsmodels has them
EFFECT = "effect of {column}"  # the name of an effect column
Slot = tuple[Any, int | None]  # column of a feature, and the code of its level
MOST_ONEHOT = 32  # levels of a column that have features of their own
FEWEST_EFFECTS = 9  # levels at which a column gains effect columns
MOST_EFFECTS = 8  # effect columns of a column, one for each of so many labels


@dataclass(frozen=True)
class LevelCoding:
    """Which levels of a column have a feature, and when it has effect columns.

    Attributes
    ----------
    most : int or float
        Levels that may have features. If there are more at first, none has one.
    fewest : int or float
        Levels from which on the column has effect columns.
    n_effects : int
        Effect columns of each column: one for each label but the last, else one.
    """

    most: float = np.inf
    fewest: float = np.inf
    n_effects: int = 1

    @classmethod
    def of(cls, encode_levels: str, n_labels: int = 2) -> Self:
        """The coding of the option `encode_levels`, with so many labels.

        Examples
        --------
        >>> LevelCoding.of("auto", n_labels=4)
        LevelCoding(most=32, fewest=9, n_effects=3)
        """
        n_effects = min(max(n_labels - 1, 1), MOST_EFFECTS)
        if encode_levels == "onehot":
            return cls(n_effects=n_effects)
        if encode_levels == "effect":
            return cls(2, 3, n_effects)
        return cls(MOST_ONEHOT, FEWEST_EFFECTS, n_effects)


ONEHOT = LevelCoding()  # each level has a feature


def effect_names(column: object, n_effects: int) -> list[str]:
    """Names of the effect columns of a column.

    Examples
    --------
    >>> effect_names("shop", 2)
    ['effect of shop', 'effect of shop (2)']
    """
    first = EFFECT.format(column=column)
    return [first, *(f"{first} ({k + 1})" for k in range(1, n_effects))][:n_effects]


def place_of(value: Any, places: Mapping[str, int]) -> int | None:
    """Place of a value's level among levels by their texts; None for a new one.

    Examples
    --------
    >>> places = {"1": 0, "True": 1, "2.0": 2}
    >>> [place_of(value, places) for value in (1.0, "1.0", np.True_, 2, "2", False)]
    [0, 0, 1, 2, 2, None]
    """
    text = value if type(value) is str else level_text(value)
    place = places.get(text)
    if place is not None:
        return place
    if isinstance(value, bool | np.bool_):
        return places.get(str(int(value)))
    number = _whole(text)
    if number is None:
        return None
    others = [str(number), f"{number}.0"]
    if number in (0, 1) and not isinstance(value, str):
        others.append(str(bool(number)))
    return next((places[one] for one in others if one in places), None)


def _whole(text: str) -> int | None:
    """The whole number that a text spells just as Python does, 1 or 1.0."""
    digits = text.removesuffix(".0")
    if not digits.removeprefix("-").isdecimal():
        return None
    number = int(digits) if len(digits) < 400 else None
    return number if str(number) == digits else None


def check_level(
    name: object,
    value: Any,
    row: int | None = None,
    argument: str = "data",
    is_category: bool = False,
    takes_times: bool = False,
) -> None:
    """Raise an error for a value that can become no level; a category holds any."""
    kind = LEVELS if is_category else value_kind(value)
    if kind == LEVELS and isinstance(value, str):
        check_text(value, argument, row=row, column=name)
    if kind is None or not (kind in (LEVELS, NUMBERS) or takes_times):
        remedy = "Give another kind of value another column."
        raise misfit(argument, name, LEVELS, value, row, remedy)


def new_levels(
    values: Iterable[Any], known: Iterable[str] = (), most: float = np.inf
) -> dict[str, int]:
    """Levels of values that are not known, by text, in the order in which they come.

    Parameters
    ----------
    values, known : iterable
    most : int, optional
        How many there can be.

    Returns
    -------
    dict of str to int
        Of each the first row.

    Examples
    --------
    >>> new_levels(["u", None, 1.0, True, 1, "v"], known=["u"])
    {'1': 2, 'v': 5}
    """
    places = dict.fromkeys(known, -1)
    found: dict[str, int] = {}
    for row, value in enumerate(values):
        if type(value) is str and value in places:
            continue
        if len(found) >= most:
            break
        if not is_missing(value) and place_of(value, places) is None:
            text = level_text(value)
            found[text] = places[text] = row
    return found


@dataclass(frozen=True)
class Levels:
    """Levels of a column, and the 0/1 features that stand for them.

    Each level has a feature, but for the one that is 0 in all of them: two levels
    share one feature, as the values of a bool do.

    Parameters
    ----------
    labels : tuple of str, int, float or bool
        The levels. The place of a level among them is its code.
    rest : int, optional
        Place of the level that is 0 in all features: the first of two that were there
        at first, or the second where it was added later.
    limit : int or float, default infinity
        How many levels have a feature at most, the first ones; all others are 0 in all
        features.
    n_effects : int, default 0
        Number of effect columns. They hold the code of the level until a model puts
        the effect of the level in its place; see `LevelEffects`.

    Examples
    --------
    >>> two = Levels.settled(["u", "v"])
    >>> two.features(np.array([0.0, 1.0, np.nan])).tolist()
    [[0.0], [1.0], [nan]]
    >>> two.grown("w").names(COLUMN, "site")
    ['site=v', 'site=w']
    """

    labels: tuple[Level, ...] = ()
    rest: int | None = None
    limit: float = np.inf
    n_effects: int = 0

    @classmethod
    def settled(cls, labels: Iterable[Level], coding: LevelCoding = ONEHOT) -> Self:
        """Levels that are there at first."""
        labels = tuple(labels)
        return cls(labels, 0 if len(labels) == 2 else None).coded(coding)

    def coded(self, coding: LevelCoding) -> Self:
        """The same levels, with features as others at first would have."""
        n = len(self)
        limit = coding.most if n <= coding.most else 0
        n_effects = coding.n_effects if n >= coding.fewest else 0
        return replace(self, limit=limit, n_effects=n_effects)

    @property
    def stored_limit(self) -> int | None:
        """The limit as files have it: None for infinity."""
        return None if self.limit == np.inf else int(self.limit)

    def grown(self, *late: Level, coding: LevelCoding = ONEHOT) -> Self:
        """The levels with later ones; a second level adds no feature."""
        labels = (*self.labels, *late)
        n_effects = self.n_effects
        if not n_effects and len(labels) >= coding.fewest:
            n_effects = coding.n_effects
        rest = 1 if len(self) < 2 <= len(labels) else self.rest
        return replace(self, labels=labels, rest=rest, n_effects=n_effects)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_full(self) -> bool:
        """Whether the column takes no more levels."""
        return len(self.labels) >= MOST_LEVELS

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each level, by its text."""
        return {level_text(level): k for k, level in enumerate(self.labels)}

    def place_of(self, value: Any) -> int | None:
        """Place of a value's level; None for a new one."""
        return place_of(value, self.places)

    def codes(
        self,
        name: object,
        column: Column,
        argument: str = "data",
        *,
        takes_times: bool = False,
        on_new: Callable[[Any, int], None] | None = None,
    ) -> Vector:
        """Code of each value: -1 where it is no level, NaN where it is missing.

        Parameters
        ----------
        name : object
        column : Column
        argument : str, default "data"
            What errors call the table.
        takes_times : bool, default False
            Whether dates and durations can be levels, too.
        on_new : callable, optional
            Called with a value that is none of the levels, and its row.

        Raises
        ------
        UnusableValueError, ValueError
            For a value that is no level and can become none.
        """
        codes, places = np.empty(len(column)), self.places
        for row, value in enumerate(column.objects()):
            place = places.get(value) if type(value) is str else None
            if place is None:
                if is_missing(value):
                    codes[row] = np.nan
                    continue
                place = place_of(value, places)
            if place is None:
                place, is_category = -1, column.is_category
                check_level(name, value, row, argument, is_category, takes_times)
                if on_new is not None:
                    on_new(value, row)
            codes[row] = place
        return codes

    def new(
        self,
        name: object,
        column: Column,
        argument: str = "data",
        *,
        takes_times: bool = False,
        is_limited: bool = True,
    ) -> dict[int, Level]:
        """Levels of a column that are new, by the row that has each first.

        There are at most `MOST_LEVELS` with these, where they are limited. Parameters
        and errors are else those of `codes`.
        """
        values, found = column.objects(), {}
        most = MOST_LEVELS - len(self) if is_limited else np.inf
        for row in new_levels(values, self.places, most).values():
            value, is_category = values[row], column.is_category
            check_level(name, value, row, argument, is_category, takes_times)
            if (level := level_of(value)) is not None:
                found[row] = level
        return found

    def of_type(
        self, name: object, column: Column, argument: str = "data"
    ) -> tuple[str, ...]:
        """Levels that the type of a column names, as these levels call them.

        There are none where the type names more than `MOST_LEVELS`: such a column
        counts by what its rows have.

        Examples
        --------
        >>> import pandas as pd
        >>> from dyntree.encoding.series import column_of
        >>> site = column_of(pd.Categorical(["u"], categories=["u", "v"]))
        >>> Levels(("u",)).of_type("site", site)
        ('u', 'v')
        """
        categories = column.categories or ()
        if len(categories) > MOST_LEVELS:
            return ()
        texts: dict[str, None] = {}
        for value in categories:
            check_level(name, value, None, argument, is_category=True)
            place = self.place_of(value)
            level = value if place is None else self.labels[place]
            texts[level_text(level)] = None
        return tuple(texts)

    @property
    def meaning(self) -> Meaning | None:
        """What they are if they are numbers or dates as text; see `as_text`."""
        return meaning([*self.places])

    # ------------------------------------------------------------ features
    @cached_property
    def featured(self) -> list[int]:
        """Codes of the levels that have a feature, in the order of the features."""
        return [k for k in range(len(self)) if k != self.rest and k < self.limit]

    @cached_property
    def features_of(self) -> list[int]:
        """Place of the feature of each level among theirs; -1 for one without."""
        places = {code: place for place, code in enumerate(self.featured)}
        return [places.get(k, -1) for k in range(len(self))]

    def slots(self, column: Any, before: Levels | None = None) -> list[Slot]:
        """Column and code of the features, or of those that come after others.

        Effect columns are last, with the codes -1, -2, ...
        """
        first = 0 if before is None else len(before.featured)
        first_effect = 0 if before is None else before.n_effects
        codes = [*self.featured[first:]]
        codes += [-1 - k for k in range(first_effect, self.n_effects)]
        return [(column, code) for code in codes]

    def names(self, form: str, column: object) -> list[str]:
        """Names of the features, of the form `COLUMN` or `TERM`; effects are last."""
        levels = [self.labels[k] for k in self.featured]
        names = [form.format(column=column, level=level) for level in levels]
        return names + effect_names(column, self.n_effects)

    def features(self, codes: Vector) -> Matrix:
        """Features of rows with these codes, NaN where there is no level.

        Effect columns are last; they hold the codes.
        """
        rows: Matrix = (codes[:, None] == self.featured).astype(np.float64)
        if self.n_effects:
            rows = np.hstack([rows, np.tile(codes[:, None], self.n_effects)])
        rows[~(codes >= 0.0)] = np.nan
        return rows

    def has(self, features: Matrix, level: str) -> NDArray[np.bool_]:
        """Which rows of features have a level, of shape (n_rows,).

        Of features beside effect columns.
        """
        feature = self.features_of[self.places[level]]
        found: NDArray[np.bool_] = features[:, feature] == 1.0
        return found if feature >= 0 else (features == 0.0).all(axis=1)


def widened(rows: Matrix, width: int, groups: Iterable[Sequence[int]]) -> Matrix:
    """Rows with the features of later levels, which are last.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_before)
    width : int
        Number of features with the late ones.
    groups : iterable of sequences of int
        Places of the features of levels of one column or term, in increasing order.
        Late ones are 0 where the first has a value; all others are missing.
    """
    n_before = rows.shape[1]
    wide = np.full((len(rows), width), np.nan)
    wide[:, :n_before] = rows
    for group in groups:
        late = [place for place in group[1:] if place >= n_before]
        if late:
            wide[np.ix_(~np.isnan(wide[:, group[0]]), late)] = 0.0
    return wide


class ColumnFeatures:
    """Columns of numbers, each a feature, and of levels, which have one each.

    A column with many levels also has effect columns, whose slots have negative codes,
    -1 for the first.
    """

    @cached_property
    def slots(self) -> Sequence[Slot]:
        """Column of each feature, and the code of its level where it is of one.

        Later columns and levels are last.
        """
        raise NotImplementedError

    @cached_property
    def levels_of(self) -> dict[Any, Levels]:
        """Levels of each column that has some, in the order of their codes."""
        raise NotImplementedError

    @cached_property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.slots)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self._title(name, code) for name, code in self.slots)

    def _title(self, name: Any, code: int | None) -> str:
        """Name of the feature of a slot."""
        if code is None:
            return str(name)
        if code < 0:
            return effect_names(name, -code)[-1]
        level = self.levels_of[name].labels[code]
        return COLUMN.format(column=name, level=level)

    @cached_property
    def numbers(self) -> dict[Any, int]:
        """Place of the feature of each column without levels."""
        return {name: k for k, (name, code) in enumerate(self.slots) if code is None}

    @cached_property
    def level_places(self) -> dict[Any, list[int]]:
        """Places of the features of each column that has levels, without effects."""
        places: dict[Any, list[int]] = {name: [] for name in self.levels_of}
        for place, (name, code) in enumerate(self.slots):
            if code is not None and code >= 0:
                places[name].append(place)
        return places

    @cached_property
    def effect_places(self) -> dict[Any, list[int]]:
        """Places of the effect columns of each column that has some."""
        places: dict[Any, list[int]] = {}
        for place, (name, code) in enumerate(self.slots):
            if code is not None and code < 0:
                places.setdefault(name, []).append(place)
        return places

    def widen(self, rows: Matrix) -> Matrix:
        """Rows that earlier, fewer columns have encoded, as these would have."""
        return widened(rows, self.n_features, self.level_places.values())


class LevelCounts:
    """How many values of each column of levels were new; warns once a column.

    It warns once the values of a column that were new outnumber those that had come
    before by more than `MOST_NEW`. An identifier gets there with its 101st value. With
    k equally frequent levels the lead of the new ones is largest when half of them have
    come, k (1 - log 2) = 0.31 k on average: 250 levels do not get there, save by rare
    chance, nor do more of which some are frequent.

    It also warns of a column whose levels are numbers or dates as text, and then of
    nothing else; see `as_text.meaning`.

    Examples
    --------
    >>> counts = LevelCounts()
    >>> counts.count("site", n_values=500, n_new=200)
    """

    def __init__(self) -> None:
        self._lead: dict[Hashable, int] = {}
        self._warned: set[Hashable] = set()
        self._read: set[Hashable] = set()  # those of which it is known what they hold

    def count(
        self,
        name: Hashable,
        n_values: int,
        n_new: int,
        levels: Iterable[Any] = (),
    ) -> None:
        """Count values of a column, so many of which were new.

        `levels` are all that it has with these, each once or more.
        """
        if n_new and name not in self._read:
            self._check_text(name, levels)
        lead = self._lead.get(name, 0) + 2 * n_new - n_values
        self._lead[name] = lead
        if lead > MOST_NEW and name not in self._warned:
            warn(
                ManyLevelsWarning,
                "column {name!r} holds text, and most of its values are new, as in a "
                "column of identifiers. Each value is a level, which needs memory, and "
                "of which few rows say little. Leave the column out, convert it to "
                "numbers or dates, or name the levels to use: {declared}.",
                name=name,
                declared=declared(name),
            )
            self._warned.add(name)

    def _check_text(self, name: Hashable, levels: Iterable[Any]) -> None:
        """Warn of levels that are numbers or dates as text, once a column."""
        texts = [*dict.fromkeys(level_text(v) for v in levels if not is_missing(v))]
        found = meaning(texts)
        if found is not None:
            found.warn(name)
            self._warned.add(name)
        if found is not None or len(texts) > ENOUGH:
            self._read.add(name)

    def leave(self, name: Hashable) -> None:
        """Leave a column alone whose levels are meant."""
        self._read.add(name)

    def copy(self) -> LevelCounts:
        """An independent count that goes on from here."""
        again = LevelCounts()
        again._lead, again._warned = dict(self._lead), set(self._warned)
        again._read = set(self._read)
        return again


def warn_full(name: Hashable) -> None:
    """Warn of a column with more levels than it can take."""
    warn(
        UnseenLevelWarning,
        "X has more than {most_levels} levels in column {name!r}; all others count "
        "as missing. Leave such a column out, make it numbers, or name the levels to "
        "use: {declared}.",
        most_levels=MOST_LEVELS,
        name=name,
        declared=declared(name),
    )


def sorted_levels(levels: Iterable[Level]) -> list[Level]:
    """Levels in increasing order, or as they come where they have none."""
    found = list(levels)
    try:
        return sorted(found)
    except TypeError:
        return found
