"""Answers about the trees of a cloud: sizes, relevance, importance, sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

from dyntree.encoding.values import Matrix, Vector
from dyntree.runtime.records import Record
from dyntree.summaries.real import freeze


@dataclass(frozen=True, repr=False)
class TreeStats(Record):
    """Shape of the trees, averaged over particles.

    Attributes
    ----------
    height : float
        Number of levels of a tree; a single leaf has one.
    n_leaves : float
    leaf_size : float
        Number of active rows in a leaf.
    leaf_retired : float
        Weight of the retired rows in a leaf.
    """

    height: float
    n_leaves: float
    leaf_size: float
    leaf_retired: float


@dataclass(frozen=True, eq=False, repr=False)
class Relevance(Record):
    """Reduction of the predictive variance (or entropy) by splits on each column.

    Attributes
    ----------
    values : ndarray of shape (n_particles, n_features)
        One row for each particle.
    names : tuple of str
        The columns.
    """

    values: Matrix
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.values)


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Record):
    """The share of the predicted variance that each input accounts for.

    Attributes
    ----------
    values : ndarray of shape (n_inputs,)
        Shares in [0, 1], which sum to one; all 0 if predictions do not vary.
    se : ndarray of shape (n_inputs,)
        Monte Carlo standard errors of `values`.
    names : tuple of str
        The inputs: one for each column, or for all levels of a factor.
    """

    values: Vector
    se: Vector
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.values, self.se)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Record):
    """Main effects of columns and Sobol' indices of inputs, one set for each particle.

    Attributes
    ----------
    grid : ndarray of shape (n_grid, n_features)
        Where the main effects are evaluated.
    main : ndarray of shape (n_particles, n_grid, n_features)
        Mean response as a function of one column at a time: a posterior draw for each
        particle, or under R's rules its mean.
    first, total : ndarray of shape (n_particles, n_inputs)
        First-order and total indices. They are shares of the variance of a new
        response, and total indices include the share of its noise. Because of Monte
        Carlo error they can be outside [0, 1].
    names : tuple of str
        The columns.
    inputs : tuple of str
        The inputs with an index: one for each column, or for all levels of a factor.
    places : tuple of tuple of int
        Indices of the columns of each input; empty if they are not known.
    """

    grid: Matrix
    main: Matrix
    first: Matrix
    total: Matrix
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    places: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        freeze(self.grid, self.main, self.first, self.total)
