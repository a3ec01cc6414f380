"""A variable of raw data that is moved in all rows: its values, and the rows then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.columns import (
    DAY,
    DURATION,
    NUMBERS,
    ZONED,
    Column,
    number_of,
    numbers_of,
)
from dyntree.encoding.design import Design
from dyntree.encoding.levels import Levels
from dyntree.encoding.required_columns import check_columns
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message

CHANGES = ("sd", "iqr", "pairwise")


@dataclass(frozen=True)
class Pair:
    """Two settings that are compared.

    Attributes
    ----------
    low, high : int
        Their places.
    names : tuple of str
        Of the high one and of the low one, or of the step between them alone.
    """

    low: int
    high: int
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Moves:
    """Values that a variable takes in all rows, and which of them are compared.

    Attributes
    ----------
    settings : tuple of Column
        The variable in every row, once for each setting.
    pairs : tuple of Pair
        What is compared.
    counts : ndarray of bool of shape (n_rows,)
        Rows in which the variable can be moved.
    """

    settings: tuple[Column, ...]
    pairs: tuple[Pair, ...]
    counts: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Variable:
    """A column of raw data that the terms of a formula are made of.

    Attributes
    ----------
    name : str
    kind : str
        "number", a kind of time, which counts in days, or "levels".
    levels : Levels, optional
        Levels that are known; None for numbers and times.
    column : Column
        Its values in the rows asked.
    typical : Column
        Its values in the rows that tell how far it spreads.
    """

    name: str
    kind: str
    levels: Levels | None
    column: Column
    typical: Column

    @classmethod
    def of(cls, design: Design, name: Any, table: Table, typical: Table) -> Variable:
        """A variable of a design, by name.

        Raises
        ------
        ValueError
            If there is no such variable, or the rows lack a column.
        """
        if name not in design.columns:
            raise ArgumentError(
                "variables",
                "must be columns of the formula, {columns}",
                name,
                columns=list(design.columns),
            )
        check_columns(table, design.columns)
        levels = design.levels_of.get(name)
        kind = "levels" if levels is not None else design.kinds[name]
        return cls(name, kind, levels, table.read(name), typical.read(name))

    def moves(self, contrast: Any = None) -> Moves:
        """What is compared with what.

        Parameters
        ----------
        contrast : None, number, (low, high), "sd", "iqr" or "pairwise"
            None: from 0 to 1 for what has only these values, by one for other numbers,
            each level against the first. A number: by so much. "sd": by a standard
            deviation about the mean, "iqr" from the first to the third quartile;
            "pairwise": each level against each one before it.

        Raises
        ------
        ValueError
            If the variable cannot be moved like this.
        """
        if isinstance(contrast, str) and contrast not in CHANGES:
            raise self._wrong(contrast)
        if self.levels is not None:
            return self._moves_of_levels(self.levels, contrast)
        return self._moves_of_numbers(contrast)

    def leaves_data(self, move: Moves) -> bool:
        """Whether a step takes most rows beyond the values that were learned from."""
        if self.levels is not None or len(move.pairs[0].names) > 1:
            return False
        known, own = self._typical(), numbers_of(self.name, move.settings[1], self.kind)
        own = own[~np.isnan(own)]
        if not len(known) or not len(own):
            return False
        return bool(np.mean(own > known.max()) > 0.5)

    def can_stay_within(self, contrast: Any) -> bool:
        """Whether a default step can be replaced by one between values in the data."""
        known = np.empty(0) if self.levels is not None else self._typical()
        return contrast is None and len(known) > 0 and bool(np.ptp(known) > 0.0)

    def moves_within(self) -> Moves:
        """By a standard deviation about the mean, within the values of the data."""
        known = self._typical()
        ends = np.clip(self._spread("sd"), known.min(), known.max())
        settings = tuple(self._column(np.full(len(self.column), end)) for end in ends)
        names = ("(mean + sd/2)", "(mean - sd/2)")
        rows = np.ones(len(self.column), dtype=bool)
        return Moves(settings, (Pair(0, 1, names),), rows)

    def _wrong(self, contrast: Any, why: str = "") -> ValueError:
        """Error for a contrast that this variable does not have."""
        ways = "None, (low, high) or 'pairwise'"
        if self.levels is None:
            ways = "None, a number, (low, high), 'sd' or 'iqr'"
        return ArgumentError(
            "contrast",
            "must be {ways} for the variable {label!r}{why}",
            contrast,
            ways=ways,
            label=self.name,
            why=why,
        )

    def _ends(self, contrast: Any) -> tuple[Any, Any]:
        """The two values of a contrast."""
        if isinstance(contrast, str) or np.shape(contrast) != (2,):
            raise self._wrong(contrast)
        low, high = contrast
        return low, high

    # ------------------------------------------------------------ levels
    def _moves_of_levels(self, levels: Levels, contrast: Any) -> Moves:
        pairs = [(0, k) for k in range(1, len(levels))]
        if contrast == "pairwise":
            pairs = list(combinations(range(len(levels)), 2))
        elif contrast is not None:
            low, high = self._ends(contrast)
            pairs = [(self._place(levels, low), self._place(levels, high))]
        if not pairs:
            raise ArgumentError(
                "variables",
                "must have two values to compare",
                Message(
                    "{name!r} with the level {levels}",
                    name=self.name,
                    levels=list(levels.labels),
                ),
            )
        used = sorted({place for pair in pairs for place in pair})
        n_rows = len(self.column)
        settings = tuple(
            Column(np.full(n_rows, levels.labels[k], dtype=object), is_category=True)
            for k in used
        )
        texts = [*levels.places]
        named = tuple(
            Pair(used.index(low), used.index(high), (texts[high], texts[low]))
            for low, high in pairs
        )
        return Moves(settings, named, np.ones(n_rows, dtype=bool))

    def _place(self, levels: Levels, level: Any) -> int:
        """Place of a level that is known."""
        place = levels.place_of(level)
        if place is None:
            raise ArgumentError(
                "contrast",
                "must hold levels that the model knows of {label!r}, {levels}",
                level,
                label=self.name,
                levels=list(levels.labels),
            )
        return place

    # ------------------------------------------------------------ numbers and times
    def _moves_of_numbers(self, contrast: Any) -> Moves:
        own = numbers_of(self.name, self.column, self.kind)
        rows = np.ones(len(own), dtype=bool)
        if contrast is None:
            known = self._typical()
            is_binary = len(known) > 0 and bool(np.isin(known, (0.0, 1.0)).all())
            contrast = (0, 1) if is_binary and self.kind == NUMBERS else 1
        if isinstance(contrast, str):
            low, high = self._spread(contrast)
            names = ("Q3", "Q1")
            if contrast == "sd":
                names = ("(mean + sd/2)", "(mean - sd/2)")
        elif np.ndim(contrast) == 0:
            step = params.real("contrast", contrast)
            if step == 0.0:
                raise self._wrong(contrast, " and differ from 0")
            both = (self._column(own), self._column(own + step))
            return Moves(both, (Pair(0, 1, (f"{step:+g}",)),), ~np.isnan(own))
        else:
            ends = self._ends(contrast)
            low, high = (self._number(value, contrast) for value in ends)
            names = (str(ends[1]), str(ends[0]))
        settings = tuple(self._column(np.full(len(own), end)) for end in (low, high))
        return Moves(settings, (Pair(0, 1, names),), rows)

    def _number(self, value: Any, contrast: Any) -> float:
        """An end of a contrast as the trees count it, times in days."""
        number = number_of(value, self.kind)
        if number is None or not np.isfinite(number):
            raise self._wrong(contrast)
        return number

    def _typical(self) -> Vector:
        """Values that are there, where the spread is measured."""
        values = numbers_of(self.name, self.typical, self.kind)
        return values[~np.isnan(values)]

    def _spread(self, contrast: str) -> tuple[float, float]:
        """Ends of a contrast that the values of the variable tell."""
        known = self._typical()
        if contrast == "pairwise":
            raise self._wrong(contrast)
        if len(known) < 2 or not np.ptp(known) > 0.0:
            raise self._wrong(contrast, ", whose values must differ for that")
        if contrast == "iqr":
            low, high = np.quantile(known, [0.25, 0.75])
            return float(low), float(high)
        mean, sd = float(known.mean()), float(known.std(ddof=1))
        return mean - sd / 2.0, mean + sd / 2.0

    def _column(self, numbers: Vector) -> Column:
        """Numbers, or days, as a column that is read as they are."""
        return column_of_numbers(numbers, self.kind)


def column_of_numbers(numbers: Vector, kind: str) -> Column:
    """Numbers as a column of a kind that is read as they are; times come in days."""
    if kind == NUMBERS:
        return Column(numbers)
    code = "m8[us]" if kind == DURATION else "M8[us]"
    ticks = np.where(np.isnan(numbers), 0.0, np.round(numbers * DAY))
    times = ticks.astype(np.int64).astype(code)
    times[np.isnan(numbers)] = np.array("NaT", dtype=code)
    return Column(times, is_zoned=kind == ZONED)


def moved_rows(
    design: Design, table: Table, name: str, settings: Sequence[Column]
) -> Matrix:
    """Features of rows with a variable set to other values, one setting after another.

    Whatever terms the variable is part of move with it.

    Returns
    -------
    ndarray of shape (n_settings * n_rows, n_features)
    """
    columns = {one: table.read(one) for one in design.columns}
    blocks = [design.encode(Table(columns | {name: column})) for column in settings]
    return np.concatenate(blocks)


def moved_offsets(
    design: Design,
    table: Table,
    name: str,
    settings: Sequence[Column],
    total: Vector | None,
    replaced: Sequence[str] = (),
) -> Vector | None:
    """Offsets of the same rows, where they have some; the variable may be part of them.

    `total` are the offsets of the rows as they are, shape (n_rows,), with values in
    place of the arguments that are `replaced`; the answer is of shape (n_settings *
    n_rows,).
    """
    if total is None:
        return None
    own = design.offset(table, replaced)
    if own is None:
        return np.tile(total, len(settings))
    columns = {one: table.read(one) for one in design.needed(replaced)}
    blocks = []
    for column in settings:
        moved = design.offset(Table(columns | {name: column}), replaced)
        assert moved is not None
        blocks.append(total - own + moved)
    return np.concatenate(blocks)
