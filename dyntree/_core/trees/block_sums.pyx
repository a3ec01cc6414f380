"""Sums and components over particles, block by block of points."""
import numpy as np

from cython.parallel import prange

from libc.math cimport INFINITY, NAN, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from dyntree._core.trees.arena cimport CHUNK
from dyntree._core.trees.distinct_trees cimport DistinctTrees, by_leaf
from dyntree._core.trees.block_partition cimport (
    BLOCK, WHOLE, BlockPartition, Cell, close_block, open_block, parting_by,
)
from dyntree._core.lanes cimport Pair, pair_at, pair_of, put_pair, sum_of
from dyntree._core.memory cimport resized
from dyntree._core.trees.leaf cimport LEAST_DF, LeafModel
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.scipy_special cimport stdtrit
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.nodes cimport Leaf, Node
from dyntree._core.types cimport handle_t

cdef enum:
    FEW = 16                # fewer rows than this go down every tree on their own
    MOST_IDS = 1 << 22      # places of a block in the trees, by its size
    SUMMED = 6              # doubles of an entry that are summed at a time
    N_QUANTILES = 1024      # whole df whose quantile is stored

cdef double UPPER = 0.95    # level of the quantiles among the moments


cdef int open_walk(
    Walk *w, Particles c, Kind kind, int32_t width, int32_t n_trees, int32_t size
) noexcept nogil:
    """Memory for one thread and blocks of `size` points; -1: none. `w` is all zeros."""
    cdef int32_t q = c.pool.n_features, leaves = c.arena.leaf_capacity()
    w.kind = kind
    w.width = width
    w.summed = kind != COMPONENTS
    w.least_df = LEAST_DF if c.numerics.integrates else -INFINITY
    w.shared = w.summed and (kind == COEFFICIENTS or c.leaf_model.n_basis == 0)
    w.base = 1
    w.row = <double *> malloc((2 * q + width) * sizeof(double))
    w.entry = w.row + 2 * q
    w.out = <double *> malloc(c.leaf_model.n_out * sizeof(double))
    w.leaf_marks = <int64_t *> calloc(leaves, sizeof(int64_t))
    w.leaf_entries = <int32_t *> calloc(leaves, sizeof(int32_t))
    w.quantiles = <double *> calloc(leaves + N_QUANTILES, sizeof(double))
    w.rounded = <char *> malloc(size)
    if (w.row == NULL or w.out == NULL or w.rounded == NULL or w.quantiles == NULL
            or w.leaf_marks == NULL or w.leaf_entries == NULL):
        return -1
    if n_trees:
        w.node_marks = <int64_t *> calloc(
            c.arena.n_node_chunks * CHUNK, sizeof(int64_t)
        )
        if w.node_marks == NULL:
            return -1
    if n_trees and w.summed:
        w.stride = (size + 15) // 16 * 16 | 16      # an odd number of cache lines
        w.ids = <int32_t *> malloc(n_trees * w.stride * sizeof(int32_t))
        if w.ids == NULL:
            return -1
    return 0


cdef void close_walk(Walk *w) noexcept nogil:
    free(w.row)
    free(w.out)
    close_block(&w.block)
    free(w.ids)
    free(w.rounded)
    free(w.node_marks)
    free(w.leaf_marks)
    free(w.leaf_entries)
    free(w.quantiles)
    free(w.entries.values)
    free(w.entries.points)
    free(w.entries.leaves)
    free(w.entries.versions)


cdef int make_room(Walk *w, int64_t n) noexcept nogil:
    """Room for n more entries; -1: no memory."""
    cdef int64_t room
    if w.entries.n + n <= w.entries.room:
        return 0
    room = w.entries.n + w.entries.n // 2 + n + n // 8 + 64
    if (resized(<void **> &w.entries.values, room, w.width * sizeof(double)) < 0
            or resized(<void **> &w.entries.points, room, sizeof(int32_t)) < 0
            or resized(<void **> &w.entries.leaves, room, sizeof(handle_t)) < 0
            or resized(<void **> &w.entries.versions, room, sizeof(int64_t)) < 0):
        return -1
    w.entries.room = room
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


