"""Slabs of splits and leaves behind handles with reference counts.

Slabs never move, so a pointer stays good as long as its handle is in use. Handles of
splits are positive, of leaves negative. Row lists come from blocks of powers of two
that are reused, so a stream with a bounded window reaches a fixed size.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.nodes cimport Leaf, Node
from dyntree._core.types cimport handle_t, slot_t

cdef enum:
    CHUNK_BITS = 4
    CHUNK = 1 << CHUNK_BITS
    N_CLASSES = 32

@cython.final
cdef class Arena:
    cdef readonly int32_t stride        # doubles of a Family row
    cdef readonly int32_t n_derived
    cdef readonly int32_t n_features
    cdef readonly int32_t live_nodes
    cdef readonly int32_t live_leaves
    cdef readonly int64_t row_bytes     # bytes of all row and credit blocks
    cdef Node **node_chunks
    cdef Leaf **leaf_chunks
    cdef double **sum_chunks
    cdef int32_t n_node_chunks
    cdef int32_t n_leaf_chunks
    cdef handle_t free_node             # chains through Node.left
    cdef handle_t free_leaf             # chains through Leaf.entry
    cdef void *free_blocks[N_CLASSES]   # chains through the block's first word

    cdef int reserve(self, int32_t n_nodes, int32_t n_leaves) noexcept nogil
    cdef int grow_nodes(self) noexcept nogil
    cdef int grow_leaves(self) noexcept nogil
    cdef int32_t leaf_capacity(self) noexcept nogil
    # doubles of a leaf's active sums, retired sums and derived values, side by side
    cdef inline int32_t n_sums(self) noexcept nogil:
        return 2 * self.stride + self.n_derived
    cdef int32_t doubles_per_leaf(self) noexcept nogil
    cdef handle_t take_node(self) noexcept nogil
    cdef handle_t take_leaf(self) noexcept nogil
    cdef void share(self, handle_t h) noexcept nogil
    cdef void share_by(self, handle_t h, int32_t n) noexcept nogil
    cdef void drop(self, handle_t h) noexcept nogil
    cdef inline Node *node(self, handle_t h) noexcept nogil:
        return self.node_chunks[h >> CHUNK_BITS] + (h & (CHUNK - 1))
    cdef inline Leaf *leaf(self, handle_t h) noexcept nogil:
        return self.leaf_chunks[(-h) >> CHUNK_BITS] + ((-h) & (CHUNK - 1))
    cdef int32_t refs(self, handle_t h) noexcept nogil
    cdef int reserve_rows(self, Leaf *leaf, int32_t n) noexcept nogil
    cdef int reserve_credit(self, Leaf *leaf) noexcept nogil
    cdef void drop_credit(self, Leaf *leaf) noexcept nogil
    cdef void *block(self, int64_t n_bytes) noexcept nogil
    cdef void give_back(self, void *p, int64_t n_bytes) noexcept nogil
