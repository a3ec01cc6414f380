"""What equal values say of the grain of a variable."""
from libc.stdint cimport int32_t

# variance that rounding hides, by how often values are equal: C^2 V, where V is their
# variance and C the share of pairs that are equal. Exact for a uniform variable that is
# rounded to steps of h, where C = h / width: it is h^2 / 12. -1: all are equal; sorts them
cdef double hidden_variance(double *values, int32_t n) noexcept nogil
