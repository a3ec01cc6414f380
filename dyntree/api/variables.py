"""Functions behind what variables do: importance, sensitivity, partial dependence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.api.effects import names_in
from dyntree.encoding.columns import Column, numbers_of
from dyntree.encoding.contrasts import Variable
from dyntree.encoding.design import Design
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.raw_rows import (
    Axis,
    Columns,
    Domain,
    Span,
    encoded,
    feature_places,
)
from dyntree.encoding.tables import Table
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.summaries import ClassPrediction
from dyntree.summaries.effects import MainEffect
from dyntree.trees.factory import Trees
from dyntree.trees.sobol import level_means, smoothed
from dyntree.trees.view import TreeView

BY = ("variable", "feature")
METHODS = ("lhs", "boot")
KINDS = ("average", "individual", "both")
Asked = str | tuple[str, str]


@dataclass(frozen=True, eq=False)
class RawRows:
    """Rows of raw data in which variables are set to other values.

    Attributes
    ----------
    columns : mapping of str to Column
        The variables.
    counts : ndarray of shape (n_rows,)
        Number of times that each row counts.
    seen : dict of str to (float, float)
        Range over all rows learned, for the variables for which the trees know it.
    """

    columns: Columns
    counts: Vector
    seen: dict[str, Span]

    def __len__(self) -> int:
        return len(self.counts)


def feature_groups(design: Design, names: Sequence[str]) -> list[list[int]]:
    """Places of the features of inputs, which are factors of terms or features."""
    factors, features = design.factors, list(design.names)
    return [
        [features.index(feature) for feature in factors.get(name, [name])]
        for name in names
    ]


def mean_predictions(
    tree: Trees, features: Matrix, place: int | None, n_compared: int = 0
) -> NDArray[np.float64]:
    """Mean predictions, or probabilities, of one class or all: (n_rows, ...).

    `n_compared` is as in `TreeModel.draw_blocks`.
    """
    rows = Encoded(features)
    if n_compared:
        means = tree.effect_means(rows, n_compared)
    else:
        answer = tree.predict(rows)
        means = answer.proba if isinstance(answer, ClassPrediction) else answer.mean
    return means if place is None else means[:, place]


def domains_of(
    design: Design, raw: RawRows, bounds: Mapping[str, Any] | None
) -> dict[str, Domain]:
    """Where each variable lies."""
    given = {} if bounds is None else bounds
    known = list(design.columns)
    if not isinstance(given, Mapping) or {*given} - {*known}:
        raise ArgumentError(
            "bounds",
            "must be a dict of (low, high) by columns of the formula, {known}",
            bounds,
            known=known,
        )
    table = Table(raw.columns)
    return {
        name: Domain.of(
            Variable.of(design, name, table, table),
            raw.seen.get(name),
            given.get(name),
        )
        for name in raw.columns
    }


def two_samples(
    domains: Mapping[str, Domain],
    gaps: set[str],
    n: int,
    rng: np.random.Generator,
) -> list[Columns]:
    """Two samples of variables that are independent of one another.

    Those in `gaps` are missing as often as in the rows.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(2 * len(domains), scramble=True, seed=rng)
    points = sequence.random_base2(int(n - 1).bit_length())[:n].T
    return [
        {
            name: domain.quantiles(unit, rng if name in gaps else None)
            for (name, domain), unit in zip(domains.items(), half, strict=True)
        }
        for half in np.split(points, 2)
    ]


def with_gaps(
    design: Design, view: TreeView, domains: Mapping[str, Domain]
) -> set[str]:
    """Variables with missing values of which trees ask whether there is one."""
    gone = [name for name, one in domains.items() if one.missing > 0.0]
    asked = view.gap_features() if gone else set()
    places = feature_places(design)
    return {name for name in gone if asked & {*places[name]}}


def main_effect(
    domain: Domain,
    columns: Sequence[Column],
    levels: Matrix,
    n_grid: int,
    span: float,
) -> MainEffect:
    """Mean of draws as a function of one variable."""
    axis, one = domain.axis(n_grid), domain.variable
    if one.levels is not None:
        of = one.levels.codes
        at = np.concatenate([of(one.name, c, takes_times=True) for c in columns])
    else:
        at = np.concatenate([numbers_of(one.name, c, one.kind) for c in columns])
    if axis.is_factor:
        draws = level_means(at, levels, len(axis))
    else:
        grid = numbers_of(one.name, axis.points, one.kind)
        draws = smoothed(at, levels, grid, span)
    return MainEffect(axis.name, axis.values, draws, axis.is_factor)


def one_or_two(variables: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """One variable of the formula, or two that differ."""
    known = list(columns)
    names = names_in(variables, "variables", known)
    absent = [name for name in names if name not in known]
    if absent:
        raise ArgumentError(
            "variables",
            "must be columns of the formula, {known}",
            absent[0],
            known=known,
        )
    if not 1 <= len({*names}) == len(names) <= 2:
        raise ArgumentError(
            "variables", "must be one column, or two that differ", variables
        )
    return tuple(names)


def at_all_points(
    design: Design, axes: Sequence[Axis], base: Columns, n_rows: int
) -> Matrix:
    """Features of rows with variables at all points of one axis, or of two."""
    points = np.ndindex(*map(len, axes))
    moved = (
        {one.name: one.at(k, n_rows) for one, k in zip(axes, at, strict=True)}
        for at in points
    )
    return encoded(design, *({**base, **columns} for columns in moved))
