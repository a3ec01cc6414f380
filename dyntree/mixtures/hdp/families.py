"""Families of topics: their log normalisers, expected log densities, predictives.

A family works on the statistics of K topics: counts N (K,), means (K, d) and centred
scatters (K, P), packed by rows of the upper triangle (P = d (d + 1) / 2) or one a
column (P = d); words have counts (K, V) in the place of means, and P = 0. Formulas are
those of conjugate exponential families (Gelman et al., Bayesian Data Analysis, 3.6).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dyntree._core.mixtures.shares import table_of
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import NumericalError
from dyntree.mixtures.hdp.options import HDPPrior

LOG_2PI = float(np.log(2.0 * np.pi))
FAR = 1e4  # of nu m' B^-1 m, beyond which products lose digits
Ids = NDArray[np.int32]


def digamma(x: Any) -> Matrix:
    """Digamma of an array of any shape."""
    flat = np.ascontiguousarray(np.asarray(x, dtype=np.float64).reshape(1, -1))
    out: Matrix = table_of(flat, 1).reshape(np.shape(x))
    return out


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


class Family(ABC):
    """What the three kinds of topics have in common."""

    kind: int
    d: int  # columns of a point; 0 for words
    n_second: int  # P
    n_words: int  # V, 0 for others
    rows: NDArray[np.int64]  # (P,) columns whose products a scatter holds
    columns: NDArray[np.int64]
    m0: Vector
    kappa0: float
    shape0: float
    scale0: float
    log_z0: float

    @property
    def n_statistics(self) -> int:
        """Entries of theta, of a topic in a tile."""
        return self.d + self.n_second

    @property
    def topic_bytes(self) -> int:
        """Bytes of one topic at rest: alpha, count, id, mean, scatter."""
        return 8 * (3 + (self.n_words or self.n_statistics))

    @property
    def smallest_clump(self) -> int:
        """Bytes of a clump of one group, and of one word."""
        if self.kind == 2:
            return 8 + 12 + 12 + 16
        return 8 * (1 + self.n_statistics) + 12 + 8

    @property
    def pointer_bytes(self) -> int:
        """Bytes of the first entries of row pointers."""
        return 16 if self.kind == 2 else 8

    def clump_bytes(self, n_groups: Any, n_words: Any) -> Any:
        """Bytes of clumps that touch so many groups and words."""
        if self.kind == 2:
            return 24 + 12 * (n_groups + n_words)
        return 8 * (2 + self.n_statistics) + 12 * n_groups

    @property
    def point_bytes(self) -> int:
        """Bytes of a singlet."""
        return 12 if self.kind == 2 else 8 * self.d + 4

    @property
    @abstractmethod
    def log_base(self) -> float:
        """phi_0 of one point."""

    @abstractmethod
    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """Expectations of the posterior with these statistics."""

    @abstractmethod
    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """Log predictive density of points under each topic, shape (n, K)."""

    def join(
        self, one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]
    ) -> tuple[Any, Any, Any]:
        """Statistics of two sets together: pairwise means and scatters."""
        (N, mean, scatter), (M, other, more) = one, two
        if self.kind == 2:
            return N + M, mean + other, scatter
        total = N + M
        gap = other - mean
        between = self.outer(gap) * (N * M / total)[:, None]
        return total, mean + gap * (M / total)[:, None], scatter + more + between

    @abstractmethod
    def outer(self, x: Matrix) -> Matrix:
        """Products of a vector's entries, packed as scatters are."""


