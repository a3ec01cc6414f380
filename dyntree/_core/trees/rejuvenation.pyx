"""Fresh particles: grown at once, in the place of a cloud, or row by row beside it."""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

from dyntree._core.rng cimport DELAYING, RandomStream
from dyntree._core.trees.particles cimport NOT_LEARNED, StepStatus

cdef int32_t PACE = 3               # rows that fresh trees learn for each that comes
cdef int32_t YOUNG_PACE = 2         # the same, until they know a third of the active rows


cdef class Rejuvenation:
    """What a cloud was before it grows fresh particles, to go back to or to join."""

    def __init__(self, Particles cloud):
        cdef int32_t k
        self.cloud = cloud
        self.n_particles = cloud.n_particles
        self.time = cloud.time
        self.n_degenerate = cloud.n_degenerate
        self.random_state = cloud.source.save()
        self.roots = np.empty(cloud.n_particles, dtype=np.int32)
        for k in range(cloud.n_particles):
            self.roots[k] = cloud.roots[k]
        self.order = np.empty(cloud.pool.n_rows, dtype=np.int32)
        for k in range(cloud.pool.n_rows):
            self.order[k] = cloud.pool.order[k]
        self.X = cloud.pool.rows()[0]
        self.exposures = cloud.pool.exposures()

    cdef void begin(self, const int64_t[::1] destinations) noexcept:
        """Set the particles aside and bring the rows into their new order."""
        cdef Py_ssize_t k
        for k in range(self.order.shape[0]):
            self.cloud.pool.order[destinations[k]] = self.order[k]
        self.cloud.n_particles = 0

    cdef int undo(self) except -1:
        """Drop the fresh particles and go back to what was."""
        cdef Particles c = self.cloud
        cdef int32_t k
        for k in range(c.n_particles):
            c.arena.drop(c.roots[k])
        for k in range(self.order.shape[0]):
            c.pool.order[k] = self.order[k]
            memcpy(c.pool.x(self.order[k]), &self.X[k, 0],
                   c.pool.n_features * sizeof(double))
            if c.pool.e_ != NULL:
                c.pool.e_[self.order[k]] = self.exposures[k]
        for k in range(self.n_particles):
            c.roots[k] = self.roots[k]
        c.n_particles = self.n_particles
        c.time = self.time
        c.n_degenerate = self.n_degenerate
        c.source.restore(self.random_state)
        return 0

    cdef void join(self) noexcept:
        """Put the particles of before in front of the fresh ones."""
        cdef Particles c = self.cloud
        cdef int32_t k
        for k in range(c.n_particles - 1, -1, -1):
            c.roots[self.n_particles + k] = c.roots[k]
        for k in range(self.n_particles):
            c.roots[k] = self.roots[k]
        c.n_particles += self.n_particles

    cdef void give_way(self) noexcept:
        """Drop the particles of before, which fresh ones replace."""
        cdef int32_t k
        for k in range(self.n_particles):
            self.cloud.arena.drop(self.roots[k])


cdef int grow_at_once(
    Particles c, object destinations, int64_t every, object report
) except -1:
    """Append fresh particles, which learn all rows in the order that results.

    See `Cloud.rejuvenate`.
    """
    cdef const int64_t[::1] order = permutation(destinations, c.pool.n_rows)
    cdef int32_t n_rows = c.pool.n_rows
    cdef Rejuvenation before = Rejuvenation(c)
    c.make_room(c.n_particles + c.n_target)
    c.reserve(n_rows)
    if c.arena.reserve(0, 1) < 0:
        raise MemoryError()
    before.begin(order)
    try:
        learn_all(c, n_rows, every, report)
    except BaseException:
        before.undo()
        raise
    finally:
        c.pool.n_rows = n_rows
    before.join()
    return 0


cdef object permutation(object destinations, int32_t n_rows):
    """The given places as int64; ValueError unless they permute those of the rows."""
    given = np.asarray(destinations)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"destinations must be ints; got {destinations}.")
    order = np.ascontiguousarray(given, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n_rows)):
        raise ValueError(
            f"destinations must be a permutation of 0..{n_rows - 1}; got "
            f"{destinations}."
        )
    return order


cdef int learn_all(Particles c, int32_t n_rows, int64_t every, object report) except -1:
    """Give a cloud without particles fresh ones, grown from its rows in their order.

    On failure some particles and rows are missing.
    """
    cdef int32_t n_start = min(c.moves.min_leaf, n_rows - 1), k
    cdef double unused
    if c.numerics.weighs_one:
        n_start = 0
    c.start_trees(n_start)
    for k in range(n_start, n_rows):
        PyErr_CheckSignals()
        c.reserve(n_rows)
        c.pool.n_rows = k + 1
        c.raise_failure(c.step(c.pool.order[k], &unused, every, report))
    return 0


# ---------------------------------------------------------------- row by row
cdef int regrow(Particles c, int64_t every) except -1:
    """Let fresh trees begin, go on or join, as is due after a row.

    At every so many rows seen, once some have retired, trees begin that know no row yet;
    all active rows wait for them, and so do later rows. At each row they learn
    some that wait, drawn at random, so that rows are learned in random order: three, or
    two while they know less than a third of the rows, as young trees move most and take
    longest. No row waits before the next trees are due: where these are too few, as many
    more are learned at a row. Then the trees join the others.
    """
    cdef int64_t left = every - c.pool.n_seen % every if every else 0
    cdef int32_t n
    if every and left == every and c.fresh.n == 0 and c.n_retired:
        begin(c)
    if c.fresh.n == 0:
        return 0
    n = YOUNG_PACE if 3 * c.fresh.n_waiting > 2 * c.pool.n_rows else PACE
    if every:                       # left - 1 rows are yet to come, and n at each of left
        n = max(n, <int32_t> ((c.fresh.n_waiting + 2 * left - 2) // left))
    n = min(n, c.fresh.n_waiting)
    while n > 0:
        learn_one(c)
        n -= 1
    if c.fresh.n_waiting == 0:
        join(c)
    return 0


cdef int begin(Particles c) except -1:
    """Have as many fresh trees as particles, which have all rows yet to learn."""
    cdef int32_t k
    c.fresh.reserve(c.pool.n_rows)
    if c.arena.reserve(0, 1) < 0:
        raise MemoryError()
    c.exchange()
    try:
        c.start_trees(0)
    finally:
        c.exchange()
    for k in range(c.pool.n_rows):
        c.fresh.wait(c.pool.order[k])
    return 0


cdef int learn_one(Particles c) except -1:
    """Let the fresh trees learn one of the rows that wait for them."""
    cdef RandomStream stream = c.source.open(c.time, 0, DELAYING)
    cdef int32_t n = c.fresh.n_waiting
    cdef int32_t k = min(<int32_t> (stream.uniform(&stream) * n), n - 1)
    cdef double unused
    cdef StepStatus status
    c.reserve(c.pool.n_rows)
    c.exchange()
    status = c.step(c.fresh.waiting[k], &unused, 0, None)
    c.exchange()
    if status != NOT_LEARNED:
        c.fresh.learned(k)
    return c.raise_failure(status)


cdef int join(Particles c) except -1:
    """Put the fresh trees behind the particles."""
    c.make_room(c.n_particles + c.fresh.n)
    memcpy(c.roots + c.n_particles, c.fresh.roots, c.fresh.n * sizeof(handle_t))
    c.n_particles += c.fresh.n
    c.fresh.n = 0
    return 0
