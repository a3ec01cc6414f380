"""StreamingTree: a dynamic tree that never holds more than a window of rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree._core.trees.window import next_to_go, roll
from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.values import LARGEST, Matrix, Vector, too_large
from dyntree.errors import StaleWindowWarning, warn
from dyntree.params import N_SCALE, NIG, STREAM_OPTIONS, TREE_OPTIONS, StreamOptions
from dyntree.runtime.progress import Progress, check_progress
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.model import DynamicTree
from dyntree.trees.named import Named
from dyntree.trees.scaling import on_scale
from dyntree.trees.view import TreeView


@checkpoint.savable
class StreamingTree(Named):
    """The online scheme: a bounded window of active rows around a dynamic tree.

    Once the window is full, a row retires for each new one: its leaf keeps it as
    sufficient statistics and the tree goes on as if it were still there, but for the
    splits it could still suggest (Anagnostopoulos and Gramacy 2013).

    Parameters
    ----------
    model : {"constant", "linear", "class", "prior"}, default "constant"
        What leaves hold; as in `DynamicTree`. Under R's rules linear leaves need
        ``intercept="augmented"`` or ``"none"``.
    window : int, default 500
        Most rows held one by one, larger than ``min_leaf`` (R's rules: ``n_start``).
    discard : {"alc", "entropy", "age", "random"}, optional
        Which row retires: the one whose leaf mates would miss it least by reduction in
        variance (regression) or by entropy (classes; of several, under native rules,
        the oldest), the oldest, or any. Default: the oldest where evidence fades and
        under R's rules, else "alc" or, for classes, "random".
    forget : float in [0, 1], optional
        Power-prior factor on a leaf's retired sums whenever one of its rows retires;
        below 1 the tree follows drift. Default 1, or .95 with `drift`.
    drift : bool, default False
        Whether the stream changes: sets the defaults of `forget` and
        `rejuvenate_every`.
    rejuvenate_every : int, optional
        Rows between rejuvenations, in which trees grown anew from the active rows join
        the others; 0 never. Default: `window` with `drift`; under native rules for
        regression whose rows go by age or chance `window` with ``forget < 1``, else
        ``3 * window``; else 0.
    n_particles : int, default 1000
    rules, intercept, proposal, min_leaf, n_start, tree_prior, variance_prior
        As in `DynamicTree`.
    first_split, n_basis, classes, prior, class_mass, max_retired_mass
        As in `DynamicTree`.
    categories, new_levels, seed
        As in `DynamicTree`.

    Attributes
    ----------
    tree : DynamicTree
        The tree inside, open to every question.
    options : StreamOptions
    is_frozen : bool

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((400, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> stream = StreamingTree("class", window=50, n_particles=50, seed=1)
    >>> stream = stream.update(X, y)
    >>> stream.tree.n_active, stream.n_seen
    (50, 400)
    >>> stream.predict([[0.9, 0.5], [0.1, 0.5]]).label.tolist()
    ['high', 'low']
    """

    def __init__(
        self,
        model: str = "constant",
        *,
        window: int = 500,
        discard: str | None = None,
        forget: float | None = None,
        drift: bool = False,
        rejuvenate_every: int | None = None,
        n_particles: int = 1000,
        rules: str = "native",
        intercept: str = "implicit",
        proposal: str = "luvar",
        min_leaf: int | None = None,
        n_start: int | None = None,
        tree_prior: tuple[float, float] | None = None,
        variance_prior: tuple[float, float] = (0.0, 0.0),
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
        given = locals()
        options = StreamOptions.given(**params.given_options(given, STREAM_OPTIONS))
        tree = params.given_options(given, TREE_OPTIONS)
        self.tree = DynamicTree(**tree, seed=seed)
        self.options = options.for_model(self.tree.options)
        self.options.check_model(self.tree.options)
        self.tree._n_scale = min(N_SCALE, window)
        if options.discard == "alc" and options.forget < 1.0 and rules == "native":
            warn(
                StaleWindowWarning,
                "discard='alc' keeps rows that say much and so seldom touches their "
                "leaves, whose past then never fades; with forget < 1 use 'age'.",
            )
        self.is_frozen = False

    @property
    def n_seen(self) -> int:
        """Rows learned so far."""
        return self.tree.n_seen

    @property
    def seed(self) -> int:
        """What all random draws of the tree come from."""
        return self.tree.seed

    @property
    def is_classifier(self) -> bool:
        """Whether responses are labels."""
        return self.tree.is_classifier

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had names; None while not known."""
        return self.tree.columns

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... where none were given."""
        return self.tree.feature_names

    @property
    def is_ready(self) -> bool:
        """Whether trees have been planted, so that questions can be answered."""
        return self.tree.is_ready

    @property
    def classes(self) -> tuple[Hashable, ...] | None:
        """Labels in the order of the probabilities; None while they are not known."""
        return self.tree.classes

    @property
    def log_evidence(self) -> float:
        """Sum of the log predictive densities of the rows, each given those before."""
        return self.tree.log_evidence

    def update(self, X: Any, y: Any, *, progress: Progress = None) -> Self:
        """Learn rows in order, retiring one for each that the window cannot hold.

        A frozen model checks the rows and learns nothing from them. Parameters, what is
        returned and what bad rows and interrupts do are those of `DynamicTree.update`.
        """
        with self.tree._lock:
            if progress in (None, False) and self._is_one_plain_row(X, y):
                self.learn_row(X, y.item())
            else:
                check_progress(progress)
                if not self.tree._is_idle(X, y):
                    self._learn_rows(X, y, progress)
            return self

    def _learn_rows(self, X: Any, y: Any, progress: Progress) -> None:
        """Check and learn rows of any form."""
        tree = self.tree
        if self.is_frozen:
            tree._check(X, y)
            return
        before = tree.n_seen
        rows, responses, growth = tree._accept(X, y, self.options.check_model)
        learn = self._replace if tree.options.rules == "r" else self._roll_some
        n_kept = tree.n_seen - before
        with tree._watch():
            tree._learn(rows, responses, growth, progress, n_kept, learn)

    def _is_one_plain_row(self, X: Any, y: Any) -> bool:
        """Whether these are one row and its response that need no encoding."""
        tree = self.tree
        return (
            type(y) is np.ndarray
            and y.shape == (1,)
            and tree._cloud is not None
            and tree._features is not None
            and tree._features.is_plain(X)
            and len(X) == 1
            and tree.options.rules == "native"
            and (
                tree.options.classes is not None
                or (y.dtype == np.float64 and abs(y.item()) <= LARGEST)  # not NaN
            )
        )

    def learn_row(self, row: Matrix, y: Any) -> None:
        """Learn one row by a shorter way than `update` (native rules).

        Parameters
        ----------
        row : ndarray of shape (1, n_features)
            Encoded and checked.
        y : float or label
            Checked.
        """
        tree = self.tree
        with tree._lock:
            cloud, known = tree._cloud, tree.options.classes
            is_new = known is not None and y not in known
            if cloud is None or self.is_frozen or is_new:
                self._learn_rows(row, [y], None)
                return
            place = y if known is None else known.index(y)
            if not abs(place) <= LARGEST:  # NaN, too
                raise ValueError(too_large("y", place, "in the row"))
            response = np.array([place], dtype=np.float64)
            assert tree._features is not None
            row = on_scale(cloud, tree._features, row, response)
            before = cloud.n_degenerate
            self._roll(row, response)
            tree._warn_degenerate(before)

    def _roll_some(self, rows: Matrix, responses: Vector) -> int:
        """Learn rows up to the next rejuvenation; returns how many."""
        return len(self._roll(rows, responses))

    def _roll(
        self, rows: Matrix, responses: Vector, proba: Matrix | None = None
    ) -> Vector:
        """Learn rows and retire as many, up to the next rejuvenation (native rules).

        Returns the log predictive densities of the rows learned, each given those
        before it; `proba`, if it is there, is given the probabilities of all classes.
        An interrupt leaves complete rows, a rejuvenation that is due among them.
        """
        cloud, options = self.tree._cloud, self.options
        every, discard = options.rejuvenate_every, options.discard
        assert discard is not None
        seen, n = cloud.n_seen, len(rows)
        if every and n > every - seen % every:
            n = every - seen % every
            rows, responses = rows[:n], responses[:n]
        log_densities = np.empty(0)
        n_particles = interrupt = None
        while True:
            try:
                if interrupt is None:
                    log_densities = roll(
                        cloud, rows, responses, options.window, discard,
                        options.forget, None if proba is None else proba[:n],
                    )  # fmt: skip
                due = every and cloud.n_seen == seen + n and cloud.n_seen % every == 0
                if due and cloud.n_retired:
                    n_particles = n_particles or cloud.n_particles
                    if cloud.n_particles == n_particles:
                        self.tree._rejuvenate()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return log_densities

    def _roll_all(
        self, rows: Matrix, responses: Vector, proba: Matrix | None = None
    ) -> Vector:
        """Learn rows as `_roll` does, with every rejuvenation among them."""
        found, done = [np.empty(0)], 0
        while done < len(rows):
            ahead = None if proba is None else proba[done:]
            found.append(self._roll(rows[done:], responses[done:], ahead))
            done += len(found[-1])
        return np.concatenate(found)

    def _replace(self, rows: Matrix, responses: Vector) -> int:
        """Fill the window, or let one row take another's place; returns how many.

        R's rules, which retire before they learn. An interrupt waits for both, and for
        the rejuvenation that may be due.
        """
        tree, options, every = self.tree, self.options, self.options.rejuvenate_every
        cloud, seen = tree._cloud, tree.n_seen
        assert options.discard is not None
        room = options.window - tree.n_active
        if room > 0:
            return len(cloud.update(rows[:room], responses[:room]))
        drawn = cloud.source.save()
        n_particles = interrupt = None
        while True:
            try:
                if tree.n_seen == seen:
                    cloud.source.restore(drawn)
                    place = next_to_go(cloud, options.discard)
                    cloud.replace(place, options.forget, rows[:1], responses[:1])
                if every and tree.n_seen % every == 0:
                    n_particles = n_particles or cloud.n_particles
                    if cloud.n_particles == n_particles:
                        tree.rejuvenate()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return 1

    def predict(
        self, X: Any, *, threads: int | None = None
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X; see `DynamicTree.predict`."""
        return self.tree.predict(X, threads=threads)

    def preview(
        self, X: Any, y: Any, start: int | None = None
    ) -> tuple[Encoded, list[Any]]:
        """Check a stream that is to be learned; see `DynamicTree.preview`."""
        return self.tree.preview(X, y, start)

    def remove_data(self) -> Self:
        """Let go of every row; see `DynamicTree.remove_data`."""
        self.tree.remove_data()
        return self

    def with_window(self, window: int, **others: Any) -> Self:
        """Return a stream without trees like this one, in another window.

        Parameters
        ----------
        window : int
        **others
            The other options of windows; those not named have their defaults.

        Returns
        -------
        StreamingTree
        """
        tree = self.tree.copy()
        options = StreamOptions.given(**others | {"window": window})
        return self._around(tree, options.for_model(tree.options), self.is_frozen)

    def fix_columns(self, features: FeatureMap) -> None:
        """Settle which columns rows have; see `DynamicTree.fix_columns`."""
        self.tree.fix_columns(features)

    def frozen_view(self, what: str = "a view") -> TreeView:
        """Return the particles as they are now; see `DynamicTree.frozen_view`."""
        return self.tree.frozen_view(what)

    def exclusive(self) -> AbstractContextManager[Any]:
        """Context in which no other thread's call comes between the caller's calls."""
        return self.tree.exclusive()

    def reseeded(self, seed: int) -> Self:
        """Return a copy of a stream that has seen no row, with another seed."""
        return self._around(self.tree.reseeded(seed), self.options, self.is_frozen)

    def facts(self) -> dict[str, Any]:
        """What the model is, by name, as values for JSON."""
        options = self.options
        return self.tree.facts() | {
            "kind": type(self).__name__,
            "window": options.window,
            "discard": options.discard,
            "forget": options.forget,
            "frozen": self.is_frozen,
        }

    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows and forgets them."""
        self.is_frozen = True
        return self

    def memory_usage(self) -> int:
        """Bytes held by trees, rows and scratch."""
        return self.tree.memory_usage()

    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self._around(self.tree.copy(), self.options, self.is_frozen)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything the model is; see `DynamicTree.to_arrays`."""
        tree, arrays = self.tree.to_arrays()
        header = {
            "kind": "StreamingTree",
            "options": asdict(self.options),
            "is_frozen": self.is_frozen,
            "tree": tree,
        }
        return header, arrays

    @classmethod
    def from_arrays(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        tree = DynamicTree.from_arrays(header["tree"], arrays)
        options = StreamOptions(**header["options"]).for_model(tree.options)
        options.check_model(tree.options)
        params.flag("is_frozen", header["is_frozen"])
        return cls._around(tree, options, header["is_frozen"])

    @classmethod
    def _around(cls, tree: DynamicTree, options: StreamOptions, frozen: bool) -> Self:
        """A stream with this tree, without what __init__ checks and warns of."""
        model = cls.__new__(cls)
        model.tree, model.options, model.is_frozen = tree, options, frozen
        tree._n_scale = min(N_SCALE, options.window)
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return checkpoint.loads, (checkpoint.dumps(self),)
