"""Topic models that were learned apart, made one: clumps and topics put together."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.hdp.building import Build, improved
from dyntree.mixtures.hdp.compression import fewer_topics
from dyntree.mixtures.hdp.context import Context
from dyntree.mixtures.hdp.families import MOST_FAR
from dyntree.mixtures.hdp.learning import (
    Epoch,
    compressed_after_epoch,
    magnified,
    topic_cap,
)
from dyntree.mixtures.hdp.model import MemoryBoundedHDP
from dyntree.mixtures.hdp.rejoining import rejoined
from dyntree.mixtures.hdp.starting import usage_counts
from dyntree.mixtures.hdp.state import TRACKED, State, check_names, joined_names
from dyntree.mixtures.shared.lineage import joined_origins


def merge_models(
    models: Iterable[MemoryBoundedHDP], *, since: MemoryBoundedHDP | None = None
) -> MemoryBoundedHDP:
    """Merge models that learned different documents, for example on several machines.

    Parameters
    ----------
    models : sequence of MemoryBoundedHDP
        Of one family, prior, width or vocabulary. Limits, options, seed, scale and
        callback of the result are those of the first; none of them is changed.
    since : MemoryBoundedHDP, optional
        The model of which all the others are copies, as it was when they were made.
        What it had learned counts once: see Notes.

    Returns
    -------
    MemoryBoundedHDP
        It goes on learning like any other. Topics of the first model keep their ids
        as far as they stay; an index is dropped.

    Raises
    ------
    ValueError
        Where models do not fit one another, or have learned nothing, and where two
        share a past without `since`, as copies of one model do that have learned on: it
        would count twice. A model that is given twice counts once, also if one of them
        is its ``copy()`` that has learned nothing more. With `since`, if models are no
        copies of it, have learned the same documents since, or have clumps or groups of
        its rows and of new ones together.

    Notes
    -----
    Copies of one model that have learned different documents, on two machines for
    example, are joined with ``since=``. Their points, clumps and groups are those of
    `since` once, with what each copy has besides: all sums are those of the copies,
    less the sums of `since` for each copy but one. A topic that several copies share
    starts as one, with the prior weight of one. Without limits this is exact. Once
    limits have put new rows and rows of `since` into one clump, only the sum of both is
    stored, and not which clumps of `since` are in it. Nothing can be taken out of it
    again, and such copies are refused. Under limits, let each machine begin with a
    fresh model, and merge these with the old one, without `since`.

    Two copies have learned the same documents if documents that follow one another in
    both, or all of both, have 20 different points or words (with their counts)
    together. Fewer may be equal by chance, as blank images and texts of one word are,
    and they count in each copy.

    Otherwise stores and topics are stacked, and moments moved exactly to the scale of
    the first. In both cases proportions of all documents start as all points are, since
    those of one model say nothing of the other's topics. Then sweeps and moves go on as
    after an epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP, merge_models
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(8, 60, 2)) + 9 * rng.integers(3, size=(8, 60, 1))
    >>> fresh = MemoryBoundedHDP(max_items=20, seed=0)
    >>> parts = [fresh.copy().fit(list(rows[k::2])) for k in (0, 1)]
    >>> both = merge_models(parts)
    >>> both.n_topics_, both.n_documents_seen_
    (3, 8)
    """
    given = list(models) if isinstance(models, Iterable) else None
    if not given or not all(isinstance(one, MemoryBoundedHDP) for one in given):
        raise ArgumentError(
            "models", "must be a sequence of one MemoryBoundedHDP or more", models
        )
    learned = [one.learned_ for one in given]
    for number in range(1, len(given)):
        check_alike(given, learned, number)
    first = given[0]
    if since is not None and not isinstance(since, MemoryBoundedHDP):
        raise ArgumentError("since", "must be a MemoryBoundedHDP", since)
    start = None if since is None else since.learned_
    learned = [
        own
        for k, own in enumerate(learned)
        if not any(own is one for one in learned[:k])
    ]
    if len(learned) == 1 and start is None:
        return first.copy()
    if start is None:
        both = learned[0]
        for own in learned[1:]:
            both = stacked(both, on_scale(own, learned[0]))
    else:
        both = rejoined(start, learned)
    context = Context(first.settings, first.seed, first.threads, first.callback)
    return first.with_state(improved_whole(context, learned[0], both))


def check_alike(
    models: list[MemoryBoundedHDP], learned: list[State], number: int
) -> None:
    """Raise ValueError unless a model can be joined with the first."""
    first, other = models[0].settings, models[number].settings
    for name in ("family", "prior"):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            raise ArgumentError(
                "models",
                "must have one {label}, {one!r}",
                Message("{two!r} in models[{number}]", two=two, number=number),
                label=name,
                one=one,
            )
    known, own = learned[0], learned[number]
    if known.family.name != own.family.name:
        raise ArgumentError(
            "models",
            "must have topics of one family, {label!r}",
            Message("{label_2!r} in models[{number}]", label_2=own.family.name,
                    number=number),
            "Give family= to all models.",
            label=known.family.name,
        )  # fmt: skip
    what = "words in the vocabulary" if known.family.of_words else "columns"
    width, its = known.family.width, own.family.width
    if width != its:
        raise ArgumentError(
            "models",
            "must have the same {what}, {width}; models[{number}] has {its}",
            what=what,
            width=width,
            number=number,
            its=its,
        )
    if known.features.names != own.features.names:
        raise ArgumentError(
            "models",
            "must have the columns {names}; models[{number}] has {names_2}",
            names=known.features.names,
            number=number,
            names_2=own.features.names,
        )
    if (known.document_ids is None) != (own.document_ids is None):
        raise ArgumentError(
            "models",
            f"must all track documents or none; models[0] and models[{number}] "
            "differ in options.track_documents",
        )


def on_scale(own: State, first: State) -> State:
    """A model whose moments are in the first one's standardised units."""
    ratio = own.scale / first.scale
    offset = (own.shift - first.shift) / first.scale
    store, topics = own.store.on_scale(ratio, offset), own.topics
    for points in (store.x, store.clump_mean):
        far = np.abs(points).max(initial=0.0)
        if not far <= MOST_FAR:
            raise ArgumentError(
                "models",
                "must have like scales; one has points {far:.1e} first-epoch "
                "standard deviations from the first model's; check units or refit",
                far=far,
            )
    N, mean, scatter = own.family.on_scale(topics.statistics, ratio, offset)
    topics = replace(topics, N=N, mean=mean, scatter=scatter)
    return replace(own, store=store, topics=topics)


