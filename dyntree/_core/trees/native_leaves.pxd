"""Gaussian leaves whose units and prior follow the rows; `gaussian_leaves` has the model."""
cimport cython

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
    cdef void set_prior(self, double b0, double kappa0) noexcept nogil
    cdef double spread_in(self, const double *sums, int i) noexcept nogil
    cdef void place_prior(self, const double *sums) noexcept nogil
    cdef void multiply_out(self) noexcept nogil
    cdef void count_columns(self) noexcept nogil
    cdef Units units(self, Spans seen)
    cdef bint is_displaced(self, const double *sums) noexcept nogil
    cdef void add_scores(self, const double *row, double multiplicity, double *scores) noexcept nogil
