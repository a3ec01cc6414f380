"""RandomTrees: how random trees learn a row, and what they say of one."""
from libc.math cimport INFINITY, M_PI, ceil, exp, fmax, fmin, log, log1p
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from dyntree._core.memory cimport resize
from dyntree._core.rmath cimport log_gamma
from dyntree._core.rng cimport CUTTING, REGROWING, RandomStream
from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.random_cuts cimport (
    LEAF_SHARE, MEAN_ROWS, SHAPE, goes_left, misses,
)
from dyntree._core.trees.row_ring cimport AHEAD

cdef double MOST_ODDS = 300.0
cdef double WHOLE = 1e-3        # of a row: what is left of a label when it has faded
cdef double MOST_HELD = 2e9     # that a leaf counts
cdef enum:
    N_LOOKED = 200              # knots that are looked at for the pair to give up
    N_ENOUGH = 16               # of them, once a pair was found


cdef class RandomTrees:
    """Random trees.

    Parameters
    ----------
    source : CounterSource
    n_features, n_classes : int
        No classes: real responses.
    n_trees : int
    discount : float in (0, 1]
        What is left of every count, and of the odds, after a row.
    least_held : int
        Rows that a leaf holds before it is cut.
    most_held : int
        Latest of them by which a cut is chosen.
    n_candidates : int
        Cuts that are drawn for one.
    n_held : int
        Rows that the forest holds.
    most_nodes, most_depth : int
        Of a tree.
    class_mass : float
        Of the Dirichlet prior of a leaf.
    split_share : float in (0, 1)
        rho: prior probability that a node is no leaf.
    weighting : {"variance", "frequency"}, optional
        Rows have weights, which divide their variance or count their repeats.
    """

    def __cinit__(
        self, CounterSource source, *, int32_t n_features, int32_t n_classes,
        int32_t n_trees, double discount, int32_t least_held, int32_t most_held,
        int32_t n_candidates, int64_t n_held, int32_t most_nodes, int32_t most_depth,
        double class_mass, double split_share, weighting=None,
    ):
        cdef int32_t k
        cdef bint divides = weighting == "variance"
        self.source = source
        self.options = {
            "n_features": n_features, "n_classes": n_classes, "n_trees": n_trees,
            "discount": discount, "least_held": least_held, "most_held": most_held,
            "n_candidates": n_candidates, "n_held": n_held, "most_nodes": most_nodes,
            "most_depth": most_depth, "class_mass": class_mass,
            "split_share": split_share, "weighting": weighting,
        }
        self.weighting, self.noise = weighting, 1.0
        self.ring = RowRing(n_features, n_held, weighting is not None)
        self.law = CutLaw(
            n_features, n_classes, most_held, n_candidates, class_mass, weighting
        )
        self.n_trees, self.n_classes = n_trees, n_classes
        self.n_sums = n_classes if n_classes else 2 + divides
        self.n_ahead = n_classes + (weighting is not None) if n_classes else 1
        self.n_own = n_classes if n_classes else 4
        self.most_knots, self.most_depth = most_nodes, most_depth
        self.least_held = least_held
        self.log_discount = log(discount)
        self.prior_odds = log(split_share / (1.0 - split_share))
        self.has_unit = n_classes > 0
        if discount < 1.0:
            self.regrow_every = max(1, <int32_t> (4.0 / ((1.0 - discount) * n_trees)))
            self.regrow_rows = <int32_t> fmin(n_held - 1.0, 3.0 / (1.0 - discount))
        self.trees = <RandomTree *> calloc(n_trees, sizeof(RandomTree))
        if self.trees == NULL:
            raise MemoryError()
        for k in range(n_trees):
            resize(<void **> &self.trees[k].before, n_held + AHEAD, sizeof(int64_t))
        self.reserve(1)
        for k in range(n_trees):
            self.clear(&self.trees[k], 0)

    def __dealloc__(self):
        cdef int32_t k
        for k in range(self.n_trees if self.trees != NULL else 0):
            free(self.trees[k].knots)
            free(self.trees[k].sums)
            free(self.trees[k].spare)
            free(self.trees[k].before)
        free(self.trees)

    # ------------------------------------------------------------ room
    cdef int reserve(self, int64_t n_rows) except -1:
        """Make room for the knots that so many rows may bring.

        A cut leaves rows on both sides, so that a tree has no more leaves than rows.
        """
        cdef int64_t needed, room
        cdef int32_t k
        cdef RandomTree *t
        for k in range(self.n_trees):
            t = &self.trees[k]
            needed = min(
                <int64_t> self.most_knots,
                max(<int64_t> t.n_knots, 2 * (self.ring.n_seen + n_rows) + 1),
            )
            if needed <= t.room:
                continue
            room = min(<int64_t> self.most_knots, max(needed, <int64_t> 2 * t.room))
            resize(<void **> &t.knots, room, sizeof(Knot))
            resize(<void **> &t.sums, room * self.n_sums, sizeof(double))
            resize(<void **> &t.spare, room, sizeof(int32_t))
            t.room = <int32_t> room
        return 0

    cdef int open(self, Room *room) except -1:
        """Scratch for one thread; `close` gives it back, also where this raises."""
        cdef size_t deep = self.most_depth + 2
        memset(room, 0, sizeof(Room))
        resize(<void **> &room.path, deep, sizeof(int32_t))
        resize(<void **> &room.own, deep * self.n_own, sizeof(double))
        resize(<void **> &room.ahead, 2 * max(self.n_classes, 1), sizeof(double))
        room.mixed = room.ahead + self.n_classes
        return self.law.open(&room.cut)

    cdef void close(self, Room *room) noexcept nogil:
        free(room.path)
        free(room.own)
        free(room.ahead)
        self.law.close(&room.cut)

    cdef void clear(self, RandomTree *t, int64_t row) noexcept nogil:
        """Begin a tree anew, with the row of that number."""
        cdef Knot *root = t.knots
        memset(root, 0, sizeof(Knot))
        memset(t.sums, 0, self.n_sums * sizeof(double))
        root.left = root.head = -1
        root.parent = ROOT
        root.last = row
        t.n_knots, t.n_spare = 1, 0

    # ------------------------------------------------------------ one row, one tree
    cdef double fading(self, int64_t since, int64_t now) noexcept nogil:
        """Factor by which what was counted at row `since` has faded at row `now`."""
        if self.log_discount == 0.0 or since >= now:
            return 1.0
        return exp(self.log_discount * <double> (now - since))

    cdef int32_t walk(
        self, RandomTree *t, const double *x, int64_t now, bint fades, Room *room
    ) noexcept nogil:
        """Path of a row, and what each knot alone would say; returns its length.

        With `fades` the knots fade to that time for good.
        """
        cdef int32_t v = 0, n = 0, c
        cdef double factor, total, known, rows, off
        cdef double *sums
        cdef double *own
        cdef Knot *knot
        room.n_open = 0
        room.share = 1.0
        while True:
            knot = &t.knots[v]
            sums = t.sums + <int64_t> v * self.n_sums
            own = room.own + <int64_t> n * self.n_own
            room.path[n] = v
            factor = self.fading(knot.last, now)
            if fades:
                knot.last = now
                if factor < 1.0:
                    knot.total *= factor
                    knot.odds *= factor
                    for c in range(0 if self.n_classes else 1, self.n_sums):
                        sums[c] *= factor     # all but a mean
                factor = 1.0
            total = factor * knot.total
            if self.n_classes:
                for c in range(self.n_classes):
                    own[c] = (factor * sums[c] + self.law.share) / (
                        total + self.n_classes * self.law.share
                    )
            else:
                known = factor * sums[2] if self.law.divides else total
                rows = MEAN_ROWS + known
                off = sums[0] - self.law.mean
                own[0] = rows
                own[1] = (MEAN_ROWS * self.law.mean + known * sums[0]) / rows
                own[2] = SHAPE + 0.5 * total
                own[3] = LEAF_SHARE * SHAPE * self.law.variance + 0.5 * (
                    factor * sums[1] + MEAN_ROWS * known / rows * off * off
                )
            n += 1
            if knot.left < 0:
                return n
            if room.takes_ways and not knot.cut.parts_gaps and misses(&knot.cut, x):
                v = knot.left + (0 if self.goes_left_on_way(t, knot, now, room) else 1)
            else:
                v = knot.left + (0 if goes_left(&knot.cut, x) else 1)

    # ------------------------------------------------------------ rows with gaps
    cdef bint next_way(self, Room *room) noexcept nogil:
        """The next way after that of the last walk: right at its last cut to the left."""
        cdef int32_t i = room.n_open - 1
        while i >= 0 and room.way >> i & 1:
            i -= 1
        if i < 0:
            room.takes_ways = False
            return False
        room.way = (room.way & ((<uint32_t> 1 << i) - 1)) | (<uint32_t> 1 << i)
        return True

    cdef double left_share(
        self, RandomTree *t, const Knot *knot, int64_t now
    ) noexcept nogil:
        """Share of the rows below a cut that lie to its left; a half if none does."""
        cdef const Knot *left = &t.knots[knot.left]
        cdef const Knot *right = left + 1
        cdef double n_left = self.fading(left.last, now) * left.total
        cdef double n_right = self.fading(right.last, now) * right.total
        return n_left / (n_left + n_right) if n_left + n_right > 0.0 else 0.5

    cdef bint goes_left_on_way(
        self, RandomTree *t, const Knot *knot, int64_t now, Room *room
    ) noexcept nogil:
        """Whether the way goes left at an open cut, whose share it takes."""
        cdef double left = self.left_share(t, knot, now)
        cdef bint goes = left >= 0.5
        if room.n_open < MOST_OPEN and 0.0 < left < 1.0:
            goes = not (room.way >> room.n_open & 1)
            room.share *= left if goes else 1.0 - left
            room.n_open += 1
        return goes

    cdef void part(
        self, RandomTree *t, const double *x, int64_t now, RandomStream *s
    ) noexcept nogil:
        """Let the open cuts on a row's way part it from now on."""
        cdef Knot *knot = t.knots
        while knot.left >= 0:
            if misses(&knot.cut, x) and not knot.cut.parts_gaps:
                knot.cut.missing_left = s.uniform(s) < self.left_share(t, knot, now)
                knot.cut.parts_gaps = True
            knot = &t.knots[knot.left + (0 if goes_left(&knot.cut, x) else 1)]

    cdef double mix_ways(self, RandomTree *t, int64_t row, Room *room) noexcept nogil:
        """Log density of a row of the ring over its ways; `mixed` becomes that of labels.
        """
        cdef double y = self.ring.response(row), w = self.ring.weight(row), own
        cdef double found = -INFINITY, most
        cdef const double *x = self.ring.row(row)
        cdef int32_t c, n
        memset(room.mixed, 0, self.n_classes * sizeof(double))
        first_way(room, True)
        while True:
            n = self.walk(t, x, row, False, room)
            own = log(room.share) + self.density_ahead(t, n, row, y, w, room)
            most = fmax(found, own)
            found = most + log(exp(found - most) + exp(own - most))
            if self.n_classes:
                self.look_ahead(t, n, row, room)
                for c in range(self.n_classes):
                    room.mixed[c] += room.share * room.ahead[c]
            if not self.next_way(room):
                return found

    cdef double density_ahead(
        self, RandomTree *t, int32_t n, int64_t now, double y, double w, Room *room
    ) noexcept nogil:
        """Log density of a response along a path that was walked."""
        cdef double here, share, most, found = 0.0
        cdef const Knot *v
        cdef int32_t h
        for h in range(n - 1, -1, -1):
            v = &t.knots[room.path[h]]
            if self.n_classes:
                here = self.log_repeated(
                    self.fading(v.last, now) * v.total,
                    self.fading(v.last, now) * t.sums[
                        <int64_t> room.path[h] * self.n_classes + <int32_t> y
                    ], w,
                )
            else:
                here = self.log_density(room.own + <int64_t> h * 4, y, w)
            if h == n - 1:
                found = here
                continue
            share = self.pruned(v, self.fading(v.last, now))
            most = fmax(found, here)
            found = most + log(
                share * exp(here - most) + (1.0 - share) * exp(found - most)
            )
        return found

    cdef void look_ahead(
        self, RandomTree *t, int32_t n, int64_t now, Room *room
    ) noexcept nogil:
        cdef int32_t h, c, C = self.n_classes
        cdef const double *own
        cdef const Knot *v
        cdef double w
        memcpy(room.ahead, room.own + <int64_t> (n - 1) * C, C * sizeof(double))
        for h in range(n - 2, -1, -1):
            v = &t.knots[room.path[h]]
            own = room.own + <int64_t> h * C
            w = self.pruned(v, self.fading(v.last, now))
            for c in range(C):
                room.ahead[c] = w * own[c] + (1.0 - w) * room.ahead[c]

    # ------------------------------------------------------------ learning
    cdef double pruned(self, const Knot *v, double factor) noexcept nogil:
        """Probability that the tree is pruned at a knot."""
        return 1.0 / (1.0 + exp(factor * v.odds + self.prior_odds))

    cdef double learn_row(
        self, RandomTree *t, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil:
        """Learn a row of the ring; returns its log density given those before."""
        cdef double y = self.ring.response(row), w = self.ring.weight(row), found
        cdef double over_ways = 0.0
        cdef int32_t h, v, n
        cdef bint were_open = False
        first_way(room, has_gap(self.ring.row(row), self.law.n_features))
        if room.takes_ways:
            self.walk(t, self.ring.row(row), row, False, room)
            were_open = room.n_open > 0
            if were_open:
                over_ways = self.mix_ways(t, row, room)
            self.part(t, self.ring.row(row), row, s)
            room.takes_ways = False
        n = self.walk(t, self.ring.row(row), row, True, room)
        if self.n_classes:
            found = self.ahead_of_label(t, n, <int32_t> y, w, room)
        else:
            found = self.ahead_of_value(t, n, y, w, room)
        for h in range(n):
            self.add(t, room.path[h], y, 1.0, w)
        v = room.path[n - 1]
        t.before[row % self.ring.places] = t.knots[v].head
        t.knots[v].head = row
        self.hold(&t.knots[v], w)
        self.grow_leaf(t, v, row, room, s)
        if were_open:
            memcpy(room.ahead, room.mixed, self.n_classes * sizeof(double))
            return over_ways
        return found

    cdef double ahead_of_label(
        self, RandomTree *t, int32_t n, int32_t y, double w, Room *room
    ) noexcept nogil:
        """`ahead` becomes the predictive along a path; the odds learn label y.

        Gives its log probability, of as often as its weight says.
        """
        cdef int32_t h, c, C = self.n_classes
        cdef const double *own = room.own + <int64_t> (n - 1) * C
        cdef double share, gain, here, most, found = 0.0
        cdef bint is_one = w == 1.0
        cdef Knot *v = &t.knots[room.path[n - 1]]
        memcpy(room.ahead, own, C * sizeof(double))
        if not is_one:
            found = self.log_repeated(
                v.total, t.sums[<int64_t> room.path[n - 1] * C + y], w
            )
        for h in range(n - 2, -1, -1):
            v = &t.knots[room.path[h]]
            own = room.own + <int64_t> h * C
            share = self.pruned(v, 1.0)
            if is_one:
                gain = log(room.ahead[y] / own[y])
            else:
                here = self.log_repeated(
                    v.total, t.sums[<int64_t> room.path[h] * C + y], w
                )
                gain = found - here
                most = fmax(here, found)
                found = most + log(
                    share * exp(here - most) + (1.0 - share) * exp(found - most)
                )
            v.odds = fmin(fmax(v.odds + gain, -MOST_ODDS), MOST_ODDS)
            for c in range(C):
                room.ahead[c] = share * own[c] + (1.0 - share) * room.ahead[c]
        return log(room.ahead[y]) if is_one else found

    cdef double log_repeated(self, double n, double c, double w) noexcept nogil:
        cdef double share = self.law.share, mass = self.n_classes * share
        return (
            log_gamma(mass + n) - log_gamma(mass + n + w)
            + log_gamma(share + c + w) - log_gamma(share + c)
        )

    cdef double log_density(self, const double *own, double y, double w) noexcept nogil:
        """Of the Student t that a leaf of real responses predicts, or of w equal ones."""
        cdef double df = 2.0 * own[2], square, z, gain
        if w != 1.0 and not self.law.divides:
            gain = 0.5 * w * (y - own[1]) * (y - own[1]) / (1.0 + w / own[0])
            return (
                log_gamma(own[2] + 0.5 * w) - log_gamma(own[2])
                - own[2] * log1p(gain / own[3]) - 0.5 * log1p(w / own[0])
                - 0.5 * w * log(2.0 * M_PI * (own[3] + gain))
            )
        square = own[3] / own[2] * (1.0 / w + 1.0 / own[0])
        z = (y - own[1]) * (y - own[1]) / square
        return (
            log_gamma(own[2] + 0.5) - log_gamma(own[2]) - 0.5 * log(df * M_PI * square)
            - (own[2] + 0.5) * log1p(z / df)
        )

    cdef double ahead_of_value(
        self, RandomTree *t, int32_t n, double y, double w, Room *room
    ) noexcept nogil:
        """Log density along a path; the odds learn y."""
        cdef double found = self.log_density(room.own + <int64_t> (n - 1) * 4, y, w)
        cdef double here, share, most
        cdef int32_t h
        cdef Knot *v
        for h in range(n - 2, -1, -1):
            v = &t.knots[room.path[h]]
            here = self.log_density(room.own + <int64_t> h * 4, y, w)
            share = self.pruned(v, 1.0)
            v.odds = fmin(fmax(v.odds + found - here, -MOST_ODDS), MOST_ODDS)
            most = fmax(found, here)
            found = most + log(
                share * exp(here - most) + (1.0 - share) * exp(found - most)
            )
        return found

    cdef void add(
        self, RandomTree *t, int32_t v, double y, double factor, double w
    ) noexcept nogil:
        """Count a response in a knot."""
        cdef double *sums = t.sums + <int64_t> v * self.n_sums
        cdef double off, weight = factor * w
        t.knots[v].total += factor if self.law.divides else weight
        if self.law.divides:
            sums[2] += weight
        if self.n_classes:
            sums[<int32_t> y] += weight
        elif self.precision(t, v) == weight:    # the first, whose mean no rounding moves
            sums[0] = y
        else:
            off = y - sums[0]
            sums[0] += weight * off / self.precision(t, v)
            sums[1] += fmax(weight * off * (y - sums[0]), 0.0)

    cdef void hold(self, Knot *leaf, double w) noexcept nogil:
        """Count a row of weight w towards the rows with which a leaf is cut."""
        cdef double n = 1.0 if self.law.divides else ceil(w)
        leaf.held = <int32_t> fmin(leaf.held + n, MOST_HELD)

    cdef double precision(self, const RandomTree *t, int32_t v) noexcept nogil:
        if self.law.divides:
            return t.sums[<int64_t> v * self.n_sums + 2]
        return t.knots[v].total

    # ------------------------------------------------------------ growth
    cdef bint is_pure(self, const RandomTree *t, int32_t v) noexcept nogil:
        """Whether all that a leaf knows is one response."""
        cdef const double *sums = t.sums + <int64_t> v * self.n_sums
        cdef double most = 0.0
        cdef int32_t c
        if not self.n_classes:
            return not sums[1] > 0.0
        for c in range(self.n_classes):
            most = fmax(most, sums[c])
        return most >= t.knots[v].total - WHOLE

    cdef void grow_leaf(
        self, RandomTree *t, int32_t v, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil:
        """Cut the leaf of a row as long as it holds rows enough."""
        while (
            self.has_unit and t.knots[v].held >= self.least_held
            and t.knots[v].depth < self.most_depth and not self.is_pure(t, v)
        ):
            if t.n_spare < 1 and t.n_knots + 2 > self.most_knots:
                self.give_up(t, s)
                if t.n_spare < 1 or t.knots[v].parent == GIVEN_UP:
                    return
            if not self.expand(t, v, row, room, s):
                return
            self.raise_odds(t, v)
            v = t.knots[v].left + (
                0 if goes_left(&t.knots[v].cut, self.ring.row(row)) else 1
            )

    cdef bint expand(
        self, RandomTree *t, int32_t v, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil:
        """Cut a leaf by the rows that it holds; False where it cannot be."""
        cdef int32_t n = 0, i, c, left
        cdef int64_t one = t.knots[v].head
        cdef int64_t oldest = max(row - self.ring.room, self.ring.first - 1)
        cdef double factor
        cdef Cut cut
        cdef Knot *child
        cdef int64_t *ids = room.cut.ids
        while one > oldest and one >= 0 and n < self.law.most_rows:
            ids[n] = one
            n += 1
            one = t.before[one % self.ring.places]
        if n < 2 or not self.law.draw(self.ring, &room.cut, n, s, &cut):
            return False
        if t.n_spare > 0:
            t.n_spare -= 1
            left = t.spare[t.n_spare]
        else:
            left = t.n_knots
            t.n_knots += 2
        for c in range(left, left + 2):
            child = &t.knots[c]
            memset(child, 0, sizeof(Knot))
            memset(t.sums + <int64_t> c * self.n_sums, 0, self.n_sums * sizeof(double))
            child.left = child.head = -1
            child.parent, child.depth = v, t.knots[v].depth + 1
            child.last = row
        t.knots[v].cut, t.knots[v].left, t.knots[v].head = cut, left, -1
        for i in range(n - 1, -1, -1):
            c = left + (0 if goes_left(&cut, room.cut.rows[i]) else 1)
            factor = self.fading(ids[i], row)
            self.add(
                t, c, room.cut.responses[i], factor,
                1.0 if room.cut.weights == NULL else room.cut.weights[i],
            )
            t.before[ids[i] % self.ring.places] = t.knots[c].head
            t.knots[c].head = ids[i]
            self.hold(&t.knots[c], self.ring.weight(ids[i]))
        t.knots[v].odds = self.evidence(t, left) + self.evidence(t, left + 1)
        t.knots[v].odds -= self.evidence_of_both(t, left, room.own)
        return True

    cdef double evidence(self, const RandomTree *t, int32_t v) noexcept nogil:
        """Log evidence of all that a knot has counted."""
        cdef const double *sums = t.sums + <int64_t> v * self.n_sums
        cdef double n = self.precision(t, v), off
        if self.n_classes:
            return self.law.counts_evidence(sums)
        off = sums[0] - self.law.mean
        return self.law.normal_evidence(
            t.knots[v].total, n, n * off, sums[1] + n * off * off
        )

    cdef double evidence_of_both(
        self, RandomTree *t, int32_t left, double *counts
    ) noexcept nogil:
        """Log evidence of the rows of two children together; `counts` is scratch."""
        cdef const double *a = t.sums + <int64_t> left * self.n_sums
        cdef const double *b = a + self.n_sums
        cdef double n_a = self.precision(t, left), n_b = self.precision(t, left + 1)
        cdef double off_a, off_b
        cdef int32_t c
        if self.n_classes:
            for c in range(self.n_classes):
                counts[c] = a[c] + b[c]
            return self.law.counts_evidence(counts)
        off_a, off_b = a[0] - self.law.mean, b[0] - self.law.mean
        return self.law.normal_evidence(
            t.knots[left].total + t.knots[left + 1].total, n_a + n_b,
            n_a * off_a + n_b * off_b,
            a[1] + b[1] + n_a * off_a * off_a + n_b * off_b * off_b,
        )

    cdef void raise_odds(self, RandomTree *t, int32_t v) noexcept nogil:
        """Update the odds of the knots above a new cut by the evidence of earlier rows.

        The ratio of the evidence with the cut and without multiplies what the parent's
        child says for those rows, and so on up to the root.
        """
        cdef double share = 1.0 / (1.0 + exp(-self.prior_odds))     # rho
        cdef double more = log(1.0 - share + share * exp(fmin(t.knots[v].odds, 500.0)))
        cdef double w
        cdef int32_t u = t.knots[v].parent
        while u >= 0:
            w = self.pruned(&t.knots[u], 1.0)
            t.knots[u].odds = fmin(fmax(t.knots[u].odds + more, -MOST_ODDS), MOST_ODDS)
            more = log(w + (1.0 - w) * exp(fmin(more, 500.0)))
            u = t.knots[u].parent

    cdef void give_up(self, RandomTree *t, RandomStream *s) noexcept nogil:
        """Make room: remove the least recently reached of a few pairs of leaves."""
        cdef int32_t k, v, c, left, best = -1
        cdef int64_t least = INT64_MAX
        for k in range(N_LOOKED):
            v = <int32_t> (s.uniform(s) * t.n_knots)
            left = t.knots[v].left
            if left < 0 or t.knots[left].left >= 0 or t.knots[left + 1].left >= 0:
                continue
            if t.knots[v].last < least:
                least, best = t.knots[v].last, v
            if k > N_ENOUGH and best >= 0:
                break
        if best < 0:
            return
        left = t.knots[best].left
        t.knots[best].left = t.knots[best].head = -1
        t.knots[best].odds = 0.0
        t.knots[best].held = 0
        for c in range(left, left + 2):
            t.knots[c].parent = GIVEN_UP
            t.knots[c].left = -1
        t.spare[t.n_spare] = left
        t.n_spare += 1

    cdef void regrow(
        self, RandomTree *t, int64_t row, Room *room, RandomStream *s
    ) noexcept nogil:
        """Grow a tree anew from the active rows before a row."""
        cdef int64_t one, first = max(row - self.regrow_rows, self.ring.first)
        self.clear(t, first)
        for one in range(first, row):
            self.learn_row(t, one, room, s)

    cdef void teach(
        self, int32_t k, int64_t first, int32_t n_rows, Room *room, double *out
    ) noexcept nogil:
        """Let a tree learn rows of the ring; `out` (n_rows, n_ahead) has predictions.

        That is the log density of a real response; or probabilities of the labels, and
        beside them the log probability of one that has a weight.
        """
        cdef RandomTree *t = &self.trees[k]
        cdef RandomStream s
        cdef int64_t row
        cdef int32_t width = self.n_ahead
        cdef double found
        for row in range(first, first + n_rows):
            if self.regrow_every and row and row % self.regrow_every == 0 and (
                row // self.regrow_every % self.n_trees == k
            ):
                s = self.source.open(row, k, REGROWING)
                self.regrow(t, row, room, &s)
            s = self.source.open(row, k, CUTTING)
            found = self.learn_row(t, row, room, &s)
            if self.n_classes:
                memcpy(out, room.ahead, self.n_classes * sizeof(double))
                if self.n_ahead > self.n_classes:
                    out[self.n_classes] = found
            else:
                out[0] = found
            out += width

    cdef void add_proba(
        self, const double *x, int64_t now, Room *room, double *out
    ) noexcept nogil:
        """Add what each tree says of a row."""
        cdef int32_t k, c, n
        cdef bint gaps = has_gap(x, self.law.n_features)
        for k in range(self.n_trees):
            first_way(room, gaps)
            while True:
                n = self.walk(&self.trees[k], x, now, False, room)
                self.look_ahead(&self.trees[k], n, now, room)
                for c in range(self.n_classes):
                    out[c] += room.share * room.ahead[c]
                if not (gaps and self.next_way(room)):
                    break
