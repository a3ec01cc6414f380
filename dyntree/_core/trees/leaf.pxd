"""Leaf models: a Family of sufficient statistics, and what follows from them.

`derived` starts with the log evidence (EVIDENCE); what comes after it belongs to the
model.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.addends cimport Addends
from dyntree._core.family cimport Family
from dyntree._core.lanes cimport Lanes
from dyntree._core.spans cimport Spans
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.types cimport slot_t

cdef enum:
    N_PRIORS = 48           # most points of the grid of priors that a cloud chooses from

cpdef enum:
    LEAST_DF = 3            # that a native leaf counts as in variances: all are finite

cdef enum Fixed:            # which units a row fixed, as flags
    COLUMN_UNIT = 1
    RESPONSE_UNIT = 2

cdef enum Place:            # what a survey of all rows did to the place of a prior
    UNKNOWN = -1            # nothing: all responses are equal
    UNMOVED = 0
    MOVED = 1

cdef class LeafModel:
    cdef Family family
    cdef Addends addends                # of the family, where a model keeps them
    cdef readonly int n_derived
    cdef readonly int n_basis           # columns in the leaf's regression, 0 = none
    cdef readonly bint has_level        # of its own, besides the columns of the regression
    cdef readonly bint has_evidence     # False: every split is as good as none
    cdef readonly int n_classes         # 0 = real response
    cdef readonly bint rounds_rows      # a density may round the row it is asked about
    cdef bint subtracts                 # a child may have what its sibling leaves
    cdef readonly bint retires          # rows can be retired
    cdef readonly bint logs             # density gives its logarithm
    cdef bint may_inherit               # a split may release retired sums, or hand them on
    cdef readonly int n_out             # doubles that predict needs
    cdef readonly int n_open            # columns, and the response, that have no unit yet
    cdef readonly bint y_open           # whether the response has none
    cdef public double max_retired      # most weight a leaf's retired sums may have
    cdef public double noise    # variance, over sigma^2, of a response that is asked about
    cdef readonly bint is_count         # of events, whose rows have exposures
    cdef readonly bint has_xi           # rows have an xi, which is fixed when they come
    cdef public bint lacks_scale        # which the first rows have yet to fix
    # of the density asked for last: twice the log of its mode over it; 0: not computed
    cdef double deviance
    # variance over sigma^2 of the mean at a row whose gaps are filled; 0 without gaps
    cdef double gap_variance

    # room for the rows of the pool; slot s joins sums, or leaves them
    cdef int reserve(self, ActivePool d) except -1
    cdef size_t nbytes(self) noexcept
    cdef void add_row(self, double *sums, ActivePool d, slot_t s) noexcept nogil
    cdef void remove_row(self, double *sums, ActivePool d, slot_t s) noexcept nogil
    # from the leaf's rows, with its retired sums as they stand
    cdef void build(self, Leaf *leaf, ActivePool d) noexcept nogil
    cdef void sum_rows(self, Leaf *leaf, ActivePool d) noexcept nogil
    cdef void settle(self, Leaf *leaf, ActivePool d) noexcept nogil
    # both children of a split; they have their rows and their retired sums
    cdef void build_children(self, Leaf *left, Leaf *right, const Leaf *parent, ActivePool d) noexcept nogil
    # sums -> derived
    cdef void refresh(self, Leaf *leaf) noexcept nogil
    # slot s has just been appended to the leaf's rows
    cdef void insert(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil
    # slot s has just been taken from the leaf's rows; whether the past faded
    cdef bint retire(self, Leaf *leaf, ActivePool d, slot_t s, double forget) noexcept nogil
    # derived, after that: if nothing faded, all sums together are what they were
    cdef void after_retiring(self, Leaf *leaf, bint faded) noexcept nogil
    # discount the retired sums
    cdef void fade(self, Leaf *leaf, double factor) noexcept nogil
    # a child's share of its parent's retired sums, or nothing of them
    cdef void inherit(self, Leaf *child, const Leaf *parent, ActivePool d) noexcept nogil
    cdef double mass(self, const Leaf *leaf, ActivePool d) noexcept nogil
    cdef void release(self, Leaf *child) noexcept nogil
    # `into` holds the rows of all; its sums become theirs, left to right
    cdef void pool(self, Leaf *into, Leaf **leaves, int n, ActivePool d) noexcept nogil
    # what `pool` would sum: active and retired rows together, and those inherited;
    # returns the weight of the retired ones before it is capped at `max_retired`
    cdef double pool_sums(self, Leaf **leaves, int n, double *total, double *inherited) noexcept nogil
    # predictive density of (x, y) of that weight; may round x where rounds_rows says so
    cdef double density(self, Leaf *leaf, double *x, double y, double weight) noexcept nogil
    # the same of a row in the pool
    # share <= 1 of its weight with which the deviance of a row is at most `most`
    cdef double share_within(self, const Leaf *leaf, const double *x, double y, double weight, double most) noexcept nogil
    cdef double row_density(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil
    # log evidence of each of n <= LANES rows of sums, one after the other
    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil
    # that of a leaf's active sums alone, and given its retired ones
    cdef double active_evidence(self, Leaf *leaf) noexcept nogil
    cdef double conditional_evidence(self, Leaf *leaf) noexcept nogil
    # what a child with n_rows active rows inherits
    cdef void child_share(self, double n_rows, const Leaf *parent, double *out) noexcept nogil
    # rows that count towards a leaf that may be pruned to
    cdef double size(self, const Leaf *leaf) noexcept nogil
    # location, scale, df of the predictive t, then scratch
    cdef void predict(self, const Leaf *leaf, const double *x, double *out) noexcept nogil
    # the first three, bit for bit, at rows which[k] of a table of `width` columns; those
    # of the next row stand `stride` doubles on; work is scratch of n_out
    cdef void predict_rows(self, const Leaf *leaf, const double *rows, int32_t width, const int32_t *which, int32_t n, double *out, int32_t stride, double *work) noexcept nogil
    # the same at n <= LANES rows; v is scratch
    cdef void predict_lanes(self, const Leaf *leaf, const double **x, int n, double *out, int32_t stride, Lanes *v) noexcept nogil
    # leave x as an evaluation in this leaf would: rounded, where rounds_rows says so
    cdef void round_row(self, const Leaf *leaf, double *x) noexcept nogil
    # set changed[which[k]] where that would change row which[k]
    cdef void mark_rounded(self, const Leaf *leaf, const double *rows, int32_t width, const int32_t *which, int32_t n, char *changed) noexcept nogil
    # probability of class k, where it is the same in the whole leaf
    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil
    # that at x; out is scratch, as `predict` needs it
    cdef double probability_at(self, const Leaf *leaf, const double *x, int k, double *out) noexcept nogil
    # add those of all classes to proba
    cdef void add_proba(self, const Leaf *leaf, const double *x, double *proba, double *out) noexcept nogil
    # mean entropy of the label over independent coordinates; v is scratch as of mean_kappa
    cdef double mean_entropy(self, const Leaf *leaf, const double *mean, const double *variance, double *v) noexcept nogil
    # take the scale of the first rows; they must be learned anew after that
    cdef int scale_by(self, ActivePool d) except -1
    # xi^2 that row s would have by this leaf alone
    cdef double squared_xi(self, const Leaf *leaf, ActivePool d, slot_t s) noexcept nogil
    # what the active-learning criteria ask of a regression leaf:
    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil      # posterior Q
    cdef double df(self, const Leaf *leaf) noexcept nogil
    # what Q is divided by for a variance
    cdef double variance_df(self, const Leaf *leaf) noexcept nogil
    # intercept (where there is one) and slopes; how many
    cdef int coefficients(self, const Leaf *leaf, double *out) noexcept nogil
    # column j's value on the scale of the leaf's regression
    cdef double coordinate(self, const Leaf *leaf, int j, double value) noexcept nogil
    # its value whose coordinate is 0
    cdef double neutral(self, int j) noexcept nogil
    # the covariance over sigma^2 of the means at x and at z is c0 + z'u, z in coordinates:
    # gives c0, fills u (2 n_basis + 1) and kappa, the variance at x
    cdef double lift(self, const Leaf *leaf, const double *x, double *u, double *kappa) noexcept nogil
    # at the same kind of rows: mean of that covariance squared, z having independent
    # coordinates, over 1 / weights[which[k]] + kappa; NULL: over `noise` + kappa
    cdef void explain_rows(self, const Leaf *leaf, const double *mean, const double *variance, const double *rows, int32_t width, const int32_t *which, int32_t n, const double *weights, double *out) noexcept nogil
    # variance of a response to which `predict` gave out, under native rules
    cdef double response_variance(self, const Leaf *leaf, const double *out) noexcept nogil
    # mean of kappa over independent coordinates; v is scratch of n_basis + 1
    cdef double mean_kappa(self, const Leaf *leaf, const double *mean, const double *variance, double *v) noexcept nogil
    # the prior that a cloud tunes. First its place by all rows that the leaves hold, summed
    # leaf by leaf, and by the responses of the active ones, which are sorted, and their
    # weights (NULL: 1): UNKNOWN where they cannot tell, else whether it moved; n_seen rows
    # have been learned so far
    cdef void begin_survey(self) noexcept nogil
    cdef void survey_leaf(self, const Leaf *leaf, double multiplicity) noexcept nogil
    cdef Place take_place(self, double *y, const double *weights, int32_t n, int64_t n_seen) noexcept nogil
    # then at most N_PRIORS scores of a grid of points, and the choice
    cdef void score_priors(self, const Leaf *leaf, double multiplicity, double *scores) noexcept nogil
    cdef bint adopt_prior(self, const double *scores) noexcept nogil
    # let a row that is to be learned fix the units of what it is the first to differ in
    # from the rows `seen`; which ones, as flags. Leaves must be refreshed after that
    cdef int fix_units(self, const double *x, double y, Spans seen) noexcept
    cdef double response_unit(self) noexcept nogil
    # responses that one of such a weight stands for
    cdef double times(self, double weight) noexcept nogil
    # refresh, and all that refreshing keeps, after the prior has moved
    cdef void refresh_all(self, Leaf *leaf) noexcept nogil
