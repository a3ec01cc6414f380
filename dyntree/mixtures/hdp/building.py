"""Building: documents of an epoch are added; topics split and merge (section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dyntree.mixtures.hdp.context import BIRTHS, HELD_OUT, KMEANS, Context
from dyntree.mixtures.hdp.moves import (
    Move,
    applied,
    proposed_merges,
    proposed_splits,
    swept_for_proposals,
)
from dyntree.mixtures.hdp.starting import first_topics, with_births, with_documents
from dyntree.mixtures.hdp.state import State
from dyntree.mixtures.hdp.store import Ints, Store
from dyntree.mixtures.hdp.sweeps import Search, Solution, swept_until_settled
from dyntree.mixtures.hdp.topics import Topics

SINGLES = 3  # best moves that are tried alone once all together were refused
FIRST_START, NEXT_START = 2, 10  # topics of the first start, and of the next
SHORT = 30  # words of a document on average, up to which its words are few
BY_WORDS = (2, 4, 8)  # topics of starts from documents that share words
WORDS_EACH = 200  # of a topic that a first epoch starts from, at least
CHANGED = 0.01  # of a topic's points, after which a refused move is tried again


@dataclass
class BuildRecord:
    """What a build may do, and has done so far."""

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

    def counted(self, solution: Solution) -> Solution:
        """Return a solution after adding its sweeps to the counts of this record."""
        self.n_sweeps += solution.n_sweeps
        self.n_jitters += solution.n_jitters
        self.n_held += solution.n_held
        return solution


@dataclass(frozen=True)
class Build:
    """Documents of an epoch that are added to a model, and the room for topics."""

    context: Context
    search: Search
    state: State  # before
    store: Store  # all items
    new: Store  # those of the epoch alone
    n_groups: int  # the new ones among them
    cap: int  # most topics
    gain: float  # nats that one more topic must bring

    def record(self) -> BuildRecord:
        """A record of nothing done."""
        return BuildRecord(self.cap, self.gain, self.state.next_id)

    @property
    def ended(self) -> bool:
        """Whether the callback wants no more."""
        return self.search.monitor is not None and self.search.monitor.ended

    @property
    def new_groups(self) -> Ints:
        """Groups of the documents that are new."""
        return np.arange(self.state.topics.S, self.n_groups, dtype=np.int32)

    def cost(self, solution: Solution) -> float:
        """Free energy, and what its topics must bring."""
        return solution.F + self.gain * solution.topics.K

    def random(self, purpose: int) -> np.random.Generator:
        """Random numbers of one purpose."""
        return self.context.random(self.state.n_epochs, purpose)


Built = tuple[Solution, BuildRecord]


def built(build: Build) -> Built:
    """Topics of an epoch's documents, before compression (section 4.3)."""
    state, search, options = build.state, build.search, build.search.options
    family, S = state.family, build.n_groups
    if not state.topics.K:
        given = build.context.settings.init_topics
        if family.random_start and (given, options.start) == ("auto", "auto"):
            return best_start(build)
        return started(build, build.store, n_starting_topics(build))
    every = np.arange(build.new.n_items), np.ones(build.new.n_items)
    sizes = build.new.group_sums(*every, S)[state.topics.S :]
    topics = with_documents(search, state.topics, sizes, np.ones(len(sizes)))
    n_birth = n_births(build)
    if not n_birth or build.cap <= topics.K:
        return improved(build, build.store, topics, build.record())
    if options.select == "always":
        return born(build, build.store, topics, n_birth)
    rule = options.select
    if rule == "auto":
        rule = "either" if family.of_words else "free_energy"
    if rule == "free_energy":
        plain = improved(build, build.store, topics, build.record())
        other = born(build, build.store, topics, n_birth)
        return other if build.cost(other[0]) < build.cost(plain[0]) else plain
    known, rest = build.store.put_aside(state.store, build.random(HELD_OUT))
    plain = improved(build, known, topics, build.record())
    other = born(build, known, topics, n_birth)
    plain_log, other_log = (log_score(search, one, rest) for one, _ in (plain, other))
    is_lower = rule == "either" and build.cost(other[0]) < build.cost(plain[0])
    best, record = other if is_lower or other_log > plain_log else plain
    return improved(build, build.store, best.topics, record)


def started(build: Build, store: Store, K: int, by_words: bool = False) -> Built:
    """Topics of a first epoch from so many to start from."""
    record, ones = build.record(), np.ones(build.n_groups)
    rng = build.random(KMEANS)
    topics = first_topics(build.search, store, ones, K, rng, by_words)
    record.next_id = topics.K
    return improved(build, store, topics, record)


