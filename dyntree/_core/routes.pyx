"""Sums and components over particles, block by block of points."""
import numpy as np

from cython.parallel import prange

from libc.math cimport NAN, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from scipy.special.cython_special cimport stdtrit

from dyntree._core.arena cimport CHUNK
from dyntree._core.crowd cimport Crowd
from dyntree._core.cuts cimport (
    BLOCK, WHOLE, Cuts, Region, close_cuts, cut_by, grown, open_block,
)
from dyntree._core.openmp cimport thread_number
from dyntree._core.tree cimport find_leaf
from dyntree._core.types cimport Leaf, Node, handle_t

cdef enum:
    FEW = 16                # fewer rows than this go down every tree on their own
    N_QUANTILES = 1024      # whole df whose quantile is kept

cdef double UPPER = 0.95    # level of the quantiles among the moments


cdef struct Walk:           # one thread's way over the blocks
    Kind kind
    int32_t width           # doubles of an entry: particles that share the leaf, values
    bint alike              # a leaf's values are the same at all points
    bint rounds             # a leaf may round the row that it is asked about
    int32_t n_points        # of the block
    const double *rows      # (n_points, n_features)
    double *rounded         # (BLOCK, n_features) the rows as the last leaf left them
    double *row             # (n_features,) scratch
    double *entry           # (width,) scratch
    double *total           # (n_points, width - 1) sums of the block
    bint *strayed           # (BLOCK,) points that rounding carried over a split
    const int32_t *count    # (leaves,) particles that share a leaf
    double *out             # scratch of LeafModel.predict
    Cuts cuts               # the block's points, parted by the splits met
    int64_t base            # marks below it are of earlier blocks
    int64_t *node_marks
    int64_t *leaf_marks
    double *quantiles       # (leaves + N_QUANTILES,) of leaves and whole df, 0 = unknown
    int64_t expected        # entries of the block before
    int64_t n_entries
    int64_t room
    double *entries         # (room, width)
    int32_t *entry_points   # (room,)


cdef struct Gathered:       # components of a block, in the order they were met
    int64_t n
    double *entries         # (n, 4) particles that share the leaf, location, scale, df
    int32_t *points         # (n,)


cdef int open_walk(Walk *w, Particles c, Kind kind, int32_t width) noexcept nogil:
    """Memory for one thread; -1: none. `w` is all zeros."""
    cdef int32_t q = c.pool.n_features, leaves = c.arena.leaf_capacity()
    w.kind = kind
    w.width = width
    w.rounds = c.leaf_model.rounds_rows and kind != COEFFICIENTS
    w.alike = kind == CLASSES or kind == COEFFICIENTS or c.leaf_model.n_basis == 0
    w.base = 1
    w.row = <double *> malloc((q + width) * sizeof(double))
    w.entry = w.row + q
    w.out = <double *> malloc(c.leaf_model.n_out * sizeof(double))
    w.rounded = <double *> malloc(BLOCK * <size_t> q * sizeof(double))
    w.strayed = <bint *> calloc(BLOCK, sizeof(bint))
    w.leaf_marks = <int64_t *> calloc(leaves, sizeof(int64_t))
    w.node_marks = <int64_t *> calloc(c.arena.n_node_chunks * CHUNK, sizeof(int64_t))
    w.quantiles = <double *> calloc(leaves + N_QUANTILES, sizeof(double))
    if w.row == NULL or w.out == NULL or w.rounded == NULL or w.strayed == NULL:
        return -1
    if w.leaf_marks == NULL or w.node_marks == NULL or w.quantiles == NULL:
        return -1
    return 0


cdef void close_walk(Walk *w) noexcept nogil:
    free(w.row)
    free(w.out)
    free(w.rounded)
    free(w.strayed)
    close_cuts(&w.cuts)
    free(w.node_marks)
    free(w.leaf_marks)
    free(w.quantiles)
    free(w.entries)
    free(w.entry_points)


cdef int make_room(Walk *w, int64_t n) noexcept nogil:
    """Room for n more entries; -1: no memory."""
    cdef int64_t room
    if w.n_entries + n <= w.room:
        return 0
    room = w.n_entries + w.n_entries // 2 + n + n // 8 + 64
    if (grown(<void **> &w.entries, room, w.width * sizeof(double)) < 0
            or grown(<void **> &w.entry_points, room, sizeof(int32_t)) < 0):
        return -1
    w.room = room
    return 0


