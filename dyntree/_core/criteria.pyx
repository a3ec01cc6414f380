"""Active-learning criteria and relevance, analytic over rectangles or numerical.

Formulas: Gramacy, Taddy and Wild (2013), sections 2.3 and 3; Anagnostopoulos and
Gramacy (2013), section 4.2; in R's arithmetic where CRAN dynaTree departs from them.
"""
import numpy as np
from scipy.special import stdtr

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from dyntree._core.linalg cimport dot, symmetric_times
from dyntree._core.query cimport blocks, rows_for, rows_to_round
from dyntree._core.query import (
    expected_improvement, predictive, split_counts, t_densities,
)
from dyntree._core.tree cimport find_leaf, gather
from dyntree._core.types cimport Node

cdef double EPSILON = 2.220446049250313e-16


cdef class Region:
    """A rectangle over the columns, and the integrals over a leaf's share of it.

    Parameters
    ----------
    c : Cloud
    lower, upper : ndarray of shape (n_features,)
    categorical : ndarray of bool of shape (n_features,)
        0/1 columns, whose width does not count.
    approx : bool
        Weigh a leaf by its rows instead of its area.
    """

    def __cinit__(self, Particles c, lower, upper, categorical, bint approx):
        cdef int32_t m = c.pool.n_features, k
        cdef double *block = <double *> calloc(6 * m, sizeof(double))
        self.categorical = <bint *> calloc(m, sizeof(bint))
        if block == NULL or self.categorical == NULL:
            free(block)
            raise MemoryError()
        self.low = block
        self.high = block + m
        self.shifted_low = block + 2 * m
        self.shifted_high = block + 3 * m
        self.lifted = block + 4 * m
        self.centred = block + 5 * m
        if not len(lower) == len(upper) == len(categorical) == m:
            raise ValueError(f"lower, upper and categorical must have {m} entries.")
        self.c = c
        self.approx = approx
        for k in range(m):
            self.low[k] = lower[k]
            self.high[k] = upper[k]
            self.categorical[k] = categorical[k]

    def __dealloc__(self):
        free(self.low)
        free(self.categorical)

    cdef double *side(
        self, int32_t variable, bint left, double value, double *kept
    ) noexcept nogil:
        """Narrow one bound to a child's region; the bound's place and old value."""
        cdef double *bound = (self.high if left else self.low) + variable
        kept[0] = bound[0]
        bound[0] = self.high[variable] / 2.0 if self.categorical[variable] else value
        return bound

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
        cdef const double *means = self.c.leaf_model.centre(leaf)
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
        cdef const double *means = self.c.leaf_model.centre(leaf)
        cdef double spread = self.c.leaf_model.spread(leaf)
        if q == 0:
            return spread
        for k in range(q):
            self.centred[k] = x[k] - means[k] if means != NULL else x[k]
        symmetric_times(self.c.leaf_model.inverse(leaf), self.centred, self.lifted, q)
        return spread + dot(self.centred, self.lifted, q)

    cdef double square_integral(
        self, const Leaf *leaf, bint regression
    ) noexcept nogil:
        """Integral of (spread + z'u)^2 over the leaf's rectangle, u = `lifted` (9.5)."""
        cdef int32_t q = self.c.leaf_model.n_basis, i, j, n
        cdef double *low = self.shifted_low
        cdef double *high = self.shifted_high
        cdef double *u = self.lifted
        cdef double area = 1.0, c = self.c.leaf_model.spread(leaf), total, wi, wj, si
        if self.approx:
            area = leaf.n_rows + leaf.retired[0]
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

    cdef double reduction_below(self, handle_t h, double *x) noexcept nogil:
        """`reduction` in the leaf of x below h; leaves x as the evaluation does."""
        cdef Node *node
        cdef bint left
        cdef double kept, value
        cdef double *bound
        if h < 0:
            value = self.reduction(self.c.arena.leaf(h), x)
            self.c.leaf_model.round_row(self.c.arena.leaf(h), x)
            return value
        node = self.c.arena.node(h)
        left = x[node.variable] <= node.value
        bound = self.side(node.variable, left, node.value, &kept)
        value = self.reduction_below(node.left if left else node.right, x)
        bound[0] = kept
        return value

    cdef int credit_below(self, handle_t h) noexcept nogil:
        """Credit each row of each leaf below h; leaves with credit keep it (9.6).

        Where models round the rows they evaluate, every particle rounds them again.
        -1: no memory.
        """
        cdef Node *node
        cdef Leaf *leaf
        cdef double kept
        cdef double *bound
        cdef int32_t k
        if h < 0:
            leaf = self.c.arena.leaf(h)
            if leaf.credit == NULL and leaf.n_rows:
                if self.c.arena.reserve_credit(leaf) < 0:
                    return -1
                for k in range(leaf.n_rows):
                    leaf.credit[k] = self.reduction(leaf, self.c.pool.x(leaf.rows[k]))
                leaf.stamp = self.c.stamp
            if self.c.leaf_model.rounds_rows and leaf.stamp == self.c.stamp:
                for k in range(leaf.n_rows):
                    self.c.leaf_model.round_row(leaf, self.c.pool.x(leaf.rows[k]))
            return 0
        node = self.c.arena.node(h)
        bound = self.side(node.variable, True, node.value, &kept)
        if self.credit_below(node.left) < 0:
            return -1
        bound[0] = kept
        bound = self.side(node.variable, False, node.value, &kept)
        if self.credit_below(node.right) < 0:
            return -1
        bound[0] = kept
        return 0

    cdef double quadratic(self, const double *inverse) noexcept nogil:
        """Mean of z'Az over the rectangle about the leaf's centre (9.8)."""
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
            area = leaf.n_rows + leaf.retired[0]
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
        spread = 1.0 + self.c.leaf_model.spread(leaf)
        if n:
            spread += self.quadratic(self.c.leaf_model.inverse(leaf))
        return (
            self.c.leaf_model.sum_squares(leaf) * (area * spread)
            / self.c.leaf_model.df(leaf)
        )

    cdef double relevance_below(self, handle_t h) noexcept nogil:
        """Volume at h; what each split below takes off goes to its column."""
        cdef Node *node
        cdef double kept, value, below
        cdef double *bound
        if h < 0:
            return self.volume(self.c.arena.leaf(h))
        node = self.c.arena.node(h)
        self.c.moves.pool_below(h)
        value = self.volume(self.c.moves.pooled)
        bound = self.side(node.variable, True, node.value, &kept)
        below = self.relevance_below(node.left)
        bound[0] = kept
        bound = self.side(node.variable, False, node.value, &kept)
        below = below + self.relevance_below(node.right)
        bound[0] = kept
        self.column_sums[node.variable] += value - below
        return value


