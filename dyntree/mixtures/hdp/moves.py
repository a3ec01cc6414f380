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
    ONCE,
    Magnification,
    Search,
    Solution,
    SweepSums,
    penalties,
    swept,
    table_of_logs,
)
from dyntree.mixtures.hdp.topics import Topics

MERGES = 10  # pairs that are tried in a round
SPLIT_STEPS = 10  # that refine a proposed split
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
    denominator: float,
    times: Magnification = ONCE,
    *,
    hard: bool = False,
) -> dict[str, Any]:
    """Settings of the kernel that halves topics."""
    family, prior = search.family, search.prior
    return {
        "kind": family.kind, "d": family.d, "F": family.n_statistics,
        "V": family.n_words, "m0": family.m0, "kappa0": family.kappa0,
        "shape0": family.shape0, "scale0": family.scale0, "log_z0": family.log_z0,
        "a": prior.shape, "b": prior.rate, "den": denominator,
        "m_p": times.points, "m_d": times.documents, "share": times.share,
        "D": documents, "hard": hard, "max_steps": SPLIT_STEPS,
    }  # fmt: skip


def swept_for_proposals(search: Search, store: Store, found: Solution) -> SweepSums:
    """Sweep once more for labels and for the scores that rank moves (section 4.2).

    By default topics of words are ranked by no scores: all splits are tried, and merges
    by the words of topics.
    """
    options = search.options
    ranks = options.splits != "all" or not (
        search.family.of_words and options.merges == "auto"
    )
    return swept(search, store, found.topics, found.expected, labels=True, ranks=ranks)


def split_order(search: Search, solution: Solution, found: SweepSums) -> Longs:
    """Topics by local Kullback divergence, worst fit first (section 4.2)."""
    assert found.topic_entropy is not None
    N = np.maximum(found.N, 1e-300)
    fit = search.family.log_fit(solution.expected, solution.topics.statistics)
    score = found.topic_entropy / N - np.log(N) - fit
    return np.argsort(-score, kind="stable").astype(np.int64)


def proposed_splits(
    search: Search, store: Store, solution: Solution, found: SweepSums, skip: set[int]
) -> list[Move]:
    """Each topic's best split, of those that there are items for."""
    topics = solution.topics
    assert found.label is not None
    ptr, items = parts_by(found.label, topics.K)
    tried = np.flatnonzero(np.diff(ptr) >= 2)
    tried = tried[[k not in skip for k in tried.tolist()]]
    if search.options.splits != "all":
        order = split_order(search, solution, found)
        tried = np.sort(order[np.isin(order, tried)][: search.options.splits])
    if not len(tried):
        return []
    chosen = np.concatenate([items[ptr[k] : ptr[k + 1]] for k in tried])
    inner = np.concatenate([[0], np.cumsum(np.diff(ptr)[tried])]).astype(np.int64)
    denominator = search.alpha_denominator(topics)
    setting = halving(search, topics.documents, denominator)
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
    search: Search,
    store: Store,
    solution: Solution,
    found: SweepSums,
    skip: set[frozenset[int]],
) -> list[Move]:
    """Merges of topics that are most alike (section 4.2)."""
    topics = solution.topics
    if topics.K < 2 or search.options.merges == 0:
        return []
    assert found.label is not None
    gram, most = found.gram, MERGES
    if search.options.merges != "auto":
        most = int(search.options.merges)
    elif search.family.of_words:
        gram, most = topics.mean @ topics.mean.T, max(MERGES, topics.K)
    assert gram is not None
    size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    alike = gram / size / size[:, None]
    first, second = np.triu_indices(topics.K, 1)
    order = np.argsort(-alike[first, second], kind="stable")
    pairs = [
        (int(first[i]), int(second[i]))
        for i in order[: most + len(skip)]
        if frozenset((int(first[i]), int(second[i]))) not in skip
    ][:most]
    ptr, items = parts_by(found.label, topics.K)
    table = table_of_logs(topics, solution.expected.c)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    gains, alphas = merge_gains(
        search, topics, solution.expected.log_z, first, second,
        search.alpha_denominator(topics),
    )  # fmt: skip
    moves = []
    for (a, b), gain, alpha in zip(pairs, gains, alphas, strict=True):
        union = np.concatenate([items[ptr[a] : ptr[a + 1]], items[ptr[b] : ptr[b + 1]]])
        entropy = two_way_entropy(store, table, solution.expected, union, a, b)
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
    store.add_log_odds(logit, items, expected, a, b)
    e = np.exp(-np.abs(np.clip(logit, -500.0, 500.0)))
    # r log r + (1 - r) log(1 - r), of the larger share 1 / (1 + e)
    entropy = np.log1p(e) + e / (1.0 + e) * np.abs(np.clip(logit, -500.0, 500.0))
    return float(store.weights[items] @ entropy)


def merge_gains(
    search: Search,
    topics: Topics,
    log_z: Vector,
    first: Any,
    second: Any,
    denominator: float,
    times: Magnification = ONCE,
) -> tuple[Vector, Vector]:
    """Changes of F by merges, without their entropy, and alphas (section 3.6).

    log_z is that of magnified statistics; first and second hold the topics of pairs.
    """
    family, prior, share = search.family, search.prior, times.share
    N, mean, scatter = topics.statistics
    joint = family.joined(
        (N[first], mean[first], scatter[first]),
        (N[second], mean[second], scatter[second]),
    )
    joint_log_z = family.expected(*family.magnified(joint, times.points)).log_z
    gain = log_z[first] + log_z[second] - joint_log_z - family.log_z0
    counts = topics.per_document
    both = np.ascontiguousarray(counts[:, first] + counts[:, second])
    start = np.ascontiguousarray(topics.alpha[first] + topics.alpha[second])
    D, slope = topics.documents, denominator - prior.rate
    alpha = alpha_newton(
        both, D, start, share, times.documents, denominator, prior.shape, MERGE_STEPS,
        1e-8,
    )  # fmt: skip

    def cost(counts: Matrix, alpha: Vector) -> Any:
        rise = times.documents * column_rises(counts, D, alpha, share)
        return penalties(prior, alpha) + slope * alpha - rise

    own = cost(counts, topics.alpha)
    return gain + cost(both, alpha) - own[first] - own[second], alpha


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
            name = int(merged.ids[0])
            for k in move.topics:
                if int(topics.ids[k]) != name:
                    into[int(topics.ids[k])] = name
            drop += sorted(move.topics)
    out = topics.taken(np.setdiff1d(np.arange(topics.K), drop)).beside(add)
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
    N, mean, scatter = family.joined(one.statistics, two.statistics)
    return replace(
        topics, alpha=np.array(move.alpha), N=N, mean=mean, scatter=scatter,
        counts=one.counts + two.counts, ids=one.ids,
    )  # fmt: skip
