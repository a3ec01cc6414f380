"""RowRing: the latest rows of a stream, and values of each column to cut at."""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    AHEAD = 256             # rows that may be put before the trees have learned them
    N_REFERENCE = 256       # values that tell the ranks of a column

cdef class RowRing:
    cdef:
        readonly int32_t n_features
        readonly int64_t room           # most active rows
        int64_t places                  # room + AHEAD
        readonly int64_t n_seen         # rows ever put
        int64_t first                   # number of the first that was not let go
        double *rows                    # (places, n_features,)
        double *responses               # (places,)
        double *weights                 # (places,); NULL: all are 1
        double *reference               # (n_features, N_REFERENCE): sorted
        int32_t *n_reference            # (n_features,)

    # row number `row`, an active one
    cdef const double *row(self, int64_t row) noexcept nogil
    cdef double response(self, int64_t row) noexcept nogil
    cdef double weight(self, int64_t row) noexcept nogil
    cdef void put(self, const double *x, double y, double w) noexcept nogil
    # the first number, from one on, of rows at which references are due
    cdef int64_t next_due(self, int64_t row) noexcept nogil
    cdef void refresh(self) noexcept nogil
    # mean rank of a value among the references of a column, in [0, 1]
    cdef double rank(self, int32_t j, double value) noexcept nogil
    # first reference of a column that is at least a value, and how many there are below
    cdef int32_t first_from(self, int32_t j, double value) noexcept nogil
    # columns of more than one value, as far as references tell
    cdef int32_t count_varying(self) noexcept nogil
