"""What trees are made of, and what a step knows of each distinct leaf."""
from libc.math cimport INFINITY
from libc.stdint cimport int16_t, int32_t, int64_t

from dyntree._core.types cimport handle_t, slot_t

cdef struct Node:           # one split; its region never changes
    double value            # a row goes left iff x[variable] <= value, if it has one;
                            # infinity: iff it has one
    int64_t stamp           # step in which `entry` was written
    handle_t left
    handle_t right
    int32_t variable
    int32_t depth           # of this node; a root has depth 0
    int16_t missing_left    # whether rows that miss the variable go left
    int16_t parts_gaps      # whether such a row was parted here, see `gap_walk`
    int32_t refs            # parents and roots that lead here
    int32_t entry           # index of this step's Entry below this node
    int32_t ways            # of `refs`, those that a walk has not come by yet

cdef inline bint goes_left(const Node *node, const double *x) noexcept nogil:
    cdef double v = x[node.variable]
    return v <= node.value or (v != v and node.missing_left)

cdef inline bint is_gap_cut(double value) noexcept nogil:
    """Whether a split parts the rows that have a value from those that have none."""
    return value == INFINITY

cdef struct Leaf:
    double *active          # Family row of the active rows
    double *retired         # Family row of the rows given up (discounted)
    double *derived         # written by LeafModel.refresh, read by everything else
    double *low             # (n_features,) lower proposal limits
    double *high            # (n_features,) upper proposal limits
    double *limited         # (n_features,) of how many rows, the first; 0: of none
    slot_t *rows            # slots of the active rows, see SharedMoves.order_pooled
    double *credit          # (n_rows,) active-learning statistic per row, or NULL
    int64_t stamp
    int32_t n_rows
    int32_t capacity        # of `rows` and `credit`
    int32_t depth
    int32_t refs
    int32_t entry
    int32_t ways            # as a split's
    int32_t n_outside       # as `Particles`, of the rows that reached the leaf

cdef enum:
    EVIDENCE = 0            # place of the log evidence in any model's `derived`
    WEIGHT = 0              # place of the weight in any Family row

cdef inline double log_evidence(const Leaf *leaf) noexcept nogil:
    return leaf.derived[EVIDENCE]

cdef inline double retired_weight(const Leaf *leaf) noexcept nogil:
    return leaf.retired[WEIGHT]

cdef struct Cut:            # one proposed split of a leaf
    double value
    double side             # uniform: where rows without the variable go
    double odds             # log evidence of its children; their log odds against the
                            # leaf; then odds, cumulated over the leaf
    const Cut *like         # while rated: one that parts the rows in the same way
    int32_t variable
    int32_t missing_left
    int32_t entry           # whose leaf it is a cut of
    int32_t place           # of the sums below it; cuts with no row between share one
    bint inherits           # the children share what the leaf has retired
    int32_t grown           # place of the last Grown that was made of it, or -1

cdef struct Grown:          # a split with its leaves that a particle has taken
    handle_t split
    int32_t before          # place of the one made of the same cut before, or -1
    const Leaf *leaf        # that was split

cdef struct Entry:          # what a step knows about one distinct (parent, leaf)
    handle_t leaf
    handle_t parent         # NONE: the leaf is a root
    handle_t pruned         # the leaf that replaces `parent`, once made
    int32_t owner           # first entry that leads to the same leaf
    int32_t count           # particles that lead here
    bint weighed
    bint scored
    double density          # predictive density (or its log, as Numerics says)
    double stay             # log posterior score of the parent's subtree as it is
    double prune            # the same with the subtree collapsed to a leaf
    double left             # scores of the parent's two subtrees
    double right
    # shared proposals; up to `gain` on the entry that owns the leaf
    int32_t next_alike      # the next whose leaf holds the same rows; -1: none
    int32_t last_alike      # on the first of them: the last
    int32_t shares          # the one whose cuts it chooses from
    int32_t n_offered       # splits that may be proposed for it
    int32_t first_cut       # where its cuts start
    int32_t n_cuts
    Cut *last_inheriting    # the last that was rated and whose children inherit
    double gain             # log mean of their odds, but for the tree prior
    double grow             # log odds of splitting the leaf against leaving it
    double stays            # probabilities of two of the moves
    double prunes

cdef enum MoveKind:
    STAY = 0
    GROW = 1
    PRUNE = 2

cdef struct Move:
    int32_t kind
    int32_t variable
    int32_t missing_left
    bint inherits           # the children share what the leaf has retired
    int32_t cut             # which of the step's shared proposals
    double value

cdef enum Proposal:         # how a split is proposed
    LUALL = 1               # among the columns that can be split
    LUVAR = 2               # any column, limits from order statistics
    REJECT = 3              # any column, limits from the range
