"""The native rules for classes: a Dirichlet prior, its mass spread over the labels.

Retired counts are part of the posterior; a split releases them, and is then judged on
active rows alone.
"""
cimport cython

from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.nodes cimport Leaf

cdef enum:                  # places in `derived`; EVIDENCE is that of all rows
    ACTIVE = 1              # of the active rows alone; NaN = not computed yet

cdef enum:
    N_TABLE = 1024          # whole counts with a tabled log gamma

@cython.final
cdef class NativeMultinomial(LeafModel):
    cdef readonly double mass
    cdef double share       # of the mass, per class
    cdef double[N_TABLE] mass_gammas
    cdef double[N_TABLE] share_gammas
    cdef double log_gamma_mass(self, double n) noexcept nogil
    cdef double log_gamma_share(self, double n) noexcept nogil
    cdef double evidence(self, const double *active, const double *retired) noexcept nogil
