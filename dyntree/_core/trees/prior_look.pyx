"""The prior of the leaves, chosen by the evidence of the cloud as rows come."""
import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport REWEIGHING, RandomStream
from dyntree._core.trees.leaf cimport MOVED, N_PRIORS, UNKNOWN, Place
from dyntree._core.trees.nodes cimport Leaf, Node, log_evidence
from dyntree._core.trees.tree cimport all_came, gather
from dyntree._core.types cimport handle_t

cdef double LOOK_GROWTH = 1.25
cdef double SLIGHT = 0.05           # of the mean weight: a robust cloud's row outside


cdef int look(Particles c) except -1:
    """Let the cloud choose its prior, where it is time to.

    Its place follows the rows that the leaves hold. Then a point's score is the mean
    over particles of the summed log evidence of their leaves; trees stay as they are.
    When the prior moves, everything derived from it is computed anew, and the trees are
    resampled by what that did to their evidence. Trees that are still growing have no
    say, but follow.
    """
    cdef int64_t seen = c.pool.n_seen
    cdef bint due = seen >= c.next_look
    cdef bint moved
    cdef int32_t n_distinct
    if c.n_retired and 2 * (seen - c.last_look) >= c.pool.n_rows:
        due = due or c.next_look < INFINITY
    if not due:
        return 0
    c.last_look = seen
    while c.next_look <= seen:
        c.next_look *= LOOK_GROWTH
    counts = np.empty(c.arena.live_leaves, dtype=np.int64)
    met = np.empty(c.arena.live_leaves, dtype=np.int32)
    changes = np.empty(c.arena.live_leaves)
    room = np.empty((2, c.pool.n_rows + 1))
    cdef int64_t[::1] count = counts
    cdef double[::1] change = changes, responses = room[0], weights = room[1]
    cdef handle_t[::1] handles = met
    c.moves.reserve(0, c.arena.live_leaves + 1)
    with nogil:
        n_distinct = list_leaves(c, &handles[0], &count[0])
        moved = choose(
            c, &handles[0], &count[0], n_distinct, &responses[0], &weights[0]
        )
        if moved:
            follow(c, &handles[0], n_distinct, &change[0])
            if c.fresh.n:
                c.exchange()
                c.time += 1             # that of a step, for draws of their own
                n_distinct = list_leaves(c, &handles[0], &count[0])
                follow(c, &handles[0], n_distinct, &change[0])
                c.exchange()
    return 0


cdef bint choose(
    Particles c, const handle_t *handles, const int64_t *count, int32_t n_distinct,
    double *responses, double *weights,
) noexcept nogil:
    """Place and choose the prior by these leaves; whether anything changed.

    The last two are scratch, with room for all rows.
    """
    cdef double[N_PRIORS] scores
    cdef Place place
    cdef int32_t k, n = 0
    cdef double least = 0.0
    c.leaf_model.begin_survey()
    for k in range(n_distinct):
        c.leaf_model.survey_leaf(
            c.arena.leaf(handles[k]), count[k] / <double> c.n_particles
        )
    if c.is_robust:
        for k in range(c.pool.n_rows):
            least += SLIGHT * c.pool.w(c.pool.order[k]) / c.pool.n_rows
    for k in range(c.pool.n_rows):
        weights[n] = c.pool.w(c.pool.order[k])
        if weights[n] >= least:
            responses[n] = c.pool.y(c.pool.order[k])
            n += 1
    place = c.leaf_model.take_place(
        responses, weights if c.pool.is_weighted else NULL, n, c.pool.n_seen
    )
    if place == UNKNOWN:
        return False
    for k in range(N_PRIORS):
        scores[k] = 0.0
    for k in range(n_distinct):
        c.leaf_model.score_priors(
            c.arena.leaf(handles[k]), count[k] / <double> c.n_particles, scores
        )
    return c.leaf_model.adopt_prior(scores) or place == MOVED


cdef void follow(
    Particles c, const handle_t *handles, int32_t n_distinct, double *change
) noexcept nogil:
    """Bring these leaves to the prior, and resample by what it did to the evidence.

    Each leaf's `entry` is its place among them.
    """
    cdef RandomStream stream = c.source.open(c.time, 0, REWEIGHING)
    cdef double log_mean = 0.0, variance = 0.0
    cdef int32_t i, k, n
    cdef Leaf *leaf
    for k in range(n_distinct):
        leaf = c.arena.leaf(handles[k])
        c.arena.drop_credit(leaf)
        change[k] = -log_evidence(leaf)
        c.leaf_model.refresh_all(leaf)
        change[k] += log_evidence(leaf)
    for i in range(c.n_particles):
        n = gather(c.arena, c.roots[i], c.moves.leaves)
        c.weights[i] = 0.0
        for k in range(n):
            c.weights[i] += change[c.moves.leaves[k].entry]
    c.draw_survivors(&stream, &log_mean, &variance)


cdef int32_t list_leaves(Particles c, handle_t *handles, int64_t *count) noexcept nogil:
    """The distinct leaves, and how many particles have each; returns how many."""
    cdef int32_t i, n = 0
    c.stamp += 1
    for i in range(c.n_particles):
        n = count_leaves(c, c.roots[i], 1, handles, count, n)
    return n


cdef int32_t count_leaves(
    Particles c, handle_t h, int32_t n_coming, handle_t *handles, int64_t *count,
    int32_t n,
) noexcept nogil:
    """One of the ways to h, on which n_coming particles come; returns n.

    The last way leads on with all of them, and lists a leaf after n others.
    """
    cdef Node *node
    cdef Leaf *leaf
    if h > 0:
        node = c.arena.node(h)
        if not all_came(
            &node.stamp, &node.entry, &node.ways, node.refs, c.stamp, n_coming
        ):
            return n
        n = count_leaves(c, node.left, node.entry, handles, count, n)
        return count_leaves(c, node.right, node.entry, handles, count, n)
    leaf = c.arena.leaf(h)
    if not all_came(
        &leaf.stamp, &leaf.entry, &leaf.ways, leaf.refs, c.stamp, n_coming
    ):
        return n
    handles[n] = h
    count[n] = leaf.entry
    leaf.entry = n
    return n + 1
