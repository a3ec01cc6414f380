"""Arena: where splits and leaves live."""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from dyntree._core.memory cimport resized


cdef inline int size_class(int64_t n_bytes) noexcept nogil:
    """Smallest k with 2**k >= n_bytes, at least 4."""
    cdef int k = 4
    while (<int64_t> 1 << k) < n_bytes:
        k += 1
    return k


@cython.final
cdef class Arena:
    """Slabs of nodes and leaves, with free lists and reference counts.

    Parameters
    ----------
    stride : int
        Doubles in one row of sufficient statistics (active, and again retired).
    n_derived : int
        Doubles a LeafModel derives from them.
    n_features : int
        Columns, each with two cached proposal limits per leaf and a count of their rows.
    """

    def __cinit__(self, int32_t stride, int32_t n_derived, int32_t n_features):
        self.stride = stride
        self.n_derived = n_derived
        self.n_features = n_features
        # handle 0 is nothing: the first node and the first leaf are never given out

    def __dealloc__(self):
        cdef int32_t k, j
        cdef Leaf *leaf
        cdef void *p
        cdef void *following
        for k in range(self.n_leaf_chunks):
            for j in range(CHUNK):
                leaf = self.leaf_chunks[k] + j
                if leaf.refs > 0:
                    free(leaf.rows)
                    free(leaf.credit)
            free(self.leaf_chunks[k])
            free(self.sum_chunks[k])
        for k in range(self.n_node_chunks):
            free(self.node_chunks[k])
        for k in range(N_CLASSES):
            p = self.free_blocks[k]
            while p != NULL:
                following = (<void **> p)[0]
                free(p)
                p = following
        free(self.node_chunks)
        free(self.leaf_chunks)
        free(self.sum_chunks)

    cdef int32_t doubles_per_leaf(self) noexcept nogil:
        return self.n_sums() + 3 * self.n_features

    cdef int grow_nodes(self) noexcept nogil:
        cdef Node *chunk
        cdef int32_t k
        if resized(
            <void **> &self.node_chunks, self.n_node_chunks + 1, sizeof(Node *)
        ) < 0:
            return -1
        chunk = <Node *> calloc(CHUNK, sizeof(Node))
        if chunk == NULL:
            return -1
        self.node_chunks[self.n_node_chunks] = chunk
        for k in range(CHUNK - 1, -1, -1):
            if self.n_node_chunks or k:
                chunk[k].left = self.free_node
                self.free_node = self.n_node_chunks * CHUNK + k
        self.n_node_chunks += 1
        return 0

    cdef int grow_leaves(self) noexcept nogil:
        cdef Leaf *chunk
        cdef double *sums
        cdef int32_t k, size = self.doubles_per_leaf()
        cdef size_t n_chunks = self.n_leaf_chunks + 1
        if (resized(<void **> &self.leaf_chunks, n_chunks, sizeof(Leaf *)) < 0
                or resized(<void **> &self.sum_chunks, n_chunks, sizeof(double *)) < 0):
            return -1
        chunk = <Leaf *> calloc(CHUNK, sizeof(Leaf))
        sums = <double *> malloc(<size_t> CHUNK * size * sizeof(double))
        if chunk == NULL or sums == NULL:
            free(chunk)
            free(sums)
            return -1
        self.leaf_chunks[self.n_leaf_chunks] = chunk
        self.sum_chunks[self.n_leaf_chunks] = sums
        for k in range(CHUNK - 1, -1, -1):
            chunk[k].active = sums + <size_t> k * size
            chunk[k].retired = chunk[k].active + self.stride
            chunk[k].derived = chunk[k].retired + self.stride
            chunk[k].low = chunk[k].derived + self.n_derived
            chunk[k].high = chunk[k].low + self.n_features
            chunk[k].limited = chunk[k].high + self.n_features
            if self.n_leaf_chunks or k:
                chunk[k].entry = self.free_leaf
                self.free_leaf = -(self.n_leaf_chunks * CHUNK + k)
        self.n_leaf_chunks += 1
        return 0

    cdef int reserve(self, int32_t n_nodes, int32_t n_leaves) noexcept nogil:
        """Have this many fresh nodes and leaves ready to take; -1: no memory."""
        while self.n_node_chunks * CHUNK - 1 - self.live_nodes < n_nodes:
            if self.grow_nodes() < 0:
                return -1
        while self.n_leaf_chunks * CHUNK - 1 - self.live_leaves < n_leaves:
            if self.grow_leaves() < 0:
                return -1
        return 0

    cdef handle_t take_node(self) noexcept nogil:
        """A fresh node with count one; room has been reserved."""
        cdef handle_t h = self.free_node
        cdef Node *node = self.node(h)
        self.free_node = node.left
        memset(node, 0, sizeof(Node))
        node.refs = 1
        self.live_nodes += 1
        return h

    cdef handle_t take_leaf(self) noexcept nogil:
        """A fresh leaf with count one, zero sums and no rows; room was reserved."""
        cdef handle_t h = self.free_leaf
        cdef Leaf *leaf = self.leaf(h)
        self.free_leaf = leaf.entry
        leaf.rows = NULL
        leaf.credit = NULL
        leaf.stamp = 0
        leaf.n_rows = leaf.capacity = leaf.depth = leaf.entry = leaf.n_outside = 0
        leaf.refs = 1
        memset(
            leaf.active, 0, self.n_sums() * sizeof(double)
        )
        memset(leaf.limited, 0, self.n_features * sizeof(double))
        self.live_leaves += 1
        return h

    cdef void share(self, handle_t h) noexcept nogil:
        self.share_by(h, 1)

    cdef void share_by(self, handle_t h, int32_t n) noexcept nogil:
        """n owners more."""
        if h > 0:
            self.node(h).refs += n
        else:
            self.leaf(h).refs += n

    cdef void drop(self, handle_t h) noexcept nogil:
        """One owner less; what nobody owns is freed, children included."""
        cdef Node *node
        cdef Leaf *leaf
        while h > 0:
            node = self.node(h)
            node.refs -= 1
            if node.refs > 0:
                return
            self.drop(node.left)
            node.left, h, self.free_node = self.free_node, node.right, h
            self.live_nodes -= 1
        leaf = self.leaf(h)
        leaf.refs -= 1
        if leaf.refs > 0:
            return
        self.drop_credit(leaf)
        self.give_back(leaf.rows, leaf.capacity * <int64_t> sizeof(slot_t))
        leaf.rows = NULL
        leaf.entry = self.free_leaf
        self.free_leaf = h
        self.live_leaves -= 1

    cdef int32_t refs(self, handle_t h) noexcept nogil:
        return self.node(h).refs if h > 0 else self.leaf(h).refs

    # ------------------------------------------------------------ row blocks
    cdef void *block(self, int64_t n_bytes) noexcept nogil:
        cdef int k = size_class(n_bytes)
        cdef void *p = self.free_blocks[k]
        if p != NULL:
            self.free_blocks[k] = (<void **> p)[0]
            return p
        p = malloc(<size_t> 1 << k)
        if p != NULL:
            self.row_bytes += <int64_t> 1 << k
        return p

    cdef void give_back(self, void *p, int64_t n_bytes) noexcept nogil:
        cdef int k = size_class(n_bytes)
        if p == NULL:
            return
        if k > 14:                      # large blocks go back to the system
            self.row_bytes -= <int64_t> 1 << k
            free(p)
            return
        (<void **> p)[0] = self.free_blocks[k]
        self.free_blocks[k] = p

    cdef int reserve_rows(self, Leaf *leaf, int32_t n) noexcept nogil:
        """Room for n rows in the leaf's list (and its credit); -1: no memory."""
        cdef int32_t capacity
        cdef slot_t *rows
        if n <= leaf.capacity:
            return 0
        capacity = 4
        while capacity < n:
            capacity *= 2
        rows = <slot_t *> self.block(capacity * <int64_t> sizeof(slot_t))
        if rows == NULL:
            return -1
        if leaf.n_rows:
            memcpy(rows, leaf.rows, leaf.n_rows * sizeof(slot_t))
        self.drop_credit(leaf)
        self.give_back(leaf.rows, leaf.capacity * <int64_t> sizeof(slot_t))
        leaf.rows = rows
        leaf.capacity = capacity
        return 0

    cdef int reserve_credit(self, Leaf *leaf) noexcept nogil:
        """Give the leaf a list of one statistic per row; -1: no memory."""
        if leaf.credit == NULL and leaf.capacity:
            leaf.credit = <double *> self.block(leaf.capacity * <int64_t> sizeof(double))
            if leaf.credit == NULL:
                return -1
        return 0

    cdef void drop_credit(self, Leaf *leaf) noexcept nogil:
        self.give_back(leaf.credit, leaf.capacity * <int64_t> sizeof(double))
        leaf.credit = NULL

    cdef int32_t leaf_capacity(self) noexcept nogil:
        """One more than the largest number that a leaf handle has, its sign dropped."""
        return self.n_leaf_chunks * CHUNK

    def nbytes(self):
        """Bytes of all slabs and row blocks."""
        return (
            self.n_node_chunks * CHUNK * sizeof(Node)
            + self.n_leaf_chunks * CHUNK
            * (sizeof(Leaf) + self.doubles_per_leaf() * sizeof(double))
            + self.row_bytes
        )
