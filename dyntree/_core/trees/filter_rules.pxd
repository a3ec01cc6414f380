"""The rules of a step that differ between policies; chosen once, at construction."""
from libc.stdint cimport int32_t

from dyntree._core.rng cimport RandomStream

cdef class Numerics:
    cdef readonly bint weighs_one       # a lone particle is weighed too
    cdef readonly bint forgets_all      # forget may be 0
    cdef readonly bint collapses        # leaves may become too small to stay
    cdef readonly bint keeps_credit     # whatever the rectangle, and though the past fades
    cdef readonly bint spans_active     # ranges are those of the active rows
    cdef readonly bint keeps_order      # rows of a leaf stay by age: one goes, leaves merge
    cdef readonly bint spares_oldest    # of rows worth the same, the first in order goes
    cdef readonly bint integrates       # criteria are integrals; else R's formulas
    # densities -> ancestors; how many particles follow, or 0 to keep those there are
    cdef int32_t resample(
        self, double *weights, int32_t n, int32_t n_target, RandomStream *s,
        int32_t *ancestors, double *work, double *log_mean, double *variance,
    ) noexcept nogil
    # log scores -> MoveKind, where a particle proposes for itself
    cdef int choose(self, double stay, double grow, double prune, RandomStream *s) noexcept nogil
    # log score of a proposal that leaves a child too small
    cdef double failed_split(self, int proposal, double stay) noexcept nogil

cdef class NativeNumerics(Numerics):
    pass
