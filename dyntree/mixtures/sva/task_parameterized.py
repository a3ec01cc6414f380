"""TaskParameterizedMixture: movements learned as several task frames see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.checkpoint.layout import check_arrays, check_close, reals, require
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector, too_large
from dyntree.errors import ArgumentError, Message, NotReadyError, ScaleWarning, warn
from dyntree.mixtures.shared.arrays import SAME, Arrays, Ids, constants
from dyntree.mixtures.shared.base import RowModel
from dyntree.mixtures.shared.rows import encoded, no_rows
from dyntree.mixtures.sva.dpgmm import OnlineDPGMM
from dyntree.mixtures.sva.dpmppca import OnlineDPMPPCA
from dyntree.mixtures.sva.hdphsmm import OnlineHDPHSMM
from dyntree.mixtures.sva.model import SmallVarianceMixture
from dyntree.mixtures.sva.options import TASK_OPTIONS, TaskOptions
from dyntree.mixtures.sva.records import FrameClusters, Reproduction
from dyntree.mixtures.sva.task_frames import (
    Frames,
    checked_frames,
    product,
    seen_from,
)
from dyntree.mixtures.sva.tracking import tracked
from dyntree.runtime.locking import ModelLock, locked

KINDS = {kind.__name__: kind for kind in (OnlineDPGMM, OnlineDPMPPCA, OnlineHDPHSMM)}
LAMBDA = 64.0  # of the mixture that is learned by default
LEAST_SD = 1e-3  # of a frame's Gaussian, as a share of what the frame sees
LEAST_TIME = 1e-3  # standard deviation of the times of a cluster
SPANS = 20  # of a demonstration, over which accelerations are measured
LAYOUT = {"scatter": reals("n", "width", "width"), "products": reals("m", "m")}
WIDE = 5.0  # spreads of the first demonstration, beyond which clusters are too many
FARTHEST = 1e4  # times the extent of means, where it makes no difference any more
ENOUGH = 1e-6  # of what agrees but for rounding


@dataclass(frozen=True, eq=False)
class State:
    """What demonstrations have shown, as one record that is swapped whole.

    Rows of the mixture are times `time_weight` and what each frame sees, in spreads of
    the first demonstration; `scatter` has the sums of squares and products of these
    around the means of its clusters, `products` those of accelerations in the world.
    """

    mixture: SmallVarianceMixture
    features: FeatureMap | None = None
    spread: float = 1.0
    scatter: Any = field(default_factory=lambda: np.empty((0, 0, 0)))
    n_demonstrations: int = 0
    squares: float = 0.0  # of accelerations, and
    n_squares: int = 0  # their number
    products: Matrix = field(default_factory=no_rows)  # older files have none
    warned: tuple[str, ...] = ()  # of what, "one cluster" or "wide"

    @property
    def n_seen(self) -> int:
        """Rows learned."""
        return self.mixture.n_seen


@checkpoint.savable
class TaskParameterizedMixture(RowModel):
    """A movement learned from demonstrations in several task frames at once, online.

    A task frame is a system of coordinates that matters for a movement and differs
    between demonstrations: where an object lies, or where it is to be put. All frames
    see each row of a demonstration; what they see is one row of a small-variance
    mixture, beside the time within the demonstration. A cluster thus has a Gaussian in
    each frame, narrow where the frame matters. For frames that are new, the product of
    these Gaussians says where to go (Calinon 2016; Tanwani and Calinon 2016, 2019).

    Parameters
    ----------
    n_frames : int, default 2
    mixture : OnlineDPGMM, OnlineDPMPPCA or OnlineHDPHSMM, optional
        The mixture that learns the rows, as a model that has seen none; by default
        ``OnlineDPGMM(64.0)``. Its scales must be numbers: see Notes. The movement
        needs clusters of a short time each: round ones, also the states of
        ``OnlineHDPHSMM(64.0, noise=2.0, emission="gmm")``, or subspaces with a gate,
        ``OnlineDPMPPCA(9.0, noise=0.5, gate="bandwidth", bandwidth=9.0)``.
    time_weight : float, default 128
        Distance between the beginning and the end of a demonstration by time alone, in
        spreads of the first demonstration. If it is large, as by default, clusters are
        stages of the movement: about ``time_weight / (1.7 * sqrt(lambda_))`` of them,
        if later demonstrations are about as wide as the first. One more than five times
        as wide opens many more, and a `ScaleWarning` says so, once. Learn a
        demonstration of the usual size first.
    tied : bool, default False
        Whether the covariances of all clusters in a frame have the same principal
        directions, which then need fewer demonstrations (Tanwani and Calinon 2016).

    Attributes
    ----------
    options : TaskOptions
    mixture_ : the mixture, with what it has learned
        A copy.
    n_clusters, n_demonstrations, n_seen : int
        Confirmed clusters, demonstrations and rows.
    labels_ : ndarray of int64 of shape (n_rows,)
        Ids of the clusters of the rows of the last demonstration; none after `load`, as
        a file does not contain them.

    Notes
    -----
    Frame f has axes A_f and an origin b_f, and sees a row x as A_f^-1 (x - b_f). A
    demonstration of T rows has the times 0, 1 / (T - 1), ..., 1. The spread of the
    first demonstration, the root of the sum of the variances of what its frames see, is
    the unit of all rows of the mixture. Scales cannot be chosen from data, because the
    frames see a demonstration as images of one another: its rows lie in a plane, and
    each demonstration would be a cluster.

    At time t, `reproduce` takes the cluster k of largest ``n_k N(t; m_k, v_k)``, and in
    each frame its Gaussian given t, a linear regression on time. Covariances between
    columns are shrunk by (d + 1) / (d + 1 + n), with d columns and n demonstrations, as
    few demonstrations leave directions open. Variances are at least a millionth of
    those of all rows, column by column. A linear-quadratic tracker follows the products
    of these Gaussians: it minimises the squared Mahalanobis distances to them plus the
    cost of accelerations, which `reproduce` describes.

    References
    ----------
    Calinon (2016), A tutorial on task-parameterized movement learning and retrieval,
    Intelligent Service Robotics 9. Tanwani and Calinon (2016), Learning robot
    manipulation tasks with task-parameterized semitied hidden semi-Markov model, IEEE
    Robotics and Automation Letters 1. Tanwani and Calinon (2019), Small-variance
    asymptotics for non-parametric online robot learning, International Journal of
    Robotics Research 38.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import TaskParameterizedMixture
    >>> s = np.linspace(0.0, 1.0, 100)[:, None]
    >>> model = TaskParameterizedMixture(n_frames=2)
    >>> for goal in ([3.0, 0.0], [2.0, 2.0], [1.0, 3.0]):
    ...     frames = [(np.eye(2), np.zeros(2)), (np.eye(2), np.array(goal))]
    ...     bow = np.array([0.0, 1.0]) * np.sin(np.pi * s)
    ...     model = model.update(s * goal + bow, frames)
    >>> frames = [(np.eye(2), np.zeros(2)), (np.eye(2), np.array([3.0, 3.0]))]
    >>> model.reproduce(frames).path[[0, -1]].round(0) + 0.0
    array([[0., 0.],
           [3., 3.]])
    """

    unit = "call"
    _counted = "clusters"
    options: TaskOptions
    _state: State

    def __init__(
        self,
        n_frames: int = 2,
        *,
        mixture: Any = None,
        time_weight: float = 128.0,
        tied: bool = False,
    ) -> None:
        given = params.given_options(locals(), TASK_OPTIONS)
        self.options, self._lock = TaskOptions(**given), ModelLock()
        self._state = State(fresh(mixture))

    # ------------------------------------------------------------ learning
    @locked
    def update(self, X: Any, frames: Any) -> Self:
        """Learn one demonstration.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or frame
            Positions in the world, one row a step; at least two different ones. The
            first call fixes the columns.
        frames : sequence of n_frames pairs (A, b)
            A of shape (n_features, n_features) has the axes of a frame as its columns,
            b of shape (n_features,) is its origin: a row that the frame sees as x is
            A x + b in the world.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or frames are bad. The model is then as it was before the call.
        """
        state = self._state
        features, rows = self._encoded(X)
        local = self._seen(rows, frames)
        if constants(rows).all():
            raise ArgumentError("X", "must be a movement: all of its rows are equal")
        spread = spread_of(local)
        if state.features is None:
            none = np.zeros((rows.shape[1], rows.shape[1]))
            state = replace(state, features=features, spread=spread, products=none)
        joint = self._joint(local, state.spread)
        before, mixture = state.mixture, state.mixture.copy()
        mixture.update(joint, progress=False)
        if isinstance(mixture, OnlineHDPHSMM):
            mixture.end_sequence()
        second = accelerations(rows)
        warned = warned_of(mixture, spread / state.spread, state.warned)
        self._state = replace(
            state,
            mixture=mixture,
            scatter=scatter_together(before, state.scatter, mixture, joint),
            n_demonstrations=state.n_demonstrations + 1,
            squares=state.squares + float((second**2).sum()),
            products=added_products(state.products, second),
            n_squares=state.n_squares + second.size,
            warned=warned,
        )
        return self

    def _encoded(self, X: Any) -> tuple[FeatureMap, Matrix]:
        return encoded(X, self._state.features)

    def _seen(self, rows: Matrix, frames: Any) -> Matrix:
        """What all frames see of a demonstration, side by side."""
        if len(rows) < 2:
            raise ArgumentError(
                "X", "must be a demonstration of at least two rows", len(rows)
            )
        checked = checked_frames(frames, self.options.n_frames, rows.shape[1])
        local = seen_from(checked, rows)
        if not np.abs(local).max() <= LARGEST:
            raise ArgumentError(
                "frames",
                f"must see rows within {LARGEST:g} of their origins",
                remedy="Rescale rows and frames.",
            )
        return local

    def _joint(self, local: Matrix, spread: float) -> Matrix:
        """Rows of the mixture: times, and what frames see."""
        time = np.linspace(0.0, self.options.time_weight, len(local))
        return np.column_stack([time, local / spread])

    @property
    def labels_(self) -> Ids:
        """Ids of the clusters of the rows of the last demonstration.

        There are none after `load`.
        """
        return self._state.mixture.labels_

    # ------------------------------------------------------------ what it is
    @property
    def mixture_(self) -> Any:
        """A copy of the mixture with all that it has learned."""
        return self._state.mixture.copy()

    @property
    def n_demonstrations(self) -> int:
        """Demonstrations learned."""
        return self._state.n_demonstrations

    @property
    def n_clusters(self) -> int:
        """Number of confirmed clusters; 0 before the first demonstration."""
        return self._state.mixture.n_clusters if self.is_ready else 0

    @property
    def is_ready(self) -> bool:
        """Whether there is a demonstration to answer from."""
        return self._state.n_demonstrations > 0

    def memory_usage(self) -> int:
        """Bytes used by the model."""
        state = self._state
        return int(state.mixture.memory_usage() + state.scatter.nbytes + 1000)

    def _own_facts(self) -> dict[str, Any]:
        return {
            "clusters": self.n_clusters,
            "demonstrations": self.n_demonstrations,
            "frames": self.options.n_frames,
            "mixture": type(self._state.mixture).__name__,
        }

    # ------------------------------------------------------------ answers
    def _ready(self, what: str) -> State:
        """The state, once there is something to answer from."""
        if not self.is_ready:
            raise NotReadyError(
                Message("{what!a} needs a demonstration. Call update first.", what=what)
            )
        if not self._state.mixture.n_clusters:
            raise NotReadyError(
                Message(
                    "{what!a} needs a confirmed cluster, of at least {rows:g} rows, "
                    "and there is none. Demonstrate the movement again.",
                    what=what,
                    rows=self._state.mixture.options.min_weight,
                )
            )
        return self._state

    def _laws(self, what: str) -> tuple[Ids, Vector, Matrix, Any]:
        """Ids, weights, means and covariances of confirmed clusters, by their time.

        Of times from 0 to 1, and of what frames see, in units of the rows.
        """
        state = self._ready(what)
        known = state.mixture.clusters(provisional=True)
        unit = np.full(known.mean.shape[1], state.spread)
        unit[0] = 1.0 / self.options.time_weight
        order = np.argsort(known.mean[:, 0], kind="stable")
        order = order[known.confirmed[order]]
        covariance = state.scatter[order] / known.weight[order, None, None]
        covariance = covariance * np.outer(unit, unit)
        return (
            known.id[order],
            known.weight[order],
            known.mean[order] * unit,
            covariance,
        )

    def _least(self, weight: Vector, mean: Matrix, covariance: Any) -> Vector:
        """Least variances of what frames see: a share of those of all rows."""
        share = weight / weight.sum()
        apart = mean - share @ mean
        within = np.diagonal(covariance, axis1=1, axis2=2)
        whole: Vector = (share @ (within + apart**2))[1:]
        # a column that stands still has the variance of the others
        whole = np.where(whole > SAME * whole.max(), whole, whole.max())
        return LEAST_SD**2 * whole

    def _blocks(self, laws: Any, rest: Any = None) -> tuple[list[Matrix], list[Any]]:
        """Means and covariances in each frame, or of `rest` in place of covariances.

        Between two columns covariances are shrunk, as if as many demonstrations as a
        frame has columns, and one more, had shown none: those of one demonstration
        leave directions open in which a Gaussian would be a wall.
        """
        _, weight, mean, covariance = laws
        least = self._least(weight, mean, covariance)
        mean = mean[:, 1:]
        covariance = covariance[:, 1:, 1:] if rest is None else rest
        width = mean.shape[1] // self.options.n_frames
        shrink = (width + 1.0) / (width + 1.0 + self.n_demonstrations)
        means, covariances = [], []
        for k in range(self.options.n_frames):
            part = slice(k * width, (k + 1) * width)
            block = covariance[:, part, part]
            block = (1.0 - shrink) * block + shrink * block * np.eye(width)
            block = block + np.diag(least[part])
            means.append(mean[:, part])
            covariances.append(tied(block, weight) if self.options.tied else block)
        return means, covariances

    @locked
    def clusters(self) -> FrameClusters:
        """Return the confirmed clusters as each frame sees them.

        Returns
        -------
        FrameClusters
        """
        laws = self._laws("clusters")
        id, weight, mean, _ = laws
        means, covariances = self._blocks(laws)
        return FrameClusters(
            id=id, weight=weight, time=mean[:, 0],
            mean=np.stack(means, axis=1), covariance=np.stack(covariances, axis=1),
        )  # fmt: skip

    @locked
    def product(self, frames: Any) -> tuple[Matrix, Any]:
        """Gaussians in the world that combine what each frame says.

        Parameters
        ----------
        frames : sequence of n_frames pairs (A, b)
            As for `update`.

        Returns
        -------
        means : ndarray of shape (n_clusters, n_features)
        covariances : ndarray of shape (n_clusters, n_features, n_features)
            In the order of `clusters`.
        """
        laws, checked = self._laws("product"), self._frames(frames)
        return product(checked, *self._blocks(laws))

    def _frames(self, frames: Any) -> Frames:
        """Frames that rows of the known columns fit."""
        return checked_frames(frames, self.options.n_frames, len(self.feature_names))

    @locked
    def predict(self, X: Any, frames: Any) -> Ids:
        """Id of the nearest cluster of each row of a demonstration.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or frame
        frames : sequence of n_frames pairs (A, b)
            As for `update`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        state = self._ready("predict")
        _, rows = self._encoded(X)
        return state.mixture.predict(
            self._joint(self._seen(rows, frames), state.spread)
        )

    @locked
    def reproduce(
        self,
        frames: Any,
        start: Any = None,
        *,
        n_steps: int | None = None,
        control_cost: float | None = None,
    ) -> Reproduction:
        """The movement for frames that may be new.

        Parameters
        ----------
        frames : sequence of n_frames pairs (A, b)
            As for `update`.
        start : array_like of shape (n_features,), dict or series, optional
            Where it begins, at rest; by default where the frames expect it. Names
            are those of the columns.
        n_steps : int, optional
            By default the mean number of rows of the demonstrations.
        control_cost : float, optional
            What an acceleration of 1 costs in any direction, beside squared Mahalanobis
            distances. By default an acceleration u costs ``u' M^-1 u`` with the mean M
            of the products u u' in the demonstrations, so that units of columns do not
            matter. It is measured over spans of a twentieth of each. In directions in
            which they hardly accelerate, M is that of a movement of this extent.

        Returns
        -------
        Reproduction
        """
        laws, checked = self._laws("reproduce"), self._frames(frames)
        state = self._state
        rows = round(state.mixture.n_seen / state.n_demonstrations)
        n = rows if n_steps is None else params.count("n_steps", n_steps, 2)
        state_ids, mean, covariance = self._targets(checked, n, laws)
        first = mean[0] if start is None else self._start(start)
        precision, width = np.linalg.inv(covariance), mean.shape[1]
        if control_cost is None:
            usual = usual_products(state, width)
            # one at constant speed has none, but a movement starts at rest
            least = extent_of(mean, precision, first)
            cost = (n / rows) ** 4 * inverse_of_larger(usual, least / rows**4)
        else:
            weight = params.positive("control_cost", control_cost)
            cost = weight * np.eye(width)
        states, commands, gains = tracked(mean, precision, first, cost)
        return Reproduction(
            path=states[:, :width].copy(), velocity=states[:, width:].copy(),
            command=commands, gain=gains, state=state_ids, mean=mean,
            covariance=covariance,
        )  # fmt: skip

    def _start(self, start: Any) -> Vector:
        """The row at which a movement begins, by names where it has some."""
        features = self._state.features
        assert features is not None
        if hasattr(start, "to_dict") and getattr(start, "ndim", 0) == 1:
            labelled = start.to_dict()  # a series, which may have labels or places
            start = labelled if [*labelled] != [*range(len(start))] else start
        if isinstance(start, Mapping):
            first: Vector = encoded(start, features, "start")[1][0]
            return first
        return checked_start(start, features.feature_names)

    def _targets(
        self, frames: Frames, n_steps: int, laws: Any
    ) -> tuple[Ids, Matrix, Any]:
        """Clusters at each step, and their Gaussians given the time, in the world."""
        id, weight, mean, covariance = laws
        time = np.linspace(0.0, 1.0, n_steps)
        variance = covariance[:, 0, 0] + LEAST_TIME**2
        late = time[:, None] - mean[:, 0]
        score = np.log(weight) - 0.5 * np.log(variance) - 0.5 * late**2 / variance
        at = np.argmax(score, axis=1)
        slope = covariance[:, 1:, 0] / variance[:, None]
        # what time explains of the rows of a cluster
        explained = slope[:, :, None] * slope[:, None, :] * variance[:, None, None]
        rest = covariance[:, 1:, 1:] - explained
        _, covariances = self._blocks(laws, rest)
        moved = mean[at, 1:] + slope[at] * late[np.arange(n_steps), at][:, None]
        width = moved.shape[1] // self.options.n_frames
        means = [moved[:, k : k + width] for k in range(0, moved.shape[1], width)]
        means_now, now = product(frames, means, [own[at] for own in covariances])
        return id[at], means_now, now

    # ------------------------------------------------------------ files
    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        state = self._state
        features = state.features
        inner, arrays = state.mixture.to_arrays()
        header = {
            "options": asdict(self.options),
            "mixture": inner,
            "features": None if features is None else features.to_header(),
            **{name: getattr(state, name) for name in SAVED},
        }
        if state.warned:  # as in older files, which have no such entry
            header["warned"] = list(state.warned)
        prefixed = {f"mixture_{name}": array for name, array in arrays.items()}
        sums = {"scatter": state.scatter.copy()}
        if state.products.size:
            sums["products"] = state.products.copy()
        return header, prefixed | sums

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = cls.__new__(cls)
        model.options, model._lock = TaskOptions(**header["options"]), ModelLock()
        kind = KINDS[header["mixture"]["kind"]]
        start, features = "mixture_", header["features"]
        own = {
            k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)
        }
        columns = None if features is None else FeatureMap.from_header(features)
        model._state = State(
            mixture=kind.from_arrays(header["mixture"], own),
            features=columns,
            scatter=arrays["scatter"],
            products=arrays.get("products", no_rows()),
            warned=tuple(header.get("warned", ())),
            **{name: header[name] for name in SAVED},
        )
        check_state(model._state, model.options)
        return model


