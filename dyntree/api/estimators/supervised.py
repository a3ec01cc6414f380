"""Regressors and classifiers for scikit-learn around models that learn row by row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dyntree import params
from dyntree.api.estimators.arguments import RandomState, seed_of, threads_of
from dyntree.api.estimators.base import Estimator, words_for
from dyntree.api.estimators.rows import as_frame, holds_more
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.targets import label_list, refuse_booleans
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries.draws import PosteriorDraws
from dyntree.trees.averages.base import TreeAverage
from dyntree.trees.learning.weights import check_weights
from dyntree.trees.random_trees import RandomTreesStream


class TreesMixin(Estimator):
    """An estimator whose model is made of trees.

    A class that uses it defines `_fresh`, which makes a model from its parameters. The
    model handles missing values.

    Parameters
    ----------
    n_jobs : int, optional
        Number of clouds or trees that learn in parallel, and of threads of a
        prediction; -1 means all cores. The default is 1, or the value of an enclosing
        ``joblib.parallel_config``. Results do not depend on it.
    random_state : int, RandomState or Generator, optional
        An int is the seed of the model. By default the seed is drawn from the system.
    """

    _words = words_for("DynamicTreeClassifier", "DynamicTreeRegressor")
    model_: Any
    n_jobs: int | None
    n_features_in_: int
    _fresh: Callable[[], Any]
    get_params: Callable[..., dict[str, Any]]

    def __init__(
        self,
        *,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> None: ...

    def _is_plain(self, X: Any) -> bool:
        """Whether scikit-learn's checks would give later rows back as they are.

        To ask it, and which library's frame they might be, takes longer than to learn
        a row.
        """
        attributes = self.__dict__
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and "model_" in attributes
            and X.shape[1] == attributes.get("n_features_in_")
            and "feature_names_in_" not in attributes
            and bool(np.vdot(X, X) < np.inf)  # not where NaN
        )

    def _checked(self, X: Any, y: Any, first: bool, **more: Any) -> tuple[Matrix, Any]:
        """Rows and responses; the first ones fix the columns.

        Rows are an array, or as they were given where the model has to read them.
        """
        X = as_frame(X)
        if isinstance(y, np.ma.MaskedArray):
            y = params.as_array("y", y)
        if more.get("y_numeric"):
            refuse_booleans(y)
        if self._reads_itself(X, first):
            responses = column_or_1d(y, warn=True)
            check_consistent_length(X, responses)
            return self._named(X, first), responses
        if getattr(self, "window", None) is not None:  # the rows of a stream
            warn_of_times(X, set() if first else self.model_.state.warned)
        rows, responses = validate_data(
            self, X, y, reset=first, dtype=np.float64, ensure_all_finite="allow-nan",
            **more,
        )  # fmt: skip
        return rows, responses

    def _reads_itself(self, X: Any, first: bool) -> bool:
        """Whether the model has to read rows as they are: levels, times, names."""
        known = not first and self.model_.columns is not None
        return known or holds_more(X)

    def _named(self, X: Any, first: bool) -> Any:
        """Rows as they are, once scikit-learn has checked their columns."""
        return validate_data(self, X, reset=first, skip_check_array=True)

    def _learn(
        self,
        rows: Matrix,
        responses: Any,
        first: bool,
        sample_weight: Any = None,
        **more: Any,
    ) -> Self:
        """Give rows to the model, at first to a new one."""
        model = self._fresh() if first else self.model_
        given = [rows, responses]
        if sample_weight is not None:
            given.append(sample_weight)
        if isinstance(model, TreeAverage | RandomTreesStream):
            threads = threads_of(self.n_jobs)
            more |= {"threads": threads}
        model.update(*given, **more, progress=False)
        self.model_ = model
        return self

    def _asked(self, X: Any) -> Any:
        """Rows to answer for, as the model takes them."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        X = as_frame(X)
        if self._reads_itself(X, first=False):
            return self._named(X, first=False)
        return validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )

    def _prediction(self, X: Any, **more: Any) -> Any:
        """The model's prediction at the rows of X."""
        rows = self._asked(X)
        return self.model_.predict(rows, **more, threads=threads_of(self.n_jobs))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: RandomState = None
    ) -> NDArray[Any]:
        """Draw responses from the predictive distribution, jointly at all rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        n_samples : int, default 1
            Number of draws for each row.
        random_state : int, RandomState or Generator, optional
            Seed of the draws. By default it is drawn from the system.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Real responses, or labels. All rows of one sample use the same tree and the
            same parameters of it, as in `posterior_draws`. Before there are trees, rows
            are drawn independently.
        """
        return self._sample_y(X, n_samples, random_state)

    def _sample_y(
        self, X: Any, n_samples: int, random_state: RandomState, **more: Any
    ) -> NDArray[Any]:
        n_samples = params.count("n_samples", n_samples, 1)
        rows, rng = self._asked(X), np.random.default_rng(seed_of(random_state))
        model = self.model_
        if model.is_ready:
            draws = model.drawn(rows, n_samples, "obs", rng, **more).values
        else:
            draws = model.predict(rows, **more).sample(n_samples, rng)
        responses: NDArray[Any] = draws.T.astype(getattr(self, "classes_", draws).dtype)
        return responses

    @property
    def log_evidence_(self) -> float:
        """Sum of log predictive densities of the rows, each given those before it."""
        check_is_fitted(self)
        return float(self.model_.log_evidence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags

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
        return self._posterior_draws(X, n_draws, kind, seed)

    def _posterior_draws(self, X: Any, *how: Any, **more: Any) -> PosteriorDraws:
        rows = self._asked(X)
        return self._of_response(self.model_.posterior_draws(rows, *how, **more))

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
        return self._compute_contrast(X_0, X_1, n_draws, kind, seed)

    def _compute_contrast(
        self, X_0: Any, X_1: Any, *how: Any, **more: Any
    ) -> PosteriorDraws:
        rows = self._asked(X_0), self._asked(X_1)
        return self._of_response(self.model_.compute_contrast(*rows, *how, **more))

    def _of_response(self, draws: PosteriorDraws) -> PosteriorDraws:
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


class RealAnswers(Estimator):
    """Answers of a regressor whose model predicts distributions."""

    @abstractmethod
    def _prediction(self, X: Any, **more: Any) -> Any:
        """The model's prediction at the rows of X."""

    def predict(
        self, X: Any, return_std: bool = False
    ) -> Vector | tuple[Vector, Vector]:
        """Predictive mean of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        return_std : bool, default False
            Whether to return the predictive standard deviations, too. Leaves with fewer
            than three degrees of freedom count as in `dyntree.Prediction.var`.

        Returns
        -------
        ndarray of shape (n_rows,), or two of them
            The means, and the standard deviations if they are requested.
        """
        return self._predict(X, return_std)

    def _predict(
        self, X: Any, return_std: bool, **more: Any
    ) -> Vector | tuple[Vector, Vector]:
        prediction = self._prediction(X, **more)
        mean: Vector = prediction.mean.copy()
        return (mean, prediction.std) if return_std else mean

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
        return self._predict_quantiles(X, q)

    def _predict_quantiles(self, X: Any, q: ArrayLike, **more: Any) -> Vector:
        quantiles: Vector = self._prediction(X, **more).quantile(q)
        return quantiles


class OnlineRegressor(TreesMixin, RealAnswers, RegressorMixin, BaseEstimator):
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


def check_labels(labels: Any) -> None:
    """Refuse what are no classes, missing labels, and text that cannot be written."""
    if labels.dtype.kind in "OU":
        label_list(labels, len(labels))
    check_classification_targets(labels)


class OnlineClassifier(TreesMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose `_fresh` makes its model, for labels among `classes_`.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default None
        Weights of the labels, which multiply those of the rows. With "balanced", which
        only `fit` accepts, all labels have the same total weight. By default all
        weights are 1.
    """

    classes_: NDArray[Any]
    class_weight: str | dict[Any, float] | None

    def __init__(
        self,
        *,
        class_weight: str | dict[Any, float] | None = None,
        **options: Any,
    ) -> None: ...

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
                Message(
                    "class_weight='balanced' needs all rows at once, in fit; "
                    "partial_fit takes weights of the classes: class_weight={{...}}."
                )
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
            raise ArgumentError(
                "classes",
                "must name all labels at the first call of partial_fit",
                None,
                "Give classes=[...], or call fit.",
            )
        else:
            given = self.classes_
        if not first and not np.array_equal(given, self.classes_):
            raise ArgumentError(
                "classes",
                "must stay those of the first call, {classes}",
                given.tolist(),
                "Leave the argument out.",
                classes=self.classes_.tolist(),
            )
        if unknown := np.setdiff1d(labels, given).tolist():
            raise ArgumentError(
                "y",
                "must hold labels among {given}",
                unknown[0],
                "Name every label at the first call: classes=[...].",
                given=given.tolist(),
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


def is_column(y: Any, X: Matrix) -> bool:
    """Whether y is an array with one value for each row of X."""
    return type(y) is np.ndarray and y.shape == (len(X),)
