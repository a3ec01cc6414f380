"""Cover trees: built from the top, truncated anywhere, asked for neighbours."""
import heapq

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, ceil, log, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dyntree._core.openmp cimport thread_number

cdef enum:
    CENTRES = 32            # of one expansion at the most
    TRIES = 24              # random rows before all are looked through
    ROUND = 64              # nodes that are expanded side by side
    LARGE = 20000           # rows from which a node is expanded by all threads
    NO_LEVEL = -2147483648  # of a node whose rows are all one

cdef extern from *:
    """
    typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));
    typedef float Fours __attribute__((vector_size(16), aligned(4), may_alias));
    typedef double Wide __attribute__((vector_size(32)));

    /* squared distances; sums in one order whatever the machine */
    static inline double squared_singles(const float *a, const float *b, int d) {
        Wide one = {0}, other = {0};
        double rest = 0.0;
        int j = 0;
        for (; j + 8 <= d; j += 8) {
            Wide s = __builtin_convertvector(*(Fours *) (a + j), Wide)
                     - __builtin_convertvector(*(Fours *) (b + j), Wide);
            Wide t = __builtin_convertvector(*(Fours *) (a + j + 4), Wide)
                     - __builtin_convertvector(*(Fours *) (b + j + 4), Wide);
            one += s * s;
            other += t * t;
        }
        for (; j < d; j++) {
            double s = (double) a[j] - (double) b[j];
            rest += s * s;
        }
        one += other;
        return (one[0] + one[1]) + (one[2] + one[3]) + rest;
    }
    static inline double squared_doubles(const double *a, const double *b, int d) {
        Pair one = {0}, other = {0};
        double rest = 0.0;
        int j = 0;
        for (; j + 4 <= d; j += 4) {
            Pair s = *(Pair *) (a + j) - *(Pair *) (b + j);
            Pair t = *(Pair *) (a + j + 2) - *(Pair *) (b + j + 2);
            one += s * s;
            other += t * t;
        }
        for (; j < d; j++)
            rest += (a[j] - b[j]) * (a[j] - b[j]);
        one += other;
        return one[0] + one[1] + rest;
    }
    """
    double squared_singles(const float *a, const float *b, int d) noexcept nogil
    double squared_doubles(const double *a, const double *b, int d) noexcept nogil


cdef double distance_of_singles(const char *a, const char *b, int d) noexcept nogil:
    return sqrt(squared_singles(<const float *> a, <const float *> b, d))


cdef double distance_of_doubles(const char *a, const char *b, int d) noexcept nogil:
    return sqrt(squared_doubles(<const double *> a, <const double *> b, d))


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """SplitMix64 (Steele, Lea and Flood 2014)."""
    x += 0x9E3779B97F4A7C15u
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu
    return x ^ (x >> 31)


cdef int64_t level_of(double radius, double base) noexcept nogil:
    """The least whole l with base^l >= radius."""
    cdef int64_t l
    if not radius > 0.0:
        return NO_LEVEL
    l = <int64_t> ceil(log(radius) / log(base))
    while pow(base, l) < radius:
        l += 1
    while pow(base, l - 1) >= radius:
        l -= 1
    return l


cdef struct Part:               # a child that an expansion makes
    int64_t centre, n_rows
    double radius, squares

cdef struct Job:                # an expansion
    int64_t node, first, n_rows
    double reach                # rows within it of a centre go to it
    int most                    # children
    int n_parts                 # found; -1: no memory
    Part[CENTRES] parts
    double own_radius, own_squares