def alc_rectangle(Particles c, X, lower, upper, categorical, approx):
    """Average reduction of variance over a rectangle, were a row of X sampled.

    Parameters
    ----------
    c : Cloud
    X : ndarray of shape (n_rows, n_features)
    lower, upper : ndarray of shape (n_features,)
    categorical : ndarray of bool of shape (n_features,)
    approx : bool

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    cdef const double[:, ::1] rows = rows_to_round(c, X)
    cdef Region region = Region(c, lower, upper, categorical, approx)
    cdef Py_ssize_t j
    cdef int32_t i
    out = np.zeros(rows.shape[0])
    cdef double[::1] sums = out
    with nogil:
        for i in range(c.n_particles):
            for j in range(rows.shape[0]):
                sums[j] += region.reduction_below(
                    c.roots[i], <double *> &rows[j, 0]
                )
    return _over(out, c.n_particles * region.whole())


def _over(sums, norm):
    """sums / norm; a norm of zero gives infinities and NaN."""
    with np.errstate(all="ignore"):
        return sums / np.float64(norm)


cdef object credits(Particles c):
    """Credit of every active row summed over particles, in internal order."""
    cdef int32_t[::1] place = np.zeros(c.pool.capacity + 1, dtype=np.int32)
    cdef int32_t i, k, j, n
    cdef Leaf *leaf
    out = np.zeros(c.pool.n_rows)
    cdef double[::1] sums = out
    for k in range(c.pool.n_rows):
        place[c.pool.order[k]] = k
    c.moves.reserve(0, c.arena.live_leaves + 1)
    with nogil:
        for i in range(c.n_particles):
            n = gather(c.arena, c.roots[i], c.moves.leaves)
            for k in range(n):
                leaf = c.moves.leaves[k]
                for j in range(leaf.n_rows):
                    sums[place[leaf.rows[j]]] += leaf.credit[j]
    return out


def alc_active(Particles c, lower, upper, categorical, approx):
    """`alc_rectangle` at the active rows, in internal order, shape (n_active,).

    A leaf's values are kept and used again, whatever the rectangle, until a row is
    added to it or it is made anew, as CRAN dynaTree does.
    """
    cdef Region region = Region(c, lower, upper, categorical, approx)
    cdef int32_t i
    cdef int status = 0
    c.stamp += 1
    with nogil:
        for i in range(c.n_particles):
            if region.credit_below(c.roots[i]) < 0:
                status = -1
                break
    if c.leaf_model.rounds_rows:
        c.forget_limits()
    if status < 0:
        raise MemoryError()
    return _over(credits(c), c.n_particles * region.whole())


def entropy_active(Particles c):
    """Average entropy of the leaf of each active row, kept as in `alc_active`."""
    cdef int32_t i, k, j, n
    cdef Leaf *leaf
    cdef double p, entropy
    c.moves.reserve(0, c.arena.live_leaves + 1)
    for i in range(c.n_particles):
        n = gather(c.arena, c.roots[i], c.moves.leaves)
        for k in range(n):
            leaf = c.moves.leaves[k]
            if leaf.credit != NULL or not leaf.n_rows:
                continue
            if c.arena.reserve_credit(leaf) < 0:
                raise MemoryError()
            entropy = 0.0
            for j in range(c.leaf_model.n_classes):
                p = c.leaf_model.probability(leaf, j)
                entropy -= p * log(p)
            for j in range(leaf.n_rows):
                leaf.credit[j] = entropy
    return credits(c) / c.n_particles


cdef class _References:
    """Reference rows by leaf: a chained list per leaf of the particle at hand."""

    cdef Particles c
    cdef const double[:, ::1] rows
    cdef int32_t[::1] following

    def __init__(self, Particles c, rows):
        self.c = c
        self.rows = rows
        self.following = np.empty(len(rows), dtype=np.int32)

    cdef void sort_into(self, handle_t root) noexcept nogil:
        """Chain the references to the leaves of this tree, in increasing order."""
        cdef int32_t j
        cdef Leaf *leaf
        self.c.stamp += 1
        for j in range(<int32_t> self.rows.shape[0] - 1, -1, -1):
            leaf = self.c.arena.leaf(find_leaf(self.c.arena, root, &self.rows[j, 0]))
            if leaf.stamp != self.c.stamp:
                leaf.stamp = self.c.stamp
                leaf.entry = -1
            self.following[j] = leaf.entry
            leaf.entry = j

    cdef int32_t first(self, const Leaf *leaf) noexcept nogil:
        return leaf.entry if leaf.stamp == self.c.stamp else -1


cdef double covariance(
    Particles c, const Leaf *leaf, const double *z, const double *lifted
) noexcept nogil:
    """Covariance of the leaf's means at z and at the lifted row, over sigma^2."""
    cdef const double *means = c.leaf_model.centre(leaf)
    cdef double total = 0.0
    cdef int32_t k
    for k in range(c.leaf_model.n_basis):
        total += (z[k] - means[k] if means != NULL else z[k]) * lifted[k]
    return c.leaf_model.spread(leaf) + total


