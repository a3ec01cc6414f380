"""Symmetric eigenproblems: Householder's tridiagonal form, then QL with implicit shifts.

The method is that of Bowdler, Martin, Reinsch and Wilkinson (1968, Numerische Mathematik
11, 293-306). Every inner loop runs along a row.
"""
import numpy as np

from libc.math cimport INFINITY, fabs, hypot, sqrt
from libc.string cimport memcpy, memset

from dyntree._core.vectors cimport add_scaled, add_two, inner, turn

cdef double ROUNDING = 2.220446049250313e-16
cdef enum:
    MOST_SWEEPS = 60    # per eigenvalue; two or three are usual


cdef void reduce(double *a, double *d, double *e, int n) noexcept nogil:
    """Reflect a into tridiagonal form.

    Row i of a becomes the reflector u of step i, before its diagonal, and the diagonal of
    the form; d[i] is u'u / 2, and e[1:] is what is beside the diagonal.
    """
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
    e[0] = 0.0


cdef void accumulate(double *a, double *d, double *e, int n) noexcept nogil:
    """a becomes the rotation, d the diagonal; as `reduce` left them."""
    cdef int i, j, k
    cdef double h
    cdef double *row
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
    """QL steps until what is beside the diagonal is rounding; a may be NULL."""
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
                if a != NULL:
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
    reduce(a, values, scratch, n)
    accumulate(a, values, scratch, n)
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


cdef void leading_values(double *a, double *values, double *work, int n) noexcept nogil:
    """As the declaration says."""
    cdef int i, j
    cdef double t
    reduce(a, work + 2 * n, work + n, n)
    for i in range(n):
        work[i] = values[i] = a[i * n + i]
    memcpy(work + 3 * n, work + n, n * sizeof(double))
    to_diagonal(NULL, values, work + 3 * n, n)
    for i in range(1, n):
        t = values[i]
        j = i
        while j > 0 and values[j - 1] < t:
            values[j] = values[j - 1]
            j -= 1
        values[j] = t


cdef int squared_singular(
    const double *w, int m, int n, double *a, double *values, double *work
) noexcept nogil:
    """As the declaration says: w w' and w'w have the same values but for zeros."""
    cdef int i, j
    if m > n:
        memset(a, 0, n * n * sizeof(double))
        for i in range(m):
            for j in range(n):
                add_scaled(a + j * n, w[i * n + j], w + i * n, n)
        m = n
    else:
        for i in range(m):
            for j in range(i + 1):
                a[i * m + j] = a[j * m + i] = inner(w + i * n, w + j * n, n)
    leading_values(a, values, work, m)
    return m


cdef int leading_vectors(
    const double *a, const double *values, double *work, int n, int m, double *out
) noexcept nogil:
    """As the declaration says: inverse iteration, and the reflectors backwards."""
    cdef int i, j, k, turn_
    cdef double size = 0.0, c, left
    cdef const double *d = work
    cdef const double *e = work + n
    cdef const double *h = work + 2 * n
    cdef double *z
    for i in range(n):
        size = max(size, fabs(d[i]) + fabs(e[i]))
    if size == 0.0:
        return -1
    for k in range(m):
        z = out + k * n
        factor(d, e, values[k], size * ROUNDING, work + 3 * n, n)
        for i in range(n):
            z[i] = 1.0 + 0.1 * ((7 * i + 13 * k) % 11)
        for turn_ in range(3):
            solve(work + 3 * n, z, n)
            for j in range(k):
                add_scaled(z, -inner(z, out + j * n, n), out + j * n, n)
            c = inner(z, z, n)
            if not 0.0 < c < INFINITY:
                return -1
            c = 1.0 / sqrt(c)
            for i in range(n):
                z[i] *= c
        for i in range(n):          # whether it belongs to its value
            left = (d[i] - values[k]) * z[i]
            if i > 0:
                left += e[i] * z[i - 1]
            if i < n - 1:
                left += e[i + 1] * z[i + 1]
            if not fabs(left) <= 8 * n * ROUNDING * size:
                return -1
    for k in range(m):
        z = out + k * n
        for i in range(1, n):
            if h[i] != 0.0:
                add_scaled(z, -inner(a + i * n, z, i) / h[i], a + i * n, i)
    return 0


cdef void factor(
    const double *d, const double *e, double shift, double least, double *f, int n
) noexcept nogil:
    """Factor a tridiagonal matrix less `shift` times one, with partial pivoting.

    f, five times n, becomes multipliers, pivots, two rows above them, and which rows
    changed places.
    """
    cdef int i
    cdef double t
    cdef double *low = f
    cdef double *pivot = f + n
    cdef double *above = f + 2 * n
    cdef double *far = f + 3 * n
    cdef double *swapped = f + 4 * n
    for i in range(n):
        pivot[i] = d[i] - shift
        low[i] = above[i] = e[i + 1] if i < n - 1 else 0.0
        far[i] = swapped[i] = 0.0
    for i in range(n - 1):
        if fabs(pivot[i]) >= fabs(low[i]):
            if fabs(pivot[i]) < least:
                pivot[i] = least
            low[i] /= pivot[i]
            pivot[i + 1] -= low[i] * above[i]
        else:
            t = pivot[i] / low[i]
            pivot[i] = low[i]
            low[i] = t
            t = above[i]
            above[i] = pivot[i + 1]
            pivot[i + 1] = t - low[i] * pivot[i + 1]
            if i < n - 2:
                far[i] = above[i + 1]
                above[i + 1] *= -low[i]
            swapped[i] = 1.0
    if fabs(pivot[n - 1]) < least:
        pivot[n - 1] = least


cdef void solve(const double *f, double *z, int n) noexcept nogil:
    """Solve what `factor` has factored."""
    cdef int i
    cdef double t
    cdef const double *low = f
    cdef const double *pivot = f + n
    cdef const double *above = f + 2 * n
    cdef const double *far = f + 3 * n
    cdef const double *swapped = f + 4 * n
    for i in range(n - 1):
        if swapped[i] != 0.0:
            t = z[i]
            z[i] = z[i + 1]
            z[i + 1] = t - low[i] * z[i]
        else:
            z[i + 1] -= low[i] * z[i]
    z[n - 1] /= pivot[n - 1]
    if n > 1:
        z[n - 2] = (z[n - 2] - above[n - 2] * z[n - 1]) / pivot[n - 2]
    for i in range(n - 3, -1, -1):
        z[i] = (z[i] - above[i] * z[i + 1] - far[i] * z[i + 2]) / pivot[i]


def leading_eigen(const double[:, ::1] matrix, int m):
    """All eigenvalues, descending, and the first eigenvectors, of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), n >= 1
    m : int
        Eigenvectors that are wanted.

    Returns
    -------
    values : ndarray of shape (n,)
    vectors : ndarray of shape (m, n), or None where inverse iteration did not find them
    """
    cdef int n = <int> matrix.shape[0]
    copied, values, room = np.array(matrix), np.empty(n), np.empty(WORK * n)
    vectors = np.empty((max(m, 1), n))
    cdef double[:, ::1] a = copied
    cdef double[:, ::1] out = vectors
    cdef double[::1] v = values
    cdef double[::1] work = room
    cdef int status
    with nogil:
        leading_values(&a[0, 0], &v[0], &work[0], n)
        status = leading_vectors(&a[0, 0], &v[0], &work[0], n, m, &out[0, 0])
    return values, None if status < 0 else vectors[:m]


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