cdef inline void fill_moments(double *e, double quantile, double least_df) noexcept nogil:
    """Moments of a leaf's Student t, whose location, scale and df stand in e.

    The variance counts df as `least_df` at least.
    """
    cdef double location = e[0], scale = e[1], df = e[2]
    cdef double half = scale * quantile, own = least_df if df < least_df else df
    e[1] = location * location
    e[2] = own * (scale * scale) / (own - 2.0)
    e[3] = df
    e[4] = location - half
    e[5] = location + half


cdef void describe(
    Walk *w, Particles c, handle_t h, const double *x, double *e
) noexcept nogil:
    """Entry e of leaf h at row x, as one particle's."""
    cdef const Leaf *leaf = c.arena.leaf(h)
    cdef int k
    if w.kind == COMPONENTS:
        c.leaf_model.predict(leaf, x, w.out)
        e[0] = 1.0
        memcpy(e + 1, w.out, 3 * sizeof(double))
        e[4] = without_noise(
            e[2],
            c.leaf_model.noise * c.leaf_model.sum_squares(leaf) / c.leaf_model.df(leaf),
        )
    elif w.kind == MOMENTS:
        c.leaf_model.predict(leaf, x, w.out)
        memcpy(e, w.out, 3 * sizeof(double))
        fill_moments(e, upper_quantile(w, h, e[2]), w.least_df)
    elif w.kind == CLASSES:
        memset(e, 0, w.width * sizeof(double))
        c.leaf_model.add_proba(leaf, x, e, w.out)
        for k in range(c.leaf_model.n_classes):
            e[c.leaf_model.n_classes] -= e[k] * log(e[k])
    else:
        memset(e, 0, w.width * sizeof(double))
        c.leaf_model.coefficients(leaf, e)


cdef void describe_all(
    Walk *w, Particles c, handle_t h, const int32_t *points, int32_t n, double *e
) noexcept nogil:
    """Entries from e on of leaf h at the block's points, where they differ in a leaf."""
    cdef double quantile = 0.0, noise = 0.0
    cdef int32_t k
    if w.kind == CLASSES:
        for k in range(n):
            describe(w, c, h, w.rows + points[k] * c.pool.n_features, e)
            e += w.width
        return
    c.leaf_model.predict_rows(
        c.arena.leaf(h), w.rows, c.pool.n_features, points, n, e + 1 - w.summed,
        w.width, w.out,
    )
    if w.summed:
        quantile = upper_quantile(w, h, e[2])       # one df for all points
    else:
        noise = (
            c.leaf_model.noise * c.leaf_model.sum_squares(c.arena.leaf(h))
            / c.leaf_model.df(c.arena.leaf(h))
        )
    for k in range(n):
        if w.summed:
            fill_moments(e, quantile, w.least_df)
        else:
            e[0] = w.count[-h]
            e[4] = without_noise(e[2], noise)
        e += w.width
    if c.leaf_model.rounds_rows:
        c.leaf_model.mark_rounded(
            c.arena.leaf(h), w.rows, c.pool.n_features, points, n, w.rounded
        )


# ---------------------------------------------------------------- one block
cdef int arrive(
    Walk *w, Particles c, handle_t h, const Cell *cell, int32_t tree
) noexcept nogil:
    """Entries of a leaf for the points that reach it; -1: no memory."""
    cdef const int32_t *points = w.block.points + cell.first
    cdef int32_t *ids = w.ids + tree * w.stride     # where entries are summed
    cdef int32_t k, width = c.pool.n_features
    cdef int64_t e = w.entries.n
    if make_room(w, cell.n) < 0:
        return -1
    if w.shared:
        if w.leaf_entries[-h] == 0:
            w.entries.n += 1
            w.leaf_entries[-h] = <int32_t> w.entries.n
            describe(w, c, h, w.rows + points[0] * width, w.entries.values + w.width * e)
        e = w.leaf_entries[-h] - 1
        for k in range(cell.n):
            ids[points[k]] = <int32_t> e
        return 0
    describe_all(w, c, h, points, cell.n, w.entries.values + w.width * e)
    for k in range(cell.n):
        w.entries.points[e] = points[k]
        if w.summed:
            w.entries.leaves[e] = h
            w.entries.versions[e] = 0
            ids[points[k]] = <int32_t> e
        e += 1
    w.entries.n = e
    return 0


