"""Criteria over reference rows: reductions of variance and of improvement there.

Formulas: Gramacy, Taddy and Wild (2013), section 3; Gramacy and Lee (2011).
"""
import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.improvement cimport piecewise
from dyntree._core.trees.improvement import standard_improvement
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.query cimport rows_for
from dyntree._core.trees.query import expected_improvement, spread
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.types cimport handle_t

cdef double EPSILON = 2.220446049250313e-16


cdef object over(sums, double norm):
    """sums / norm, in place; a norm of zero gives infinities and NaN."""
    cdef double[::1] values = sums.reshape(-1)
    cdef Py_ssize_t k
    for k in range(values.shape[0]):
        values[k] /= norm
    return sums


cdef class _References:
    """Reference rows, and how much a row would explain of those in its leaf.

    Those of a leaf of the particle at hand are a chained list.
    """

    cdef Particles c
    cdef const double[:, ::1] rows
    cdef int32_t[::1] following
    cdef int32_t[::1] number    # of references in a chain, from each of them on
    cdef const Leaf *leaf       # of the row that `meet` was given
    cdef double c0              # that row, lifted
    cdef double[::1] lifted
    cdef double kappa

    def __init__(self, Particles c, rows):
        self.c = c
        self.rows = rows
        self.following, self.number = np.empty((2, len(rows)), dtype=np.int32)
        self.lifted = np.empty(2 * c.leaf_model.n_basis + 1)

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
            self.number[j] = 1 if leaf.entry < 0 else 1 + self.number[leaf.entry]
            leaf.entry = j

    cdef int32_t meet(self, handle_t root, const double *x) noexcept nogil:
        """First reference in the leaf of row x, or -1; lifts the row if there is one.
        """
        cdef const Leaf *leaf = self.c.arena.leaf(find_leaf(self.c.arena, root, x))
        if leaf.stamp != self.c.stamp:
            return -1
        self.leaf = leaf
        self.c0 = self.c.leaf_model.lift(leaf, x, &self.lifted[0], &self.kappa)
        return leaf.entry

    cdef double explained(self, int32_t k, double factor) noexcept nogil:
        """factor c^2 / (noise + kappa) for reference k.

        c is the covariance over sigma^2 of the leaf's means at the reference and at the
        row that was met. What is missing in the reference stands at the frozen centre,
        where its coordinate is 0.
        """
        cdef const double *z = &self.rows[k, 0]
        cdef double total = 0.0, cov
        cdef int32_t j
        for j in range(self.c.leaf_model.n_basis):
            if z[j] == z[j]:
                total += self.c.leaf_model.coordinate(self.leaf, j, z[j]) * self.lifted[j]
        cov = self.c0 + total
        return factor * (cov * cov) / (self.c.leaf_model.noise + self.kappa)


cdef object weights_for(Particles c, weights, int64_t n_references):
    shape = (c.n_particles, n_references)
    if weights is None:
        return np.ones(shape)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != shape:
        raise ValueError(f"weights must be of shape {shape}; got {weights.shape}.")
    return weights


def alc_reference(Particles c, X, Xref, weights=None):
    """Average reduction of variance at reference rows, were a row of X sampled.

    `weights`, of shape (n_particles, n_references), are of every particle and reference.
    """
    cdef const double[:, ::1] rows = rows_for(c, X)
    references = rows_for(c, Xref)
    cdef _References r = _References(c, references)
    cdef const double[:, ::1] w = weights_for(c, weights, len(references))
    cdef int32_t i, k
    cdef Py_ssize_t j
    cdef double factor
    out = np.zeros(rows.shape[0])
    cdef double[::1] sums = out
    with nogil:
        for i in range(c.n_particles):
            r.sort_into(c.roots[i])
            for j in range(rows.shape[0]):
                k = r.meet(c.roots[i], &rows[j, 0])
                if k < 0:
                    continue
                factor = c.leaf_model.sum_squares(r.leaf) / (
                    c.leaf_model.variance_df(r.leaf)
                )
                while k >= 0:
                    if w[i, k] > EPSILON:
                        sums[j] += w[i, k] * r.explained(k, factor)
                    k = r.following[k]
    return over(out, c.n_particles * len(references))


