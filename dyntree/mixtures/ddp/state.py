"""What a filter of gamma weights carries from phase to phase, and its two halves.

A particle's weight given the past is Gamma(m, E): m rows ever assigned, and an exposure
E that grows by u each phase. Cohorts are mass that was never observed, gamma processes
GP(a p, E), one for each phase, and one for the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.nearness import UNKNOWN, Nearness
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.records import Diagnostics, no_diagnostics
from dyntree.mixtures.shared.arrays import Ids, settled_aliases

LEAST_MASS = 1e-4  # of a cohort, as a share of the innovation
NOTHING = 1e-100  # rows, or exposure
MOST_COHORTS = 1024  # and phases that the base of a cohort moves for
MOST_COUNTS = 100_000  # of rows in a phase, of which the oldest go
ENOUGH = 200  # rows of a choice of scales after which there is no other
N_PLACES = 256  # over which a survival that depends on the place is averaged


@dataclass
class Particles:
    """Particles in the order of their ids; deleted ones stay for `history` phases.

    Arrays have the shape (n,), except `row`, which is (n, n_prior). It is the knowledge
    of the location after the last phase. `first` is the same before the phases in
    `History`.
    """

    id: Ids
    born: Ids
    seen: Ids
    m: Vector
    E: Vector
    alive: Vector
    mass: Vector  # of the source at birth
    log_q: Vector  # sum over phases since birth
    gone: Ids  # 0 or 1
    first_phase: Ids
    row: Matrix
    first: Matrix

    @classmethod
    def none(cls, n_prior: int) -> Particles:
        """No particles."""
        whole, real = np.empty(0, dtype=np.int64), np.empty(0)
        rows = np.empty((0, n_prior))
        return cls(
            id=whole, born=whole, seen=whole, m=real, E=real, alive=real, mass=real,
            log_q=real, gone=whole, first_phase=whole, row=rows, first=rows,
        )  # fmt: skip

    def taken(self, places: Ids) -> Particles:
        """Some of the particles, copied."""
        return Particles(**{
            one.name: getattr(self, one.name)[places] for one in fields(self)
        })  # fmt: skip

    def with_more(self, other: Particles) -> Particles:
        """These and others after them."""
        names = [one.name for one in fields(self)]
        return Particles(**{
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in names
        })  # fmt: skip

    def age_order(self, place: int) -> tuple[int, int]:
        """Sort key of a particle, by which older ones come first."""
        return int(self.born[place]), int(self.id[place])

    def __len__(self) -> int:
        return len(self.id)


@dataclass
class History:
    """Sums of particles by phase, for the last phases: arrays of n_entries."""

    owner: Ids
    phase: Ids
    sums: Matrix

    @classmethod
    def none(cls, n_sums: int) -> History:
        """Nothing."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, np.empty((0, n_sums)))

    def taken(self, entries: Ids) -> History:
        """Some of the entries."""
        return History(self.owner[entries], self.phase[entries], self.sums[entries])

    def with_more(self, owner: Ids, phase: int, sums: Matrix) -> History:
        """And the sums of a phase."""
        return History(
            np.concatenate([self.owner, owner]),
            np.concatenate([self.phase, np.full(len(owner), phase)]),
            np.concatenate([self.sums, sums]),
        )

    def of(self, owner: int) -> tuple[Ids, Matrix]:
        """Phases and sums of one particle, in order."""
        entries = np.flatnonzero(self.owner == owner)
        return self.phase[entries], self.sums[entries]


