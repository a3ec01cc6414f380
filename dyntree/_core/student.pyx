"""Tail probability of Student's t for any df > 0."""
from libc.math cimport INFINITY, M_SQRT1_2, erfc, exp, fabs, isnan, log, log1p, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from dyntree._core.memory cimport resized
from dyntree._core.rmath cimport t_constant

cdef double HALF_LOG_2PI = 0.918938533204672741780329736406
cdef double NORMAL_FROM = 1e4       # df from which the normal expansion is exact
cdef double FAR = 1e100             # z from which z^2 / df is taken by logarithms
cdef double LARGEST_DF = 1e300
cdef double TINY = 1e-300


cdef double log_ratio(double z, double df) noexcept nogil:
    """log(1 + z^2 / df)."""
    if z > FAR:
        return 2.0 * log(z) - log(df)
    return log1p(z * z / df)


cdef double log_density(double z, double df, double constant) noexcept nogil:
    z = fabs(z)
    df = min(df, LARGEST_DF)
    return constant - HALF_LOG_2PI - 0.5 * (df + 1.0) * log_ratio(z, df)


cdef double normal_tail(double z, double df) noexcept nogil:
    """Normal expansion of Hill (1970, CACM algorithm 395), relative error df^-5."""
    cdef double a = df - 0.5, b = 48.0 * a * a
    cdef double y2 = a * log_ratio(z, df), y = sqrt(y2)
    cdef double w = y * (1.0 + (y2 + 3.0) / b - (
        ((4.0 * y2 + 33.0) * y2 + 240.0) * y2 + 855.0
    ) / (10.0 * b * (b + 0.8 * y2 * y2 + 100.0)))
    return 0.5 * erfc(w * M_SQRT1_2)


cdef double centre_sum(double z, double df) noexcept nogil:
    """P(0 < T < z) / (z f(z)), f the density: a series of positive terms.

    The sum over n of the products of y (df + 1 + 2k) / (3 + 2k), k < n, with
    y = z^2 / (df + z^2) (Abramowitz and Stegun 1972, 26.5.4).
    """
    cdef double y = z * z / (df + z * z), term = 1.0, total = 1.0, k = 0.0
    while term > 1e-17 * total:
        term *= y * (df + 1.0 + k) / (3.0 + k)
        total += term
        k += 2.0
    return total


cdef double tail_fraction(double z, double df) noexcept nogil:
    """df P(T > z) / (z f(z)): a continued fraction (26.5.8), by Lentz's method."""
    cdef double a = 0.5 * df, x, c = 1.0, d, h, m = 0.0, factor, delta = 0.0
    x = 0.0 if z > FAR else 1.0 / (1.0 + z * z / df)
    d = 1.0 - (a + 0.5) * x / (a + 1.0)
    d = 1.0 / (d if fabs(d) > TINY else TINY)
    h = d
    while m < 1000.0:
        m += 1.0
        factor = m * (0.5 - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + factor * d)
        c = 1.0 + factor / c
        h *= d * c
        factor = -(a + m) * (a + 0.5 + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + factor * d)
        c = 1.0 + factor / c
        delta = d * c
        h *= delta
        if fabs(delta - 1.0) < 3e-16:
            break
    return h


cdef double tail(double z, double df, double constant) noexcept nogil:
    cdef double zf
    if isnan(z) or isnan(constant):
        return z + constant
    if z < 0.0:
        return 1.0 - tail(-z, df, constant)
    if z == INFINITY:
        return 0.0
    if df > NORMAL_FROM:
        return normal_tail(z, min(df, LARGEST_DF))
    if z > FAR:
        zf = exp(log(z) + log_density(z, df, constant))
    else:
        zf = z * exp(log_density(z, df, constant))
    if z * z < min(9.0, 1.5 * df):
        return 0.5 - zf * centre_sum(z, df)
    return zf / df * tail_fraction(z, df)


cdef void close_students(Students *s) noexcept nogil:
    """Give back the memory of a record; one full of zeros is a good new one."""
    free(s.df)
    free(s.constant)
    free(s.cells)
    free(s.slots)
    free(s.series)
    memset(s, 0, sizeof(Students))


cdef int32_t slot_of(const Students *s, double df) noexcept nogil:
    """Slot that holds df, or the free one where it belongs."""
    cdef unsigned long long bits
    cdef int32_t k
    memcpy(&bits, &df, sizeof(double))
    bits = (bits ^ bits >> 32) * <unsigned long long> 0x9E3779B97F4A7C15
    k = <int32_t> (bits >> 33) & (s.n_slots - 1)
    while s.slots[k] and s.df[s.slots[k] - 1] != df:
        k = (k + 1) & (s.n_slots - 1)
    return k


cdef int grow(Students *s) noexcept nogil:
    """Room for twice as many df; -1: no memory."""
    cdef int32_t k, room = max(16, 2 * s.room)
    if (resized(<void **> &s.df, room, sizeof(double)) < 0
            or resized(<void **> &s.constant, room, sizeof(double)) < 0
            or resized(<void **> &s.cells, room * <size_t> N_CELLS, sizeof(int32_t)) < 0
            or resized(<void **> &s.slots, 2 * room, sizeof(int32_t)) < 0):
        return -1
    s.room = room
    s.n_slots = 2 * room
    memset(s.slots, 0, s.n_slots * sizeof(int32_t))
    for k in range(s.n):
        s.slots[slot_of(s, s.df[k])] = k + 1
    return 0


cdef int32_t place_of(Students *s, double df) noexcept nogil:
    cdef int32_t slot
    if s.n == s.room and grow(s) < 0:
        return -1
    slot = slot_of(s, df)
    if s.slots[slot] == 0:
        s.df[s.n] = df
        s.constant[s.n] = t_constant(min(df, LARGEST_DF))
        memset(
            s.cells + s.n * <size_t> N_CELLS, 0, <size_t> N_CELLS * sizeof(int32_t)
        )
        s.n += 1
        s.slots[slot] = s.n
    return s.slots[slot] - 1


cdef int64_t fill_cell(Students *s, int32_t k, int32_t cell) noexcept nogil:
    """Series of the tail about the middle of a cell.

    The density has (df + z^2) f' + (df + 1) z f = 0, hence a recursion of its
    derivatives; the tail's are theirs with the sign changed.
    """
    cdef double z = (cell + 0.5) / CELLS_PER_UNIT, r = 1.0 / s.df[k]
    cdef double before = 0.0, f, following
    cdef double *a
    cdef int j
    if s.n_series == s.series_room:
        if resized(
            <void **> &s.series, (2 * s.series_room + 64) * N_TERMS, sizeof(double)
        ) < 0:
            s.failed = True
            return 0
        s.series_room = 2 * s.series_room + 64
    a = s.series + N_TERMS * s.n_series
    s.n_series += 1
    f = exp(log_density(z, s.df[k], s.constant[k]))
    a[0] = tail(z, s.df[k], s.constant[k])
    for j in range(N_TERMS - 1):        # f is the density's coefficient of order j
        a[j + 1] = -f / (j + 1)
        following = -(
            (1.0 + (2 * j + 1) * r) * z * f + (1.0 + j * r) * before
        ) / ((1.0 + z * z * r) * (j + 1))
        before = f
        f = following
    s.cells[k * <int64_t> N_CELLS + cell] = <int32_t> s.n_series
    return s.n_series
