"""AveragedTrees: clouds that learned the same rows, each in an order of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dyntree import checkpoint, params
from dyntree.checkpoint.layout import require
from dyntree.encoding.feature_map import Encoded, take
from dyntree.encoding.levels import LevelCounts
from dyntree.encoding.targets import label_codes, sorted_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.params import N_AVERAGED, NIG
from dyntree.runtime.locking import ModelLock, locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.parallel import Brake, late_interrupts, side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn, spawned
from dyntree.trees.averages.base import TreeAverage
from dyntree.trees.averages.memories import averaged_options, forests_beside
from dyntree.trees.files import check_members
from dyntree.trees.learning.check import encoded, extended, is_idle
from dyntree.trees.learning.exposures import with_exposure
from dyntree.trees.learning.growth import GrowingRows, Growth, with_columns
from dyntree.trees.learning.levels import count_new
from dyntree.trees.learning.warmup import take_new_labels
from dyntree.trees.learning.weights import check_admissible, weighed
from dyntree.trees.model import DynamicTree
from dyntree.trees.random_trees import RandomTreesStream
from dyntree.trees.state import TreeState
from dyntree.trees.streaming import StreamingTree

N_BLOCKS = 10  # in which the second half of a call's rows is predicted
FEWEST = 20  # rows that are predicted at least where powers are fitted
FLOOR = 1e-12  # of probabilities whose logs are taken
POWER_SD = 0.5  # of a power, about its share
KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (DynamicTree, StreamingTree, RandomTreesStream)
}


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
    """

    X: Any
    y: list[Any]
    weights: Vector | None = None

    def __len__(self) -> int:
        return len(self.y)

    def at(self, rows: NDArray[np.int64]) -> Table:
        """Some of the rows, in that order."""
        weights = None if self.weights is None else self.weights[rows]
        return Table(take(self.X, rows), [self.y[k] for k in rows.tolist()], weights)

    def teach(self, member: Any, progress: Any) -> Any:
        """Let a model learn all rows; models without weights need not know of them."""
        more = () if self.weights is None else (self.weights,)
        return member.update(self.X, self.y, *more, progress=progress)


def learned_in_order(
    member: Any,
    table: Table,
    order: NDArray[np.int64] | None,
    tells: bool,
    brake: Brake,
) -> Any:
    """Teach a model rows, in this order if there is one, and return it.

    Only one of several warns of the rows. At the top of a module, so that
    processes find it.
    """
    if isinstance(member, DynamicTree | StreamingTree | RandomTreesStream):
        member.state.settles_all = True  # whatever the order, columns are the same
    if not tells and hasattr(member, "tree"):
        member.tree.leave_new_levels_to_another()
    return (table if order is None else table.at(order)).teach(member, brake)


