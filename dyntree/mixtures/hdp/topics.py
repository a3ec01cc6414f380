"""Topics: their statistics, and how groups of documents use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Statistics
from dyntree.mixtures.hdp.store import Longs

BY_TOPIC = ("alpha", "N", "mean", "scatter", "ids")


@dataclass(frozen=True)
class Topics:
    """What is known of K topics, and of how S groups of documents use them."""

    alpha: Vector  # (K,)
    N: Vector  # (K,)
    mean: Matrix  # (K, d); words: counts (K, V)
    scatter: Matrix  # (K, P)
    counts: Matrix  # (S, K) points of each group in each topic
    documents: Vector  # (S,)
    ids: Longs  # (K,)

    @property
    def K(self) -> int:
        """Topics there are."""
        return len(self.alpha)

    @property
    def S(self) -> int:
        """Groups of documents there are."""
        return len(self.documents)

    @property
    def statistics(self) -> Statistics:
        """Counts, means and scatters."""
        return self.N, self.mean, self.scatter

    @property
    def per_document(self) -> Matrix:
        """Points of a document of each group in each topic, shape (S, K)."""
        return np.ascontiguousarray(self.counts / self.documents[:, None])

    @property
    def proportions(self) -> Matrix:
        """Expected share of each topic in each group, shape (S, K)."""
        zeta = self.alpha + self.per_document
        out: Matrix = zeta / zeta.sum(1, keepdims=True)
        return out

    def taken(self, order: Any) -> Topics:
        """Some of the topics."""
        own = {name: getattr(self, name)[order] for name in BY_TOPIC}
        return replace(self, **own, counts=np.ascontiguousarray(self.counts[:, order]))

    def beside(self, others: Sequence[Topics]) -> Topics:
        """These topics and others of the same groups."""
        every = [self, *others]
        own = {
            name: np.concatenate([getattr(one, name) for one in every])
            for name in BY_TOPIC
        }
        counts = np.concatenate([one.counts for one in every], axis=1)
        return replace(self, **own, counts=counts)