SAVED = ("spread", "n_demonstrations", "squares", "n_squares")  # in the header


def check_state(state: State, options: TaskOptions) -> None:
    """Raise ValueError unless a state is one that demonstrations can leave."""
    check_arrays({name: getattr(state, name) for name in LAYOUT}, LAYOUT)
    params.positive("spread", state.spread)
    for name in ("n_demonstrations", "n_squares"):
        params.count(name, getattr(state, name), 0)
    require(set(state.warned) <= {"one cluster", "wide"}, "warnings")
    require(params.real("squares", state.squares) >= 0.0, "squares")
    n = state.n_demonstrations
    require((n > 0) == (state.features is not None), "columns")
    require(2 * n <= state.mixture.n_seen, "rows of demonstrations")
    require((n > 0) == (state.mixture.n_seen > 0), "demonstrations of the rows")
    if not n:
        early = state.scatter.size + state.products.size
        require(not early, "sums of squares before the first demonstration")
        return
    assert state.features is not None
    d = state.features.n_features
    if state.products.size:
        check_products(state.products, state.squares, d)
    # a demonstration has as many accelerations as rows, less two spans of it
    most = state.mixture.n_seen - 2 * n
    least = state.mixture.n_seen * (1.0 - 2.0 / SPANS) - 2 * n
    n_each = state.n_squares / d
    require(least <= n_each <= most, "accelerations of the rows")
    known = state.mixture.clusters(provisional=True)
    width = 1 + options.n_frames * d
    require(known.mean.shape[1] == width, "columns of the mixture")
    require(state.scatter.shape == (len(known), width, width), "scatter of clusters")
    turned = np.swapaxes(state.scatter, 1, 2)
    require(np.array_equal(state.scatter, turned), "scatter that is symmetric")
    squares = np.diagonal(state.scatter, axis1=1, axis2=2)
    rounding = 1e-9 * known.weight[:, None] * known.mean**2  # of rows far from 0
    own = state.mixture._state.clusters.squared_deviations()
    scale = squares.sum(axis=1, keepdims=True) + known.weight[:, None] + rounding
    check_close("scatter", squares / scale, own / scale, ENOUGH)


