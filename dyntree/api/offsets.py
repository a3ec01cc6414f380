"""Offsets and exposures of rows as formulas take them: values, or names of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.gaps import LEAVE_OUT, checked_with_gaps
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.tables import Row, Table, table_of
from dyntree.encoding.targets import Exposed, count_response
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.errors import ArgumentError, AssumedValueWarning, Message, shown, warn
from dyntree.params import TreeOptions
from dyntree.params.checks import as_numbers
from dyntree.trees.factory import Trees
from dyntree.trees.learning.exposures import check_exposure, refuse_exposure

DEFAULTS = {"offset": 0, "exposure": 1, "weights": 1, "freq_weights": 1}


@dataclass(frozen=True)
class RowOffsets:
    """Offset and exposure that the caller gave for some rows.

    Attributes
    ----------
    offset, exposure : array_like of shape (n_rows,), float, str, or None
        A number applies to all rows, and a str is the name of a column.
    """

    offset: Any = None
    exposure: Any = None

    @classmethod
    def given(cls, offset: Any, exposure: Any) -> Self | None:
        """Those of two arguments; None where neither is given."""
        return None if offset is None and exposure is None else cls(offset, exposure)

    @classmethod
    def passed_to(cls, design: Design, offset: Any, exposure: Any) -> Self | None:
        """Those of a call, but for the columns that the design has of them."""
        given = {"offset": offset, "exposure": exposure}
        for name, value in given.items():
            if isinstance(value, str) and value == design.beside.get(name):
                given[name] = None
        return cls.given(**given)

    @property
    def passed(self) -> dict[str, Any]:
        """Those that are there, by the name of their argument."""
        given = {"offset": self.offset, "exposure": self.exposure}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def beside(self) -> dict[str, str | None]:
        """Columns by argument, as `Design.beside` has them."""
        return beside_of({**self.passed})

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that they are, where some were named."""
        return tuple(one for one in self.passed.values() if isinstance(one, str))

    @property
    def named(self) -> list[Expression]:
        """Named columns as expressions, of an exposure its logarithm."""
        found = []
        if isinstance(self.offset, str):
            found.append(Expression.column(self.offset))
        if isinstance(self.exposure, str):
            steps = (("column", self.exposure), ("call", "np.log"))
            found.append(Expression(f"log({self.exposure})", steps))
        return found

    @property
    def by_value(self) -> Self | None:
        """Those that are no names; None where all are."""
        plain = {k: v for k, v in self.passed.items() if not isinstance(v, str)}
        return type(self)(**plain) if plain else None

    def check_model(self, options: TreeOptions) -> None:
        """Raise ValueError unless such trees know them."""
        if self.exposure is not None:
            refuse_exposure(options)
        if options.has_labels:
            raise ArgumentError(
                "offset",
                "must not be given for labels: it is subtracted from numbers, or is "
                "the log exposure of counts",
                remedy="Leave it out.",
            )

    def of(
        self, table: Table | None, n_rows: int, allow_missing: bool = False
    ) -> dict[str, Vector]:
        """Offset and exposure of each row by argument, as they were passed.

        Arrays are of shape (n_rows,), NaN where values may be missing and are. The
        table is for what is named.
        """
        checks = {
            "offset": lambda given: _check_offset(given, n_rows),
            "exposure": lambda given: check_exposure(given, n_rows),
        }
        return {
            name: checked_with_gaps(
                name, _named(name, values, table), checks[name], allow_missing
            )
            for name, values in self.passed.items()
        }


def added(passed: Mapping[str, Vector]) -> Vector | None:
    """Sum of what arguments add to the mean: of an exposure its logarithm."""
    total = None
    for name, values in passed.items():
        one = np.log(values) if name == "exposure" else values
        total = one if total is None else total + one
    return total


