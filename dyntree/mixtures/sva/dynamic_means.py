"""DynamicMeans: clusters that are born, move, rest and die, at the cost of k-means."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree._core.mixtures.dynamic_means import descend
from dyntree.checkpoint.layout import check_arrays, ints, reals, require
from dyntree.encoding.feature_map import FeatureMap, is_nothing
from dyntree.encoding.values import LARGEST, Matrix, Vector
from dyntree.errors import Message, NotReadyError
from dyntree.mixtures.shared.arrays import Arrays, Ids, constants
from dyntree.mixtures.shared.base import SeededModel
from dyntree.mixtures.shared.phases import separated, without_phases
from dyntree.mixtures.shared.rows import encoded, no_rows
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.options import DYNAMIC_MEANS_OPTIONS, DynamicMeansOptions
from dyntree.mixtures.sva.records import MovingClusters
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn

FEW_ROWS = 30  # of the first phases, from which lambda is chosen anew


SPLIT = 2.0  # times the variance of a row of a cluster: 2 / pi is what halving it gains


def no_ids() -> Ids:
    """Return ids of nothing."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class State:
    """Clusters as the last phase left them, as one record that is swapped whole."""

    features: FeatureMap | None = None
    lambda_: float | None = None
    id: Ids = field(default_factory=no_ids)
    mean: Matrix = field(default_factory=no_rows)
    weight: Vector = field(default_factory=lambda: np.empty(0))
    absent: Ids = field(default_factory=no_ids)
    early: Matrix = field(default_factory=no_rows)  # first rows, while they are few
    next_id: int = 0
    n_phases: int = 0
    n_seen: int = 0
    cost: float = 0.0
    phase_column: str | None = None


SAVED = ("lambda_", "next_id", "n_phases", "n_seen", "cost", "phase_column")
LAYOUT = {
    "id": ints("n", low=0, below="next_id"),
    "mean": reals("n", "width", low=-LARGEST, high=LARGEST),
    "weight": reals("n", above=0.0, high="n_seen"),
    "absent": ints("n", low=0, high="n_phases"),
    "early": reals(None, None, low=-LARGEST, high=LARGEST),
}


