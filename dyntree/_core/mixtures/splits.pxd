"""Split-merge moves of the particles of one phase, between the sweeps over rows."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.phase cimport Phase

cdef class SplitMerge(Phase):
    cdef readonly int64_t n_split, n_merged     # moves that were accepted
    cdef int64_t *members           # (n,) rows of the particles in question
    cdef int32_t *side              # (n,) of a member: the first part, or the second

    cdef bint propose(self) noexcept nogil
    cdef bint merge(self, int64_t i, int64_t j, double log_chance) noexcept nogil
    cdef bint split(self, int64_t i, int64_t j, double log_chance) noexcept nogil
    # log weight that the labels of r rows of a slot's owner give, marginal included
    cdef double log_part(self, int32_t slot, int32_t of, int64_t r) noexcept nogil
    cdef int64_t gather_members(self, int32_t a, int32_t b, int64_t i, int64_t j) noexcept nogil
    # parts about two rows, by what is nearer; then log probability of the final sides
    cdef void launch(self, int32_t a, int64_t i, int64_t j, int64_t n) noexcept nogil
    cdef double scan(self, int32_t a, int64_t n, bint drawing) noexcept nogil
    cdef double log_odds_of_second(self, int32_t a, int64_t row, int32_t at) noexcept nogil
    cdef void sum_sides(self, int32_t a, int64_t i, int64_t j, int64_t n) noexcept nogil
    cdef void settle(self, int32_t slot, int32_t scratch) noexcept nogil
