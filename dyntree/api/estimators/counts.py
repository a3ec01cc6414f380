"""Dynamic trees for counts of events, for scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import d2_tweedie_score

from dyntree import params
from dyntree.api.estimators.arguments import RandomState, seed_of
from dyntree.api.estimators.supervised import OnlineRegressor
from dyntree.api.estimators.trees import tree_of
from dyntree.encoding.targets import count_response
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.summaries.draws import PosteriorDraws
from dyntree.trees.factory import Trees
from dyntree.trees.learning.weights import check_weights

SAME = 1e-12  # relative distance of rates that are one but for rounding


class DynamicTreeCountRegressor(OnlineRegressor):
    """Dynamic tree for counts of events with exposures, as a scikit-learn regressor.

    The model in each leaf is a rate of events per unit of exposure. The order of the
    rows is used as in `DynamicTreeRegressor`. `fit` starts anew, and `partial_fit` adds
    to what was learned. Missing values (NaN) are allowed.

    Parameters
    ----------
    model : {"negbin", "poisson"}, default "negbin"
        Distribution of the counts given the rate: negative binomial or Poisson.
    window, n_clouds, discard, forget, drift, rejuvenate_every, n_particles
        As in `DynamicTreeRegressor`.
    proposal, min_leaf, tree_prior, max_retired_mass, new_levels
        As in `DynamicTree`.
    dispersion : float, optional
        "negbin": a count with mean m has the variance m + dispersion m^2 at an exposure
        of 1. By default, the evidence tunes it.
    n_jobs, random_state
        As in `DynamicTreeRegressor`.

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

    def __init__(
        self,
        model: str = "negbin",
        *,
        window: int | str | None = None,
        n_clouds: int | None = None,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int | None = None,
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        max_retired_mass: float | None = None,
        new_levels: str = "grow",
        dispersion: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        params.keep_arguments(self, locals())

    def _fresh(self) -> Trees:
        params.one_of("model", self.model, params.COUNTS)
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

    def predict(
        self, X: Any, return_std: bool = False, exposure: Any = None
    ) -> Vector | tuple[Vector, Vector]:
        """Expected number of events of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        return_std : bool, default False
            Whether to return the predictive standard deviations of the counts, too.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of the rows. The default is 1, so that rates are predicted.

        Returns
        -------
        ndarray of shape (n_rows,), or two of them
            The means, and the standard deviations if they are requested.
        """
        prediction = self._prediction(X, exposure=exposure)
        mean = prediction.mean.copy()
        return (mean, np.sqrt(prediction.var)) if return_std else mean

    def predict_quantiles(
        self, X: Any, q: ArrayLike = (0.05, 0.5, 0.95), exposure: Any = None
    ) -> Vector:
        """Quantiles of the predictive distribution of the count of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        q : float or array_like of shape (n_q,), default (0.05, 0.5, 0.95)
            Probabilities in (0, 1).
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of the rows; by default 1.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_q) for a sequence of probabilities
        """
        quantiles: Vector = self._prediction(X, exposure=exposure).quantile(q)
        return quantiles

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
        rates, told = (counts / over)[weights > 0.0], prediction.rate[weights > 0.0]
        if len(counts) > 1 and np.ptp(rates) <= SAME * rates.max():
            return 1.0 if np.allclose(told, rates, rtol=SAME, atol=0.0) else 0.0
        weights = (over * weights)[weights > 0.0]  # of rates; a deviance of counts
        return float(d2_tweedie_score(rates, told, sample_weight=weights, power=1))

    def posterior_draws(
        self,
        X: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows; see `DynamicTree`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        n_draws : int, default 1000
        kind : {"mean", "obs"}, default "mean"
            "mean" draws expected numbers of events, and "obs" draws new counts.
        seed : int or Generator, optional
            Seed of the draws.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of the rows; by default 1.

        Returns
        -------
        PosteriorDraws
        """
        rows = self._asked(X)
        found: PosteriorDraws = self.model_.posterior_draws(
            rows, n_draws, kind, seed, exposure=exposure
        )
        return found

    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : array_like of shape (n_rows, n_features)
        n_draws, kind, seed
            As in `posterior_draws`.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0, the same for both rows of a pair; by default 1.

        Returns
        -------
        PosteriorDraws
        """
        rows = self._asked(X_0), self._asked(X_1)
        found: PosteriorDraws = self.model_.compute_contrast(
            *rows, n_draws, kind, seed, exposure
        )
        return found

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: RandomState = None,
        exposure: Any = None,
    ) -> NDArray[Any]:
        """Draw counts from the predictive distribution, jointly at all rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        n_samples : int, default 1
            Number of draws for each row.
        random_state : int, RandomState or Generator, optional
            Seed of the draws. By default it is drawn from the system.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of the rows; by default 1.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        n_samples = params.count("n_samples", n_samples, 1)
        rows, rng = self._asked(X), np.random.default_rng(seed_of(random_state))
        model = self.model_
        if not model.is_ready:
            found = model.predict(rows, exposure=exposure).sample(n_samples, rng)
        else:
            found = model.drawn(rows, n_samples, "obs", rng, None, exposure).values
        counts: NDArray[Any] = found.T
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
