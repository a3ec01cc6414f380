"""Watch: whether the cost of a new cluster still fits the rows that come.

Rows are counted in windows, which end with a look for clusters to merge. Those of the first
few tell how many clusters come in a window and stay, and how far rows are from theirs; a
later window that differs much from them is a misfit.
"""
from libc.stdint cimport int64_t

cdef class Watch:
    cdef:
        readonly bint stopped           # learning waits for what is done about a misfit
        readonly bint misfit            # whether a misfit has been seen
        readonly bint grew              # whether clusters were too many, or too small
        readonly int64_t rows_judged    # in the last whole window
        readonly int64_t growth         # clusters at its end, beyond those at its beginning
        readonly int64_t most_growth    # of the first windows but one
        readonly double near            # mean squared distance of rows that opened none
        readonly double least_near      # 0 where it is not known
        int64_t n_first
        int64_t n_windows
        int64_t n                       # rows of the window that goes on
        int64_t n_near                  # that opened no cluster
        int64_t n_clusters              # when it began
        double total                    # of squared distances
        int64_t n_wanted                # rows to gather, or 0
        int64_t n_gathered
        int64_t n_features
        readonly object store
        double *rows                    # (n_wanted, n_features)

    # takes notice of a row; of one that opens a cluster the distance is negative
    cdef void note(self, double distance, const double *x) noexcept nogil
    # whether a window of n rows ends with a row of that number, or rows are gathered
    cdef bint is_due(self, int64_t n, int64_t row, int64_t check_every) noexcept nogil
    cdef void judge(self, int64_t n_clusters) noexcept nogil
