"""Sufficient statistics of the leaf families: what is summed, and in which order."""
cimport cython
from libc.float cimport DBL_MAX
from libc.math cimport exp, log1p, tanh
from libc.stdlib cimport calloc, free

from dyntree._core.lanes cimport accumulate
from dyntree._core.linalg cimport packed_size


cdef class Family:
    """Additive statistics: observations can be added, pooled, discounted.

    Adding an observation with minus its weight takes it away. Only counts of events look
    at its exposure.
    """

    cdef void add(
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        row[0] += weight

    cdef void merge(self, double *into, const double *other) noexcept nogil:
        accumulate(into, other, self.stride)

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
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        row[0] += weight
        if self.has_level:
            row[1] += weight * y
        row[2] += weight * (y * y)


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
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        cdef int i, j
        cdef double *g = self.gram(row)
        cdef double *v = self.cross(row)
        Moments.add(self, row, x, y, weight, exposure)
        for j in range(self.n_basis):
            for i in range(j + 1):
                g[0] += weight * (x[j] * x[i])
                g += 1
            v[j] += weight * (y * x[j])


@cython.final
cdef class Counts(Family):
    """Weight and weight per class; y is the class index."""

    def __init__(self, int n_classes):
        self.n_classes = n_classes
        self.stride = 1 + n_classes

    cdef void add(
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        row[0] += weight
        row[1 + <int> y] += weight


cdef class Cross(Family):
    """Cross products of (1, z, t): columns and response in a frozen scale.

    z = (x - centre) / spread and t likewise, fixed before the first row is added, so
    that sums of any leaves can be pooled. A missing column has z = 0, in every leaf
    alike. The products stand from entry `first` of a row on.

    A weight is a frequency, and the first product is the number of rows. Or it divides
    a row's variance: then entry 0 counts rows, and the products come after it.

    Parameters
    ----------
    n_columns : int
        Leading columns of x that enter; 0 keeps weight, sum and sum of squares of t.
    counts_rows : bool, default False
        Whether weights divide variances.
    """

    def __cinit__(self, int n_columns, bint counts_rows=False):
        self.n_columns = n_columns
        self.first = counts_rows
        self.stride = self.first + packed_size(n_columns + 2)
        self.centre = <double *> calloc(4 * n_columns + 2, sizeof(double))
        if self.centre == NULL:
            raise MemoryError()
        self.spread = self.centre + n_columns
        self.inverse = self.spread + n_columns
        self.vector = self.inverse + n_columns
        self.y_spread = self.y_inverse = 1.0

    def __dealloc__(self):
        free(self.centre)

    def set_scale(self, centre, spread, double y_centre, double y_spread):
        """Fix the scale; a spread of 0 leaves a column out."""
        cdef int j
        for j in range(self.n_columns):
            self.centre[j] = centre[j]
            self.spread[j] = spread[j]
            self.inverse[j] = min(1.0 / spread[j], DBL_MAX) if spread[j] > 0.0 else 0.0
        self.y_centre = y_centre
        self.y_spread = y_spread
        self.y_inverse = min(1.0 / y_spread, DBL_MAX)

    def scale_of(self):
        """What `set_scale` was given, as lists and numbers."""
        centre = [self.centre[j] for j in range(self.n_columns)]
        spread = [self.spread[j] for j in range(self.n_columns)]
        return centre, spread, self.y_centre, self.y_spread

    cdef void fill(self, double *v, const double *x, double y) noexcept nogil:
        """v = (1, z, t)."""
        cdef int j
        v[0] = 1.0
        for j in range(self.n_columns):
            v[1 + j] = self.standard(x, j)
        v[self.n_columns + 1] = (y - self.y_centre) * self.y_inverse

    cdef void add(
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        cdef int i, j
        cdef double *v = self.vector
        self.fill(v, x, y)
        if self.first:
            row[0] += 1.0 if weight > 0.0 else -1.0
            row += 1
        for j in range(self.n_columns + 2):
            for i in range(j + 1):
                row[0] += weight * (v[i] * v[j])
                row += 1


cdef double bound_precision(double xi) noexcept nogil:
    return tanh(0.5 * xi) / (2.0 * xi) if xi > 0.0 else 0.25


cdef double bound_constant(double xi) noexcept nogil:
    return 0.25 * xi * tanh(0.5 * xi) - 0.5 * xi - log1p(exp(-xi))


@cython.final
cdef class Bound(Cross):
    """A bound on the likelihood of two labels: what it adds to a normal law of log odds.

    For any xi >= 0 a label t, 0 or 1, at log odds a has the likelihood
    exp(c + (t - 1/2) a - lam a^2 / 2) at least, with lam = tanh(xi / 2) / (2 xi) and
    c = -log(1 + exp(-xi)) - xi / 2 + xi tanh(xi / 2) / 4; it is equal at a = xi
    (Jaakkola and Jordan 2000). With a = w'b and w = (1, z) a row adds lam w w' to the
    precision of b, and (t - 1/2) w to that times the mean. They are packed as the
    products of `Cross`, with (t - 1/2) w in the last column and -2 c in its end: the
    residual of a Cholesky factor is then -2 times what the bound is at its mode.

    A row's xi stands where counts have an exposure. Weights are frequencies.

    Parameters
    ----------
    n_columns : int
        Leading columns of x that enter.
    """

    def __cinit__(self, int n_columns):
        self.first = 1
        self.stride = 1 + packed_size(n_columns + 2)

    cdef void add(
        self, double *row, const double *x, double y, double weight, double xi
    ) noexcept nogil:
        cdef int i, j
        cdef double *w = self.vector
        cdef double lam = weight * bound_precision(xi)
        self.fill(w, x, 0.0)
        row[0] += weight
        row += 1
        for j in range(self.n_columns + 1):
            for i in range(j + 1):
                row[0] += lam * (w[i] * w[j])
                row += 1
        for i in range(self.n_columns + 1):
            row[i] += weight * (y - 0.5) * w[i]
        row[self.n_columns + 1] -= 2.0 * weight * bound_constant(xi)
