"""First rows -> a cloud with trees in it; row numbers -> places in a cloud."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyntree._core.cloud import Cloud
from dyntree._core.rng import CounterSource, RSource
from dyntree.errors import DistantInputsWarning, warn
from dyntree.features import (
    LARGEST,
    FeatureMap,
    Matrix,
    Vector,
    with_ones,
)
from dyntree.params import N_SCALE, NIG, TreeOptions, as_array
from dyntree.responses import label_codes, sorted_labels

STILL = 1.0  # the spread of a column whose first values are equal: it measures nothing
REACH = 1e6  # spreads; rows of unit size keep four digits in sums of squares of this


def n_ones(options: TreeOptions) -> int:
    """Columns of ones stored before the user's own: R's explicit intercept."""
    return int(options.rules == "r" and options.intercept == "augmented")


def n_waiting(options: TreeOptions, n_scale: int = N_SCALE) -> int:
    """Rows that are kept back before trees are planted.

    R's rules plant trees on n_start rows and want one more. Native regression fixes its
    scale by the first `n_scale` rows; native class leaves need none.
    """
    if options.rules == "r":
        assert options.n_start is not None
        return options.n_start + 1
    return 1 if options.model == "class" else n_scale


def plant(
    options: TreeOptions, X: Matrix, y: list[Any], seed: int, n_scale: int = N_SCALE
) -> tuple[Any, TreeOptions, Vector, int]:
    """Return a cloud with trees that can learn, and what is left to be learned.

    Parameters
    ----------
    options : TreeOptions
        Complete but for the labels, which are those of y where none are named; under
        native rules y may add some.
    X : ndarray of shape (n_rows, n_features)
    y : list of length n_rows
        Responses or labels; n_rows > n_start.
    seed : int
    n_scale : int, default N_SCALE
        Native regression: rows that fix the scale.

    Returns
    -------
    cloud : Cloud
    options : TreeOptions
        With the labels.
    responses : ndarray of shape (n_rows,)
        y as the cloud takes it.
    n_held : int
        Rows that the trees hold already.

    Raises
    ------
    ValueError
        Where R would refuse these rows: regression needs two distinct responses among
        the first min_leaf.
    """
    if options.model == "class":
        known = options.classes
        if known is None:
            options = replace(options, classes=sorted_labels(y))
        elif options.rules == "native":
            options = replace(options, classes=tuple(dict.fromkeys([*known, *y])))
        assert options.classes is not None
        responses = label_codes(y, options.classes)
    else:
        responses = np.array(y, dtype=np.float64)
    if options.rules == "r" and options.model in ("constant", "linear"):
        first = responses[: options.min_leaf]
        if np.all(first == first[0]):
            raise ValueError(
                f"y must hold two distinct values among the first min_leaf="
                f"{options.min_leaf} rows; all are {first[0]}. Begin with other rows "
                "or set min_leaf higher."
            )
    ones = n_ones(options)
    native = options.rules == "native"
    cloud = Cloud(
        CounterSource(seed) if native else RSource(seed),
        **cloud_options(options, X.shape[1]),
    )
    if native and options.model != "class":
        basis = (options.n_basis or 0) if options.model == "linear" else 0
        scale = frozen_scale(X[:n_scale, :basis], responses[:n_scale])
        if options.intercept == "none":  # through the origin, not the centre
            scale = ([0.0] * basis, scale[1], 0.0, scale[3])
        cloud.set_scale(*scale)
    held = options.n_start or 0
    cloud.start(with_ones(X[:held], ones), responses[:held])
    return cloud, options, responses, held


def cloud_options(options: TreeOptions, n_features: int) -> dict[str, Any]:
    """Options of the cloud for rows of so many columns.

    Parameters
    ----------
    options : TreeOptions
        Complete, with the labels.
    n_features : int
        Of X, without a column of ones.
    """
    assert options.min_leaf is not None
    assert options.tree_prior is not None
    ones = n_ones(options)
    basis = n_features if options.n_basis is None else options.n_basis
    return {
        "model": options.model,
        "n_features": n_features + ones,
        "n_particles": options.n_particles,
        "min_leaf": options.min_leaf,
        "tree_prior": options.tree_prior,
        "proposal": options.proposal,
        "variance_prior": options.variance_prior,
        "intercept": _has_level(options),
        "n_basis": basis + ones,
        "first_split": options.first_split + ones,
        "n_classes": len(options.classes or ()),
        "rules": options.rules,
        "prior": _prior(options) if options.rules == "native" else None,
        "max_retired": options.max_retired_mass,
    }


def _has_level(options: TreeOptions) -> bool:
    """Whether the core's leaves have a level besides the columns they are given."""
    if options.model != "linear":
        return True
    if options.rules == "r":
        return options.intercept == "implicit"
    return options.intercept != "none"


def _prior(options: TreeOptions) -> dict[str, Any]:
    """Where the prior of the leaves starts, and whether it stays there."""
    fixed = options.prior if isinstance(options.prior, NIG) else None
    return {
        "b0": 0.03 if fixed is None else fixed.b0,
        "kappa0": 0.01 if fixed is None else fixed.kappa0,
        "adaptive": fixed is None and options.model in ("constant", "linear"),
        "class_mass": options.class_mass,
    }


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


def widened(cloud: Any, widen: Callable[[Matrix], Matrix]) -> Any:
    """A cloud like this one that has more columns, the new ones last (native rules).

    `widen` gives the active rows their values there, and so the rows that were retired.
    Linear leaves go on with the columns that they began with.
    """
    header, arrays = cloud.to_arrays()
    X, known = widen(arrays["X"]), arrays["spans"]
    spans = np.zeros((X.shape[1], known.shape[1]))
    spans[:, :2] = widen(known[:, :2].T).T  # 0 at most where a column was missing
    spans[: len(known), 2:] = known[:, 2:]
    header = dict(header, n_features=X.shape[1])
    if header["model"] != "linear":
        header["n_basis"] = X.shape[1]
    return Cloud.from_arrays(header, dict(arrays, X=X, spans=spans), cloud.source)


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
    found = cloud.first_beyond(X, y, LARGEST)
    if found is None:
        return _within_reach(cloud, features, X, argument)
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
    """What is said of a value that the first rows did not prepare for."""
    return (
        f"{name} must be at most {LARGEST:g} spreads of the first rows away from their "
        f"mean, so that its square is finite; got {value} {where}, where the mean is "
        f"{centre:g} and the spread {spread:g}. Mend it, or begin with rows that vary "
        "as later ones do."
    )


def row_positions(cloud: Any, row_ids: ArrayLike, name: str) -> NDArray[np.int64]:
    """Places of active rows in the cloud's order, by their numbers.

    Raises
    ------
    ValueError
        For what is not a whole number, names no active row, or comes twice.
    """
    ids = np.atleast_1d(as_array(name, row_ids))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be row numbers (ints); got {row_ids!r}.")
    place = {row: k for k, row in enumerate(cloud.row_ids().tolist())}
    unknown = [row for row in ids.tolist() if row not in place]
    if unknown:
        raise ValueError(
            f"{name} must name active rows; {unknown[0]} is not one (see active_ids)."
        )
    if len(set(ids.tolist())) != len(ids):
        raise ValueError(f"{name} must name each row once; got {row_ids!r}.")
    return np.array([place[row] for row in ids.tolist()], dtype=np.int64)