cdef int walk(
    Walk *w, Particles c, handle_t h, int32_t cell, int32_t tree
) noexcept nogil:
    """Send a cell's points down from h, as far as no earlier tree has; -1: no memory."""
    cdef int64_t *mark
    cdef int32_t k
    cdef int32_t *ids
    cdef const int32_t *known
    cdef const int32_t *points
    cdef Node *node
    while cell:
        mark = w.node_marks + h if h > 0 else w.leaf_marks - h
        if mark[0] >= w.base:
            if w.summed:
                ids = w.ids + tree * w.stride
                known = w.ids + (mark[0] - w.base) * w.stride
                points = w.block.points + w.block.cells[cell].first
                for k in range(w.block.cells[cell].n):
                    ids[points[k]] = known[points[k]]
            return 0
        mark[0] = w.base + tree
        if h < 0:
            return arrive(w, c, h, w.block.cells + cell, tree)
        node = c.arena.node(h)
        k = parting_by(&w.block, node, cell)
        if k == 0 or walk(w, c, node.left, w.block.partings[k].left, tree) < 0:
            return -1
        h = node.right
        cell = w.block.partings[k].right
    return 0


cdef int visit(Walk *w, Particles c, DistinctTrees distinct) noexcept nogil:
    """All trees over the block; -1: no memory."""
    cdef int32_t tree
    if open_block(&w.block, w.rows, w.n_points, c.pool.n_features) < 0:
        return -1
    if not w.shared:
        w.entries.n = 0
    memset(w.rounded, 0, w.n_points)
    for tree in range(distinct.n_trees):
        if walk(w, c, distinct.trees[tree], WHOLE, tree) < 0:
            return -1
    w.base += distinct.n_trees
    return 0


# ---------------------------------------------------------------- sums
cdef void add_up(
    const Walk *w, int32_t p, int32_t r, const int32_t *place, int32_t n,
    double *total, double *other,
) noexcept nogil:
    """Sum the entries of points p and r in tree place[i] over i in this order.

    Two points side by side, for neither need wait for its own last sum.
    """
    cdef Pair t0, t1, t2, u0, u1, u2
    cdef const double *e
    cdef const double *f
    cdef const int32_t *ids
    cdef int32_t i, first = 0
    while first < w.width:
        t0 = t1 = t2 = u0 = u1 = u2 = pair_of(0.0)
        for i in range(n):
            ids = w.ids + place[i] * w.stride
            e = w.entries.values + (ids[p] * <int64_t> w.width + first)
            f = w.entries.values + (ids[r] * <int64_t> w.width + first)
            t0 = sum_of(t0, pair_at(e))
            t1 = sum_of(t1, pair_at(e + 2))
            t2 = sum_of(t2, pair_at(e + 4))
            u0 = sum_of(u0, pair_at(f))
            u1 = sum_of(u1, pair_at(f + 2))
            u2 = sum_of(u2, pair_at(f + 4))
        put_pair(total + first, t0)
        put_pair(total + first + 2, t1)
        put_pair(total + first + 4, t2)
        put_pair(other + first, u0)
        put_pair(other + first + 2, u1)
        put_pair(other + first + 4, u2)
        first += SUMMED


cdef void add_alone(
    Walk *w, Particles c, const double *x, double *total
) noexcept nogil:
    """Sum over particles at one row, each going down its tree."""
    cdef int32_t i, k
    cdef handle_t h
    memcpy(w.row, x, c.pool.n_features * sizeof(double))
    memset(total, 0, w.width * sizeof(double))
    for i in range(c.n_particles):
        h = find_leaf(c.arena, c.roots[i], w.row)
        describe(w, c, h, w.row, w.entry)
        for k in range(w.width):
            total[k] += w.entry[k]
        if w.kind == MOMENTS:
            c.leaf_model.round_row(c.arena.leaf(h), w.row)


