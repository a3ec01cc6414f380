"""LinearFilters: logistic regressions that learn row by row."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport CounterSource

cdef enum:
    N_FIRST = 10            # rows that fix the units of columns

cdef class LinearFilters:
    cdef:
        readonly CounterSource source
        readonly dict options
        readonly dict arrays            # by name, what the views below look at
        readonly str weighting          # what weights of rows mean; None: all weigh 1
        readonly int64_t n_seen
        readonly double log_evidence    # sum of the log densities of all rows
        readonly bint has_units         # of columns, once the first rows are there
        int32_t n_first                 # rows that are stored to fix them
        int32_t n_features, n_classes, n_spreads, n_filters
        int64_t width                   # 1 + n_features
        double forget, clip
        const double[::1] spreads
        double[::1] log_weights         # (n_spreads,)
        double[:, ::1] prior            # (n_spreads, width) prior precisions in filters
        double[:, :, :, ::1] covariance # (n_spreads, n_filters, width, width)
        double[:, :, ::1] mean, moment  # of coefficients, and precisions times it
        # of columns: place and unit of their values, and in these the running mean,
        # sum of squares about it and number of rows
        double[::1] place, unit, column_mean, square, n_values, n_gaps
        double[:, ::1] first_X          # (N_FIRST, n_features) rows before the units
        double[::1] first_y, first_w
        double[::1] room                # scratch of a row that is learned

    cdef Py_ssize_t room_for(self) noexcept nogil
    cdef double column_spread(self, int32_t j) noexcept nogil
    cdef double target(self, int32_t k, int64_t j) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void standardize(self, const double *x, double *w, double *gaps) noexcept nogil
    cdef void look(self, const double *w, const double *gaps, double *room) noexcept nogil
    cdef bint mend(self, const double *room) noexcept nogil
    cdef void each_proba(self, double *room) noexcept nogil
    cdef void mix(self, const double *each, double *proba) noexcept nogil
    cdef void foresee(self, const double *x, double *proba, double *room) noexcept nogil
    cdef void learn(
        self, const double *w, int32_t label, double times, const double *room
    ) noexcept nogil
    cdef void add(
        self, int32_t k, int32_t c, const double *w, bint is_label, double times,
        const double *own,
    ) noexcept nogil
    cdef void forget_filter(self, int32_t k) noexcept nogil
    cdef void renew_some(self, int64_t row) noexcept nogil
    cdef void renew(self, int64_t j) noexcept nogil
    cdef void see(self, const double *x, double times) noexcept nogil
    cdef void store(self, const double *x, double y, double times) noexcept nogil
    cdef void fix_columns(self) noexcept nogil
    cdef void count(self, int32_t j, double z, double times) noexcept nogil
    cdef void fix_column(self, int32_t j) noexcept nogil
    cdef double take(self, const double *x, double y, double times, double *proba) noexcept nogil
