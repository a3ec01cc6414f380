"""Labels that come later than their rows, in an input of their own.

Rows wait for their labels under their keys, and labels are taken in their own order. Of
files nobody knows when a label arrived: each is taken as soon as its row is there, and
the labels after it wait, so that the same two files give the same result. A label
whose row does not come is passed over once `--pending` rows wait, the oldest of them
for a label behind it, or when the rows have ended. Where labels come live, by a pipe or
in a file that is followed, a row arrived before its label or never does.
"""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from dyntree.commands.feed import Feed
from dyntree.commands.readers import Record, Row
from dyntree.commands.rows import Cells, Kinds
from dyntree.evaluate.delayed import DelayedLabels
from dyntree.runtime.online import OnlineModel


class Waiting(NamedTuple):
    """A label that was read and not taken yet, and its key, if it has one."""

    record: Record
    key: str | None


class LateLabels:
    """Labels, and rows that wait for them.

    Parameters
    ----------
    column : str
        Where rows and labels have their keys.
    max_pending : int
        Rows that wait at most, and labels that are read before their rows come.
    store : DelayedLabels or None
        That of the checkpoint, if there is one.
    cells : Cells or None
        How those of labels in CSV are read; None where labels have types.
    """

    def __init__(
        self,
        column: str,
        max_pending: int,
        store: DelayedLabels | None,
        cells: Cells | None,
    ) -> None:
        self.store, self.cells = store, cells
        self.feed: Feed | None = None
        self._column, self._most = column, max_pending
        self._queue: deque[Waiting] = deque()
        self._queued: Counter[str | None] = Counter()  # keys in the queue
        self._ready: set[str] = set()  # those of them whose rows wait
        self._warned = False

    def begin(self, model: OnlineModel) -> None:
        """Store rows for a model, where no checkpoint had any."""
        if self.store is None:
            self.store = DelayedLabels(model, max_pending=self._most)

    def first_label(self, response: str) -> Any:
        """The first response among the labels at hand, None where there is none."""
        self._fill(1)
        for one in self._queue:
            row = one.record.row or {}
            value = Kinds({response: "any"}, response, self.cells).values(
                row, [response]
            )[response]
            if value is not None:
                return value
        return None

    def wait(self, key: str, row: Row, exposure: float | None) -> Any:
        """Predict a row, store it until its label arrives; return the prediction."""
        assert self.store is not None
        prediction = self.store.predict_later(key, row, exposure=exposure)
        if self._queued[key]:
            self._ready.add(key)
        return prediction

    def take(self, way: Callable[[Waiting, Feed], bool], drained: bool) -> bool:
        """Take labels from the front as far as they can go; return whether any did.

        Parameters
        ----------
        way : callable
            Takes a label; False where it is not whole and is left for the next call.
        drained : bool
            Whether all rows are there that arrived before the labels read so far.
        """
        assert self.feed is not None
        took, n_read = False, len(self._queue)
        while True:
            self._fill(1 if self.feed.is_live else self._most)
            is_old = n_read > 0 or not self.feed.is_live  # than the last look for rows
            if not self._queue or not self._can_go(self._queue[0], drained and is_old):
                return took
            head = self._queue.popleft()
            self._queued[head.key] -= 1
            if not self._queued[head.key]:
                del self._queued[head.key]
            n_read -= 1
            if head.key is not None:
                self._ready.discard(head.key)
            if not way(head, self.feed):
                self._leave()
                return took
            self.feed.took(head.record)
            took = True

    def waits(self, key: str) -> bool:
        """Whether a row waits under a key."""
        return self.store is not None and key in self.store

    @property
    def ended(self) -> bool:
        """Whether all labels were taken."""
        return self.feed is not None and self.feed.ended and not self._queue

    @property
    def keeps(self) -> bool:
        """Whether the next call goes on within what this one has read; as of `Feed`."""
        return self.feed is not None and self.feed.keeps

    @property
    def unfinished(self) -> str:
        """What a pipe gave and was not taken."""
        assert self.feed is not None
        return "".join(one.record.text for one in self._queue) + self.feed.unfinished

    @property
    def n_lost(self) -> int:
        """Labels that a pipe gave, that were not taken, and that nobody keeps."""
        if self.feed is None or self.feed.is_file or self.keeps:
            return 0
        return len(self._queue) + self.feed.unfinished.count("\n")

    def _fill(self, most: int) -> None:
        """Read labels until so many are at hand, or there are no more now."""
        assert self.feed is not None
        while len(self._queue) < most:
            record = self.feed.poll()
            if record is None:
                return
            key = (
                None
                if record.row is None
                else key_of(record.row, self._column, self.cells)
            )
            self._queue.append(Waiting(record, key))
            self._queued[key] += 1
            if key is not None and self.waits(key):
                self._ready.add(key)

    def give_back(self) -> None:
        """Let the labels that were read and not taken be read once more."""
        assert self.feed is not None
        self.feed.put_back("".join(one.record.text for one in self._queue))
        self._leave()

    def _leave(self) -> None:
        """Forget the labels that were read after one that is left to the next call."""
        self._queue.clear()
        self._queued.clear()
        self._ready.clear()

    def _can_go(self, head: Waiting, drained: bool) -> bool:
        """Whether the first label is to be taken now, or passed over."""
        if drained or head.key is None or self.waits(head.key):
            return True
        if self.store is None or self.store.n_pending < self._most:
            return False
        if self.store.oldest in self._ready:  # it would be dropped for the next row
            return True
        if not self._warned and not self._ready and len(self._queue) == self._most:
            self._warned = True
            warnings.warn(
                f"none of the next {self._most} labels belongs to one of the "
                f"{self._most} waiting rows; these labels wait for their rows. Raise "
                "--pending, or leave out labels of older rows.",
                stacklevel=2,
            )
        return False


def key_of(row: Row, column: str, cells: Cells | None) -> str | None:
    """The key of a row as text, None where it has none; `cells` as in `Kinds`."""
    value = row.get(column)
    if value is None or value != value:
        return None
    if cells is not None and cells.is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # whole numbers become floats where some are missing
    return str(value)