cdef class Builder:
    """Expands nodes until there are enough; see `build`."""

    cdef:
        const char *rows
        int64_t size            # bytes of a row
        int d
        distance_t distance
        uint64_t seed
        int32_t *order
        int32_t *room           # as `order`, where ranges are carved
        double *own             # distance to the centre of the node that owns the row
        double *best            # to the nearest centre of an expansion
        double *carved          # as `own`, where ranges are carved
        uint8_t *near           # which centre that is; 0: the node's own

    cdef void measure(
        self, int64_t first, int64_t last, int64_t centre, int which
    ) noexcept nogil:
        """Let rows to which a new centre is the nearest know it."""
        cdef int64_t i
        cdef double far
        cdef const char *x = self.rows + centre * self.size
        for i in range(first, last):
            far = self.distance(self.rows + self.order[i] * self.size, x, self.d)
            if far < self.best[i]:
                self.best[i], self.near[i] = far, <uint8_t> which

    cdef void expand(self, Job *job, int n_threads) noexcept nogil:
        """Find centres among a node's own rows, and carve their ranges."""
        cdef int64_t first = job.first, last = job.first + job.n_rows, i, found, block
        cdef int64_t n_blocks = (job.n_rows + LARGE - 1) // LARGE, at
        cdef int64_t[CENTRES + 2] ends
        cdef int k = 0, attempt
        cdef uint64_t word = mixed(self.seed ^ mixed(<uint64_t> job.node))
        cdef Part *part
        memcpy(self.best + first, self.own + first, job.n_rows * sizeof(double))
        for i in range(first, last):
            self.near[i] = 0
        found = first
        while k < job.most:
            for attempt in range(TRIES):
                word = mixed(word)
                i = first + <int64_t> (word % <uint64_t> job.n_rows)
                if self.best[i] > job.reach:
                    break
            else:
                while found < last and self.best[found] <= job.reach:
                    found += 1          # what is near enough stays so
                if found == last:
                    break
                i = found
            k += 1
            job.parts[k - 1].centre = self.order[i]
            if n_threads > 1:
                for block in prange(n_blocks, num_threads=n_threads):
                    self.measure(
                        first + block * LARGE, min(last, first + (block + 1) * LARGE),
                        job.parts[k - 1].centre, k,
                    )
            else:
                self.measure(first, last, job.parts[k - 1].centre, k)
        job.n_parts = k
        for attempt in range(k + 2):
            ends[attempt] = 0
        for i in range(first, last):    # what is far from all centres stays
            if self.best[i] > job.reach:
                self.near[i] = 0
            ends[self.near[i] + 1] += 1
        ends[0] = first
        for attempt in range(1, k + 2):
            ends[attempt] += ends[attempt - 1]
        job.own_radius = job.own_squares = 0.0
        for attempt in range(k):
            part = &job.parts[attempt]
            part.radius = part.squares = 0.0
            part.n_rows = ends[attempt + 2] - ends[attempt + 1]
        for i in range(first, last):
            at = ends[self.near[i]]
            ends[self.near[i]] += 1
            self.room[at] = self.order[i]
            if self.near[i]:
                part = &job.parts[self.near[i] - 1]
                part.radius = max(part.radius, self.best[i])
                part.squares += self.best[i] * self.best[i]
                self.carved[at] = self.best[i]
            else:
                job.own_radius = max(job.own_radius, self.own[i])
                job.own_squares += self.own[i] * self.own[i]
                self.carved[at] = self.own[i]
        memcpy(self.order + first, self.room + first, job.n_rows * sizeof(int32_t))
        memcpy(self.own + first, self.carved + first, job.n_rows * sizeof(double))


cdef class Rows:
    """Rows of float32 or float64, and how far they are from one another."""

    cdef:
        readonly object X
        const char *at
        int64_t size            # bytes of a row
        int d
        distance_t distance

    def __init__(self, X):
        cdef const float[:, ::1] singles
        cdef const double[:, ::1] doubles
        self.X = X
        self.d = X.shape[1]
        if X.dtype == np.float32:
            singles = X
            self.at, self.size = <const char *> &singles[0, 0], self.d * sizeof(float)
            self.distance = distance_of_singles
        else:
            doubles = X
            self.at, self.size = <const char *> &doubles[0, 0], self.d * sizeof(double)
            self.distance = distance_of_doubles


