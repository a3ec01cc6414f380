"""SmallVarianceMixture: what the streaming mixtures in closed form have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.mixtures.sva.learning import Learning
from dyntree.mixtures.sva.options import ClusterOptions
from dyntree.mixtures.sva.records import Clusters, LambdaPath
from dyntree.mixtures.sva.validate import check_arrays
from dyntree.runtime.locking import locked


class SmallVarianceMixture(Learning):
    """Clusters that open, merge and go as rows come; base of the three models.

    Notes
    -----
    Learning draws no random numbers; what is learned depends on the order of the rows.
    Answers are from *confirmed* clusters, which have had `min_weight` rows.
    """

    _options: type[ClusterOptions]
    _more_arrays: tuple[str, ...] = ()
    _has_noise = False  # that is told to it, or chosen

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
        assert self._lambda is not None
        return self._lambda

    @property
    def n_clusters(self) -> int:
        """Number of confirmed clusters."""
        return 0 if self._clusters is None else len(self._confirmed())

    @property
    def aliases_(self) -> dict[int, int]:
        """What merged clusters became: id -> id of the cluster that took them in.

        Of very many merges the oldest are forgotten.
        """
        if self._clusters is None:
            return {}
        merged, into = (
            self._clusters.array(name) for name in ("merged", "merged_into")
        )
        return settled_aliases(zip(merged.tolist(), into.tolist(), strict=True))

    def _own_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"clusters": self.n_clusters}
        if self.is_ready:
            facts |= {
                "provisional": int(self._clusters.n) - self.n_clusters,
                "lambda_": self.lambda_,
                "forget": self.options.forget,
            }
        return facts

    def memory_usage(self) -> int:
        """Bytes held by clusters, and by rows that are held back."""
        held = 0 if self._clusters is None else self._clusters.memory_usage()
        return int(held) + self._waiting.nbytes + self.labels_.nbytes + 1000

    # ------------------------------------------------------------ clusters
    def _confirmed(self) -> Ids:
        """Places of the confirmed clusters."""
        return np.flatnonzero(self._clusters.array("confirmed")).astype(np.int64)

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
        dim, basis, variances = self._subspaces(places)
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

    def _subspaces(
        self, places: Ids
    ) -> tuple[Ids, tuple[Matrix, ...], tuple[Vector, ...]]:
        """Dimensions, bases and variances."""
        return self._no_subspaces(places)

    def _no_subspaces(
        self, places: Ids
    ) -> tuple[Ids, tuple[Matrix, ...], tuple[Vector, ...]]:
        """Those of round clusters."""
        n, width = len(places), self._clusters.n_features
        return (
            np.zeros(n, dtype=np.int64),
            tuple(np.empty((width, 0)) for _ in places),
            tuple(np.empty(0) for _ in places),
        )

    @locked
    def covariances(self) -> Matrix:
        """Covariances of the confirmed clusters, in the order of `clusters`.

        Returns
        -------
        ndarray of shape (n_clusters, n_features, n_features)
            ``noise**2`` in all directions but those of the subspace, which have their
            own variance where that is larger.
        """
        known = self._ready("covariances")
        variance = float(self.noise) ** 2
        _, bases, variances = self._subspaces(self._confirmed())
        out = np.empty((len(bases), known.n_features, known.n_features))
        for place, basis, along in zip(out, bases, variances, strict=True):
            place[:] = variance * np.eye(known.n_features)
            place += basis * np.maximum(along - variance, 0.0) @ basis.T
        return out

    @locked
    def merge_now(self) -> Self:
        """Merge what should be merged, without waiting for the next look.

        Returns
        -------
        self
        """
        self._ready("merge_now").merge()
        return self

    @locked
    def remove(self, id: int) -> Self:
        """Delete a cluster; rows that it had are forgotten with it.

        Parameters
        ----------
        id : int
            As in `clusters`, confirmed or not.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such cluster.
        """
        known = self._ready("remove")
        ids = known.array("ids").tolist()
        number = params.count("id", id, 0)
        if number not in ids:
            became = self.aliases_.get(number)
            told = "" if became is None else f"; it has been merged into {became}"
            raise ValueError(f"id must name a cluster there is; got {id!r}{told}.")
        known.remove(ids.index(number))
        return self

    # ------------------------------------------------------------ answers
    @locked
    def predict(self, X: Any, *, outliers: bool = False) -> Ids:
        """Ids of the clusters of rows: the nearest, with subspaces the most probable.

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
        nearest, distance = self._nearest(rows, places, wanted)
        labels: Ids = known.array("ids")[places[nearest]]
        if wanted:
            labels[distance > self.lambda_] = -1
        return labels

    @abstractmethod
    def _nearest(
        self, rows: Matrix, places: Ids, with_distance: bool
    ) -> tuple[Ids, Vector]:
        """Which of some clusters rows belong to, and the least distance to any."""

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
        """
        _, rows = self._answered(X, "predict_proba")
        joint = self._log_joint(rows, self._confirmed())
        if not joint.size:
            return joint
        proba: Matrix = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return proba

    @locked
    def score_samples(self, X: Any) -> Vector:
        """Log density of each row under the mixture of confirmed clusters.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        NotReadyError
            While no cluster is confirmed.
        """
        _, rows = self._answered(X, "score_samples")
        places = self._some("score_samples")
        density: Vector = logsumexp(self._log_joint(rows, places), axis=1)
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

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
        y : object, optional
            Of no effect.

        Returns
        -------
        float
        """
        return float(np.mean(self.score_samples(X)))

    def _log_joint(self, rows: Matrix, places: Ids) -> Matrix:
        """Log weight plus log density of each cluster, shape (n_rows, n_places)."""
        weight = self._clusters.array("weight")[places]
        joint: Matrix = self._log_density(rows, places) + np.log(weight / weight.sum())
        return joint

    @abstractmethod
    def _log_density(self, rows: Matrix, places: Ids) -> Matrix:
        """Log density of rows in each of some clusters, shape (n_rows, n_places)."""

    @abstractmethod
    def lambda_path(self, X: Any) -> LambdaPath:
        """Return how many clusters rows have under each of several costs."""

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent model that would go on alike."""
        again = self._filled(*self.to_arrays())
        again._labels = self.labels_
        return again

    @locked
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything the model is, as a plain header and arrays.

        Returns
        -------
        header : dict
        arrays : dict of ndarray
        """
        header: dict[str, Any] = {
            "kind": type(self).__name__,
            "options": asdict(self.options),
            "seed": self.seed,
            "features": None if self._features is None else self._features.to_header(),
            "lambda_": self._lambda,
            "noise": self._noise,
            "has_clusters": self._clusters is not None,
        }
        arrays = {"waiting": self._waiting.copy()}
        if self._clusters is not None:
            arrays |= self._clusters.to_arrays()
        return header, arrays

    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Self:
        """Return the model that `to_arrays` described.

        Parameters
        ----------
        header : dict
        arrays : dict of ndarray

        Returns
        -------
        model of this class

        Raises
        ------
        ValueError
            If header and arrays do not describe a model; also LookupError or TypeError
            for what is no such header at all.
        """
        model = cls._outline(header)
        check_arrays(model, header, arrays)
        return cls._filled(header, arrays)

    @classmethod
    def _outline(cls, header: dict[str, Any]) -> Self:
        """A model with its options, columns and scales, and no rows."""
        model = cls.__new__(cls)
        model._begin(cls._options(**header["options"]), header["seed"])
        if header["features"] is not None:
            model._features = FeatureMap.from_header(header["features"])
        if header["lambda_"] is not None:
            model._lambda = params.positive("lambda_", header["lambda_"])
        if header["noise"] is not None:
            model._noise = params.positive("noise", header["noise"])
        return model

    @classmethod
    def _filled(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """A model with all it was told of."""
        model = cls._outline(header)
        model._waiting = arrays["waiting"].copy()
        if header["has_clusters"]:
            assert model._features is not None
            assert model._lambda is not None
            width = model._features.n_features
            model._clusters = model._clusters_of(width, model._lambda, model._noise)
            model._clusters.take(arrays)
        return model
