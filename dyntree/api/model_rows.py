"""What a model of a formula makes of raw data: features and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.offsets import RowOffsets, check_shift, row_shift, shift_of
from dyntree.api.row_weights import RowWeights, weighing
from dyntree.encoding.design import Design
from dyntree.encoding.gaps import complete_rows
from dyntree.encoding.tables import (
    Table,
    is_row,
    plain_data,
    table_of,
    table_of_inputs,
    with_response,
)
from dyntree.encoding.values import Matrix, Vector, is_missing
from dyntree.errors import ArgumentError, Message


@dataclass(frozen=True)
class NewRows:
    """Raw data in the form in which a model learns them.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        According to the last of the designs.
    responses : list of length n_rows
    designs : list of (int, Design)
        Designs with the levels that were added, as from `Design.grown`.
    weights : ndarray of shape (n_rows,), or None
    table : Table or None
        The rows as a table, or None for a single row without one.
    shift : ndarray of shape (n_rows,), or None
        Offsets of the rows.
    offset_values : dict of str to ndarray of shape (n_rows,)
        The part of them that was passed by argument, as from `RowOffsets.of`.
    """

    features: Matrix
    responses: list[Any]
    designs: list[tuple[int, Design]] = field(default_factory=list)
    weights: Vector | None = None
    table: Table | None = None
    shift: Vector | None = None
    offset_values: Mapping[str, Vector] = field(default_factory=dict)


class ModelRows:
    """A model that knows its terms, and what becomes of missing values."""

    design: Design
    formula: str | None
    missing: str

    endog_names: str

    def table_of(self, data: Any) -> Table:
        """Raw data as a table; arrays have the columns that the model was made from."""
        if self.formula is None:
            return table_of_inputs(data, self.design.columns)
        return table_of(plain_data(data, self.design.columns))

    def rows(
        self,
        design: Design,
        endog: Any,
        exog: Any = None,
        given: RowWeights | None = None,
        offsets: RowOffsets | None = None,
    ) -> NewRows:
        """Features, responses and weights of raw data, by the rule for missing values.

        Rows of weight 0 are dropped.

        Parameters
        ----------
        design : Design
            The terms, with all levels seen so far.
        endog, exog
            As in `DynamicTreeResults.append`.
        given : RowWeights, optional
        offsets : RowOffsets, optional

        Returns
        -------
        NewRows
        """
        nothing = NewRows(np.empty((0, len(design.names))), [])
        if _is_empty(endog) and (exog is None or _is_empty(exog)):
            return nothing
        if exog is None:
            endog = plain_data(endog, self._columns(design, offsets))
            if is_row(endog) and not design.brings(endog):
                weights = None
                if given is not None:
                    weights = np.array([given.of_row(endog, self._drops)])
                    if not weights[0] > 0.0:
                        return nothing
                row, response = design.encode_row(endog), design.response_of(endog)
                design.count(table_of([endog]))
                shift = row_shift(design, endog, offsets, self._drops)
                own = None if shift is None else np.array([shift])
                rows, responses, _ = self._complete(row, [response], shift=own)
                if not len(rows):
                    return nothing
                check_shift(design, own)
                return NewRows(rows, responses, weights=weights, shift=own)
        table = self._table_with_response(design, endog, exog, offsets)
        return self._rows_of(design, table, given, offsets)

    @property
    def _drops(self) -> bool:
        """Whether rows with a missing value are left out."""
        return self.missing == "drop"

    @staticmethod
    def _columns(design: Design, offsets: RowOffsets | None) -> tuple[str, ...]:
        """Columns of raw data that a row may be made of."""
        passed = () if offsets is None else tuple(offsets.passed)
        return (*design.needed_without(passed), *design.response.columns)

    def _table_with_response(
        self, design: Design, endog: Any, exog: Any, offsets: RowOffsets | None
    ) -> Table:
        """Raw data and responses as one table."""
        if exog is not None:
            if self.formula is not None:
                raise ArgumentError(
                    "exog",
                    "must be None for a model made by formula: give data with the "
                    "response",
                )
            return with_response(self.table_of(exog), endog, self.endog_names)
        endog = plain_data(endog, self._columns(design, offsets))
        return table_of([endog] if is_row(endog) else endog)

    def _rows_of(
        self,
        design: Design,
        table: Table,
        given: RowWeights | None = None,
        offsets: RowOffsets | None = None,
    ) -> NewRows:
        """The same of a table that has the response."""
        weights = None if given is None else given.of(table, self._drops)
        values = {}
        if offsets is not None:
            values = offsets.of(table, table.n_rows, self._drops)
        table, weights, values = complete_rows(table, weights, values)
        if not table.n_rows or (weights is not None and not weights.any()):
            return NewRows(np.empty((0, len(design.names))), [])
        shift = shift_of(design, table, values)
        table = weighing(table, weights)
        if weights is not None:
            shift = None if shift is None else shift[weights > 0.0]
            values = {name: one[weights > 0.0] for name, one in values.items()}
            weights = weights[weights > 0.0]
        designs = design.grown(table)
        wider = designs[-1][1] if designs else design
        rows, responses = wider.encode(table), wider.responses(table)
        rows, responses, kept = self._complete(rows, responses, shift=shift)
        if kept is not None:
            table = table.take(kept)
            weights = None if weights is None else weights[kept]
            shift = None if shift is None else shift[kept]
            values = {name: one[kept] for name, one in values.items()}
        if kept is not None and designs:  # rows that are left out bring no levels
            designs = design.grown(table)
            rows = (designs[-1][1] if designs else design).encode(table)
        design.count(table, designs)
        check_shift(design, shift)
        return NewRows(rows, responses, designs, weights, table, shift, values)

    def _complete(
        self,
        rows: Matrix,
        responses: list[Any],
        weights: Vector | None = None,
        shift: Vector | None = None,
    ) -> tuple[Matrix, list[Any], NDArray[np.int64] | None]:
        """Rows by the rule for missing values, and which they are if not all.

        In rows of weight 0 anything may be missing.
        """
        no_response = np.array([is_missing(y) for y in responses], dtype=bool)
        if weights is not None:
            no_response &= weights > 0.0
        missing, kept = no_response | np.isnan(rows).any(axis=1), None
        if self._drops:
            if shift is not None:
                missing |= np.isnan(shift)
            kept = np.flatnonzero(~missing)
            rows, responses = rows[kept], [responses[k] for k in kept]
        else:
            bad = np.flatnonzero(missing if self.missing == "raise" else no_response)
            if len(bad):
                what = self.endog_names if no_response[bad[0]] else "the inputs"
                remedy = "Leave such rows out: missing='drop'."
                if missing.sum() > no_response.sum() and self.missing == "none":
                    remedy = (
                        "Leave such rows out, as by dropna(subset=...); missing='drop' "
                        "leaves out those with missing inputs, too."
                    )
                raise ArgumentError(
                    "data",
                    "must have no missing value of {what}",
                    Message("one"),
                    remedy,
                    row=bad[0],
                    what=what,
                )
        return rows, responses, kept


def _is_empty(rows: Any) -> bool:
    """Whether rows are a list of none, which names no columns."""
    return isinstance(rows, list | tuple) and not rows
