"""Distribution function of beta negative binomial counts, by sums from their mode."""
import numpy as np

from libc.math cimport NAN, exp, floor

from dyntree._core.rmath cimport log_gamma

cdef double LEAST = 1e-17       # of the sum: smaller terms leave it as it is


cdef double log_mass(double k, double r, double a, double b) noexcept nogil:
    """Log probability of k events: NB(r, p) with p ~ Beta(a, b)."""
    return (
        log_gamma(r + k) - log_gamma(r) - log_gamma(k + 1.0)
        + log_gamma(a + r) + log_gamma(b + k) - log_gamma(a + b + r + k)
        - log_gamma(a) - log_gamma(b) + log_gamma(a + b)
    )


cdef double mass_to(double y, double r, double a, double b) noexcept nogil:
    """Probability of y events at most, y whole and >= 0.

    Terms follow from their neighbours by p(k + 1) / p(k) =
    (k + r) (k + b) / ((k + 1) (k + a + b + r)); none is larger than that at the mode.
    """
    cdef double mode = floor((r * b - a - b - r) / (a + 1.0)) + 1.0, k, p, first, total
    cdef double start = max(0.0, min(y, mode))
    first = total = p = exp(log_mass(start, r, a, b))
    k = start
    while k < y:
        p *= (k + r) * (k + b) / ((k + 1.0) * (k + a + b + r))
        k += 1.0
        total += p
        if p < LEAST * total and k > mode:
            break
    p, k = first, start
    while k > 0.0:
        k -= 1.0
        p *= (k + 1.0) * (k + a + b + r) / ((k + r) * (k + b))
        total += p
        if p < LEAST * total:
            break
    return min(total, 1.0)


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
    cdef const double[::1] at = np.ascontiguousarray(y, dtype=np.float64)
    cdef const double[::1] r = np.ascontiguousarray(size, dtype=np.float64)
    cdef const double[::1] a = np.ascontiguousarray(first, dtype=np.float64)
    cdef const double[::1] b = np.ascontiguousarray(second, dtype=np.float64)
    cdef Py_ssize_t k, n = at.shape[0]
    if not r.shape[0] == a.shape[0] == b.shape[0] == n:
        raise ValueError("y, size, first and second must have one length.")
    found = np.zeros(n)
    cdef double[::1] out = found
    with nogil:
        for k in range(n):
            if at[k] >= 0.0:
                out[k] = mass_to(at[k], r[k], a[k], b[k])
            elif at[k] != at[k]:
                out[k] = NAN
    return found
