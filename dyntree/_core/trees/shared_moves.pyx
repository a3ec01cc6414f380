"""Moves of the native rules: proposed once per distinct leaf, and shared."""
cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from dyntree._core.memory cimport resize
from dyntree._core.trees.split_search cimport EvidenceBatch, N_CUTS, SplitSearch
from dyntree._core.rng cimport MOVING, PROPOSING, SKIPPING, RandomSource
from dyntree._core.trees.nodes cimport GROW, PRUNE, STAY, Cut, Entry, retired_weight
from dyntree._core.types cimport NONE, handle_t, slot_t


cdef uint32_t GOLDEN = 0x9E3779B1   # 2^32 over the golden ratio: spreads a hash


cdef inline bint comes_before(const Cut *p, const Cut *q) noexcept nogil:
    """Order of cuts; equal ones by the side that rows without a value take."""
    if p.variable != q.variable:
        return p.variable < q.variable
    if p.value != q.value:
        return p.value < q.value
    return p.side < q.side


cdef inline uint32_t mixed(const Leaf *leaf, const int64_t *ids) noexcept nogil:
    """A number that leaves with the same rows share, others seldom.

    All have the last row: it is the one that has just come.
    """
    cdef int32_t n = leaf.n_rows
    cdef uint32_t value = n
    value = GOLDEN * value + <uint32_t> ids[leaf.rows[0]]
    value = GOLDEN * value + <uint32_t> ids[leaf.rows[n // 2]]
    value = GOLDEN * value + <uint32_t> ids[leaf.rows[n - 2]]
    return value ^ (value >> 15)


cdef inline bint same_rows(const Leaf *a, const Leaf *b) noexcept nogil:
    """Whether two leaves hold the same rows in the same order."""
    return a.n_rows == b.n_rows and not memcmp(
        a.rows, b.rows, a.n_rows * sizeof(slot_t)
    )


cdef inline double n_steps(const Leaf *leaf) noexcept nogil:
    """In one of how many steps splits of the leaf are proposed, see ALWAYS_DUE."""
    return max(1.0, leaf.n_rows / <double> ALWAYS_DUE)


cdef int32_t offered(int32_t n) noexcept nogil:
    """How many splits a leaf is offered that n particles share."""
    return n if n <= ALL_OFFER else ALL_OFFER + (n - ALL_OFFER) // 8


@cython.final
cdef class SharedMoves(Moves):
    """Moves drawn among staying, pruning and all splits proposed for the leaf.

    The arguments are those of `Moves`.
    """

    def __init__(self, *args):
        Moves.__init__(self, *args)
        self.batch = EvidenceBatch(self.model)
        self.search = SplitSearch(
            self.arena, self.model, self.pool, self.batch, self.min_leaf
        )
        resize(<void **> &self.inherited, self.arena.stride, sizeof(double))

    def __dealloc__(self):
        free(self.cuts)
        free(self.part_of)
        free(self.uniforms)
        free(self.heads)
        free(self.made)
        free(self.inherited)

    cdef int expect(self, int32_t n_particles) except -1:
        cdef size_t n = n_particles
        resize(<void **> &self.cuts, 3 * n, sizeof(Cut))
        self.drawn = self.cuts + n
        self.in_order = self.drawn + n
        resize(<void **> &self.uniforms, n, sizeof(double))
        resize(<void **> &self.part_of, 2 * n + self.pool.n_features + 1,
               sizeof(int32_t))
        self.places = self.part_of + n
        resize(<void **> &self.heads, 4 * n, sizeof(int32_t))
        resize(<void **> &self.made, n, sizeof(Grown))
        self.search.expect(n_particles)     # as many cuts as a step has at most
        self.n_expected = n_particles
        return 0

    cdef int reserve(self, int32_t n_rows, int32_t n_leaves) except -1:
        Moves.reserve(self, n_rows, n_leaves)
        self.model.reserve(self.pool)
        return self.search.reserve()

    cdef size_t nbytes(self) noexcept:
        return Moves.nbytes(self) + self.search.nbytes() + self.n_expected * (
            3 * sizeof(Cut) + sizeof(Grown) + sizeof(double) + 6 * sizeof(int32_t)
        )

    # ------------------------------------------------------------ proposals
    cdef bint is_due(
        self, const Entry *entries, int32_t i, RandomSource source, int64_t time
    ) noexcept nogil:
        """Whether splits of entry i's leaf are proposed in this step, see ALWAYS_DUE.

        Leaves that may choose among the same cuts are due in the same steps.
        """
        cdef const Leaf *leaf = self.arena.leaf(entries[i].leaf)
        cdef RandomStream stream
        cdef int32_t place = i
        if entries[i].owner != i or leaf.n_rows < 2 * self.min_leaf:
            return False
        if leaf.n_rows <= ALWAYS_DUE:
            return True
        if not self.may_inherit(leaf):
            place = <int32_t> mixed(leaf, self.pool.ids)
        stream = source.open(time, place, SKIPPING)
        return stream.uniform(&stream) * n_steps(leaf) <= 1.0

    cdef void group(
        self, Entry *entries, int32_t n_entries, RandomSource source, int64_t time
    ) noexcept nogil:
        """Chain the leaves that are due and hold the same rows to the first of them."""
        cdef int32_t n_heads = 1, i, k
        cdef Entry *e
        cdef const Leaf *leaf
        while n_heads < 2 * n_entries:
            n_heads *= 2
        for k in range(n_heads):
            self.heads[k] = -1
        for i in range(n_entries):
            e = &entries[i]
            e.next_alike = e.last_alike = -1
            if not self.is_due(entries, i, source, time):
                continue
            leaf = self.arena.leaf(e.leaf)
            k = mixed(leaf, self.pool.ids) & (n_heads - 1)
            while self.heads[k] >= 0 and not same_rows(
                self.arena.leaf(entries[self.heads[k]].leaf), leaf
            ):
                k = (k + 1) & (n_heads - 1)
            if self.heads[k] < 0:
                self.heads[k] = i
            else:
                entries[entries[self.heads[k]].last_alike].next_alike = i
            entries[self.heads[k]].last_alike = i

    cdef bint may_inherit(self, const Leaf *leaf) noexcept nogil:
        """Whether children of the leaf may share what it has retired."""
        return self.model.may_inherit and retired_weight(leaf) > 0.0

    cdef void apportion(self, Entry *entries, int32_t first) noexcept nogil:
        """Say how many splits each leaf of a chain is offered.

        Where none of them can hand anything on, a split gains the same in all, and the
        first is offered those of the whole chain.
        """
        cdef int32_t i = first, n = 0
        cdef bint one_pays = True
        while i >= 0:
            n += entries[i].n_offered
            one_pays = one_pays and not self.may_inherit(
                self.arena.leaf(entries[i].leaf)
            )
            i = entries[i].next_alike
        i = first
        while i >= 0:
            entries[i].shares = first if one_pays else i
            entries[i].n_offered = 0 if one_pays else offered(entries[i].n_offered)
            i = entries[i].next_alike
        if one_pays:
            entries[first].n_offered = offered(n)

    cdef int32_t draw(
        self, Leaf *leaf, Cut *cuts, int32_t n, RandomStream *s
    ) noexcept nogil:
        """Propose n times; returns how many splits were found."""
        cdef int32_t k, n_drawn = 0
        cdef bint may_inherit = self.may_inherit(leaf)
        cdef Move move
        cdef Cut *cut = cuts
        self.forget_gaps()
        for k in range(n):
            if not self.propose(leaf, s, &move):
                continue
            cut.variable = move.variable
            cut.value = move.value
            cut.side = s.uniform(s)
            cut.missing_left = 0
            cut.inherits = may_inherit and s.uniform(s) < 0.5
            cut.grown = -1
            cut += 1
            n_drawn += 1
        return n_drawn

    cdef int32_t draw_alike(
        self, Entry *entries, int32_t first, RandomSource source, int64_t time
    ) noexcept nogil:
        """`draw` for all leaves of a chain, one after the other, into `drawn`."""
        cdef RandomStream stream
        cdef Leaf *leaf = NULL
        cdef Leaf *before
        cdef Entry *e
        cdef int32_t i = first, n = 0, n_drawn, k
        while i >= 0:
            e = &entries[i]
            before = leaf
            leaf = self.arena.leaf(e.leaf)
            if before != NULL:
                self.take_limits(leaf, before)
            n_drawn = 0
            if e.n_offered:
                stream = source.open(time, i, PROPOSING)
                n_drawn = self.draw(leaf, self.drawn + n, e.n_offered, &stream)
            for k in range(n, n + n_drawn):
                self.drawn[k].entry = i
            e.first_cut = self.n_cuts + n
            n += n_drawn
            i = e.next_alike
        return n

    cdef void take_limits(self, Leaf *leaf, const Leaf *alike) noexcept nogil:
        """Take over the limits of a leaf that holds the same rows."""
        cdef int32_t j
        for j in range(self.pool.n_features):
            if leaf.limited[j] != leaf.n_rows and alike.limited[j] == leaf.n_rows:
                leaf.low[j] = alike.low[j]
                leaf.high[j] = alike.high[j]
                leaf.limited[j] = alike.limited[j]

    cdef void sort(self, const Leaf *leaf, int32_t n) noexcept nogil:
        """Put the n cuts that were drawn in order; the leaf has the limits of them all.

        Values are uniform between a column's limits: counted into equal parts, one a
        cut or so, they all but stand in order, and insertion does the rest.
        """
        cdef Cut *cuts = self.in_order
        cdef int32_t n_parts, j, k, last
        cdef const Cut *cut
        cdef Cut moving
        cdef double share
        n_parts = n // self.pool.n_features + 1
        last = self.pool.n_features * n_parts
        memset(self.places, 0, (last + 1) * sizeof(int32_t))
        for k in range(n):
            cut = self.drawn + k
            j = cut.variable
            share = (cut.value - leaf.low[j]) / (leaf.high[j] - leaf.low[j])
            self.part_of[k] = j * n_parts + (
                <int32_t> (share * n_parts) if share < 1.0 else n_parts - 1
            )
            self.places[self.part_of[k] + 1] += 1
        for k in range(last):
            self.places[k + 1] += self.places[k]
        for k in range(n):
            j = self.part_of[k]
            cuts[self.places[j]] = self.drawn[k]
            self.places[j] += 1
        for k in range(1, n):
            if not comes_before(&cuts[k], &cuts[k - 1]):
                continue
            moving = cuts[k]
            j = k
            while j > 0 and comes_before(&moving, &cuts[j - 1]):
                cuts[j] = cuts[j - 1]
                j -= 1
            cuts[j] = moving

    cdef void hand_out(
        self, Entry *entries, int32_t first, int32_t n
    ) noexcept nogil:
        """Give the n rated cuts of a chain to the leaves that they were proposed for.

        Their log odds become those against none, but for the tree prior.
        """
        cdef double whole = self.model.active_evidence(
            self.arena.leaf(entries[first].leaf)
        )
        cdef int32_t k
        cdef Entry *e
        cdef Cut *cut
        for k in range(n):
            e = &entries[self.in_order[k].entry]
            cut = self.cuts + e.first_cut + e.n_cuts
            e.n_cuts += 1
            cut[0] = self.in_order[k]
            if cut.like != NULL:
                cut.odds = cut.like.odds
            cut.odds -= self.model.conditional_evidence(
                self.arena.leaf(e.leaf)
            ) if cut.inherits else whole

    cdef void cumulate(self, Entry *e) noexcept nogil:
        """Cumulate the odds of the cuts offered to a leaf; `gain` is their log mean."""
        cdef Cut *cuts = self.cuts + e.first_cut
        cdef double top = -INFINITY, total = 0.0
        cdef int32_t k
        for k in range(e.n_cuts):
            if cuts[k].odds > top:
                top = cuts[k].odds
        if top == -INFINITY:
            return
        for k in range(e.n_cuts):
            total += exp(cuts[k].odds - top)
            cuts[k].odds = total
        e.gain = top + log(n_steps(self.arena.leaf(e.leaf)) * total / e.n_offered)

    cdef void offer(
        self, Entry *entries, int32_t first, RandomSource source, int64_t time
    ) noexcept nogil:
        """Propose splits of the leaves chained to the first, and say what they gain."""
        cdef int32_t i = first, start = 0, end, n
        cdef const Leaf *leaf = self.arena.leaf(entries[first].leaf)
        cdef Cut *cuts = self.in_order
        self.apportion(entries, first)
        n = self.draw_alike(entries, first, source, time)
        if n == 0:
            return
        self.n_cuts += n
        # limits are handed down the chain: the last leaf has those of every cut
        self.sort(self.arena.leaf(entries[entries[first].last_alike].leaf), n)
        while start < n:
            end = start + 1
            while (end < n and end - start < N_CUTS
                    and cuts[end].variable == cuts[start].variable):
                end += 1
            self.search.sum_below(leaf, cuts + start, end - start)
            self.search.rate(entries, leaf, cuts + start, end - start)
            start = end
        self.batch.flush()
        self.hand_out(entries, first, n)
        while i >= 0:
            if entries[i].shares == i:
                self.cumulate(&entries[i])
            i = entries[i].next_alike

    # ------------------------------------------------------------ the choice
    cdef void ask_entry(self, Entry *e) noexcept nogil:
        """`score_entry`, but that the score of a prune waits for the batch's flush."""
        cdef int32_t n = self.score_stay(e)
        if n == 0:
            return
        e.prune = self.leaf_prior(self.arena.node(e.parent).depth)
        self.model.pool_sums(self.leaves, n, self.batch.place(), self.inherited)
        self.batch.ask(&e.prune, 1.0)
        if self.inherited[0] > 0.0:
            memcpy(
                self.batch.place(), self.inherited, self.arena.stride * sizeof(double)
            )
            self.batch.ask(&e.prune, -1.0)

    cdef void score_entry(self, Entry *e) noexcept nogil:
        self.ask_entry(e)
        self.batch.flush()

    cdef void compete(self, Entry *e, double gain) noexcept nogil:
        """Probabilities of staying and of pruning, given the gain of growing."""
        cdef int32_t depth = self.arena.leaf(e.leaf).depth
        cdef double top, stay, prune, grow
        e.grow = gain + self.split_prior(depth) + 2.0 * self.leaf_prior(depth + 1)
        e.grow -= self.leaf_prior(depth)
        grow = e.stay + e.grow
        top = max(e.stay, max(grow, e.prune))
        stay = exp(e.stay - top)
        prune = exp(e.prune - top)
        grow = exp(grow - top)
        e.stays = stay / (stay + prune + grow)
        e.prunes = prune / (stay + prune + grow)

    cdef void choose(
        self, const Entry *e, const Entry *offer, double u, Move *move
    ) noexcept nogil:
        """The move of one particle by its uniform u; a grow takes one of the cuts."""
        cdef const Cut *cuts = self.cuts + offer.first_cut
        cdef int32_t low = 0, high = offer.n_cuts - 1, middle
        u -= e.stays
        move.kind = PRUNE if 0.0 <= u and u < e.prunes else STAY
        if not u >= e.prunes or offer.gain == -INFINITY:      # or u is NaN
            return
        u = (u - e.prunes) / (1.0 - e.stays - e.prunes) * cuts[high].odds
        while low < high:                   # the first whose cumulated odds exceed u
            middle = (low + high) // 2
            if cuts[middle].odds > u:
                high = middle
            else:
                low = middle + 1
        move.kind = GROW
        move.cut = offer.first_cut + low
        move.variable = self.cuts[move.cut].variable
        move.value = self.cuts[move.cut].value
        move.missing_left = self.cuts[move.cut].missing_left
        move.inherits = self.cuts[move.cut].inherits

    cdef void decide_all(
        self, Entry *entries, int32_t n_entries, const int32_t *entry_of, int32_t n,
        RandomSource source, int64_t time, Move *moves,
    ) noexcept nogil:
        cdef Entry *e
        cdef int32_t i
        self.n_cuts = 0
        for i in range(n_entries):
            e = &entries[i]
            e.n_offered = e.first_cut = e.n_cuts = 0
            e.last_inheriting = NULL
            e.shares = i
            e.gain = -INFINITY
            self.ask_entry(e)
        self.batch.flush()
        for i in range(n_entries):
            entries[entries[i].owner].n_offered += entries[i].count
        self.group(entries, n_entries, source, time)
        for i in range(n_entries):
            if entries[i].last_alike >= 0:
                self.offer(entries, i, source, time)
        for i in range(n_entries):
            e = &entries[i]
            self.compete(e, entries[entries[e.owner].shares].gain)
        source.draw(time, MOVING, n, self.uniforms)
        for i in range(n):
            e = &entries[entry_of[i]]
            self.choose(
                e, &entries[entries[e.owner].shares], self.uniforms[i], &moves[i]
            )

    # ------------------------------------------------------------ new parts of trees
    cdef handle_t grown(self, const Leaf *leaf, const Move *move) noexcept nogil:
        """The leaf split as the move says: one for all its particles that chose the cut.
        """
        cdef Cut *cut = self.cuts + move.cut
        cdef int32_t k = cut.grown
        cdef handle_t h
        while k >= 0 and self.made[k].leaf != leaf:
            k = self.made[k].before
        if k < 0:
            h = Moves.grown(self, leaf, move)
            if h == NONE:
                return NONE
            k = self.n_made
            self.made[k].split = h
            self.made[k].leaf = leaf
            self.made[k].before = cut.grown
            cut.grown = k
            self.n_made += 1
        self.arena.share(self.made[k].split)
        return self.made[k].split

    cdef handle_t pruned(self, handle_t parent) noexcept nogil:
        cdef int32_t n_leaves = self.pool_below(parent)
        self.order_pooled(n_leaves)
        return self.fresh_leaf(self.pooled, self.arena.node(parent).depth)

    cdef void order_pooled(self, int32_t n_leaves) noexcept nogil:
        """Put the rows of `pooled`, which stand leaf by leaf, in order of age.

        Leaves hold rows by age, so that the same rows look the same. In trees grown
        anew they stand as they were learned, and a merge mixes them: nothing but the
        sharing of passes suffers.
        """
        cdef int32_t n = 0, k
        for k in range(n_leaves):
            self.merge_rows(self.pooled.rows, n, n + self.leaves[k].n_rows)
            n += self.leaves[k].n_rows

    cdef void merge_rows(
        self, slot_t *rows, int32_t first, int32_t n
    ) noexcept nogil:
        """Merge two runs of rows that stand by age: the first ones, and those behind."""
        cdef const int64_t *ids = self.pool.ids
        cdef slot_t *old = self.left.rows       # nothing else needs it in a prune
        cdef int32_t i = 0, j = first, k
        memcpy(old, rows, first * sizeof(slot_t))
        for k in range(n):
            if i == first:
                return
            if j == n or ids[old[i]] < ids[rows[j]]:
                rows[k] = old[i]
                i += 1
            else:
                rows[k] = rows[j]
                j += 1

    cdef void clear(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.n_made):
            self.arena.drop(self.made[k].split)
        self.n_made = self.n_cuts = 0
