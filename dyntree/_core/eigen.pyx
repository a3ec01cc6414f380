"""Symmetric eigenproblems: Householder's tridiagonal form, then QL with implicit shifts.

The method is that of Bowdler, Martin, Reinsch and Wilkinson (1968, Numerische Mathematik
11, 293-306). Every inner loop runs along a row.
"""
import numpy as np

from libc.math cimport fabs, hypot, sqrt
from libc.string cimport memcpy, memset

from dyntree._core.vectors cimport add_scaled, add_two, inner, turn

cdef double ROUNDING = 2.220446049250313e-16
cdef enum:
    MOST_SWEEPS = 60    # per eigenvalue; two or three are usual


cdef void to_tridiagonal(double *a, double *d, double *e, int n) noexcept nogil:
    """a becomes the rotation, d the diagonal, e[1:] what is beside it."""
    cdef int i, j, k
    cdef double scale, h, f, g
    cdef double *row
    for j in range(n):
        d[j] = a[j * n + n - 1]
    for i in range(n - 1, 0, -1):
        scale = h = 0.0
        for k in range(i):
            scale += fabs(d[k])
        if scale == 0.0:
            e[i] = d[i - 1]
            for j in range(i):
                d[j] = a[j * n + i - 1]
                a[j * n + i] = a[i * n + j] = 0.0
            d[i] = 0.0
            continue
        for k in range(i):
            d[k] /= scale
            h += d[k] * d[k]
        g = -sqrt(h) if d[i - 1] > 0.0 else sqrt(h)
        e[i] = scale * g
        h -= d[i - 1] * g
        d[i - 1] -= g
        for j in range(i):
            e[j] = 0.0
        for j in range(i):
            row = a + j * n
            f = d[j]
            a[i * n + j] = f
            e[j] += row[j] * f + inner(row + j + 1, d + j + 1, i - j - 1)
            add_scaled(e + j + 1, f, row + j + 1, i - j - 1)
        f = 0.0
        for j in range(i):
            e[j] /= h
            f += e[j] * d[j]
        add_scaled(e, -f / (h + h), d, i)
        for j in range(i):
            row = a + j * n
            add_two(row + j, -d[j], e + j, -e[j], d + j, i - j)
            d[j] = row[i - 1]
            row[i] = 0.0
        d[i] = h
    for i in range(n - 1):
        a[i * n + n - 1] = a[i * n + i]
        a[i * n + i] = 1.0
        row = a + (i + 1) * n
        h = d[i + 1]
        if h != 0.0:
            for k in range(i + 1):
                d[k] = row[k] / h
            for j in range(i + 1):
                add_scaled(a + j * n, -inner(row, a + j * n, i + 1), d, i + 1)
        memset(row, 0, (i + 1) * sizeof(double))
    for j in range(n):
        d[j] = a[j * n + n - 1]
        a[j * n + n - 1] = 0.0
    a[n * n - 1] = 1.0
    e[0] = 0.0


cdef void to_diagonal(double *a, double *d, double *e, int n) noexcept nogil:
    """QL steps until what is beside the diagonal is rounding."""
    cdef int i, m, sweep, l
    cdef double f = 0.0, size = 0.0, g, p, r, h, c, c2, c3, s, s2, beside
    for i in range(1, n):
        e[i - 1] = e[i]
    e[n - 1] = 0.0
    for l in range(n):
        size = max(size, fabs(d[l]) + fabs(e[l]))
        m = l
        while fabs(e[m]) > ROUNDING * size:
            m += 1
        for sweep in range(MOST_SWEEPS):
            if m == l or fabs(e[l]) <= ROUNDING * size:
                break
            g = d[l]
            p = (d[l + 1] - g) / (2.0 * e[l])
            r = hypot(p, 1.0)
            if p < 0.0:
                r = -r
            d[l] = e[l] / (p + r)
            d[l + 1] = e[l] * (p + r)
            h = g - d[l]
            for i in range(l + 2, n):
                d[i] -= h
            f += h
            p = d[m]
            c = c2 = c3 = 1.0
            s = s2 = 0.0
            g = d[l + 1]
            beside = e[l + 1]
            for i in range(m - 1, l - 1, -1):
                c3, c2, s2 = c2, c, s
                h = c * p
                r = hypot(p, e[i])
                e[i + 1] = s * r
                s = e[i] / r
                p = p / r
                # the rotation by (p, s): p is its cosine until it is the next pivot
                c, p = p, p * d[i] - s * (c2 * e[i])
                d[i + 1] = h + s * (c * (c2 * e[i]) + s * d[i])
                turn(a + i * n, a + (i + 1) * n, c, s, n)
            p = -s * s2 * c3 * beside * e[l] / g
            e[l] = s * p
            d[l] = c * p
        d[l] += f
        e[l] = 0.0


cdef void eigen(double *a, double *values, double *scratch, int n) noexcept nogil:
    """As the declaration says."""
    cdef int i, j, k
    cdef double t
    to_tridiagonal(a, values, scratch, n)
    to_diagonal(a, values, scratch, n)
    for i in range(n - 1):
        k = i
        for j in range(i + 1, n):
            if values[j] > values[k]:
                k = j
        if k != i:
            values[i], values[k] = values[k], values[i]
            for j in range(n):
                t = a[i * n + j]
                a[i * n + j] = a[k * n + j]
                a[k * n + j] = t


def symmetric_eigen(const double[:, ::1] matrix):
    """Eigenvalues, descending, and eigenvectors as rows, of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), n >= 1

    Returns
    -------
    values : ndarray of shape (n,)
    vectors : ndarray of shape (n, n)
    """
    cdef int n = <int> matrix.shape[0]
    vectors, values, room = np.empty((n, n)), np.empty(n), np.empty(n)
    cdef double[:, ::1] a = vectors
    cdef double[::1] v = values
    cdef double[::1] e = room
    memcpy(&a[0, 0], &matrix[0, 0], n * n * sizeof(double))
    with nogil:
        eigen(&a[0, 0], &v[0], &e[0], n)
    return values, vectors
