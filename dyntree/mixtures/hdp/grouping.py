"""Groups of documents that share their proportions: which ones join (3.7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dyntree._core.mixtures.shares import group_terms, pair_terms
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.store import Ints
from dyntree.mixtures.hdp.sweeps import Topics

MOST_PAIRS = 2000  # groups up to which all pairs are compared


def merged_groups(
    topics: Topics,
    most: int,
    rule: str,
    *,
    m_d: float = 1.0,
    share: float = 1.0,
    first_new: int = 0,
) -> tuple[Topics, Ints]:
    """Join groups, two at a time, until there are at most so many.

    Parameters
    ----------
    topics : Topics
    most : int
        Groups that may stay.
    rule : {"free_energy", "cosine"}
        Joins the pair that raises the free energy least, or whose expected
        proportions have the largest cosine.
    m_d, share : float
        Magnification of documents, and of points over it.
    first_new : int
        First group of this epoch; of very many groups, pairs without one are left out.

    Returns
    -------
    topics : Topics
    group_of : ndarray of int32 of shape (S,)
        New number of each group.
    """
    S = topics.S
    if most >= S:
        return topics, np.arange(S, dtype=np.int32)
    N = np.ascontiguousarray(topics.counts * (share * m_d))
    D = topics.documents * m_d
    pairs = Pairs(N, D, topics.alpha, rule, first_new if S > MOST_PAIRS else 0)
    into = np.arange(S)
    for _ in range(S - most):
        a, b = pairs.join_best()
        into[into == b] = a
    stay = np.unique(into)
    group_of = np.searchsorted(stay, into).astype(np.int32)
    counts, documents = np.zeros((len(stay), topics.K)), np.zeros(len(stay))
    np.add.at(counts, group_of, topics.counts)
    np.add.at(documents, group_of, topics.documents)
    return replace(topics, counts=counts, documents=documents), group_of


class Pairs:
    """What every pair of groups would cost; one row is new after each join."""

    def __init__(
        self, N: Matrix, D: Vector, alpha: Vector, rule: str, first_new: int
    ) -> None:
        self.N, self.D, self.alpha, self.rule = N, D, alpha, rule
        S = len(D)
        self.first_new = first_new if first_new < S else 0
        self.alive = np.ones(S, dtype=bool)
        self.own = group_terms(N, D, alpha)
        self.cost = np.full((S, S), np.inf)
        for s in range(self.first_new, S):
            self._fill(s, np.arange(s if self.first_new == 0 else S))

    def _fill(self, s: int, others: Any) -> None:
        """Costs of a group with each of some others."""
        others = others[self.alive[others] & (others != s)].astype(np.int32)
        if not len(others):
            return
        if self.rule == "cosine":
            zeta = self.alpha + self.N / self.D[:, None]
            zeta /= np.linalg.norm(zeta, axis=1)[:, None]
            cost = -(zeta[others] @ zeta[s])
        else:
            cost = pair_terms(self.N, self.D, self.alpha, self.own, s, others)
        self.cost[np.maximum(others, s), np.minimum(others, s)] = cost

    def join_best(self) -> tuple[int, int]:
        """Join the cheapest pair; the group that stays, and the one that goes."""
        b, a = np.unravel_index(int(np.argmin(self.cost)), self.cost.shape)
        stay, gone = int(a), int(b)
        self.N[stay] += self.N[gone]
        self.D[stay] += self.D[gone]
        self.alive[gone] = False
        self.cost[gone, :] = self.cost[:, gone] = np.inf
        self.own[stay] = group_terms(
            self.N[stay : stay + 1], self.D[stay : stay + 1], self.alpha
        )[0]
        self._fill(stay, np.flatnonzero(self.alive))
        return stay, gone
