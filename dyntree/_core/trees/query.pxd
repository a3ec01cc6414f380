"""Read-only passes over a cloud: prediction, coefficients, counts."""
from libc.stdint cimport int64_t

from dyntree._core.trees.particles cimport Particles

cdef object rows_for(Particles c, object X)
cdef object rows_to_round(Particles c, object X)
cdef object blocks(Particles c, int64_t n_points)
