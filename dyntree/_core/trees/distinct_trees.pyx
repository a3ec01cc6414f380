"""The distinct trees of a cloud, and what is known of their nodes."""
import numpy as np

from libc.string cimport memcpy

from dyntree._core.trees.arena cimport CHUNK, Arena
from dyntree._core.trees.nodes cimport Node, goes_left


cdef int32_t collect(
    Arena a, handle_t h, int32_t *seen, handle_t *order, int32_t n
) noexcept nogil:
    """Append the nodes at and below h that are new, children first; the new length."""
    cdef Node *node
    if h < 0 or seen[h]:
        return n
    seen[h] = 1
    node = a.node(h)
    n = collect(a, node.left, seen, order, n)
    n = collect(a, node.right, seen, order, n)
    order[n] = h
    return n + 1


cdef class DistinctTrees:
    """The distinct trees of a cloud, and for large passes their distinct nodes.

    Parameters
    ----------
    c : Particles
    whole : bool
        Whether to collect nodes, counts and the sorted split values.
    """

    def __init__(self, Particles c, bint whole):
        cdef Arena a = c.arena
        cdef int32_t n_nodes = a.n_node_chunks * CHUNK, i, k, n = 0
        cdef handle_t h
        cdef Node *node
        self.place = np.empty(c.n_particles, dtype=np.int32)
        self.trees = np.empty(c.n_particles, dtype=np.int32)
        if not whole:
            return
        cdef int32_t[::1] seen = np.zeros(n_nodes + a.leaf_capacity(), dtype=np.int32)
        cdef int32_t[::1] total = np.zeros(n_nodes, dtype=np.int32)
        cdef handle_t[::1] order = np.empty(max(1, a.live_nodes), dtype=np.int32)
        self.count = np.zeros(a.leaf_capacity(), dtype=np.int32)
        for i in range(c.n_particles):
            h = c.roots[i]
            k = h if h > 0 else n_nodes - h
            if seen[k] == 0:
                self.trees[self.n_trees] = h
                self.n_trees += 1
                seen[k] = self.n_trees
            self.place[i] = seen[k] - 1
            if h > 0:
                total[h] += 1
            else:
                self.count[-h] += 1
        seen[:] = 0
        for i in range(self.n_trees):
            n = collect(a, self.trees[i], &seen[0], &order[0], n)
        for i in range(n - 1, -1, -1):      # parents before their children
            node = a.node(order[i])
            for h in (node.left, node.right):
                if h > 0:
                    total[h] += total[order[i]]
                else:
                    self.count[-h] += total[order[i]]
        variable, value = np.empty(n, dtype=np.int32), np.empty(n)
        cdef int32_t[::1] to_variable = variable
        cdef double[::1] to_value = value
        for i in range(n):
            node = a.node(order[i])
            to_variable[i] = node.variable
            to_value[i] = node.value
        if c.leaf_model.rounds_rows:
            self.values = value[np.lexsort((value, variable))]
            width = c.pool.n_features
            self.first = np.searchsorted(np.sort(variable), np.arange(width + 1))

    cdef bint separated(self, int32_t j, double a, double b) noexcept nogil:
        """Whether some split on column j sends a and b to different sides."""
        cdef int64_t low = self.first[j], high = self.first[j + 1], middle
        cdef double least = min(a, b)
        while low < high:                       # first value >= the lesser one
            middle = (low + high) // 2
            if self.values[middle] < least:
                low = middle + 1
            else:
                high = middle
        return low < self.first[j + 1] and self.values[low] < max(a, b)


cdef void part_order(
    Particles c, handle_t h, const double[:, ::1] X, int64_t *order, int64_t n,
    int64_t *scratch,
) noexcept nogil:
    """Bring rows order[0] .. order[n - 1] into the order of the leaves below h."""
    cdef Node *node
    cdef int64_t k, left = 0, right = 0
    cdef bint goes
    if h < 0 or n == 0:
        return
    node = c.arena.node(h)
    for k in range(n):
        goes = goes_left(node, &X[order[k], 0])
        scratch[right] = order[left] = order[k]
        left += goes
        right += not goes
    memcpy(order + left, scratch, right * sizeof(int64_t))
    part_order(c, node.left, X, order, left, scratch)
    part_order(c, node.right, X, order + left, right, scratch)


cdef object by_leaf(Particles c, object rows):
    cdef const double[:, ::1] X = rows
    order = np.arange(X.shape[0])
    cdef int64_t[::1] view = order, scratch = np.empty_like(order)
    with nogil:
        part_order(c, c.roots[0], X, &view[0], X.shape[0], &scratch[0])
    return rows[order], order
