"""A shard: rows of a mixture, their labels, and the sweeps that change them.

A sweep reads the parameters of all components and changes only labels, lists and the
sums of one thread each. Random numbers have the coordinates (seed, sweep, row id), and
sums are whole numbers, so that the number of threads alters nothing.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from dyntree._core.mixtures.candidates cimport Listing, Ranked
from dyntree._core.mixtures.scores cimport Scores
from dyntree._core.mixtures.tallies cimport Units
from dyntree._core.rng cimport CounterSource, RandomStream

cdef enum:
    BLOCK = 256                     # rows that are scored at a time

cdef class Shard:
    cdef:
        readonly int64_t n_rows
        readonly int n_features
        readonly int layout
        readonly object X               # ndarray of float32 of shape (n_rows, n_features)
        readonly object labels          # ndarray of int32 of shape (n_rows,); -1: none yet
        object keep                     # what the pointers point into
        const float *x
        const uint32_t *ids
        const double *weight            # or NULL: all 1
        const double *log_base          # log h(x), or NULL: all 0
        int32_t *label
        Units units
        int width                       # of a component's sums
        # groups of neighbouring rows, once there are any
        readonly int64_t n_groups
        const int64_t *begin            # (n_groups + 1,)
        const float *origin             # (n_groups, n_features)
        int32_t **listed                # candidates of a group, ascending
        int32_t *length
        int32_t *capacity

    cdef double weight_of(self, int64_t i) noexcept nogil
    cdef double log_base_of(self, int64_t i) noexcept nogil
    cdef bint relabel(self, int64_t i, int32_t z, int64_t *sums) noexcept nogil
    cdef int store(self, int64_t g, const int32_t *ids, int32_t k) noexcept nogil
    cdef void forget_groups(self) noexcept
    cdef int64_t esca_block(self, Scores scores, CounterSource source, int64_t time, int64_t first, int64_t last, float *scratch, float *table, double *part, int64_t *sums, double *likelihood) noexcept nogil
    cdef void refresh_unit(self, Scores scores, CounterSource source, int64_t time, const Listing *ask, const int64_t *groups, int64_t n_groups, float *scratch, float *table, double *part, Ranked *ranked, int32_t *ids, uint8_t *mark, int64_t *sums, double *likelihood, int64_t *counts) noexcept nogil
    cdef void listed_unit(self, Scores scores, CounterSource source, int64_t time, const Listing *ask, const int64_t *groups, int64_t n_groups, float *scratch, float *table, double *part, int64_t *sums, int64_t *counts) noexcept nogil
    cdef void transition(self, Scores scores, int64_t i, const int32_t *ids, int k, const float *e, const double *part, float top, double total, double explore, RandomStream *s, int64_t *sums, int64_t *counts) noexcept nogil
    cdef void alias_unit(self, Scores scores, CounterSource source, int64_t time, int steps, int64_t first, int64_t last, float *scratch, float *table, double *share, uint32_t *threshold, int32_t *alias, int32_t *order, int64_t *sums, int64_t *counts) noexcept nogil
