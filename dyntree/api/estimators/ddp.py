"""Dependent Dirichlet process mixtures for scikit-learn: clusters over phases."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.answers import (
    ClusterAttributes,
    Ids,
    MixtureAnswers,
    passed_on,
)
from dyntree.api.estimators.arguments import seed_of
from dyntree.api.estimators.phases import PhasesMixin
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures import DependentDPMixture, GaussianUnknown


@params.derived(DependentDPMixture, without=["seed"])
class DependentDPClusterer(
    PhasesMixin, MixtureAnswers, ClusterAttributes, ClusterMixin, BaseEstimator
):
    """Clusters that are born, move, fade and die over phases, for scikit-learn.

    Labels are persistent ids: a cluster has the same id in all phases, and an id is
    never used twice.

    Parameters
    ----------
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial, optional
        Distribution of the rows of a cluster; by default `GaussianUnknown()`.
    random_state : int, RandomState instance or None, default None
        Seed of the sampler. An int gives the same labels in each call.

    Attributes
    ----------
    model_ : DependentDPMixture
        The fitted model, with all of its methods.
    labels_ : ndarray of int64 of shape (n_rows,)
        Ids of the clusters of the rows of the last call, in the order of the rows.
    cluster_ids_ : ndarray of int64 of shape (n_particles,)
        Ids of the clusters that may be alive.
    cluster_centers_, means_ : ndarray of shape (n_particles, n_features)
        Means of these clusters.
    weights_ : ndarray of shape (n_particles,)
        Their shares of the rows of the last phase, as predicted.
    covariances_ : ndarray of shape (n_particles, n_features, n_features)
        Of rows, in these clusters.
    n_clusters_ : int
        Number of clusters that had rows in the last phase.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import DependentDPClusterer
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(300, 2)) + 20 * rng.integers(2, size=(300, 1))
    >>> fit = DependentDPClusterer(random_state=1).fit(X, phases=np.arange(300) // 100)
    >>> fit.n_clusters_, len(np.unique(fit.labels_))
    (2, 2)
    """

    model_: DependentDPMixture
    random_state: Any
    predict = passed_on(DependentDPMixture.predict)
    predict_proba = passed_on(DependentDPMixture.predict_proba)
    sample = passed_on(DependentDPMixture.sample)

    def __init__(
        self, family: Any = None, *, random_state: Any = None, **options: Any
    ) -> None: ...

    def _fresh(self) -> DependentDPMixture:
        """A model that has seen no phase."""
        seed = seed_of(self.random_state)
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        given = params.model_options(self, DependentDPMixture)
        if given["family"] is None:
            given["family"] = GaussianUnknown()
        return DependentDPMixture(**given, seed=seed)

    def _relearned(
        self, before: DependentDPMixture, rows: Matrix
    ) -> DependentDPMixture:
        return before.copy().update_again(rows, self.model_)

    def _aliases(self, model: DependentDPMixture) -> dict[int, int]:
        return model.aliases_

    @property
    def cluster_ids_(self) -> Ids:
        """Ids of the clusters that may be alive, shape (n_particles,)."""
        check_is_fitted(self)
        return self.model_.particles().id.copy()

    @property
    def cluster_centers_(self) -> Matrix:
        """Means of the clusters that may be alive, shape (n_particles, n_features)."""
        check_is_fitted(self)
        return self.model_.particles().mean.copy()

    def _rows_of_clusters(self) -> Vector:
        """Weights of particles, where these are alive."""
        particles = self.model_.particles()
        return particles.alive * particles.weight_mean

    @property
    def n_clusters_(self) -> int:
        """Number of clusters that had rows in the last phase."""
        check_is_fitted(self)
        return self.model_.n_clusters