# ---------------------------------------------------------------- what a leaf tells
cdef double upper_quantile(Walk *w, handle_t h, double df) noexcept nogil:
    """Quantile of Student's t, once per whole df and else once per leaf."""
    cdef double *known
    if not df > 0.0:
        return NAN
    if df < N_QUANTILES and df == <int> df:
        known = w.quantiles + <int> df
    else:
        known = w.quantiles + (N_QUANTILES - h)
    if known[0] == 0.0:
        known[0] = stdtrit(df, UPPER)
    return known[0]


cdef void describe(
    Walk *w, Particles c, handle_t h, const double *x, double *v
) noexcept nogil:
    """Values of leaf h at row x."""
    cdef const Leaf *leaf = c.arena.leaf(h)
    cdef double half, p
    cdef int k
    if w.kind == COMPONENTS:
        c.leaf_model.predict(leaf, x, w.out)
        memcpy(v, w.out, 3 * sizeof(double))
    elif w.kind == MOMENTS:
        c.leaf_model.predict(leaf, x, w.out)
        half = w.out[1] * upper_quantile(w, h, w.out[2])
        v[0] = w.out[0]
        v[1] = w.out[0] * w.out[0]
        v[2] = w.out[2] * (w.out[1] * w.out[1]) / (w.out[2] - 2.0)
        v[3] = w.out[2]
        v[4] = w.out[0] - half
        v[5] = w.out[0] + half
    elif w.kind == CLASSES:
        v[c.leaf_model.n_classes] = 0.0
        for k in range(c.leaf_model.n_classes):
            p = c.leaf_model.probability(leaf, k)
            v[k] = p
            v[c.leaf_model.n_classes] -= p * log(p)
    else:
        c.leaf_model.coefficients(leaf, v)


cdef void add(double *total, double count, const double *v, int32_t n) noexcept nogil:
    cdef int32_t k
    for k in range(n):
        total[k] += count * v[k]


# ---------------------------------------------------------------- one block
cdef int arrive(
    Walk *w, Particles c, Crowd crowd, handle_t h, const Region *region
) noexcept nogil:
    """What a leaf tells the points that reach it; -1: no memory."""
    cdef const int32_t *points = w.cuts.points + region.first
    cdef int32_t k, p, q = c.pool.n_features, n = w.width - 1
    cdef double *e
    if w.kind == COMPONENTS:
        if make_room(w, region.n) < 0:
            return -1
        e = w.entries + w.width * w.n_entries
        c.leaf_model.predict_rows(
            c.arena.leaf(h), w.rows, q, points, region.n, e + 1, w.width, w.out
        )
        for k in range(region.n):
            e[k * w.width] = w.count[-h]
            w.entry_points[w.n_entries + k] = points[k]
        w.n_entries += region.n
        return 0
    for k in range(region.n):
        p = points[k]
        if k == 0 or not w.alike:
            describe(w, c, h, w.rows + p * q, w.entry)
        add(w.total + p * n, w.count[-h], w.entry, n)
        if w.rounds:
            round_point(w, c, crowd, h, p)
    return 0


cdef void round_point(
    Walk *w, Particles c, Crowd crowd, handle_t h, int32_t p
) noexcept nogil:
    """Leave a point as its evaluation in leaf h would; note where that matters."""
    cdef int32_t j, q = c.pool.n_features
    cdef double *x = w.rounded + p * q
    memcpy(w.row, x, q * sizeof(double))
    c.leaf_model.round_row(c.arena.leaf(h), x)
    if memcmp(w.row, x, q * sizeof(double)):
        for j in range(q):
            if w.row[j] != x[j] and crowd.separated(j, w.row[j], x[j]):
                w.strayed[p] = True


cdef int walk(
    Walk *w, Particles c, Crowd crowd, handle_t h, int32_t region
) noexcept nogil:
    """Send a region's points down from h, as far as no earlier tree has; -1: no memory."""
    cdef int64_t *mark
    cdef int32_t k
    cdef Node *node
    while region:
        mark = w.node_marks + h if h > 0 else w.leaf_marks - h
        if mark[0] == w.base:
            return 0
        mark[0] = w.base
        if h < 0:
            return arrive(w, c, crowd, h, w.cuts.regions + region)
        node = c.arena.node(h)
        k = cut_by(&w.cuts, node, region)
        if k == 0 or walk(w, c, crowd, node.left, w.cuts.cuts[k].left) < 0:
            return -1
        h = node.right
        region = w.cuts.cuts[k].right
    return 0


