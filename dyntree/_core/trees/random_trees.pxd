"""RandomTrees: random trees of which all prunings are averaged exactly.

A tree is a random one, grown by the rows that come to its leaves. Each node h of it is the
leaf of some prunings; on the path 0 .. K of a row, the predictive is P_0 with P_K = p_K and
P_h = w_h p_h + (1 - w_h) P_(h+1), where p_h is the predictive of node h alone and w_h the
posterior probability that the tree is pruned there: w_h = 1 / (1 + rho / (1 - rho) exp(r_h))
with the log odds r_h that the rows gave to a split (context tree weighting: Willems,
Shtarkov and Tjalkens 1995).
"""
from libc.stdint cimport int32_t, int64_t, uint32_t

from dyntree._core.rng cimport CounterSource, RandomStream
from dyntree._core.trees.random_cuts cimport Cut, CutLaw, CutRoom
from dyntree._core.trees.row_ring cimport RowRing

cdef enum:
    ROOT = -1               # parents that are none
    GIVEN_UP = -2
    MOST_OPEN = 6           # cuts of a way; at further ones a row goes where most rows are

cdef struct Knot:           # a node of a random tree
    Cut cut
    double odds             # r: what the rows say for a split here, prior odds apart
    double total            # rows, as far as they have not faded
    int64_t last            # number of the last row that reached it
    int64_t head            # of the latest row that the leaf holds, -1: none
    int32_t left            # left child, and the right one is next to it; -1: a leaf
    int32_t parent
    int32_t held            # rows that reached the leaf since it was made, by weight
    int32_t depth

cdef struct RandomTree:
    Knot *knots             # (room,)
    double *sums            # (room, n_sums): counts, or mean and squares about it, and
                            # the sum of weights where they divide variances
    int32_t *spare          # left ones of pairs that were given up
    int64_t *before         # (places of the ring,) the row before it in the same leaf
    int32_t n_knots, n_spare, room

cdef struct Room:           # scratch of one thread
    CutRoom cut
    int32_t *path           # (depth + 2,)
    double *own             # (depth + 2, n_own) predictive of each node on the path
    double *ahead           # (n_classes,) of the tree
    double *mixed           # (n_classes,) of the tree, over all ways of a row
    # cuts that have parted no gap are open for a row: it goes down all ways, one by one,
    # with the shares of the rows on the sides; each walk takes the one of `way`
    bint takes_ways
    uint32_t way            # bit i: the row goes right at the i-th open cut
    int32_t n_open          # open cuts that the last walk met, up to MOST_OPEN
    double share            # of its way

cdef inline void first_way(Room *room, bint gaps) noexcept nogil:
    """Begin with the first way of a row, which has gaps or none."""
    room.takes_ways = gaps
    room.way = 0

cdef class RandomTrees:
    cdef:
        readonly CounterSource source
        readonly RowRing ring
        readonly dict options
        CutLaw law
        RandomTree *trees
        int32_t n_trees, n_classes, n_sums, n_own
        int32_t n_ahead                 # what a tree says of a row: see `teach`
        readonly str weighting          # what weights of rows mean; None: all weigh 1
        int32_t most_knots, most_depth, least_held, regrow_every, regrow_rows
        double log_discount             # 0: nothing fades
        double prior_odds               # log rho / (1 - rho)
        readonly bint has_unit          # of real responses
        double noise                    # as of leaf models
        readonly double log_evidence    # sum of the log densities of all rows

    cdef int reserve(self, int64_t n_rows) except -1
    cdef int open(self, Room *room) except -1
    cdef void close(self, Room *room) noexcept nogil
    cdef void clear(self, RandomTree *t, int64_t row) noexcept nogil
    cdef double fading(self, int64_t since, int64_t now) noexcept nogil
    cdef int32_t walk(
        self, RandomTree *t, const double *x, int64_t now, bint fades, Room *room
    ) noexcept nogil
    # the way after that of the last walk of a row with gaps; False where it was the last
    cdef bint next_way(self, Room *room) noexcept nogil
    cdef double left_share(self, RandomTree *t, const Knot *knot, int64_t now) noexcept nogil
    cdef bint goes_left_on_way(self, RandomTree *t, const Knot *knot, int64_t now, Room *room) noexcept nogil
    cdef void part(self, RandomTree *t, const double *x, int64_t now, RandomStream *s) noexcept nogil
    cdef double pruned(self, const Knot *v, double factor) noexcept nogil
    # `ahead` becomes the predictive along a path of n knots
    cdef void look_ahead(self, RandomTree *t, int32_t n, int64_t now, Room *room) noexcept nogil
    cdef double density_ahead(self, RandomTree *t, int32_t n, int64_t now, double y, double w, Room *room) noexcept nogil
    cdef double mix_ways(self, RandomTree *t, int64_t row, Room *room) noexcept nogil
    cdef double learn_row(
        self, RandomTree *t, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil
    cdef double ahead_of_label(
        self, RandomTree *t, int32_t n, int32_t y, double w, Room *room
    ) noexcept nogil
    cdef double ahead_of_value(
        self, RandomTree *t, int32_t n, double y, double w, Room *room
    ) noexcept nogil
    # of a real response of weight w
    cdef double log_density(self, const double *own, double y, double w) noexcept nogil
    # of w equal labels, which make up c of n
    cdef double log_repeated(self, double n, double c, double w) noexcept nogil
    # a row of weight w, faded by a factor
    cdef void add(self, RandomTree *t, int32_t v, double y, double factor, double w) noexcept nogil
    cdef void hold(self, Knot *leaf, double w) noexcept nogil
    # the sum of weights that the mean of a knot is of
    cdef double precision(self, const RandomTree *t, int32_t v) noexcept nogil
    cdef bint is_pure(self, const RandomTree *t, int32_t v) noexcept nogil
    cdef void grow_leaf(
        self, RandomTree *t, int32_t v, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil
    cdef bint expand(
        self, RandomTree *t, int32_t v, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil
    cdef double evidence(self, const RandomTree *t, int32_t v) noexcept nogil
    cdef double evidence_of_both(
        self, RandomTree *t, int32_t left, double *counts
    ) noexcept nogil
    cdef void raise_odds(self, RandomTree *t, int32_t v) noexcept nogil
    cdef void give_up(self, RandomTree *t, RandomStream *s) noexcept nogil
    cdef void regrow(self, RandomTree *t, int64_t row, Room *room, RandomStream *s) noexcept nogil
    cdef void teach(
        self, int32_t k, int64_t first, int32_t n_rows, Room *room, double *out
    ) noexcept nogil
    cdef void add_proba(
        self, const double *x, int64_t now, Room *room, double *out
    ) noexcept nogil
