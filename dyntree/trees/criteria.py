"""What is asked of a cloud: criteria, regions and sensitivity, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.rng import RandomSource
from dyntree._core.student_mixture import moments
from dyntree._core.trees import criteria, query
from dyntree._core.trees import sensitivity as core_sensitivity
from dyntree.encoding.values import Matrix, Vector

Bounds = Sequence[Sequence[float]] | Matrix
Region = tuple[Vector, Vector, NDArray[np.bool_]]
BARS = ("candidates", "rows")


def region(
    cloud: Any,
    ones: int,
    candidates: Matrix | None = None,
    bounds: Bounds | None = None,
    categorical: Sequence[bool] | None = None,
    held: bool = False,
) -> Region:
    """Lower and upper bounds and 0/1 flags of every stored column.

    Parameters
    ----------
    cloud : Cloud
    ones : int
        Columns of ones before the user's own: 1 with an augmented intercept, else 0.
    candidates : ndarray of shape (n_rows, n_stored), optional
        Rows that the default bounds cover besides those of `Cloud.spans`.
    bounds : array_like of shape (n_features, 2), optional
    categorical : sequence of bool of shape (n_features,), optional
        By default the columns whose values are exactly 0 and 1.
    held : bool, default False
        Whether defaults are those of the active rows, whatever `Cloud.spans` says.
    """
    native = cloud.options["rules"] == "native"
    if (
        native
        and not cloud.n_active
        and (held or bounds is None or categorical is None)
    ):
        raise ValueError(
            "bounds and categorical must be given, and no rows can be drawn, because "
            "remove_data took all rows and what was known of their ranges."
        )
    low, high, flags = cloud.spans(held)
    m = len(low)
    if candidates is not None and len(candidates):
        low = np.fmin(low, np.fmin.reduce(candidates, axis=0))
        high = np.fmax(high, np.fmax.reduce(candidates, axis=0))
    low = np.nan_to_num(low, nan=0.0)  # missing throughout
    high = np.nan_to_num(high, nan=0.0)
    if bounds is not None:
        given = params.as_array("bounds", bounds, np.float64)
        if given.shape != (m - ones, 2) or not np.all(np.isfinite(given)):
            raise ValueError(
                f"bounds must be finite, of shape ({m - ones}, 2), one pair a column; "
                f"got {bounds!r}."
            )
        if np.any(given[:, 0] > given[:, 1]):
            raise ValueError(
                f"bounds must hold pairs (low, high) with low <= high; got {bounds!r}."
            )
        low[ones:], high[ones:] = given.T
    if categorical is not None:
        chosen = params.as_array("categorical", categorical)
        if chosen.shape != (m - ones,) or chosen.dtype != bool:
            raise ValueError(
                f"categorical must be {m - ones} booleans; got {categorical!r}."
            )
        flags = np.concatenate([flags[:ones], chosen])
    wrong = np.flatnonzero(flags & ((low != 0.0) | (high != 1.0)))
    if len(wrong):
        k = wrong[0]
        name = "categorical" if candidates is None or categorical is not None else "X"
        name = name if bounds is None else "bounds"
        raise ValueError(_not_binary(name, k - ones, low[k], high[k]))
    return low, high, flags


def _not_binary(argument: str, column: int, low: float, high: float) -> str:
    """Error message for a categorical column that is not of 0 and 1."""
    rule = {
        "bounds": "bounds of categorical columns must be exactly (0, 1)",
        "categorical": "categorical must flag columns of 0 and 1 only",
        "X": "X must be within 0 and 1 in a column of 0 and 1 only",
    }[argument]
    remedy = {
        "bounds": "Set them so, or flag the column False in categorical.",
        "categorical": "Give the column bounds of (0, 1), or flag it False.",
        "X": "Give bounds, or flag the column False in categorical.",
    }[argument]
    return f"{rule}; got ({low}, {high}) in column {column}. {remedy}"


def score(
    cloud: Any,
    ones: int,
    rows: Matrix,
    rule: str,
    references: Matrix | None,
    q: float,
    alpha: float,
    best: str | float,
    bounds: Bounds | None,
    categorical: Sequence[bool] | None,
    approx: bool,
) -> Vector:
    """Criterion `rule` at candidate rows; see `DynamicTree.score`."""
    if references is not None and not len(references):
        raise ValueError("Xref must have at least one row; got none.")
    if rule == "alm":
        if cloud.options["rules"] == "r":
            return np.asarray(query.predict(cloud, rows)["var"])
        return moments(*query.mixture(cloud, rows)[:5])[1]
    if rule == "ei":
        return query.mean_improvement(cloud, rows, _bar(cloud, rows, best))
    if rule == "qentropy":
        return np.asarray(criteria.q_entropy(cloud, rows, params.real("q", q)))
    if rule == "qei":
        width = params.real("alpha", alpha)
        if not width > 0.0:
            raise ValueError(f"alpha must be > 0; got {alpha!r}.")
        return np.asarray(
            criteria.q_improvement(cloud, rows, params.real("q", q), width)
        )
    if rule == "ieci":
        return np.asarray(
            criteria.ieci(cloud, rows, rows if references is None else references)
        )
    if references is not None:
        return np.asarray(criteria.alc_reference(cloud, rows, references))
    where = region(cloud, ones, rows, bounds, categorical)
    return np.asarray(criteria.alc_rectangle(cloud, rows, *where, approx))


def _bar(cloud: Any, rows: Matrix, best: str | float) -> Matrix | float:
    """What a response must fall below to improve: of each particle, or one for all."""
    if isinstance(best, str):
        params.one_of("best", best, BARS)
        if best == "rows" and not cloud.n_active:
            raise ValueError("best='rows' needs rows; remove_data took all of them.")
        return query.least_location(
            cloud, rows if best == "candidates" else cloud.rows()[0]
        )
    return params.real("best", best)


def sensitivity(
    cloud: Any,
    ones: int,
    label: int | None,
    n_samples: int,
    n_grid: int,
    span: float,
    method: str,
    bounds: Bounds | None,
    shape: Sequence[float] | None,
    mode: Sequence[float] | None,
    categorical: Sequence[bool] | None,
    groups: list[NDArray[np.int64]],
    source: RandomSource | None,
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Grid, main effects, first-order and total indices; see `DynamicTree`."""
    method = params.one_of("method", method, ("lhs", "boot"))
    low, high, flags = region(cloud, ones, None, bounds, categorical, method == "boot")
    low, high, flags = low[ones:], high[ones:], flags[ones:]
    stored = cloud.rows()[0][:, ones:]
    shapes = np.where(flags, 0.0, 1.0) if shape is None else _floats("shape", shape)
    modes = _means(stored, flags) if mode is None else _floats("mode", mode)
    if shapes.shape != low.shape or modes.shape != low.shape:
        raise ValueError(
            f"shape and mode must hold {len(low)} numbers each; got {shape!r} and "
            f"{mode!r}."
        )
    wrong = np.flatnonzero(np.where(flags, shapes != 0.0, shapes < 1.0))
    if len(wrong):
        raise ValueError(
            "shape must be 0 for 0/1 columns and >= 1, where 1 is uniform, for all "
            f"others; got {shape!r}, wrong for column {wrong[0]}."
        )
    outside = np.flatnonzero((shapes != 1.0) & ((modes < low) | (modes > high)))
    if mode is not None and len(outside):
        k = outside[0]
        raise ValueError(
            f"mode must be within the bounds, {low[k]} to {high[k]} for column {k}; "
            f"got {mode!r}. Give wider bounds, or another mode."
        )
    share = params.real("span", span)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"span must be in [0, 1]; got {span!r}.")
    grid = np.linspace(low, high, params.count("n_grid", n_grid, 1))
    n_samples = params.count("n_samples", n_samples, 2)
    main, first, total = core_sensitivity.sensitivity(
        cloud,
        n_samples=n_samples,
        grid=grid,
        span=share,
        lower=low,
        upper=high,
        shape=shapes,
        mode=modes,
        categorical=flags,
        method=method,
        label=label,
        groups=groups,
        source=source,
    )
    return grid, main, first, total


