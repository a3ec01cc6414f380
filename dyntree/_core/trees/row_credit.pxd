"""Credits of the active rows, summed over particles by way of their distinct leaves.

A leaf keeps what each of its rows is worth until it changes. A sum then takes one walk
over the distinct nodes: a split waits for all that lead to it and then passes on how
many particles did, so that every distinct leaf counts as often as particles share it;
leaves without credit get it.
"""
from libc.stdint cimport int32_t

from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.rectangle cimport Rectangle, Sides
from dyntree._core.trees.nodes cimport Leaf, Node
from dyntree._core.types cimport handle_t

cdef struct PathStep:       # one split on the way down to where a walk is
    PathStep *above         # NULL at the root
    const Node *node
    bint left
    bint taken              # whether the rectangle was narrowed to this side
    double share            # how often rows come by the splits so far that part by gaps
    Sides before

cdef class RowCredit:
    cdef Particles c
    cdef Rectangle rectangle        # None for entropies
    cdef bint anew                  # credit every leaf, whatever it has
    cdef double[::1] by_slot        # credit of the row in each slot
    cdef double[::1] proba, out     # scratch: of the classes, and of LeafModel.add_proba

    cdef int reach(self, handle_t h, int32_t n, PathStep *above) noexcept nogil
    cdef double share_of(self, const PathStep *step) noexcept nogil
    cdef int reach_leaf(self, Leaf *leaf, int32_t n, PathStep *above) noexcept nogil
    cdef int credit(self, Leaf *leaf, PathStep *above) noexcept nogil
    cdef object sums(self)
    cdef object sums_by_particle(self)
    cdef object in_order(self)
