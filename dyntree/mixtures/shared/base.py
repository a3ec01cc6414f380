"""What models of rows that have no responses do alike; mixtures among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.arrays import Arrays
from dyntree.params.names import Suggesting
from dyntree.runtime.locking import ModelLock, locked

NAMED_COLUMNS = 64  # of more, `facts` tells only how many there are


class StoredArrays(checkpoint.Stored):
    """A model whose full state is a header and arrays.

    A class defines their contents by `_to_arrays` and `_from_arrays`.
    """

    _lock: ModelLock

    @abstractmethod
    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Header and arrays, but for the kind of the model."""

    @classmethod
    @abstractmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """The model of a header and arrays, once they are checked."""

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context manager that keeps other threads out of a series of calls."""
        return self._lock

    @locked
    def copy(self) -> Self:
        """Return an independent copy, which continues in the same way."""
        again = type(self).__new__(type(self))
        vars(again).update(vars(self))  # what is learned is replaced, never changed
        again._lock = ModelLock()
        return again

    @locked
    def to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Full state of the model, as a plain header and arrays.

        Returns
        -------
        header : dict
        arrays : dict of ndarray

        Raises
        ------
        ValueError
            If the model contains a function, which cannot be saved.
        """
        header, arrays = self._to_arrays()
        return {"kind": type(self).__name__} | header, arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described.

        Parameters
        ----------
        header : dict
        arrays : dict of ndarray

        Returns
        -------
        model of this class

        Raises
        ------
        ValueError
            If header and arrays do not describe a model. A header of another kind may
            also raise LookupError or TypeError.
        """
        return cls._from_arrays(header, arrays)


class RowModel(StoredArrays, Suggesting, ABC):
    """A model of rows without responses: its description and its files.

    A class defines its `unit`, its own entries in `facts` by `_own_facts`, and which of
    these counts `repr` shows. Its `_state` has `n_seen` and `features`.
    """

    unit: ClassVar[str]
    _counted: ClassVar[str]
    _state: Any

    options: Any

    # ------------------------------------------------------------ what it is
    @property
    def is_frozen(self) -> bool:
        """Whether the model only answers; always False, as none of these can freeze."""
        return False

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels; always False, as there are no responses."""
        return False

    @property
    def classes(self) -> None:
        """Labels that responses may have: there are no responses."""
        return None

    @property
    def n_seen(self) -> int:
        """Rows ever given to the model."""
        return int(self._state.n_seen)

    @property
    def _columns_learned(self) -> FeatureMap | None:
        """The columns that the first rows had; None while not known."""
        features: FeatureMap | None = self._state.features
        return features

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Column names of X, if it had names; None until they are known."""
        known = self._columns_learned
        return None if known is None else known.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, ... where none were given."""
        known = self._columns_learned
        return () if known is None else known.feature_names

    @abstractmethod
    def memory_usage(self) -> int:
        """Bytes used by the model."""

    @abstractmethod
    def _own_facts(self) -> dict[str, Any]:
        """What a kind of mixture is, by name, as values for JSON."""

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        names = self.feature_names
        return {
            "kind": type(self).__name__,
            "rows learned": self.n_seen,
            "columns": list(names) if len(names) <= NAMED_COLUMNS else len(names),
            **self._own_facts(),
            "bytes in memory": self.memory_usage(),
        }

    @locked
    def __repr__(self) -> str:
        n = self._own_facts()[self._counted]
        parts = self._counted.removesuffix("s") if n == 1 else self._counted
        return f"<{type(self).__name__}: {n} {parts}, {self.n_seen} rows learned>"

    # ------------------------------------------------------------ rows
    @abstractmethod
    def _encoded(self, X: Any) -> tuple[FeatureMap | None, Matrix]:
        """Return the columns of X and its rows, checked; nothing changes."""

    @locked
    def preview(
        self, X: Any, y: Any = None, start: int | None = None
    ) -> tuple[Any, list[Any]]:
        """Check and encode rows that are to be learned; see `Learner.preview`."""
        if start is not None:
            params.count("start", start, 0)
        _, rows = self._encoded(X)
        rows = rows.copy() if rows is X else rows  # which is the caller's to change
        return Encoded(rows), [None] * len(rows)


class SeededModel(RowModel):
    """A model of rows that draws random numbers, or has other orders of its rows."""

    seed: int

    def _begin(self, options: Any, seed: Any) -> None:
        """Take options and seed, as a model that has seen no row."""
        self.options, self._lock = options, ModelLock()
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)

    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        if self.n_seen:
            raise ValueError(
                Message(
                    "the seed of a model can change only before its first row; it "
                    f"has seen {self.n_seen}. Make a new one with the same options."
                )
            )
        again = self.copy()
        again.seed = params.count("seed", seed, 0, params.MAX_SEED)
        return again


class Mixture(SeededModel):
    """What all mixtures have in common: densities."""

    # ------------------------------------------------------------ densities
    @abstractmethod
    def _log_densities(self, X: Any) -> Vector:
        """Log density of each row."""

    @locked
    def score_samples(self, X: Any) -> Vector:
        """Log density of each row under what has been learned, in nats.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        NotReadyError
            If the model has learned nothing yet.
        """
        return self._log_densities(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of rows, in nats a row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Ignored.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If X has no rows.
        """
        densities = self.score_samples(X)
        if not len(densities):
            raise no_mean()
        return float(np.mean(densities))

    def score_total(self, X: Any, y: Any = None) -> float:
        """Log density of all rows together, in nats.

        Parameters
        ----------
        X, y
            As for `score`.

        Returns
        -------
        float
        """
        return float(np.sum(self.score_samples(X)))


class MixtureOfRows(Mixture):
    """A mixture of which each row has a density of its own, and criteria of these."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """Free parameters of the density."""

    def _likelihood(self, X: Any, what: str) -> tuple[float, float]:
        """Log density of one row at least, and how many there are."""
        densities = self.score_samples(X)
        if not len(densities):
            raise ArgumentError(what, "needs at least one row", Message("none"))
        return float(np.sum(densities)), float(len(densities))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of rows; lower is better.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Of a sequence model, one sequence.

        Returns
        -------
        float
            Free parameters times the log of the number of rows, less twice the log
            density of the rows.

        Raises
        ------
        ValueError
            If X has no rows.
        """
        total, n_rows = self._likelihood(X, "bic")
        return float(self._n_parameters() * np.log(n_rows) - 2.0 * total)

    def aic(self, X: Any) -> float:
        """Akaike information criterion of rows; lower is better.

        Parameters
        ----------
        X
            As for `bic`.

        Returns
        -------
        float
            Twice the number of free parameters less the log density of the rows.

        Raises
        ------
        ValueError
            If X has no rows.
        """
        total, _ = self._likelihood(X, "aic")
        return 2.0 * (self._n_parameters() - total)


def no_mean() -> ValueError:
    """Return the error of a score of no rows."""
    return ArgumentError(
        "score", "needs at least one row", Message("none. score_total of no rows is 0")
    )
