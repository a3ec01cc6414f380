"""Doors into the nogil rooms of trees, for the tests; nothing else may use them.

Each function converts its arguments, makes one call and returns its result. Handles are
those of `types`.
"""
import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from dyntree._core.rng cimport RandomSource, RandomStream
from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.nodes cimport Entry, Leaf, Move, Node, log_evidence
from dyntree._core.trees.filter_rules cimport Numerics
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.trees.rejuvenation cimport regrow
from dyntree._core.trees.shared_moves cimport SharedMoves
from dyntree._core.trees.tree cimport Path, descend, find_leaf
from dyntree._core.types cimport NONE, handle_t


# ---------------------------------------------------------------- pool
def pool_put(ActivePool pool, const double[::1] x, double y):
    """Seat a row, making room for it; its slot."""
    pool.reserve(pool.n_rows + 1)
    return pool.put(&x[0], y, 1.0, 1.0)


def pool_free(ActivePool pool, int32_t position):
    """Give up the row at a position."""
    pool.free(position)


def pool_position(ActivePool pool, int32_t slot):
    """Position of a slot, -1 if it holds no row."""
    return pool.position_of(slot)


def pool_counts(ActivePool pool):
    """Active rows, rows ever stored, capacity."""
    return pool.n_rows, pool.n_seen, pool.capacity


# ---------------------------------------------------------------- arena
def take_leaf(Arena a, int32_t n_rows=0, bint credit=False):
    """Take a leaf of count one with room for rows (and credit); its handle."""
    cdef handle_t h
    cdef Leaf *leaf
    cdef int32_t k
    a.reserve(0, 1)
    h = a.take_leaf()
    leaf = a.leaf(h)
    a.reserve_rows(leaf, n_rows)
    for k in range(n_rows):
        leaf.rows[k] = k
    leaf.n_rows = n_rows
    if credit:
        a.reserve_credit(leaf)
    return h


def take_node(Arena a, handle_t left, handle_t right):
    """Take a split of count one that takes over the counts of its children."""
    cdef handle_t h
    a.reserve(1, 0)
    h = a.take_node()
    a.node(h).left = left
    a.node(h).right = right
    return h


def share(Arena a, handle_t h):
    """One owner more."""
    a.share(h)


def drop(Arena a, handle_t h):
    """One owner less."""
    a.drop(h)


def refs(Arena a, handle_t h):
    """Owners of a handle."""
    return a.refs(h)


def reserve_rows(Arena a, handle_t h, int32_t n):
    """Room for n rows in a leaf; its capacity."""
    a.reserve_rows(a.leaf(h), n)
    return a.leaf(h).capacity


# ---------------------------------------------------------------- filter rules
def choose(
    Numerics numerics, double stay, double grow, double prune, RandomSource source
):
    """The chosen MoveKind."""
    cdef RandomStream s = source.open(0, 0, 0)
    return numerics.choose(stay, grow, prune, &s)


def failed_split(Numerics numerics, int proposal, double stay):
    """Score of a proposal that left a child too small."""
    return numerics.failed_split(proposal, stay)


def resample(Numerics numerics, densities, int32_t n_target, RandomSource source):
    """Ancestors (None where everybody stays), log mean density, weight variance."""
    cdef double[::1] weights = np.array(densities, dtype=np.float64)
    cdef int32_t n = <int32_t> weights.shape[0], n_after
    cdef int32_t[::1] ancestors = np.empty(n_target, dtype=np.int32)
    cdef double[::1] work = np.empty(n)
    cdef double log_mean = 0.0, variance = 0.0
    cdef RandomStream s = source.open(0, 0, 0)
    n_after = numerics.resample(
        &weights[0], n, n_target, &s, &ancestors[0], &work[0], &log_mean, &variance
    )
    return np.asarray(ancestors)[:n_after] if n_after else None, log_mean, variance


# ---------------------------------------------------------------- rooms of a cloud
def arena(Particles c):
    """The cloud's arena."""
    return c.arena


def numerics(Particles c):
    """The cloud's rules."""
    return c.numerics


def roots(Particles c):
    """Handle of every particle's root."""
    return [c.roots[i] for i in range(c.n_particles)]


def growing(Particles c):
    """Roots of the fresh trees, and positions of the rows that they have yet to learn."""
    cdef int32_t i
    return (
        [c.fresh.roots[i] for i in range(c.fresh.n)],
        [c.pool.position_of(c.fresh.waiting[i]) for i in range(c.fresh.n_waiting)],
    )


def let_grow(Particles c, int64_t every):
    """What a stream does with fresh trees after a row, see `regrow`."""
    regrow(c, every)


def node(Particles c, handle_t h):
    """A split's count and its children's handles."""
    cdef Node *n = c.arena.node(h)
    return n.refs, n.left, n.right


def leaf(Particles c, handle_t h):
    """A leaf's count, and the positions of its rows."""
    cdef Leaf *x = c.arena.leaf(h)
    cdef int32_t k
    return x.refs, [c.pool.position_of(x.rows[k]) for k in range(x.n_rows)]


def path_of(Particles c, int32_t particle, const double[::1] x):
    """Handles from the particle's root down to the leaf of row x."""
    cdef handle_t[::1] nodes = np.empty(c.max_depth + 1, dtype=np.int32)
    cdef Path path
    cdef handle_t h
    path.nodes = &nodes[0]
    h = descend(c.arena, c.roots[particle], &x[0], &path)
    return [nodes[k] for k in range(path.length)] + [h]


