"""Cloud: what can be done to particles."""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, log
from libc.string cimport memcpy, memset

from dyntree._core.trees import snapshot
from dyntree._core.trees.leaf cimport RESPONSE_UNIT
from dyntree._core.trees.particles cimport LEARNED, NOT_LEARNED, StepStatus, run_after
from dyntree._core.trees.prior_look cimport look
from dyntree._core.trees.rejuvenation cimport Rejuvenation, grow_at_once
from dyntree._core.trees.tree cimport (
    copy_subtree, count_nodes, descend, find_leaf, gather, replaced, seat_of,
    take_out,
)
from dyntree._core.trees.nodes cimport Entry, Move, Node, log_evidence, retired_weight
from dyntree._core.types cimport NONE

cdef int64_t N_FIRST = 10           # rows that fix a scale which the leaves lack


cdef class Cloud(CloudFacts):
    """A cloud of dynamic trees.

    Takes the parameters of `Particles`. Rows arrive by `start` and `update` and leave
    by `retire`; a row's position is its place in the internal order, in which the last
    row takes the place of one that leaves.
    """

    def start(self, const double[:, ::1] X, const double[::1] y):
        """Make n_particles equal trees of one leaf that holds the given rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
        """
        cdef Py_ssize_t k
        if self.n_particles:
            raise ValueError("start must be called on an empty cloud; this one has rows.")
        self.check_rows(X, y)
        if y.shape[0] == 0 and not self.numerics.weighs_one:
            raise ValueError("y must have at least one row; got none.")
        self.pool.reserve(<int32_t> y.shape[0])
        self.reserve(<int32_t> y.shape[0])
        if self.arena.reserve(0, 1) < 0:
            raise MemoryError()
        for k in range(y.shape[0]):
            self.moves.observe(&X[k, 0])
            self.pool.put(&X[k, 0], y[k], 1.0, 1.0)
        try:
            self.start_trees(<int32_t> y.shape[0])
        except MemoryError:
            while self.pool.n_rows:
                self.pool.free(self.pool.n_rows - 1)
            raise
        if not self.numerics.spans_active:
            self.pool.seen = self.pool.spans()

    def check_rows(
        self, const double[:, ::1] X, const double[::1] y,
        const double[::1] weights=None, const double[::1] exposures=None,
    ):
        """Raise ValueError unless all of these fit the cloud and each other."""
        if X.shape[1] != self.pool.n_features:
            raise ValueError(
                f"X must have {self.pool.n_features} columns; got {X.shape[1]}."
            )
        if X.shape[0] != y.shape[0]:
            raise ValueError(
                f"X and y must have equally many rows; got {X.shape[0]} and "
                f"{y.shape[0]}."
            )
        if weights is not None and not (
            self.pool.is_weighted and weights.shape[0] == y.shape[0]
        ):
            raise ValueError(
                f"weights need a weighted cloud, and must be {y.shape[0]}; got "
                f"{weights.shape[0]}."
            )
        if exposures is not None and not (
            self.pool.is_exposed and exposures.shape[0] == y.shape[0]
        ):
            raise ValueError(
                f"exposures need a model of counts, and must be {y.shape[0]}; got "
                f"{exposures.shape[0]}."
            )
        cdef Py_ssize_t k
        if self.leaf_model.n_classes:
            for k in range(y.shape[0]):
                if not (0 <= y[k] < self.leaf_model.n_classes and y[k] == <int> y[k]):
                    raise ValueError(
                        f"y must hold labels 0..{self.leaf_model.n_classes - 1}; got "
                        f"{y[k]} in row {k}."
                    )

    def update(
        self, const double[:, ::1] X, const double[::1] y, int64_t every=0, report=None,
        const double[::1] weights=None, const double[::1] exposures=None,
    ):
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
        every : int, default 0
            Call `report` on every row whose number is a multiple; 0 never.
        report : callable, optional
            Called between resampling and moving with the row number, the rows retired,
            the distinct particles left, the variance of the weights and the averages
            of depth, leaves, rows per leaf and retired weight per leaf.
        weights : ndarray of shape (n_rows,), optional
            > 0, for a weighted cloud; 1 by default.
        exposures : ndarray of shape (n_rows,), optional
            > 0, for a cloud of counts, in its unit; 1 by default.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log predictive densities of the rows, each given those before it.

        Notes
        -----
        An interrupt is answered between rows: the cloud then is what it was after the
        last complete one.
        """
        self.check_rows(X, y, weights, exposures)
        if not self.n_particles:
            raise ValueError("update needs a cloud that was started; call start first.")
        log_densities = np.zeros(y.shape[0])
        cdef double[::1] out = log_densities
        cdef Py_ssize_t k
        for k in range(y.shape[0]):
            PyErr_CheckSignals()
            self.learn(
                &X[k, 0], y[k], 1.0 if weights is None else weights[k],
                1.0 if exposures is None else exposures[k], &out[k], every, report,
            )
        return log_densities

    cdef int learn(
        self, const double *x, double y, double w, double e, double *log_density,
        int64_t every, object report,
    ) except -1:
        """Put one row in the pool and take a step; if not learned, it is out again."""
        cdef slot_t s
        cdef StepStatus status
        self.pool.reserve(self.pool.n_rows + 1)
        self.reserve(self.pool.n_rows + 1)
        if self.fresh.n:
            self.fresh.reserve(self.pool.n_rows + 1)
        before = self.fix_units(x, y) if self.leaf_model.n_open else None
        s = self.pool.put(x, y, w, e)
        self.moves.observe(x)
        self.judges, self.is_outside, self.last_share = self.is_robust, False, 1.0
        self.is_new = True
        status = self.step(s, log_density, every, report)
        self.judges = self.is_new = False
        if status == NOT_LEARNED:
            self.pool.free(self.pool.n_rows - 1)
            self.pool.n_seen -= 1
            if before is not None:
                self.take_units(before[0], before[1])
        else:
            self.n_outside = run_after(self.n_outside, self.is_outside)
            if self.fresh.n:
                self.fresh.wait(s)
            if not self.numerics.spans_active:
                self.pool.seen.widen(x)
            self.log_evidence += log_density[0]
            if self.leaf_model.y_open and self.pool.is_weighted:
                self.extra_told += self.leaf_model.times(w) - 1.0
            if self.leaf_model.lacks_scale and self.pool.n_seen >= N_FIRST:
                self.fix_scale()
            if self.next_look < INFINITY:
                look(self)
        return self.raise_failure(status)

    cdef int fix_scale(self) except -1:
        """Let the first rows fix the scale of the leaves, and learn them anew in it.

        They are all active, unless the cloud was made without the rows it had learned:
        then columns get their units as if they had been constant.
        """
        cdef int32_t k, n_rows = self.pool.n_rows
        cdef double unused
        cdef StepStatus status = LEARNED
        if self.n_retired:
            self.leaf_model.lacks_scale = False
            return 0
        cdef Rejuvenation before = Rejuvenation(self)
        state = self.leaf_model.to_state()
        if self.arena.reserve(0, 1) < 0:
            raise MemoryError()
        self.leaf_model.scale_by(self.pool)
        self.n_particles = 0
        self.is_new = True
        self.start_trees(0)
        for k in range(n_rows):
            self.pool.n_rows = k + 1
            status = self.step(self.pool.order[k], &unused, 0, None)
            if status != LEARNED:
                break
        self.is_new = False
        self.pool.n_rows = n_rows
        if status != LEARNED:
            before.undo()
            self.leaf_model.from_state(state)
            raise MemoryError()
        before.give_way()
        return 0

    cdef object fix_units(self, const double *x, double y):
        """Let a row fix units that were missing; returns the state before, or None.

        Log densities so far were in a unit of 1 where the responses had none.
        """
        before = self.leaf_model.to_state(), self.log_evidence
        cdef int fixed = self.leaf_model.fix_units(x, y, self.pool.seen)
        if fixed == 0:
            return None
        if fixed & RESPONSE_UNIT:
            self.log_evidence -= self.n_told * log(self.leaf_model.response_unit())
        self.renew()
        return before

    cdef int take_units(self, object state, double log_evidence) except -1:
        """Go back to what `fix_units` gave."""
        self.leaf_model.from_state(state)
        self.log_evidence = log_evidence
        self.renew()
        return 0

    cdef int renew(self) except -1:
        """Bring the leaves up to a change of units."""
        cdef int32_t i, k, n
        cdef Leaf *leaf
        self.moves.reserve(0, self.arena.live_leaves + 1)
        self.stamp += 1
        for i in range(self.n_particles + self.fresh.n):
            n = gather(self.arena, self.root(i), self.moves.leaves)
            for k in range(n):
                leaf = self.moves.leaves[k]
                if leaf.stamp == self.stamp:
                    continue
                leaf.stamp = self.stamp
                self.arena.drop_credit(leaf)
                self.leaf_model.refresh_all(leaf)
        return 0

    # ------------------------------------------------------------ retirement
    def retire(self, positions, double forget=1.0):
        """Give up rows; their leaves remember them as sums.

        Parameters
        ----------
        positions : array_like of int, shape (n,)
            Places in the internal order before the call, all different.
        forget : float in (0, 1], default 1.0
            Factor on the retired sums of a leaf, before a row joins them.
        """
        given = np.asarray(positions)
        if given.size and given.dtype.kind not in "iu":
            raise ValueError(f"positions must be ints; got {positions}.")
        places = given.astype(np.int64).reshape(-1)
        if not self.leaf_model.retires:
            raise ValueError(
                "rows of linear leaves with an implicit intercept cannot be retired; "
                "use intercept='augmented'."
            )
        if not 0.0 <= forget <= 1.0 or (forget == 0.0 and not self.numerics.forgets_all):
            raise ValueError(f"forget must be in (0, 1] (native: [0, 1]); got {forget}.")
        if len(places) and not (0 <= places.min() and places.max() < self.pool.n_rows):
            raise ValueError(
                f"positions must be in 0..{self.pool.n_rows - 1}; got {positions}."
            )
        if len(np.unique(places)) != len(places):
            raise ValueError(f"positions must all be different; got {positions}.")
        if len(places) and len(places) >= self.pool.n_rows:
            raise ValueError("at least one row must stay; positions name them all.")
        cdef int64_t[::1] view = places
        cdef slot_t[::1] slots = np.empty(len(places), dtype=np.int32)
        cdef Py_ssize_t k
        for k in range(slots.shape[0]):
            slots[k] = self.pool.order[view[k]]
        self.reserve(self.pool.n_rows)
        for k in range(slots.shape[0]):
            self.give_up(slots[k], forget)

    cdef int give_up(self, slot_t s, double forget) except -1:
        """Retire row s, one of several."""
        cdef bint small
        if self.leaf_model.lacks_scale:
            self.fix_scale()
        if forget < 1.0:
            self.let_fade()
        with nogil:
            small = self.retire_slot(s, forget)
        if small and self.numerics.collapses and self.collapse(s) < 0:
            raise MemoryError()
        self.pool.free(self.pool.position_of(s))
        self.n_retired += 1
        return 0

    def replace(
        self, int32_t position, double forget, const double[:, ::1] X,
        const double[::1] y,
    ):
        """Retire the row at `position`, then learn one row.

        Parameters are those of `retire` and `update`, for one row. An interrupt is
        answered before anything changes, never between the two.

        Returns
        -------
        float
            Log predictive density of the new row.
        """
        if y.shape[0] != 1:
            raise ValueError(f"y must hold one response; got {y.shape[0]}.")
        self.check_rows(X, y)
        PyErr_CheckSignals()
        self.retire([position], forget)
        cdef double log_density
        self.learn(&X[0, 0], y[0], 1.0, 1.0, &log_density, 0, None)
        return log_density

    cdef bint retire_slot(self, slot_t s, double forget) noexcept nogil:
        """Retire row s in every leaf that holds it; whether one became too small."""
        cdef int32_t i, k, n_trees = self.n_particles
        cdef Leaf *leaf
        cdef bint small = False, faded
        self.stamp += 1
        if not self.fresh.forget(s):
            n_trees += self.fresh.n
        for i in range(n_trees):
            leaf = self.arena.leaf(find_leaf(self.arena, self.root(i), self.pool.x(s)))
            if leaf.stamp == self.stamp:
                continue
            leaf.stamp = self.stamp
            k = seat_of(leaf, s)
            take_out(leaf, k, self.numerics.keeps_order)
            self.moves.drop_limits(leaf, self.pool.x(s))
            faded = self.leaf_model.retire(leaf, self.pool, s, forget)
            if faded and not self.numerics.keeps_credit:
                self.arena.drop_credit(leaf)
            small = small or leaf.n_rows + retired_weight(leaf) < self.moves.min_leaf
        return small

    cdef handle_t merged_sibling(
        self, const Leaf *leaf, handle_t sibling
    ) noexcept nogil:
        """A copy of `sibling` to which the rows of `leaf` were added; NONE: no memory."""
        cdef handle_t fresh
        cdef Leaf *below
        cdef int32_t k, n_nodes = count_nodes(self.arena, sibling)
        if self.arena.reserve(n_nodes + self.path.length, n_nodes + 1) < 0:
            return NONE
        fresh = copy_subtree(self.arena, sibling)
        if fresh == NONE:
            return NONE
        for k in range(leaf.n_rows):
            below = self.arena.leaf(
                find_leaf(self.arena, fresh, self.pool.x(leaf.rows[k]))
            )
            if self.arena.reserve_rows(below, below.n_rows + 1) < 0:
                self.arena.drop(fresh)
                return NONE
            self.append_row(below, leaf.rows[k])
        return fresh

    cdef int collapse(self, slot_t s) noexcept nogil:
        """Dissolve leaves that retiring row s left too small; -1: no memory.

        The leaf's rows join its sibling's subtree, which takes the parent's place and
        keeps its depths; its retired sums are lost. A root stays as it is. Particles
        that share the parent share the result: its handle waits in the parent's memo.
        """
        cdef int32_t i, length, n_made = 0
        cdef int status = 0
        cdef handle_t h, fresh
        cdef Leaf *leaf
        cdef Node *parent
        self.stamp += 1
        for i in range(self.n_particles):
            h = descend(self.arena, self.roots[i], self.pool.x(s), &self.path)
            leaf = self.arena.leaf(h)
            length = self.path.length
            if length == 0 or leaf.n_rows + retired_weight(leaf) >= self.moves.min_leaf:
                continue
            parent = self.arena.node(self.path.nodes[length - 1])
            if parent.stamp == self.stamp:
                fresh = parent.entry
            else:
                fresh = self.merged_sibling(
                    leaf, parent.right if parent.left == h else parent.left
                )
                if fresh == NONE:
                    status = -1
                    continue
                parent.stamp = self.stamp
                parent.entry = fresh
                self.next_roots[n_made] = fresh
                n_made += 1
            if self.arena.reserve(length, 0) < 0:
                status = -1
                continue
            self.arena.share(fresh)
            self.roots[i] = replaced(
                self.arena, self.roots[i], &self.path, length - 1,
                self.path.nodes[length - 1], fresh,
            )
        for i in range(n_made):
            self.arena.drop(self.next_roots[i])
        return status

    # ------------------------------------------------------------ rejuvenation
    def rejuvenate(self, destinations, int64_t every=0, report=None):
        """Grow n_target fresh particles from the active rows and append them.

        Parameters
        ----------
        destinations : array_like of int, shape (n_active,)
            A permutation: the row at place i moves to place destinations[i], and the
            new particles learn the rows in the order that results.
        every, report
            As in `update`.

        Notes
        -----
        On an interrupt the cloud is what it was before the call. Trees that grow row by
        row, see `regrow`, go on growing.
        """
        if not self.n_particles:
            raise ValueError(
                "rejuvenate needs a cloud that was started; call start first."
            )
        grow_at_once(self, destinations, every, report)
        if self.leaf_model.rounds_rows:
            self.drop_limits()

    def drop_limits(self):
        """Drop every leaf's cached proposal limits: stored rows have been rounded."""
        cdef int32_t i, k, n
        self.moves.reserve(0, self.arena.live_leaves + 1)
        for i in range(self.n_particles):
            n = gather(self.arena, self.roots[i], self.moves.leaves)
            for k in range(n):
                memset(self.moves.leaves[k].limited, 0,
                       self.pool.n_features * sizeof(double))

    # ------------------------------------------------------------ reading
    def to_arrays(self):
        """Header and plain arrays; see `snapshot.to_arrays`."""
        return snapshot.to_arrays(self, True)

    @classmethod
    def from_arrays(cls, header, arrays, source):
        """The cloud that `to_arrays` described, drawing from `source`."""
        return snapshot.from_arrays(cls, header, arrays, source)

    def computed_sums(self):
        """What `leaf_sums` would be; see `snapshot.computed_sums`."""
        return snapshot.computed_sums(self)

    def copy(self, source=None):
        """An independent cloud that draws from `source`, by default the same one."""
        return snapshot.from_arrays(
            type(self), *self.to_arrays(), self.source if source is None else source
        )

    def with_weights(self, weighting):
        """A cloud like this one whose rows may have weights; now all of them weigh 1."""
        return self.from_arrays(
            *snapshot.with_weights(
                *self.to_arrays(), weighting, self.arena.stride
            ), self.source
        )

    def with_columns(self, X, spans):
        """A cloud like this one whose rows have more columns, 0 in those that are gone.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The active rows with all columns, the new ones last.
        spans : ndarray of shape (n_features, 4)
            Of all columns; see `Spans`.
        """
        cdef Cloud cloud = self.from_arrays(
            *snapshot.with_columns(
                *self.to_arrays(), X, spans, self.arena.stride
            ), self.source
        )
        cloud.refresh_leaves(True)
        return cloud

    def with_classes(self, int n_classes):
        """A cloud like this one whose leaves know n_classes labels, the new ones last.
        """
        cdef Cloud cloud = self.from_arrays(
            *snapshot.with_classes(*self.to_arrays(), n_classes), self.source
        )
        cloud.refresh_leaves(False)
        return cloud

    def without_rows(self):
        """A cloud that predicts alike and holds no row: all of them are retired.

        It knows no ranges of columns either, whose ends are values of rows, and no
        trees that are still growing: the rows that they lack are gone.
        """
        cdef Cloud cloud = self.from_arrays(
            *snapshot.without_rows(
                *snapshot.to_arrays(self, False), self.arena.stride
            ), self.source
        )
        cloud.refresh_leaves(True)
        return cloud

    cdef int refresh_leaves(self, bint has_retired) except -1:
        """Compute what leaves derive from their sums, in every tree."""
        cdef int32_t i, k, n
        self.moves.reserve(0, self.arena.live_leaves + 1)
        for i in range(self.n_particles + self.fresh.n):
            n = gather(self.arena, self.root(i), self.moves.leaves)
            for k in range(n):
                if has_retired:
                    self.leaf_model.refresh_all(self.moves.leaves[k])
                else:
                    self.leaf_model.refresh(self.moves.leaves[k])
        return 0
