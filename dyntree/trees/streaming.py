"""StreamingTree: a dynamic tree that never holds more than a window of rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree._core.trees.window import roll
from dyntree.encoding.row_alignment import warn_of_times
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import StaleWindowWarning, warn
from dyntree.params import NIG, StreamOptions, TreeOptions
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.progress import Progress
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import ClassPrediction, Prediction
from dyntree.trees.base import TreeModel
from dyntree.trees.files import stream_arrays, stream_state
from dyntree.trees.learning.check import checked, learnable, learnable_row, watch_of
from dyntree.trees.learning.parts import warn_degenerate
from dyntree.trees.learning.warmup import learn_table
from dyntree.trees.learning.weights import Responses, one_weight
from dyntree.trees.learning.windows import learn_in_window
from dyntree.trees.model import DynamicTree
from dyntree.trees.state import TreeState
from dyntree.trees.view import TreeView


@checkpoint.savable
class StreamingTree(TreeModel, checkpoint.Stored):
    """A dynamic tree that holds a bounded window of active rows: the online scheme.

    Once the window is full, one row is retired for each new row. Its leaf keeps it as
    sufficient statistics. The tree continues as if the row were still there, except
    that the row can no longer suggest splits (Anagnostopoulos and Gramacy 2013).

    Parameters
    ----------
    model : {"constant", "linear", "class", "logit", "poisson", "negbin", "prior"}
        The model in each leaf, as in `DynamicTree`. Under R's rules linear leaves need
        ``intercept="augmented"`` or ``"none"``.
    window : int, default 500
        Largest number of active rows. It must be larger than ``min_leaf`` (under R's
        rules, than ``n_start``).
    discard : {"alc", "entropy", "age", "random"}, optional
        Which row retires. "alc" (regression) retires the row that reduces the variance
        of the predictions least, and "entropy" (labels) a row of the leaf with the
        lowest entropy, under native rules the oldest one of these; logistic leaves have
        an entropy for each row. "age" retires the
        oldest row, and "random" any row. The default is "age" if `forget` is below 1
        and under R's rules, else "alc", or "random" for labels.
    forget : float in [0, 1], optional
        Factor by which the retired sums of a leaf are multiplied when one of its rows
        retires (a power prior). Below 1 the tree follows drift. The default is 1, or
        0.95 with `drift`.
    drift : bool, default False
        Whether the stream is expected to change. This sets the defaults of `forget` and
        `rejuvenate_every`.
    rejuvenate_every : int, optional
        Number of rows between rejuvenations, or 0 for none. In a rejuvenation, new
        trees grow from the active rows and join the others. They learn the active rows
        in random order, a few at each new row, so that no single row takes long. They
        predict only after they have joined. (Under R's rules they learn all active rows
        at once.) The default is `window` with `drift`. Otherwise, under native rules,
        linear leaves and constant leaves with ``discard="age"`` or ``"random"`` use
        `window` if ``forget < 1`` and ``3 * window`` if not; all others use 0.
    n_particles : int, default 1000
        Number of trees in the cloud.
    rules, intercept, proposal, min_leaf, n_start, tree_prior, variance_prior
        As in `DynamicTree`.
    first_split, n_basis, classes, prior, class_mass, max_retired_mass
        As in `DynamicTree`.
    categories, new_levels, encode_levels, weighting, dispersion, robust, seed
        As in `DynamicTree`.

    Attributes
    ----------
    tree : DynamicTree
        The tree of this stream, with all methods of a `DynamicTree`.
    options : StreamOptions
        The options in force.
    is_frozen : bool
        Whether `update` learns nothing, because `freeze` was called.

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
        model: str | None = None,
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
        encode_levels: str = "auto",
        weighting: str | None = None,
        dispersion: float | None = None,
        robust: bool = False,
        seed: int | None = None,
    ) -> None:
        given = locals()
        window_options = params.given_options(given, params.STREAM_OPTIONS)
        options = StreamOptions.given(**window_options)
        tree = TreeOptions(**params.given_options(given, params.TREE_OPTIONS))
        state = TreeState(tree, given_or_drawn(seed))
        state.watch = watch_of(tree, model)
        options = options.for_model(tree)
        options.check_model(tree)
        self._hold(state, options, False)
        if options.discard == "alc" and options.forget < 1.0 and rules == "native":
            warn(
                StaleWindowWarning,
                "discard='alc' keeps informative rows and so seldom changes their "
                "leaves, whose past then never fades; with forget < 1 use 'age'.",
            )

    def _hold(self, state: TreeState, options: StreamOptions, is_frozen: bool) -> None:
        """Have this state, a tree that asks it, and options of the window."""
        self.state, self._lock = state, state.lock
        self.tree = DynamicTree.of_state(state)
        self.options, self.is_frozen = options, is_frozen
        state.n_scale = min(params.N_SCALE, options.window)

    @classmethod
    def of_state(
        cls, state: TreeState, options: StreamOptions, is_frozen: bool
    ) -> Self:
        """Return a stream that uses a given state, with the given window."""
        stream = cls.__new__(cls)
        stream._hold(state, options, is_frozen)
        return stream

    @property
    def seed(self) -> int:
        """The seed of all random draws of the tree."""
        return self.state.seed

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows in order, and retire one for each row beyond the window.

        A row is learned whole, however often it counts. A frozen model checks the rows
        and learns nothing from them. Parameters, the return value, and the handling of
        bad rows and interrupts are as in `DynamicTree.update`.
        """
        return self._take_rows(X, y, sample_weight, exposure, progress)

    def learn_row(self, row: Matrix, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row by a faster path than `update` (native rules).

        Parameters
        ----------
        row : ndarray of shape (1, n_features)
            Encoded and checked.
        y : float, label or Exposed
            Checked; counts are checked here.
        sample_weight : float, default 1.0
            As in `update`; a row of weight 0 is left out.
        """
        state = self.state
        with self._lock:
            weight = one_weight(state.options, sample_weight)
            if weight == 0.0:
                return
            known = state.options.classes
            is_new = known is not None and y not in known
            if state.cloud is None or self.is_frozen or is_new:
                self._learn(row, [y], np.array([weight]), None)
                return
            row, responses = learnable_row(state, row, y, weight)
            before = state.cloud.n_degenerate
            self.learn_encoded(learnable(state, row, responses), responses)
            warn_degenerate(state.cloud.n_degenerate - before)

    def learn_encoded(
        self,
        rows: Matrix,
        responses: Responses,
        proba: Matrix | None = None,
        shares: Vector | None = None,
    ) -> Vector:
        """Learn encoded rows (native rules, once there are trees).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        responses : Responses of length n_rows
        proba : ndarray of shape (n_rows, n_classes), optional
            Becomes the probabilities at each row before it is learned.
        shares : ndarray of shape (n_rows,), optional
            Becomes the part of its weight that each row counted with; see `robust`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log predictive densities, each given the rows before.
        """
        found: Vector = roll(
            self.state.cloud, rows, responses.y, *self.options.terms, proba,
            responses.weights, responses.exposures, shares,
        )  # fmt: skip
        return found

    def _learn(
        self, X: Any, y: Any, weights: Vector | None, progress: Progress
    ) -> None:
        """Check and learn rows of any form."""
        state = self.state
        warn_of_times(X, state.warned)
        if self.is_frozen:
            checked(state, X, y)
            return
        check = self.options.check_model
        learn_table(state, X, y, weights, progress, self.learn_part, check)

    def learn_part(self, rows: Matrix, responses: Responses) -> int:
        """Learn encoded rows, at least one, once there are trees; returns how many."""
        return learn_in_window(self.state, self.options, rows, responses)

    def predict(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        exposure: Any = None,
        threads: int | None = None,
    ) -> Prediction | ClassPrediction:
        """Predictive distribution at each row of X; see `DynamicTree.predict`."""
        return self.tree.predict(X, sample_weight, exposure=exposure, threads=threads)

    def remove_data(self) -> Self:
        """Drop every row; see `DynamicTree.remove_data`."""
        self.tree.remove_data()
        return self

    def with_window(self, window: int) -> Self:
        """Return a stream like this one, without trees and with another window.

        Parameters
        ----------
        window : int
            Largest number of active rows. `discard` and `rejuvenate_every` take the
            defaults of such a window.

        Returns
        -------
        StreamingTree
        """
        options = StreamOptions.given(window, forget=self.options.forget)
        options = options.for_model(self.state.options)
        return self.of_state(self.tree.copy().state, options, self.is_frozen)

    def frozen_view(self, what: str = "a view") -> TreeView:
        """Return the particles as they are now; see `DynamicTree.frozen_view`."""
        return self.tree.frozen_view(what)

    def reseeded(self, seed: int) -> Self:
        """Return a copy of a stream that has seen no row, with another seed."""
        return self.of_state(
            self.tree.reseeded(seed).state, self.options, self.is_frozen
        )

    def memory(self) -> dict[str, Any]:
        """The memory that distinguishes this stream from others in an average."""
        return {"window": self.options.window, "forget": self.options.forget}

    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        options = self.options
        return super().facts() | {
            "window": options.window,
            "discard": options.discard,
            "forget": options.forget,
            "frozen": self.is_frozen,
        }

    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows, but learns nothing."""
        self.is_frozen = True
        return self

    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self.of_state(self.tree.copy().state, self.options, self.is_frozen)

    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        with self._lock:
            return stream_arrays(self.state, self.options, self.is_frozen)

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        return cls.of_state(*stream_state(header, arrays))