def ieci(Particles c, X, Xref, weights=None):
    """Integrated expected conditional improvement; arguments as `alc_reference`.

    How much less improvement is to be had at the references once a row of X is sampled
    (Gramacy and Lee 2011); only references in the row's own leaf change.
    """
    rows = rows_for(c, X)
    references = rows_for(c, Xref)
    table = weights_for(c, weights, len(references))
    location, scale, df = spread(c, references)
    if weights is None and c.numerics.integrates and np.all(df > 1.0):
        return _fall_by_tree(c, rows, references, location, scale, df)
    out = np.zeros(len(rows))
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
    return over(out, c.n_particles * len(references))


def _conditional_scales(
    Particles c, int32_t i, const double[:, ::1] rows, references,
    const double[:, ::1] scale,
):
    """Pairs (row, reference) that share a leaf of particle i, and the new scales."""
    cdef _References r = _References(c, references)
    cdef list chosen = [], reference = [], squared = []
    cdef Py_ssize_t j
    cdef int32_t k
    cdef double factor
    r.sort_into(c.roots[i])
    for j in range(rows.shape[0]):
        k = r.meet(c.roots[i], &rows[j, 0])
        if k < 0:
            continue
        factor = c.leaf_model.sum_squares(r.leaf) / c.leaf_model.df(r.leaf)
        while k >= 0:
            chosen.append(j)
            reference.append(k)
            squared.append(scale[i, k] * scale[i, k] - r.explained(k, factor))
            k = r.following[k]
    return (
        np.array(chosen, dtype=np.int64), np.array(reference, dtype=np.int64),
        np.sqrt(np.array(squared, dtype=np.float64)),
    )


cdef object _fall_by_tree(
    Particles c, const double[:, ::1] rows, references, location, scale, df
):
    """`ieci` with equal weights: once a distinct tree, improvements from a table."""
    every = np.empty(c.n_particles, dtype=np.int32)
    cdef handle_t[::1] all_roots = every
    cdef int32_t i, k
    for i in range(c.n_particles):
        all_roots[i] = c.roots[i]
    distinct, first, counts = np.unique(every, return_index=True, return_counts=True)
    order = np.argsort(first)       # that of the particles, not of their handles
    distinct, first, counts = distinct[order], first[order], counts[order]
    cdef const handle_t[::1] roots = distinct
    cdef const int64_t[::1] count = counts
    cdef const double[:, ::1] m = location[first], s = scale[first]
    cdef const double[::1] best = location[first].min(axis=1, initial=np.inf)
    kinds, which = np.unique(df[first], return_inverse=True)
    cdef const double[:, :, ::1] pieces = standard_improvement(kinds)
    cdef const int64_t[:, ::1] kind = which.reshape(df[first].shape).astype(np.int64)
    cdef const double[::1] dfs = kinds
    cdef _References r = _References(c, references)
    cdef bint alike = c.leaf_model.n_basis == 0     # whatever reference of a leaf it is
    cdef double factor, total, fall, left, squared
    cdef Py_ssize_t j
    out = np.zeros(rows.shape[0])
    cdef double[::1] sums = out
    with nogil:
        for i in range(roots.shape[0]):
            r.sort_into(roots[i])
            for j in range(rows.shape[0]):
                k = r.meet(roots[i], &rows[j, 0])
                total = 0.0
                if k >= 0:
                    factor = c.leaf_model.sum_squares(r.leaf) / c.leaf_model.df(r.leaf)
                while k >= 0:
                    squared = s[i, k] * s[i, k]
                    left = sqrt(squared - r.explained(k, factor))
                    fall = s[i, k] * piecewise(
                        pieces[kind[i, k]], dfs[kind[i, k]], (best[i] - m[i, k]) / s[i, k]
                    ) - left * piecewise(
                        pieces[kind[i, k]], dfs[kind[i, k]], (best[i] - m[i, k]) / left
                    )
                    total += r.number[k] * fall if alike else fall
                    k = -1 if alike else r.following[k]
                sums[j] += count[i] * total
    return over(out, c.n_particles * len(references))


