"""Variables behind rows of features: values that they had, or may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.columns import DURATION, NUMBERS, Column, number_of, numbers_of
from dyntree.encoding.contrasts import Variable, column_of_numbers
from dyntree.encoding.design import Design
from dyntree.encoding.factors import Factor
from dyntree.encoding.series import objects_of
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector, is_missing
from dyntree.errors import ArgumentError, Message

Columns = Mapping[str, Column]
Span = tuple[float, float]


def raw_columns(design: Design, rows: Matrix) -> dict[str, Column] | None:
    """Variables of rows of features; None unless terms tell each of them by itself.

    A number is read from a term that is the column as it is, levels also by a coding;
    not from effect columns.
    """
    found: dict[str, Column] = {}
    for factor, places in _plain_terms(design):
        (name,) = factor.expression.columns
        block = rows[:, places]
        if factor.levels is None:
            found[name] = column_of_numbers(block[:, 0], design.kinds[name])
        elif name not in found and not factor.coded.n_effects:
            found[name] = _levels_of(factor, block)
    return found if found.keys() >= {*design.columns} else None


def bare_places(design: Design) -> dict[str, int]:
    """Place of the feature of each variable that a term has as it is, a number."""
    return {
        factor.expression.columns[0]: places[0]
        for factor, places in _plain_terms(design)
        if factor.levels is None
    }


def feature_places(design: Design) -> dict[str, list[int]]:
    """Places of the features of all terms that each variable is part of."""
    found: dict[str, list[int]] = {name: [] for name in design.columns}
    for term, places in zip(design.terms, design.term_places, strict=True):
        for name in dict.fromkeys(n for f in term for n in f.expression.columns):
            found[name] += places
    return found


def _plain_terms(design: Design) -> list[tuple[Factor, list[int]]]:
    """Terms that are a column as it is, or its levels, and places of their features."""
    return [
        (term[0], places)
        for term, places in zip(design.terms, design.term_places, strict=True)
        if len(term) == 1 and term[0].expression.is_of_column and term[0].basis is None
    ]


def _levels_of(factor: Factor, block: Matrix) -> Column:
    """Levels that features of a factor stand for; None where there is none."""
    values = np.full(len(block), None, dtype=object)
    for level, cell in zip(factor.coded.labels, factor.cells.values(), strict=True):
        values[(block == cell).all(axis=1)] = level
    return Column(values, is_category=True)


@dataclass(frozen=True, eq=False)
class Axis:
    """Values that a variable takes one after the other.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_points,)
        Levels as objects; else numbers, times of NumPy's in UTC, or days for durations.
    points : Column
        The same as the variable has them.
    is_factor : bool
        Whether they are all there is: levels, or 0 and 1.
    """

    name: str
    values: NDArray[Any]
    points: Column
    is_factor: bool

    def __len__(self) -> int:
        return len(self.values)

    def at(self, point: int, n_rows: int) -> Column:
        """One of the values in every row."""
        return self.points.take(np.full(n_rows, point))


@dataclass(frozen=True, eq=False)
class Domain:
    """Where a variable lies, and how often it has each of its levels.

    Attributes
    ----------
    variable : Variable
        Its column holds the rows that tell it.
    span : (float, float)
        Ends of its range, times in days; NaN for levels.
    shares : ndarray of shape (n_levels,), or None
        How often it has each level, or 0 and 1; None for all other numbers.
    missing : float
        How often it has no value.
    """

    variable: Variable
    span: Span
    shares: Vector | None
    missing: float

    @classmethod
    def of(
        cls, variable: Variable, seen: Span | None = None, bounds: Any = None
    ) -> Domain:
        """The domain of a variable by its rows, the range of others, or as it is given.

        Raises
        ------
        ValueError
            For bounds that are none, and where no row has a value.
        """
        column, name = variable.column, variable.name
        gone = np.array([is_missing(v) for v in column.objects()], dtype=bool)
        missing = float(gone.mean()) if len(gone) else 0.0
        if variable.levels is not None:
            if bounds is not None:
                raise ArgumentError(
                    "bounds",
                    "must be of variables that are numbers or times",
                    Message(
                        "{bounds!r} for {name!r}, which has levels",
                        bounds=bounds,
                        name=name,
                    ),
                )
            codes = variable.levels.codes(name, column, takes_times=True)
            places = codes[codes >= 0.0].astype(np.int64)
            shares: Vector = np.ones(len(variable.levels))  # where it has none at all
            if len(places):
                shares = np.bincount(places, minlength=len(shares)) / len(places)
            return cls(variable, (np.nan, np.nan), shares, missing)
        known = numbers_of(name, column, variable.kind)
        known = known[~np.isnan(known)]
        ends = [*known, *(seen or ())]
        if bounds is None and not len(ends):
            raise ArgumentError(
                "variables",
                "must have a value in some row; {label!r} has none",
                remedy="Give exog with some, or bounds for it.",
                label=name,
            )
        span = (min(ends), max(ends)) if bounds is None else _ends(variable, bounds)
        is_binary = variable.kind == NUMBERS and bool(np.isin(ends, (0.0, 1.0)).all())
        if is_binary and span == (0.0, 1.0) and len(ends):
            mean = float(known.mean()) if len(known) else 0.5
            mean = mean if 0.0 < mean < 1.0 else 0.5
            return cls(variable, span, np.array([1.0 - mean, mean]), missing)
        return cls(variable, (float(span[0]), float(span[1])), None, missing)

    def axis(self, n_points: int) -> Axis:
        """Points over the range, or all levels."""
        one = self.variable
        if one.levels is not None:
            values = objects_of(one.levels.labels)
            return Axis(one.name, values, Column(values, is_category=True), True)
        is_binary = self.shares is not None
        low, high = self.span
        half = 0.5 if low == high else 0.0
        ends = np.linspace(low - half, high + half, n_points)
        numbers = np.array([0.0, 1.0]) if is_binary else ends
        points = column_of_numbers(numbers, one.kind)
        is_time = one.kind not in (NUMBERS, DURATION)
        values = points.values if is_time else numbers
        return Axis(one.name, values, points, is_binary)

    def quantiles(self, unit: Vector, rng: np.random.Generator | None = None) -> Column:
        """Values, uniform over the range or by the shares of levels.

        Parameters
        ----------
        unit : ndarray of shape (n_rows,)
            Probabilities in [0, 1).
        rng : Generator, optional
            By which the variable is missing as often as it was.
        """
        low, high = self.span
        if self.shares is None:
            column = column_of_numbers(low + (high - low) * unit, self.variable.kind)
        else:
            ends = np.cumsum(self.shares)
            place = np.searchsorted(ends / ends[-1], unit, side="right")
            place = np.minimum(place, len(ends) - 1)
            column = self.axis(2).points.take(place)
        if rng is not None:
            gone, values = rng.random(len(unit)) < self.missing, column.values.copy()
            none: Any = None
            if values.dtype.kind in "mM":
                none = np.array("NaT", dtype=values.dtype)
            values[gone] = np.nan if values.dtype.kind == "f" else none
            column = Column(values, column.is_category, column.is_zoned)
        return column


def _ends(variable: Variable, bounds: Any) -> Span:
    """Bounds that were given, times in days."""
    ends: list[float | None] = []
    if np.shape(bounds) == (2,):
        ends = [number_of(value, variable.kind) for value in bounds]
    known = [end for end in ends if end is not None and np.isfinite(end)]
    if len(known) < 2 or not known[0] < known[1]:
        raise ArgumentError(
            "bounds",
            "must be (low, high) with low < high for {label!r}",
            bounds,
            label=variable.name,
        )
    return known[0], known[1]


def encoded(design: Design, *samples: Columns) -> Matrix:
    """Features of several samples of the variables, one after the other.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        n_rows of all samples together.
    """
    return np.concatenate([design.encode(Table(columns)) for columns in samples])


def taken(columns: Columns, rows: NDArray[np.int64]) -> dict[str, Column]:
    """Some rows of columns."""
    return {name: column.take(rows) for name, column in columns.items()}
