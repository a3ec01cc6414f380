"""Copies of a model that have learned apart become one again.

Each phase since the copy is filtered once more from the state of the ancestor, with the
labels and exposures that the copies have drawn: sums of rows of all copies, and the sum
of their exposures, u. Nothing is drawn. What the ancestor knew counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.merging import with_merged
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.records import no_diagnostics
from dyntree.mixtures.ddp.state import (
    ENOUGH,
    Outcome,
    Prediction,
    State,
    after_phase,
    predicted,
    pruned,
    without_old_phases,
)
from dyntree.mixtures.ddp.superposing import joined_marks, labels_together
from dyntree.mixtures.shared.arrays import Ids, settled_aliases

SLACK = 1e-10  # relative, of sums that were taken in another order
Name = tuple[int, int]  # of a particle born since: its copy, and its id there


def rejoined(
    start: State, parts: Sequence[State], options: DDPOptions, family: Family
) -> State:
    """One state of several copies of `start` that have learned on."""
    check_copies(start, parts, options)
    state, n_phases = with_merges(start, parts, options, family), parts[0].n_phases
    ids: dict[Name, int] = {}
    for phase in range(start.n_phases, n_phases):
        state = with_phase_of_all(start, state, parts, phase, ids, options, family)
    steps = n_phases - start.n_phases
    renamed = [
        [np.array([of_copy(start, part, ids, c, k) for k in one.tolist()], np.int64)
         for one in part.labels[max(0, len(part.labels) - steps) :]]
        for c, part in enumerate(parts)
    ]  # fmt: skip
    labels = (*start.labels, *labels_together([tuple(one) for one in renamed]))
    columns = [part.phase_column for part in parts if part.phase_column is not None]
    state = replace(
        state, labels=labels[max(0, len(labels) - options.history) :], early=(),
        n_rows=sum(part.n_rows for part in parts) - (len(parts) - 1) * start.n_rows,
        n_chosen=ENOUGH, diagnostics=no_diagnostics(),
        phase_column=columns[0] if columns else start.phase_column,
        joined=joined_marks([marks_of(start, part) for part in parts]),
    )  # fmt: skip
    return without_old_phases(pruned(state, options), options, family)


# ---------------------------------------------------------------- what is refused
def check_copies(start: State, parts: Sequence[State], options: DDPOptions) -> None:
    """Raise ValueError unless states go on from one, apart, and remember where."""
    for number, part in enumerate(parts):
        if part.origins != start.origins:
            raise ArgumentError(
                "models",
                "must be copies of since, that have learned on; models[{number}] is "
                "not",
                remedy="Leave since out for models that have learned apart from the "
                "first row on.",
                number=number,
            )
        # before the past, which is learned again when scales are chosen again
        same = part.family == start.family
        if not same or not np.array_equal(part.still, start.still):
            raise ArgumentError(
                "models",
                "must have the scales of since, which were not chosen again",
                remedy=f"Copy a model after its first {ENOUGH} rows, or give its "
                "scales.",
            )
        if not goes_on(start, part):
            raise ArgumentError(
                "models",
                "must have learned all phases of since; models[{number}] has not",
                remedy="Give as since the model as it was when they were copied.",
                number=number,
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
    for one, other in combinations([marks_of(start, part) for part in parts], 2):
        phase = shared_phase(one, other)
        if phase is not None:
            raise ArgumentError(
                "models",
                "must have learned apart since they were copied; two have learned "
                "the same rows in phase {phase}",
                remedy="Give as since the model as it was when they were copied.",
                phase=phase,
            )


def goes_on(start: State, part: State) -> bool:
    """Whether a state has the past of another one, as far as it remembers it."""
    if part.n_phases < start.n_phases:
        return False
    first = max(part.n_phases - len(part.u), start.n_phases - len(start.u))
    n = max(0, start.n_phases - first)  # phases whose exposures both remember
    remembered = part.u[len(part.u) - (part.n_phases - first) :][:n]
    if not np.array_equal(remembered, start.u[len(start.u) - n :]):
        return False
    oldest = max(start.first_counted, part.first_counted)
    return all(
        rows_of(start, phase) == rows_of(part, phase)
        for phase in range(oldest, start.n_phases)
    )


def marks_of(start: State, part: State) -> Matrix:
    """Phase and sums of the first rows since `start`, of a copy and of its parts.

    A copy that is made of others, joined since, has theirs beside its own. Later phases
    are not compared: rows of others may be equal by chance.
    """
    marks = [mark for mark in part.joined if mark[0] >= start.n_phases]
    for phase in range(start.n_phases, part.n_phases):
        sums = total_of(part, phase)
        if sums[0]:
            return np.array([*marks, np.append(phase, sums)])
    return np.array(marks)


def shared_phase(one: Matrix, other: Matrix) -> int | None:
    """The phase whose rows two copies, or parts of them, have both learned."""
    for mark, its in product(one, other):
        # a merge has changed the order of the terms
        near = np.abs(mark - its).max() <= SLACK * np.abs(mark[1:]).max()
        if near and (mark[:2] == its[:2]).all():
            return int(mark[0])
    return None


def rows_of(state: State, phase: int) -> int:
    """Rows of a phase."""
    return int(state.counts[state.counts[:, 0] == phase, 2].sum())


def total_of(state: State, phase: int) -> Vector:
    """Sums over all rows of a phase."""
    total: Vector = state.history.sums[state.history.phase == phase].sum(axis=0)
    return total


# ---------------------------------------------------------------- what is done
def with_merges(
    start: State, parts: Sequence[State], options: DDPOptions, family: Family
) -> State:
    """The ancestor, whose particles have merged where they have in some copy."""
    state = start
    for part in parts:
        for old, new in settled_aliases(part.aliases.items()).items():
            now = settled_aliases(state.aliases.items())
            place = {id: k for k, id in enumerate(state.particles.id.tolist())}
            older, younger = place.get(now.get(new, new)), place.get(now.get(old, old))
            if older is None or younger is None or older == younger:
                continue
            state = with_merged(state, older, younger, options, family)
    return state


def of_copy(start: State, state: State, ids: dict[Name, int], c: int, id: int) -> int:
    """The id of a particle of copy c."""
    if id < start.next_id:
        return id
    settled = settled_aliases(state.aliases.items()).get(id, id)
    return settled if settled < start.next_id else ids[c, settled]


def with_phase_of_all(
    start: State,
    state: State,
    parts: Sequence[State],
    phase: int,
    ids: dict[Name, int],
    options: DDPOptions,
    family: Family,
) -> State:
    """The state after a phase of the rows of all copies."""
    ahead = predicted(state, options, family)
    aliases = settled_aliases(state.aliases.items())
    place = {id: k for k, id in enumerate(ahead.particles.id.tolist())}
    names: list[Name] = []
    sums = np.zeros((len(place), family.n_sums()))
    more: list[Vector] = []
    for c, part in enumerate(parts):
        for entry in np.flatnonzero(part.history.phase == phase).tolist():
            owner = int(part.history.owner[entry])
            if owner >= start.next_id and (c, owner) not in ids:
                names.append((c, owner))
                more.append(part.history.sums[entry])
                continue
            id = ids.get((c, owner), aliases.get(owner, owner))
            sums[place[id]] += part.history.sums[entry]
    u = sum(exposure(part, phase) for part in parts)
    new = np.arange(len(place), len(place) + len(names), dtype=np.int64)
    source = {
        int(k): source_of(ahead, parts[c], owner, phase, options)
        for k, (c, owner) in zip(new, names, strict=True)
    }
    outcome = Outcome(np.empty(0, np.int64), u, alive_after(ahead, u, options), source)
    every = np.concatenate([sums, *(one[None] for one in more)])
    after, named = after_phase(state, ahead, outcome, options, family, every, new)
    born: Ids = named[len(place) :]
    ids |= dict(zip(names, born.tolist(), strict=True))
    return after


def exposure(part: State, phase: int) -> float:
    """By how much a phase has added to exposures."""
    return float(part.u[len(part.u) - (part.n_phases - phase)])


def alive_after(ahead: Prediction, u: float, options: DDPOptions) -> Vector:
    """Probabilities that particles live if they have no rows in a phase."""
    p = ahead.particles
    if options.uses_paper_weights:
        return p.alive
    silent = np.exp(p.m * (np.log(p.E) - np.log(p.E + u)))
    alive: Vector = p.alive * silent / (p.alive * silent + 1.0 - p.alive)
    return alive


def source_of(
    ahead: Prediction, part: State, owner: int, phase: int, options: DDPOptions
) -> int:
    """The cohort that a particle was born from, by its mass, or else its exposure."""
    at = int(np.flatnonzero(part.particles.id == owner)[0])
    born = part.particles.taken(np.array([at]))
    same = np.flatnonzero(ahead.mass == born.mass[0])
    if len(same) != 1 and (options.uses_paper_weights or not len(same)):
        same = np.argsort(np.abs(ahead.mass - born.mass[0]), kind="stable")[:1]
    if len(same) == 1:
        return int(same[0])
    # of those, the one whose exposure in the copy would by now be the particle's
    now = np.array([started(part, int(ahead.age[k]), phase) for k in same])
    for later in range(phase + 1, part.n_phases):
        now = options.weight_memory * now + exposure(part, later)
    return int(same[np.argmin(np.abs(now - born.E[0]))])


def started(part: State, age: int, phase: int) -> float:
    """Exposure of a cohort of some age in a phase, once the phase has added to it."""
    now = part.n_phases - 1 - phase + age
    at = np.flatnonzero(part.age == now)
    later = sum(exposure(part, t) for t in range(phase + 1, part.n_phases))
    return float(part.source_exposure[at[0]]) - later if len(at) else np.inf
