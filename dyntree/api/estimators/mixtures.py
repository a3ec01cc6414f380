"""Small-variance mixtures for scikit-learn: clusterers that learn on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _num_samples, check_is_fitted

from dyntree import params
from dyntree.api.estimators.answers import (
    ClusterAttributes,
    Ids,
    MixtureAnswers,
    passed_on,
    times_of,
)
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message
from dyntree.mixtures import Durations, OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.semi_markov import refuse_lengths


def updated(model: Any, rows: Matrix, lengths: Any) -> Any:
    """The model once it has learned rows; only sequences have lengths."""
    if lengths is None:
        return model.update(rows, progress=False)
    return model.update(rows, lengths=lengths, progress=False)


def repeated(rows: Matrix, sample_weight: Any) -> Matrix:
    """Rows as often as their weights say."""
    if sample_weight is None:
        return rows
    return np.repeat(rows, times_of(sample_weight, len(rows)), axis=0)


class MixtureMixin(MixtureAnswers, ClusterAttributes):
    """What clusterers around small-variance mixtures have in common.

    A class that uses it defines `_fresh`, which makes a model from its parameters.

    Parameters
    ----------
    n_passes : int, default 1
        Number of times that `fit` goes over the rows. It keeps the clusters in between.
    """

    labels_: Ids
    n_passes: int
    _fresh: Callable[[], Any]

    def __init__(
        self, lambda_: float | str = "auto", *, n_passes: int = 1, **options: Any
    ) -> None: ...

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        sample_weight : array_like of int of shape (n_rows,), optional
            How often each row is learned; one of weight 0 is left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad, or there are no rows.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _checked(self, X: Any, reset: bool) -> Matrix:
        """Rows to learn."""
        rows: Matrix = checked_rows(
            self, X, reset, dtype=np.float64, ensure_all_finite=self._gaps
        )
        return rows

    def _fit(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows, as one sequence or as several."""
        n_passes = params.count("n_passes", self.n_passes, 1)
        every = self._checked(X, True)
        rows = repeated(every, sample_weight)
        model = updated(self._fresh(), rows, lengths)
        if not model.is_ready:
            if len(rows) < 2:
                raise ValueError(
                    Message(
                        "lambda_='auto' needs at least 2 rows; got n_samples = 1. "
                        "Give lambda_."
                    )
                )
            model.finish_warm_up()
        for _ in range(n_passes - 1):
            updated(model, rows, lengths)
        model.merge_now()
        return self._store_fit(model, every)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows in order, on top of what was learned before.

        With "auto" scales, rows wait until there are `warm_up` rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        sample_weight : array_like of int of shape (n_rows,), optional
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        return self._partial_fit(X, sample_weight=sample_weight)

    def _partial_fit(
        self, X: Any, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn more rows, as one sequence or as several."""
        first = not hasattr(self, "model_")
        every = self._checked(X, first)
        rows = repeated(every, sample_weight)
        model = self._fresh() if first else self.model_
        return self._store_fit(updated(model, rows, lengths), every)

    def _store_fit(self, model: Any, rows: Matrix) -> Self:
        """Keep a model, and where the rows of the last call belong."""
        self.model_ = model
        self.labels_ = np.full(len(rows), -1, dtype=np.int64)
        if model.is_ready:
            self.labels_ = self._places(model.predict(rows))
        return self

    def _places(self, ids: Ids) -> Ids:
        """Places in `cluster_centers_` of ids."""
        known = self.model_.clusters().id
        places: Ids = np.searchsorted(known, ids)
        return np.where(ids < 0, -1, places)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; of `lambda_` the underscore says nothing."""
        return hasattr(self, "model_")

    @property
    def cluster_centers_(self) -> Matrix:
        """Means of the confirmed clusters, ndarray of shape (n_clusters, n_features).

        `model_.clusters()` also has their ids, which do not change when clusters come
        and go.
        """
        check_is_fitted(self)
        means: Matrix = self.model_.clusters().mean
        return means.copy()

    @property
    def n_clusters_(self) -> int:
        """Number of confirmed clusters."""
        check_is_fitted(self)
        return int(self.model_.n_clusters)

    def _rows_of_clusters(self) -> Vector:
        """Rows of each cluster, faded where the model forgets."""
        weight: Vector = self.model_.clusters().weight
        return weight

    predict_proba = passed_on(SmallVarianceMixture.predict_proba)
    _ids = passed_on(SmallVarianceMixture.predict)

    def predict(self, X: Any, outliers: bool = False) -> Ids:
        """Nearest cluster of each row, as in learning.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        outliers : bool, default False
            Whether a row gets -1 if its distance is more than `lambda_`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            Numbers of rows of `cluster_centers_`, or -1 while there are no clusters.
        """
        return self._places(self._ids(X, outliers))


@params.derived(OnlineDPGMM, without=["seed"])
class DPGMMClusterer(
    MixtureMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Online Dirichlet process mixture of spherical Gaussians, for scikit-learn.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned, in batches of any size. The number of clusters is learned from the
    data. Learning uses no random numbers. Distances are in the units of the columns:
    where these differ, put a `StandardScaler` before the model, in a pipeline.

    Parameters
    ----------
    warm_up : int, default 500
        Number of rows from which ``lambda_="auto"`` is chosen. `fit` uses all of its
        rows if there are fewer.

    Attributes
    ----------
    model_ : OnlineDPGMM
        The fitted model, with all of its methods.
    cluster_centers_, means_ : ndarray of shape (n_clusters, n_features)
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    covariances_ : ndarray of shape (n_clusters, n_features, n_features)
    labels_ : ndarray of int64 of shape (n_rows,)
        Clusters of the rows of the last call, as row numbers of `cluster_centers_`, or
        -1.
    n_clusters_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DPGMMClusterer
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(600, 2)) + 20 * rng.integers(3, size=(600, 1))
    >>> fit = DPGMMClusterer().fit(X)
    >>> fit.n_clusters_, fit.predict([[0, 0], [20, 20]]).tolist()
    (3, [2, 1])
    """

    transform = passed_on(OnlineDPGMM.transform)
    sample = passed_on(OnlineDPGMM.sample)

    def _fresh(self) -> OnlineDPGMM:
        return OnlineDPGMM(**params.model_options(self, OnlineDPGMM), seed=0)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_


@params.derived(OnlineDPMPPCA, OnlineDPGMM, without=["seed"])
class DPMPPCAClusterer(
    MixtureMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Online mixture of probabilistic principal components, for scikit-learn.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned, in batches of any size. The number of clusters and their
    dimensions are learned from the data. Learning uses no random numbers. Distances are
    in the units of the columns: where these differ, put a `StandardScaler` before the
    model, in a pipeline.

    Parameters
    ----------
    warm_up : int, default 800
        Number of rows from which "auto" values are chosen. `fit` uses all of its rows
        if there are fewer.

    Attributes
    ----------
    model_ : OnlineDPMPPCA
        The fitted model, with all of its methods.
    cluster_centers_, means_ : ndarray of shape (n_clusters, n_features)
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    covariances_ : ndarray of shape (n_clusters, n_features, n_features)
    labels_ : ndarray of int64 of shape (n_rows,)
        Clusters of the rows of the last call, as row numbers of `cluster_centers_`, or
        -1.
    n_clusters_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DPMPPCAClusterer
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(900, 3)) * [3.0, 0.2, 0.2]
    >>> X[::2] = X[::2, [2, 0, 1]] + [20.0, 0.0, 0.0]
    >>> fit = DPMPPCAClusterer().fit(X)
    >>> fit.model_.clusters().dim.tolist()
    [1, 1]
    """

    sample = passed_on(OnlineDPMPPCA.sample)

    def transform(self, X: Any) -> Matrix:
        """Coordinates of each row in the subspace of its cluster, as `predict` says.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_dims)
            `n_dims` is the dimension of the largest subspace. Columns beyond that of a
            row's cluster are 0.
        """
        own = self._coordinates(X)
        out = np.zeros((len(own), self._n_features_out))
        for row, coordinates in zip(out, own, strict=True):
            row[: len(coordinates)] = coordinates
        return out

    _coordinates = passed_on(OnlineDPMPPCA.transform)

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.clusters().dim.max(initial=0))

    def _fresh(self) -> OnlineDPMPPCA:
        return OnlineDPMPPCA(**params.model_options(self, OnlineDPMPPCA), seed=0)