def learned_and_tested(
    member: Any,
    table: Table,
    order: NDArray[np.int64] | None,
    tells: bool,
    brake: Brake,
) -> tuple[Any, Matrix]:
    """As `learned_in_order`, with what the model predicted of its second half of rows.

    That is probabilities of shape (n_rows, n_classes), in the order of `y`, each tenth
    of that half predicted before it was learned; NaN in the first half.
    """
    member.state.settles_all = True
    if not tells:
        member.tree.leave_new_levels_to_another()
    n_rows = len(table)
    order = np.arange(n_rows) if order is None else order
    ends = np.linspace(n_rows // 2, n_rows, N_BLOCKS + 1).astype(np.int64)
    proba = np.full((n_rows, len(member.classes)), np.nan)
    for block in np.split(order, ends[:-1]):
        if not len(block):
            continue
        part = table.at(block)
        if member.is_ready:
            state = member.state  # gaps of rows to be learned need no warning
            rows = Encoded(encoded(state, state.features, part.X))
            proba[block] = member.predict(rows).proba
        part.teach(member, brake)
    return member, proba


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
    model : {"constant", "linear", "class", "poisson", "negbin"}, default "constant"
        The model in each leaf, as in `DynamicTree`.
    n_clouds : int, default 10
        Number of clouds.
    shuffle : bool, default True
        Whether every cloud but the first learns the rows of a call in a random order.
        Use False if the order of the rows has a meaning.
    n_particles : int, default 100
        Number of trees in each cloud.
    intercept, proposal, min_leaf
        As in `DynamicTree`.
    tree_prior : (float, float), optional
        As in `DynamicTree`, but (0.95, 0.5) by default for labels.
    first_split, n_basis
        As in `DynamicTree`.
    classes, prior, class_mass, max_retired_mass, categories, new_levels, weighting
        As in `DynamicTree`.
    dispersion, robust
        As in `DynamicTree`.
    seed : int, optional
        By default it is drawn from the system. The seeds of the clouds derive from it.

    Attributes
    ----------
    members : list of DynamicTree and RandomTreesStream
        The clouds. For labels as many forests follow, with 60 random trees together.
        Each member has all methods of its class. Iteration and indexing go through the
        clouds, and so do methods that go through single trees.
    weights : ndarray of shape (n_members,)
        All equal.
    powers : tuple of float
        The probabilities of labels are proportional to those of the average of the
        clouds, raised to the first power, times those of the forests, raised to the
        second.

    Notes
    -----
    An average of unlike clouds is too cautious about labels, and forests make other
    errors than clouds. Each member therefore predicts the second half of the rows of
    its order, a twentieth of them at a time, before it learns them. A logistic
    regression on these log probabilities then fits the powers. They have normal priors
    with the mean 1/2 and the standard deviation 1/2, and are not below 0. The last call
    of `update` with at least 40 rows determines them. They are 1/2 if `shuffle` is
    False.

    A member with the seed s learns the rows of its first call in the order
    ``numpy.random.default_rng(s).permutation(n_rows)``. After n_seen rows, the
    generator of a call is ``default_rng([s, n_seen])``. The first cloud learns the rows
    in the order given.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import AveragedTrees
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> trees = AveragedTrees("linear", n_clouds=5, n_particles=50, seed=1)
    >>> trees.update(x, np.sin(6 * x[:, 0])).predict([[0.25], [0.75]]).mean.round(1)
    array([ 1., -1.])
    """

    unit = "call"

    def __init__(
        self,
        model: str = "constant",
        *,
        n_clouds: int = 10,
        shuffle: bool = True,
        n_particles: int = N_AVERAGED,
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
        weighting: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        seed: int | None = None,
    ) -> None:
        options = averaged_options(locals())
        n_clouds = params.count("n_clouds", n_clouds, 1)
        self.seed = given_or_drawn(seed)
        self.shuffle = params.flag("shuffle", shuffle)
        self._new_levels = LevelCounts()
        self._lock = ModelLock()
        forests = forests_beside(n_clouds, options)
        seeds = spawned(self.seed, n_clouds + len(forests))
        self.members = [
            *(DynamicTree(**options, seed=own) for own in seeds[:n_clouds]),
            *(
                RandomTreesStream(**own, seed=seed)
                for own, seed in zip(forests, seeds[n_clouds:], strict=True)
            ),
        ]
        self.powers = self._even_powers()

    @classmethod
    def of(
        cls,
        members: Iterable[Any],
        seed: int,
        shuffle: bool,
        powers: tuple[float, ...] | None = None,
    ) -> Self:
        """Return the average of models of trees that learned the same rows.

        Parameters
        ----------
        members : iterable of DynamicTree, StreamingTree or RandomTreesStream
            Clouds, and forests after them.
        seed, shuffle, powers
            As in the class; powers are even by default.

        Returns
        -------
        AveragedTrees
        """
        average = cls.__new__(cls)
        average.members, average.seed, average.shuffle = [*members], seed, shuffle
        average._new_levels = LevelCounts()
        average._lock = ModelLock()
        average.powers = average._even_powers() if powers is None else powers
        return average

    def __len__(self) -> int:
        return len(self._clouds)

    def __getitem__(self, place: Any) -> Any:
        return self._clouds[place]

    @property
    def _clouds(self) -> list[Any]:
        """Members that are no forests."""
        return [m for m in self.members if not isinstance(m, RandomTreesStream)]

    def _even_powers(self) -> tuple[float, ...]:
        """Equal powers of clouds and forests, or of clouds alone."""
        return (1.0,) if len(self._clouds) == len(self.members) else (0.5, 0.5)

    # ------------------------------------------------------------ what it is
    @property
    def weights(self) -> Vector:
        """Weight of each member in predictions, shape (n_members,); all are equal."""
        return np.full(len(self.members), 1.0 / len(self.members))

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing."""
        return any(member.is_frozen for member in self.members)

    @property
    def log_evidence(self) -> float:
        """Log of the mean of the clouds' estimates of the evidence."""
        if not self.n_seen:
            return 0.0
        found = np.array([member.log_evidence for member in self._clouds])
        return float(np.logaddexp.reduce(found) - np.log(len(found)))

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        facts: dict[str, Any] = self.members[0].facts()
        n_forests = len(self.members) - len(self)
        more = {"forests": n_forests} if n_forests else {}
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
        with self._lock:
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
            table = Table(X, y, weights)
            if len(y) == 1 and growth is None:
                self._learn_one(table, progress)
                return self
            fresh = [member.copy() for member in self.members]
            if growth is not None:
                known = [state for member in fresh for state in member.states]
                with with_columns(known, growth.features, growth.widen):
                    pass  # for good, of these copies
            self._prepare(fresh, X, y)
            jobs = [
                (member, table, self._order(k, len(y)), False)
                for k, member in enumerate(fresh)
            ]
            ahead = self.is_classifier and self.shuffle and len(y) >= 2 * FEWEST
            with rows_bar(progress, len(jobs) * len(y), "clouds") as tell:
                work = learned_and_tested if ahead else learned_in_order
                found = side_by_side(work, jobs, n_jobs, lambda: tell(len(y)))
            powers = self.powers
            if ahead:
                found, proba = (list(part) for part in zip(*found, strict=True))
                labels = label_codes(y, found[0].classes).astype(np.int64)
                powers = _powers_by(self._kinds(proba), labels, weights) or powers
            self.members, self.powers = found, powers
        return self

    def _kinds(self, values: Any) -> list[NDArray[Any]]:
        """One array a member -> those of the clouds, and those of the forests."""
        n = len(self)
        parts = [values[:n], values[n:]] if len(values) > n else [values]
        return [np.array(part) for part in parts]

    def _prepare(self, fresh: list[Any], X: Any, y: list[Any]) -> None:
        """Let all clouds know the labels and columns of these rows in one order."""
        if not self.is_classifier or self.options.rules == "r":
            return
        if not self.is_ready and self.state.features is None:
            features, _ = extended(self.state, X)
            for member in fresh:
                member.tree.fix_columns(features)
        for member in fresh:
            _share_labels(member.state, y)

    def _mixed(self, members: NDArray[np.float64]) -> Matrix:
        """Probabilities at each row, sharper or softer than the average."""
        means = [part.mean(axis=0) for part in self._kinds(members)]
        if self.powers == (1.0,):
            return np.asarray(means[0] / means[0].sum(axis=1, keepdims=True))
        return pooled(means, self.powers)

    @property
    def _draw_weights(self) -> Vector:
        """Clouds and forests by their powers, all of a kind alike."""
        total = sum(self.powers)
        if self.powers == (1.0,) or not total > 0.0:
            return self.weights
        n, n_forests = len(self), len(self.members) - len(self)
        each = np.array(self.powers) / total / [n, n_forests]
        return np.repeat(each, [n, n_forests])

    def _learn_one(self, table: Table, progress: Progress) -> None:
        """Let every cloud learn a row that was checked; an interrupt waits for all."""
        with rows_bar(progress, len(self.members), "clouds") as tell:
            tell(len(self.members))  # before, as it may raise
            with late_interrupts():
                for member in self.members:
                    member.tree.leave_new_levels_to_another()
                    table.teach(member, False)

    def _checked(self, X: Any, y: Any, growth: Growth | None) -> tuple[Any, list[Any]]:
        """Rows and responses that all clouds can learn, once they have the columns."""
        if growth is None:
            rows, responses = self.members[0].preview(X, y)
            after = rows.features
            if after is not None and after.known and not self.is_frozen:
                before = self.state.features  # the average tells for its members
                count_new(self._new_levels, before, after, rows.rows, coded=False)
            return (rows if self.is_ready else X), responses
        wide = self.members[0].copy()
        with with_columns(wide.states, growth.features, growth.widen):
            return X, wide.preview(X, y)[1]

    def _order(self, k: int, n_rows: int) -> NDArray[np.int64] | None:
        """Order in which a cloud learns rows; None as they come."""
        if not self.shuffle or k == 0:
            return None
        seed, n_seen = self.members[k].seed, self.n_seen
        rng = np.random.default_rng([seed, n_seen] if n_seen else seed)
        return rng.permutation(n_rows)

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        seed = params.count("seed", seed, 0, params.MAX_SEED)
        return self.of(self._reseeded_members(seed), seed, self.shuffle)

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        members = [member.copy() for member in self.members]
        return self.of(members, self.seed, self.shuffle, self.powers)

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        self._check_same_rows()
        own: Header = {"seed": self.seed, "shuffle": self.shuffle}
        own["powers"] = list(self.powers)
        return self._with_members({"kind": "AveragedTrees"} | own, {})

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        members, own = cls._members_in(header, arrays, KINDS)
        require(not own, "it has arrays without a use")
        check_members([member.state for member in members])
        seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
        shuffle = params.flag("shuffle", header["shuffle"])
        average = cls.of(members, seed, shuffle)
        powers = tuple(params.real("powers", power) for power in header["powers"])
        fits = len(powers) == len(average.powers) and min(powers) >= 0.0
        require(fits, "its powers are odd")
        kinds = [isinstance(member, RandomTreesStream) for member in members]
        in_order = kinds == sorted(kinds) and not all(kinds)
        require(in_order, "its clouds are not the first")
        average.powers = powers
        return average


def _share_labels(state: TreeState, labels: list[Any]) -> None:
    """Give new labels their places in the order of the rows, for every cloud alike."""
    known = state.options.classes
    if state.cloud is not None:
        take_new_labels(state, labels)
        return
    classes = sorted_labels(labels) if known is None else known
    classes = tuple(dict.fromkeys([*classes, *labels]))
    state.options = replace(state.options, classes=classes)


def _powers_by(
    kinds: Sequence[NDArray[Any]],
    labels: NDArray[np.int64],
    weights: Vector | None,
) -> tuple[float, ...] | None:
    """Powers by what clouds and forests foresaw, or None where that is too little.

    Each of `kinds` is of shape (n_members, n_rows, n_classes). A row counts where a
    third of the members of each foresaw it.
    """
    came = [(~np.isnan(proba[:, :, 0])).sum(axis=0) for proba in kinds]
    pairs = [*zip(kinds, came, strict=True)]
    known = np.all([n >= len(proba) / 3.0 for proba, n in pairs], axis=0)
    if known.sum() < FEWEST:
        return None
    means = [np.nansum(proba, axis=0)[known] / n[known, None] for proba, n in pairs]
    own = None if weights is None else weights[known]
    return fitted_powers(means, labels[known], own)
