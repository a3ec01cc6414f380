"""Looks of a cloud at the prior of its leaves."""
from dyntree._core.trees.particles cimport Particles

# let the cloud choose its prior, where it is time to
cdef int look(Particles c) except -1
