"""Gaussian leaves of the native rules: conjugate priors, conjugate retirement.

On the scale of `Cross`: t = level + z'slopes + noise with
    sigma^2 ~ IG(1/2, b0),  a flat level of density 1 / (sqrt(2 pi) s_y),
    slope_j | sigma^2 ~ N(0, sigma^2 / l_j),  l_j = 0.04 p max(f s_j^2, g_j^2),
p columns in the regression. `Cross` keeps the scale of the first rows for good. Where the
prior stands upon it moves with the rows: s_j and s_y are spreads of all that the leaves
hold, 1 at first, and g_j is a third of the spread of all rows seen. The cloud tunes b0
and the factor f <= 1. The first unit of weight fixes the level and says no more: what is
known of the variance grows by v = max(n - 1, 0). A leaf with less has the rest of a row
at its own means, an empty one a row at the means of all.

Where responses are equal to others, no leaf's variance is taken for less than
their grain hides: the posterior's scale is bn = b0 + max(residual, n grain) / 2.
Retired rows are part of the posterior, and children inherit them: see `inheriting`.

Rows may have weights. A frequency f counts a row f times, and all of the above holds for
n = sum f. A weight w that divides the variance, sigma^2 / w, leaves n the number of rows;
squares and cross products, means and spreads are weighted, and the prior counts in the
mean weight omega of the active rows: precisions of slopes, and what stands for an empty
leaf, have the factor omega. The constant (sum log w) / 2, equal in all trees of the same
rows, belongs to densities alone: one row says of a level what any other does.
"""
cimport cython

from dyntree._core.family cimport Cross
from dyntree._core.lanes cimport Lanes
from dyntree._core.trees.inheriting cimport InheritingLeaves
from dyntree._core.trees.nodes cimport Leaf

# Places in `derived` of the Gaussian leaves, after those of all that inherit.
cpdef enum:
    SHAPE = 4               # an of the inverse gamma posterior
    SCALE = 5               # bn
    T_CONSTANT = 6          # normaliser of the predictive t
    FACTOR = 7              # Cholesky factor of prior precision + cross products, packed
                            # then the inherited sums, a Family row

cdef enum:
    N_TABLE = 1024          # whole weights with a tabled log gamma
    N_B = 8                 # points of the grid of priors: its scales, and
    N_RELAX = 6             # factors on the precisions of slopes

cdef class GaussianLeaves(InheritingLeaves):
    cdef Cross cross
    cdef int first          # where the products start in a row of sums
    cdef int n_products
    cdef readonly double omega      # mean weight, where weights divide variances; else 1
    cdef readonly double b0
    cdef double level_unit  # log of the inverse of a flat level's density; 0 without one
    cdef double slope_unit  # prior precision of a slope whose column has spread 1
    cdef double y_unit      # variance of the responses, as a power of ten: unit of the grid
    cdef double grain       # variance that no leaf goes below
    cdef double log_b0, half_log_prior      # of the prior point
    cdef int skip           # 1: no level; else its first unit of weight fixes it
    # scratch, in one piece that starts with the first
    cdef double *total_row                  # (stride,) active and retired sums together
    cdef Lanes *factors                     # (n_products,) factors of sums that are judged
    cdef double *point                      # (n_products,) v v' of v = (1, m, m_y)
    cdef double *slopes                     # (n_terms,) prior precision of terms 1, 2, ...
    cdef double *spreads                    # (n_terms + 1,) of rows and responses, s
    cdef double *widest                     # (n_terms,) 3 g
    cdef double *grid_slopes                # (N_RELAX, n_terms) `slopes` on the grid
    cdef double *lifted                     # (LANES, n_products) of less than one row
    cdef double *survey                     # (stride,) sums of all leaves
    cdef double *predicted                  # (n_out,) as of `predict`
    cdef double *inverse_columns            # (n_terms, n_terms) inverse factor of a leaf
    cdef double *inverse_rows
    cdef double *means                      # (n_terms,) of the regression's terms
    cdef double *variances
    cdef Lanes *explained                   # (2 n_terms,) scratch of explain_four
    cdef double[N_TABLE] log_gammas
    cdef double[N_B] log_bs                 # of the grid
    cdef double[N_RELAX] half_log_priors
    @cython.final
    cdef double log_gamma_shape(self, double weight) noexcept nogil
    @cython.final
    cdef double beyond_level(self, double weight) noexcept nogil
    @cython.final
    cdef double rest_of_row(self, const double *row) noexcept nogil
    @cython.final
    cdef const double *whole(self, const double *row, double *room) noexcept nogil
    @cython.final
    cdef double factorise(self, const double *row, double *u, double *residual) noexcept nogil
    @cython.final
    cdef void factorise_lanes(self, const double **rows, Lanes *u, double *half_log_det, double *residual) noexcept nogil
    @cython.final
    cdef double evidence(self, double weight, double half_log_det, double residual, double b0, double log_b0) noexcept nogil
    @cython.final
    cdef double above_grain(self, const double *row, double residual) noexcept nogil
    @cython.final
    cdef double half_prior_log_det(self, const double *slopes) noexcept nogil
    @cython.final
    cdef const double *total(self, const Leaf *leaf) noexcept nogil
    @cython.final
    cdef double locate(self, const Leaf *leaf, const double *x, double *v, double *kappa) noexcept nogil
    @cython.final
    cdef double repeated(self, const Leaf *leaf, const double *x, double y, double times) noexcept nogil
    @cython.final
    cdef double whiten(self, const Leaf *leaf, const double *x, double *v) noexcept nogil
    @cython.final
    cdef void invert_factor(self, const Leaf *leaf, double *columns, double *rows) noexcept nogil
