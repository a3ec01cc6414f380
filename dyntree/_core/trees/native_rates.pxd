"""Leaves of counts of events under native rules: a rate, by an exposure e of each row.

Poisson: y ~ Poisson(e rate), rate ~ Gamma(a, a / m). Negative binomial: y ~ NB(t e, p)
with the size t e, p ~ Beta(1 + t a / m, a), rate = t (1 - p) / p. Both have the prior
mean m of the rate; the second is the first as t grows, and at e = 1 the NB2 of
econometrics with the dispersion 1 / t. Exposures are counted in the mean of the first
rows'. m is the mean of all that leaves hold; the cloud tunes t and a.
"""
cimport cython

from dyntree._core.family cimport Family
from dyntree._core.trees.inheriting cimport InheritingLeaves
from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.nodes cimport Leaf

cdef enum:
    N_TABLE = 1024          # whole counts with a tabled log gamma
    N_SIZE = 8              # points of the grid of priors: sizes t,
    N_SHAPE = 4             # and shapes a

cpdef enum:                 # places in `derived`, after those of all that inherit
    FIRST = 4               # parameters of the posterior: shape and rate of a gamma,
    SECOND = 5              # or the two of a beta; then the inherited sums

@cython.final
cdef class Events(Family):          # weight, exposure, events, then what hangs on sizes
    cdef readonly int n_sizes       # 0, or N_SIZE: of which terms of the density are stored

@cython.final
cdef class NativeRates(InheritingLeaves):
    cdef readonly bint is_negbin
    cdef readonly double rate       # m, per unit of exposure
    cdef readonly double size       # t; infinite: Poisson
    cdef readonly double shape      # a
    cdef readonly double unit       # of exposures, in those that users give
    cdef double one                 # an exposure of 1 as users give it, 1 / unit
    cdef double first, second       # parameters of the prior
    cdef double constant            # its log normaliser
    cdef int n_sizes                # points of the grid that may be chosen
    cdef double[N_SIZE] sizes
    cdef double[N_TABLE] log_gammas # of shape + k
    cdef double *survey             # (stride,) sums of all leaves
    cdef double *total              # (stride,) active and retired sums together
    cdef void set_prior(self, double rate, double size, double shape) noexcept nogil
    cdef double log_gamma_events(self, double n) noexcept nogil
    cdef double evidence(self, double exposure, double events) noexcept nogil
    cdef double evidence_at(self, double exposure, double events, double size, double shape) noexcept nogil
    cdef void add_scores(self, const double *row, double multiplicity, double *scores) noexcept nogil
    # how much an exposure e would take off the variance of the leaf's rate
    cdef double reduction(self, const Leaf *leaf, double e) noexcept nogil
    # variance of the events of an exposure e
    cdef double variance_of(self, double first, double second, double e) noexcept nogil
