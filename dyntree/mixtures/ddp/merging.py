"""Particles that a phase split in two become one again, where their past says so.

Weights are constant through life, so a duplicate born in one phase would stay. For a
particle p of birth mass a, m rows, exposure E, let

    J(p) = log a + log Gamma(m) - m log E + sum of log q + log evidence of its rows.

Two particles merge where J of both together, with birth, mass and exposure of the
older, exceeds the sum of theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from dyntree.encoding.values import Matrix
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.state import History, State
from dyntree.mixtures.shared.arrays import Ids

NEAR = 3.0  # standard deviations between centres


class Evidence:
    """J of particles and of pairs, from their histories."""

    def __init__(self, state: State, options: DDPOptions, family: Family) -> None:
        self.state, self.options, self.family = state, options, family
        self.known: dict[int, float] = {}

    def of(self, place: int) -> float:
        """J of one particle."""
        if place not in self.known:
            particles = self.state.particles
            phases, sums = self.state.history.of(int(particles.id[place]))
            self.known[place] = self.score(place, phases, sums, particles.m[place])
        return self.known[place]

    def together(self, older: int, younger: int) -> float:
        """J of both as one."""
        particles, history = self.state.particles, self.state.history
        pair = particles.id[[older, younger]]
        phases, sums = united(history, int(pair[0]), int(pair[1]))
        m = particles.m[older] + particles.m[younger]
        return self.score(older, phases, sums, m)

    def score(self, place: int, phases: Ids, sums: Matrix, m: float) -> float:
        """J of a history that begins where the particle's does."""
        evidence, _ = replayed(
            self.state, place, phases, sums, self.options, self.family
        )
        particles = self.state.particles
        total = np.log(particles.mass[place]) + particles.log_q[place] + evidence
        if self.options.uses_paper_weights:
            return float(total + gammaln(m))
        if self.options.weight_memory == 1.0:
            return float(total + gammaln(m) - m * np.log(particles.E[place]))
        return float(total + self.faded(phases, sums))

    def faded(self, phases: Ids, sums: Matrix) -> float:
        """The evidence of counts and exposures that fade, phase after phase."""
        state, kappa = self.state, self.options.weight_memory
        u = dict(enumerate(state.u[::-1]))  # by phases ago
        total, m, E = 0.0, 0.0, 1.0
        r = dict(zip(phases.tolist(), sums[:, 0].tolist(), strict=True))
        for t in range(int(phases[0]), state.n_phases):
            step = float(u.get(state.n_phases - 1 - t, 0.0))
            m, E, new = kappa * m, (kappa * E if m else E), r.get(t, 0.0)
            total += (m * np.log(E) - gammaln(m)) if m else 0.0
            total += gammaln(m + new) - (m + new) * np.log(E + step)
            m, E = m + new, E + step
        return float(total)


def united(history: History, older: int, younger: int) -> tuple[Ids, Matrix]:
    """Phases and sums of two particles, added phase by phase."""
    phases, sums = history.of(older)
    more, others = history.of(younger)
    every = np.union1d(phases, more)
    out = np.zeros((len(every), history.sums.shape[1]))
    out[np.searchsorted(every, phases)] += sums
    out[np.searchsorted(every, more)] += others
    return every, out


def replayed(
    state: State,
    place: int,
    phases: Ids,
    sums: Matrix,
    options: DDPOptions,
    family: Family,
) -> tuple[float, Matrix]:
    """Log evidence of a history, and the prior row after its last phase.

    It begins with the history of the particle at `place`. Earlier phases count by their
    numbers of rows only.
    """
    assert options.transition is not None
    row = state.particles.first[place][None]
    first = int(state.particles.first_phase[place])
    at = dict(zip(phases.tolist(), range(len(phases)), strict=True))
    total = 0.0
    for t in range(first, state.n_phases):
        if t > first:
            row = family.moved(row, options.transition)
        if t in at:
            seen = sums[at[t]][None]
            total += float(family.log_marginal(row, seen)[0])
            row = family.posterior(row, seen)
    return total, row


def merged(state: State, options: DDPOptions, family: Family) -> State:
    """The state once no pair of particles that have rows now should be one."""
    gains: dict[tuple[int, int], float] = {}  # by ids, while neither has changed
    while True:
        particles = state.particles
        now = np.flatnonzero(
            (particles.seen == state.n_phases - 1) & (particles.gone == 0)
        )
        evidence = Evidence(state, options, family)
        near = np.triu(family.distances(particles.row[now], NEAR) <= NEAR, 1)
        best, pair = 0.0, None
        for i, j in np.argwhere(near).tolist():
            p, q = sorted((int(now[i]), int(now[j])), key=particles.age_order)
            ids = (int(particles.id[p]), int(particles.id[q]))
            if not state.may_be_one(*ids):
                continue
            if ids not in gains:
                apart = evidence.of(p) + evidence.of(q)
                gains[ids] = evidence.together(p, q) - apart
            if gains[ids] > best:
                best, pair = gains[ids], (p, q)
        if pair is None:
            return state
        changed = {int(particles.id[k]) for k in pair}
        gains = {ids: gain for ids, gain in gains.items() if changed.isdisjoint(ids)}
        state = with_merged(state, *pair, options, family)


def with_merged(
    state: State, older: int, younger: int, options: DDPOptions, family: Family
) -> State:
    """Return the state after the rows of the younger particle went to the older.

    Positions are in the order of ids, which are in the order of births.
    """
    particles, history = state.particles, state.history
    keep, drop = int(particles.id[older]), int(particles.id[younger])
    phases, sums = united(history, keep, drop)
    _, row = replayed(state, older, phases, sums, options, family)
    everyone = particles.taken(np.arange(len(particles)))
    everyone.m[older] += everyone.m[younger]
    everyone.row[older] = row[0]
    everyone = everyone.taken(np.delete(np.arange(len(everyone)), younger))
    others = np.flatnonzero((history.owner != keep) & (history.owner != drop))
    rest = history.taken(others)
    owner = np.concatenate([rest.owner, np.full(len(phases), keep)])
    rest = History(
        owner, np.concatenate([rest.phase, phases]), np.concatenate([rest.sums, sums])
    )
    return replace(
        state, particles=everyone, history=rest, aliases=state.aliases | {drop: keep}
    )
