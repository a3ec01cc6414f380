"""Trees that grow beside those of a cloud, and the rows that they have yet to learn."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.types cimport handle_t, slot_t

cdef class FreshTrees:
    cdef handle_t *roots
    cdef readonly int32_t n             # trees; 0: none are growing
    cdef slot_t *waiting                # rows to be learned, in no order
    cdef readonly int32_t n_waiting
    cdef int32_t room                   # rows that `waiting` has room for

    cdef int reserve(self, int32_t n_rows) except -1
    # room has been reserved
    cdef void wait(self, slot_t s) noexcept nogil
    cdef void learned(self, int32_t k) noexcept nogil
    # whether the row waited; then it waits no more
    cdef bint forget(self, slot_t s) noexcept nogil
    cdef int64_t nbytes(self) noexcept
