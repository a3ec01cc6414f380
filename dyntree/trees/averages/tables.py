"""AveragedTrees: clouds that learned the same rows, each in an order of its own."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from dyntree import checkpoint, params
from dyntree._core import averaging, student_mixture
from dyntree.checkpoint.layout import require
from dyntree.encoding.feature_map import Encoded, take
from dyntree.encoding.levels import LevelCounts
from dyntree.encoding.targets import NumbersWatch, label_codes, warn_of_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.params import MIXED, NIG, TreeOptions
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.parallel import Brake, late_interrupts, side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn, spawned
from dyntree.summaries.counts import CountMixture
from dyntree.trees.answers.predictions import laws_of, mixture_of, proba_of
from dyntree.trees.averages.base import TreeAverage, share_warnings
from dyntree.trees.averages.memories import (
    averaged_options,
    forests_beside,
    has_regressions,
    leaf_options,
    regressions_beside,
)
from dyntree.trees.files import check_members, span_in
from dyntree.trees.learning.check import checked, extended, is_idle, known_classes
from dyntree.trees.learning.exposures import with_exposure
from dyntree.trees.learning.growth import GrowingRows, Growth, with_columns
from dyntree.trees.learning.parts import (
    degenerate_rows_warned,
    learn_in_parts,
    learn_piecewise,
)
from dyntree.trees.learning.pieces import Copies, Pieces, has_copies
from dyntree.trees.learning.warmup import admit_rows, share_labels
from dyntree.trees.learning.weights import Responses, check_admissible, weighed
from dyntree.trees.linear_stream import LinearStream
from dyntree.trees.model import DynamicTree
from dyntree.trees.random_trees import RandomTreesStream
from dyntree.trees.state import TreeState
from dyntree.trees.streaming import StreamingTree

N_BLOCKS = 10  # in which the second half of a call's rows is predicted
FEWEST = 20  # rows that are predicted at least where powers or shares are fitted
FLOOR = 1e-12  # of probabilities whose logs are taken
POWER_SD = 0.5  # of a power, about its share
N_ROUNDS = 200  # of EM, which fits the shares of the kinds of leaves
MOST_SQUARE = 16.0  # of a normal score, as in `averaging.spread`
PRIOR_ROWS = 20.0  # that equal shares count for
N_GRID = 100  # parts of [0, 1] on which the posterior of a share is computed
KINDS_OF_LEAVES = ("linear", "constant")  # of a mixed average, in turn
PLAIN = (
    "_model",
    "seed",
    "shuffle",
    "_is_open",
    "_span",
    "_spread_factor",
    "_linear",
)  # attributes that files have as they are
SingleModel = DynamicTree | StreamingTree | RandomTreesStream | LinearStream
Order = NDArray[np.int64] | Pieces  # of rows, or of pieces of them
KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(SingleModel)}


@dataclass(frozen=True)
class Table:
    """Rows that several models learn, each in an order of its own.

    Attributes
    ----------
    X
        Rows in any form.
    y : list of length n_rows
    weights : ndarray of shape (n_rows,) or None
        > 0; None: all are 1.
    growth : Growth or None
        The columns of X, where that are codes that a model has checked for all, none
        of which has trees.
    is_ordered : bool
        Whether rows are learned as they come, and none of them in pieces.
    numbers : ndarray of int64 of shape (n_rows,) or None
        Numbers of the rows in errors; None: as they come.
    cross_fits : bool
        Whether rows have effects of levels by other parts of the table.
    """

    X: Any
    y: list[Any]
    weights: Vector | None = None
    growth: Growth | None = None
    is_ordered: bool = False
    numbers: NDArray[np.int64] | None = None
    cross_fits: bool = False

    def __len__(self) -> int:
        return len(self.y)

    def at(self, order: Order) -> Table:
        """The rows in an order, or pieces of them."""
        if isinstance(order, Pieces):
            return replace(self.at(order.rows), weights=order.sizes)
        weights = None if self.weights is None else self.weights[order]
        y = [self.y[k] for k in order.tolist()]
        X = take(self.X, order)
        return replace(self, X=X, y=y, weights=weights, numbers=order)

    def admitted(self, member: Any) -> tuple[Matrix, Responses, Growth]:
        """Let a model check the rows, or start its trees; see `admit_rows`."""
        member.state.cross_fits = self.cross_fits
        check = getattr(member.options, "check_model", None)
        known = None if self.growth is None else (self.X, self.y, self.growth)
        try:
            return admit_rows(member.state, self.X, self.y, self.weights, check, known)
        except ArgumentError as error:
            if self.numbers is None or error.row is None:
                raise
            raise error.at(int(self.numbers[error.row])) from None

    def teach(self, member: Any, progress: Any) -> Any:
        """Let a model learn all rows; models without weights need not know of them."""
        if self.is_ordered:
            rows, responses, growth = self.admitted(member)
            n_kept = len(self) - len(rows)
            learn_in_parts(
                [member.state], rows, responses, growth, progress, n_kept,
                member.learn_part,
            )  # fmt: skip
            return member
        more = () if self.weights is None else (self.weights,)
        return member.update(self.X, self.y, *more, progress=progress)


def learned_in_order(
    member: Any,
    table: Table,
    order: Order | None,
    tells: bool,
    brake: Brake,
) -> Any:
    """Teach a model rows, in this order if there is one, and return it.

    Only one of several warns of the rows. At the top of a module, so that
    processes find it.
    """
    if isinstance(member, SingleModel):
        member.state.settles_all = True  # whatever the order, columns are the same
    if not tells and hasattr(member, "tree"):
        member.tree.leave_new_levels_to_another()
    return (table if order is None else table.at(order)).teach(member, brake)


def learned_and_tested(
    member: Any,
    table: Table,
    order: Order | None,
    tells: bool,
    brake: Brake,
) -> tuple[Any, Matrix]:
    """As `learned_in_order`, with what the model predicted of its second half of rows.

    That is probabilities of shape (n_rows, n_classes), or log densities of the
    responses and the probabilities below them, of shape (n_rows, 2), in the order of
    `y`, each tenth of that half predicted before it was learned; NaN in the first half.
    Of a table in pieces, it is what the model predicted of each bunch of copies.
    """
    state, n_rows, n_threads = member.state, len(table), params.n_threads()
    state.settles_all = True
    if not tells:
        member.tree.leave_new_levels_to_another()
    order = np.arange(n_rows) if order is None else order
    table, ends = table.at(order), _tenths(n_rows)
    if isinstance(order, Pieces):
        n_rows, ends = len(order.part), order.ends
    weights = table.weights
    if state.options.meaning_of_weights == "frequency":
        weights = None  # they are no property of one response
    ahead = np.full((n_rows, len(member.classes or "ab")), np.nan)
    was_ready = member.is_ready
    rows, responses, growth = table.admitted(member)
    n_old = len(table) - len(rows)  # with which R's rules start trees
    with degenerate_rows_warned([state]):
        for begin, end in pairwise([n_old, *ends[bisect(ends, n_old) :]]):
            part = slice(begin - n_old, end - n_old)
            some, y = rows[part], responses[part]
            if was_ready or begin > n_old:
                asked = some
                if growth.steps:  # a level is missing until it was learned
                    asked = state.features.encode(Encoded(some, growth.features, True))
                own = None if weights is None else weights[begin:end]
                predicted = _predicted(state.cloud, asked, y, own, n_threads)
                places, alike = _places_ahead(order, begin, end)
                ahead[places] = predicted[alike]
            later = growth.since(part.start)
            learn_piecewise([state], some, y, later, brake, member.learn_part)
    return member, ahead


def _places_ahead(
    order: Order, begin: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64] | slice]:
    """Places of what is predicted of some rows, and of the rows that are alike."""
    if not isinstance(order, Pieces):
        return order[begin:end], slice(None)
    bunches = np.flatnonzero(order.part == bisect(order.ends, begin))
    rows, first = np.unique(order.rows[begin:end], return_index=True)
    return bunches, first[np.searchsorted(rows, order.copies.rows[bunches])]


def _agree_on_effects(members: list[Any]) -> None:
    """Let members have the same effects of levels from now on.

    Those of the second, which took them from parts of the table, rest on a regression
    on all rows; those of the first on what was known before each row.
    """
    state = members[min(1, len(members) - 1)].state
    if state.effects is not None:
        state.effects.settle(state.n_pieces)
        for member in members:
            member.state.effects = state.effects.copy()


def _tenths(n_rows: int) -> list[int]:
    """Ends of the first half of some rows, and of each tenth of the second."""
    ends: list[int] = (
        np.linspace(n_rows // 2, n_rows, N_BLOCKS + 1).astype(int).tolist()
    )
    return ends


def _predicted(
    cloud: Any, rows: Matrix, y: Responses, weights: Vector | None, n_threads: int
) -> Matrix:
    """Probabilities at rows, or log densities of responses and what is below them.

    The latter is of real responses alone.
    """
    if cloud.model == "class":
        return proba_of(cloud, rows, n_threads)
    if y.exposures is not None:
        users = y.exposures * cloud.prior_point["exposure_unit"]
        laws = CountMixture(*laws_of(cloud, rows, n_threads, users))
        return np.column_stack([laws.log_density(y.y), np.full(len(y), np.nan)])
    at = (*mixture_of(cloud, rows, n_threads, weights)[:5], y.y)
    return np.column_stack([student_mixture.log_density(*at), student_mixture.cdf(*at)])


def pooled(proba: Sequence[Matrix], powers: Sequence[float]) -> Matrix:
    """Product of several probabilities, each to its power, made to sum to one."""
    log_p: Matrix = sum(
        power * np.log(np.maximum(one, FLOOR))
        for power, one in zip(powers, proba, strict=True)
    )  # type: ignore[assignment]
    product = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def fitted_powers(
    proba: Sequence[Matrix],
    labels: NDArray[np.int64],
    weights: Vector | None = None,
) -> tuple[float, ...]:
    """Powers >= 0 at which a product of probabilities predicts labels best.

    They have normal priors, about equal shares of one. Labels are places among the
    columns of each array of `proba`; each counts as often as its weight, or once.
    """
    from scipy.optimize import minimize  # slow to import

    log_p = np.array([np.log(np.maximum(one, FLOOR)) for one in proba])
    own = log_p[:, np.arange(len(labels)), labels]
    times = np.ones((len(labels), 1)) if weights is None else weights[:, None]
    own = (own * times[:, 0]).sum(axis=1)
    share = 1.0 / len(proba)

    def loss(powers: Vector) -> tuple[float, Vector]:
        scores = np.tensordot(powers, log_p, 1)
        total = logsumexp(scores, axis=1, keepdims=True)
        expected = (times * np.exp(scores - total) * log_p).sum(axis=(1, 2))
        off = (powers - share) / POWER_SD
        value = 0.5 * off @ off + (times * total).sum() - powers @ own
        return float(value), off / POWER_SD + expected - own

    start, bounds = np.full(len(proba), share), [(0.0, None)] * len(proba)
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return tuple(found.x.tolist())


def fitted_shares(
    log_densities: Sequence[Vector], weights: Vector | None = None
) -> tuple[float, ...]:
    """Shares of several densities in the mixture that predicts best.

    Those that maximise the sum of the log densities, by EM, drawn towards equal shares
    as by `PRIOR_ROWS` rows. Each of `log_densities` is of shape (n_rows,); a row counts
    as often as its weight, or once.
    """
    logs = np.array(log_densities)
    densities = np.exp(logs - logs.max(axis=0))
    m = len(logs)
    times = np.ones(logs.shape[1]) if weights is None else weights
    n, shares = times.sum(), np.full(m, 1.0 / m)
    for _ in range(N_ROUNDS):
        parts = shares[:, None] * densities
        shares = (parts / parts.sum(axis=0)) @ times / n
    drawn = (shares * n + PRIOR_ROWS / m) / (n + PRIOR_ROWS)
    return tuple((drawn / drawn.sum()).tolist())


def expected_shares(
    log_densities: Sequence[Vector], weights: Vector | None = None
) -> tuple[float, float]:
    """Means of the shares of two densities in a mixture, by their posterior on a grid.

    The prior of each is Beta(1/2, 1/2). Parameters are those of `fitted_shares`.
    """
    first, second = log_densities
    times = np.ones(len(first)) if weights is None else weights
    share = np.arange(1, N_GRID) / N_GRID
    logs = np.logaddexp(
        np.log1p(-share)[:, None] + first, np.log(share)[:, None] + second
    )
    log_p = logs @ times - 0.5 * np.log(share * (1.0 - share))
    p = np.exp(log_p - log_p.max())
    mean = float(p @ share / p.sum())
    return 1.0 - mean, mean


@checkpoint.savable
class AveragedTrees(TreeAverage, Sequence[Any]):
    """Average of several small clouds of trees that learn the same rows.

    The particles of one cloud are near copies of one another, so that the predictions
    of a cloud depend on chance and on the order of the rows. Clouds with different
    seeds and orders differ where a single cloud is more certain than it should be.
    Their average has a smaller error, and its intervals have the right width where
    those of one cloud are too narrow.

    Parameters
    ----------
    model : {"mixed", "linear", "constant", "class", "poisson", "negbin"}, optional
        The model in each leaf, as in `DynamicTree`, or "mixed": every other cloud has
        linear leaves, and those between constant ones. The default is "class" if
        `classes` are named, or if the first responses are text, booleans or categories,
        and else "mixed"; integers are numbers. A single cloud has linear leaves.
    n_clouds : int, default 10
        Number of clouds.
    shuffle : bool, default True
        Whether every cloud but the first learns the rows of a call in a random order,
        and all clouds in pieces if rows occur several times. Use False if the order of
        the rows has a meaning.
    linear : bool, default True
        Whether regressions stand beside clouds of labels or counts.
    n_particles : int, optional
        Number of trees in each cloud; by default 100.
    intercept, proposal, min_leaf
        As in `DynamicTree`; `intercept` is for clouds with linear leaves.
    tree_prior : (float, float), optional
        As in `DynamicTree`, but (0.95, 0.5) by default for labels.
    first_split, n_basis
        As in `DynamicTree`, for clouds with linear leaves.
    classes, prior, class_mass, max_retired_mass, categories, new_levels
        As in `DynamicTree`.
    encode_levels, weighting
        As in `DynamicTree`.
    dispersion, robust
        As in `DynamicTree`.
    seed : int, optional
        By default it is drawn from the system. The seeds of the clouds derive from it.

    Attributes
    ----------
    members : list of DynamicTree, RandomTreesStream and LinearStream
        The clouds. For labels as many forests follow, with 60 random trees together.
        For labels and counts three regressions follow, unless labels times the square
        of the columns are above 80,000 in the first call; negative binomial counts have
        five labels in this. Each member has all methods of its class. Iteration
        and indexing go through the clouds, and so do methods that go through single
        trees.
    weights : ndarray of shape (n_members,)
        Equal for all members of a kind.
    shares : tuple of float
        Of a mixed average, the weights of the linear clouds together, and of the
        constant ones; of counts, of the clouds and of the regressions; else (1.0,).
    spread_factor : float
        What the scales of clouds are multiplied by in predictions; 1 unless leaves are
        mixed.
    powers : tuple of float
        The probabilities of labels are proportional to those of the average of the
        clouds, raised to the first power, times those of the forests, raised to the
        second, and those of the regressions, raised to the third.

    Notes
    -----
    Of a mixed average, each cloud predicts the second half of the rows of its order, a
    twentieth of them at a time, before it learns them. The shares of the two kinds
    maximise the sum of the log densities of the mixture of their mean densities, by EM
    (stacking: Yao, Vehtari, Simpson and Gelman 2018), and are drawn towards 1/2 as if
    by 20 rows. The shares of clouds and regressions of counts are the means of their
    posterior, by the same predictions, under a prior Beta(1/2, 1/2) for that of the
    regressions. The last call of `update` with at least 40 rows determines them. An
    average of calibrated clouds is too wide. The same predictions therefore determine
    `spread_factor`, as in `AveragedStream` but of all rows alike, unless ``robust``. No
    location that a cloud predicts is further outside of the responses so far than a
    tenth of their range. Differences between rows come from the linear clouds alone, as
    in `AveragedStream`.

    An average of unlike clouds is too cautious about labels, and forests and
    regressions (`LinearStream`) make other errors than clouds. Each member therefore
    predicts the second half of the rows of its order, a twentieth of them at a time,
    before it learns them. A logistic regression on these log probabilities then fits
    the powers. They have normal priors with the mean 1/3 and the standard deviation
    1/2, and are not below 0. The last call of `update` with at least 40 rows determines
    them. They are 1/3 if `shuffle` is False.

    If a column of levels has an effect column, the first cloud takes effects from the
    rows before, as a `DynamicTree` does. In a call of more than 40 rows, other members
    take them by cross-fitting: rows are parted at random in ten, and those of a part
    have the effects by all others. `log_evidence` is then that of the first cloud. If
    `shuffle` is False, all take them from the rows before.

    A member with the seed s learns the rows of its first call in the order
    ``numpy.random.default_rng(s).permutation(n_rows)``. After n_seen rows, the
    generator of a call is ``default_rng([s, n_seen])``. The first cloud learns the rows
    in the order given.

    Rows that occur several times are learned in pieces, as in `DynamicTree.update`, by
    each cloud in orders of its own, unless `shuffle` is False. If weights of labels are
    whole numbers that differ between rows of a label, a member predicts a random half
    of the copies of each row. Otherwise weights may also say how much rows matter, and
    it predicts whole rows: a model that has seen a copy of a row predicts it too well.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import AveragedTrees
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> trees = AveragedTrees(n_particles=50, seed=1)
    >>> trees.update(x, np.sin(6 * x[:, 0])).predict([[0.25], [0.75]]).mean.round(1)
    array([ 1., -1.])
    """

    unit = "call"

    def __init__(
        self,
        model: str | None = None,
        *,
        n_clouds: int = params.N_CLOUDS,
        shuffle: bool = True,
        linear: bool = True,
        n_particles: int | None = None,
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        first_split: int = 0,
        n_basis: int | None = None,
        classes: Sequence[Hashable] | None = None,
        prior: str | NIG = "adaptive",
        class_mass: float = 1.0,
        max_retired_mass: float | None = None,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        new_levels: str = "grow",
        encode_levels: str = "auto",
        weighting: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        seed: int | None = None,
    ) -> None:
        options = averaged_options(locals())
        self._is_open = model is None and classes is None
        self._watch = NumbersWatch() if self._is_open else None
        n_clouds = params.count("n_clouds", n_clouds, 1)
        self.seed = given_or_drawn(seed)
        self.shuffle = params.flag("shuffle", shuffle)
        self._new_levels = LevelCounts()
        self._lock = ModelLock()
        forests = forests_beside(n_clouds, options)
        linear = params.flag("linear", linear)
        regressions = regressions_beside(linear, options)
        n_trees = n_clouds + len(forests)
        seeds = spawned(self.seed, n_trees + len(regressions))
        kinds = [TreeOptions(**leaf_options(options, kind)) for kind in KINDS_OF_LEAVES]
        self.members = [
            *(
                DynamicTree.of_state(TreeState(kinds[k % 2], own))
                for k, own in enumerate(seeds[:n_clouds])
            ),
            *(
                RandomTreesStream(**own, seed=seed)
                for own, seed in zip(forests, seeds[n_clouds:n_trees], strict=True)
            ),
            *(
                LinearStream(**own, seed=seed)
                for own, seed in zip(regressions, seeds[n_trees:], strict=True)
            ),
        ]
        self._linear = linear
        self._settle(options["model"])

    def _settle(self, model: str) -> None:
        """Have such leaves, powers and shares that nothing has decided yet."""
        self._model = "linear" if model == MIXED and len(self) == 1 else model
        self._balance()
        self._span = None
        self._spread_factor = 1.0

    def _balance(self) -> None:
        """Have equal powers and shares of the members of each kind."""
        self.powers = _even_powers(self.members)
        self.shares: tuple[float, ...] = (1.0,)
        if 0.0 < self._is_first.mean() < 1.0:
            self.shares = (0.5, 0.5)

    @classmethod
    def of(
        cls,
        members: Iterable[Any],
        seed: int,
        shuffle: bool,
    ) -> Self:
        """Return the average of models of trees that learned the same rows.

        Parameters
        ----------
        members : iterable of models
            DynamicTree or StreamingTree, then RandomTreesStream, then LinearStream.
        seed, shuffle
            As in the class; powers and shares are even.

        Returns
        -------
        AveragedTrees
        """
        average = cls.__new__(cls)
        average.members, average.seed, average.shuffle = [*members], seed, shuffle
        average._new_levels = LevelCounts()
        average._lock = ModelLock()
        average._is_open, average._linear = False, True
        kinds = {member.state.options.model for member in average._clouds}
        average._settle(MIXED if len(kinds) > 1 else kinds.pop())
        return average

    def __len__(self) -> int:
        return len(self._clouds)

    def __getitem__(self, place: Any) -> Any:
        return self._clouds[place]

    @property
    def _clouds(self) -> list[Any]:
        """Members that are neither forests nor regressions."""
        others = RandomTreesStream | LinearStream
        return [m for m in self.members if not isinstance(m, others)]

    @property
    def _is_first(self) -> Vector:
        """1 for members whose weights are the first share together, shape (n_members,).

        Those are clouds of counts, else linear ones.
        """
        if self.options.is_count:
            is_cloud = [not isinstance(m, LinearStream) for m in self.members]
            return np.array(is_cloud, float)
        return self._is_linear

    # ------------------------------------------------------------ what it is
    @property
    def spread_factor(self) -> float:
        """What the scales of clouds are multiplied by in predictions; see Notes."""
        return self._spread_factor

    @property
    def weights(self) -> Vector:
        """Weight of each member in predictions, shape (n_members,).

        Members with the same kind of leaves have equal weights.
        """
        if len(self.shares) == 1:
            return np.full(len(self.members), 1.0 / len(self.members))
        first = self._is_first
        each = self.shares[0] * first / first.sum()
        return np.asarray(each + self.shares[1] * (1.0 - first) / (1.0 - first).sum())

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing."""
        return any(member.is_frozen for member in self.members)

    @property
    def log_evidence(self) -> float:
        """Log of the mean of the clouds' estimates of the evidence."""
        if not self.n_seen:
            return 0.0
        clouds = self._clouds
        if clouds[0].state.effects is not None:
            clouds = clouds[:1]  # the others knew effects of levels by later rows
        found = np.array([member.log_evidence for member in clouds])
        return float(np.logaddexp.reduce(found) - np.log(len(found)))

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        facts: dict[str, Any] = self.members[0].facts()
        kinds = [type(member) for member in self.members]
        names = {"forests": RandomTreesStream, "regressions": LinearStream}
        more = {name: kinds.count(k) for name, k in names.items() if k in kinds}
        return facts | super().facts() | {"clouds": len(self)} | more

    # ------------------------------------------------------------ learning
    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        threads: int | None = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows with every cloud, each in its own order.

        Parameters
        ----------
        X, y, sample_weight, exposure
            As in `DynamicTree.update`.
        threads : int, optional
            Number of clouds that learn at the same time. The default is
            DYNTREE_NUM_THREADS, or ``n_jobs`` of an enclosing
            ``joblib.parallel_config``, or 1. Clouds learn in threads, unless such a
            config names another backend, such as processes of "loky" or a cluster of
            "dask". The result does not depend on it.
        progress : bool, callable or None, default None
            As in `DynamicTree.update`. It counts the rows of all clouds, and moves when
            a cloud is done.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the input is bad.
        KeyboardInterrupt
            If the call is interrupted. As after any other error, the model is then as
            it was before the call.
        """
        check_progress(progress)
        n_jobs = params.n_jobs(threads)
        with self._lock, self._leaves_for(y):
            y = with_exposure(self.state.options, X, y, exposure)
            X, y, weights = weighed(self.state.options, X, y, sample_weight)
            if is_idle(self.state, X, y):
                return self
            growth = X.growth if isinstance(X, GrowingRows) else None
            self._check_same_rows()
            X, y = self._checked(X.rows if isinstance(X, GrowingRows) else X, y, growth)
            check_admissible(self.states, weights, len(y))
            if self.is_frozen:
                return self
            table = Table(X, y, weights, is_ordered=True)
            if len(y) == 1 and growth is None and self.n_seen:
                self._learn_one(table, progress)
                return self
            fresh = [member.copy() for member in self.members]
            fresh[0].state.warned = set(self.state.warned)
            share_warnings(fresh)
            if growth is not None:
                known = [state for member in fresh for state in member.states]
                with with_columns(known, growth.features, growth.widen):
                    pass  # for good, of these copies
            powers, shares = self.powers, self.shares
            if not self.n_seen and not _affords_regressions(fresh, X, y):
                fresh = [one for one in fresh if not isinstance(one, LinearStream)]
                powers, shares = _even_powers(fresh), (1.0,)
            copies = self._copies(y, weights)
            n_ahead = len(y) if copies is None else len(copies.rows)
            ahead = self._predicts_ahead(n_ahead, shares)
            if self.is_classifier or ahead:
                self._prepare(fresh, X, y)
            if ahead and self.state.features is None and fresh[0].state.features:
                X, y, growth = checked(fresh[0].state, X, y)
                table = replace(table, X=X, y=y, growth=growth)
            jobs = [
                (
                    member,
                    replace(table, cross_fits=self.shuffle and k > 0),
                    self._order(k, len(y), copies),
                    False,
                )
                for k, member in enumerate(fresh)
            ]
            with rows_bar(progress, len(jobs) * len(y), "clouds") as tell:
                work = learned_and_tested if ahead else learned_in_order
                found = side_by_side(work, jobs, n_jobs, lambda: tell(len(y)))
            factor = self._spread_factor
            if ahead:
                found, told = (list(part) for part in zip(*found, strict=True))
                if self.is_classifier:
                    labels = label_codes(y, found[0].classes).astype(np.int64)
                    if copies is not None:
                        labels, weights = labels[copies.rows], copies.sizes
                    kinds = _by_kind(told, fresh)
                    powers = _powers_by(kinds, labels, weights) or powers
                else:
                    seen = np.array(told)
                    shares = self._shares_by(seen[:, :, 0], weights) or shares
                    if not (self.options.robust or self.options.is_count):
                        factor = self._factor_by(seen[:, :, 1], shares, weights)
            for member, (_, _, order, _) in zip(found, jobs, strict=True):
                if isinstance(order, Pieces):
                    member.state.add_pieces(order.rows)
            _agree_on_effects(found)
            self.members, self.powers, self.shares = found, powers, shares
            self._spread_factor = factor
            if self._is_held:
                self._widen_span(float(min(y)), float(max(y)))
        return self

    def _shares_by(
        self, log_densities: Matrix, weights: Vector | None
    ) -> tuple[float, ...] | None:
        """Shares by what the clouds predicted, or None where that is too little."""
        first = self._is_first > 0.0
        kinds = [log_densities[own] for own in (first, ~first)]
        known = _predicted_by_most(kinds)
        if known.sum() < FEWEST:
            return None
        logs = [
            logsumexp(np.where(np.isnan(own), -np.inf, own), axis=0)
            - np.log((~np.isnan(own)).sum(axis=0))
            for own in (kind[:, known] for kind in kinds)
        ]
        is_count = self.options.meaning_of_weights == "frequency"
        times = weights[known] if weights is not None and is_count else None
        fit = expected_shares if self.options.is_count else fitted_shares
        return fit(logs, times)

    def _factor_by(
        self, below: Matrix, shares: tuple[float, ...], weights: Vector | None
    ) -> float:
        """What the scales of the pool have to be multiplied by, by what it predicted.

        `below` is the probability below each response by each cloud that predicted it,
        of shape (n_clouds, n_rows); else NaN.
        """
        each = np.where(self._is_linear > 0.0, shares[0], shares[-1])[:, None]
        share = np.where(np.isnan(below), 0.0, each)
        was_predicted = share.sum(axis=0) > 0.0
        share, below = share[:, was_predicted], below[:, was_predicted]
        p = np.nansum(share * below, axis=0) / share.sum(axis=0)
        square = np.minimum(ndtri(np.clip(p, 1e-9, 1.0 - 1e-9)) ** 2, MOST_SQUARE)
        is_count = self.options.meaning_of_weights == "frequency"
        times = np.ones(len(p))
        if weights is not None and is_count:
            times = weights[was_predicted]
        return averaging.spread_factor(np.array([times @ square, times.sum()]))

    def _prepare(self, fresh: list[Any], X: Any, y: list[Any]) -> None:
        """Let all clouds know the labels and columns of these rows in one order.

        What predicts some of the rows before it learns them has to know all columns.
        """
        if self.options.rules == "r":
            return
        if not self.is_ready and self.state.features is None:
            features, _ = extended(self.state, X)
            for member in fresh:
                member.tree.fix_columns(features)
        if not self.is_classifier:
            return
        known, warned = known_classes(self.state, y), fresh[0].state.warned
        warn_of_labels(y, known, self.n_seen, warned)
        for member in fresh:
            share_labels(member.state, y)

    def _mixed(self, members: NDArray[np.float64]) -> Matrix:
        """Probabilities at each row, sharper or softer than the average."""
        means = [part.mean(axis=0) for part in _by_kind(members, self.members)]
        if self.powers == (1.0,):
            return np.asarray(means[0] / means[0].sum(axis=1, keepdims=True))
        return pooled(means, self.powers)

    @property
    def _draw_weights(self) -> Vector:
        """Members by the power of their kind, all of a kind alike."""
        total = sum(self.powers)
        if self.powers == (1.0,) or not total > 0.0:
            return self.weights
        sizes = _kind_sizes(self.members)
        return np.repeat(np.array(self.powers) / total / sizes, sizes)

    def _learn_one(self, table: Table, progress: Progress) -> None:
        """Let every cloud learn a row that was checked; an interrupt waits for all."""
        with rows_bar(progress, len(self.members), "clouds") as tell:
            tell(len(self.members))  # before, as it may raise
            with late_interrupts():
                for member in self.members:
                    member.tree.leave_new_levels_to_another()
                    table.teach(member, False)
                if self._is_held:
                    self._widen_span(float(table.y[0]), float(table.y[0]))

    def _checked(self, X: Any, y: Any, growth: Growth | None) -> tuple[Any, list[Any]]:
        """Rows and responses that all clouds can learn, once they have the columns."""
        if growth is None:
            rows, responses = self.members[0].preview(X, y)
            after = rows.features
            if after is not None and after.levels and not self.is_frozen:
                before = self.state.features  # the average tells for its members
                if not self.is_ready:  # what was encoded has lost the types of columns
                    typed = extended(self.state, X)[0].categories
                    after = replace(after, categories=typed)
                after.count_new(self._new_levels, before, rows.rows)
            return (rows if self.is_ready else X), responses
        wide = self.members[0].copy()
        with with_columns(wide.states, growth.features, growth.widen):
            return X, wide.preview(X, y)[1]

    def _predicts_ahead(self, n_rows: int, shares: tuple[float, ...]) -> bool:
        """Whether members predict so many rows ahead, for powers or shares."""
        stacks = (self.is_classifier and self.shuffle) or len(shares) > 1
        return stacks and n_rows >= 2 * FEWEST

    def pieces_of(self, y: Any, weights: Vector | None) -> Pieces | None:
        """How the first cloud would learn a table of rows."""
        order = self._order(0, len(y), self._copies(y, weights))
        return order if isinstance(order, Pieces) else None

    def _order(self, k: int, n_rows: int, copies: Copies | None) -> Order | None:
        """Order in which a cloud learns rows, or their pieces; None as they come."""
        if not self.shuffle or (k == 0 and copies is None):
            return None
        seed, n_seen = self.members[k].seed, self.n_seen
        rng = np.random.default_rng([seed, n_seen] if n_seen else seed)
        if copies is None:
            return rng.permutation(n_rows)
        n, part = len(copies.rows), None
        if self._predicts_ahead(n, self.shares):
            part = np.empty(n, dtype=np.int64)
            part[rng.permutation(n)] = np.searchsorted(
                _tenths(n), np.arange(n), "right"
            )
        return Pieces.of(copies, seed, n_seen, part)

    def _copies(self, y: Sequence[Any], weights: Vector | None) -> Copies | None:
        """Copies of rows with frequencies, in bunches that clouds predict one by one.

        Those of a row with a label are of several where weights are whole numbers that
        differ between rows of a label, so that they say how often each occurred. Other
        weights may as well say how much rows matter, and to have seen a row does not
        help to predict a new one.
        """
        if not self.shuffle or not has_copies(weights, self.options):
            return None
        counts = self.is_classifier and not np.any(weights % 1.0)
        counts &= len({*zip(y, weights.tolist(), strict=True)}) > len({*y})
        return Copies.of(weights, 2 * N_BLOCKS if counts else 1)

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        seed = params.count("seed", seed, 0, params.MAX_SEED)
        return self._around(self._reseeded_members(seed), seed)

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self._around([member.copy() for member in self.members], self.seed)

    def _around(self, members: list[Any], seed: int) -> Self:
        """An average like this one of such members."""
        average = self.of(members, seed, self.shuffle)
        average._model, average._is_open = self.model, self._is_open
        average._linear = self._linear
        average.powers, average.shares = self.powers, self.shares
        average._span, average._spread_factor = self._span, self._spread_factor
        return average

    def _for_labels(self) -> Self:
        """A model like this one, without rows, that classifies."""
        options = self.options
        own = {name: getattr(options, name) for name in params.TREE_OPTIONS}
        own |= {"model": "class", "n_clouds": len(self), "shuffle": self.shuffle}
        own["linear"] = self._linear
        names = params.defaults_of(type(self))
        own = {name: value for name, value in own.items() if name in names}
        return type(self)(**own, seed=self.seed)

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        self._check_same_rows()
        own: Header = {name: getattr(self, name) for name in PLAIN}
        own["powers"], own["shares"] = list(self.powers), list(self.shares)
        return self._with_members({"kind": "AveragedTrees"} | own, {})

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        members, own = cls._members_in(header, arrays, KINDS)
        require(not own, "it has arrays without a use")
        seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
        shuffle = params.flag("shuffle", header["shuffle"])
        check_members([member.state for member in members], header["_model"])
        average = cls.of(members, seed, shuffle)
        average._model = header["_model"]
        average._is_open = params.flag("_is_open", header["_is_open"])
        average._linear = params.flag("_linear", header["_linear"])
        average._span = span_in(header)
        factor = params.real("spread_factor", header["_spread_factor"])
        fits = 0.5 <= factor <= 2.0 and (factor == 1.0 or len(average.shares) > 1)
        require(fits, "its spread is odd")
        average._spread_factor = factor
        for name in ("powers", "shares"):
            parts = tuple(params.real(name, part) for part in header[name])
            fits = len(parts) == len(getattr(average, name)) and min(parts) >= 0.0
            require(fits, f"its {name} are odd")
            setattr(average, name, parts)
        require(abs(sum(average.shares) - 1.0) < 1e-9, "its shares do not sum to 1")
        kinds = [
            isinstance(m, RandomTreesStream) + 2 * isinstance(m, LinearStream)
            for m in members
        ]
        in_order = kinds == sorted(kinds) and kinds[0] == 0
        require(in_order, "its clouds are not the first")
        return average


def _kind_sizes(members: Sequence[Any]) -> list[int]:
    """Numbers of clouds, of forests and of regressions, where there are any."""
    kinds = [type(member) for member in members]
    others = [kinds.count(kind) for kind in (RandomTreesStream, LinearStream)]
    return [n for n in (len(kinds) - sum(others), *others) if n]


def _even_powers(members: Sequence[Any]) -> tuple[float, ...]:
    """Equal powers of clouds and of each other kind of members, for labels."""
    is_class = members[0].state.options.model == "class"
    n_kinds = len(_kind_sizes(members)) if is_class else 1
    return (1.0 / n_kinds,) * n_kinds


def _by_kind(values: Any, members: Sequence[Any]) -> list[NDArray[Any]]:
    """One array a member -> those of the clouds, and of each other kind."""
    ends = np.cumsum(_kind_sizes(members))[:-1]
    return np.split(np.array(values), ends)


def _affords_regressions(members: list[Any], X: Any, y: list[Any]) -> bool:
    """Whether there are not too many columns for regressions, if there are any."""
    if not any(isinstance(member, LinearStream) for member in members):
        return True
    state = members[0].state
    model, features = state.options.model, state.features or extended(state, X)[0]
    labels = {*(known_classes(state, y) or ()), *y} if model == "class" else ()
    return has_regressions(model, features.n_features, len(labels))


def _powers_by(
    kinds: Sequence[NDArray[Any]],
    labels: NDArray[np.int64],
    weights: Vector | None,
) -> tuple[float, ...] | None:
    """Powers by what members of each kind predicted, or None where that is too little.

    Each of `kinds` is of shape (n_members, n_rows, n_classes).
    """
    known = _predicted_by_most([proba[:, :, 0] for proba in kinds])
    if known.sum() < FEWEST:
        return None
    means = [np.nanmean(proba[:, known], axis=0) for proba in kinds]
    own = None if weights is None else weights[known]
    return fitted_powers(means, labels[known], own)


def _predicted_by_most(kinds: Sequence[Matrix]) -> NDArray[np.bool_]:
    """Which rows a third of the members of each kind predicted, shape (n_rows,).

    What a member predicted of each row is of shape (n_members, n_rows), or NaN.
    """
    shares = [(~np.isnan(own)).mean(axis=0) for own in kinds]
    return np.asarray(np.min(shares, axis=0) >= 1.0 / 3.0)
