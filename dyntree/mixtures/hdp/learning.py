"""One epoch: documents join, topics are improved, what is stored is compressed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Vector
from dyntree.errors import (
    ArgumentError,
    ConvergenceWarning,
    MemoryBudgetWarning,
    silenced,
)
from dyntree.mixtures.hdp.batch import Batch
from dyntree.mixtures.hdp.building import Build, BuildRecord, built
from dyntree.mixtures.hdp.compression import Compressed, CompressionLimits, compressed
from dyntree.mixtures.hdp.context import Context
from dyntree.mixtures.hdp.families import Family
from dyntree.mixtures.hdp.limits import BudgetError, Limits
from dyntree.mixtures.hdp.records import EpochReport
from dyntree.mixtures.hdp.registry import scaled_family
from dyntree.mixtures.hdp.state import HISTORY, State, empty_state
from dyntree.mixtures.hdp.store import Store
from dyntree.mixtures.hdp.sweeps import (
    ONCE,
    Magnification,
    Search,
    Solution,
    best_topics,
    stored_free_energy,
    transient_bytes,
)
from dyntree.mixtures.hdp.topics import Topics
from dyntree.mixtures.shared.lineage import origin_of

WIDE = 10  # columns from which full covariances need many rows
FEW = 50  # topics that may be as many as documents without a word
IN_CELLS = 5  # of the purposes of random numbers: places of values in their cells
ROW_EXTRA = 52  # labels, places, shares and weights of one row, in bytes


def after_first_documents(
    context: Context, features: FeatureMap, batch: Batch, ids: NDArray[Any] | None
) -> State:
    """The state after the first epoch, of the family with the lowest free energy."""
    units = (*batch.scales(context.settings.prior.standardize), batch.cells())
    starts = fresh_states(context, features, batch, units)
    if len(starts) == 1:
        return after_documents(context, starts[0], batch, ids)
    silent = replace(context, callback=None)
    with silenced(Warning):  # of the other families
        tried = [after_documents(silent, start, batch, ids) for start in starts]
    best = min(range(len(tried)), key=lambda k: tried[k].F)
    if context.callback is None and not tried[best].warned:
        return tried[best]
    return after_documents(context, starts[best], batch, ids)


def fresh_states(
    context: Context,
    features: FeatureMap,
    batch: Batch,
    units: tuple[Vector, Vector, Vector],
) -> list[State]:
    """Models that hold nothing, of all families that the limits leave room for."""
    names, found = context.settings.families, []
    for name in names:
        try:
            found.append(fresh_state(name, context, features, batch, units))
        except ArgumentError:
            if name == names[-1] and not found:
                raise
    return found


def fresh_state(
    name: str,
    context: Context,
    features: FeatureMap,
    batch: Batch,
    units: tuple[Vector, Vector, Vector],
) -> State:
    """A model on the scale of its first documents, which holds nothing."""
    settings = context.settings
    limits = Limits(settings.memory_limit, settings.max_items, settings.max_groups)
    family = scaled_family(name, settings, batch.width, *units[:2])
    state = empty_state(settings.options, features, family, limits, units)
    limits.check_least(family, state.unit_bytes)
    return replace(state, origins=(origin_of(context.seed, *batch.arrays()),))


def with_words(context: Context, state: State, batch: Batch) -> State:
    """The state with the words that a batch has beside its own.

    They have not occurred in any topic so far.
    """
    more = batch.width - state.family.width
    if not state.family.of_words or more <= 0:
        return state
    settings, name = context.settings, state.family.name
    family = scaled_family(name, settings, batch.width, state.shift, state.scale)
    state.limits.check_least(family, state.unit_bytes)
    topics = state.topics
    counts = np.pad(topics.mean, [(0, 0), (0, more)])
    return replace(
        state, features=batch.features, family=family,
        topics=replace(topics, mean=counts),
        store=type(state.store).from_arrays(family, state.store.arrays()),
    )  # fmt: skip


def after_documents(
    context: Context, state: State, batch: Batch, ids: NDArray[Any] | None
) -> State:
    """The state after one epoch, or several where `working_limit` cuts it."""
    state, group = replace(state, index=None, index_ids=None), -1
    batch = batch.without_copies()
    for part, continues in cut_to_fit(context, state, batch):
        some = None
        if ids is not None:
            n_new = part.n_documents - continues
            some, ids = ids[:n_new], ids[n_new:]
        state, group = after_epoch(
            context, state, part, some, group if continues else -1
        )
    return state


def cut_to_fit(
    context: Context, state: State, batch: Batch
) -> Iterator[tuple[Batch, bool]]:
    """Parts of an epoch, and whether each goes on with the document before it.

    Documents are retained whole where they fit; one that does not is cut into ranges of
    its points, all of the same group.
    """
    limit = context.settings.options.working_limit
    if limit is None:
        yield batch, False
        return
    # a row is in memory as passed, standardised, and once more while parts are halved
    each = 3 * max(8, state.family.point_bytes) + ROW_EXTRA
    most = max(1, int(limit) // each)
    sizes = np.bincount(batch.document, minlength=batch.n_documents)
    first = 0
    while first < batch.n_documents:
        last, total = first, 0
        while last < batch.n_documents and total + sizes[last] <= most:
            total += int(sizes[last])
            last += 1
        if total or last == batch.n_documents:
            yield batch.part(first, last), False
            first = last
            continue
        # empty documents go with the first range of the one that does not fit
        yield batch.part(first, last + 1).taken(slice(most)), False
        alone = batch.part(last, last + 1)
        for start in range(most, alone.n, most):
            yield alone.taken(slice(start, start + most)), True
        first = last + 1


@dataclass(frozen=True)
class Epoch:
    """Totals of an epoch so far, for its end."""

    context: Context
    search: Search
    n_new: tuple[int, float]  # documents and points
    times: Magnification
    began: float  # by the clock of the process
    as_read: int = 0  # bytes of the documents


def after_epoch(
    context: Context,
    state: State,
    batch: Batch,
    ids: NDArray[Any] | None = None,
    continues: int = -1,
) -> tuple[State, int]:
    """The state after one epoch, and the group of its last document.

    `continues` is the group that the first document is more of, or -1.
    """
    search = context.search(state.family, state.n_epochs + 1)
    group, n_new = batch.document + state.topics.S, batch.n_documents
    if continues >= 0:
        group = np.where(batch.document == 0, continues, group - 1)
        n_new -= 1
    spread = batch.spread(state.cells, IN_CELLS, context.seed, state.n_epochs)
    scaled = spread.standardised(state.shift, state.scale)
    scaled.check_near()
    new = scaled.store(state.family, group)
    draft = replace(
        state, n_points=state.n_points + batch.n_points,
        n_documents=state.n_documents + n_new,
    )  # fmt: skip
    draft, times, lifetime = magnified(context, draft)
    as_read = 3 * int(batch.n * max(8, state.family.point_bytes))
    epoch = Epoch(
        context, search, (batch.n_documents, batch.n_points), times,
        time.process_time(), as_read,
    )  # fmt: skip
    S, seen = state.topics.S + n_new, draft.n_documents
    build = Build(
        context, search, state, state.store.joined(new), new, S,
        topic_cap(context, state, S, seen / lifetime),
        context.settings.min_gain * seen / lifetime,
    )  # fmt: skip
    solution, record = built(build)
    draft = draft.with_ids(ids)
    draft, group_of = compressed_after_epoch(
        epoch, draft, build.store, solution, record
    )
    return draft, int(group_of[S - 1 if n_new else continues])


def magnified(context: Context, draft: State) -> tuple[State, Magnification, float]:
    """How many times the stored data count, for a lifetime of documents (section 3.5).

    The draft has totals that count the epoch; where these are above those expected, it
    is warned of.
    """
    settings, seen = context.settings, draft.n_documents
    total = settings.expected_documents or context.total_documents
    lifetime = 2.0 * seen if total is None else float(total)
    points = settings.expected_points
    if (total is not None and seen > total) or (
        points is not None and draft.n_points > points
    ):
        draft = draft.with_warning(
            "totals",
            UserWarning,
            "expected totals are smaller than the data seen, {seen} documents of "
            "{n_points:g} points; from now on, nothing is magnified.",
            seen=seen,
            n_points=draft.n_points,
        )
    by_documents = max(1.0, lifetime / seen)
    by_points = by_documents if points is None else max(1.0, points / draft.n_points)
    most = settings.options.magnify_max
    if most is not None:
        by_documents, by_points = min(by_documents, most), min(by_points, most)
    times = Magnification(by_points, by_documents)
    return draft, times, max(lifetime, float(seen))


def topic_cap(context: Context, state: State, S: int, share: float) -> int:
    """Most topics in this epoch: the limit times the root of the documents' share."""
    settings = context.settings
    most = settings.max_topics or 2**31
    most = min(most, state.limits.most_topics(state.family, S, state.fixed_bytes))
    if most >= 2**31 or settings.options.cap_growth == "fixed":
        return most
    return max(1, round(most * float(np.sqrt(min(1.0, share)))))


