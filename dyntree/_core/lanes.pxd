"""Four numbers at a time: no sum waits for another, and two share an instruction."""

from libc.math cimport sqrt

cdef enum:
    LANES = 4

cdef struct Lanes:
    double a
    double b
    double c
    double d

cdef inline Lanes alike(double value) noexcept nogil:
    cdef Lanes t
    t.a = t.b = t.c = t.d = value
    return t

cdef inline Lanes across(const double **rows, int k) noexcept nogil:
    """Entry k of four rows."""
    cdef Lanes t
    t.a = rows[0][k]
    t.b = rows[1][k]
    t.c = rows[2][k]
    t.d = rows[3][k]
    return t

cdef inline Lanes times(double factor, Lanes v) noexcept nogil:
    v.a *= factor
    v.b *= factor
    v.c *= factor
    v.d *= factor
    return v

cdef inline Lanes product(Lanes u, Lanes v) noexcept nogil:
    u.a *= v.a
    u.b *= v.b
    u.c *= v.c
    u.d *= v.d
    return u

cdef inline Lanes minus(Lanes t, Lanes u, Lanes v) noexcept nogil:
    """t - u v."""
    t.a -= u.a * v.a
    t.b -= u.b * v.b
    t.c -= u.c * v.c
    t.d -= u.d * v.d
    return t

cdef inline Lanes at_least(Lanes t, double least) noexcept nogil:
    """The larger of t and `least`, which also stands in for NaN."""
    t.a = t.a if t.a > least else least
    t.b = t.b if t.b > least else least
    t.c = t.c if t.c > least else least
    t.d = t.d if t.d > least else least
    return t

cdef inline Lanes inverse_root(Lanes t) noexcept nogil:
    t.a = 1.0 / sqrt(t.a)
    t.b = 1.0 / sqrt(t.b)
    t.c = 1.0 / sqrt(t.c)
    t.d = 1.0 / sqrt(t.d)
    return t

cdef inline Lanes plus(Lanes t, Lanes u, Lanes v) noexcept nogil:
    """t + u v."""
    t.a += u.a * v.a
    t.b += u.b * v.b
    t.c += u.c * v.c
    t.d += u.d * v.d
    return t

cdef inline void accumulate(double *into, const double *other, int n) noexcept nogil:
    """Add n numbers to n others."""
    cdef int k = 0
    cdef double a, b, c, d
    while k + LANES <= n:       # all four are read before one is written
        a = into[k] + other[k]
        b = into[k + 1] + other[k + 1]
        c = into[k + 2] + other[k + 2]
        d = into[k + 3] + other[k + 3]
        into[k] = a
        into[k + 1] = b
        into[k + 2] = c
        into[k + 3] = d
        k += LANES
    while k < n:
        into[k] += other[k]
        k += 1

cdef inline void subtract(
    double *out, const double *u, const double *v, int n
) noexcept nogil:
    """out = u - v; out may be either."""
    cdef int k = 0
    cdef double a, b, c, d
    while k + LANES <= n:
        a = u[k] - v[k]
        b = u[k + 1] - v[k + 1]
        c = u[k + 2] - v[k + 2]
        d = u[k + 3] - v[k + 3]
        out[k] = a
        out[k + 1] = b
        out[k + 2] = c
        out[k + 3] = d
        k += LANES
    while k < n:
        out[k] = u[k] - v[k]
        k += 1
