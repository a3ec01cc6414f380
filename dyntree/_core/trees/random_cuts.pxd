"""Cuts of random trees: drawn among a few by what they find in the rows of a leaf."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport RandomStream
from dyntree._core.trees.row_ring cimport RowRing

cdef double MEAN_ROWS, SHAPE, LEAF_SHARE

cdef struct Cut:            # left: weight x[feature] + weight_2 x[feature_2] <= at
    double at
    double weight, weight_2
    int32_t feature, feature_2      # feature_2 = -1: x[feature] <= at
    bint missing_left
    bint parts_gaps         # whether a row without a value was parted here

cdef struct CutRoom:        # scratch of one thread
    int64_t *ids            # (most_rows,) rows of the leaf, the newest first
    const double **rows     # (most_rows,)
    double *responses       # (most_rows,)
    double *weights         # (most_rows,)
    double *masses          # (4 n_classes,) counts of weighted rows
    double *values          # (most_rows,) of the candidate
    int32_t *cells          # (4 n_classes,) counts
    double *low             # (n_features,) of the rows
    double *high
    double *width           # share of the ranks between them; 0: no two values

cdef bint goes_left(const Cut *cut, const double *x) noexcept nogil
# whether the cut compares a value that row x lacks
cdef bint misses(const Cut *cut, const double *x) noexcept nogil

cdef class CutLaw:
    cdef:
        int32_t n_classes               # 0: real responses
        bint is_weighted
        bint divides                    # whether weights divide variances, or count
        int32_t n_features
        readonly int32_t most_rows
        readonly int32_t n_candidates
        double share                    # of the Dirichlet prior, a class
        double mean                     # of the normal-inverse-gamma prior
        double variance                 # 0 while no two responses differ
        double *mass_gammas             # log G(n + share n_classes) - log G(share n_classes)
        double *share_gammas            # log G(n + share) - log G(share)

    cdef int open(self, CutRoom *room) except -1
    cdef void close(self, CutRoom *room) noexcept nogil
    cdef double counts_evidence(self, const double *counts) noexcept nogil
    # of n responses, whose precisions sum to g: of y - mean, and of its square
    cdef double normal_evidence(self, double n, double g, double total, double square) noexcept nogil
    # the rows named by `ids` are in the ring; False where no two of them differ
    cdef bint draw(
        self, RowRing ring, CutRoom *room, int32_t n, RandomStream *s, Cut *best
    ) noexcept nogil
    cdef int32_t column(self, const CutRoom *room, double total, RandomStream *s) noexcept nogil
    cdef bint propose(
        self, RowRing ring, CutRoom *room, int32_t n, double total, int32_t n_varying,
        int32_t n_columns, RandomStream *s, Cut *cut
    ) noexcept nogil
    cdef double place(
        self, RowRing ring, const CutRoom *room, int32_t n, const Cut *cut, double low,
        double high, RandomStream *s
    ) noexcept nogil
    cdef double score_weighted(
        self, const CutRoom *room, int32_t n, double at, int32_t other, double other_at
    ) noexcept nogil
    cdef double score(self, const CutRoom *room, int32_t n, double at) noexcept nogil
    cdef double score_four(
        self, const CutRoom *room, int32_t n, double at, int32_t other, double other_at
    ) noexcept nogil
