"""Splits and merges of topics: what is proposed, what it gains, what it makes.

Proposals take the items of a topic wholly for its own; whether a move is made is then
decided by the free energy after full sweeps (Gomes et al. 2008, Algorithm 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree._core.mixtures.shares import alpha_newton, column_rises
from dyntree._core.mixtures.topic_splits import Halving
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.families import Expected, Family
from dyntree.mixtures.hdp.store import Longs, Store, rows_of
from dyntree.mixtures.hdp.sweeps import (
    Search,
    State,
    Swept,
    Topics,
    penalties,
    swept,
    table_of_logs,
)

MERGE_STEPS = 3  # of Newton's for the alpha of a merged topic


@dataclass(frozen=True)
class Move:
    """A split of topic `one`, or a merge of two topics, and what it would gain."""

    gain: float  # change of the free energy, < 0 is better
    one: int
    two: int = -1  # merges only
    items: Any = None  # splits: the items of the topic
    share: Any = None  # of the first half in each of them
    alpha: tuple[float, ...] = ()  # of the two halves, or of the merged topic

    @property
    def is_split(self) -> bool:
        """Whether one topic becomes two."""
        return self.two < 0

    @property
    def topics(self) -> set[int]:
        """Topics that take part."""
        return {self.one} if self.is_split else {self.one, self.two}

    @property
    def growth(self) -> int:
        """How many topics more there are after it."""
        return 1 if self.is_split else -1


def parts_by(label: Any, n: int) -> tuple[Longs, Longs]:
    """Items of each of n labels: where each begins, and items sorted by label."""
    items = np.argsort(label, kind="stable").astype(np.int64)
    ptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(label, minlength=n), out=ptr[1:])
    return ptr, items


def halving(
    search: Search,
    documents: Vector,
    den: float,
    *,
    m_p: float = 1.0,
    m_d: float = 1.0,
    hard: bool = False,
) -> dict[str, Any]:
    """What `Halving` needs to know beside the items."""
    family, prior = search.family, search.prior
    return {
        "kind": family.kind, "d": family.d, "F": family.n_statistics,
        "V": family.n_words, "m0": family.m0, "kappa0": family.kappa0,
        "shape0": family.shape0, "scale0": family.scale0, "log_z0": family.log_z0,
        "a": prior.shape, "b": prior.rate, "den": den, "m_p": m_p, "m_d": m_d,
        "share": m_p / m_d, "D": documents, "hard": hard,
        "max_steps": search.options.local_sweeps,
    }  # fmt: skip


def ranked(search: Search, store: Store, state: State) -> Swept:
    """One more sweep, for labels and the ranks of moves (section 4.2)."""
    table = table_of_logs(state.topics, state.expected)
    return swept(search, store, table, state.expected, labels=True, ranks=True)


def split_order(search: Search, state: State, found: Swept) -> Longs:
    """Topics by local Kullback divergence, worst fit first (section 4.2)."""
    topics, expected = state.topics, state.expected
    N = np.maximum(found.N, 1e-300)
    if search.family.kind == 2:
        fit = np.einsum("vk,kv->k", expected.theta, topics.mean) / topics.N
    else:
        within = topics.scatter / topics.N[:, None]
        fit = expected.c + [
            log_fit(search.family, expected, *own, k)
            for k, own in enumerate(zip(topics.mean, within, strict=True))
        ]
    assert found.topic_entropy is not None
    score = found.topic_entropy / N - np.log(N) - fit
    return np.argsort(-score, kind="stable").astype(np.int64)


def proposed_splits(
    search: Search, store: Store, state: State, found: Swept, skip: set[int]
) -> list[Move]:
    """Each topic's best split, of those that there are items for."""
    topics = state.topics
    assert found.label is not None
    ptr, items = parts_by(found.label, topics.K)
    tried = np.flatnonzero(np.diff(ptr) >= 2)
    tried = tried[[k not in skip for k in tried.tolist()]]
    if search.options.splits != "all":
        order = split_order(search, state, found)
        tried = np.sort(order[np.isin(order, tried)][: search.options.splits])
    if not len(tried):
        return []
    chosen = np.concatenate([items[ptr[k] : ptr[k + 1]] for k in tried])
    inner = np.concatenate([[0], np.cumsum(np.diff(ptr)[tried])]).astype(np.int64)
    setting = halving(search, topics.documents, search.den(topics))
    halved = Halving(store.kernel, setting, search.n_threads)
    alpha = np.ascontiguousarray(topics.alpha[tried])
    gains, share, alphas, _ = halved.split(inner, chosen, alpha)
    return [
        Move(
            float(gain), int(k), items=chosen[first:last], share=share[first:last],
            alpha=(float(own[1]), float(own[2])),
        )
        for gain, k, first, last, own in zip(
            gains, tried, inner[:-1], inner[1:], alphas, strict=True
        )
        if np.isfinite(gain)
    ]  # fmt: skip


