"""Learning: the rows of a phase, and the state before it -> the state after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import MixingWarning, ScaleWarning, warn
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.merging import merged
from dyntree.mixtures.ddp.nearness import FEWEST_AT_FIRST, UNKNOWN, nearness_of
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.records import Diagnostics, no_diagnostics
from dyntree.mixtures.ddp.renaming import renamed
from dyntree.mixtures.ddp.sampling import kernel_of, outcome, run_chains, started
from dyntree.mixtures.ddp.state import (
    ENOUGH,
    State,
    after_phase,
    predicted,
    pruned,
    without_old_phases,
    without_rows,
)
from dyntree.mixtures.shared.arrays import Ids, constants
from dyntree.mixtures.shared.lattice import (
    cell_widths,
    spread_over_cells,
    without_copies,
)
from dyntree.mixtures.shared.lineage import origin_of
from dyntree.mixtures.shared.outlying import far_values, warn_of_far_rows

IN_CELLS = 5  # of the purposes of random numbers: places of values in their cells
TELLING = 20  # rows from which statistical trouble is worth a warning


@dataclass(frozen=True)
class Phases:
    """What all phases of a call have in common.

    Parameters
    ----------
    options : DDPOptions
    seed : int
        Of the model.
    features : FeatureMap or None
        Of the rows.
    column : str or None
        Name of the column that contained the phase.
    tell : callable
        Called with the number of rows that have been done since the last call.
    """

    options: DDPOptions
    seed: int
    features: FeatureMap | None
    column: str | None
    tell: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of rows that there are."""
        assert self.features is not None
        return self.features.feature_names

    def spread(self, rows: Matrix, cells: Vector, before: State) -> Matrix:
        """Return the rows of the next phase, with values at places of their cells."""
        return spread_over_cells(rows, cells, IN_CELLS, self.seed, before.n_phases)


class Scales(NamedTuple):
    """A family with its scales, and the widths of cells that values stand for."""

    family: Family
    cells: Vector


def with_phase(before: State, phases: Phases, rows: Matrix) -> State:
    """State of a mixture before a phase -> its state after it.

    Scales of clusters that the first rows decide are chosen again from all rows, when
    there are twice as many as for the last choice, until there are `ENOUGH`. If they
    change, all phases are learned again.

    Parameters
    ----------
    before : State
    phases : Phases
    rows : ndarray of shape (n_rows, n_features)
        Encoded, contiguous.

    Returns
    -------
    State
    """
    options = phases.options
    if options.family.knows_widths or before.n_chosen >= ENOUGH:
        state = learned(before, phases, rows)
    else:
        state = learned_early(before, phases, (*before.early, rows))
    if state.family is not None:
        warn_of_sampling(state.diagnostics, options, len(rows))
        rows = phases.spread(rows, state.cells, before)
        warn_of_scale(before, options, state.family, rows)
    return state


def learned_early(before: State, phases: Phases, early: tuple[Matrix, ...]) -> State:
    """The state after the last of all phases, while scales may be chosen again."""
    total = sum(len(rows) for rows in early)
    if before.family is None:
        state = learned(before, phases, early[-1])
        return replace(state, early=early, n_chosen=total).settled()
    if total < 2 * before.n_chosen:
        return replace(learned(before, phases, early[-1]), early=early)
    every = np.concatenate([rows for rows in early if len(rows)])
    scales = chosen_scales(before, phases, every)
    if scales.family == before.family:
        state = learned(before, phases, early[-1])
    else:
        state = State.fresh(phases.options)
        silent = replace(phases, tell=lambda n_rows: None)
        for rows in early[:-1]:
            state = learned(state, silent, rows, scales)
        state = renamed(learned(state, phases, early[-1], scales), before, 0)
        state = replace(state, origins=before.origins)  # cells may be others now
    return replace(state, early=early, n_chosen=total).settled()


