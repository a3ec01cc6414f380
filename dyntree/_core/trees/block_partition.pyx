"""Lists of points, split once per distinct cut."""
from libc.stdlib cimport free
from libc.string cimport memcpy

from dyntree._core.memory cimport resized


cdef void close_cuts(Cuts *c) noexcept nogil:
    free(c.columns)
    free(c.points)
    free(c.regions)
    free(c.cuts)


cdef int open_block(
    Cuts *c, const double *rows, int32_t n, int32_t n_features
) noexcept nogil:
    """Start with n <= BLOCK points and no cuts; -1: no memory."""
    cdef int32_t p, j
    if c.columns == NULL and resized(
        <void **> &c.columns, BLOCK * <int64_t> n_features, sizeof(double)
    ) < 0:
        return -1
    c.n_listed = c.n_regions = c.n_cuts = 0
    if make_room(c, BLOCK) < 0:
        return -1
    for p in range(n):
        c.points[p] = p
        for j in range(n_features):
            c.columns[j * BLOCK + p] = rows[p * <int64_t> n_features + j]
    c.n_listed = n
    new_region(c, 0, n)
    return 0


cdef int make_room(Cuts *c, int64_t n) noexcept nogil:
    """Room for n listed points, two regions and a cut more; -1: no memory."""
    cdef int64_t room
    if c.n_listed + n > c.list_room:
        room = 2 * (c.n_listed + n)
        if resized(<void **> &c.points, room, sizeof(int32_t)) < 0:
            return -1
        c.list_room = room
    if c.n_regions + 3 > c.region_room:
        room = 2 * c.region_room + 64
        if resized(<void **> &c.regions, room, sizeof(Region)) < 0:
            return -1
        c.region_room = <int32_t> room
    if c.n_cuts + 2 > c.cut_room:
        room = 2 * c.cut_room + 64
        if resized(<void **> &c.cuts, room, sizeof(Cut)) < 0:
            return -1
        c.cut_room = <int32_t> room
    return 0


cdef int32_t new_region(Cuts *c, int64_t first, int32_t n) noexcept nogil:
    """Number of a region that holds some points, 0 without points; room was made."""
    if n == 0:
        return 0
    c.n_regions += 1
    c.regions[c.n_regions].first = <int32_t> first
    c.regions[c.n_regions].n = n
    c.regions[c.n_regions].cut = 0
    return c.n_regions


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


cdef int32_t cut_by(Cuts *c, const Node *node, int32_t region) noexcept nogil:
    """No more cuts are looked through than there are points to part."""
    cdef int32_t k = c.regions[region].cut, n = c.regions[region].n, a, tried = 0
    cdef int64_t begin = c.n_listed
    cdef Cut *cut
    while k and tried < n:
        cut = c.cuts + k
        if (cut.value == node.value and cut.variable == node.variable
                and cut.missing_left == node.missing_left):
            return k
        k = cut.following
        tried += 1
    if make_room(c, 2 * n) < 0:
        return 0
    a = part(
        node, c.columns + node.variable * BLOCK, c.points + c.regions[region].first, n,
        c.points + begin, c.points + begin + n,
    )
    memcpy(c.points + begin + a, c.points + begin + n, (n - a) * sizeof(int32_t))
    c.n_listed += n
    c.n_cuts += 1
    cut = c.cuts + c.n_cuts
    cut.value = node.value
    cut.variable = node.variable
    cut.missing_left = node.missing_left
    cut.left = new_region(c, begin, a)
    cut.right = new_region(c, begin + a, n - a)
    cut.following = c.regions[region].cut
    c.regions[region].cut = c.n_cuts
    return c.n_cuts
