"""Sums over rows in whole numbers: the same bits in any order of the rows.

A component has a row of int64: its weight, the sums of x, and those of what the
layout's second moments are (none for LINEAR; x'x for NORM; x.x for SQUARES; the lower
triangle of xx' by rows for FULL), each times a power of two of its own.
"""
from libc.stdint cimport int64_t

cdef struct Units:
    double weight, first, second

cdef int moments_width(int layout, int d) noexcept nogil        # of a component's row
# adds a row c times; c < 0 takes it away again, bit for bit
cdef void tally(int64_t *sums, const float *x, double c, int d, int layout, const Units *units) noexcept nogil