cdef bint add_rounding(
    Walk *w, Particles c, DistinctTrees distinct, int32_t p, const double *x,
    double *total,
) noexcept nogil:
    """Sum moments over particles at a row, point p, that some of them round.

    An entry holds as long as the row stays as it was when the entry was made. False
    once rounding has carried the row over a split.
    """
    cdef double t0 = 0.0, t1 = 0.0, t2 = 0.0, t3 = 0.0, t4 = 0.0, t5 = 0.0
    cdef int32_t q = c.pool.n_features, i, j, k
    cdef int64_t version = w.version + 1
    cdef double *before = w.row + q
    cdef double *e
    memcpy(w.row, x, q * sizeof(double))
    for i in range(c.n_particles):
        k = w.ids[distinct.place[i] * w.stride + p]
        e = w.entries.values + k * <int64_t> w.width
        if w.entries.versions[k] != version:
            describe(w, c, w.entries.leaves[k], w.row, e)
            w.entries.versions[k] = version
            memcpy(before, w.row, q * sizeof(double))
            c.leaf_model.round_row(c.arena.leaf(w.entries.leaves[k]), w.row)
            if memcmp(before, w.row, q * sizeof(double)):
                version += 1
                for j in range(q):
                    if before[j] != w.row[j] and distinct.separated(
                        j, before[j], w.row[j]
                    ):
                        w.version = version
                        return False
        t0 += e[0]
        t1 += e[1]
        t2 += e[2]
        t3 += e[3]
        t4 += e[4]
        t5 += e[5]
    w.version = version
    total[0] = t0
    total[1] = t1
    total[2] = t2
    total[3] = t3
    total[4] = t4
    total[5] = t5
    return True


cdef int sum_block(
    Walk *w, Particles c, DistinctTrees distinct, const double *rows, int32_t n,
    const int64_t *order, double *total,
) noexcept nogil:
    """Sum at n <= BLOCK rows over particles, to rows order[p] of total; -1: no memory."""
    cdef int32_t p, q = c.pool.n_features, waiting = -1
    cdef double *out
    w.rows = rows
    w.n_points = n
    if distinct.n_trees and visit(w, c, distinct) < 0:
        return -1
    for p in range(n):
        out = total + order[p] * w.width
        if distinct.n_trees == 0:
            add_alone(w, c, rows + p * q, out)
        elif w.rounded[p]:
            if not add_rounding(w, c, distinct, p, rows + p * q, out):
                add_alone(w, c, rows + p * q, out)
        elif waiting < 0:
            waiting = p
        else:
            add_up(
                w, waiting, p, &distinct.place[0], c.n_particles,
                total + order[waiting] * w.width, out,
            )
            waiting = -1
    if waiting >= 0:                        # the last stands beside itself
        out = total + order[waiting] * w.width
        add_up(w, waiting, waiting, &distinct.place[0], c.n_particles, out, out)
    return 0


