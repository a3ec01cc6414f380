"""Leaves whose regression has a frozen scale, of columns that may get a unit late."""
cimport cython

from dyntree._core.spans cimport Spans
from dyntree._core.trees.gaussian_leaves cimport GaussianLeaves

cdef double LEAST_UNIT      # what is smaller has no inverse to count in

@cython.final
cdef class Units:           # of columns, while rows are looked at that may fix some
    cdef double[::1] centre, spread, inverse
    cdef double[::1] first      # a value of the column, NaN: it had none yet
    cdef double y_centre, y_spread
    cdef bint y_open, centred
    cdef void take(self, const double *x, const double *y) noexcept nogil

cdef class ScaledLeaves(GaussianLeaves):
    cdef int n_used         # columns that have a unit
    cdef void count_columns(self) noexcept nogil
    # columns, or the response, have got a unit: every leaf must be refreshed after that
    cdef void follow_units(self) noexcept nogil
    cdef Units units(self, Spans seen)
    # a term's standard deviation by sums of rows; 0 where rounding could have made it
    cdef double spread_in(self, const double *sums, int i) noexcept nogil
    cdef void multiply_out(self) noexcept nogil
