"""Dependent Dirichlet process mixtures for scikit-learn: clusters over phases."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.answers import (
    ClusterAttributes,
    Ids,
    MixtureAnswers,
    passed_on,
    times_of,
)
from dyntree.api.estimators.arguments import seed_of
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures import DependentDPMixture, GaussianUnknown
from dyntree.mixtures.shared.arrays import settled_aliases
from dyntree.mixtures.shared.phases import separated, without_phases

WHOLE = 30  # rows, from which pieces of `partial_fit` are a phase


def labels_of(rows: Matrix, times: Ids, labels: Ids, model: DependentDPMixture) -> Ids:
    """Labels of rows that were learned so often; of those left out, as predicted."""
    out = np.full(len(rows), -1, dtype=np.int64)
    learned = times > 0
    out[learned] = labels[(np.cumsum(times) - times)[learned]]
    if not learned.all() and model.is_ready:
        out[~learned] = model.predict(rows[~learned])
    return out


@params.derived(DependentDPMixture, without=["seed"])
class DependentDPClusterer(
    MixtureAnswers, ClusterAttributes, ClusterMixin, BaseEstimator
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
    _open: tuple[DependentDPMixture, Matrix] | None = None  # before a phase; its rows
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

    def fit(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn phases in the order of their labels; earlier learning is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        phases : str or array_like of shape (n_rows,), optional
            The name of a column of a frame, or a label for each row. By default all
            rows are one phase. Of categories, one between two that have rows is a
            phase without rows, in which time passes.
        sample_weight : array_like of int of shape (n_rows,), optional
            How often each row is learned; one of weight 0 is left out, and its label is
            what `predict` says after its phase.

        Returns
        -------
        self
        """
        return self._learned(self._fresh(), X, phases, sample_weight, reset=True)

    def partial_fit(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn one or more further phases on top of what was learned before.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Finite numbers.
        y : object, optional
            Ignored.
        phases : str or array_like of shape (n_rows,), optional
            As in `fit`. By default rows of successive calls are one phase until it has
            30 rows, so that it does not matter in which pieces they come. With each
            piece, the phase is learned again, and `labels_` are those of the piece.
        sample_weight : array_like of int of shape (n_rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "model_")
        if phases is not None:
            model = self._fresh() if first else self.model_.copy()
            return self._learned(model, X, phases, sample_weight, reset=first)
        every = checked_rows(self, X, first, dtype=np.float64)
        times = times_of(sample_weight, len(every))
        rows = np.repeat(every, times, axis=0)
        if self._open is None:
            before, whole = self._fresh() if first else self.model_, rows
            model = before.copy().update(whole, progress=False)
        else:
            before, whole = self._open[0], np.concatenate([self._open[1], rows])
            model = before.copy().update_again(whole, self.model_)
        labels = model.labels_[len(whole) - len(rows) :]
        self.model_, self.labels_ = model, labels_of(every, times, labels, model)
        self._open = (before, whole) if len(whole) < WHOLE else None
        return self

    def fit_predict(
        self, X: Any, y: Any = None, *, phases: Any = None, sample_weight: Any = None
    ) -> Ids:
        """Learn as `fit` does, and return `labels_`.

        Parameters
        ----------
        X, y, phases, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        return self.fit(X, phases=phases, sample_weight=sample_weight).labels_

    def _learned(
        self, model: DependentDPMixture, X: Any, phases: Any, sample_weight: Any,
        reset: bool,
    ) -> Self:  # fmt: skip
        """Let a model learn rows, and keep it and their labels."""
        column = phases if isinstance(phases, str) else None
        X, parts = separated(X, phases)
        rows = checked_rows(self, X, reset, dtype=np.float64)
        times = times_of(sample_weight, len(rows))
        labels = np.full(len(rows), -1, dtype=np.int64)
        aliases: dict[int, int] = {}
        for part in parts or [np.arange(len(rows))]:
            some, often = rows[part], times[part]
            model.update(np.repeat(some, often, axis=0), progress=False)
            labels[part] = labels_of(some, often, model.labels_, model)
            aliases |= model.aliases_
        for old, new in settled_aliases(aliases).items():
            labels[labels == old] = new
        self.model_, self.labels_, self._open = model, labels, None
        if reset or column is not None:
            self._phase_column = column
        return self

    def _rows(self, X: Any) -> Any:
        """Rows to predict for, without the column of the phase."""
        return super()._rows(without_phases(X, getattr(self, "_phase_column", None)))

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
