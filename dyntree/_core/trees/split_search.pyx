"""Odds of all cuts that were proposed for some rows, in one pass over them a column."""
cimport cython
from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from dyntree._core.lanes cimport accumulate, subtract
from dyntree._core.memory cimport resize
from dyntree._core.trees.nodes cimport is_gap_cut


cdef int32_t n_below(const double *edges, int32_t n, double x) noexcept nogil:
    """How many of n sorted edges are below x."""
    cdef int32_t found = 0, half
    while n > 1:                    # halved without a branch on x
        half = n // 2
        found += half * (edges[found + half - 1] < x)
        n -= half
    return found + (edges[found] < x)


@cython.final
cdef class EvidenceBatch:
    """Questions about log evidence, answered in their order once LANES of them wait.

    Parameters
    ----------
    model : LeafModel
        Whose `log_evidences` answers.
    """

    def __init__(self, LeafModel model):
        self.model = model
        self.stride = model.family.stride
        resize(<void **> &self.sums, LANES * self.stride, sizeof(double))

    def __dealloc__(self):
        free(self.sums)

    cdef void flush(self) noexcept nogil:
        """Answer what is still open."""
        cdef double[LANES] evidence
        cdef int k
        if self.n == 0:
            return
        self.model.log_evidences(self.sums, self.n, evidence)
        for k in range(self.n):
            self.into[k][0] += self.sign[k] * evidence[k]
        self.n = 0