def proposed_merges(
    search: Search, store: Store, state: State, found: Swept, skip: set[frozenset[int]]
) -> list[Move]:
    """Merges of topics whose responsibilities are most alike (section 4.2)."""
    topics = state.topics
    if topics.K < 2 or not search.options.merges:
        return []
    assert found.gram is not None
    assert found.label is not None
    size = np.sqrt(np.maximum(np.diag(found.gram), 1e-300))
    alike = found.gram / size / size[:, None]
    first, second = np.triu_indices(topics.K, 1)
    order = np.argsort(-alike[first, second], kind="stable")
    pairs = [
        (int(first[i]), int(second[i]))
        for i in order[: search.options.merges + len(skip)]
        if frozenset((int(first[i]), int(second[i]))) not in skip
    ][: search.options.merges]
    ptr, items = parts_by(found.label, topics.K)
    table = table_of_logs(topics, state.expected)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    gains, alphas = merge_gains(
        search, topics, state.expected.log_z, first, second, search.den(topics)
    )
    moves = []
    for (a, b), gain, alpha in zip(pairs, gains, alphas, strict=True):
        union = np.concatenate([items[ptr[a] : ptr[a + 1]], items[ptr[b] : ptr[b + 1]]])
        entropy = two_way_entropy(store, table, state.expected, union, a, b)
        moves.append(Move(gain + entropy, a, b, alpha=(float(alpha),)))
    return moves


def two_way_entropy(
    store: Store, table: Matrix, expected: Expected, items: Longs, a: int, b: int
) -> float:
    """-sum N_c [r log r + (1 - r) log(1 - r)], r a softmax between two topics."""
    if not len(items):
        return 0.0
    gap = table[:, a] - table[:, b]
    single, joint = store.split_items(items)
    points, clumps = items[single], items[joint] - store.n_points
    logit = np.empty(len(items))
    logit[single] = gap[store.group[points]]
    places, owner = rows_of(store.clump_indptr, clumps)
    count = store.clump_count[clumps]
    by_group = store.clump_group_count[places] * gap[store.clump_group[places]]
    logit[joint] = np.bincount(owner, by_group, len(clumps)) / count
    if store.family.kind == 2:
        gap = expected.theta[:, a] - expected.theta[:, b]
        logit[single] += gap[store.word[points]]
        places, owner = rows_of(store.clump_word_indptr, clumps)
        by_word = store.clump_word_count[places] * gap[store.clump_word[places]]
        logit[joint] += np.bincount(owner, by_word, len(clumps)) / count
    else:
        x = store.positions(items)
        within = np.zeros((len(items), store.family.n_second))
        within[joint] = store.clump_scatter[clumps] / count[:, None]
        logit += log_fit(store.family, expected, x, within, a)
        logit -= log_fit(store.family, expected, x, within, b)
    e = np.exp(-np.abs(np.clip(logit, -500.0, 500.0)))
    # r log r + (1 - r) log(1 - r), of the larger share 1 / (1 + e)
    entropy = np.log1p(e) + e / (1.0 + e) * np.abs(np.clip(logit, -500.0, 500.0))
    return float(store.weights[items] @ entropy)


def log_fit(family: Family, expected: Expected, x: Any, within: Any, k: int) -> Any:
    """<theta_k, phibar>, or what a far topic has in its place."""
    d, far = family.d, np.flatnonzero(expected.far == k)
    theta = expected.far_theta[far[0]] if len(far) else expected.theta[k]
    if len(far):
        x = x - expected.far_centre[far[0]]
    return x @ theta[:d] + (family.outer(x) + within) @ theta[d:]