def learned(
    before: State, phases: Phases, rows: Matrix, scales: Scales | None = None
) -> State:
    """The state after a phase; `scales` are those of the first rows, or chosen here."""
    options, features = phases.options, phases.features
    family, history = before.family, options.history
    n_rows = len(rows)
    copy_of: Any = slice(None)
    if not options.family.knows_widths:
        first, copy_of = without_copies(rows)
        rows = rows[first]
    if family is None:
        if not len(rows):
            return replace(
                before,
                n_phases=before.n_phases + 1,
                labels=(*before.labels, no_labels(0))[-history:],
            )
        scales = scales or chosen_scales(before, phases, rows)
        family, cells = scales.family, scales.cells
        rows = phases.spread(rows, cells, before)
        assert options.transition is not None
        family.check_steps(options.transition)
        still = constant_so_far(options, family, rows)
        state = replace(before, origins=(origin_of(phases.seed, rows),))
    else:
        cells = before.cells
        rows = phases.spread(rows, cells, before)
        family, state, still = with_units(before, options, family, rows, features)
    if not len(state.particles):
        n_prior = len(family.base())
        fresh = State.fresh(options, n_prior, family.n_sums())
        state = replace(state, particles=fresh.particles, history=fresh.history)
    counting = family.counting(rows)
    labels, diagnostics = no_labels(len(rows)), no_diagnostics()
    if not np.any(counting):
        state = without_rows(state, options, family)
        phases.tell(n_rows)
    else:
        state, labels, diagnostics = sampled(
            state, options, family, phases.seed, rows, counting, phases.tell
        )
        phases.tell(n_rows - len(rows))
    labels[~counting] = most_probable(state, options)
    labels = labels[copy_of]
    now = nearness_of(rows[counting]) if scaled_by_rows(options) else UNKNOWN
    return replace(
        state, features=features, family=family, still=still,
        phase_column=phases.column, labels=(*state.labels, labels)[-history:],
        n_rows=state.n_rows + n_rows, diagnostics=diagnostics,
        nearness=before.nearness.succeeded(now), cells=cells,
    )  # fmt: skip


def chosen_scales(before: State, phases: Phases, rows: Matrix) -> Scales:
    """The scales that some rows show; known widths have no cells."""
    family = phases.options.family
    cells = np.zeros(rows.shape[1])
    if not family.knows_widths:
        rows = rows[without_copies(rows)[0]]
        cells = cell_widths(rows)
    rows = phases.spread(rows, cells, before)
    return Scales(with_scales(family, rows, phases.names), cells)


def scaled_by_rows(options: DDPOptions) -> bool:
    """Whether rows decide a scale."""
    return bool(options.family.scaled_by_rows().any())


def with_scales(family: Family, rows: Matrix, names: tuple[str, ...]) -> Family:
    """The family with scales from rows, where these are not far from all others."""
    found, far = family.resolved(rows), far_values(rows)
    if not far.any():
        return found
    near = family.resolved(rows[~far.any(axis=1)])
    if near != found:
        warn_of_far_rows(rows, far, names)
    return near


