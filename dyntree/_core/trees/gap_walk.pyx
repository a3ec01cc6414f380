"""Rows without a value: the leaves they may lie in; see the declarations."""
import numpy as np

cimport cython

from dyntree._core.trees.arena cimport CHUNK
from dyntree._core.trees.nodes cimport (
    WEIGHT, Leaf, goes_left, is_gap_cut, retired_weight,
)


cdef bint has_gap(const double *x, int32_t n) noexcept nogil:
    """Whether one of n values is missing."""
    cdef int32_t j
    for j in range(n):
        if x[j] != x[j]:
            return True
    return False


@cython.final
cdef class GapWalk:
    """A search of trees whose nodes do not change in the meantime.

    Parameters
    ----------
    arena : Arena
    """

    def __init__(self, Arena arena):
        self.arena = arena
        self.masses = np.full(arena.n_node_chunks * CHUNK, -1.0)
        self.densities = np.full(arena.leaf_capacity(), np.nan)

    cdef bint is_open(self, const Node *node) noexcept nogil:
        """Whether the row may lie on either side of a split."""
        cdef double v = self.x[node.variable]
        return v != v and not node.parts_gaps and not is_gap_cut(node.value)

    cdef double mass(self, handle_t h) noexcept nogil:
        """Weight of the active and retired rows below h."""
        cdef const Leaf *leaf
        cdef const Node *node
        if h < 0:
            leaf = self.arena.leaf(h)
            return leaf.active[WEIGHT] + retired_weight(leaf)
        if self.masses[h] < 0.0:
            node = self.arena.node(h)
            self.masses[h] = self.mass(node.left) + self.mass(node.right)
        return self.masses[h]

    cdef double left_share(self, const Node *node) noexcept nogil:
        """Share of the rows of a split that lie to its left; a half if it has none."""
        cdef double left = self.mass(node.left), right = self.mass(node.right)
        return left / (left + right) if left + right > 0.0 else 0.5

    cdef handle_t descended(self, handle_t h) noexcept nogil:
        """The first open split, or the leaf, on the row's way down from h."""
        cdef const Node *node
        while h > 0:
            node = self.arena.node(h)
            if self.is_open(node):
                return h
            h = node.left if goes_left(node, self.x) else node.right
        return h

    cdef bint all_below(self, handle_t h, double share) noexcept nogil:
        """Append all leaves below h, which have a share together; False: too many."""
        cdef const Node *node
        cdef double left
        h = self.descended(h)
        if h < 0:
            if self.n == MOST_LEAVES:
                return False
            self.leaves[self.n], self.shares[self.n] = h, share
            self.n += 1
            return True
        node = self.arena.node(h)
        left = self.left_share(node)
        if left > 0.0 and not self.all_below(node.left, left * share):
            return False
        return left == 1.0 or self.all_below(node.right, (1.0 - left) * share)

    cdef void find(self, handle_t h, const double *x) noexcept nogil:
        self.x = x
        self.n = 0
        if not self.all_below(h, 1.0):
            self.largest_first(h)

    cdef int32_t largest_split(self) noexcept nogil:
        """Place of the open split with the largest share, or -1."""
        cdef int32_t k, largest = -1
        for k in range(self.n):
            if self.leaves[k] > 0 and (
                largest < 0 or self.shares[k] > self.shares[largest]
            ):
                largest = k
        return largest

    cdef void largest_first(self, handle_t h) noexcept nogil:
        """Find as many leaves as there is room for.

        The open split with the largest share parts first, so that those that send all
        their rows to the larger side, once there is no room, have small ones.
        """
        cdef int32_t k = 0, i
        cdef double share, left
        cdef const Node *node
        self.n = 1
        self.shares[0] = 1.0
        self.leaves[0] = self.descended(h)
        while k >= 0:
            node = self.arena.node(self.leaves[k])
            left = self.left_share(node)
            if self.n == MOST_LEAVES:
                left = 1.0 if left >= 0.5 else 0.0
            share = self.shares[k]
            if left == 0.0 or left == 1.0:
                self.leaves[k] = self.descended(node.left if left == 1.0 else node.right)
            else:
                for i in range(self.n, k + 1, -1):
                    self.leaves[i] = self.leaves[i - 1]
                    self.shares[i] = self.shares[i - 1]
                self.n += 1
                self.leaves[k] = self.descended(node.left)
                self.leaves[k + 1] = self.descended(node.right)
                self.shares[k] = left * share
                self.shares[k + 1] = (1.0 - left) * share
            k = self.largest_split()