cdef int visit(Walk *w, Particles c, Crowd crowd) noexcept nogil:
    """All trees over the block; -1: no memory."""
    cdef int32_t tree
    if open_block(&w.cuts, w.rows, w.n_points, c.pool.n_features) < 0:
        return -1
    w.n_entries = 0
    w.base += 1
    for tree in range(crowd.n_trees):
        if walk(w, c, crowd, crowd.trees[tree], WHOLE) < 0:
            return -1
    return 0


cdef int meet(Walk *w, Particles c, int32_t p) noexcept nogil:
    """Entries of the distinct leaves that point p meets, in order; -1: no memory."""
    cdef int64_t begin = w.n_entries
    cdef int32_t i
    cdef int64_t *mark
    cdef double *e
    cdef handle_t h
    if make_room(w, c.n_particles) < 0:
        return -1
    w.base += 1
    memcpy(w.row, w.rows + p * c.pool.n_features, c.pool.n_features * sizeof(double))
    for i in range(c.n_particles):
        h = find_leaf(c.arena, c.roots[i], w.row)
        mark = w.leaf_marks - h
        if mark[0] >= w.base:
            w.entries[w.width * (begin + mark[0] - w.base)] += 1.0
        else:
            mark[0] = w.base + w.n_entries - begin
            e = w.entries + w.width * w.n_entries
            e[0] = 1.0
            describe(w, c, h, w.row, e + 1)
            w.entry_points[w.n_entries] = p
            w.n_entries += 1
        if w.rounds:
            c.leaf_model.round_row(c.arena.leaf(h), w.row)
    w.base += c.n_particles
    return 0


# ---------------------------------------------------------------- sums
cdef int sum_alone(Walk *w, Particles c, int32_t p) noexcept nogil:
    """Sums at one point, each particle going down its tree; -1: no memory."""
    cdef int32_t n = w.width - 1
    cdef int64_t k
    cdef const double *e
    w.n_entries = 0
    if meet(w, c, p) < 0:
        return -1
    memset(w.total + p * n, 0, n * sizeof(double))
    for k in range(w.n_entries):
        e = w.entries + k * w.width
        add(w.total + p * n, e[0], e + 1, n)
    return 0


cdef int sum_block(
    Walk *w, Particles c, Crowd crowd, const double *rows, int32_t n, double *total
) noexcept nogil:
    """Sums over particles at n <= BLOCK rows; -1: no memory."""
    cdef int32_t p, q = c.pool.n_features
    w.rows = rows
    w.n_points = n
    w.total = total
    memset(w.strayed, 0, BLOCK * sizeof(bint))
    if crowd.n_trees:
        w.count = &crowd.count[0]
        memset(total, 0, n * (w.width - 1) * sizeof(double))
        if w.rounds:
            memcpy(w.rounded, rows, n * <size_t> q * sizeof(double))
            w.rows = w.rounded
        if visit(w, c, crowd) < 0:
            return -1
        w.rows = rows
    for p in range(n):
        if crowd.n_trees == 0 or w.strayed[p]:
            if sum_alone(w, c, p) < 0:
                return -1
    return 0


cdef object sums(Particles c, object rows, Kind kind, int width, int n_threads):
    cdef const double[:, ::1] X = rows
    cdef Py_ssize_t n_rows = X.shape[0], b, n_blocks = (n_rows + BLOCK - 1) // BLOCK
    cdef Crowd crowd = Crowd(c, n_rows >= FEW)
    cdef int32_t failed = 0
    cdef int thread
    cdef Walk *walks
    total = np.empty((n_rows, width))
    cdef double[:, ::1] out = total
    if n_rows == 0:
        return total
    n_threads = <int> min(n_threads, n_blocks)
    walks = <Walk *> calloc(n_threads, sizeof(Walk))
    if walks == NULL:
        raise MemoryError()
    for thread in range(n_threads):
        failed |= open_walk(walks + thread, c, kind, 1 + width)
    if not failed:
        for b in prange(n_blocks, num_threads=n_threads, nogil=True, schedule="static"):
            failed |= sum_block(
                walks + thread_number(), c, crowd, &X[b * BLOCK, 0],
                <int32_t> min(BLOCK, n_rows - b * BLOCK), &out[b * BLOCK, 0],
            )
    for thread in range(n_threads):
        close_walk(walks + thread)
    free(walks)
    if failed:
        raise MemoryError()
    return total