def compressed_after_epoch(
    epoch: Epoch, draft: State, store: Store, solution: Solution, record: BuildRecord
) -> tuple[State, Any]:
    """The state once an epoch is compressed and recorded, and where groups are now."""
    middle, search = time.process_time(), epoch.search
    order = np.argsort(-solution.topics.N, kind="stable")
    topics = solution.topics.taken(order)
    label = best_topics(search, store, topics)
    if record.n_held:
        draft = draft.with_warning(
            "alpha",
            ConvergenceWarning,
            "the step of alpha would have raised the free energy in {n_sweeps} sweeps "
            "of epoch {epoch}, so alpha was not changed there; "
            'use alpha_update="newton", or a prior of shape and rate nearer to 1.',
            n_sweeps=record.n_held,
            epoch=draft.n_epochs + 1,
        )
    n_topics, n_documents = topics.K, draft.n_documents
    if search.family.of_words and n_topics >= max(FEW, n_documents):
        draft = draft.with_warning(
            "many",
            ConvergenceWarning,
            "{n_topics} topics were estimated from {n_documents} documents: the topics "
            "follow single documents. This happens if documents repeat words more "
            "often than topics explain, for example if counts were multiplied. Divide "
            "such counts, or set max_topics.",
            n_topics=n_topics,
            n_documents=n_documents,
        )
    draft = warned_of_few_rows(epoch.context, draft, search.family, n_topics)
    draft = replace(draft, n_epochs=draft.n_epochs + 1, next_id=record.next_id)
    history = np.concatenate([draft.history, np.zeros((1, len(HISTORY)))])
    draft = replace(draft, history=history).trimmed()
    draft = draft.with_aliases(record.aliases)
    context = epoch.context
    raw = context.last and not context.settings.options.compress_final
    limits = Limits() if raw else draft.limits
    small, draft = compressed_to_limits(
        search, draft, store, topics, label, limits, epoch.times
    )
    seconds = middle - epoch.began, time.process_time() - middle
    used = transient_bytes(search, small.topics.K, store, epoch.as_read)
    draft = replace(draft, transient=used)
    report = epoch_report(epoch, draft, record, seconds)
    if context.callback is not None:  # the epoch is no part of the model yet
        context.callback(report)
    return draft, small.group_of