cdef object sums(Particles c, object rows, Kind kind, int width, int n_threads):
    order = np.arange(len(rows))
    if len(rows) > BLOCK:
        rows, order = by_leaf(c, rows)
    cdef const double[:, ::1] X = rows
    cdef const int64_t[::1] to = order
    cdef Py_ssize_t n_rows = X.shape[0], b, n_blocks
    cdef int lanes = (width + SUMMED - 1) // SUMMED * SUMMED, thread
    cdef DistinctTrees distinct = DistinctTrees(c, n_rows >= FEW)
    cdef int32_t failed = 0
    cdef int32_t size = max(16, min(BLOCK, MOST_IDS // max(1, distinct.n_trees)))
    total = np.empty((n_rows, lanes))
    cdef double[:, ::1] out = total
    cdef Walk *walks
    if n_rows == 0:
        return total[:, :width]
    n_blocks = (n_rows + size - 1) // size
    n_threads = <int> min(n_threads, n_blocks)
    walks = <Walk *> calloc(n_threads, sizeof(Walk))
    if walks == NULL:
        raise MemoryError()
    for thread in range(n_threads):
        failed |= open_walk(walks + thread, c, kind, lanes, distinct.n_trees, size)
    if not failed:
        for b in prange(
            n_blocks, num_threads=team(n_threads), nogil=True, schedule="dynamic"
        ):
            failed |= sum_block(
                walks + thread_number(), c, distinct, &X[b * size, 0],
                <int32_t> min(size, n_rows - b * size), &to[b * size], &out[0, 0],
            )
    for thread in range(n_threads):
        close_walk(walks + thread)
    free(walks)
    if failed:
        raise MemoryError()
    return total[:, :width]


# ---------------------------------------------------------------- components
cdef int add_components(Walk *w, Particles c, int32_t p) noexcept nogil:
    """Entries of the distinct leaves that point p meets, in order; -1: no memory."""
    cdef int64_t begin = w.entries.n
    cdef int32_t i
    cdef int64_t *mark
    cdef handle_t h
    if make_room(w, c.n_particles) < 0:
        return -1
    memcpy(w.row, w.rows + p * c.pool.n_features, c.pool.n_features * sizeof(double))
    for i in range(c.n_particles):
        h = find_leaf(c.arena, c.roots[i], w.row)
        mark = w.leaf_marks - h
        if mark[0] >= w.base:
            w.entries.values[w.width * (begin + mark[0] - w.base)] += 1.0
        else:
            mark[0] = w.base + w.entries.n - begin
            describe(w, c, h, w.row, w.entries.values + w.width * w.entries.n)
            w.entries.points[w.entries.n] = p
            w.entries.n += 1
        c.leaf_model.round_row(c.arena.leaf(h), w.row)
    w.base += c.n_particles
    return 0


cdef int gather_block(
    Walk *w, Particles c, DistinctTrees distinct, const double *rows, int32_t n,
    int64_t *counts, Entries *into,
) noexcept nogil:
    """Hand over values and points of n <= BLOCK rows, and count them; -1: no memory."""
    cdef int32_t p
    cdef int64_t k
    w.rows = rows
    w.n_points = n
    w.entries.n = 0
    if make_room(w, w.expected) < 0:
        return -1
    if distinct.n_trees:
        w.count = &distinct.count[0]
        if visit(w, c, distinct) < 0:
            return -1
    else:
        for p in range(n):
            if add_components(w, c, p) < 0:
                return -1
    into.n = w.expected = w.entries.n
    into.values = w.entries.values
    into.points = w.entries.points
    w.entries.room = 0
    w.entries.values = NULL
    w.entries.points = NULL
    memset(counts, 0, n * sizeof(int64_t))
    for k in range(into.n):
        counts[into.points[k]] += 1
    return 0


cdef void spread(
    const Entries *from_, int32_t n, double n_particles, const int64_t *start,
    double *weight, double *location, double *scale, double *df, double *of_mean,
) noexcept nogil:
    """Write a block's components where its n rows begin."""
    cdef int64_t[BLOCK] places
    cdef const double *e = from_.values
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
        of_mean[at] = e[4]
        e += COMPONENT_WIDTH


cdef object distinct_components(Particles c, object rows, int n_threads):
    cdef const double[:, ::1] X = rows
    cdef Py_ssize_t n_rows = X.shape[0], b, j, n_blocks = (n_rows + BLOCK - 1) // BLOCK
    cdef bint whole = n_rows >= FEW and not c.leaf_model.rounds_rows
    cdef DistinctTrees distinct = DistinctTrees(c, whole)
    cdef int32_t failed = 0
    cdef int thread
    cdef Walk *walks
    cdef Entries *blocks
    cdef double[::1] w, m, s, d, z
    start = np.zeros(n_rows + 1, dtype=np.int64)
    weight = location = scale = df = of_mean = np.empty(0)
    cdef int64_t[::1] ends = start
    n_threads = <int> max(1, min(n_threads, n_blocks))
    walks = <Walk *> calloc(n_threads, sizeof(Walk))
    blocks = <Entries *> calloc(n_blocks + 1, sizeof(Entries))
    failed = walks == NULL or blocks == NULL
    if not failed:
        for thread in range(n_threads):
            failed |= open_walk(
                walks + thread, c, COMPONENTS, COMPONENT_WIDTH, distinct.n_trees, BLOCK
            )
    if not failed:
        for b in prange(
            n_blocks, num_threads=team(n_threads), nogil=True, schedule="dynamic"
        ):
            failed |= gather_block(
                walks + thread_number(), c, distinct, &X[b * BLOCK, 0],
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
            # one block, for which NumPy asks large pages if it is large
            weight, location, scale, df, of_mean = np.empty((5, ends[n_rows]))
            w, m, s, d, z = weight, location, scale, df, of_mean
            for b in prange(
                n_blocks, num_threads=team(n_threads), nogil=True, schedule="dynamic"
            ):
                spread(
                    blocks + b, <int32_t> min(BLOCK, n_rows - b * BLOCK),
                    c.n_particles, &ends[b * BLOCK], &w[0], &m[0], &s[0], &d[0],
                    &z[0],
                )
    if blocks != NULL:
        for b in range(n_blocks):
            free(blocks[b].values)
            free(blocks[b].points)
    free(blocks)
    if failed:
        raise MemoryError()
    return start, weight, location, scale, df, of_mean
