"""Answers at rows that miss values: mixtures over the leaves that they may lie in."""
from dyntree._core.trees.particles cimport Particles

# places of the rows with a gap in a native cloud, or None where there is none
cdef object rows_with_gaps(Particles c, const double[:, ::1] rows)
# as of `query.mixture`
cdef object mixture_over(Particles c, const double[:, ::1] rows)
# probabilities, and the mean entropy of the particles, shape (n_rows, n_classes + 1)
cdef object classes_over(Particles c, const double[:, ::1] rows)
# coefficients of the linear leaves, shape (n_rows, width)
cdef object coefficients_over(Particles c, const double[:, ::1] rows, int width)
# as of `query.predictive`: for each particle the moments of its mixture
cdef object predictive_over(Particles c, const double[:, ::1] rows)
# as of `query.class_probabilities`
cdef object probabilities_over(Particles c, int k, const double[:, ::1] rows)
