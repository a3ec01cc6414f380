"""Active-learning criteria and relevance, analytic over rectangles or numerical.

Formulas: Gramacy, Taddy and Wild (2013), sections 2.3 and 3; Anagnostopoulos and
Gramacy (2013), section 4.2; in R's arithmetic where CRAN dynaTree departs from them.
"""
import numpy as np
from scipy.special import stdtr

from libc.stdint cimport int32_t

from dyntree._core.trees.improvement import normal_improvement, student_improvement
from dyntree._core.trees.distinct_trees cimport DistinctTrees
from dyntree._core.trees.block_partition cimport (
    BLOCK, WHOLE, BlockPartition, close_block, open_block, parting_by,
)
from dyntree._core.trees.gap_answers cimport rows_with_gaps
from dyntree._core.trees.gap_walk cimport GapWalk
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.query cimport blocks, rows_for, rows_to_round
from dyntree._core.trees.query import predictive, split_counts, spread
from dyntree._core.trees.rectangle cimport Rectangle, Sides
from dyntree._core.trees.r_rectangle cimport RRectangle
from dyntree._core.trees.references cimport over
from dyntree._core.trees.references import alc_reference, ieci      # names of this module, too
from dyntree._core.trees.row_credit cimport RowCredit
from dyntree._core.trees.nodes cimport Leaf, Node, goes_left
from dyntree._core.types cimport handle_t


cdef object rectangle_for(Particles c, lower, upper, categorical, approx):
    """A rectangle with the integrals of the cloud's rules."""
    kind = Rectangle if c.numerics.integrates else RRectangle
    return kind(c, lower, upper, categorical, approx)


cdef double reduction_below(Rectangle r, handle_t h, double *x) noexcept nogil:
    """Reduction in the leaf of x below h; leaves x as the evaluation does."""
    cdef Node *node
    cdef Leaf *leaf
    cdef Sides before
    cdef bint left
    cdef double value
    cdef int32_t itself = 0
    if h < 0:
        leaf = r.c.arena.leaf(h)
        r.reductions(leaf, x, &itself, 1, NULL, &value)
        r.c.leaf_model.round_row(leaf, x)
        return value
    node = r.c.arena.node(h)
    left = goes_left(node, x)
    r.enter(node, left, &before)
    value = reduction_below(r, node.left if left else node.right, x)
    r.leave(node, &before)
    return value


cdef double reduction_over(
    Rectangle r, GapWalk walk, handle_t h, const double *weight
) noexcept nogil:
    """Reduction below h at a row on both sides of splits that are open for it."""
    cdef Node *node
    cdef Sides before
    cdef double value = 0.0, left
    cdef int32_t itself = 0
    if h < 0:
        r.reductions(r.c.arena.leaf(h), walk.x, &itself, 1, weight, &value)
        return value
    node = r.c.arena.node(h)
    left = walk.left_share(node) if walk.is_open(node) else goes_left(node, walk.x)
    if left > 0.0:
        r.enter(node, True, &before)
        value += left * reduction_over(r, walk, node.left, weight)
        r.leave(node, &before)
    if left < 1.0:
        r.enter(node, False, &before)
        value += (1.0 - left) * reduction_over(r, walk, node.right, weight)
        r.leave(node, &before)
    return value


cdef int credit_below(Rectangle r, handle_t h) noexcept nogil:
    """Credit the leaves below h that have no credit; -1: no memory.

    For leaves that round the rows they evaluate: every particle rounds those rows
    once more.
    """
    cdef Node *node
    cdef Leaf *leaf
    cdef Sides before
    cdef int32_t k
    if h < 0:
        leaf = r.c.arena.leaf(h)
        if leaf.n_rows and leaf.stamp != r.c.stamp and leaf.credit == NULL:
            if r.c.arena.reserve_credit(leaf) < 0:
                return -1
            r.reductions(
                leaf, r.c.pool.x_, leaf.rows, leaf.n_rows, r.c.pool.terms(), leaf.credit
            )
            leaf.stamp = r.c.stamp
        if leaf.stamp == r.c.stamp:
            for k in range(leaf.n_rows):
                r.c.leaf_model.round_row(leaf, r.c.pool.x(leaf.rows[k]))
        return 0
    node = r.c.arena.node(h)
    r.enter(node, True, &before)
    if credit_below(r, node.left) < 0:
        return -1
    r.leave(node, &before)
    r.enter(node, False, &before)
    if credit_below(r, node.right) < 0:
        return -1
    r.leave(node, &before)
    return 0


