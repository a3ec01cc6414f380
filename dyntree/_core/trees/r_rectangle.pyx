"""R's integrals over a rectangle, departures from the formulas included."""
from libc.math cimport log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from dyntree._core.trees.r_rules cimport INVERSE, SPREAD
from dyntree._core.linalg cimport dot, symmetric_times
from dyntree._core.trees.nodes cimport retired_weight

cdef double EPSILON = 2.220446049250313e-16


cdef class RRectangle(Rectangle):
    """`Rectangle` as CRAN dynaTree 1.2-17 has it (sections 9.5 to 9.8; quirks 17 to 20).

    Bounds are narrowed to split values as they are; a leaf's area is the product of its
    widths, over the columns of the regression alone.
    """

    def __init__(self, Particles c, lower, upper, categorical, approx):
        cdef int32_t m = c.pool.n_features
        self.shifted_low = <double *> calloc(3 * m, sizeof(double))
        if self.shifted_low == NULL:
            raise MemoryError()
        self.shifted_high = self.shifted_low + m
        self.centred = self.shifted_low + 2 * m
        if not c.leaf_model.n_classes:
            self.model = c.leaf_model

    def __dealloc__(self):
        free(self.shifted_low)

    cdef void enter(self, const Node *node, bint left, Sides *before) noexcept nogil:
        cdef int32_t j = node.variable
        cdef double cut = self.high[j] / 2.0 if self.categorical[j] else node.value
        before.low = self.low[j]
        before.high = self.high[j]
        before.share = self.share
        if left:
            self.high[j] = cut
        else:
            self.low[j] = cut

    cdef const double *centre(self, const Leaf *leaf) noexcept nogil:
        """Column means of an implicit leaf, else NULL."""
        return leaf.derived + self.model.means if self.c.leaf_model.rounds_rows else NULL

    cdef bint is_thin(self, int i) noexcept nogil:
        return (not self.categorical[i]
                and self.shifted_high[i] - self.shifted_low[i] <= EPSILON)

    cdef double whole(self) noexcept nogil:
        """Area of the whole rectangle, by which sums are divided."""
        cdef double area = 1.0, width
        cdef int32_t k, n = self.c.leaf_model.n_basis
        if self.approx:
            return <double> (self.c.pool.n_rows + self.c.n_retired)
        for k in range(n if n else self.c.pool.n_features):
            width = self.high[k] - self.low[k]
            if not self.categorical[k] and not width < EPSILON:
                area *= width
        return area

    cdef void centre_on(self, const Leaf *leaf) noexcept nogil:
        """The bounds about the leaf's column means, if it has any."""
        cdef const double *means = self.centre(leaf)
        cdef int32_t k
        memcpy(self.shifted_low, self.low, self.c.pool.n_features * sizeof(double))
        memcpy(self.shifted_high, self.high, self.c.pool.n_features * sizeof(double))
        if means != NULL:
            for k in range(self.c.leaf_model.n_basis):
                self.shifted_low[k] -= means[k]
                self.shifted_high[k] -= means[k]

    cdef double kappa(self, const Leaf *leaf, const double *x) noexcept nogil:
        """Predictive variance at x over sigma^2, less one; fills `lifted`."""
        cdef int32_t q = self.c.leaf_model.n_basis, k
        cdef const double *means = self.centre(leaf)
        cdef double spread = leaf.derived[SPREAD]
        if q == 0:
            return spread
        for k in range(q):
            self.centred[k] = x[k] - means[k] if means != NULL else x[k]
        symmetric_times(leaf.derived + INVERSE, self.centred, self.lifted, q)
        return spread + dot(self.centred, self.lifted, q)

    cdef double square_integral(
        self, const Leaf *leaf, bint regression
    ) noexcept nogil:
        """Integral of (spread + z'u)^2 over the leaf's rectangle, u = `lifted`."""
        cdef int32_t q = self.c.leaf_model.n_basis, i, j, n
        cdef double *low = self.shifted_low
        cdef double *high = self.shifted_high
        cdef double *u = self.lifted
        cdef double area = 1.0, c = leaf.derived[SPREAD], total, wi, wj, si
        if self.approx:
            area = leaf.n_rows + retired_weight(leaf)
        else:
            n = q if q else self.c.pool.n_features
            for i in range(n):
                if not (regression and self.is_thin(i)):
                    area *= high[i] - low[i]
        for i in range(q):
            if self.is_thin(i):
                c += high[i] * u[i]
        total = c * c
        for i in range(q):
            wi = high[i] - low[i]
            if self.categorical[i] or wi <= EPSILON:
                continue
            si = high[i] * high[i] - low[i] * low[i]
            total += c * u[i] * si / wi + u[i] * u[i] * (
                high[i] * (high[i] * high[i]) - (low[i] * low[i]) * low[i]
            ) / (3.0 * wi)
            for j in range(i):
                wj = high[j] - low[j]
                if wi * wj > EPSILON:
                    total += u[i] * u[j] * si * (
                        high[j] * high[j] - low[j] * low[j]
                    ) / (2.0 * wi * wj)
        return area * total

    cdef double reduction(self, const Leaf *leaf, const double *x) noexcept nogil:
        """Variance that a response at x would take off the leaf's rectangle."""
        cdef double kappa = self.kappa(leaf, x)
        self.centre_on(leaf)
        return (
            self.c.leaf_model.sum_squares(leaf)
            * self.square_integral(leaf, self.c.leaf_model.n_basis > 0)
            / ((self.c.leaf_model.df(leaf) - 2.0) * (1.0 + kappa))
        )

    cdef void reductions(
        self, const Leaf *leaf, const double *rows, const int32_t *which, int32_t n,
        const double *weights, double *out,
    ) noexcept nogil:
        cdef int32_t k
        for k in range(n):
            out[k] = self.reduction(
                leaf, rows + which[k] * <int64_t> self.c.pool.n_features
            )

    cdef double quadratic(self, const double *inverse) noexcept nogil:
        """Mean of z'Az over the rectangle about the leaf's centre."""
        cdef int32_t i, j
        cdef double *low = self.shifted_low
        cdef double *high = self.shifted_high
        cdef double total = 0.0, wi, wj, di, ej
        for i in range(self.c.leaf_model.n_basis):
            wi = high[i] - low[i]
            if self.categorical[i] or wi <= EPSILON:
                total += inverse[i] * (high[i] * high[i])
                di = 2.0 * high[i]
                wi = 1.0
            else:
                total += inverse[i] * (
                    high[i] * (high[i] * high[i]) - (low[i] * low[i]) * low[i]
                ) / (3.0 * wi)
                di = high[i] * high[i] - low[i] * low[i]
            for j in range(i):
                wj = high[j] - low[j]
                if self.categorical[j] or wj <= EPSILON:
                    ej = 2.0 * high[j]
                    wj = 1.0
                else:
                    ej = high[j] * high[j] - low[i] * low[j]    # sic (quirk 17)
                total += inverse[j] * di * ej / (2.0 * wi * wj)
            inverse += i + 1
        return total

    cdef double volume(self, const Leaf *leaf) noexcept nogil:
        """Integral of the predictive variance, or entropy, over the rectangle."""
        cdef int32_t n = self.c.leaf_model.n_basis, i, k
        cdef double area = 1.0, p, entropy = 0.0, spread
        self.centre_on(leaf)
        if self.approx:
            area = leaf.n_rows + retired_weight(leaf)
        else:
            for i in range(n if n else self.c.pool.n_features):
                if self.is_thin(i):
                    continue
                if self.c.leaf_model.n_classes and self.categorical[i]:
                    continue
                area *= self.shifted_high[i] - self.shifted_low[i]
        if self.c.leaf_model.n_classes:
            for k in range(self.c.leaf_model.n_classes):
                p = self.c.leaf_model.probability(leaf, k)
                entropy -= p * log(p)
            return area * entropy
        spread = 1.0 + leaf.derived[SPREAD]
        if n:
            spread += self.quadratic(leaf.derived + INVERSE)
        return (
            self.c.leaf_model.sum_squares(leaf) * (area * spread)
            / self.c.leaf_model.df(leaf)
        )
