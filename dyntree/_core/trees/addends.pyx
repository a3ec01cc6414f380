"""Addends: cross products of a row, computed once for all leaves that it joins."""
cimport cython
from libc.stdlib cimport free
from libc.string cimport memset

from dyntree._core.lanes cimport accumulate, subtract
from dyntree._core.memory cimport resize


@cython.final
cdef class Addends:
    """Adds rows of a pool to sums and takes them away, bit for bit as the family does.

    A step adds one row to many leaves, and the same rows to the children of many
    splits. Ids show whether the stored addends of a seat are still those of its row.

    Parameters
    ----------
    family : Family
        What a row adds.
    """

    def __init__(self, Family family):
        self.family = family

    def __dealloc__(self):
        free(self.rows)
        free(self.ids)

    cdef int reserve(self, ActivePool d) except -1:
        """Room for every seat of the pool."""
        cdef int32_t capacity = d.capacity, k
        if capacity <= self.n_seats or self.family.stride > MOST_KEPT:
            return 0
        resize(<void **> &self.rows, <size_t> capacity * self.family.stride,
               sizeof(double))
        resize(<void **> &self.ids, capacity, sizeof(int64_t))
        for k in range(self.n_seats, capacity):
            self.ids[k] = -1
        self.n_seats = capacity
        return 0

    cdef size_t nbytes(self) noexcept:
        return self.n_seats * (self.family.stride * sizeof(double) + sizeof(int64_t))

    cdef void forget(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.n_seats):
            self.ids[k] = -1

    cdef const double *of(self, ActivePool d, slot_t s) noexcept nogil:
        cdef int32_t stride = self.family.stride
        cdef double *row
        if s >= self.n_seats:
            return NULL
        row = self.rows + <size_t> s * stride
        if self.ids[s] != d.ids[s]:
            self.ids[s] = d.ids[s]
            memset(row, 0, stride * sizeof(double))
            self.family.add(row, d.x(s), d.y(s), d.w(s), d.e(s))
        return row

    cdef void add(self, double *sums, ActivePool d, slot_t s) noexcept nogil:
        cdef const double *row = self.of(d, s)
        if row == NULL:
            self.family.add(sums, d.x(s), d.y(s), d.w(s), d.e(s))
        else:
            accumulate(sums, row, self.family.stride)

    cdef void remove(self, double *sums, ActivePool d, slot_t s) noexcept nogil:
        cdef const double *row = self.of(d, s)
        if row == NULL:
            self.family.add(sums, d.x(s), d.y(s), -d.w(s), d.e(s))
        else:
            subtract(sums, sums, row, self.family.stride)
