"""Weights of rows as formulas take them: values, or the name of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dyntree.encoding.design import Design
from dyntree.encoding.expressions import Expression
from dyntree.encoding.gaps import checked_with_gaps
from dyntree.encoding.row_alignment import check_paired
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.trees.learning.weights import check_weights

MEANINGS = {"weights": "variance", "freq_weights": "frequency"}


@dataclass(frozen=True)
class RowWeights:
    """Weights that the caller gave for some rows.

    Attributes
    ----------
    argument : {"weights", "freq_weights"}
        Name of the argument.
    values : array_like of shape (n_rows,), float or str
        A number applies to all rows, and a str is the name of a column.
    """

    argument: str
    values: Any

    @classmethod
    def given(cls, weights: Any, freq_weights: Any) -> Self | None:
        """Those of two arguments of which one at least is None; None: both are."""
        if weights is not None and freq_weights is not None:
            raise ValueError(
                Message(
                    "weights and freq_weights must not both be given: weights divide "
                    "variances, freq_weights count rows."
                )
            )
        if freq_weights is not None:
            return cls("freq_weights", freq_weights)
        return None if weights is None else cls("weights", weights)

    @classmethod
    def named_by(cls, design: Design, argument: str) -> Self | None:
        """Those of the column that was named when the design was made, if one was."""
        columns = [design.beside.get(name) for name in MEANINGS]
        column = next((one for one in columns if one is not None), None)
        return None if column is None else cls(argument, column)

    @property
    def meaning(self) -> str:
        """What they mean, as the option `weighting` has it."""
        return MEANINGS[self.argument]

    @property
    def column(self) -> str | None:
        """The name of the column with the weights, if one was named."""
        return self.values if isinstance(self.values, str) else None

    def check_model(self, meaning: str, is_class: bool, is_weighted: bool) -> None:
        """Raise ValueError unless the weights of such trees have this meaning.

        `is_weighted` states whether the model was made with weights.
        """
        if self.meaning == meaning:
            return
        if is_class:
            raise ValueError(
                Message(
                    "weights divide variances, and labels have none; give "
                    "freq_weights, which count rows."
                )
            )
        other = next(name for name in MEANINGS if name != self.argument)
        if not is_weighted:
            raise ArgumentError(
                self.argument,
                "must be given when the model is made, which was made without "
                "weights and takes {other} then; give {other}, or make another model "
                "with {argument}=1",
                other=other,
                argument=self.argument,
            )
        raise ArgumentError(
            self.argument,
            "must not be mixed with {other}, by which the model was made; give "
            "{other}, or make another model with {argument}",
            other=other,
            argument=self.argument,
        )

    def check_column(self, *responses: Expression) -> None:
        """Raise ValueError where the column that was named is part of a response."""
        for response in responses:
            if self.column is not None and self.column in response.columns:
                raise ArgumentError(
                    self.argument,
                    "must name another column than the response, {label!r}",
                    self.column,
                    label=response.label,
                )

    def of(self, table: Table, allow_missing: bool = False) -> Vector:
        """Weights of the rows of a table, NaN where they may be missing and are."""
        values = self.values
        if self.column is not None:
            if self.column not in table.names:
                raise self._absent(table.names)
            values = table.column(self.column)
        else:
            check_paired(table.native, values, self.argument, "data")
        return self._checked(values, table.n_rows, allow_missing)

    def of_row(self, row: Mapping[str, Any], allow_missing: bool = False) -> float:
        """Weight of a row that is a dict, or NaN."""
        if self.column is None:
            return float(self._checked(self.values, 1, allow_missing)[0])
        if self.column not in row:
            raise self._absent(row)
        return float(self._checked([row[self.column]], 1, allow_missing)[0])

    def _checked(self, values: Any, n_rows: int, allow_missing: bool) -> Vector:
        """Weights as numbers, finite and >= 0, or NaN."""

        def checked_numbers(numbers: Any) -> Vector:
            return check_weights(numbers, n_rows, self.argument)

        return checked_with_gaps(self.argument, values, checked_numbers, allow_missing)

    def _absent(self, names: Iterable[str]) -> ValueError:
        """Error for data without the column that was named."""
        return ArgumentError(
            self.argument,
            "must name a column of the data, one of {names}",
            self.column,
            "Add that column, or pass {argument}=... for these rows.",
            names=list(names),
            argument=self.argument,
        )


def weighing(table: Table, weights: Vector | None) -> Table:
    """The rows of a table with weights above 0; an error if there are none."""
    if weights is None or weights.all():
        return table
    if not weights.any():
        raise ArgumentError(
            "weights", "must not be zero in all rows", Message("0 in each")
        )
    return table.take(np.flatnonzero(weights))
