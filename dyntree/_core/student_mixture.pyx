"""Mixtures of Student t's, one a row: moments, density, distribution, quantiles.

Row j has the components start[j] .. start[j + 1] - 1, each with a weight, a location, a
scale and a df. A scale of 0 is a point mass; one of infinity puts half of its weight
beyond every point on either side.
"""
import numpy as np

from cython.parallel import prange

from libc.float cimport DBL_EPSILON
from libc.math cimport (
    INFINITY, NAN, exp, fabs, isfinite, isinf, isnan, log, sqrt,
)
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from scipy.special.cython_special cimport ndtri

from dyntree._core.openmp cimport team, thread_number
from dyntree._core.student cimport (
    CELLS_PER_UNIT, Students, cell_density, cell_of, cell_slope, cell_tail, close_students,
    log_density as student_log_density, place_of, tail,
)

cdef enum:
    MAX_ROUNDS = 400
    NEWTON_ROUNDS = 12      # from here on every second round halves the bracket
    SHARE = 32              # rows that a free thread takes

cdef double CLOSE = 1e-5    # |log(P / p)| at which one more step is the last
cdef double HEAVY = 3.0     # variance over scale^2 where a start needs one and df <= 3

cdef struct Part:           # one component while its row is solved
    double weight
    double location
    double inverse          # 1 / scale
    double offset           # from the middle of its cell
    int64_t cell            # where its series begins, -1 = it has none
    int32_t place           # of its df
    bint upper              # whether the point lies above its location


cdef struct Start:          # where the search for a row's quantiles begins
    double unbounded        # weight of the components without a scale
    double mass             # of the others, and their mean and spread
    double mean
    double width


cdef object columns(start, weight, location, scale, df):
    """The arrays as C wants them, once `start` is known to stay within them."""
    first = np.ascontiguousarray(start, dtype=np.int64)
    parts = [
        np.ascontiguousarray(a, dtype=np.float64)
        for a in (weight, location, scale, df)
    ]
    cdef const int64_t[::1] s = first
    cdef int64_t n = parts[0].shape[0]
    cdef Py_ssize_t j
    cdef bint good = s.shape[0] > 0 and s[0] >= 0 and s[s.shape[0] - 1] <= n
    for j in range(s.shape[0] - 1):
        good = good and s[j] <= s[j + 1]
    for a in parts:
        good = good and a.shape == (n,)
    if not good:
        raise ValueError(
            "start must not decrease and must end within the components, whose arrays "
            "must have one length."
        )
    return first, parts[0], parts[1], parts[2], parts[3]


cdef object responses(y, Py_ssize_t n_rows):
    """One number a row, as C wants it."""
    at = np.ascontiguousarray(y, dtype=np.float64)
    if at.shape != (n_rows,):
        raise ValueError(f"y must be of shape ({n_rows},); got {at.shape}.")
    return at


cdef double standard(double y, double location, double scale) noexcept nogil:
    """(y - location) / scale; a point mass lies at or below its location."""
    if y == location and scale == 0.0:
        return INFINITY
    return (y - location) / scale


cdef void row_moments(
    const double *w, const double *m, const double *c, const double *d, int64_t n,
    double least_df, double *mean, double *var, double *mean_df,
) noexcept nogil:
    cdef double centre = 0.0, within = 0.0, between = 0.0, total_df = 0.0, df
    cdef int64_t k
    for k in range(n):
        centre += w[k] * m[k]
        total_df += w[k] * d[k]
    for k in range(n):
        df = least_df if d[k] < least_df else d[k]
        within += w[k] * (INFINITY if df <= 2.0 else df * (c[k] * c[k]) / (df - 2.0))
        between += w[k] * ((m[k] - centre) * (m[k] - centre))
    mean[0] = centre
    var[0] = within + between
    mean_df[0] = total_df


