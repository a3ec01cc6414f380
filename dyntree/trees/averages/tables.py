"""AveragedTrees: clouds that learned the same rows, each in an order of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import take
from dyntree.encoding.levels import NewLevels
from dyntree.encoding.targets import label_codes, sorted_labels
from dyntree.encoding.values import Matrix, Vector
from dyntree.online import Arrays, Header
from dyntree.params import N_AVERAGED, NIG
from dyntree.runtime.locking import locked
from dyntree.runtime.parallel import Brake, late_interrupts, side_by_side
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn, spawned
from dyntree.trees.averages.base import TreeAverage
from dyntree.trees.averages.memories import averaged_options
from dyntree.trees.files import check_members, demand
from dyntree.trees.learning.check import extended, is_idle
from dyntree.trees.learning.growth import GrowingRows, Growth, with_columns
from dyntree.trees.learning.levels import count_new
from dyntree.trees.learning.warmup import take_new_labels
from dyntree.trees.model import DynamicTree
from dyntree.trees.state import TreeState
from dyntree.trees.streaming import StreamingTree

N_BLOCKS = 10  # in which the second half of a call's rows is foreseen
FEWEST = 20  # rows that are foreseen at least where a temperature is fitted
FLOOR = 1e-12  # of probabilities whose logs are taken
KINDS: dict[str, Any] = {"DynamicTree": DynamicTree, "StreamingTree": StreamingTree}


def learned_in_order(
    member: Any,
    X: Any,
    y: list[Any],
    order: NDArray[np.int64] | None,
    tells: bool,
    brake: Brake,
) -> Any:
    """Teach a model rows, in this order if there is one, and return it.

    One of several tells what is to be said of the rows. At the top of a module, so that
    processes find it.
    """
    if isinstance(member, DynamicTree | StreamingTree):
        member.state.settles_all = True  # whatever the order, columns are the same
    if not tells and hasattr(member, "tree"):
        member.tree.leave_new_levels_to_another()
    if order is not None:
        X, y = take(X, order), [y[k] for k in order.tolist()]
    return member.update(X, y, progress=brake)


def learned_and_tested(
    member: Any,
    X: Any,
    y: list[Any],
    order: NDArray[np.int64] | None,
    tells: bool,
    brake: Brake,
) -> tuple[Any, Matrix]:
    """As `learned_in_order`, with what the model predicted of its second half of rows.

    That is probabilities of shape (n_rows, n_classes), in the order of `y`, each tenth
    of that half foreseen before it was learned; NaN in the first half.
    """
    member.state.settles_all = True
    if not tells:
        member.tree.leave_new_levels_to_another()
    order = np.arange(len(y)) if order is None else order
    ends = np.linspace(len(y) // 2, len(y), N_BLOCKS + 1).astype(np.int64)
    proba = np.full((len(y), len(member.classes)), np.nan)
    for block in np.split(order, ends[:-1]):
        if not len(block):
            continue
        rows = take(X, block)
        if member.is_ready:
            proba[block] = member.predict(rows).proba
        member.update(rows, [y[k] for k in block.tolist()], progress=brake)
    return member, proba


def tempered(proba: Matrix, temperature: float) -> Matrix:
    """Probabilities to the power of 1 / temperature, made to sum to one."""
    log_p = np.log(np.maximum(proba, FLOOR)) / temperature
    power = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def temperature_of(proba: Matrix, labels: NDArray[np.int64]) -> float:
    """Temperature at which probabilities foresee labels best (Guo et al. 2017).

    Its log has a normal prior about 0 with standard deviation 1/2. Labels are places
    among the columns of `proba`.
    """

    def loss(log_temperature: float) -> float:
        p = tempered(proba, float(np.exp(log_temperature)))
        own = np.maximum(p[np.arange(len(labels)), labels], FLOOR)
        return float(2.0 * log_temperature**2 - np.log(own).sum())

    found = minimize_scalar(loss, bounds=(-2.5, 2.5), method="bounded")
    return float(np.exp(found.x))


@checkpoint.savable
class AveragedTrees(TreeAverage, Sequence[Any]):
    """Several small clouds of trees that learn the same rows, averaged.

    Particles of one cloud are near copies of one another, so that what a cloud says
    depends on chance and on the order in which rows came. Clouds with seeds and orders
    of their own differ where one cloud is in doubt without knowing it: their average
    errs less, and its intervals are honest where those of one cloud are too narrow.

    Parameters
    ----------
    model : {"constant", "linear", "class"}, default "constant"
        What leaves hold; as in `DynamicTree`.
    n_clouds : int, default 10
    shuffle : bool, default True
        Whether all clouds but the first learn the rows of a call in random orders;
        False for rows whose order has a meaning.
    n_particles : int, default 100
        Of each cloud.
    intercept, proposal, min_leaf
        As in `DynamicTree`.
    tree_prior : (float, float), optional
        The same, but (0.95, 0.5) by default for labels.
    first_split, n_basis
        As in `DynamicTree`.
    classes, prior, class_mass, max_retired_mass, categories, new_levels
        As in `DynamicTree`.
    seed : int, optional
        Drawn from the system where absent; clouds have seeds of their own from it.

    Attributes
    ----------
    members : list of DynamicTree
        The clouds, open to every question of their own; the model is a sequence of
        them.
    weights : ndarray of shape (n_clouds,)
        All equal.
    temperature : float
        Probabilities of labels are those of the average to the power of
        1 / temperature, made to sum to one.

    Notes
    -----
    An average of unlike clouds is too cautious about labels. Each cloud therefore also
    foresees the second half of the rows of its order, a twentieth of them at a time
    before it learns it, and at the end the temperature is fitted to what the clouds
    foresaw of each row on average (Guo, Pleiss, Sun and Weinberger 2017): with a log
    normal prior, by the last call of `update` with 40 rows or more. It is 1 where
    `shuffle` is False.

    A cloud with seed s takes the rows of its first call in the order
    ``numpy.random.default_rng(s).permutation(n_rows)``, those of a call after n_seen
    rows in that of ``default_rng([s, n_seen])``; the first cloud takes them as they
    come.

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
        seed: int | None = None,
    ) -> None:
        options = averaged_options(locals())
        n_clouds = params.count("n_clouds", n_clouds, 1)
        self.seed = given_or_drawn(seed)
        self.shuffle = params.flag("shuffle", shuffle)
        self.temperature = 1.0
        self._new_levels = NewLevels()
        self._lock = RLock()
        self.members = [
            DynamicTree(**options, seed=own) for own in spawned(self.seed, n_clouds)
        ]

    @classmethod
    def of(
        cls,
        members: Iterable[Any],
        seed: int,
        shuffle: bool,
        temperature: float = 1.0,
    ) -> Self:
        """Return the average of models of trees that learned the same rows.

        Parameters
        ----------
        members : iterable of DynamicTree or StreamingTree
        seed, shuffle, temperature
            As in the class.

        Returns
        -------
        AveragedTrees
        """
        average = cls.__new__(cls)
        average.members, average.seed, average.shuffle = [*members], seed, shuffle
        average.temperature = temperature
        average._new_levels = NewLevels()
        average._lock = RLock()
        return average

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: Any) -> Any:
        return self.members[place]

    # ------------------------------------------------------------ what it is
    @property
    def weights(self) -> Vector:
        """Weight of each cloud in the answers, shape (n_clouds,): all equal."""
        return np.full(len(self.members), 1.0 / len(self.members))

    @property
    def is_frozen(self) -> bool:
        """Whether `update` learns nothing."""
        return any(member.is_frozen for member in self.members)

    @property
    def log_evidence(self) -> float:
        """Log of the mean evidence of the clouds, each an estimate of the same."""
        if not self.n_seen:
            return 0.0
        found = np.array([member.log_evidence for member in self.members])
        return float(np.logaddexp.reduce(found) - np.log(len(found)))

    @locked
    def facts(self) -> dict[str, Any]:
        """What the model is, by name, as values for JSON."""
        facts: dict[str, Any] = self.members[0].facts()
        return facts | super().facts() | {"clouds": len(self.members)}

    # ------------------------------------------------------------ learning
    def update(
        self, X: Any, y: Any, *, threads: int | None = None, progress: Progress = None
    ) -> Self:
        """Let every cloud learn the rows, each in an order of its own.

        Parameters
        ----------
        X, y
            As in `DynamicTree.update`.
        threads : int, optional
            Clouds at a time: default DYNTREE_NUM_THREADS, or ``n_jobs`` of an enclosing
            ``joblib.parallel_config``, or 1. They learn in threads, or where such a
            config says, as in processes of "loky" or on a cluster of "dask". What is
            learned depends on neither.
        progress : bool, callable or None, default None
            As in `DynamicTree.update`, over the rows of all clouds; it moves on when a
            cloud is done.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            On bad input.
        KeyboardInterrupt
            As after any other error, the model is then what it was before the call.
        """
        check_progress(progress)
        n_jobs = params.n_jobs(threads)
        with self._lock:
            if is_idle(self.state, X, y):
                return self
            growth = X.growth if isinstance(X, GrowingRows) else None
            self._check_same_rows()
            X, y = self._checked(X.rows if isinstance(X, GrowingRows) else X, y, growth)
            if self.is_frozen:
                return self
            if len(y) == 1 and growth is None:
                self._learn_one(X, y, progress)
                return self
            fresh = [member.copy() for member in self.members]
            if growth is not None:
                known = [state for member in fresh for state in member.states]
                with with_columns(known, growth.features, growth.widen):
                    pass  # for good, of these copies
            self._prepare(fresh, X, y)
            jobs = [
                (member, X, y, self._order(k, len(y)), False)
                for k, member in enumerate(fresh)
            ]
            ahead = self.is_classifier and self.shuffle and len(y) >= 2 * FEWEST
            with rows_bar(progress, len(jobs) * len(y), "clouds") as tell:
                work = learned_and_tested if ahead else learned_in_order
                found = side_by_side(work, jobs, n_jobs, lambda: tell(len(y)))
            temperature = self.temperature
            if ahead:
                found, proba = (list(part) for part in zip(*found, strict=True))
                temperature = _fitted_temperature(np.array(proba), found[0].classes, y)
            self.members, self.temperature = found, temperature
        return self

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

    def _proba(self, rows: Sequence[Matrix], n_threads: int = 1) -> Matrix:
        """Probabilities at each row, sharper or softer than the average."""
        proba = super()._proba(rows, n_threads)
        if self.temperature == 1.0:
            return proba
        return tempered(proba, self.temperature)

    def _learn_one(self, X: Any, y: list[Any], progress: Progress) -> None:
        """Let every cloud learn a row that was checked; an interrupt waits for all."""
        with rows_bar(progress, len(self.members), "clouds") as tell:
            tell(len(self.members))  # before, as it may raise
            with late_interrupts():
                for member in self.members:
                    member.tree.leave_new_levels_to_another()
                    member.update(X, y, progress=False)

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
        return self.of(members, self.seed, self.shuffle, self.temperature)

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Everything the model is; see `DynamicTree.to_arrays`."""
        self._check_same_rows()
        own = {name: getattr(self, name) for name in ("seed", "shuffle", "temperature")}
        return self._with_members({"kind": "AveragedTrees"} | own, {})

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        members, own = cls._members_in(header, arrays, KINDS)
        demand(not own, "it has arrays without a use")
        check_members([member.state for member in members])
        seed = params.count("seed", header["seed"], 0, params.MAX_SEED)
        temperature = params.positive("temperature", header["temperature"])
        shuffle = params.flag("shuffle", header["shuffle"])
        return cls.of(members, seed, shuffle, temperature)


def _share_labels(state: TreeState, labels: list[Any]) -> None:
    """Give new labels their places in the order of the rows, for every cloud alike."""
    known = state.options.classes
    if state.cloud is not None:
        take_new_labels(state, labels)
        return
    classes = sorted_labels(labels) if known is None else known
    classes = tuple(dict.fromkeys([*classes, *labels]))
    state.options = replace(state.options, classes=classes)


def _fitted_temperature(
    proba: Matrix, classes: tuple[Hashable, ...], y: list[Any]
) -> float:
    """Temperature by what clouds foresaw, of shape (n_clouds, n_rows, n_classes).

    A row counts where a third of the clouds foresaw it.
    """
    came = ~np.isnan(proba[:, :, 0])
    known = came.sum(axis=0) >= len(proba) / 3.0
    mean = np.nansum(proba, axis=0)[known] / came.sum(axis=0)[known, None]
    if len(mean) < FEWEST:
        return 1.0
    labels = label_codes(y, classes).astype(np.int64)[known]
    return temperature_of(mean, labels)
