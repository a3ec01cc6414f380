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
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.answers import Ids, MixtureAnswers
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix
from dyntree.errors import Message
from dyntree.mixtures import OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM, Path
from dyntree.mixtures.sva.options import GMM_OPTIONS, HSMM_OPTIONS, MPPCA_OPTIONS
from dyntree.mixtures.sva.sequence_scales import with_scales


def taught(model: Any, rows: Matrix, lengths: Any) -> Any:
    """The model once it has learned rows; only sequences have lengths."""
    if lengths is None:
        return model.update(rows, progress=False)
    return model.update(rows, lengths=lengths, progress=False)


class MixtureMixin(MixtureAnswers):
    """What clusterers around small-variance mixtures have in common.

    A class that uses it defines `_fresh`, which makes a model from its parameters.
    """

    labels_: Ids
    n_passes: int
    get_params: Callable[..., dict[str, Any]]
    _fresh: Callable[[Matrix], Any]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad, or there are no rows.
        """
        return self._fit(X)

    def _fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn rows, as one sequence or as several."""
        n_passes = params.count("n_passes", self.n_passes, 1)
        rows = checked_rows(self, X, True, dtype=np.float64)
        model = taught(self._fresh(rows), rows, lengths)
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
            taught(model, rows, lengths)
        model.merge_now()
        return self._kept(model, rows)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more rows in order, on top of what was learned before.

        With "auto" scales, rows are held back until there are `warm_up` rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        return self._partial_fit(X)

    def _partial_fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn more rows, as one sequence or as several."""
        first = not hasattr(self, "model_")
        rows = checked_rows(self, X, first, dtype=np.float64)
        model = self._fresh(rows) if first else self.model_
        return self._kept(taught(model, rows, lengths), rows)

    def _kept(self, model: Any, rows: Matrix) -> Self:
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

    def predict(self, X: Any) -> Ids:
        """Most probable cluster of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            Numbers of rows of `cluster_centers_`, or -1 while there are no clusters.
        """
        return self._places(super().predict(X))


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
    data. Learning uses no random numbers.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Squared distance beyond which a row opens a cluster.
    criterion, merge_factor, check_every, min_weight, patience, forget
        As in `OnlineDPGMM`.
    max_clusters, covariance
        As in `OnlineDPGMM`.
    warm_up : int, default 500
        Number of rows from which ``lambda_="auto"`` is chosen. `fit` uses all of its
        rows if there are fewer.
    n_passes : int, default 1
        Number of times that `fit` goes over the rows. It keeps the clusters in between.

    Attributes
    ----------
    model_ : OnlineDPGMM
        The fitted model, with all of its methods.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
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

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        criterion: str = "radius",
        merge_factor: float = 1.0,
        check_every: int = 256,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 0.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 500,
        n_passes: int = 1,
    ) -> None:
        self._keep(locals())

    def _fresh(self, rows: Matrix) -> OnlineDPGMM:
        return OnlineDPGMM(**params.given_options(self.get_params(), GMM_OPTIONS))

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def transform(self, X: Any) -> Matrix:
        """Distances of rows to the cluster centres.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
        """
        rows = self._rows(X)
        distances: Matrix = self.model_.transform(rows)
        return distances


class DPMPPCAClusterer(MixtureMixin, ClusterMixin, BaseEstimator):
    """Online mixture of probabilistic principal components, for scikit-learn.

    Rows are learned in the order given. `fit` starts anew, and `partial_fit` adds to
    what was learned, in batches of any size. The number of clusters and their
    dimensions are learned from the data. Learning uses no random numbers.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Distance beyond which a row opens a cluster, in squared units of the rows.
    noise : float or "auto", default "auto"
        Standard deviation of the noise around subspaces.
    lambda_1, gate, bandwidth, max_dim, spare, subspace, merge, merge_factor
        As in `OnlineDPMPPCA`.
    check_every, min_weight, patience, forget, max_clusters, covariance
        As in `OnlineDPMPPCA`.
    warm_up : int, default 800
        Number of rows from which "auto" values are chosen. `fit` uses all of its rows
        if there are fewer.
    n_passes : int, default 1
        Number of times that `fit` goes over the rows. It keeps the clusters in between.

    Attributes
    ----------
    model_ : OnlineDPMPPCA
        The fitted model, with all of its methods.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
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

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        noise: float | str = "auto",
        lambda_1: float | None = None,
        gate: str = "ppca",
        bandwidth: float | None = None,
        max_dim: int | None = None,
        spare: int = 2,
        subspace: str = "auto",
        merge: bool = True,
        merge_factor: float = 1.0,
        check_every: int = 200,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 0.0,
        max_clusters: int = 1000,
        covariance: str = "diag",
        warm_up: int = 800,
        n_passes: int = 1,
    ) -> None:
        self._keep(locals())

    def _fresh(self, rows: Matrix) -> OnlineDPMPPCA:
        return OnlineDPMPPCA(**params.given_options(self.get_params(), MPPCA_OPTIONS))