def leaf_of(Particles c, int32_t particle, const double[::1] x):
    """Handle of the leaf of row x."""
    return find_leaf(c.arena, c.roots[particle], &x[0])


# ---------------------------------------------------------------- moves
cdef Entry entry_at(handle_t h, handle_t parent):
    cdef Entry e
    memset(&e, 0, sizeof(Entry))
    e.leaf = h
    e.parent = parent
    return e


cdef object child_of(Particles c, const Leaf *child):
    rows = [c.pool.position_of(child.rows[k]) for k in range(child.n_rows)]
    return rows, log_evidence(child)


def limits(Particles c, handle_t h, int32_t variable):
    """Proposal limits of a leaf's column, brought up to date."""
    cdef Leaf *x = c.arena.leaf(h)
    c.reserve(c.pool.n_rows)
    c.moves.limits(x, variable)
    return x.low[variable], x.high[variable]


def propose(Particles c, handle_t h):
    """Propose a split of a leaf: None, or column, value, and whether it splits."""
    cdef RandomStream s = c.source.open(0, 0, 0)
    cdef Leaf *x = c.arena.leaf(h)
    cdef Move move
    cdef bint splits
    c.reserve(c.pool.n_rows)
    c.moves.forget_gaps()
    if not c.moves.propose(x, &s, &move):
        return None
    splits = c.moves.split(x, &move)
    return move.variable, move.value, splits


def split(
    Particles c, handle_t h, int32_t variable, double value, bint inherits=True
):
    """Positions in the children of a leaf and their evidences, None if too small."""
    cdef Leaf *x = c.arena.leaf(h)
    cdef Move move
    move.kind = 0
    move.variable = variable
    move.value = value
    move.inherits = inherits
    move.missing_left = False
    c.reserve(c.pool.n_rows)
    if not c.moves.split(x, &move):
        return None
    return child_of(c, c.moves.left), child_of(c, c.moves.right)


def scores(Particles c, handle_t h, handle_t parent):
    """Log scores of staying and of pruning."""
    cdef Entry e = entry_at(h, parent)
    c.reserve(c.pool.n_rows)
    c.moves.score_entry(&e)
    return e.stay, e.prune


def decide(Particles c, handle_t h, handle_t parent):
    """The move chosen at a leaf: kind, variable, value."""
    cdef Entry e = entry_at(h, parent)
    cdef RandomStream s = c.source.open(0, 0, 0)
    cdef Move move
    c.reserve(c.pool.n_rows)
    move = c.moves.decide(&e, &s)
    return move.kind, move.variable, move.value


cdef object cuts_of(SharedMoves shared, const Entry *e):
    return [
        (shared.cuts[k].variable, shared.cuts[k].value, shared.cuts[k].missing_left,
         shared.cuts[k].inherits, shared.cuts[k].odds)
        for k in range(e.first_cut, e.first_cut + e.n_cuts)
    ]


def offer(Particles c, handle_t h, handle_t parent, int32_t n, int64_t time=0):
    """Native rules: n splits proposed for a leaf, and the moves of n particles in it.

    Returns
    -------
    cuts : list of (variable, value, missing_left, inherits, cumulated odds)
    grow : float
        Log odds of splitting.
    chances : (float, float)
        Probabilities of staying and of pruning.
    moves : list of (kind, variable, value)
    """
    cdef SharedMoves shared = c.moves
    cdef Entry e = entry_at(h, parent)
    cdef int32_t[::1] entry_of = np.zeros(n, dtype=np.int32)
    cdef Move *moves = <Move *> malloc(n * sizeof(Move))
    cdef int32_t k
    e.count = n
    c.reserve(c.pool.n_rows)
    shared.expect(max(n, c.room))
    shared.decide_all(&e, 1, &entry_of[0], n, c.source, time, moves)
    made = [(moves[k].kind, moves[k].variable, moves[k].value) for k in range(n)]
    free(moves)
    cuts = cuts_of(shared, &e)
    shared.clear()
    return cuts, e.grow, (e.stays, e.prunes), made


def offers(Particles c, handles, int32_t n, int32_t only=-1):
    """Native rules: n splits proposed for each of some leaves, or for one of them only.

    Returns
    -------
    list of (cuts, grow, next_alike, shares)
        As in `offer`, n >= 1; the place of the next leaf that shares passes over its
        rows, or -1; that of the leaf whose cuts it chooses from. With `only` the
        entries of other leaves are empty.
    """
    cdef SharedMoves shared = c.moves
    cdef int32_t n_entries = len(handles), k
    cdef Entry *entries = <Entry *> malloc(n_entries * sizeof(Entry))
    for k in range(n_entries):
        entries[k] = entry_at(handles[k], NONE)
        entries[k].owner = k if only < 0 else only
        entries[k].count = n if entries[k].owner == k else 0
    c.reserve(c.pool.n_rows)
    shared.expect(max(n * n_entries, c.room))
    shared.decide_all(entries, n_entries, NULL, 0, c.source, 0, NULL)
    found = [
        (cuts_of(shared, &entries[entries[k].shares]), entries[k].grow,
         entries[k].next_alike, entries[k].shares)
        for k in range(n_entries)
    ]
    free(entries)
    shared.clear()
    return found


def set_tree_prior(Particles c, double alpha, double beta):
    """Give the moves another tree prior: a leaf that alpha = 0 left whole may split."""
    c.moves.set_tree_prior(alpha, beta)