cdef class _Reductions:
    """Reductions at points, summed over particles by way of the distinct nodes.

    Every tree that holds a node sends it the same points, through the same rectangle.
    """

    cdef Particles c
    cdef Rectangle rectangle
    cdef DistinctTrees distinct
    cdef BlockPartition block   # the block's points, parted by the splits met
    cdef const double *rows     # of the block
    cdef const double *weights  # of its rows, or NULL
    cdef double *sums
    cdef double[::1] found      # (BLOCK,) scratch

    def __cinit__(self, Particles c, Rectangle rectangle):
        self.c = c
        self.rectangle = rectangle
        self.distinct = DistinctTrees(c, True)
        self.found = np.empty(BLOCK)

    def __dealloc__(self):
        close_block(&self.block)

    cdef int add(
        self, const double *rows, const double *weights, int32_t n, double *sums
    ) noexcept nogil:
        """Add the sums at n <= BLOCK rows; -1: no memory."""
        cdef int32_t tree
        if open_block(&self.block, rows, n, self.c.pool.n_features) < 0:
            return -1
        self.rows = rows
        self.weights = weights
        self.sums = sums
        self.c.stamp += 1
        for tree in range(self.distinct.n_trees):
            if self.visit(self.distinct.trees[tree], WHOLE) < 0:
                return -1
        return 0

    cdef int visit(self, handle_t h, int32_t points) noexcept nogil:
        """Add what the nodes at and below h that are new know; -1: no memory."""
        cdef Node *node
        cdef Sides before
        cdef int32_t k, below
        if points == 0:
            return 0
        if h < 0:
            self.add_leaf(h, points)
            return 0
        node = self.c.arena.node(h)
        if node.stamp == self.c.stamp:
            return 0
        node.stamp = self.c.stamp
        k = parting_by(&self.block, node, points)
        if k == 0:
            return -1
        below = self.block.partings[k].right
        self.rectangle.enter(node, True, &before)
        if self.visit(node.left, self.block.partings[k].left) < 0:
            return -1
        self.rectangle.leave(node, &before)
        self.rectangle.enter(node, False, &before)
        if self.visit(node.right, below) < 0:
            return -1
        self.rectangle.leave(node, &before)
        return 0

    cdef void add_leaf(self, handle_t h, int32_t points) noexcept nogil:
        cdef Leaf *leaf = self.c.arena.leaf(h)
        cdef const int32_t *which = self.block.points + self.block.cells[points].first
        cdef int32_t k, n = self.block.cells[points].n
        if leaf.stamp == self.c.stamp:
            return
        leaf.stamp = self.c.stamp
        self.rectangle.reductions(
            leaf, self.rows, which, n, self.weights, &self.found[0]
        )
        for k in range(n):
            self.sums[which[k]] += self.distinct.count[-h] * self.found[k]


cdef class _Losses:
    """What each distinct split takes off the integral over the rectangle.

    A split has the same splits above it in every tree that holds it, hence the same
    rectangle; its `entry` is its place in the arrays.
    """

    cdef Particles c
    cdef Rectangle rectangle
    cdef int32_t n
    cdef double[::1] whole      # integral as if the split were a leaf
    cdef double[::1] loss

    def __init__(self, Particles c, Rectangle rectangle):
        self.c = c
        self.rectangle = rectangle
        self.whole = np.empty(max(1, c.arena.live_nodes))
        self.loss = np.empty_like(self.whole)
        c.stamp += 1

    cdef double find(self, handle_t h) noexcept nogil:
        """Integral at h as if it were a leaf; finds what is lost at and below it."""
        cdef Node *node
        cdef Sides before
        cdef double whole, below
        if h < 0:
            return self.rectangle.volume(self.c.arena.leaf(h))
        node = self.c.arena.node(h)
        if node.stamp == self.c.stamp:
            return self.whole[node.entry]
        self.c.moves.pool_below(h)
        whole = self.rectangle.volume(self.c.moves.pooled)
        self.rectangle.enter(node, True, &before)
        below = self.find(node.left)
        self.rectangle.leave(node, &before)
        self.rectangle.enter(node, False, &before)
        below = below + self.find(node.right)
        self.rectangle.leave(node, &before)
        node.stamp = self.c.stamp
        node.entry = self.n
        self.whole[self.n] = whole
        self.loss[self.n] = whole - below
        self.n += 1
        return whole

    cdef void add(self, handle_t h, double *sums) noexcept nogil:
        """Add the losses at and below h to the sums of their columns."""
        cdef Node *node
        while h > 0:
            node = self.c.arena.node(h)
            self.add(node.left, sums)
            sums[node.variable] += self.loss[node.entry]
            h = node.right


