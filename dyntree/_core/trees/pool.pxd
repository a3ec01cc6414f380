"""The bounded store of the active rows, which are in memory one by one."""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.spans cimport Spans
from dyntree._core.types cimport slot_t

cdef enum:
    NO_SLOT = -1

@cython.final
cdef class ActivePool:
    cdef readonly int32_t n_features
    cdef readonly bint is_weighted
    cdef readonly bint is_exposed
    cdef int32_t n_rows        # active rows
    cdef int64_t n_seen        # rows ever put; the next row's id
    cdef int32_t capacity
    cdef Spans seen                     # of every row learned, where rules ask for it
    cdef double *x_                     # (capacity, n_features)
    cdef double *y_                     # (capacity,)
    cdef double *w_                     # (capacity,) weights; NULL: all are 1
    cdef double *e_                     # (capacity,) exposures; NULL: all are 1. Of rows
                                        # of logistic leaves their xi, see `Bound`
    cdef int64_t *ids                   # (capacity,)
    cdef slot_t *order                  # position -> slot, the internal order
    cdef slot_t *vacant                 # stack of free slots
    cdef slot_t *older                  # (capacity,) neighbours by age of the active rows
    cdef slot_t *younger
    cdef slot_t eldest                  # NO_SLOT: no row is active
    cdef slot_t youngest
    cdef int32_t *n_gaps                # (n_features,) active rows without a value

    cdef int reserve(self, int32_t n_rows) except -1
    cdef slot_t put(self, const double *x, double y, double w, double e) noexcept nogil
    cdef void free(self, int32_t position) noexcept nogil
    cdef void link(self, slot_t older, slot_t younger) noexcept nogil
    cdef void age_last(self, slot_t s) noexcept nogil
    cdef void count_gaps(self, slot_t s, int32_t by) noexcept nogil
    cdef int32_t position_of(self, slot_t s) noexcept nogil
    cdef inline double *x(self, slot_t s) noexcept nogil:
        return self.x_ + <size_t> s * self.n_features
    cdef inline double y(self, slot_t s) noexcept nogil:
        return self.y_[s]
    cdef inline double w(self, slot_t s) noexcept nogil:
        return 1.0 if self.w_ == NULL else self.w_[s]
    # what criteria look at besides a row's columns: its exposure, or else its weight
    cdef inline const double *terms(self) noexcept nogil:
        return self.w_ if self.e_ == NULL else self.e_
    cdef inline double e(self, slot_t s) noexcept nogil:
        return 1.0 if self.e_ == NULL else self.e_[s]
