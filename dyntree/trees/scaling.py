"""The scale that the first rows fix, and rows brought within its reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.errors import DistantInputsWarning, warn

STILL = 1.0  # the spread of a column whose first values are equal: it measures nothing
REACH = 1e6  # spreads; rows of unit size keep four digits in sums of squares of this


def frozen_scale(X: Matrix, y: Vector) -> tuple[list[float], list[float], float, float]:
    """Centre and spread of each column, and of y, by the first rows.

    Columns without two distinct values have spread 1; columns that are missing in all
    of these rows have spread 0, which leaves them out of regressions.
    """
    centre, spread = [], []
    for column in X.T:
        seen = column[~np.isnan(column)]
        centre.append(float(seen.mean()) if len(seen) else 0.0)
        spread.append(_spread(seen) if len(seen) else 0.0)
    return centre, spread, float(y.mean()), _spread(y)


def _spread(values: Vector) -> float:
    """Standard deviation; 1 where all values are equal."""
    if len(values) < 2 or np.all(values == values[0]):
        return STILL
    return float(values.std(ddof=1)) or STILL


def on_scale(
    cloud: Any,
    features: FeatureMap,
    X: Matrix,
    y: Vector | None = None,
    n_before: int = 0,
    argument: str = "X",
) -> Matrix:
    """Rows as the cloud can take them, by the frozen scale.

    Values whose squares overflow are refused. What linear leaves regress on is moved to
    `REACH` spreads from the centre where it is further away: sums of squares would lose
    all other rows beside it. Columns without a spread of their own, whose first values
    were equal, and regressions through the origin are left as they are: there the other
    rows may be of any size.

    Parameters
    ----------
    cloud : Cloud
        Of native rules; those of R and class leaves have no scale.
    features : FeatureMap
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,), optional
    n_before : int, default 0
        Rows at the front that came with an earlier call; errors count from after them.
    argument : str, default "X"
        Name of X in errors.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        X itself where nothing is moved.
    """
    check_scale(cloud, features, X, y, n_before, argument)
    return _within_reach(cloud, features, X, argument)


def check_scale(
    cloud: Any,
    features: FeatureMap,
    X: Matrix,
    y: Vector | None = None,
    n_before: int = 0,
    argument: str = "X",
) -> None:
    """Raise ValueError for what `on_scale` refuses; parameters are its own."""
    found = cloud.first_beyond(X, y, LARGEST)
    if found is None:
        return
    row, j = found
    scale, where = cloud.prior_point, f"in row {row - n_before}"
    if j < 0:
        assert y is not None
        middle, unit = scale["y_centre"], scale["y_spread"]
        raise ValueError(_beyond_scale("y", y[row], where, middle, unit))
    where += f", column {_title(features, j)!r}"
    raise ValueError(
        _beyond_scale(
            argument, X[row, j], where, scale["centre"][j], scale["spread"][j]
        )
    )


def _within_reach(cloud: Any, features: FeatureMap, X: Matrix, argument: str) -> Matrix:
    """Rows with distant inputs of linear leaves moved nearer; tells of each column."""
    if (
        cloud.model != "linear"
        or not cloud.intercept  # the first rows may be as far from the origin
        or cloud.first_beyond(X, None, REACH) is None
    ):
        return X
    centre, spread = (np.array(cloud.prior_point[k]) for k in ("centre", "spread"))
    near = X.copy()
    for j in np.flatnonzero(spread).tolist():  # 0 where the leaves leave a column out
        if spread[j] == STILL:
            continue
        low, high = centre[j] - REACH * spread[j], centre[j] + REACH * spread[j]
        near[:, j] = np.clip(X[:, j], low, high)
        if np.any((near[:, j] < X[:, j]) | (near[:, j] > X[:, j])):  # not where NaN
            warn(
                DistantInputsWarning,
                f"{argument} has values in column {_title(features, j)!r} more than "
                f"{REACH:g} spreads away from the mean of the first rows; they count "
                f"as {low:g} or {high:g}, so that linear leaves do not lose the other "
                "rows beside them. Mend them, rescale the column, or begin with rows "
                "that vary as later ones do.",
            )
    return near


def _title(features: FeatureMap, j: int) -> str | int:
    """What messages call a column: its name, or its place where columns have none."""
    return j if features.names is None else features.feature_names[j]


def _beyond_scale(
    name: str, value: float, where: str, centre: float, spread: float
) -> str:
    """Error message for a value that the first rows did not prepare for."""
    return (
        f"{name} must be at most {LARGEST:g} spreads of the first rows away from their "
        f"mean, so that its square is finite; got {value} {where}, where the mean is "
        f"{centre:g} and the spread {spread:g}. Mend it, or begin with rows that vary "
        "as later ones do."
    )