def build(X, double base, int64_t leaf_size, int64_t max_nodes, seed, int n_threads):
    """Cover tree of rows, from the top down.

    Parameters
    ----------
    X : ndarray of float32 or float64 of shape (n_rows, n_features)
        One row at least, finite.
    base : float
        Ratio of the radii of two levels, > 1.
    leaf_size : int
        Own rows up to which a node is not expanded.
    max_nodes : int
    seed : int
    n_threads : int
        Of no effect on the tree.

    Returns
    -------
    dict of ndarray
        order (n_rows,) int32; and, by node, depth first: centre and parent int32, level
        int64, row_begin, own_end and row_end int64, radius_own and radius_sub float64.
    """
    cdef Rows rows = Rows(X)
    cdef int64_t n = len(X), i, r, n_round
    cdef int32_t[::1] order = np.arange(n, dtype=np.int32)
    cdef int32_t[::1] room = np.empty(n, dtype=np.int32)
    cdef double[::1] own = np.empty(n), best = np.empty(n), carved = np.empty(n)
    cdef uint8_t[::1] near = np.empty(n, dtype=np.uint8)
    cdef Builder work = Builder()
    work.rows, work.size, work.d = rows.at, rows.size, rows.d
    work.distance, work.seed = rows.distance, <uint64_t> (int(seed) % (1 << 64))
    work.order, work.room, work.near = &order[0], &room[0], &near[0]
    work.own, work.best, work.carved = &own[0], &best[0], &carved[0]
    for i in prange(n, nogil=True, num_threads=n_threads):
        own[i] = rows.distance(rows.at + i * rows.size, rows.at, rows.d)
    nodes = Nodes(n, float(np.max(own)), float(np.square(own).sum()))
    cdef Job *jobs = <Job *> malloc(ROUND * sizeof(Job))
    if jobs == NULL:
        raise MemoryError()
    try:
        while True:
            chosen = nodes.next_round(leaf_size, max_nodes)
            n_round = len(chosen)
            if not n_round:
                break
            spare = (max_nodes - len(nodes.centre)) // n_round
            for r, node in enumerate(chosen):
                jobs[r].node, jobs[r].first = node, nodes.row_begin[node]
                jobs[r].n_rows = nodes.own_end[node] - nodes.row_begin[node]
                jobs[r].reach = pow(
                    base, <double> (level_of(nodes.own_radius[node], base) - 1)
                )
                jobs[r].most = min(CENTRES, max(1, spare))
            with nogil:
                for r in range(n_round):
                    if jobs[r].n_rows >= LARGE:
                        work.expand(&jobs[r], n_threads)
                for r in prange(n_round, num_threads=n_threads, schedule="dynamic"):
                    if jobs[r].n_rows < LARGE:
                        work.expand(&jobs[r], 1)
            for r in range(n_round):
                parts = [
                    (
                        jobs[r].parts[i].centre, jobs[r].parts[i].n_rows,
                        jobs[r].parts[i].radius, jobs[r].parts[i].squares,
                    )
                    for i in range(jobs[r].n_parts)
                ]
                nodes.adopt(
                    jobs[r].node, parts, jobs[r].own_radius, jobs[r].own_squares
                )
    finally:
        free(jobs)
    return {"order": np.asarray(order)} | nodes.arrays(base)


class Nodes:
    """Nodes of a tree that is being built, and which of them are open."""

    def __init__(self, n_rows, radius, squares):
        self.centre, self.parent = [0], [-1]
        self.row_begin, self.own_end, self.row_end = [0], [n_rows], [n_rows]
        self.own_radius, self.radius = [radius], [radius]
        self.open = [(-squares, 0)]

    def next_round(self, leaf_size, max_nodes):
        """Open nodes of the largest sums of squares: so many as there is room for."""
        chosen = []
        limit = min(ROUND, max_nodes - len(self.centre))
        while self.open and len(chosen) < limit:
            _, node = heapq.heappop(self.open)
            size = self.own_end[node] - self.row_begin[node]
            if size > leaf_size and self.own_radius[node] > 0.0:
                chosen.append(node)
        return chosen

    def adopt(self, node, parts, own_radius, own_squares):
        """Take the children that an expansion found."""
        at = self.own_end[node]
        for centre, n_rows, radius, squares in reversed(parts):
            heapq.heappush(self.open, (-squares, len(self.centre)))
            self.centre.append(centre)
            self.parent.append(node)
            self.row_begin.append(at - n_rows)
            self.own_end.append(at)
            self.row_end.append(at)
            self.own_radius.append(radius)
            self.radius.append(radius)
            at -= n_rows
        self.own_end[node] = at
        self.own_radius[node] = own_radius
        heapq.heappush(self.open, (-own_squares, node))

    def arrays(self, base):
        """Arrays by node, depth first, which is the order of their first rows."""
        begin = np.array(self.row_begin, dtype=np.int64)
        turn = np.argsort(begin)
        place = np.empty(len(turn), dtype=np.int32)
        place[turn] = np.arange(len(turn))
        parent = np.array(self.parent)[turn]
        radius = np.array(self.radius)[turn]
        return {
            "centre": np.array(self.centre, dtype=np.int32)[turn],
            "parent": np.where(parent < 0, -1, place[parent]).astype(np.int32),
            "level": np.array([level_of(r, base) for r in radius], dtype=np.int64),
            "row_begin": begin[turn],
            "own_end": np.array(self.own_end, dtype=np.int64)[turn],
            "row_end": np.array(self.row_end, dtype=np.int64)[turn],
            "radius_own": np.array(self.own_radius)[turn],
            "radius_sub": radius,
        }


