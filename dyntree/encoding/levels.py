"""From a value to its level, and 0/1 features of levels, for all rows alike.

A level is known by its text. Equal numbers are one level: 1, 1.0 and ``np.int64(1)``,
and the texts "1" and "1.0", are the level 1; other text, such as "01", is itself. True
and False are levels of these names, and the levels 1 and 0 where a column has those
instead, and the other way around.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from dyntree.encoding.columns import LEVELS, NUMBERS, Column, misfit, value_kind
from dyntree.encoding.values import Matrix, Vector, declared, is_missing
from dyntree.errors import ManyLevelsWarning, warn
from dyntree.params.labels import Level, check_text, level_text

MOST_NEW = 100  # by how many new values may outnumber others before it is told

COLUMN = "{column}={level}"  # names of features of columns as they are
TERM = "{column}[{level}]"  # those of a formula's terms, as statsmodels has them


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


def level_codes(
    name: object, column: Column, places: Mapping[str, int], argument: str = "X"
) -> Vector:
    """Place of each value among levels: -1 where it is none, NaN where missing.

    Raises
    ------
    UnusableValueError, ValueError
        For a value that is no level and can become none.
    """
    codes = np.empty(len(column))
    for row, value in enumerate(column.objects()):
        place = places.get(value) if type(value) is str else None
        if place is None:
            if is_missing(value):
                codes[row] = np.nan
                continue
            place = place_of(value, places)
        if place is None:
            if column.is_category:
                check_level_text(name, value, row, argument)
            else:
                check_level(name, value, row, argument)
            place = -1
        codes[row] = place
    return codes


def check_level(
    name: object,
    value: Any,
    row: int | None = None,
    argument: str = "data",
    takes_times: bool = False,
) -> None:
    """Raise an error for a value that can become no level."""
    kind = value_kind(value)
    if kind == LEVELS:
        check_level_text(name, value, row, argument)
    if kind is None or not (kind in (LEVELS, NUMBERS) or takes_times):
        remedy = "Give another kind of value another column."
        raise misfit(argument, name, LEVELS, value, row, remedy)


def check_level_text(
    name: object, value: Any, row: int | None = None, argument: str = "data"
) -> None:
    """Raise ValueError for text with a lone surrogate; see `labels.check_text`."""
    if isinstance(value, str):
        check_text(value, argument, row=row, column=name)


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


class LevelCounts:
    """How many values of each column of levels were new; warns once a column.

    It warns once the values of a column that were new outnumber those that had come
    before by more than `MOST_NEW`. An identifier gets there with its 101st value. With
    k equally frequent levels the lead of the new ones is largest when half of them have
    come, k (1 - log 2) = 0.31 k on average: 250 levels do not get there, save by rare
    chance, nor do more of which some are frequent.

    Examples
    --------
    >>> counts = LevelCounts()
    >>> counts.count("site", n_values=500, n_new=200)
    """

    def __init__(self) -> None:
        self._lead: dict[Hashable, int] = {}
        self._told: set[Hashable] = set()

    def count(self, name: Hashable, n_values: int, n_new: int) -> None:
        """Count values of a column, so many of which were new levels."""
        lead = self._lead.get(name, 0) + 2 * n_new - n_values
        self._lead[name] = lead
        if lead > MOST_NEW and name not in self._told:
            self._told.add(name)
            warn(
                ManyLevelsWarning,
                "column {name!r} holds text, and most of its values are new, as in a "
                "column of identifiers. Each value is a level, which needs its own "
                "feature, memory and time. Leave the column out, convert it to "
                "numbers, or name the levels to use: {declared}.",
                name=name,
                declared=declared(name),
            )

    def copy(self) -> LevelCounts:
        """An independent count that goes on from here."""
        again = LevelCounts()
        again._lead, again._told = dict(self._lead), set(self._told)
        return again


def sorted_levels(levels: Iterable[Level]) -> list[Level]:
    """Levels in increasing order, or as they come where they have none."""
    found = list(levels)
    try:
        return sorted(found)
    except TypeError:
        return found


def level_names(form: str, column: object, levels: Iterable[object]) -> list[str]:
    """Names of the features of a column's levels.

    Parameters
    ----------
    form : str
        `COLUMN` or `TERM`.
    column : object
    levels : iterable

    Examples
    --------
    >>> level_names(COLUMN, "site", ["u", "v"]), level_names(TERM, "C(site)", [1])
    (['site=u', 'site=v'], ['C(site)[1]'])
    """
    return [form.format(column=column, level=level) for level in levels]


def indicators(places: Vector, n_levels: int, first: int = 0) -> Matrix:
    """Features of levels, 1 where a row has the level and 0 where it has another.

    Parameters
    ----------
    places : ndarray of shape (n_rows,)
        Of each row's level; below 0 or NaN where it has none that is known.
    n_levels : int
        How many of the levels have features here.
    first : int, default 0
        Place of the first of them.

    Returns
    -------
    ndarray of shape (n_rows, n_levels)
        NaN in rows without a known level.

    Examples
    --------
    >>> indicators(np.array([1.0, -1.0]), 2)
    array([[ 0.,  1.],
           [nan, nan]])
    """
    levels = np.arange(first, first + n_levels)
    rows: Matrix = (places[:, None] == levels).astype(np.float64)
    rows[~(places >= 0.0)] = np.nan
    return rows
