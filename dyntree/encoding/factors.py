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
    MOST_EFFECTS,
    ONEHOT,
    TERM,
    LevelCoding,
    Levels,
    check_level,
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
from dyntree.params.labels import Level, level_text

Labels = tuple[Level, ...]


@dataclass(frozen=True)
class Factor:
    """A factor of a term: numbers, columns for them, or columns for levels.

    Parameters
    ----------
    expression : Expression
    levels : Levels, optional
        None for numbers.
    coding : Coding, optional
        What stands for each level; by default a 0/1 feature, or one for two levels.
    basis : Basis, optional
        Columns that stand for a number.
    is_named : bool, default False
        Whether the formula names the levels: C(column, levels=[...]).
    """

    expression: Expression
    levels: Levels | None = None
    coding: Coding | None = None
    basis: Basis | None = None
    is_named: bool = False

    @cached_property
    def coded(self) -> Levels:
        """Its levels; none for numbers."""
        return self.levels or Levels()

    @property
    def takes_times(self) -> bool:
        """Whether dates and durations can be levels, as in C(column)."""
        return self.expression.is_category

    @property
    def reads_numbers(self) -> bool:
        """Whether its columns are read as numbers."""
        return self.levels is None or not self.expression.is_of_column

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
    def cells(self) -> dict[str, tuple[float, ...]]:
        """Features of each level, by its text."""
        rows = self.features(np.arange(len(self.coded), dtype=float))
        return dict(zip(self.coded.places, map(tuple, rows.tolist()), strict=True))

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
        return self.levels.names(TERM, label)

    def features(self, codes: Vector) -> Matrix:
        """Features of levels with these codes, NaN where there is none."""
        if self.coding is not None:
            return self.coding.features(codes)
        return self.coded.features(codes)

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
        cls, expression: Expression, table: Table, declared: Mapping[str, Labels]
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
            return replace(
                made,
                levels=Levels(made.coded.labels),
                coding=Coding.ordered(len(made.coded)),
            )
        return made

    @classmethod
    def _of_levels(
        cls, expression: Expression, levels: Labels | None, is_declared: bool = False
    ) -> Self:
        """A factor with these levels, or those that the formula names."""
        label, named = expression.label, _named_levels(expression)
        if named and is_declared:
            raise wrong(
                label, "levels once", "levels=[...] and categories={...}",
                "Leave one of them out",
            )  # fmt: skip
        levels = named or levels or ()
        made = cls(
            replace(expression, asked=None),
            Levels.settled(levels),
            is_named=bool(named),
        )
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
            return made
        coding = Coding.learn(contrast, levels, label)
        return replace(made, levels=Levels(levels), coding=coding)

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
            "levels": self.levels and [*self.levels.labels],
            "coding": self.coding and self.coding.to_header(),
            "basis": self.basis and self.basis.to_header(),
            "named": self.is_named,
            "rest": self.levels and self.levels.rest,
            "limit": self.levels and self.levels.stored_limit,
            "n_effects": self.coded.n_effects,
        }

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """The factor that `to_header` described, checked."""
        expression, levels = Expression.from_header(header), header["levels"]
        coding, basis, rest = header["coding"], header["basis"], header["rest"]
        n_effects = params.count("n_effects", header["n_effects"], 0, MOST_EFFECTS)
        is_named = params.flag("named", header["named"])
        if levels is None and not expression.is_category:
            if coding is not None or is_named or rest is not None or n_effects:
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
        limit = np.inf if header["limit"] is None else header["limit"]
        if limit != np.inf:
            params.count("limit", limit, 0)
        return cls(
            expression,
            Levels(tuple(levels), rest, limit, n_effects),
            coding and Coding.from_header(coding, len(levels)),
            is_named=is_named,
        )


def _named_levels(expression: Expression) -> Labels:
    """Levels that a formula names in C(..., levels=[...]), if any."""
    given = expression.asked.get("levels", ()) if expression.asked else ()
    if not given:
        return ()
    return levels_in(expression.label, Column(objects_of(given), categories=given))


def levels_in(name: str, column: Column) -> Labels:
    """Levels of a column: its categories, or its values in order.

    Raises
    ------
    UnusableValueError
        For a value that can be no level.
    """
    if column.categories is None:
        found = Levels().new(name, column, takes_times=True, is_limited=False)
        return tuple(sorted_levels(found.values()))
    kind_of(name, column)  # refuses values that are none
    for value in column.categories:
        check_level(name, value, is_category=True)
    categories = Column(objects_of(column.categories), is_category=True)
    return tuple(Levels().new(name, categories, is_limited=False).values())


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
            else replace(
                factor, levels=factor.levels and replace(factor.levels, rest=None)
            )
            for factor in term
        )
        for term in terms
    )


def codings(
    terms: tuple[tuple[Factor, ...], ...], coding: LevelCoding
) -> list[LevelCoding]:
    """How levels are coded in each term: one feature each, or as `coding` says.

    The latter is for a factor by itself that the formula does not code. Its levels have
    a feature each, too, if they have some in an interaction: beside these, an effect
    would be only what they leave over.
    """
    mixed = {f.expression.steps for term in terms if len(term) > 1 for f in term}
    return [
        ONEHOT
        if len(term) > 1 or term[0].coding or term[0].expression.steps in mixed
        else coding
        for term in terms
    ]


def with_coding(
    terms: tuple[tuple[Factor, ...], ...], coding: LevelCoding
) -> tuple[tuple[Factor, ...], ...]:
    """Terms with levels that are coded so; see `codings`."""
    return tuple(
        tuple(
            replace(factor, levels=factor.levels and factor.levels.coded(one))
            for factor in term
        )
        for term, one in zip(terms, codings(terms, coding), strict=True)
    )


def _variables(term: tuple[Factor, ...]) -> frozenset[tuple[Step, ...]]:
    """The factors by their steps, since C(g) and g are the same."""
    return frozenset(factor.expression.steps for factor in term)


def declared_levels(
    categories: Mapping[str, Sequence[Level]] | None, columns: Sequence[str]
) -> dict[str, Labels]:
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
