"""What a topic model is: topics, groups, memory and history, as they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
from dyntree.mixtures.hdp.heldout import proportions
from dyntree.mixtures.hdp.learned import HISTORY, Learned
from dyntree.mixtures.hdp.learning import Context
from dyntree.mixtures.hdp.options import HDPSettings
from dyntree.mixtures.hdp.sweeps import Search
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.mixtures.shared.base import Mixture

NAME = "MemoryBoundedHDP"


class TopicsHeld(Mixture):
    """All that a memory-bounded topic model can be read for without documents."""

    unit = "epoch"
    _counted = "topics"
    settings: HDPSettings
    n_threads: int
    callback: Callable[[Any], Any] | None
    _learned: Learned | None

    def _context(self, total: float | None = None) -> Context:
        return Context(self.settings, self.seed, self.n_threads, self.callback, total)

    def _ready(self, what: str) -> Learned:
        """What was learned, where there is something."""
        if self._learned is None:
            raise NotReadyError(
                f"{NAME} has seen no documents; call fit or partial_fit before {what}."
            )
        return self._learned

    def _search(self) -> Search:
        learned = self._ready("this")
        context = self._context()
        return Search(learned.family, context.prior, context.options, self.n_threads)

    @property
    def memory_used_(self) -> int:
        """Bytes of all arrays that are held, which are those of `to_arrays`."""
        return 0 if self._learned is None else self._learned.nbytes

    def memory_usage(self) -> int:
        """Bytes held by the model, with a little for its objects."""
        return self.memory_used_ + 2000

    # ------------------------------------------------------------ what it is
    @property
    def n_topics_(self) -> int:
        """Topics there are."""
        return 0 if self._learned is None else self._learned.topics.K

    @property
    def topic_weights_(self) -> Vector:
        """Share of all points in each topic, descending."""
        N = self._ready("topic_weights_").topics.N
        shares: Vector = N / N.sum()
        return shares

    @property
    def topic_counts_(self) -> Vector:
        """Points in each topic."""
        return self._ready("topic_counts_").topics.N.copy()

    @property
    def alpha_(self) -> Vector:
        """Prior weight of each topic in a document."""
        return self._ready("alpha_").topics.alpha.copy()

    @property
    def topic_ids_(self) -> Ids:
        """Permanent numbers of topics."""
        return self._ready("topic_ids_").topics.ids.copy()

    @property
    def topic_aliases_(self) -> dict[int, int]:
        """What merged topics became: id -> id of the topic that took them in."""
        if self._learned is None:
            return {}
        return settled_aliases(self._learned.aliases.tolist())

    @property
    def means_(self) -> Matrix:
        """Posterior means of Gaussian topics, shape (n_topics, n_features)."""
        learned = self._gaussian("means_")
        topics = learned.topics
        share = topics.N / (learned.family.kappa0 + topics.N)
        m = learned.family.m0 + (topics.mean - learned.family.m0) * share[:, None]
        out: Matrix = learned.shift + m * learned.scale
        return out

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """Expected covariances of each topic, (d, d); variances (d,) where diagonal."""
        learned = self._gaussian("covariances_")
        family, scale = learned.family, learned.scale
        found = family.posterior(*learned.topics.statistics)  # type: ignore[attr-defined]
        if family.kind == 1:
            _, a, _, b = found
            variances: NDArray[np.float64] = b / (a[:, None] - 1.0) * scale**2
            return variances
        _, nu, _, B = found[:4]
        free = np.maximum(nu - family.d - 1.0, 1e-9)
        out: NDArray[np.float64] = B / free[:, None, None] * np.outer(scale, scale)
        return out

    def _gaussian(self, what: str) -> Learned:
        learned = self._ready(what)
        if learned.family.kind == 2:
            raise AttributeError(f"{what} is of Gaussian topics; see topic_words_.")
        return learned

    @property
    def topic_words_(self) -> Matrix:
        """Probability of each word in each topic, shape (n_topics, n_words)."""
        learned = self._ready("topic_words_")
        if learned.family.kind != 2:
            raise AttributeError("topic_words_ is of topics of words; see means_.")
        counts = learned.topics.mean + learned.family.scale0
        out: Matrix = counts / counts.sum(1, keepdims=True)
        return out

    @property
    def group_sizes_(self) -> Vector:
        """Documents in each group, shape (n_groups,)."""
        return self._ready("group_sizes_").topics.documents.copy()

    @property
    def group_proportions_(self) -> Matrix:
        """Expected share of each topic in each group, shape (n_groups, n_topics)."""
        return proportions(self._ready("group_proportions_").topics)

    @property
    def n_clumps_(self) -> int:
        """Clumps that are held."""
        return 0 if self._learned is None else self._learned.store.n_clumps

    @property
    def n_singlets_(self) -> int:
        """Single points that are held."""
        return 0 if self._learned is None else self._learned.store.n_points

    @property
    def free_energy_(self) -> float:
        """Free energy of what is held, in nats, in units of the data."""
        learned = self._ready("free_energy_")
        return float(learned.F + learned.log_scale * learned.n_points)

    @property
    def n_seen(self) -> int:
        """Points ever learned; words as often as they came."""
        return 0 if self._learned is None else round(self._learned.n_points)

    @property
    def n_documents_seen_(self) -> int:
        """Documents ever learned."""
        return 0 if self._learned is None else self._learned.n_documents

    @property
    def history_(self) -> NDArray[Any]:
        """One record an epoch, thinned where memory is small.

        Fields are epoch, documents, points, topics, free_energy,
        free_energy_per_point (all data so far, in units of the data), seconds_build,
        seconds_compress (of the processor, in this process; NaN from a file), sweeps,
        moves_tried, moves_made, splits_refused, items, bytes, magnification, jitters.
        """
        kinds = [(name, np.float64) for name in HISTORY]
        if self._learned is None:
            return np.zeros(0, dtype=kinds)
        rows = [tuple(row) for row in self._learned.history]
        return np.array(rows, dtype=kinds).view(np.recarray)

    @property
    def is_ready(self) -> bool:
        """Whether there are topics to answer from."""
        return self._learned is not None

    @property
    def _columns_learned(self) -> FeatureMap | None:
        return None if self._learned is None else self._learned.features

    def _own_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "documents learned": self.n_documents_seen_,
            "topics": self.n_topics_,
        }
        if self._learned is not None:
            facts |= {
                "groups": self._learned.topics.S,
                "clumps": self.n_clumps_,
                "single points": self.n_singlets_,
                "memory limit": self._learned.limits.memory,
            }
        return facts

    @property
    def n_columns_(self) -> int:
        """Columns, or words of the vocabulary."""
        if self._learned is None:
            return 0
        return self._learned.family.d or self._learned.family.n_words

    @property
    def learned_(self) -> Learned:
        """All that was learned, as reports read it; not to be written to."""
        return self._ready("learned_")
