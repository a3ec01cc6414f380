"""Factors: an expression of a formula, and the levels it stands for, if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.columns import LEVELS, Column, kind_of
from dyntree.encoding.expressions import Expression
from dyntree.encoding.levels import (
    TERM,
    check_level,
    indicators,
    level_names,
    new_levels,
    sorted_levels,
)
from dyntree.encoding.series import objects_of
from dyntree.encoding.tables import Table
from dyntree.encoding.values import check_levels, is_missing
from dyntree.labels import Level, level_of, level_text

Levels = tuple[Level, ...]


@dataclass(frozen=True)
class Factor:
    """A factor of a term: numbers, or one 0/1 feature a level.

    Parameters
    ----------
    expression : Expression
    levels : tuple of str, int, float or bool, optional
        None for numbers.
    """

    expression: Expression
    levels: tuple[Level, ...] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each level, by its text."""
        return {level_text(level): k for k, level in enumerate(self.levels or ())}

    @cached_property
    def cells(self) -> dict[str, tuple[float, ...]]:
        """Features of each level, by its text."""
        rows = indicators(np.arange(len(self.places), dtype=float), len(self.places))
        return dict(zip(self.places, map(tuple, rows.tolist()), strict=True))

    @property
    def names(self) -> list[str]:
        """Names of its features."""
        label = self.expression.label
        if self.levels is None:
            return [label]
        return level_names(TERM, label, self.levels)

    @classmethod
    def learn(
        cls, expression: Expression, table: Table, declared: Mapping[str, Levels]
    ) -> Self:
        """A factor with the levels that were declared or the table has, if any."""
        if not expression.is_bare and not expression.is_category:
            return cls(expression)
        (name,) = expression.columns
        column, levels = table.read(name), declared.get(name)
        plain = not (expression.is_category or name in declared or column.is_category)
        if plain and kind_of(name, column) != LEVELS:
            return cls(expression)
        if levels is None:
            levels = levels_in(name, column)
            check_levels(name, levels)
        if not levels:
            raise ValueError(
                f"data must have a value in column {name!r}, whose levels are to be "
                f"learned; got none. Name them: categories={{{name!r}: [...]}}."
            )
        return cls(expression, levels)

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        levels = None if self.levels is None else [*self.levels]
        return self.expression.to_header() | {"levels": levels}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """The factor that `to_header` described, checked."""
        expression, levels = Expression.from_header(header), header["levels"]
        if levels is None and not expression.is_category:
            return cls(expression)
        if not (expression.is_category or expression.is_bare) or not levels:
            raise ValueError(f"{expression.label!r} can have no levels")
        for level in levels:
            if not isinstance(level, str | int | float) or is_missing(level):
                raise ValueError(f"levels must be text or numbers; got {levels!r}")
        if len({level_text(level) for level in levels}) != len(levels):
            raise ValueError(f"levels must be distinct; got {levels!r}")
        return cls(expression, tuple(levels))


def levels_in(name: str, column: Column) -> Levels:
    """Levels of a column: its categories, or its values in order.

    Raises
    ------
    UnusableValueError
        For a value that can be no level.
    """
    values = column.objects()
    if column.categories is not None:
        kind_of(name, column)  # refuses values that are none
        values = list(column.categories)
    elif not column.is_category:
        for row, value in column.present():
            check_level(name, value, row, takes_times=True)
    found = [level_of(values[row]) for row in new_levels(values).values()]
    levels = [level for level in found if level is not None]
    return tuple(levels if column.categories is not None else sorted_levels(levels))


def names_of(term: tuple[Factor, ...]) -> list[str]:
    """Names of a term's features: of each choice of a feature a factor."""
    names = term[0].names
    for factor in term[1:]:
        names = [f"{left}:{right}" for left in names for right in factor.names]
    return names


def declared_levels(
    categories: Mapping[str, Sequence[Level]] | None, columns: Sequence[str]
) -> dict[str, Levels]:
    """Levels that the user named for some of these columns, checked."""
    params.level_table(categories or {})
    for name in categories or {}:
        if name not in columns:
            raise ValueError(
                f"categories must name columns of the formula, {list(columns)}; got "
                f"{name!r}."
            )
    return {
        name: levels_in(name, Column(objects_of([*given]), categories=(*given,)))
        for name, given in (categories or {}).items()
    }
