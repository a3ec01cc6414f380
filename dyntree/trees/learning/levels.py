"""Levels that a tree does not know -> counts of them, warnings and errors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import LevelCounts
from dyntree.encoding.values import MOST_COLUMNS, MOST_LEVELS, Matrix, declared
from dyntree.errors import (
    ManyLevelsWarning,
    Message,
    MissingInputWarning,
    UnseenLevelWarning,
    warn,
)


def listed(names: Sequence[Hashable]) -> Message:
    """Columns in words.

    Examples
    --------
    >>> print(listed(["a"]), listed(["a", "b"]), listed([*"abcde"]), sep="; ")
    column 'a'; columns 'a', 'b'; columns 'a', 'b', 'c' and 2 more
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    noun = "column" if len(names) == 1 else "columns"
    return Message(f"{noun} {{names:items}}{more}", names=list(names[:3]))


def warn_unseen(names: Sequence[str], grows: bool) -> None:
    """Warn of columns with levels that are not known and count as missing."""
    when, remedy = "are later than the first trees", "new_levels='grow'"
    if grows:
        when, remedy = "no row learned has had", "learn such rows first"
    warn(
        UnseenLevelWarning,
        "X has levels in {listed} that {when}; they count as missing, and such rows "
        "are predicted over all levels, by how often each was learned. Name all "
        "levels at the start: {declared}, or {remedy}.",
        listed=listed(names),
        when=when,
        declared=declared(names[0]),
        remedy=remedy,
    )


def warn_missing(names: Sequence[Hashable], n_rows: int, argument: str) -> None:
    """Warn that rows lack values in columns where all rows learned had one."""
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
    warn(
        MissingInputWarning,
        "{argument!a} has no value in {listed} in {rows}, and all rows learned had "
        "one. Such rows are predicted over all values that the column may have had: "
        "their distributions are wide, and do not use that a value is missing. Give "
        "the values, or learn such rows.",
        argument=argument,
        listed=listed(names),
        rows=rows,
    )


def count_new(
    counts: LevelCounts,
    before: FeatureMap | None,
    after: FeatureMap,
    rows: Matrix,
    coded: bool,
) -> None:
    """Count new levels among rows that are to be learned, but for declared columns.

    `before` and `after` are the columns without these rows and with them. `rows` are
    codes, shape (n_rows, n_columns), or else features, shape (n_rows, n_features).
    """
    known = {} if before is None else before.levels_of
    places, declared = after.places, frozenset(after.declared)
    if coded:
        places = after.column_places
    for name, levels in after.levels_of.items():
        if name not in declared:
            place = places[name]
            n_values = int(np.count_nonzero(~np.isnan(rows[:, place])))
            counts.count(name, n_values, len(levels) - len(known.get(name, ())))


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


def warn_surplus(name: Hashable) -> None:
    """Warn of rows with more columns than are taken."""
    warn(
        ManyLevelsWarning,
        "rows have had more than {most_columns} different columns; {name!r} and all "
        "other new ones are ignored. Each column needs its own feature, memory and "
        "time. Give rows the same columns, and put what varies into values.",
        most_columns=MOST_COLUMNS,
        name=name,
    )
