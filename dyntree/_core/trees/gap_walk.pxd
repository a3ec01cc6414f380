"""Rows without a value: the leaves they may lie in, on both sides of splits.

A split sends rows without its column to one side once it has *parted* such a row, which
it holds or has retired. Until then such a row lies on either side, with the shares of the
rows below (Little and Rubin 2002), so that a row may lie in several leaves of a tree.
"""
cimport cython
from libc.stdint cimport int32_t

from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.nodes cimport Node
from dyntree._core.types cimport handle_t

cdef enum:
    MOST_LEAVES = 64        # of a row in a tree; the least shares join their siblings

cdef bint has_gap(const double *x, int32_t n) noexcept nogil

@cython.final
cdef class GapWalk:
    cdef Arena arena
    cdef const double *x            # the row that was looked for last
    cdef double[::1] masses         # (nodes,) weight of the rows below; < 0: not summed
    cdef double[::1] densities      # (leaves,) log density of the row; NaN: not evaluated
    cdef int32_t n                  # leaves found, from left to right
    cdef handle_t[MOST_LEAVES] leaves
    cdef double[MOST_LEAVES] shares     # which sum to one
    cdef bint is_open(self, const Node *node) noexcept nogil
    cdef double mass(self, handle_t h) noexcept nogil
    cdef double left_share(self, const Node *node) noexcept nogil
    cdef handle_t descended(self, handle_t h) noexcept nogil
    cdef bint all_below(self, handle_t h, double share) noexcept nogil
    cdef int32_t largest_split(self) noexcept nogil
    cdef void largest_first(self, handle_t h) noexcept nogil
    # the leaves below h that row x may lie in
    cdef void find(self, handle_t h, const double *x) noexcept nogil
