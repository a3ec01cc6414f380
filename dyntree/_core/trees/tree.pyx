"""Trees as handles into an arena."""
from libc.string cimport memcpy, memmove

from dyntree._core.trees.nodes cimport Node, goes_left
from dyntree._core.types cimport NONE


cdef handle_t descend(
    Arena a, handle_t root, const double *x, Path *path
) noexcept nogil:
    """Leaf of row x; `path` receives the splits met, root first."""
    cdef Node *node
    path.length = 0
    while root > 0:
        node = a.node(root)
        path.nodes[path.length] = root
        path.length += 1
        root = node.left if goes_left(node, x) else node.right
    return root


cdef handle_t find_leaf(Arena a, handle_t root, const double *x) noexcept nogil:
    """Leaf of row x."""
    cdef Node *node
    while root > 0:
        node = a.node(root)
        root = node.left if goes_left(node, x) else node.right
    return root


cdef handle_t replaced(
    Arena a, handle_t root, Path *path, int32_t length, handle_t old, handle_t fresh
) noexcept nogil:
    """Root of the tree in which `old`, below path.nodes[length - 1], is `fresh`.

    Takes over the caller's count of `root` and of `fresh`. Nodes must be reserved for
    a copy of the path.
    """
    cdef int32_t shared = 0, k
    cdef handle_t h, below = old
    cdef Node *node
    cdef Node *copied
    while shared < length and a.node(path.nodes[shared]).refs == 1:
        shared += 1
    for k in range(length - 1, shared - 1, -1):
        node = a.node(path.nodes[k])
        h = a.take_node()
        copied = a.node(h)
        copied.value = node.value
        copied.variable = node.variable
        copied.missing_left = node.missing_left
        copied.parts_gaps = node.parts_gaps
        copied.depth = node.depth
        if node.left == below:
            copied.left = fresh
            copied.right = node.right
            a.share(node.right)
        else:
            copied.left = node.left
            copied.right = fresh
            a.share(node.left)
        fresh = h
        below = path.nodes[k]
    if shared == 0:
        a.drop(root)
        return fresh
    node = a.node(path.nodes[shared - 1])
    if node.left == below:
        node.left = fresh
    else:
        node.right = fresh
    a.drop(below)
    return root


cdef int32_t gather(Arena a, handle_t h, Leaf **leaves) noexcept nogil:
    """Leaves below h, left to right; returns how many."""
    cdef int32_t n = 0
    while h > 0:
        n += gather(a, a.node(h).left, leaves + n)
        h = a.node(h).right
    leaves[n] = a.leaf(h)
    return n + 1


cdef int32_t count_nodes(Arena a, handle_t h) noexcept nogil:
    """Splits below and at h."""
    cdef int32_t n = 0
    while h > 0:
        n += 1 + count_nodes(a, a.node(h).left)
        h = a.node(h).right
    return n


cdef int copy_leaf(Arena a, const Leaf *leaf, Leaf *into) noexcept nogil:
    """Make the fresh leaf `into` equal to `leaf`; -1: no memory."""
    if leaf.n_rows and a.reserve_rows(into, leaf.n_rows) < 0:
        return -1
    into.n_rows = leaf.n_rows
    into.depth = leaf.depth
    into.n_outside = leaf.n_outside
    if leaf.n_rows:
        memcpy(into.rows, leaf.rows, leaf.n_rows * sizeof(slot_t))
    memcpy(into.active, leaf.active, a.doubles_per_leaf() * sizeof(double))
    if leaf.credit != NULL and leaf.n_rows:
        if a.reserve_credit(into) < 0:
            return -1
        memcpy(into.credit, leaf.credit, leaf.n_rows * sizeof(double))
    return 0


cdef handle_t copy_subtree(Arena a, handle_t h) noexcept nogil:
    """A deep copy with count one; NONE: no memory. Nodes and leaves are reserved."""
    cdef handle_t fresh, left, right
    cdef Node *node
    cdef Node *source
    if h < 0:
        fresh = a.take_leaf()
        if copy_leaf(a, a.leaf(h), a.leaf(fresh)) < 0:
            a.drop(fresh)
            return NONE
        return fresh
    source = a.node(h)
    left = copy_subtree(a, source.left)
    if left == NONE:
        return NONE
    right = copy_subtree(a, source.right)
    if right == NONE:
        a.drop(left)
        return NONE
    fresh = a.take_node()
    node = a.node(fresh)
    node.value = source.value
    node.variable = source.variable
    node.missing_left = source.missing_left
    node.parts_gaps = source.parts_gaps
    node.depth = source.depth
    node.left = left
    node.right = right
    return fresh


cdef void take_out(Leaf *leaf, int32_t k, bint in_order) noexcept nogil:
    """Take row k out of the leaf.

    In order: those behind it move up. Else the last row takes its seat.
    """
    cdef int32_t following = k + 1 if in_order else leaf.n_rows - 1
    cdef size_t n = leaf.n_rows - following
    memmove(leaf.rows + k, leaf.rows + following, n * sizeof(slot_t))
    if leaf.credit != NULL:
        memmove(leaf.credit + k, leaf.credit + following, n * sizeof(double))
    leaf.n_rows -= 1


cdef int32_t seat_of(const Leaf *leaf, slot_t s) noexcept nogil:
    """Place of slot s in the leaf's rows, or -1."""
    cdef int32_t k
    for k in range(leaf.n_rows):
        if leaf.rows[k] == s:
            return k
    return -1