@dataclass(frozen=True, eq=False)
class State:
    """Everything a model has learned; a phase makes a new state."""

    particles: Particles
    history: History
    mass: Vector  # (n_cohorts,)
    source_exposure: Vector  # (n_cohorts,)
    age: Ids  # (n_cohorts,) phases since the cohort was born
    n_phases: int = 0
    next_id: int = 0
    u: Vector = field(default_factory=lambda: np.empty(0))  # of the last phases
    counts: Ids = field(default_factory=lambda: np.empty((0, 3), dtype=np.int64))
    aliases: dict[int, int] = field(default_factory=dict)
    features: FeatureMap | None = None
    family: Family | None = None  # with the scales of the first rows
    still: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    first_counted: int = 0  # phase in `counts`
    phase_column: str | None = None  # of the phase
    labels: tuple[Ids, ...] = ()  # of the rows of the last phases
    n_rows: int = 0
    diagnostics: Diagnostics = field(default_factory=no_diagnostics)
    n_chosen: int = 0  # rows from which scales were chosen, if widths are not given
    cells: Vector = field(default_factory=lambda: np.zeros(0))  # of values of columns
    early: tuple[Matrix, ...] = ()  # rows of all phases, while these are too few
    nearness: Nearness = UNKNOWN  # of rows, of the last phase of another scale
    joins: tuple[tuple[int, ...], ...] = ()  # ends of the ids of superposed models
    origins: tuple[str, ...] = ()  # of these models, once there are rows
    # phase and sums of the first rows since a copy, of each copy that was joined
    joined: Matrix = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def fresh(cls, options: DDPOptions, n_prior: int = 0, n_sums: int = 0) -> State:
        """Before the first phase: all mass is that of the start."""
        return cls(
            Particles.none(n_prior), History.none(n_sums),
            np.array([options.concentration]), np.ones(1), np.zeros(1, dtype=np.int64),
        )  # fmt: skip

    def settled(self) -> State:
        """Without the rows of all phases, once scales are not chosen again."""
        return replace(self, early=()) if self.n_chosen >= ENOUGH else self

    @property
    def nbytes(self) -> int:
        """Bytes used by particles, their histories, and labels."""
        arrays = [*vars(self.particles).values(), *vars(self.history).values()]
        arrays += [self.mass, self.source_exposure, self.age, self.u, self.counts]
        arrays += [self.cells, self.joined, *self.early]
        return int(sum(array.nbytes for array in (*arrays, *self.labels)))

    def may_be_one(self, one: int, other: int) -> bool:
        """Whether ids may be of one particle: not if they come from two models."""
        for first, *ends in self.joins:
            parts = np.searchsorted(ends, [one, other], side="right")
            inside = min(one, other) >= first and parts.max() < len(ends)
            if inside and parts[0] != parts[1]:
                return False
        return True

    def live(self) -> Ids:
        """Places of the particles that may be alive."""
        return np.flatnonzero(self.particles.gone == 0).astype(np.int64)


@dataclass
class Prediction:
    """What a phase begins with."""

    particles: Particles  # the live ones, `row` moved, `alive` times survival
    survival: Vector  # of this phase alone
    mass: Vector
    source_exposure: Vector
    age: Ids
    bases: Matrix  # (n_bases, n_prior)
    base: Ids  # of each cohort

    def priors(self) -> Matrix:
        """Prior rows as the core takes them."""
        return np.concatenate([self.particles.row, self.bases])


def predicted(state: State, options: DDPOptions, family: Family) -> Prediction:
    """Apply survival, transition and fresh mass: the state at the start of a phase.

    The first phase is not predicted.
    """
    assert options.transition is not None
    particles = state.particles.taken(state.live())
    mass, exposure, age = state.mass, state.source_exposure, state.age
    q = np.ones(len(particles))
    if state.n_phases:
        q = options.survival_at(family.means(particles.row))
        particles.alive = particles.alive * q
        particles.row = family.moved(particles.row, options.transition)
        memory = faded(particles, options)
        particles.m = memory * particles.m
        if not options.uses_paper_weights:
            particles.E = memory * particles.E
        mass = base_survival(options, family) * mass
        mass = np.append(mass, options.alpha_new)
        exposure = np.append(exposure, 1.0)
        age = np.append(np.minimum(age + 1, MOST_COHORTS), 0)
        large = mass >= LEAST_MASS * options.alpha_new
        mass, exposure, age = fewer_cohorts(mass[large], exposure[large], age[large])
    bases, base = bases_of(age, options, family)
    return Prediction(particles, q, mass, exposure, age, bases, base)


