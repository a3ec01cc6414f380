"""Topics to start from: of a first epoch, and proposed from random documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.hdp.store import Ints, Longs, Store
from dyntree.mixtures.hdp.sweeps import Search
from dyntree.mixtures.hdp.topics import Topics

MOST_SEEDED = 20_000  # points that k-means++ looks at
LLOYD_STEPS = 5
LEAST_ALPHA = 0.05  # of a topic that starts


def usage_counts(topics: Topics, sizes: Vector) -> Matrix:
    """Expected topic counts of new groups, shared as all points are (section 4.3)."""
    return np.outer(sizes, topics.N / topics.N.sum())


def with_documents(
    search: Search, topics: Topics, sizes: Vector, documents: Vector
) -> Topics:
    """Topics once groups are added: of so many points and documents each."""
    counts = usage_counts(topics, sizes)
    if search.follows_paper:
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
    by_words: bool = False,
) -> Topics:
    """Topics that the first epoch starts from; `by_words` groups documents of words."""
    if search.family.random_start:
        return random_topics(store, documents, n_topics, rng, by_words)
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


def alike_documents(store: Store, S: int, K: int, rng: np.random.Generator) -> Longs:
    """Groups of documents that share rare words, K at most.

    By spherical k-means (Dhillon and Modha 2001) with starts of k-means++, on log(1 +
    count) times the log of the inverse share of documents with the word.
    """
    places = store.group[: store.n_points], store.word[: store.n_points]
    counts = np.log1p(store.weights[: store.n_points])
    X = csr_matrix((counts, places), shape=(S, store.family.n_words))
    of_word = np.bincount(X.indices, minlength=X.shape[1])
    X.data *= np.log((1.0 + S) / (1.0 + of_word))[X.indices]
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.where(length > 0.0, length, 1.0), np.diff(X.indptr))
    chosen = [int(rng.integers(S))]
    nearest = X @ X[chosen[0]].toarray().ravel()
    while len(chosen) < K:
        chance = np.maximum(1.0 - nearest, 0.0)
        if not chance.sum() > 0.0:
            break
        chosen.append(int(rng.choice(S, p=chance / chance.sum())))
        nearest = np.maximum(nearest, X @ X[chosen[-1]].toarray().ravel())
    centres = X[chosen].toarray()
    for _ in range(LLOYD_STEPS):
        label = (X @ centres.T).argmax(axis=1)
        ones = csr_matrix((np.ones(S), (label, np.arange(S))), shape=(len(centres), S))
        sums = (ones @ X).toarray()
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(
            length > 0.0, sums / np.where(length > 0.0, length, 1.0), centres
        )
    found: Longs = (X @ centres.T).argmax(axis=1)
    return found


def random_topics(
    store: Store, documents: Vector, K: int, rng: np.random.Generator, by_words: bool
) -> Topics:
    """Topics of words: each item half in its document's topic, half in its own draw.

    The topic of a document is drawn, or that of a group of documents that are alike.
    """
    S, V = len(documents), store.family.n_words
    if by_words and K > 1:
        of_document = alike_documents(store, S, K, rng)
    else:
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
    next_id: int,
    rng: np.random.Generator,
) -> Topics:
    """Fresh topics, each of half the mass of a random document of the epoch."""
    every = np.arange(store.n_items)
    sizes = store.group_sums(every, np.ones(store.n_items), topics.S)
    new_groups = new_groups[sizes[new_groups] > 0.0]  # the others have no rows
    n_birth = min(n_birth, len(new_groups))
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
    N = np.array([one[0] for one in born])
    alpha = starting_alpha(np.concatenate([topics.N, N]))[topics.K :]
    means, scatters = (np.stack([one[k] for one in born]) for k in (1, 2))
    ids = next_id + np.arange(len(born))
    fresh = Topics(alpha, N, means, scatters, own, topics.documents, ids)
    return replace(topics, counts=counts).beside([fresh])
