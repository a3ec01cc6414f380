"""Where to sample next, which rows to give up, which columns matter."""
from libc.stdint cimport int32_t

from dyntree._core.particles cimport Particles
from dyntree._core.types cimport Leaf, handle_t

cdef class Region:          # a rectangle that shrinks on the way down a tree
    cdef Particles c
    cdef bint approx        # leaves count by their rows instead of their area
    cdef bint *categorical
    cdef double *low
    cdef double *high
    cdef double *shifted_low    # the same about a leaf's centre
    cdef double *shifted_high
    cdef double *lifted         # inverse Gram times the centred row
    cdef double *centred
    cdef double *column_sums    # (n_features,) where relevance is added up

    cdef double *side(self, int32_t variable, bint left, double value, double *kept) noexcept nogil
    cdef void centre_on(self, const Leaf *leaf) noexcept nogil
    cdef double kappa(self, const Leaf *leaf, const double *x) noexcept nogil
    cdef bint is_thin(self, int i) noexcept nogil
    cdef double whole(self) noexcept nogil
    cdef double reduction(self, const Leaf *leaf, const double *x) noexcept nogil
    cdef double square_integral(self, const Leaf *leaf, bint regression) noexcept nogil
    cdef double volume(self, const Leaf *leaf) noexcept nogil
    cdef double quadratic(self, const double *inverse) noexcept nogil
    cdef double reduction_below(self, handle_t h, double *x) noexcept nogil
    cdef int credit_below(self, handle_t h) noexcept nogil
    cdef double relevance_below(self, handle_t h) noexcept nogil
