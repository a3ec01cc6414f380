"""Components that a user or another model passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.errors import ArgumentError
from dyntree.mixtures.canopy.components import Components, Family, Moments
from dyntree.mixtures.canopy.options import MixtureOptions
from dyntree.mixtures.canopy.scaling import ColumnSums, Scaling

EQUAL = 1e-9  # how far variances that are one may differ, relatively


def components_of(
    family: Family, m: int, weights: Any, means: Any, covariances: Any
) -> Components:
    """Components as a user gives them, checked, in the units of the columns.

    Raises ValueError for what makes no mixture; the component is named.
    """
    weight = params.as_array("weights", weights, float)
    mean = params.as_array("means", means, float)
    if weight.shape != (m,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ArgumentError("weights", f"must be {m} numbers >= 0", weight)
    if abs(weight.sum() - 1.0) > 1e-6:
        raise ArgumentError(
            "weights", "must sum to 1; they sum to {weight:.6g}", weight=weight.sum()
        )
    if mean.ndim != 2 or len(mean) != m or not mean.shape[1]:
        raise ArgumentError("means", f"must be of shape ({m}, n_features)", mean)
    bad = family.invalid_means(mean)
    if bad.any():
        raise ArgumentError(
            "means",
            "must be {mean_rule} in every component; component {flatnonzero} has "
            "{mean}",
            mean_rule=family.mean_rule,
            flatnonzero=int(np.flatnonzero(bad)[0]),
            mean=mean[bad][0],
        )
    weight = weight / weight.sum()
    if family.is_count:
        if covariances is not None:
            raise ArgumentError(
                "covariances",
                "must be None for family {label!r}, which has none",
                label=family.name,
            )
        return Components(weight, mean.copy(), np.empty(0))
    return Components(weight, mean.copy(), spread_of(family, mean, covariances))


def spread_of(family: Family, mean: NDArray[Any], covariances: Any) -> NDArray[Any]:
    """Variances or covariances as a user gives them, checked."""
    m, d = mean.shape
    if covariances is None:
        raise ArgumentError(
            "covariances", "must be given for family {label!r}", label=family.name
        )
    spread = params.as_array("covariances", covariances, float)
    shape = family.spread_shape(m, d)
    if spread.shape != shape:
        raise ArgumentError(
            "covariances",
            "must be of shape {shape} for family {label!r}",
            spread,
            shape=shape,
            label=family.name,
        )
    for z in range(m):
        if not is_positive(spread[z]):
            raise ArgumentError(
                "covariances",
                "must be finite and > 0, or symmetric and positive definite; "
                "component {z} is not",
                z=z,
            )
    if family.one_spread:
        other = np.abs(spread - spread[0]) > EQUAL * spread[0]
        if other.any():
            z = int(np.flatnonzero(other)[0])
            raise ArgumentError(
                "covariances",
                "must be equal for family {label!r}; component {z} has {spread:g}, "
                "component 0 {spread_2:g}",
                remedy="Take family 'spherical' for variances of their own.",
                label=family.name,
                z=z,
                spread=spread[z],
                spread_2=spread[0],
            )
    return spread.copy()


def is_positive(spread: NDArray[np.float64]) -> bool:
    """Whether it is a variance, variances, or a covariance matrix."""
    if not np.isfinite(spread).all():
        return False
    if spread.ndim < 2:
        return bool((spread > 0).all())
    if np.abs(spread - spread.T).max() > 1e-8 * np.abs(spread).max():
        return False
    return bool((np.linalg.eigvalsh(spread) > 0).all())


def scaling_of(family: Family, known: Components) -> Scaling:
    """Scales that rows of such components would have."""
    weight, mean = known.weight, known.mean
    centre = weight @ mean
    squares = weight @ (mean - centre) ** 2
    squares = squares + family.variances_within(known, centre)
    names = tuple(f"x{j}" for j in range(mean.shape[1]))
    spread = np.sqrt(squares)
    sums = ColumnSums(np.ones(len(centre)), centre, centre - spread, centre + spread)
    return Scaling.of(sums, (squares, squares), 1.0, family, names)


def scaled(known: Components, scaling: Scaling) -> Components:
    """Components in scaled coordinates, of such in the units of the columns."""
    mean = (known.mean - scaling.centre) / scaling.scale
    return Components(known.weight, mean, known.spread / scaling.square(known.spread))


def unscaled(known: Components, scaling: Scaling) -> Components:
    """Components in the units of the columns, of such in scaled coordinates."""
    mean = known.mean * scaling.scale + scaling.centre
    spread = known.spread * scaling.square(known.spread)
    return Components(known.weight.copy(), mean, spread)


def moments_of(family: Family, known: Components, n_rows: float) -> Moments:
    """Sums over as many rows of components as their weights say, scaled."""
    weight, mean = n_rows * known.weight, known.mean
    second = family.second_of(known, weight)
    return Moments(weight, weight[:, None] * mean, second)


def check_alike(
    options: MixtureOptions, features: FeatureMap, start: MixtureOptions, columns: Any
) -> None:
    """Raise ValueError unless a fit can begin at another mixture.

    `options` and `features` are of the model that is to be fitted and of its rows,
    `start` and `columns` of the mixture at which it begins.
    """
    for name in ("family", "n_components"):
        own, its = (getattr(one, name) for one in (options, start))
        if own != its:
            raise ArgumentError(
                "start",
                "must have the same {label} as the model, {own!r}",
                its,
                label=name,
                own=own,
            )
    if columns.n_features != features.n_features:
        raise ArgumentError(
            "start",
            f"must have the columns of X, {features.n_features}; it has "
            f"{columns.n_features}",
        )
    if features.names and columns.names and features.names != columns.names:
        raise ArgumentError(
            "start",
            "must have the columns of X in their order, {names}; it has {names_2}",
            names=features.names,
            names_2=columns.names,
        )