class FullGaussian(Family):
    """Normal-Wishart topics."""

    kind, n_words = 0, 0

    def __init__(self, d: int, prior: HDPPrior, m0: Vector) -> None:
        self.d, self.n_second = d, d * (d + 1) // 2
        self.rows, self.columns = np.triu_indices(d)
        self.m0, self.kappa0, self.scale0 = m0, prior.strength, prior.scale
        self.shape0 = d + 2.0 if prior.dof is None else prior.dof
        self.log_z0 = float(
            self._log_z(
                np.zeros(1), np.array([d * np.log(self.scale0)])
            )[0]
        )  # fmt: skip

    @property
    def log_base(self) -> float:
        """-(d/2) log 2 pi, counted in E log p as it stands."""
        return -0.5 * self.d * LOG_2PI

    def outer(self, x: Matrix) -> Matrix:
        """x_i x_j for i <= j, by rows."""
        out: Matrix = x[..., self.rows] * x[..., self.columns]
        return out

    def unpacked(self, packed: Matrix) -> Matrix:
        """Symmetric matrices, shape (..., d, d)."""
        out = np.empty((*packed.shape[:-1], self.d, self.d))
        out[..., self.rows, self.columns] = packed
        out[..., self.columns, self.rows] = packed
        return out

    def _log_z(self, N: Vector, log_det: Vector) -> Vector:
        d, nu = self.d, self.shape0 + N
        halves = (nu[:, None] - np.arange(d)) / 2.0
        out: Vector = (
            0.5 * d * (LOG_2PI - np.log(self.kappa0 + N))
            + 0.5 * nu * d * np.log(2.0)
            + 0.25 * d * (d - 1) * np.log(np.pi)
            + gammaln(halves).sum(1)
            - 0.5 * nu * log_det
        )
        return out

    def posterior(
        self, N: Vector, mean: Matrix, scatter: Matrix
    ) -> tuple[Vector, Vector, Matrix, Matrix, Any, int]:
        """kappa, nu, m, B, its Cholesky factor, and how many needed help."""
        kappa, nu = self.kappa0 + N, self.shape0 + N
        gap = mean - self.m0
        m = self.m0 + gap * (N / kappa)[:, None]
        packed = scatter + self.outer(gap) * (self.kappa0 * N / kappa)[:, None]
        B = self.unpacked(packed)
        B[:, range(self.d), range(self.d)] += self.scale0
        try:
            return kappa, nu, m, B, np.linalg.cholesky(B), 0
        except np.linalg.LinAlgError:
            pass
        L, jitters = np.empty_like(B), 0
        for k, one in enumerate(B):
            L[k], used = self._factor(one, k, float(N[k]))
            jitters += used
        return kappa, nu, m, B, L, jitters

    def _factor(self, B: Matrix, k: int, N: float) -> tuple[Any, int]:
        """Cholesky factor of one matrix, if need be with a little on its diagonal."""
        extra = 0.0
        for attempt in range(4):
            try:
                L = np.linalg.cholesky(B + extra * np.eye(self.d))
                B += extra * np.eye(self.d)
                return L, attempt > 0
            except np.linalg.LinAlgError:
                extra = 10.0**attempt * 1e-10 * abs(np.trace(B)) / self.d
        finite = np.isfinite(B).all()
        condition = np.linalg.cond(B) if finite else np.inf
        raise NumericalError(
            f"topic {k} (N={N:.3g}, condition {condition:.0e}) has no Cholesky factor; "
            "raise prior.scale."
        )

    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """E log p(x) = (Eld - d log 2 pi - d/kappa - nu (x-m)' B^-1 (x-m)) / 2."""
        d, K = self.d, len(N)
        kappa, nu, m, _, L, jitters = self.posterior(N, mean, scatter)
        log_det = 2.0 * np.log(L[:, range(d), range(d)]).sum(1)
        root = np.linalg.inv(L)
        inverse = np.einsum("kji,kjl->kil", root, root) * nu[:, None, None]
        linear = np.einsum("kij,kj->ki", inverse, m)
        distance = np.einsum("ki,ki->k", linear, m)
        psi = digamma((nu[:, None] - np.arange(d)) / 2.0).sum(1)
        base = 0.5 * (psi + d * np.log(2.0) - log_det - d * LOG_2PI - d / kappa)
        theta = np.empty((K, self.n_statistics))
        theta[:, :d] = linear
        theta[:, d:] = -inverse[:, self.rows, self.columns]
        theta[:, d:][:, self.rows == self.columns] *= 0.5
        c = base - 0.5 * distance
        far = np.flatnonzero(distance > FAR).astype(np.int32)
        far_theta = theta[far]
        far_theta[:, :d] = 0.0
        theta[far], c[far] = 0.0, base[far]
        log_z = self._log_z(N, log_det)
        return Expected(log_z, c, theta, far, far_theta, m[far], jitters)

    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """Student's t: df nu - d + 1, location m, scale B (kappa + 1) / (kappa df)."""
        kappa, nu, m, _, L, _ = self.posterior(N, mean, scatter)
        d, out = self.d, np.empty((len(x), len(N)))
        for k, root in enumerate(np.linalg.inv(L)):
            df = nu[k] - d + 1.0
            each = (kappa[k] + 1.0) / (kappa[k] * df)
            distance = np.square((x - m[k]) @ root.T).sum(1) / each
            log_det = -2.0 * np.log(np.diag(root)).sum() + d * np.log(each)
            out[:, k] = (
                gammaln(0.5 * (df + d)) - gammaln(0.5 * df)
                - 0.5 * (d * np.log(df * np.pi) + log_det)
                - 0.5 * (df + d) * np.log1p(distance / df)
            )  # fmt: skip
        return out


