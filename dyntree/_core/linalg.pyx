"""Cholesky, inverse and products of packed symmetric matrices (order: see the .pxd)."""
from libc.math cimport log, sqrt


cdef void add_outer(double *g, const double *x, int q) noexcept nogil:
    """g += x x'."""
    cdef int i, j
    for j in range(q):
        for i in range(j + 1):
            g[0] += x[j] * x[i]
            g += 1


cdef double dot(const double *a, const double *b, int q) noexcept nogil:
    """a'b, from 0 and in index order."""
    cdef double total = 0.0
    cdef int i
    for i in range(q):
        total += a[i] * b[i]
    return total


cdef void symmetric_times(
    const double *a, const double *x, double *out, int q
) noexcept nogil:
    """out = a x; each column of the triangle serves its row as well."""
    cdef int i, j
    cdef double t
    for j in range(q):
        out[j] = 0.0
    for j in range(q):
        t = 0.0
        for i in range(j):
            out[i] += x[j] * a[i]
            t += a[i] * x[i]
        out[j] = (out[j] + x[j] * a[j]) + t
        a += j + 1


cdef int factor_block(double *g, int start, int size) noexcept nogil:
    """Factor the diagonal block of `size` columns from `start` on, halves first."""
    cdef int half = size // 2, middle = start + half, end = start + size, i, j, k
    cdef double t
    cdef double *cj
    cdef double *ci
    if size == 1:
        t = g[at(start, start)]
        if not t > 0.0:
            return -1
        g[at(start, start)] = sqrt(t)
        return 0
    if factor_block(g, start, half) < 0:
        return -1
    for j in range(middle, end):
        cj = g + at(0, j)
        for i in range(start, middle):
            ci = g + at(0, i)
            t = cj[i]
            for k in range(start, i):
                t -= ci[k] * cj[k]
            cj[i] = t / ci[i]
    for j in range(middle, end):
        cj = g + at(0, j)
        for i in range(middle, j + 1):
            ci = g + at(0, i)
            t = 0.0
            for k in range(start, middle):
                t += ci[k] * cj[k]
            cj[i] = -t + cj[i]
    return factor_block(g, middle, size - half)


cdef int factor(double *g, int q) noexcept nogil:
    """Overwrite g by its upper Cholesky factor u, u'u = g; -1 if a pivot is not > 0.

    Recursive on halves, as LAPACK's dpotrf2.
    """
    return factor_block(g, 0, q)


cdef void invert_factor(
    const double *u, double *inverse, double *column, int q
) noexcept nogil:
    """inverse = (u'u)^-1, solved column by column of the identity.

    `column` is scratch of q doubles; of each solution the entries on and above the
    diagonal are used.
    """
    cdef int i, j, k
    cdef double t
    for j in range(q):
        for i in range(q):
            column[i] = 0.0
        column[j] = 1.0
        for i in range(j, q):           # entries before the one stay zero
            t = column[i]
            for k in range(j, i):
                t -= u[at(k, i)] * column[k]
            column[i] = t / u[at(i, i)]
        for k in range(q - 1, -1, -1):
            if column[k] != 0.0:
                column[k] = column[k] / u[at(k, k)]
                for i in range(k):
                    column[i] -= column[k] * u[at(i, k)]
        for i in range(j + 1):
            inverse[at(i, j)] = column[i]


cdef double minus_log_det(const double *u, int q) noexcept nogil:
    """log det of the inverse, from the factor."""
    cdef double total = 0.0
    cdef int i
    for i in range(q):
        total += log(u[at(i, i)])
    return -(2.0 * total)
