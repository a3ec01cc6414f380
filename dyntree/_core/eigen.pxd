"""Eigenvalues of symmetric matrices, without a library whose threads could alter a bit."""

# a (n, n) symmetric, by rows, becomes its eigenvectors: row i has length 1 and belongs to
# values[i]; values (n,) descend. scratch has room for n doubles.
cdef void eigen(double *a, double *values, double *scratch, int n) noexcept nogil
