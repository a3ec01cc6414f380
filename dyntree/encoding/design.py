"""Design: the terms of a formula, as data; tables and bare rows -> float64 rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.columns import (
    LEVELS,
    NUMBERS,
    UNITS,
    UNKNOWN,
    Column,
    kind_of,
    misfit,
    number_of,
    numbers_of,
)
from dyntree.encoding.evaluation import evaluated, not_finite, tell_undefined
from dyntree.encoding.expressions import Expression, Step, columns_of
from dyntree.encoding.factors import (
    Factor,
    codings,
    declared_levels,
    names_of,
    with_coding,
    with_margins,
)
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import (
    MOST_EFFECTS,
    LevelCoding,
    LevelCounts,
    Levels,
    new_levels,
    widened,
)
from dyntree.encoding.required_columns import absence, check_columns, holds_labels
from dyntree.encoding.series import column_of
from dyntree.encoding.tables import Row, Table
from dyntree.encoding.targets import refuse_booleans
from dyntree.encoding.values import (
    LARGEST,
    PLAIN,
    Matrix,
    Vector,
    is_missing,
)
from dyntree.errors import ArgumentError, Message, UnseenLevelWarning, warn
from dyntree.params import ENCODE_LEVELS, NEW_LEVELS, TreeOptions, one_of
from dyntree.params.labels import Level, check_names, checked_label, level_of

ARGUMENTS = ("offset", "exposure")  # beside a formula, in the order of their columns
BESIDE = (*ARGUMENTS, "weights", "freq_weights")  # what rows have beside a formula


@dataclass(frozen=True)
class Design:
    """How a table becomes the rows and the responses of a tree.

    Kinds of columns and levels are those of the first table. A term is the product of
    its factors; levels have one feature each, two of them share one, and there is no
    column of ones.

    Parameters
    ----------
    response : Expression
    is_class : bool
        Whether the response is a label.
    terms : tuple of tuple of Factor
    kinds : dict of str to str
        Of the columns that are read as numbers: "number", or a kind of time, which
        counts in days; see `columns`.
    new_levels : {"grow", "missing", "error"}
        What a level that is not known means to rows that are learned; to all others it
        is missing, or an error.
    encode_levels : {"onehot", "auto", "effect"}
        Which levels have features, in terms of one factor that the formula does not
        code; see `LevelCoding`.
    n_labels : int
        Labels of the first table; 2 for numbers.
    declared : tuple of str
        Columns whose levels were named: they take no others.
    late : tuple of str
        Features of levels later than the first table, which are last.
    offsets : tuple of Expression
        Whose sum stands beside the terms: it is known, and no feature.
    beside : dict of str to str, or None
        The arguments offset, exposure, weights and freq_weights that rows arrived with:
        the column that was named, or None for values. Named offsets and exposures are
        the last of `offsets`.
    """

    response: Expression
    is_class: bool
    terms: tuple[tuple[Factor, ...], ...]
    kinds: dict[str, str]
    new_levels: str = TreeOptions.new_levels
    encode_levels: str = "onehot"
    n_labels: int = 2
    declared: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    offsets: tuple[Expression, ...] = ()
    beside: dict[str, str | None] = field(default_factory=dict)
    _warned: list[str] = field(default_factory=list, compare=False, repr=False)
    _counts: LevelCounts = field(default_factory=LevelCounts, compare=False, repr=False)

    @classmethod
    def learn(
        cls,
        table: Table,
        response: Expression,
        terms: Sequence[Sequence[Expression]],
        offsets: Sequence[Expression] = (),
        *,
        beside: Mapping[str, str | None] | None = None,
        is_class: bool | None = None,
        categories: Mapping[str, Sequence[Level]] | None = None,
        new_levels: str = TreeOptions.new_levels,
        encode_levels: str = "onehot",
    ) -> Design:
        """Learn kinds and levels from a first table.

        Parameters
        ----------
        table : Table
        response : Expression
        terms : sequence of sequences of Expression
            Factors of each term.
        offsets : sequence of Expression, optional
        beside : mapping of str to str or None, optional
        is_class : bool, optional
            By default, whether the response is a column of text, categories or bools.
        categories : mapping of str to sequence, optional
            Levels of columns, where they are known beforehand.
        new_levels : {"grow", "missing", "error"}, default "grow"
        encode_levels : {"onehot", "auto", "effect"}, default "onehot"
        """
        one_of("new_levels", new_levels, NEW_LEVELS)
        factors = [factor for term in terms for factor in term]
        needed = columns_of([response, *factors, *offsets])
        check_columns(table, needed)
        named = [name for name in (beside or {}).values() if name is not None]
        check_names([*needed, *named], "data")
        declared = declared_levels(categories, columns_of(factors))
        made = {f: Factor.learn(f, table, declared) for f in factors}
        numbers = [f for f in factors if made[f].reads_numbers]
        if is_class is None:
            is_class = (
                response.is_category
                or response.is_truth
                or holds_labels(response, table)
            )
        if is_class and not (response.is_of_column or response.is_truth):
            raise ArgumentError(
                "formula",
                "must have a column or a comparison as the response where it is a "
                "label",
                response.label,
                "Put its values into the data.",
            )
        if not is_class or response.is_truth:
            numbers.append(response)
        if is_class and offsets:
            raise ArgumentError(
                "formula",
                "must have no {label} if the response is a label: an offset is "
                "subtracted from numbers, or is the log exposure of counts",
                remedy="Leave it out.",
                label=offsets[0].label,
            )
        numbers.extend(offsets)
        kinds = {}
        for name in columns_of(numbers):
            kind = kind_of(name, table.read(name))
            kinds[name] = NUMBERS if kind == UNKNOWN else kind
            if kind == LEVELS or table.read(name).is_category:
                if response.is_of_column and name in response.columns:
                    raise ArgumentError(
                        "formula",
                        "must have numbers as the response of such a model",
                        Message("column {name!r} of text or categories", name=name),
                        "Labels need model='class', which is the default for them.",
                    )
                raise ArgumentError(
                    "formula",
                    "must take numbers or dates in functions and arithmetic",
                    Message("column {name!r} of text or categories", name=name),
                    "Use it as it is.",
                )

        read = _reader(table, kinds)
        response = response if is_class else response.learned(read)
        n_labels = 2
        if is_class and not response.is_truth:
            (name,) = response.columns
            labels = enumerate(table.read(name).labels())
            n_labels = len(
                {
                    checked_label(value, "data", row, column=name)
                    for row, value in labels
                    if not is_missing(value)
                }
            )
        coding = LevelCoding.of(encode_levels, n_labels)
        learned = tuple(tuple(made[f].learned(read) for f in term) for term in terms)
        plan = with_coding(with_margins(learned), coding)
        known = tuple(offset.learned(read) for offset in offsets)
        design = cls(
            response, is_class, plan, kinds, new_levels, encode_levels, n_labels,
            tuple(declared), (), known, dict(beside or {}),
        )  # fmt: skip
        if len(set(design.names)) != len(design.names):
            raise ArgumentError(
                "formula", "must make features of distinct names", design.names
            )
        for factor in design._coded.values():
            design._count(factor, design._column(factor, table))
        return design

    @property
    def coding(self) -> LevelCoding:
        """Which levels have features, in terms of one factor."""
        return LevelCoding.of(self.encode_levels, self.n_labels)

    def count(self, table: Table, designs: Sequence[tuple[int, Design]] = ()) -> None:
        """Count the levels that are new to these designs in rows to be learned."""
        last = designs[-1][1] if designs else self
        for steps, factor in self._coded.items():
            n_new = len(last._coded[steps].coded) - len(factor.coded)
            self._count(factor, self._column(factor, table), n_new)

    def _count(self, factor: Factor, column: Column, n_new: int | None = None) -> None:
        """Count the values of a column of levels, unless they are known to be all."""
        if factor.expression.steps in self._open:
            values = [value for _, value in column.present()]
            n_new = len(new_levels(values)) if n_new is None else n_new
            is_meant = factor.expression.is_category  # C(column)
            levels = () if is_meant else chain(factor.coded.labels, values)
            self._counts.count(factor.source, len(values), n_new, levels)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        names = [name for term in self.terms for name in names_of(term)]
        late = frozenset(self.late)
        return (*(name for name in names if name not in late), *self.late)

    @cached_property
    def term_places(self) -> list[list[int]]:
        """Places of the features of each term."""
        places = {name: k for k, name in enumerate(self.names)}
        return [[places[name] for name in names_of(term)] for term in self.terms]

    @cached_property
    def _order(self) -> list[int]:
        """Place of each feature among those of the terms, one term after the other."""
        places = [*chain.from_iterable(self.term_places)]
        return sorted(range(len(places)), key=places.__getitem__)

    @property
    def factors(self) -> dict[str, list[str]]:
        """Features of each term that is the levels of one factor, by its label."""
        return {
            term[0].expression.label: names_of(term)
            for term in self.terms
            if len(term) == 1 and term[0].levels is not None and not term[0].coding
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the terms need."""
        return columns_of([factor.expression for term in self.terms for factor in term])

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that holds dates or durations."""
        return {name: UNITS[kind] for name, kind in self.kinds.items() if UNITS[kind]}

    def features(self, allow_missing: bool = True) -> FeatureMap:
        """The columns of encoded rows, as a tree knows them."""
        coded = tuple(
            (tuple(effects), tuple(levels))
            for levels, effects in self._coded_places
            if effects
        )
        return FeatureMap(
            len(self.names), self.names, allow_missing=allow_missing, coded=coded,
            encode_levels=self.encode_levels,
        )  # fmt: skip

    @cached_property
    def _coded_places(self) -> list[tuple[list[int], list[int]]]:
        """Places of the features of each term, and of its effect columns.

        Terms that had effect columns first are first.
        """
        pairs = []
        for term, places in zip(self.terms, self.term_places, strict=True):
            n = term[0].coded.n_effects if len(term) == 1 else 0
            pairs.append((places[: len(places) - n], places[len(places) - n :]))
        return sorted(pairs, key=lambda pair: pair[1][:1])

    # ------------------------------------------------------------ late levels
    def grown(self, table: Table) -> list[tuple[int, Design]]:
        """Levels that the rows of a table bring, where they may.

        Returns
        -------
        list of (int, Design)
            For each level the row with which it comes, and the design from there on.
        """
        if self.new_levels != "grow":
            return []
        check_columns(table, self.columns)
        late: list[tuple[int, tuple[Step, ...], Level]] = []
        for steps, factor in self._open.items():
            column, takes_times = self._column(factor, table), factor.takes_times
            new = factor.coded.new(factor.source, column, takes_times=takes_times)
            late += [(row, steps, level) for row, level in new.items()]
        designs, design = [], self
        for row, steps, level in sorted(late, key=lambda one: one[0]):
            design = design._with_level(steps, level)
            designs.append((row, design))
        return designs

    def brings(self, row: Row) -> bool:
        """Whether a bare row has a level that is not known, and may come."""
        return self.new_levels == "grow" and any(
            {*factor.expression.columns} <= row.keys()
            and not is_missing(value := self._level_value(factor, row))
            and factor.coded.place_of(value) is None
            and not factor.coded.is_full
            for factor in self._open.values()
        )

    @cached_property
    def _coded(self) -> dict[tuple[Step, ...], Factor]:
        """A factor of each column that has levels: C(column), where there is one."""
        coded = [f for term in self.terms for f in term if f.levels is not None]
        coded.sort(key=lambda factor: factor.expression.is_category)
        return {factor.expression.steps: factor for factor in coded}

    @cached_property
    def _open(self) -> dict[tuple[Step, ...], Factor]:
        """Those of `_coded` whose levels may still come."""
        factors = [factor for term in self.terms for factor in term]
        fixed = {f.expression.steps for f in factors if f.is_fixed}
        return {
            steps: factor
            for steps, factor in self._coded.items()
            if factor.source not in self.declared and steps not in fixed
        }

    @property
    def levels_of(self) -> dict[str, Levels]:
        """Levels of each column that has some."""
        return {
            factor.source: factor.coded
            for factor in self._coded.values()
            if factor.expression.is_of_column
        }

    def _column(self, factor: Factor, table: Table) -> Column:
        """What a factor has the levels of: a column, or the value of an expression."""
        expression = factor.expression
        if expression.is_of_column:
            return table.read(expression.columns[0])
        return Column(evaluated(expression, _reader(table, self.kinds), table.n_rows))

    def _level_value(self, factor: Factor, row: Row) -> Any:
        """The same of a bare row."""
        expression = factor.expression
        if expression.is_of_column:
            return row[expression.columns[0]]
        return self._number(expression, row)

    def _with_level(self, steps: tuple[Step, ...], level: Level) -> Design:
        """The design with one more level of the factors with these steps."""
        terms = with_margins(
            tuple(
                tuple(
                    replace(f, levels=f.levels.grown(level, coding=coding))
                    if f.levels is not None and f.expression.steps == steps
                    else f
                    for f in term
                )
                for term, coding in zip(
                    self.terms, codings(self.terms, self.coding), strict=True
                )
            )
        )
        wider = replace(self, terms=terms, _warned=self._warned, _counts=self._counts)
        known = frozenset(self.names)
        fresh = [name for name in wider.names if name not in known]
        return replace(wider, late=(*self.late, *fresh))

    def widen(self, rows: Matrix) -> Matrix:
        """Rows that an earlier, narrower design has encoded, as this one would have."""
        places = [sorted(levels) for levels, _ in self._coded_places]
        return widened(rows, len(self.names), places)

    # ------------------------------------------------------------ tables
    def encode(self, table: Table) -> Matrix:
        """Rows of a table, ndarray of shape (n_rows, n_features), NaN where missing.

        Raises
        ------
        ValueError
            If columns are absent, hold another kind of value than at first, or what is
            not finite, or if levels are new and may not be.

        Warns
        -----
        UndefinedTermWarning
            If terms have no finite value in some rows; they are missing there.
        """
        check_columns(table, self.columns)
        read = _reader(table, self.kinds)
        blocks = [self._term(term, table, read) for term in self.terms]
        rows = np.concatenate(blocks, axis=1)
        return np.ascontiguousarray(rows[:, self._order] if self.late else rows)

    def _cells(self, factor: Factor, column: Column) -> Matrix:
        """Features of a column of levels."""
        codes = factor.coded.codes(
            factor.source, column, takes_times=factor.takes_times,
            on_new=lambda value, row: self._tell_new(factor, value, row),
        )  # fmt: skip
        return factor.features(codes)

    def _tell_new(self, factor: Factor, value: Any, row: int) -> None:
        """Refuse a level that is not known, or warn once of its column."""
        name, level = factor.source, level_of(value)
        way, is_named = factor.way_to_name, name in self.declared or factor.is_fixed
        remedy = "Add it to those named" if is_named else "Name all levels at the start"
        is_meant = is_named or factor.expression.is_category
        meant = None if is_meant else factor.coded.meaning
        if self.new_levels == "error":
            grow = ", or make a model with new_levels='grow'"
            raise ArgumentError(
                "data",
                "must hold levels among {value} in column {label!r}",
                level,
                meant.remedy(name)
                if meant
                else Message(f"{remedy}: {{way}}{grow}.", way=way),
                row=row,
                value=list(factor.coded.labels),
                label=name,
            )
        if name not in self._warned:
            self._warned.append(name)
            warn(
                UnseenLevelWarning,
                "data has the level {level!r} in column {name!r}, which is new and "
                "counts as missing. {remedy}",
                level=level,
                name=name,
                remedy=meant.remedy(name)
                if meant
                else Message(f"{remedy}: {{way}}.", way=way),
            )

    def _term(
        self,
        term: tuple[Factor, ...],
        table: Table,
        read: Callable[[str], Vector],
    ) -> Matrix:
        """Features of a term, ndarray of shape (n_rows, n_features)."""
        n_rows = table.n_rows
        block = np.ones((n_rows, 1))
        for factor in term:
            if factor.levels is None:
                value = factor.expand(evaluated(factor.expression, read, n_rows))
            else:
                value = self._cells(factor, self._column(factor, table))
            width = block.shape[1] * value.shape[1]
            with np.errstate(over="ignore"):
                block = (block[:, :, None] * value[:, None, :]).reshape(n_rows, width)
        large = np.abs(block) > LARGEST
        for k in np.flatnonzero(large.any(axis=0)):
            rows = np.flatnonzero(large[:, k])
            tell_undefined(names_of(term)[k], block[rows[0], k], rows)
        block[large] = np.nan
        return block

    # ------------------------------------------------------------ bare rows
    @cached_property
    def _plan(self) -> list[tuple[int, str, tuple[Factor, ...]]]:
        """How to encode each term of a bare row: 0 a number, 1 a level, 2 the rest."""
        plan = []
        for term in self.terms:
            (name, *others), alone = columns_of([f.expression for f in term]), term[0]
            way = 2
            is_plain = len(term) == 1 and alone.expression.is_of_column
            if is_plain and alone.levels is not None:
                way = 1
            elif is_plain and alone.basis is None and not others:
                way = 0 if self.kinds[name] == NUMBERS else 2
            plan.append((way, name, term))
        return plan

    def encode_row(self, row: Row) -> Matrix:
        """A bare row, ndarray of shape (1, n_features), as `encode` would give it."""
        values: list[float] = []
        try:
            for way, name, term in self._plan:
                if way == 0:
                    value = row[name]
                    if type(value) in PLAIN and -LARGEST <= value <= LARGEST:
                        values.append(value)
                        continue
                elif way == 1:
                    value = row[name]
                    if type(value) is str and value in term[0].cells:
                        values.extend(term[0].cells[value])
                        continue
                values.extend(self._cells_of_row(term, row))
        except KeyError as error:
            absent = [name for name in self.columns if name not in row]
            raise absence(absent, list(row)) from error
        rows = np.array([values], dtype=np.float64)
        return np.ascontiguousarray(rows[:, self._order]) if self.late else rows

    def _cells_of_row(self, term: tuple[Factor, ...], row: Row) -> list[float]:
        """Features of a term of a bare row."""
        block = [1.0]
        for factor in term:
            if factor.levels is None:
                number = np.array([self._number(factor.expression, row)])
                cells = factor.expand(number)[0].tolist()
            else:
                value = self._level_value(factor, row)
                cells = self._cells(factor, column_of([value]))[0].tolist()
            block = [left * right for left in block for right in cells]
        for k, value in enumerate(block):
            if abs(value) > LARGEST:
                tell_undefined(names_of(term)[k], value, [0])
                block[k] = float("nan")
        return block

    def _number(self, expression: Expression, row: Row) -> float:
        """Value of an expression at a bare row, NaN where a column is missing."""
        given: dict[str, float] = {}
        for name in expression.columns:
            number = number_of(row[name], self.kinds[name])
            if number is None:
                raise misfit("data", name, self.kinds[name], row[name])
            given[name] = number
        if any(number != number for number in given.values()):
            return float("nan")
        value = float(expression.value(given.__getitem__))
        if not abs(value) <= LARGEST:
            if expression.is_bare:
                raise not_finite(expression.label, value, 0)
            tell_undefined(expression.label, value, [0], given)
            return float("nan")
        return value

    # ------------------------------------------------------------ responses
    def responses(self, table: Table) -> list[Any]:
        """Numbers or labels, one a row; NaN or None where missing."""
        check_columns(table, self.response.columns)
        if self.is_class and not self.response.is_truth:
            values = table.read(self.response.columns[0]).labels()
            return [self._label(value, row) for row, value in enumerate(values)]
        if not self.is_class and self.response.is_bare:
            name = self.response.columns[0]
            refuse_booleans(table.read(name).values, "data", name)
        read = _reader(table, self.kinds)
        numbers: list[Any] = evaluated(self.response, read, table.n_rows).tolist()
        return [*map(_truth, numbers)] if self.is_class else numbers

    def response_of(self, row: Row) -> Any:
        """Number or label of a bare row; NaN or None where missing."""
        absent = [name for name in self.response.columns if name not in row]
        if absent:
            raise absence(absent, list(row))
        if not self.is_class:
            if self.response.is_bare:
                name = self.response.columns[0]
                refuse_booleans([row[name]], "data", name)
            return self._number(self.response, row)
        if self.response.is_truth:
            return _truth(self._number(self.response, row))
        return self._label(row[self.response.columns[0]], 0)

    def _label(self, value: Any, row: int) -> Any:
        """A label as a plain object; None where it is missing."""
        if is_missing(value):
            return None
        return checked_label(value, "data", row, column=self.response.columns[0])

    @property
    def named_offsets(self) -> tuple[str, ...]:
        """Arguments that named a column, to which the last of the offsets belong."""
        return tuple(name for name in ARGUMENTS if self.beside.get(name) is not None)

    def offsets_without(self, replaced: Sequence[str]) -> tuple[Expression, ...]:
        """Offsets of the formula, and those of arguments that are not replaced.

        Arguments that a call passes, `replaced`, take the place of the columns that
        the arguments of the same names had when the design was made.
        """
        named = self.named_offsets
        n_terms = len(self.offsets) - len(named)
        last = zip(named, self.offsets[n_terms:], strict=True)
        others = [offset for name, offset in last if name not in replaced]
        return (*self.offsets[:n_terms], *others)

    def needed(self, replaced: Sequence[str] = ()) -> tuple[str, ...]:
        """Columns that are needed where a call passes these arguments."""
        offsets = columns_of(self.offsets_without(replaced))
        return tuple(dict.fromkeys((*self.columns, *offsets)))

    def offset(self, table: Table, replaced: Sequence[str] = ()) -> Vector | None:
        """Sum of the offsets, shape (n_rows,), or None without any.

        NaN where a column is missing, and where the sum is not finite.
        """
        offsets = self.offsets_without(replaced)
        if not offsets:
            return None
        check_columns(table, columns_of(offsets))
        read = _reader(table, self.kinds)
        with np.errstate(all="ignore"):
            total = sum(offset.value(read) for offset in offsets)
        known = np.abs(total) <= LARGEST
        return np.array(np.broadcast_to(np.where(known, total, np.nan), table.n_rows))

    def offset_of(self, row: Row, replaced: Sequence[str] = ()) -> float | None:
        """The same of a bare row."""
        columns = columns_of(self.offsets_without(replaced))
        if not columns:
            return None
        absent = [name for name in columns if name not in row]
        if absent:
            raise absence(absent, list(row))
        table = Table({name: [row[name]] for name in columns})
        found = self.offset(table, replaced)
        return None if found is None else float(found[0])

    # ------------------------------------------------------------ files
    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        return {
            "response": self.response.to_header(),
            "is_class": self.is_class,
            "terms": [[factor.to_header() for factor in term] for term in self.terms],
            "kinds": dict(self.kinds),
            "new_levels": self.new_levels,
            "encode_levels": self.encode_levels,
            "n_effects": self.coding.n_effects,
            "declared": list(self.declared),
            "late": list(self.late),
            "offsets": [offset.to_header() for offset in self.offsets],
            "beside": dict(self.beside),
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Design:
        """The design that `to_header` described.

        Raises
        ------
        ValueError
            If no table could have made it; also LookupError, AttributeError or
            TypeError for what is no such header at all.
        """
        terms = tuple(
            tuple(Factor.from_header(part) for part in term) for term in header["terms"]
        )
        response = Expression.from_header(header["response"])
        is_class = params.flag("is_class", header["is_class"])
        kinds = dict(header["kinds"])
        factors = [factor for term in terms for factor in term]
        numbers = [f.expression for f in factors if f.reads_numbers]
        if is_class and not (response.is_of_column or response.is_truth):
            raise ValueError("labels must be a column or a comparison")
        offsets = tuple(map(Expression.from_header, header["offsets"]))
        numbers.extend(offsets)
        if not is_class or response.is_truth:
            numbers.append(response)
        if is_class and offsets:
            raise ValueError("labels have no offset")
        if {*kinds} != {*columns_of(numbers)} or not {*kinds.values()} <= {*UNITS}:
            raise ValueError(
                Message("kinds must fit the terms; got {kinds!r}", kinds=kinds)
            )
        if not all(columns_of([f.expression for f in term]) for term in terms):
            raise ValueError("a term must name a column")
        new_levels = header["new_levels"]
        one_of("new_levels", new_levels, NEW_LEVELS)
        encode_levels = header["encode_levels"]
        one_of("encode_levels", encode_levels, ENCODE_LEVELS)
        n_labels = 1 + params.count("n_effects", header["n_effects"], 1, MOST_EFFECTS)
        declared, late = tuple(header["declared"]), tuple(header["late"])
        if not {*declared} <= {*columns_of([f.expression for f in factors])}:
            raise ValueError(
                Message(
                    "declared must be columns of the terms; got {declared!r}",
                    declared=declared,
                )
            )
        if not {*late} <= {name for term in terms for name in names_of(term)}:
            raise ValueError(
                Message("late must be features of the terms; got {late!r}", late=late)
            )
        design = cls(
            response, is_class, terms, kinds, new_levels, encode_levels, n_labels,
            declared, late, offsets, _checked_beside(header["beside"]),
        )  # fmt: skip
        if len(design.named_offsets) > len(offsets):
            raise ValueError("arguments that name a column must be among the offsets")
        if not design.names or len(set(design.names)) != len(design.names):
            raise ValueError("features must have distinct names")
        return design


def _reader(table: Table, kinds: Mapping[str, str]) -> Callable[[str], Vector]:
    """A function that reads a column of a table as numbers, once."""
    return cache(lambda name: numbers_of(name, table.read(name), kinds[name]))


def _truth(number: float) -> bool | None:
    """A comparison's 1 or 0 as a label; None where a side is missing."""
    return None if number != number else bool(number)


def _checked_beside(beside: Mapping[str, Any]) -> dict[str, str | None]:
    """Arguments beside a formula as a file has them."""
    found = dict(beside)
    if not {*found} <= {*BESIDE} or not all(
        isinstance(column, str | None) for column in found.values()
    ):
        raise ValueError(
            Message(
                "beside must hold columns of {beside}; got {found!r}",
                beside=BESIDE,
                found=found,
            )
        )
    return found
