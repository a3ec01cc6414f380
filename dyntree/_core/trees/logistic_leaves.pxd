"""Leaves of two labels: a logistic regression in each, under the native rules.

The log odds of the second label are b'w, w = (1, z) on the scale of `Cross`, with
    b_0 ~ N(0, 25),  b_j ~ N(0, tau^2 / s_j^2),
s_j being the spread of a column in all that leaves hold. Rows come in by a bound on their
likelihood (`Bound`), which leaves b a normal law. So a leaf is a Gaussian one whose
variance is known to be 1: its sums add up, its rows retire without a change of any
prediction, sums fade by a power of the bound, and children inherit a share of it. The
cloud tunes tau. Until the tenth row leaves know levels alone; then these rows fix the
scale, and are learned anew.

One xi a row serves all particles. A bound holds for any xi, so that sums over any rows
bound their evidence: trees compete by these. With e and v, mean and variance of the log
odds of a row, the probability is 1 / (1 + exp(-e / (1 + pi v / 8)^1/2)) (MacKay 1992).
"""
cimport cython

from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.trees.scaled_leaves cimport ScaledLeaves

cdef enum:
    N_TAU = 3               # points of the grid of priors

@cython.final
cdef class LogisticLeaves(ScaledLeaves):
    cdef readonly double tau
    cdef void set_prior(self, double tau) noexcept nogil
    cdef double bound(self, const double *sums, const double *slopes, double half_log_prior, double *u) noexcept nogil
    cdef const double *with_level(self, const double *sums, double *room) noexcept nogil
    cdef void add_scores(self, const double *sums, double multiplicity, double *scores) noexcept nogil
    # what a row of odds N(e, v) comes to: its xi^2, or what it adds to the bound
    cdef double after_steps(self, double e, double v, double half, double weight) noexcept nogil
    # log odds at x over the spread that they have there; v is scratch
    cdef double score_at(self, const Leaf *leaf, const double *x, double *v) noexcept nogil
