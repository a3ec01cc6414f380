"""Conjugate statistics as rows of doubles.

A row holds the sums of the observations it stands for. Rows of the active
observations and of the retired ones have the same layout; entry 0 is the weight.
"""
cimport cython

cdef class Family:
    cdef readonly int stride
    cdef void add(self, double *row, const double *x, double y, double weight, double exposure) noexcept nogil
    cdef void merge(self, double *into, const double *other) noexcept nogil
    cdef void scale(self, double *row, double factor) noexcept nogil
    cdef void clear(self, double *row) noexcept nogil

cdef class Moments(Family):         # weight, sum of y (unless `centred`), sum of y^2
    cdef readonly bint has_level

cdef class Regression(Moments):     # the same, then X'X packed, then X'y
    cdef readonly int n_basis
    cdef double *gram(self, double *row) noexcept nogil
    cdef double *cross(self, double *row) noexcept nogil

@cython.final
cdef class Counts(Family):          # weight, then one weight per class
    cdef readonly int n_classes

cdef class Cross(Family):           # packed cross products of (1, z, t), standardised
    cdef readonly int n_columns
    cdef readonly int first             # where the products start: 1 where 0 counts rows
    cdef double *centre             # (n_columns,) frozen; then scale, then scratch
    cdef double *spread             # (n_columns,) 0 = the column is not in the regression
    cdef double *vector             # (n_columns + 2,)
    cdef double y_centre
    cdef double y_spread
    cdef double *inverse            # (n_columns,) 1 / spread, 0 for a column left out
    cdef double y_inverse
    # column j on its frozen scale; 0 where it is missing or left out
    @cython.final
    cdef inline double standard(self, const double *x, int j) noexcept nogil:
        return 0.0 if x[j] != x[j] else (x[j] - self.centre[j]) * self.inverse[j]
    @cython.final
    cdef void fill(self, double *v, const double *x, double y) noexcept nogil

# lam of a row by its xi, and c: see `Bound`
cdef double bound_precision(double xi) noexcept nogil
cdef double bound_constant(double xi) noexcept nogil

@cython.final
cdef class Bound(Cross):            # weight, then packed: lam w w', (t - 1/2) w and -2 c
    pass
