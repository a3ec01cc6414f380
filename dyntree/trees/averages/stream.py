"""AveragedStream: clouds of different memories, averaged by predictive density."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree._core import averaging
from dyntree._core.trees import one_row
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.targets import NumbersWatch
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, silenced
from dyntree.params import MIXED, NIG
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.parallel import late_interrupts
from dyntree.runtime.progress import Progress
from dyntree.runtime.records import Record
from dyntree.runtime.seeds import given_or_drawn, spawned
from dyntree.trees.answers.draws import DrawBlock, systematic
from dyntree.trees.averages.base import (
    Parts,
    TreeAverage,
    joined,
    share_effects,
    share_warnings,
)
from dyntree.trees.averages.memories import (
    FORESTS_SHARE,
    REGRESSIONS_SHARE,
    averaged_options,
    default_memories,
    is_forest,
    is_regression,
    leaf_options,
    own_memories,
)
from dyntree.trees.averages.robust import last_shares, lead_forests, learn_robustly
from dyntree.trees.files import check_average, n_beside, span_in
from dyntree.trees.learning.check import (
    checked,
    known_classes,
    learnable,
    learnable_row,
    stored,
    with_effects,
)
from dyntree.trees.learning.growth import Growth
from dyntree.trees.learning.parts import (
    degenerate_rows_warned,
    learn_in_parts,
    warn_degenerate,
)
from dyntree.trees.learning.scaling import on_scale, without_codes
from dyntree.trees.learning.warmup import Known, buffer_or_start, take_new_labels
from dyntree.trees.learning.weights import (
    Responses,
    admit_weights,
    one_weight,
)
from dyntree.trees.linear_stream import LinearStream
from dyntree.trees.random_trees import RandomTreesStream
from dyntree.trees.state import TreeState, take_over
from dyntree.trees.streaming import StreamingTree

# loops in C, as they run with each row
CLOUD, N_SEEN = attrgetter("cloud"), attrgetter("cloud.n_seen")
N_DEGENERATE, TERMS = attrgetter("cloud.n_degenerate"), attrgetter("options.terms")
OF_MEAN = 2.0**-0.5  # scale of the mean, to that of a response, where a level has noise
STACK_DISCOUNT = 0.99  # of the two weights of average and stacker
N_NOTES = 512  # rows at most whose weights are remembered
PLAIN = (
    "_model", "discount", "tempering", "seed", "is_frozen", "_is_open",
    "_follows_width", "_n_particles", "_note_every", "_span", "_linear",
)  # fmt: skip
ARRAYS = (
    "_log_weights", "_persistence", "_spread", "_coef", "_covariance", "_log_shares",
    "_noted", "_noted_weights",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class WeightHistory(Record):
    """Weights of the members over time.

    Attributes
    ----------
    rows : ndarray of int64 of shape (n_noted,)
        Numbers of rows, evenly spaced; at most 512 are remembered.
    weights : ndarray of shape (n_noted, n_members)
        Weight of each member when that row was predicted. Where persistence has a
        weight, they sum to one together with it.
    """

    rows: NDArray[np.int64]
    weights: Matrix


def member_of(
    shared: Mapping[str, Any], memory: Mapping[str, Any], seed: int
) -> StreamingTree | RandomTreesStream | LinearStream:
    """A member: a window of the options that all share, random trees, or regression."""
    if is_regression(memory):
        own = {name: shared[name] for name in REGRESSIONS_SHARE}
        more = {name: value for name, value in memory.items() if name != "linear"}
        return LinearStream(**own | more, seed=seed)
    if not is_forest(memory):
        leaves = leaf_options(shared, memory.get("model"))
        return StreamingTree(**leaves | dict(memory), seed=seed)
    own = {name: shared[name] for name in FORESTS_SHARE}
    if own["model"] == MIXED:
        own["model"] = "constant"
    return RandomTreesStream(**own | dict(memory), seed=seed)


@checkpoint.savable
class AveragedStream(TreeAverage):
    """Average of streams with different memories, weighted by recent performance.

    No single window suits a stream whose rate of change is unknown. A short window
    follows fast drift, but wastes information that does not change. A long window
    adapts slowly to a change. Here several clouds learn every row, each with its own
    memory, and the prediction is a mixture of their predictions: dynamic model
    averaging (Raftery, Karny and Ettler 2010) over windows. There is nothing to tune.

    Parameters
    ----------
    model : {"mixed", "linear", "constant", "class", "poisson", "negbin"}, optional
        The model in each leaf, as in `DynamicTree`, or "mixed": some members have
        linear and some constant leaves. The default is "class" if `classes` are named,
        or if the first responses are text, booleans or categories and no `members` are
        named, and else "mixed"; integers are numbers.
    members : {"light", "fast"} or sequence of dict, optional
        Options of `StreamingTree` for each member, such as ``{"window": 50,
        "forget": 0.9}``. All members share ``rules``, ``classes``, ``categories``,
        ``weighting`` and ``seed``, which must not be named here. If the average is
        mixed, a member may have ``model``, "linear" (the default) or "constant"; of an
        average of labels it may be "class" (the default) or, for two labels, "logit". A
        member with ``n_trees`` is a `RandomTreesStream` with these options, for real
        responses and labels. A member with ``linear=True`` is a `LinearStream` with
        these options, for labels and counts; of counts they come last. The first member
        must be a window, with linear leaves in a mixed average, and class leaves in one
        of labels. "light" and "fast" are
        smaller mixed sets, for streams that are too fast for the default; see Notes.
    linear : bool, default True
        Whether the default members for labels and counts have regressions among them.
    n_particles : int, optional
        Number of trees in the cloud of each member. The default is that of the default
        members if leaves are mixed or hold labels, and else 100. Many small clouds have
        more information than a large one, whose trees are near copies of one another.
    discount : float in (0, 1], default 0.98
        Factor by which the log weights are multiplied after each row. The weights
        depend on about the last 1 / (1 - discount) rows.
    tempering : float > 0, default 0.2
        Power to which predictive densities are raised in the weights. With 1, a single
        member soon has all the weight, often by chance.
    intercept, proposal, min_leaf
        As in `DynamicTree`, for all members that do not name their own; `intercept` is
        for those with linear leaves.
    tree_prior : (float, float), optional
        As in `DynamicTree`, but (0.95, 0.5) by default for labels.
    first_split, n_basis
        As in `DynamicTree`, for members with linear leaves.
    classes, prior, class_mass, max_retired_mass, categories, new_levels
        As in `DynamicTree`.
    encode_levels, weighting
        As in `DynamicTree`.
    dispersion, robust
        As in `DynamicTree`.
    seed : int, optional
        By default it is drawn from the system. The seeds of the members derive from it.

    Attributes
    ----------
    members : list of StreamingTree, RandomTreesStream or LinearStream
        The clouds, forests and regressions, each with all methods of its class. Methods
        that go through single trees (`acquisition`, `sensitivity`, `relevance`,
        `stats`, `frozen_view`) use the clouds alone.
    weights : ndarray of shape (n_members,)
        Current weight of each member. They sum to one with `persistence_share`.
    persistence_share : float
        Current weight of the last response as a prediction of the next, in a mixed
        average; see Notes.
    linear_share : float
        Current weight of the regressions among the members.
    log_evidence : float
        Sum of the log predictive densities of the average, each row given those before.
    spread_factor : float
        What the scales of clouds are multiplied by in predictions; 1 unless leaves are
        mixed.
    is_frozen : bool
        Whether `update` learns nothing, because `freeze` was called.

    Notes
    -----
    Members of a mixed average, each of 5 particles if nothing else is said:

    - linear leaves in windows of 20, 50, 100 and 200 rows with ``forget`` of 0.8, 0.9,
      0.9 and 0.9, each twice, with different seeds;
    - linear leaves in windows of 200 and 500 rows that forget nothing, each twice;
    - linear leaves in two windows of 1000 rows chosen by ALC, of 10 particles;
    - constant leaves in a window of 1000 rows, of 30 particles;
    - ten random trees.

    "light" has the first six windows once. "fast" has 5 particles in the windows by
    ALC, too, and no random trees. Beyond 15 features the members of all three sets are
    the same, and fewer: linear and constant leaves in windows of 50, 200 and 1000 rows,
    and two forests. If leaves
    are mixed and no member is a forest, no location that a cloud predicts is further
    outside of the responses so far than a tenth of their range.

    Beside the members of a mixed average stands persistence: the next response is
    predicted as the last one, with Student's t of 4 degrees of freedom whose squared
    scale is the mean of the last five or so squared errors of this rule. Its weight is
    learned like those of the members. It is large where responses move slowly or jump
    and the features do not say so. All predictions are thus of the row that comes next,
    and so are joint draws; `freeze` and `remove_data` give up the last response. Half
    of the variance of this rule counts as uncertainty of the mean: an error is the
    difference of two responses, and has twice the variance of noise about a level.
    With ``robust`` a response of which the clouds count less than half is not the
    last one for the next row.

    A pool of calibrated members is too wide, as it also has their disagreement
    (Gneiting and Ranjan 2013). In a mixed average the scales of all clouds are
    multiplied by `spread_factor`, the root of the mean square of the normal scores of
    what the clouds' pool said of the last 200 rows or so, with 50 rows of a score of 1.
    A normal score is the inverse of the standard normal distribution at the probability
    below the response. It is at most 4, and the factor lies between 1/2 and 2. Weights
    and `log_evidence` are those of the pool without it. There is none with ``robust``.

    Differences between rows (`compute_contrast`, `coef`, and effects by formula) come
    from the members with linear leaves alone, by their weights among themselves:
    constant leaves pull a small effect towards zero, and are sure of it.

    The members for labels are windows of 4 and 10 rows, of 50 particles, windows of 50,
    200, 500 and 8000 rows of 10 particles, each twice, two forests and two regressions,
    one of which forgets (``forget=0.99``). There are no regressions if the number of
    labels in the first rows times the square of the number of columns is above 80,000
    (two labels and 200 columns). Those of
    constant leaves, linear leaves and counts are seven windows of 20 to 1000 rows, with
    three forests beside constant leaves, and two such regressions beside counts, where
    negative binomial ones count as five labels. Windows are larger if leaves need more
    rows.

    The log weights follow L <- discount (L + tempering log p(y | member)), and the
    weights are proportional to exp(L). For labels there is, beside this average, a
    logistic regression on the log probabilities of the m members. It has one
    coefficient for each member, which all classes share, with the prior mean 1/m and
    variance 1/m, and an extended Kalman filter learns it. The prediction averages the
    two by their densities, with a discount of 0.99 and without tempering;
    `stacker_share` is the weight of the regression. Regressions of counts are averaged
    with the average of the windows by the same rule.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import AveragedStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 2))
    >>> level = np.where(np.arange(600) < 300, 1.0, -1.0)  # a jump
    >>> y = level * X[:, 0] + 0.1 * rng.standard_normal(600)
    >>> stream = AveragedStream(seed=1).update(X, y)
    >>> stream.predict([[0.9, 0.5]]).mean.round(1)
    array([-0.9])
    >>> len(stream.members), stream.weights.sum().round(6)
    (16, np.float64(1.0))
    >>> AveragedStream(seed=1).update(X, np.where(y > 0, "high", "low")).model
    'class'
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        members: str | Sequence[Mapping[str, Any]] | None = None,
        linear: bool = True,
        n_particles: int | None = None,
        discount: float = 0.98,
        tempering: float = 0.2,
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
        shared = averaged_options(locals())
        self._model = shared["model"]
        self.discount = params.discount_factor("discount", discount)
        self.tempering = params.positive("tempering", tempering)
        self.seed = given_or_drawn(seed)
        self._lock = ModelLock()
        self._is_open = model is None and classes is None and members is None
        self._watch = NumbersWatch() if model is classes is None else None
        self._follows_width = members if isinstance(members, str) else members is None
        self._n_particles = n_particles
        self._linear = params.flag("linear", linear)
        self._span = None
        self.is_frozen = False
        self._evidence = np.zeros(1)
        self._spread = np.zeros(2)
        if members is None:
            memories = default_memories(shared, linear=self._linear)
        else:
            memories = own_memories(members, shared)
        self._begin(self._made(shared, memories))

    def _made(
        self, shared: Mapping[str, Any], memories: Sequence[Mapping[str, Any]]
    ) -> list[Any]:
        """Members that know no row, with seeds that derive from the average's."""
        seeds, members = spawned(self.seed, len(memories)), []
        for k, (memory, seed) in enumerate(zip(memories, seeds, strict=True)):
            try:
                members.append(member_of(shared, memory, seed))
            except ArgumentError as error:
                if error.name not in memory:
                    raise
                raise error.named(f"{error.name} of member {k}") from None
        return members

    def _begin(self, members: list[Any]) -> None:
        """Have these members, of which none has shown yet what it is worth."""
        self.members, m = members, len(members)
        self._align()
        beside = n_beside(self.states)
        self._log_weights = np.zeros(m + self._persists - beside)
        self._persistence = np.zeros(4)
        self._coef = np.full(m, 1.0 / m)
        self._covariance = np.eye(m) / m
        self._log_shares = np.zeros(1 + (beside or 1))
        self._note_every = 1
        self._noted = np.empty(0, dtype=np.int64)
        self._noted_weights = np.empty((0, m))

    def _shared(self) -> dict[str, Any]:
        """Options that all members share, as they were given; before the first trees.

        The first member has them all: where leaves are mixed it has linear ones.
        """
        options = self.members[0].state.options
        own = {"model": self.model, "n_particles": self._n_particles}
        return {name: getattr(options, name) for name in params.TREE_OPTIONS} | own

    def _for_labels(self) -> Self:
        """A stream like this one, without rows, that classifies."""
        own = {name: getattr(self, name) for name in ("discount", "tempering", "seed")}
        options = self._shared() | {"model": "class", "linear": self._linear} | own
        names = params.defaults_of(type(self))
        return type(self)(**{k: v for k, v in options.items() if k in names})

    def _align(self) -> None:
        """Let all members keep as many first rows back, so that they begin together."""
        share_warnings(self.members)
        share_effects(self.members)
        least = min(state.n_scale for state in self.states)
        for state in self.states:
            state.n_scale = least

    # ------------------------------------------------------------ what it is
    @property
    def weights(self) -> Vector:
        """Current weight of each member in predictions, shape (n_members,)."""
        if self._beside_windows is not None:
            shares = averaging.weights_at(self._log_shares)
            inside = averaging.weights_at(self._log_weights)
            return np.concatenate([shares[0] * inside, shares[1:]])
        shares = averaging.weights_at(self._log_weights[: len(self.members)])
        return np.asarray(shares * (1.0 - self.persistence_share))

    @property
    def _persists(self) -> bool:
        """Whether the last response has a share in predictions of the next."""
        return self.model == MIXED

    @property
    def _spreads(self) -> bool:
        """Whether the scales of clouds follow what their pool said of responses."""
        return self._persists and not self.state.options.robust

    @property
    def persistence_share(self) -> float:
        """Weight of the last response as a prediction of the next; see Notes."""
        if not (self._persists and self._persistence[2]):
            return 0.0
        return float(averaging.weights_at(self._log_weights)[-1])

    @property
    def linear_share(self) -> float:
        """Weight of the regressions among the members; 0 without any."""
        is_linear = [isinstance(member, LinearStream) for member in self.members]
        return float(self.weights[is_linear].sum())

    @property
    def stacker_share(self) -> float:
        """Weight of the regression that joins the average; 0 without two labels."""
        if not self._stacks:
            return 0.0
        shares = np.exp(self._log_shares)
        return float(shares[1] / shares.sum())

    @property
    def spread_factor(self) -> float:
        """What the scales of clouds are multiplied by in predictions; see Notes."""
        return float(averaging.spread_factor(self._spread))

    @property
    def _stacks(self) -> bool:
        """Whether there are labels to regress on probabilities."""
        return len(self.members[0].state.options.classes or ()) > 1

    @property
    def weight_history(self) -> WeightHistory:
        """Weights of the members over time, a `WeightHistory`."""
        return WeightHistory(self._noted.copy(), self._noted_weights.copy())

    @property
    def log_evidence(self) -> float:
        """Sum of the log predictive densities of the rows under the average."""
        return float(self._evidence[0])

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        weights = self.weights.round(4).tolist()
        members = [
            member.memory() | {"weight": weight}
            for member, weight in zip(self.members, weights, strict=True)
        ]
        own = {"frozen": self.is_frozen, "members": members}
        if self._persists:
            own["persistence_share"] = round(self.persistence_share, 4)
        return super().facts() | own

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
        """Learn rows in order; every member learns each row.

        A frozen model checks the rows and learns nothing from them. `threads` members
        learn in parallel, by default DYNTREE_NUM_THREADS or 1; the result does not
        depend on it. Other parameters, the return value, and the handling of bad rows
        and interrupts are as in `DynamicTree.update`.
        """
        n_threads = params.n_threads(threads)
        with self._lock, self._leaves_for(y):
            return self._take_rows(X, y, sample_weight, exposure, progress, n_threads)

    def learn_row(self, row: Matrix, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row by a faster path; see `StreamingTree.learn_row`."""
        with self._lock:
            states = self.states
            lead = states[0]
            weight = one_weight(lead.options, sample_weight)
            if weight == 0.0:
                return
            known = lead.options.classes
            is_new = known is not None and y not in known
            if self.is_frozen or is_new or None in map(CLOUD, states):
                with self._leaves_for([y]):
                    self._learn(row, [y], np.array([weight]), 1, None)
                return
            if len({*map(N_SEEN, states)}) > 1:
                self._check_same_rows()
            row, responses = learnable_row(lead, row, y, weight)
            if responses.weights is not None:
                for other in states[1:]:
                    admit_weights(other, responses.weights)
            row = learnable(lead, row, responses)
            if lead.effects is not states[-1].effects:
                share_effects(self.members)
            before = sum(map(N_DEGENERATE, states))
            if lead.options.robust or not lead.cloud.has_unit:
                self._teach(row, responses, map)
            else:
                self._teach_row(states, row, responses)
            warn_degenerate(sum(map(N_DEGENERATE, states)) - before)

    def _teach_row(
        self, states: list[TreeState], row: Matrix, responses: Responses
    ) -> None:
        """Let every member learn a row, and the row move the weights, in one call.

        Weights are noted before it, as no interrupt may come between; a row that an
        interrupt keeps from being learned is noted again.
        """
        self._note(states[0].n_seen)
        y = responses.y.item()
        one_row.learn_averaged(
            [*map(CLOUD, states)], [*map(TERMS, self.members)], row, y,
            1.0 if responses.weights is None else responses.weights[0],
            1.0 if responses.exposures is None else responses.exposures[0],
            self.discount, self.tempering, self._log_weights, self._evidence,
            self._stacker, *self._beside, self._beside_windows,
        )  # fmt: skip
        if self._span is not None:
            self._widen_span(y, y)

    @property
    def _beside(self) -> tuple[Vector | None, Vector | None]:
        """What the core changes of the pool's spread and of persistence."""
        return (
            self._spread if self._spreads else None,
            self._persistence if self._persists else None,
        )

    @property
    def _beside_windows(self) -> tuple[Vector, float] | None:
        """What the core changes of the shares of counts' windows and regressions."""
        if len(self._log_weights) >= len(self.members):
            return None
        return self._log_shares, STACK_DISCOUNT

    @property
    def _stacker(self) -> tuple[Vector, Vector, Vector, float] | None:
        """What the core changes of the regression that joins the average."""
        if not self._stacks:
            return None
        return self._coef, self._covariance, self._log_shares, STACK_DISCOUNT

    def _note(self, row: int) -> None:
        """Remember the weights before some rows, more seldom the longer the stream."""
        if row % self._note_every:
            return
        if len(self._noted) and self._noted[-1] >= row:
            return
        if self._beside_windows is None:
            weights = averaging.weights_at(self._log_weights)[: len(self.members)]
        else:
            weights = self.weights
        self._add_notes(np.array([row]), weights[None])

    def _learn(
        self,
        X: Any,
        y: Any,
        weights: Vector | None,
        n_threads: int,
        progress: Progress,
    ) -> None:
        """Check and learn rows of any form."""
        warn_of_times(X, self.state.warned)
        if self.is_frozen:
            checked(self.state, X, y)
            return
        self._check_same_rows()
        before = self.n_seen
        with late_interrupts():  # all members know the same, and keep what waited
            rows, responses, growth, n_old = self._buffer_or_start(X, y, weights)
            if self.is_ready:
                rows = learnable(self.state, rows, responses, growth)
                share_effects(self.members)
            if n_old:
                width = len(self.feature_names)
                old = np.ascontiguousarray(rows[:n_old, :width])
                with degenerate_rows_warned(self.states):
                    self._teach(old, responses[:n_old], map)
        rows, responses, growth = rows[n_old:], responses[n_old:], growth.since(n_old)
        n_kept = self.n_seen - before
        n_threads = min(n_threads, len(self.members))
        with ExitStack() as stack:
            run: Callable[..., Any] = map
            if n_threads > 1 and len(rows) > 1:
                run = stack.enter_context(ThreadPoolExecutor(n_threads)).map
            learn_in_parts(
                self.states, rows, responses, growth, progress, n_kept,
                partial(self._teach, run=run),
            )  # fmt: skip

    def _buffer_or_start(
        self, X: Any, y: Any, weights: Vector | None
    ) -> tuple[Matrix, Responses, Growth, int]:
        """Let all members check rows, and keep them back or plant trees.

        The first member encodes and checks for all; returns as `buffer_or_start`.
        """
        for state in self.states:
            if state.options.model == "logit":  # which the first does not check for all
                checked(state, X, y)
        if self.is_ready:
            lead, *others = self.states
            found = buffer_or_start(lead, X, y, weights)
            for state in others:
                admit_weights(state, found[1].weights)
                take_new_labels(state, list(lead.options.classes or ()))
            return found
        known = checked(self.state, X, y)
        fresh = self._members_for(X, y, known)
        check = fresh[0].options.check_model
        found = buffer_or_start(fresh[0].state, X, y, weights, check, known)
        with silenced(Warning):  # the first has issued them
            for member in fresh[1:]:
                member.state.new_levels = None
                check = member.options.check_model
                buffer_or_start(member.state, X, y, weights, check, known)
        if len(fresh) == len(self.members):
            self.members = fresh
        else:
            self._begin(fresh)
        if self.is_ready and self.state.options.robust:
            lead_forests(self.members)
        return found

    def _members_for(self, X: Any, y: Any, known: Known) -> list[Any]:
        """Members without trees, in default windows that suit the columns of such rows.

        `known` are the rows as `checked` gives them. What earlier calls set aside goes
        along.
        """
        if self._follows_width:
            shared = self._shared()
            width, first = self._first(X, y, known)
            labels = known[1] if self.is_classifier else []
            before = known_classes(self.state, labels) or ()
            n_labels = len({*(shared["classes"] or ()), *before, *labels})
            name = None if self._follows_width is True else self._follows_width
            memories = default_memories(
                shared, width, first, self._linear, n_labels, name
            )
            fresh = self._made(shared, memories)
            for member in fresh:
                take_over(member.state, self.state)
        else:
            fresh = [member.copy() for member in self.members]
        for member in fresh:
            member.state.n_scale = self.state.n_scale
            member.state.settles_all = self.state.settles_all
        fresh[0].state.warned = set(self.state.warned)
        share_warnings(fresh)
        return fresh

    def _first(self, X: Any, y: Any, known: Known) -> tuple[int, Matrix | None]:
        """Number of columns, and the rows that trees start from, or None yet."""
        trial = self.state.copy()
        trial.n_scale, trial.settles_all = self.state.n_scale, self.state.settles_all
        with silenced(Warning):  # the members will issue them
            rows, *_ = buffer_or_start(trial, X, y, known=known)
        assert trial.features is not None
        width = trial.features.n_features
        if trial.cloud is None:
            return width, None
        return width, without_codes(rows[: trial.n_scale, :width], trial.features)

    def _teach(
        self, rows: Matrix, responses: Responses, run: Callable[..., Any]
    ) -> int:
        """Let every member learn rows, and the rows move the weights; returns how many.

        An interrupt waits until all members have learned all rows.
        """
        n_ahead = len(self.classes or ()) if self._stacks else int(self._spreads)
        proba = np.full((len(self.members), len(rows), n_ahead), np.nan)
        ahead = proba if n_ahead else [None] * len(proba)
        is_robust, shares = self.state.options.robust, None
        had_unit, n_before = self.state.cloud.has_unit, self.state.cloud.n_told
        with late_interrupts():
            if len(rows) == 1:
                found = one_row.learn(
                    self._clouds, [member.options.terms for member in self.members],
                    rows, responses.y[0], proba[:, 0] if n_ahead else None,
                    1.0 if responses.weights is None else responses.weights[0],
                    1.0 if responses.exposures is None else responses.exposures[0],
                )[None]  # fmt: skip
                shares = last_shares(self.members) if is_robust else None
            elif is_robust:
                found, shares = learn_robustly(self.members, rows, responses, run)
            else:
                learned = run(
                    lambda member, own: member.learn_encoded(rows, responses, own),
                    self.members,
                    ahead,
                )
                found = np.column_stack(list(learned))
            fixed = (
                None if had_unit else self._first_varying_response(responses, n_before)
            )
            ordered = np.ascontiguousarray(proba.swapaxes(0, 1))
            self._weigh(found, responses, ordered, fixed, shares)
        return len(rows)

    def _first_varying_response(
        self, responses: Responses, n_before: float
    ) -> tuple[int, float] | None:
        """Return the place of the first response that differs from all before, or None.

        Beside it stands what its unit takes off the log density of all before it, which
        were stated in a unit of 1; `n_before` of them are of earlier calls.
        """
        cloud = self.state.cloud
        if not cloud.has_unit:
            return None
        scale = cloud.prior_point
        first = int(np.argmax(responses.y != scale["y_centre"]))
        told: float = first
        if cloud.weighting == "frequency" and responses.weights is not None:
            told = float(responses.weights[:first].sum())
        return first, (n_before + told) * float(np.log(scale["y_spread"]))

    def _weigh(
        self,
        log_densities: Matrix,
        responses: Responses,
        proba: Any,
        fixed: tuple[int, float] | None = None,
        shares: Vector | None = None,
    ) -> None:
        """Log densities of rows by each member -> their new weights, and the evidence.

        They are of shape (n_rows, n_members), probabilities of the labels, or below
        each response, of shape (n_rows, n_members, n_classes or 1); `fixed` is
        what `_first_varying_response` gives, and `shares`, of shape (n_rows,), how much
        of each row robust clouds counted.
        """
        weights, terms = np.empty_like(log_densities), (self.discount, self.tempering)
        if self._persists:
            scale = self.state.cloud.prior_point
            nothing = np.empty((len(weights), 1))
            log_densities = np.hstack([log_densities, nothing])
            both = np.empty_like(log_densities)
            found = averaging.weigh_persistently(
                log_densities, *terms, self._log_weights, both, self._persistence,
                responses.y, responses.weights, scale["y_spread"],
                self.options.meaning_of_weights == "variance", shares,
            )  # fmt: skip
            weights = np.ascontiguousarray(both[:, :-1])
        else:
            m = len(self._log_weights)
            weights = np.empty((len(log_densities), m))
            inside = np.ascontiguousarray(log_densities[:, :m])
            found = averaging.weigh(inside, *terms, self._log_weights, weights)
        if self._beside_windows is not None:
            columns = np.column_stack([found, log_densities[:, m:]])
            shares = np.empty_like(columns)
            found = averaging.weigh(
                columns, STACK_DISCOUNT, 1.0, self._log_shares, shares
            )
            weights = np.hstack([shares[:, :1] * weights, shares[:, 1:]])
        self._note_rows(weights)
        if self._spreads:
            below = np.ascontiguousarray(proba[:, :, 0])
            averaging.spread(below, weights, self._spread)
        if self._is_held:
            self._widen_span(float(responses.y.min()), float(responses.y.max()))
        if self._stacks:
            regressed = averaging.stack(
                proba, responses.y, self._coef, self._covariance, responses.weights
            )
            both = np.column_stack([found, regressed])
            found = averaging.weigh(
                both, STACK_DISCOUNT, 1.0, self._log_shares, np.empty_like(both)
            )
        for row, value in enumerate(found.tolist()):  # in order, however rows come
            if fixed is not None and row == fixed[0]:
                self._evidence[0] -= fixed[1]
            self._evidence[0] += value

    def _note_rows(self, weights: Matrix) -> None:
        """Remember weights of rows just learned, now and then."""
        end = self.n_seen
        rows = np.arange(end - len(weights), end)
        self._add_notes(rows, weights)

    def _add_notes(self, rows: NDArray[np.int64], weights: Matrix) -> None:
        """Add those of some rows that are due."""
        due = rows % self._note_every == 0
        if not due.any():
            return
        self._noted = np.concatenate([self._noted, rows[due]])
        self._noted_weights = np.concatenate([self._noted_weights, weights[due]])
        while len(self._noted) > N_NOTES:
            self._note_every *= 2
            kept = self._noted % self._note_every == 0
            self._noted = self._noted[kept]
            self._noted_weights = self._noted_weights[kept]

    @locked
    def mean_at(self, row: Matrix) -> float:
        """Predictive mean at one encoded row; see `DynamicTree.mean_at`."""
        beside = self._beside_windows is not None
        if self.is_classifier or not self.is_ready or beside:
            return super().mean_at(row)
        state = self.state  # all members have its scale
        assert state.features is not None
        row = on_scale(state.cloud, state.features, row, state.warned)
        row = with_effects(state, row)
        own = one_row.mean(self._clouds, self.weights, row, *self._reach)
        return own + self.persistence_share * float(self._persistence[0])

    @locked
    def proba_at(self, row: Matrix) -> Vector:
        """Probabilities of the classes at one encoded row, as in `mean_at`."""
        if not (self.is_classifier and self.is_ready):
            return super().proba_at(row)
        members = one_row.proba(self._clouds, with_effects(self.state, row))
        first: Vector = self._mixed(members[:, None, :])[0]
        return first

    def _member_rows(self, X: Any, argument: str = "X") -> list[Matrix]:
        """Rows as each member stores them: all have the scale of the first."""
        return [stored(self.state, X, argument)] * len(self.members)

    def _mixture(
        self, rows: Sequence[Matrix], n_threads: int, weights: Vector | None
    ) -> Parts:
        """As of any average; a row by itself takes one call of the core."""
        again = self._last_again
        if weights is None and len(rows[0]) == 1:
            whole = one_row.mixture(
                self._clouds, self.weights, rows[0], self.spread_factor, again
            )
            if whole is not None:
                return whole
        whole = super()._mixture(rows, n_threads, weights)
        if again is None:
            return whole
        n = len(rows[0])
        share, last, scale, df, of_mean = again
        ones = np.ones(n)
        scales = scale * ones if weights is None else scale / np.sqrt(weights)
        own = np.arange(n + 1), ones, last * ones, scales, df * ones, of_mean * ones
        return joined([whole, own], np.array([1.0, share]))

    @property
    def _last_again(self) -> tuple[float, float, float, float, float] | None:
        """What persistence says of the next row: None, if it has no weight.

        It is a weight, and location, scale, degrees of freedom and scale of the mean of
        a response of weight 1.
        """
        share = self.persistence_share
        if not share:
            return None
        last, scale, df = averaging.persistence_law(self._persistence)
        scale *= float(np.sqrt(self.state.weight_unit))
        return share, last, scale, df, scale * OF_MEAN

    def _draw_blocks(
        self,
        X: Any,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Any,
        n_compared: int,
    ) -> Iterator[DrawBlock]:
        """As of any average; some of persistence, but of differences between rows."""
        law = None if n_compared else self._last_again
        if law is None:
            yield from super()._draw_blocks(X, n_draws, rng, exposure, n_compared)
            return
        share, last, scale, df, of_mean = law
        which = systematic(np.array([1.0 - share, share]), n_draws, rng)
        ours, again = np.flatnonzero(which == 0), np.flatnonzero(which == 1)
        if len(ours):
            for block in super()._draw_blocks(X, len(ours), rng, exposure, 0):
                yield replace(block, places=ours[block.places])
        if len(again):
            shape = len(again), len(self._member_rows(X)[0])
            size = np.sqrt(df / rng.chisquare(df, (len(again), 1)))  # t is normal by it
            mean = last + of_mean * size * rng.standard_normal((len(again), 1))
            noise = np.sqrt(scale**2 - of_mean**2) * size
            both = (np.broadcast_to(part, shape) for part in (mean, noise))
            yield DrawBlock(again, *both)

    @locked
    def remove_data(self) -> Self:
        """Drop every row in all members and the last response, which is a row's."""
        super().remove_data()
        return self.part_from_last_row()

    @locked
    def part_from_last_row(self) -> Self:
        """Give up the last response: the rows to come do not follow the last one."""
        self._persistence[:3] = 0.0
        return self

    @property
    def _clouds(self) -> list[Any]:
        """What the core knows of each member."""
        return [*map(CLOUD, self.states)]

    def _mixed(self, members: Any) -> Matrix:
        """Probabilities of the average, and of the stacker beside it.

        Those of the members are of shape (n_members, n_rows, n_classes).
        """
        proba: Matrix = self._averaged(members)
        share = self.stacker_share
        if share:
            regressed = averaging.stacked(
                np.ascontiguousarray(members.swapaxes(0, 1)), self._coef
            )
            proba = (1.0 - share) * proba + share * regressed
        proba /= proba.sum(axis=1, keepdims=True)  # weights are rounded
        return proba

    @locked
    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows, but learns nothing.

        The last response has no weight in predictions any more, as rows that a frozen
        model is asked about need not be the next ones.
        """
        self.is_frozen = True
        return self.part_from_last_row()

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a stream that has seen no row, with another seed."""
        again = self.copy()
        again.seed = params.count("seed", seed, 0, params.MAX_SEED)
        again.members = self._reseeded_members(again.seed)
        again._align()
        return again

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        header, arrays = self._own_arrays()
        return self._around([m.copy() for m in self.members], header, arrays)

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        self._check_same_rows()
        return self._with_members(*self._own_arrays())

    def _own_arrays(self) -> tuple[Header, Arrays]:
        """Everything the model is besides its members."""
        header: Header = {"kind": "AveragedStream"}
        header |= {name: getattr(self, name) for name in PLAIN}
        header["_log_evidence"] = self.log_evidence
        arrays = {name.strip("_"): getattr(self, name).copy() for name in ARRAYS}
        return header, arrays

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        classes = StreamingTree, RandomTreesStream, LinearStream
        kinds = {kind.__name__: kind for kind in classes}
        members, own = cls._members_in(header, arrays, kinds)
        check_average(header, own, [member.state for member in members])
        return cls._around(members, header, own)

    @classmethod
    def _around(
        cls, members: list[StreamingTree], header: Header, arrays: Arrays
    ) -> Self:
        """An average of these members, with the state of one."""
        model = cls.__new__(cls)
        model.members, model._lock = members, ModelLock()
        model._align()
        for name in PLAIN:
            setattr(model, name, header[name])
        model._span = span_in(header)
        model._evidence = np.array([header["_log_evidence"]])
        for name in ARRAYS:
            setattr(model, name, arrays[name.strip("_")].copy())
        return model