def check_products(products: Matrix, squares: float, width: int) -> None:
    """Raise ValueError unless products of accelerations may have these squares."""
    require(products.shape == (width, width), "products of accelerations")
    require(np.array_equal(products, products.T), "products that are symmetric")
    check_close("products", np.trace(products), squares, squares)
    least = np.linalg.eigvalsh(products)[0]
    require(least >= -ENOUGH * squares, "products of accelerations")


# ---------------------------------------------------------------- steps of learning
def fresh(mixture: Any) -> SmallVarianceMixture:
    """A copy of the mixture of a user, or the default, that has learned nothing."""
    if mixture is None:
        return OnlineDPGMM(LAMBDA, seed=0)  # which draws nothing
    if type(mixture).__name__ not in KINDS:
        raise ArgumentError(
            "mixture", "must be one of " + ", ".join(KINDS), type(mixture).__name__
        )
    if mixture.n_seen:
        raise ArgumentError(
            "mixture",
            "must be a model that has seen no row",
            Message("one of {n} rows", n=mixture.n_seen),
            "Make a new one with the same options.",
        )
    if mixture.options.n_set_aside:
        raise ArgumentError(
            "mixture",
            "must have numbers for its scales, lambda_ and noise",
            Message("'auto'"),
            "Rows of one demonstration lie in a plane, from which scales cannot be "
            "chosen. OnlineDPGMM(64.0) is the default.",
        )
    copied: SmallVarianceMixture = mixture.copy()
    return copied


