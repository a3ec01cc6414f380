"""One epoch: documents join, topics are improved, what is held is compressed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import (
    ConvergenceWarning,
    MemoryBudgetWarning,
    ScaleWarning,
    warn,
)
from dyntree.mixtures.hdp.building import (
    Work,
    first_topics,
    searched,
    with_births,
    with_documents,
)
from dyntree.mixtures.hdp.compression import BudgetError, Limits, compressed
from dyntree.mixtures.hdp.documents import Batch
from dyntree.mixtures.hdp.heldout import held_out, log_score
from dyntree.mixtures.hdp.learned import Learned, scaled_family, started
from dyntree.mixtures.hdp.options import HDPOptions, HDPPrior, HDPSettings
from dyntree.mixtures.hdp.records import EpochReport, SweepReport
from dyntree.mixtures.hdp.store import Store, empty_store, store_of
from dyntree.mixtures.hdp.sweeps import (
    Search,
    State,
    Topics,
    free_energy,
    settled,
    swept,
    table_of_logs,
)

KMEANS, BIRTHS, HELD_OUT = range(3)  # purposes of random numbers
WORD_BIRTHS = 20  # topics proposed in each later epoch of words
MOST_FAR = 1e6  # standard deviations of the first epoch


class Monitor:
    """Tells a callback of every sweep, and knows whether it wants the build to end."""

    def __init__(self, callback: Callable[[Any], Any] | None, epoch: int) -> None:
        self.callback, self.epoch = callback, epoch
        self.ended = False
        self.n_sweeps = 0

    def sweep(self, F: float, K: int) -> None:
        """One sweep is over."""
        self.n_sweeps += 1
        if self.callback is not None:
            report = SweepReport(self.epoch, self.n_sweeps, K, F)
            said = self.callback(report)
            if isinstance(said, bool | np.bool_) and said:
                self.ended = True

    def epoch_done(self, report: EpochReport) -> None:
        """The epoch is over, but not yet part of the model."""
        if self.callback is not None:
            self.callback(report)


@dataclass(frozen=True)
class Context:
    """What an epoch needs to know of its model beside what it has learned."""

    settings: HDPSettings
    seed: int
    n_threads: int
    callback: Callable[[Any], Any] | None = None
    total_documents: float | None = None  # of the lifetime, where `fit` knows them
    last: bool = False  # whether `fit` ends with this epoch

    @property
    def options(self) -> HDPOptions:
        """Options of the search."""
        assert self.settings.options is not None
        return self.settings.options

    @property
    def prior(self) -> HDPPrior:
        """Priors."""
        assert self.settings.prior is not None
        return self.settings.prior


def begun(context: Context, features: FeatureMap, batch: Batch) -> Learned:
    """A model whose scale is that of its first documents, and that holds nothing."""
    settings, prior = context.settings, context.prior
    limits = Limits(settings.memory_limit, settings.max_items, settings.max_groups)  # type: ignore[arg-type]
    if batch.words is not None:
        width = context.options.n_words or batch.n_words
        assert width is not None
        shift = scale = np.zeros(0)
    else:
        width = batch.width
        shift, scale = np.zeros(width), np.ones(width)
        if prior.standardize:
            shift, scale = scales_of(batch, features)
    family = scaled_family(settings, width, shift, scale)
    check_least(limits, family, settings.family, 8 * (len(shift) + len(scale)))
    return started(
        settings, features, family, shift, scale, limits, empty_store(family)
    )


def check_least(limits: Limits, family: Any, name: str, fixed: int) -> None:
    """Raise ValueError where one topic, one group and one clump do not fit."""
    least = limits.least_memory(family, fixed)
    if limits.memory is not None and limits.memory < least:
        width = f"d={family.d}" if family.kind < 2 else f"{family.n_words} words"
        raise ValueError(
            f"memory_limit must be >= {least} bytes for {width}, family={name!r}; got "
            f"{limits.memory}."
        )


def scales_of(batch: Batch, features: FeatureMap) -> tuple[Vector, Vector]:
    """Means and standard deviations of columns; 1 for a constant column."""
    rows = batch.rows
    assert rows is not None
    by = batch.weight
    shift = np.average(rows, axis=0, weights=by)
    scale = np.sqrt(np.average(np.square(rows - shift), axis=0, weights=by))
    still = scale <= 1e-13 * np.abs(shift)
    if still.any() and len(rows) > 1:
        names = [n for n, one in zip(features.feature_names, still, strict=True) if one]
        warn(
            ScaleWarning,
            f"columns {names} are constant in the first epoch; they keep their unit. "
            "Leave them out, or start with documents in which they vary.",
        )
    return shift, np.where(still, 1.0, scale)


def check_near(learned: Learned, batch: Batch, rows: Matrix) -> None:
    """Refuse documents that are far out of scale."""
    far = np.abs(rows).max(axis=1) if len(rows) else np.zeros(0)
    if len(far) and far.max() > MOST_FAR:
        row = int(np.argmax(far))
        raise ValueError(
            f"documents[{int(batch.document[row])}] lies {far[row]:.1e} first-epoch "
            "standard deviations away; check units or refit."
        )


@dataclass(frozen=True)
class Epoch:
    """What an epoch made, and where groups and the last document are now."""

    learned: Learned
    group_of: Any  # new number of each group
    last_group: int = -1


def one_epoch(
    context: Context,
    learned: Learned,
    batch: Batch,
    *,
    ids: Any = None,
    continues: int | None = None,
) -> Epoch:
    """Build and compress.

    Parameters
    ----------
    context : Context
    learned : Learned
        Left as it is.
    batch : Batch
        Documents of the width that `learned` has.
    ids : ndarray of shape (n_documents,), optional
        Names of the documents, where they are tracked.
    continues : int, optional
        Group that the first document is more of.
    """
    monitor = Monitor(context.callback, learned.n_epochs + 1)
    search = Search(
        learned.family, context.prior, context.options, context.n_threads, monitor
    )
    first_new = learned.topics.S
    group = batch.document + first_new
    n_new = batch.n_documents
    if continues is not None:
        group = np.where(batch.document == 0, continues, group - 1)
        n_new -= 1
    new = new_store(learned, batch, group)
    store = learned.store.joined(new)
    n_documents = learned.n_documents + n_new
    n_points = learned.n_points + batch.n_points
    m_p, m_d, lifetime, warned = magnification(context, learned, n_documents, n_points)
    clock = time.process_time()
    cap = topic_cap(context, learned, first_new + n_new, n_documents / lifetime)
    gain = context.settings.min_gain * n_documents / lifetime
    state, work = built(context, search, learned, store, new, n_new, cap, gain)
    draft = replace(learned, n_points=n_points, n_documents=n_documents, warned=warned)
    draft = with_ids(draft, batch, ids)
    done = rested(
        context, search, draft, store, state, work,
        (batch.n_documents, batch.n_points), m_p, m_d, clock=clock,
        passing=3 * int(batch.n * max(8, search.family.point_bytes)),
    )  # fmt: skip
    return replace(done, last_group=int(done.group_of[group[-1]]))


def rested(
    context: Context,
    search: Search,
    draft: Learned,
    store: Store,
    state: State,
    work: Work,
    new: tuple[int, float],
    m_p: float,
    m_d: float,
    *,
    clock: float | None = None,
    passing: int = 0,
) -> Epoch:
    """What was built, compressed and recorded as one more epoch.

    Parameters
    ----------
    draft : Learned
        With totals and documents of this epoch; its store and topics are replaced.
    new : tuple of (int, float)
        Documents and points that are new.
    clock : float, optional
        When building began; by default now.
    passing : int
        Bytes of the epoch's documents as they were read.
    """
    middle = time.process_time()
    began = middle if clock is None else clock
    order = np.argsort(-state.topics.N, kind="stable")
    topics = state.topics.taken(order)
    expected = search.family.expected(*topics.statistics)
    found = swept(search, store, table_of_logs(topics, expected), expected, labels=True)
    draft = replace(
        draft, n_epochs=draft.n_epochs + 1, next_id=work.next_id,
        warned=warned_of_alpha(draft, work),
    ).with_history(np.zeros(draft.history.shape[1]))  # fmt: skip
    draft = draft.with_aliases(work.aliases)
    raw = not context.options.compress_final and context.last
    small, draft = squeezed(
        context, search, draft, store, topics, found.label, m_p, m_d, raw
    )
    seconds = middle - began, time.process_time() - middle
    draft = replace(
        draft, store=small.store.at_rest(), topics=small.topics,
        transient=transient_bytes(search, small.topics.K, store, passing),
        F=held_free_energy(search, small.store, small.topics),
    )  # fmt: skip
    search.monitor.epoch_done(recorded(draft, new, work, seconds, m_d))
    return Epoch(draft, small.group_of)


def warned_of_alpha(draft: Learned, work: Work) -> tuple[str, ...]:
    """What was warned of, once it was of sweeps without their step of alpha."""
    if not work.n_held or "alpha" in draft.warned:
        return draft.warned
    warn(
        ConvergenceWarning,
        f"the step of alpha would have raised the free energy in {work.n_held} "
        f"sweeps of epoch {draft.n_epochs + 1}, where alpha was kept instead; "
        'take alpha_update="newton", or a prior of shape and rate nearer to 1.',
    )
    return (*draft.warned, "alpha")


def recorded(
    draft: Learned,
    new: tuple[int, float],
    work: Work,
    seconds: tuple[float, float],
    m_d: float,
) -> EpochReport:
    """Write an epoch into the last row of the history, and report it."""
    n_bytes, n_items, K = draft.nbytes, draft.store.n_items, draft.topics.K
    F = draft.F + draft.log_scale * draft.n_points
    if len(draft.history):
        draft.history[-1] = [
            draft.n_epochs, *new, K, F,
            F / draft.n_points, *seconds, work.n_sweeps, work.n_tried, work.n_made,
            work.n_refused, n_items, n_bytes, m_d, work.n_jitters,
        ]  # fmt: skip
    return EpochReport(draft.n_epochs, *new, K, n_items, F, n_bytes)


def new_store(learned: Learned, batch: Batch, group: Any) -> Store:
    """The documents of an epoch as points, or as clumps where they have weights."""
    if batch.words is not None:
        return store_of(learned.family, None, group, words=batch.words)
    assert batch.rows is not None
    rows = learned.standardised(batch.rows)
    check_near(learned, batch, rows)
    return store_of(learned.family, rows, group, batch.weight)


def magnification(
    context: Context, learned: Learned, n_documents: int, n_points: float
) -> tuple[float, float, float, tuple[str, ...]]:
    """m_p, m_d, documents of the lifetime, and what was warned of (section 3.5)."""
    settings, warned = context.settings, learned.warned
    total = settings.expected_documents or context.total_documents
    lifetime = 2.0 * n_documents if total is None else float(total)
    over = total is not None and n_documents > total
    points = settings.expected_points
    over = over or (points is not None and n_points > points)
    if over and "totals" not in warned:
        warned = (*warned, "totals")
        warn(
            UserWarning,
            f"expected totals are below what was seen, {n_documents} documents of "
            f"{n_points:g} points; nothing is magnified from here on.",
        )
    m_d = max(1.0, lifetime / n_documents)
    m_p = m_d if points is None else max(1.0, points / n_points)
    most = context.options.magnify_max
    if most is not None:
        m_d, m_p = min(m_d, most), min(m_p, most)
    return m_p, m_d, max(lifetime, float(n_documents)), warned


def topic_cap(context: Context, learned: Learned, S: int, share: float) -> int:
    """Most topics in this epoch: the limit times the root of the documents' share."""
    settings = context.settings
    most = settings.max_topics or 2**31
    fixed = learned.fixed_bytes
    most = min(most, learned.limits.most_topics(learned.family, S, fixed))
    if most >= 2**31:
        return most
    if context.options.cap_growth == "fixed":
        return most
    return max(1, round(most * float(np.sqrt(min(1.0, share)))))


