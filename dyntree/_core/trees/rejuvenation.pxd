"""Fresh particles beside those of a cloud, and what it was before they grew."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.particles cimport Particles
from dyntree._core.types cimport handle_t, slot_t

cdef class Rejuvenation:
    cdef Particles cloud
    cdef int32_t n_particles
    cdef int64_t time
    cdef int64_t n_degenerate
    cdef object random_state
    cdef handle_t[::1] roots
    cdef slot_t[::1] order              # of the rows
    cdef const double[:, ::1] X         # the rows, which growing may round
    cdef const double[::1] exposures    # or xi, which a new scale changes
    cdef void begin(self, const int64_t[::1] destinations) noexcept
    cdef int undo(self) except -1
    cdef void join(self) noexcept
    cdef void give_way(self) noexcept

# append fresh particles that learn all rows, see `Cloud.rejuvenate`
cdef int grow_at_once(Particles c, object destinations, int64_t every, object report) except -1
# let fresh trees begin, go on or join, as is due after a row
cdef int regrow(Particles c, int64_t every) except -1
