"""Factors: an expression of a formula, and the levels it stands for, if any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.bases import Basis, basis_from_header
from dyntree.encoding.codings import Coding
from dyntree.encoding.columns import LEVELS, Column, kind_of
from dyntree.encoding.expressions import Expression, Step
from dyntree.encoding.fitted_terms import learn_basis
from dyntree.encoding.formula_calls import wrong
from dyntree.encoding.levels import (
    TERM,
    check_level,
    check_level_text,
    indicators,
    level_names,
    new_levels,
    sorted_levels,
)
from dyntree.encoding.series import objects_of
from dyntree.encoding.tables import Table
from dyntree.encoding.values import (
    LARGEST,
    NAMED,
    Matrix,
    Vector,
    check_levels,
    is_missing,
)
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import Level, level_of, level_text

Levels = tuple[Level, ...]


@dataclass(frozen=True)
class Factor:
    """A factor of a term: numbers, columns for them, or columns for levels.

    Parameters
    ----------
    expression : Expression
    levels : tuple of str, int, float or bool, optional
        None for numbers.
    coding : Coding, optional
        What stands for each level; by default a 0/1 feature, or one for two levels.
    basis : Basis, optional
        Columns that stand for a number.
    is_named : bool, default False
        Whether the formula names the levels: C(column, levels=[...]).
    rest : int, optional
        Place of the level that is 0 in all features: one of the two that share the
        first feature.
    """

    expression: Expression
    levels: tuple[Level, ...] | None = None
    coding: Coding | None = None
    basis: Basis | None = None
    is_named: bool = False
    rest: int | None = None

    @property
    def reads_numbers(self) -> bool:
        """Whether its columns are read as numbers."""
        return self.levels is None or not self.expression.is_of_column

    @property
    def has_indicators(self) -> bool:
        """Whether it has 0/1 features, one a level but for one of two."""
        return self.levels is not None and self.coding is None

    @property
    def is_fixed(self) -> bool:
        """Whether it takes no further levels: the formula names or codes them."""
        return self.is_named or self.coding is not None

    @property
    def source(self) -> str:
        """What has the levels: the column, or else the factor as the formula has it."""
        if self.expression.is_of_column:
            return self.expression.columns[0]
        return self.expression.label

    @property
    def way_to_name(self) -> str:
        """How a user may name the levels."""
        if self.expression.is_of_column and not self.is_named:
            return Message(NAMED, name=self.source)
        return "C(..., levels=[...])"

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each level, by its text."""
        return {level_text(level): k for k, level in enumerate(self.levels or ())}

    @cached_property
    def cells(self) -> dict[str, tuple[float, ...]]:
        """Features of each level, by its text."""
        rows = self.features(np.arange(len(self.places), dtype=float))
        return dict(zip(self.places, map(tuple, rows.tolist()), strict=True))

    @property
    def names(self) -> list[str]:
        """Names of its features."""
        label = self.expression.label
        if self.basis is not None:
            return [f"{label}[{k + 1}]" for k in range(self.basis.width)]
        if self.coding is not None:
            return [f"{label}{ending}" for ending in self.coding.endings]
        if self.levels is None:
            return [label]
        return level_names(TERM, label, np.delete(objects_of(self.levels), self._none))

    @property
    def _none(self) -> list[int]:
        """Places of levels without a feature."""
        return [] if self.rest is None else [self.rest]

    def with_level(self, level: Level) -> Self:
        """The factor with one more level, the second of which adds no feature."""
        levels = (*(self.levels or ()), level)
        rest = 1 if len(levels) == 2 else self.rest
        return replace(self, levels=levels, rest=rest)

    def features(self, places: Vector) -> Matrix:
        """Features of levels at these places, NaN where there is none."""
        if self.coding is not None:
            return self.coding.features(places)
        return np.delete(indicators(places, len(self.places)), self._none, axis=1)

    def expand(self, numbers: Vector) -> Matrix:
        """Features of numbers; infinite where they have no finite value.

        Raises
        ------
        ValueError
            For numbers beyond the knots of a spline that ends there.
        """
        if self.basis is None:
            return numbers[:, None]
        refused = np.flatnonzero(self.basis.refused(numbers))
        if len(refused):
            low, high = self.basis.bounds
            raise ArgumentError(
                "data",
                "must be within the outer knots of {label}, from {low} to {high}",
                numbers[refused[0]],
                "Give lower_bound= and upper_bound=, or use cr or ns, which "
                "extrapolate.",
                row=refused[0],
                label=self.expression.label,
                low=low,
                high=high,
            )
        found = self.basis.columns(numbers)
        found[np.isnan(found) & ~np.isnan(numbers)[:, None]] = np.inf
        return found

    @classmethod
    def learn(
        cls, expression: Expression, table: Table, declared: Mapping[str, Levels]
    ) -> Self:
        """A factor with the levels that were declared or the table has, if any."""
        if not expression.is_of_column or (
            expression.asked is not None and not expression.is_category
        ):
            return cls(expression)
        (name,) = expression.columns
        column, levels = table.read(name), declared.get(name)
        plain = not (expression.is_category or name in declared or column.is_category)
        if plain and kind_of(name, column) != LEVELS:
            return cls(expression)
        if levels is None and not _named_levels(expression):
            levels = levels_in(name, column)
            check_levels(name, levels)
        made = cls._of_levels(expression, levels, is_declared=name in declared)
        if column.is_ordered and not expression.is_category:
            coding = Coding.ordered(len(made.levels or ()))
            return replace(made, coding=coding, rest=None)
        return made

    @classmethod
    def _of_levels(
        cls, expression: Expression, levels: Levels | None, is_declared: bool = False
    ) -> Self:
        """A factor with these levels, or those that the formula names."""
        label, named = expression.label, _named_levels(expression)
        if named and is_declared:
            raise wrong(
                label, "levels once", "levels=[...] and categories={...}",
                "Leave one of them out",
            )  # fmt: skip
        levels = named or levels
        made = cls(replace(expression, asked=None), levels, is_named=bool(named))
        if not levels:
            raise ArgumentError(
                "data",
                "must have a value in column {source!r}, whose levels are to be "
                "learned",
                Message("none"),
                "Name them: {way_to_name}.",
                source=made.source,
                way_to_name=made.way_to_name,
            )
        contrast = expression.asked and expression.asked.get("contrast")
        if not contrast:
            return replace(made, rest=0) if len(levels) == 2 else made
        return replace(made, coding=Coding.learn(contrast, levels, label))

    def learned(self, read: Callable[[str], Vector]) -> Self:
        """The factor with what it learns from columns as numbers."""
        asked = self.expression.asked
        if self.levels is not None:
            return self
        expression = self.expression.learned(read)
        if asked is None and not expression.is_category:
            return replace(self, expression=expression)
        values = np.atleast_1d(np.asarray(expression.value(read), dtype=np.float64))
        if asked is not None and not expression.is_category:
            basis = learn_basis(asked, values, expression.label)
            return replace(self, expression=expression, basis=basis)
        values = values[np.abs(values) <= LARGEST]
        levels = levels_in(expression.label, Column(values))
        check_levels(expression.label, levels)
        return self._of_levels(replace(expression, asked=asked), levels)

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        return self.expression.to_header() | {
            "levels": self.levels and [*self.levels],
            "coding": self.coding and self.coding.to_header(),
            "basis": self.basis and self.basis.to_header(),
            "named": self.is_named,
            "rest": self.rest,
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """The factor that `to_header` described, checked."""
        expression, levels = Expression.from_header(header), header["levels"]
        coding, basis, rest = header["coding"], header["basis"], header["rest"]
        is_named = params.flag("named", header["named"])
        if levels is None and not expression.is_category:
            if coding is not None or is_named or rest is not None:
                raise ValueError(
                    Message(
                        "{label!r} has no levels to be coded", label=expression.label
                    )
                )
            return cls(expression, basis=basis and basis_from_header(basis))
        is_of_levels = expression.is_category or expression.is_of_column
        if not is_of_levels or not levels or basis is not None:
            raise ValueError(
                Message("{label!r} can have no levels", label=expression.label)
            )
        for level in levels:
            if not isinstance(level, str | int | float) or is_missing(level):
                raise ValueError(
                    Message(
                        "levels must be text or numbers; got {levels!r}", levels=levels
                    )
                )
        if len({level_text(level) for level in levels}) != len(levels):
            raise ValueError(
                Message("levels must be distinct; got {levels!r}", levels=levels)
            )
        if rest is not None:
            rest = params.count("rest", rest, 0, 1)
        if (coding is not None or len(levels) < 2) and rest is not None:
            raise ValueError(
                Message(
                    "{label!r} can have no level without feature",
                    label=expression.label,
                )
            )
        return cls(
            expression,
            tuple(levels),
            coding and Coding.from_header(coding, len(levels)),
            is_named=is_named,
            rest=rest,
        )


def _named_levels(expression: Expression) -> Levels:
    """Levels that a formula names in C(..., levels=[...]), if any."""
    given = expression.asked.get("levels", ()) if expression.asked else ()
    if not given:
        return ()
    return levels_in(expression.label, Column(objects_of(given), categories=given))


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
    for row, value in enumerate(values):
        if column.is_category or column.categories is not None:
            check_level_text(name, value)
        elif not is_missing(value):
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


def with_margins(
    terms: tuple[tuple[Factor, ...], ...],
) -> tuple[tuple[Factor, ...], ...]:
    """Terms in which each level has a feature where it needs one.

    One feature for two levels is enough beside the term without that factor: x:g is for
    the second level of g what x is not for both. Without x, it would leave out the
    first level, so that both have a feature there, as in R and patsy.
    """
    variables = {_variables(term) for term in terms}
    return tuple(
        tuple(
            factor
            if len(term) == 1 or _variables(term) - _variables((factor,)) in variables
            else replace(factor, rest=None)
            for factor in term
        )
        for term in terms
    )


def _variables(term: tuple[Factor, ...]) -> frozenset[tuple[Step, ...]]:
    """The factors by their steps, since C(g) and g are the same."""
    return frozenset(factor.expression.steps for factor in term)


def declared_levels(
    categories: Mapping[str, Sequence[Level]] | None, columns: Sequence[str]
) -> dict[str, Levels]:
    """Levels that the user named for some of these columns, checked."""
    params.level_table(categories or {})
    for name in categories or {}:
        if name not in columns:
            raise ArgumentError(
                "categories",
                "must name columns of the formula, {columns}",
                name,
                columns=list(columns),
            )
    return {
        name: levels_in(name, Column(objects_of([*given]), categories=(*given,)))
        for name, given in (categories or {}).items()
    }
