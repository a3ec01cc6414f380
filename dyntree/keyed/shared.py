"""The streams that all keys share, and what they learn at the end of each block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dyntree.encoding.feature_map import Encoded, FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.keyed.laws import Fleet, Law, Levels
from dyntree.keyed.state import Waiting
from dyntree.keyed.weights import pooled
from dyntree.trees.averages.stream import AveragedStream
from dyntree.trees.learning.growth import GrowingRows, Growth

SHARE = 32  # rows so far, to those of a block
FIRST_BLOCK = 10  # rows before the streams begin, as each fixes its scale by them


@dataclass
class Shared:
    """The shared streams and all else that stands still within a block.

    Attributes
    ----------
    level, history : AveragedStream or None
        None before the end of the first block.
    fleet : Fleet
    by_age : ndarray of shape (N_AGES, n_members)
        Log weights by the number of rows of a key.
    n_rows : int
        Rows of all ended blocks.
    """

    level: AveragedStream | None
    history: AveragedStream | None
    fleet: Fleet
    by_age: Matrix
    n_rows: int = 0

    def copy(self) -> Shared:
        """Return the same with streams of its own; nothing changes all else."""
        streams = [one and one.copy() for one in (self.level, self.history)]
        return replace(self, level=streams[0], history=streams[1])

    def block_end(self, longest: int) -> int:
        """Number of the row with which the next block begins."""
        if not self.n_rows:
            return FIRST_BLOCK
        return self.n_rows + int(np.clip(self.n_rows // SHARE, 1, longest))

    def base(
        self, law: Law, X: Matrix, features: FeatureMap, exposure: Vector
    ) -> Any:  # fmt: skip
        """What the level's stream says of rows of keys without a level, or None."""
        if self.level is None:
            return None
        more = _over(self.level, exposure)
        return law.of_model(self.level.predict(Encoded(X, features), **more))

    def answers(
        self, law: Law, X: Matrix, features: FeatureMap, base: Any, levels: Levels,
        exposure: Vector,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Predictions of rows by level and by history."""
        assert self.level is not None
        assert self.history is not None
        again = partial(self.level.predict, Encoded(X, features))
        by_level = law.with_level(base, levels, exposure, again)
        wide = np.hstack([law.inputs(self.fleet, levels.past), X])
        asked = Encoded(wide, features.after_numbers(law.input_names))
        by_history = self.history.predict(asked, **_over(self.history, exposure))
        return by_level, law.of_model(by_history)

    def after_block(
        self, law: Law, rows: Waiting, features: FeatureMap, made: Any, thin: int,
        discount: float, tempering: float,
    ) -> Shared:  # fmt: skip
        """What is shared once a block has ended; it has the same streams.

        Parameters
        ----------
        law : Law
        rows : Waiting
            All rows of the block.
        features : FeatureMap
            The columns by now.
        made : callable
            Makes two streams without rows.
        thin : int
            The streams learn each row whose number is a multiple of this one.
        discount, tempering : float
        """
        level, history = self.level, self.history
        if level is None or history is None:
            level, history = made()
        after = Shared(
            level, history, self.fleet.copy(),
            pooled(self.by_age, rows.ages, rows.log_densities, discount, tempering),
            self.n_rows + len(rows.y),
        )  # fmt: skip
        own, over = law.numbers(rows.y)
        more = law.totals(own, over)
        more[: len(self.fleet.totals)] += self.fleet.totals  # of labels known before
        after.fleet.totals = more
        after.fleet.n_rows = after.n_rows
        after.fleet.grid = law.moved_grid(self.fleet.grid, rows.misses)
        numbers = np.arange(self.n_rows, after.n_rows)
        some = np.flatnonzero(numbers % thin == 0)
        if len(some):
            past = self.fleet if self.level is not None else after.fleet
            inputs = law.inputs(past, rows.past)[some]
            X, y = rows.X[some], [rows.y[k] for k in some.tolist()]
            _teach(level, X, law.without_level(y, rows.at[some]), features)
            wide = features.after_numbers(law.input_names)
            _teach(history, np.hstack([inputs, X]), y, wide)
        return after


def _over(stream: AveragedStream, exposure: Vector) -> dict[str, Any]:
    """The exposures of rows as an argument, where a stream is one of counts."""
    return {"exposure": exposure} if stream.state.options.is_count else {}


def _teach(
    stream: AveragedStream, X: Matrix, y: list[Any], features: FeatureMap
) -> None:
    """Let a stream learn rows of a block, whose columns all begin with it."""
    before = stream.state.features
    if before is None:
        stream.fix_columns(features)
        before = features
    steps = [] if before == features else [(0, features)]
    rows = GrowingRows(np.ascontiguousarray(X), Growth(before, steps, features.widen))
    stream.update(rows, y, progress=False)
    stream.part_from_last_row()
