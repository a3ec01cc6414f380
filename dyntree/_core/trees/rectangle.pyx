"""Exact integrals of predictive variance over a leaf's share of a rectangle."""
from libc.math cimport isnan
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from dyntree._core.trees.nodes cimport is_gap_cut, retired_weight


cdef class Rectangle:
    """A rectangle over the columns.

    Parameters
    ----------
    c : Cloud
    lower, upper : ndarray of shape (n_features,)
        NaN, of a column that is missing throughout, counts as 0.
    categorical : ndarray of bool of shape (n_features,)
        0/1 columns.
    approx : bool
        Weigh a leaf by its rows instead of its share of the rectangle.

    Notes
    -----
    The mean of (c0 + z'u)^2 over independent coordinates is
    (c0 + E[z]'u)^2 + sum_j u_j^2 Var[z_j], which replaces the double sums of the
    papers (Gramacy, Taddy and Wild 2013, section 3). Columns without width have a
    variance of zero and take nothing off the area.
    """

    def __cinit__(self, Particles c, lower, upper, categorical, bint approx):
        cdef int32_t m = c.pool.n_features, k
        cdef double *block = <double *> calloc(8 * m + 1, sizeof(double))
        self.categorical = <bint *> calloc(m, sizeof(bint))
        self.low = block
        if block == NULL or self.categorical == NULL:
            raise MemoryError()
        self.high = block + m
        self.mean = block + 2 * m
        self.variance = block + 3 * m
        self.gaps = block + 4 * m
        self.lifted = block + 5 * m
        if not len(lower) == len(upper) == len(categorical) == m:
            raise ValueError(f"lower, upper and categorical must have {m} entries.")
        self.c = c
        self.approx = approx
        self.counts_gaps = True
        self.share = 1.0
        for k in range(m):
            self.low[k] = lower[k]
            self.high[k] = upper[k]
            if isnan(self.low[k]):
                self.low[k] = self.high[k] = 0.0
            self.categorical[k] = categorical[k]
            self.gaps[k] = c.gap_share(k)

    def __dealloc__(self):
        free(self.low)
        free(self.categorical)

    cdef void enter(self, const Node *node, bint left, Sides *before) noexcept nogil:
        """Narrow the rectangle to a child's side of a split."""
        cdef int32_t j = node.variable
        cdef double width = self.high[j] - self.low[j], cut = node.value
        before.low = self.low[j]
        before.high = self.high[j]
        before.share = self.share
        if is_gap_cut(cut):
            if self.counts_gaps:
                self.share *= self.side(node, left)
            if not left:            # what is missing stands where its coordinate is 0
                self.low[j] = self.high[j] = self.c.leaf_model.neutral(j)
            return
        if cut < self.low[j]:
            cut = self.low[j]
        if cut > self.high[j]:
            cut = self.high[j]
        if self.categorical[j] and width > 0.0:
            if 0.0 <= node.value < 1.0:
                self.share *= 0.5
                self.low[j] = self.high[j] = 0.0 if left else 1.0
            elif left != (node.value >= 1.0):
                self.share = 0.0
            return
        if width > 0.0:
            self.share *= (cut - self.low[j] if left else self.high[j] - cut) / width
        elif left != (self.low[j] <= node.value):
            self.share = 0.0
        if left:
            self.high[j] = cut
        else:
            self.low[j] = cut

    cdef double side(self, const Node *node, bint left) noexcept nogil:
        """How often rows are on one side of a split that parts by gaps."""
        cdef double missing = self.gaps[node.variable]
        return 1.0 - missing if left else missing

    cdef void leave(self, const Node *node, const Sides *before) noexcept nogil:
        """Undo `enter`."""
        self.low[node.variable] = before.low
        self.high[node.variable] = before.high
        self.share = before.share

    cdef double whole(self) noexcept nogil:
        """What sums over leaves are divided by."""
        if self.approx:
            return <double> (self.c.pool.n_rows + self.c.n_retired)
        return 1.0

    cdef double weight(self, const Leaf *leaf) noexcept nogil:
        return leaf.n_rows + retired_weight(leaf) if self.approx else self.share

    cdef void moments(self, const Leaf *leaf) noexcept nogil:
        """Mean and variance of the regression's coordinates in the leaf's share."""
        cdef int32_t j
        cdef double low, high
        for j in range(self.c.leaf_model.n_basis):
            low = self.c.leaf_model.coordinate(leaf, j, self.low[j])
            high = self.c.leaf_model.coordinate(leaf, j, self.high[j])
            self.mean[j] = 0.5 * (low + high)
            self.variance[j] = (high - low) * (high - low) / (
                4.0 if self.categorical[j] else 12.0
            )

    cdef void reductions(
        self, const Leaf *leaf, const double *rows, const int32_t *which, int32_t n,
        const double *weights, double *out,
    ) noexcept nogil:
        """Q / (df - 2) times the mean of c(z)^2 / (1 / w + kappa): Cohn (1996) for a leaf.

        Without a regression all rows of a leaf fare alike, if they weigh the same.
        """
        cdef double df = self.c.leaf_model.variance_df(leaf)
        cdef double weight = self.weight(leaf), factor
        cdef bint alike = self.c.leaf_model.n_basis == 0 and weights == NULL
        cdef int32_t k
        if df <= 0.0 or weight == 0.0:
            for k in range(n):
                out[k] = 0.0
            return
        factor = weight * self.c.leaf_model.sum_squares(leaf) / df
        self.moments(leaf)
        self.c.leaf_model.explain_rows(
            leaf, self.mean, self.variance, rows, self.c.pool.n_features, which,
            1 if alike else n, weights, out,
        )
        for k in range(n):
            out[k] = out[0] if alike and k else factor * out[k]

    cdef double volume(self, const Leaf *leaf) noexcept nogil:
        """Integral of the predictive variance Q / df (noise + kappa), or of the entropy.
        """
        if self.weight(leaf) == 0.0:
            return 0.0
        self.moments(leaf)
        if self.c.leaf_model.n_classes:
            return self.weight(leaf) * self.c.leaf_model.mean_entropy(
                leaf, self.mean, self.variance, self.lifted
            )
        return self.weight(leaf) * self.c.leaf_model.sum_squares(leaf) * (
            self.c.leaf_model.noise + self.c.leaf_model.mean_kappa(
                leaf, self.mean, self.variance, self.lifted
            )
        ) / self.c.leaf_model.df(leaf)