cdef object weights_for(Particles c, weights, int64_t n_references):
    shape = (c.n_particles, n_references)
    if weights is None:
        return np.ones(shape)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != shape:
        raise ValueError(f"weights must be of shape {shape}; got {weights.shape}.")
    return weights


cdef Region no_region(Particles c):
    m = c.pool.n_features
    return Region(c, np.zeros(m), np.zeros(m), np.zeros(m, dtype=bool), False)


def alc_reference(Particles c, X, Xref, weights=None):
    """Average reduction of variance at reference rows, were a row of X sampled.

    Parameters
    ----------
    c : Cloud
    X : ndarray of shape (n_rows, n_features)
    Xref : ndarray of shape (n_references, n_features)
    weights : ndarray of shape (n_particles, n_references), optional
        Of every particle and reference; default 1.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    cdef const double[:, ::1] rows = rows_for(c, X)
    references = rows_for(c, Xref)
    cdef _References r = _References(c, references)
    cdef const double[:, ::1] w = weights_for(c, weights, len(references))
    cdef Region region = no_region(c)
    cdef int32_t i, k
    cdef Py_ssize_t j
    cdef Leaf *leaf
    cdef double kappa, factor, cov
    out = np.zeros(rows.shape[0])
    cdef double[::1] sums = out
    with nogil:
        for i in range(c.n_particles):
            r.sort_into(c.roots[i])
            for j in range(rows.shape[0]):
                leaf = c.arena.leaf(find_leaf(c.arena, c.roots[i], &rows[j, 0]))
                k = r.first(leaf)
                if k < 0:
                    continue
                kappa = region.kappa(leaf, &rows[j, 0])
                factor = c.leaf_model.sum_squares(leaf) / (
                    c.leaf_model.df(leaf) - 2.0
                )
                while k >= 0:
                    if w[i, k] > EPSILON:
                        cov = covariance(c, leaf, &r.rows[k, 0], region.lifted)
                        sums[j] += w[i, k] * (factor * (cov * cov) / (1.0 + kappa))
                    k = r.following[k]
    return _over(out, c.n_particles * len(references))


def ieci(Particles c, X, Xref, weights=None):
    """Integrated expected conditional improvement; arguments as `alc_reference`.

    How much less improvement is to be had at the references once a row of X is sampled
    (Gramacy and Lee 2011); only references in the row's own leaf change.
    """
    rows = rows_for(c, X)
    references = rows_for(c, Xref)
    table = weights_for(c, weights, len(references))
    out = np.zeros(len(rows))
    location, scale, df = predictive(c, references)
    with np.errstate(all="ignore"):
        best = location.min(axis=1, initial=np.inf)
        before = expected_improvement(location, scale, df, best[:, None])
        for i in range(c.n_particles):
            chosen, reference, reduced = _conditional_scales(
                c, i, rows, references, scale
            )
            after = expected_improvement(
                location[i, reference], reduced, df[i, reference],
                np.full(len(reference), best[i]),
            )
            w = table[i, reference]
            gain = np.where(w > EPSILON, w * (before[i, reference] - after), 0.0)
            out += np.bincount(chosen, gain, minlength=len(rows))
            # in other leaves nothing changes, and inf - inf and NaN - NaN are NaN
            endless = (np.asarray(table[i]) > EPSILON) & ~np.isfinite(before[i])
            if endless.any():
                own = np.bincount(chosen, endless[reference], minlength=len(rows))
                out[own < endless.sum()] = np.nan
    return _over(out, c.n_particles * len(references))


def _conditional_scales(
    Particles c, int32_t i, const double[:, ::1] rows, references,
    const double[:, ::1] scale,
):
    """Pairs (row, reference) that share a leaf of particle i, and the new scales."""
    cdef _References r = _References(c, references)
    cdef Region region = no_region(c)
    cdef list chosen = [], reference = [], squared = []
    cdef Py_ssize_t j
    cdef int32_t k
    cdef Leaf *leaf
    cdef double kappa, factor, cov
    r.sort_into(c.roots[i])
    for j in range(rows.shape[0]):
        leaf = c.arena.leaf(find_leaf(c.arena, c.roots[i], &rows[j, 0]))
        k = r.first(leaf)
        if k < 0:
            continue
        kappa = region.kappa(leaf, &rows[j, 0])
        factor = c.leaf_model.sum_squares(leaf) / c.leaf_model.df(leaf)
        while k >= 0:
            cov = covariance(c, leaf, &r.rows[k, 0], region.lifted)
            chosen.append(j)
            reference.append(k)
            squared.append(
                scale[i, k] * scale[i, k] - factor * (cov * cov) / (1.0 + kappa)
            )
            k = r.following[k]
    return (
        np.array(chosen, dtype=np.int64), np.array(reference, dtype=np.int64),
        np.sqrt(np.array(squared, dtype=np.float64)),
    )


def q_entropy(Particles c, X, q):
    """Average entropy of the event {Y <= q} at each row, shape (n_rows,)."""
    rows = rows_for(c, X)
    out = np.empty(len(rows))
    with np.errstate(all="ignore"):
        for part in blocks(c, len(rows)):
            location, scale, df = predictive(c, rows[part])
            p = stdtr(df, (q - location) / scale)
            entropy = -(p * np.log(p) + (1.0 - p) * np.log(1.0 - p))
            entropy[(p == 0.0) | (p == 1.0)] = 0.0
            out[part] = entropy.sum(axis=0) / c.n_particles
    return out


def q_improvement(Particles c, X, q, alpha):
    """Average expected improvement of the contour at q (Ranjan et al. 2008)."""
    rows = rows_for(c, X)
    out = np.empty(len(rows))
    with np.errstate(all="ignore"):
        for part in blocks(c, len(rows)):
            location, scale, df = predictive(c, rows[part])
            h = alpha * scale * np.sqrt(df / (df - 2.0))
            below, above = (q - location - h) / scale, (q - location + h) / scale
            t1, t2 = t_densities(below, df), t_densities(above, df)
            value = (
                (h * h - (location - q) ** 2 - scale * scale)
                * (stdtr(df, above) - stdtr(df, below))
                + scale * scale * (above * t2 - below * t1)
                + 2.0 * (location - q) * scale * (t2 - t1)
            )
            out[part] = value.sum(axis=0) / c.n_particles
    return out


def relevance(Particles c, lower, upper, categorical, approx):
    """Average variance (or entropy) that the splits on each column take off.

    Arguments as `alc_rectangle`. A split's reduction is the integral at the node less
    those of its children (Gramacy, Taddy and Wild 2013, section 2.2). Leaves of the
    prior model know no variance: there each split counts 1.

    Returns
    -------
    ndarray of shape (n_particles, n_features)
    """
    if c.options["model"] == "prior":
        return split_counts(c).astype(np.float64)
    cdef Region region = Region(c, lower, upper, categorical, approx)
    cdef int32_t i, m = c.pool.n_features
    out = np.zeros((c.n_particles, m))
    cdef double[:, ::1] sums = out
    c.reserve(c.pool.n_rows)
    with nogil:
        for i in range(c.n_particles):
            region.column_sums = &sums[i, 0]
            region.relevance_below(c.roots[i])
    return _over(out, region.whole())
