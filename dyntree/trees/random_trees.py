"""RandomTreesStream: random trees of which all prunings are averaged exactly."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from dyntree import checkpoint, params
from dyntree.runtime.locking import locked
from dyntree.runtime.online import Arrays, Header
from dyntree.runtime.seeds import given_or_drawn
from dyntree.summaries import Importance, TreeStats
from dyntree.trees.answers.predictions import mean_of
from dyntree.trees.answers.sensitivity import input_shares
from dyntree.trees.forest_files import forest_in
from dyntree.trees.forest_options import FOREST_OPTIONS, ForestOptions
from dyntree.trees.learner_files import learner_arrays, learner_state
from dyntree.trees.row_learner import RowLearner
from dyntree.trees.state import TreeState


@checkpoint.savable
class RandomTreesStream(RowLearner):
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
    min_split : int, default 32
        Number of rows with which a leaf is split, at most `window`. With frequency
        weights a row counts as its weight, rounded up.
    n_candidates : int, default 64
        Number of random cuts from which a split is drawn, by their evidence.
    window : int, default 4096
        Number of latest rows that are stored to find cuts.
    max_nodes : int, default 8192
        Largest number of nodes of a tree. Beyond it, the leaves are removed that have
        been without a new row for longest.
    classes, class_mass, categories, new_levels, encode_levels, weighting
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
        min_split: int = 32,
        n_candidates: int = 64,
        window: int = 4096,
        max_nodes: int = 8192,
        classes: Sequence[Hashable] | None = None,
        class_mass: float = 1.0,
        categories: Mapping[str, Sequence[Hashable]] | None = None,
        new_levels: str = "grow",
        encode_levels: str = "auto",
        weighting: str | None = None,
        seed: int | None = None,
    ) -> None:
        options: Any = ForestOptions(**params.given_options(locals(), FOREST_OPTIONS))
        self._hold(TreeState(options, given_or_drawn(seed)), False)

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

    # ------------------------------------------------------------ files
    @locked
    def to_arrays(self) -> tuple[Header, Arrays]:
        """Full state of the model; see `DynamicTree.to_arrays`."""
        return learner_arrays("RandomTreesStream", self.state, self.is_frozen)

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Self:
        """Return the model that `to_arrays` described, as a DynamicTree does."""
        options = ForestOptions(**header["options"])
        return cls.of_state(*learner_state(header, arrays, options, forest_in))
