"""Sweeps of Dynamic Means over the rows of a phase, down to a local minimum of its cost.

A cluster k that was there before has a centre phi_k, known as well as from g_k rows, and
a cost q_k to be revived; a new one costs lambda. Of rows x_i with labels z_i the cost is

    lambda n_new + sum over revived k of (q_k + g_k |theta_k - phi_k|^2)
    + sum over i of |x_i - theta_{z_i}|^2

(Campbell et al. 2013). A sweep takes one row after the other, out of its cluster and
into the one that costs least; then each theta_k becomes the weighted mean of phi_k and
its rows. No step increases the cost.
"""
import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t


cdef struct Clusters:
    int64_t n_old
    int64_t n                   # places in use: old ones, then new ones
    int64_t n_live              # of these, how many have rows
    int64_t width
    double *theta
    int64_t *rows


cdef inline double squared(const double *x, const double *m, int64_t width) noexcept nogil:
    cdef int64_t j
    cdef double total = 0.0
    for j in range(width):
        total += (x[j] - m[j]) * (x[j] - m[j])
    return total


cdef int64_t nearest(
    Clusters *all, const double *x, const double *phi, const double *known,
    const double *revival, double lambda_, int64_t most
) noexcept nogil:
    """The cluster in which a row costs least; `n` for a new one."""
    cdef int64_t k, best = -1
    cdef double cost, least = INFINITY
    for k in range(all.n):
        if all.rows[k]:
            cost = squared(x, all.theta + k * all.width, all.width)
        elif k < all.n_old and all.n_live < most:
            cost = squared(x, phi + k * all.width, all.width)
            cost = revival[k] + known[k] / (known[k] + 1.0) * cost
        else:
            continue            # a new one that has lost its rows, or no room for it
        if cost < least:
            least, best = cost, k
    if best < 0 or (lambda_ < least and all.n_live < most):
        return all.n
    return best


cdef void join(
    Clusters *all, int64_t k, const double *x, const double *phi, const double *known
) noexcept nogil:
    """Add a row to a cluster, of which the first places the centre."""
    cdef int64_t j
    cdef double *theta = all.theta + k * all.width
    if not all.rows[k]:
        for j in range(all.width):
            theta[j] = x[j]
            if k < all.n_old:
                theta[j] = phi[k * all.width + j]
                theta[j] += (x[j] - theta[j]) / (known[k] + 1.0)
        all.n_live += 1
        all.n = max(all.n, k + 1)
    all.rows[k] += 1


cdef void sweep(
    Clusters *all, const double *X, const int64_t *order, int64_t n_rows,
    const double *phi, const double *known, const double *revival, double lambda_,
    int64_t most, int64_t *label
) noexcept nogil:
    """Take each row out of its cluster, and into the one that costs least."""
    cdef int64_t i, k, free
    for i in order[:n_rows]:
        k = label[i]
        if k >= 0:
            all.rows[k] -= 1
            all.n_live -= all.rows[k] == 0
        k = nearest(all, X + i * all.width, phi, known, revival, lambda_, most)
        if k == all.n:          # in the place of a new one that has lost its rows
            free = all.n_old
            while free < all.n and all.rows[free]:
                free += 1
            k = free
        join(all, k, X + i * all.width, phi, known)
        label[i] = k


cdef void centre(
    Clusters *all, const double *X, int64_t n_rows, const double *phi,
    const double *known, const int64_t *label
) noexcept nogil:
    """Put each centre where its cluster costs least."""
    cdef int64_t i, j, k
    cdef double *theta
    for k in range(all.n):
        if all.rows[k]:
            for j in range(all.width):
                all.theta[k * all.width + j] = 0.0
    # sums of steps from phi, or of rows, whose rounding then is that of the steps
    for i in range(n_rows):
        theta = all.theta + label[i] * all.width
        for j in range(all.width):
            theta[j] += X[i * all.width + j]
            if label[i] < all.n_old:
                theta[j] -= phi[label[i] * all.width + j]
    for k in range(all.n):
        if not all.rows[k]:
            continue
        for j in range(all.width):
            if k < all.n_old:
                all.theta[k * all.width + j] /= known[k] + all.rows[k]
                all.theta[k * all.width + j] += phi[k * all.width + j]
            else:
                all.theta[k * all.width + j] /= all.rows[k]


cdef double total_cost(
    Clusters *all, const double *X, int64_t n_rows, const double *phi,
    const double *known, const double *revival, double lambda_, const int64_t *label
) noexcept nogil:
    """The cost of labels and centres."""
    cdef int64_t i, k
    cdef double total = 0.0
    for k in range(all.n):
        if not all.rows[k]:
            continue
        if k < all.n_old:
            total += revival[k]
            total += known[k] * squared(
                all.theta + k * all.width, phi + k * all.width, all.width
            )
        else:
            total += lambda_
    for i in range(n_rows):
        total += squared(
            X + i * all.width, all.theta + label[i] * all.width, all.width
        )
    return total


def descend(
    const double[:, ::1] X, const int64_t[::1] order, const double[:, ::1] phi,
    const double[::1] known, const double[::1] revival, double lambda_, int64_t most
):
    """Labels and centres at a local minimum of the cost of a phase.

    Parameters
    ----------
    X : ndarray of shape (n_rows, width)
        At least one row.
    order : ndarray of int64 of shape (n_rows,)
        In which each sweep takes the rows.
    phi : ndarray of shape (n_old, width)
        Centres before the phase.
    known, revival : ndarray of shape (n_old,)
        Rows that each centre is worth, and what it costs to revive its cluster.
    lambda_ : float
        What a new cluster costs.
    most : int
        Of clusters with rows; beyond it, rows join those there are.

    Returns
    -------
    label : ndarray of int64 of shape (n_rows,)
        Places: old ones, then new ones.
    theta : ndarray of shape (n_old + n_rows, width)
        Centres of the places that have rows.
    cost : float
    """
    cdef int64_t n_rows = X.shape[0]
    cdef double cost = INFINITY, before = INFINITY
    labels = np.full(n_rows, -1, np.int64)
    theta = np.zeros((phi.shape[0] + n_rows, X.shape[1]))
    rows = np.zeros(phi.shape[0] + n_rows, np.int64)
    cdef int64_t[::1] label = labels, count = rows
    cdef double[:, ::1] centres = theta
    # a memoryview without entries has no first one
    cdef const double *old = &phi[0, 0] if phi.shape[0] else NULL
    cdef const double *worth = &known[0] if phi.shape[0] else NULL
    cdef const double *again = &revival[0] if phi.shape[0] else NULL
    cdef Clusters all
    all.n_old, all.n, all.n_live = phi.shape[0], phi.shape[0], 0
    all.width, all.theta, all.rows = X.shape[1], &centres[0, 0], &count[0]
    with nogil:
        while True:
            before = cost
            sweep(
                &all, &X[0, 0], &order[0], n_rows, old, worth, again, lambda_, most,
                &label[0]
            )
            centre(&all, &X[0, 0], n_rows, old, worth, &label[0])
            cost = total_cost(
                &all, &X[0, 0], n_rows, old, worth, again, lambda_, &label[0]
            )
            # a decrease within rounding has no end
            if not cost < before * (1.0 - 1e-12):
                break
    return labels, theta, cost
