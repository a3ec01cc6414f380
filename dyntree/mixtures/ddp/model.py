"""DependentDPMixture: clusters that are born, move, fade and die over phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Self

import numpy as np

from dyntree import checkpoint, params
from dyntree.encoding.values import Matrix
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.ddp.answers import Answers
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.files import from_arrays, to_arrays
from dyntree.mixtures.ddp.options import (
    DDP_OPTIONS,
    DDPOptions,
    Survival,
    options_from_header,
)
from dyntree.mixtures.ddp.records import Calibration
from dyntree.mixtures.ddp.regression import AffineFlow
from dyntree.mixtures.ddp.superposing import superposed, superposed_options
from dyntree.mixtures.ddp.transitions import Transition
from dyntree.mixtures.shared.arrays import Arrays, Ids
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


@checkpoint.savable
class DependentDPMixture(Answers):
    """Dependent Dirichlet process mixture, learned phase by phase.

    Clusters (*particles*) survive from phase to phase with some probability and move,
    and new clusters join them. The model is a Markov chain of Dirichlet processes,
    built from Poisson processes by thinning, point transition and superposition (Lin,
    Grimson and Fisher 2010). Each phase is learned by Gibbs sampling, conditional on
    what was learned from the phases before. Ids are persistent, and the number of
    particles is learned from the data.

    Parameters
    ----------
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial
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
    transition : RandomWalk, Discount or callable, optional
        How locations move. `GaussianKnownVariance` needs a `RandomWalk`, whose variance
        is by default a tenth of `variance`. The other families need a `Discount`,
        by default ``Discount(0.9)``. `GaussianUnknown` has the default
        ``relative_walk=0.2`` in addition, so that a cluster that moves is not taken for
        a new one. A function is a `CustomTransition`.
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
        Number of phases whose labels and sums are held.
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
    seed : int, default 0

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
    >>> model = DependentDPMixture(GaussianKnownVariance(1.0))
    >>> for t in range(3):
    ...     centre = np.array([[0.0, 0.0], [9.0, 0.1 * t]])[rng.integers(2, size=200)]
    ...     model = model.update(centre + rng.normal(size=(200, 2)))
    >>> model.n_clusters, model.lifelines().count.shape
    (2, (2, 3))
    """

    def __init__(
        self,
        family: Family,
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
        seed: int = 0,
    ) -> None:
        given = params.given_options(locals(), DDP_OPTIONS)
        self._begin(DDPOptions(**given), seed)

    # ------------------------------------------------------------ what it is
    @property
    def family_(self) -> Family:
        """The family with the scales that were estimated from the first phase."""
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
        """Bytes held by particles, their histories, and labels."""
        return self._state.nbytes + 1000

    @locked
    def velocity(self, points: Any) -> tuple[Ids, Matrix]:
        """Mean velocities of all live flows at given points, for `AffineFlow`.

        Parameters
        ----------
        points : array_like of shape (n_points, n_columns // 2) or frame
            Locations. If they and the learned rows have column names, these are
            matched.

        Returns
        -------
        ids : ndarray of int64 of shape (n_particles,)
        velocity : ndarray of shape (n_particles, n_points, n_columns // 2)
        """
        family = self._ready("velocity")
        if not isinstance(family, AffineFlow):
            raise ArgumentError(
                "velocity",
                "needs family=AffineFlow(...)",
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
    def superpose(cls, models: Iterable[Self], seed: int = 0) -> Self:
        """Return one model that continues several models: a node with several parents.

        Parameters
        ----------
        models : sequence of DependentDPMixture
            At least one model, each with a phase of rows. All must have the same
            families with their scales (`family_`), columns and options. Only
            `concentration` and `innovation` may differ; they are added up.
        seed : int, default 0
            Seed of the new model.

        Returns
        -------
        DependentDPMixture
            A new model. The given models do not change.

        Raises
        ------
        ValueError
            If families, columns or options differ, or if two models share a past, as
            copies of one model do: their processes are not independent, and what both
            have learned would count twice.
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
        >>> left = DependentDPMixture(family).update(rng.normal(-9.0, 1.0, (60, 1)))
        >>> right = DependentDPMixture(family).update(rng.normal(9.0, 1.0, (60, 1)))
        >>> both = DependentDPMixture.superpose([left, right])
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
        options = superposed_options([one.options for one in parents], families)
        states = [one._state for one in parents]
        made = cls.__new__(cls)
        made._begin(options, seed)
        made._state = superposed(states, options, families[0])
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