@params.derived(OnlineHDPHSMM, OnlineDPMPPCA, OnlineDPGMM, without=["seed"])
class HDPHSMMClusterer(MixtureMixin, ClusterMixin, BaseEstimator):
    """Online hidden semi-Markov model, for scikit-learn.

    Rows are one sequence and are learned in the order given. `fit` starts anew, and
    `partial_fit` adds to what was learned. `predict` labels each row on its own, as
    usual in scikit-learn; `decode` finds the most probable path of all rows. Distances
    are in the units of the columns: where these differ, put a `StandardScaler` before
    the model, in a pipeline.

    Parameters
    ----------
    n_passes : int, default 1
        Number of times that `fit` goes over the rows. It keeps the states in between.
    warm_up : int, default 800
        Number of rows from which "auto" values are chosen. `fit` uses all of its rows
        if there are fewer.

    Attributes
    ----------
    model_ : OnlineHDPHSMM
        The fitted model, with all of its methods.
    cluster_centers_, means_ : ndarray of shape (n_clusters, n_features)
    weights_ : ndarray of shape (n_clusters,)
        Shares of the clusters.
    covariances_ : ndarray of shape (n_clusters, n_features, n_features)
    labels_ : ndarray of int64 of shape (n_rows,)
        States of the rows of the last call, as row numbers of `cluster_centers_`, or
        -1.
    n_clusters_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import HDPHSMMClusterer
    >>> X = np.tile(np.repeat([0.0, 5.0, 10.0], [20, 30, 10]), 20)[:, None]
    >>> fit = HDPHSMMClusterer(lambda_=3.0, noise=0.3).fit(X)
    >>> len(fit.decode(X[:120]))
    6
    """

    _gaps = "allow-nan"
    decode = passed_on(OnlineHDPHSMM.decode)
    score = passed_on(OnlineHDPHSMM.score)
    sample = passed_on(OnlineHDPHSMM.sample)

    def _fresh(self) -> OnlineHDPHSMM:
        return OnlineHDPHSMM(**params.model_options(self, OnlineHDPHSMM), seed=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def transmat_(self) -> Matrix:
        """Probability that each state is followed by each other one.

        The shape is (n_clusters, n_clusters). Rows sum to 1, and the diagonal is 0, as
        `durations_` say how long a state lasts.
        """
        check_is_fitted(self)
        matrix: Matrix = self.model_.transition_matrix()
        return matrix

    @property
    def durations_(self) -> Durations:
        """Number, mean and standard deviation of the stays in each state, in rows."""
        check_is_fitted(self)
        durations: Durations = self.model_.durations()
        return durations

    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Numbers, or NaN where one is missing.
        y : object, optional
            Ignored.
        lengths : sequence of int, optional
            Number of rows in each sequence. By default all rows are one sequence.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad, or there are no rows.
        """
        if y is not None:
            refuse_lengths(y, _num_samples(X))
        return self._fit(X, lengths)

    def fit_predict(self, X: Any, y: Any = None, lengths: Any = None) -> Ids:
        """Learn rows as `fit` does, and return `labels_`.

        Parameters
        ----------
        X, y, lengths
            As in `fit`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        return self.fit(X, y, lengths).labels_

    def partial_fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Learn more rows in order; parameters and returns are those of `fit`.

        Without `lengths`, the sequence continues across calls.
        """
        if y is not None:
            refuse_lengths(y, _num_samples(X))
        return self._partial_fit(X, lengths)
