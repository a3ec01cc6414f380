"""Copies of a topic model that have learned apart become one again.

Points and clumps are never divided, and those that a copy has besides its ancestor's
are what it has learned since. So the store of all is that of the ancestor with these,
and all sums are the sums of the copies less those of the ancestor that count too often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.hdp.starting import usage_counts
from dyntree.mixtures.hdp.state import State, check_names, joined_names
from dyntree.mixtures.hdp.store import Ints, Longs, Store
from dyntree.mixtures.hdp.topics import Topics

NONE = np.zeros(0, dtype=np.int64)  # of the points, or of the clumps
ENOUGH = 20  # different points, or words, that no two documents share by chance
Document = tuple[bytes, ...]  # its items: points, words with their counts, or clumps


def rejoined(start: State, parts: Sequence[State]) -> State:
    """One state of several copies of `start`, whose points have the topics of all.

    Topics are where a search may begin; their sums over points are not yet right.
    """
    for number, part in enumerate(parts):
        check_copy(start, part, number)
    since = [learned_since(start, part, k) for k, part in enumerate(parts)]
    check_apart(start, parts, since)
    S, store = start.topics.S, start.store
    places: list[Ints] = []  # of the groups of each part among all
    documents = [start.topics.documents]
    n_groups = S
    for part in parts:
        own = np.arange(part.topics.S, dtype=np.int32)
        own[S:] += n_groups - S
        places.append(own)
        documents.append(part.topics.documents[S:])
        n_groups += part.topics.S - S
    for own, new in zip(places, since, strict=True):
        store = store.joined(new.regrouped(own, n_groups))
    ids = ids_of_parts(start, parts)
    topics = topics_of_all(start, parts, ids, np.concatenate(documents), store)
    extra = len(parts) - 1
    state = replace(
        parts[0], store=store, topics=topics, index=None, index_ids=None,
        n_points=sum(part.n_points for part in parts) - extra * start.n_points,
        n_documents=sum(one.n_documents for one in parts) - extra * start.n_documents,
        next_id=start.next_id + sum(part.next_id - start.next_id for part in parts),
        aliases=aliases_of_all(start, parts, ids, topics),
    )  # fmt: skip
    return with_documents_of_all(state, start, parts, places).with_aliases([])


# ---------------------------------------------------------------- what is refused
def check_copy(start: State, part: State, number: int) -> None:
    """Raise ValueError unless a state goes on from another one, with its words."""
    if part.origins != start.origins:
        raise ArgumentError(
            "models",
            "must be copies of since that have learned on; models[{number}] is not",
            remedy="Leave since out for models that have learned apart from their "
            "first rows on.",
            number=number,
        )
    if part.n_documents < start.n_documents or part.family.width < start.family.width:
        raise lacks("rows", number)
    if part.family.width != start.family.width:
        raise ArgumentError(
            "models",
            "must have the words of since, {width}; models[{number}] has {its}",
            remedy="Copy a model that has all words, such as one of "
            "options=HDPOptions(n_words=...).",
            width=start.family.width,
            number=number,
            its=part.family.width,
        )


def lacks(what: str, number: int) -> ArgumentError:
    """The error for a copy without some of what since has learned or made later."""
    return ArgumentError(
        "models",
        "must have all {what} of since; models[{number}] does not have them",
        remedy="Give as since the model as it was when the copies were made.",
        what=what,
        number=number,
    )


def has_met_limits(state: State) -> bool:
    """Whether there may be clumps of several rows, or groups of several documents."""
    return state.store.n_clumps > 0 or state.n_documents > state.topics.S


def learned_since(start: State, part: State, number: int) -> Store:
    """The points and clumps that a copy has besides those of its ancestor."""
    own, its, S = start.store, part.store, start.topics.S
    n = own.n_points  # which stand first, as points only ever go
    same = part.topics.S >= S and its.n_points >= n
    same = same and np.array_equal(part.topics.documents[:S], start.topics.documents)
    old = its.taken(np.arange(min(n, its.n_points)), NONE).arrays()
    same = same and all(
        np.array_equal(old[name], array)
        for name, array in own.arrays().items()
        if name.startswith("singlet")
    )
    left = Counter(clump_keys(own))
    clumps: list[int] = []
    for clump, key in enumerate(clump_keys(its)):
        if left[key]:
            left[key] -= 1
        else:
            clumps.append(clump)
    new = its.taken(np.arange(n, its.n_points), np.array(clumps, dtype=np.int64))
    groups = np.concatenate([new.group, new.clump_group])
    if not same or left.total() or (groups < S).any():
        if not has_met_limits(part):
            what = "points, clumps and groups" if has_met_limits(start) else "rows"
            raise lacks(what, number)
        raise ArgumentError(
            "models",
            "must have all rows of since, and what they learned since they were copied "
            "in points, clumps and groups of its own; models[{number}] does not, "
            "because since has learned on or was compressed after the copy was made, "
            "or because limits have mixed new rows with those of since, and a clump "
            "has only the sum of its rows",
            remedy="Give as since the model as it was when the copies were made. Under "
            "limits, let each machine learn with a fresh model, and merge these with "
            "since itself, without since=.",
            number=number,
        )
    return new


def clump_keys(store: Store, besides: str = "") -> list[bytes]:
    """What each clump is, but for one of its arrays."""
    return [
        b"|".join(
            array.tobytes()
            for name, array in store.taken(NONE, np.array([k])).arrays().items()
            if name != besides
        )
        for k in range(store.n_clumps)
    ]


def check_apart(start: State, parts: Sequence[State], since: Sequence[Store]) -> None:
    """Raise ValueError if two copies have learned the same documents since."""
    S = start.topics.S
    each = [
        telling_runs(documents_of(new, S, part.topics.S))
        for part, new in zip(parts, since, strict=True)
    ]
    for (a, one), (b, other) in combinations(enumerate(each), 2):
        if not one.isdisjoint(other):
            raise ArgumentError(
                "models",
                "must have learned apart since they were copied; models[{a}] and "
                "models[{b}] have learned the same documents since",
                remedy="Give as since the model as it was when they were copied.",
                a=a,
                b=b,
            )


def telling_runs(documents: Sequence[Document]) -> set[tuple[Document, ...]]:
    """The shortest runs of documents that no other model has learned by chance.

    Each has `ENOUGH` different items. If two models share a longer run, they share one
    of these as well. So do models that have the same documents in another order.
    """
    runs: set[tuple[Document, ...]] = set()
    inside: Counter[bytes] = Counter()  # items of documents first, ..., last
    first = 0
    for last, document in enumerate(documents):
        inside.update(document)
        run: tuple[Document, ...] = ()
        while len(inside) >= ENOUGH:
            run = tuple(documents[first : last + 1])
            inside.subtract(run[0])
            inside = +inside
            first += 1
        if run:
            runs.add(run)
    if runs:
        runs.add(tuple(sorted(documents)))
    return runs


def documents_of(store: Store, first: int, n_groups: int) -> list[Document]:
    """The items of each group that has some, in the order of groups."""
    items: list[list[bytes]] = [[] for _ in range(first, n_groups)]
    content = [
        array
        for name, array in store.arrays().items()
        if name.startswith("singlet") and name != "singlet_group"
    ]
    for group, *values in zip(store.group.tolist(), *content, strict=True):
        items[group - first].append(b"".join(value.tobytes() for value in values))
    for group, key in zip(
        store.clump_group[store.clump_indptr[:-1]].tolist(),
        clump_keys(store, "clump_group"),
        strict=True,
    ):
        items[group - first].append(key)
    return [tuple(own) for own in items if own]


# ---------------------------------------------------------------- what is done
def ids_of_parts(start: State, parts: Sequence[State]) -> list[int]:
    """What is added to ids of topics that were born in each copy."""
    born = [part.next_id - start.next_id for part in parts]
    return [sum(born[:k]) for k in range(len(parts))]


def renamed(ids: Longs, start: State, by: int) -> Longs:
    """Ids of a copy among those of all."""
    out: Longs = np.where(ids < start.next_id, ids, ids + by)
    return out


def topics_of_all(
    start: State,
    parts: Sequence[State],
    ids: list[int],
    documents: Vector,
    store: Store,
) -> Topics:
    """Topics of all copies: one that they share is that of the first that has it."""
    taken: list[Topics] = []
    seen: set[int] = set()
    for part, by in zip(parts, ids, strict=True):
        own = renamed(part.topics.ids, start, by)
        new = [k for k, id in enumerate(own.tolist()) if id not in seen]
        seen.update(own.tolist())
        topics = replace(part.topics, ids=own, counts=part.topics.counts[:0])
        taken.append(topics.taken(new))
    every = replace(taken[0].beside(taken[1:]), documents=documents)
    items = np.arange(store.n_items)
    sizes = store.group_sums(items, np.ones(len(items)), len(documents))
    return replace(every, counts=usage_counts(every, sizes))


def aliases_of_all(
    start: State, parts: Sequence[State], ids: list[int], topics: Topics
) -> Longs:
    """Merged topics, but for those that are still apart in some copy."""
    pairs = dict(start.aliases.tolist())
    alive = {*topics.ids.tolist()}
    for part, by in zip(parts, ids, strict=True):
        for old, new in renamed(part.aliases, start, by).tolist():
            if old not in alive:
                pairs.setdefault(old, new)
    return np.array([*pairs.items()], dtype=np.int64).reshape(-1, 2)


def with_documents_of_all(
    state: State, start: State, parts: Sequence[State], places: Sequence[Ints]
) -> State:
    """The documents that copies have learned since, where they are tracked."""
    names, group, epoch = (
        start.document_ids, start.document_group, start.document_epoch,
    )  # fmt: skip
    if names is None or group is None or epoch is None:
        return state
    n = len(names)
    for k, (part, own) in enumerate(zip(parts, places, strict=True)):
        assert part.document_ids is not None
        assert part.document_group is not None
        assert part.document_epoch is not None
        names = joined_names(names, part.document_ids[n:])
        group = np.concatenate([group, own[part.document_group[n:]]])
        new = part.document_epoch[n:] if k == 0 else state.n_epochs + 1
        more = np.full(len(part.document_ids) - n, new, dtype=np.int32)
        epoch = np.concatenate([epoch, more])
    check_names(names)
    return replace(
        state, document_ids=names, document_group=group, document_epoch=epoch
    )
