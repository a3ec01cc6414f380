"""Dynamic trees for counts of events, for scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.metrics import d2_tweedie_score

from dyntree import params
from dyntree.api.estimators.supervised import OnlineRegressor
from dyntree.api.estimators.trees import (
    NOT_FOR_COUNTS,
    CloudsMixin,
    check_model,
    tree_of,
)
from dyntree.encoding.targets import count_response
from dyntree.errors import ArgumentError, Message
from dyntree.trees.factory import Trees
from dyntree.trees.learning.weights import check_weights
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree

Answer = TypeVar("Answer")
EXPOSURE = """
exposure : array_like of shape (n_rows,) or float, optional
    Exposures > 0 of the rows; by default 1."""
SAME = 1e-12  # relative distance of rates that are one but for rounding


def with_exposure(
    method: Callable[..., Answer], ask: Callable[..., Any]
) -> Callable[..., Answer]:
    """A method of other regressors, which `ask` does, with exposures as last argument.

    It has the documentation of the method.
    """
    asked = signature(method)
    last = Parameter(
        "exposure", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation="Any"
    )
    asked = asked.replace(parameters=[*asked.parameters.values(), last])

    @wraps(method)
    def answer(*arguments: Any, **more: Any) -> Any:
        bound = asked.bind(*arguments, **more)
        bound.apply_defaults()
        *others, exposure = bound.args
        return ask(*others, exposure=exposure)

    answer.__signature__ = asked  # type: ignore[attr-defined]
    documented = cleandoc(method.__doc__ or "")  # as Python has it from 3.13 on
    head, gap, rest = documented.partition("\n\nReturns\n")
    answer.__doc__ = f"{head}{EXPOSURE}{gap}{rest}\n"
    return answer


@params.derived(StreamingTree, DynamicTree, without=NOT_FOR_COUNTS)
class DynamicTreeCountRegressor(CloudsMixin, OnlineRegressor):
    """Dynamic tree for counts of events with exposures, as a scikit-learn regressor.

    The model in each leaf is a rate of events per unit of exposure. The order of the
    rows is used as in `DynamicTreeRegressor`. `fit` starts anew, and `partial_fit` adds
    to what was learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    model : {"negbin", "poisson"}, default "negbin"
        Distribution of the counts given the rate: negative binomial or Poisson.

    Attributes
    ----------
    model_ : AveragedTrees, DynamicTree, StreamingTree or AveragedStream
        The fitted model, with all of its methods.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.
    feature_importances_ : ndarray of shape (n_features,)
        Share of the variance of the rate that each column accounts for.
    log_evidence_ : float
        Sum of the log predictive densities of the rows, each given the rows before it.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DynamicTreeCountRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, hours = rng.random((300, 1)), rng.uniform(1, 5, 300)
    >>> y = rng.poisson(hours * np.where(X[:, 0] > 0.5, 8, 2))
    >>> tree = DynamicTreeCountRegressor(n_particles=50, random_state=1)
    >>> tree.fit(X, y, exposure=hours).predict([[0.2], [0.8]], exposure=1).round()
    array([2., 8.])
    """

    def __init__(self, model: str = "negbin", **options: Any) -> None: ...

    def _fresh(self) -> Trees:
        check_model(self.model, "DynamicTreeCountRegressor")
        return tree_of(self)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None
    ) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Missing values are NaN.
        y : array_like of shape (n_rows,)
            Counts 0, 1, 2, ...
        sample_weight : array_like of shape (n_rows,) or float, optional
            Number of times that each row counts, >= 0, by default 1. Rows of weight 0
            are dropped.
        exposure : array_like of shape (n_rows,) or float, optional
            The time, area or number of people over which each count was taken, > 0; by
            default 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        rows, counts = self._checked(X, y, True, y_numeric=True)
        self._learn(rows, counts, True, sample_weight, exposure=exposure)
        return self

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None
    ) -> Self:
        """Learn more rows in order; parameters and returns are those of `fit`.

        The first call is the same as `fit`. Later calls keep the parameters of the
        first. If earlier rows had exposures and these have none, there is a warning.
        """
        first = not hasattr(self, "model_")
        rows, counts = self._checked(X, y, first, y_numeric=True)
        self._learn(rows, counts, first, sample_weight, exposure=exposure)
        return self

    predict = with_exposure(OnlineRegressor.predict, OnlineRegressor._predict)
    predict_quantiles = with_exposure(
        OnlineRegressor.predict_quantiles, OnlineRegressor._predict_quantiles
    )
    posterior_draws = with_exposure(
        OnlineRegressor.posterior_draws, OnlineRegressor._posterior_draws
    )
    compute_contrast = with_exposure(
        OnlineRegressor.compute_contrast, OnlineRegressor._compute_contrast
    )
    sample_y = with_exposure(OnlineRegressor.sample_y, OnlineRegressor._sample_y)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None
    ) -> float:
        """Fraction of Poisson deviance explained, D^2; at most 1.

        It is relative to a model with the same rate for all rows (Hastie, Tibshirani
        and Wainwright 2015, section 3.4). Without exposures it is ``d2_tweedie_score``
        of power 1.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : array_like of shape (n_rows,)
            Counts.
        sample_weight, exposure : array_like of shape (n_rows,) or float, optional

        Returns
        -------
        float
            If all observed rates are equal, so that there is no deviance to explain,
            the score is 1 if they were predicted exactly and else 0, as in
            ``r2_score``.

        Raises
        ------
        ValueError
            If the input is bad, such as values of `y` that are not counts.
        """
        prediction = self._prediction(X, exposure=exposure)
        over = prediction.exposure
        counts = count_response(y, len(over))
        weights = np.ones(len(over))
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(over))
            if not weights.any():
                raise ArgumentError(
                    "sample_weight",
                    "must not be zero in all rows",
                    Message("0 in all {n_weights}", n_weights=len(weights)),
                )
        rates, predicted = (
            (counts / over)[weights > 0.0],
            prediction.rate[weights > 0.0],
        )
        if len(counts) > 1 and np.ptp(rates) <= SAME * rates.max():
            return 1.0 if np.allclose(predicted, rates, rtol=SAME, atol=0.0) else 0.0
        weights = (over * weights)[weights > 0.0]  # of rates; a deviance of counts
        return float(d2_tweedie_score(rates, predicted, sample_weight=weights, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
