"""Credits of the active rows, summed over particles by way of their distinct leaves.

A leaf keeps what each of its rows is worth until it changes. A sum then takes one walk
over the distinct nodes: leaves without credit get it, splits pass on how many particles
lead to them, and every distinct leaf counts as often as particles share it.
"""
from libc.stdint cimport int32_t

from dyntree._core.particles cimport Particles
from dyntree._core.region cimport Kept, Region
from dyntree._core.types cimport Node, handle_t

cdef struct Step:           # one split on the way down to where a walk is
    Step *above             # NULL at the root
    const Node *node
    bint left
    bint taken              # whether the rectangle was narrowed to this side
    Kept kept

cdef class Tally:
    cdef Particles c
    cdef Region region              # None for entropies
    cdef bint anew                  # credit every leaf, whatever it has
    cdef int32_t n_nodes
    cdef int32_t n_leaves
    cdef handle_t[::1] nodes        # distinct splits met, children first
    cdef handle_t[::1] leaves       # distinct leaves met

    cdef int visit(self, handle_t h, Step *above) noexcept nogil
    cdef int credit(self, handle_t h, Step *above) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void reach(self, handle_t h, int32_t n) noexcept nogil
    cdef object sums(self)
    cdef object sums_by_particle(self)