def importance(
    mean: Callable[[Matrix], Matrix],
    X: Matrix,
    groups: list[NDArray[np.int64]],
    n_samples: int,
    rng: np.random.Generator,
) -> tuple[Vector, Vector]:
    """Shares of the variance of a prediction, and their standard errors.

    Parameters
    ----------
    mean : callable
        Predictions, shape (n_rows, n_outputs), of rows.
    X : ndarray of shape (n_rows, n_features)
        Rows to draw from.
    groups : list of ndarray of int
        Columns of each input.
    n_samples : int
    rng : Generator
    """
    n_samples = params.count("n_samples", n_samples, 2)
    if not len(X):
        raise ValueError("importance needs rows; remove_data took all of them.")
    base, other = X[rng.integers(len(X), size=(2, n_samples))]
    mixed = np.tile(base, (len(groups) + 1, 1, 1))
    for k, group in enumerate(groups):
        mixed[k, :, group] = other[:, group].T
    answers = mean(mixed.reshape(-1, X.shape[1])).reshape(len(mixed), n_samples, -1)
    effects = 0.5 * ((answers[:-1] - answers[-1]) ** 2).sum(axis=2)
    total = effects.mean(axis=1)
    whole = total.sum()
    if not whole > 0.0:
        return np.zeros(len(groups)), np.zeros(len(groups))
    values = total / whole
    # of a ratio of means, by its linear part
    apart = effects - values[:, None] * effects.sum(axis=0)
    errors: Vector = apart.std(axis=1, ddof=1) / (whole * np.sqrt(n_samples))
    return values, errors


def _means(stored: Matrix, flags: NDArray[np.bool_]) -> Vector:
    """Column means of what is not missing; 0 where everything is.

    0/1 columns of which these rows show one value or none count as a fair coin.
    """
    n_there = np.maximum(1, (~np.isnan(stored)).sum(axis=0))
    means: Vector = np.nansum(stored, axis=0) / n_there
    means[flags & ((means == 0.0) | (means == 1.0))] = 0.5
    return means


def _floats(name: str, values: Sequence[float]) -> Vector:
    """Finite floats of shape (n,)."""
    array = params.as_array(name, values, np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be a sequence of finite numbers; got {values!r}."
        )
    return array
