"""DynamicFiniteMixture: the baseline that is given the number of clusters."""

from __future__ import annotations

import numpy as np

from dyntree import params
from dyntree._core.mixtures.ddp import PhaseSampler, voted
from dyntree._core.mixtures.phase import shuffled
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.transitions import Transition
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.teaching.baseline import PhaseBaseline


class DynamicFiniteMixture(PhaseBaseline):
    """A mixture of a given number of components that move from phase to phase.

    This is the fixed-size baseline for a `DependentDPMixture`. It has the same
    families, transitions and sweeps, but its K components never die, and their weights
    are drawn anew in each phase from a Dirichlet distribution.

    Parameters
    ----------
    n_components : int
        The number K, >= 1.
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial
    transition : RandomWalk, Discount or callable, optional
        As in `DependentDPMixture`.
    weight_prior : float, default 1.0
        Parameter of the symmetric Dirichlet distribution of the weights, > 0.
    sampler, n_sweeps, burn_in, thin
        As in `DependentDPMixture`.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.

    Attributes
    ----------
    n_phases : int
    labels_ : ndarray of int64
        Components of the rows of the last phase.
    means_ : ndarray of shape (n_components, n_columns)

    Notes
    -----
    The first phase starts from an assignment to centres of k-means++
    (Arthur and Vassilvitskii 2007). Later phases start from labels that are drawn row
    by row.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import DynamicFiniteMixture, GaussianKnownVariance
    >>> rng = np.random.default_rng(1)
    >>> family = GaussianKnownVariance(1.0)
    >>> model = DynamicFiniteMixture(2, family, n_sweeps=20, burn_in=5, seed=0)
    >>> for t in range(3):
    ...     X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(1, 3, size=(200, 1))
    ...     model = model.update(X)
    >>> np.sort(model.means_[:, 0]).round().tolist()
    [9.0, 18.0]
    """

    def __init__(
        self,
        n_components: int,
        family: Family,
        *,
        transition: Transition | None = None,
        weight_prior: float = 1.0,
        sampler: str = "collapsed",
        n_sweeps: int = 60,
        burn_in: int | None = None,
        thin: int = 2,
        seed: int | None = None,
    ) -> None:
        super().__init__(family, transition, sampler, n_sweeps, burn_in, thin, seed)
        self.n_components = params.count("n_components", n_components, 1, 10**6)
        self.weight_prior = params.positive("weight_prior", weight_prior)
        self._rows: Matrix | None = None
        self._share: Vector = np.full(self.n_components, 1.0 / self.n_components)

    def _learned(self, family: Family, rows: Matrix) -> Ids:
        """Take in rows that count, and return their labels."""
        first, K = self._rows is None, self.n_components
        if self._rows is None:
            priors = np.repeat(family.base()[None], K, axis=0)
        else:
            priors = family.moved(self._rows, self.transition)
        labels = np.empty(0, dtype=np.int64)
        if len(rows):
            labels = self._sampled(family, priors, rows, first)
        sums = family.sums(rows, labels, K)
        share = self.weight_prior + sums[:, 0]
        self._rows, self._share = family.posterior(priors, sums), share / share.sum()
        return labels

    def _sampled(
        self, family: Family, priors: Matrix, rows: Matrix, first: bool
    ) -> Ids:
        """Voted labels: counts of `weight_prior` beside rows, and no new particles."""
        K = self.n_components
        ones, order = np.ones(K), shuffled(len(rows), self.seed, self.n_phases, 0)
        rows = rows[order]
        sampler = PhaseSampler(
            family.emission(np.concatenate([priors, family.base()[None]]), rows),
            self.weight_prior * ones, ones, ones, np.full(1, 1e-300), np.ones(1),
            np.zeros(1, dtype=np.int32), True, self.sweeps.sampler == "uncollapsed", K,
            self.seed, self.n_phases, 0,
        )  # fmt: skip
        if first:
            rng = np.random.default_rng(self.seed)
            sampler.start(nearest(rows, spread_centres(rows, K, rng)))
        else:
            sampler.labels_once(0, True)
        labels_of_sweeps, votes = [], set(self.sweeps.voting_sweeps())
        for sweep in range(1, self.sweeps.n_sweeps + 1):
            sampler.labels_once(sweep, False)
            sampler.rest_of_sweep(sweep, False)
            if sweep in votes:
                labels_of_sweeps.append(sampler.labels())
        labels = np.empty(len(rows), dtype=np.int64)
        labels[order] = voted(np.array(labels_of_sweeps))[0]
        return labels

    def _mixture(self, family: Family, ahead: int) -> tuple[Ids, Matrix, Vector]:
        """Components, their prior rows and shares so many phases later."""
        priors = self._rows
        assert priors is not None
        for _ in range(ahead):
            priors = family.moved(priors, self.transition)
        return np.arange(self.n_components), priors, self._share


def spread_centres(rows: Matrix, k: int, rng: np.random.Generator) -> Matrix:
    """Centres of k-means++: rows drawn with chance proportional to squared distance."""
    centres = [rows[rng.integers(len(rows))]]
    distance = np.full(len(rows), np.inf)
    for _ in range(k - 1):
        distance = np.minimum(distance, ((rows - centres[-1]) ** 2).sum(axis=1))
        total = distance.sum()
        chance = distance / total if total > 0.0 else None
        centres.append(rows[rng.choice(len(rows), p=chance)])
    return np.array(centres)


def nearest(rows: Matrix, centres: Matrix) -> Ids:
    """Nearest centre of each row."""
    best, found = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.int64)
    for k, centre in enumerate(centres):
        distance = ((rows - centre) ** 2).sum(axis=1)
        found[distance < best] = k
        best = np.minimum(best, distance)
    return found
