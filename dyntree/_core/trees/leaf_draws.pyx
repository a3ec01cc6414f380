"""Posterior draws of trees of a cloud: where rows fall, and the laws of the leaves there.

A regression leaf's mean at a row with the terms w = (1, columns) is w'b. Its coefficients
have the law b = mean + sigma factor eps, where eps is standard normal and sigma^2 is
`sum_squares` over a chi-square variable with `df` degrees of freedom.
"""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from dyntree._core.linalg cimport at
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
    """

    cdef Particles c
    cdef const double[:, ::1] X
    cdef double[:, ::1] terms           # (n_rows, n_terms) 1, columns of regressions
    cdef int32_t[::1] marks             # (leaves,) place of a leaf in a tree, from 1 on
    cdef int n_terms

    def __init__(self, Particles c, const double[:, ::1] X):
        cdef Py_ssize_t j
        cdef int k
        cdef bint native = isinstance(c.leaf_model, GaussianLeaves)
        self.c, self.X = c, X
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
        """Root of each particle's tree, by which equal trees are told."""
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
        cdef int32_t n = 0
        cdef handle_t h
        home = np.empty(n_rows, dtype=np.int32)
        found = np.empty(min(n_rows, self.marks.shape[0]), dtype=np.int32)
        cdef int32_t[::1] homes = home, leaves = found
        with nogil:
            for j in range(n_rows):
                h = find_leaf(self.c.arena, root, &self.X[j, 0])
                if not self.marks[-h]:
                    leaves[n] = h
                    n += 1
                    self.marks[-h] = n
                homes[j] = self.marks[-h] - 1
            for j in range(n):
                self.marks[-leaves[j]] = 0
        return home, found[:n]

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
