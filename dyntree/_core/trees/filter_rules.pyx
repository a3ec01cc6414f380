"""Numerics: the policy a cloud is built with."""
from libc.math cimport INFINITY


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
