"""Eigenvalues of symmetric matrices, without a library whose threads could alter a bit."""

# a (n, n) symmetric, by rows, becomes its eigenvectors: row i has length 1 and belongs to
# values[i]; values (n,) descend. scratch has room for n doubles.
cdef void eigen(double *a, double *values, double *scratch, int n) noexcept nogil

cdef enum:
    WORK = 8    # times n doubles that the calls below need

# the same values, without vectors: a and work are for `leading_vectors`
cdef void leading_values(double *a, double *values, double *work, int n) noexcept nogil
# the first m eigenvectors as rows of out (m, n); -1 where they were not found
cdef int leading_vectors(
    const double *a, const double *values, double *work, int n, int m, double *out
) noexcept nogil
# values becomes the squares of the singular values of w (m, n), descending, as many as the
# call returns, the lesser of m and n; a has room for the square of that, work for WORK
# times it
cdef int squared_singular(
    const double *w, int m, int n, double *a, double *values, double *work
) noexcept nogil
