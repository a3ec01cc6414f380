"""Moves of the native rules: proposed once per distinct leaf, and shared."""
cimport cython
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from dyntree._core.rating cimport N_CUTS
from dyntree._core.rng cimport MOVING, PROPOSING, RandomSource
from dyntree._core.types cimport GROW, NONE, PRUNE, STAY, handle_t


cdef inline bint comes_before(const Cut *p, const Cut *q) noexcept nogil:
    """Order of cuts; equal ones by the side that rows without a value take."""
    if p.variable != q.variable:
        return p.variable < q.variable
    if p.value != q.value:
        return p.value < q.value
    return p.side < q.side


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
        self.scores_rows = False
        self.rating = Rating(self.arena, self.model, self.pool, self.min_leaf)

    def __dealloc__(self):
        free(self.cuts)
        free(self.part_of)
        free(self.uniforms)

    cdef int expect(self, int32_t n_particles) except -1:
        cdef void *p = realloc(self.cuts, 2 * n_particles * sizeof(Cut))
        if p == NULL:
            raise MemoryError()
        self.cuts = <Cut *> p
        self.drawn = self.cuts + n_particles
        p = realloc(self.uniforms, n_particles * sizeof(double))
        if p == NULL:
            raise MemoryError()
        self.uniforms = <double *> p
        p = realloc(
            self.part_of,
            (2 * n_particles + self.pool.n_features + 1) * sizeof(int32_t),
        )
        if p == NULL:
            raise MemoryError()
        self.part_of = <int32_t *> p
        self.places = self.part_of + n_particles
        return 0

    cdef int reserve(self, int32_t n_rows, int32_t n_leaves) except -1:
        Moves.reserve(self, n_rows, n_leaves)
        return self.rating.reserve()

    # ------------------------------------------------------------ proposals
    cdef int32_t draw(
        self, Leaf *leaf, Cut *cuts, int32_t n, RandomStream *s
    ) noexcept nogil:
        """Propose n times; returns how many splits came of it, sorted into `cuts`."""
        cdef int32_t k, n_drawn = 0
        cdef bint may_inherit = self.model.may_inherit and leaf.retired[0] > 0.0
        cdef Move move
        cdef Cut *cut = self.drawn
        for k in range(n):
            if not self.propose(leaf, s, &move):
                continue
            cut.variable = move.variable
            cut.value = move.value
            cut.side = s.uniform(s)
            cut.missing_left = 0
            cut.inherits = may_inherit and s.uniform(s) < 0.5
            cut.grown = NONE
            cut += 1
            n_drawn += 1
        self.sort(leaf, cuts, n_drawn)
        return n_drawn

    cdef void sort(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil:
        """Put the n cuts that were drawn into `cuts`, in order.

        Values are uniform between a column's limits: counted into equal parts, one a
        cut or so, they all but stand in order, and insertion does the rest.
        """
        cdef int32_t n_parts, j, k, last
        cdef const Cut *cut
        cdef Cut moving
        cdef double share
        if n == 0:
            return
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

    cdef void offer(self, Entry *e, int32_t n, RandomStream *s) noexcept nogil:
        """Propose n splits of the leaf at e and cumulate their odds; or pass, see CALM."""
        cdef Leaf *leaf = self.arena.leaf(e.leaf)
        cdef Cut *cuts = self.cuts + self.n_cuts
        cdef double prior, top = -INFINITY, total = 0.0
        cdef double steps = max(1.0, leaf.n_rows / <double> CALM)
        cdef int32_t first = 0, last, k
        e.first_cut = self.n_cuts
        e.n_cuts = 0
        e.grow = -INFINITY
        if steps > 1.0 and s.uniform(s) * steps > 1.0:
            return
        e.n_cuts = self.draw(leaf, cuts, n, s)
        self.n_cuts += e.n_cuts
        while first < e.n_cuts:
            last = first + 1
            while (last < e.n_cuts and last - first < N_CUTS
                    and cuts[last].variable == cuts[first].variable):
                last += 1
            self.rating.rate(leaf, cuts + first, last - first)
            first = last
        for k in range(e.n_cuts):
            if cuts[k].odds > top:
                top = cuts[k].odds
        if top == -INFINITY:
            return
        for k in range(e.n_cuts):
            total += exp(cuts[k].odds - top)
            cuts[k].odds = total
        prior = self.split_prior(leaf.depth) + 2.0 * self.leaf_prior(leaf.depth + 1)
        prior -= self.leaf_prior(leaf.depth)
        e.grow = prior + top + log(steps * total / n)

    # ------------------------------------------------------------ the choice
    cdef void compete(self, Entry *e, double grow) noexcept nogil:
        """Probabilities of staying and of pruning; `grow` is the log odds of growing."""
        cdef double top, stay, prune
        self.score_entry(e)
        grow += e.stay
        top = max(e.stay, max(grow, e.prune))
        stay = exp(e.stay - top)
        prune = exp(e.prune - top)
        grow = exp(grow - top)
        e.stays = stay / (stay + prune + grow)
        e.prunes = prune / (stay + prune + grow)

    cdef void choose(
        self, const Entry *e, const Entry *owner, double u, Move *move
    ) noexcept nogil:
        """The move of one particle by its uniform u; a grow takes one of the cuts."""
        cdef const Cut *cuts = self.cuts + owner.first_cut
        cdef int32_t low = 0, high = owner.n_cuts - 1, middle
        u -= e.stays
        move.kind = PRUNE if 0.0 <= u and u < e.prunes else STAY
        if u < e.prunes or owner.grow == -INFINITY:
            return
        u = (u - e.prunes) / (1.0 - e.stays - e.prunes) * cuts[high].odds
        while low < high:                   # the first whose cumulated odds exceed u
            middle = (low + high) // 2
            if cuts[middle].odds > u:
                high = middle
            else:
                low = middle + 1
        move.kind = GROW
        move.cut = owner.first_cut + low
        move.variable = self.cuts[move.cut].variable
        move.value = self.cuts[move.cut].value
        move.missing_left = self.cuts[move.cut].missing_left
        move.inherits = self.cuts[move.cut].inherits

    cdef void decide_all(
        self, Entry *entries, int32_t n_entries, const int32_t *entry_of, int32_t n,
        RandomSource source, int64_t time, Move *moves,
    ) noexcept nogil:
        cdef RandomStream stream
        cdef Entry *e
        cdef int32_t i
        self.n_cuts = 0
        for i in range(n_entries):
            entries[i].n_cuts = 0
        for i in range(n_entries):
            entries[entries[i].owner].n_cuts += entries[i].count
        for i in range(n_entries):
            e = &entries[i]
            if e.owner == i:
                stream = source.open(time, i, PROPOSING)
                self.offer(e, offered(e.n_cuts), &stream)
            self.compete(e, entries[e.owner].grow)
        source.draw(time, MOVING, n, self.uniforms)
        for i in range(n):
            e = &entries[entry_of[i]]
            self.choose(e, &entries[e.owner], self.uniforms[i], &moves[i])

    # ------------------------------------------------------------ new parts of trees
    cdef handle_t grown(self, const Leaf *leaf, const Move *move) noexcept nogil:
        """The leaf split as the move says: one for all particles that chose the cut."""
        cdef Cut *cut = self.cuts + move.cut
        if cut.grown == NONE:
            cut.grown = Moves.grown(self, leaf, move)
            if cut.grown == NONE:
                return NONE
        self.arena.share(cut.grown)
        return cut.grown

    cdef void clear(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.n_cuts):
            if self.cuts[k].grown != NONE:
                self.arena.drop(self.cuts[k].grown)
        self.n_cuts = 0
