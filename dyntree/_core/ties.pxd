"""What equal values say of the grain of a variable."""
from libc.stdint cimport int32_t

# variance that rounding hides, by how often values are equal: C^2 V, where V is their
# variance and C the share of pairs that are equal. Exact for a uniform variable that is
# rounded to steps of h, where C = h / width: it is h^2 / 12. -1: all are equal; sorts them.
# A value of weight w counts as w equal ones; NULL: all weigh 1
cdef double hidden_variance(double *values, const double *weights, int32_t n) noexcept nogil
