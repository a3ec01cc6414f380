"""Neighbours in a cover tree: the nearest balls first, exact, ties by number."""
import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from dyntree._core.covertree cimport Rows
from dyntree._core.openmp cimport thread_number

from dyntree._core.covertree import centre_places, linked


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
        return 1e-15 * (self.rows.d + 8) * (far + radius) + 2e-323

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
