"""Answers for documents with the topics as they are; nothing is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.hdp.families import Expected
from dyntree.mixtures.hdp.input import as_ids
from dyntree.mixtures.hdp.records import Retrieved
from dyntree.mixtures.hdp.state import State, joined_names
from dyntree.mixtures.hdp.store import Store
from dyntree.mixtures.hdp.sweeps import (
    Search,
    best_topics,
    free_energy,
    swept,
    table_of_logs,
)
from dyntree.mixtures.hdp.topics import Topics

MOST_STEPS, SMALL_CHANGE = 100, 1e-3  # of counts, while proportions are found
BLOCK = 4096  # rows whose densities exist at a time
AT_ONCE = 1024  # stored documents that are compared at a time
LEAST_SUM = 1e-200  # of exponentials, below which digits are lost


@dataclass(frozen=True)
class FoldIn:
    """Documents whose proportions were estimated with topics fixed."""

    search: Search
    topics: Topics  # counts and documents are those of the documents asked about
    expected: Expected
    store: Store

    def best_topics(self) -> Any:
        """Place of the best topic of each item."""
        return best_topics(self.search, self.store, self.topics, self.expected)

    def responsibilities(self) -> Matrix:
        """Topic probabilities of the points of documents, shape (n, K)."""
        table = table_of_logs(self.topics, self.expected.c)
        logs = self.search.family.point_logs(self.expected, self.store.points)
        logs += table[self.store.group]
        logs -= logs.max(axis=1, keepdims=True)
        q = np.exp(logs)
        out: Matrix = q / q.sum(axis=1, keepdims=True)
        return out

    def log_predictive(self, proportions: Matrix) -> Vector:
        """Log predictive density of each point under its document's proportions."""
        store, statistics = self.store, self.topics.statistics
        out = np.empty(store.n_points)
        for start in range(0, store.n_points, BLOCK):
            some = slice(start, start + BLOCK)
            out[some] = self.search.family.log_mixture(
                store.points[some], statistics, proportions[store.group[some]]
            )
        return out

    def free_energy(self) -> float:
        """Free energy of documents with q(eta) and alpha as they are (section 3.1)."""
        search, family, expected = self.search, self.search.family, self.expected
        new = swept(search, self.store, self.topics, expected)
        topics = replace(self.topics, counts=new.counts)
        log_z = np.full(topics.K, family.log_z0)
        documents = free_energy(search, topics, 0.0, 0.0, log_z)
        own = topics.statistics
        divergence = family.total_fit(expected, own) - family.log_base * own[0].sum()
        divergence += topics.K * family.log_z0 - expected.log_z.sum()
        fit = family.total_fit(expected, new.with_statistics_in(topics).statistics)
        return float(new.entropy - fit + documents + divergence)


def fold_in(
    search: Search,
    topics: Topics,
    store: Store,
    n_documents: int,
    *,
    steps: int = MOST_STEPS,
    bound: bool = False,
) -> FoldIn:
    """Iterate eqs. 20 and 21 for each document until its counts change by little.

    All topics start alike: shares of all documents would keep rare topics out. With
    `bound` the words of topics count as in the free energy (section 3.9).
    """
    sizes = store.group_sums(
        np.arange(store.n_items), np.ones(store.n_items), n_documents
    )
    counts = np.outer(sizes, np.full(topics.K, 1.0 / topics.K))
    one = np.ones(n_documents)
    family, statistics = search.family, topics.statistics
    expected = (
        family.expected(*statistics)
        if bound
        else family.expected_for_answers(statistics)
    )
    open_, part = np.flatnonzero(sizes), store
    if 0 < len(open_) < n_documents:
        part = store.of_groups(open_)
    for _ in range(steps):
        if not len(open_):
            break
        now = replace(topics, counts=counts[open_], documents=one[open_])
        new = swept(search, part, now, expected).counts
        moved = np.abs(new - counts[open_]).max(axis=1)
        counts[open_] = new
        going = moved > SMALL_CHANGE
        if going.all():
            continue
        open_ = open_[going]
        part = part.of_groups(np.flatnonzero(going))
    return FoldIn(
        search, replace(topics, counts=counts, documents=one), expected, store
    )


