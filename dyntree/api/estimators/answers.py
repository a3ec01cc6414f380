"""What estimators around mixtures have in common: their parameters and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix, Vector

Ids = NDArray[np.int64]


class MixtureAnswers:
    """Answers of the model of an estimator, for rows that scikit-learn has checked."""

    model_: Any
    _dtypes: Any = np.float64  # that rows may have
    _sparse: Any = False  # whether they may be sparse

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep the arguments of `__init__` as they are, as scikit-learn asks."""
        vars(self).update({k: v for k, v in given.items() if k != "self"})

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        return checked_rows(
            self, X, False, dtype=self._dtypes, accept_sparse=self._sparse
        )

    def predict(self, X: Any) -> Ids:
        """Most probable cluster of each row, by its id in the model.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each cluster at each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Columns are in the order of the model's clusters.
        """
        rows = self._rows(X)
        return np.asarray(self.model_.predict_proba(rows))

    def score_samples(self, X: Any) -> Vector:
        """Log density of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        rows = self._rows(X)
        return np.asarray(self.model_.score_samples(rows))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of rows, in nats per row.

        Parameters
        ----------
        X, y
            As in `score_samples`; y is ignored.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))
