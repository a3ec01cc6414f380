"""Values in the place of gaps in the regression of a leaf, and what they leave open.

A gap among indicators (columns of only 0 and 1) is each of their values in turn, a *way*
with a share; those that exclude one another, as the levels of a factor do, take turns
together. Any other gap has a normal distribution, given the values that are there. Both
come from the leaf's own moments (Little and Rubin 2002, section 11.2).
"""
cimport cython
from libc.stdint cimport int32_t

from dyntree._core.spans cimport Spans
from dyntree._core.trees.gaussian_leaves cimport GaussianLeaves
from dyntree._core.trees.nodes cimport Leaf

cdef enum:
    MOST_WAYS = 64          # of the indicators of a row; further ones count as normal

@cython.final
cdef class GapFiller:
    cdef GaussianLeaves model
    cdef const Leaf *leaf           # of the row that was begun
    cdef const double *x
    cdef int32_t n_ways
    cdef double[MOST_WAYS] shares   # which sum to one
    # columns of the regression: indicators to be set, then those with a value, then gaps
    cdef int32_t n_set, n_known, n_columns      # how many; the first two, all three
    cdef int32_t *order             # (n_basis,)
    cdef int32_t *group             # (n_basis,) of the indicators
    cdef int32_t n_groups
    cdef double *means              # (n_basis,) in the leaf, on the frozen scale
    cdef double *filled             # (n_basis,) the row
    cdef double *whitened           # (n_basis,) what is known, as independent variables
    cdef double *direction          # (n_basis + 1,)
    cdef double *factor             # packed rows of a Cholesky factor; NULL: MANY columns
    cdef double *deviations         # (n_basis,) of gaps where there is no factor

    # how many ways there are for row x in a leaf
    cdef int32_t begin(self, const Leaf *leaf, const double *x, Spans seen) noexcept nogil
    # the row on its k-th way; the model's `gap_variance` is what other gaps add
    cdef const double *way(self, int32_t k) noexcept nogil
    # `direction` becomes column k < n_gaps() of a factor of their covariance, as terms
    cdef void point_along(self, int32_t k) noexcept nogil
    cdef void end(self) noexcept nogil
    cdef int32_t n_gaps(self) noexcept nogil

    cdef void take_means(self, const double *row) noexcept nogil
    cdef double raw_mean(self, int32_t c) noexcept nogil
    cdef double together(self, const double *row, int32_t i, int32_t j) noexcept nogil
    cdef double covariance(self, const double *row, int32_t i, int32_t j) noexcept nogil
    cdef void sort_columns(self, const double *row, const double *x, Spans seen) noexcept nogil
    cdef bint is_indicator(self, int32_t c, Spans seen) noexcept nogil
    cdef bint excludes(self, const double *row, int32_t c, int32_t group) noexcept nogil
    cdef int32_t n_levels(self, int32_t group) noexcept nogil
    cdef double rest(self, int32_t group) noexcept nogil
    cdef void find_factor(self, const double *row) noexcept nogil
    cdef double set_way(self, int32_t k) noexcept nogil
    cdef double whiten(self) noexcept nogil
