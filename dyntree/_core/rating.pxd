"""Cuts of a leaf, and their odds against leaving it whole."""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.arena cimport Arena
from dyntree._core.leaf cimport LeafModel
from dyntree._core.pool cimport ActivePool
from dyntree._core.types cimport Leaf, handle_t, slot_t

cdef enum:
    N_CUTS = 256            # most cuts of a column that one pass over the rows rates
    MOST_KEPT = 64          # doubles a row adds to a leaf's sums that are worth keeping

cdef struct Cut:            # one proposed split of a leaf
    double value
    double side             # uniform: where rows without the variable go
    double odds             # log odds of splitting; then odds, cumulated over the leaf
    int32_t variable
    int32_t missing_left
    int32_t entry           # whose leaf it is a cut of
    int32_t place           # among all cuts of the column that one pass rates
    bint inherits           # the children share what the leaf has retired
    handle_t grown          # the split with its leaves, once a particle has taken it

@cython.final
cdef class Rating:
    cdef LeafModel model
    cdef ActivePool pool
    cdef int32_t min_leaf
    cdef int32_t stride
    cdef double *tallies                # (N_CUTS + 2, stride) sums below cuts, and others
    cdef int32_t n_tallied              # cuts that they belong to
    cdef double *children               # (LANES, stride) of children not judged yet
    cdef Cut *waiting[2]                # the cuts they belong to
    cdef int32_t n_waiting
    cdef double *heirs                  # (LANES, stride) of children that inherit
    cdef int32_t *parts                 # (n_seats,) between which cuts a row lies
    cdef double *kept                   # (n_seats, n_kept) what a row adds to sums
    cdef int64_t *kept_ids              # (n_seats,) of which row; -1: of none
    cdef int32_t n_kept
    cdef int32_t n_seats

    cdef int reserve(self) except -1
    cdef void add_to(self, double *sums, slot_t s) noexcept nogil
    # sums below n <= N_CUTS sorted cuts of one column, of leaves that hold these rows
    cdef void tally(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil
    cdef void judge(self, Leaf *leaf, Cut *cut, const double *left) noexcept nogil
    cdef void judge_heirs(self, Leaf *leaf, Cut *cut, const double *child) noexcept nogil
    cdef void judge_waiting(self, Leaf *leaf) noexcept nogil
    # log odds of those cuts that are the leaf's, in their order, but for the tree prior
    cdef void rate(self, Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil
