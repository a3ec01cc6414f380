"""What a small-variance mixture answers from its confirmed clusters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.mixtures.sva.background import (
    background_log_density,
    background_share,
)
from dyntree.mixtures.sva.column_laws import ColumnLaws, column_laws
from dyntree.mixtures.sva.emission import Emission, emission_of
from dyntree.mixtures.sva.learning import Learning
from dyntree.mixtures.sva.records import Clusters, LambdaPath
from dyntree.runtime.locking import locked


class ClusterAnswers(Learning):
    """Questions to the confirmed clusters; none of them teaches anything."""

    @property
    def _emission(self) -> Emission:
        return emission_of(self.options)

    @property
    @abstractmethod
    def noise(self) -> float:
        """Standard deviation of the noise."""

    # ------------------------------------------------------------ what it is
    @property
    def lambda_(self) -> float:
        """Cost of a new cluster: as given, or as chosen from the first rows."""
        given = self.options.lambda_
        if isinstance(given, float):
            return given
        self._ready("lambda_")
        assert self._state.lambda_ is not None
        return self._state.lambda_

    @property
    def n_clusters(self) -> int:
        """Number of confirmed clusters."""
        return 0 if not self.is_ready else len(self._confirmed())

    @property
    def aliases_(self) -> dict[int, int]:
        """Id of each merged cluster -> id of the cluster that contains it now.

        After very many merges, the oldest are forgotten.
        """
        if not self.is_ready:
            return {}
        merged, into = (
            self._state.clusters.array(name) for name in ("merged", "merged_into")
        )
        return settled_aliases(zip(merged.tolist(), into.tolist(), strict=True))

    def _own_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"clusters": self.n_clusters}
        if self.is_ready:
            facts |= {
                "provisional": int(self._state.clusters.n) - self.n_clusters,
                "lambda_": self.lambda_,
                "forget": self.options.forget,
            }
        return facts

    def memory_usage(self) -> int:
        """Bytes held by clusters, and by rows that are held back."""
        return self._state.nbytes + self.labels_.nbytes + 1000

    # ------------------------------------------------------------ clusters
    def _confirmed(self) -> Ids:
        """Places of the confirmed clusters."""
        return np.flatnonzero(self._state.clusters.array("confirmed")).astype(np.int64)

    @locked
    def clusters(self, provisional: bool = False) -> Clusters:
        """Return the clusters.

        Parameters
        ----------
        provisional : bool, default False
            Whether to include clusters that are not confirmed.

        Returns
        -------
        Clusters
        """
        known = self._ready("clusters")
        every = params.flag("provisional", provisional)
        places = np.arange(known.n) if every else self._confirmed()
        dim, basis, variances = self._emission.subspaces_of(known, places)
        return Clusters(
            id=known.array("ids")[places],
            weight=known.array("weight")[places],
            mean=known.means()[places],
            dim=dim,
            basis=basis,
            variances=variances,
            confirmed=known.array("confirmed")[places].astype(bool),
            born=known.array("born")[places] - 1,
            last_seen=known.array("seen")[places] - 1,
        )

    @property
    def covariances_(self) -> Matrix:
        """Covariances of the confirmed clusters, in the order of `clusters`.

        The shape is (n_clusters, n_features, n_features). A direction of a subspace has
        its own variance if that is larger than the noise. Outside subspaces, each
        column has its own variance with ``covariance="diag"``, and ``noise**2`` with
        "spherical".
        """
        with self._lock:
            return self._covariances()

    def _covariances(self) -> Matrix:
        """Covariances of the confirmed clusters."""
        known = self._ready("covariances_")
        laws = self._column_laws(self._confirmed())
        if laws is not None:
            return laws.covariances()
        variance = float(self.noise) ** 2
        _, bases, variances = self._emission.subspaces_of(known, self._confirmed())
        out = np.empty((len(bases), known.n_features, known.n_features))
        for place, basis, along in zip(out, bases, variances, strict=True):
            place[:] = variance * np.eye(known.n_features)
            place += basis * np.maximum(along - variance, 0.0) @ basis.T
        return out

    # ------------------------------------------------------------ answers
    @locked
    def predict(self, X: Any, *, outliers: bool = False) -> Ids:
        """Id of the nearest cluster of each row.

        The distance is the one used in learning, with the same noise for all clusters,
        and not the density of `predict_proba`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        outliers : bool, default False
            Whether a row gets -1 if its distance is more than `lambda_`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            -1 if no cluster is confirmed yet.
        """
        known, rows = self._answered(X, "predict")
        wanted = params.flag("outliers", outliers)
        places = self._confirmed()
        if not len(places):
            return np.full(len(rows), -1, dtype=np.int64)
        nearest, distance = self._emission.nearest(known, rows, places, wanted)
        labels: Ids = known.array("ids")[places[nearest]]
        if wanted:
            labels[distance > self.lambda_] = -1
        return labels

    def predict_one(self, x: Any, *, outliers: bool = False) -> int:
        """Id of the cluster of one row; see `predict`.

        Parameters
        ----------
        x : dict or array_like of shape (n_features,)
        outliers : bool, default False

        Returns
        -------
        int
        """
        return int(self.predict(self._one_row(x), outliers=outliers)[0])

    @locked
    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each confirmed cluster, in the order of `clusters`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Rows sum to 1. A row so far away that all densities are 0 belongs to the
            cluster that `predict` gives.
        """
        known, rows = self._answered(X, "predict_proba")
        places = self._confirmed()
        joint = self._log_joint(rows, places)
        if not joint.size:
            return joint
        lost = np.flatnonzero(np.isneginf(joint.max(axis=1)))
        if len(lost):
            nearest, _ = self._emission.nearest(known, rows[lost], places, False)
            joint[lost, nearest] = 0.0
        shares: Matrix = softmax(joint, axis=1)
        return shares

    def _log_densities(self, X: Any) -> Vector:
        _, rows = self._answered(X, "score_samples")
        places, known = self._some("score_samples"), self._state.clusters
        share = background_share(known, self.options.forget > 0.0)
        clusters = logsumexp(self._log_joint(rows, places), axis=1) + np.log1p(-share)
        behind = background_log_density(known, self.noise, rows) + np.log(share)
        density: Vector = np.logaddexp(clusters, behind)
        return density

    def _some(self, what: str) -> Ids:
        """Places of the confirmed clusters, one at least."""
        places = self._confirmed()
        if not len(places):
            raise NotReadyError(
                Message(
                    "{what!a} needs a confirmed cluster; none has had {min_weight:g} "
                    "rows yet. Learn more rows, or set min_weight=1.",
                    what=what,
                    min_weight=self.options.min_weight,
                )
            )
        return places

    @locked
    def sample(self, n_samples: int = 1, *, seed: Any = None) -> tuple[Matrix, Ids]:
        """Draw rows from the mixture of confirmed clusters.

        Parameters
        ----------
        n_samples : int, default 1
        seed : int or numpy Generator, optional
            By default the seed of the model.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of int64 of shape (n_samples,)
            Ids of their clusters.
        """
        known = self._ready("sample")
        n = params.count("n_samples", n_samples, 1)
        rng = params.generator(self.seed if seed is None else seed)
        places = self._some("sample")
        weight = known.array("weight")[places]
        drawn = rng.choice(len(places), size=n, p=weight / weight.sum())
        return self._rows_of(places[drawn], rng), known.array("ids")[places[drawn]]

    def _rows_of(self, places: Ids, rng: np.random.Generator) -> Matrix:
        """Draw a row of each of some confirmed clusters."""
        own = self._confirmed()
        laws = self._column_laws(own)
        rows: Matrix = self._state.clusters.means()[places]
        if laws is not None:
            for k, place in enumerate(own):
                mine = places == place
                rows[mine] = laws.draw(k, int(mine.sum()), rng)
            return rows
        for place, C in zip(own, self._covariances(), strict=True):
            mine = places == place
            normal = rng.normal(size=(int(mine.sum()), rows.shape[1]))
            rows[mine] += normal @ np.linalg.cholesky(C).T
        return rows

    def _log_joint(self, rows: Matrix, places: Ids) -> Matrix:
        """Log weight plus log density of each cluster, shape (n_rows, n_places)."""
        weight = self._state.clusters.array("weight")[places]
        joint: Matrix = self._log_density(rows, places) + np.log(weight / weight.sum())
        return joint

    def _log_density(self, rows: Matrix, places: Ids) -> Matrix:
        """Log density of rows in each of some clusters, shape (n_rows, n_places)."""
        laws = self._column_laws(places)
        if laws is not None:
            return laws.log_density(rows)
        known = self._state.clusters
        return self._emission.log_density(known, self.noise**2, rows, places)

    def _column_laws(self, places: Ids) -> ColumnLaws | None:
        """Laws of the columns of some clusters; None where these are as their noise."""
        if not self.options.has_column_laws:
            return None
        known = self._state.clusters
        _, bases, variances = self._emission.subspaces_of(known, np.arange(known.n))
        return column_laws(known, self.noise, places, bases, variances)

    @abstractmethod
    def _cost_path(self, rows: Matrix, names: tuple[str, ...]) -> LambdaPath:
        """Try costs of a new cluster on some rows."""

    @locked
    def lambda_path(self, X: Any) -> LambdaPath:
        """Number of clusters for each of several costs of a new cluster.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            At least two rows; a few hundred are enough. For a sequence model they are
            one sequence.

        Returns
        -------
        LambdaPath

        Notes
        -----
        **Round clusters.** The 24 costs lie between the 0.001 quantile of the squared
        distances of pairs and the largest one. Each cost gets one pass with merging,
        two steps of Lloyd's algorithm, and the BIC of the mixture of round Gaussians.
        The BIC of Gaussians with a common covariance is used instead if it is better,
        the clusters are far apart, separate covariances would not be better still, and
        there are at least 4 n_features^2 rows. The smallest BIC gives the noise.
        ``lambda_="auto"`` takes the radius that belongs to this noise. If that radius
        is less than 1.8 times the cost, and its mixture is worse by more than the
        parameters of one cluster, as in wide rows, it takes the cost itself.

        **Clusters with subspaces.** Noise that is not given is first estimated from the
        covariances of the nearest neighbours of up to 80 rows, which is too low. Then
        the residuals of the resulting clusters give a new estimate, as long as it is
        larger by more than 1 %; until then only the best cost is tried. With at least
        4 n_features^2 rows, larger noises are tried as well, and one of them is taken
        if its clusters are far apart and have a better BIC with a common covariance.
        The 14 costs lie between the smaller of
        ``0.7 * noise**2 * chi2.isf(1e-5, n_features)`` and 10 n_features noise^2, and 4
        times the mean squared distance of rows to their mean. Each cost gets one pass
        with merging at its end, and the BIC of the mixture, which ignores the order of
        the rows; the parameters of a cluster count by the log of its own number of
        rows. Mixtures of fewer than 8 rows per cluster on average are not used. If two
        costs lead to the same mixture, the costs between them are not tried.

        **Rounded and repeated rows.** A value with the rounding step h stands for any
        value in its interval. The variance of such a column within clusters is
        therefore at least h^2 / 12, and a value that eight or more rows share is spread
        over its interval. Rows that repeat as a whole, in columns that are not
        discrete, count once.
        """
        features, rows = self._encoded(X)
        if len(rows) < 2:
            raise ArgumentError("X", "must have at least two rows", len(rows))
        return self._cost_path(rows, features.feature_names)