def warned_of_few_rows(
    context: Context, draft: State, family: Family, n_topics: int
) -> State:
    """Warn where full covariances have fewer rows a topic than columns squared.

    Their evidence then favours few topics, even of rows that are far apart. "auto"
    compares with diagonal ones.
    """
    each = draft.n_points / n_topics
    if context.settings.families != ("full",) or each >= family.d**2 or family.d < WIDE:
        return draft
    return draft.with_warning(
        "few",
        ConvergenceWarning,
        "{each:.0f} rows a topic are few for full covariances of {d} columns, which "
        "then merge topics that are far apart. Use family='diag', or 'auto', which "
        "compares the two.",
        each=each,
        d=family.d,
    )


def epoch_report(
    epoch: Epoch, draft: State, record: BuildRecord, seconds: tuple[float, float]
) -> EpochReport:
    """Write an epoch into the last row of the history, and report it."""
    n_bytes, n_items, K = draft.nbytes, draft.store.n_items, draft.topics.K
    F = draft.F + draft.log_scale * draft.n_points
    if len(draft.history):
        draft.history[-1] = [
            draft.n_epochs, *epoch.n_new, K, F,
            F / draft.n_points, *seconds, record.n_sweeps, record.n_tried,
            record.n_made, record.n_refused, n_items, n_bytes, epoch.times.documents,
            record.n_jitters,
        ]  # fmt: skip
    return EpochReport(draft.n_epochs, *epoch.n_new, K, n_items, F, n_bytes)


def compressed_to_limits(
    search: Search,
    draft: State,
    store: Store,
    topics: Topics,
    label: Any,
    limits: Limits,
    times: Magnification = ONCE,
) -> tuple[Compressed, State]:
    """Compress store and topics to the limits; warn once of what is lost by it."""
    room = CompressionLimits(search, limits, draft.fixed_bytes, times)
    try:
        small = compressed(room, store, topics, label)
    except BudgetError as error:
        least = (limits.memory or 0) + error.missing
        raise ArgumentError(
            "memory_limit",
            f"must be at least {least} bytes for the data that must be stored",
            limits.memory,
            "Raise it, or track and index fewer documents.",
        ) from None
    if small.topics.K < topics.K:
        draft = draft.with_warning(
            "topics",
            MemoryBudgetWarning,
            "the limits leave room for {n_topics} topics; {n_merged} were merged. "
            "Raise memory_limit, or set max_topics or max_groups.",
            n_topics=small.topics.K,
            n_merged=topics.K - small.topics.K,
        )
    if small.gave_up_groups:
        draft = draft.with_warning(
            "groups",
            MemoryBudgetWarning,
            "groups of documents took too much of memory_limit, and were merged to "
            "{n_groups} groups. Set max_groups to choose how many there are.",
            n_groups=small.topics.S,
        )
    if draft.document_group is not None:
        draft = replace(draft, document_group=small.group_of[draft.document_group])
    if small.aliases:
        with_aliases = draft.with_aliases(list(small.aliases))
        if with_aliases.nbytes == draft.nbytes:
            draft = with_aliases
    F = stored_free_energy(search, small.store, small.topics)
    state = replace(draft, store=small.store.at_rest(), topics=small.topics, F=F)
    return small, state


def compressed_on_request(context: Context, state: State, limits: Limits) -> State:
    """Compress what is stored between epochs, as `compress` asks for."""
    limits.check_least(state.family, state.unit_bytes)
    draft = replace(state, limits=limits, store=state.store.at_rest())
    draft = draft.with_aliases([]).trimmed()
    search, topics = context.search(draft.family), draft.topics
    label = best_topics(search, draft.store, topics)
    _, draft = compressed_to_limits(search, draft, draft.store, topics, label, limits)
    if draft.index is not None and draft.topics.K != topics.K:
        draft = replace(draft, index=None, index_ids=None)
    return draft
