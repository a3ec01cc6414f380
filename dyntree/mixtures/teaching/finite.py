"""DynamicFiniteMixture: the baseline that is told how many clusters there are."""

from __future__ import annotations

from threading import RLock
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from dyntree import params
from dyntree._core.mixtures.ddp import PhaseSampler, voted
from dyntree._core.mixtures.phase import shuffled
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NotReadyError
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.input import read_rows, separated
from dyntree.mixtures.ddp.options import SweepOptions, check_family, check_transition
from dyntree.mixtures.ddp.transitions import Transition
from dyntree.mixtures.shared.arrays import Ids
from dyntree.runtime.locking import locked
from dyntree.runtime.progress import Progress, check_progress, rows_bar


class DynamicFiniteMixture:
    """A mixture of a given number of components that move from phase to phase.

    The fixed model that a `DependentDPMixture` is measured against: the same families,
    transitions and sweeps, with K components that all live for ever, and weights drawn
    anew in each phase from a Dirichlet distribution.

    Parameters
    ----------
    n_components : int
        K, >= 1.
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial
    transition : RandomWalk, Discount or callable, optional
        As in `DependentDPMixture`.
    weight_prior : float, default 1.0
        Of the symmetric Dirichlet distribution, > 0.
    sampler, n_sweeps, burn_in, thin
        As in `DependentDPMixture`.
    seed : int, default 0

    Attributes
    ----------
    n_phases : int
    labels_ : ndarray of int64
        Components of the rows of the last phase.
    means_ : ndarray of shape (n_components, n_columns)

    Notes
    -----
    The first phase starts from the assignment to centres of k-means++ (Arthur and
    Vassilvitskii 2007), later ones from labels drawn row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import DynamicFiniteMixture, GaussianKnownVariance
    >>> rng = np.random.default_rng(1)
    >>> family = GaussianKnownVariance(1.0)
    >>> model = DynamicFiniteMixture(2, family, n_sweeps=20, burn_in=5)
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
        burn_in: int | None = 20,
        thin: int = 2,
        seed: int = 0,
    ) -> None:
        self.n_components = params.count("n_components", n_components, 1, 10**6)
        self.family = check_family(family)
        self.transition = check_transition(family, transition)
        self.weight_prior = params.positive("weight_prior", weight_prior)
        self.sweeps = SweepOptions(n_sweeps, burn_in, thin, sampler)
        self.seed = params.count("seed", seed, 0, params.MAX_SEED)
        self._lock = RLock()
        self._features: FeatureMap | None = None
        self._family: Family | None = None
        self._rows: Matrix | None = None
        self._share: Vector = np.full(self.n_components, 1.0 / self.n_components)
        self._labels: list[Ids] = []
        self.n_phases = 0

    def _encoded(self, X: Any) -> tuple[FeatureMap | None, Matrix]:
        return read_rows(X, self._features, self.family, type(self).__name__)

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    @locked
    def update(
        self, X: Any, y: Any = None, *, phases: Any = None, progress: Progress = None
    ) -> Self:
        """Learn one phase, or several in the order of their labels.

        Parameters
        ----------
        X, y, phases, progress
            As in `DependentDPMixture.update`.

        Returns
        -------
        self
        """
        check_progress(progress)
        params.check_dense("X", X)
        X, parts = separated(X, phases)
        features, rows = self._encoded(X)
        with rows_bar(progress, len(rows), "learning") as tell:
            for piece in [rows[part] for part in parts] if parts else [rows]:
                self._learn(np.ascontiguousarray(piece))
                self._features = features
                tell(len(piece))
        return self

    def _learn(self, rows: Matrix) -> None:
        """Learn one phase."""
        family, K = self._family, self.n_components
        first = family is None
        if family is None:
            if not len(rows):
                self._labels.append(np.empty(0, dtype=np.int64))
                self.n_phases += 1
                return
            family = self.family.resolved(rows)
            priors = np.repeat(family.base()[None], K, axis=0)
        else:
            assert self._rows is not None
            priors = family.moved(self._rows, self.transition)
        counting = family.counting(rows)
        labels = np.full(len(rows), -1, dtype=np.int64)
        if np.any(counting):
            labels[counting] = self._sampled(family, priors, rows[counting], first)
        sums = family.sums(rows, labels, K)
        share = self.weight_prior + sums[:, 0]
        self._family, self._rows = family, family.posterior(priors, sums)
        self._share = share / share.sum()
        self._labels.append(labels)
        self.n_phases += 1

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
        kept, votes = [], set(self.sweeps.kept())
        for sweep in range(1, self.sweeps.n_sweeps + 1):
            sampler.labels_once(sweep, False)
            sampler.rest_of_sweep(sweep, False)
            if sweep in votes:
                kept.append(sampler.labels())
        labels = np.empty(len(rows), dtype=np.int64)
        labels[order] = voted(np.array(kept))[0]
        return labels

    # ------------------------------------------------------------ answers
    def _ready(self, what: str) -> tuple[Family, Matrix]:
        """Family and prior rows, or why there are none."""
        if self._family is None or self._rows is None:
            raise NotReadyError(
                f"{what} needs a phase with rows; none has come. Call update first."
            )
        return self._family, self._rows

    def labels(self, phase: int) -> Ids:
        """Components of the rows of a phase, from 0; negative from the last one on."""
        if isinstance(phase, bool) or not isinstance(phase, int | np.integer):
            raise ValueError(f"phase must be an int; got {phase!r}.")
        if not -self.n_phases <= phase < self.n_phases:
            raise ValueError(
                f"phase must be one of the {self.n_phases} learned; got {phase!r}."
            )
        return self._labels[phase].copy()

    @property
    def labels_(self) -> Ids:
        """Components of the rows of the last phase."""
        return self.labels(-1) if self._labels else np.empty(0, dtype=np.int64)

    @property
    def means_(self) -> Matrix:
        """Means of the components, shape (n_components, n_columns)."""
        family, rows = self._ready("means_")
        return family.means(rows)

    @locked
    def predict(self, X: Any) -> Ids:
        """Most probable component of each row, ndarray of int64 of shape (n_rows,)."""
        found: Ids = np.argmax(self._log_joint(X, "predict"), axis=1)
        return found

    @locked
    def log_predictive(self, X: Any, ahead: int = 0) -> Vector:
        """Log density of new rows, of the last phase or of one that comes.

        Parameters
        ----------
        X, ahead
            As in `DependentDPMixture.log_predictive`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        ahead = params.count("ahead", ahead, 0)
        return logsumexp(self._log_joint(X, "log_predictive", ahead), axis=1)

    def _log_joint(self, X: Any, what: str, ahead: int = 0) -> Matrix:
        """Log share plus log density of each component, (n_rows, n_components)."""
        family, priors = self._ready(what)
        for _ in range(ahead):
            priors = family.moved(priors, self.transition)
        _, rows = self._encoded(X)
        return family.emission(priors, rows).log_under() + np.log(self._share)


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
