"""All that a memory-bounded topic model has learned, in one record that is swapped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.compression import Limits
from dyntree.mixtures.hdp.families import Family, family_of
from dyntree.mixtures.hdp.options import HDPSettings
from dyntree.mixtures.hdp.store import Arrays, Ints, Longs, Store
from dyntree.mixtures.hdp.sweeps import Topics

HISTORY = (
    "epoch", "documents", "points", "topics", "free_energy", "free_energy_per_point",
    "seconds_build", "seconds_compress", "sweeps", "moves_tried", "moves_made",
    "splits_refused", "items", "bytes", "magnification", "jitters",
)  # fmt: skip
SECONDS = (6, 7)  # of the process, which are no part of what was learned
HISTORY_SHARE, ALIAS_SHARE = 0.05, 0.01  # of a memory limit, at most
MOST_HISTORY, MOST_ALIASES = 4096, 4096  # rows without a limit


@dataclass(frozen=True)
class Learned:
    """A model at rest. Arrays are never written to once they are in here."""

    features: FeatureMap
    family: Family
    shift: Vector  # (d,)
    scale: Vector  # (d,)
    store: Store
    topics: Topics
    n_points: float
    n_documents: int
    n_epochs: int
    next_id: int
    aliases: Longs  # (n, 2)
    history: Matrix  # (n, 16)
    limits: Limits
    F: float  # standardised units, of what is held
    warned: tuple[str, ...] = ()
    document_ids: NDArray[Any] | None = None
    document_group: Ints | None = None
    document_epoch: Ints | None = None
    index: NDArray[np.float32] | None = None  # (n, K)
    index_ids: NDArray[Any] | None = None
    transient: tuple[tuple[str, int], ...] = ()

    @property
    def log_scale(self) -> float:
        """Sum of the logs of scales: what a point's log density loses to units."""
        return float(np.log(self.scale).sum()) if len(self.scale) else 0.0

    def standardised(self, rows: Matrix) -> Matrix:
        """Rows on the scale of the first epoch."""
        out: Matrix = np.ascontiguousarray((rows - self.shift) / self.scale)
        return out

    # ------------------------------------------------------------ memory
    def arrays(self) -> Arrays:
        """Everything that is held, by name."""
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
        if self.family.kind == 2:
            out["topic_words"] = topics.mean
        else:
            out |= {
                "means": topics.mean, "scatters": topics.scatter,
                "shift": self.shift, "scale": self.scale,
            }  # fmt: skip
        out |= self.store.arrays()
        for name in (
            "document_ids", "document_group", "document_epoch", "index", "index_ids"
        ):  # fmt: skip
            array = getattr(self, name)
            if array is not None:
                out[name] = array
        return out

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def fixed_bytes(self) -> int:
        """Bytes of all arrays but those of topics, groups, points and clumps."""
        held: list[NDArray[Any]] = [self.history, self.aliases]
        if self.family.kind != 2:
            held += [self.shift, self.scale]
        for array in (
            self.document_ids, self.document_group, self.document_epoch,
            self.index, self.index_ids,
        ):  # fmt: skip
            if array is not None:
                held.append(array)
        return sum(array.nbytes for array in held)

    # ------------------------------------------------------------ records that grow
    def with_history(self, row: Vector) -> Learned:
        """One row more; where there are too many, every second old one goes."""
        more = np.concatenate([self.history, row[None]])
        return replace(self, history=more).trimmed()

    def trimmed(self) -> Learned:
        """As many rows of history as the limit allows."""
        history, most = self.history, MOST_HISTORY
        if self.limits.memory is not None:
            share = HISTORY_SHARE * self.limits.memory
            most = min(most, int(share // (8 * len(HISTORY))))
        while len(history) > most:
            history = history[1::2] if most else history[:0]
        return replace(self, history=np.ascontiguousarray(history))

    def with_aliases(self, new: list[tuple[int, int]]) -> Learned:
        """More merged topics; of very many the oldest are forgotten."""
        aliases = np.concatenate(
            [self.aliases, np.array(new, dtype=np.int64).reshape(-1, 2)]
        )
        most = MOST_ALIASES
        if self.limits.memory is not None:
            most = min(most, int(ALIAS_SHARE * self.limits.memory // 16))
        return replace(self, aliases=aliases[max(0, len(aliases) - most) :].copy())


def started(
    settings: HDPSettings, features: FeatureMap, family: Family, shift: Vector,
    scale: Vector, limits: Limits, store: Store,
) -> Learned:  # fmt: skip
    """A model before its first epoch."""
    none = np.zeros(0)
    width = family.n_words or family.d
    topics = Topics(
        none, none, np.zeros((0, width)), np.zeros((0, family.n_second)),
        np.zeros((0, 0)), none, np.zeros(0, dtype=np.int64),
    )  # fmt: skip
    tracked = settings.options.track_documents  # type: ignore[union-attr]
    whole = np.zeros(0, dtype=np.int32)
    return Learned(
        features, family, shift, scale, store, topics, 0.0, 0, 0, 0,
        np.zeros((0, 2), dtype=np.int64), np.zeros((0, len(HISTORY))), limits, 0.0,
        document_group=whole if tracked else None,
        document_epoch=whole if tracked else None,
        document_ids=np.zeros(0, dtype="U1") if tracked else None,
    )  # fmt: skip


def scaled_family(
    settings: HDPSettings, width: int, shift: Vector, scale: Vector
) -> Family:
    """The family of a model, its prior mean on the scale of the first epoch."""
    prior = settings.prior
    assert prior is not None
    if settings.family == "multinomial":
        return family_of(settings.family, width, prior, np.zeros(0))
    prior.with_width(settings.family, width)
    m0 = np.zeros(width) if prior.mean is None else (prior.mean - shift) / scale
    return family_of(settings.family, width, prior, m0)
