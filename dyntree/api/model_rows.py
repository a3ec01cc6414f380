"""Raw data -> rows that a model of a formula learns: features and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.offsets import RowOffsets, check_shift, shift_of
from dyntree.api.row_weights import RowWeights, weighing
from dyntree.encoding.design import Design
from dyntree.encoding.gaps import LEAVE_OUT, complete_rows
from dyntree.encoding.tables import (
    Table,
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


def rows_of(
    design: Design,
    table: Table,
    missing: str,
    given: RowWeights | None = None,
    offsets: RowOffsets | None = None,
) -> NewRows:
    """Features, responses and weights of a table that has the response.

    Parameters
    ----------
    design : Design
        The terms, with all levels seen so far.
    table : Table
    missing : {"none", "drop", "raise"}
        The rule for missing values of the model.
    given : RowWeights, optional
    offsets : RowOffsets, optional

    Returns
    -------
    NewRows
    """
    drops = missing == "drop"
    weights = None if given is None else given.of(table, drops)
    values = {}
    if offsets is not None:
        values = offsets.of(table, table.n_rows, drops)
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
    rows, responses, places = complete(design, missing, rows, responses, shift=shift)
    if places is not None:
        table = table.take(places)
        weights = None if weights is None else weights[places]
        shift = None if shift is None else shift[places]
        values = {name: one[places] for name, one in values.items()}
    if places is not None and designs:  # rows that are left out bring no levels
        designs = design.grown(table)
        rows = (designs[-1][1] if designs else design).encode(table)
    design.count(table, designs)
    check_shift(design, shift)
    return NewRows(rows, responses, designs, weights, table, shift, values)


def complete(
    design: Design,
    missing: str,
    rows: Matrix,
    responses: list[Any],
    weights: Vector | None = None,
    shift: Vector | None = None,
) -> tuple[Matrix, list[Any], NDArray[np.int64] | None]:
    """Rows by the rule for missing values, and which they are if not all.

    In rows of weight 0 anything may be missing.
    """
    if {*map(type, responses)} == {float}:
        no_response = np.isnan(responses)
    else:
        no_response = np.array([is_missing(y) for y in responses], dtype=bool)
    if weights is not None:
        no_response &= weights > 0.0
    gone, places = no_response | np.isnan(rows).any(axis=1), None
    if missing == "drop":
        if shift is not None:
            gone |= np.isnan(shift)
        places = np.flatnonzero(~gone)
        rows, responses = rows[places], [responses[k] for k in places]
    else:
        bad = np.flatnonzero(gone if missing == "raise" else no_response)
        if len(bad):
            what = design.response.label if no_response[bad[0]] else "the inputs"
            remedy = LEAVE_OUT
            if gone.sum() > no_response.sum() and missing == "none":
                remedy = (
                    "Leave such rows out, as by dropna(subset=...); a model with "
                    "missing='drop' leaves out those with missing inputs, too."
                )
            raise ArgumentError(
                "data",
                "must have no missing value of {what}",
                Message("one"),
                remedy,
                row=bad[0],
                what=what,
            )
    return rows, responses, places


def columns_for(design: Design, offsets: RowOffsets | None) -> tuple[str, ...]:
    """Columns of raw data that a row may be made of."""
    passed = () if offsets is None else tuple(offsets.passed)
    return (*design.needed(passed), *design.response.columns)


def is_empty(rows: Any) -> bool:
    """Whether rows are a list of none, which names no columns."""
    return isinstance(rows, list | tuple) and not rows
