"""Posterior draws of trees of a cloud: where rows fall, and the laws of the leaves there.

A regression leaf's mean at a row with the terms w = (1, columns) is w'b. Its coefficients
have the law b = mean + sigma factor eps, where eps is standard normal and sigma^2 is
`sum_squares` over a chi-square variable with `df` degrees of freedom.
"""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from dyntree._core.linalg cimport at
from dyntree._core.trees.gap_answers cimport rows_with_gaps
from dyntree._core.trees.gap_filler cimport GapFiller
from dyntree._core.trees.gap_walk cimport MOST_LEAVES, GapWalk
from dyntree._core.trees.gaussian_leaves cimport FACTOR, GaussianLeaves
from dyntree._core.trees.native_counts cimport NativeMultinomial
from dyntree._core.trees.native_rates cimport FIRST, SECOND
from dyntree._core.trees.nodes cimport Leaf, Node, retired_weight
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.r_rules cimport INVERSE, LEVEL, RGaussian, SPREAD
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.types cimport handle_t


def root_splits(Particles c):
    """Column and value of the first split of each particle's tree; column -1: a leaf.

    Returns
    -------
    variable : ndarray of int32 of shape (n_particles,)
    value : ndarray of shape (n_particles,)
    """
    cdef int32_t i
    cdef Node *node
    variable = np.full(c.n_particles, -1, dtype=np.int32)
    value = np.zeros(c.n_particles)
    cdef int32_t[::1] variables = variable
    cdef double[::1] values = value
    for i in range(c.n_particles):
        if c.roots[i] > 0:
            node = c.arena.node(c.roots[i])
            variables[i], values[i] = node.variable, node.value
    return variable, value


