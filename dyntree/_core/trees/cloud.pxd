"""A cloud of particles: together with `particles`, the only room that changes trees."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.cloud_facts cimport CloudFacts
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.types cimport handle_t, slot_t

cdef class Cloud(CloudFacts):
    cdef object fix_units(self, const double *x, double y)
    cdef int take_units(self, object state, double log_evidence) except -1
    cdef int renew(self) except -1
    cdef int learn(self, const double *x, double y, double w, double e, double *log_density, int64_t every, object report) except -1
    cdef int fix_scale(self) except -1
    cdef int give_up(self, slot_t s, double forget) except -1
    cdef bint retire_slot(self, slot_t s, double forget) noexcept nogil
    cdef int collapse(self, slot_t s) noexcept nogil
    cdef handle_t merged_sibling(self, const Leaf *leaf, handle_t sibling) noexcept nogil
    cdef int refresh_leaves(self, bint has_retired) except -1
