"""Sums and posteriors of Gaussian parts; full covariances, and one variance a column."""

from libc.math cimport log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from dyntree._core.mixtures.special cimport digamma, log_gamma
from dyntree._core.mixtures.topic_parts cimport Prior, Side, Store, Work, weight_of
from dyntree._core.vectors cimport add_scaled

cdef double LOG_2PI = 1.8378770664093453


cdef const double *point_of(Prior *p, Store *store, int64_t i) noexcept nogil:
    """Coordinates of an item: of a single point, or the mean of a clump."""
    if i < store.n_points:
        return store.x + i * p.d
    return store.mean + (i - store.n_points) * p.d


cdef void gather(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, double *phi) noexcept nogil:
    """phibar of each item about the mean of the part, (n, F), and the part's sums."""
    cdef Py_ssize_t i, j, a, b, d = p.d
    cdef double total = 0.0, c
    cdef const double *x
    cdef const double *C
    cdef double *row
    cdef double *second
    memset(w.centre, 0, d * sizeof(double))
    for i in range(n):
        c = weight_of(p, store, idx[i])
        x = point_of(p, store, idx[i])
        total += c
        for j in range(d):
            w.centre[j] += c * x[j]
    for j in range(d):
        w.centre[j] /= total
    w.parent.N = total
    memset(w.parent.S, 0, p.F * sizeof(double))
    for i in range(n):
        x = point_of(p, store, idx[i])
        row = phi + i * p.F
        for j in range(d):
            row[j] = x[j] - w.centre[j]
        second = row + d
        if p.kind == 1:
            for a in range(d):
                second[a] = row[a] * row[a]
        else:
            for a in range(d):
                for b in range(a, d):
                    second[0] = row[a] * row[b]
                    second += 1
            second = row + d
        c = weight_of(p, store, idx[i])
        if idx[i] >= store.n_points:
            C = store.scatter + (idx[i] - store.n_points) * (p.F - d)
            for j in range(p.F - d):
                second[j] += C[j] / c
        add_scaled(w.parent.S, c, row, p.F)


cdef int gaussian(Prior *p, Work *w, Side *side) noexcept nogil:
    """E log p(x) = c + <theta, phi> and log normaliser of a side; -1 without one."""
    cdef Py_ssize_t d = p.d, i, j, k, q
    cdef double N = p.m_p * side.N, kappa = p.kappa0 + N, total, nu, mBm, log_det = 0.0, gammas
    cdef double m0, eld
    cdef double *B = w.B
    cdef double *L = w.L
    if p.kind == 1:
        return diagonal(p, w, side)
    nu = p.shape0 + N
    for j in range(d):
        w.m[j] = (p.kappa0 * (p.m0[j] - w.centre[j]) + p.m_p * side.S[j]) / kappa
    q = d
    for i in range(d):
        m0 = p.m0[i] - w.centre[i]
        for j in range(i, d):
            total = p.m_p * side.S[q] + p.kappa0 * m0 * (p.m0[j] - w.centre[j]) - kappa * w.m[i] * w.m[j]
            B[i * d + j] = B[j * d + i] = total + (p.scale0 if i == j else 0.0)
            q += 1
    # L L' = B, then its inverse in the lower triangle of L, then B^-1 = L^-T L^-1
    for i in range(d):
        for j in range(i + 1):
            total = B[i * d + j]
            for k in range(j):
                total -= L[i * d + k] * L[j * d + k]
            if i == j:
                if not total > 0.0:
                    return -1
                L[i * d + i] = sqrt(total)
                log_det += log(total)
            else:
                L[i * d + j] = total / L[j * d + j]
    for j in range(d):
        L[j * d + j] = 1.0 / L[j * d + j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= L[i * d + k] * L[k * d + j]
            L[i * d + j] = total / L[i * d + i]
    q = d
    for i in range(d):
        for j in range(i, d):
            total = 0.0
            for k in range(j, d):
                total += L[k * d + i] * L[k * d + j]
            side.theta[q] = -0.5 * nu * total if i == j else -nu * total
            q += 1
    memset(side.theta, 0, d * sizeof(double))
    q = d
    for i in range(d):
        for j in range(i, d):
            if i == j:
                side.theta[i] -= 2.0 * side.theta[q] * w.m[i]
            else:
                side.theta[i] -= side.theta[q] * w.m[j]
                side.theta[j] -= side.theta[q] * w.m[i]
            q += 1
    mBm = 0.0
    eld = d * 0.6931471805599453 - log_det
    gammas = 0.0
    for i in range(d):
        mBm += side.theta[i] * w.m[i]
        eld += digamma(0.5 * (nu - i))
        gammas += log_gamma(0.5 * (nu - i))
    side.c = 0.5 * (eld - d * LOG_2PI - d / kappa - mBm)
    side.log_z = (
        0.5 * d * (LOG_2PI - log(kappa)) + 0.5 * nu * d * 0.6931471805599453
        + 0.25 * d * (d - 1) * 1.1447298858494002 + gammas - 0.5 * nu * log_det
    )
    return 0


cdef int diagonal(Prior *p, Work *w, Side *side) noexcept nogil:
    """The same with one variance a column."""
    cdef Py_ssize_t d = p.d, j
    cdef double N = p.m_p * side.N, kappa = p.kappa0 + N, a = p.shape0 + 0.5 * N
    cdef double m0, b, psi = digamma(a), logs = 0.0, c = 0.0
    for j in range(d):
        m0 = p.m0[j] - w.centre[j]
        w.m[j] = (p.kappa0 * m0 + p.m_p * side.S[j]) / kappa
        b = p.scale0 + 0.5 * (p.m_p * side.S[d + j] + p.kappa0 * m0 * m0 - kappa * w.m[j] * w.m[j])
        if not b > 0.0:
            return -1
        logs += log(b)
        side.theta[j] = a * w.m[j] / b
        side.theta[d + j] = -0.5 * a / b
        c += psi - log(b) - LOG_2PI - 1.0 / kappa - side.theta[j] * w.m[j]
    side.c = 0.5 * c
    side.log_z = 0.5 * d * (LOG_2PI - log(kappa)) + d * log_gamma(a) - a * logs
    return 0
