"""Numerics: the policy a cloud is built with."""
from libc.math cimport INFINITY, exp, isfinite, log

from dyntree._core.resample cimport residual

cdef double EQUAL = 1e-12           # relative spread below which weights are equal


cdef class Numerics:
    """Rules of weighing, resampling and choosing a move; see `r_rules` for R's."""

    cdef int32_t resample(
        self, double *weights, int32_t n, int32_t n_target, RandomStream *s,
        int32_t *ancestors, double *work, double *log_mean, double *variance,
    ) noexcept nogil:
        return 0

    cdef int choose(
        self, double stay, double grow, double prune, RandomStream *s
    ) noexcept nogil:
        return 0

    cdef double failed_split(self, int proposal, double stay) noexcept nogil:
        return -INFINITY


cdef class NativeNumerics(Numerics):
    """Weights on the log scale; moves are those of `SharedMoves`."""

    def __init__(self):
        self.weighs_one = True
        self.forgets_all = True
        self.keeps_order = True
        self.integrates = True

    cdef int32_t resample(
        self, double *weights, int32_t n, int32_t n_target, RandomStream *s,
        int32_t *ancestors, double *work, double *log_mean, double *variance,
    ) noexcept nogil:
        """Resample log densities unless they are all but equal.

        Where no particle gives a positive density all count as equal.
        """
        cdef double top = -INFINITY, low = INFINITY, total = 0.0, mean, squares = 0.0
        cdef int32_t i
        for i in range(n):
            if weights[i] > top:
                top = weights[i]
        log_mean[0] = -INFINITY
        variance[0] = 0.0
        if not isfinite(top):
            return 0
        for i in range(n):
            weights[i] = exp(weights[i] - top)
            if not weights[i] >= 0.0:
                weights[i] = 0.0
            if weights[i] < low:
                low = weights[i]
            total += weights[i]
        log_mean[0] = top + log(total / n)
        mean = total / n
        if 1.0 - low <= EQUAL * mean and n == n_target:
            return 0
        for i in range(n):
            weights[i] /= total
            squares += weights[i] * weights[i]
        variance[0] = squares / n - 1.0 / (<double> n * n)
        residual(weights, n, n_target, s, ancestors, work)
        return n_target
