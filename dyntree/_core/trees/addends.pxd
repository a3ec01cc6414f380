"""What rows of the pool add to sums, stored while they stay in their seats."""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.family cimport Family
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.types cimport slot_t

cdef enum:
    MOST_KEPT = 64          # doubles a row adds that are worth keeping

@cython.final
cdef class Addends:
    cdef Family family
    cdef double *rows                   # (n_seats, stride)
    cdef int64_t *ids                   # (n_seats,) of which row; -1: of none
    cdef int32_t n_seats                # 0: rows are long, nothing is stored

    cdef int reserve(self, ActivePool d) except -1
    cdef size_t nbytes(self) noexcept
    # what rows add has changed
    cdef void forget(self) noexcept nogil
    # the addends of row s; NULL where they are not stored
    cdef const double *of(self, ActivePool d, slot_t s) noexcept nogil
    cdef void add(self, double *sums, ActivePool d, slot_t s) noexcept nogil
    cdef void remove(self, double *sums, ActivePool d, slot_t s) noexcept nogil
