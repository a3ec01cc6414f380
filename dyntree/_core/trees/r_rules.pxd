"""R's rules, operation by operation: leaf models and the choices of a step.

Besides RSource in `rng` and the densities of `rmath`, nothing else in the core knows R.
The arithmetic follows CRAN dynaTree 1.2-17, errors included; the numbers in brackets
are the section numbers of its behaviour that the tests name.
"""
from dyntree._core.family cimport Regression
from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.filter_rules cimport Numerics
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.trees.nodes cimport Leaf

cdef enum:                  # places in `derived` of the Gaussian leaves, after EVIDENCE
    SUM_SQUARES = 1         # posterior sum of squares
    DF = 2
    LEVEL = 3
    T_CONSTANT = 4          # of the t density
    SPREAD = 5              # I / (retired + active weight)
    LOG_DET = 6             # log det of the inverse Gram matrix
    EXPLAINED = 7           # sum of squares that the regression explains
    INVERSE = 8             # inverse Gram, packed; then slopes, then column means

cdef enum:
    N_CONSTANTS = 1024      # whole degrees of freedom with a tabled constant

cdef class RGaussian(LeafModel):
    cdef double nu0
    cdef double s20
    cdef int slopes_at      # place of the slopes in `derived`
    cdef int means          # place of the column means in `derived`
    cdef double *work
    cdef double[N_CONSTANTS] constants
    cdef double constant_of(self, double df) noexcept nogil
    cdef void regress(self, Leaf *leaf, ActivePool d) noexcept nogil
    cdef void solve(self, double *gram, const double *cross, double *t) noexcept nogil

cdef class RImplicit(RGaussian):
    pass

cdef class RExplicit(RGaussian):
    cdef Regression regression

cdef enum:
    N_TABLE = 1024          # whole counts with tabled log gammas

cdef class RMultinomial(LeafModel):
    cdef double[N_TABLE] whole_gammas   # of count + 1
    cdef double[N_TABLE] share_gammas   # of count + prior weight of a class

cdef class RNumerics(Numerics):
    pass
