"""Cover trees: built from the top, truncated anywhere, asked for neighbours."""
import heapq
from array import array

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange
from libc.math cimport ceil, frexp, ldexp, log, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from dyntree._core.openmp cimport team


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

    /* a distance whose squares would be lost below, or beyond, the range of doubles:
       differences are brought near 1 by a power of two, which rounds nothing */
    static double scaled_doubles(const double *a, const double *b, int d, double unit) {
        double squares = 0.0;
        int j;
        for (j = 0; j < d; j++) {
            double s = (a[j] - b[j]) * unit;
            squares += s * s;
        }
        return sqrt(squares) / unit;
    }
    static double distance_doubles(const double *a, const double *b, int d) {
        double squares = squared_doubles(a, b, d);
        if (squares < 0x1p-900)
            return scaled_doubles(a, b, d, 0x1p+600);
        if (squares > 0x1p+1000)
            return scaled_doubles(a, b, d, 0x1p-600);
        return sqrt(squares);
    }
    """
    double squared_singles(const float *a, const float *b, int d) noexcept nogil
    double distance_doubles(const double *a, const double *b, int d) noexcept nogil


cdef double distance_of_singles(const char *a, const char *b, int d) noexcept nogil:
    return sqrt(squared_singles(<const float *> a, <const float *> b, d))


cdef double distance_of_doubles(const char *a, const char *b, int d) noexcept nogil:
    return distance_doubles(<const double *> a, <const double *> b, d)


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


cdef double unit_of(double radius) noexcept nogil:
    """The power of two that brings a radius near 1, so that its squares are numbers."""
    cdef int exponent = 0
    frexp(radius, &exponent)
    return ldexp(1.0, min(-exponent, 1000))


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
        double unit             # of distances where they are squared
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
        cdef double far
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
                for block in prange(n_blocks, num_threads=team(n_threads)):
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
                far = self.best[i] * self.unit
                part.radius = max(part.radius, self.best[i])
                part.squares += far * far
                self.carved[at] = self.best[i]
            else:
                job.own_radius = max(job.own_radius, self.own[i])
                far = self.own[i] * self.unit
                job.own_squares += far * far
                self.carved[at] = self.own[i]
        memcpy(self.order + first, self.room + first, job.n_rows * sizeof(int32_t))
        memcpy(self.own + first, self.carved + first, job.n_rows * sizeof(double))


cdef class Rows:
    """Rows of float32 or float64, and how far they are from one another."""

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
        One row at least; finite, and their distances too.
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
    for i in prange(n, nogil=True, num_threads=team(n_threads)):
        own[i] = rows.distance(rows.at + i * rows.size, rows.at, rows.d)
    radius = float(np.max(own))
    work.unit = unit_of(radius)
    np.multiply(own, work.unit, out=np.asarray(carved))
    nodes = Nodes(n, radius, float(np.dot(carved, carved)), leaf_size)
    cdef Job *jobs = <Job *> malloc(ROUND * sizeof(Job))
    if jobs == NULL:
        raise MemoryError()
    try:
        while True:
            chosen = nodes.next_round(max_nodes)
            n_round = len(chosen)
            if not n_round:
                break
            PyErr_CheckSignals()
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
                for r in prange(n_round, num_threads=team(n_threads), schedule="dynamic"):
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
    own = best = carved = None          # their memory is for the arrays of the nodes
    return {"order": np.asarray(order)} | nodes.arrays(base)


class Nodes:
    """Nodes of a tree that is being built, and which of them are open."""

    def __init__(self, n_rows, radius, squares, leaf_size):
        self.centre, self.parent = array("q", [0]), array("q", [-1])
        self.row_begin, self.own_end = array("q", [0]), array("q", [n_rows])
        self.row_end = array("q", [n_rows])
        self.own_radius, self.radius = array("d", [radius]), array("d", [radius])
        self.leaf_size, self.open = leaf_size, []
        self.leave_open(0, squares)

    def leave_open(self, node, squares):
        """Let a node be parted later, if it is large enough."""
        size = self.own_end[node] - self.row_begin[node]
        if size > self.leaf_size and self.own_radius[node] > 0.0:
            heapq.heappush(self.open, (-squares, node))

    def next_round(self, max_nodes):
        """Open nodes of the largest sums of squares: so many as there is room for."""
        chosen = []
        limit = min(ROUND, max_nodes - len(self.centre))
        while self.open and len(chosen) < limit:
            chosen.append(heapq.heappop(self.open)[1])
        return chosen

    def adopt(self, node, parts, own_radius, own_squares):
        """Take the children that an expansion found."""
        at = self.own_end[node]
        for centre, n_rows, radius, squares in reversed(parts):
            self.centre.append(centre)
            self.parent.append(node)
            self.row_begin.append(at - n_rows)
            self.own_end.append(at)
            self.row_end.append(at)
            self.own_radius.append(radius)
            self.radius.append(radius)
            self.leave_open(len(self.centre) - 1, squares)
            at -= n_rows
        self.own_end[node] = at
        self.own_radius[node] = own_radius
        self.leave_open(node, own_squares)

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