@checkpoint.savable
class DynamicMeans(SeededModel):
    """Clusters that are born, move, rest and die over phases, at the cost of k-means.

    The limit of a dependent Dirichlet process mixture as the variances of rows and of
    steps go to 0 (Campbell et al. 2013), as k-means is that of a Gaussian mixture. It
    finds what `DependentDPMixture` finds where clusters are round, of one size and well
    apart, much faster, without any measure of how certain that is.

    Parameters
    ----------
    lambda_ : float or "auto", default "auto"
        What a new cluster costs: the squared distance from all others beyond which a
        row opens one. "auto" chooses it from the first phases, until these have 30
        rows: see Notes.
    max_absence : float > 1, default 7
        Number of phases without a row after which a cluster is gone for ever. Until
        then it may be revived, at a cost that grows with its absence. A larger value
        takes more new clusters for old ones. The T_Q of the paper.
    reach : float, default 1.5
        Squared distance that a well-known cluster may move from one phase to the next,
        in units of `lambda_`. The k_tau of the paper.
    n_starts : int, default 10
        Orders of the rows of a phase, of which the one of the lowest cost counts. The
        first is that of the rows; the others are drawn.
    max_clusters : int, default 1000
        Of clusters with rows in a phase; beyond it, rows join the nearest.
    seed : int, optional
        Of the orders. By default it is drawn from the system; the attribute `seed`
        stores it.

    Attributes
    ----------
    options : DynamicMeansOptions
    lambda_ : float
    n_clusters : int
        Number of clusters with rows in the last phase.
    labels_ : ndarray of int64
        Ids of the clusters of the rows of the last phase; none after `load`, as a file
        does not contain them.
    cost_ : float
        Of the last phase.

    Notes
    -----
    A cluster with mean m, w rows' worth of knowledge and d phases without a row (1 in
    the phase after it had one) enters a phase with the weight

    ``g = 1 / (1/w + d tau),  tau = (T (reach - 1) + 1) / (T - 1),  T = max_absence``.

    With ``Q = lambda_ / T``, labels and centres minimise

    ``lambda_ n_new + sum_k (Q d_k + g_k |c_k - m_k|^2) + sum_i |x_i - c_(z_i)|^2``,

    where the second sum is over the clusters there were before that have rows. Each
    sweep puts every row where it costs least, and then each centre. After the phase
    ``w = g + n`` for a cluster of n rows. One with ``Q d > lambda_`` is removed.

    Halving a Gaussian cluster of n rows lowers the cost by 2 n s^2 / pi, where s^2 is
    its largest variance. So "auto" is 2 n s^2 for the largest of the clusters that
    `OnlineDPGMM` finds in the first rows. It is at least the value that `OnlineDPGMM`
    would choose, and at most twice that, or the largest one with which it finds as many
    clusters. If later phases have many more rows a cluster, give a larger `lambda_`.

    Phases should have at least ten times as many rows as there are clusters: `update`
    has what becomes of smaller ones.

    References
    ----------
    Campbell, Liu, Kulis, How and Carin (2013), Dynamic clustering via asymptotics of
    the dependent Dirichlet process mixture, Advances in Neural Information Processing
    Systems 26.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import DynamicMeans
    >>> rng = np.random.default_rng(1)
    >>> model = DynamicMeans(seed=0)
    >>> for step in range(5):
    ...     at = np.array([[0.0, 0.0], [9.0, 0.5 * step]])[rng.integers(2, size=80)]
    ...     model = model.update(at + 0.3 * rng.normal(size=(80, 2)))
    >>> model.clusters().mean.round(0) + 0.0
    array([[0., 0.],
           [9., 2.]])
    >>> model.predict([[8.5, 2.2]])
    array([1])
    """

    unit = "phase"
    _counted = "clusters"
    options: DynamicMeansOptions
    _state: State

    def __init__(
        self,
        lambda_: float | str = "auto",
        *,
        max_absence: float = 7.0,
        reach: float = 1.5,
        n_starts: int = 10,
        max_clusters: int = 1000,
        seed: int | None = None,
    ) -> None:
        given = params.given_options(locals(), DYNAMIC_MEANS_OPTIONS)
        self._begin(DynamicMeansOptions(**given), given_or_drawn(seed))

    def _begin(self, options: Any, seed: Any) -> None:
        """Become a model that has seen no phase."""
        super()._begin(options, seed)
        self._state, self._labels = State(), no_ids()

    # ------------------------------------------------------------ learning
    @locked
    def update(
        self, X: Any, y: Any = None, *, phases: Any = None, progress: Progress = None
    ) -> Self:
        """Learn one phase, or several in the order of their labels.

        A phase should have at least ten times as many rows as there are clusters;
        collect rows until then. In smaller ones clusters are often without rows, are
        gone after `max_absence` phases, and come back with new ids: three clusters, one
        row a phase, had about forty ids after 600 rows. If the first phase has few rows
        and later ones have many, such as 30 and 3000, "auto" may be too small, and
        clusters are halved. Then begin with a phase as large as the others, or give
        `lambda_`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
            Finite numbers. The first rows fix the columns. A phase may have no rows.
        y : object, optional
            Ignored. Other models have responses in this position.
        phases : str or array_like of shape (n_rows,), optional
            As in `DependentDPMixture.update`.
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
            If the call is interrupted. The model has then learned all complete phases.
        """
        check_progress(progress)
        params.check_dense("X", X)
        X, parts = separated(X, phases)
        features, rows = self._encoded(X)
        column = phases if isinstance(phases, str) else self._state.phase_column
        pieces = [rows[part] for part in parts] if parts else [rows]
        with rows_bar(progress, len(rows), "learning") as tell:
            for piece in pieces:
                state = replace(self._state, features=features, phase_column=column)
                self._state, self._labels = self._with_phase(state, piece)
                tell(len(piece))
        return self

    def _encoded(self, X: Any) -> tuple[FeatureMap | None, Matrix]:
        """Columns, and checked rows."""
        features = self._state.features
        X = without_phases(X, self._state.phase_column)
        if is_nothing(X):
            width = 0 if features is None else features.n_features
            return features, np.empty((0, width))
        return encoded(X, features)

    def _with_phase(self, state: State, rows: Matrix) -> tuple[State, Ids]:
        """The state after a phase, and the labels of its rows."""
        state = replace(
            self._with_lambda(state, rows), absent=state.absent + 1, cost=0.0,
            n_phases=state.n_phases + 1, n_seen=state.n_seen + len(rows),
        )  # fmt: skip
        if not len(rows):
            return self._without_gone(state), no_ids()
        place, theta, cost = self._descended(state, rows)
        if state.lambda_ is None:  # all rows so far are one, in one cluster
            cost = 0.0
        return self._settled(replace(state, cost=cost), place, theta)

    def _with_lambda(self, state: State, rows: Matrix) -> State:
        """The state with the cost of a new cluster, which first rows may choose."""
        if not isinstance(self.options.lambda_, str):
            return replace(state, lambda_=self.options.lambda_)
        chosen = state.lambda_ is not None and state.n_seen >= FEW_ROWS
        if chosen or not len(rows):
            return state
        early = np.concatenate([state.early.reshape(-1, rows.shape[1]), rows])
        if constants(early).all():  # one row says as much as all
            return replace(state, early=early[:1])
        few = len(early) < FEW_ROWS
        lambda_ = cost_of_new(early)
        return replace(state, lambda_=lambda_, early=early if few else no_rows())

    def _revival(self, state: State) -> tuple[Vector, Vector]:
        """Rows that centres are worth by now, and what it costs to revive them."""
        known: Vector = 1.0 / (1.0 / state.weight + state.absent * self.options.tau)
        each = self._cost_of_new(state) / self.options.max_absence
        revival: Vector = each * state.absent.astype(np.float64)
        return known, revival

    @staticmethod
    def _cost_of_new(state: State) -> float:
        """lambda, or before it could be chosen, more than anything costs."""
        return LARGEST if state.lambda_ is None else state.lambda_

    def _descended(self, state: State, rows: Matrix) -> tuple[Ids, Matrix, float]:
        """Places, centres and cost of the best of several starts."""
        rng = np.random.default_rng([self.seed, state.n_phases])
        known, revival = self._revival(state)
        X, lambda_ = np.ascontiguousarray(rows), self._cost_of_new(state)
        mean = np.ascontiguousarray(state.mean.reshape(-1, X.shape[1]))
        best: tuple[Ids, Matrix, float] | None = None
        for k in range(self.options.n_starts):
            order = rng.permutation(len(X)) if k else np.arange(len(X))
            place, theta, cost = descend(
                X, order, mean, known, revival, lambda_, self.options.max_clusters
            )
            if best is None or cost < best[2]:
                best = place, theta, cost
        assert best is not None
        return best

    def _settled(self, state: State, place: Ids, theta: Matrix) -> tuple[State, Ids]:
        """The state once clusters have the rows of a phase, and the ids of these."""
        n_old = len(state.id)
        live, first, count = np.unique(place, return_index=True, return_counts=True)
        # new ones have ids in the order of their first rows, whatever the start
        fresh = live[live >= n_old][np.argsort(first[live >= n_old])]
        ids = np.concatenate([state.id, np.arange(len(fresh)) + state.next_id])
        where = np.empty(len(theta), dtype=np.int64)
        where[:n_old], where[fresh] = np.arange(n_old), n_old + np.arange(len(fresh))
        known, _ = self._revival(state)
        mean = np.concatenate([state.mean.reshape(n_old, -1), theta[fresh]]
                              if n_old else [theta[fresh]])  # fmt: skip
        weight = np.concatenate([state.weight, np.zeros(len(fresh))])
        absent = np.concatenate([state.absent, np.zeros(len(fresh), dtype=np.int64)])
        old = live[live < n_old]
        mean[old], weight[old] = theta[old], known[old]
        weight[where[live]] += count
        absent[where[live]] = 0
        settled = replace(
            state, id=ids, mean=mean, weight=weight, absent=absent,
            next_id=state.next_id + len(fresh),
        )  # fmt: skip
        return self._without_gone(settled), ids[where[place]]

    def _without_gone(self, state: State) -> State:
        """The state without clusters that no later phase can revive."""
        there = state.absent + 1 <= self.options.max_absence
        return replace(
            state, id=state.id[there], mean=state.mean[there],
            weight=state.weight[there], absent=state.absent[there],
        )  # fmt: skip

    # ------------------------------------------------------------ what it is
    @property
    def labels_(self) -> Ids:
        """Ids of the clusters of the rows of the last phase; none after `load`."""
        return self._labels.copy()

    @property
    def lambda_(self) -> float:
        """What a new cluster costs."""
        if self._state.lambda_ is None:
            raise NotReadyError(
                Message("lambda_ is chosen from two different rows. Call update first.")
            )
        return self._state.lambda_

    @property
    def cost_(self) -> float:
        """Cost of the labels and centres of the last phase."""
        return self._state.cost

    @property
    def n_phases(self) -> int:
        """Phases learned."""
        return self._state.n_phases

    @property
    def n_clusters(self) -> int:
        """Number of clusters with rows in the last phase."""
        return int((self._state.absent == 0).sum())

    @property
    def is_ready(self) -> bool:
        """Whether there is a cluster to answer from."""
        return len(self._state.id) > 0

    def memory_usage(self) -> int:
        """Bytes used by the model."""
        state = self._state
        arrays = (state.id, state.mean, state.weight, state.absent, state.early)
        return sum(array.nbytes for array in arrays) + self._labels.nbytes + 1000

    def _own_facts(self) -> dict[str, Any]:
        return {
            "clusters": self.n_clusters,
            "at rest": len(self._state.id) - self.n_clusters,
            "phases": self.n_phases,
            "lambda_": self._state.lambda_,
        }

    # ------------------------------------------------------------ answers
    def _ready(self, what: str) -> State:
        """The state, once there is a cluster."""
        if not self.is_ready:
            raise NotReadyError(
                Message("{what!a} needs a cluster. Call update first.", what=what)
            )
        return self._state

    @locked
    def clusters(self) -> MovingClusters:
        """Return the clusters that have rows, and those that may be revived.

        Returns
        -------
        MovingClusters
        """
        state = self._ready("clusters")
        return MovingClusters(
            state.id.copy(), state.mean.copy(), state.weight.copy(), state.absent.copy()
        )

    @locked
    def predict(self, X: Any, *, outliers: bool = False) -> Ids:
        """Id of the cluster in which each row costs least, in the last phase.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        outliers : bool, default False
            Whether a row gets -1 if a new cluster costs less.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        state = self._ready("predict")
        wanted = params.flag("outliers", outliers)
        rows = self._asked(X)
        known, revival = self._revival(state)
        rests = state.absent > 0
        factor = np.where(rests, known / (known + 1.0), 1.0)
        cost = factor * squared_distances(rows, state.mean) + revival
        label: Ids = state.id[cost.argmin(axis=1)]
        if wanted:
            label[cost.min(axis=1) > self._cost_of_new(state)] = -1
        return label

    def _asked(self, X: Any) -> Matrix:
        """Checked rows of a question."""
        return encoded(
            without_phases(X, self._state.phase_column), self._state.features
        )[1]

    @locked
    def transform(self, X: Any) -> Matrix:
        """Distances of rows to the means of all clusters.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            In the order of `clusters`.
        """
        state = self._ready("transform")
        distances: Matrix = np.sqrt(squared_distances(self._asked(X), state.mean))
        return distances

    # ------------------------------------------------------------ files
    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        state = self._state
        features = state.features
        header = {
            "options": asdict(self.options),
            "seed": self.seed,
            "features": None if features is None else features.to_header(),
            **{name: getattr(state, name) for name in SAVED},
        }
        return header, {name: getattr(state, name).copy() for name in LAYOUT}

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = cls.__new__(cls)
        model._begin(DynamicMeansOptions(**header["options"]), header["seed"])
        features = header["features"]
        saved: dict[str, Any] = {name: header[name] for name in SAVED}
        saved |= {name: arrays[name].copy() for name in LAYOUT}
        known = None if features is None else FeatureMap.from_header(features)
        state = State(features=known, **saved)
        check_state(state, model.options, arrays)
        model._state = state
        return model


def check_state(state: State, options: DynamicMeansOptions, arrays: Arrays) -> None:
    """Raise ValueError unless a state is one that phases can leave."""
    for name in ("next_id", "n_phases", "n_seen"):
        params.count(name, getattr(state, name), 0)
    check_arrays(
        arrays, LAYOUT,
        next_id=state.next_id, n_phases=state.n_phases, n_seen=state.n_seen,
    )  # fmt: skip
    width = 0 if state.features is None else state.features.n_features
    require(bool((np.diff(state.id) > 0).all()), "ids in order, each once")
    there = state.absent + 1 <= options.max_absence
    require(bool(there.all()), "clusters not yet gone")
    require(not len(state.id) or state.mean.shape[1] == width, "columns of means")
    require((state.n_seen > 0) <= (state.features is not None), "columns of rows")
    require(params.real("cost", state.cost) >= 0.0, "cost")
    given, chosen = options.lambda_, state.lambda_
    if chosen is not None:
        params.positive("lambda_", chosen)
    is_auto = isinstance(given, str)
    require(chosen == given or is_auto or not state.n_phases, "lambda_")
    n_early = len(state.early)
    require(n_early <= min(state.n_seen, FEW_ROWS - 1), "early rows")
    require(not n_early or (is_auto and state.early.shape[1] == width), "early rows")


def squared_distances(rows: Matrix, means: Matrix) -> Matrix:
    """Squared distances of rows to means, (n_rows, n_means)."""
    from scipy.spatial.distance import cdist  # slow to import

    distances: Matrix = cdist(rows, means, "sqeuclidean")
    return distances


def cost_of_new(rows: Matrix) -> float:
    """What a new cluster costs, so that none of those in some rows is worth halving."""
    path = OnlineDPGMM(seed=0).lambda_path(rows)
    label = OnlineDPGMM(path.chosen, seed=0).update(rows).merge_now().predict(rows)
    _, label, count = np.unique(label, return_inverse=True, return_counts=True)
    means = np.zeros((len(count), rows.shape[1]))
    np.add.at(means, label, rows)
    steps = rows - (means / count[:, None])[label]
    freedom = max(len(rows) - len(count), 1)
    widest = np.linalg.eigvalsh(steps.T @ steps / freedom)[-1]
    same = path.n_clusters == len(count)
    most = max(2.0 * path.chosen, path.lambda_[same].max(initial=0.0))
    return float(np.clip(SPLIT * count.max() * widest, path.chosen, most))
