"""Lists of points, parted once per distinct split."""
from libc.stdlib cimport free
from libc.string cimport memcpy

from dyntree._core.memory cimport resized


cdef void close_block(BlockPartition *b) noexcept nogil:
    free(b.columns)
    free(b.points)
    free(b.cells)
    free(b.partings)


cdef int open_block(
    BlockPartition *b, const double *rows, int32_t n, int32_t n_features
) noexcept nogil:
    """Start with n <= BLOCK points in one cell; -1: no memory."""
    cdef int32_t p, j
    if b.columns == NULL and resized(
        <void **> &b.columns, BLOCK * <int64_t> n_features, sizeof(double)
    ) < 0:
        return -1
    b.n_listed = b.n_cells = b.n_partings = 0
    if make_room(b, BLOCK) < 0:
        return -1
    for p in range(n):
        b.points[p] = p
        for j in range(n_features):
            b.columns[j * BLOCK + p] = rows[p * <int64_t> n_features + j]
    b.n_listed = n
    new_cell(b, 0, n)
    return 0


cdef int make_room(BlockPartition *b, int64_t n) noexcept nogil:
    """Room for n listed points, two cells and a parting more; -1: no memory."""
    cdef int64_t room
    if b.n_listed + n > b.list_room:
        room = 2 * (b.n_listed + n)
        if resized(<void **> &b.points, room, sizeof(int32_t)) < 0:
            return -1
        b.list_room = room
    if b.n_cells + 3 > b.cell_room:
        room = 2 * b.cell_room + 64
        if resized(<void **> &b.cells, room, sizeof(Cell)) < 0:
            return -1
        b.cell_room = <int32_t> room
    if b.n_partings + 2 > b.parting_room:
        room = 2 * b.parting_room + 64
        if resized(<void **> &b.partings, room, sizeof(Parting)) < 0:
            return -1
        b.parting_room = <int32_t> room
    return 0


cdef int32_t new_cell(BlockPartition *b, int64_t first, int32_t n) noexcept nogil:
    """Number of a cell that holds some points, 0 without points; room was made."""
    if n == 0:
        return 0
    b.n_cells += 1
    b.cells[b.n_cells].first = <int32_t> first
    b.cells[b.n_cells].n = n
    b.cells[b.n_cells].parting = 0
    return b.n_cells


cdef int32_t part(
    const Node *node, const double *x, const int32_t *points, int32_t n,
    int32_t *left, int32_t *right,
) noexcept nogil:
    """Copy the points that go left to `left`, the others to `right`; how many go left.

    Both have room for n points.
    """
    cdef int32_t k, p, a = 0, b = 0
    cdef double value = node.value
    cdef bint missing_left = node.missing_left, goes
    for k in range(n):
        p = points[k]
        goes = (x[p] <= value) | ((x[p] != x[p]) & missing_left)
        left[a] = p
        right[b] = p
        a += goes
        b += not goes
    return a


cdef int32_t parting_by(BlockPartition *b, const Node *node, int32_t cell) noexcept nogil:
    """No more partings are compared than there are points to part."""
    cdef int32_t k = b.cells[cell].parting, n = b.cells[cell].n, a, tried = 0
    cdef int64_t begin = b.n_listed
    cdef Parting *parting
    while k and tried < n:
        parting = b.partings + k
        if (parting.value == node.value and parting.variable == node.variable
                and parting.missing_left == node.missing_left):
            return k
        k = parting.following
        tried += 1
    if make_room(b, 2 * n) < 0:
        return 0
    a = part(
        node, b.columns + node.variable * BLOCK, b.points + b.cells[cell].first, n,
        b.points + begin, b.points + begin + n,
    )
    memcpy(b.points + begin + a, b.points + begin + n, (n - a) * sizeof(int32_t))
    b.n_listed += n
    b.n_partings += 1
    parting = b.partings + b.n_partings
    parting.value = node.value
    parting.variable = node.variable
    parting.missing_left = node.missing_left
    parting.left = new_cell(b, begin, a)
    parting.right = new_cell(b, begin + a, n - a)
    parting.following = b.cells[cell].parting
    b.cells[cell].parting = b.n_partings
    return b.n_partings
