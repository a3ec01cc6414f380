"""Neighbours in a cover tree: the nearest balls first, exact, ties by number.

Rows of the tree may be gone, and rows beside it may be searched too; all distances come
from one function, so that rows that are equal are equally far.
"""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from dyntree._core.covertree cimport Rows
from dyntree._core.openmp cimport team, thread_number

from dyntree._core.covertree import centre_places, linked


cdef enum:
    BLOCK = 256             # rows that are asked about between two looks for an interrupt

cdef struct Near:
    double distance
    int64_t id

cdef struct Ball:
    double least            # distance that no row of the node undercuts
    double centre           # distance to the centre
    int64_t node

cdef struct Changes:        # since the tree was built
    const uint8_t *gone     # which of its rows are, in the order of the tree; or NULL
    const char *late        # rows beside it
    const int64_t *late_ids
    int64_t n_late


cdef inline bint nearer(Near a, Near b) noexcept nogil:
    return a.distance < b.distance or (a.distance == b.distance and a.id < b.id)


cdef void sift(Near *heap, int64_t n, Near new) noexcept nogil:
    """Put a row at the top of a heap of n."""
    cdef int64_t i = 0, child
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


cdef void keep_near(Near *heap, int64_t k, int64_t *n, Near new) noexcept nogil:
    """Put a row into a heap of the k nearest, the farthest at the top."""
    cdef int64_t i
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


cdef void sort_heap(Near *heap, int64_t n) noexcept nogil:
    """Make a heap a sorted array, the nearest first."""
    cdef int64_t i
    cdef Near last
    for i in range(n - 1, 0, -1):
        last = heap[i]
        heap[i] = heap[0]
        sift(heap, i, last)


