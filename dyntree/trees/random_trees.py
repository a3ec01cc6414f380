"""RandomTreesStream: random trees of which all prunings are averaged exactly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.progress import Progress
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import Importance, TreeStats
from dyntree.trees.answers.predictions import mean_of
from dyntree.trees.answers.sensitivity import input_shares
from dyntree.trees.base import TreePredictions
from dyntree.trees.forest_files import forest_arrays, forest_state
from dyntree.trees.forest_options import FOREST_OPTIONS, ForestOptions
from dyntree.trees.learning.check import checked, learnable_row
from dyntree.trees.learning.parts import learn_in_parts
from dyntree.trees.learning.warmup import admit_rows
from dyntree.trees.learning.weights import Responses, one_weight
from dyntree.trees.state import TreeState


@checkpoint.savable
class RandomTreesStream(TreePredictions, checkpoint.Stored):
    """Random trees, grown row by row and averaged exactly over all their prunings.

    Each tree is grown by the rows that reach its leaves, with cuts that are drawn from
    a few candidates. Its prediction is the mean over all prunings of the tree, each
    weighted by its posterior probability. This is context tree weighting (Willems,
    Shtarkov and Tjalkens 1995) over random trees. Its time is proportional to the depth
    of a row. There is no particle filter and no resampling.

    Parameters
    ----------
    model : {"class", "constant"}, default "class"
        "class" for labels, "constant" for real responses.
    n_trees : int, default 20
        Number of trees, which have equal weights.
    discount : float in (0, 1], default 1.0
        Factor by which all counts and log odds are multiplied after a row. Below 1 the
        trees follow drift, and they are grown anew from the stored rows, one in turn.
    min_split : int, default 8
        Number of rows with which a leaf is split.
    n_candidates : int, default 16
        Number of random cuts from which a split is drawn, by their evidence.
    window : int, default 4096
        Number of latest rows that are stored to find cuts.
    max_nodes : int, default 8192
        Largest number of nodes of a tree. Beyond it, the leaves are removed that have
        been without a new row for longest.
    classes, class_mass, categories, new_levels, weighting
        As in `DynamicTree`.
    seed : int, optional
        By default it is drawn from the system.

    Attributes
    ----------
    options : ForestOptions
    seed : int
    is_frozen : bool

    Notes
    -----
    On the path 0, ..., K of a row, P_K = p_K and P_h = w_h p_h + (1 - w_h) P_(h+1).
    Here p_h is the predictive distribution of node h alone: Dirichlet-multinomial for
    labels, and normal with a normal-inverse-gamma prior for real responses. The w_h are
    the posterior probabilities that the tree is pruned at node h; each row subtracts
    log P_(h+1)(y) - log p_h(y) from their log odds. The children of a split begin with
    the stored rows of their leaf. The mean over prunings is exact for a given tree. The
    rows that choose a cut also count in the leaves below it.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree import RandomTreesStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 2))
    >>> y = np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), "same", "other")
    >>> stream = RandomTreesStream(seed=1).update(X, y)
    >>> stream.predict([[0.9, 0.9], [0.1, 0.9]]).label.tolist()
    ['same', 'other']
    """

    def __init__(
        self,
        model: str = "class",
        *,
        n_trees: int = 20,
        discount: float = 1.0,
        min_split: int = 8,
        n_candidates: int = 16,
        window: int = 4096,
        max_nodes: int = 8192,
        classes: Sequence[Hashable] | None = None,
        class_mass: float = 1.0,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        new_levels: str = "grow",
        weighting: str | None = None,
        seed: int | None = None,
    ) -> None:
        options: Any = ForestOptions(**params.given_options(locals(), FOREST_OPTIONS))
        self._hold(TreeState(options, given_or_drawn(seed)), False)

    def _hold(self, state: TreeState, is_frozen: bool) -> None:
        """Have this state."""
        self.state, self._lock, self.is_frozen = state, state.lock, is_frozen

    @classmethod
    def of_state(cls, state: TreeState, is_frozen: bool) -> Self:
        """Return a model that uses a given state."""
        model = cls.__new__(cls)
        model._hold(state, is_frozen)
        return model

    @property
    def tree(self) -> Self:
        """The model itself, under the name that streams use for their tree."""
        return self

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        threads: int | None = None,
        progress: Progress = None,
    ) -> Self:
        """Learn rows in order.

        A frozen model checks the rows and learns nothing from them. `threads` trees
        learn in parallel, by default DYNTREE_NUM_THREADS or 1; the result does not
        depend on it. Other parameters, the return value, and the handling of bad rows
        and interrupts are as in `DynamicTree.update`.
        """
        n_threads = params.n_threads(threads)
        return self._take_rows(X, y, sample_weight, None, progress, n_threads)

    def learn_row(self, row: Matrix, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row by a faster path; see `StreamingTree.learn_row`."""
        state = self.state
        with self._lock:
            weight = one_weight(state.options, sample_weight)
            if weight == 0.0:
                return
            known = state.options.classes
            is_new = known is not None and y not in known
            if state.cloud is None or self.is_frozen or is_new:
                self._learn(row, [y], np.array([weight]), 1, None)
                return
            self.learn_encoded(*learnable_row(state, row, y, weight))

    def learn_encoded(
        self, rows: Matrix, responses: Responses, proba: Matrix | None = None,
        n_threads: int = 1,
    ) -> Vector:  # fmt: skip
        """Learn encoded rows; see `StreamingTree.learn_encoded`."""
        found: Vector = self.state.cloud.update(
            rows, responses.y, proba, n_threads, responses.weights
        )
        return found

    def _learn(
        self,
        X: Any,
        y: Any,
        weights: Vector | None,
        n_threads: int,
        progress: Progress,
    ) -> None:
        """Check and learn rows of any form."""
        state = self.state
        if self.is_frozen:
            checked(state, X, y)
            return
        before = state.n_seen
        rows, responses, growth = admit_rows(state, X, y, weights)
        n_kept = state.n_seen - before
        learn = partial(self._learn_some, n_threads)
        learn_in_parts([state], rows, responses, growth, progress, n_kept, learn)

    def _learn_some(self, n_threads: int, rows: Matrix, responses: Responses) -> int:
        """Learn encoded rows; returns how many."""
        return len(self.learn_encoded(rows, responses, None, n_threads))

    @locked
    def remove_data(self) -> Self:
        """Drop every row; see `DynamicTree.remove_data`.

        The trees do not change: a leaf of one row keeps the response of the row as its
        mean. Leaves are split again once they have enough new rows.
        """
        self.state.cloud = self.state.ready("remove_data").without_rows()
        return self

    @locked
    def importance(
        self,
        *,
        n_samples: int = 500,
        factors: Mapping[str, Sequence[str]] | None = None,
    ) -> Importance:
        """Share of the predicted variance that each input accounts for.

        See `DynamicTree.importance`.
        """
        mean = partial(mean_of, self.state.ready("importance"))
        return input_shares(self.state, mean, n_samples, factors, self.seed)

    @locked
    def stats(self) -> TreeStats:
        """Return height, leaves and leaf sizes, averaged over trees."""
        return TreeStats(*self.state.ready("stats").stats())

    def memory(self) -> dict[str, Any]:
        """The memory that distinguishes this stream from others in an average."""
        options: Any = self.options
        return {"trees": options.n_trees, "discount": options.discount}

    @locked
    def facts(self) -> dict[str, Any]:
        """Description of the model, as a dict of JSON values."""
        options: Any = self.options
        facts = super().facts()
        del facts["particles"]
        return facts | {
            "trees": options.n_trees,
            "discount": options.discount,
            "window": options.window,
            "frozen": self.is_frozen,
        }

    def __repr__(self) -> str:
        options: Any = self.options
        return (
            f"<RandomTreesStream {options.model!r}: {options.n_trees} trees, "
            f"{self.n_seen} rows learned>"
        )

    @locked
    def freeze(self) -> Self:
        """Stop learning: from now on `update` checks its rows, but learns nothing."""
        self.is_frozen = True
        return self

    # ------------------------------------------------------------ copies and files
    @locked
    def reseeded(self, seed: int) -> Self:
        """Return a copy of a model that has seen no row, with another seed."""
        seed = params.count("seed", seed, 0, params.MAX_SEED)
        state = self.state.copy()
        if state.n_seen:
            raise ValueError(
                Message(
                    "the seed of a model can change only before its first row; "
                    f"{state.n_seen} rows have come."
                )
            )
        state.seed = seed
        return self.of_state(state, self.is_frozen)

    @locked
    def copy(self) -> Self:
        """Return an independent model that would draw the same random numbers."""
        return self.of_state(self.state.copy(), self.is_frozen)

    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        return forest_arrays(self.state, self.is_frozen)

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        return cls.of_state(*forest_state(header, arrays))
