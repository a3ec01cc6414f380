"""Ranges of columns, widened row by row."""
from libc.stdint cimport int32_t

cimport cython

@cython.final
cdef class Spans:
    cdef readonly object table      # ndarray; see the class
    cdef double[:, ::1] view
    cdef object found               # what `bounds` found; None: not since it widened

    cdef void widen(self, const double *x) noexcept
    # whether a value of column j is another than one it had
    cdef inline bint differs(self, int32_t j, double value) noexcept nogil:
        return value < self.view[j, 0] or value > self.view[j, 1] or (
            self.view[j, 0] < self.view[j, 1]
        )
