"""Answers that estimators around mixtures pass on from their models."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dyntree.api.estimators.base import Estimator
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.shared.base import Mixture, MixtureOfRows
from dyntree.trees.learning.weights import check_weights

Ids = NDArray[np.int64]
Answer = TypeVar("Answer")


def passed_on(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """The method of an estimator that asks its model, once rows have been checked.

    It has the arguments of the model's method and its documentation. All of them may
    be passed by place, as usual in scikit-learn.
    """
    name, kind = method.__name__, Parameter.POSITIONAL_OR_KEYWORD
    asked = signature(method)
    asked = asked.replace(
        parameters=[one.replace(kind=kind) for one in asked.parameters.values()]
    )

    @wraps(method)
    def answer(self: Any, *arguments: Any, **more: Any) -> Any:
        given = asked.bind(self, *arguments, **more).arguments
        if "X" in asked.parameters:
            given["X"] = self._rows(given["X"])
        check_is_fitted(self)
        return getattr(given.pop("self").model_, name)(**given)

    answer.__signature__ = asked  # type: ignore[attr-defined]
    return answer


class MixtureAnswers(Estimator):
    """Answers of the model of an estimator, for rows that scikit-learn has checked."""

    model_: Any
    _dtypes: Any = np.float64  # that rows may have
    _sparse: Any = False  # whether they may be sparse
    _gaps: Any = True  # whether they must be finite, or "allow-nan"

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        return checked_rows(
            self, X, False, dtype=self._dtypes, accept_sparse=self._sparse,
            ensure_all_finite=self._gaps,
        )  # fmt: skip

    score_samples = passed_on(Mixture.score_samples)
    score = passed_on(Mixture.score)


class ClusterAttributes(Estimator):
    """What mixtures of scikit-learn have, around a model of rows that learns on.

    A class that uses it defines `cluster_centers_` and `_rows_of_clusters`.
    """

    model_: Any
    cluster_centers_: Any
    bic = passed_on(MixtureOfRows.bic)
    aic = passed_on(MixtureOfRows.aic)

    _rows_of_clusters: Callable[[], Vector]  # or numbers in proportion to these

    @property
    def means_(self) -> Matrix:
        """Means of the clusters, the same as `cluster_centers_`."""
        means: Matrix = self.cluster_centers_
        return means

    @property
    def weights_(self) -> Vector:
        """Shares of the clusters, shape (n_clusters,); they sum to 1."""
        check_is_fitted(self)
        rows: Vector = self._rows_of_clusters()
        shares: Vector = rows / rows.sum()
        return shares

    @property
    def covariances_(self) -> Matrix:
        """Covariances within clusters, shape (n_clusters, n_features, n_features)."""
        check_is_fitted(self)
        covariances: Matrix = self.model_.covariances_
        return covariances


def times_of(sample_weight: Any, n_rows: int) -> Ids:
    """How often each row is learned, by weights that are whole numbers; None: once.

    Raises
    ------
    ValueError
        If a weight is no whole number >= 0, or all are 0, or there is not one for each
        row.
    """
    if sample_weight is None:
        return np.ones(n_rows, dtype=np.int64)
    weights = check_weights(sample_weight, n_rows)
    broken = np.flatnonzero(weights != np.floor(weights))
    if len(broken):
        raise ArgumentError(
            "sample_weight",
            "must be whole numbers here: a row of weight 3 is learned three times",
            float(weights[broken[0]]),
            "Round them, or use CanopyMixture, which takes any weights.",
            row=int(broken[0]),
        )
    if not weights.any():
        raise ArgumentError("sample_weight", "must not be zero in all rows", 0)
    return weights.astype(np.int64)
