"""Dynamic Means for scikit-learn: clusters over phases, at the cost of k-means."""

from __future__ import annotations

from typing import Any

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.answers import Ids, passed_on
from dyntree.api.estimators.arguments import seed_of
from dyntree.api.estimators.phases import PhasesMixin
from dyntree.encoding.values import Matrix
from dyntree.mixtures import DynamicMeans


@params.derived(DynamicMeans, without=["seed"])
class DynamicMeansClusterer(
    PhasesMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Clusters that are born, move, rest and die over phases, for scikit-learn.

    Labels are persistent ids: a cluster has the same id in all phases, and an id is
    never used twice. There are no densities. Distances are in the units of the columns:
    where these differ, put a `StandardScaler` before the model, in a pipeline.

    Phases should have at least ten times as many rows as there are clusters; collect
    rows until then. In smaller ones clusters are often without rows, are gone after
    `max_absence` phases, and come back with new ids. If the first phase has few rows
    and later ones have many, such as 30 and 3000, clusters may be halved: begin with a
    phase as large as the others, or give `lambda_`.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default None
        Seed of the orders of rows. An int gives the same labels in each call.

    Attributes
    ----------
    model_ : DynamicMeans
        The fitted model, with all of its methods.
    labels_ : ndarray of int64 of shape (n_rows,)
        Ids of the clusters of the rows of the last call, in the order of the rows.
    cluster_ids_ : ndarray of int64 of shape (n_alive,)
        Ids of the clusters that have rows, or may be revived.
    cluster_centers_ : ndarray of shape (n_alive, n_features)
        Means of these clusters.
    n_clusters_ : int
        Number of clusters that had rows in the last phase.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DynamicMeansClusterer
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(300, 2)) + 20 * rng.integers(2, size=(300, 1))
    >>> fit = DynamicMeansClusterer(random_state=1).fit(X, phases=np.arange(300) // 100)
    >>> fit.n_clusters_, len(np.unique(fit.labels_))
    (2, 2)
    """

    model_: DynamicMeans
    random_state: Any
    predict = passed_on(DynamicMeans.predict)
    transform = passed_on(DynamicMeans.transform)

    def __init__(
        self, lambda_: float | str = "auto", *, random_state: Any = None, **options: Any
    ) -> None: ...

    def _fresh(self) -> DynamicMeans:
        """A model that has seen no phase."""
        given = params.model_options(self, DynamicMeans)
        return DynamicMeans(**given, seed=seed_of(self.random_state))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; of `lambda_` the underscore says nothing."""
        return hasattr(self, "model_")

    @property
    def cluster_ids_(self) -> Ids:
        """Ids of the clusters that have rows, or may be revived, shape (n_alive,)."""
        check_is_fitted(self)
        return self.model_.clusters().id

    @property
    def cluster_centers_(self) -> Matrix:
        """Means of these clusters, ndarray of shape (n_alive, n_features)."""
        check_is_fitted(self)
        return self.model_.clusters().mean

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that had rows in the last phase."""
        check_is_fitted(self)
        return self.model_.n_clusters

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_ids_)
