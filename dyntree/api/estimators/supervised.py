"""Regressors and classifiers for scikit-learn around models that learn row by row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dyntree.api.estimators.base import OnlineMixin, is_column, seed_of
from dyntree.encoding.targets import label_list
from dyntree.encoding.values import Matrix, Vector
from dyntree.summaries.draws import PosteriorDraws
from dyntree.trees.learning.weights import check_weights


class TreesMixin(OnlineMixin):
    """An estimator whose model is made of trees."""

    n_features_in_: int
    get_params: Callable[..., dict[str, Any]]

    def _options(self, **more: Any) -> dict[str, Any]:
        """Options of a model: the parameters with a seed, and further ones."""
        options = self.get_params(deep=False)
        del options["n_jobs"]
        options.pop("class_weight", None)
        return options | {"seed": seed_of(options.pop("random_state"))} | more

    def posterior_draws(
        self,
        X: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows; see `DynamicTree`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        n_draws : int, default 1000
        kind : {"mean", "obs"}, default "mean"
            "mean" draws mean responses, or probabilities of labels in the order of
            `classes_`. "obs" draws new responses.
        seed : int or Generator, optional
            Seed of the draws.

        Returns
        -------
        PosteriorDraws
        """
        rows = self._asked(X)
        return self._as_told(self.model_.posterior_draws(rows, n_draws, kind, seed))

    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : array_like of shape (n_rows, n_features)
        n_draws, kind, seed
            As in `posterior_draws`.

        Returns
        -------
        PosteriorDraws
        """
        rows = self._asked(X_0), self._asked(X_1)
        found = self.model_.compute_contrast(*rows, n_draws, kind, seed)
        return self._as_told(found)

    def _as_told(self, draws: PosteriorDraws) -> PosteriorDraws:
        """Draws with labels of the type of `classes_`, where there are some."""
        known = getattr(self, "classes_", None)
        if known is None or draws.kind == "mean":
            return draws
        return replace(draws, values=draws.values.astype(known.dtype))

    @property
    def feature_importances_(self) -> Vector:
        """Share of the predicted variance that each column accounts for.

        All are 0 if predictions do not vary. See also `DynamicTree.importance`, which
        returns Monte Carlo errors, too.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        check_is_fitted(self)
        tree = self.model_.tree
        if not tree.is_ready:
            return np.zeros(self.n_features_in_)
        shares: Vector = tree.importance().values
        return shares.copy()


class OnlineRegressor(TreesMixin, RegressorMixin, BaseEstimator):
    """A regressor whose `_fresh` makes its model."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Missing values are NaN.
        y : array_like of shape (n_rows,)
        sample_weight : array_like of shape (n_rows,) or float, optional
            Weights >= 0 of the rows, by default 1; see `weighting`. Rows of weight 0
            are dropped.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        rows, responses = self._checked(X, y, True, y_numeric=True)
        return self._learn(rows, responses, True, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows in order; parameters and returns are those of `fit`.

        The first call is the same as `fit`. Later calls keep the parameters of the
        first.
        """
        if self._is_plain(X) and is_column(y, X) and y.dtype == np.float64:
            # the model refuses what is not finite
            return self._learn(X, y, False, sample_weight)
        first = not hasattr(self, "model_")
        rows, responses = self._checked(X, y, first, y_numeric=True)
        return self._learn(rows, responses, first, sample_weight)

    def predict(
        self, X: Any, return_std: bool = False
    ) -> Vector | tuple[Vector, Vector]:
        """Predictive mean of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        return_std : bool, default False
            Whether to return the predictive standard deviations, too. They are infinite
            in leaves with fewer than three degrees of freedom.

        Returns
        -------
        ndarray of shape (n_rows,), or two of them
            The means, and the standard deviations if they are requested.
        """
        prediction = self._prediction(X)
        mean = prediction.mean.copy()
        return (mean, np.sqrt(prediction.var)) if return_std else mean

    def predict_quantiles(self, X: Any, q: ArrayLike = (0.05, 0.5, 0.95)) -> Vector:
        """Quantiles of the predictive distribution of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        q : float or array_like of shape (n_q,), default (0.05, 0.5, 0.95)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_q) for a sequence of probabilities
        """
        quantiles: Vector = self._prediction(X).quantile(q)
        return quantiles


def check_labels(labels: Any) -> None:
    """Refuse what are no classes, missing labels, and text that cannot be written."""
    if labels.dtype.kind in "OU":
        label_list(labels, len(labels))
    check_classification_targets(labels)


class OnlineClassifier(TreesMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose `_fresh` makes its model, for labels among `classes_`."""

    classes_: NDArray[Any]
    class_weight: str | dict[Any, float] | None

    def _weights(self, labels: Any, sample_weight: Any) -> Any:
        """Weights of rows times those of their classes; None where all are 1."""
        if self.class_weight is None:
            return sample_weight
        by_class = compute_sample_weight(self.class_weight, labels)
        if sample_weight is None:
            return by_class
        return by_class * check_weights(sample_weight, len(labels))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Missing values are NaN.
        y : array_like of shape (n_rows,)
            Labels.
        sample_weight : array_like of shape (n_rows,) or float, optional
            Number of times that each row counts, >= 0, by default 1. It is multiplied
            by `class_weight`. Rows of weight 0 are dropped.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        rows, labels = self._checked(X, y, True)
        check_labels(labels)
        self.classes_ = np.unique(labels)
        return self._learn(rows, labels, True, self._weights(labels, sample_weight))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Sequence[Hashable] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn more rows in order, on top of what was learned before.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : array_like of shape (n_rows,)
        classes : array_like of shape (n_classes,), optional
            All labels that can occur. They are required in the first call, unless the
            model was fitted before.
        sample_weight : array_like of shape (n_rows,) or float, optional
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad, or if `classes` is missing or differs from
            that of the first call, or if y has a label that is not in it.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once, in fit; partial_fit "
                "takes weights of the classes: class_weight={...}."
            )
        if classes is None and self._is_plain(X) and is_column(y, X):
            known = self.classes_
            if y.dtype == known.dtype and {*y.tolist()} <= {*known.tolist()}:
                return self._learn(X, y, False, self._weights(y, sample_weight))
        first = not hasattr(self, "model_")
        rows, labels = self._checked(X, y, first)
        check_labels(labels)
        if classes is not None:
            given = np.unique(np.asarray(classes))
        elif first:
            raise ValueError(
                "classes must name all labels at the first call of partial_fit; got "
                "None. Give classes=[...], or call fit."
            )
        else:
            given = self.classes_
        if not first and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes must stay those of the first call, {self.classes_.tolist()}; "
                f"got {given.tolist()}. Leave the argument out."
            )
        if unknown := np.setdiff1d(labels, given).tolist():
            raise ValueError(
                f"y must hold labels among {given.tolist()}; got {unknown[0]!r}. "
                "Name every label at the first call: classes=[...]."
            )
        self.classes_ = given
        weights = self._weights(labels, sample_weight)
        return self._learn(rows, labels, first, weights)

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each label, in the order of `classes_`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        proba: Matrix = self._prediction(X).proba.copy()
        return proba

    def predict_log_proba(self, X: Any) -> Matrix:
        """Log probability of each label, in the order of `classes_`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Minus infinity where a probability is 0.
        """
        with np.errstate(divide="ignore"):
            log_proba: Matrix = np.log(self.predict_proba(X))
        return log_proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable label of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels
