"""Particles: roots, the rows they still hold, and one step of particle learning."""
import numpy as np

from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from dyntree._core.trees.r_rules cimport (
    RExplicit, RGaussian, RImplicit, RMultinomial, RNumerics,
)
from dyntree._core.trees.logistic_leaves cimport LogisticLeaves
from dyntree._core.trees.native_counts cimport NativeMultinomial
from dyntree._core.memory cimport resize
from dyntree._core.trees.filter_rules cimport NativeNumerics
from dyntree._core.trees.fresh_trees cimport FreshTrees
from dyntree._core.trees.gap_filler cimport GapFiller
from dyntree._core.trees.gap_walk cimport GapWalk, has_gap
from dyntree._core.trees.native_leaves cimport NativeGaussian
from dyntree._core.trees.native_rates cimport NativeRates
from dyntree._core.trees.shared_moves cimport SharedMoves
from dyntree._core.rng cimport PARTING, RESAMPLING, RandomStream
from dyntree._core.trees.tree cimport descend, gather, replaced
from dyntree._core.trees.nodes cimport (
    GROW, LUALL, LUVAR, REJECT, STAY, Node, goes_left, log_evidence, retired_weight,
)
from dyntree._core.types cimport NONE

FIRST_LOOK = 16.0                   # rows seen at the first look at the prior

cdef double FAR = 25.0              # deviance beyond which a row lies outside: 5 squared
cdef int32_t RUN = 4                # rows outside, one after the other, that are a change
cdef int32_t HOLD = 50              # rows inside, until which a change goes on
cdef double LEAST_WEIGHT = 1e-300   # of a row outside; times the largest square it is 1

COUNTS = ("poisson", "negbin")       # models of events, whose rows have exposures
PROPOSALS = {"luall": LUALL, "luvar": LUVAR, "reject": REJECT}


def _native_leaves(model, n_basis, intercept, n_classes, prior, weighting):
    """The leaf model of that name under native rules."""
    if model == "class":
        return NativeMultinomial(n_classes, prior["class_mass"])
    if model == "logit":
        return LogisticLeaves(n_basis, n_classes)
    if model in COUNTS:
        return NativeRates(model == "negbin", prior["dispersion"])
    return NativeGaussian(
        n_basis if model == "linear" else 0, intercept, prior["b0"], model != "prior",
        weighting == "variance",
    )


def _r_leaves(model, n_basis, intercept, n_classes, variance_prior):
    """The leaf model of that name under R's rules."""
    nu0, s20 = variance_prior
    if model == "class":
        return RMultinomial(n_classes)
    if model == "linear":
        return (RImplicit if intercept else RExplicit)(nu0, s20, n_basis)
    return RGaussian(nu0, s20, model != "prior")


cdef int32_t run_after(int32_t n_outside, bint is_outside) noexcept nogil:
    if is_outside:
        return n_outside + 1 if n_outside < RUN - 1 else RUN + HOLD
    return n_outside - 1 if n_outside > RUN else 0


cdef int32_t height(Arena a, handle_t h) noexcept nogil:
    """Levels below and at h; a leaf has one."""
    if h < 0:
        return 1
    return 1 + max(height(a, a.node(h).left), height(a, a.node(h).right))


cdef class Particles:
    """Trees that share their parts, and the rules by which they learn a row.

    Parameters
    ----------
    source : RandomSource
        Where every draw comes from.
    model : {"constant", "linear", "class", "logit", "prior", "poisson", "negbin"}
        Leaf model.
    n_features : int
        Columns of X, a column of ones for an explicit intercept included.
    n_particles : int
        Particles to resample to.
    min_leaf : int
        Fewest rows in a leaf, >= 1.
    tree_prior : (float, float), default (0.95, 2.0)
        A leaf at depth d splits with prior probability a (1 + d)^-b.
    proposal : {"luvar", "luall", "reject"}, default "luvar"
        How a split is proposed.
    variance_prior : (float, float), default (0.0, 0.0)
        Degrees of freedom and scale of the leaf variance's prior.
    intercept : bool, default True
        Linear leaves: centre the rows (True) or regress through the origin.
    n_basis : int, optional
        Leading columns used by linear and logistic leaves; default all.
    first_split : int, default 0
        First column that may be split on.
    n_classes : int, default 0
        Labels of a class model, or one or two of a logistic one; y then holds 0 .. n_classes - 1.
    rules : {"r", "native"}, default "r"
        Leaf models and choices: R's, or those of `native_leaves` and its siblings.
    prior : dict, optional
        Native rules: "b0", "adaptive" (whether the cloud tunes it), "class_mass" and
        "dispersion", that of "negbin" counts or None.
    max_retired : float, optional
        Most weight that a leaf's retired sums may have.
    weighting : {"variance", "frequency"}, optional
        Native rules: rows have weights, which divide their variance or say how often
        they stand there; labels have the latter. Without it all of them weigh 1.
    robust : bool, default False
        Weights that divide variances: whether rows far outside of their predictive law
        count with less, see `judge`.
    """

    def __init__(
        self, RandomSource source, *, model, n_features, n_particles, min_leaf,
        tree_prior=(0.95, 2.0), proposal="luvar", variance_prior=(0.0, 0.0),
        intercept=True, n_basis=None, first_split=0, n_classes=0, rules="r",
        prior=None, max_retired=None, weighting=None, robust=False,
    ):
        basis = n_features if n_basis is None else n_basis
        self.options = {
            "model": model, "n_features": n_features, "n_particles": n_particles,
            "min_leaf": min_leaf, "tree_prior": tuple(tree_prior),
            "proposal": proposal, "variance_prior": tuple(variance_prior),
            "intercept": bool(intercept), "n_basis": basis,
            "first_split": first_split, "n_classes": n_classes, "rules": rules,
            "prior": None if prior is None else dict(prior), "max_retired": max_retired,
            "weighting": weighting, "robust": bool(robust),
        }
        self.is_robust = robust
        self.last_share = 1.0
        self.source = source
        if rules == "native":
            self.leaf_model = _native_leaves(
                model, basis, intercept, n_classes, prior, weighting
            )
            self.numerics = NativeNumerics()
            if self.leaf_model.n_basis:     # of real responses or of log odds
                self.filler = GapFiller(self.leaf_model)
            kind = SharedMoves
        else:
            self.leaf_model = _r_leaves(
                model, basis, intercept, n_classes, variance_prior
            )
            self.numerics = RNumerics()
            kind = Moves
        if max_retired is not None:
            self.leaf_model.max_retired = max_retired
        self.next_look = FIRST_LOOK if prior and prior["adaptive"] else INFINITY
        self.pool = ActivePool(
            n_features, weighting is not None,
            self.leaf_model.is_count or self.leaf_model.has_xi,
        )
        self.arena = Arena(
            self.leaf_model.family.stride, self.leaf_model.n_derived, n_features
        )
        self.moves = kind(
            self.arena, self.leaf_model, self.pool, self.numerics, tree_prior[0],
            tree_prior[1], min_leaf, first_split, PROPOSALS[proposal],
        )
        self.n_target = n_particles
        self.fresh = FreshTrees()
        resize(<void **> &self.row_before, n_features, sizeof(double))
        self.make_room(n_particles)

    def __dealloc__(self):
        free(self.roots)
        free(self.entries)
        free(self.entry_of)
        free(self.entries_before)
        free(self.entry_before)
        free(self.ancestors)
        free(self.next_roots)
        free(self.weights)
        free(self.mixed)
        free(self.work)
        free(self.decisions)
        free(self.path.nodes)
        free(self.row_before)

    # ------------------------------------------------------------ room
    cdef int make_room(self, int32_t n_particles) except -1:
        """Arrays for this many particles."""
        cdef size_t n = n_particles
        if n_particles <= self.room:
            return 0
        resize(<void **> &self.roots, n, sizeof(handle_t))
        resize(<void **> &self.next_roots, n, sizeof(handle_t))
        resize(<void **> &self.fresh.roots, n, sizeof(handle_t))
        resize(<void **> &self.entries, n, sizeof(Entry))
        resize(<void **> &self.entry_of, n, sizeof(int32_t))
        resize(<void **> &self.entries_before, n, sizeof(Entry))
        resize(<void **> &self.entry_before, n, sizeof(int32_t))
        resize(<void **> &self.ancestors, n, sizeof(int32_t))
        resize(<void **> &self.weights, n, sizeof(double))
        resize(<void **> &self.mixed, n, sizeof(double))
        resize(<void **> &self.work, n, sizeof(double))
        resize(<void **> &self.decisions, n, sizeof(Move))
        self.moves.expect(n_particles)
        self.room = n_particles
        return 0

    cdef int reserve(self, int32_t n_rows) except -1:
        """Scratch for a step that leaves n_rows rows in the pool."""
        if self.max_depth + 2 > self.path_room:
            resize(<void **> &self.path.nodes, 2 * self.max_depth + 16,
                   sizeof(handle_t))
            self.path_room = 2 * self.max_depth + 16
        self.moves.reserve(n_rows, self.arena.live_leaves + 1)
        return 0

    # ------------------------------------------------------------ fresh trees
    cdef void exchange(self) noexcept nogil:
        """Let the fresh trees and the particles change places."""
        self.roots, self.fresh.roots = self.fresh.roots, self.roots
        self.n_particles, self.fresh.n = self.fresh.n, self.n_particles

    cdef handle_t root(self, int32_t i) noexcept nogil:
        if i < self.n_particles:
            return self.roots[i]
        return self.fresh.roots[i - self.n_particles]

    # ------------------------------------------------------------ gaps
    cdef list part(self, slot_t s):
        """Let the splits that were open for row s part it; returns them.

        `mixed` becomes each particle's log density of the row on both sides of them.
        """
        cdef GapWalk walk = GapWalk(self.arena)
        cdef RandomStream stream = self.source.open(self.time, 0, PARTING)
        cdef dict sides = {}
        cdef list splits = []
        cdef int32_t i
        cdef bint are_open = False
        walk.x = self.pool.x(s)
        for i in range(self.n_particles):
            are_open = are_open or walk.descended(self.roots[i]) > 0
        if not are_open:
            return splits
        for i in range(self.n_particles):
            self.mixed[i] = self.mixed_density(walk, self.roots[i], s)
        for i in range(self.n_particles):
            self.part_below(walk, self.roots[i], s, &stream, sides, splits)
        return splits

    cdef double mixed_density(self, GapWalk walk, handle_t h, slot_t s) noexcept nogil:
        """Log density of row s below h, whichever leaf it lies in."""
        cdef double most = -INFINITY, total = 0.0
        cdef double *known
        cdef int32_t k
        walk.find(h, self.pool.x(s))
        for k in range(walk.n):
            known = &walk.densities[-walk.leaves[k]]
            if known[0] != known[0]:
                known[0] = self.row_density(self.arena.leaf(walk.leaves[k]), s)
            most = max(most, known[0])
        if not most > -INFINITY:
            return most
        for k in range(walk.n):
            total += walk.shares[k] * exp(walk.densities[-walk.leaves[k]] - most)
        return most + log(total)

    cdef int part_below(
        self, GapWalk walk, handle_t h, slot_t s, RandomStream *stream, dict sides,
        list splits,
    ) except -1:
        """Let the open splits on the way of row s down from h part it.

        A side is drawn once for all splits at the same cut: those of one place in
        several trees share what lies below them, so that it must hold the row in all.
        """
        cdef Node *node
        h = walk.descended(h)
        while h > 0:
            node = self.arena.node(h)
            cut = node.variable, node.value
            if cut not in sides:
                sides[cut] = self.draws_left(walk, node, s, stream)
            node.missing_left = sides[cut]
            node.parts_gaps = 1
            splits.append(h)
            h = walk.descended(node.left if node.missing_left else node.right)
        return 0

    cdef bint draws_left(
        self, GapWalk walk, const Node *node, slot_t s, RandomStream *stream
    ) noexcept:
        """Draw the side of row s at an open split, given its response.

        By the share of the rows there, times the density there (Tanner and Wong 1987).
        """
        cdef double left = walk.left_share(node), odds
        if left == 0.0 or left == 1.0:
            return left == 1.0
        odds = (1.0 - left) / left * exp(
            self.mixed_density(walk, node.right, s)
            - self.mixed_density(walk, node.left, s)
        )
        if odds == odds:
            left = 1.0 / (1.0 + odds)
        return stream.uniform(stream) < left

    cdef void reopen(self, list splits) noexcept:
        """Take back what `part` did."""
        for h in splits:
            self.arena.node(h).parts_gaps = 0

    # ------------------------------------------------------------ weigh
    cdef double row_density(self, Leaf *leaf, slot_t s) noexcept nogil:
        """Density of row s in a leaf, over what it may have in the place of gaps."""
        cdef double density, most = -INFINITY, total = 0.0
        cdef int32_t k
        if not self.has_gap or self.filler is None:
            return self.leaf_model.row_density(leaf, self.pool, s)
        self.filler.begin(leaf, self.pool.x(s), self.pool.seen)
        for k in range(self.filler.n_ways):
            if not self.filler.shares[k] > 0.0:
                continue
            density = log(self.filler.shares[k]) + self.leaf_model.density(
                leaf, <double *> self.filler.way(k), self.pool.y(s), self.pool.w(s)
            )
            if density > most:
                total = total * exp(most - density) + 1.0
                most = density
            else:
                total += exp(density - most)
        self.filler.end()
        return most + log(total)

    cdef int32_t enter(self, handle_t h, handle_t parent) noexcept nogil:
        """A new entry of this step."""
        cdef Leaf *leaf = self.arena.leaf(h)
        cdef Entry *e = &self.entries[self.n_entries]
        if leaf.stamp != self.stamp:
            leaf.stamp = self.stamp
            leaf.entry = self.n_entries
        e.leaf = h
        e.parent = parent
        e.pruned = NONE
        e.owner = leaf.entry
        e.count = 0
        e.weighed = e.scored = False
        self.n_entries += 1
        return self.n_entries - 1

    cdef int32_t route(self, handle_t root, const double *x) noexcept nogil:
        """Entry of the (parent, leaf) that x reaches from root, new or remembered."""
        cdef handle_t h = root, parent = NONE
        cdef int32_t found = -1, k, depth = 0
        cdef Node *node
        cdef Leaf *leaf
        while h > 0:
            node = self.arena.node(h)
            if node.stamp == self.stamp:
                found = node.entry
                break
            self.path.nodes[depth] = h
            depth += 1
            parent = h
            h = node.left if goes_left(node, x) else node.right
        if found < 0:
            leaf = self.arena.leaf(h)
            if (leaf.stamp == self.stamp and parent == NONE
                    and self.entries[leaf.entry].parent == NONE):
                found = leaf.entry
            else:
                found = self.enter(h, parent)
        for k in range(depth):
            node = self.arena.node(self.path.nodes[k])
            node.stamp = self.stamp
            node.entry = found
        self.entries[found].count += 1
        return found

    cdef int weigh(self, slot_t s) noexcept nogil:
        """Densities of row s in particle order; room for it in every leaf it meets.

        A model may round the row it evaluates, which changes what the next particle
        sees: whatever was remembered is then forgotten. -1: no memory.
        """
        cdef double *x = self.pool.x(s)
        cdef size_t n_bytes = self.pool.n_features * sizeof(double)
        cdef int32_t i
        cdef Entry *e
        cdef Leaf *leaf
        cdef double least = INFINITY
        self.stamp += 1
        self.n_entries = 0
        for i in range(self.n_particles):
            self.entry_of[i] = self.route(self.roots[i], x)
            e = &self.entries[self.entry_of[i]]
            leaf = self.arena.leaf(e.leaf)
            e = &self.entries[e.owner]
            if not e.weighed:
                if self.arena.reserve_rows(leaf, leaf.n_rows + 1) < 0:
                    return -1
                if self.leaf_model.rounds_rows:
                    memcpy(self.row_before, x, n_bytes)
                e.density = self.row_density(leaf, s)
                e.weighed = True
                least = min(least, self.leaf_model.deviance)
                if self.leaf_model.rounds_rows and memcmp(self.row_before, x, n_bytes):
                    self.stamp += 1
                    self.n_entries = 0
            self.weights[i] = e.density
        self.is_outside = self.judges and least > FAR
        return 0

    cdef void judge(self, slot_t s) noexcept nogil:
        """Let row s, which was weighed and lies outside in every leaf, count for less.

        The share of its weight with which its deviance is FAR in the leaf that predicted it
        best, squared, is what it counts with (of the weights of Geman and McClure 1985
        the tail); by that weight the particles are weighed. After RUN rows outside, of
        all or of those that reached the leaf in half of the particles, there is a
        change, and nothing is done.
        """
        cdef double weight = self.pool.w(s), share = 0.0
        cdef int32_t i, n_changed = 0
        cdef Entry *e
        for i in range(self.n_entries):
            e = &self.entries[i]
            if e.owner == i:
                share = max(share, self.leaf_model.share_within(
                    self.arena.leaf(e.leaf), self.pool.x(s), self.pool.y(s), weight, FAR
                ))
            if self.arena.leaf(e.leaf).n_outside >= RUN:
                n_changed += e.count
        if self.n_outside >= RUN or 2 * n_changed > self.n_particles:
            return
        self.pool.w_[s] = max(share * share * weight, LEAST_WEIGHT)
        for i in range(self.n_entries):
            e = &self.entries[i]
            if e.owner == i:
                e.density = self.row_density(self.arena.leaf(e.leaf), s)
        for i in range(self.n_particles):
            e = &self.entries[self.entry_of[i]]
            self.weights[i] = self.entries[e.owner].density
        self.last_share = self.pool.w(s) / weight

    cdef void fix_xi(self, slot_t s) noexcept nogil:
        """Fix the xi of row s, which was weighed: one for all particles, for good.

        It is the root of the mean, by their weights, of the xi^2 that the row would have
        by each particle's leaf alone.
        """
        cdef double most = -INFINITY, total = 0.0, square = 0.0, share
        cdef int32_t i
        for i in range(self.n_entries):
            if self.entries[i].owner == i:
                self.work[i] = self.leaf_model.squared_xi(
                    self.arena.leaf(self.entries[i].leaf), self.pool, s
                )
        for i in range(self.n_particles):
            most = max(most, self.weights[i])
        for i in range(self.n_particles):
            share = exp(self.weights[i] - most)
            total += share
            square += share * self.work[self.entries[self.entry_of[i]].owner]
        self.pool.e_[s] = sqrt(square / total)

    cdef int32_t resample(self, double *log_mean, double *variance) noexcept nogil:
        """Resample and adopt the survivors; returns how many distinct ones."""
        cdef RandomStream stream = self.source.open(self.time, 0, RESAMPLING)
        return self.draw_survivors(&stream, log_mean, variance)

    cdef int32_t draw_survivors(
        self, RandomStream *stream, double *log_mean, double *variance
    ) noexcept nogil:
        """Resample by `weights`; returns how many distinct particles survive."""
        cdef int32_t n, i, n_distinct = 0
        n = self.numerics.resample(
            self.weights, self.n_particles, self.n_target, stream, self.ancestors,
            self.work, log_mean, variance,
        )
        if n == 0:
            for i in range(self.n_particles):
                self.ancestors[i] = i
            return self.n_particles
        for i in range(self.n_particles):
            self.work[i] = 0.0
        for i in range(n):
            self.next_roots[i] = self.roots[self.ancestors[i]]
            self.work[self.ancestors[i]] += 1.0
        for i in range(self.n_particles):
            if self.work[i] > 1.0:
                self.arena.share_by(self.roots[i], <int32_t> self.work[i] - 1)
            elif self.work[i] == 0.0:
                self.arena.drop(self.roots[i])
            n_distinct += self.work[i] > 0.0
        self.roots, self.next_roots = self.next_roots, self.roots
        self.n_particles = n
        return n_distinct

    # ------------------------------------------------------------ add, decide, apply
    cdef void append_row(self, Leaf *leaf, slot_t s) noexcept nogil:
        """Row s joins the leaf; room for it has been reserved."""
        self.arena.drop_credit(leaf)
        leaf.rows[leaf.n_rows] = s
        leaf.n_rows += 1
        if self.judges:
            leaf.n_outside = run_after(leaf.n_outside, self.is_outside)
        self.leaf_model.insert(leaf, self.pool, s)

    cdef void regroup(self) noexcept nogil:
        """The entries of the survivors, as `route` would find them, in their order."""
        cdef int32_t i
        cdef Entry *e
        self.entries, self.entries_before = self.entries_before, self.entries
        self.entry_of, self.entry_before = self.entry_before, self.entry_of
        for i in range(self.n_entries):
            self.entries_before[i].count = -1       # then its place among the new ones
        self.stamp += 1
        self.n_entries = 0
        for i in range(self.n_particles):
            e = &self.entries_before[self.entry_before[self.ancestors[i]]]
            if e.count < 0:
                e.count = self.enter(e.leaf, e.parent)
            self.entry_of[i] = e.count
            self.entries[e.count].count += 1

    cdef int add_row(self, slot_t s, bint weighed) noexcept nogil:
        """Add row s to every leaf it reaches, once per distinct leaf; -1: no memory.

        Where the cloud was weighed and no row rounded it is known which those are.
        """
        cdef int32_t i
        cdef Leaf *leaf
        if weighed and not self.leaf_model.rounds_rows:
            self.regroup()
        else:
            self.stamp += 1
            self.n_entries = 0
            for i in range(self.n_particles):
                self.entry_of[i] = self.route(self.roots[i], self.pool.x(s))
        for i in range(self.n_entries):
            leaf = self.arena.leaf(self.entries[i].leaf)
            if self.arena.reserve_rows(leaf, leaf.n_rows + 1) < 0:
                return -1
        for i in range(self.n_entries):
            if self.entries[i].owner == i:
                self.append_row(self.arena.leaf(self.entries[i].leaf), s)
        return 0

    cdef handle_t moved(self, int32_t particle, slot_t s) noexcept nogil:
        """Root of the particle's tree after its move; NONE: no memory."""
        cdef Move *move = &self.decisions[particle]
        cdef Entry *e = &self.entries[self.entry_of[particle]]
        cdef handle_t root = self.roots[particle], leaf, fresh
        cdef int32_t length
        leaf = descend(self.arena, root, self.pool.x(s), &self.path)
        length = self.path.length
        if self.arena.reserve(length + 1, 2) < 0:
            return NONE
        if move.kind == GROW:
            fresh = self.moves.grown(self.arena.leaf(leaf), move)
            if fresh == NONE:
                return NONE
            if self.arena.node(fresh).depth + 1 > self.max_depth:
                self.max_depth = self.arena.node(fresh).depth + 1
            return replaced(self.arena, root, &self.path, length, leaf, fresh)
        if e.pruned == NONE:
            e.pruned = self.moves.pruned(e.parent)
            if e.pruned == NONE:
                return NONE
            self.arena.leaf(e.pruned).n_outside = self.arena.leaf(leaf).n_outside
        self.arena.share(e.pruned)
        return replaced(
            self.arena, root, &self.path, length - 1, e.parent, e.pruned
        )

    cdef int apply(self, slot_t s) noexcept nogil:
        """Make the moves, in particle order; -1: no memory for some, which stay."""
        cdef int32_t i
        cdef int status = 0
        cdef handle_t root
        for i in range(self.n_particles):
            if self.decisions[i].kind != STAY:
                root = self.moved(i, s)
                if root == NONE:
                    status = -1
                else:
                    self.roots[i] = root
        for i in range(self.n_entries):
            if self.entries[i].pruned != NONE:
                self.arena.drop(self.entries[i].pruned)
        self.moves.clear()
        return status

    # ------------------------------------------------------------ steps
    cdef StepStatus step(
        self, slot_t s, double *log_mean, int64_t every, object report
    ) noexcept:
        """One step of particle learning for a row that has been put in the pool.

        An error in `report` waits in `report_error`: the row must be learned first.
        """
        cdef double variance = 0.0
        cdef int32_t n_distinct = self.n_particles
        cdef int64_t row = self.pool.n_rows + self.n_retired
        cdef bint weighed = self.n_particles > 1 or self.numerics.weighs_one
        cdef bint failed = False, mixes = False
        cdef list parted = None
        self.report_error = None
        log_mean[0] = 0.0
        self.has_gap = self.numerics.integrates and has_gap(
            self.pool.x(s), self.pool.n_features
        )
        if self.has_gap:
            try:
                parted = self.part(s)
            except MemoryError:
                return NOT_LEARNED
            mixes = len(parted) > 0
        with nogil:
            if weighed:
                failed = self.weigh(s) < 0
                if mixes:
                    memcpy(self.weights, self.mixed, self.n_particles * sizeof(double))
                if self.is_outside and not failed:
                    self.judge(s)
                if self.is_new and self.leaf_model.has_xi and not failed:
                    self.fix_xi(s)
                if not failed:
                    n_distinct = self.resample(log_mean, &variance)
        if failed:
            if mixes:
                self.reopen(parted)
            return NOT_LEARNED
        if not log_mean[0] > -INFINITY:
            self.n_degenerate += 1
        if every > 0 and report is not None and row % every == 0:
            try:
                report(self.pool.n_rows, self.n_retired, n_distinct, variance,
                       *self.shapes().mean(axis=0))
            except BaseException as raised:
                self.report_error = raised
        with nogil:
            failed = self.add_row(s, weighed) < 0
        if failed:
            if mixes:
                self.reopen(parted)
            return NOT_LEARNED
        with nogil:
            self.moves.decide_all(
                self.entries, self.n_entries, self.entry_of, self.n_particles,
                self.source, self.time, self.decisions,
            )
            failed = self.apply(s) < 0
            self.time += 1
        return MOVES_LEFT_OUT if failed else LEARNED

    cdef int raise_failure(self, StepStatus status) except -1:
        """Raise the error that left a step incomplete, if any."""
        error, self.report_error = self.report_error, None
        if status != LEARNED:
            raise MemoryError()
        if error is not None:
            raise error
        return 0

    cdef void let_fade(self) noexcept:
        """From now on the past is called stale."""
        self.fades = True
        self.leaf_model.may_inherit = False

    cdef double gap_share(self, int32_t j) noexcept nogil:
        """How often column j is missing: in the rows that questions run over."""
        cdef int64_t n = self.pool.n_seen
        cdef double gaps = self.pool.seen.view[j, 3]
        if self.fades or self.numerics.spans_active:
            n = self.pool.n_rows
            gaps = self.pool.n_gaps[j]
        return gaps / n if n else 0.0

    cdef int start_trees(self, int32_t n_rows) except -1:
        """Every particle becomes one leaf with the first n_rows rows of the pool."""
        cdef handle_t h = self.arena.take_leaf()
        cdef Leaf *leaf = self.arena.leaf(h)
        cdef int32_t i
        if self.arena.reserve_rows(leaf, n_rows) < 0:
            self.arena.drop(h)
            raise MemoryError()
        if n_rows:
            memcpy(leaf.rows, self.pool.order, n_rows * sizeof(slot_t))
        leaf.n_rows = n_rows
        self.leaf_model.build(leaf, self.pool)
        leaf.refs = self.n_target
        for i in range(self.n_target):
            self.roots[i] = h
        self.n_particles = self.n_target
        return 0

    def shapes(self):
        """Height, leaves, rows per leaf and retired weight per leaf of each tree.

        Returns
        -------
        ndarray of shape (n_particles, 4)
        """
        out = np.empty((self.n_particles, 4))
        cdef double[:, ::1] view = out
        cdef int32_t i, k, n
        cdef double rows, retired
        self.moves.reserve(0, self.arena.live_leaves + 1)
        for i in range(self.n_particles):
            n = gather(self.arena, self.roots[i], self.moves.leaves)
            rows = retired = 0.0
            for k in range(n):
                rows += self.moves.leaves[k].n_rows
                retired += retired_weight(self.moves.leaves[k])
            view[i, 0] = height(self.arena, self.roots[i])
            view[i, 1] = n
            view[i, 2] = rows / n
            view[i, 3] = retired / n
        return out
