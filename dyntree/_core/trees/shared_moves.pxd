"""Shared proposals: particles in one leaf choose among the splits all of them propose.

A tree's move is drawn given the new row, and growing then has the mean posterior
odds over all splits that may be proposed (Taddy, Gramacy and Polson 2011, section 3.2,
with the split averaged over rather than drawn first). Those odds belong to the leaf:
each particle that holds it contributes a proposal, or one in eight of them beyond the
first ALL_OFFER, and all choose among all of these.

Leaves of many particles hold the same rows and differ in what they have retired. They
share passes over the rows: their cuts are sorted together, and sums below them serve all.
A cut whose children start afresh is judged on the active rows alone, so that it gains the
same in all these leaves. Where none of them may hand on what it has retired they choose
among the same cuts, and their particles count as those of one leaf; the children are made
for each leaf, whose region is its own.

Splits of a leaf of n > ALWAYS_DUE rows are proposed in one of n / ALWAYS_DUE steps, drawn
at random, and then with n / ALWAYS_DUE times the odds: one row more says little about
where so many rows should be split, and so the cost of a step stays bounded: its rows are
not even gone through to find the leaves that hold the same. Prunes, which cost little,
always compete.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.moves cimport Moves
from dyntree._core.trees.split_search cimport EvidenceBatch, SplitSearch
from dyntree._core.rng cimport RandomSource, RandomStream
from dyntree._core.trees.nodes cimport Cut, Entry, Grown, Leaf, Move
from dyntree._core.types cimport slot_t

cdef enum:
    ALL_OFFER = 64          # particles in a leaf from which on not all propose
    ALWAYS_DUE = 64         # most rows of a leaf whose splits are proposed in every step

@cython.final
cdef class SharedMoves(Moves):
    cdef int32_t n_expected             # particles that there is room for
    cdef Cut *cuts                      # of all leaves of a step, one a particle
    cdef int32_t n_cuts
    cdef Cut *drawn                     # of leaves that hold the same rows, as they come
    cdef Cut *in_order                  # the same by column and value
    cdef int32_t *heads                 # hash table of leaves by their rows
    cdef int32_t *part_of               # of which part of its column each is
    cdef int32_t *places                # where each part of the columns starts
    cdef double *uniforms               # each particle's, for its move
    cdef EvidenceBatch batch
    cdef Grown *made                    # of a step
    cdef int32_t n_made
    cdef SplitSearch search
    cdef double *inherited              # (stride,) by leaves that may be pruned

    cdef bint is_due(self, const Entry *entries, int32_t i, RandomSource source, int64_t time) noexcept nogil
    cdef void group(self, Entry *entries, int32_t n_entries, RandomSource source, int64_t time) noexcept nogil
    cdef bint may_inherit(self, const Leaf *leaf) noexcept nogil
    cdef void apportion(self, Entry *entries, int32_t first) noexcept nogil
    cdef int32_t draw(self, Leaf *leaf, Cut *cuts, int32_t n, RandomStream *s) noexcept nogil
    cdef int32_t draw_alike(self, Entry *entries, int32_t first, RandomSource source, int64_t time) noexcept nogil
    cdef void take_limits(self, Leaf *leaf, const Leaf *alike) noexcept nogil
    cdef void order_pooled(self, int32_t n_leaves) noexcept nogil
    cdef void merge_rows(self, slot_t *rows, int32_t first, int32_t n) noexcept nogil
    cdef void sort(self, const Leaf *leaf, int32_t n) noexcept nogil
    cdef void hand_out(self, Entry *entries, int32_t first, int32_t n) noexcept nogil
    cdef void cumulate(self, Entry *e) noexcept nogil
    cdef void offer(self, Entry *entries, int32_t first, RandomSource source, int64_t time) noexcept nogil
    cdef void ask_entry(self, Entry *e) noexcept nogil
    cdef void compete(self, Entry *e, double gain) noexcept nogil
    cdef void choose(self, const Entry *e, const Entry *offer, double u, Move *move) noexcept nogil
