"""One phase of a dependent mixture: slots, their owners, rows and weights.

A *slot* is an occupied particle or an inherited one without rows; rows are labelled by
slots, so that a particle can change its identity without a row being touched. `Phase`
keeps slots and weights in step; `ddp` samples.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.emissions cimport Emission
from dyntree._core.rng cimport CounterSource, RandomStream

cdef enum:              # what a stream is for; chains and sweeps are its other coordinate
    ORDER = 8
    LABELS = 9
    REST = 10
    SPLITS = 11
    NEGLIGIBLE = 40     # nats below the best: less than a uniform resolves
    MOST_SWEEPS = 1 << 20

cdef class Phase:
    cdef Emission emission
    cdef CounterSource source_
    cdef dict store
    cdef int64_t n, phase, next_name, n_proposed, n_accepted
    cdef int32_t K, S, n_bases, chain, top, n_live, max_slots
    cdef bint counts, uncollapsed
    cdef readonly bint was_full     # whether a new particle found no room
    cdef readonly double u
    cdef const double *m
    cdef const double *exposure
    cdef const double *survival
    cdef const double *mass
    cdef const double *source_exposure
    cdef const int32_t *base
    cdef const double *log_base     # (n, n_bases)
    cdef int32_t *label             # (n,) slots; -1 before the first
    cdef double *log_rate           # (K,) log(E + u)
    cdef double *log_source_rate    # (S,)
    cdef double *log_mass           # (S,)
    cdef double *log_new            # (n_bases,) log weight of a brand new particle
    cdef int64_t *owner             # (capacity,) inherited particle, or name; -1 is free
    cdef int64_t *rows              # (capacity,)
    cdef int32_t *source            # (capacity,) of new particles
    cdef double *log_weight         # (capacity,)
    cdef double *density            # (capacity,) scratch
    cdef RandomStream stream

    cdef double log_alive(self, int32_t k) noexcept nogil
    cdef double log_silent(self, int32_t k) noexcept nogil
    cdef double weigh(self, int32_t slot, int64_t r) noexcept nogil
    # all log weights after u has changed; log rates of all sources, or of those in use
    cdef void reweigh(self, bint whole) noexcept nogil
    cdef double total_weight(self) noexcept nogil
    # log of the sum over sources of a (E + u)^-r times the marginal of a slot's rows;
    # a source drawn by its share of that
    cdef double log_source_sum(self, int32_t slot, int64_t r) noexcept nogil
    cdef double over_sources(
        self, int32_t slot, int64_t r, double share, int32_t *pick
    ) noexcept nogil
    cdef int32_t draw_source(self, int32_t slot) noexcept nogil
    # a slot without an owner, or -1 if there is no room for one
    cdef int32_t free_slot(self) noexcept nogil
    cdef int32_t slot_of(self, int64_t owner) noexcept nogil
    cdef void leave(self, int64_t row, int32_t slot) noexcept nogil
    cdef void enter(self, int64_t row, int32_t slot) noexcept nogil
    # let a free slot have an owner and no rows; let the rows of one have another owner
    cdef void take(self, int32_t slot, int64_t name, int32_t source) noexcept nogil
    cdef void give(self, int32_t slot, int64_t owner, int32_t source) noexcept nogil
    cdef void compact(self) noexcept nogil
