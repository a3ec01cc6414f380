"""TreeState: all that one dynamic tree is, for the models that teach and ask it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.levels import LevelCounts
from dyntree.encoding.targets import Exposed, NumbersWatch
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message, NotReadyError
from dyntree.params import N_SCALE, TreeOptions
from dyntree.runtime.locking import ModelLock


@dataclass(eq=False)
class TreeState:
    """Options, columns, rows set aside and particles of a dynamic tree.

    Attributes
    ----------
    options : TreeOptions
        Complete once the width of X is known.
    seed : int
    features : FeatureMap or None
        The columns; None before they are known.
    cloud : Cloud or None
        The particles; None while there are no trees.
    waiting_X : ndarray of shape (n_waiting, n_columns)
        Codes of the rows that are set aside until trees can be planted.
    waiting_y : list of length n_waiting
        Their responses or labels.
    n_scale : int
        First rows that fix the scale of native regression.
    settles_all : bool
        Whether levels of all rows that come with the first trees are settled together,
        in whatever order the rows are learned.
    warned : set
        Kinds of warnings that were given.
    new_levels : LevelCounts or None
        How many levels are new; None where another model that learns the same counts.
    waiting_weights : ndarray of shape (n_waiting,) or None
        Weights of the rows set aside, None where all are 1.
    pieces : ndarray of int64 of shape (n_pieces,) or None
        Numbers of the rows of which the trees learned a piece, for all that they
        learned until the last of them; None where they learned whole rows alone.
    n_repeated : int
        How many more pieces those are than rows.
    effects : LevelEffects or None
        Effects of levels, once there are trees and a column has many levels.
    cross_fits : bool
        Whether rows of a table get effects of levels by rows before and after them.
    watch : NumbersWatch or None
        Of responses, if nobody named what the leaves of a single model hold.
    lock : ModelLock
        Acquired by whoever learns or asks.
    """

    options: TreeOptions
    seed: int
    features: FeatureMap | None = None
    cloud: Any = None
    waiting_X: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    waiting_y: list[Any] = field(default_factory=list)
    n_scale: int = N_SCALE
    settles_all: bool = False
    warned: set[Hashable] = field(default_factory=set)
    new_levels: LevelCounts | None = field(default_factory=LevelCounts)
    waiting_weights: Vector | None = None
    pieces: NDArray[np.int64] | None = None
    n_repeated: int = 0
    effects: Any = None
    cross_fits: bool = False
    watch: NumbersWatch | None = None
    lock: Any = field(default_factory=ModelLock)

    @property
    def n_seen(self) -> int:
        """Rows that were ever passed to be learned."""
        return self.n_pieces - self.n_repeated

    @property
    def n_pieces(self) -> int:
        """The same, where a row that was learned in pieces counts once for each."""
        return len(self.waiting_y) if self.cloud is None else self.cloud.n_seen

    def row_ids(self) -> NDArray[np.int64]:
        """Numbers of the active rows, each as often as it has active pieces."""
        if self.cloud is None:
            return self._rows_of(np.arange(len(self.waiting_y)))
        return self._rows_of(np.asarray(self.cloud.row_ids()))

    def _rows_of(self, learned: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of rows, by the places at which trees learned their pieces."""
        if self.pieces is None:
            return learned
        early = np.minimum(learned, len(self.pieces) - 1)
        return np.where(learned > early, learned - self.n_repeated, self.pieces[early])

    def add_pieces(self, rows: NDArray[np.int64]) -> None:
        """Note that the last pieces were of these rows, counted from those before."""
        before = self._rows_of(np.arange(self.n_pieces - len(rows)))
        self.number(np.concatenate([before, before.max(initial=-1) + 1 + rows]))

    def number(self, pieces: NDArray[np.int64]) -> None:
        """Have these numbers of rows, for all pieces so far or the first of them."""
        self.pieces, self.n_repeated = pieces, len(pieces) - int(pieces.max()) - 1

    @property
    def n_active(self) -> int:
        """Number of active rows, which are stored individually."""
        return len(self.waiting_y) if self.cloud is None else self.cloud.n_active

    @property
    def weight_unit(self) -> float:
        """What weights that divide variances are divided by: the mean of the first."""
        return 1.0 if self.cloud is None else float(self.cloud.weight_unit)

    @property
    def exposure_unit(self) -> float:
        """What exposures of counts are divided by: the mean of the first."""
        return float(self.cloud.prior_point["exposure_unit"])

    @property
    def n_retired(self) -> int:
        """Number of rows retired so far."""
        return 0 if self.cloud is None else self.cloud.n_retired

    @property
    def n_degenerate(self) -> int:
        """Steps at which no particle gave the row a positive density."""
        return 0 if self.cloud is None else self.cloud.n_degenerate

    @property
    def ones(self) -> int:
        """Columns of ones stored before the user's own."""
        return n_ones(self.options)

    def n_level_rows(self, n_first: int) -> int | None:
        """How many rows decide which levels have columns at first; None for all.

        Those are the rows that come with the first trees, of which `n_first` plant
        them. Where levels may grow, those of later rows are as late as if their rows
        had come one by one.
        """
        late = self.options.new_levels == "grow" and not self.settles_all
        return n_first if late else None

    def header(self) -> dict[str, Any]:
        """Header of a file, beside options and trees."""
        weights = self.waiting_weights
        return {
            "seed": self.seed,
            "features": None if self.features is None else self.features.to_header(),
            "waiting_y": [
                tuple(one) if isinstance(one, Exposed) else one
                for one in self.waiting_y
            ],
            "waiting_weights": None if weights is None else weights.tolist(),
        }

    def nbytes(self) -> int:
        """Bytes used by trees, rows and work space."""
        numbers = 0 if self.pieces is None else int(self.pieces.nbytes)
        numbers += 0 if self.effects is None else self.effects.nbytes()
        if self.cloud is None:
            n_lists = 1 if self.waiting_weights is None else 2
            waiting = 8 * n_lists * len(self.waiting_y)
            return int(self.waiting_X.nbytes) + waiting + numbers
        return int(self.cloud.nbytes()) + numbers

    def ready(self, what: str) -> Any:
        """Return the cloud, or raise NotReadyError: `what` needs trees."""
        if self.cloud is None:
            raise self.not_ready(what)
        return self.cloud

    def require_rows(self, what: str) -> None:
        """Raise NotReadyError before the first row: `what` has nothing to go by."""
        if not self.n_seen:
            raise NotReadyError(
                Message(
                    "{what!a} needs a model that has learned at least one row; got "
                    "none. Call update first.",
                    what=what,
                )
            )

    def not_ready(self, what: str) -> NotReadyError:
        """An error that says how many rows must come before `what` can be answered."""
        options = self.options
        if self.features is not None:
            options = options.with_width(self.features.n_features)
        if options.rules == "r" and options.n_start is None:
            needed, more = "more than n_start rows", "more rows"
        else:
            n_needed = n_waiting(options, self.n_scale)
            n_more = n_needed - self.n_pieces
            needed = f"at least {n_needed} row" + "s" * (n_needed > 1)
            if options.rules == "r":
                needed = f"more than n_start={options.n_start} rows"
            more = f"{n_more} more row" + "s" * (n_more > 1)
        return NotReadyError(
            Message(
                "{what!a} needs a model that has learned {needed}; got {n_seen}. "
                "Call update with {more} first.",
                what=what,
                needed=needed,
                n_seen=self.n_seen,
                more=more,
            )
        )

    def copy(self) -> TreeState:
        """Return an independent state that would draw the same random numbers.

        It warns anew of what this one has warned of, and is nobody's member.
        """
        cloud = self.cloud
        if cloud is not None:
            header, arrays = cloud.to_arrays()
            source = type(cloud.source).from_state(arrays["random_state"])
            cloud = type(cloud).from_arrays(header, arrays, source)
        if self.effects is not None:
            self.effects.settle(self.n_pieces)
        return TreeState(
            self.options,
            self.seed,
            self.features,
            cloud,
            self.waiting_X.copy(),
            list(self.waiting_y),
            settles_all=self.settles_all,
            new_levels=None if self.new_levels is None else self.new_levels.copy(),
            waiting_weights=self.waiting_weights,  # which nobody changes
            pieces=self.pieces,  # nor these
            n_repeated=self.n_repeated,
            effects=None if self.effects is None else self.effects.copy(),
        )


def take_over(state: TreeState, other: TreeState) -> None:
    """Give a state without rows the columns and waiting rows of another, as a copy."""
    known = other.copy()
    for name in (
        "features", "waiting_X", "waiting_y", "new_levels", "waiting_weights",
    ):  # fmt: skip
        setattr(state, name, getattr(known, name))


def n_ones(options: TreeOptions) -> int:
    """Columns of ones stored before the user's own: R's explicit intercept."""
    return int(options.rules == "r" and options.intercept == "augmented")


def with_ones(rows: Matrix, ones: int) -> Matrix:
    """Rows as the cloud stores them, with or without a column of ones in front."""
    if ones:
        rows = np.concatenate([np.ones((len(rows), 1)), rows], axis=1)
    return np.ascontiguousarray(rows)


def n_waiting(options: TreeOptions, n_scale: int = N_SCALE) -> int:
    """Rows that are set aside before trees are planted.

    R's rules plant trees on n_start rows and want one more. Native regression fixes its
    scale, or the unit of exposures, by the first `n_scale` rows. Labels have
    trees from the first row on; logistic leaves learn the first ones anew.
    """
    if options.rules == "r":
        assert options.n_start is not None
        return options.n_start + 1
    return 1 if options.has_labels else n_scale