# ---------------------------------------------------------------- components
cdef int gather_block(
    Walk *w, Particles c, Crowd crowd, const double *rows, int32_t n, int64_t *counts,
    Gathered *into,
) noexcept nogil:
    """Hand over the components of n <= BLOCK rows, and count them; -1: no memory."""
    cdef int32_t p
    cdef int64_t k
    w.rows = rows
    w.n_points = n
    w.n_entries = 0
    if make_room(w, w.expected) < 0:
        return -1
    if crowd.n_trees:
        w.count = &crowd.count[0]
        if visit(w, c, crowd) < 0:
            return -1
    else:
        for p in range(n):
            if meet(w, c, p) < 0:
                return -1
    into.n = w.expected = w.n_entries
    into.entries = w.entries
    into.points = w.entry_points
    w.room = 0
    w.entries = NULL
    w.entry_points = NULL
    memset(counts, 0, n * sizeof(int64_t))
    for k in range(into.n):
        counts[into.points[k]] += 1
    return 0


cdef void spread(
    const Gathered *from_, int32_t n, double n_particles, const int64_t *start,
    double *weight, double *location, double *scale, double *df,
) noexcept nogil:
    """Write a block's components where its n rows begin."""
    cdef int64_t[BLOCK] places
    cdef const double *e = from_.entries
    cdef int64_t k, at
    cdef int32_t p
    memcpy(places, start, n * sizeof(int64_t))
    for k in range(from_.n):
        p = from_.points[k]
        at = places[p]
        places[p] += 1
        weight[at] = e[0] / n_particles
        location[at] = e[1]
        scale[at] = e[2]
        df[at] = e[3]
        e += 4


cdef object distinct_components(Particles c, object rows, int n_threads):
    cdef const double[:, ::1] X = rows
    cdef Py_ssize_t n_rows = X.shape[0], b, j, n_blocks = (n_rows + BLOCK - 1) // BLOCK
    cdef bint whole = n_rows >= FEW and not c.leaf_model.rounds_rows
    cdef Crowd crowd = Crowd(c, whole)
    cdef int32_t failed = 0
    cdef int thread
    cdef Walk *walks
    cdef Gathered *blocks
    cdef double[::1] w, m, s, d
    start = np.zeros(n_rows + 1, dtype=np.int64)
    weight = location = scale = df = np.empty(0)
    cdef int64_t[::1] ends = start
    n_threads = <int> max(1, min(n_threads, n_blocks))
    walks = <Walk *> calloc(n_threads, sizeof(Walk))
    blocks = <Gathered *> calloc(n_blocks + 1, sizeof(Gathered))
    failed = walks == NULL or blocks == NULL
    if not failed:
        for thread in range(n_threads):
            failed |= open_walk(walks + thread, c, COMPONENTS, 4)
    if not failed:
        for b in prange(n_blocks, num_threads=n_threads, nogil=True, schedule="static"):
            failed |= gather_block(
                walks + thread_number(), c, crowd, &X[b * BLOCK, 0],
                <int32_t> min(BLOCK, n_rows - b * BLOCK), &ends[1 + b * BLOCK],
                blocks + b,
            )
    if walks != NULL:
        for thread in range(n_threads):
            close_walk(walks + thread)
    free(walks)
    if not failed:
        for j in range(n_rows):
            ends[j + 1] += ends[j]
        if ends[n_rows]:
            weight, location, scale, df = (np.empty(ends[n_rows]) for _ in range(4))
            w, m, s, d = weight, location, scale, df
            for b in prange(
                n_blocks, num_threads=n_threads, nogil=True, schedule="static"
            ):
                spread(
                    blocks + b, <int32_t> min(BLOCK, n_rows - b * BLOCK),
                    c.n_particles, &ends[b * BLOCK], &w[0], &m[0], &s[0], &d[0],
                )
    if blocks != NULL:
        for b in range(n_blocks):
            free(blocks[b].entries)
            free(blocks[b].points)
    free(blocks)
    if failed:
        raise MemoryError()
    return start, weight, location, scale, df
