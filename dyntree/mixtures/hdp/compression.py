"""Compression: items are split into clumps within the limits (section 4.4)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dyntree._core.mixtures.topic_splits import Halving
from dyntree.encoding.values import Vector
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.grouping import merged_groups
from dyntree.mixtures.hdp.limits import BudgetError, Limits
from dyntree.mixtures.hdp.moves import Move, applied, halving, merge_gains, parts_by
from dyntree.mixtures.hdp.store import Ints, Longs, Store, distinct, row_numbers
from dyntree.mixtures.hdp.sweeps import ONCE, Magnification, Search
from dyntree.mixtures.hdp.topics import Topics

ASIDE = 32  # leaves in a row that fit no more, after which nothing will
MOST_AT_ONCE = 256  # pairs of topics whose merge is tried at a time


@dataclass(frozen=True)
class Part:
    """Items that may become one clump."""

    items: Longs
    n_groups: int
    n_words: int
    n_points: int  # singlets among the items
    topic: int

    def is_clump(self, family: Family, in_bytes: bool) -> bool:
        """Whether one clump is less than its points, or holds a clump already."""
        if self.n_points < len(self.items):
            return True
        if not in_bytes:
            return self.n_points > 1
        points: int = self.n_points * family.point_bytes
        return bool(points > family.clump_bytes(self.n_groups, self.n_words))

    def cost(self, family: Family, in_bytes: bool) -> tuple[int, int]:
        """Bytes and items at rest."""
        if self.is_clump(family, in_bytes):
            return int(family.clump_bytes(self.n_groups, self.n_words)), 1
        return self.n_points * family.point_bytes, self.n_points


class Halves(NamedTuple):
    """How a part would be halved; most never are, so that nothing is made of it yet."""

    share: Vector  # of the first half in each item, 0 or 1
    sizes: Ints  # groups of both halves, then words
    alpha: Vector

    def of(self, part: Part, n_points: int) -> tuple[Part, Part]:
        """Both halves of a part; items below `n_points` are points."""
        first = self.share == 1.0
        inside = part.items[first], part.items[~first]
        groups_1, groups_2, words_1, words_2 = self.sizes.tolist()
        points = [int(np.count_nonzero(half < n_points)) for half in inside]
        return (
            Part(inside[0], groups_1, words_1, points[0], part.topic),
            Part(inside[1], groups_2, words_2, points[1], part.topic),
        )


@dataclass(frozen=True)
class Compressed:
    """What a compression left."""

    store: Store
    topics: Topics
    group_of: Ints
    aliases: tuple[tuple[int, int], ...] = ()
    gave_up_groups: bool = False


def initial_parts(store: Store, label: Any, topics: Topics) -> list[Part]:
    """One part a topic: the items whose best topic it is."""
    ptr, items = parts_by(label, topics.K)
    joint = label[store.n_points :]
    n_groups = distinct(
        np.concatenate(
            [label[: store.n_points], joint[row_numbers(store.clump_indptr)]]
        ),
        np.concatenate([store.group, store.clump_group]), topics.K, topics.S,
    )  # fmt: skip
    n_words = store.words_in(label, topics.K)
    points = np.bincount(label[: store.n_points], minlength=topics.K)
    return [
        Part(
            items[ptr[k] : ptr[k + 1]], int(n_groups[k]), int(n_words[k]),
            int(points[k]), k,
        )
        for k in range(topics.K)
        if ptr[k] < ptr[k + 1]
    ]  # fmt: skip


@dataclass(frozen=True)
class CompressionLimits:
    """Limits that a compression must respect, and how many times the data count."""

    search: Search
    limits: Limits
    fixed: int  # bytes of other arrays
    times: Magnification

    def totals(self, parts: list[Part], in_bytes: bool) -> tuple[int, int]:
        """Bytes and items of parts at rest."""
        family = self.search.family
        costs = np.array([part.cost(family, in_bytes) for part in parts])
        n_bytes, n_items = costs.sum(0).tolist()
        return n_bytes, n_items


def compressed(
    room: CompressionLimits, store: Store, topics: Topics, label: Any
) -> Compressed:
    """Return store and topics within the limits, items split as far as they allow."""
    family, limits, fixed = room.search.family, room.limits, room.fixed
    group_of = np.arange(topics.S, dtype=np.int32)
    aliases: list[tuple[int, int]] = []
    most = limits.most_groups(topics.S, topics.K, fixed)
    gave_up = limits.groups is None or most < min(topics.S, limits.groups)
    gave_up = gave_up and most < topics.S
    cap = limits.most_topics(family, topics.S, fixed)
    while True:
        if most < topics.S:
            rule = room.search.options.group_merge
            topics, joined = merged_groups(topics, most, rule, room.times)
            store, group_of = store.regrouped(joined, topics.S), joined[group_of]
        if cap < topics.K:
            topics, label, new = fewer_topics(
                room.search, store, topics, label, cap, room.times
            )
            aliases += new
        if limits.memory is None and limits.items is None:
            return Compressed(store, topics, group_of, tuple(aliases), gave_up)
        parts = initial_parts(store, label, topics)
        budget = limits.bytes_left(family, topics.K, topics.S, fixed)
        most_items = np.inf if limits.items is None else limits.items
        in_bytes = limits.memory is not None
        n_bytes, n_items = room.totals(parts, in_bytes)
        if in_bytes and n_items > most_items:
            in_bytes = False
            n_bytes, n_items = room.totals(parts, in_bytes)
        if n_bytes <= budget and n_items <= most_items:
            break
        by_group = 8 * topics.S * (1 + topics.K) + 12 * sum(p.n_groups for p in parts)
        by_topic = topics.K * (family.topic_bytes + family.smallest_clump)
        if topics.S > 1 and (by_group > by_topic or topics.K == 1):
            most, gave_up = max(1, topics.S * 4 // 5), True
        elif topics.K > 1:
            cap = max(1, topics.K * 4 // 5)
        else:
            raise BudgetError(n_bytes, budget)
    leaves = divided(room, store, topics, parts, budget, in_bytes)
    small = clumps_of(store, leaves, family, in_bytes)
    return Compressed(small, topics, group_of, tuple(aliases), gave_up)


def clumps_of(
    store: Store, leaves: list[Part], family: Family, in_bytes: bool
) -> Store:
    """The store once parts are clumps, but for those that stay points."""
    part_of = np.empty(store.n_items, dtype=np.int64)
    for number, part in enumerate(leaves):
        part_of[part.items] = number
    is_clump = [part.is_clump(family, in_bytes) for part in leaves]
    return store.clumped(part_of, np.array(is_clump, dtype=bool))


def fewer_topics(
    search: Search,
    store: Store,
    topics: Topics,
    label: Any,
    cap: int,
    times: Magnification = ONCE,
) -> tuple[Topics, Any, list[tuple[int, int]]]:
    """Merge topics by the smallest change of F until there are at most `cap`."""
    aliases: list[tuple[int, int]] = []
    while cap < topics.K:
        family = search.family
        many = family.magnified(topics.statistics, times.points)
        log_z = family.expected(*many).log_z
        first, second = np.triu_indices(topics.K, 1)
        denominator = search.alpha_denominator(topics, times)
        gains, alphas = np.empty(len(first)), np.empty(len(first))
        for start in range(0, len(first), MOST_AT_ONCE):
            some = slice(start, start + MOST_AT_ONCE)
            gains[some], alphas[some] = merge_gains(
                search, topics, log_z, first[some], second[some], denominator, times
            )
        moves: list[Move] = []
        used: set[int] = set()
        wanted = max(1, (topics.K - cap + 1) // 2)
        for i in np.argsort(gains, kind="stable"):
            a, b = int(first[i]), int(second[i])
            if not used & {a, b}:
                moves.append(Move(float(gains[i]), a, b, alpha=(float(alphas[i]),)))
                used |= {a, b}
            if len(moves) == wanted:
                break
        old_ids = topics.ids
        topics, into = applied(store, topics, moves, 0)
        place = {int(one): k for k, one in enumerate(topics.ids)}
        to = np.array(
            [place[into.get(int(i), int(i))] for i in old_ids], dtype=np.int32
        )
        label = to[label]
        aliases += into.items()
    return topics, label, aliases


def divided(
    room: CompressionLimits,
    store: Store,
    topics: Topics,
    parts: list[Part],
    budget: float,
    in_bytes: bool,
) -> list[Part]:
    """Split parts, the best first, while bytes and items are left."""
    search, family = room.search, room.search.family
    denominator = search.alpha_denominator(topics, room.times)
    setting = halving(search, topics.documents, denominator, room.times, hard=True)
    halved = Halving(store.kernel, setting, search.n_threads)
    most = np.inf if room.limits.items is None else room.limits.items
    n_bytes, n_items = room.totals(parts, in_bytes)
    heap: list[tuple[float, int, Part, Halves]] = []
    leaves: dict[int, Part] = {}
    number = 0

    def grow(some: Sequence[Part], alpha: Vector) -> None:
        nonlocal number
        can = []
        for part, a in zip(some, alpha, strict=True):
            leaves[number] = part
            if len(part.items) >= 2 and part.is_clump(family, in_bytes):
                can.append((number, part, a))
            number += 1
        for (place, part, _), (gain, halves) in zip(
            can, best_splits(halved, can), strict=True
        ):
            if gain < np.inf:
                heapq.heappush(heap, (gain, place, part, halves))

    grow(parts, topics.alpha[[part.topic for part in parts]])
    aside = 0
    while heap and aside < ASIDE:
        _, place, part, halves = heapq.heappop(heap)
        both = halves.of(part, store.n_points)
        costs = [one.cost(family, in_bytes) for one in (part, *both)]
        more_bytes, more_items = (
            one + two - old for old, one, two in zip(*costs, strict=True)
        )
        if n_bytes + more_bytes > budget or n_items + more_items > most:
            aside += 1
            if search.follows_paper:
                break
            continue
        aside = 0
        n_bytes, n_items = n_bytes + more_bytes, n_items + more_items
        del leaves[place]
        grow(both, halves.alpha)
    return list(leaves.values())


def best_splits(halved: Halving, can: list[Any]) -> list[tuple[float, Halves]]:
    """The best halves of each part and their change of F, inf where there are none."""
    if not can:
        return []
    ptr = np.cumsum([0, *(len(part.items) for _, part, _ in can)])
    items = np.concatenate([part.items for _, part, _ in can])
    alpha = np.array([a for _, _, a in can])
    gains, share, alphas, sizes = halved.split(ptr, items, alpha)
    return [
        (gain, Halves(share[ptr[i] : ptr[i + 1]], sizes[i], alphas[i, 1:]))
        for i, gain in enumerate(gains.tolist())
    ]
