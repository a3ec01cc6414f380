"""What a dependent mixture answers once phases have come."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.special import logsumexp

from dyntree import params
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance
from dyntree.mixtures.ddp.input import without_phases
from dyntree.mixtures.ddp.learning import Learning
from dyntree.mixtures.ddp.records import (
    Diagnostics,
    Forecast,
    Lifelines,
    ParticleTable,
    Trajectory,
)
from dyntree.mixtures.ddp.state import Particles, State, unseen, without_rows
from dyntree.mixtures.ddp.transitions import RandomWalk
from dyntree.mixtures.shared.arrays import Ids, settled_aliases
from dyntree.runtime.locking import locked


class Answers(Learning):
    """The part of `DependentDPMixture` that answers."""

    # ------------------------------------------------------------ labels
    @property
    def aliases_(self) -> dict[int, int]:
        """What merged particles became: id -> id of the older one that has its rows."""
        return settled_aliases(self._state.aliases)

    @locked
    def labels(self, phase: int) -> Ids:
        """Ids of the particles of the rows of a phase; merged ones have the older id.

        Parameters
        ----------
        phase : int
            Number of the phase from 0, or from the last phase if it is negative. The
            labels of the last `history` phases are held.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            It is -1 for rows for which no particle could be determined.
        """
        n, held = self.n_phases, len(self._state.labels)
        if isinstance(phase, bool) or not isinstance(phase, int | np.integer):
            raise ArgumentError("phase", "must be an int", phase)
        number = int(phase) + n if phase < 0 else int(phase)
        if not n - held <= number < n:
            known = f"{n - held} to {n - 1}" if held else "none"
            raise ArgumentError(
                "phase",
                "must be one whose labels are held, {known}",
                Message(
                    "{phase!r}. history= sets how many phases are kept", phase=phase
                ),
                known=known,
            )
        return self._resolved(self._state.labels[number - (n - held)])

    @property
    def labels_(self) -> Ids:
        """Ids of the particles of the rows of the last phase."""
        with self._lock:
            return (
                self.labels(-1) if self._state.labels else np.empty(0, dtype=np.int64)
            )

    def _resolved(self, ids: Ids) -> Ids:
        """Ids with those of merged particles replaced."""
        aliases = self.aliases_
        if not aliases:
            return ids.copy()
        distinct, place = np.unique(ids, return_inverse=True)
        renamed = [aliases.get(one, one) for one in distinct.tolist()]
        return np.array(renamed, dtype=np.int64)[place]

    @property
    def n_clusters(self) -> int:
        """Particles that had rows in the last phase."""
        labels = self.labels_
        return len(np.unique(labels[labels >= 0]))

    # ------------------------------------------------------------ particles
    @locked
    def particles(self) -> ParticleTable:
        """Return the particles that may be alive.

        Returns
        -------
        ParticleTable
        """
        family = self._ready("particles")
        p = self._state.particles.taken(self._state.live())
        rate = np.ones(len(p)) if self.options.uses_paper_weights else p.E
        return ParticleTable(
            id=p.id, born=p.born, last_seen=p.seen, alive=p.alive, count=p.m,
            exposure=rate, weight_mean=p.m / rate, weight_sd=np.sqrt(p.m) / rate,
            mean=family.means(p.row), covariance=family.covariances(p.row),
        )  # fmt: skip

    @property
    def covariances_(self) -> Matrix:
        """Covariances of rows around their particles, in the order of `particles`.

        The shape is (n_particles, n_columns, n_columns). For `AffineFlow`, velocities
        vary around the field. `Multinomial` has no covariances.
        """
        with self._lock:
            family = self._ready("covariances_")
            live = self._state.live()
            return family.row_covariances(self._state.particles.row[live])

    @locked
    def lifelines(self) -> Lifelines:
        """Return how many rows each particle had in each phase.

        Returns
        -------
        Lifelines
        """
        counts = self._state.counts
        owner = self._resolved(counts[:, 1])
        ids, place = np.unique(owner, return_inverse=True)
        entries = counts[:, 2], (place, counts[:, 0])
        table = coo_array(entries, shape=(len(ids), self.n_phases)).tocsr()  # adds up
        table.data.setflags(write=False)
        return Lifelines(ids, table, self._state.first_counted)

    @locked
    def trajectory(self, id: int, smooth: bool | None = None) -> Trajectory:
        """Return the path of a particle's location over the phases.

        Parameters
        ----------
        id : int
            A particle that had rows in the last `history` phases. The id of a merged
            particle stands for the older one.
        smooth : bool, optional
            Whether each phase is conditional on later phases, too. This is possible for
            `GaussianKnownVariance` with a `RandomWalk`, where it is the default. Given
            the labels, it is exact (Rauch, Tung and Striebel 1965). Others are
            filtered.

        Returns
        -------
        Trajectory
        """
        family = self._ready("trajectory")
        number = params.count("id", id, 0)
        number = self.aliases_.get(number, number)
        places = np.flatnonzero(self._state.particles.id == number)
        if number not in self._state.history.owner:
            raise ArgumentError(
                "id",
                "must be of a particle seen in the last {history} phases",
                id,
                history=self.options.history,
            )
        walk = self.options.transition
        known = isinstance(walk, RandomWalk) and family.has_smoother
        wanted = known if smooth is None else params.flag("smooth", smooth)
        if wanted and not known:
            raise ArgumentError(
                "smooth",
                "must be False for {kind} under a {kind_2}, which has no smoother",
                Message("True"),
                kind=type(family).__name__,
                kind_2=type(walk).__name__,
            )
        phases, before, after, counts = self._replayed(int(places[0]), family)
        if wanted:
            assert isinstance(family, GaussianKnownVariance)
            assert isinstance(walk, RandomWalk)
            after = family.smoothed(after, before, walk)
        return Trajectory(
            number,
            phases,
            family.means(after),
            family.covariances(after),
            counts,
            wanted,
        )

    def _replayed(self, place: int, family: Family) -> tuple[Ids, Matrix, Matrix, Ids]:
        """Phases of a particle, prior rows before and after each, and counts."""
        particles, transition = self._state.particles, self.options.transition
        assert transition is not None
        phases, sums = self._state.history.of(int(particles.id[place]))
        row, first = particles.first[place][None], int(particles.first_phase[place])
        every = np.arange(first, int(particles.seen[place]) + 1)
        before, after = [], []
        counts = np.zeros(len(every), dtype=np.int64)
        for t in every.tolist():
            if t > first:
                row = family.moved(row, transition)
            before.append(row[0])
            at = np.flatnonzero(phases == t)
            if len(at):
                row = family.posterior(row, sums[at])
                counts[t - first] = int(sums[at[0], 0])
            after.append(row[0])
        return every, np.array(before), np.array(after), counts

    def diagnostics(self) -> Diagnostics:
        """Return diagnostics of the sampling of the last phase.

        Returns
        -------
        Diagnostics
        """
        return self._state.diagnostics

    # ------------------------------------------------------------ rows
    def _after(self, ahead: int) -> State:
        """The state so many phases without rows later."""
        state = self._state
        for _ in range(ahead):
            state = without_rows(state, self.options, self._ready("forecast"))
        return state

    def _shares(self, state: State, family: Family) -> tuple[Particles, Matrix, Vector]:
        """Live particles, prior rows of these and of the bases, and their shares."""
        particles = state.particles.taken(state.live())
        rate = 1.0 if self.options.uses_paper_weights else particles.E
        bases, new = unseen(state, self.options, family)
        priors = np.concatenate([particles.row, bases])
        weight = np.concatenate([particles.alive * particles.m / rate, new])
        return particles, priors, weight / weight.sum()

    def _log_joint(self, X: Any, what: str, ahead: int = 0) -> tuple[Ids, Matrix]:
        """Ids, and log share plus log density by particle, bases after them."""
        family = self._ready(what)
        _, rows = self._encoded(without_phases(X, self._state.phase_column))
        particles, priors, share = self._shares(self._after(ahead), family)
        density = family.emission(priors, rows).log_under()
        with np.errstate(divide="ignore"):
            joint: Matrix = density + np.log(share)
        return particles.id, joint

    @locked
    def predict(self, X: Any) -> Ids:
        """Id of the most probable particle of each row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            It is -1 while there is no particle.
        """
        ids, joint = self._log_joint(X, "predict")
        if not len(ids):
            return np.full(len(joint), -1, dtype=np.int64)
        found: Ids = ids[np.argmax(joint[:, : len(ids)], axis=1)]
        return found

    @locked
    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each particle at each row, in the order of `particles`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_particles)
            Probabilities conditional on the row not being one of a new particle. Rows
            sum to one.
        """
        ids, joint = self._log_joint(X, "predict_proba")
        joint = joint[:, : len(ids)]
        if not joint.size:
            return joint
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    @locked
    def log_predictive(self, X: Any, ahead: int = 0) -> Vector:
        """Log density of new rows of the last phase or of a later one.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns)
        ahead : int, default 0
            Number of phases after the last one; 1 scores rows of the next phase before
            they are learned.

        Returns
        -------
        ndarray of shape (n_rows,)

        Notes
        -----
        The density is a mixture of predictive densities. The share of a particle is in
        proportion to alive m / E, and that of the base to the sum of a / E over the
        mass that was never seen.
        """
        _, joint = self._log_joint(X, "log_predictive", params.count("ahead", ahead, 0))
        return logsumexp(joint, axis=1)

    def _log_densities(self, X: Any) -> Vector:
        return self.log_predictive(X)

    @locked
    def sample(
        self,
        n_samples: int = 1,
        ahead: int = 0,
        seed: int | np.random.Generator | None = None,
    ) -> tuple[Matrix, Ids]:
        """Draw rows from the predictive density of `log_predictive`.

        Parameters
        ----------
        n_samples : int, default 1
            Number of rows.
        ahead : int, default 0
            Number of phases after the last one.
        seed : int or numpy Generator, optional
            Seed of the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, n_columns)
        labels : ndarray of int64 of shape (n_samples,)
            Ids of their particles, or -1 for rows of new particles.
        """
        family = self._ready("sample")
        count, rng = params.count("n_samples", n_samples, 0), params.generator(seed)
        ahead = params.count("ahead", ahead, 0)
        particles, priors, share = self._shares(self._after(ahead), family)
        chosen = rng.choice(len(share), size=count, p=share)
        rows = np.empty((count, len(self.feature_names)))
        for k in np.unique(chosen).tolist():
            at = np.flatnonzero(chosen == k)
            rows[at] = family.draw(priors[k], len(at), rng)
        new = np.full(len(share) - len(particles), -1, dtype=np.int64)
        return rows, np.concatenate([particles.id, new])[chosen]

    @locked
    def forecast(self, steps: int = 1) -> Forecast:
        """Return the particles in later phases, as predicted from what was learned.

        Parameters
        ----------
        steps : int, default 1
            Number of phases ahead, >= 1.

        Returns
        -------
        Forecast
        """
        family = self._ready("forecast")
        steps = params.count("steps", steps, 1)
        state, ids = self._state, self._state.particles.id[self._state.live()]
        n, width = len(ids), family.means(family.base()[None]).shape[1]
        alive, share = np.zeros((steps, n)), np.zeros((steps, n))
        mean, new_share = np.full((steps, n, width), np.nan), np.empty(steps)
        one = family.covariances(family.base()[None]).shape[1:]
        cov = np.full((steps, n, *one), np.nan)
        for step in range(steps):
            state = without_rows(state, self.options, family)
            particles, _, shares = self._shares(state, family)
            at = np.searchsorted(ids, particles.id)
            alive[step, at], share[step, at] = particles.alive, shares[: len(at)]
            new_share[step] = shares[len(at) :].sum()
            mean[step, at] = family.means(particles.row)
            cov[step, at] = family.covariances(particles.row)
        return Forecast(ids, alive, share, new_share, mean, cov)
