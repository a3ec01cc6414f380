"""R's integrals over a rectangle, departures from the formulas included."""
from dyntree._core.trees.r_rules cimport RGaussian
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.rectangle cimport Rectangle, Sides
from dyntree._core.trees.nodes cimport Leaf, Node

cdef class RRectangle(Rectangle):
    cdef RGaussian model
    cdef double *shifted_low        # the bounds about a leaf's column means
    cdef double *shifted_high
    cdef double *centred            # a row about them

    cdef const double *centre(self, const Leaf *leaf) noexcept nogil
    cdef bint is_thin(self, int i) noexcept nogil
    cdef void centre_on(self, const Leaf *leaf) noexcept nogil
    cdef double kappa(self, const Leaf *leaf, const double *x) noexcept nogil
    cdef double reduction(self, const Leaf *leaf, const double *x) noexcept nogil
    cdef double square_integral(self, const Leaf *leaf, bint regression) noexcept nogil
    cdef double quadratic(self, const double *inverse) noexcept nogil
