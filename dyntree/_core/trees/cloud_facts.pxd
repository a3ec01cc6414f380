"""What can be seen of a cloud of particles."""
from dyntree._core.trees.particles cimport Particles
from dyntree._core.types cimport handle_t

cdef class CloudFacts(Particles):
    cdef object nested(self, handle_t h)