def fewer_cohorts(
    mass: Vector, exposure: Vector, age: Ids
) -> tuple[Vector, Vector, Ids]:
    """Reduce to at most 1,024 cohorts by merging neighbours with similar exposures.

    Gamma processes with the same exposure add up to one. For two different exposures,
    one process with the total mass and mean weight replaces both.
    """
    while len(mass) > MOST_COHORTS:
        pair = mass[:-1] * mass[1:] / (mass[:-1] + mass[1:])
        k = int(np.argmin(pair * np.diff(np.log(exposure)) ** 2))
        both = mass[k] + mass[k + 1]
        weight = mass[k] / exposure[k] + mass[k + 1] / exposure[k + 1]
        mean_age = (mass[k] * age[k] + mass[k + 1] * age[k + 1]) / both
        mass, exposure = np.delete(mass, k), np.delete(exposure, k)
        age = np.delete(age, k)
        mass[k], exposure[k], age[k] = both, both / weight, round(mean_age)
    return mass, exposure, age


def faded(particles: Particles, options: DDPOptions) -> Vector:
    """Factors on m and E before a phase: what is next to nothing fades no further."""
    least = (
        particles.m
        if options.uses_paper_weights
        else np.minimum(particles.m, particles.E)
    )
    memory = (
        options.count_memory if options.uses_paper_weights else options.weight_memory
    )
    return np.where(memory * least < NOTHING, 1.0, memory)


def base_survival(options: DDPOptions, family: Family) -> float:
    """Share of the mass never seen that survives: the mean of q over the base.

    If it depends on the location, the mean is over 256 fixed locations.
    """
    if isinstance(options.survival, float):
        return options.survival
    places = family.locations(family.base(), N_PLACES, np.random.default_rng(0))
    return float(options.survival_at(places).mean())


def bases_of(age: Ids, options: DDPOptions, family: Family) -> tuple[Matrix, Ids]:
    """Prior rows of mass never seen, and which of them each cohort has."""
    assert options.transition is not None
    rows = [family.base()]
    if options.base == "stationary":
        return np.array(rows), np.zeros(len(age), dtype=np.int64)
    for _ in range(int(age.max(initial=0))):
        rows.append(family.moved(rows[-1][None], options.transition)[0])
    return np.array(rows), age


def unseen(state: State, options: DDPOptions, family: Family) -> tuple[Matrix, Vector]:
    """Prior rows of mass never seen, and its expected weight under each."""
    rate = (
        np.ones(len(state.mass))
        if options.uses_paper_weights
        else state.source_exposure
    )
    bases, base = bases_of(state.age, options, family)
    weight = np.zeros(len(bases))
    np.add.at(weight, base, state.mass / rate)
    return bases, weight


@dataclass
class Outcome:
    """Result of sampling a phase; labels are particles, new ones numbered from K on."""

    labels: Ids  # (n_rows,) places; -1 for rows that count nowhere
    u: float
    alive: Vector  # (K,) mean alive probability of those without rows
    source: dict[int, int]  # of new places


def after_phase(
    state: State,
    ahead: Prediction,
    found: Outcome,
    options: DDPOptions,
    family: Family,
    sums: Matrix,
    names: Ids,
) -> tuple[State, Ids]:
    """The state after a phase, and the ids of old and new particles.

    Sums are those of the rows by position, with new particles in the order of `names`.
    """
    old, K, phase = ahead.particles, len(ahead.particles), state.n_phases
    step = 0.0 if options.uses_paper_weights else found.u
    r = sums[:, 0]
    observed = r[:K] > 0
    after = replace(old)
    after.m = old.m + r[:K]
    after.E = old.E + step
    after.alive = np.where(observed, 1.0, found.alive)
    after.seen = np.where(observed, phase, old.seen)
    after.log_q = old.log_q + np.log(np.maximum(ahead.survival, 1e-300))
    if K:
        posterior = family.posterior(old.row, sums[:K])
        after.row = np.where(observed[:, None], posterior, old.row)
    born = born_particles(state, ahead, found, family, sums[K:], names, step)
    everyone = state.particles.taken(np.arange(len(state.particles)))
    live = state.live()
    for one in fields(Particles):
        getattr(everyone, one.name)[live] = getattr(after, one.name)
    everyone = everyone.with_more(born)
    ids = np.concatenate([old.id, born.id])
    occupied = np.flatnonzero(r > 0)
    history = state.history.with_more(ids[occupied], phase, sums[occupied])
    counts = np.column_stack([
        np.full(len(occupied), phase), ids[occupied], r[occupied].astype(np.int64)
    ])  # fmt: skip
    whole = replace(
        state, particles=everyone, history=history, mass=ahead.mass,
        source_exposure=ahead.source_exposure + step, age=ahead.age,
        n_phases=phase + 1, next_id=state.next_id + len(names),
        u=np.append(state.u, found.u)[-options.history :],
        counts=np.concatenate([state.counts, counts]),
    )  # fmt: skip
    return with_fewer_counts(whole), ids


