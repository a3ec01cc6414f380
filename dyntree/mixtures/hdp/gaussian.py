"""Gaussian topics, with full covariances or one variance a column."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dyntree.checkpoint.layout import require
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import Message, NumericalError
from dyntree.mixtures.hdp.families import (
    MOST_FAR,
    Expected,
    Family,
    Random,
    Statistics,
    Units,
    digamma,
)
from dyntree.mixtures.hdp.options import HDPPrior
from dyntree.mixtures.hdp.row_store import RowStore
from dyntree.mixtures.hdp.store import SLACK
from dyntree.mixtures.shared.arrays import Arrays

LOG_2PI = float(np.log(2.0 * np.pi))
FAR = 1e4  # of nu m' B^-1 m, beyond which products lose digits
MATRICES_AT_ONCE = 1024  # packed scatters that are full matrices at a time


class Gaussian(Family):
    """What both kinds of Gaussian topics have in common."""

    n_words, store = 0, RowStore

    def __init__(self, d: int, n_second: int, prior: HDPPrior, m0: Vector) -> None:
        self.d, self.n_second = d, n_second
        self.m0, self.kappa0 = m0, prior.strength
        self.log_base = -0.5 * d * LOG_2PI  # counted in E log p as it stands
        self.described_width, self.point_bytes = f"d={d}", 8 * d + 4
        self.smallest_clump = 8 * (1 + self.n_statistics) + 12 + 8

    def clump_bytes(self, n_groups: Any, n_words: Any) -> Any:
        """Bytes of clumps that touch so many groups."""
        return 8 * (2 + self.n_statistics) + 12 * n_groups

    @abstractmethod
    def outer(self, x: Matrix) -> Matrix:
        """Products of a vector's entries, packed as scatters are."""

    def linear(
        self, log_z: Vector, theta: Matrix, base: Vector, distance: Vector, m: Matrix,
        n_jitters: int = 0,
    ) -> Expected:  # fmt: skip
        """E log p as a linear form, of far topics about their centre m."""
        c = base - 0.5 * distance
        far = np.flatnonzero(distance > FAR).astype(np.int32)
        far_theta = theta[far]
        far_theta[:, : self.d] = 0.0
        theta[far], c[far] = 0.0, base[far]
        return Expected(log_z, c, theta, far, far_theta, m[far], n_jitters)

    def point_logs(self, expected: Expected, points: Any) -> Matrix:
        """<theta_k, phi(x)> of points, without c; shape (n, K)."""
        phi = np.concatenate([points, self.outer(points)], axis=1)
        out: Matrix = phi @ expected.theta.T
        for k in expected.far:
            theta, gap = expected.about(k, points)
            out[:, k] = np.concatenate([gap, self.outer(gap)], axis=1) @ theta
        return out

    def item_logs(self, expected: Expected, x: Any, within: Any, k: int) -> Any:
        """<theta_k, phibar> of items with means x and mean scatters `within`."""
        (theta, x), d = expected.about(k, x), self.d
        return x @ theta[:d] + (self.outer(x) + within) @ theta[d:]

    def log_fit(self, expected: Expected, statistics: Statistics) -> Vector:
        """E log p of a mean point of each topic's statistics under it, shape (K,)."""
        N, mean, scatter = statistics
        pairs = enumerate(zip(mean, scatter / N[:, None], strict=True))
        out: Vector = expected.c + [
            self.item_logs(expected, *own, k) for k, own in pairs
        ]
        return out

    def total_fit(self, expected: Expected, statistics: Statistics) -> float:
        """sum_k c_k N_k + <theta_k, S_k>, the expected log density of all points."""
        (N, mean, scatter), d = statistics, self.d
        total = float(expected.c @ N)
        for k in range(len(N)):
            theta, at = expected.about(k, mean[k])
            first = at @ theta[:d] + self.outer(at) @ theta[d:]
            total += N[k] * float(first) + float(scatter[k] @ theta[d:])
        return total

    def joined(self, one: Statistics, two: Statistics) -> Statistics:
        """Statistics of two sets together: pairwise means and scatters."""
        (N, mean, scatter), (M, other, more) = one, two
        total = N + M
        gap = other - mean
        between = self.outer(gap) * (N * M / total)[:, None]
        return total, mean + gap * (M / total)[:, None], scatter + more + between

    def magnified(self, statistics: Statistics, times: float) -> Statistics:
        """Statistics of points that come so many times."""
        N, mean, scatter = statistics
        return N * times, mean, scatter * times

    def on_scale(self, own: Statistics, ratio: Vector, offset: Vector) -> Statistics:
        """Statistics in other units."""
        N, mean, scatter = own
        return N, mean * ratio + offset, scatter * self.outer(ratio)

    def empty_sums(self, K: int) -> Matrix:
        """Where a sweep adds the statistics of K topics up."""
        return np.zeros((K, self.n_statistics))

    def of_sums(
        self, N: Vector, sums: Matrix, expected: Expected, far: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Means and centred scatters from sums about 0, or a far topic's centre."""
        sums[expected.far] = far
        safe = np.maximum(N, 1e-300)[:, None]
        mean = sums[:, : self.d] / safe
        scatter = sums[:, self.d :] - self.outer(mean) * N[:, None]
        mean[expected.far] += expected.far_centre
        return mean, scatter

    def means(self, statistics: Statistics) -> Matrix:
        """Posterior means, on the scale of the first epoch."""
        N, mean, _ = statistics
        share = N / (self.kappa0 + N)
        return self.m0 + (mean - self.m0) * share[:, None]

    @abstractmethod
    def spread(self, noise: Matrix, label: Any, covariances: Any) -> Matrix:
        """Standard normal draws with the covariances of their topics."""

    def drawn(self, label: Any, own: Statistics, units: Units, rng: Random) -> Any:
        """Points of topics, in the data's units."""
        shift, scale = units
        means = shift + self.means(own) * scale
        noise = rng.standard_normal((len(label), self.d))
        spread = self.spread(noise, label, self.covariances(own, scale))
        return means[label] + spread

    def to_arrays(self, mean: Matrix, scatter: Matrix) -> Arrays:
        """Means and scatters by the names that files give them."""
        return {"means": mean, "scatters": scatter}

    def from_arrays(self, arrays: Arrays) -> tuple[Matrix, Matrix]:
        """Means and scatters that a file holds."""
        return arrays["means"], arrays["scatters"]

    def check_scatters(self, N: Vector, scatter: Matrix) -> None:
        """Raise ValueError unless scatters can be those of N points each."""
        widest = N[:, None] * (2.0 * MOST_FAR) ** 2
        require(np.abs(scatter) <= widest, "scatters within the scale")


class FullGaussian(Gaussian):
    """Normal-Wishart topics."""

    name = "full"
    kind = 0

    def __init__(self, d: int, prior: HDPPrior, m0: Vector) -> None:
        super().__init__(d, d * (d + 1) // 2, prior, m0)
        self.scale0 = prior.scale
        self.shape0 = d + 2.0 if prior.dof is None else prior.dof
        log_det = np.array([d * np.log(self.scale0)])
        self.log_z0 = float(self._log_z(np.zeros(1), log_det)[0])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns whose products a scatter holds: i and j for i <= j, by rows."""
        return np.triu_indices(self.d)

    def outer(self, x: Matrix) -> Matrix:
        """x_i x_j for i <= j, by rows."""
        rows, columns = self.pairs
        return x[..., rows] * x[..., columns]

    def unpacked(self, packed: Matrix) -> Matrix:
        """Symmetric matrices, shape (..., d, d)."""
        (rows, columns), d = self.pairs, self.d
        out = np.empty((*packed.shape[:-1], d, d))
        out[..., rows, columns] = out[..., columns, rows] = packed
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
            Message(
                "topic {k} (N={n:.3g}, condition {condition:.0e}) has no Cholesky "
                "factor; raise prior.scale.",
                k=k,
                n=N,
                condition=condition,
            )
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
        rows, columns = self.pairs
        theta[:, d:] = -inverse[:, rows, columns]
        theta[:, d:][:, rows == columns] *= 0.5
        log_z = self._log_z(N, log_det)
        return self.linear(log_z, theta, base, distance, m, jitters)

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

    def covariances(self, statistics: Statistics, scale: Vector) -> Any:
        """Expected covariances of each topic, shape (K, d, d)."""
        _, nu, _, B, *_ = self.posterior(*statistics)
        free = np.maximum(nu - self.d - 1.0, 1e-9)
        return B / free[:, None, None] * np.outer(scale, scale)

    def spread(self, noise: Matrix, label: Any, covariances: Any) -> Matrix:
        """Standard normal draws with the covariances of their topics."""
        roots = np.linalg.cholesky(covariances)
        out: Matrix = np.einsum("nij,nj->ni", roots[label], noise)
        return out

    def check_scatters(self, N: Vector, scatter: Matrix) -> None:
        """Raise ValueError unless scatters can be those of N points each."""
        super().check_scatters(N, scatter)
        for start in range(0, len(scatter), MATRICES_AT_ONCE):
            some = self.unpacked(scatter[start : start + MATRICES_AT_ONCE])
            least = np.linalg.eigvalsh(some)[:, 0]
            size = np.trace(some, axis1=1, axis2=2)
            require(least >= -SLACK * size, "scatters that are positive semi-definite")


class DiagonalGaussian(Gaussian):
    """Normal-gamma topics, one variance a column."""

    name = "diag"
    kind = 1

    def __init__(self, d: int, prior: HDPPrior, m0: Vector) -> None:
        super().__init__(d, d, prior, m0)
        self.shape0 = 2.0 if prior.dof is None else prior.dof
        self.scale0 = prior.scale * (self.shape0 - 1.0)
        empty = np.zeros((1, d))
        self.log_z0 = float(self.expected(np.zeros(1), empty + m0, empty).log_z[0])

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Columns whose products a scatter holds: each with itself."""
        return np.arange(self.d), np.arange(self.d)

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
        log_z = 0.5 * d * (LOG_2PI - np.log(kappa)) + d * gammaln(a) - a * logs
        return self.linear(log_z, theta, base, distance, m)

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

    def covariances(self, statistics: Statistics, scale: Vector) -> Any:
        """Expected variances of each topic, shape (K, d)."""
        _, a, _, b = self.posterior(*statistics)
        return b / (a[:, None] - 1.0) * scale**2

    def spread(self, noise: Matrix, label: Any, covariances: Any) -> Matrix:
        """Standard normal draws with the variances of their topics."""
        out: Matrix = np.sqrt(covariances)[label] * noise
        return out
