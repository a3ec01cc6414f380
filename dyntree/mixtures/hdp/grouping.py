"""Groups of documents that share their proportions: which ones join (section 3.7)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyntree._core.mixtures.shares import group_terms, pair_terms
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.store import Ints, Longs
from dyntree.mixtures.hdp.sweeps import ONCE, Magnification
from dyntree.mixtures.hdp.topics import Topics

MOST_PAIRS = 2000  # groups up to which all pairs are compared
AT_ONCE = 128  # rows of costs that are copied
RUN = 500  # groups of like profiles that are compared where there are more


def merged_groups(
    topics: Topics, most: int, rule: str, times: Magnification = ONCE
) -> tuple[Topics, Ints]:
    """Join groups, two at a time, until there are at most `most`; where each went.

    Rule "free_energy" joins the pair that raises it least, "cosine" the pair whose
    expected proportions have the largest cosine. Of more than 2,000 groups not all
    pairs are compared, whose costs would fill memory: they are put in order of their
    commonest topic, and joined within runs of 500 of them until 2,000 stay.
    """
    S = topics.S
    if most >= S:
        return topics, np.arange(S, dtype=np.int32)
    N = np.ascontiguousarray(topics.counts * (times.share * times.documents))
    D = topics.documents * times.documents
    into = np.arange(S)
    stay = into
    while len(stay) > most:
        wanted, runs = most, [stay]
        if len(stay) > MOST_PAIRS:
            wanted = max(most, MOST_PAIRS, len(stay) // 4)
            share = N[stay] / np.maximum(N[stay].sum(axis=1, keepdims=True), 1e-300)
            order = stay[np.lexsort((share.max(axis=1), share.argmax(axis=1)))]
            runs = np.array_split(order, -(-len(order) // RUN))
        edges = np.cumsum([0, *(len(run) for run in runs)]) * wanted // len(stay)
        for run, keep in zip(runs, np.diff(edges), strict=True):
            pairs = Pairs(N[run], D[run], topics.alpha, rule)
            for _ in range(len(run) - int(keep)):
                a, b = pairs.join_best()
                into[into == run[b]] = run[a]
            N[run], D[run] = pairs.N, pairs.D
        stay = np.unique(into)
    group_of = np.searchsorted(stay, into).astype(np.int32)
    counts, documents = np.zeros((len(stay), topics.K)), np.zeros(len(stay))
    np.add.at(counts, group_of, topics.counts)
    np.add.at(documents, group_of, topics.documents)
    return replace(topics, counts=counts, documents=documents), group_of


class Pairs:
    """What every pair of groups would cost; one row is new after each join."""

    def __init__(self, N: Matrix, D: Vector, alpha: Vector, rule: str) -> None:
        self.N, self.D, self.alpha, self.rule = N, D, alpha, rule
        S = len(D)
        self.alive = np.ones(S, dtype=bool)
        self.own = group_terms(N, D, alpha)
        self.cost = np.full((S, S), np.inf)  # of s and t < s
        self.least = np.full(S, np.inf)  # of a row
        self.best = np.zeros(S, dtype=np.int64)  # where it is
        for s in range(1, S):
            self._fill(s, np.arange(s))
        self._look(np.arange(S))

    def _fill(self, s: int, others: Longs) -> None:
        """Costs of a group with each of some others."""
        if not len(others):
            return
        if self.rule == "cosine":
            zeta = self.alpha + self.N / self.D[:, None]
            zeta /= np.linalg.norm(zeta, axis=1)[:, None]
            cost = -(zeta[others] @ zeta[s])
        else:
            cost = pair_terms(
                self.N, self.D, self.alpha, self.own, s, others.astype(np.int32)
            )
        self.cost[np.maximum(others, s), np.minimum(others, s)] = cost

    def _look(self, rows: Longs) -> None:
        """Find the cheapest partners of rows; costs are inf from the diagonal on."""
        for some in np.array_split(rows, 1 + len(rows) // AT_ONCE):
            self.best[some] = self.cost[some].argmin(axis=1)
            self.least[some] = self.cost[some, self.best[some]]

    def join_best(self) -> tuple[int, int]:
        """Join the cheapest pair; the group that stays, and the one that goes."""
        gone = int(np.argmin(self.least))
        stay = int(self.best[gone])
        self.N[stay] += self.N[gone]
        self.D[stay] += self.D[gone]
        self.alive[gone] = False
        self.cost[gone, :] = self.cost[:, gone] = np.inf
        self.least[gone] = np.inf
        self.own[stay] = group_terms(
            self.N[stay : stay + 1], self.D[stay : stay + 1], self.alpha
        )[0]
        others = np.flatnonzero(self.alive)
        self._fill(stay, others[others != stay])
        later = others[others > stay]
        lost = (self.best[later] == gone) | (self.best[later] == stay)
        self._look(np.append(later[lost], stay))
        later = later[~lost]
        cost = self.cost[later, stay]
        nearer = (cost < self.least[later]) | (
            (cost == self.least[later]) & (stay < self.best[later])
        )
        self.least[later[nearer]], self.best[later[nearer]] = cost[nearer], stay
        return stay, gone
