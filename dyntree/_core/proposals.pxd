"""Shared proposals: particles in one leaf choose among the splits all of them propose.

A tree's move is drawn given the row that came, and growing then has the mean posterior
odds over all splits that may be proposed (Taddy, Gramacy and Polson 2011, section 3.2,
with the split averaged over rather than drawn first). Those odds belong to the leaf:
each particle that holds it contributes a proposal, or one in eight of them beyond the
first ALL_OFFER, and all choose among all of these.

A leaf of n > CALM rows is looked at in one of n / CALM steps, drawn at random, and then
with n / CALM times the odds: one row more says little about where so many rows should be
split, and so the cost of a step stays bounded. Prunes, which cost little, always compete.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.moves cimport Moves
from dyntree._core.rng cimport RandomStream
from dyntree._core.types cimport Entry, Leaf, Move, handle_t, slot_t

cdef enum:
    N_CUTS = 256            # most cuts of a column that one pass over the rows scores
    ALL_OFFER = 64          # particles in a leaf from which on not all propose
    CALM = 64               # rows from which on a leaf is not looked at every step
    MOST_KEPT = 64          # doubles a row adds to a leaf's sums that are worth keeping

cdef struct Cut:            # one proposed split of a leaf
    double value
    double side             # uniform: where rows without the variable go
    double odds             # log odds of splitting; then odds, cumulated over the leaf
    int32_t variable
    int32_t missing_left
    bint inherits           # the children share what the leaf has retired
    handle_t grown          # the split with its leaves, once a particle has taken it

@cython.final
cdef class SharedMoves(Moves):
    cdef Cut *cuts                      # of all leaves of a step, one a particle
    cdef int32_t n_cuts
    cdef Cut *drawn                     # of one leaf, as they come
    cdef int32_t *part_of               # of which part of its column each is
    cdef int32_t *places                # where each part of the columns starts
    cdef double *tallies                # (N_CUTS + 2, stride) sums between cuts
    cdef double *children               # (4, stride) sums of children not judged yet
    cdef Cut *waiting[2]                # the cuts they belong to
    cdef int32_t n_waiting
    cdef double *heirs                  # (4, stride) of children that inherit
    cdef int32_t *parts                 # (n_seats,) between which cuts a row lies
    cdef double *kept                   # (n_seats, n_kept) what a row adds to sums
    cdef int64_t *kept_ids              # (n_seats,) of which row; -1: of none
    cdef int32_t n_kept
    cdef int32_t n_seats

    cdef void add_to(self, double *sums, slot_t s) noexcept nogil
    cdef int32_t draw(self, Leaf *leaf, Cut *cuts, int32_t n, RandomStream *s) noexcept nogil
    cdef void sort(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil
    cdef void tally(self, const Leaf *leaf, const Cut *cuts, int32_t n) noexcept nogil
    cdef void judge(self, Leaf *leaf, Cut *cut, const double *left) noexcept nogil
    cdef void judge_heirs(self, Leaf *leaf, Cut *cut, const double *child) noexcept nogil
    cdef void judge_waiting(self, Leaf *leaf) noexcept nogil
    cdef void rate(self, Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil
    cdef void offer(self, Entry *e, int32_t n, RandomStream *s) noexcept nogil
    cdef void compete(self, Entry *e, double grow) noexcept nogil
    cdef void choose(self, const Entry *e, const Entry *owner, RandomStream *s, Move *move) noexcept nogil