def with_fewer_counts(state: State) -> State:
    """The state with at most 100,000 counts: the oldest phases go."""
    phase, excess = state.counts[:, 0], len(state.counts) - MOST_COUNTS
    if excess <= 0:
        return state
    first = min(int(phase[excess - 1]) + 1, int(phase[-1]))
    counts = state.counts[np.searchsorted(phase, first) :]
    return replace(state, counts=counts, first_counted=first)


def born_particles(
    state: State,
    ahead: Prediction,
    found: Outcome,
    family: Family,
    sums: Matrix,
    names: Ids,
    step: float,
) -> Particles:
    """The particles that a phase brought."""
    n = len(names)
    source = np.array([found.source[name] for name in names.tolist()], dtype=np.int64)
    bases = (
        ahead.bases[ahead.base[source]] if n else np.empty((0, ahead.bases.shape[1]))
    )
    phase = np.full(n, state.n_phases)
    return Particles(
        id=state.next_id + np.arange(n), born=phase, seen=phase, m=sums[:, 0].copy(),
        E=ahead.source_exposure[source] + step, alive=np.ones(n),
        mass=ahead.mass[source], log_q=np.zeros(n), gone=np.zeros(n, dtype=np.int64),
        first_phase=phase, row=family.posterior(bases, sums) if n else bases,
        first=bases,
    )  # fmt: skip


def pruned(state: State, options: DDPOptions) -> State:
    """Without particles that are surely dead, or that are too many."""
    particles = state.particles
    alive = np.where(particles.gone == 1, -1.0, particles.alive)
    gone = (alive < options.prune) | (alive <= 0.0)
    order = np.argsort(-alive, kind="stable")
    gone[order[options.max_particles :]] = True
    particles.gone = gone.astype(np.int64)
    return state


def without_old_phases(state: State, options: DDPOptions, family: Family) -> State:
    """The state whose histories begin `history` phases ago: older sums are added up."""
    assert options.transition is not None
    particles, history = state.particles, state.history
    first = state.n_phases - options.history
    if first <= 0 or not len(particles):
        return state
    stays = (particles.gone == 0) | (particles.seen >= first)
    for place in np.flatnonzero(stays & (particles.first_phase < first)):
        phases, sums = history.of(int(particles.id[place]))
        row = particles.first[place][None]
        for t in range(int(particles.first_phase[place]), first):
            at = np.flatnonzero(phases == t)
            if len(at):
                row = family.posterior(row, sums[at])
            row = family.moved(row, options.transition)
        particles.first[place] = row[0]
        particles.first_phase[place] = first
    entries = (history.phase >= first) & np.isin(history.owner, particles.id[stays])
    ids = set(particles.id[stays].tolist())
    settled = settled_aliases(state.aliases)
    aliases = {old: new for old, new in state.aliases.items() if settled[old] in ids}
    return replace(
        state,
        aliases=aliases,
        particles=particles.taken(np.flatnonzero(stays)),
        history=history.taken(np.flatnonzero(entries)),
    )


def without_rows(state: State, options: DDPOptions, family: Family) -> State:
    """The state after a phase of no rows: no u, exposures as they were."""
    ahead = predicted(state, options, family)
    nothing = Outcome(np.empty(0, dtype=np.int64), 0.0, ahead.particles.alive, {})
    sums = np.zeros((len(ahead.particles), family.n_sums()))
    names = np.empty(0, dtype=np.int64)
    after, _ = after_phase(state, ahead, nothing, options, family, sums, names)
    return without_old_phases(pruned(after, options), options, family)
