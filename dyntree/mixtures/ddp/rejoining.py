"""Copies of a model that have learned apart become one again.

What they had learned when they were copied counts once, and to it is added what each
has learned since: rows and exposures of particles, and the sums of their histories,
phase by phase. The location of a particle follows from these sums by its filter, as if
one model had learned the rows of all copies in each phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.merging import replayed
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.records import no_diagnostics
from dyntree.mixtures.ddp.state import (
    ENOUGH,
    History,
    Particles,
    State,
    pruned,
    with_fewer_counts,
    without_old_phases,
)
from dyntree.mixtures.ddp.superposing import labels_together, together
from dyntree.mixtures.shared.arrays import Ids, settled_aliases


def check_copies(start: State, parts: Sequence[State], options: DDPOptions) -> None:
    """Raise ValueError unless some states go on from one, and remember it."""
    before = start.counts[start.counts[:, 0] >= max(p.first_counted for p in parts)]
    for part in parts:
        own = part.counts[part.counts[:, 0] < start.n_phases]
        own = own[own[:, 0] >= (before[0, 0] if len(before) else 0)]
        same = part.origins == start.origins and part.n_phases >= start.n_phases
        if not same or own[:, 2].sum() != before[:, 2].sum():
            raise ArgumentError(
                "models",
                "must be copies of since, that have learned on",
                remedy="Leave since out for models that have learned apart from the "
                "first row on.",
            )
    n_phases = {part.n_phases for part in parts}
    if len(n_phases) > 1:
        raise ArgumentError(
            "models",
            "must have learned as many phases since they were copied",
            sorted(n - start.n_phases for n in n_phases),
            "Give an empty phase to those that had no rows.",
        )
    steps = n_phases.pop() - start.n_phases
    if steps > options.history:
        raise ArgumentError(
            "models",
            "must have learned at most {history} phases since they were copied, their "
            "history",
            steps,
            "Join them more often, or make models with a longer history.",
            history=options.history,
        )


def rejoined(
    start: State, parts: Sequence[State], options: DDPOptions, family: Family
) -> State:
    """One state of several copies of `start` that have learned on."""
    check_copies(start, parts, options)
    n_new = np.cumsum([0, *(part.next_id - start.next_id for part in parts)]).tolist()
    parts = [
        renamed(part, start.next_id, by)
        for part, by in zip(parts, n_new[:-1], strict=True)
    ]
    pairs = {k: v for part in parts for k, v in part.aliases.items()}
    root = settled_aliases(pairs.items())
    mass, exposure, age = cohorts_together(start, parts)
    n_phases = parts[0].n_phases
    steps = n_phases - start.n_phases
    u = [exposures_since(start, part) for part in parts]
    whole = State(
        particles_together(start, parts, options, u, root),
        history_together(start, parts, root), mass, exposure, age,
        n_phases=n_phases, next_id=start.next_id + n_new[-1],
        u=np.append(start.u, np.sum(u, axis=0))[-options.history :],
        counts=counts_together(start, parts), aliases=pairs, features=start.features,
        family=family, still=parts[0].still, phase_column=parts[0].phase_column,
        first_counted=max(part.first_counted for part in parts),
        labels=(
            *start.labels[max(0, len(start.labels) + steps - options.history) :],
            *labels_together([part.labels[-steps:] if steps else () for part in parts]),
        ),
        n_rows=sum(part.n_rows for part in parts) - (len(parts) - 1) * start.n_rows,
        n_chosen=ENOUGH, cells=parts[0].cells, diagnostics=no_diagnostics(),
        joins=start.joins, origins=start.origins,
    )  # fmt: skip
    for place in range(len(whole.particles)):
        phases, sums = whole.history.of(int(whole.particles.id[place]))
        _, row = replayed(whole, place, phases, sums, options, family)
        whole.particles.row[place] = row[0]
    whole = pruned(with_fewer_counts(whole), options)
    return without_old_phases(whole, options, family)


def renamed(state: State, first: int, by: int) -> State:
    """The state with other ids for what was born since the copy."""

    def ids(old: Ids) -> Ids:
        return np.where(old >= first, old + by, old)

    def one(old: int) -> int:
        return old + by if old >= first else old

    counts = state.counts.copy()
    counts[:, 1] = ids(counts[:, 1])
    return replace(
        state,
        particles=replace(state.particles, id=ids(state.particles.id)),
        history=replace(state.history, owner=ids(state.history.owner)),
        counts=counts,
        aliases={one(old): one(new) for old, new in state.aliases.items()},
        labels=tuple(ids(labels) for labels in state.labels),
    )


def exposures_since(start: State, part: State) -> np.ndarray:
    """By how much each phase since the copy has added to exposures."""
    steps = part.n_phases - start.n_phases
    return part.u[len(part.u) - steps :] if steps else np.empty(0)


def cohorts_together(
    start: State, parts: Sequence[State]
) -> tuple[np.ndarray, np.ndarray, Ids]:
    """Masses never seen, which are the same in all copies, with all exposures."""
    first = parts[0]
    if any(not np.array_equal(first.mass, part.mass) for part in parts):
        raise ArgumentError("models", "must have the options of since")
    steps = first.n_phases - start.n_phases
    before = dict(zip(start.age.tolist(), start.source_exposure, strict=True))
    begun = np.array([before.get(age - steps, 1.0) for age in first.age.tolist()])
    total = sum(part.source_exposure - begun for part in parts)
    return first.mass.copy(), begun + total, first.age.copy()


def history_together(
    start: State, parts: Sequence[State], root: dict[int, int]
) -> History:
    """Sums by particle and phase: those from before the copy once, later ones added."""
    shared = parts[0].history
    pieces = [shared.taken(np.flatnonzero(shared.phase < start.n_phases))]
    pieces += [
        part.history.taken(np.flatnonzero(part.history.phase >= start.n_phases))
        for part in parts
    ]
    whole: History = together(History, pieces)
    owner = np.array([root.get(k, k) for k in whole.owner.tolist()], dtype=np.int64)
    keys, place = np.unique(
        np.column_stack([whole.phase, owner]), axis=0, return_inverse=True
    )
    sums = np.zeros((len(keys), whole.sums.shape[1]))
    np.add.at(sums, place.reshape(-1), whole.sums)
    return History(keys[:, 1].copy(), keys[:, 0].copy(), sums)


def counts_together(start: State, parts: Sequence[State]) -> Ids:
    """Rows by phase and particle."""
    first = parts[0].counts
    pieces = [first[first[:, 0] < start.n_phases]]
    pieces += [part.counts[part.counts[:, 0] >= start.n_phases] for part in parts]
    whole = np.concatenate(pieces)
    keys, place = np.unique(whole[:, :2], axis=0, return_inverse=True)
    n_rows = np.zeros(len(keys), dtype=np.int64)
    np.add.at(n_rows, place.reshape(-1), whole[:, 2])
    return np.column_stack([keys, n_rows])


def particles_together(
    start: State,
    parts: Sequence[State],
    options: DDPOptions,
    u: Sequence[np.ndarray],
    root: dict[int, int],
) -> Particles:
    """The particles of all copies, those that they share once; rows are to follow."""
    memory = (
        options.count_memory if options.uses_paper_weights else options.weight_memory
    )
    fade = float(memory) ** len(u[0])
    places = [
        {id: k for k, id in enumerate(part.particles.id.tolist())} for part in parts
    ]
    ids = sorted({root.get(id, id) for own in places for id in own})
    pieces = []
    for id in ids:
        here = [(k, own[id]) for k, own in enumerate(places) if id in own]
        c, place = here[0]
        piece = parts[c].particles.taken(np.array([place]))
        before = fade * rows_of(start, id, root)
        since = [rows_of(parts[k], id, root) - before for k, _ in here]
        seen = [int(parts[k].particles.seen[at]) for k, at in here]
        piece.m = np.array([before + sum(since)])
        piece.E = np.array([exposure_of(id, start, parts, places, u, fade)])
        piece.seen = np.array([max(seen)])
        piece.gone = np.array([min(int(parts[k].particles.gone[at]) for k, at in here)])
        piece.alive = np.array([alive_of(id, start, parts, here, options)])
        if int(piece.first_phase[0]) > start.n_phases and id < start.next_id:
            raise ArgumentError(
                "models",
                Message(
                    "must remember the phase of the copy, and particle {id} does not",
                    id=id,
                ),
                remedy="Join them more often, or make models with a longer history.",
            )
        pieces.append(piece)
    return together(Particles, pieces) if pieces else parts[0].particles


def rows_of(state: State, id: int, root: dict[int, int]) -> float:
    """Rows of a particle and of those that have merged into it in some copy."""
    own = [root.get(old, old) == id for old in state.particles.id.tolist()]
    return float(state.particles.m[np.array(own, dtype=bool)].sum())


def exposure_of(
    id: int,
    start: State,
    parts: Sequence[State],
    places: Sequence[dict[int, int]],
    u: Sequence[np.ndarray],
    fade: float,
) -> float:
    """Exposure of a particle to the rows of all copies."""
    at = np.flatnonzero(start.particles.id == id)
    if len(at):
        before = fade * float(start.particles.E[at[0]])
        gains = [float(more.sum()) for more in u]
        for k, own in enumerate(places):
            if id in own:
                gains[k] = float(parts[k].particles.E[own[id]]) - before
        return before + sum(gains)
    c = next(k for k, own in enumerate(places) if id in own)
    E = float(parts[c].particles.E[places[c][id]])
    # a cohort that was born since the copy began with an exposure of 1
    left = 1.0 + np.cumsum(u[c][::-1])[::-1]
    born = 0 if left[0] < E else int(np.argmin(np.abs(left - E)))
    return E + sum(float(more[born:].sum()) for k, more in enumerate(u) if k != c)


def alive_of(
    id: int,
    start: State,
    parts: Sequence[State],
    here: Sequence[tuple[int, int]],
    options: DDPOptions,
) -> float:
    """Probability that a particle lives: each copy in which it has no rows tells."""
    alive = [float(parts[k].particles.alive[at]) for k, at in here]
    seen = max(int(parts[k].particles.seen[at]) for k, at in here)
    if id >= start.next_id or seen >= start.n_phases or max(alive) == 1.0:
        return max(alive)
    before = float(start.particles.alive[start.particles.id == id][0])
    q = options.survival if isinstance(options.survival, float) else 1.0
    prior = before * q ** (parts[0].n_phases - start.n_phases)
    if prior in (0.0, 1.0) or min(alive) == 0.0:
        return min(alive)
    odds = prior / (1.0 - prior)
    for one in alive:
        odds *= one / (1.0 - one) * (1.0 - prior) / prior
    return odds / (1.0 + odds)