def alc_rectangle(
    Particles c, X, lower, upper, categorical, approx, const double[::1] weights=None
):
    """Average reduction of variance over a rectangle, were a row of X sampled.

    Parameters
    ----------
    c : Cloud
    X : ndarray of shape (n_rows, n_features)
    lower, upper : ndarray of shape (n_features,)
    categorical : ndarray of bool of shape (n_features,)
    approx : bool
    weights : ndarray of shape (n_rows,), optional
        Weights of the responses that would be sampled, in the cloud's unit; of counts,
        their exposures.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    cdef const double[:, ::1] rows = rows_to_round(c, X)
    cdef Rectangle rectangle = rectangle_for(
        c, lower, upper, categorical, approx
    )
    cdef Py_ssize_t j = 0, n = rows.shape[0]
    cdef int32_t i
    cdef int status = 0
    cdef _Reductions reductions
    cdef GapWalk walk
    out = np.zeros(n)
    cdef double[::1] sums = out
    if c.leaf_model.rounds_rows:        # every evaluation leaves its mark
        with nogil:
            for i in range(c.n_particles):
                for j in range(n):
                    sums[j] += reduction_below(
                        rectangle, c.roots[i], <double *> &rows[j, 0]
                    )
    else:
        reductions = _Reductions(c, rectangle)
        with nogil:
            while j < n and status == 0:
                status = reductions.add(
                    &rows[j, 0], NULL if weights is None else &weights[j],
                    <int32_t> min(BLOCK, n - j), &sums[j],
                )
                j += BLOCK
        if status:
            raise MemoryError()
    gaps = rows_with_gaps(c, rows)
    if gaps is not None:
        walk = GapWalk(c.arena)
        for j in np.flatnonzero(gaps):
            walk.x = &rows[j, 0]
            sums[j] = 0.0
            for i in range(c.n_particles):
                sums[j] += reduction_over(
                    rectangle, walk, c.roots[i],
                    NULL if weights is None else &weights[j],
                )
    return over(out, c.n_particles * rectangle.whole())


cdef object credits(Particles c, Rectangle rectangle, object subject):
    """Credit of every active row, summed over particles, in internal order.

    `subject` says what the credit is of: where rules do not keep it, leaves are credited
    anew unless it is that of the last time.
    """
    cdef bint keeps = c.numerics.keeps_credit
    cdef bint anew = not keeps and c.credited != subject
    c.credited = None
    cdef RowCredit credit = RowCredit(c, rectangle, anew)
    c.credited = subject
    return credit.sums_by_particle() if keeps else credit.sums()


def alc_active(Particles c, lower, upper, categorical, approx):
    """`alc_rectangle` at the active rows, in internal order, shape (n_active,).

    Under native rules each leaf's share is weighed; see `RowCredit`.
    A leaf's values are stored and reused until its posterior or the rectangle changes.
    A row that retires leaves the posterior as it is, unless the past fades. R's rules
    keep values whatever rectangle is given and though the past fades, as CRAN dynaTree
    does.
    """
    cdef Rectangle rectangle = rectangle_for(
        c, lower, upper, categorical, approx
    )
    cdef int32_t i
    cdef int status = 0
    if c.leaf_model.rounds_rows:
        c.stamp += 1
        with nogil:
            for i in range(c.n_particles):
                if credit_below(rectangle, c.roots[i]) < 0:
                    status = -1
                    break
        c.drop_limits()
        if status < 0:
            raise MemoryError()
    subject = b"".join([part.tobytes() for part in (lower, upper, categorical)]), approx
    return over(credits(c, rectangle, subject), c.n_particles * rectangle.whole())


def entropy_active(Particles c):
    """Average entropy of the leaf of each active row, stored as in `alc_active`."""
    return credits(c, None, b"entropy") / c.n_particles


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
    """Average expected improvement of the contour at q (Ranjan et al. 2008).

    That of a particle is E max(0, h^2 - (Y - q)^2), where h is alpha standard deviations
    of Y. R's rules take the integrals of a normal Y and put in the density of Student's t:
    what they tell may be negative.
    """
    near = student_improvement if c.numerics.integrates else normal_improvement
    rows = rows_for(c, X)
    out = np.empty(len(rows))
    with np.errstate(all="ignore"):
        for part in blocks(c, len(rows)):
            each = near(*spread(c, rows[part]), q, alpha)
            out[part] = each.sum(axis=0) / c.n_particles
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
    if not c.leaf_model.has_evidence:
        return split_counts(c).astype(np.float64)
    cdef Rectangle rectangle = rectangle_for(
        c, lower, upper, categorical, approx
    )
    cdef _Losses losses = _Losses(c, rectangle)
    cdef int32_t i
    out = np.zeros((c.n_particles, c.pool.n_features))
    cdef double[:, ::1] sums = out
    c.reserve(c.pool.n_rows)
    with nogil:
        for i in range(c.n_particles):
            losses.find(c.roots[i])
            losses.add(c.roots[i], &sums[i, 0])
    return over(out, rectangle.whole())