def built(
    context: Context,
    search: Search,
    learned: Learned,
    store: Store,
    new: Store,
    n_new: int,
    cap: int,
    gain: float,
) -> tuple[State, Work]:
    """Topics of an epoch's documents, before compression (section 4.3)."""
    work = Work(cap, gain, learned.next_id)
    S = learned.topics.S + n_new
    if not learned.topics.K:
        rng = stream(context, learned, KMEANS)
        K = starting_topics(context, learned, store, S)
        topics = first_topics(search, store, np.ones(S), K, rng)
        work.next_id = topics.K
        return finished(search, store, topics, work), work
    sizes = new.group_sums(np.arange(new.n_items), np.ones(new.n_items), S)
    topics = with_documents(
        search, learned.topics, sizes[learned.topics.S :], np.ones(n_new)
    )
    n_birth = context.options.n_birth
    is_words = learned.family.kind == 2
    if n_birth == "auto":
        n_birth = WORD_BIRTHS if is_words else 0
    assert isinstance(n_birth, int)
    if not n_birth or cap <= topics.K:
        return finished(search, store, topics, work), work
    rule = context.options.select
    if rule == "auto":
        rule = "always" if is_words else "free_energy"
    new_groups = np.arange(learned.topics.S, S, dtype=np.int32)

    def grown(held: Store, into: Work) -> Topics:
        rng = stream(context, learned, BIRTHS)
        return with_births(held, topics, new_groups, n_birth, into, rng)

    if rule == "always":
        return finished(search, store, grown(store, work), work), work
    if rule == "free_energy":
        plain = finished(search, store, topics, work)
        other = Work(cap, gain, learned.next_id)
        born = finished(search, store, grown(store, other), other)
        better = born.F + gain * born.topics.K < plain.F + gain * plain.topics.K
        return (born, other) if better else (plain, work)
    known, rest = held_out(store, learned.store, stream(context, learned, HELD_OUT))
    plain_work, born_work = (Work(cap, gain, learned.next_id) for _ in range(2))
    plain = finished(search, known, topics, plain_work)
    born = finished(search, known, grown(known, born_work), born_work)
    best = (
        born
        if log_score(search, born, rest) > log_score(search, plain, rest)
        else plain
    )
    work = born_work if best is born else plain_work
    return finished(search, store, best.topics, work), work


