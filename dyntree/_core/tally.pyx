"""Tally: what each active row is worth to the particles together."""
import numpy as np

from libc.math cimport log

from dyntree._core.tree cimport gather
from dyntree._core.types cimport Leaf


cdef void narrow(Region region, Step *step) noexcept nogil:
    """Bring the rectangle to the child that `step` leads to."""
    if step == NULL or step.taken:
        return
    narrow(region, step.above)
    region.enter(step.node, step.left, &step.kept)
    step.taken = True


cdef class Tally:
    """Credits of the active rows; those that leaves lack are computed on the way.

    Parameters
    ----------
    c : Particles
        Whatever changes a leaf must have dropped its credit.
    region : Region or None
        Credit is the reduction of variance over this rectangle; None: the entropy.
    anew : bool
        Credit every leaf, whatever credit it has.

    Notes
    -----
    Discarding needs the credit of every active row for every row that arrives; only the
    leaves that the last one changed need a look (Anagnostopoulos and Gramacy 2013,
    section 4.4). Instead of a running total the distinct leaves are summed each time:
    rounding does not add up, and a copy gives the same bits.
    """

    def __init__(self, Particles c, Region region, bint anew):
        cdef int32_t i
        cdef int status = 0
        self.c = c
        self.region = region
        self.anew = anew
        self.nodes = np.empty(max(1, c.arena.live_nodes), dtype=np.int32)
        self.leaves = np.empty(max(1, c.arena.live_leaves), dtype=np.int32)
        c.stamp += 1
        with nogil:
            for i in range(c.n_particles):
                status = self.visit(c.roots[i], NULL)
                if status < 0:
                    break
        if status < 0:
            raise MemoryError()

    cdef int visit(self, handle_t h, Step *above) noexcept nogil:
        """List the nodes at and below h that are new; -1: no memory.

        `entry` becomes 0. Nodes that have the same split above them in one tree have it
        in all, so the first way to a leaf tells its rectangle.
        """
        cdef Node *node
        cdef Leaf *leaf
        cdef Step step
        if h < 0:
            leaf = self.c.arena.leaf(h)
            if leaf.stamp == self.c.stamp:
                return 0
            leaf.stamp = self.c.stamp
            leaf.entry = 0
            self.leaves[self.n_leaves] = h
            self.n_leaves += 1
            if leaf.n_rows and (self.anew or leaf.credit == NULL):
                return self.credit(h, above)
            return 0
        node = self.c.arena.node(h)
        if node.stamp == self.c.stamp:
            return 0
        node.stamp = self.c.stamp
        node.entry = 0
        step.above = above
        step.node = node
        step.left = True
        step.taken = False
        if self.visit(node.left, &step) < 0:
            return -1
        if step.taken:
            self.region.leave(node, &step.kept)
        step.left = step.taken = False
        if self.visit(node.right, &step) < 0:
            return -1
        if step.taken:
            self.region.leave(node, &step.kept)
        self.nodes[self.n_nodes] = h
        self.n_nodes += 1
        return 0

    cdef int credit(self, handle_t h, Step *above) noexcept nogil:
        """Say what each row of the leaf is worth; -1: no memory."""
        cdef Leaf *leaf = self.c.arena.leaf(h)
        cdef double entropy = 0.0, p
        cdef int32_t k
        if self.c.arena.reserve_credit(leaf) < 0:
            return -1
        if self.region is not None:
            narrow(self.region, above)
            self.region.reductions(
                leaf, self.c.pool.x_, leaf.rows, leaf.n_rows, leaf.credit
            )
            return 0
        for k in range(self.c.leaf_model.n_classes):
            p = self.c.leaf_model.probability(leaf, k)
            entropy -= p * log(p)
        for k in range(leaf.n_rows):
            leaf.credit[k] = entropy
        return 0

    cdef void count(self) noexcept nogil:
        """Let `entry` of the listed nodes be how many particles lead there."""
        cdef Node *node
        cdef int32_t i
        for i in range(self.c.n_particles):
            self.reach(self.c.roots[i], 1)
        for i in range(self.n_nodes - 1, -1, -1):       # parents before their children
            node = self.c.arena.node(self.nodes[i])
            self.reach(node.left, node.entry)
            self.reach(node.right, node.entry)

    cdef void reach(self, handle_t h, int32_t n) noexcept nogil:
        if h > 0:
            self.c.arena.node(h).entry += n
        else:
            self.c.arena.leaf(h).entry += n

    cdef object sums(self):
        """Credit of each row, over particles, in internal order; leaf by leaf."""
        cdef Particles c = self.c
        cdef double[::1] by_slot = np.zeros(c.pool.capacity + 1)
        cdef int32_t i, k
        cdef Leaf *leaf
        cdef double n
        values = np.empty(c.pool.n_rows)
        cdef double[::1] out = values
        with nogil:
            self.count()
            for i in range(self.n_leaves):
                leaf = c.arena.leaf(self.leaves[i])
                n = leaf.entry
                for k in range(leaf.n_rows):
                    by_slot[leaf.rows[k]] += n * leaf.credit[k]
            for k in range(c.pool.n_rows):
                out[k] = by_slot[c.pool.order[k]]
        return values

    cdef object sums_by_particle(self):
        """The same, particle by particle as R does: its last bits decide who goes."""
        cdef Particles c = self.c
        cdef double[::1] by_slot = np.zeros(c.pool.capacity + 1)
        cdef int32_t i, k, j, n = 0
        cdef Leaf *leaf
        values = np.empty(c.pool.n_rows)
        cdef double[::1] out = values
        c.moves.reserve(0, c.arena.live_leaves + 1)
        with nogil:
            for i in range(c.n_particles):
                if i == 0 or c.roots[i] != c.roots[i - 1]:
                    n = gather(c.arena, c.roots[i], c.moves.leaves)
                for k in range(n):
                    leaf = c.moves.leaves[k]
                    for j in range(leaf.n_rows):
                        by_slot[leaf.rows[j]] += leaf.credit[j]
            for k in range(c.pool.n_rows):
                out[k] = by_slot[c.pool.order[k]]
        return values
