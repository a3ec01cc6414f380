"""Stay, grow or prune: proposals, their log posterior scores, and the choice.

With leaf log evidence e and depth d, and a tree prior a (1 + d)^-b of splitting
(Chipman, George and McCulloch 1998), a subtree scores
    leaf:  log(1 - a (1 + d)^-b) + e
    split: log a - b log(1 + d) + score(left) + score(right)
and the moves of a leaf compete on the scores of its parent's subtree (Taddy, Gramacy
and Polson 2011, section 3.2).
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.filter_rules cimport Numerics
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.rng cimport RandomSource, RandomStream
from dyntree._core.trees.nodes cimport Entry, Leaf, Move
from dyntree._core.types cimport handle_t, slot_t

cdef enum:
    N_DEPTHS = 64           # depths whose prior terms are tabled
    N_SCRATCH = 3           # leaves of scratch
    MOST_NEW = 4            # rows for which limits are moved rather than found anew

cdef class Moves:
    cdef Arena arena
    cdef LeafModel model
    cdef ActivePool pool
    cdef Numerics numerics
    cdef readonly double alpha, beta
    cdef readonly int32_t min_leaf, first_split
    cdef readonly int proposal
    # scratch: a proposal's children, a pooled leaf, column values, leaves of a subtree
    cdef Leaf[N_SCRATCH] scratch
    cdef Leaf *left
    cdef Leaf *right
    cdef Leaf *pooled
    cdef double[N_DEPTHS] leaf_priors
    cdef double[N_DEPTHS] split_priors
    cdef double *sums
    cdef double *values
    cdef Leaf **leaves
    cdef int32_t n_values, n_leaves
    cdef int32_t *columns               # those that may be split on, in order
    cdef int32_t n_columns
    cdef char *parted                   # by gaps, of the leaf at hand: see `has_both`

    cdef void observe(self, const double *x) noexcept nogil

    cdef int expect(self, int32_t n_particles) except -1
    cdef int reserve(self, int32_t n_rows, int32_t n_leaves) except -1
    cdef size_t nbytes(self) noexcept
    cdef double leaf_prior(self, int32_t depth) noexcept nogil
    cdef double split_prior(self, int32_t depth) noexcept nogil
    cdef double score(self, handle_t h) noexcept nogil
    cdef int32_t score_stay(self, Entry *e) noexcept nogil
    cdef void score_entry(self, Entry *e) noexcept nogil
    cdef void limits(self, Leaf *leaf, int32_t variable) noexcept nogil
    cdef int32_t outer(self) noexcept nogil
    cdef void rank(self, Leaf *leaf, int32_t variable) noexcept nogil
    cdef bint extend(self, Leaf *leaf, int32_t variable) noexcept nogil
    cdef double neighbour(self, const slot_t *rows, int32_t n, int32_t variable, double limit, double sign) noexcept nogil
    cdef void drop_limits(self, Leaf *leaf, const double *x) noexcept nogil
    cdef bint has_both(self, const Leaf *leaf, int32_t variable) noexcept nogil
    cdef void forget_gaps(self) noexcept nogil
    cdef bint has_value_cut(self, const Leaf *leaf, int32_t variable) noexcept nogil
    cdef bint propose(self, Leaf *leaf, RandomStream *s, Move *move) noexcept nogil
    cdef bint split(self, const Leaf *leaf, const Move *move) noexcept nogil
    cdef Move decide(self, Entry *e, RandomStream *s) noexcept nogil
    cdef void decide_all(self, Entry *entries, int32_t n_entries, const int32_t *entry_of, int32_t n, RandomSource source, int64_t time, Move *moves) noexcept nogil
    cdef void clear(self) noexcept nogil
    cdef handle_t fresh_leaf(self, const Leaf *source, int32_t depth) noexcept nogil
    cdef bint parts_gaps(self, const Move *move) noexcept nogil
    cdef handle_t grown(self, const Leaf *leaf, const Move *move) noexcept nogil
    cdef handle_t pruned(self, handle_t parent) noexcept nogil
    cdef int32_t pool_below(self, handle_t parent) noexcept nogil
