"""Subspaces: clusters with principal directions of their own (PPCA)."""
from libc.stdint cimport int32_t

from dyntree._core.mixtures.directions cimport Directions

cdef enum:
    PPCA = 0        # gates
    BANDWIDTH = 1
    NONE = 2

cdef class Subspaces(Directions):
    cdef:
        int gate
        double bandwidth
        double reach                    # pairs nearer than it may merge
        double total                    # weight of all clusters, while merges are looked for
        double rows_for_one             # that count then for each one not forgotten

    cdef double gated(self, int32_t k, const double *x, double *y) noexcept nogil
    cdef int32_t joint_spectrum(self, int32_t a, int32_t b, double square) noexcept nogil
    cdef int32_t wide_spectrum(self, int32_t a, int32_t b, double line) noexcept nogil
    cdef double log_likelihood(
        self, double w, const double *eig, int32_t d, double trace
    ) noexcept nogil
    cdef double n_parameters(self, int32_t d) noexcept nogil
