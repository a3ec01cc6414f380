"""What documents say about how common topics are: Dirichlet terms, and alpha's steps.

Counts n (S, K) are per document: those of a group divided by its documents D (S,). All
formulas hold for fractional counts; entries that are small beside alpha take a series.
"""
import numpy as np

from libc.math cimport exp, fabs, log
from libc.stdint cimport int32_t

from dyntree._core.mixtures.special cimport digamma, log_gamma, tetragamma, trigamma

cdef double SMALL = 1e-5        # n / x below which a series is taken


def table_of(const double[:, ::1] x, int order):
    """log gamma (order 0), digamma (1), trigamma (2) or its derivative (3) of x > 0.

    A number equal to the one before it in its row is not worked out again: most words
    have no count in most topics.
    """
    cdef Py_ssize_t i, j
    cdef double last, value
    out = np.empty((x.shape[0], x.shape[1]))
    cdef double[:, ::1] view = out
    with nogil:
        for i in range(x.shape[0]):
            last = -1.0
            value = 0.0
            for j in range(x.shape[1]):
                if x[i, j] != last:
                    last = x[i, j]
                    if order == 0:
                        value = log_gamma(last)
                    elif order == 1:
                        value = digamma(last)
                    elif order == 2:
                        value = trigamma(last)
                    else:
                        value = tetragamma(last)
                view[i, j] = value
    return out


def expected_logs(
    const double[:, ::1] n, const double[::1] alpha, const double[::1] add, double share,
    double alpha_0
):
    """E log pi plus `add` (K,), shape (S, K): psi(alpha + share n) - psi(of its sum)."""
    cdef Py_ssize_t s, k, S = n.shape[0], K = n.shape[1]
    cdef double total, c, ratio
    out = np.empty((S, K))
    base = np.empty((3, K))
    cdef double[:, ::1] view = out, at = base
    with nogil:
        for k in range(K):
            at[0, k] = digamma(alpha[k])
            at[1, k] = trigamma(alpha[k])
            at[2, k] = 0.5 * tetragamma(alpha[k])
        for s in range(S):
            total = alpha_0
            for k in range(K):
                total = total + share * n[s, k]
            total = digamma(total)
            for k in range(K):
                c = share * n[s, k]
                if c < SMALL * alpha[k]:
                    ratio = at[0, k] + c * (at[1, k] + c * at[2, k])
                else:
                    ratio = digamma(alpha[k] + c)
                view[s, k] = ratio - total + add[k]
    return out


cdef double rise(double x, double c, double lg, double psi, double psi1) noexcept nogil:
    """log gamma(x + c) - log gamma(x)."""
    if c < SMALL * x:
        return c * (psi + 0.5 * c * psi1)
    return log_gamma(x + c) - lg


def document_terms(
    const double[:, ::1] n, const double[::1] D, const double[::1] alpha, double share,
    double alpha_0
):
    """sum_s D {lgamma(a0 + n0) - lgamma(a0) - sum_k [lgamma(a_k + n_k) - lgamma(a_k)]}."""
    cdef Py_ssize_t s, k, S = n.shape[0], K = n.shape[1]
    cdef double total, one, out = 0.0, lg0
    base = np.empty((3, K))
    cdef double[:, ::1] at = base
    with nogil:
        lg0 = log_gamma(alpha_0)
        for k in range(K):
            at[0, k] = log_gamma(alpha[k])
            at[1, k] = digamma(alpha[k])
            at[2, k] = trigamma(alpha[k])
        for s in range(S):
            total = 0.0
            one = 0.0
            for k in range(K):
                total = total + share * n[s, k]
                one = one + rise(alpha[k], share * n[s, k], at[0, k], at[1, k], at[2, k])
            out = out + D[s] * (log_gamma(alpha_0 + total) - lg0 - one)
    return out


def column_rises(
    const double[:, ::1] n, const double[::1] D, const double[::1] alpha, double share
):
    """sum_s D [lgamma(a_k + n_k) - lgamma(a_k)] of each topic, shape (K,)."""
    cdef Py_ssize_t s, k, S = n.shape[0], K = n.shape[1]
    cdef double lg, psi, psi1
    out = np.zeros(K)
    cdef double[::1] view = out
    with nogil:
        for k in range(K):
            lg = log_gamma(alpha[k])
            psi = digamma(alpha[k])
            psi1 = trigamma(alpha[k])
            for s in range(S):
                view[k] += D[s] * rise(alpha[k], share * n[s, k], lg, psi, psi1)
    return out


