"""Leaf models: a Family of sufficient statistics, and what follows from them.

`derived` starts with the log evidence; what comes after it belongs to the model.
"""
from dyntree._core.family cimport Family
from dyntree._core.pool cimport ActivePool
from dyntree._core.types cimport Leaf, slot_t

cdef class LeafModel:
    cdef Family family
    cdef readonly int n_derived
    cdef readonly int n_basis           # columns in the leaf's regression, 0 = none
    cdef readonly int n_classes         # 0 = real response
    cdef readonly bint rounds_rows      # a density may round the row it is asked about
    cdef readonly bint retires          # rows can be retired

    # from the leaf's rows, with its retired sums as they stand
    cdef void build(self, Leaf *leaf, ActivePool d) noexcept nogil
    # sums -> derived
    cdef void refresh(self, Leaf *leaf) noexcept nogil
    # slot s has just been appended to the leaf's rows
    cdef void insert(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil
    # slot s has just been taken from the leaf's rows
    cdef void retire(self, Leaf *leaf, ActivePool d, slot_t s, double forget) noexcept nogil
    # a child's share of its parent's retired sums
    cdef void inherit(self, Leaf *child, const Leaf *parent) noexcept nogil
    # `into` holds the rows of all; its sums become theirs, left to right
    cdef void pool(self, Leaf *into, Leaf **leaves, int n, ActivePool d) noexcept nogil
    # predictive density of (x, y); may round x where rounds_rows says so
    cdef double density(self, Leaf *leaf, double *x, double y) noexcept nogil
    # location, scale, df of the predictive t, then 2 * n_basis doubles of scratch
    cdef void predict(self, const Leaf *leaf, const double *x, double *out) noexcept nogil
    # leave x as an evaluation in this leaf would: rounded, where rounds_rows says so
    cdef void round_row(self, const Leaf *leaf, double *x) noexcept nogil
    # probability of class k
    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil
    # what the active-learning criteria ask of a regression leaf:
    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil      # posterior Q
    cdef double df(self, const Leaf *leaf) noexcept nogil
    cdef double spread(self, const Leaf *leaf) noexcept nogil           # variance of the level / sigma^2
    cdef const double *centre(self, const Leaf *leaf) noexcept nogil    # column means, or NULL
    cdef const double *inverse(self, const Leaf *leaf) noexcept nogil   # packed, or NULL
    cdef const double *slopes(self, const Leaf *leaf) noexcept nogil    # or NULL
