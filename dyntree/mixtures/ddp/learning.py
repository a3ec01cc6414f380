"""The part of a dependent mixture that takes phases in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.errors import Message, MixingWarning, NotReadyError, ScaleWarning, warn
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.input import read_rows, separated
from dyntree.mixtures.ddp.merging import merged
from dyntree.mixtures.ddp.nearness import FEWEST_AT_FIRST, Nearness, nearness_of
from dyntree.mixtures.ddp.options import DDPOptions
from dyntree.mixtures.ddp.records import Diagnostics, no_diagnostics
from dyntree.mixtures.ddp.sampling import kernel_of, outcome, run_chains, started
from dyntree.mixtures.ddp.state import (
    State,
    after_phase,
    predicted,
    pruned,
    without_old_phases,
    without_rows,
)
from dyntree.mixtures.shared.arrays import Ids, constants
from dyntree.mixtures.shared.base import Mixture
from dyntree.mixtures.shared.lineage import origin_of
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar

TELLING = 20  # rows from which statistical trouble is worth a warning


class Learning(Mixture):
    """The part of `DependentDPMixture` that takes phases in."""

    unit = "phase"
    _counted = "clusters"
    options: DDPOptions
    _state: State

    def _begin(self, options: DDPOptions, seed: Any) -> None:
        """Become a model that has seen no phase."""
        super()._begin(options, seed)
        self._state = State.fresh(options)

    # ------------------------------------------------------------ rows
    @property
    def n_seen(self) -> int:
        """Number of rows given to `update` so far."""
        return self._state.n_rows

    @property
    def n_phases(self) -> int:
        """Phases ever given to `update`."""
        return self._state.n_phases

    @property
    def is_ready(self) -> bool:
        """Whether the model has learned a phase with rows."""
        return self._state.family is not None

    def _ready(self, what: str) -> Family:
        """The family with its scales, or why there are none."""
        if self._state.family is None:
            raise NotReadyError(
                Message(
                    "{what!a} needs a phase with rows; none has come. Call update "
                    "first.",
                    what=what,
                )
            )
        return self._state.family

    def _encoded(self, X: Any) -> tuple[FeatureMap | None, Matrix]:
        known, kind = self._state.features, type(self).__name__
        return read_rows(X, known, self.options.family, kind)

    @locked
    def update(
        self, X: Any, y: Any = None, *, phases: Any = None, progress: Progress = None
    ) -> Self:
        """Learn one phase, or several in the order of their labels.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns), frame, dict or list of dicts
            Finite numbers. The first rows fix the columns. In a phase without rows,
            time passes: particles move and may die.
        y : object, optional
            Ignored. Other models have responses in this position.
        phases : str or array_like of shape (n_rows,), optional
            Name of the column of a frame that contains the phases, or a label for each
            row. By default all rows are one phase.
        progress : bool, callable or None, default None
            As in `dyntree.DynamicTree.update`. The rows of a phase count in proportion
            to its completed sweeps.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If a value is impossible for the family, or the columns differ from those of
            the first call. The model is then as it was before the call.
        KeyboardInterrupt
            If the call is interrupted. The model has then learned all complete phases.
            The same is true if `progress`, or a function given as `survival`, raises an
            error.

        Warns
        -----
        MixingWarning
            If labels of a phase of at least 20 rows are less certain than they seem:
            more than half of the proposed changes of identity were accepted, or less
            than half of the votes agree. Also if the number of particles reached
            `max_particles`.
        ScaleWarning
            If scales were determined from few first rows, or if the distances between
            neighbouring rows of a phase are several times as large as before.
        """
        check_progress(progress)
        params.check_dense("X", X)
        X, parts = separated(X, phases)
        column = phases if isinstance(phases, str) else self._state.phase_column
        features, rows = self._encoded(X)
        pieces = [rows[part] for part in parts] if parts else [rows]
        with rows_bar(progress, len(rows), "learning") as tell:
            for piece in pieces:
                self._learn(features, np.ascontiguousarray(piece), tell, column)
        return self

    def _learn(
        self, features: FeatureMap | None, rows: Matrix, tell: Any, column: str | None
    ) -> None:
        """Learn one phase; nothing changes before all of it is done."""
        family, history = self._state.family, self.options.history
        if family is None:
            if not len(rows):
                self._state = replace(
                    self._state,
                    n_phases=self._state.n_phases + 1,
                    labels=(*self._state.labels, no_labels(0))[-history:],
                )
                return
            family = self.options.family.resolved(rows)
            assert self.options.transition is not None
            family.check_steps(self.options.transition)
            still = self._constant_so_far(family, rows)
            state = replace(self._state, origins=(origin_of(self.seed, rows),))
        else:
            family, state, still = self._with_units(family, rows)
        if not len(state.particles):
            n_prior = len(family.base())
            fresh = State.fresh(self.options, n_prior, family.n_sums())
            state = replace(state, particles=fresh.particles, history=fresh.history)
        counting = family.counting(rows)
        labels, diagnostics = no_labels(len(rows)), no_diagnostics()
        if not np.any(counting):
            state = without_rows(state, self.options, family)
            tell(len(rows))
        else:
            state, labels, diagnostics = self._sampled(
                state, family, rows, counting, tell
            )
        self._warn(diagnostics, len(rows))
        nearness = self._checked_scale(rows[counting])
        labels[~counting] = most_probable(state, self.options)
        self._state = replace(
            state, features=features, family=family, still=still, phase_column=column,
            labels=(*state.labels, labels)[-history:],
            n_rows=state.n_rows + len(rows), diagnostics=diagnostics,
            nearness=nearness,
        )  # fmt: skip

    def _constant_so_far(self, family: Family, rows: Matrix) -> NDArray[np.bool_]:
        """Return which columns still lack a scale, as all rows so far have one value.

        It is the mean of the base.
        """
        default = self.options.family.scaled_by_rows()
        groups = np.repeat(default, rows.shape[1] // len(default))
        origin = np.broadcast_to(family.origin(), rows[:1].shape)
        return groups & constants(np.vstack([origin, rows]))

    def _with_units(
        self, family: Family, rows: Matrix
    ) -> tuple[Family, State, NDArray[np.bool_]]:
        """Family and state, where columns that stood still move in these rows."""
        still, state = self._state.still, self._state
        if not still.any() or not len(rows):
            return family, state, still
        moves = still & ~self._constant_so_far(family, rows)
        if not moves.any():
            return family, state, still
        fresh = self.options.family.resolved(rows)
        new = family.with_units(fresh, moves)

        p, history = state.particles, state.history
        row, first = (new.in_units(moves, one, True) for one in (p.row, p.first))
        sums = new.in_units(moves, history.sums, False)
        state = replace(
            state, particles=replace(p, row=row, first=first),
            history=replace(history, sums=sums),
        )  # fmt: skip
        return new, state, still & ~moves

    def _sampled(
        self, state: State, family: Family, rows: Matrix, counting: Any, tell: Any
    ) -> tuple[State, Ids, Diagnostics]:
        """The state after a phase with rows, and what its rows were labelled."""
        options = self.options
        ahead = predicted(state, options, family)
        told = SweepProgress(len(rows), options.n_sweeps * options.n_chains, tell)
        X, parts = rows[counting], family.partition(rows[counting])
        make = partial(kernel_of, ahead, X, options, family, self.seed, state.n_phases)
        chains = run_chains(
            lambda chain: started(make, ahead, parts, options, chain),
            options, params.n_threads(), told,
        )  # fmt: skip
        told.finish()
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

    def _checked_scale(self, rows: Matrix) -> Nearness:
        """Warn where scales that earlier rows have chosen do not fit these.

        Returns what the rows of later phases are compared with.
        """
        before = self._state.nearness
        if not self.options.family.scaled_by_rows().any():
            return before
        is_first = self._state.family is None and not self.options.family.knows_widths
        if is_first and len(rows) < FEWEST_AT_FIRST:
            warn(
                ScaleWarning,
                "the scale of clusters is estimated from the first {n_rows} rows, "
                "which are few. Begin with a phase of {fewest_at_first} rows at "
                "least, or give the scales of the family.",
                n_rows=len(rows),
                fewest_at_first=FEWEST_AT_FIRST,
            )
        now = nearness_of(rows)
        factor = before.change(now)
        if factor != 1.0:
            warn(
                ScaleWarning,
                "the scale of clusters, estimated from the first rows, no longer "
                "fits: neighbouring rows of phase {n_phases} are {factor:.2g} times "
                "as far apart as before. Their unit or gain may have changed. "
                "Rescale them, or begin a new model.",
                n_phases=self._state.n_phases,
                factor=factor,
            )
        is_new = factor != 1.0 or not before.n_rows
        return now if is_new and now.n_rows else before

    def _warn(self, found: Diagnostics, n_rows: int) -> None:
        """Tell of statistical trouble; of a few rows chance decides anyway."""
        if found.was_full:
            warn(
                MixingWarning,
                "max_particles={max_particles} prevented rows from founding new "
                "particles. Raise it, or give a smaller innovation.",
                max_particles=self.options.max_particles,
            )
        if n_rows < TELLING:
            return
        if found.acceptance > 0.5 and found.proposed >= TELLING:
            warn(
                MixingWarning,
                "{acceptance:.0%} of the proposed changes of identity were accepted: "
                "particles of this phase can hardly be distinguished from earlier "
                "ones. A smaller step of the transition keeps them apart.",
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