def warned_of(
    mixture: SmallVarianceMixture, spreads: float, warned: tuple[str, ...]
) -> tuple[str, ...]:
    """Warn, once of each, of what makes clusters too few or too many.

    A mixture may have one cluster for whole demonstrations, and the last demonstration
    may be many spreads of the first wide. `warned` has what was warned of before.
    """
    if mixture.n_clusters == 1 and "one cluster" not in warned:
        warned += ("one cluster",)
        warn(
            ScaleWarning,
            "the mixture has one cluster for whole demonstrations, which says nothing "
            "of their course. Give it a smaller lambda_, or clusters without subspaces "
            "(emission='gmm'), or gate='bandwidth' with a bandwidth.",
        )
    if spreads > WIDE and "wide" not in warned:
        warned += ("wide",)
        warn(
            ScaleWarning,
            "the demonstration is {spreads:.3g} times as wide as the first, whose "
            "spread is the unit of all rows: clusters will be many and small. Begin a "
            "new model with a demonstration of the usual size.",
            spreads=spreads,
        )
    return warned


def spread_of(local: Matrix) -> float:
    """Root of the sum of the variances of what frames see."""
    return float(np.sqrt(local.var(axis=0).sum()))


def accelerations(rows: Matrix) -> Matrix:
    """Second differences of rows over spans, for a step each.

    Differences of neighbours would measure the noise of the rows.
    """
    span = max(1, len(rows) // SPANS)
    second = rows[2 * span :] - 2.0 * rows[span:-span] + rows[: -2 * span]
    step: Matrix = second / span**2
    return step


def added_products(products: Matrix, second: Matrix) -> Matrix:
    """Sums of squares and products, with those of more accelerations.

    A model from a file without any goes on without.
    """
    if not products.size:
        return products
    more = second.T @ second
    together: Matrix = products + 0.5 * (more + more.T)
    return together


def usual_products(state: State, width: int) -> Matrix:
    """Mean squares and products of the accelerations of demonstrations.

    Without products, all directions have the mean square of the columns.
    """
    if not state.products.size:
        return np.eye(width) * (state.squares / max(state.n_squares, 1))
    return state.products * (width / max(state.n_squares, 1))


def scatter_together(
    before: SmallVarianceMixture,
    scatter: Any,
    after: SmallVarianceMixture,
    rows: Matrix,
) -> Any:
    """Sums of squares and products around the means of all clusters, with new rows.

    A sum around the mean M of a cluster is that of its parts, each around its own mean
    m, plus weight (m - M)(m - M)' for each. Parts are clusters as they were before, of
    which some have merged since, and rows.
    """
    known = after.clusters(provisional=True)
    forget, aliases = after.options.forget, after.aliases_
    fade = forget ** np.arange(len(rows) - 1.0, -1.0, -1.0)
    parts = [(after.labels_, fade, rows)]
    width = rows.shape[1]
    out = np.zeros((len(known), width, width))
    if before.is_ready:
        old, faded = before.clusters(provisional=True), forget ** len(rows)
        parts.append((old.id, old.weight * faded, old.mean))
        place, there = places_of(old.id, known.id, aliases)
        np.add.at(out, place[there], faded * scatter[there])
    for ids, weight, mean in parts:
        place, there = places_of(ids, known.id, aliases)
        step = mean[there] - known.mean[place[there]]
        for k in np.unique(place[there]):
            mine = place[there] == k
            out[k] += (step[mine] * weight[there][mine, None]).T @ step[mine]
    return 0.5 * (out + np.swapaxes(out, 1, 2))


def places_of(ids: Ids, known: Ids, aliases: dict[int, int]) -> tuple[Ids, Any]:
    """Places of clusters, some of which have merged, and whether there are such."""
    settled = np.array([aliases.get(id, id) for id in ids.tolist()], dtype=np.int64)
    place = np.searchsorted(known, settled)
    there = known[np.minimum(place, len(known) - 1)] == settled
    return np.where(there, place, 0), there


def tied(covariance: Any, weight: Vector) -> Any:
    """Covariances with the principal directions of their weighted mean."""
    pooled = np.average(covariance, axis=0, weights=weight)
    directions = np.linalg.eigh(pooled)[1]
    along = np.einsum("ji,njk,ki->ni", directions, covariance, directions)
    return np.einsum("ij,nj,kj->nik", directions, along, directions)


def checked_start(start: Any, names: tuple[str, ...]) -> Vector:
    """The row at which a movement begins."""
    first = params.as_array("start", start, np.float64)
    if first.shape != (len(names),) or not np.isfinite(first).all():
        raise ArgumentError(
            "start",
            f"must be {len(names)} finite numbers",
            Message("{start!r}", start=start),
        )
    for name, value in zip(names, first.tolist(), strict=True):
        if abs(value) > LARGEST:
            raise too_large("start", value, column=name)
    return first


def extent_of(mean: Matrix, precision: Any, first: Vector) -> Matrix:
    """Squares and products of the extent of a movement, which are positive definite.

    It has that of the means, the way from `first` to them, and the standard deviations
    that their precisions allow. Values that are spread evenly over a range of 1 have a
    variance of 1 / 12.
    """
    apart = mean - mean.mean(axis=0)
    extent: Matrix = 12.0 * apart.T @ apart / len(mean)
    extent = extent + np.linalg.inv(precision.mean(axis=0))
    way = first - mean[0]
    times = float(np.sqrt(way @ np.linalg.solve(extent, way)))
    way = way * min(1.0, FARTHEST / times) if times > 0.0 else way
    return extent + np.outer(way, way)


def inverse_of_larger(matrix: Matrix, least: Matrix) -> Matrix:
    """Inverse of a matrix that is at least another one in each direction.

    In the coordinates in which `least` is the unit matrix, smaller eigenvalues become
    1. So the result moves with any linear change of the coordinates.
    """
    root = np.linalg.cholesky(least)
    inside = np.linalg.solve(root, np.linalg.solve(root, matrix).T)
    values, vectors = np.linalg.eigh(0.5 * (inside + inside.T))
    back = np.linalg.solve(root.T, vectors)
    together: Matrix = (back / np.maximum(values, 1.0)) @ back.T
    return together
