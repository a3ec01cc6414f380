"""Moves: what a particle may do after a row has been added to one of its leaves."""
from libc.math cimport INFINITY, NAN, isnan, log, pow
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from dyntree._core.memory cimport resize
from dyntree._core.rng cimport MOVING, uniform_between
from dyntree._core.trees.tree cimport gather
from dyntree._core.trees.nodes cimport (
    GROW, LUALL, REJECT, STAY, Node, is_gap_cut, log_evidence,
)
from dyntree._core.types cimport NONE


cdef double GAP_SHARE = 0.25        # of a column's splits: those by whether it has a value


cdef inline void part(
    const double *v, int32_t n, double pivot, double *below, double *above,
    int32_t *n_below, int32_t *n_above,
) noexcept nogil:
    """Copy what is below the pivot and what is above; v may be either of the two."""
    cdef int32_t k, b = 0, a = 0
    cdef double x
    for k in range(n):              # in place it is written behind where it is read
        x = v[k]
        below[b] = x
        b += x < pivot
        above[a] = x
        a += x > pivot
    n_below[0] = b
    n_above[0] = a


cdef double select(
    const double *v, int32_t n, int32_t rank, double *below, double *above
) noexcept nogil:
    """The rank-th smallest (from 0) of v (Hoare's find, without branches on values).

    The two scratch arrays have room for n; v may be either of them.
    """
    cdef int32_t n_below, n_above
    cdef double pivot
    while True:
        pivot = v[n >> 1]
        part(v, n, pivot, below, above, &n_below, &n_above)
        if rank < n_below:
            v = below
            n = n_below
        elif rank < n - n_above:
            return pivot
        else:
            rank -= n - n_above
            v = above
            n = n_above


cdef void select_two(
    double *v, int32_t n, int32_t low, int32_t high, double *below, double *above,
    double *out,
) noexcept nogil:
    """`select` of ranks low <= high, which share passes until they part; v is lost."""
    cdef int32_t n_below, n_above
    cdef double *spare = v
    cdef double pivot
    while True:
        pivot = v[n >> 1]
        part(v, n, pivot, below, above, &n_below, &n_above)
        if high < n_below:
            v = below
            n = n_below
        elif low >= n - n_above:
            low -= n - n_above
            high -= n - n_above
            v = above
            n = n_above
        else:
            break
    out[0] = out[1] = pivot
    if low < n_below:
        out[0] = select(below, n_below, low, below, spare)
    if high >= n - n_above:
        out[1] = select(above, n_above, high - (n - n_above), spare, above)