def finished(search: Search, store: Store, topics: Topics, work: Work) -> State:
    """Sweeps and moves until nothing is better."""
    return searched(search, store, work.count(settled(search, store, topics)), work)


def stream(context: Context, learned: Learned, purpose: int) -> np.random.Generator:
    """Random numbers of one purpose in one epoch."""
    return np.random.default_rng([context.seed, learned.n_epochs, purpose])


def starting_topics(context: Context, learned: Learned, store: Store, S: int) -> int:
    """Topics that the first epoch starts from: `init_topics`, within the limits."""
    given = context.settings.init_topics
    if given == "auto":
        if context.options.start == "one":
            return 1
        most = 40 if learned.family.kind == 2 else 20
        given = min(most, max(1, int(store.total // 200)))
    assert isinstance(given, int)
    cap = learned.limits.most_topics(learned.family, S, learned.fixed_bytes)
    return max(1, min(given, cap, context.settings.max_topics or given, store.n_items))


def with_ids(draft: Learned, batch: Batch, ids: Any) -> Learned:
    """Remember which documents come in the next epoch, where they are tracked."""
    if ids is None or draft.document_ids is None:
        return draft
    assert draft.document_group is not None
    assert draft.document_epoch is not None
    S = draft.topics.S  # groups before the epoch, after which its own come in order
    of_document = np.arange(S, S + batch.n_documents, dtype=np.int32)
    if len(ids) < batch.n_documents:  # the first one goes on with an old group
        of_document = of_document[:-1]
    epoch = np.full(len(ids), draft.n_epochs + 1, dtype=np.int32)
    same = draft.document_ids.dtype.kind == ids.dtype.kind or not len(
        draft.document_ids
    )
    before = draft.document_ids if same else draft.document_ids.astype(str)
    more = ids if same else ids.astype(str)
    if not len(before):
        before = before.astype(more.dtype)
    return replace(
        draft,
        document_ids=np.concatenate([before, more]),
        document_group=np.concatenate([draft.document_group, of_document]),
        document_epoch=np.concatenate([draft.document_epoch, epoch]),
    )


def squeezed(
    context: Context,
    search: Search,
    draft: Learned,
    store: Store,
    topics: Topics,
    label: Any,
    m_p: float,
    m_d: float,
    raw: bool,
) -> tuple[Any, Learned]:
    """Compress within the limits; what is warned of is warned of once."""
    limits = Limits() if raw else draft.limits
    try:
        small = compressed(
            search, store, topics, label, limits, draft.fixed_bytes,
            m_p=m_p, m_d=m_d,
        )  # fmt: skip
    except BudgetError as error:
        assert draft.limits.memory is not None
        raise ValueError(
            f"memory_limit must be at least {draft.limits.memory + error.missing} "
            f"bytes for what must be held; got {draft.limits.memory}. Raise it, or "
            "track and index fewer documents."
        ) from None
    warned = draft.warned
    if small.topics.K < topics.K and "topics" not in warned:
        warned = (*warned, "topics")
        warn(
            MemoryBudgetWarning,
            f"the limits leave room for {small.topics.K} topics; "
            f"{topics.K - small.topics.K} were merged. Raise memory_limit, or set "
            "max_topics or max_groups.",
        )
    if small.gave_up_groups and "groups" not in warned:
        warned = (*warned, "groups")
        warn(
            MemoryBudgetWarning,
            f"groups of documents took too much of memory_limit; they were merged to "
            f"{small.topics.S}. Set max_groups to choose how many there are.",
        )
    if draft.document_group is not None:
        draft = replace(draft, document_group=small.group_of[draft.document_group])
    draft = replace(draft, warned=warned)
    if small.aliases:
        kept = draft.with_aliases(list(small.aliases))
        if kept.nbytes == draft.nbytes:
            draft = kept
    return small, draft


def held_free_energy(search: Search, store: Store, topics: Topics) -> float:
    """Free energy (eq. 29) of the items held, with topics and alpha as they are."""
    expected = search.family.expected(*topics.statistics)
    found = swept(search, store, table_of_logs(topics, expected), expected)
    alive = found.N > 0.0
    new = replace(
        topics, N=found.N, mean=found.mean, scatter=found.scatter, counts=found.counts
    ).taken(np.flatnonzero(alive))
    log_z = search.family.expected(*new.statistics).log_z
    return free_energy(search, new, found.entropy, store.total, log_z)


def transient_bytes(
    search: Search, K: int, store: Store, passing: int
) -> tuple[tuple[str, int], ...]:
    """Bytes that learning an epoch takes beside what is held, by use (section 5.2)."""
    from dyntree._core.mixtures.topic_sweep import n_lanes, tile_rows

    family = search.family
    F = family.n_statistics
    tile = tile_rows(K, max(F, 1), search.options.block)
    lanes = n_lanes(store.n_items)
    own = K * (family.n_words or F) + K * (int(store.group.max(initial=0)) + 1)
    n = store.n_items
    part = n * min(K, 2) // K  # of the two largest topics, if all are alike
    return (
        ("raw epoch", passing),
        ("labels and weights", 36 * n),
        ("tiles", 8 * lanes * tile * (2 * K + 8 + max(F, 1))),
        ("sums", 8 * (lanes + 2) * own),
        ("moves", 24 * n + 8 * part * (2 * F + family.n_second + 4)),
        ("stores", 2 * store.nbytes),
    )
