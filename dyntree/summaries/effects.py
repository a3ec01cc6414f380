"""Frozen answers about variables: their main effects, indices, and dependence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.records import Record
from dyntree.summaries.draws import interval_levels


@dataclass(frozen=True, eq=False, repr=False)
class MainEffect(Record):
    """The mean response, or a probability, as a function of one variable.

    Attributes
    ----------
    name : str
        Name of the variable or the feature.
    values : ndarray of shape (n_points,)
        Values of the variable: numbers, times, or levels as objects.
    draws : ndarray of shape (n_draws, n_points)
        One posterior draw a row.
    is_factor : bool, default False
        Whether `values` are all values of the variable: its levels, or 0 and 1.
    """

    name: str
    values: NDArray[Any]
    draws: Matrix
    is_factor: bool = False

    def __post_init__(self) -> None:
        self.values.setflags(write=False)
        self.draws.setflags(write=False)

    @property
    def mean(self) -> Vector:
        """Mean of the draws, ndarray of shape (n_points,)."""
        found: Vector = np.nanmean(self.draws, axis=0)
        return found

    def conf_int(self, alpha: float = 0.05) -> Matrix:
        """Central interval of probability 1 - alpha, ndarray of shape (n_points, 2)."""
        ends = np.nanquantile(self.draws, interval_levels(alpha), axis=0)
        return np.ascontiguousarray(ends.T)


@dataclass(frozen=True, eq=False, repr=False)
class VariableSensitivity(Record):
    """Main effects and Sobol' indices of the variables of a formula.

    Attributes
    ----------
    effects : tuple of MainEffect
        One effect for each variable; that of a factor is over its levels.
    first, total : ndarray of shape (n_particles, n_variables)
        First-order and total indices, one set for each tree, as in `Sensitivity`.
    inputs : tuple of str
        The variables.
    """

    effects: tuple[MainEffect, ...]
    first: Matrix
    total: Matrix
    inputs: tuple[str, ...]

    def __post_init__(self) -> None:
        self.first.setflags(write=False)
        self.total.setflags(write=False)


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Record):
    """Partial dependence: predictions averaged over rows, at set values of variables.

    Attributes
    ----------
    names : tuple of str
        The variables, one or two.
    grids : tuple of ndarray
        Values of each variable: numbers, times, or levels as objects.
    are_factors : tuple of bool
        For each variable, whether these are all of its values: its levels, or 0 and 1.
    mean : ndarray of shape (n_points,), or (n_points, n_points) of two
        Mean prediction over the rows.
    draws : ndarray of shape (n_draws, ...)
        Joint posterior draws of `mean`.
    individual : ndarray of shape (n_rows, ...), or None
        Prediction of each single row, if it was requested.
    """

    names: tuple[str, ...]
    grids: tuple[NDArray[Any], ...]
    are_factors: tuple[bool, ...]
    mean: NDArray[np.float64]
    draws: NDArray[np.float64]
    individual: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (*self.grids, self.mean, self.draws):
            array.setflags(write=False)
        if self.individual is not None:
            self.individual.setflags(write=False)

    def std(self) -> NDArray[np.float64]:
        """Posterior standard deviation, of the shape of `mean`."""
        found: NDArray[np.float64] = self.draws.std(axis=0)
        return found

    def conf_int(self, alpha: float = 0.05) -> NDArray[np.float64]:
        """Central interval of probability 1 - alpha, ndarray of shape (..., 2)."""
        ends = np.quantile(self.draws, interval_levels(alpha), axis=0)
        return np.ascontiguousarray(np.moveaxis(ends, 0, -1))
