"""Blocks of normal-inverse-Wishart priors, and of sums that add to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from dyntree.encoding.values import Matrix, Vector


class Block(NamedTuple):
    """Responses from column `first` on, d of them, on 1 and the first p - 1 columns."""

    first: int
    d: int
    p: int

    @property
    def size(self) -> int:
        """Doubles of its part of a prior row."""
        return (
            1
            + self.p * (self.p + 1) // 2
            + self.p * self.d
            + self.d * (self.d + 1) // 2
        )


def packed(square: Matrix) -> Matrix:
    """Upper triangles by columns, of matrices of shape (n, q, q)."""
    q = square.shape[-1]
    j, i = np.tril_indices(q)
    return square[..., i, j]


def unpacked(flat: Matrix, q: int) -> Matrix:
    """The symmetric matrices that were packed."""
    out = np.empty((*flat.shape[:-1], q, q))
    j, i = np.tril_indices(q)
    out[..., i, j] = out[..., j, i] = flat
    return out


RESOLVED = 1e-14  # of sums of squares: what is less is rounding


class Natural(NamedTuple):
    """Parts of prior rows: nu, Lambda, C = Lambda M, W = Psi + M' Lambda M."""

    nu: Vector  # (n,)
    precision: Matrix  # (n, p, p)
    cross: Matrix  # (n, p, d)
    square: Matrix  # (n, d, d)

    @property
    def coefficients(self) -> Matrix:
        """M, shape (n, p, d)."""
        return np.asarray(np.linalg.solve(self.precision, self.cross))

    @property
    def scale(self) -> Matrix:
        """Psi, shape (n, d, d)."""
        found = self.square - np.swapaxes(self.cross, 1, 2) @ self.coefficients
        try:
            np.linalg.cholesky(found)
        except np.linalg.LinAlgError:  # rounding alone: rows far from the origin
            for k, (psi, square) in enumerate(zip(found, self.square, strict=True)):
                if np.linalg.eigvalsh(psi)[0] <= 0.0:
                    least = RESOLVED * np.diag(square)
                    found[k] = np.diag(np.maximum(np.diag(psi), least))
        return found

    @property
    def sigma(self) -> Matrix:
        """Covariance of rows: its mean where it has one, else Psi / nu."""
        d = self.square.shape[1]
        df = np.where(self.nu > d + 1.0, self.nu - d - 1.0, self.nu)
        return self.scale / df[:, None, None]

    def flat(self) -> Matrix:
        """Prior rows, shape (n, size)."""
        n, p, d = self.cross.shape
        return np.hstack([
            self.nu[:, None], packed(self.precision), self.cross.reshape(n, p * d),
            packed(self.square),
        ])  # fmt: skip


def of_usual(
    df: Vector, precision: Matrix, coefficients: Matrix, scale: Matrix
) -> Natural:
    """Parts of prior rows from nu, Lambda, M and Psi, each of n particles."""
    cross = precision @ coefficients
    return Natural(
        df, precision, cross, scale + np.swapaxes(coefficients, 1, 2) @ cross
    )


def natural(flat: Matrix, block: Block) -> Natural:
    """Parts of prior rows or sums, shape (n, block.size)."""
    _, d, p = block
    n_g = p * (p + 1) // 2
    g, c, w = np.split(flat[:, 1:], [n_g, n_g + p * d], axis=1)
    return Natural(flat[:, 0], unpacked(g, p), c.reshape(-1, p, d), unpacked(w, d))


def prior_block(mean: Matrix, precision: Matrix, df: float, scale: Matrix) -> Vector:
    """Prior row of a block from M (p x d), Lambda, nu and Psi."""
    square = scale + mean.T @ precision @ mean
    one = Natural(
        np.array([df]), precision[None], (precision @ mean)[None], square[None]
    )
    flat: Vector = one.flat()[0]
    return flat


def log_normaliser(part: Natural) -> Vector:
    """Log Gamma_d(nu/2) - nu/2 log |Psi| - d/2 log |Lambda|, but for constants."""
    d = part.square.shape[1]
    total: Vector = -0.5 * part.nu * np.linalg.slogdet(part.scale)[1]
    total = total - 0.5 * d * np.linalg.slogdet(part.precision)[1]
    total = total + gammaln(0.5 * (part.nu[:, None] - np.arange(d))).sum(axis=1)
    return total
