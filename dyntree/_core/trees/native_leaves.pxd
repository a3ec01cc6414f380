"""Gaussian leaves whose units and prior follow the rows; `gaussian_leaves` has the model."""
cimport cython

from libc.stdint cimport int64_t

from dyntree._core.spans cimport Spans
from dyntree._core.trees.gaussian_leaves cimport GaussianLeaves

@cython.final
cdef class Units:           # of columns, while rows are looked at that may fix some
    cdef double[::1] centre, spread, inverse
    cdef double[::1] first      # a value of the column, NaN: it had none yet
    cdef double y_centre, y_spread
    cdef bint y_open, centred
    cdef void take(self, const double *x, const double *y) noexcept nogil

@cython.final
cdef class NativeGaussian(GaussianLeaves):
    cdef readonly double relaxed    # f, the factor on the precisions of slopes
    cdef int64_t n_told     # rows seen when `widest` was brought up to date
    cdef double slope(self, int j, double relaxed, double widest) noexcept nogil
    cdef bint remember(self, const double *sums, int64_t n_seen) noexcept nogil
    cdef void set_prior(self, double b0, double relaxed) noexcept nogil
    cdef double spread_in(self, const double *sums, int i) noexcept nogil
    cdef void place_prior(self, const double *sums) noexcept nogil
    cdef void multiply_out(self) noexcept nogil
    cdef void count_columns(self) noexcept nogil
    cdef Units units(self, Spans seen)
    cdef bint is_displaced(self, const double *sums) noexcept nogil
    cdef void add_scores(self, const double *row, double multiplicity, double *scores) noexcept nogil