def merge_gains(
    search: Search,
    topics: Topics,
    log_z: Vector,
    first: Any,
    second: Any,
    den: float,
    *,
    m_p: float = 1.0,
    m_d: float = 1.0,
) -> tuple[Vector, Vector]:
    """Changes of F by merges, without their entropy, and alphas (section 3.6).

    log_z is of m_p times the statistics; first and second hold the topics of pairs.
    """
    family, prior, share = search.family, search.prior, m_p / m_d
    one = tuple(array[first] for array in topics.statistics)
    two = tuple(array[second] for array in topics.statistics)
    N, mean, scatter = family.join(one, two)
    joint = family.expected(N * m_p, mean if family.kind < 2 else mean * m_p,
                            scatter * m_p).log_z  # fmt: skip
    gain = log_z[first] + log_z[second] - joint - family.log_z0
    counts = topics.per_document
    both = np.ascontiguousarray(counts[:, first] + counts[:, second])
    start = np.ascontiguousarray(topics.alpha[first] + topics.alpha[second])
    alpha = alpha_newton(
        both, topics.documents, start, share, m_d, den, prior.shape, MERGE_STEPS, 1e-8
    )
    rise = m_d * column_rises(both, topics.documents, alpha, share)
    cost = penalties(prior, alpha) + (den - prior.rate) * alpha - rise
    rise = m_d * column_rises(counts, topics.documents, topics.alpha, share)
    own = penalties(prior, topics.alpha) + (den - prior.rate) * topics.alpha - rise
    return gain + cost - own[first] - own[second], alpha


def applied(
    store: Store, topics: Topics, moves: list[Move], next_id: int
) -> tuple[Topics, dict[int, int]]:
    """Topics after moves that share none, and which ids went into which.

    The larger half of a split keeps the id of the whole; a merged topic has that of
    the larger one.
    """
    drop: list[int] = []
    add: list[Topics] = []
    into: dict[int, int] = {}
    for move in moves:
        if move.is_split:
            add.append(halves(store, topics, move, next_id))
            next_id += 1
            drop.append(move.one)
        else:
            merged = together(store.family, topics, move)
            add.append(merged)
            kept = int(merged.ids[0])
            for k in move.topics:
                if int(topics.ids[k]) != kept:
                    into[int(topics.ids[k])] = kept
            drop += sorted(move.topics)
    stay = topics.taken(np.setdiff1d(np.arange(topics.K), drop))
    every = [stay, *add]
    out = replace(
        topics,
        alpha=np.concatenate([one.alpha for one in every]),
        N=np.concatenate([one.N for one in every]),
        mean=np.concatenate([one.mean for one in every]),
        scatter=np.concatenate([one.scatter for one in every]),
        counts=np.concatenate([one.counts for one in every], axis=1),
        ids=np.concatenate([one.ids for one in every]),
    )
    return (replace(out, alpha=np.ones(1)) if out.K == 1 else out), into


def halves(store: Store, topics: Topics, move: Move, next_id: int) -> Topics:
    """The two topics of a split, straight from the local steps."""
    found = [store.moments(move.items, r) for r in (move.share, 1.0 - move.share)]
    counts = [
        store.group_sums(move.items, r, topics.S)
        for r in (move.share, 1.0 - move.share)
    ]
    ids = [int(topics.ids[move.one]), next_id]
    if found[1][0] > found[0][0]:
        ids.reverse()
    return replace(
        topics,
        alpha=np.array(move.alpha),
        N=np.array([one[0] for one in found]),
        mean=np.stack([one[1] for one in found]),
        scatter=np.stack([one[2] for one in found]),
        counts=np.stack(counts, axis=1),
        ids=np.array(ids, dtype=np.int64),
    )


def together(family: Family, topics: Topics, move: Move) -> Topics:
    """The topic that a merge makes."""
    a, b = move.one, move.two
    if topics.N[b] > topics.N[a]:
        a, b = b, a
    one, two = topics.taken([a]), topics.taken([b])
    N, mean, scatter = family.join(one.statistics, two.statistics)
    return replace(
        topics, alpha=np.array(move.alpha), N=N, mean=mean, scatter=scatter,
        counts=one.counts + two.counts, ids=one.ids,
    )  # fmt: skip