class DiagonalGaussian(Family):
    """Normal-gamma topics, one variance a column."""

    kind, n_words = 1, 0

    def __init__(self, d: int, prior: HDPPrior, m0: Vector) -> None:
        self.d = self.n_second = d
        self.rows = self.columns = np.arange(d)
        self.m0, self.kappa0 = m0, prior.strength
        self.shape0 = 2.0 if prior.dof is None else prior.dof
        self.scale0 = prior.scale * (self.shape0 - 1.0)
        empty = np.zeros((1, d))
        self.log_z0 = float(self.expected(np.zeros(1), empty + m0, empty).log_z[0])

    @property
    def log_base(self) -> float:
        """-(d/2) log 2 pi, counted in E log p as it stands."""
        return -0.5 * self.d * LOG_2PI

    def outer(self, x: Matrix) -> Matrix:
        """Squares."""
        return x * x

    def posterior(
        self, N: Vector, mean: Matrix, scatter: Matrix
    ) -> tuple[Vector, Vector, Matrix, Matrix]:
        """kappa, a, m, b."""
        kappa, a = self.kappa0 + N, self.shape0 + 0.5 * N
        gap = mean - self.m0
        m = self.m0 + gap * (N / kappa)[:, None]
        spread = scatter + gap * gap * (self.kappa0 * N / kappa)[:, None]
        return kappa, a, m, self.scale0 + 0.5 * np.maximum(spread, 0.0)

    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """Half the sum of psi(a) - log b - log 2 pi - 1/kappa - (a/b) (x - m)^2."""
        d = self.d
        kappa, a, m, b = self.posterior(N, mean, scatter)
        precision = a[:, None] / b
        logs = np.log(b).sum(1)
        base = 0.5 * (d * (digamma(a) - LOG_2PI - 1.0 / kappa) - logs)
        distance = (precision * m * m).sum(1)
        theta = np.concatenate([precision * m, -0.5 * precision], axis=1)
        c = base - 0.5 * distance
        far = np.flatnonzero(distance > FAR).astype(np.int32)
        far_theta = theta[far]
        far_theta[:, :d] = 0.0
        theta[far], c[far] = 0.0, base[far]
        log_z = 0.5 * d * (LOG_2PI - np.log(kappa)) + d * gammaln(a) - a * logs
        return Expected(log_z, c, theta, far, far_theta, m[far])

    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """A product over columns: df 2 a, location m, scale^2 b (kappa+1)/(kappa a)."""
        kappa, a, m, b = self.posterior(N, mean, scatter)
        out = np.empty((len(x), len(N)))
        for k in range(len(N)):
            df = 2.0 * a[k]
            square = b[k] * (kappa[k] + 1.0) / (kappa[k] * a[k])
            away = np.log1p(np.square(x - m[k]) / (df * square)).sum(1)
            constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df)
            constant = self.d * (constant - 0.5 * np.log(df * np.pi))
            out[:, k] = constant - 0.5 * np.log(square).sum() - 0.5 * (df + 1.0) * away
        return out


class Words(Family):
    """Multinomial topics with a Dirichlet prior."""

    kind, d, n_second = 2, 0, 0
    kappa0 = shape0 = 0.0

    def __init__(self, n_words: int, prior: HDPPrior) -> None:
        self.n_words, self.scale0 = n_words, prior.word
        self.m0 = np.zeros(0)
        self.rows = self.columns = np.arange(0)
        total = n_words * self.scale0
        self.log_z0 = float(n_words * gammaln(self.scale0) - gammaln(total))

    @property
    def log_base(self) -> float:
        """0."""
        return 0.0

    def outer(self, x: Matrix) -> Matrix:
        """There are no products."""
        return x[..., :0]

    def expected(self, N: Vector, mean: Matrix, scatter: Matrix) -> Expected:
        """psi(lambda + n_v) - psi(of their sum)."""
        V, lam = self.n_words, self.scale0
        counts = np.ascontiguousarray(mean.T) + lam
        total = V * lam + N
        theta = table_of(counts, 1)
        theta -= digamma(total)
        log_z = table_of(counts, 0).sum(0) - gammaln(total)
        none = np.zeros((0, 0))
        far = np.zeros(0, dtype=np.int32)
        return Expected(log_z, np.zeros(len(N)), theta, far, none, none)

    def log_predictive(
        self, x: Any, N: Vector, mean: Matrix, scatter: Matrix
    ) -> Matrix:
        """(lambda + n_v) / (V lambda + N), of word ids."""
        logs = np.log(mean[:, x].T + self.scale0)
        out: Matrix = logs - np.log(self.n_words * self.scale0 + N)
        return out


def family_of(name: str, width: int, prior: HDPPrior, m0: Vector) -> Family:
    """The family of that name for so many columns, or words."""
    if name == "multinomial":
        return Words(width, prior)
    return (FullGaussian if name == "full" else DiagonalGaussian)(width, prior, m0)