def moments(
    start, weight, location, scale, df, int n_threads=1, double least_df=0.0
):
    """Mean, variance and mean df of each row, three arrays of shape (n_rows,).

    The variance is the mean of df scale^2 / (df - 2), infinite for df <= 2, plus the
    variance of the locations. A df below `least_df` counts as that there. The answer does not depend on the threads.
    """
    start, weight, location, scale, df = columns(start, weight, location, scale, df)
    cdef const int64_t[::1] s = start
    cdef const double[::1] w = weight, m = location, c = scale, d = df
    cdef Py_ssize_t j, n_rows = s.shape[0] - 1
    mean, var, mean_df = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    cdef double[::1] out_mean = mean, out_var = var, out_df = mean_df
    if w.shape[0] == 0 or n_rows == 0:
        return mean, var, mean_df
    # plain pointers: a thread that checks bounds asks for a state of Python's first
    cdef const int64_t *first = &s[0]
    cdef const double *weights = &w[0]
    cdef const double *locations = &m[0]
    cdef const double *scales = &c[0]
    cdef const double *dfs = &d[0]
    cdef double *means = &out_mean[0]
    cdef double *variances = &out_var[0]
    cdef double *mean_dfs = &out_df[0]
    n_threads = <int> max(1, min(n_threads, n_rows))
    for j in prange(
        n_rows, num_threads=team(n_threads), nogil=True, schedule="dynamic", chunksize=SHARE,
    ):
        row_moments(
            weights + first[j], locations + first[j], scales + first[j],
            dfs + first[j], first[j + 1] - first[j], least_df, means + j,
            variances + j, mean_dfs + j,
        )
    return mean, var, mean_df


cdef double row_density(
    const double *w, const double *m, const double *c, const double *d, int64_t n,
    double y, double *terms, Students *students,
) noexcept nogil:
    """Log density of one row; `terms` is scratch of n doubles."""
    cdef double top = -INFINITY, total = 0.0
    cdef int32_t place
    cdef int64_t k
    for k in range(n):
        if not d[k] > 0.0 or isnan(m[k]) or isnan(c[k]):
            return NAN
        place = place_of(students, d[k])
        if place < 0:
            students.failed = True
            return NAN
        terms[k] = log(w[k]) - log(c[k]) + student_log_density(
            0.0 if y == m[k] else (y - m[k]) / c[k], d[k], students.constant[place]
        )
        if terms[k] > top:
            top = terms[k]
    if isinf(top):
        return top
    for k in range(n):
        total += exp(terms[k] - top)
    return log(total) + top


def log_density(start, weight, location, scale, df, y):
    """Log density of each row at its own y, ndarray of shape (n_rows,)."""
    start, weight, location, scale, df = columns(start, weight, location, scale, df)
    cdef const int64_t[::1] s = start
    cdef const double[::1] w = weight, m = location, c = scale, d = df
    cdef Py_ssize_t j, n_rows = s.shape[0] - 1
    cdef const double[::1] at = responses(y, n_rows)
    cdef int64_t first, n, longest = 1
    cdef Students students
    cdef double *terms
    cdef bint failed
    out = np.empty(n_rows)
    cdef double[::1] view = out
    for j in range(n_rows):
        longest = max(longest, s[j + 1] - s[j])
    terms = <double *> malloc(longest * sizeof(double))
    failed = terms == NULL
    memset(&students, 0, sizeof(Students))
    if not failed:
        with nogil:
            for j in range(n_rows):
                first = s[j]
                n = s[j + 1] - first
                view[j] = -INFINITY if n == 0 else row_density(
                    &w[first], &m[first], &c[first], &d[first], n, at[j], terms,
                    &students,
                )
        failed = students.failed
        close_students(&students)
    free(terms)
    if failed:
        raise MemoryError()
    return out


def cdf(start, weight, location, scale, df, y):
    """P(Y <= y) of each row at its own y, ndarray of shape (n_rows,)."""
    start, weight, location, scale, df = columns(start, weight, location, scale, df)
    cdef const int64_t[::1] s = start
    cdef const double[::1] w = weight, m = location, c = scale, d = df
    cdef Py_ssize_t j, k, n_rows = s.shape[0] - 1
    cdef const double[::1] at = responses(y, n_rows)
    cdef int32_t place
    cdef double total
    cdef Students students
    cdef bint failed = False
    out = np.empty(n_rows)
    cdef double[::1] view = out
    memset(&students, 0, sizeof(Students))
    with nogil:
        for j in range(n_rows):
            total = 0.0
            for k in range(s[j], s[j + 1]):
                if not d[k] > 0.0:
                    total = NAN
                    break
                place = place_of(&students, d[k])
                if place < 0:
                    failed = True
                    break
                total += w[k] * tail(
                    -standard(at[j], m[k], c[k]), d[k], students.constant[place]
                )
            view[j] = total
    close_students(&students)
    if failed:
        raise MemoryError()
    return out