def beside_of(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Columns that arguments name, by argument; None for values.

    An argument that has its default in every row is left out, as new rows have it, too.
    """
    found: dict[str, str | None] = {}
    for name, value in given.items():
        if isinstance(value, str):
            found[name] = value
        elif np.ndim(value) or value != DEFAULTS[name]:
            found[name] = None
    return found


def check_passed(design: Design, passed: Mapping[str, Any]) -> None:
    """Raise ValueError where rows that are learned need values that were not passed."""
    for name in _not_passed(design, passed):
        raise ArgumentError(
            name,
            "must be passed with further rows, because the model was made with "
            "values of {label}, which belong to its own rows",
            Message("none"),
            "Pass {label}=..., where {defaults} is a row without, or make the model "
            "with the name of a column.",
            label=name,
            defaults=DEFAULTS[name],
        )


def warn_of_defaults(design: Design, passed: Mapping[str, Any]) -> None:
    """Warn where new rows have the default because values were not passed."""
    for name in _not_passed(design, passed):
        warn(
            AssumedValueWarning,
            "{name!a} is {defaults} in new rows: the model was made with values of "
            "{name}, which belong to its own rows, and these rows have none. Pass "
            "{name}=... where the method takes it, or make the model with the name "
            "of a column.",
            name=name,
            defaults=DEFAULTS[name],
        )


def _not_passed(design: Design, passed: Mapping[str, Any]) -> list[str]:
    """Arguments that the model was made with values of, and that are not passed."""
    by_value = [name for name, column in design.beside.items() if column is None]
    return [n for n in by_value if n in passed and passed[n] is None]


def _named(name: str, values: Any, table: Table | None) -> Any:
    """Values, or those of the column of that name."""
    if not isinstance(values, str):
        if table is not None:
            check_paired(table.native, values, name, "data")
        return values
    names = () if table is None else table.names
    if table is None or values not in names:
        raise ArgumentError(
            name,
            "must name a column of the data, one of {names}",
            values,
            names=list(names),
        )
    return table.column(values)


def _check_offset(values: Any, n_rows: int) -> Vector:
    """Finite numbers, one a row."""
    found = as_numbers("offset", values)
    if found.ndim == 0:
        found = np.full(n_rows, found)
    if found.shape != (n_rows,):
        raise ArgumentError(
            "offset",
            f"must have one value a row, {n_rows}",
            Message("shape {shape}", shape=found.shape),
        )
    bad = np.flatnonzero(~(np.abs(found) <= LARGEST))
    if len(bad):
        raise ArgumentError("offset", "must be finite", found[bad[0]], row=bad[0])
    return np.asarray(found)


def shift_of(
    design: Design, table: Table, passed: Mapping[str, Vector]
) -> Vector | None:
    """Offset of each row of a table, NaN where a column is missing; None: no offset.

    It is the sum of the offsets in the formula, of those that were passed by argument,
    as from `RowOffsets.of`, and of the columns of arguments that were not.
    """
    total, own = design.offset(table, tuple(passed)), added(passed)
    return own if total is None else total if own is None else total + own


def check_shift(design: Design, shift: Vector | None) -> None:
    """Raise ValueError for a row without a finite offset."""
    if shift is None:
        return
    bad = np.flatnonzero(~np.isfinite(shift))
    if len(bad):
        names = shown(" + ".join(offset.label for offset in design.offsets))
        raise ArgumentError(
            "data",
            "must give a finite offset, {names}, in every row",
            Message("none"),
            f"An exposure must be > 0. {LEAVE_OUT}",
            row=bad[0],
            names=names,
        )


def row_shift(
    design: Design, row: Row, given: RowOffsets | None, allow_missing: bool = False
) -> float | None:
    """Offset of a bare row; None: no offset. NaN where it may be missing and is."""
    passed = {} if given is None else given.of(table_of([row]), 1, allow_missing)
    total, own = design.offset_of(row, tuple(passed)), added(passed)
    if own is not None:
        total = float(own[0]) + (total or 0.0)
    if not allow_missing:
        check_shift(design, None if total is None else np.array([total]))
    return total


def learned_response(options: TreeOptions, responses: Any, shift: Vector | None) -> Any:
    """Responses as trees learn them: less their offset, or counts over exposures."""
    if shift is None:
        return responses
    if not options.is_count:
        return np.asarray(responses, dtype=np.float64) - shift
    counts = count_response(responses, len(shift)).tolist()
    return [*map(Exposed, counts, np.exp(shift).tolist())]


def mean_with(tree: Any, row: Matrix, shift: float | None) -> float:
    """Predictive mean at one row of features with that offset."""
    mean: float = tree.mean_at(row)
    if shift is None:
        return mean
    return mean * float(np.exp(shift)) if tree.options.is_count else mean + shift


def prediction_of(
    tree: Trees, rows: Any, shift: Vector | None, weights: Any = None
) -> Any:
    """What trees predict of rows of features with these offsets."""
    if tree.tree.options.is_count:
        exposure = 1.0 if shift is None else np.exp(shift)
        return tree.predict(rows, weights, exposure=exposure)
    if shift is None:
        return tree.predict(rows, weights)
    return tree.predict(rows, weights).shifted(shift)  # type: ignore[union-attr]
