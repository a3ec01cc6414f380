"""Values in the place of gaps in the regression of a leaf; see the declarations."""
cimport cython
from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free

from dyntree._core.linalg cimport at, packed_size
from dyntree._core.memory cimport resize
from dyntree._core.trees.gaussian_leaves cimport FACTOR, SCALE, SHAPE

cdef double RIDGE = 1e-3        # of the variance in all leaves, added to that in one
cdef double ROUNDING = 1e-9     # of a share or a variance, below which it is only rounding
cdef enum:
    MANY = 64                   # columns, beyond which gaps are independent of the others


@cython.final
cdef class GapFiller:
    """Fills rows for the linear leaves of a cloud.

    Parameters
    ----------
    model : GaussianLeaves

    Notes
    -----
    With the Cholesky factor L of the covariance of the known columns K and the gaps G, in
    this order, gaps are normal with mean m_G + L_GK L_KK^-1 (z_K - m_K) and covariance
    S = L_GG L_GG'. In a leaf with slopes b and their covariance sigma^2 V they add
    b_G'S b_G + sigma^2 tr(S V_GG) to the variance of the mean. A way has the share of its
    indicators in the leaf, times the density of the values that are there, given them.
    """

    def __init__(self, GaussianLeaves model):
        cdef int n = model.n_basis, size = packed_size(n) if n <= MANY else 0
        self.model = model
        resize(<void **> &self.means, 5 * n + 1 + size, sizeof(double))
        resize(<void **> &self.order, 2 * n, sizeof(int32_t))
        self.filled = self.means + n
        self.whitened = self.filled + n
        self.deviations = self.whitened + n
        self.direction = self.deviations + n
        self.factor = self.direction + n + 1 if size else NULL
        self.group = self.order + n

    def __dealloc__(self):
        free(self.means)
        free(self.order)

    # ------------------------------------------------------------ moments of a leaf
    cdef void take_means(self, const double *row) noexcept nogil:
        """Means of the columns; those of all leaves where a leaf has no two rows."""
        cdef const double *g = row + self.model.first
        cdef int32_t c
        for c in range(self.model.n_basis):
            self.means[c] = self.model.point[at(0, 1 + c)]
            if row[0] > 1.0:
                self.means[c] = g[at(0, 1 + c)] / g[0]

    cdef double raw_mean(self, int32_t c) noexcept nogil:
        return self.model.cross.centre[c] + self.model.cross.spread[c] * self.means[c]

    cdef double together(self, const double *row, int32_t i, int32_t j) noexcept nogil:
        """Share of rows in which both of two indicators are 1."""
        cdef const double *g = row + self.model.first
        cdef const double *spread = self.model.cross.spread
        if not row[0] > 1.0:
            return 0.0
        return self.raw_mean(i) * self.raw_mean(j) + spread[i] * spread[j] * (
            g[at(1 + min(i, j), 1 + max(i, j))] / g[0] - self.means[i] * self.means[j]
        )

    cdef double covariance(self, const double *row, int32_t i, int32_t j) noexcept nogil:
        cdef const double *g = row + self.model.first
        cdef double all_leaves = 0.0, n = row[0]
        if i == j:
            all_leaves = self.model.spreads[1 + i] * self.model.spreads[1 + i]
        if not n > 1.0:
            return all_leaves
        return RIDGE * all_leaves + n / max(n - 1.0, 1.0) * (
            g[at(1 + min(i, j), 1 + max(i, j))] / g[0] - self.means[i] * self.means[j]
        )

    # ------------------------------------------------------------ columns
    cdef bint is_indicator(self, int32_t c, Spans seen) noexcept nogil:
        """Whether a column has had the values 0 and 1, and no others."""
        return (
            seen.view[c, 0] == 0.0 and seen.view[c, 1] == 1.0 and seen.view[c, 2] == 0.0
        )

    cdef bint excludes(self, const double *row, int32_t c, int32_t group) noexcept nogil:
        """Whether indicator c is 0 in all rows in which one of a group is 1."""
        cdef double total = self.raw_mean(c)
        cdef int32_t i
        for i in range(self.n_set):
            if self.group[i] == group:
                total += self.raw_mean(self.order[i])
                if self.together(row, c, self.order[i]) > ROUNDING:
                    return False
        return total <= 1.0 + ROUNDING

    cdef double rest(self, int32_t group) noexcept nogil:
        """Share of rows in which all indicators of a group are 0."""
        cdef double total = 1.0
        cdef int32_t i
        for i in range(self.n_set):
            if self.group[i] == group:
                total -= max(self.raw_mean(self.order[i]), 0.0)
        return total if total > ROUNDING else 0.0

    cdef int32_t n_levels(self, int32_t group) noexcept nogil:
        """Ways of a group: one of its indicators is 1, or none."""
        cdef int32_t i, n = 1
        for i in range(self.n_set):
            n += self.group[i] == group
        return n

    cdef void sort_columns(
        self, const double *row, const double *x, Spans seen
    ) noexcept nogil:
        cdef const double *spread = self.model.cross.spread
        cdef int32_t c, g, k, n_ways = 1
        self.n_set = self.n_groups = 0
        for c in range(self.model.n_basis):
            if not (spread[c] > 0.0 and x[c] != x[c] and self.is_indicator(c, seen)):
                continue
            g = 0
            while g < self.n_groups and not self.excludes(row, c, g):
                g += 1
            k = 1 if g == self.n_groups else self.n_levels(g)
            if n_ways // k * (k + 1) > MOST_WAYS:
                continue
            n_ways = n_ways // k * (k + 1)
            self.order[self.n_set], self.group[self.n_set] = c, g
            self.n_set += 1
            self.n_groups = max(self.n_groups, g + 1)
        self.n_ways = n_ways
        self.n_known = self.n_set
        if self.factor != NULL:
            for c in range(self.model.n_basis):
                if spread[c] > 0.0 and x[c] == x[c]:
                    self.order[self.n_known] = c
                    self.n_known += 1
        self.n_columns = self.n_known
        k = 0                               # indicators are in increasing order
        for c in range(self.model.n_basis):
            if k < self.n_set and self.order[k] == c:
                k += 1
            elif spread[c] > 0.0 and x[c] != x[c]:
                self.order[self.n_columns] = c
                self.n_columns += 1

    cdef void find_factor(self, const double *row) noexcept nogil:
        cdef double *own
        cdef double t
        cdef int32_t i, j, k, c
        for i in range(self.n_columns):
            c = self.order[i]
            if self.factor == NULL:
                self.deviations[i] = sqrt(self.covariance(row, c, c))
                continue
            own = self.factor + packed_size(i)
            for j in range(i + 1):
                t = self.covariance(row, c, self.order[j])
                for k in range(j):
                    t -= own[k] * self.factor[packed_size(j) + k]
                if j < i:
                    own[j] = t / self.factor[packed_size(j) + j]
                else:
                    own[i] = sqrt(max(t, ROUNDING * self.covariance(row, c, c)))

    # ------------------------------------------------------------ ways
    cdef double set_way(self, int32_t k) noexcept nogil:
        """Set the indicators as on the k-th way; gives its share among the rows."""
        cdef double share = 1.0
        cdef int32_t g, i, level
        for g in range(self.n_groups):
            level = k % self.n_levels(g)
            k = k // self.n_levels(g)
            if level == 0:
                share *= self.rest(g)
            for i in range(self.n_set):
                if self.group[i] == g:
                    level -= 1
                    self.filled[self.order[i]] = level == 0
                    if level == 0:
                        share *= max(self.raw_mean(self.order[i]), 0.0)
        return share

    cdef double whiten(self) noexcept nogil:
        """Whiten what is known; minus twice the log density of what was there."""
        cdef double t, total = 0.0
        cdef int32_t i, j, c
        cdef const double *own
        if self.factor == NULL:
            return 0.0
        for i in range(self.n_known):
            c = self.order[i]
            own = self.factor + packed_size(i)
            t = self.model.cross.standard(self.filled, c) - self.means[c]
            for j in range(i):
                t -= own[j] * self.whitened[j]
            self.whitened[i] = t / own[i]
            if i >= self.n_set:
                total += self.whitened[i] * self.whitened[i]
        return total

    cdef int32_t begin(self, const Leaf *leaf, const double *x, Spans seen) noexcept nogil:
        cdef const double *row = self.model.total(leaf)
        cdef double share, most = -INFINITY, total = 0.0
        cdef int32_t c, k
        self.leaf, self.x = leaf, x
        for c in range(self.model.n_basis):
            self.filled[c] = x[c]
        self.take_means(row)
        self.sort_columns(row, x, seen)
        self.find_factor(row)
        for k in range(self.n_ways):
            share = self.set_way(k)
            self.shares[k] = log(share) - 0.5 * self.whiten() if share > 0.0 else -INFINITY
            most = max(most, self.shares[k])
        for k in range(self.n_ways):
            self.shares[k] = exp(self.shares[k] - most)
            total += self.shares[k]
        for k in range(self.n_ways):
            self.shares[k] /= total
        return self.n_ways

    cdef const double *way(self, int32_t k) noexcept nogil:
        cdef const double *u = self.leaf.derived + FACTOR
        cdef const double *last = u + at(0, self.model.n_basis + 1)
        cdef double *v = self.direction
        cdef double precision = self.leaf.derived[SHAPE] / self.leaf.derived[SCALE]
        cdef double rise, z, variance = 0.0
        cdef int32_t c, i, j, m
        self.set_way(k)
        self.whiten()
        for i in range(self.n_known, self.n_columns):
            c = self.order[i]
            z = self.means[c]
            if self.factor != NULL:
                for j in range(self.n_known):
                    z += self.factor[packed_size(i) + j] * self.whitened[j]
            self.filled[c] = self.model.cross.centre[c] + self.model.cross.spread[c] * z
        for m in range(self.n_gaps()):
            self.point_along(m)
            rise = 0.0
            for i in range(self.model.skip, self.model.n_basis + 1):
                for j in range(self.model.skip, i):     # v = U^-T direction, in place
                    v[i] -= u[at(j, i)] * v[j]
                v[i] *= u[at(i, i)]
                variance += v[i] * v[i]
                rise += v[i] * last[i]
            variance += precision * rise * rise
        self.model.gap_variance = variance
        return self.filled

    cdef int32_t n_gaps(self) noexcept nogil:
        return self.n_columns - self.n_known

    cdef void point_along(self, int32_t k) noexcept nogil:
        cdef int32_t i, first = self.n_known + k
        for i in range(self.model.n_basis + 1):
            self.direction[i] = 0.0
        if self.factor == NULL:
            self.direction[1 + self.order[first]] = self.deviations[first]
            return
        for i in range(first, self.n_columns):
            self.direction[1 + self.order[i]] = self.factor[packed_size(i) + first]

    cdef void end(self) noexcept nogil:
        """Have the model take rows as they are again."""
        self.model.gap_variance = 0.0
