"""Gaussian leaves whose units and prior follow the rows; `gaussian_leaves` has the model."""
cimport cython

from libc.stdint cimport int64_t

from dyntree._core.trees.scaled_leaves cimport ScaledLeaves

@cython.final
cdef class NativeGaussian(ScaledLeaves):
    cdef readonly double relaxed    # f, the factor on the precisions of slopes
    cdef int64_t n_told     # rows seen when `widest` was brought up to date
    cdef double slope(self, int j, double relaxed, double widest) noexcept nogil
    cdef bint remember(self, const double *sums, int64_t n_seen) noexcept nogil
    cdef void set_prior(self, double b0, double relaxed) noexcept nogil
    cdef void place_prior(self, const double *sums) noexcept nogil
    cdef bint is_displaced(self, const double *sums) noexcept nogil
    cdef void add_scores(self, const double *row, double multiplicity, double *scores) noexcept nogil
