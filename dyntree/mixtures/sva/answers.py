"""What a small-variance mixture answers from its confirmed clusters."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
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
        """What merged clusters became: id -> id of the cluster that took them in.

        Of very many merges the oldest are forgotten.
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
        """Return the clusters there are.

        Parameters
        ----------
        provisional : bool, default False
            Whether those that are not confirmed are wanted, too.

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

        Of shape (n_clusters, n_features, n_features). Directions of a subspace have
        their own variance where that is larger than the noise; beside them
        ``covariance="diag"`` gives each column its own, and "spherical" ``noise**2``.
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
        """Ids of the clusters of rows: the nearest, with subspaces the most probable.

        That is by the distance that rows are learned by, of one noise for all clusters,
        and not by the densities of `predict_proba`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        outliers : bool, default False
            Whether a row has -1 where its distance is more than `lambda_`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            -1 while no cluster is confirmed.
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
            Rows sum to 1. One so far away that it has no density anywhere is all of the
            cluster that `predict` says.
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
                f"{what} needs a confirmed cluster; none has had "
                f"{self.options.min_weight:g} rows yet. Learn more rows, or set "
                "min_weight=1."
            )
        return places

    @locked
    def sample(self, n_samples: int = 1, *, seed: Any = None) -> tuple[Matrix, Ids]:
        """Draw rows from the mixture of confirmed clusters.

        Parameters
        ----------
        n_samples : int, default 1
        seed : int or numpy Generator, optional
            Default the model's own seed.

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
            Two rows at least, of a sequence model in one sequence; a few hundred tell
            enough.

        Returns
        -------
        LambdaPath

        Notes
        -----
        For round clusters 24 costs lie between the .001 quantile and the largest of the
        squared distances of pairs. For each: a pass with merging, two steps of Lloyd's,
        and the BIC of the mixture of round Gaussians; or of Gaussians of one covariance
        where that is better, the clusters are far apart, covariances of their own would
        not be better still, and 4 n_features^2 rows tell of it. The least BIC gives the
        noise.
        ``lambda_="auto"`` takes the radius that goes with it, or the cost itself where
        the radius, if less than 1.8 times the cost, leads to a mixture that is worse by
        more than the parameters of one cluster: as in wide rows.

        For clusters with subspaces, noise that is not given is first that in the
        covariances of the nearest neighbours of up to 80 rows, which is too low, and
        then that of the residuals of the clusters that it leads to, as long as these
        raise it by more than 1 %; meanwhile the best cost alone is tried. With at least
        4 n_features^2 rows larger noises are tried, too, and one is taken where its
        clusters are far apart and have a better BIC with one covariance in common. 14
        costs lie
        between ``.7 * noise**2 * chi2.isf(1e-5, n_features)``, or
        10 n_features noise^2 where that is less, and
        4 times the mean squared distance of rows to their mean. Each has a pass,
        merging at its end, and the BIC of the mixture found, which knows nothing of the
        order of the rows; the parameters of a cluster count by the log of its own rows.
        Clusters of fewer than 8 rows on average tell nothing. Costs between two that
        lead to the same mixture are taken to lead to it, and are not tried.

        A row counts as one of any place in its cell of the lattice: in a column of step
        h the variance within clusters is at least h^2 / 12, and values of eight rows
        and more are spread over their cells. Rows that repeat as a whole, in columns
        that are not discrete, count once.
        """
        features, rows = self._encoded(X)
        if len(rows) < 2:
            raise ValueError(f"X must have at least two rows; got {len(rows)}.")
        return self._cost_path(rows, features.feature_names)
