"""The scale that the first rows fix, and rows brought within its reach."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.errors import ArgumentError, DistantInputsWarning, Message, warn

LEAST_UNIT = 1e-300  # what is smaller has no inverse to count in
LEAST_SPREAD = 1.0 / LARGEST  # of responses; squares of smaller ones are lost
USUAL = 50.0  # of normal ones 34 standard deviations
REACH = 1e6  # spreads; rows of unit size keep four digits in sums of squares of this


Scale = tuple[list[float], list[float], float, float]


def frozen_scale(X: Matrix, y: Vector, centred: bool = True) -> Scale:
    """Centre and spread of each column, and of y, by the first rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    centred : bool, default True
        False for regressions through the origin.

    Returns
    -------
    centre, spread : list of float of length n_columns
    y_centre, y_spread : float
        The spread is 0 where no value differs from the centre: nothing gives the column
        a unit, and regressions leave it out. The cloud fixes that unit when the first
        different value comes.

    Raises
    ------
    ArgumentError
        If responses differ by so little that squares are 0.
    """
    scales = [_scale(column[~np.isnan(column)], centred) for column in X.T]
    centre, spread = zip(*scales, strict=True) if scales else ((), ())
    y_centre, y_spread = _scale(y, centred)
    if 0.0 < y_spread < LEAST_SPREAD:
        raise _too_close(
            Message("a spread of {spread:g} of the first rows", spread=y_spread)
        )
    return [*centre], [*spread], y_centre, y_spread


def usual(y: Vector) -> Vector:
    """The first responses without those that lie far outside of the others.

    Those are more than `USUAL` times the median distance from the median away from it;
    all are usual where that is 0, as more than half of them are equal.
    """
    held: Vector = y[shares_of_first(y) == 1.0]
    return held


def shares_of_first(y: Vector) -> Vector:
    """The part of its weight that each of the first responses counts with.

    1 if it is usual; else (c / z)^4, c / z being five standard deviations, of normal
    responses with this median distance, over the distance from the median.
    """
    off = np.abs(y - np.median(y))
    unit = np.median(off)
    far = off > USUAL * unit if unit > 0.0 else np.zeros(len(y), dtype=bool)
    shares = np.ones(len(y))
    shares[far] = (7.413 * unit / off[far]) ** 4
    return shares


def _scale(values: Vector, centred: bool) -> tuple[float, float]:
    """Centre and standard deviation; a spread of 0 where there is none to be had."""
    if not len(values):
        return 0.0, 0.0
    if np.all(values == values[0]):
        level = float(values[0])
        return (level, 0.0) if centred else (0.0, abs(level))
    spread = float(values.std(ddof=1))
    if spread < LEAST_SPREAD:  # squares are lost, unless of larger numbers
        size = float(np.ptp(values))
        spread = size * float((values / size).std(ddof=1))
    centre = float(values.mean()) if centred else 0.0
    return centre, spread if spread > LEAST_UNIT else 0.0


def _too_close(got: Any, row: int | None = None) -> ArgumentError:
    """Error for responses whose differences have squares of 0."""
    return ArgumentError(
        "y",
        f"must differ by at least {LEAST_SPREAD:g} or not at all, so that squares of "
        "differences are not lost",
        got,
        "Rescale it first.",
        row=row,
    )


def on_scale(
    cloud: Any,
    features: FeatureMap,
    X: Matrix,
    warned: set[Hashable],
    y: Vector | None = None,
    n_before: int = 0,
    argument: str = "X",
) -> Matrix:
    """Rows as the cloud can take them, by the frozen scale; X itself where all are.

    Values whose squares overflow are refused. What leaves regress on is moved to
    `REACH` spreads from the centre where it is further away: sums of squares would lose
    all other rows beside it. Regressions through the origin are left as they are: there
    the other rows may be of any size.

    Parameters
    ----------
    cloud : Cloud
        Of native rules; those of R and class leaves have no scale.
    features : FeatureMap
    X : ndarray of shape (n_rows, n_features)
    warned : set
        What the model has warned of: once of each column in rows that it learns, and
        once in rows that it predicts.
    y : ndarray of shape (n_rows,), optional
        Of rows that are learned.
    n_before : int, default 0
        Rows at the front that are of an earlier call; errors count from after them.
    argument : str, default "X"
        Name of X in errors.
    """
    rows = without_codes(X, features)
    check_scale(cloud, features, rows, y, n_before, argument)
    if not (cloud.model in params.SLOPES and cloud.intercept):
        return X  # through the origin, the first rows may be as far from it
    found = cloud.within_reach(rows, REACH)
    if found is None:
        return X
    near: Matrix
    near, moved = found
    for places in features.effect_groups:
        near[:, places] = X[:, places]
    for j in moved:  # without the ends, which differ in each cloud of an average
        named = "distant", j, y is None
        if named in warned:
            continue
        warn(
            DistantInputsWarning,
            "{argument!a} has values in column {title!r} more than {reach:g} spreads "
            "away from the mean of the first rows; they are clipped to that "
            "distance, so that regressions in leaves keep their precision for the "
            "other rows. Correct them, rescale the column, or begin with rows that "
            "vary as much as later ones.",
            argument=argument,
            title=_title(features, j),
            reach=REACH,
        )
        warned.add(named)
    return near


def without_codes(X: Matrix, features: FeatureMap) -> Matrix:
    """Rows whose codes of levels, in effect columns, are missing; X without any."""
    groups = features.effect_groups
    if groups:
        X = X.copy()
        for places in groups:
            X[:, places] = np.nan
    return X


def check_scale(
    cloud: Any,
    features: FeatureMap,
    X: Matrix,
    y: Vector | None = None,
    n_before: int = 0,
    argument: str = "X",
) -> None:
    """Raise ValueError for what `on_scale` refuses; parameters are its own."""
    if y is not None and cloud.model not in params.LABELS and not cloud.has_unit:
        off = np.abs(y - cloud.prior_point["y_centre"])
        differ = np.flatnonzero(off)
        if len(differ) and off[differ[0]] < LEAST_SPREAD:
            raise _too_close(y[differ[0]], int(differ[0]) - n_before)
    found = cloud.first_beyond(X, y, LARGEST)
    if found is None:
        return
    row, j, centre, spread = found
    value = X[row, j] if j >= 0 or y is None else y[row]
    raise _beyond(features, j, row - n_before, value, centre, spread, argument)


def _beyond(
    features: FeatureMap, j: int, row: int, value: float, centre: float, spread: float,
    argument: str,
) -> ArgumentError:  # fmt: skip
    """Error for a value beyond the scale, in column j of X, or in y if j < 0."""
    where = f"in row {row}"
    if j < 0:
        argument = "y"
    else:
        where = f"{where}, column {_title(features, j)!r}"
    return ArgumentError(
        argument,
        f"must be at most {LARGEST:g} spreads of the first rows away from their "
        "mean, so that its square is finite",
        Message(
            "{value} {where}, where the mean is {centre:g} and the spread {spread:g}",
            value=value,
            where=where,
            centre=centre,
            spread=spread,
        ),
        "Correct it, or begin with rows that vary as much as later ones.",
    )


def check_first(features: FeatureMap, X: Matrix, y: Vector, n_first: int) -> None:
    """Refuse rows beyond the scale of the first ones, before there is a cloud.

    Parameters
    ----------
    features : FeatureMap
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    n_first : int
        Rows at the front that fix the scale.
    """
    rows = without_codes(X, features)
    centre, spread, y_centre, y_spread = frozen_scale(rows[:n_first], y[:n_first])
    columns = [*zip(rows.T, centre, spread, strict=True), (y, y_centre, y_spread)]
    for j, (values, middle, unit) in enumerate(columns):
        if not unit:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.flatnonzero(np.abs(values - middle) / unit > LARGEST)
        if len(far):
            raise _beyond(features, j if j < len(centre) else -1, int(far[0]),
                          values[far[0]], middle, unit, "X")  # fmt: skip


def _title(features: FeatureMap, j: int) -> str | int:
    """What messages call a column: its name, or its place where columns have none."""
    return j if features.names is None else features.feature_names[j]