cdef class Moves:
    """The rules of moving for one cloud, and the scratch they need.

    Parameters
    ----------
    alpha, beta : float
        Tree prior: a leaf at depth d splits with probability alpha (1 + d)^-beta.
    min_leaf : int
        Smallest number of rows in a leaf.
    first_split : int
        First column that may be split on.
    proposal : int
        A `Proposal`.
    """

    def __init__(
        self, Arena arena, LeafModel model, ActivePool pool, Numerics numerics,
        double alpha, double beta, int32_t min_leaf, int32_t first_split, int proposal,
    ):
        cdef int32_t size = arena.n_sums()
        cdef Leaf *leaf
        cdef int32_t k
        self.arena = arena
        self.model = model
        self.pool = pool
        self.numerics = numerics
        self.set_tree_prior(alpha, beta)
        self.min_leaf = min_leaf
        self.first_split = first_split
        self.proposal = proposal
        self.sums = <double *> calloc(N_SCRATCH * size, sizeof(double))
        self.columns = <int32_t *> calloc(pool.n_features + 1, sizeof(int32_t))
        self.parted = <char *> calloc(pool.n_features + 1, sizeof(char))
        if self.sums == NULL or self.columns == NULL or self.parted == NULL:
            raise MemoryError()
        for k in range(N_SCRATCH):
            leaf = &self.scratch[k]
            leaf.active = self.sums + k * size
            leaf.retired = leaf.active + arena.stride
            leaf.derived = leaf.retired + arena.stride
        self.left = &self.scratch[0]
        self.right = &self.scratch[1]
        self.pooled = &self.scratch[2]

    def set_tree_prior(self, double alpha, double beta):
        """A leaf at depth d splits with prior probability alpha (1 + d)^-beta."""
        cdef int k
        self.alpha = alpha
        self.beta = beta
        for k in range(N_DEPTHS):
            self.leaf_priors[k] = log(1.0 - alpha * pow(1.0 + k, -beta))
            self.split_priors[k] = log(alpha) - beta * log(1.0 + k)

    def __dealloc__(self):
        cdef int k
        free(self.sums)
        free(self.columns)
        free(self.parted)
        free(self.values)
        free(self.leaves)
        for k in range(N_SCRATCH):
            free(self.scratch[k].rows)

    cdef int expect(self, int32_t n_particles) except -1:
        """Scratch for the moves of n_particles."""
        return 0

    cdef int reserve(self, int32_t n_rows, int32_t n_leaves) except -1:
        """Scratch for leaves of up to n_rows rows and subtrees of n_leaves leaves."""
        cdef int32_t n, k
        if n_rows > self.n_values:
            n = max(n_rows, 2 * self.n_values)
            resize(<void **> &self.values, 3 * <size_t> n, sizeof(double))
            for k in range(N_SCRATCH):
                resize(<void **> &self.scratch[k].rows, n, sizeof(slot_t))
            self.n_values = n
        if n_leaves > self.n_leaves:
            n = max(n_leaves, 2 * self.n_leaves)
            resize(<void **> &self.leaves, n, sizeof(Leaf *))
            self.n_leaves = n
        return 0

    cdef size_t nbytes(self) noexcept:
        """Bytes of scratch that grows."""
        return (self.n_values * 3 * (sizeof(double) + sizeof(slot_t))
                + self.n_leaves * sizeof(Leaf *))

    cdef void observe(self, const double *x) noexcept nogil:
        """Open the columns that row x makes fit to be split; closed ones hold no split.

        Where ranges of the rows seen are stored, those are the columns whose value in x
        is another than before, and those that have a value in some active rows and
        none in others; else all that have a value.
        """
        cdef int32_t j, k = 0, n
        cdef bint keeps = not self.numerics.spans_active, opens
        if self.n_columns == self.pool.n_features - self.first_split:
            return
        for j in range(self.first_split, self.pool.n_features):
            if k < self.n_columns and self.columns[k] == j:
                k += 1
                continue
            if isnan(x[j]):
                opens = keeps and self.pool.n_gaps[j] < self.pool.n_rows
            else:
                opens = (
                    not keeps or self.pool.seen.differs(j, x[j])
                    or self.pool.n_gaps[j] > 0
                )
            if opens:
                for n in range(self.n_columns, k, -1):
                    self.columns[n] = self.columns[n - 1]
                self.columns[k] = j
                self.n_columns += 1
                k += 1

    def open_columns(self):
        """Columns that may be split, as a list."""
        return [self.columns[k] for k in range(self.n_columns)]

    def set_open_columns(self, columns):
        """Take over what `open_columns` gave."""
        for k, column in enumerate(columns):
            self.columns[k] = column
        self.n_columns = len(columns)

    # ------------------------------------------------------------ scores
    cdef double leaf_prior(self, int32_t depth) noexcept nogil:
        if depth < N_DEPTHS:
            return self.leaf_priors[depth]
        return log(1.0 - self.alpha * pow(1.0 + depth, -self.beta))

    cdef double split_prior(self, int32_t depth) noexcept nogil:
        if depth < N_DEPTHS:
            return self.split_priors[depth]
        return log(self.alpha) - self.beta * log(1.0 + depth)

    cdef double score(self, handle_t h) noexcept nogil:
        """Log posterior score of the subtree at h, up to a constant."""
        cdef Node *node
        cdef Leaf *leaf
        if h < 0:
            leaf = self.arena.leaf(h)
            return self.leaf_prior(leaf.depth) + log_evidence(leaf)
        node = self.arena.node(h)
        return (self.split_prior(node.depth) + self.score(node.left)
                ) + self.score(node.right)

    cdef int32_t pool_below(self, handle_t parent) noexcept nogil:
        """Fill `pooled` with the union of the `leaves` below parent, left to right.

        Returns how many leaves they are.
        """
        cdef int32_t n = gather(self.arena, parent, self.leaves), k
        cdef Leaf *leaf
        self.pooled.n_rows = 0
        for k in range(n):
            leaf = self.leaves[k]
            if leaf.n_rows:
                memcpy(self.pooled.rows + self.pooled.n_rows, leaf.rows,
                       leaf.n_rows * sizeof(slot_t))
                self.pooled.n_rows += leaf.n_rows
        self.model.pool(self.pooled, self.leaves, n, self.pool)
        return n

    cdef int32_t score_stay(self, Entry *e) noexcept nogil:
        """Score of staying; returns how many `leaves` a prune would merge, 0: cannot.
        """
        cdef Node *parent
        cdef int32_t n, k
        cdef double size = 0.0
        e.scored = True
        e.prune = -INFINITY
        if e.parent == NONE:
            e.stay = self.score(e.leaf)
            return 0
        parent = self.arena.node(e.parent)
        e.left = self.score(parent.left)
        e.right = self.score(parent.right)
        e.stay = (self.split_prior(parent.depth) + e.left) + e.right
        n = gather(self.arena, e.parent, self.leaves)
        for k in range(n):
            size += self.model.size(self.leaves[k])
        return n if size >= 2 * self.min_leaf else 0

    cdef void score_entry(self, Entry *e) noexcept nogil:
        """Scores of staying and pruning, once per distinct parent."""
        if self.score_stay(e):
            self.pool_below(e.parent)
            e.prune = (
                self.leaf_prior(self.arena.node(e.parent).depth)
                + log_evidence(self.pooled)
            )

    # ------------------------------------------------------------ proposals
    cdef void limits(self, Leaf *leaf, int32_t variable) noexcept nogil:
        """Bring the cached limits of one column up to date.

        A split leaves min_leaf rows on either side iff it falls between the two order
        statistics; "reject" takes the range instead.
        """
        cdef bint known = leaf.n_rows > 0 and leaf.limited[variable] == leaf.n_rows
        if not known and not self.extend(leaf, variable):
            self.rank(leaf, variable)

    cdef int32_t outer(self) noexcept nogil:
        """Rank, from 0, of the order statistics that limit a column."""
        return 0 if self.proposal == REJECT else self.min_leaf - 1

    cdef bint extend(self, Leaf *leaf, int32_t variable) noexcept nogil:
        """Move limits for the few rows learned since; False where that cannot be.

        A value between two order statistics of a column leaves both as they are.
        """
        cdef int32_t k, n = <int32_t> leaf.limited[variable]
        cdef double x
        if n == 0 or leaf.n_rows - n > MOST_NEW or leaf.low[variable] == INFINITY:
            return False
        for k in range(n, leaf.n_rows):
            x = self.pool.x(leaf.rows[k])[variable]
            if x < leaf.low[variable]:
                leaf.low[variable] = self.neighbour(
                    leaf.rows, k + 1, variable, leaf.low[variable], 1.0
                )
            elif x > leaf.high[variable]:
                leaf.high[variable] = -self.neighbour(
                    leaf.rows, k + 1, variable, -leaf.high[variable], -1.0
                )
        leaf.limited[variable] = leaf.n_rows
        return True

    cdef double neighbour(
        self, const slot_t *rows, int32_t n, int32_t variable, double limit,
        double sign,
    ) noexcept nogil:
        """Order statistic of sign * x over n rows, which was `limit` without the last.

        At most one value more than before lies below the limit: if one does, the
        largest of those has its rank.
        """
        cdef int32_t k, n_below = 0
        cdef double top = -INFINITY, x
        for k in range(n):
            x = sign * self.pool.x(rows[k])[variable]
            n_below += x < limit
            x = x if x < limit else -INFINITY
            top = x if x > top else top
        return top if n_below > self.outer() else limit

    cdef void drop_limits(self, Leaf *leaf, const double *x) noexcept nogil:
        """Drop the limits that may change with row x, which has just left the leaf.

        Between two order statistics it leaves both, and min_leaf rows on either side.
        Limits of the first rows only are dropped as well: other rows come first now.
        """
        cdef int32_t j
        for j in range(self.pool.n_features):
            if (self.proposal != REJECT and leaf.limited[j] == leaf.n_rows + 1
                    and leaf.low[j] < x[j] < leaf.high[j]):
                leaf.limited[j] = leaf.n_rows
            else:
                leaf.limited[j] = 0

    cdef void rank(self, Leaf *leaf, int32_t variable) noexcept nogil:
        """Find the limits of one column among all rows of the leaf."""
        cdef int32_t n = 0, k, rank = self.outer()
        cdef double *v = self.values
        cdef double low = INFINITY, high = -INFINITY, x
        cdef double[2] found
        for k in range(leaf.n_rows):
            x = self.pool.x(leaf.rows[k])[variable]
            if not isnan(x):
                v[n] = x
                n += 1
        if n < 2 * self.min_leaf:
            pass
        elif rank == 0:
            for k in range(n):
                if v[k] < low:
                    low = v[k]
                if v[k] > high:
                    high = v[k]
        else:
            select_two(
                v, n, rank, n - 1 - rank, v + self.n_values, v + 2 * self.n_values, found
            )
            low = found[0]
            high = found[1]
        leaf.low[variable] = low
        leaf.high[variable] = high
        leaf.limited[variable] = leaf.n_rows

    cdef void forget_gaps(self) noexcept nogil:
        """Another leaf is at hand, or rows have come or gone."""
        memset(self.parted, 0, self.pool.n_features * sizeof(char))

    cdef bint has_both(self, const Leaf *leaf, int32_t variable) noexcept nogil:
        """Whether some rows of the leaf at hand have a value of a column and some none."""
        cdef int32_t k, n = 0
        if self.pool.n_gaps[variable] == 0:
            return False
        if self.parted[variable] == 0:
            for k in range(leaf.n_rows):
                n += isnan(self.pool.x(leaf.rows[k])[variable])
            self.parted[variable] = 1 + (0 < n < leaf.n_rows)
        return self.parted[variable] == 2

    cdef bint has_value_cut(self, const Leaf *leaf, int32_t variable) noexcept nogil:
        """Whether some value of a column can part the rows, by its limits."""
        if self.proposal == REJECT:
            return leaf.low[variable] < INFINITY
        return leaf.low[variable] < leaf.high[variable]

    cdef bint propose(self, Leaf *leaf, RandomStream *s, Move *move) noexcept nogil:
        """Draw a column and a value; False where no split can be proposed.

        A quarter of the splits by a column of which some rows have no value, and all of
        them where no value can part the rest, part those that have one from the others.
        """
        cdef int32_t j, k, n_open = 0, chosen
        cdef bint has_value_cut, by_gaps
        if self.alpha <= 0.0 or leaf.n_rows < 2 * self.min_leaf or not self.n_columns:
            return False
        if self.proposal == LUALL:
            for k in range(self.n_columns):
                j = self.columns[k]
                self.limits(leaf, j)
                n_open += leaf.low[j] < leaf.high[j] or self.has_both(leaf, j)
            if n_open == 0:
                return False
            chosen = <int32_t> (n_open * s.uniform(s))
            k = -1
            while chosen >= 0:
                k += 1
                j = self.columns[k]
                chosen -= leaf.low[j] < leaf.high[j] or self.has_both(leaf, j)
        else:
            j = self.columns[<int32_t> (self.n_columns * s.uniform(s))]
            self.limits(leaf, j)
        has_value_cut = self.has_value_cut(leaf, j)
        by_gaps = self.has_both(leaf, j)
        if not has_value_cut and not by_gaps:
            return False
        if has_value_cut and by_gaps:
            by_gaps = s.uniform(s) < GAP_SHARE
        move.variable = j
        move.value = INFINITY
        if not by_gaps:
            move.value = uniform_between(s, leaf.low[j], leaf.high[j])
        move.missing_left = 0
        move.inherits = True
        return True

    cdef bint split(self, const Leaf *leaf, const Move *move) noexcept nogil:
        """Build the children in scratch; False if one has too few rows.

        Those are fewer than min_leaf, or none where it depends on whether there is a
        value.
        """
        cdef int32_t k, n_left = 0, n_right = 0
        cdef int32_t least = 1 if is_gap_cut(move.value) else self.min_leaf
        cdef slot_t s
        cdef double x
        for k in range(leaf.n_rows):
            s = leaf.rows[k]
            x = self.pool.x(s)[move.variable]
            if x <= move.value or (move.missing_left and isnan(x)):
                self.left.rows[n_left] = s
                n_left += 1
            else:
                self.right.rows[n_right] = s
                n_right += 1
        if n_left < least or n_right < least:
            return False
        self.left.n_rows = n_left
        self.right.n_rows = n_right
        if move.inherits:
            self.model.inherit(self.left, leaf, self.pool)
            self.model.inherit(self.right, leaf, self.pool)
        else:
            self.model.release(self.left)
            self.model.release(self.right)
        self.model.build_children(self.left, self.right, leaf, self.pool)
        return True

    cdef Move decide(self, Entry *e, RandomStream *s) noexcept nogil:
        """Choose the move of one particle; nothing but scratch and memos changes."""
        cdef Leaf *leaf = self.arena.leaf(e.leaf)
        cdef Node *parent
        cdef Move move
        cdef double grow = -INFINITY, below
        cdef bint can_split = False
        move.variable = move.missing_left = 0
        move.inherits = True
        move.value = NAN
        if not e.scored:
            self.score_entry(e)
        if self.propose(leaf, s, &move):
            can_split = self.split(leaf, &move)
            if can_split:
                below = self.leaf_prior(leaf.depth + 1)
                grow = (
                    self.split_prior(leaf.depth) + (below + log_evidence(self.left))
                ) + (below + log_evidence(self.right))
                if e.parent != NONE:
                    parent = self.arena.node(e.parent)
                    if parent.left == e.leaf:
                        grow = (self.split_prior(parent.depth) + grow) + e.right
                    else:
                        grow = (self.split_prior(parent.depth) + e.left) + grow
            else:
                grow = self.numerics.failed_split(self.proposal, e.stay)
        move.kind = self.numerics.choose(e.stay, grow, e.prune, s)
        if move.kind == GROW and not can_split:
            move.kind = STAY
        return move

    cdef void decide_all(
        self, Entry *entries, int32_t n_entries, const int32_t *entry_of, int32_t n,
        RandomSource source, int64_t time, Move *moves,
    ) noexcept nogil:
        """A move for each of n particles, in their order."""
        cdef RandomStream stream
        cdef int32_t i
        for i in range(n):
            stream = source.open(time, i, MOVING)
            moves[i] = self.decide(&entries[entry_of[i]], &stream)

    # ------------------------------------------------------------ new parts of trees
    cdef handle_t fresh_leaf(self, const Leaf *source, int32_t depth) noexcept nogil:
        """A leaf with the rows and statistics of a scratch leaf; NONE: no memory."""
        cdef handle_t h = self.arena.take_leaf()
        cdef Leaf *leaf = self.arena.leaf(h)
        if source.n_rows and self.arena.reserve_rows(leaf, source.n_rows) < 0:
            self.arena.drop(h)
            return NONE
        leaf.depth = depth
        leaf.n_rows = source.n_rows
        if source.n_rows:
            memcpy(leaf.rows, source.rows, source.n_rows * sizeof(slot_t))
        memcpy(leaf.active, source.active, self.arena.n_sums() * sizeof(double))
        return h

    cdef bint parts_gaps(self, const Move *move) noexcept nogil:
        """Whether the split just built in scratch has parted a row without its column."""
        cdef const Leaf *side = self.left if move.missing_left else self.right
        cdef int32_t k
        if self.pool.n_gaps[move.variable] == 0:
            return False
        for k in range(side.n_rows):
            if isnan(self.pool.x(side.rows[k])[move.variable]):
                return True
        return False

    cdef handle_t grown(self, const Leaf *leaf, const Move *move) noexcept nogil:
        """The split that `move` makes of `leaf`, with its two leaves; NONE: no memory."""
        cdef handle_t left, right, h
        cdef Node *node
        self.split(leaf, move)
        left = self.fresh_leaf(self.left, leaf.depth + 1)
        if left == NONE:
            return NONE
        right = self.fresh_leaf(self.right, leaf.depth + 1)
        if right == NONE:
            self.arena.drop(left)
            return NONE
        self.arena.leaf(left).n_outside = leaf.n_outside
        self.arena.leaf(right).n_outside = leaf.n_outside
        h = self.arena.take_node()
        node = self.arena.node(h)
        node.variable = move.variable
        node.value = move.value
        node.missing_left = move.missing_left
        node.parts_gaps = self.parts_gaps(move)
        node.depth = leaf.depth
        node.left = left
        node.right = right
        return h

    cdef handle_t pruned(self, handle_t parent) noexcept nogil:
        """The leaf that pools everything below `parent`; NONE: no memory."""
        self.pool_below(parent)
        return self.fresh_leaf(self.pooled, self.arena.node(parent).depth)

    cdef void clear(self) noexcept nogil:
        """Give up what was made for the moves of one step."""
