"""One variational sweep over stored items: responsibilities that are never stored.

An item is a point or a clump. Its row of the tile starts as sum_s (N_cs / N_c) table[s],
takes on <theta_k, phibar> by a product of matrices, and becomes N_c q by a softmax;
then it is added to the statistics and forgotten. Words of documents with few active
topics are swept over these alone (`sweep_words`). Tiles are small enough that a BLAS
library works in one thread, and rows are cut into `lanes` that depend on their number
only, so that no number of threads alters a bit.
"""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dgemm

from dyntree._core.openmp cimport team
from dyntree._core.mixtures cimport special
from dyntree._core.mixtures.addresses cimport doubles, ints, longs

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) \\
        && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
    #define HDP_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define HDP_CLONES
    #endif

    /* Rows of log weights (n, width), width a multiple of 4, become count times the
       softmax; returns the sum of count times the log of the normaliser. */
    static HDP_CLONES double hdp_softmax(double *rows, long n, long width,
                                         const double *count, int32_t *label) {
        double total = 0.0;
        for (long i = 0; i < n; i++, rows += width) {
            Four most = *(Four *) rows, sum = {0.0, 0.0, 0.0, 0.0};
            double top, all, scale;
            for (long k = 4; k < width; k += 4) {
                Four x = *(Four *) (rows + k);
                Ints more = x > most;
                most = (Four) (((Ints) x & more) | ((Ints) most & ~more));
            }
            top = most[0] > most[1] ? most[0] : most[1];
            all = most[2] > most[3] ? most[2] : most[3];
            top = top > all ? top : all;
            if (label) {
                long k = 0;
                while (k + 1 < width && rows[k] != top) k++;
                label[i] = (int32_t) k;
            }
            for (long k = 0; k < width; k += 4) {
                Four x = *(Four *) (rows + k) - top;
                *(Four *) (rows + k) = x;
                hdp_exp_four(rows + k);
                sum += *(Four *) (rows + k);
            }
            all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
            scale = (count ? count[i] : 1.0);
            total += scale * (top + log(all));
            scale /= all;
            for (long k = 0; k < width; k += 4)
                *(Four *) (rows + k) *= scale;
        }
        return total;
    }
    static HDP_CLONES void hdp_add(double *to, const double *from, double c, long n) {
        for (long k = 0; k < n; k++)
            to[k] += c * from[k];
    }
    """
    double softmax "hdp_softmax"(
        double *rows, long n, long width, const double *count, int32_t *label
    ) noexcept nogil
    void add "hdp_add"(double *to, const double *source, double c, long n) noexcept nogil

cdef enum:
    ONE_THREAD = 262144     # multiply-adds up to which OpenBLAS uses one thread
    LANE = 8192             # items at least in a lane
    MOST_LANES = 8

cdef double NOWHERE = -1e300
cdef double BELOW = 40.0    # nats: exp(-BELOW) of 1 is lost in rounding


cdef struct Items:
    Py_ssize_t n, d, F
    int kind                    # 0 full, 1 diagonal, 2 words
    const double *x             # (n, d) points or means
    const double *scatter       # clumps: centred, packed upper triangle by rows
    const double *count         # clumps: points in each
    const int64_t *indptr       # clumps: rows of group, tally
    const int32_t *group        # points: (n,)
    const double *tally
    const int64_t *word_indptr  # words of clumps
    const int32_t *word         # points: (n,)
    const double *word_tally    # points: (n,) counts


cdef struct Topics:
    Py_ssize_t K, S, V
    const double *table         # (S, K)
    const double *theta         # (K, F), 0 for far topics
    const double *words         # (V, K)
    Py_ssize_t n_far
    const int32_t *far
    const double *far_theta     # (n_far, F), about far_centre
    const double *far_centre    # (n_far, d)
    const double *highest       # words: (K,) largest E log p of any word, and the least
    const double *lowest


cdef struct Lane:
    double *rows                # (tile, width)
    double *phi                 # (tile, F)
    double *scaled              # (tile, width)
    double *N_sk                # (S, K)
    double *stats               # (K, F), words (V, K)
    double *far_stats           # (n_far, F)
    double *gram                # (K, K) or NULL
    double *entropy             # (K,) or NULL
    int32_t *active             # words: (K,) topics that a group may use
    double *logs                # words: (width,) their row of the table


cdef void features(Items *items, Py_ssize_t i, const double *centre, double *phi) noexcept nogil:
    """phibar of an item about a centre."""
    cdef Py_ssize_t d = items.d, a, b, p = 0
    cdef const double *x = items.x + i * d
    cdef const double *C = NULL
    cdef double *second = phi + d
    cdef double each = 0.0
    if items.scatter != NULL:
        each = 1.0 / items.count[i]
        C = items.scatter + i * (items.F - d)
    for a in range(d):
        phi[a] = x[a] - centre[a] if centre != NULL else x[a]
    if items.kind == 1:
        for a in range(d):
            second[a] = phi[a] * phi[a]
            if C != NULL:
                second[a] += each * C[a]
        return
    for a in range(d):
        for b in range(a, d):
            second[p] = phi[a] * phi[b]
            p += 1
    if C != NULL:
        for p in range(items.F - d):
            second[p] += each * C[p]


cdef void start_row(Items *items, Topics *topics, Py_ssize_t i, double *row) noexcept nogil:
    """sum over groups of share times table, and for words over words."""
    cdef Py_ssize_t j, K = topics.K
    if items.indptr == NULL:
        memcpy(row, topics.table + items.group[i] * K, K * sizeof(double))
        if items.kind == 2:
            add(row, topics.words + items.word[i] * K, 1.0, K)
        return
    memset(row, 0, K * sizeof(double))
    for j in range(items.indptr[i], items.indptr[i + 1]):
        add(row, topics.table + items.group[j] * K, items.tally[j] / items.count[i], K)
    if items.kind == 2:
        for j in range(items.word_indptr[i], items.word_indptr[i + 1]):
            add(row, topics.words + items.word[j] * K, items.word_tally[j] / items.count[i], K)


cdef void finish_row(Items *items, Topics *topics, Lane *lane, Py_ssize_t i, const double *row) noexcept nogil:
    """Add N_c q to the counts of groups, and for words to those of words."""
    cdef Py_ssize_t j, K = topics.K
    if items.indptr == NULL:
        add(lane.N_sk + items.group[i] * K, row, 1.0, K)
        if items.kind == 2:
            add(lane.stats + items.word[i] * K, row, 1.0, K)
        return
    for j in range(items.indptr[i], items.indptr[i + 1]):
        add(lane.N_sk + items.group[j] * K, row, items.tally[j] / items.count[i], K)
    if items.kind == 2:
        for j in range(items.word_indptr[i], items.word_indptr[i + 1]):
            add(lane.stats + items.word[j] * K, row, items.word_tally[j] / items.count[i], K)


cdef void products(Items *items, Topics *topics, Lane *lane, Py_ssize_t start, int r, int width) noexcept nogil:
    """rows += phibar theta'."""
    cdef int F = items.F, K = topics.K, chunk, f, m
    cdef double one = 1.0
    cdef Py_ssize_t i, j
    cdef double *phi
    for i in range(r):
        features(items, start + i, NULL, lane.phi + i * F)
    chunk = max(1, ONE_THREAD // (r * K))
    f = 0
    while f < F:
        m = min(chunk, F - f)
        dgemm(b"T", b"N", &K, &r, &m, &one, <double *> topics.theta + f, &F, lane.phi + f, &F, &one, lane.rows, &width)
        f += m


cdef double dot(const double *x, const double *y, Py_ssize_t n) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t j
    for j in range(n):
        total += x[j] * y[j]
    return total


cdef void far_products(Items *items, Topics *topics, Lane *lane, Py_ssize_t start, int r, int width, bint back) noexcept nogil:
    """The same for topics far from 0, each about its own mean; or their statistics."""
    cdef Py_ssize_t i, j, F = items.F
    cdef double *row
    for j in range(topics.n_far):
        for i in range(r):
            features(items, start + i, topics.far_centre + j * items.d, lane.scaled)
            row = lane.rows + i * width + topics.far[j]
            if back:
                add(lane.far_stats + j * F, lane.scaled, row[0], F)
            else:
                row[0] += dot(lane.scaled, topics.far_theta + j * F, F)


cdef void statistics(Items *items, Topics *topics, Lane *lane, int r, int width) noexcept nogil:
    """stats += rows' phibar."""
    cdef int F = items.F, K = topics.K, chunk, f, m
    cdef double one = 1.0
    chunk = max(1, ONE_THREAD // (r * K))
    f = 0
    while f < F:
        m = min(chunk, F - f)
        dgemm(b"N", b"T", &m, &K, &r, &one, lane.phi + f, &F, lane.rows, &width, &one, lane.stats + f, &F)
        f += m


cdef void rank_rows(Items *items, Topics *topics, Lane *lane, Py_ssize_t start, int r, int width) noexcept nogil:
    """sum_c N_c q log q of each topic, and sum_c N_c q q'."""
    cdef int K = topics.K, chunk, k, m
    cdef Py_ssize_t i, j
    cdef double one = 1.0, count, p, scale
    for i in range(r):
        count = 1.0
        if items.count != NULL:
            count = items.count[start + i]
        elif items.kind == 2:
            count = items.word_tally[start + i]
        scale = 1.0 / sqrt(count)
        for j in range(K):
            p = lane.rows[i * width + j]
            lane.scaled[i * width + j] = p * scale
            if p > 0.0:
                lane.entropy[j] += p * log(p / count)
    chunk = max(1, ONE_THREAD // (r * K))
    k = 0
    while k < K:
        m = min(chunk, K - k)
        dgemm(b"N", b"T", &K, &m, &r, &one, lane.scaled, &width, lane.scaled + k, &width, &one, lane.gram + k * K, &K)
        k += m


cdef double run_lane(
    Items *items, Topics *topics, Lane *lane, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t tile, int width, int32_t *label
) noexcept nogil:
    """Sweep over some of the items; returns the sum of count times log normaliser."""
    cdef double total = 0.0
    cdef const double *count
    cdef Py_ssize_t i, k
    cdef int r
    while start < stop:
        r = min(tile, stop - start)
        for i in range(r):
            start_row(items, topics, start + i, lane.rows + i * width)
            for k in range(topics.K, width):
                lane.rows[i * width + k] = NOWHERE
        if items.kind != 2:
            products(items, topics, lane, start, r, width)
            if topics.n_far:
                far_products(items, topics, lane, start, r, width, False)
        count = NULL
        if items.count != NULL:
            count = items.count + start
        elif items.kind == 2:
            count = items.word_tally + start
        total += softmax(lane.rows, r, width, count, label + start if label != NULL else NULL)
        for i in range(r):
            finish_row(items, topics, lane, start + i, lane.rows + i * width)
        if items.kind != 2:
            statistics(items, topics, lane, r, width)
            if topics.n_far:
                far_products(items, topics, lane, start, r, width, True)
        if lane.gram != NULL:
            rank_rows(items, topics, lane, start, r, width)
        start += r
    return total


cdef Py_ssize_t active_topics(Topics *topics, Lane *lane, Py_ssize_t group) noexcept nogil:
    """List the topics that some word of a group may use, with their rows of the table.

    The others are so rare in the group that no word has a share above exp(-BELOW) in
    them, whatever the word is.
    """
    cdef const double *row = topics.table + group * topics.K
    cdef double least = NOWHERE
    cdef Py_ssize_t k, n = 0
    for k in range(topics.K):
        if row[k] + topics.lowest[k] > least:
            least = row[k] + topics.lowest[k]
    least -= BELOW
    for k in range(topics.K):
        if row[k] + topics.highest[k] >= least:
            lane.active[n] = k
            lane.logs[n] = row[k]
            n += 1
    return n


cdef double sweep_words(
    Items *items, Topics *topics, Lane *lane, Py_ssize_t start, Py_ssize_t stop, int32_t *label
) noexcept nogil:
    """`run_lane` of words that are points, each over the active topics of its group."""
    cdef double total = 0.0, p
    cdef double *row = lane.rows
    cdef double *counts = NULL
    cdef double *stats
    cdef const double *words
    cdef Py_ssize_t i, a, group = -1, n = 0, width = 0, K = topics.K
    for i in range(start, stop):
        if items.group[i] != group:
            group = items.group[i]
            counts = lane.N_sk + group * K
            n = active_topics(topics, lane, group)
            width = (n + 3) // 4 * 4
        words = topics.words + items.word[i] * K
        for a in range(n):
            row[a] = lane.logs[a] + words[lane.active[a]]
        for a in range(n, width):
            row[a] = NOWHERE
        total += softmax(row, 1, width, items.word_tally + i, label + i if label != NULL else NULL)
        if label != NULL:
            label[i] = lane.active[label[i]]
        stats = lane.stats + items.word[i] * K
        for a in range(n):
            p = row[a]
            counts[lane.active[a]] += p
            stats[lane.active[a]] += p
    return total


cdef double sweep_lane(
    Items *items, Topics *topics, Lane *lane, Py_ssize_t start, Py_ssize_t stop,
    Py_ssize_t tile, int width, int32_t *label, bint by_word
) noexcept nogil:
    """Sweep over some of the items, in the way that suits them."""
    if by_word:
        return sweep_words(items, topics, lane, start, stop, label)
    return run_lane(items, topics, lane, start, stop, tile, width, label)


def n_lanes(Py_ssize_t n_items):
    """In how many lanes so many items are cut."""
    return max(1, min(MOST_LANES, n_items // LANE))


def tile_rows(Py_ssize_t K, Py_ssize_t F, Py_ssize_t block):
    """Rows of a tile: its product with a few dozen columns fits one thread of BLAS."""
    return max(1, min(block, max(16, ONE_THREAD // (K * min(F, 48)))))


def sweep_items(dict store, dict topics, dict out, bint clumps, Py_ssize_t block, int n_threads):
    """Add one sweep over the points, or the clumps, of a store to statistics.

    Parameters
    ----------
    store : dict
        kind, n, d, F; x (n, d); for points group (n,), of words word, word_tally (n,);
        for clumps count (n,), scatter (n, F - d), indptr (n + 1,), group and tally
        (nnz,), of words word_indptr, word, word_tally.
    topics : dict
        table (S, K), theta (K, F) or words (V, K), far (n_far,), far_theta, far_centre;
        of words highest and lowest (K,), the largest and the least of a column.
    out : dict
        N_sk (S, K), stats (K, F) or (V, K), far_stats (n_far, F), label (n,) or None,
        gram (K, K) and entropy (K,) or None: added to.

    Returns
    -------
    float
        Sum over items of count times log normaliser.
    """
    cdef Items items
    cdef Topics t
    cdef Py_ssize_t n = store["n"]
    if n == 0:
        return 0.0

    items.n, items.d, items.F = n, store["d"], store["F"]
    items.kind = store["kind"]
    items.x = doubles(store, "x")
    items.scatter = doubles(store, "scatter") if clumps else NULL
    items.count = doubles(store, "count") if clumps else NULL
    items.indptr = longs(store, "indptr") if clumps else NULL
    items.tally = doubles(store, "tally") if clumps else NULL
    items.group = ints(store, "group")
    items.word_indptr = longs(store, "word_indptr") if clumps else NULL
    items.word = ints(store, "word")
    items.word_tally = doubles(store, "word_tally")
    t.table = doubles(topics, "table")
    t.S, t.K = topics["table"].shape
    if t.K < 1:
        raise ValueError("a sweep needs one topic at least")
    t.theta = doubles(topics, "theta")
    t.words = doubles(topics, "words")
    t.V = topics["words"].shape[0] if items.kind == 2 else 0
    t.n_far = len(topics["far"])
    t.far = ints(topics, "far")
    t.far_theta = doubles(topics, "far_theta")
    t.far_centre = doubles(topics, "far_centre")
    t.highest = doubles(topics, "highest")
    t.lowest = doubles(topics, "lowest")

    cdef Py_ssize_t tile = tile_rows(t.K, max(items.F, 1), block)
    cdef int width = (t.K + 3) // 4 * 4
    cdef Py_ssize_t L = n_lanes(n), lane_size, l
    cdef bint rank = out["gram"] is not None
    cdef bint by_word = items.kind == 2 and not clumps and not rank
    stats = out["stats"]
    lanes = []
    for l in range(L):
        first = l == 0
        lanes.append({
            "rows": np.empty((tile, width)),
            "phi": np.empty((tile, max(items.F, 1))),
            "scaled": np.empty(max(tile * width, items.F)) if rank or t.n_far else None,
            "N_sk": out["N_sk"] if first else np.zeros((t.S, t.K)),
            "stats": stats if first else np.zeros(stats.shape),
            "far_stats": out["far_stats"] if first else np.zeros(out["far_stats"].shape),
            "gram": None if not rank else out["gram"] if first else np.zeros((t.K, t.K)),
            "entropy": None if not rank else out["entropy"] if first else np.zeros(t.K),
            "active": np.empty(t.K, dtype=np.int32),
            "logs": np.empty(width),
        })
    cdef Lane c_lanes[MOST_LANES]
    cdef double totals[MOST_LANES]
    for l in range(L):
        c_lanes[l].rows = doubles(lanes[l], "rows")
        c_lanes[l].phi = doubles(lanes[l], "phi")
        c_lanes[l].scaled = doubles(lanes[l], "scaled")
        c_lanes[l].N_sk = doubles(lanes[l], "N_sk")
        c_lanes[l].stats = doubles(lanes[l], "stats")
        c_lanes[l].far_stats = doubles(lanes[l], "far_stats")
        c_lanes[l].gram = doubles(lanes[l], "gram")
        c_lanes[l].entropy = doubles(lanes[l], "entropy")
        c_lanes[l].active = ints(lanes[l], "active")
        c_lanes[l].logs = doubles(lanes[l], "logs")
    cdef int32_t *label = ints(out, "label")
    if n_threads > L:
        n_threads = L
    if n_threads > 1:
        for l in prange(L, nogil=True, schedule="static", chunksize=1, num_threads=team(n_threads)):
            totals[l] = sweep_lane(
                &items, &t, &c_lanes[l], n * l // L, n * (l + 1) // L, tile, width, label, by_word)
    else:
        with nogil:
            for l in range(L):
                totals[l] = sweep_lane(
                    &items, &t, &c_lanes[l], n * l // L, n * (l + 1) // L, tile, width, label, by_word)
    total = 0.0
    for l in range(L):
        total += totals[l]
        if l:
            for name in ("N_sk", "stats", "far_stats", "gram", "entropy"):
                if lanes[l][name] is not None:
                    out[name] += lanes[l][name]
    return total
