"""Answers for documents with the topics as they are; nothing is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dyntree._core.mixtures.shares import expected_logs
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Expected
from dyntree.mixtures.hdp.heldout import log_density, proportions
from dyntree.mixtures.hdp.store import Store, store_of
from dyntree.mixtures.hdp.sweeps import (
    Search,
    Topics,
    free_energy,
    swept,
    table_of_logs,
)

MOST_STEPS, SMALL_CHANGE = 100, 1e-3  # of counts, while proportions are found
BLOCK = 4096  # rows whose densities exist at a time
AT_ONCE = 1024  # stored documents that are compared at a time
LEAST_SUM = 1e-200  # of exponentials, below which digits are lost


@dataclass(frozen=True)
class Folded:
    """Documents whose proportions were found with topics fixed."""

    topics: Topics  # counts and documents are those of the documents asked about
    expected: Expected
    store: Store

    @property
    def proportions(self) -> Matrix:
        """E pi, shape (n_documents, n_topics)."""
        return proportions(self.topics)


def folded(
    search: Search,
    topics: Topics,
    store: Store,
    n_documents: int,
    *,
    steps: int = MOST_STEPS,
) -> Folded:
    """Iterate eqs. 20 and 21 for each document until its counts change by little."""
    sizes = store.group_sums(
        np.arange(store.n_items), np.ones(store.n_items), n_documents
    )
    counts = np.outer(sizes, topics.N / topics.N.sum())
    one = np.ones(n_documents)
    expected = search.family.expected(*topics.statistics)
    open_, part = np.flatnonzero(sizes), store
    if 0 < len(open_) < n_documents:
        part = part_of(store, open_)
    for _ in range(steps):
        if not len(open_):
            break
        now = replace(topics, counts=counts[open_], documents=one[open_])
        new = swept(search, part, table_of_logs(now, expected), expected).counts
        moved = np.abs(new - counts[open_]).max(axis=1)
        counts[open_] = new
        going = moved > SMALL_CHANGE
        if going.all():
            continue
        open_ = open_[going]
        part = part_of(part, np.flatnonzero(going))
    return Folded(replace(topics, counts=counts, documents=one), expected, store)


def part_of(store: Store, documents: Any) -> Store:
    """Points of some documents, numbered from 0."""
    place = np.full(int(store.group.max()) + 1, -1, dtype=np.int32)
    known = documents < len(place)
    place[documents[known]] = np.flatnonzero(known)
    own = place[store.group]
    inside = own >= 0
    if store.family.kind == 2:
        words = store.word[inside], store.word_count[inside]
        return store_of(store.family, None, own[inside], words=words)
    return store_of(store.family, store.x[inside], own[inside])


def best_topics(search: Search, found: Folded) -> Any:
    """Place of the best topic of each item."""
    table = table_of_logs(found.topics, found.expected)
    return swept(search, found.store, table, found.expected, labels=True).label


def responsibilities(search: Search, found: Folded, rows: Any) -> Matrix:
    """Topic probabilities of the points of documents, shape (n, K)."""
    table = table_of_logs(found.topics, found.expected)
    logs = point_logs(search, found.expected, rows)
    logs += table[found.store.group]
    logs -= logs.max(axis=1, keepdims=True)
    q = np.exp(logs)
    out: Matrix = q / q.sum(axis=1, keepdims=True)
    return out


def point_logs(search: Search, expected: Expected, points: Any) -> Matrix:
    """<theta_k, phi(x)> of points, or of word ids, without c; shape (n, K)."""
    family = search.family
    if family.kind == 2:
        words: Matrix = expected.theta[points]
        return words
    phi = np.concatenate([points, family.outer(points)], axis=1)
    out: Matrix = phi @ expected.theta.T
    for k, theta, centre in zip(
        expected.far, expected.far_theta, expected.far_centre, strict=True
    ):
        gap = points - centre
        out[:, k] = np.concatenate([gap, family.outer(gap)], axis=1) @ theta
    return out


def log_predictive(search: Search, found: Folded, proportions_of: Matrix) -> Vector:
    """Log predictive density of each point under its document's proportions."""
    store = found.store
    points = store.word if search.family.kind == 2 else store.x
    out = np.empty(store.n_points)
    for start in range(0, store.n_points, BLOCK):
        some = slice(start, start + BLOCK)
        out[some] = log_density(
            search.family, found.topics, points[some], proportions_of[store.group[some]]
        )
    return out


