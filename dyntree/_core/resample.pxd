"""Resampling schemes: weights that sum to one -> ancestor indices."""
from libc.stdint cimport int32_t

from dyntree._core.rng cimport RandomStream

cdef void residual(
    const double *weights, int32_t n, int32_t n_target, RandomStream *s,
    int32_t *ancestors, double *cumulative,
) noexcept nogil
