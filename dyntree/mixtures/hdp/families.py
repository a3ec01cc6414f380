"""Families of topics: what a topic is, and all that depends on its kind.

A family works on the statistics of K topics: counts N (K,), means (K, d) and centred
scatters (K, P), packed by rows of the upper triangle (P = d (d + 1) / 2) or one a
column (P = d); words have counts (K, V) in the place of means, and P = 0. Formulas are
those of conjugate exponential families (Gelman et al., Bayesian Data Analysis, 3.6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dyntree._core.mixtures.shares import table_of
from dyntree.encoding.values import Matrix, Vector
from dyntree.mixtures.shared.arrays import Arrays

MOST_FAR = 1e6  # standard deviations of the first epoch that a point may be away
Ids = NDArray[np.int32]
Statistics = tuple[Vector, Matrix, Matrix]  # counts, means and scatters
Units = tuple[Vector, Vector]  # shift and scale of columns
Random = np.random.Generator


def digamma(x: Any) -> Matrix:
    """Digamma of an array of any shape."""
    flat = np.ascontiguousarray(np.asarray(x, dtype=np.float64).reshape(1, -1))
    return table_of(flat, 1).reshape(np.shape(x))


@dataclass(frozen=True)
class Expected:
    """E log p(x | topic k) = c_k + <theta_k, phi(x)>, and log normalisers.

    Far topics have theta 0, and far_theta about far_centre in its place.
    """

    log_z: Vector  # (K,)
    c: Vector  # (K,)
    theta: Matrix  # (K, F); words (V, K), with c in it
    far: Ids
    far_theta: Matrix  # (n_far, F)
    far_centre: Matrix  # (n_far, d)
    n_jitters: int = 0

    def about(self, k: int, x: Any) -> tuple[Vector, Any]:
        """Theta of a topic, and points about the centre that it is for."""
        far = np.flatnonzero(self.far == k)
        if not len(far):
            return self.theta[k], x
        return self.far_theta[far[0]], x - self.far_centre[far[0]]


class Family(ABC):
    """What the model asks of a kind of topics."""

    name: ClassVar[str]  # by which users know it
    kind: ClassVar[int]  # number by which kernels know it
    store: ClassVar[Any]  # class of the stored form of the data
    of_words: ClassVar[bool] = False  # whether documents are counts of words
    random_start: ClassVar[bool] = False  # or by k-means++
    epoch_size: ClassVar[int] = 10  # documents
    most_start: ClassVar[int] = 20  # topics that the first epoch starts from
    most_births: ClassVar[int] = 0  # topics proposed in each later epoch
    pointer_bytes: ClassVar[int] = 8  # of the first entries of row pointers

    d: int  # columns of a point; 0 for words
    n_second: int  # P
    n_words: int  # V, 0 for others
    described_width: str  # as errors tell it
    point_bytes: int  # of a single point
    smallest_clump: int  # bytes of a clump of one group, and of one word
    log_base: float  # phi_0 of one point
    m0: Vector
    kappa0: float
    shape0: float
    scale0: float
    log_z0: float

    @property
    def width(self) -> int:
        """Columns, or words of the vocabulary."""
        return self.d or self.n_words

    @property
    def n_statistics(self) -> int:
        """Entries of theta, of a topic in a tile."""
        return self.d + self.n_second

    @property
    def topic_bytes(self) -> int:
        """Bytes of one topic at rest: alpha, count, id, mean, scatter."""
        return 8 * (3 + (self.n_words or self.n_statistics))

    @abstractmethod
    def clump_bytes(self, n_groups: Any, n_words: Any) -> Any:
        """Bytes of clumps that touch so many groups and words."""

    # ------------------------------------------------------------ densities
    @abstractmethod
    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """Expectations of the posterior with these statistics."""

    def expected_for_answers(self, statistics: Statistics) -> Expected:
        """The same to answer for documents with, whose topics do not change."""
        return self.expected(*statistics)

    @abstractmethod
    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """Log predictive density of points under each topic, shape (n, K)."""

    def log_mixture(self, x: Any, statistics: Statistics, shares: Matrix) -> Vector:
        """Log sum_k E[pi_k] predictive_k(x) of points whose shares are given."""
        from scipy.special import logsumexp

        log_p = self.log_predictive(x, *statistics)
        with np.errstate(divide="ignore"):
            out: Vector = logsumexp(log_p + np.log(shares), axis=1)
        return out

    @abstractmethod
    def point_logs(self, expected: Expected, points: Any) -> Matrix:
        """<theta_k, phi(x)> of points, or of word ids, without c; shape (n, K)."""

    @abstractmethod
    def log_fit(self, expected: Expected, statistics: Statistics) -> Vector:
        """E log p of a mean point of each topic's statistics under it, shape (K,)."""

    @abstractmethod
    def total_fit(self, expected: Expected, statistics: Statistics) -> float:
        """sum_k c_k N_k + <theta_k, S_k>, the expected log density of all points."""

    # ------------------------------------------------------------ statistics
    @abstractmethod
    def joined(self, one: Statistics, two: Statistics) -> Statistics:
        """Statistics of two sets together."""

    @abstractmethod
    def magnified(self, statistics: Statistics, times: float) -> Statistics:
        """Statistics of points that come so many times."""

    def on_scale(self, own: Statistics, ratio: Vector, offset: Vector) -> Statistics:
        """Statistics in other units, where points have some."""
        return own

    @abstractmethod
    def empty_sums(self, K: int) -> Matrix:
        """Where a sweep adds the statistics of K topics up."""

    @abstractmethod
    def of_sums(
        self, N: Vector, sums: Matrix, expected: Expected, far: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Means and scatters from sums about 0, or about a far topic's centre."""

    # ------------------------------------------------------------ answers
    def means(self, statistics: Statistics) -> Matrix:
        """Posterior means, on the scale of the first epoch."""
        raise AttributeError("only Gaussian topics have means_; see topic_words_.")

    def covariances(self, statistics: Statistics, scale: Vector) -> Any:
        """Expected covariances, in units of the data."""
        raise AttributeError(
            "only Gaussian topics have covariances_; see topic_words_."
        )

    def word_probabilities(self, statistics: Statistics) -> Matrix:
        """Probability of each word in each topic, shape (K, V)."""
        raise AttributeError("only topics of words have topic_words_; see means_.")

    @abstractmethod
    def drawn(self, label: Any, own: Statistics, units: Units, rng: Random) -> Any:
        """Points of topics, in the data's units: shift and scale of each column."""

    # ------------------------------------------------------------ files
    @abstractmethod
    def to_arrays(self, mean: Matrix, scatter: Matrix) -> Arrays:
        """Means and scatters by the names that files give them."""

    @abstractmethod
    def from_arrays(self, arrays: Arrays) -> tuple[Matrix, Matrix]:
        """Means and scatters that a file holds."""