def constant_so_far(
    options: DDPOptions, family: Family, rows: Matrix
) -> NDArray[np.bool_]:
    """Return which columns still lack a scale, as all rows so far have one value.

    It is the mean of the base.
    """
    default = options.family.scaled_by_rows()
    groups = np.repeat(default, rows.shape[1] // len(default))
    origin = np.broadcast_to(family.origin(), rows[:1].shape)
    return groups & constants(np.vstack([origin, rows]))


def with_units(
    state: State,
    options: DDPOptions,
    family: Family,
    rows: Matrix,
    features: FeatureMap | None,
) -> tuple[Family, State, NDArray[np.bool_]]:
    """Family and state, where columns that stood still move in these rows."""
    still = state.still
    if not still.any() or not len(rows):
        return family, state, still
    moves = still & ~constant_so_far(options, family, rows)
    if not moves.any():
        return family, state, still
    assert features is not None
    fresh = with_scales(options.family, rows, features.feature_names)
    new = family.with_units(fresh, moves)

    p, history = state.particles, state.history
    row, first = (new.in_units(moves, one, True) for one in (p.row, p.first))
    sums = new.in_units(moves, history.sums, False)
    state = replace(
        state, particles=replace(p, row=row, first=first),
        history=replace(history, sums=sums),
    )  # fmt: skip
    return new, state, still & ~moves


def sampled(
    state: State,
    options: DDPOptions,
    family: Family,
    seed: int,
    rows: Matrix,
    counting: NDArray[np.bool_],
    tell: Any,
) -> tuple[State, Ids, Diagnostics]:
    """The state after a phase with rows, and what its rows were labelled."""
    ahead = predicted(state, options, family)
    reports = SweepProgress(len(rows), options.n_sweeps * options.n_chains, tell)
    X, parts = rows[counting], family.partition(rows[counting])
    make = partial(kernel_of, ahead, X, options, family, seed, state.n_phases)
    chains = run_chains(
        lambda chain: started(make, ahead, parts, options, chain),
        options, params.n_threads(), reports,
    )  # fmt: skip
    reports.finish()
    found, diagnostics = outcome(ahead, chains, counting)
    K = len(ahead.particles)
    names = np.unique(found.labels[found.labels >= K])  # new ones that have rows
    new = K + np.searchsorted(names, found.labels)
    places = np.where(found.labels >= K, new, found.labels)
    sums = family.sums(rows, places, K + len(names))
    after, ids = after_phase(state, ahead, found, options, family, sums, names)
    labels = np.where(places < 0, -1, ids[places])
    n_before = len(after.aliases)
    if options.history_merge:
        after = merged(after, options, family)
    diagnostics = replace(diagnostics, merges=len(after.aliases) - n_before)
    return (
        without_old_phases(pruned(after, options), options, family),
        labels,
        diagnostics,
    )


def warn_of_scale(
    before: State, options: DDPOptions, family: Family, rows: Matrix
) -> None:
    """Warn where scales that few or earlier rows have chosen may not fit these."""
    if not scaled_by_rows(options):
        return
    rows = rows[family.counting(rows)]
    is_first = before.family is None and not options.family.knows_widths
    if is_first and len(rows) < FEWEST_AT_FIRST:
        warn(
            ScaleWarning,
            f"the scale of clusters is estimated from the first {len(rows)} rows, "
            "which are few. It will be estimated again as rows come, and labels may "
            "change. For labels that stay, begin with a phase of "
            f"{FEWEST_AT_FIRST} rows at least, or give the scales of the family.",
        )
    factor = before.nearness.change(nearness_of(rows))
    if factor != 1.0:
        warn(
            ScaleWarning,
            "the scale of clusters, estimated from the first rows, no longer fits: "
            "neighbouring rows of phase {n_phases} are {factor:.2g} times as far "
            "apart as before. Their unit or gain may have changed. Rescale them, or "
            "begin a new model.",
            n_phases=before.n_phases,
            factor=factor,
        )


def warn_of_sampling(found: Diagnostics, options: DDPOptions, n_rows: int) -> None:
    """Warn of poor mixing; not after a few rows, where chance decides."""
    if found.was_full:
        warn(
            MixingWarning,
            "max_particles={max_particles} prevented rows from founding new "
            "particles. Raise it, or give a smaller innovation.",
            max_particles=options.max_particles,
        )
    if n_rows < TELLING:
        return
    if found.acceptance > 0.5 and found.proposed >= TELLING:
        warn(
            MixingWarning,
            "{acceptance:.0%} of the proposed changes of identity were accepted: "
            "particles of this phase can hardly be distinguished from earlier ones. "
            "A smaller step of the transition keeps them apart.",
            acceptance=found.acceptance,
        )
    if found.agreement < 0.5:
        warn(
            MixingWarning,
            "only {agreement:.0%} of the votes agree with the labels: particles "
            "overlap, or sweeps do not mix. Raise n_sweeps.",
            agreement=found.agreement,
        )


def no_labels(n: int) -> Ids:
    """Return -1 for each of n rows."""
    return np.full(n, -1, dtype=np.int64)


def most_probable(state: State, options: DDPOptions) -> int:
    """Return the id of the particle of the largest expected weight, or else -1."""
    particles = state.particles.taken(state.live())
    if not len(particles):
        return -1
    rate = 1.0 if options.uses_paper_weights else particles.E
    return int(particles.id[np.argmax(particles.alive * particles.m / rate)])


class SweepProgress:
    """Counts a phase's rows as done while its sweeps are."""

    def __init__(self, n_rows: int, n_sweeps: int, tell: Any) -> None:
        self.n_rows, self.n_sweeps, self.tell = n_rows, n_sweeps, tell
        self.sweeps = self.rows = 0

    def __call__(self) -> None:
        """Another sweep is done."""
        self.sweeps += 1
        rows = min(self.n_rows - 1, self.n_rows * self.sweeps // self.n_sweeps)
        if rows > self.rows:
            self.tell(rows - self.rows)
            self.rows = rows

    def finish(self) -> None:
        """All sweeps are done."""
        self.tell(self.n_rows - self.rows)
        self.rows = self.n_rows