# ---------------------------------------------------------------- questions
cdef struct Near:
    double distance
    int64_t id

cdef struct Ball:
    double least            # distance that no row of the node undercuts
    double centre           # distance to the centre
    int64_t node


cdef inline bint nearer(Near a, Near b) noexcept nogil:
    return a.distance < b.distance or (a.distance == b.distance and a.id < b.id)


cdef void sift(Near *heap, int n, Near new) noexcept nogil:
    """Put a row at the top of a heap of n."""
    cdef int i = 0, child
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and nearer(heap[child], heap[child + 1]):
            child += 1
        if not nearer(new, heap[child]):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = new


cdef void keep_near(Near *heap, int k, int *n, Near new) noexcept nogil:
    """Put a row into a heap of the k nearest, the farthest at the top."""
    cdef int i
    if n[0] < k:
        i = n[0]
        n[0] += 1
        while i > 0 and nearer(heap[(i - 1) // 2], new):
            heap[i] = heap[(i - 1) // 2]
            i = (i - 1) // 2
        heap[i] = new
        return
    if nearer(new, heap[0]):
        sift(heap, k, new)


cdef class Searcher:
    """Neighbours in a cover tree.

    Parameters
    ----------
    tree : dict of ndarray
        As `build` gives it.
    X : ndarray of float32 or float64 of shape (n_rows, n_features)
        The same rows, in the order of the tree.
    ids : ndarray of int64 of shape (n_rows,)
        What rows in that order are called.
    """

    cdef:
        Rows rows, centres
        readonly int64_t n_rows, n_nodes
        object keep
        const int64_t *ids
        const int64_t *row_begin
        const int64_t *own_end
        const int64_t *row_end
        const double *radius_own
        const double *radius_sub
        const int64_t *child_begin      # (n_nodes + 1,) into child
        const int64_t *child            # nodes; their centres stand in this order

    def __init__(self, tree, X, ids):
        cdef const int64_t[::1] row_begin = tree["row_begin"], own_end = tree["own_end"]
        cdef const int64_t[::1] row_end = tree["row_end"], names = ids
        cdef const double[::1] own = tree["radius_own"], sub = tree["radius_sub"]
        whole = linked(tree)
        turn = whole["child"]
        cdef const int64_t[::1] child = turn, begin = whole["child_begin"]
        self.rows = Rows(X)
        self.centres = Rows(np.ascontiguousarray(X[centre_places(tree)[turn]]))
        self.n_rows, self.n_nodes = len(X), len(turn)
        self.keep = (row_begin, own_end, row_end, own, sub, child, begin, names)
        self.ids = &names[0]
        self.row_begin, self.own_end, self.row_end = (
            &row_begin[0], &own_end[0], &row_end[0]
        )
        self.radius_own, self.radius_sub = &own[0], &sub[0]
        self.child, self.child_begin = &child[0], &begin[0]

    cdef double slack(self, double far, double radius) noexcept nogil:
        """More than rounding can add to the difference of a distance and a radius."""
        return 1e-15 * (self.rows.d + 8) * (far + radius)

    cdef double least(self, double far, double radius) noexcept nogil:
        """What no row within the radius of a centre so far away can undercut."""
        return max(0.0, far - radius - self.slack(far, radius))

    cdef int nearest(
        self, const char *x, int k, Near *found, Ball *heap
    ) noexcept nogil:
        """The k nearest rows, nearest first; returns how many."""
        cdef int n = 0, n_balls = 1, i, child
        cdef int64_t row, c, node
        cdef Ball ball, new
        cdef Near row_found
        ball.node, ball.least = 0, 0.0
        ball.centre = self.rows.distance(x, self.centres.at, self.rows.d)
        heap[0] = ball
        while n_balls > 0:
            ball = heap[0]                      # the nearest ball leaves the heap
            n_balls -= 1
            new = heap[n_balls]
            i = 0
            while True:
                child = 2 * i + 1
                if child >= n_balls:
                    break
                if child + 1 < n_balls and heap[child + 1].least < heap[child].least:
                    child += 1
                if new.least <= heap[child].least:
                    break
                heap[i] = heap[child]
                i = child
            heap[i] = new
            if n == k and ball.least > found[0].distance:
                break
            node = ball.node
            if (
                n < k
                or self.least(ball.centre, self.radius_own[node]) <= found[0].distance
            ):
                for row in range(self.row_begin[node], self.own_end[node]):
                    row_found.distance = self.rows.distance(
                        x, self.rows.at + row * self.rows.size, self.rows.d
                    )
                    if n == k and row_found.distance > found[0].distance:
                        continue
                    row_found.id = self.ids[row]
                    keep_near(found, k, &n, row_found)
            for c in range(self.child_begin[node], self.child_begin[node + 1]):
                new.node = self.child[c]
                new.centre = self.rows.distance(
                    x, self.centres.at + c * self.rows.size, self.rows.d
                )
                new.least = max(
                    ball.least, self.least(new.centre, self.radius_sub[new.node])
                )
                if n == k and new.least > found[0].distance:
                    continue
                i = n_balls
                n_balls += 1
                while i > 0 and heap[(i - 1) // 2].least > new.least:
                    heap[i] = heap[(i - 1) // 2]
                    i = (i - 1) // 2
                heap[i] = new
        for i in range(n - 1, 0, -1):           # a heap becomes a sorted array
            row_found = found[i]
            found[i] = found[0]
            sift(found, i, row_found)
        return n

    def query(self, X, int k, int n_threads):
        """The k nearest rows of each row of X, equal ones by their number.

        Returns
        -------
        distance : ndarray of shape (n_queries, k)
            Ascending.
        id : ndarray of int64 of shape (n_queries, k)
        """
        cdef Rows asked
        cdef int64_t n = len(X), q
        cdef int t
        distances, names = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        cdef double[:, ::1] distance = distances
        cdef int64_t[:, ::1] name = names
        if not n:
            return distances, names
        asked = Rows(X)
        cdef Near *near = <Near *> malloc(n_threads * k * sizeof(Near))
        cdef Ball *heap = <Ball *> malloc(n_threads * self.n_nodes * sizeof(Ball))
        if near == NULL or heap == NULL:
            free(near)
            free(heap)
            raise MemoryError()
        for q in prange(n, nogil=True, num_threads=n_threads, schedule="dynamic"):
            t = thread_number()
            self.answer(
                asked.at + q * asked.size, k, near + t * k, heap + t * self.n_nodes,
                &distance[q, 0], &name[q, 0],
            )
        free(near)
        free(heap)
        return distances, names

    cdef void answer(
        self, const char *x, int k, Near *near, Ball *heap, double *distance,
        int64_t *name,
    ) noexcept nogil:
        cdef int i
        self.nearest(x, k, near, heap)
        for i in range(k):
            distance[i], name[i] = near[i].distance, near[i].id

    cdef int64_t within(
        self, const char *x, double radius, int64_t *stack, Near *found
    ) noexcept nogil:
        """Rows within a radius into `found`, unless it is NULL; returns how many."""
        cdef int64_t n = 0, n_stack = 1, node, row, c
        cdef double far
        stack[0] = 0
        while n_stack > 0:
            n_stack -= 1
            node = stack[n_stack]
            for row in range(self.row_begin[node], self.own_end[node]):
                far = self.rows.distance(
                    x, self.rows.at + row * self.rows.size, self.rows.d
                )
                if far <= radius:
                    if found != NULL:
                        found[n].distance, found[n].id = far, self.ids[row]
                    n += 1
            for c in range(self.child_begin[node], self.child_begin[node + 1]):
                far = self.rows.distance(
                    x, self.centres.at + c * self.rows.size, self.rows.d
                )
                if self.least(far, self.radius_sub[self.child[c]]) <= radius:
                    stack[n_stack] = self.child[c]
                    n_stack += 1
        return n

    def query_radius(self, X, double radius, int n_threads):
        """Rows within a radius of each row of X, in no order.

        Returns
        -------
        begin : ndarray of int64 of shape (n_queries + 1,)
        distance, id : ndarray of shape (n_found,)
        """
        cdef Rows asked
        cdef int64_t n = len(X), q
        cdef int t
        begins = np.zeros(n + 1, dtype=np.int64)
        if not n:
            return begins, np.empty(0), np.empty(0, dtype=np.int64)
        asked = Rows(X)
        cdef int64_t[::1] begin = begins
        cdef int64_t[:, ::1] stack = np.empty((n_threads, self.n_nodes), dtype=np.int64)
        for q in prange(n, nogil=True, num_threads=n_threads, schedule="dynamic"):
            t = thread_number()
            begin[q + 1] = self.within(
                asked.at + q * asked.size, radius, &stack[t, 0], NULL
            )
        np.cumsum(begins, out=begins)
        rows_found = np.empty(
            int(begins[n]), dtype=[("distance", np.float64), ("id", np.int64)]
        )
        cdef Near[::1] found = rows_found
        cdef Near *at = &found[0] if len(rows_found) else NULL
        if at != NULL:
            for q in prange(n, nogil=True, num_threads=n_threads, schedule="dynamic"):
                t = thread_number()
                self.within(
                    asked.at + q * asked.size, radius, &stack[t, 0], at + begin[q]
                )
        return begins, rows_found["distance"].copy(), rows_found["id"].copy()


def linked(tree):
    """A tree with the places of its children.

    Parameters
    ----------
    tree : dict of ndarray
        As `build` gives it.

    Returns
    -------
    dict of ndarray
        The same, with child (n_nodes,), the nodes by their parents, the root first; and
        child_begin (n_nodes + 1,), where the children of each begin in it.
    """
    child = np.argsort(tree["parent"], kind="stable").astype(np.int64)
    count = np.bincount(tree["parent"] + 1, minlength=len(child) + 1)
    begin = np.cumsum(count).astype(np.int64)
    return tree | {"child": child, "child_begin": begin}


def centre_places(tree):
    """Places of the nodes' centres in the order of the tree, ndarray of int64."""
    place = np.empty(len(tree["order"]), dtype=np.int64)
    place[tree["order"]] = np.arange(len(place))
    return place[tree["centre"]]


def reorder(float[:, ::1] X, const int32_t[::1] order):
    """Put rows into another order, in place: row i becomes what row order[i] was.

    Parameters
    ----------
    X : ndarray of float32 of shape (n_rows, n_features)
    order : ndarray of int32 of shape (n_rows,)
        A permutation.
    """
    cdef int64_t n = X.shape[0], i, at, source
    cdef size_t size = X.shape[1] * sizeof(float)
    cdef uint8_t[::1] done = np.zeros(n, dtype=np.uint8)
    cdef float[::1] first = np.empty(X.shape[1], dtype=np.float32)
    with nogil:
        for i in range(n):
            if done[i]:
                continue
            memcpy(&first[0], &X[i, 0], size)
            at = i
            while True:
                done[at] = 1
                source = order[at]
                if source == i:
                    memcpy(&X[at, 0], &first[0], size)
                    break
                memcpy(&X[at, 0], &X[source, 0], size)
                at = source
