"""Mixtures whose clusters come back by how many rows they had: urns over phases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dyntree import params
from dyntree._core.mixtures.ddp import PhaseSampler, voted
from dyntree._core.mixtures.phase import shuffled
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.ddp.families import Family
from dyntree.mixtures.ddp.transitions import Transition
from dyntree.mixtures.shared.arrays import Ids
from dyntree.mixtures.shared.checks import within
from dyntree.mixtures.teaching.baseline import PhaseBaseline

N_PROPOSALS = 5  # of splits and merges, a sweep


class Deletion:
    """Which of the c_k rows of a cluster still count in the next phase."""

    def prior(self, c: Vector, rng: np.random.Generator) -> Vector:
        """Draw s_k from its prior: all of them stay."""
        return c

    def start(self, c: Vector, rng: np.random.Generator) -> Vector:
        """First values, with clusters that live if they may."""
        return c

    def redrawn(
        self, c: Vector, s: Vector, r: Vector, alpha: float, rng: np.random.Generator
    ) -> Vector:
        """Draw s_k given r_k rows of each cluster, of which rows of new ones are last.

        Rows of new clusters are counted in ``r[len(c)]``.
        """
        return s

    def expected(self, c: Vector) -> Vector:
        """Mean of s_k."""
        return c


@dataclass(frozen=True)
class Uniform(Deletion):
    """Each row stays by itself with a probability."""

    survival: float

    def prior(self, c: Vector, rng: np.random.Generator) -> Vector:
        """Draw s_k: binomial."""
        return rng.binomial(c.astype(np.int64), self.survival).astype(np.float64)

    def start(self, c: Vector, rng: np.random.Generator) -> Vector:
        """Values to begin with: means, rounded up."""
        return np.ceil(self.survival * c)

    def redrawn(
        self, c: Vector, s: Vector, r: Vector, alpha: float, rng: np.random.Generator
    ) -> Vector:
        """Draw each s_k given the others."""
        s, n, total = s.copy(), r.sum(), s.sum()
        with np.errstate(divide="ignore"):
            log_q, log_p = np.log(self.survival), np.log1p(-self.survival)
        for k in range(len(c)):
            x = np.arange(1.0 if r[k] else 0.0, c[k] + 1.0)
            rest = alpha + total - s[k]
            logs = -gammaln(x + 1.0) - gammaln(c[k] - x + 1.0)
            logs += np.where(x > 0.0, x, 1.0) * np.where(x > 0.0, log_q, 0.0)
            left = c[k] - x
            logs += np.where(left > 0.0, left, 1.0) * np.where(left > 0.0, log_p, 0.0)
            if r[k]:
                logs += gammaln(x + r[k]) - gammaln(x)
            logs += gammaln(rest + x) - gammaln(rest + x + n)
            total -= s[k]
            s[k] = x[drawn(logs, rng)]
            total += s[k]
        return s

    def expected(self, c: Vector) -> Vector:
        """Mean of s_k."""
        return self.survival * c


@dataclass(frozen=True)
class Sized(Deletion):
    """With a probability all stay, else one cluster goes, in proportion to its size."""

    survival: float

    def prior(self, c: Vector, rng: np.random.Generator) -> Vector:
        """Draw the cluster that goes, if one does."""
        return self.redrawn(c, c, np.zeros(len(c) + 1), 1.0, rng)

    def start(self, c: Vector, rng: np.random.Generator) -> Vector:
        """First values: all rows stay if they may."""
        return c if self.survival else self.prior(c, rng)

    def redrawn(
        self, c: Vector, s: Vector, r: Vector, alpha: float, rng: np.random.Generator
    ) -> Vector:
        """Draw the cluster that goes, of those without rows."""
        if not len(c):
            return c
        n, total, free = r.sum(), c.sum(), r[: len(c)] == 0.0
        left = alpha + np.append(total - c, total)
        with np.errstate(divide="ignore"):
            logs = np.log((1.0 - self.survival) * c / total * free)
            logs = np.append(logs, np.log(self.survival))
        logs += gammaln(left) - gammaln(left + n)
        gone = drawn(logs, rng) if np.isfinite(logs).any() else len(c)
        return np.where(np.arange(len(c)) == gone, 0.0, c)

    def expected(self, c: Vector) -> Vector:
        """Mean of s_k."""
        total = max(float(c.sum()), 1e-300)
        return c * (1.0 - (1.0 - self.survival) * c / total)


def drawn(logs: Vector, rng: np.random.Generator) -> int:
    """Place drawn with chances given by their logarithms."""
    ends = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(ends, ends[-1] * rng.random(), side="right"))


class UrnSampler:
    """Gibbs sampling of one phase: labels given what counts, and the reverse.

    Given the numbers s_k that count, labels are those of a Polya urn with s_k rows of
    cluster k in it, which is the kernel's law of counts.
    """

    def __init__(
        self, family: Family, priors: Matrix, rows: Matrix, c: Vector, alpha: float,
        deletion: Deletion, uncollapsed: bool, seed: int, phase: int,
    ) -> None:  # fmt: skip
        self.family, self.rows, self.c, self.alpha = family, rows, c, alpha
        self.priors = np.concatenate([priors, family.base()[None]])
        self.deletion, self.uncollapsed = deletion, uncollapsed
        self.seed, self.phase, self.sweep = seed, phase, 0
        self.rng = np.random.default_rng((seed, phase))
        self.s = deletion.start(c, self.rng)
        self.kernel = self.made()
        self.names: dict[int, int] = {}  # of new clusters, in the kernel -> for good
        self.next_name = len(c)
        parts = None if len(c) else family.partition(rows)
        if parts is None:
            self.kernel.labels_once(0, True)
        else:
            self.kernel.start(parts, dict.fromkeys(np.unique(parts).tolist(), 0))
        self.rename()

    def made(self) -> PhaseSampler:
        """The kernel of the present s."""
        K, alive = len(self.c), self.s > 0.0
        return PhaseSampler(
            self.family.emission(self.priors, self.rows), np.where(alive, self.s, 1.0),
            np.ones(K), alive.astype(np.float64), np.array([self.alpha]), np.ones(1),
            np.zeros(1, dtype=np.int32), True, self.uncollapsed,
            K + len(self.rows) + 1, self.seed, self.phase, 0,
        )  # fmt: skip

    def rename(self) -> None:
        """Give new clusters of the kernel names that are never used again."""
        K = len(self.c)
        for name in np.unique(self.kernel.labels()).tolist():
            if name >= K and name not in self.names:
                self.names[name] = self.next_name
                self.next_name += 1

    def counts(self, labels: Ids) -> Vector:
        """Rows of each inherited cluster, and of all new ones together."""
        K = len(self.c)
        found = np.bincount(np.minimum(labels, K), minlength=K + 1)
        return found.astype(np.float64)

    def step(self) -> None:
        """What counts, identities, labels, splits and merges."""
        K, labels = len(self.c), self.kernel.labels()
        r = self.counts(labels)
        s = self.deletion.redrawn(self.c, self.s, r, self.alpha, self.rng)
        if not np.array_equal(s, self.s):
            self.s = s
            self.kernel = self.made()
            living = np.unique(labels[labels >= K]).tolist()
            self.names = {name: self.names[name] for name in living}
            self.kernel.start(labels, dict.fromkeys(living, 0))
        self.sweep += 1
        self.kernel.rest_of_sweep(self.sweep, True)  # locations first, if there are any
        self.kernel.labels_once(self.sweep, False)
        self.kernel.split_or_merge(self.sweep, N_PROPOSALS)
        self.rename()

    def labels(self) -> Ids:
        """Inherited clusters, or names of new ones that are never used again."""
        labels = self.kernel.labels()
        known = np.arange(max(len(self.c), *self.names, 0) + 1)
        for name, lasting in self.names.items():
            known[name] = lasting
        found: Ids = known[labels]
        return found


class UrnMixture(PhaseBaseline):
    """What the two urns do alike."""

    concentration: float
    deletion: Deletion
    _ids: Ids
    _rows: Matrix
    _seats: Matrix  # (n_clusters, phases that count), the last phase first
    _next_id: int

    def _begin_urn(self, concentration: float, n_seats: int) -> None:
        """Become an urn without rows."""
        self.concentration = params.positive("concentration", concentration)
        self._ids, self._next_id = np.empty(0, dtype=np.int64), 0
        self._rows, self._seats = np.empty((0, 0)), np.empty((0, n_seats))

    @abstractmethod
    def _counted(self, seats: Matrix) -> Vector:
        """c_k, rows of each cluster that count before some are deleted."""

    @abstractmethod
    def _seated(self, seats: Matrix, s: Vector, r: Vector) -> Matrix:
        """Seats after a phase with s_k rows that counted, and r_k new ones."""

    def _learned(self, family: Family, rows: Matrix) -> Ids:
        """Take in rows that count, and return the ids of their clusters."""
        base, K = family.base()[None], len(self._ids)
        priors = family.moved(self._rows, self.transition) if K else base[:0]
        labels, s = self._sampled(family, priors, rows, self._counted(self._seats))
        names = np.unique(labels[labels >= K])
        places = np.where(labels < K, labels, K + np.searchsorted(names, labels))
        everyone = np.concatenate([priors, np.repeat(base, len(names), axis=0)])
        sums = family.sums(rows, places, len(everyone))
        ids = np.append(self._ids, self._next_id + np.arange(len(names)))
        new = np.zeros((len(names), self._seats.shape[1]))
        seats = self._seated(
            np.concatenate([self._seats, new]), np.append(s, new[:, 0]), sums[:, 0]
        )
        used = np.flatnonzero(self._counted(seats) > 0.0)
        after = family.posterior(everyone, sums) if len(everyone) else everyone
        self._next_id += len(names)
        self._ids, self._rows, self._seats = ids[used], after[used], seats[used]
        return ids[places]

    def _sampled(
        self, family: Family, priors: Matrix, rows: Matrix, c: Vector
    ) -> tuple[Ids, Vector]:
        """Voted labels, and a draw of what counted, given these."""
        labels = np.empty(len(rows), dtype=np.int64)
        if not len(rows):
            rng = np.random.default_rng((self.seed, self.n_phases))
            return labels, self.deletion.prior(c, rng)
        order = shuffled(len(rows), self.seed, self.n_phases, 0)
        sampler = UrnSampler(
            family, priors, rows[order], c, self.concentration, self.deletion,
            self.sweeps.sampler == "uncollapsed", self.seed, self.n_phases,
        )  # fmt: skip
        labels[order] = voted(np.array(list(self._votes(sampler))))[0]
        r = sampler.counts(labels)
        inconsistent = (r[: len(c)] > 0.0) & (sampler.s == 0.0)  # by votes alone
        s = np.where(inconsistent, c, sampler.s)
        s = self.deletion.redrawn(c, s, r, self.concentration, sampler.rng)
        return labels, s

    def _votes(self, sampler: UrnSampler) -> Iterator[Ids]:
        """Labels of the sweeps that vote."""
        votes = set(self.sweeps.voting_sweeps())
        for sweep in range(1, self.sweeps.n_sweeps + 1):
            sampler.step()
            if sweep in votes:
                yield sampler.labels()

    # ------------------------------------------------------------ answers
    @property
    def n_clusters(self) -> int:
        """Number of clusters that had rows in the last phase."""
        labels = self.labels_
        return len(np.unique(labels[labels >= 0]))

    @property
    def ids_(self) -> Ids:
        """Ids of the clusters that may come back, in the order of `means_`."""
        self._ready("ids_")
        return self._ids.copy()

    @abstractmethod
    def _weights(self, ahead: int) -> Vector:
        """Expected rows of each cluster in the urn, so many phases later."""

    def _mixture(self, family: Family, ahead: int) -> tuple[Ids, Matrix, Vector]:
        """Ids, prior rows and shares, and those of the base after them."""
        priors = self._rows if len(self._ids) else family.base()[None][:0]
        for _ in range(ahead):
            priors = family.moved(priors, self.transition)
        weight = np.append(self._weights(ahead), self.concentration)
        everyone = np.concatenate([priors, family.base()[None]])
        return self._ids, everyone, weight / weight.sum()


class RecurrentCRPMixture(UrnMixture):
    """Recurrent Chinese restaurant process: recent counts determine cluster weights.

    A row of phase t joins cluster k with probability proportional to m'_kt plus the
    cluster's rows in t so far. It founds a new cluster with probability proportional to
    the concentration. Here m'_kt = sum over d = 1 ... window of exp(-d / decay) m_k,t-d
    (Ahmed and Xing 2008). A cluster without rows in `window` phases disappears; there
    is no thinning.

    Parameters
    ----------
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial
    concentration : float, default 1.0
        Concentration of each phase, > 0.
    window : int, default 10
        Number of past phases whose rows count, 1 to 1000.
    decay : float, default 2.0
        Number of phases in which counts decrease by the factor e, > 0.
    transition : RandomWalk, Discount or callable, optional
        As in `DependentDPMixture`.
    sampler, n_sweeps, burn_in, thin
        As in `DependentDPMixture`.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.

    Attributes
    ----------
    n_phases, n_clusters : int
        Number of phases learned, and of clusters with rows in the last phase.
    labels_ : ndarray of int64
        Ids of the clusters of the rows of the last phase.
    ids_ : ndarray of int64 of shape (n,)
        Ids of the clusters that can get rows again.
    means_ : ndarray of shape (n, n_columns)

    Notes
    -----
    This is a baseline for `DependentDPMixture`. Phases are learned one after the other
    by the same Gibbs sampler, and labels of past phases are not revised. In the paper,
    all phases are sampled together.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import GaussianKnownVariance, RecurrentCRPMixture
    >>> rng = np.random.default_rng(1)
    >>> family = GaussianKnownVariance(1.0)
    >>> model = RecurrentCRPMixture(family, n_sweeps=20, burn_in=5, seed=0)
    >>> for t in range(3):
    ...     X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(1, 3, size=(200, 1))
    ...     model = model.update(X)
    >>> np.sort(model.means_[:, 0]).round().tolist()
    [9.0, 18.0]
    """

    def __init__(
        self,
        family: Family,
        *,
        concentration: float = 1.0,
        window: int = 10,
        decay: float = 2.0,
        transition: Transition | None = None,
        sampler: str = "collapsed",
        n_sweeps: int = 60,
        burn_in: int | None = None,
        thin: int = 2,
        seed: int | None = None,
    ) -> None:
        super().__init__(family, transition, sampler, n_sweeps, burn_in, thin, seed)
        self.window = params.count("window", window, 1, 1000)
        self.decay = params.positive("decay", decay)
        self.deletion = Deletion()
        self._begin_urn(concentration, self.window + 1)

    def _counted(self, seats: Matrix) -> Vector:
        fading = np.exp(-np.arange(1, self.window + 1) / self.decay)
        found: Vector = seats[:, : self.window] @ fading
        return found

    def _seated(self, seats: Matrix, s: Vector, r: Vector) -> Matrix:
        return np.hstack([r[:, None], seats[:, :-1]])

    def _weights(self, ahead: int) -> Vector:
        if not ahead:  # those of the last phase, with its rows
            return self._counted(self._seats[:, 1:]) + self._seats[:, 0]
        gone = min(ahead - 1, self.window)
        later = np.zeros(self._seats.shape)
        later[:, gone:] = self._seats[:, : self.window + 1 - gone]
        return self._counted(later)


class GeneralizedPolyaUrnMixture(UrnMixture):
    """Generalised Polya urn: past rows are deleted before new rows are drawn.

    Before each phase, some of the past rows of each cluster are deleted. The remaining
    rows form a Polya urn, from which the rows of the phase are drawn. A cluster without
    rows disappears (Caron, Davy and Doucet 2007). In distribution, each phase is a
    Dirichlet process mixture, provided that the transition preserves the base.

    Parameters
    ----------
    family : GaussianKnownVariance, GaussianUnknown, AffineFlow or Multinomial
    concentration : float, default 1.0
        Concentration of the base, > 0.
    deletion : {"uniform", "size"}, default "uniform"
        "uniform" deletes each row independently. "size" deletes at most one cluster per
        phase with all of its rows, drawn in proportion to their number.
    survival : float, default 0.5
        Probability in [0, 1] that a row is not deleted; with ``deletion="size"``, that
        no cluster is deleted.
    transition : RandomWalk, Discount or callable, optional
        As in `DependentDPMixture`.
    sampler, n_sweeps, burn_in, thin
        As in `DependentDPMixture`.
    seed : int, optional
        By default it is drawn from the system; the attribute `seed` stores it.

    Attributes
    ----------
    n_phases, n_clusters : int
        Number of phases learned, and of clusters with rows in the last phase.
    labels_ : ndarray of int64
        Ids of the clusters of the rows of the last phase.
    ids_ : ndarray of int64 of shape (n,)
        Ids of the clusters that can get rows again.
    means_ : ndarray of shape (n, n_columns)

    Notes
    -----
    This is a baseline for `DependentDPMixture`. Given c_k past rows and the numbers s_k
    of rows that are left, the labels of r_k rows each have the law of the urn,

        Gamma(a + S) / Gamma(a + S + n) prod_k Gamma(s_k + r_k) / Gamma(s_k)
        prod_new a Gamma(r_j).

    Gibbs sampling redraws labels given s, and s given labels. For each phase, one draw
    of s given the voted labels is used; the paper has many, in a particle filter. In
    `log_predictive` of later phases, rows count by their expected numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.mixtures import GaussianKnownVariance, GeneralizedPolyaUrnMixture
    >>> rng = np.random.default_rng(1)
    >>> family = GaussianKnownVariance(1.0)
    >>> model = GeneralizedPolyaUrnMixture(family, n_sweeps=20, burn_in=5, seed=0)
    >>> for t in range(3):
    ...     X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(1, 3, size=(200, 1))
    ...     model = model.update(X)
    >>> np.sort(model.means_[:, 0]).round().tolist()
    [9.0, 18.0]
    """

    def __init__(
        self,
        family: Family,
        *,
        concentration: float = 1.0,
        deletion: str = "uniform",
        survival: float = 0.5,
        transition: Transition | None = None,
        sampler: str = "collapsed",
        n_sweeps: int = 60,
        burn_in: int | None = None,
        thin: int = 2,
        seed: int | None = None,
    ) -> None:
        super().__init__(family, transition, sampler, n_sweeps, burn_in, thin, seed)
        params.one_of("deletion", deletion, ("uniform", "size"))
        self.survival = within("survival", survival, 0.0, 1.0)
        kind = Uniform if deletion == "uniform" else Sized
        self.deletion = kind(self.survival)
        self._begin_urn(concentration, 1)

    def _counted(self, seats: Matrix) -> Vector:
        found: Vector = seats[:, 0]
        return found

    def _seated(self, seats: Matrix, s: Vector, r: Vector) -> Matrix:
        found: Matrix = (s + r)[:, None]
        return found

    def _weights(self, ahead: int) -> Vector:
        weight = self._seats[:, 0]
        for _ in range(ahead):
            weight = self.deletion.expected(weight)
        return weight