cdef void slopes(
    const double *n, Py_ssize_t stride, const double *D, Py_ssize_t S, double share,
    double x, double *first, double *second
) noexcept nogil:
    """sum_s D [psi(x + n) - psi(x)] and the same of psi'."""
    cdef double psi = digamma(x), psi1 = trigamma(x), psi2 = tetragamma(x)
    cdef double c, one = 0.0, two = 0.0
    cdef Py_ssize_t s
    for s in range(S):
        c = share * n[s * stride]
        if c <= 0.0:
            continue
        if c < SMALL * x:
            one += D[s] * c * (psi1 + 0.5 * c * psi2)
            two += D[s] * c * psi2
        else:
            one += D[s] * (digamma(x + c) - psi)
            two += D[s] * (trigamma(x + c) - psi1)
    first[0] = one
    second[0] = two


def alpha_newton(
    const double[:, ::1] n, const double[::1] D, const double[::1] alpha, double share,
    double weight, double den, double shape, int max_steps, double tol
):
    """Maximise (shape-1) log x - den x + weight sum_s D [lgamma(x+n) - lgamma(x)]."""
    cdef Py_ssize_t k, S = n.shape[0], K = n.shape[1]
    cdef double x, g, h, one, two, step
    cdef int i
    out = np.array(alpha)
    cdef double[::1] view = out
    with nogil:
        for k in range(K):
            x = view[k]
            for i in range(max_steps):
                slopes(&n[0, k], K, &D[0], S, share, x, &one, &two)
                one = weight * one
                two = weight * two
                g = shape - 1.0 + x * (one - den)
                h = x * (one - den) + x * x * two
                if h >= 0.0:
                    h = x * x * two
                if h >= 0.0:
                    break
                step = g / h
                step = 2.0 if step > 2.0 else (-2.0 if step < -2.0 else step)
                x = x * exp(-step)
                if x < 1e-12:
                    x = 1e-12
                if fabs(step) < tol:
                    break
            view[k] = x
    return out


def alpha_fixed_point(
    const double[:, ::1] n, const double[::1] D, const double[::1] alpha, double share,
    double weight, double den, double shape, int steps
):
    """x <- (shape - 1 + x weight sum_s D [psi(x+n) - psi(x)]) / den, so many times."""
    cdef Py_ssize_t k, S = n.shape[0], K = n.shape[1]
    cdef double x, one, two
    cdef int i
    out = np.array(alpha)
    cdef double[::1] view = out
    with nogil:
        for k in range(K):
            x = view[k]
            for i in range(steps):
                slopes(&n[0, k], K, &D[0], S, share, x, &one, &two)
                x = (shape - 1.0 + x * weight * one) / den
                if x < 1e-12:
                    x = 1e-12
            view[k] = x
    return out


cdef double group_term(const double *n, Py_ssize_t K, double D, const double *alpha) noexcept nogil:
    """D [lgamma(sum z) - sum lgamma(z)], z = alpha + n / D."""
    cdef double total = 0.0, out = 0.0, z
    cdef Py_ssize_t k
    for k in range(K):
        z = alpha[k] + n[k] / D
        total += z
        out -= log_gamma(z)
    return D * (out + log_gamma(total))


def group_terms(const double[:, ::1] N, const double[::1] D, const double[::1] alpha):
    """The term of each group, shape (S,): counts N (S, K) are not per document."""
    cdef Py_ssize_t s, S = N.shape[0], K = N.shape[1]
    out = np.empty(S)
    cdef double[::1] view = out
    with nogil:
        for s in range(S):
            view[s] = group_term(&N[s, 0], K, D[s], &alpha[0])
    return out


def pair_terms(
    const double[:, ::1] N, const double[::1] D, const double[::1] alpha,
    const double[::1] own, Py_ssize_t s, const int32_t[::1] others
):
    """Rise of the free energy where group s joins each of some others."""
    cdef Py_ssize_t i, k, t, K = N.shape[1]
    out = np.empty(others.shape[0])
    room = np.empty(K)
    cdef double[::1] view = out, both = room
    with nogil:
        for i in range(others.shape[0]):
            t = others[i]
            for k in range(K):
                both[k] = N[s, k] + N[t, k]
            view[i] = group_term(&both[0], K, D[s] + D[t], &alpha[0]) - own[s] - own[t]
    return out
