"""What a topic model has learned, as one record that is swapped whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, warn
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.limits import Limits
from dyntree.mixtures.hdp.options import HDPOptions
from dyntree.mixtures.hdp.store import Ints, Longs, Store
from dyntree.mixtures.hdp.topics import Topics
from dyntree.mixtures.shared.arrays import Arrays

HISTORY = (
    "epoch", "documents", "points", "topics", "free_energy", "free_energy_per_point",
    "seconds_build", "seconds_compress", "sweeps", "moves_tried", "moves_made",
    "splits_refused", "items", "bytes", "magnification", "jitters",
)  # fmt: skip
SECONDS = (6, 7)  # of the process, which are no part of what was learned
TRACKED = ("document_ids", "document_group", "document_epoch")
OPTIONAL = (*TRACKED, "index", "index_ids")  # arrays that may be absent
HISTORY_SHARE, ALIAS_SHARE = 0.05, 0.01  # of a memory limit, at most
MOST_HISTORY, MOST_ALIASES = 4096, 4096  # rows without a limit


@dataclass(frozen=True)
class State:
    """A model at rest. Arrays are never written to once they are in here."""

    features: FeatureMap
    family: Family
    shift: Vector  # (d,)
    scale: Vector  # (d,)
    cells: Vector  # (d,) widths of the cells that values stand for, 0 of most columns
    store: Store
    topics: Topics
    n_points: float
    n_documents: int
    n_epochs: int
    next_id: int
    aliases: Longs  # (n, 2)
    history: Matrix  # (n, 16)
    limits: Limits
    F: float  # standardised units, of the data in memory
    warned: tuple[str, ...] = ()
    document_ids: NDArray[Any] | None = None
    document_group: Ints | None = None
    document_epoch: Ints | None = None
    index: NDArray[np.float32] | None = None  # (n, K)
    index_ids: NDArray[Any] | None = None
    transient: tuple[tuple[str, int], ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def log_scale(self) -> float:
        """Sum of the logs of scales: what a point's log density loses to units."""
        return float(np.log(self.scale).sum()) if len(self.scale) else 0.0

    def standardised(self, rows: Matrix) -> Matrix:
        """Rows on the scale of the first epoch."""
        return np.ascontiguousarray((rows - self.shift) / self.scale)

    # ------------------------------------------------------------ memory
    def arrays(self) -> Arrays:
        """Everything that is stored, by name."""
        topics = self.topics
        out: Arrays = {
            "alpha": topics.alpha,
            "counts": topics.N,
            "topic_ids": topics.ids,
            "group_counts": topics.counts,
            "group_sizes": topics.documents,
            "history": self.history,
            "aliases": self.aliases,
        }
        out |= self.family.to_arrays(topics.mean, topics.scatter)
        if len(self.scale):  # words have none
            out |= {"shift": self.shift, "scale": self.scale}
        if self.cells.any():
            out |= {"cells": self.cells}
        return out | self.store.arrays() | self.optional()

    def optional(self) -> Arrays:
        """Names of documents and index, where there are some."""
        every = {name: getattr(self, name) for name in OPTIONAL}
        return {name: array for name, array in every.items() if array is not None}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def fixed_bytes(self) -> int:
        """Bytes of all arrays but those of topics, groups, points and clumps."""
        arrays = [self.history, self.aliases, *self.optional().values()]
        return self.unit_bytes + sum(array.nbytes for array in arrays)

    @property
    def unit_bytes(self) -> int:
        """Bytes of what the first epoch has said of columns."""
        cells = self.cells.nbytes if self.cells.any() else 0
        return self.shift.nbytes + self.scale.nbytes + cells

    # ------------------------------------------------------------ records that grow
    def trimmed(self) -> State:
        """As many rows of history as the limit allows; every second old one goes."""
        history, most = self.history, MOST_HISTORY
        if self.limits.memory is not None:
            share = HISTORY_SHARE * self.limits.memory
            most = min(most, int(share // (8 * len(HISTORY))))
        while len(history) > most:
            history = history[1::2] if most else history[:0]
        return replace(self, history=np.ascontiguousarray(history))

    def with_aliases(self, new: list[tuple[int, int]]) -> State:
        """More merged topics; of very many the oldest are forgotten."""
        aliases = np.concatenate(
            [self.aliases, np.array(new, dtype=np.int64).reshape(-1, 2)]
        )
        most = MOST_ALIASES
        if self.limits.memory is not None:
            most = min(most, int(ALIAS_SHARE * self.limits.memory // 16))
        return replace(self, aliases=aliases[max(0, len(aliases) - most) :].copy())

    def with_ids(self, ids: NDArray[Any] | None) -> State:
        """More documents by their names, those of the next epoch, where tracked."""
        names, group, epoch = (getattr(self, name) for name in TRACKED)
        if ids is None or names is None:
            return self
        S = self.topics.S  # groups before the epoch, after which its own come in order
        own = np.arange(S, S + len(ids), dtype=np.int32)
        more = np.full(len(ids), self.n_epochs + 1, dtype=np.int32)
        return replace(
            self,
            document_ids=joined_names(names, ids),
            document_group=np.concatenate([group, own]),
            document_epoch=np.concatenate([epoch, more]),
        )

    def with_warning(
        self, name: str, kind: type[Warning], template: str, **fields: Any
    ) -> State:
        """The state once it was warned of something; it is warned of once."""
        if name in self.warned:
            return self
        warn(kind, template, **fields)
        return replace(self, warned=(*self.warned, name))


def joined_names(before: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Names of documents and more of them: as text unless all are numbers."""
    if not len(before):
        return more.copy()
    if before.dtype.kind != more.dtype.kind:
        before, more = before.astype(str), more.astype(str)
    return np.concatenate([before, more])


def check_names(names: NDArray[Any]) -> None:
    """Raise ValueError if documents of several models have one name."""
    found, counts = np.unique(names, return_counts=True)
    if (counts > 1).any():
        raise ArgumentError(
            "models",
            "must have learned different documents; {found!r} is in two of them",
            remedy="Give ids that are unique among models.",
            found=found[counts > 1][0].item(),
        )


def empty_state(
    options: HDPOptions, features: FeatureMap, family: Family, limits: Limits,
    units: tuple[Vector, Vector, Vector],
) -> State:  # fmt: skip
    """A model before its first epoch; units are shift, scale and cells of columns."""
    none, whole = np.zeros(0), np.zeros(0, dtype=np.int32)
    tracked = options.track_documents
    topics = Topics(
        none, none, np.zeros((0, family.width)), np.zeros((0, family.n_second)),
        np.zeros((0, 0)), none, np.zeros(0, dtype=np.int64),
    )  # fmt: skip
    return State(
        features, family, *units, family.store.empty(family), topics, 0.0, 0, 0, 0,
        np.zeros((0, 2), dtype=np.int64), np.zeros((0, len(HISTORY))), limits, 0.0,
        document_group=whole if tracked else None,
        document_epoch=whole if tracked else None,
        document_ids=np.zeros(0, dtype="U1") if tracked else None,
    )  # fmt: skip