def best_start(build: Build) -> Built:
    """Topics of a first epoch from the start of the lowest free energy.

    Starts have two topics, ten, and then twice as many as the last one had. From the
    third on, a start whose free energy is no lower than that of the best one before is
    the last (section 4.3). Short documents, in which chance starts find poor optima,
    have further starts, of groups of documents that share words.
    """
    most = starting_topics_within(build, max(1, int(build.store.total // WORDS_EACH)))
    start = min(FIRST_START, most)
    best = last = started(build, build.store, start)
    while start < most and not build.ended:
        n_next = NEXT_START if start < NEXT_START else 2 * last[0].topics.K
        if n_next <= start:
            break
        start = min(most, n_next)
        last = started(build, build.store, start)
        if build.cost(last[0]) < build.cost(best[0]):
            best = last
        elif start > NEXT_START:
            break
    if build.store.total > SHORT * build.n_groups:
        return best
    for start in BY_WORDS:
        if start <= most and not build.ended:
            other = started(build, build.store, start, by_words=True)
            best = min(best, other, key=lambda one: build.cost(one[0]))
    return best


def n_births(build: Build) -> int:
    """Topics that a later epoch proposes."""
    given, most = build.search.options.n_birth, build.state.family.most_births
    if given != "auto":
        return int(given)
    return min(most, len(build.new_groups))


def born(build: Build, store: Store, topics: Topics, n_birth: int) -> Built:
    """Add topics that begin at random documents, then improve all topics."""
    record, rng = build.record(), build.random(BIRTHS)
    most = min(n_birth, record.cap - topics.K)
    fresh = with_births(store, topics, build.new_groups, most, record.next_id, rng)
    record.next_id += fresh.K - topics.K
    return improved(build, store, fresh, record)


def improved(build: Build, store: Store, topics: Topics, record: BuildRecord) -> Built:
    """Topics after sweeps and moves until nothing is better."""
    start = record.counted(swept_until_settled(build.search, store, topics))
    return searched(build.search, store, start, record), record


def log_score(search: Search, solution: Solution, rest: Store) -> float:
    """Log predictive probability of points that were put aside."""
    if not rest.n_items:
        return 0.0
    points = rest.positions(np.arange(rest.n_items))
    group = np.concatenate([rest.group, rest.clump_group])  # one each
    topics = solution.topics
    logs = search.family.log_mixture(
        points, topics.statistics, topics.proportions[group]
    )
    return float(rest.weights @ logs)


def n_starting_topics(build: Build) -> int:
    """Topics that the first epoch starts from: `init_topics`, within the limits."""
    settings, store = build.context.settings, build.store
    given = settings.init_topics
    if given == "auto":
        if settings.options.start == "one":
            return 1
        given = min(build.state.family.most_start, max(1, int(store.total // 200)))
    return starting_topics_within(build, int(given))


def starting_topics_within(build: Build, wanted: int) -> int:
    """So many topics, or as many as the limits allow to start from."""
    state = build.state
    cap = state.limits.most_topics(state.family, build.n_groups, state.fixed_bytes)
    most = build.context.settings.max_topics or wanted
    return max(1, min(wanted, cap, most, build.store.n_items))


# ---------------------------------------------------------------- moves
def searched(
    search: Search, store: Store, solution: Solution, record: BuildRecord
) -> Solution:
    """Make moves until none is left that lowers the free energy."""
    while not (search.monitor is not None and search.monitor.ended):
        found = swept_for_proposals(search, store, solution)
        record.n_sweeps += 1
        moves = proposals(search, store, solution, found, record)
        trials = [
            group for group in trial_groups(search, solution, moves, record) if group
        ]
        for trial in trials:
            better = tried(search, store, solution, trial, record)
            if better is not None:
                solution = better
                break
        else:
            break
    return solution


def proposals(
    search: Search, store: Store, solution: Solution, found: Any, record: BuildRecord
) -> list[Move]:
    """Moves that promise a gain, best first; those lately refused are left out."""
    topics = solution.topics
    place = {int(i): k for k, i in enumerate(topics.ids)}

    def same(i: int, N: float) -> bool:
        return i in place and abs(topics.N[place[i]] - N) <= CHANGED * N

    skip_splits = {place[i] for i, N in record.splits_refused.items() if same(i, N)}
    skip_merges = {
        frozenset(place[i] for i in pair)
        for pair, sizes in record.merges_refused.items()
        if all(same(i, N) for i, N in zip(sorted(pair), sizes, strict=True))
    }
    splits = proposed_splits(search, store, solution, found, skip_splits)
    merges = proposed_merges(search, store, solution, found, skip_merges)
    return sorted(
        splits + merges, key=lambda m: (m.gain + record.gain * m.growth, m.one, m.two)
    )


def trial_groups(
    search: Search, solution: Solution, moves: list[Move], record: BuildRecord
) -> list[list[Move]]:
    """Sets of moves to try: all that share no topic, then the best ones alone."""
    good = [m for m in moves if m.gain + record.gain * m.growth < 0.0]
    room = max(0, record.cap - solution.topics.K)
    splits = [m for m in good if m.is_split]
    record.n_refused += max(0, len(splits) - room)
    allowed = {id(m) for m in splits[:room]}
    possible = [m for m in good if not m.is_split or id(m) in allowed]
    if search.options.moves == "one":
        return [possible[:1]]
    together: list[Move] = []
    used: set[int] = set()
    for move in possible:
        if not used & move.topics:
            together.append(move)
            used |= move.topics
    trials = [together]
    trials += [[move] for move in possible[:SINGLES] if [move] != together]
    if not possible and search.options.swaps and splits:
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
    search: Search,
    store: Store,
    solution: Solution,
    trial: list[Move],
    record: BuildRecord,
) -> Solution | None:
    """Apply moves and sweep fully; return the solution if it lowered F + g K."""
    topics, into = applied(store, solution.topics, trial, record.next_id)
    record.n_tried += len(trial)
    new = record.counted(swept_until_settled(search, store, topics))
    saved = solution.F - new.F - record.gain * (new.topics.K - solution.topics.K)
    if saved > search.tolerance(solution.F, store.total):
        record.n_made += len(trial)
        record.next_id += sum(move.is_split for move in trial)
        record.aliases += into.items()
        return new
    if len(trial) == 1:
        refuse(solution.topics, trial[0], record)
    return None


def refuse(topics: Topics, move: Move, record: BuildRecord) -> None:
    """Remember that a move was refused, until its topics have changed."""
    if move.is_split:
        record.splits_refused[int(topics.ids[move.one])] = float(topics.N[move.one])
        return
    pair = sorted((int(topics.ids[k]), float(topics.N[k])) for k in move.topics)
    ids = frozenset(i for i, _ in pair)
    record.merges_refused[ids] = (pair[0][1], pair[1][1])
