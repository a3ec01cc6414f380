"""What the rows of a mixture's particles look like: densities, sums, marginals.

An `Emission` holds the rows of one phase, prior rows (one for each inherited particle,
then one for each base), and *slots*: sums of rows under one of the priors, with what is
derived from them. Slots know nothing of weights.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport RandomStream

cdef class Emission:
    cdef readonly int32_t capacity          # slots there is room for
    cdef readonly int64_t n_rows
    cdef readonly int32_t n_prior           # doubles of a prior row
    cdef readonly int32_t n_sums            # doubles of the sums of a slot
    cdef object store                       # arrays that the pointers point into
    cdef const double *priors               # (n_priors, n_prior)
    cdef double *sums                       # (capacity, n_sums); entry 0 counts rows
    cdef int32_t *prior_of                  # (capacity,)

    cdef const double *prior(self, int32_t slot) noexcept nogil
    # an empty slot under a prior; the sums stay as they are under another one
    cdef void clear(self, int32_t slot, int32_t prior) noexcept nogil
    cdef void put_under(self, int32_t slot, int32_t prior) noexcept nogil
    cdef void add(self, int32_t slot, int64_t row) noexcept nogil
    cdef void remove(self, int32_t slot, int64_t row) noexcept nogil
    # after any change of sums or prior: predictive densities of the slot
    cdef void refresh(self, int32_t slot) noexcept nogil
    # instead of it: densities at a location drawn from the slot's posterior
    cdef void instantiate(self, int32_t slot, RandomStream *s) noexcept nogil
    # log density of a row in each of the first `top` slots
    cdef void log_densities(self, int64_t row, int32_t top, double *out) noexcept nogil
    # the same in one slot alone
    cdef double density(self, int32_t slot, int64_t row) noexcept nogil
    # predictive log density of a row that is in the slot, beside the slot's others
    cdef double without(self, int32_t slot, int64_t row) noexcept nogil
    # log marginal likelihood of the slot's rows under any prior
    cdef double log_marginal(self, int32_t slot, int32_t prior) noexcept nogil
    cdef void move(self, int32_t into, int32_t source) noexcept nogil