cdef double below(
    Part *parts, int64_t n, double t, Students *students, double *density,
    double *slope,
) noexcept nogil:
    """P(Y <= t), the density there, and three digits or so of its derivative."""
    cdef double total = 0.0, z, f, df, x, sign
    cdef const double *series
    cdef int64_t k
    density[0] = slope[0] = 0.0
    for k in range(n):
        z = (parts[k].location - t) * parts[k].inverse
        x = fabs(z) * CELLS_PER_UNIT
        parts[k].cell = cell_of(students, parts[k].place, x)
        parts[k].upper = z < 0.0
        if parts[k].cell >= 0:
            parts[k].offset = (x - (<int32_t> x + 0.5)) * (1.0 / CELLS_PER_UNIT)
        elif isnan(z):                      # at a point mass
            total += parts[k].weight
        else:
            df = students.df[parts[k].place]
            f = students.constant[parts[k].place]
            total += parts[k].weight * tail(z, df, f)
            f = exp(student_log_density(z, df, f)) * (parts[k].weight * parts[k].inverse)
            if f > 0.0:
                density[0] += f
                slope[0] += f * parts[k].inverse * z * (1.0 + 1.0 / df) / (
                    1.0 + z * z / df
                )
    for k in range(n):
        if parts[k].cell >= 0:
            series = students.series + parts[k].cell
            f = cell_tail(series, parts[k].offset)
            sign = -1.0 if parts[k].upper else 1.0
            total += parts[k].weight * (1.0 - f if parts[k].upper else f)
            f = parts[k].weight * parts[k].inverse
            density[0] += f * cell_density(series, parts[k].offset)
            slope[0] -= f * parts[k].inverse * sign * cell_slope(
                series, parts[k].offset
            )
    return total


cdef double solve(
    Part *parts, int64_t n, double p, double t, double width, Students *students
) noexcept nogil:
    """The t with P(Y <= t) = p, from a start t; `width` is a first step.

    Halley's method on log P, inside a bracket that steps of growing length find and
    bisection shrinks wherever its step leaves it or does not get on.
    """
    cdef double low = -INFINITY, high = INFINITY, total, density, slope, gap, step
    cdef double following
    cdef bint bounded
    cdef int round
    for round in range(MAX_ROUNDS):
        total = below(parts, n, t, students, &density, &slope)
        if isnan(total):
            return NAN
        if fabs(total - p) <= 2.0 * DBL_EPSILON * p:
            return t
        if total < p:
            low = t
        else:
            high = t
        gap = log(total / p)
        step = gap * total / density                # Newton's
        slope = 0.5 * step * (slope / density - density / total)
        following = t - step / (1.0 - slope if fabs(slope) < 0.5 else 1.0)
        bounded = isfinite(low) and isfinite(high)
        if fabs(gap) < CLOSE and low <= following <= high and (
            bounded or fabs(following - t) < width
        ):
            return following
        if bounded:
            if not (low < following < high) or (round > NEWTON_ROUNDS and round & 1):
                following = 0.5 * low + 0.5 * high
            if not (low < following < high):
                return high
        elif not (low < following < high) or fabs(following - t) > width:
            following = t + (width if total < p else -width)
            width *= 4.0
        t = following
        if isinf(t):
            return t
    return high


cdef double row_quantile(
    Part *parts, int64_t n, const Start *start, double q, Students *students
) noexcept nogil:
    """Quantile of one row; the lower tail of the mirrored row where q > 1/2."""
    cdef double sign = 1.0 if q <= 0.5 else -1.0, p = q if q <= 0.5 else 1.0 - q
    cdef double unbounded = start.unbounded, width = start.width, t
    cdef int64_t k
    if p < 0.5 * unbounded or (p == 0.5 * unbounded and start.mass > 0.0):
        return -sign * INFINITY
    if not start.mass > 0.0:
        return parts[0].location
    t = sign * start.mean + ndtri(p) * width
    if not (isfinite(t) and width > 0.0):
        t = sign * parts[0].location
        width = max(fabs(t), 1.0)
    if sign < 0.0:
        for k in range(n):
            parts[k].location = -parts[k].location
    t = solve(parts, n, p, t, 4.0 * width, students)
    if sign < 0.0:
        for k in range(n):
            parts[k].location = -parts[k].location
    return sign * t


