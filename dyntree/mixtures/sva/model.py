"""SmallVarianceMixture: what the streaming mixtures in closed form have in common."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.shared.arrays import Arrays, Ids, settled_aliases
from dyntree.mixtures.shared.base import MixtureOfRows
from dyntree.mixtures.shared.rows import encoded, no_rows
from dyntree.mixtures.sva.background import (
    background_log_density,
    background_share,
)
from dyntree.mixtures.sva.column_laws import ColumnLaws, column_laws
from dyntree.mixtures.sva.emission import (
    Emission,
    emission_of,
    learn_together,
    new_clusters,
)
from dyntree.mixtures.sva.files import (
    check_arrays,
    from_arrays,
    to_arrays,
)
from dyntree.mixtures.sva.misfit import (
    MANY_ROWS,
    warn_of_few,
    warn_of_misfit,
    warn_of_none,
)
from dyntree.mixtures.sva.options import ClusterOptions
from dyntree.mixtures.sva.records import Clusters, LambdaPath
from dyntree.mixtures.sva.state import State
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar

CHUNK_SECONDS = 0.1  # between two moves of a progress bar
MOST_ROWS, MOST_WORK = 4096, 2**18  # of a first chunk; work is rows times columns^2


def first_chunk(n_features: int) -> int:
    """Rows that surely take less than about a tenth of a second."""
    return max(16, min(MOST_ROWS, MOST_WORK // n_features**2))


TOO_FEW = "finish_warm_up needs at least 2 rows; {n_waiting} have come."


class SmallVarianceMixture(MixtureOfRows):
    """Clusters that open, merge and go as rows come; base of the three models.

    The method `_scales_of` of a class chooses what its user has left open.

    Notes
    -----
    Learning draws no random numbers; what is learned depends on the order of the rows.
    Answers are from *confirmed* clusters, which have had `min_weight` rows.
    """

    unit = "row"
    _counted = "clusters"
    _options: type[ClusterOptions]
    options: ClusterOptions
    _state: State

    def _begin(self, options: ClusterOptions, seed: Any) -> None:
        """Become a model that has seen no row."""
        super()._begin(options, seed)
        self._state = State()
        self._keys: tuple[Any, ...] = ()
        self._labels: Ids | None = np.empty(0, dtype=np.int64)
        self._last_label = -1  # what stands for `_labels` where these are None

    @abstractmethod
    def _scales_of(
        self, rows: Matrix, names: tuple[str, ...]
    ) -> tuple[ClusterOptions, float, float | None]:
        """Options of clusters, cost of a new one, and noise: given, or from rows."""

    # ------------------------------------------------------------ rows
    @property
    def last_label_(self) -> int:
        """Id of the cluster of the last row learned, confirmed or not; else -1."""
        labels = self.labels_
        return int(labels[-1]) if len(labels) else -1

    @property
    def labels_(self) -> Ids:
        """Ids of the clusters of the rows of the last call, as they were learned.

        If a cluster has merged into another one since, `aliases_` has its new id. Rows
        that are set aside have -1. A file does not contain labels: a model that was
        loaded has none until its next row.
        """
        if self._labels is None:
            return np.array([self._last_label])
        return self._labels.copy()

    @locked
    def update(self, X: Any, y: Any = None, *, progress: Progress = None) -> Self:
        """Learn rows in order.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Finite numbers. The first call fixes the columns. A call without rows
            changes nothing.
        y : object, optional
            Ignored. It is there because other models have responses.
        progress : bool, callable or None, default None
            As in `dyntree.DynamicTree.update`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If a value is not a finite number, or the columns are not those of the first
            call. The model is then as it was before the call.
        KeyboardInterrupt
            If the call is interrupted. The model has then learned all rows up to the
            last complete one.
        """
        if (progress is None or progress is False) and self._is_plain(X):
            self._labels = np.empty(len(X), dtype=np.int64)
            self._learn(X, self._labels)
            return self
        check_progress(progress)
        if is_nothing(X):
            self._labels = np.empty(0, dtype=np.int64)
            return self
        features, rows = self._encoded(X)
        with rows_bar(progress, len(rows), "learning") as tell:
            self._take(features, rows, tell)
        return self

    def _is_plain(self, X: Any) -> bool:
        """Whether X is a short array that can be learned as it is, without a bar."""
        state = self._state
        return (
            type(X) is np.ndarray
            and state.clusters is not None
            and state.features is not None
            and state.features.is_plain(X)
            and len(X) <= first_chunk(X.shape[1])
        )

    def _take(self, features: FeatureMap, rows: Matrix, tell: Any) -> None:
        """Keep rows back, or learn them in chunks of about a tenth of a second."""
        labels = np.full(len(rows), -1, dtype=np.int64)
        first = 0
        if self._state.clusters is None:
            first = self._keep_back(features, rows, labels)
            tell(first)
        self._labels = labels[:first]
        size = first_chunk(rows.shape[1])
        while first < len(rows):
            last = min(first + size, len(rows))
            clock = time.perf_counter()
            self._learn(rows[first:last], labels[first:last])
            clock = time.perf_counter() - clock
            self._labels = labels[:last]
            tell(last - first)
            size = int((last - first) * CHUNK_SECONDS / (clock + 1e-9))
            size = max(1, min(4 * (last - first), size))
            first = last

    def _learn(self, rows: Matrix, labels: Ids) -> None:
        """Learn rows; labels become the ids of their clusters."""
        first = 0
        while first < len(rows):
            clusters = self._state.clusters
            n_left = MANY_ROWS - self.n_seen
            last = first + n_left if n_left > 0 else len(rows)
            first += clusters.learn(rows[first:last], labels[first:last])
            if clusters.watch.stopped:
                self._meet_misfit(clusters.watch)
            if self.n_seen == MANY_ROWS:
                warn_of_none(clusters, self.options.min_weight)

    def _meet_misfit(self, watch: Any) -> None:
        """Say that scales no longer fit, and gather rows to choose new ones from."""
        rows = watch.gathered()
        if len(rows):
            self._start_again(rows)
            return
        n_wanted = self.options.n_set_aside
        watch.gather(n_wanted)
        warn_of_misfit(watch, n_wanted)

    def _start_again(self, rows: Matrix) -> None:
        """Choose scales from these newest rows, and begin clusters anew with them."""
        old = self._state
        assert old.features is not None
        old.clusters.watch.go_on()
        options, lambda_, noise = self._scales_of(rows, old.features.feature_names)
        clusters = new_clusters(options, rows.shape[1], lambda_, noise)
        clusters.go_on_from(old.clusters.n_rows - len(rows), old.clusters.next_id)
        learn_together(clusters, rows, np.empty(len(rows), dtype=np.int64))
        self._state = State(old.features, no_rows(), (), lambda_, noise, clusters)

    def _keep_back(self, features: FeatureMap, rows: Matrix, labels: Ids) -> int:
        """Hold the first rows back until scales can be chosen; returns how many."""
        waiting_before = self._state.waiting.reshape(-1, rows.shape[1])
        n_needed = self._n_to_start(np.concatenate([waiting_before, rows]))
        n_new = min(len(rows), max(0, n_needed - len(waiting_before)))
        waiting = np.concatenate([waiting_before, rows[:n_new]])
        if len(waiting) < n_needed:
            self._state = replace(self._state, features=features, waiting=waiting)
            return n_new
        labels[:n_new] = self._start(features, waiting)[len(waiting_before) :]
        return n_new

    def _n_to_start(self, rows: Matrix) -> int:
        """How many of the first rows, or of more than these, scales are chosen from."""
        return self.options.n_set_aside

    def _start(self, features: FeatureMap, waiting: Matrix) -> Ids:
        """Choose scales, and learn the rows set aside; returns their labels."""
        options, lambda_, noise = self._scales_of(waiting, features.feature_names)
        clusters = new_clusters(options, waiting.shape[1], lambda_, noise)
        labels = np.full(len(waiting), -1, dtype=np.int64)
        learn_together(clusters, waiting, labels)
        self._state = State(features, no_rows(), (), lambda_, noise, clusters)
        return labels

    @locked
    def finish_warm_up(self) -> Self:
        """Choose scales from the rows set aside so far, and learn these rows.

        Returns
        -------
        self

        Raises
        ------
        NotReadyError
            If fewer than two rows are set aside.
        """
        state = self._state
        if state.clusters is None:
            if len(state.waiting) < 2 or state.features is None:
                raise NotReadyError(
                    Message(
                        TOO_FEW,
                        n_waiting=len(state.waiting),
                    )
                )
            warn_of_few(len(state.waiting))
            self._labels = self._start(state.features, state.waiting)
        return self

    def learn_one(self, x: Any) -> Self:
        """Learn one row; its label is `last_label_`.

        Parameters
        ----------
        x : dict or array_like of shape (n_features,)
            A dict may have its keys in any order; the first one fixes them.

        Returns
        -------
        self
        """
        with self._lock:
            if type(x) is dict and self._keys:
                label = self._state.clusters.learn_dict(x, self._keys)
                if label >= 0:
                    self._labels, self._last_label = None, label
                    return self
            self.update(self._one_row(x), progress=False)
            features = self._state.features
            if isinstance(x, dict) and self.is_ready and features is not None:
                names = {str(key): key for key in x}
                if features.times:  # which are no floats
                    return self
                self._keys = tuple(names[name] for name in features.names or ())
        return self

    @staticmethod
    def _one_row(x: Any) -> Any:
        """A dict or a sequence as a table of one row."""
        if isinstance(x, Mapping):
            return x
        row = params.as_array("x", x)
        if row.ndim != 1:
            raise ArgumentError(
                "x",
                "must be one row: a dict, or of shape (n_features,)",
                Message("shape {shape}", shape=row.shape),
                "Give several rows to update.",
            )
        return row[None, :]

    def _encoded(self, X: Any, argument: str = "X") -> tuple[FeatureMap, Matrix]:
        known = self._state.features
        features, rows = encoded(X, known, argument)
        if known is None:
            self.options.with_width(features.n_features)
        return features, rows

    @property
    def is_ready(self) -> bool:
        """Whether there are clusters to answer from."""
        return self._state.clusters is not None

    def _ready(self, what: str) -> Any:
        """The clusters of the kernel, or why there are none."""
        if self._state.clusters is not None:
            return self._state.clusters
        if not self.n_seen:
            raise NotReadyError(
                Message(
                    "{what!a} needs rows; none has come. Call update first.", what=what
                )
            )
        scales = "lambda_ and noise" if self.options.has_noise else "lambda_"
        raise NotReadyError(
            Message(
                "{what!a} needs the scales, which are chosen from {n_set_aside} "
                "rows; got {n_seen}. Call finish_warm_up() to choose them now, or "
                "give {scales} to the model.",
                what=what,
                n_set_aside=self.options.n_set_aside,
                n_seen=self.n_seen,
                scales=scales,
            )
        )

    def _answered(self, X: Any, what: str) -> tuple[Any, Matrix]:
        """The clusters of the kernel, and rows to be answered for."""
        clusters = self._ready(what)
        if is_nothing(X):
            return clusters, np.empty((0, clusters.n_features))
        return clusters, self._encoded(X)[1]

    @property
    def _emission(self) -> Emission:
        return emission_of(self._state.clusters)

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
        """Bytes used by clusters, and by rows that are set aside."""
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
            -1 if no cluster is confirmed yet, and for rows of which all values are
            missing.
        """
        known, rows = self._answered(X, "predict")
        wanted = params.flag("outliers", outliers)
        places = self._confirmed()
        if not len(places):
            return np.full(len(rows), -1, dtype=np.int64)
        nearest, distance = self._nearest(rows, places, wanted)
        labels: Ids = known.array("ids")[places[nearest]]
        labels[np.isnan(rows).all(axis=1)] = -1  # rows of a sequence without any value
        if wanted:
            labels[distance > self.lambda_] = -1
        return labels

    def _nearest(self, rows: Matrix, places: Ids, measures: bool) -> tuple[Ids, Vector]:
        """Which of some clusters is nearest to each row, and its distance if asked."""
        return self._emission.nearest(self._state.clusters, rows, places, measures)

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
        _, rows = self._answered(X, "predict_proba")
        places = self._confirmed()
        joint = self._log_joint(rows, places)
        if not joint.size:
            return joint
        lost = np.flatnonzero(np.isneginf(joint.max(axis=1)))
        if len(lost):
            nearest, _ = self._nearest(rows[lost], places, False)
            joint[lost, nearest] = 0.0
        shares: Matrix = softmax(joint, axis=1)
        return shares

    def _log_densities(self, X: Any) -> Vector:
        _, rows = self._answered(X, "score_samples")
        places, known = self._some("score_samples"), self._state.clusters
        share = background_share(known, self.options.forget < 1.0)
        clusters = logsumexp(self._log_joint(rows, places), axis=1) + np.log1p(-share)
        behind = background_log_density(known, self.noise, rows) + np.log(share)
        density: Vector = np.logaddexp(clusters, behind)
        return density

    @locked
    def _n_parameters(self) -> int:
        """Free parameters of the clusters: weights, means, subspaces and variances."""
        places = self._some("bic")
        known, K = self._state.clusters, len(places)
        width = known.n_features
        q, _, _ = self._emission.subspaces_of(known, places)
        within = K * width if self.options.has_column_laws else 1
        return int(K - 1 + K * width + (q * width - q * (q - 1) // 2).sum() + within)

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
            merged = "" if became is None else f"; it has been merged into {became}"
            raise ArgumentError(
                "id",
                "must be that of an existing cluster",
                Message("{id!r}{merged}", id=id, merged=merged),
            )
        known.remove(ids.index(number))
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def copy(self) -> Self:
        """Return an independent copy, which continues in the same way."""
        again = type(self)._from_checked(*self.to_arrays())
        again._labels = self.labels_
        return again

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        return to_arrays(self.options, self.seed, self._state)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        options = cls._options(**header["options"])
        check_arrays(options, header, arrays)
        return cls._from_checked(header, arrays)

    @classmethod
    def _from_checked(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """Build a model from a header and arrays that have been checked."""
        model = cls.__new__(cls)
        model._begin(cls._options(**header["options"]), header["seed"])
        model._state = from_arrays(model.options, header, arrays)
        return model