def documents_free_energy(search: Search, found: Folded) -> float:
    """Free energy of documents with q(eta) and alpha as they are (section 3.1)."""
    table = table_of_logs(found.topics, found.expected)
    new = swept(search, found.store, table, found.expected)
    topics = replace(found.topics, counts=new.counts)
    family, expected = search.family, found.expected
    documents = free_energy(search, topics, 0.0, 0.0, np.full(topics.K, family.log_z0))
    own = topics.statistics
    divergence = family_fit(search, expected, *own) - family.log_base * own[0].sum()
    divergence += topics.K * family.log_z0 - expected.log_z.sum()
    fit = family_fit(search, expected, new.N, new.mean, new.scatter)
    return float(new.entropy - fit + documents + divergence)


def family_fit(
    search: Search, expected: Expected, N: Vector, mean: Matrix, scatter: Matrix
) -> float:
    """sum_k c_k N_k + <theta_k, S_k>, the expected log density of all points."""
    family = search.family
    if family.kind == 2:
        return float((expected.theta * mean.T).sum())
    total = float(expected.c @ N)
    d = family.d
    for k in range(len(N)):
        place = np.flatnonzero(expected.far == k)
        theta, at = expected.theta[k], mean[k]
        if len(place):
            theta = expected.far_theta[place[0]]
            at = at - expected.far_centre[place[0]]
        first = at @ theta[:d] + family.outer(at) @ theta[d:]
        total += N[k] * float(first) + float(scatter[k] @ theta[d:])
    return total


# ---------------------------------------------------------------- retrieval
def index_logs(found: Folded) -> Matrix:
    """E log pi of each document, shape (n_documents, K)."""
    topics = found.topics
    out: Matrix = expected_logs(
        topics.per_document, topics.alpha, np.zeros(topics.K), 1.0,
        float(topics.alpha.sum()),
    )  # fmt: skip
    return out


def retrieval_scores(search: Search, found: Folded, stored: Any, method: str) -> Matrix:
    """Scores of stored documents for each query document, shape (n_queries, n_stored).

    By eq. 28 (section 3.8): hard puts each point on its best topic, soft sums over
    topics, fast takes the hard counts that a query has under its own proportions.
    """
    store = found.store
    n_queries = found.topics.S
    out = np.empty((n_queries, len(stored)))
    points = store.word if search.family.kind == 2 else store.x
    if method == "fast":
        label, weight = best_topics(search, found), store.weights
        K = found.topics.K
        key = store.group.astype(np.int64) * K + label
        counts = np.bincount(key, weight, n_queries * K).reshape(n_queries, K)
        fast: Matrix = counts.astype(stored.dtype) @ stored.T
        return fast
    score = hard_scores if method == "hard" else soft_scores
    for query in range(n_queries):
        own = np.flatnonzero(store.group == query)
        logs = point_logs(search, found.expected, points[own]) + found.expected.c
        for start in range(0, len(stored), AT_ONCE):
            some = stored[start : start + AT_ONCE].astype(np.float64)
            out[query, start : start + AT_ONCE] = score(logs, store.weights[own], some)
    return out


def hard_scores(logs: Matrix, weight: Vector, stored: Matrix) -> Vector:
    """Sum over points of the largest of logs + stored, for each stored document."""
    best = np.full((len(stored), len(logs)), -np.inf)
    for k in range(logs.shape[1]):
        np.maximum(best, stored[:, k, None] + logs[:, k], out=best)
    out: Vector = best @ weight
    return out


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