def stacked(first: State, other: State) -> State:
    """Two models on one scale beside each other; proportions start as points are."""
    one, two, S = first.topics, other.topics, first.topics.S
    groups = S + two.S
    moved = other.store.regrouped(np.arange(S, groups, dtype=np.int32), groups)
    sizes = np.concatenate([one.counts.sum(1), two.counts.sum(1)])
    others = replace(two, ids=two.ids + first.next_id, counts=two.counts[:0])
    topics = replace(
        replace(one, counts=one.counts[:0]).beside([others]),
        documents=np.concatenate([one.documents, two.documents]),
    )
    both = replace(
        first,
        store=first.store.joined(moved),
        topics=replace(topics, counts=usage_counts(topics, sizes)),
        n_points=first.n_points + other.n_points,
        n_documents=first.n_documents + other.n_documents,
        next_id=first.next_id + other.next_id,
        index=None,
        index_ids=None,
    )
    both = both.with_aliases([(a + first.next_id, b + first.next_id)
                              for a, b in other.aliases.tolist()])  # fmt: skip
    both = with_documents_of(both, other, S)
    return replace(both, origins=joined_origins([first.origins, other.origins]))


def with_documents_of(both: State, other: State, S: int) -> State:
    """The documents of another model among those that are tracked."""
    names, group, epoch = (getattr(both, name) for name in TRACKED)
    more, its_group = other.document_ids, other.document_group
    if names is None or more is None or its_group is None:
        return both
    every = joined_names(names, more)
    check_names(every)
    new = np.full(len(more), both.n_epochs + 1, dtype=np.int32)
    return replace(
        both,
        document_ids=every,
        document_group=np.concatenate([group, its_group + S]),
        document_epoch=np.concatenate([epoch, new]),
    )


def improved_whole(context: Context, first: State, both: State) -> State:
    """All models as one, improved by sweeps and moves, and compressed."""
    search = context.search(first.family, first.n_epochs + 1)
    draft, times, lifetime = magnified(context, both)
    share = both.n_documents / lifetime
    settings, S = context.settings, both.topics.S
    label = np.zeros(both.store.n_items, dtype=np.int32)
    most = settings.max_topics or both.topics.K
    topics, _, aliases = fewer_topics(search, both.store, both.topics, label, most)
    build = Build(
        context, search, both, both.store, both.store, S,
        topic_cap(context, both, S, share), settings.min_gain * share,
    )  # fmt: skip
    record = build.record()
    record.aliases += aliases
    solution, record = improved(build, both.store, topics, record)
    n_new = both.n_documents - first.n_documents, both.n_points - first.n_points
    epoch = Epoch(context, search, n_new, times, time.process_time())
    return compressed_after_epoch(epoch, draft, both.store, solution, record)[0]
