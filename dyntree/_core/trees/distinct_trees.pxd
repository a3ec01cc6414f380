"""Distinct trees, how many particles share a leaf, where splits lie; rows by leaf."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.particles cimport Particles
from dyntree._core.types cimport handle_t

cdef class DistinctTrees:
    cdef handle_t[::1] trees            # distinct roots, in order of appearance
    cdef int32_t[::1] place             # (n_particles,) index into `trees`
    cdef int32_t n_trees                # 0 where nothing was collected
    cdef int32_t[::1] count             # (leaves,) particles that share a leaf
    cdef double[::1] values             # split values, sorted within each variable
    cdef int64_t[::1] first             # (n_features + 1,) where a variable's begin

    # whether some split on column j sends a and b to different sides
    cdef bint separated(self, int32_t j, double a, double b) noexcept nogil

# the rows, those of one leaf of the first tree together, and where each was: blocks of
# such rows meet few leaves, of other trees as well
cdef object by_leaf(Particles c, object rows)
