"""Clusters: what every mixture has, whatever its clusters look like.

A cluster is a place k in arrays of `capacity` rows, of which the first n are in use, in
the order of their ids. A row is counted as soon as it is learned; `n_rows` is its number,
from 1. What is asked of a kind of cluster are the methods that `Spheres` and `Subspaces`
have in common.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.chain cimport Chain
from dyntree._core.mixtures.watch cimport Watch

cdef class Clusters:
    cdef:
        readonly int32_t n_features
        readonly int32_t n              # clusters
        int32_t capacity
        readonly int64_t n_rows
        readonly int64_t next_id
        readonly double lost            # weight of clusters that were deleted
        readonly Chain chain            # or None
        readonly Watch watch
        # options
        readonly double radius          # lambda_: cost of a new cluster
        double threshold                # pairs whose score is below it are merged
        public int64_t check_every      # rows; 0 never
        double min_weight
        int64_t patience
        double keep                     # forget     
        int64_t silence                 # rows after which an unseen cluster is provisional
        int32_t max_clusters
        bint by_objective               # costs and scores weigh by what they add to J
        # arrays of `store`, by name
        readonly dict store
        int64_t *ids
        int64_t *born                   # number of its first row
        int64_t *seen                   # of its last
        int64_t *rows                   # that it has taken, none forgotten
        int64_t *since                  # from which its patience counts
        int64_t *settled                # row that confirmed it first, or 0
        int32_t *confirmed
        double *weight
        double *scatter                 # sum of squared distances to the mean
        double *squares                 # (n_features,) its parts by column, but for a factor
        # scratch
        double *cost
        double *score                   # of the best pair (k, partner[k]), partner[k] > k
        int32_t *partner
        bint by_distance                # scores are distances, else those of merging
        bint tracking                   # scores are distances, and up to date
        int64_t next_expiry
        # merged ids, oldest first
        int64_t *merged
        int64_t *merged_into
        int32_t n_merged, merged_room

    # --- what a kind of cluster is
    # squared distance of x (n_features,) to every cluster; one that is surely not the
    # least may be a lower bound, unless all are wanted
    cdef void distances(self, const double *x, double *out, bint all) noexcept nogil
    cdef void begin(self, int32_t k, const double *x) noexcept nogil     # a cluster of one row
    cdef void widen_column(self, int32_t k, int32_t j, double more) noexcept nogil  # squares
    cdef void absorb(self, int32_t k, const double *x) noexcept nogil    # weight as before x
    cdef void join(self, int32_t k, int32_t other) noexcept nogil        # weights as before
    cdef void move(self, int32_t k, int32_t source) noexcept nogil       # source's place to k
    cdef void fade(self, int32_t k) noexcept nogil                       # by `keep`
    cdef double pair_score(self, int32_t a, int32_t b) noexcept nogil    # merge if low
    cdef double pair_distance(self, int32_t a, int32_t b) noexcept nogil
    cdef bint is_narrow(self) noexcept nogil                             # needs `widen`
    cdef void widen(self)
    cdef void point(self)                                                # pointers into store
    cdef dict layout(self)                  # name -> (dtype, shape of one cluster's part)

    # --- what all have
    cdef void grow(self, int32_t capacity)
    cdef bint is_tight(self) noexcept nogil
    cdef void make_room(self)
    cdef int64_t learn_row(self, const double *x) noexcept nogil
    cdef void drop(self, int32_t k) noexcept nogil
    cdef void expire(self) noexcept nogil
    cdef double value(self, int32_t a, int32_t b) noexcept nogil
    cdef void look(self, int32_t k) noexcept nogil
    cdef void look_again(self, int32_t k) noexcept nogil
    cdef int32_t best_pair(self) noexcept nogil
    cdef void merge_best(self, int32_t best) noexcept nogil
    cdef void merge_all(self) noexcept nogil
    cdef void merge_closest(self) noexcept nogil
    cdef int32_t merge_pair(self, int32_t a, int32_t b) noexcept nogil
    cdef void settle_squares(self, int32_t k) noexcept nogil
    cdef void add_squares(self, int32_t k, double part, const double *step) noexcept nogil
    cdef void join_squares(
        self, int32_t k, int32_t other, double part, const double *step
    ) noexcept nogil
    cdef void confirm(self, int32_t k) noexcept nogil
    cdef void note_alias(self, int64_t gone, int64_t into) noexcept nogil
