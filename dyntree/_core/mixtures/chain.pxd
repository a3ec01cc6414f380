"""Chain: which state follows which, and for how long each lasts.

States are the places of clusters. A segment is a run of rows in one state; rows in
provisional clusters neither end it nor begin one.
"""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    N_KEPT = 64     # newest durations of a state, stored one by one

cdef struct Tally:  # of durations: count, mean, sum of squared deviations
    double n
    double mean
    double m2

cdef class Chain:
    cdef:
        int32_t capacity
        double switch_weight        # lambda_2
        double novelty              # lambda_3
        double duration_weight      # lambda_4
        bint is_binomial            # durations are negative binomial, else Gaussian
        readonly int32_t state      # of the segment that goes on, or -1
        readonly int64_t dwell      # its rows so far
        readonly int32_t last       # cluster of the last row, or -1
        readonly int32_t before     # state of the segment before, or -1
        int64_t before_dwell
        readonly dict store
        int64_t *moves              # (capacity, capacity): segments of i followed by j
        int64_t *left               # (capacity,): segments of i followed by any
        double *tally               # (capacity, 3): all durations
        double *base                # (capacity, 3): those that are no longer stored
        int64_t *newest             # (capacity, N_KEPT, 2): row at its end, duration
        int64_t *n_kept             # (capacity,)

    cdef void grow(self, int32_t capacity)
    cdef double add_costs(self, double *cost, int32_t n) noexcept nogil   # of a new cluster
    cdef void note(self, int32_t k, bint confirmed, int64_t row) noexcept nogil
    cdef void record(self, int32_t k, int64_t dwell, int64_t row) noexcept nogil
    cdef void drop(self, int32_t k, int32_t n) noexcept nogil             # n are left
    cdef void join(
        self, int32_t k, int32_t other, int32_t n, int64_t born, int64_t settled,
        int64_t other_born, int64_t other_settled, int64_t youth,
    ) noexcept nogil
    cdef void point(self)
    cdef double hazard(self, int32_t k, int64_t s) noexcept nogil
    cdef double longest(self) noexcept nogil