cdef class LeafDraws:
    """A cloud and rows at which its trees are drawn.

    Parameters
    ----------
    c : Cloud
        It is read, and must not learn while this is in use.
    X : ndarray of shape (n_rows, n_features)

    Attributes
    ----------
    gaps : ndarray of int64 of shape (n_gaps,)
        Places of the rows that miss values, under native rules.
    """

    cdef Particles c
    cdef readonly object gaps
    cdef GapWalk walk
    # leaves that row gaps[k] may lie in, in the tree that was asked about last:
    # places[i] with shares[i], start[k] <= i < start[k + 1]
    cdef int64_t[::1] start
    cdef int32_t[::1] places
    cdef double[::1] shares
    cdef const int32_t[::1] leaves_found
    cdef const double[:, ::1] X
    cdef double[:, ::1] terms           # (n_rows, n_terms) 1, columns of regressions
    cdef int32_t[::1] marks             # (leaves,) place of a leaf in a tree, from 1 on
    cdef int n_terms

    def __init__(self, Particles c, const double[:, ::1] X):
        cdef Py_ssize_t j
        cdef int k
        cdef bint native = isinstance(c.leaf_model, GaussianLeaves)
        self.c, self.X = c, X
        is_gap = rows_with_gaps(c, X)
        self.gaps = np.flatnonzero([] if is_gap is None else is_gap)
        if len(self.gaps):
            self.walk = GapWalk(c.arena)
            self.start = np.zeros(len(self.gaps) + 1, dtype=np.int64)
        self.n_terms = c.leaf_model.n_basis + 1
        self.marks = np.zeros(c.arena.leaf_capacity(), dtype=np.int32)
        self.terms = np.ones((X.shape[0], self.n_terms))
        for j in range(X.shape[0]):
            for k in range(self.n_terms - 1):
                if native:
                    self.terms[j, 1 + k] = (
                        <GaussianLeaves> c.leaf_model
                    ).cross.standard(&X[j, 0], k)
                else:
                    self.terms[j, 1 + k] = X[j, k]

    @property
    def roots(self):
        """Root of each particle's tree; equal trees share it."""
        roots = np.empty(self.c.n_particles, dtype=np.int32)
        cdef int32_t[::1] out = roots
        cdef int32_t i
        for i in range(self.c.n_particles):
            out[i] = self.c.roots[i]
        return roots

    def leaves(self, handle_t root):
        """The leaves that rows fall into, in one tree.

        Returns
        -------
        home : ndarray of int32 of shape (n_rows,)
            Place of each row's leaf.
        leaves : ndarray of int32 of shape (n_leaves,)
            The leaves, as `coefficients` and `counts` know them.
        """
        cdef Py_ssize_t j, n_rows = self.X.shape[0]
        cdef int32_t n = 0, n_gaps = len(self.gaps)
        home = np.empty(n_rows, dtype=np.int32)
        found = np.empty(
            min(n_rows + n_gaps * MOST_LEAVES, self.marks.shape[0]), dtype=np.int32
        )
        cdef int32_t[::1] homes = home, leaves = found
        with nogil:
            for j in range(n_rows):
                homes[j] = self.place_of(
                    find_leaf(self.c.arena, root, &self.X[j, 0]), leaves, &n
                )
        if n_gaps:
            self.find_leaves_of_gaps(root, leaves, &n)
        for j in range(n):
            self.marks[-leaves[j]] = 0
        self.leaves_found = leaves[:n]
        return home, found[:n]

    cdef int32_t place_of(
        self, handle_t h, int32_t[::1] leaves, int32_t *n
    ) noexcept nogil:
        """Place of a leaf among those found, to which it is added if it is new."""
        if not self.marks[-h]:
            leaves[n[0]] = h
            n[0] += 1
            self.marks[-h] = n[0]
        return self.marks[-h] - 1

    cdef int find_leaves_of_gaps(
        self, handle_t root, int32_t[::1] leaves, int32_t *n
    ) except -1:
        """Fill `start`, `places` and `shares`."""
        cdef Py_ssize_t k
        cdef int32_t i
        cdef const int64_t[::1] gaps = self.gaps
        places, shares = [], []
        for k in range(gaps.shape[0]):
            self.walk.find(root, &self.X[gaps[k], 0])
            for i in range(self.walk.n):
                places.append(self.place_of(self.walk.leaves[i], leaves, n))
                shares.append(self.walk.shares[i])
            self.start[k + 1] = self.start[k] + self.walk.n
        self.places = np.array(places, dtype=np.int32)
        self.shares = np.array(shares)
        return 0

    def chosen(self, const double[:, ::1] u):
        """Leaves of the rows with gaps in some draws, by their shares.

        Parameters
        ----------
        u : ndarray of shape (n_draws, n_gaps)
            Uniform.

        Returns
        -------
        ndarray of int32 of shape (n_draws, n_gaps)
            Places among the leaves of the tree that `leaves` was called with last.
        """
        cdef Py_ssize_t d, k
        cdef int64_t i
        cdef double rest
        found = np.empty((u.shape[0], u.shape[1]), dtype=np.int32)
        cdef int32_t[:, ::1] out = found
        with nogil:
            for d in range(u.shape[0]):
                for k in range(u.shape[1]):
                    i, rest = self.start[k], u[d, k]
                    while i + 1 < self.start[k + 1] and rest >= self.shares[i]:
                        rest -= self.shares[i]
                        i += 1
                    out[d, k] = self.places[i]
        return found

    def values_over(
        self, const double[:, :, ::1] coefficients, const int32_t[:, ::1] chosen,
        const double[:, ::1] u, const double[:, :, ::1] eps,
    ):
        """Means at the rows with gaps, for one drawn value in the place of each gap.

        Parameters
        ----------
        coefficients : ndarray of shape (n_draws, n_leaves, n_terms)
        chosen : ndarray of int32 of shape (n_draws, n_gaps)
        u : ndarray of shape (n_draws, n_gaps)
            Uniform; they choose the ways of indicators, see `gap_filler`.
        eps : ndarray of shape (n_draws, n_gaps, n_terms - 1)
            Standard normal, for the other gaps of a row.

        Returns
        -------
        ndarray of shape (n_draws, n_gaps)
        """
        cdef GapFiller filler = self.c.filler
        cdef const int64_t[::1] gaps = self.gaps
        cdef Py_ssize_t d, k
        cdef int64_t i
        cdef int32_t way, j, m
        cdef double below, total
        cdef const double *x
        cdef const double *b
        found = np.empty((chosen.shape[0], chosen.shape[1]))
        cdef double[:, ::1] out = found
        cdef double[:, ::1] along = np.empty((self.n_terms, self.n_terms))
        with nogil:
            for k in range(chosen.shape[1]):
                for i in range(self.start[k], self.start[k + 1]):
                    below = 0.0
                    for way in range(filler.begin(
                        self.c.arena.leaf(self.leaves_found[self.places[i]]),
                        &self.X[gaps[k], 0], self.c.pool.seen,
                    )):
                        x = filler.way(way)
                        for m in range(filler.n_gaps()):
                            filler.point_along(m)
                            for j in range(self.n_terms):
                                along[m, j] = filler.direction[j]
                        for d in range(chosen.shape[0]):
                            if chosen[d, k] != self.places[i] or not (
                                below <= u[d, k]
                                and (u[d, k] < below + filler.shares[way]
                                     or way == filler.n_ways - 1)
                            ):
                                continue
                            b = &coefficients[d, chosen[d, k], 0]
                            total = b[0]
                            for j in range(1, self.n_terms):
                                total += b[j] * filler.model.cross.standard(x, j - 1)
                            for m in range(filler.n_gaps()):
                                for j in range(1, self.n_terms):
                                    total += b[j] * along[m, j] * eps[d, k, m]
                            out[d, k] = total
                        below += filler.shares[way]
                    filler.end()
        return found

    def coefficients(self, const int32_t[::1] leaves):
        """Laws of regression leaves.

        Returns
        -------
        mean : ndarray of shape (n_leaves, n_terms)
        factor : ndarray of shape (n_leaves, n_terms, n_terms)
        sum_squares, df : ndarray of shape (n_leaves,)
        """
        cdef Py_ssize_t k
        cdef Leaf *leaf
        cdef int n = self.n_terms
        mean = np.zeros((leaves.shape[0], n))
        factor = np.zeros((leaves.shape[0], n, n))
        scale = np.empty((2, leaves.shape[0]))
        cdef double[:, ::1] means = mean, scales = scale
        cdef double[:, :, ::1] factors = factor
        cdef bint native = isinstance(self.c.leaf_model, GaussianLeaves)
        for k in range(leaves.shape[0]):
            leaf = self.c.arena.leaf(leaves[k])
            scales[0, k] = self.c.leaf_model.sum_squares(leaf)
            scales[1, k] = self.c.leaf_model.df(leaf)
            if native:
                self.native_law(leaf, &means[k, 0], &factors[k, 0, 0])
            else:
                self.r_law(leaf, &means[k, 0], factor[k])
        return mean, factor, scale[0], scale[1]

    cdef void native_law(self, const Leaf *leaf, double *mean, double *factor) noexcept:
        """Of coefficients on the frozen scale: factor is U^-1, mean U^-1 u."""
        cdef GaussianLeaves g = <GaussianLeaves> self.c.leaf_model
        cdef const double *last = leaf.derived + FACTOR + at(0, self.n_terms)
        cdef int first = g.skip, n = self.n_terms - first, i, j
        g.invert_factor(leaf, g.inverse_columns, g.inverse_rows)
        for i in range(n):
            for j in range(i, n):
                factor[(first + i) * self.n_terms + first + j] = (
                    g.inverse_rows[i * n + j]
                )
                mean[first + i] += g.inverse_rows[i * n + j] * last[first + j]
            mean[first + i] *= g.cross.y_spread
        mean[0] += g.cross.y_centre

    cdef object r_law(self, const Leaf *leaf, double *mean, object factor):
        """Of a level and slopes under R's rules, which centre rows or do not."""
        cdef RGaussian g = <RGaussian> self.c.leaf_model
        cdef const double *t = leaf.derived
        cdef int q = self.n_terms - 1, i, j
        mean[0] = t[LEVEL]
        factor[0, 0] = np.sqrt(t[SPREAD])
        if q == 0:
            return
        inverse, means = np.empty((q, q)), np.zeros(q)
        for j in range(q):
            mean[1 + j] = t[g.slopes_at + j]
            if g.rounds_rows:
                means[j] = t[g.means + j]
                mean[0] -= mean[1 + j] * means[j]
            for i in range(j + 1):
                inverse[i, j] = inverse[j, i] = t[INVERSE + at(i, j)]
        values, vectors = np.linalg.eigh(inverse)
        factor[1:, 1:] = vectors * np.sqrt(np.maximum(values, 0.0))
        factor[0, 1:] = -means @ factor[1:, 1:]

    def values(self, const double[:, :, ::1] coefficients, const int32_t[::1] home):
        """Means at all rows by coefficients of each draw in each leaf.

        Parameters
        ----------
        coefficients : ndarray of shape (n_draws, n_leaves, n_terms)
        home : ndarray of int32 of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
        """
        cdef Py_ssize_t d, j, n_rows = self.X.shape[0]
        cdef int k
        cdef const double *b
        cdef double total
        found = np.empty((coefficients.shape[0], n_rows))
        cdef double[:, ::1] out = found
        with nogil:
            for d in range(coefficients.shape[0]):
                for j in range(n_rows):
                    b = &coefficients[d, home[j], 0]
                    total = b[0]
                    for k in range(1, self.n_terms):
                        total += self.terms[j, k] * b[k]
                    out[d, j] = total
        return found

    def rates(self, const int32_t[::1] leaves):
        """Parameters of the laws of rates in leaves of counts, two of (n_leaves,)."""
        cdef Py_ssize_t k
        cdef Leaf *leaf
        found = np.empty((2, leaves.shape[0]))
        cdef double[:, ::1] out = found
        for k in range(leaves.shape[0]):
            leaf = self.c.arena.leaf(leaves[k])
            out[0, k], out[1, k] = leaf.derived[FIRST], leaf.derived[SECOND]
        return found[0], found[1]

    def counts(self, const int32_t[::1] leaves):
        """Parameters of the Dirichlet laws of class leaves, (n_leaves, n_classes)."""
        cdef Py_ssize_t k
        cdef int j, n_classes = self.c.leaf_model.n_classes
        cdef Leaf *leaf
        cdef double mass = 1.0, total
        if isinstance(self.c.leaf_model, NativeMultinomial):
            mass = (<NativeMultinomial> self.c.leaf_model).mass
        found = np.empty((leaves.shape[0], n_classes))
        cdef double[:, ::1] out = found
        for k in range(leaves.shape[0]):
            leaf = self.c.arena.leaf(leaves[k])
            total = mass + leaf.active[0] + retired_weight(leaf)
            for j in range(n_classes):
                out[k, j] = total * self.c.leaf_model.probability(leaf, j)
        return found
