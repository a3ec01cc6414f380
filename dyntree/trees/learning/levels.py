"""Levels that a tree does not know -> counts of them, warnings and errors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import NewLevels
from dyntree.encoding.values import MOST_COLUMNS, MOST_LEVELS, Matrix, declared
from dyntree.errors import (
    ManyLevelsWarning,
    MissingInputWarning,
    UnseenLevelWarning,
    warn,
)


def refuse_unseen(features: FeatureMap, X: Any, codes: Matrix, argument: str) -> None:
    """Raise ValueError for the first level that is not known, in declared columns too.

    The rows are given as they came, with their codes, shape (n_rows, n_columns), by
    these columns, and by the name that errors give them.
    """
    names, found = features.names or (), features.unseen(codes, with_declared=True)
    if not found:
        return
    row, k = np.argwhere(codes[:, [names.index(name) for name in found]] < 0.0)[0]
    name = found[k]
    raise ValueError(
        f"{argument} must hold known levels in column {name!r}; got "
        f"{features.text_at(X, name, row)!r} in row {row}. Name all levels at the "
        f"start: {declared(name)}, or take others as they come: "
        "new_levels='grow'."
    )


def listed(names: Sequence[Hashable]) -> str:
    """Columns in words.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed([*"abcde"])
    ("column 'a'", "columns 'a', 'b'", "columns 'a', 'b', 'c' and 2 more")
    """
    some = ", ".join(map(repr, names[:3])) + f" and {len(names) - 3} more" * (
        len(names) > 3
    )
    return f"column{'s' * (len(names) > 1)} {some}"


def warn_unseen(names: Sequence[str], grows: bool) -> None:
    """Warn of columns with levels that are not known and count as missing."""
    came, remedy = "came after the first trees", "new_levels='grow'"
    if grows:
        came, remedy = "no row learned has had", "learn such rows first"
    warn(
        UnseenLevelWarning,
        f"X has levels in {listed(names)} that {came}; they count as missing, and "
        "such rows are predicted over all levels, by how often each was learned. Name "
        f"all levels at the start: {declared(names[0])}, or {remedy}.",
    )


def warn_missing(names: Sequence[Hashable], n_rows: int, argument: str) -> None:
    """Warn that rows lack values in columns where all rows learned had one."""
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
    warn(
        MissingInputWarning,
        f"{argument} has no value in {listed(names)} in {rows}, and all rows learned "
        "had one. Such rows are predicted over all values that the column may have "
        "had: their distributions are wide, and do not use that a value is missing. "
        "Give the values, or learn such rows.",
    )


def full_columns(features: FeatureMap) -> list[str]:
    """Columns that take no more levels, though nobody declared any."""
    full = [name for name, own in features.known.items() if len(own) >= MOST_LEVELS]
    return [name for name in full if name not in features.declared]


def count_new(
    counts: NewLevels,
    before: FeatureMap | None,
    after: FeatureMap,
    rows: Matrix,
    coded: bool,
) -> None:
    """Count new levels among rows that are to be learned, but for declared columns.

    `before` and `after` are the columns without these rows and with them. `rows` are
    codes, shape (n_rows, n_columns), or else features, shape (n_rows, n_features).
    """
    known = {} if before is None else before.known
    places, declared = after.places, frozenset(after.declared)
    if coded:
        places = after.column_places
    for name, levels in after.known.items():
        if name not in declared:
            place = places[name]
            n_values = int(np.count_nonzero(~np.isnan(rows[:, place])))
            counts.count(name, n_values, len(levels) - len(known.get(name, ())))


def warn_full(name: Hashable) -> None:
    """Warn of a column with more levels than it can take."""
    warn(
        UnseenLevelWarning,
        f"X has more than {MOST_LEVELS} levels in column {name!r}; all others count as "
        "missing. Leave such a column out, make it numbers, or name the levels to "
        f"use: {declared(name)}.",
    )


def warn_surplus(name: Hashable) -> None:
    """Warn of rows with more columns than are taken."""
    warn(
        ManyLevelsWarning,
        f"rows have had more than {MOST_COLUMNS} different columns; {name!r} and all "
        "other new ones are ignored. Each column needs its own feature, memory and "
        "time. Give rows the same columns, and put what varies into values.",
    )
