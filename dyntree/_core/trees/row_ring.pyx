"""RowRing: the latest rows of a stream, and values of each column to cut at."""
import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

from dyntree._core.memory cimport resize

cdef enum:
    FIRST = 16      # rows before the first references


cdef int by_value(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const double *> a)[0], y = (<const double *> b)[0]
    return (x > y) - (x < y)


cdef class RowRing:
    """The latest rows of a stream.

    Parameters
    ----------
    n_features : int
    room : int
        Most active rows.
    is_weighted : bool, default False
        Whether rows have weights; else all weigh 1.
    """

    def __cinit__(self, int32_t n_features, int64_t room, bint is_weighted=False):
        self.n_features, self.room, self.places = n_features, room, room + AHEAD
        resize(<void **> &self.rows, self.places * n_features, sizeof(double))
        resize(<void **> &self.responses, self.places, sizeof(double))
        if is_weighted:
            resize(<void **> &self.weights, self.places, sizeof(double))
        resize(<void **> &self.reference, N_REFERENCE * n_features, sizeof(double))
        resize(<void **> &self.n_reference, n_features, sizeof(int32_t))
        memset(self.n_reference, 0, n_features * sizeof(int32_t))

    def __dealloc__(self):
        free(self.rows)
        free(self.responses)
        free(self.weights)
        free(self.reference)
        free(self.n_reference)

    cdef const double *row(self, int64_t row) noexcept nogil:
        return self.rows + row % self.places * self.n_features

    cdef double response(self, int64_t row) noexcept nogil:
        return self.responses[row % self.places]

    cdef double weight(self, int64_t row) noexcept nogil:
        return 1.0 if self.weights == NULL else self.weights[row % self.places]

    cdef void put(self, const double *x, double y, double w) noexcept nogil:
        cdef int64_t place = self.n_seen % self.places
        memcpy(
            self.rows + place * self.n_features, x, self.n_features * sizeof(double)
        )
        self.responses[place] = y
        if self.weights != NULL:
            self.weights[place] = w
        self.n_seen += 1

    cdef int64_t next_due(self, int64_t row) noexcept nogil:
        """Of 16, 32, ... up to the room, then each half of it."""
        cdef int64_t due = FIRST, half = max(<int64_t> 1, self.room // 2)
        while due < row and 2 * due <= self.room:
            due *= 2
        return due if due >= row else (row + half - 1) // half * half

    cdef int32_t count_varying(self) noexcept nogil:
        cdef int32_t j, n = 0
        cdef const double *known
        for j in range(self.n_features):
            known = self.reference + <int64_t> j * N_REFERENCE
            if self.n_reference[j] and known[self.n_reference[j] - 1] > known[0]:
                n += 1
        return n

    cdef void refresh(self) noexcept nogil:
        """Sort the values of up to 256 rows, evenly spaced among the active ones."""
        cdef int64_t n_active = min(self.n_seen - self.first, self.room)
        cdef int64_t i, n_taken = min(n_active, <int64_t> N_REFERENCE)
        cdef int32_t j, n
        cdef double value
        cdef double *out
        for j in range(self.n_features):
            out = self.reference + <int64_t> j * N_REFERENCE
            n = 0
            for i in range(n_taken):
                value = self.row(self.n_seen - 1 - i * n_active // n_taken)[j]
                if not isnan(value):
                    out[n] = value
                    n += 1
            qsort(out, n, sizeof(double), by_value)
            self.n_reference[j] = n

    cdef int32_t first_from(self, int32_t j, double value) noexcept nogil:
        cdef int32_t low = 0, high = self.n_reference[j], middle
        cdef const double *known = self.reference + <int64_t> j * N_REFERENCE
        while low < high:
            middle = (low + high) // 2
            if known[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low

    cdef double rank(self, int32_t j, double value) noexcept nogil:
        cdef int32_t n = self.n_reference[j], low = self.first_from(j, value), high = low
        cdef const double *known = self.reference + <int64_t> j * N_REFERENCE
        while high < n and known[high] == value:
            high += 1
        return (low + high) / (2.0 * max(n, 1))

    def nbytes(self):
        """Bytes in memory."""
        cdef int64_t n_columns = self.n_features + 1 + (self.weights != NULL)
        return (self.places * n_columns + self.n_features * (
            N_REFERENCE + 1
        )) * sizeof(double)

    def active(self):
        """The active rows and their responses, oldest first."""
        cdef int64_t n = min(self.n_seen - self.first, self.room), k
        X, y = np.empty((n, self.n_features)), np.empty(n)
        cdef double[:, ::1] rows = X
        cdef double[::1] responses = y
        for k in range(n):
            memcpy(
                &rows[k, 0], self.row(self.n_seen - n + k),
                self.n_features * sizeof(double),
            )
            responses[k] = self.response(self.n_seen - n + k)
        return X, y

    def active_weights(self):
        """Weights of the active rows, oldest first."""
        cdef int64_t n = min(self.n_seen - self.first, self.room)
        return np.array([self.weight(self.n_seen - n + k) for k in range(n)], float)

    def to_arrays(self):
        """Rows and references, by name; `from_arrays` takes them back."""
        X, y = self.active()
        values = np.full((self.n_features, N_REFERENCE), np.nan)
        cdef double[:, ::1] out = values
        cdef int32_t j
        for j in range(self.n_features):
            memcpy(
                &out[j, 0], self.reference + <int64_t> j * N_REFERENCE,
                self.n_reference[j] * sizeof(double),
            )
        arrays = {"X": X, "y": y, "reference": values}
        if self.weights != NULL:
            arrays["weights"] = self.active_weights()
        return arrays

    @classmethod
    def from_arrays(cls, arrays, int64_t room, int64_t n_seen):
        """The ring that `to_arrays` described, of which arrays are checked.

        Columns beyond those of `reference` are new and have no references.
        """
        cdef const double[:, ::1] X = arrays["X"]
        cdef const double[::1] y = arrays["y"]
        cdef const double[:, ::1] known = arrays["reference"]
        cdef const double[::1] weights = arrays.get("weights")
        cdef RowRing ring = cls(<int32_t> X.shape[1], room, weights is not None)
        cdef int32_t j, n
        cdef Py_ssize_t k
        ring.n_seen = n_seen - X.shape[0]
        if X.shape[0] < min(n_seen, room):
            ring.first = ring.n_seen
        for k in range(X.shape[0]):
            ring.put(&X[k, 0], y[k], 1.0 if weights is None else weights[k])
        for j in range(<int32_t> known.shape[0]):
            n = 0
            while n < N_REFERENCE and not isnan(known[j, n]):
                n += 1
            memcpy(
                ring.reference + <int64_t> j * N_REFERENCE, &known[j, 0],
                n * sizeof(double),
            )
            ring.n_reference[j] = n
        return ring
