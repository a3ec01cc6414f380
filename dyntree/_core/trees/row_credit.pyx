"""What each active row is worth to the particles together."""
import numpy as np

from libc.math cimport log, sqrt

from dyntree._core.trees.nodes cimport WEIGHT, is_gap_cut, retired_weight
from dyntree._core.trees.tree cimport all_came, gather


cdef void narrow(Rectangle rectangle, PathStep *step) noexcept nogil:
    """Bring the rectangle to the child that `step` leads to."""
    if step == NULL or step.taken:
        return
    narrow(rectangle, step.above)
    rectangle.enter(step.node, step.left, &step.before)
    step.taken = True


cdef class RowCredit:
    """Credits of the active rows; those that leaves lack are computed on the way.

    Parameters
    ----------
    c : Particles
        Whatever changes a leaf must have dropped its credit.
    rectangle : Rectangle or None
        Credit is the reduction of variance over this rectangle; None: the entropy.
    anew : bool
        Credit every leaf, whatever credit it has.

    Notes
    -----
    Discarding needs the credit of every active row for every row that arrives; only the
    leaves that the last one changed need a look (Anagnostopoulos and Gramacy 2013,
    section 4.4). Instead of a running total the distinct leaves are summed each time:
    rounding does not add up, and a copy gives the same bits. How often a column is
    missing changes with rows elsewhere: it is no part of a leaf's own credit.

    ALC tells what a row does for the mean of its leaf, which all rows learned there tell.
    A split is found by the active rows alone: once many have retired, a leaf with a
    precise mean could never split. So ALC is multiplied by (rows learned / active rows)^1/2, the
    standard error of a difference within the leaf by that of its mean. At Friedman's
    function with 20,000 rows, a window of 500 and constant leaves, powers of 0, 1/4, 1/2
    and 3/4 have RMSE 2.40, 2.38, 2.33 and 2.35 (standard errors .01 to .03).
    """

    def __init__(self, Particles c, Rectangle rectangle, bint anew):
        cdef int32_t i
        cdef int status = 0
        self.c = c
        self.rectangle = rectangle
        if rectangle is not None:
            rectangle.counts_gaps = False
        self.anew = anew
        self.by_slot = np.zeros(c.pool.capacity + 1)
        self.proba = np.empty(max(1, c.leaf_model.n_classes))
        self.out = np.empty(c.leaf_model.n_out)
        c.stamp += 1
        with nogil:
            for i in range(c.n_particles):
                status = self.reach(c.roots[i], 1, NULL)
                if status < 0:
                    break
        if status < 0:
            raise MemoryError()

    cdef int reach(self, handle_t h, int32_t n, PathStep *above) noexcept nogil:
        """One of the ways to h, on which n particles come; -1: no memory.

        The last way leads on from h with all of them. Nodes that have the same split
        above them in one tree have it in all, so that any way tells their rectangle.
        """
        cdef Node *node
        cdef PathStep step
        if h < 0:
            return self.reach_leaf(self.c.arena.leaf(h), n, above)
        node = self.c.arena.node(h)
        if not all_came(
            &node.stamp, &node.entry, &node.ways, node.refs, self.c.stamp, n
        ):
            return 0
        step.above = above
        step.node = node
        step.left = True
        step.taken = False
        step.share = self.share_of(&step)
        if self.reach(node.left, node.entry, &step) < 0:
            return -1
        if step.taken:
            self.rectangle.leave(node, &step.before)
        step.left = step.taken = False
        step.share = self.share_of(&step)
        if self.reach(node.right, node.entry, &step) < 0:
            return -1
        if step.taken:
            self.rectangle.leave(node, &step.before)
        return 0

    cdef double share_of(self, const PathStep *step) noexcept nogil:
        """The share of the side that a step leads to, see `PathStep`."""
        cdef double above = 1.0 if step.above == NULL else step.above.share
        if self.rectangle is None or not is_gap_cut(step.node.value):
            return above
        return above * self.rectangle.side(step.node, step.left)

    cdef int reach_leaf(self, Leaf *leaf, int32_t n, PathStep *above) noexcept nogil:
        """The same for a leaf; the last way adds up the credit of its rows."""
        cdef double count, active
        cdef int32_t k
        if not leaf.n_rows or not all_came(
            &leaf.stamp, &leaf.entry, &leaf.ways, leaf.refs, self.c.stamp, n
        ):
            return 0
        if (self.anew or leaf.credit == NULL) and self.credit(leaf, above) < 0:
            return -1
        count = leaf.entry
        if self.rectangle is not None:
            active = leaf.active[WEIGHT]
            count *= sqrt((active + retired_weight(leaf)) / active)
            if above != NULL and not self.rectangle.approx:
                count *= above.share
        for k in range(leaf.n_rows):
            self.by_slot[leaf.rows[k]] += count * leaf.credit[k]
        return 0

    cdef int credit(self, Leaf *leaf, PathStep *above) noexcept nogil:
        """Say what each row of the leaf is worth; -1: no memory."""
        cdef double entropy = 0.0
        cdef int32_t k, label
        if self.c.arena.reserve_credit(leaf) < 0:
            return -1
        if self.rectangle is not None:
            narrow(self.rectangle, above)
            self.rectangle.reductions(
                leaf, self.c.pool.x_, leaf.rows, leaf.n_rows, self.c.pool.terms(), leaf.credit
            )
            return 0
        for k in range(leaf.n_rows):
            if k == 0 or self.c.leaf_model.n_basis:     # else all rows of a leaf are alike
                entropy = 0.0
                for label in range(self.c.leaf_model.n_classes):
                    self.proba[label] = 0.0
                self.c.leaf_model.add_proba(
                    leaf, self.c.pool.x(leaf.rows[k]), &self.proba[0], &self.out[0]
                )
                for label in range(self.c.leaf_model.n_classes):
                    entropy -= self.proba[label] * log(self.proba[label])
            leaf.credit[k] = entropy
        return 0

    cdef object sums(self):
        """Credit of each row, over particles, in internal order; leaf by leaf."""
        return self.in_order()

    cdef object sums_by_particle(self):
        """The same, particle by particle as R does: its last bits decide who goes."""
        cdef Particles c = self.c
        cdef int32_t i, k, j, n = 0
        cdef Leaf *leaf
        self.by_slot[:] = 0.0
        c.moves.reserve(0, c.arena.live_leaves + 1)
        with nogil:
            for i in range(c.n_particles):
                if i == 0 or c.roots[i] != c.roots[i - 1]:
                    n = gather(c.arena, c.roots[i], c.moves.leaves)
                for k in range(n):
                    leaf = c.moves.leaves[k]
                    for j in range(leaf.n_rows):
                        self.by_slot[leaf.rows[j]] += leaf.credit[j]
        return self.in_order()

    cdef object in_order(self):
        """`by_slot` in internal order, ndarray of shape (n_active,)."""
        cdef int32_t k
        values = np.empty(self.c.pool.n_rows)
        cdef double[::1] out = values
        for k in range(self.c.pool.n_rows):
            out[k] = self.by_slot[self.c.pool.order[k]]
        return values
