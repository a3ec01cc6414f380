"""Sufficient statistics of the leaf families: what is summed, and in which order."""
from dyntree._core.linalg cimport packed_size


cdef class Family:
    """Additive statistics: observations can be added, removed, pooled, discounted."""

    cdef void add(
        self, double *row, const double *x, double y, double weight
    ) noexcept nogil:
        row[0] += weight

    cdef void remove(self, double *row, const double *x, double y) noexcept nogil:
        row[0] -= 1.0

    cdef void merge(self, double *into, const double *other) noexcept nogil:
        cdef int k
        for k in range(self.stride):
            into[k] += other[k]

    cdef void scale(self, double *row, double factor) noexcept nogil:
        cdef int k
        for k in range(self.stride):
            row[k] *= factor

    cdef void clear(self, double *row) noexcept nogil:
        cdef int k
        for k in range(self.stride):
            row[k] = 0.0


cdef class Moments(Family):
    """Weight, sum of y and sum of y^2.

    Parameters
    ----------
    has_level : bool
        False for models without a level of their own: their sum of y stays zero.
    """

    def __init__(self, bint has_level=True):
        self.stride = 3
        self.has_level = has_level

    cdef void add(
        self, double *row, const double *x, double y, double weight
    ) noexcept nogil:
        row[0] += weight
        if self.has_level:
            row[1] += weight * y
        row[2] += weight * (y * y)

    cdef void remove(self, double *row, const double *x, double y) noexcept nogil:
        row[0] -= 1.0
        if self.has_level:
            row[1] -= y
        row[2] -= y * y


cdef class Regression(Moments):
    """Moments of y, the Gram matrix X'X and X'y of the first `n_basis` columns."""

    def __init__(self, int n_basis, bint has_level=False):
        Moments.__init__(self, has_level)
        self.n_basis = n_basis
        self.stride = 3 + packed_size(n_basis) + n_basis

    cdef double *gram(self, double *row) noexcept nogil:
        return row + 3

    cdef double *cross(self, double *row) noexcept nogil:
        return row + 3 + packed_size(self.n_basis)

    cdef void add(
        self, double *row, const double *x, double y, double weight
    ) noexcept nogil:
        cdef int i, j
        cdef double *g = self.gram(row)
        cdef double *v = self.cross(row)
        Moments.add(self, row, x, y, weight)
        for j in range(self.n_basis):
            for i in range(j + 1):
                g[0] += weight * (x[j] * x[i])
                g += 1
            v[j] += weight * (y * x[j])

    cdef void remove(self, double *row, const double *x, double y) noexcept nogil:
        cdef int i, j
        cdef double *g = self.gram(row)
        cdef double *v = self.cross(row)
        Moments.remove(self, row, x, y)
        for j in range(self.n_basis):
            for i in range(j + 1):
                g[0] -= x[j] * x[i]
                g += 1
            v[j] -= y * x[j]


cdef class Counts(Family):
    """Weight and weight per class; y is the class index."""

    def __init__(self, int n_classes):
        self.n_classes = n_classes
        self.stride = 1 + n_classes

    cdef void add(
        self, double *row, const double *x, double y, double weight
    ) noexcept nogil:
        row[0] += weight
        row[1 + <int> y] += weight

    cdef void remove(self, double *row, const double *x, double y) noexcept nogil:
        row[0] -= 1.0
        row[1 + <int> y] -= 1.0