cdef void write_nearest(
    const Near *near, int64_t k, double *distance, int64_t *name
) noexcept nogil:
    """Write distances and names of rows where the caller wants them."""
    cdef int64_t i
    for i in range(k):
        distance[i], name[i] = near[i].distance, near[i].id


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
        return 1e-15 * (self.rows.d + 8) * (far + radius) + 2e-323

    cdef double least(self, double far, double radius) noexcept nogil:
        """What no row within the radius of a centre so far away can undercut."""
        return max(0.0, far - radius - self.slack(far, radius))

    cdef Changes changes(self, gone, late, late_ids):
        """Pointers into arrays that the caller keeps."""
        cdef const uint8_t[::1] is_gone
        cdef const int64_t[::1] names
        cdef Rows beside
        cdef Changes since
        since.gone, since.n_late = NULL, 0
        if gone is not None:
            is_gone = gone
            since.gone = &is_gone[0]
        if late is not None and len(late):
            beside, names = Rows(late), late_ids
            since.late, since.late_ids = beside.at, &names[0]
            since.n_late = len(late)
        return since

    cdef void scan(
        self, const char *x, const char *rows, const int64_t *ids, const uint8_t *gone,
        int64_t n_rows, double radius, int64_t k, Near *found, int64_t *n,
    ) noexcept nogil:
        """Put rows within a radius into a heap of the k nearest, or only count them."""
        cdef int64_t row
        cdef Near new
        for row in range(n_rows):
            if gone != NULL and gone[row]:
                continue
            new.distance = self.rows.distance(
                x, rows + row * self.rows.size, self.rows.d
            )
            if new.distance > radius:
                continue
            if found == NULL:
                n[0] += 1
            elif n[0] < k or new.distance <= found[0].distance:
                new.id = ids[row]
                keep_near(found, k, n, new)

    cdef void scan_own(
        self, int64_t node, const char *x, const uint8_t *gone, double radius,
        int64_t k, Near *found, int64_t *n,
    ) noexcept nogil:
        """Scan the own rows of a node."""
        cdef int64_t first = self.row_begin[node]
        if gone != NULL:
            gone += first
        self.scan(
            x, self.rows.at + first * self.rows.size, self.ids + first, gone,
            self.own_end[node] - first, radius, k, found, n,
        )

    cdef int64_t nearest(
        self, const char *x, Changes since, int64_t k, Near *found, Ball *heap
    ) noexcept nogil:
        """Find the k nearest rows, nearest first; there must be at least k.

        Returns how many distances from rows and centres of the tree were computed.
        """
        cdef int64_t n = 0, n_balls = 1, looked = 1, i, child, c, node
        cdef Ball ball, new
        self.scan(
            x, since.late, since.late_ids, NULL, since.n_late, INFINITY, k, found, &n
        )
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
                self.scan_own(node, x, since.gone, INFINITY, k, found, &n)
                looked += self.own_end[node] - self.row_begin[node]
            looked += self.child_begin[node + 1] - self.child_begin[node]
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
        sort_heap(found, n)
        return looked

    def query(
        self, X, int64_t k, int n_threads, gone=None, late=None, late_ids=None,
        looked=None, among=None,
    ):
        """The k nearest rows of each row of X, equal ones by their number.

        Parameters
        ----------
        X : ndarray of shape (n_queries, n_features)
            Of the type of the rows of the tree, as all rows here.
        k : int
            At most the number of rows that are searched.
        n_threads : int
            Of no effect on the answer.
        gone : ndarray of uint8 of shape (n_rows,), optional
            Which rows of the tree, in its order, are not to be found.
        late : ndarray of shape (n_late, n_features), optional
            Rows that are searched beside the tree.
        late_ids : ndarray of int64 of shape (n_late,), optional
        looked : ndarray of int64 of shape (n_queries,), optional
            Takes how many distances from rows and centres of the tree each row asked
            for.
        among : tuple of (ndarray of int64, ndarray of int64), optional
            The only rows of the tree that count: for row q of X those at the places
            ``place[begin[q]:begin[q + 1]]`` of its order, of ``(begin, place)``, k at
            least. `gone` and `looked` are left alone.

        Returns
        -------
        distance : ndarray of shape (n_queries, k)
            Ascending.
        id : ndarray of int64 of shape (n_queries, k)
        """
        cdef Rows asked
        cdef int64_t n = len(X), q, first, last
        cdef int t
        distances, names = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        cdef double[:, ::1] distance = distances
        cdef int64_t[:, ::1] name = names
        cdef int64_t[::1] count = np.empty(n, dtype=np.int64) if looked is None else looked
        cdef int64_t[::1] begin, place
        cdef bint of_all = among is None
        if not n:
            return distances, names
        if not of_all:
            begin, place = among
        asked = Rows(X)
        cdef Changes since = self.changes(gone, late, late_ids)
        cdef size_t n_near = n_threads * <size_t> k, n_balls = n_threads * self.n_nodes
        cdef Near *near = <Near *> malloc(n_near * sizeof(Near))
        cdef Ball *heap = <Ball *> malloc(n_balls * sizeof(Ball))
        try:
            if near == NULL or heap == NULL:
                raise MemoryError()
            for first in range(0, n, BLOCK):
                PyErr_CheckSignals()
                last = min(n, first + BLOCK)
                for q in prange(
                    first, last, nogil=True, num_threads=team(n_threads), schedule="dynamic"
                ):
                    t = thread_number()
                    if of_all:
                        count[q] = self.nearest(
                            asked.at + q * asked.size, since, k, near + t * k,
                            heap + t * self.n_nodes,
                        )
                    else:
                        self.among(
                            asked.at + q * asked.size, since, k, near + t * k,
                            &place[0] + begin[q], begin[q + 1] - begin[q],
                        )
                    write_nearest(near + t * k, k, &distance[q, 0], &name[q, 0])
        finally:
            free(near)
            free(heap)
        return distances, names

    cdef void among(
        self, const char *x, Changes since, int64_t k, Near *found,
        const int64_t *place, int64_t n_places,
    ) noexcept nogil:
        """The k nearest of some rows of the tree and of those that wait."""
        cdef int64_t n = 0, i
        self.scan(
            x, since.late, since.late_ids, NULL, since.n_late, INFINITY, k, found, &n
        )
        for i in range(n_places):
            self.scan(
                x, self.rows.at + place[i] * self.rows.size, self.ids + place[i], NULL,
                1, INFINITY, k, found, &n,
            )
        sort_heap(found, n)

    cdef int64_t within(
        self, const char *x, Changes since, double radius, int64_t *stack, Near *found
    ) noexcept nogil:
        """Rows within a radius into `found`, unless it is NULL; returns how many."""
        cdef int64_t n = 0, n_stack = 1, node, c
        cdef double far
        self.scan(
            x, since.late, since.late_ids, NULL, since.n_late, radius, INT64_MAX,
            found, &n,
        )
        stack[0] = 0
        while n_stack > 0:
            n_stack -= 1
            node = stack[n_stack]
            self.scan_own(node, x, since.gone, radius, INT64_MAX, found, &n)
            for c in range(self.child_begin[node], self.child_begin[node + 1]):
                far = self.rows.distance(
                    x, self.centres.at + c * self.rows.size, self.rows.d
                )
                if self.least(far, self.radius_sub[self.child[c]]) <= radius:
                    stack[n_stack] = self.child[c]
                    n_stack += 1
        if found != NULL:
            sort_heap(found, n)
        return n

    def query_radius(
        self, X, double radius, int n_threads, gone=None, late=None, late_ids=None
    ):
        """Rows within a radius of each row of X, the nearest first.

        Parameters
        ----------
        X, n_threads, gone, late, late_ids
            As for `query`.
        radius : float

        Returns
        -------
        begin : ndarray of int64 of shape (n_queries + 1,)
        distance, id : ndarray of shape (n_found,)
        """
        cdef Rows asked
        cdef int64_t n = len(X), q, first, last
        cdef int t
        begins = np.zeros(n + 1, dtype=np.int64)
        if not n:
            return begins, np.empty(0), np.empty(0, dtype=np.int64)
        asked = Rows(X)
        cdef Changes since = self.changes(gone, late, late_ids)
        cdef int64_t[::1] begin = begins
        cdef int64_t[:, ::1] stack = np.empty((n_threads, self.n_nodes), dtype=np.int64)
        for first in range(0, n, BLOCK):
            PyErr_CheckSignals()
            last = min(n, first + BLOCK)
            for q in prange(
                first, last, nogil=True, num_threads=team(n_threads), schedule="dynamic"
            ):
                t = thread_number()
                begin[q + 1] = self.within(
                    asked.at + q * asked.size, since, radius, &stack[t, 0], NULL
                )
        np.cumsum(begins, out=begins)
        rows_found = np.empty(
            int(begins[n]), dtype=[("distance", np.float64), ("id", np.int64)]
        )
        cdef Near[::1] found = rows_found
        cdef Near *at = &found[0] if len(rows_found) else NULL
        for first in range(0, n if at != NULL else 0, BLOCK):
            PyErr_CheckSignals()
            last = min(n, first + BLOCK)
            for q in prange(
                first, last, nogil=True, num_threads=team(n_threads), schedule="dynamic"
            ):
                t = thread_number()
                self.within(
                    asked.at + q * asked.size, since, radius, &stack[t, 0],
                    at + begin[q],
                )
        return begins, rows_found["distance"].copy(), rows_found["id"].copy()
