"""Odds of all cuts that were proposed for some rows, in one pass over them a column."""
cimport cython
from libc.math cimport INFINITY, NAN, isnan
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from dyntree._core.lanes cimport LANES, accumulate, subtract


cdef int32_t n_below(const double *edges, int32_t n, double x) noexcept nogil:
    """How many of n sorted edges are below x."""
    cdef int32_t found = 0, half
    while n > 1:                    # halved without a branch on x
        half = n // 2
        found += half * (edges[found + half - 1] < x)
        n -= half
    return found + (edges[found] < x)


@cython.final
cdef class Rating:
    """What it takes to rate cuts: scratch, and what each row adds to sums.

    Rows are summed between neighbouring cuts of a column, so that one pass over them
    rates all of the column's cuts, of all leaves that hold these rows.
    """

    def __init__(self, Arena arena, LeafModel model, ActivePool pool, int32_t min_leaf):
        self.model = model
        self.pool = pool
        self.min_leaf = min_leaf
        self.stride = arena.stride
        self.n_kept = self.stride if self.stride <= MOST_KEPT else 0
        self.tallies = <double *> malloc(
            (N_CUTS + 2 + 2 * LANES) * self.stride * sizeof(double)
        )
        if self.tallies == NULL:
            raise MemoryError()
        self.children = self.tallies + (N_CUTS + 2) * self.stride
        self.heirs = self.children + LANES * self.stride

    def __dealloc__(self):
        free(self.tallies)
        free(self.parts)
        free(self.kept)
        free(self.kept_ids)

    cdef int reserve(self) except -1:
        """Scratch for the seats of the pool."""
        cdef int32_t capacity = self.pool.capacity, k
        cdef void *p
        if capacity <= self.n_seats:
            return 0
        p = realloc(self.parts, capacity * sizeof(int32_t))
        if p == NULL:
            raise MemoryError()
        self.parts = <int32_t *> p
        if self.n_kept:
            p = realloc(self.kept, <size_t> capacity * self.n_kept * sizeof(double))
            if p == NULL:
                raise MemoryError()
            self.kept = <double *> p
            p = realloc(self.kept_ids, capacity * sizeof(int64_t))
            if p == NULL:
                raise MemoryError()
            self.kept_ids = <int64_t *> p
            for k in range(self.n_seats, capacity):
                self.kept_ids[k] = -1
        self.n_seats = capacity
        return 0

    cdef void add_to(self, double *sums, slot_t s) noexcept nogil:
        """Add row s to sums; what it adds is kept for the next time, where it is short.

        Ids tell whether a seat still has the row that was kept for it.
        """
        cdef double *row
        if self.n_kept == 0:
            self.model.family.add(sums, self.pool.x(s), self.pool.y(s), 1.0)
            return
        row = self.kept + <size_t> s * self.n_kept
        if self.kept_ids[s] != self.pool.ids[s]:
            self.kept_ids[s] = self.pool.ids[s]
            memset(row, 0, self.n_kept * sizeof(double))
            self.model.family.add(row, self.pool.x(s), self.pool.y(s), 1.0)
        accumulate(sums, row, self.n_kept)

    cdef void tally(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil:
        """Sum the rows that are not above each cut, and tell cuts their places.

        Those between neighbouring cuts are summed first: part j has the rows above cut
        j - 1 and not above cut j, part n those above all cuts, part n + 1 those without
        a value. The part with most rows has what the others leave of the leaf: here
        the sums of the first leaf serve all that hold its rows, rounding and all.
        """
        cdef int32_t stride = self.stride, variable = cuts[0].variable
        cdef int32_t j, k, most = 0
        cdef int32_t[N_CUTS + 2] count
        cdef double[N_CUTS] edges
        cdef double *rest
        cdef double x
        for j in range(n):
            edges[j] = cuts[j].value
            cuts[j].place = j
        memset(count, 0, (n + 2) * sizeof(int32_t))
        for k in range(leaf.n_rows):
            x = self.pool.x(leaf.rows[k])[variable]
            j = n + 1 if isnan(x) else n_below(edges, n, x)
            self.parts[k] = j
            count[j] += 1
        for j in range(n + 2):
            if count[j] > count[most]:
                most = j
        memset(self.tallies, 0, (n + 2) * stride * sizeof(double))
        for k in range(leaf.n_rows):
            if self.parts[k] != most:
                self.add_to(self.tallies + self.parts[k] * stride, leaf.rows[k])
        rest = self.tallies + most * stride
        memcpy(rest, leaf.active, stride * sizeof(double))
        for j in range(n + 2):
            if j != most and count[j]:
                subtract(rest, rest, self.tallies + j * stride, stride)
        for j in range(1, n):
            accumulate(
                self.tallies + j * stride, self.tallies + (j - 1) * stride, stride
            )
        self.n_tallied = n

    cdef void judge(self, Leaf *leaf, Cut *cut, const double *left) noexcept nogil:
        """Log evidence that a cut gains: now, or once another waits beside it."""
        cdef int32_t stride = self.stride
        cdef double *child = self.children + 2 * self.n_waiting * stride
        memcpy(child, left, stride * sizeof(double))
        subtract(child + stride, leaf.active, left, stride)
        child[stride] = leaf.n_rows - left[0]
        if cut.inherits:
            self.judge_heirs(leaf, cut, child)
            return
        self.waiting[self.n_waiting] = cut
        self.n_waiting += 1
        if self.n_waiting == 2:
            self.judge_waiting(leaf)

    cdef void judge_waiting(self, Leaf *leaf) noexcept nogil:
        cdef double[LANES] evidence
        cdef int32_t k
        self.model.judge(self.children, 2 * self.n_waiting, evidence)
        for k in range(self.n_waiting):
            self.waiting[k].odds = (
                evidence[2 * k] + evidence[2 * k + 1] - self.model.active_evidence(leaf)
            )
        self.n_waiting = 0

    cdef void judge_heirs(
        self, Leaf *leaf, Cut *cut, const double *child
    ) noexcept nogil:
        """The same of two children that inherit, given what has been retired."""
        cdef int32_t stride = self.stride
        cdef double[LANES] evidence
        self.model.bequeath(child, leaf, self.heirs)
        self.model.bequeath(child + stride, leaf, self.heirs + 2 * stride)
        self.model.judge(self.heirs, LANES, evidence)
        cut.odds = (
            (evidence[1] - evidence[0]) + (evidence[3] - evidence[2])
            - self.model.conditional_evidence(leaf)
        )

    cdef void rate(self, Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil:
        """Log odds of n tallied cuts of a leaf against none, but for the tree prior.

        Where the children inherit, active rows are judged given the retired ones, with
        and without the cut; else both are judged as if nothing had been retired.
        """
        cdef int32_t stride = self.stride, j
        cdef const double *below
        cdef const double *missing = self.tallies + (self.n_tallied + 1) * stride
        cdef double *left = self.heirs          # free until a cut is judged
        cdef double n_known = leaf.n_rows - missing[0], n_before = -1.0
        for j in range(n):
            below = self.tallies + cuts[j].place * stride
            cuts[j].missing_left = cuts[j].side * n_known < below[0]
            if (below[0] == n_before
                    and cuts[j].missing_left == cuts[j - 1].missing_left
                    and cuts[j].inherits == cuts[j - 1].inherits):
                cuts[j].odds = NAN              # those of the cut before: the same rows
            else:
                memcpy(left, below, stride * sizeof(double))
                if cuts[j].missing_left:
                    accumulate(left, missing, stride)
                cuts[j].odds = -INFINITY
                if min(left[0], leaf.n_rows - left[0]) >= self.min_leaf:
                    self.judge(leaf, &cuts[j], left)
            n_before = below[0]
        if self.n_waiting:
            self.judge_waiting(leaf)
        for j in range(1, n):
            if isnan(cuts[j].odds):
                cuts[j].odds = cuts[j - 1].odds
