"""Building: documents of an epoch are added; topics split and merge (section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.moves import (
    Move,
    applied,
    proposed_merges,
    proposed_splits,
    ranked,
)
from dyntree.mixtures.hdp.store import Ints, Longs, Store
from dyntree.mixtures.hdp.sweeps import Search, State, Topics, settled

MOST_SEEDED = 20_000  # points that k-means++ looks at
LLOYD_STEPS = 5
SINGLES = 3  # best moves that are tried alone once all together were refused
LEAST_ALPHA = 0.05  # of a topic that starts
CHANGED = 0.01  # of a topic's points, after which a refused move is tried again


@dataclass
class Work:
    """What a build has done so far."""

    cap: int  # most topics
    gain: float  # nats that one more topic must bring
    next_id: int
    aliases: list[tuple[int, int]] = field(default_factory=list)
    n_sweeps: int = 0
    n_tried: int = 0
    n_made: int = 0
    n_refused: int = 0
    n_jitters: int = 0
    n_held: int = 0
    splits_refused: dict[int, float] = field(default_factory=dict)
    merges_refused: dict[frozenset[int], tuple[float, float]] = field(
        default_factory=dict
    )

    def count(self, state: State) -> State:
        """Count the sweeps of a state."""
        self.n_sweeps += state.n_sweeps
        self.n_jitters += state.n_jitters
        self.n_held += state.n_held
        return state


def usage_counts(topics: Topics, sizes: Vector) -> Matrix:
    """Expected topic counts of new groups, shared as all points are (section 4.3)."""
    out: Matrix = np.outer(sizes, topics.N / topics.N.sum())
    return out


def with_documents(
    search: Search, topics: Topics, sizes: Vector, documents: Vector
) -> Topics:
    """Topics once groups are added: of so many points and documents each."""
    counts = usage_counts(topics, sizes)
    if search.options.new_documents == "alpha":
        counts = np.zeros_like(counts)
    return replace(
        topics,
        counts=np.concatenate([topics.counts, counts]),
        documents=np.concatenate([topics.documents, documents]),
    )


def first_topics(
    search: Search,
    store: Store,
    documents: Vector,
    n_topics: int,
    rng: np.random.Generator,
) -> Topics:
    """Topics that the first epoch starts from."""
    if search.family.kind == 2:
        return random_topics(store, documents, n_topics, rng)
    label = seeded_labels(store, n_topics, rng)
    used, label = np.unique(label, return_inverse=True)
    return hard_topics(store, documents, label, len(used))


def starting_alpha(N: Vector) -> Vector:
    """Twice the share of each topic, .05 at least; 1 for a lone one."""
    if len(N) < 2:
        return np.ones(len(N))
    alpha: Vector = np.maximum(2.0 * N / N.sum(), LEAST_ALPHA)
    return alpha


def hard_topics(store: Store, documents: Vector, label: Any, K: int) -> Topics:
    """Topics of items that have one label each."""
    found, counts = [], []
    for k in range(K):
        items = np.flatnonzero(label == k).astype(np.int64)
        ones = np.ones(len(items))
        found.append(store.moments(items, ones))
        counts.append(store.group_sums(items, ones, len(documents)))
    N = np.array([one[0] for one in found])
    return Topics(
        starting_alpha(N), N,
        np.stack([one[1] for one in found]), np.stack([one[2] for one in found]),
        np.stack(counts, axis=1), documents, np.arange(K, dtype=np.int64),
    )  # fmt: skip


def seeded_labels(store: Store, K: int, rng: np.random.Generator) -> Longs:
    """Labels by k-means++ and a few Lloyd steps (Arthur and Vassilvitskii 2007)."""
    items = np.arange(store.n_items)
    if K < 2:
        return np.zeros(store.n_items, dtype=np.int64)
    if len(items) > MOST_SEEDED:
        items = np.sort(rng.choice(items, MOST_SEEDED, replace=False))
    x, weight = store.positions(items), store.weights[items]
    centres = x[[rng.choice(len(x), p=weight / weight.sum())]]
    nearest = np.square(x - centres[0]).sum(1)
    while len(centres) < K:
        chance = weight * nearest
        if not chance.sum() > 0.0:
            break
        chosen = x[rng.choice(len(x), p=chance / chance.sum())]
        nearest = np.minimum(nearest, np.square(x - chosen).sum(1))
        centres = np.concatenate([centres, chosen[None]])
    for _ in range(LLOYD_STEPS):
        label = nearest_centre(x, centres)
        total = np.bincount(label, weight, len(centres))
        sums = np.stack(
            [np.bincount(label, weight * column, len(centres)) for column in x.T],
            axis=1,
        )
        centres = np.where(
            (total > 0.0)[:, None], sums / np.maximum(total, 1e-300)[:, None], centres
        )
    every = np.arange(store.n_items)
    return np.concatenate(
        [
            nearest_centre(store.positions(part), centres)
            for part in np.array_split(every, 1 + len(every) // 8192)
        ]
    )


def nearest_centre(x: Matrix, centres: Matrix) -> Longs:
    """Place of the nearest centre of each point."""
    out: Longs = np.argmin(
        np.square(centres).sum(1) - 2.0 * x @ centres.T, axis=1
    ).astype(np.int64)
    return out


def random_topics(
    store: Store, documents: Vector, K: int, rng: np.random.Generator
) -> Topics:
    """Topics of words: each item half in its document's topic, half in its own draw."""
    S, V = len(documents), store.family.n_words
    of_document = rng.integers(K, size=S)
    counts, words = np.zeros((S, K)), np.zeros((K, V))
    for part in np.array_split(np.arange(store.n_points), 1 + store.n_points // 4096):
        q = 0.5 * rng.dirichlet(np.full(K, 0.3), len(part)) if K > 1 else None
        group, word = store.group[part], store.word[part]
        if q is None:
            q = np.ones((len(part), 1))
        else:
            q[np.arange(len(part)), of_document[group]] += 0.5
        q *= store.weights[part][:, None]
        np.add.at(counts, group, q)
        np.add.at(words.T, word, q)
    N = counts.sum(0)
    return Topics(
        starting_alpha(N), N, words, np.zeros((K, 0)), counts, documents,
        np.arange(K, dtype=np.int64),
    )  # fmt: skip


def with_births(
    store: Store,
    topics: Topics,
    new_groups: Ints,
    n_birth: int,
    work: Work,
    rng: np.random.Generator,
) -> Topics:
    """Fresh topics, each of half the mass of a random document of the epoch."""
    every = np.arange(store.n_items)
    sizes = store.group_sums(every, np.ones(store.n_items), topics.S)
    new_groups = new_groups[sizes[new_groups] > 0.0]  # the others have no rows
    n_birth = min(n_birth, len(new_groups), work.cap - topics.K)
    if n_birth < 1:
        return topics
    chosen = np.sort(rng.choice(new_groups, n_birth, replace=False))
    counts, born = topics.counts.copy(), []
    for group in chosen:
        items = store.items_of(group)
        born.append(store.moments(items, np.full(len(items), 0.5)))
        counts[group] *= 0.5
    own = np.zeros((topics.S, len(born)))
    own[chosen, np.arange(len(born))] = [one[0] for one in born]
    N = np.concatenate([topics.N, [one[0] for one in born]])
    ids = work.next_id + np.arange(len(born))
    work.next_id += len(born)
    return Topics(
        np.concatenate([topics.alpha, starting_alpha(N)[topics.K :]]), N,
        np.concatenate([topics.mean, np.stack([one[1] for one in born])]),
        np.concatenate([topics.scatter, np.stack([one[2] for one in born])]),
        np.concatenate([counts, own], axis=1), topics.documents,
        np.concatenate([topics.ids, ids]),
    )  # fmt: skip


def searched(search: Search, store: Store, state: State, work: Work) -> State:
    """Make moves until none is left that lowers the free energy."""
    while not (search.monitor is not None and search.monitor.ended):
        found = ranked(search, store, state)
        work.n_sweeps += 1
        moves = proposals(search, store, state, found, work)
        trials = [group for group in trial_groups(search, state, moves, work) if group]
        for trial in trials:
            better = tried(search, store, state, trial, work)
            if better is not None:
                state = better
                break
        else:
            break
    return state


def proposals(
    search: Search, store: Store, state: State, found: Any, work: Work
) -> list[Move]:
    """Moves that promise a gain, best first; those lately refused are left out."""
    topics = state.topics
    place = {int(i): k for k, i in enumerate(topics.ids)}

    def same(i: int, N: float) -> bool:
        return i in place and abs(topics.N[place[i]] - N) <= CHANGED * N

    skip_splits = {place[i] for i, N in work.splits_refused.items() if same(i, N)}
    skip_merges = {
        frozenset(place[i] for i in pair)
        for pair, sizes in work.merges_refused.items()
        if all(same(i, N) for i, N in zip(sorted(pair), sizes, strict=True))
    }
    splits = proposed_splits(search, store, state, found, skip_splits)
    merges = proposed_merges(search, store, state, found, skip_merges)
    moves = sorted(
        splits + merges, key=lambda m: (m.gain + work.gain * m.growth, m.one, m.two)
    )
    return moves


def trial_groups(
    search: Search, state: State, moves: list[Move], work: Work
) -> list[list[Move]]:
    """Sets of moves to try: all that share no topic, then the best ones alone."""
    good = [m for m in moves if m.gain + work.gain * m.growth < 0.0]
    room = max(0, work.cap - state.topics.K)
    splits = [m for m in good if m.is_split]
    work.n_refused += max(0, len(splits) - room)
    allowed = {id(m) for m in splits[:room]}
    fitting = [m for m in good if not m.is_split or id(m) in allowed]
    if search.options.moves == "one":
        return [fitting[:1]]
    together: list[Move] = []
    used: set[int] = set()
    for move in fitting:
        if not used & move.topics:
            together.append(move)
            used |= move.topics
    trials = [together]
    trials += [[move] for move in fitting[:SINGLES] if [move] != together]
    if not fitting and search.options.swaps and splits:
        trials = swap_trials(splits, moves)
    return trials


def swap_trials(splits: list[Move], moves: list[Move]) -> list[list[Move]]:
    """At the cap: splits, each paid by the cheapest merge that shares no topic."""
    merges = sorted((m for m in moves if not m.is_split), key=lambda m: m.gain)
    pairs: list[list[Move]] = []
    used: set[int] = set()
    for split in splits:
        if used & split.topics:
            continue
        for merge in merges:
            apart = not (merge.topics & (used | split.topics))
            if apart and split.gain + merge.gain < 0.0:
                pairs.append([split, merge])
                used |= split.topics | merge.topics
                break
    if not pairs:
        return []
    whole = [move for pair in pairs for move in pair]
    return [whole] + (pairs[:SINGLES] if len(pairs) > 1 else [])


def tried(
    search: Search, store: Store, state: State, trial: list[Move], work: Work
) -> State | None:
    """The state after moves and full sweeps, where it is better by F + g K."""
    topics, into = applied(store, state.topics, trial, work.next_id)
    work.n_tried += len(trial)
    new = work.count(settled(search, store, topics))
    size = abs(state.F) if search.options.relative_tol else max(
        abs(state.F), store.total
    )  # fmt: skip
    saved = state.F - new.F - work.gain * (new.topics.K - state.topics.K)
    if saved > search.options.tol * size:
        work.n_made += len(trial)
        work.next_id += sum(move.is_split for move in trial)
        work.aliases += into.items()
        return new
    if len(trial) == 1:
        refuse(state.topics, trial[0], work)
    return None


def refuse(topics: Topics, move: Move, work: Work) -> None:
    """Remember that a move was refused, until its topics have changed."""
    if move.is_split:
        work.splits_refused[int(topics.ids[move.one])] = float(topics.N[move.one])
        return
    pair = sorted((int(topics.ids[k]), float(topics.N[k])) for k in move.topics)
    ids = frozenset(i for i, _ in pair)
    work.merges_refused[ids] = (pair[0][1], pair[1][1])
