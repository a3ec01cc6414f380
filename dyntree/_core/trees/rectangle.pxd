"""A rectangle over the columns that shrinks on the way down a tree, and integrals on it.

Columns are independent: uniform between their bounds, or, where categorical, 0 or 1
with equal chance, and each is missing as often as it was. `Rectangle` integrates exactly, `RRectangle` in R's arithmetic.
"""
from libc.stdint cimport int32_t

from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.nodes cimport Leaf, Node

cdef struct Sides:          # of a rectangle before it was narrowed to a child's side
    double low
    double high
    double share

cdef class Rectangle:
    cdef Particles c
    cdef bint approx        # leaves count by their weight instead of their area
    cdef bint *categorical
    cdef double *low
    cdef double *high
    cdef double *mean       # of the coordinates in a leaf's share, and their variance
    cdef double *variance
    cdef double *lifted     # (3 n_features + 1,) scratch
    cdef double share       # of the whole rectangle that is left
    cdef double *gaps       # (n_features,) how often each column is missing
    cdef bint counts_gaps   # else both sides of a split that parts by gaps count in full

    cdef void enter(self, const Node *node, bint left, Sides *before) noexcept nogil
    cdef double side(self, const Node *node, bint left) noexcept nogil
    cdef void leave(self, const Node *node, const Sides *before) noexcept nogil
    cdef double whole(self) noexcept nogil
    # predictive variance that a response at row which[k] of `rows`, of such a weight (NULL:
    # one that is asked about), would take off the leaf's share
    cdef void reductions(self, const Leaf *leaf, const double *rows, const int32_t *which, int32_t n, const double *weights, double *out) noexcept nogil
    cdef double volume(self, const Leaf *leaf) noexcept nogil
    cdef double weight(self, const Leaf *leaf) noexcept nogil
    cdef void moments(self, const Leaf *leaf) noexcept nogil
