"""Dense symmetric matrices in packed upper storage, in one stated order of operations.

A symmetric q x q matrix is stored by columns of its upper triangle: entry (i, j),
i <= j, lies at `j * (j + 1) / 2 + i`. Every sum runs in the order of the reference
BLAS and LAPACK 3.11, so that results agree with R's to the last bit.
"""

cdef inline int packed_size(int q) noexcept nogil:
    return q * (q + 1) // 2

cdef inline int at(int i, int j) noexcept nogil:
    """Place of entry (i, j), i <= j."""
    return j * (j + 1) // 2 + i

cdef void add_outer(double *g, const double *x, int q) noexcept nogil
cdef double dot(const double *a, const double *b, int q) noexcept nogil
cdef void symmetric_times(const double *a, const double *x, double *out, int q) noexcept nogil
cdef int factor(double *g, int q) noexcept nogil
cdef void invert_factor(const double *u, double *inverse, double *column, int q) noexcept nogil
cdef double minus_log_det(const double *u, int q) noexcept nogil