@cython.final
cdef class SplitSearch:
    """What it takes to rate cuts.

    Rows are summed between neighbouring cuts of a column, so that one pass over them
    rates all of the column's cuts, of all leaves that hold these rows.
    """

    def __init__(
        self, Arena arena, LeafModel model, ActivePool pool, EvidenceBatch batch,
        int32_t min_leaf,
    ):
        self.arena = arena
        self.model = model
        self.pool = pool
        self.batch = batch
        self.min_leaf = min_leaf
        self.stride = arena.stride
        self.expect(1)

    def __dealloc__(self):
        free(self.sums)
        free(self.parts)

    cdef int expect(self, int32_t n_cuts) except -1:
        """Scratch for passes over that many cuts in a step."""
        cdef int32_t n = min(n_cuts, <int32_t> N_CUTS) + 4
        if n > self.n_sums:
            resize(<void **> &self.sums, n * self.stride, sizeof(double))
            self.n_sums = n
        self.left = self.sums + (self.n_sums - 2) * self.stride
        self.right = self.left + self.stride
        return 0

    cdef int reserve(self) except -1:
        """Scratch for the seats of the pool."""
        if self.pool.capacity <= self.n_seats:
            return 0
        resize(<void **> &self.parts, self.pool.capacity, sizeof(int32_t))
        self.n_seats = self.pool.capacity
        return 0

    cdef size_t nbytes(self) noexcept:
        return (self.n_sums * self.stride * sizeof(double)
                + self.n_seats * sizeof(int32_t))

    cdef void sum_below(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil:
        """Sum the rows that are not above each cut, and tell cuts their places.

        Rows are parted by the cuts: part j has those above cut j - 1 and not above
        cut j, part n those above all cuts, part n + 1 those without a value. Cuts with
        no row between them share a place. The part with most rows has what the others
        leave of the leaf: here the sums of the first leaf serve all that hold its
        rows, rounding and all.
        """
        cdef int32_t stride = self.stride, variable = cuts[0].variable
        cdef int32_t j, k, most = 0, n_places = 0
        cdef int32_t[N_CUTS + 2] count, place
        cdef double[N_CUTS] edges
        cdef double *rest
        cdef double x
        for j in range(n):
            edges[j] = cuts[j].value
        memset(count, 0, (n + 2) * sizeof(int32_t))
        memset(self.n_below, 0, (n + 2) * sizeof(int32_t))
        for k in range(leaf.n_rows):
            x = self.pool.x(leaf.rows[k])[variable]
            j = n + 1 if isnan(x) else n_below(edges, n, x)
            self.parts[k] = j
            count[j] += 1
        for j in range(n + 2):
            if j == 0 or count[j] or j >= n:
                place[j] = n_places
                n_places += 1
            else:
                place[j] = n_places - 1
            self.n_below[place[j]] += count[j]
            if j < n:
                cuts[j].place = place[j]
            if count[j] > count[most]:
                most = j
        memset(self.sums, 0, n_places * stride * sizeof(double))
        for k in range(leaf.n_rows):
            if self.parts[k] != most:
                self.model.add_row(
                    self.sums + place[self.parts[k]] * stride, self.pool,
                    leaf.rows[k],
                )
        rest = self.sums + place[most] * stride
        memcpy(rest, leaf.active, stride * sizeof(double))
        for j in range(n_places):
            if j != place[most]:
                subtract(rest, rest, self.sums + j * stride, stride)
        for j in range(1, n_places - 2):
            accumulate(
                self.sums + j * stride, self.sums + (j - 1) * stride, stride
            )
            self.n_below[j] += self.n_below[j - 1]
        self.n_missing = count[n + 1]
        self.missing = self.sums + (n_places - 1) * stride

    cdef bint alike(self, const Cut *cut, const Cut *other) noexcept nogil:
        """Whether two cuts of a pass part the rows in the same way."""
        return (
            other != NULL and cut.place == other.place
            and is_gap_cut(cut.value) == is_gap_cut(other.value)
            and (cut.missing_left == other.missing_left or self.n_missing == 0)
        )

    cdef void ask(
        self, const Leaf *leaf, Cut *cut, const double *child
    ) noexcept nogil:
        """Ask for the log evidence of a child, given what it inherits of the leaf."""
        cdef size_t n_bytes = self.stride * sizeof(double)
        cdef double *given
        cdef double *sums
        if not cut.inherits:
            memcpy(self.batch.place(), child, n_bytes)
            self.batch.ask(&cut.odds, 1.0)
            return
        given = self.batch.place()
        self.model.child_share(child[0], leaf, given)
        self.batch.ask(&cut.odds, -1.0)
        sums = self.batch.place()       # what was asked about stands until the next
        memcpy(sums, given, n_bytes)
        accumulate(sums, child, self.stride)
        self.batch.ask(&cut.odds, 1.0)

    cdef void rate(
        self, Entry *entries, const Leaf *first, Cut *cuts, int32_t n
    ) noexcept nogil:
        """Ask what n cuts with their sums gain, of leaves that hold the rows of the first.

        Once the batch is flushed, the odds of a cut (of the one that it is like) are
        the log evidence of its children: given what they inherit, or as if nothing had
        been retired.
        """
        cdef int32_t stride = self.stride, j, least, n_left
        cdef int32_t n_known = first.n_rows - self.n_missing
        cdef const double *below
        cdef Cut *cut
        cdef Cut *before = NULL
        cdef Entry *e
        for j in range(n):
            cut = &cuts[j]
            e = &entries[cut.entry]
            below = self.sums + cut.place * stride
            n_left = self.n_below[cut.place]
            least = 1 if is_gap_cut(cut.value) else self.min_leaf
            cut.missing_left = (
                not is_gap_cut(cut.value) and cut.side * n_known < n_left
            )
            if cut.inherits:            # one of another pass stands before these
                cut.like = e.last_inheriting if e.last_inheriting >= cuts else NULL
            else:
                cut.like = before
            if self.alike(cut, cut.like):
                continue
            cut.like = NULL
            if cut.inherits:
                e.last_inheriting = cut
            else:
                before = cut
            memcpy(self.left, below, stride * sizeof(double))
            if cut.missing_left:
                accumulate(self.left, self.missing, stride)
                n_left += self.n_missing
            cut.odds = -INFINITY
            if min(n_left, first.n_rows - n_left) < least:
                continue
            subtract(self.right, first.active, self.left, stride)
            cut.odds = 0.0
            self.ask(self.arena.leaf(e.leaf), cut, self.left)
            self.ask(self.arena.leaf(e.leaf), cut, self.right)
