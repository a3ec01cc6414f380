"""ActivePool: rows by slot, and the internal order in which they stand."""
import numpy as np

cimport cython
from libc.stdlib cimport calloc, free as c_free
from libc.string cimport memcpy

from dyntree._core.memory cimport resize


@cython.final
cdef class ActivePool:
    """Rows (x, y, id) in slots that stay put while a row is active.

    Parameters
    ----------
    n_features : int
        Columns of a row.
    is_weighted : bool, default False
        Whether rows have weights; else all of them weigh 1.
    is_exposed : bool, default False
        Whether rows have exposures, as counts of events do; else all of them are 1. In
        their place rows of logistic leaves have an xi.

    Notes
    -----
    Leaves name rows by slot, so retiring a row moves no other row. `order` is the
    order in which the rows stand for those who count positions: a new row goes last,
    and the last row takes the place of one that leaves. `older` and `younger` link the rows
    by age, so that the eldest is known at once. Who has learned a row widens
    `seen` by it; no row that leaves makes it narrower.
    """

    def __cinit__(
        self, int32_t n_features, bint is_weighted=False, bint is_exposed=False
    ):
        self.n_features = n_features
        self.is_weighted, self.is_exposed = is_weighted, is_exposed
        self.seen = Spans(n_features)
        self.n_gaps = <int32_t *> calloc(n_features + 1, sizeof(int32_t))
        self.eldest = self.youngest = NO_SLOT
        if self.n_gaps == NULL:
            raise MemoryError()

    def __dealloc__(self):
        c_free(self.x_)
        c_free(self.y_)
        c_free(self.w_)
        c_free(self.e_)
        c_free(self.ids)
        c_free(self.order)
        c_free(self.vacant)
        c_free(self.older)
        c_free(self.younger)
        c_free(self.n_gaps)

    cdef int reserve(self, int32_t n_rows) except -1:
        """Make room for `n_rows` rows in all; stored rows stay as they are."""
        cdef int32_t capacity = self.capacity, k
        if n_rows <= capacity:
            return 0
        capacity = max(n_rows, min(2 * capacity, capacity + (1 << 20)), 8)
        resize(<void **> &self.x_, <size_t> capacity * self.n_features, sizeof(double))
        resize(<void **> &self.y_, capacity, sizeof(double))
        if self.is_weighted:
            resize(<void **> &self.w_, capacity, sizeof(double))
        if self.is_exposed:
            resize(<void **> &self.e_, capacity, sizeof(double))
        resize(<void **> &self.ids, capacity, sizeof(int64_t))
        resize(<void **> &self.order, capacity, sizeof(slot_t))
        resize(<void **> &self.vacant, capacity, sizeof(slot_t))
        resize(<void **> &self.older, capacity, sizeof(slot_t))
        resize(<void **> &self.younger, capacity, sizeof(slot_t))
        # vacant holds the free slots in its first capacity - n_rows entries
        for k in range(capacity - self.capacity):
            self.vacant[self.capacity - self.n_rows + k] = capacity - 1 - k
        self.capacity = capacity
        return 0

    cdef slot_t put(
        self, const double *x, double y, double w, double e
    ) noexcept nogil:
        """Seat a row, last in the order; room has been reserved."""
        cdef slot_t s = self.vacant[self.capacity - self.n_rows - 1]
        memcpy(self.x(s), x, self.n_features * sizeof(double))
        self.y_[s] = y
        if self.w_ != NULL:
            self.w_[s] = w
        if self.e_ != NULL:
            self.e_[s] = e
        self.ids[s] = self.n_seen
        self.order[self.n_rows] = s
        self.n_rows += 1
        self.n_seen += 1
        self.count_gaps(s, 1)
        self.age_last(s)
        return s

    cdef void free(self, int32_t position) noexcept nogil:
        """Give up the row at `position`; the last row takes its place in the order."""
        cdef slot_t s = self.order[position]
        self.count_gaps(s, -1)
        self.link(self.older[s], self.younger[s])
        self.n_rows -= 1
        self.order[position] = self.order[self.n_rows]
        self.vacant[self.capacity - self.n_rows - 1] = s

    cdef void link(self, slot_t older, slot_t younger) noexcept nogil:
        """Make two rows neighbours by age; NO_SLOT stands beyond the ends."""
        if older == NO_SLOT:
            self.eldest = younger
        else:
            self.younger[older] = younger
        if younger == NO_SLOT:
            self.youngest = older
        else:
            self.older[younger] = older

    cdef void age_last(self, slot_t s) noexcept nogil:
        """Put a row behind the youngest."""
        self.link(self.youngest, s)
        self.link(s, NO_SLOT)

    cdef void count_gaps(self, slot_t s, int32_t by) noexcept nogil:
        """Count the columns that a row has no value of, or take them off."""
        cdef const double *x = self.x(s)
        cdef int32_t j
        for j in range(self.n_features):
            if x[j] != x[j]:
                self.n_gaps[j] += by

    cdef int32_t position_of(self, slot_t s) noexcept nogil:
        """Place of slot s in the order, or -1."""
        cdef int32_t k
        for k in range(self.n_rows):
            if self.order[k] == s:
                return k
        return -1

    def rows(self):
        """Copies of the active rows, in internal order: X, y and row ids."""
        X = np.empty((self.n_rows, self.n_features))
        y = np.empty(self.n_rows)
        ids = np.empty(self.n_rows, dtype=np.int64)
        cdef double[:, ::1] X_view = X
        cdef double[::1] y_view = y
        cdef int64_t[::1] id_view = ids
        cdef int32_t k
        for k in range(self.n_rows):
            if self.n_features:
                memcpy(&X_view[k, 0], self.x(self.order[k]),
                       self.n_features * sizeof(double))
            y_view[k] = self.y_[self.order[k]]
            id_view[k] = self.ids[self.order[k]]
        return X, y, ids

    def weights(self):
        """Weights of the active rows, in internal order; a copy."""
        w = np.ones(self.n_rows)
        cdef double[::1] view = w
        cdef int32_t k
        for k in range(self.n_rows):
            view[k] = self.w(self.order[k])
        return w

    def exposures(self):
        """Exposures, or xi, of the active rows, in internal order; a copy."""
        e = np.ones(self.n_rows)
        cdef double[::1] view = e
        cdef int32_t k
        for k in range(self.n_rows):
            view[k] = self.e(self.order[k])
        return e

    def spans(self):
        """Ranges of the active rows; a new `Spans`."""
        cdef Spans spans = Spans(self.n_features)
        cdef int32_t k
        for k in range(self.n_rows):
            spans.widen(self.x(self.order[k]))
        return spans

    def load(self, const double[:, ::1] X, const double[::1] y, const int64_t[::1] ids,
             int64_t n_seen, const double[::1] weights=None,
             const double[::1] exposures=None):
        """Fill an empty pool with rows in internal order."""
        cdef Py_ssize_t k
        self.reserve(<int32_t> y.shape[0])
        for k in range(y.shape[0]):
            self.ids[
                self.put(
                    &X[k, 0], y[k], 1.0 if weights is None else weights[k],
                    1.0 if exposures is None else exposures[k],
                )
            ] = ids[k]
        self.n_seen = n_seen
        self.eldest = self.youngest = NO_SLOT
        for k in np.argsort(ids):
            self.age_last(self.order[k])

    def nbytes(self):
        """Bytes reserved for rows."""
        return self.capacity * (
            (self.n_features + 1 + self.is_weighted + self.is_exposed) * sizeof(double)
            + sizeof(int64_t) + 4 * sizeof(slot_t)
        ) + self.n_features * sizeof(int32_t)
