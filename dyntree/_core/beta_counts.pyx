"""Distribution function of beta negative binomial counts, by sums and by panels.

Few probabilities are summed one by one. Many are an integral: by Euler and Maclaurin

    p(m) + .. + p(y) = int p(x) dx - (p'(y + 1/2) - p'(m - 1/2)) / 24
                       + 7 (p'''(y + 1/2) - p'''(m - 1/2)) / 5760 - ..,

from m - 1/2 to y + 1/2 (Abramowitz and Stegun 1972, 23.1.30 with 25.4.2), where p is
continued by gamma functions. It is had by Gauss and Legendre on panels in which the
logarithm of p hardly bends, however far counts go. Where p falls steeply the series is
none, and few terms tell the sum. The upper tail is summed upward by itself, so that it
keeps its digits where the lower one is nearly 1.
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, fabs, floor, log, log1p

from dyntree._core.rmath cimport log_gamma

cdef double LEAST = 1e-17       # of the sum: smaller terms leave it as it is
cdef double UNSEEN = 1e-15      # of an integral: panels beyond are left out
cdef double MOST_SUMMED = 1000.0    # events up to which all is summed
cdef double FIRST = 128.0       # events that are summed before an integral
cdef double STEEP = 0.03        # relative change of p from which on terms are summed
cdef double STIRLING = 1000.0   # from where two terms of its series are exact
cdef double BENT = 36.0         # most change of the slope of log p, times a panel's width
cdef double FALL = 12.0         # most change of log p by that slope, in a panel
cdef double[::1] NODES, WEIGHTS     # of Gauss and Legendre, on (0, 1)

NODES, WEIGHTS = (np.ascontiguousarray(one) for one in np.polynomial.legendre.leggauss(16))
NODES, WEIGHTS = 0.5 * (np.asarray(NODES) + 1.0), 0.5 * np.asarray(WEIGHTS)


cdef struct Law:
    # NB(r, p) with p ~ Beta(a, b), and what its probabilities have in common
    double r, a, b, constant, mode


cdef double gamma_step(double x, double d) noexcept nogil:
    """log Gamma(x + d) - log Gamma(x), which keeps its digits where both are large."""
    cdef double z = x + d
    if x < STIRLING or z < STIRLING:
        return log_gamma(z) - log_gamma(x)
    return (
        (x - 0.5) * log1p(d / x) + d * log(z) - d
        + (1.0 - 1.0 / (30.0 * z * z)) / (12.0 * z)
        - (1.0 - 1.0 / (30.0 * x * x)) / (12.0 * x)
    )


cdef Law law_of(double r, double a, double b) noexcept nogil:
    cdef Law law
    law.r, law.a, law.b = r, a, b
    law.constant = gamma_step(a, r) + gamma_step(b, a) - log_gamma(r)
    law.mode = max(0.0, floor((r * b - a - b - r) / (a + 1.0)) + 1.0)
    return law


cdef double log_mass(double k, Law *law) noexcept nogil:
    """Log probability of k events."""
    return (
        gamma_step(k + 1.0, law.r - 1.0) - gamma_step(law.b + k, law.a + law.r)
        + law.constant
    )


cdef double ratio(double k, Law *law) noexcept nogil:
    """p(k + 1) / p(k)."""
    return (k + law.r) * (k + law.b) / ((k + 1.0) * (k + law.a + law.b + law.r))


cdef double bend(double x, Law *law) noexcept nogil:
    """About the second derivative of log p."""
    return (
        (1.0 - law.r) / ((x + 1.0) * (x + law.r))
        + (law.a + law.r) / ((x + law.b) * (x + law.a + law.b + law.r))
    )


cdef double correction(double x, Law *law) noexcept nogil:
    """p'(x) / 24 - 7 p'''(x) / 5760."""
    cdef double slope = log(ratio(x - 0.5, law))
    cdef double third = slope * (slope * slope + 3.0 * bend(x, law))
    return exp(log_mass(x, law)) * (slope / 24.0 - 7.0 * third / 5760.0)


cdef double summed_to(double y, Law *law) noexcept nogil:
    """Probability of y events at most, term by term from the largest."""
    cdef double k, p, first, total
    cdef double start = min(y, law.mode)
    first = total = p = exp(log_mass(start, law))
    k = start
    while k < y:
        p *= ratio(k, law)
        k += 1.0
        total += p
        if p < LEAST * total:
            break
    p, k = first, start
    while k > 0.0:
        k -= 1.0
        p /= ratio(k, law)
        total += p
        if p < LEAST * total:
            break
    return total


cdef double panels(double x, double end, Law *law) noexcept nogil:
    """Integral of p between x and end, panel by panel from x on; end may be below."""
    cdef double total = 0.0, width, part, slope, sign = 1.0 if end > x else -1.0
    cdef Py_ssize_t k
    while x != end:
        width = min(fabs(end - x), (0.5 if sign > 0.0 else 1.0 / 3.0) * x)
        slope = fabs(log(ratio(x, law)))
        if width * slope > FALL:
            width = FALL / slope
        while width * width * max(
            fabs(bend(x, law)),
            max(fabs(bend(x + 0.5 * sign * width, law)), fabs(bend(x + sign * width, law))),
        ) > BENT:
            width *= 0.5
        part = 0.0
        for k in range(NODES.shape[0]):
            part += WEIGHTS[k] * exp(log_mass(x + sign * width * NODES[k], law))
        total += width * part
        if width * part <= UNSEEN * total:
            break
        x = end if width >= fabs(end - x) else x + sign * width
    return total


cdef double mass_to(double y, Law *law) noexcept nogil:
    """Probability of y events at most, y whole and >= 0."""
    cdef double top, total
    if y == INFINITY:
        return 1.0
    if y <= MOST_SUMMED or (y < law.mode and ratio(y, law) > 1.0 + STEEP):
        return min(summed_to(y, law), 1.0)
    top = min(y + 0.5, max(law.mode, FIRST - 0.5))
    total = summed_to(FIRST - 1.0, law)
    total += panels(top, FIRST - 0.5, law) + panels(top, y + 0.5, law)
    total += correction(FIRST - 0.5, law) - correction(y + 0.5, law)
    return max(0.0, min(total, 1.0))


cdef double mass_from(double y, Law *law) noexcept nogil:
    """Probability of y events at least, y whole and >= 0."""
    cdef double p, step, total = 0.0, k = y
    if y <= law.mode:           # where half or so is above, and nothing cancels
        return 1.0 if y == 0.0 else 1.0 - mass_to(y - 1.0, law)
    if y == INFINITY:
        return 0.0
    p = exp(log_mass(k, law))
    while True:
        step = ratio(k, law)
        if k >= FIRST and step > 1.0 - STEEP:
            break
        total += p
        p *= step
        k += 1.0
        if p <= LEAST * total:
            return total
    return min(total + panels(k - 0.5, INFINITY, law) + correction(k - 0.5, law), 1.0)


cdef object each(
    y, size, first, second, double below, double (*value)(double, Law *) noexcept nogil
):
    """A value of each count under its own law; `below` is that below 0."""
    cdef const double[::1] at = np.ascontiguousarray(y, dtype=np.float64)
    cdef const double[::1] r = np.ascontiguousarray(size, dtype=np.float64)
    cdef const double[::1] a = np.ascontiguousarray(first, dtype=np.float64)
    cdef const double[::1] b = np.ascontiguousarray(second, dtype=np.float64)
    cdef Py_ssize_t k, n = at.shape[0]
    cdef Law law
    if not r.shape[0] == a.shape[0] == b.shape[0] == n:
        raise ValueError("y, size, first and second must have one length.")
    found = np.full(n, below)
    cdef double[::1] out = found
    with nogil:
        for k in range(n):
            if at[k] >= 0.0:
                law = law_of(r[k], a[k], b[k])
                out[k] = value(at[k], &law)
            elif at[k] != at[k]:
                out[k] = NAN
    return found


def cdf(y, size, first, second):
    """Probability of at most y events, element by element.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Whole numbers; 0 is the answer below 0.
    size, first, second : ndarray of shape (n,)
        Events are NB(size, p), p ~ Beta(first, second).

    Returns
    -------
    ndarray of shape (n,)
    """
    return each(y, size, first, second, 0.0, mass_to)


def sf(y, size, first, second):
    """Probability of at least y events; parameters are those of `cdf`.

    Below 0 the answer is 1.
    """
    return each(y, size, first, second, 1.0, mass_from)


def log_pmf(y, size, first, second):
    """Log probability of y events; parameters are those of `cdf`."""
    return each(y, size, first, second, -INFINITY, log_mass)
