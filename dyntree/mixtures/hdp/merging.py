"""Topic models that were learned apart, made one: clumps and topics put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dyntree import params
from dyntree.mixtures.hdp.building import Work, usage_counts
from dyntree.mixtures.hdp.compression import fewer_topics
from dyntree.mixtures.hdp.learned import Learned
from dyntree.mixtures.hdp.learning import (
    MOST_FAR,
    Context,
    Monitor,
    finished,
    magnification,
    rested,
    topic_cap,
)
from dyntree.mixtures.hdp.model import MemoryBoundedHDP
from dyntree.mixtures.hdp.store import Store
from dyntree.mixtures.hdp.sweeps import Search


def merge_models(models: Iterable[MemoryBoundedHDP]) -> MemoryBoundedHDP:
    """Join models that have learned different documents, on several machines say.

    Parameters
    ----------
    models : sequence of MemoryBoundedHDP
        Of one family, prior, width or vocabulary. Limits, options, seed, scale and
        callback of the result are those of the first; none of them is changed.

    Returns
    -------
    MemoryBoundedHDP
        It goes on learning like any other. Topics of the first model keep their ids
        as far as they stay; an index is dropped.

    Raises
    ------
    ValueError
        Where models do not fit one another, or have learned nothing.

    Notes
    -----
    Stores and topics are stacked, moments moved exactly to the scale of the first;
    proportions of all documents start as all points are, since those of one model say
    nothing of the other's topics. Then sweeps and moves go on as after an epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import MemoryBoundedHDP, merge_models
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(8, 60, 2)) + 9 * rng.integers(3, size=(8, 60, 1))
    >>> parts = [MemoryBoundedHDP(max_items=20).fit(list(rows[k::2])) for k in (0, 1)]
    >>> both = merge_models(parts)
    >>> both.n_topics_, both.n_documents_seen_
    (3, 8)
    """
    given = list(models) if isinstance(models, Iterable) else None
    if not given or not all(isinstance(one, MemoryBoundedHDP) for one in given):
        raise ValueError(
            "models must be a sequence of one MemoryBoundedHDP or more; got "
            f"{params.short(models)}."
        )
    learned = [one.learned_ for one in given]
    for number in range(1, len(given)):
        check_alike(given, learned, number)
    first = given[0]
    if len(given) == 1:
        return first.copy()
    context = Context(first.settings, first.seed, first.n_threads, first.callback)
    return first.holding(joined(context, learned))


def check_alike(
    models: list[MemoryBoundedHDP], learned: list[Learned], number: int
) -> None:
    """Raise ValueError unless a model can be joined with the first."""
    first, other = models[0].settings, models[number].settings
    for name in ("family", "prior"):
        one, two = getattr(first, name), getattr(other, name)
        if one != two:
            raise ValueError(
                f"models must have one {name}, {one!r}; got {two!r} in "
                f"models[{number}]."
            )
    known, own = learned[0], learned[number]
    is_words = known.family.kind == 2
    what = "words in the vocabulary" if is_words else "columns"
    width, its = (one.family.n_words or one.family.d for one in (known, own))
    if width != its:
        raise ValueError(
            f"models must have the same {what}, {width}; models[{number}] has {its}."
        )
    if known.features.names != own.features.names:
        raise ValueError(
            f"models must have the columns {known.features.names}; models[{number}] "
            f"has {own.features.names}."
        )
    if (known.document_ids is None) != (own.document_ids is None):
        raise ValueError(
            "models must all track documents or none; models[0] and "
            f"models[{number}] differ in options.track_documents."
        )


def on_scale(own: Learned, first: Learned) -> Learned:
    """A model whose moments are in the first one's standardised units."""
    if own.family.kind == 2:
        return own
    ratio = own.scale / first.scale
    offset = (own.shift - first.shift) / first.scale
    square = own.family.outer(ratio)
    store, topics = own.store, own.topics
    arrays = store.arrays() | {
        "singlet_x": store.x * ratio + offset,
        "clump_mean": store.clump_mean * ratio + offset,
        "clump_scatter": store.clump_scatter * square,
    }
    for name in ("singlet_x", "clump_mean"):
        far = np.abs(arrays[name]).max(initial=0.0)
        if not far <= MOST_FAR:
            raise ValueError(
                f"models must have like scales; one has points {far:.1e} first-epoch "
                "standard deviations from the first model's; check units or refit."
            )
    return replace(
        own,
        store=Store.from_arrays(first.family, arrays),
        topics=replace(
            topics, mean=topics.mean * ratio + offset, scatter=topics.scatter * square
        ),
    )


def stacked(first: Learned, other: Learned) -> Learned:
    """Two models on one scale beside each other; proportions start as points are."""
    one, two, S = first.topics, other.topics, first.topics.S
    groups = S + two.S
    moved = other.store.regrouped(np.arange(S, groups, dtype=np.int32), groups)
    sizes = np.concatenate([one.counts.sum(1), two.counts.sum(1)])
    topics = replace(
        one,
        alpha=np.concatenate([one.alpha, two.alpha]),
        N=np.concatenate([one.N, two.N]),
        mean=np.concatenate([one.mean, two.mean]),
        scatter=np.concatenate([one.scatter, two.scatter]),
        documents=np.concatenate([one.documents, two.documents]),
        ids=np.concatenate([one.ids, two.ids + first.next_id]),
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
    return with_documents_of(both, other, S)


def with_documents_of(both: Learned, other: Learned, S: int) -> Learned:
    """The documents of another model among those that are tracked."""
    before, names = both.document_ids, other.document_ids
    if before is None or names is None:
        return both
    assert both.document_group is not None
    assert both.document_epoch is not None
    assert other.document_group is not None
    if before.dtype.kind != names.dtype.kind:
        before, names = before.astype(str), names.astype(str)
    twice = np.intersect1d(before, names)
    if len(twice):
        raise ValueError(
            f"models must have learned different documents; {twice[0].item()!r} is in "
            "two of them. Give ids that are unique among models."
        )
    epoch = np.full(len(names), both.n_epochs + 1, dtype=np.int32)
    return replace(
        both,
        document_ids=np.concatenate([before, names]),
        document_group=np.concatenate([both.document_group, other.document_group + S]),
        document_epoch=np.concatenate([both.document_epoch, epoch]),
    )


def joined(context: Context, learned: list[Learned]) -> Learned:
    """All models as one, improved by sweeps and moves, and compressed."""
    first = learned[0]
    both = first
    for own in learned[1:]:
        both = stacked(both, on_scale(own, first))
    monitor = Monitor(context.callback, first.n_epochs + 1)
    search = Search(
        first.family, context.prior, context.options, context.n_threads, monitor
    )
    m_p, m_d, lifetime, warned = magnification(
        context, both, both.n_documents, both.n_points
    )
    share = both.n_documents / lifetime
    cap = topic_cap(context, both, both.topics.S, share)
    most = context.settings.max_topics or both.topics.K
    label = np.zeros(both.store.n_items, dtype=np.int32)
    topics, _, aliases = fewer_topics(
        search, both.store, both.topics, label, most, 1.0, 1.0
    )
    work = Work(cap, context.settings.min_gain * share, both.next_id, aliases)
    state = finished(search, both.store, topics, work)
    draft = replace(both, warned=warned)
    new = both.n_documents - first.n_documents, both.n_points - first.n_points
    return rested(
        context, search, draft, both.store, state, work, new, m_p, m_d
    ).learned
