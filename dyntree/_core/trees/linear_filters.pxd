"""LinearFilters: regressions of labels and counts that learn row by row."""
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
        readonly bint is_count
        readonly double rate, exposure_unit     # of counts: of the first rows
        readonly double most            # log of the highest rate of a row so far, of a bit more
        int32_t n_first                 # rows that are stored to fix them
        int32_t n_features, n_classes, n_kinds, n_filters
        int64_t width                   # 1 + n_features
        double forget, clip
        const double[::1] spreads, sizes        # (n_kinds,), of each kind
        double[::1] log_weights         # (n_kinds,)
        double[:, ::1] prior            # (n_kinds, width) prior precisions in filters
        double[:, :, :, ::1] covariance # (n_kinds, n_filters, width, width)
        double[:, :, ::1] mean, moment  # of coefficients, and precisions times it
        # of columns: place and unit of their values, and in these the running mean,
        # sum of squares about it and number of rows
        double[::1] place, unit, column_mean, square, n_values, n_gaps
        double[::1] low, high, is_many  # two values, and whether there were others
        double[:, ::1] first_X          # (N_FIRST, n_features) rows before the units
        double[::1] first_y, first_w, first_e
        double[::1] room                # scratch of a row that is learned

    cdef Py_ssize_t room_for(self) noexcept nogil
    cdef int32_t n_each(self) noexcept nogil
    cdef double column_spread(self, int32_t j) noexcept nogil
    cdef double target(self, int32_t k, int64_t j) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef void standardize(self, const double *x, double *w, double *gaps) noexcept nogil
    cdef void look(self, const double *w, const double *gaps, double *room) noexcept nogil
    cdef bint mend(self, const double *room) noexcept nogil
    cdef void each_proba(self, double *room) noexcept nogil
    cdef void mix(self, const double *each, double *proba) noexcept nogil
    cdef void foresee(self, const double *x, double *proba, double *room) noexcept nogil
    cdef double repeat(self, double *each, int32_t label, double times) noexcept nogil
    cdef double log_mixture(self, const double *each) noexcept nogil
    cdef void weigh(self, const double *each, int32_t label, double times) noexcept nogil
    cdef void learn(
        self, const double *w, double y, double times, double exposure, double *room
    ) noexcept nogil
    cdef void add_label(
        self, int32_t k, int32_t c, const double *w, bint is_label, double times,
        const double *own,
    ) noexcept nogil
    cdef double add_count(
        self, int32_t k, const double *w, double y, double times, double exposure,
        const double *own,
    ) noexcept nogil
    cdef void add(
        self, int32_t k, int32_t c, const double *w, double m, double u, const double *own
    ) noexcept nogil
    cdef void forget_filter(self, int32_t k) noexcept nogil
    cdef void renew_some(self, int64_t row) noexcept nogil
    cdef void renew(self, int64_t j) noexcept nogil
    cdef void see(self, const double *x, double times) noexcept nogil
    cdef void store(
        self, const double *x, double y, double times, double exposure
    ) noexcept nogil
    cdef void fix_columns(self) noexcept nogil
    cdef bint is_far(self, int32_t j, double x) noexcept nogil
    cdef void note_values(self, const double *x) noexcept nogil
    cdef void count(self, int32_t j, double z, double times) noexcept nogil
    cdef void fix_column(self, int32_t j) noexcept nogil
    cdef double take(
        self, const double *x, double y, double times, double exposure, double *proba
    ) noexcept nogil
