"""Families: what rows of one particle look like, and how its location moves.

A *prior row* describes what is known of a location, *sums* the rows of a phase; a
posterior is a prior row again. All functions take many of them at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.mixtures.emissions import Emission
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.transitions import (
    OwnTransition,
    Parameters,
    Transition,
    checked_parameters,
)
from dyntree.mixtures.shared.arrays import Ids, constants
from dyntree.params.names import SuggestingAttributes


def vector(name: str, value: Any, width: int, positive: bool = False) -> Vector:
    """Return a number or a sequence as a vector of so many finite numbers."""
    found = params.as_array(name, value, np.float64)
    if found.ndim > 1 or (found.ndim == 1 and len(found) != width):
        raise ArgumentError(
            name,
            f"must be a number, or one for each of the {width} columns",
            Message("shape {shape}", shape=found.shape),
        )
    found = np.broadcast_to(found, (width,)).copy()
    if not np.all(np.isfinite(found)) or (positive and np.any(found <= 0.0)):
        rule = "finite and > 0" if positive else "finite"
        raise ArgumentError(name, "must be {rule_}", value, rule_=rule)
    return found


def covariance(name: str, value: Any, width: int) -> Matrix:
    """Return a number, variances, or a matrix as a covariance."""
    found = params.as_array(name, value, np.float64)
    if found.ndim < 2:
        return np.diag(vector(name, value, width, positive=True))
    if found.shape != (width, width):
        raise ArgumentError(
            name,
            "must be a number, variances, or a matrix of shape {width}",
            Message("shape {shape}", shape=found.shape),
            width=(width, width),
        )
    symmetric = np.all(np.isfinite(found)) and np.allclose(found, found.T)
    if not symmetric or np.linalg.eigvalsh(found).min() <= 0.0:
        raise ArgumentError(name, "must be symmetric and positive definite", value)
    return found


def frozen_value(name: str, value: Any) -> Any:
    """Numbers as they are, arrays as nested tuples, so that options can be compared."""
    if value is None:
        return None
    array = params.as_array(name, value, np.float64)
    plain: Any = array.tolist()
    return nested(plain)


def nested(value: Any) -> Any:
    """Lists as tuples."""
    return tuple(nested(part) for part in value) if isinstance(value, list) else value


def spread_of(rows: Matrix, centre: Any, otherwise: Any = 1.0) -> Vector:
    """Variances of columns, or mean squares around a centre if columns are constant.

    Columns that are equal to the centre have no scale, and `otherwise` in its place.
    """
    found = np.where(
        constants(rows), ((rows - centre) ** 2).mean(axis=0), rows.var(axis=0)
    )
    spread: Vector = np.where(found > 0.0, found, otherwise)
    return spread


class Family(SuggestingAttributes, ABC):
    """A kind of particle; options hold what the user gave, `resolved` the rest."""

    transitions: tuple[type, ...]
    has_smoother = False
    parameter_rules: ClassVar[Mapping[str, str]]  # of what `parameters` has

    @abstractmethod
    def default_transition(self) -> Transition:
        """What `transition=None` stands for."""

    @abstractmethod
    def resolved(self, rows: Matrix) -> Self:
        """Return the family with all scales, from the first rows where not given."""

    def origin(self) -> Vector:
        """The base's mean of each column, shape (n_columns,), or 0 if it has none."""
        return np.zeros(1)

    def scaled_by_rows(self) -> NDArray[np.bool_]:
        """Which columns of the rows determine a scale that was not given."""
        return np.zeros(1, dtype=bool)

    @property
    def knows_widths(self) -> bool:
        """Whether the widths of clusters were given instead of chosen from rows."""
        return True

    def with_units(self, fresh: Self, columns: NDArray[np.bool_]) -> Self:
        """Return the resolved family with new default scales for some columns.

        The new scales are those of `fresh`, the family resolved by the new rows.
        """
        return self

    def in_units(
        self, columns: NDArray[np.bool_], sums: Matrix, is_prior: bool
    ) -> Matrix:
        """Convert prior rows or sums of the family before `with_units` to this family.

        This is for columns in which all rows were equal to the base's mean. Such a row
        counts as one with the variance that the base expects.
        """
        return sums

    @abstractmethod
    def check_rows(self, rows: Matrix, names: tuple[str, ...]) -> None:
        """Raise ValueError for rows that the family has no density for."""

    @abstractmethod
    def to_header(self) -> dict[str, Any]:
        """Options and scales by name."""

    def counting(self, rows: Matrix) -> NDArray[np.bool_]:
        """Return which rows say anything of the particles; for normals, all of them."""
        return np.ones(len(rows), dtype=bool)

    def partition(self, rows: Matrix) -> Ids | None:
        """Labels 0, 1, ... of rows to start from instead of a row-by-row pass, or None.

        It is for families where the first rows of a particle determine little of the
        others.
        """
        return None

    @abstractmethod
    def n_sums(self) -> int:
        """Length of sums."""

    @abstractmethod
    def base(self) -> Vector:
        """Prior row of a new particle."""

    @abstractmethod
    def emission(self, priors: Matrix, rows: Matrix) -> Emission:
        """Rows and priors as the core takes them."""

    @abstractmethod
    def sums(self, rows: Matrix, labels: Ids, n: int) -> Matrix:
        """Sums of the rows of each of n labels; negative labels count nowhere."""

    @abstractmethod
    def posterior(self, priors: Matrix, sums: Matrix) -> Matrix:
        """Prior rows updated by the sums of rows."""

    def check_steps(self, transition: Transition) -> None:
        """Raise ValueError for steps of another number of columns."""
        self.moved(self.base()[None], transition)

    def moved(self, priors: Matrix, transition: Transition) -> Matrix:
        """Prior rows one phase later."""
        if isinstance(transition, OwnTransition):
            return self.stepped(priors, transition)
        if not len(priors):
            return priors.copy()
        prior, base = self.parameters(priors), self.parameters(self.base()[None])
        given = {name: value.copy() for name, value in prior.items()}
        found = checked_parameters(transition(given, base), prior, self.parameter_rules)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = self.with_parameters(found)
        if not np.all(np.isfinite(moved)):
            raise ArgumentError(
                "transition", "must return parameters whose squares are finite", found
            )
        return moved

    @abstractmethod
    def stepped(self, priors: Matrix, transition: OwnTransition) -> Matrix:
        """Prior rows one phase later, by a transition of the family's own."""

    @abstractmethod
    def parameters(self, priors: Matrix) -> Parameters:
        """Parameters of prior rows, by name and in the units of the rows.

        The names are listed in `CustomTransition`.
        """

    @abstractmethod
    def with_parameters(self, found: Parameters) -> Matrix:
        """Prior rows that say this, once it is checked by `parameter_rules`."""

    @abstractmethod
    def is_sound(self, priors: Matrix) -> bool:
        """Whether these are valid prior rows."""

    @abstractmethod
    def log_marginal(self, priors: Matrix, sums: Matrix) -> Vector:
        """Log marginal likelihood of the rows behind sums, shape (n,)."""

    @abstractmethod
    def n_free(self, n_columns: int) -> int:
        """Free parameters of a particle."""

    @abstractmethod
    def means(self, priors: Matrix) -> Matrix:
        """Mean of the rows of each particle."""

    @abstractmethod
    def covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the location of each particle; of words variances alone."""

    @abstractmethod
    def row_covariances(self, priors: Matrix) -> Matrix:
        """Covariance of the rows of each particle about its location."""

    @abstractmethod
    def draw(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw n rows, each with its own location."""

    def locations(self, prior: Vector, n: int, rng: np.random.Generator) -> Matrix:
        """Draw n locations, as means of rows."""
        mean, cov = self.means(prior[None])[0], self.covariances(prior[None])[0]
        values, axes = np.linalg.eigh(cov)
        steps = rng.normal(size=(n, len(mean))) * np.sqrt(np.maximum(values, 0.0))
        found: Matrix = mean + steps @ axes.T
        return found

    @abstractmethod
    def distances(self, priors: Matrix, most: float = np.inf) -> Matrix:
        """Distances of particles in standard deviations of a row, shape (n, n).

        A distance above `most` may be replaced by any bound above `most`.
        """


def label_sums(values: Matrix, labels: Ids, n: int) -> Matrix:
    """Sums over the rows of each label, of values of shape (n_rows, n_values)."""
    found = np.zeros((n, values.shape[1]))
    inside = labels >= 0
    np.add.at(found, labels[inside], values[inside])
    return found