class HDPHSMMClusterer(MixtureMixin, ClusterMixin, BaseEstimator):
    """Online hidden semi-Markov model, for scikit-learn.

    Rows are one sequence and are learned in the order given. `fit` starts anew, and
    `partial_fit` adds to what was learned. `predict` labels each row on its own, as
    usual in scikit-learn; `decode` finds the most probable path of all rows.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        Distance beyond which a row opens a state, in squared units of the rows. "auto"
        chooses it from the first 800 rows, or from those of the first call if there are
        fewer. It does so as in `OnlineDPMPPCA`, or as in `OnlineDPGMM` with
        ``emission="gmm"``. It suits compact states, but not curves.
    noise : float or "auto", default "auto"
        Standard deviation of the noise around subspaces, in units of the rows. "auto"
        estimates it from the same rows.
    lambda_1, lambda_2, lambda_3, lambda_4, duration, max_duration, emission, gate
        As in `OnlineHDPHSMM`.
    bandwidth, max_dim, spare, subspace, merge, merge_factor, check_every
        As in `OnlineDPMPPCA`.
    min_weight, patience, forget, max_clusters
        As in `OnlineDPMPPCA`.
    n_passes : int, default 1
        Number of times that `fit` goes over the rows. It keeps the states in between.

    Attributes
    ----------
    model_ : OnlineHDPHSMM
        The fitted model, with all of its methods.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
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

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        noise: float | str = "auto",
        lambda_1: float | None = None,
        lambda_2: float | None = None,
        lambda_3: float | None = None,
        lambda_4: float = 0.0,
        duration: str = "gaussian",
        max_duration: int | None = None,
        emission: str = "mppca",
        gate: str = "ppca",
        bandwidth: float | None = None,
        max_dim: int | None = None,
        spare: int = 2,
        subspace: str = "auto",
        merge: bool = True,
        merge_factor: float = 1.0,
        check_every: int = 200,
        min_weight: float = 5,
        patience: int = 2000,
        forget: float = 0.0,
        max_clusters: int = 1000,
        n_passes: int = 1,
    ) -> None:
        self._keep(locals())

    def _fresh(self, rows: Matrix) -> OnlineHDPHSMM:
        given = params.given_options(self.get_params(), HSMM_OPTIONS)
        return OnlineHDPHSMM(**with_scales(given, rows))

    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Learn rows in order; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
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
        return self._fit(X, lengths)

    def partial_fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Learn more rows in order; parameters and returns are those of `fit`.

        Without `lengths`, the sequence continues across calls.
        """
        return self._partial_fit(X, lengths)

    def decode(self, X: Any, lengths: Any = None) -> Path:
        """The most probable path of rows through the states, with the ids of the model.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        lengths : sequence of int, optional
            Number of rows in each sequence. By default all rows are one sequence.

        Returns
        -------
        Path
        """
        rows = self._rows(X)
        path: Path = self.model_.decode(rows, lengths=lengths)
        return path