# ---------------------------------------------------------------- retrieval
def index_logs(topics: Topics) -> Matrix:
    """E log pi of each document, shape (n_documents, K)."""
    return table_of_logs(topics, np.zeros(topics.K))


def indexed(state: State, topics: Topics, ids: Any) -> State:
    """The state with more documents in its index, given by their topics."""
    rows = index_logs(topics).astype(np.float32)
    n_before = 0 if state.index is None else len(state.index)
    if ids is None:
        ids = np.arange(n_before, n_before + len(rows))
    names = as_ids(ids, len(rows))
    if state.index is not None and state.index_ids is not None:
        rows = np.concatenate([state.index, rows])
        names = joined_names(state.index_ids, names)
    found, times = np.unique(names, return_counts=True)
    if (times > 1).any():
        raise ArgumentError(
            "ids",
            "must be names that no other document of the index has",
            Message("{found!r} twice", found=found[times > 1][0].item()),
            "Give each its own, or learn again, which drops the index.",
        )
    draft = replace(state, index=rows, index_ids=names)
    limit = state.limits.memory
    if limit is not None and draft.nbytes > limit:
        raise ValueError(
            Message(
                f"index of {len(rows)} documents needs {draft.nbytes - state.nbytes} "
                f"bytes more; memory_limit leaves {limit - state.nbytes}. Make room "
                "by compress(max_items=...), or index fewer documents."
            )
        )
    return draft


def retrieved(state: State, found: FoldIn, n: int, method: str) -> Retrieved:
    """The n documents of the index, or groups without one, most like each query."""
    stored, names = state.index, state.index_ids
    if stored is None or names is None:
        logs = index_logs(state.topics)
        scores, names = retrieval_scores(found, logs, method), np.arange(len(logs))
    else:
        scores = retrieval_scores(found, stored, method)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return Retrieved(names[best], np.take_along_axis(scores, best, axis=1))


def retrieval_scores(found: FoldIn, stored: Any, method: str) -> Matrix:
    """Scores of stored documents for each query document, shape (n_queries, n_stored).

    By eq. 28 (section 3.8): hard puts each point on its best topic, soft sums over
    topics, fast takes the hard counts that a query has under its own proportions.
    """
    store, family = found.store, found.search.family
    n_queries = found.topics.S
    out = np.empty((n_queries, len(stored)))
    if method == "fast":
        label, weight = found.best_topics(), store.weights
        K = found.topics.K
        key = store.group.astype(np.int64) * K + label
        counts = np.bincount(key, weight, n_queries * K).reshape(n_queries, K)
        fast: Matrix = counts.astype(stored.dtype) @ stored.T
        return fast
    score = hard_scores if method == "hard" else soft_scores
    for query in range(n_queries):
        own = np.flatnonzero(store.group == query)
        logs = family.point_logs(found.expected, store.points[own]) + found.expected.c
        for start in range(0, len(stored), AT_ONCE):
            some = stored[start : start + AT_ONCE].astype(np.float64)
            out[query, start : start + AT_ONCE] = score(logs, store.weights[own], some)
    return out


def hard_scores(logs: Matrix, weight: Vector, stored: Matrix) -> Vector:
    """Sum over points of the largest of logs + stored, for each stored document."""
    best = np.full((len(stored), len(logs)), -np.inf)
    for k in range(logs.shape[1]):
        np.maximum(best, stored[:, k, None] + logs[:, k], out=best)
    return best @ weight


def soft_scores(logs: Matrix, weight: Vector, stored: Matrix) -> Vector:
    """Sum over points of log sum_k exp(logs + stored): a product of exponentials.

    Points whose topics are all far below a document's commonest would lose their sum;
    these are taken one by one.
    """
    top, most = logs.max(axis=1), stored.max(axis=1)
    sums = np.exp(stored - most[:, None]) @ np.exp(logs - top[:, None]).T
    lost = sums < LEAST_SUM
    both = np.log(np.where(lost, 1.0, sums)) + top + most[:, None]
    for document, point in np.argwhere(lost):
        both[document, point] = logsumexp(logs[point] + stored[document])
    out: Vector = both @ weight
    return out
