"""Small dense linear algebra in the order of R's reference BLAS and LAPACK.

Matrices are lists of rows.  Of a symmetric matrix only entries (i, j) with i <= j are
read.  Nothing is changed in place: every function returns new lists.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Vector = list[float]
Matrix = list[list[float]]


class Fit(NamedTuple):
    """Least squares from a Gram matrix G and a vector v.

    inverse is G^-1, slope is beta, explained is R = beta'G beta, log_det is
    L = ln det of the inverse, gram is G, or zeros if it could not be factored.
    """

    inverse: Matrix
    slope: Vector
    explained: float
    log_det: float
    gram: Matrix


def dot(a: Vector, b: Vector) -> float:
    """Sequential dot product from 0."""
    total = 0.0
    for left, right in zip(a, b, strict=True):
        total += left * right
    return total


def zeros(q: int) -> Matrix:
    """A q x q matrix of zeros."""
    return [[0.0] * q for _ in range(q)]


def gram(columns: list[Vector]) -> Matrix:
    """Sum over rows of x x', row after row."""
    q = len(columns)
    out = zeros(q)
    for i in range(q):
        for j in range(i, q):
            out[i][j] = out[j][i] = dot(columns[i], columns[j])
    return out


def cross(columns: list[Vector], y: Vector) -> Vector:
    """Sum over rows of y x, row after row."""
    return [dot(column, y) for column in columns]


def add_outer(matrix: Matrix, x: Vector) -> Matrix:
    """matrix + x x', with q = order of the matrix."""
    return [
        [entry + xi * xj for entry, xj in zip(row, x, strict=False)]
        for row, xi in zip(matrix, x, strict=False)
    ]


def add_scaled(vector: Vector, x: Vector, y: float) -> Vector:
    """vector + y x, with q = length of the vector."""
    return [entry + y * xi for entry, xi in zip(vector, x, strict=False)]


def add_vectors(a: Vector, b: Vector) -> Vector:
    """Entry by entry sum."""
    return [left + right for left, right in zip(a, b, strict=True)]


def add_matrices(a: Matrix, b: Matrix) -> Matrix:
    """Entry by entry sum."""
    return [add_vectors(left, right) for left, right in zip(a, b, strict=True)]


def scale_vector(vector: Vector, factor: float) -> Vector:
    """Factor times each entry."""
    return [factor * entry for entry in vector]


def scale_matrix(matrix: Matrix, factor: float) -> Matrix:
    """Factor times each entry."""
    return [[factor * entry for entry in row] for row in matrix]


def symmetric_product(a: Matrix, x: Vector) -> Vector:
    """A x for symmetric A."""
    r = [0.0] * len(x)
    for j, xj in enumerate(x):
        t = 0.0
        for i in range(j):
            aij = a[i][j]
            r[i] += xj * aij
            t += aij * x[i]
        r[j] = (r[j] + xj * a[j][j]) + t
    return r


def cholesky(g: Matrix) -> Matrix | None:
    """Upper factor U with U'U = G, or None if a pivot is not positive."""
    u = [row[:] for row in g]
    return u if _factor(u, 0, len(u)) else None


def _factor(u: Matrix, start: int, size: int) -> bool:
    """Factor the diagonal block of `size` from `start`, in place."""
    if size == 0:
        return True
    if size == 1:
        pivot = u[start][start]
        if not pivot > 0.0:
            return False
        u[start][start] = math.sqrt(pivot)
        return True
    middle = start + size // 2
    end = start + size
    if not _factor(u, start, middle - start):
        return False
    for j in range(middle, end):
        for i in range(start, middle):
            entry = u[i][j]
            for k in range(start, i):
                entry -= u[k][i] * u[k][j]
            u[i][j] = entry / u[i][i]
    for i in range(middle, end):
        for j in range(i, end):
            total = 0.0
            for k in range(start, middle):
                total += u[k][i] * u[k][j]
            u[i][j] = -total + u[i][j]
    return _factor(u, middle, end - middle)


def inverse_from_factor(u: Matrix) -> Matrix:
    """Inverse of U'U, solved column by column; entries i <= j."""
    q = len(u)
    inverse = zeros(q)
    for column in range(q):
        b = [0.0] * q
        b[column] = 1.0
        for i in range(q):
            entry = b[i]
            for k in range(i):
                entry -= u[k][i] * b[k]
            b[i] = entry / u[i][i]
        for k in range(q - 1, -1, -1):
            if b[k] != 0.0:
                b[k] = bk = b[k] / u[k][k]
                for i in range(k):
                    b[i] -= bk * u[i][k]
        for i in range(column + 1):
            inverse[i][column] = b[i]
    return inverse


def solve(g: Matrix, v: Vector) -> Fit:
    """Least squares from the Gram matrix g and the vector v."""
    q = len(v)
    inverse, log_det = zeros(q), 0.0
    if any(entry != 0.0 for row in g for entry in row):
        u = cholesky(g)
        if u is None:
            g = zeros(q)
        else:
            inverse = inverse_from_factor(u)
            total = 0.0
            for i in range(q):
                total += math.log(u[i][i])
            log_det = -(2.0 * total)
    slope = symmetric_product(inverse, v)
    explained = dot(slope, symmetric_product(g, slope))
    if explained <= 0.0:
        inverse, log_det = zeros(q), 0.0
    return Fit(inverse, slope, explained, log_det, g)