cdef Start start_of(
    const double *w, const double *m, const double *c, const double *d, int64_t n
) noexcept nogil:
    """Mean and spread of the components that are bounded, to begin with."""
    cdef Start start
    cdef double first = m[0] if n else NAN, square = 0.0, gap
    cdef int64_t k
    start.unbounded = start.mass = start.mean = 0.0
    for k in range(n):
        if isinf(c[k]):
            start.unbounded += w[k]
        else:
            gap = m[k] - first
            start.mass += w[k]
            start.mean += w[k] * gap
            square += w[k] * (
                (d[k] / (d[k] - 2.0) if 3.0 < d[k] < INFINITY else HEAVY)
                * (c[k] * c[k]) + gap * gap
            )
    start.mean /= start.mass
    start.width = sqrt(square / start.mass - start.mean * start.mean)
    start.mean += first
    return start


cdef void row_quantiles(
    const double *w, const double *m, const double *c, const double *d, int64_t n,
    const double *levels, Py_ssize_t n_levels, Part *parts, Students *students,
    double *out,
) noexcept nogil:
    """Quantiles of one row at every level; `parts` is scratch of n components."""
    cdef bint good = n > 0
    cdef Start start = start_of(w, m, c, d, n)
    cdef int64_t k
    cdef Py_ssize_t i
    for k in range(n):
        if not (d[k] > 0.0 and isfinite(m[k]) and c[k] >= 0.0):
            good = False
            break
        parts[k].weight = w[k]
        parts[k].location = m[k]
        parts[k].inverse = 1.0 / c[k]
        parts[k].place = place_of(students, d[k])
        if parts[k].place < 0:
            students.failed = True
            good = False
            break
    for i in range(n_levels):
        out[i] = (
            row_quantile(parts, n, &start, levels[i], students) if good else NAN
        )


def quantiles(start, weight, location, scale, df, levels, int n_threads=1):
    """Quantiles of each row at each level in (0, 1).

    Parameters
    ----------
    start : ndarray of int64 of shape (n_rows + 1,)
    weight, location, scale, df : ndarray of shape (n_components,)
    levels : ndarray of shape (n_levels,)
    n_threads : int, default 1
        Threads over rows; the answer does not depend on it.

    Returns
    -------
    ndarray of shape (n_rows, n_levels)
        NaN where a component has no distribution (df <= 0 or NaN). The distribution
        function behind them has an absolute error below 1e-13.
    """
    start, weight, location, scale, df = columns(start, weight, location, scale, df)
    cdef const int64_t[::1] s = start
    cdef const double[::1] w = weight, m = location, c = scale, d = df
    cdef const double[::1] at = levels
    cdef Py_ssize_t j, n_rows = s.shape[0] - 1, n_levels = at.shape[0]
    cdef int64_t longest = 1
    cdef int thread
    cdef bint failed
    out = np.empty((n_rows, n_levels))
    cdef double[:, ::1] view = out
    if out.size == 0:
        return out
    for j in range(n_rows):
        longest = max(longest, s[j + 1] - s[j])
    n_threads = <int> min(n_threads, n_rows)
    cdef Students *students = <Students *> calloc(n_threads, sizeof(Students))
    cdef Part *parts = <Part *> malloc(n_threads * longest * sizeof(Part))
    failed = students == NULL or parts == NULL
    if not failed:
        for j in prange(
            n_rows, num_threads=team(n_threads), nogil=True, schedule="dynamic",
            chunksize=SHARE,
        ):
            thread = thread_number()
            row_quantiles(
                &w[0] + s[j], &m[0] + s[j], &c[0] + s[j], &d[0] + s[j],
                s[j + 1] - s[j], &at[0], n_levels, parts + thread * longest,
                students + thread, &view[j, 0],
            )
        for thread in range(n_threads):
            failed = failed or students[thread].failed
            close_students(students + thread)
    free(students)
    free(parts)
    if failed:
        raise MemoryError()
    return out
