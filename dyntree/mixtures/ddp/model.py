"""DependentDPMixture: clusters that are born, move, fade and die over phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.special import logsumexp

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message, NotReadyError
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.files import from_arrays, to_arrays
from dyntree.mixtures.ddp.gaussian import GaussianKnownVariance
from dyntree.mixtures.ddp.input import read_rows
from dyntree.mixtures.ddp.learning import Phases, with_phase
from dyntree.mixtures.ddp.options import (
    DDP_OPTIONS,
    DEFAULT_FAMILY,
    DDPOptions,
    Survival,
    options_from_header,
)
from dyntree.mixtures.ddp.records import (
    Calibration,
    Diagnostics,
    Forecast,
    Lifelines,
    ParticleTable,
    Trajectory,
)
from dyntree.mixtures.ddp.regression import AffineFlow, GaussianMoving
from dyntree.mixtures.ddp.rejoining import rejoined
from dyntree.mixtures.ddp.renaming import renamed
from dyntree.mixtures.ddp.state import (
    Particles,
    State,
    unseen,
    without_rows,
)
from dyntree.mixtures.ddp.superposing import superposed, superposed_options
from dyntree.mixtures.ddp.transitions import RandomWalk, Transition
from dyntree.mixtures.shared.arrays import Arrays, Ids, settled_aliases
from dyntree.mixtures.shared.base import MixtureOfRows
from dyntree.mixtures.shared.phases import separated, without_phases
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar
from dyntree.runtime.seeds import given_or_drawn


@checkpoint.savable
class DependentDPMixture(MixtureOfRows):
    """Dependent Dirichlet process mixture, learned phase by phase.

    Clusters (*particles*) survive from phase to phase with some probability and move,
    and new clusters join them. The model is a Markov chain of Dirichlet processes,
    built from Poisson processes by thinning, point transition and superposition (Lin,
    Grimson and Fisher 2010). Each phase is learned by Gibbs sampling, conditional on
    what was learned from the phases before. Ids are persistent, and the number of
    particles is learned from the data.

    Parameters
    ----------
    family : Family, default GaussianUnknown()
        `GaussianKnownVariance`, `GaussianUnknown`, `AffineFlow` or `Multinomial`.
        Distribution of the rows of a particle, and of the locations of new particles.
    concentration : float, default 1.0
        Mass alpha of the base in the first phase, > 0.
    survival : float or callable, default 0.95
        Probability in [0, 1] that a particle survives to the next phase. Its mean life
        is 1 / (1 - survival) phases; with 0, each phase is a separate mixture. A
        function of the means, of shape (n_particles, n_columns), returns one
        probability for each particle.
    innovation : float, optional
        Mass of the new particles of a phase, > 0. The default is
        (1 - survival) * concentration, which keeps the concentration constant. It is
        required if `survival` is 1 or a function.
    transition : RandomWalk, Discount, ConstantVelocity or callable, optional
        How locations move. `GaussianKnownVariance` needs a `RandomWalk`, whose variance
        is by default a tenth of `variance`. The other families need a `Discount`,
        by default ``Discount(0.9)``. `GaussianUnknown` has the default
        ``relative_walk=0.2`` in addition, so that a cluster that moves is not taken for
        a new one; with `ConstantVelocity` its clusters move on as they did before,
        through one another. A function is a `CustomTransition`.
    weights : {"gamma", "counts"}, default "gamma"
        "gamma" is the exact filter of weights Gamma(m, E), and "counts" uses the
        weights q c of the paper.
    sampler : {"collapsed", "uncollapsed"}, default "collapsed"
        Whether locations are integrated out ("collapsed") or sampled.
    n_sweeps, burn_in, thin : int, default 60, a third of n_sweeps, and 2
        Number of sweeps for each phase, number of first sweeps without a vote, and
        interval between sweeps with a vote after that.
    weight_memory : float in (0, 1], default 1.0
        Factor by which (m, E) is multiplied before each phase. With 1, the weight of a
        particle is constant during its life, as in the chain. With 0.5, sizes drift.
    count_memory : float in (0, 1], default 1.0
        The same factor for counts, with ``weights="counts"``.
    history : int, default 50
        Number of phases whose labels and sums are stored.
    history_merge : bool, default True
        Whether particles merge if their histories show that they are the same cluster.
        This removes duplicates, but clusters that are closer than about two standard
        deviations may be one particle for a while. False keeps them apart
        (tests/bench/ddp.txt).
    identity_move : bool, default True
        Whether sweeps propose that new particles are old ones, and the reverse.
    prune : float, default 1e-6
        A particle is deleted if its probability of being alive is below this.
    base : {"stationary", "moved"}, default "stationary"
        Whether the mass that was never seen keeps the distribution of the base, or
        moves with the transition.
    max_particles : int, default 512
        Largest number of particles.
    n_chains : int, default 1
        Number of chains whose votes are pooled. More than one helps for phases of a few
        rows.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.

    Attributes
    ----------
    options : DDPOptions
    n_phases, n_clusters : int
        Number of phases learned, and of particles with rows in the last phase.
    labels_ : ndarray of int64
        Ids of the particles of the rows of the last phase.
    aliases_ : dict of int to int
        Ids of merged particles, and the ids of the particles that contain them now.

    Notes
    -----
    While fewer than 200 rows have come, `GaussianUnknown` and `AffineFlow` choose the
    scales of clusters again as rows come, and all phases are learned again. Clusters
    with the same rows have the same ids. An id whose rows have gone to others is an
    alias. If the variance is unknown, and nine of ten distinct rows of a phase are
    there m times or more, m copies of a row count as one, because copies show no
    spread.

    Equation 18 of the paper, its posterior, replaces a particle that survives with
    probability q and then has c counts by one with q c counts. This does not follow
    from the chain: counts would grow with age, although weights are constant during a
    life. The table has the probabilities that the next draw is (new, another survivor,
    the same) after n equal draws, with concentration alpha, survival q and innovation
    nu:

    ==================== ================ ==================
    alpha, q, nu, n      equation 18      the chain itself
    ==================== ================ ==================
    1, .8, .2, 5         .040 .160 .800   .2165 .2107 .5727
    1, .8, .2, 20        .012 .047 .941   .2379 .1217 .6405
    2, .5, 1, 10         .143 .143 .714   .5672 .1368 .2960
    ==================== ================ ==================

    ``weights="gamma"`` filters the chain. The weight of a particle given the past is
    Gamma(m, E), where m is the number of rows that were ever assigned to it, and the
    exposure E grows by the auxiliary variable u of each phase (James, Lijoi and
    Pruenster 2009). Given past labels and u, the filter is exact. It does not revise
    the past, except when histories merge.

    The number of births per phase whose weight exceeds w is innovation * E1(w), where
    E1 is the exponential integral. The total weight of all particles is `concentration`
    on average. With a concentration of 0.8, particles with weights below 0.05 hardly
    have rows, and an innovation of 0.02 gives one birth above 0.05 in 20 phases.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
    >>> rng = np.random.default_rng(1)
    >>> model = DependentDPMixture(GaussianKnownVariance(1.0), seed=0)
    >>> for t in range(3):
    ...     centre = np.array([[0.0, 0.0], [9.0, 0.1 * t]])[rng.integers(2, size=200)]
    ...     model = model.update(centre + rng.normal(size=(200, 2)))
    >>> model.n_clusters, model.lifelines().count.shape
    (2, (2, 3))
    """

    unit = "phase"
    _counted = "clusters"
    options: DDPOptions
    _state: State

    def __init__(
        self,
        family: Family = DEFAULT_FAMILY,
        *,
        concentration: float = 1.0,
        survival: Survival = 0.95,
        innovation: float | None = None,
        transition: Transition | None = None,
        weights: str = "gamma",
        sampler: str = "collapsed",
        n_sweeps: int = 60,
        burn_in: int | None = None,
        thin: int = 2,
        weight_memory: float = 1.0,
        count_memory: float = 1.0,
        history: int = 50,
        history_merge: bool = True,
        identity_move: bool = True,
        prune: float = 1e-6,
        base: str = "stationary",
        max_particles: int = 512,
        n_chains: int = 1,
        seed: int | None = None,
    ) -> None:
        given = params.given_options(locals(), DDP_OPTIONS)
        self._begin(DDPOptions(**given), given_or_drawn(seed))

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
        return read_rows(X, self._state.features, self.options.family)

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
            row. By default all rows are one phase. Of categories, one between two that
            have rows is a phase without rows, in which time passes.
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
            neighbouring rows of a phase are several times as large as before. Also if
            rows of the first phase are more than 30 times as far from the median as
            nine rows in ten: scales are chosen without them.
        """
        check_progress(progress)
        params.check_dense("X", X)
        X, parts = separated(X, phases)
        column = phases if isinstance(phases, str) else self._state.phase_column
        features, rows = self._encoded(X)
        pieces = [rows[part] for part in parts] if parts else [rows]
        with rows_bar(progress, len(rows), "learning") as tell:
            phases_of_call = Phases(self.options, self.seed, features, column, tell)
            for piece in pieces:
                rows = np.ascontiguousarray(piece)
                self._state = with_phase(self._state, phases_of_call, rows)
        return self

    @locked
    def update_again(self, X: Any, earlier: Self) -> Self:
        """Learn one phase of which another model has learned the first rows.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_columns), frame, dict or list of dicts
            All rows of the phase.
        earlier : DependentDPMixture
            A copy of this model that has learned the first of these rows as one phase.

        Returns
        -------
        self
            Its new particles have the ids of those of `earlier` with the same rows.
        """
        least = self._state.next_id
        self.update(X, progress=False)
        self._state = renamed(self._state, earlier._state, least)
        return self

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
            labels of the last `history` phases are stored.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            It is -1 for rows for which no particle could be determined.
        """
        n, n_stored = self.n_phases, len(self._state.labels)
        if isinstance(phase, bool) or not isinstance(phase, int | np.integer):
            raise ArgumentError("phase", "must be an int", phase)
        number = int(phase) + n if phase < 0 else int(phase)
        if not n - n_stored <= number < n:
            known = f"{n - n_stored} to {n - 1}" if n_stored else "none"
            raise ArgumentError(
                "phase",
                "must be one whose labels are stored, {known}",
                Message(
                    "{phase!r}. history= sets how many phases are stored", phase=phase
                ),
                known=known,
            )
        return self._resolved(self._state.labels[number - (n - n_stored)])

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

    # ------------------------------------------------------------ answers
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
    def _n_parameters(self) -> int:
        """Free parameters of the live particles, and of their shares."""
        family, live = self._ready("bic"), self._state.live()
        return int(len(live) * (family.n_free(len(self.feature_names)) + 1) - 1)

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

    # ------------------------------------------------------------ what it is
    @property
    def family_(self) -> Family:
        """The family with the scales that were estimated from the first rows."""
        return self._ready("family_")

    def _own_facts(self) -> dict[str, Any]:
        return {
            "phases learned": self.n_phases,
            "family": type(self.options.family).__name__,
            "weights": self.options.weights,
            "particles": len(self._state.live()),
            "clusters": self.n_clusters,
            "ids given": self._state.next_id,
        }

    def memory_usage(self) -> int:
        """Bytes used by particles, their histories, and labels."""
        return self._state.nbytes + 1000

    @locked
    def velocity(self, points: Any = None) -> tuple[Ids, Matrix]:
        """Mean velocities of all live particles that have some.

        Parameters
        ----------
        points : array_like of shape (n_points, n_columns // 2) or frame, optional
            For `AffineFlow`: locations to ask at. If they and the learned rows have
            column names, these are matched. With `ConstantVelocity` there are none.

        Returns
        -------
        ids : ndarray of int64 of shape (n_particles,)
        velocity : ndarray
            Of shape (n_particles, n_points, n_columns // 2) for `AffineFlow`, and
            (n_particles, n_columns) with `ConstantVelocity`, in units of the rows a
            phase.
        """
        family = self._ready("velocity")
        if isinstance(family, GaussianMoving) and points is None:
            live, particles = self._state.live(), self._state.particles
            return particles.id[live], family.centre_velocities(particles.row[live])
        if not isinstance(family, AffineFlow) or points is None:
            raise ArgumentError(
                "velocity",
                "needs family=AffineFlow(...) and points, or "
                "transition=ConstantVelocity(...) and none",
                Message("{kind}", kind=type(family).__name__),
            )
        assert self._state.features is not None
        located = self._state.features.first(len(self.feature_names) // 2)
        places = located.encode(points, "points")
        live = self._state.live()
        particles = self._state.particles
        return particles.id[live], family.velocities(particles.row[live], places)

    # ------------------------------------------------------------ several models
    @classmethod
    def superpose(
        cls,
        models: Iterable[Self],
        seed: int | None = None,
        *,
        since: Self | None = None,
    ) -> Self:
        """Return one model that continues several models: a node with several parents.

        Parameters
        ----------
        models : sequence of DependentDPMixture
            At least one model, each with a phase of rows. All must have the same
            families with their scales (`family_`), columns and options. Only
            `concentration` and `innovation` may differ; they are added up.
        seed : int, optional
            Seed of the new model; by default it is drawn from the system.
        since : DependentDPMixture, optional
            The model of which all the others are copies, as it was when they were made.
            What it had learned counts once: see Notes.

        Returns
        -------
        DependentDPMixture
            A new model. The given models do not change.

        Raises
        ------
        ValueError
            If families, columns or options differ, or if two models share a past, as
            copies of one model do, without `since`: their processes are not
            independent, and what both have learned would count twice. With `since`, if
            they are no copies of it, have chosen scales again since, as models do in
            their first 200 rows, have learned different numbers of phases since, or
            more phases than their `history`.
        NotReadyError
            If a model has seen no row.

        Notes
        -----
        Independent Dirichlet processes DP(mu_1), DP(mu_2), ... superpose to
        DP(mu_1 + mu_2 + ...), and the shares of the parents are Dirichlet with the
        parameters alpha_1, alpha_2, ... (Lin, Grimson and Fisher 2010, theorems 2 and
        3). Here their gamma processes are added, and survival and transition act on the
        sum as on its parts. So each source may have its own model at first, and all
        share one from some phase on. Parents with a common ancestor are not
        independent, and are refused.

        Copies that have learned different rows of the same phases, on two machines for
        example, are one process that was seen in parts. With `since` they are joined as
        such: a cluster that they share is one cluster, with the rows of all, and the
        options are those of each. Clusters born since are those of one copy, and the
        history merge may merge them later. Each phase is filtered once more with the
        labels and exposures of the copies. Rows should be dealt to copies at random:
        a copy that sees one cluster alone overrates how much it has seen.

        Ids of the second model are increased by the number of ids in the first, and so
        on. The last phases of all models coincide: if a model has fewer phases, its
        phases get later numbers. ``labels(t)`` contains the rows of the models in
        order. Particles of two models are different atoms with probability one. The
        history merge therefore never merges them, however close they are.

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree.mixtures import DependentDPMixture, GaussianKnownVariance
        >>> rng = np.random.default_rng(1)
        >>> family = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=50.0)
        >>> left, right = (DependentDPMixture(family, seed=0) for _ in range(2))
        >>> left = left.update(rng.normal(-9.0, 1.0, (60, 1)))
        >>> right = right.update(rng.normal(9.0, 1.0, (60, 1)))
        >>> both = DependentDPMixture.superpose([left, right], seed=0)
        >>> both.update([[-9.0], [-8.0], [9.0]]).labels_.tolist()
        [0, 0, 1]
        >>> both.options.concentration
        2.0
        """
        if not isinstance(models, Iterable):
            raise ArgumentError(
                "models",
                "must be a sequence of DependentDPMixture",
                Message("one {kind}", kind=type(models).__name__),
                "Put it in a list with the others.",
            )
        parents = list(models)
        for one in parents:
            if not isinstance(one, DependentDPMixture):
                raise ArgumentError("models", "must be of DependentDPMixture", one)
        if not parents:
            raise ArgumentError("models", "must hold one DependentDPMixture at least")
        families = [one._ready("superpose") for one in parents]
        states = [one._state for one in parents]
        made = cls.__new__(cls)
        if since is None:
            options = superposed_options([one.options for one in parents], families)
            made._begin(options, given_or_drawn(seed))
            made._state = superposed(states, options, families[0])
            return made
        if not isinstance(since, DependentDPMixture):
            raise ArgumentError("since", "must be a DependentDPMixture", since)
        since._ready("superpose")
        if any(one.options != since.options for one in parents):
            raise ArgumentError("models", "must have the options of since")
        made._begin(since.options, given_or_drawn(seed))
        made._state = rejoined(since._state, states, since.options, families[0])
        return made

    # ------------------------------------------------------------ settings
    def calibrate(
        self,
        phases: Iterable[Any],
        grid: Mapping[str, Iterable[Any]],
        progress: Progress = None,
    ) -> Calibration:
        """Score settings by how well they predict each phase from the phases before it.

        Parameters
        ----------
        phases : sequence of tables
            At least two phases, in order.
        grid : dict
            Values to try, by the name of the option, such as
            ``{"survival": [0.9, 0.97], "transition": [RandomWalk(0.1)]}``. All
            combinations are tried. Other options are those of this model.
        progress : bool, callable or None, default None
            As in `update`, counted over the phases of all settings.

        Returns
        -------
        Calibration
            The scores. This model does not change.
        """
        check_progress(progress)
        tables = list(phases)
        if len(tables) < 2:
            raise ArgumentError("phases", "must be two tables at least", len(tables))
        choices = self._grid(grid)
        own = {name: getattr(self.options, name) for name in DDP_OPTIONS}
        models = [type(self)(**own | one, seed=self.seed) for one in choices]
        scores = np.empty(len(choices))
        with rows_bar(progress, len(choices) * len(tables), "calibrating") as tell:
            for k, model in enumerate(models):
                logs: list[Any] = []
                for table in tables:
                    if model.is_ready and len(table):
                        logs.append(model.log_predictive(table, ahead=1))
                    model.update(table, progress=False)
                    tell(1)
                scores[k] = np.mean(np.concatenate(logs)) if logs else np.nan
        return Calibration(tuple(choices), scores)

    def _grid(self, grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
        """All combinations of the values of a grid."""
        if not isinstance(grid, Mapping) or not grid:
            raise ArgumentError(
                "grid", "must be a dict from options to values to try", grid
            )
        for name in grid:
            if name not in DDP_OPTIONS:
                raise ArgumentError(
                    "grid",
                    "must name options, {ddp_options}",
                    name,
                    ddp_options=", ".join(DDP_OPTIONS),
                )
        values = [list(tried) for tried in grid.values()]
        return [dict(zip(grid, one, strict=True)) for one in product(*values)]

    # ------------------------------------------------------------ files
    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        return to_arrays(self.options, self.seed, self._state)

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        model = cls.__new__(cls)
        model._begin(options_from_header(header["options"]), header["seed"])
        model._state = from_arrays(model.options, header, arrays)
        return model
