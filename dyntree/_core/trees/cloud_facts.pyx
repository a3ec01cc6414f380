"""CloudFacts: what can be seen of particles, their rows and their prior."""
from libc.stdint cimport int32_t

from dyntree._core.trees.nodes cimport Entry, Leaf, Move, Node, log_evidence, retired_weight
from dyntree._core.types cimport handle_t


cdef class CloudFacts(Particles):
    """The part of a `Cloud` that tells, and changes no tree."""

    def rows(self):
        """Copies of the active rows X and y, in internal order."""
        return self.pool.rows()[:2]

    def spans(self, bint active=False):
        """Ranges of the columns, which questions run over; see `Spans.bounds`.

        They are those of all rows learned: a window that ALC leaves rows in draws into
        a corner. Where the past fades, under R's rules, and if `active` says so, they are
        those of the active rows.
        """
        if active or self.fades or self.numerics.spans_active:
            return self.pool.spans().bounds()
        return self.pool.seen.bounds()

    def binary_columns(self):
        """Whether each column had the values 0 and 1 in the rows learned, no others."""
        return self.pool.seen.bounds()[2]

    def gap_counts(self):
        """Of each column how many of the rows learned had no value, (n_features,)."""
        return self.pool.seen.table[:, 3].copy()

    def weights(self):
        """Weights of the active rows in internal order, ndarray of float64."""
        return self.pool.weights()

    def exposures(self):
        """Exposures of the active rows in internal order, ndarray of float64."""
        return self.pool.exposures()

    def row_ids(self):
        """Ids of the active rows in internal order, ndarray of int64."""
        return self.pool.rows()[2]

    def tree(self, int32_t particle):
        """One tree as nested tuples.

        ``("split", depth, variable, value, left, right)`` or
        ``("leaf", depth, row ids, retired weight, log evidence)``.
        """
        if not 0 <= particle < self.n_particles:
            raise IndexError(
                f"particle must be in 0..{self.n_particles - 1}; got {particle}."
            )
        return self.nested(self.roots[particle])

    cdef object nested(self, handle_t h):
        cdef Node *node
        cdef Leaf *leaf
        cdef int32_t k
        if h < 0:
            leaf = self.arena.leaf(h)
            ids = tuple([self.pool.ids[leaf.rows[k]] for k in range(leaf.n_rows)])
            return "leaf", leaf.depth, ids, retired_weight(leaf), log_evidence(leaf)
        node = self.arena.node(h)
        return ("split", node.depth, node.variable, node.value,
                self.nested(node.left), self.nested(node.right))

    def set_scale(self, centre, spread, y_centre, y_spread):
        """Freeze the scale of regression leaves, before the first row (native rules).

        Spreads of 0 wait for the first value that differs.
        """
        self.leaf_model.set_scale(centre, spread, y_centre, y_spread)

    def set_exposure_unit(self, double unit, double rate):
        """Fix the unit of exposures and where the prior of a rate stands, at first.

        The rate is of events per unit.
        """
        self.leaf_model.set_exposure_unit(unit, rate)

    @property
    def has_unit(self):
        """Whether responses have a unit: labels do, and numbers once two differ."""
        return not self.leaf_model.y_open

    @property
    def prior_point(self):
        """What the cloud's leaf model would save: prior point and scale."""
        return self.leaf_model.to_state()

    def first_beyond(self, X, y, double limit):
        """(row, column, centre, spread) of the first value so many spreads away, or None.

        y may be None; its column is -1.
        """
        return self.leaf_model.first_beyond(X, y, limit, self.pool.seen)

    def within_reach(self, X, double limit):
        """Rows with inputs of linear leaves at most so many spreads from their centres,
        and the range of each column of which values were moved; None if none were."""
        return self.leaf_model.within_reach(X, limit, self.pool.seen)

    @property
    def weighting(self):
        """What weights of rows mean, None where all of them weigh 1."""
        return self.options["weighting"]

    @property
    def weight_unit(self):
        """Unit by which the weights learned have been divided; 1 by default."""
        return self.leaf_model.noise

    def set_weight_unit(self, double unit):
        """From now on questions are about responses of weight 1 / unit in the cloud's."""
        self.leaf_model.noise = unit

    @property
    def n_told(self):
        """Rows seen; while responses had no unit, each as often as its frequency."""
        return self.pool.n_seen + self.extra_told

    @property
    def n_active(self):
        """Active rows: those in memory one by one."""
        return self.pool.n_rows

    @property
    def n_seen(self):
        """Rows ever learned."""
        return self.pool.n_seen

    @property
    def n_features(self):
        """Columns of a row."""
        return self.pool.n_features

    @property
    def n_classes(self):
        """Labels of a class model, else 0."""
        return self.leaf_model.n_classes

    @property
    def is_count(self):
        """Whether responses are counts of events, which have exposures."""
        return self.leaf_model.is_count

    @property
    def n_basis(self):
        """Leading columns that linear leaves use."""
        return self.options["n_basis"]

    @property
    def first_split(self):
        """First column that may be split on."""
        return self.moves.first_split

    @property
    def row_width(self):
        """Doubles in a leaf's row of sums."""
        return self.arena.stride

    @property
    def model(self):
        """Name of the leaf model."""
        return self.options["model"]

    @property
    def intercept(self):
        """Whether leaves have a level of their own."""
        return self.options["intercept"]

    @property
    def live_counts(self):
        """Splits and leaves now in the arena."""
        return self.arena.live_nodes, self.arena.live_leaves

    def nbytes(self):
        """Bytes of trees, rows and the scratch of a step."""
        return (
            self.arena.nbytes() + self.pool.nbytes() + self.fresh.nbytes()
            + self.leaf_model.nbytes() + self.moves.nbytes()
            + self.room * (2 * (sizeof(Entry) + sizeof(double))
                           + 3 * sizeof(handle_t) + 3 * sizeof(int32_t) + sizeof(Move))
            + self.path_room * sizeof(handle_t)
        )
