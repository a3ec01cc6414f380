"""A shard: rows of a mixture, their labels, and the sweeps that change them."""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from dyntree._core.alias cimport alias_build, alias_pick
from dyntree._core.mixtures.candidates cimport Listing, Ranked, choose_list, place_in
from dyntree._core.mixtures.scores cimport FULL, Scores
from dyntree._core.mixtures.tallies cimport Units, moments_width, tally
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.rng cimport LABELLING, CounterSource, RandomStream
from dyntree._core.softmax cimport PART, add_shares, pick, rounded_up, soften, total_of


cdef class Shard:
    """Rows of a mixture.

    Parameters
    ----------
    X : ndarray of float32 of shape (n_rows, n_features)
        Centred and scaled; counts as they are.
    ids : ndarray of uint32 of shape (n_rows,)
        Numbers of the rows in the whole data: their random coordinates.
    layout : int
    units : tuple of float
        What sums of weights, of rows and of second moments are counted in: the powers
        of two they are multiplied with.
    weight : ndarray of shape (n_rows,), optional
    log_base : ndarray of shape (n_rows,), optional
        log h(x), where the family has such a factor.
    """

    def __cinit__(self):
        self.listed = NULL
        self.length = self.capacity = NULL

    def __init__(
        self, const float[:, ::1] X, const uint32_t[::1] ids, int layout, units,
        const double[::1] weight=None, const double[::1] log_base=None,
    ):
        cdef int32_t[::1] label
        self.n_rows, self.n_features = X.shape[0], <int> X.shape[1]
        self.layout = layout
        self.X = np.asarray(X)
        self.labels = np.full(self.n_rows, -1, dtype=np.int32)
        label = self.labels
        self.keep = (X, ids, weight, log_base, label)
        self.x, self.ids, self.label = &X[0, 0], &ids[0], &label[0]
        self.weight = NULL if weight is None else &weight[0]
        self.log_base = NULL if log_base is None else &log_base[0]
        self.units.weight, self.units.first, self.units.second = units
        self.width = moments_width(layout, self.n_features)

    def __dealloc__(self):
        self.forget_groups()

    cdef void forget_groups(self) noexcept:
        cdef int64_t g
        if self.listed != NULL:
            for g in range(self.n_groups):
                free(self.listed[g])
        free(self.listed)
        free(self.length)
        free(self.capacity)
        self.listed = NULL
        self.length = self.capacity = NULL

    # ------------------------------------------------------------ rows
    cdef double weight_of(self, int64_t i) noexcept nogil:
        return 1.0 if self.weight == NULL else self.weight[i]

    cdef double log_base_of(self, int64_t i) noexcept nogil:
        return 0.0 if self.log_base == NULL else self.log_base[i]

    cdef bint relabel(self, int64_t i, int32_t z, int64_t *sums) noexcept nogil:
        """Give a row a label, and the change to the sums; whether it is another one."""
        cdef const float *x = self.x + i * self.n_features
        cdef int32_t old = self.label[i]
        cdef double c
        if old == z:
            return False
        self.label[i] = z
        c = self.weight_of(i)
        if c != 0.0:
            if old >= 0:
                tally(
                    sums + <int64_t> old * self.width, x, -c, self.n_features,
                    self.layout, &self.units,
                )
            tally(
                sums + <int64_t> z * self.width, x, c, self.n_features, self.layout,
                &self.units,
            )
        return True

    def sums_of(self, int n_components):
        """Sums of all labelled rows by component, counted anew, ndarray of int64."""
        out = np.zeros((n_components, self.width), dtype=np.int64)
        cdef int64_t[:, ::1] sums = out
        cdef int64_t i
        with nogil:
            for i in range(self.n_rows):
                if self.label[i] >= 0 and self.weight_of(i) != 0.0:
                    tally(
                        &sums[self.label[i], 0], self.x + i * self.n_features,
                        self.weight_of(i), self.n_features, self.layout, &self.units,
                    )
        return out

    def fresh_sums(self, Scores scores, int n_threads):
        """Room for the changes of a sweep, one set for each thread."""
        return np.zeros((n_threads, scores.n_components, self.width), dtype=np.int64)

    # ------------------------------------------------------------ exact sweeps
    def esca(self, Scores scores, CounterSource source, int64_t time, int n_threads):
        """Draw the label of every row from its exact posterior.

        Returns
        -------
        change : ndarray of int64 of shape (n_components, width)
            Of the sums.
        log_likelihood : float
            Sum over rows, by their weights, under the parameters given.
        n_changed : int
        """
        cdef int64_t u, n_units = (self.n_rows + BLOCK - 1) // BLOCK
        cdef int64_t room = scores.room(BLOCK, 0)
        sums = self.fresh_sums(scores, n_threads)
        cdef int64_t[:, :, ::1] change = sums
        cdef float[:, ::1] scratch = np.empty((n_threads, room), dtype=np.float32)
        cdef float[:, ::1] table = np.empty(
            (n_threads, <int64_t> BLOCK * scores.padded), dtype=np.float32
        )
        cdef double[:, ::1] part = np.empty((n_threads, scores.padded // PART + 1))
        fit, moved = np.zeros(n_units), np.zeros(n_units, dtype=np.int64)
        cdef double[::1] likelihood = fit
        cdef int64_t[::1] changed = moved
        cdef int k
        for u in prange(n_units, nogil=True, num_threads=team(n_threads), schedule="dynamic"):
            k = thread_number()
            changed[u] = self.esca_block(
                scores, source, time, u * BLOCK, min(self.n_rows, (u + 1) * BLOCK),
                &scratch[k, 0], &table[k, 0], &part[k, 0], &change[k, 0, 0],
                &likelihood[u],
            )
        return sums.sum(axis=0), float(fit.sum()), int(moved.sum())

    cdef int64_t esca_block(
        self, Scores scores, CounterSource source, int64_t time, int64_t first,
        int64_t last, float *scratch, float *table, double *part, int64_t *sums,
        double *likelihood,
    ) noexcept nogil:
        cdef int64_t i, n_changed = 0
        cdef int m = scores.n_components
        cdef float *e = table
        cdef float top
        cdef double total
        cdef RandomStream s
        scores.all(
            self.x + first * self.n_features, <int> (last - first), scratch, table
        )
        for i in range(first, last):
            top = soften(e, scores.padded, part)
            total = total_of(part, scores.padded)
            likelihood[0] += self.weight_of(i) * (top + log(total) + self.log_base_of(i))
            s = source.open(time, <int32_t> self.ids[i], LABELLING)
            n_changed += self.relabel(i, pick(e, part, m, s.uniform(&s) * total), sums)
            e += scores.padded
        return n_changed

    # ------------------------------------------------------------ groups and lists
    def group(self, const int64_t[::1] begin, const float[:, ::1] origin):
        """Part the rows into groups of neighbours, with empty lists.

        Parameters
        ----------
        begin : ndarray of int64 of shape (n_groups + 1,)
            First rows; the last entry is the number of rows.
        origin : ndarray of float32 of shape (n_groups, n_features)
            A point near the rows of each.
        """
        self.forget_groups()
        self.n_groups = begin.shape[0] - 1
        self.begin, self.origin = &begin[0], &origin[0, 0]
        self.keep = (*self.keep[:5], begin, origin)
        self.listed = <int32_t **> calloc(self.n_groups, sizeof(int32_t *))
        self.length = <int32_t *> calloc(self.n_groups, sizeof(int32_t))
        self.capacity = <int32_t *> calloc(self.n_groups, sizeof(int32_t))
        if self.listed == NULL or self.length == NULL or self.capacity == NULL:
            self.forget_groups()
            self.n_groups = 0
            raise MemoryError()

    cdef int store(self, int64_t g, const int32_t *ids, int32_t k) noexcept nogil:
        """Make ids the list of a group; -1 where there is no memory."""
        cdef void *room
        if k > self.capacity[g]:
            room = realloc(self.listed[g], k * sizeof(int32_t))
            if room == NULL:
                return -1
            self.listed[g], self.capacity[g] = <int32_t *> room, k
        memcpy(self.listed[g], ids, k * sizeof(int32_t))
        self.length[g] = k
        return 0

    @property
    def list_lengths(self):
        """Candidates of each group, ndarray of int32 of shape (n_groups,)."""
        out = np.zeros(self.n_groups, dtype=np.int32)
        cdef int64_t g
        for g in range(self.n_groups):
            out[g] = self.length[g]
        return out

    def lists(self):
        """All lists, one after another, ndarray of int32."""
        out = np.empty(int(self.list_lengths.sum()), dtype=np.int32)
        cdef int32_t[::1] view = out
        cdef int64_t g, at = 0
        for g in range(self.n_groups):
            if self.length[g]:
                memcpy(&view[at], self.listed[g], self.length[g] * sizeof(int32_t))
            at += self.length[g]
        return out

    def take_lists(self, const int32_t[::1] length, const int32_t[::1] ids):
        """Set the state from `list_lengths` and `lists`."""
        cdef int64_t g, at = 0
        for g in range(self.n_groups):
            if length[g] and self.store(g, &ids[at], length[g]) < 0:
                raise MemoryError()
            at += length[g]

    def memory_usage(self):
        """Bytes of the lists."""
        return int(self.n_groups * 16 + 4 * self.list_lengths.sum())

    def canopy2(
        self, Scores scores, CounterSource source, int64_t time,
        const uint8_t[::1] refreshed, options, int n_threads,
    ):
        """A sweep in which most groups look at their candidates alone.

        Parameters
        ----------
        scores : Scores
        source : CounterSource
        time : int
        refreshed : ndarray of uint8 of shape (n_groups,)
            Groups whose rows get exact labels, and which get new lists.
        options : tuple
            (loss, row_loss, explore, most, steps), as in ``Listing``.
        n_threads : int

        Returns
        -------
        change : ndarray of int64 of shape (n_components, width)
        log_likelihood : float
            Sum over the rows of refreshed groups, by their weights.
        weight : float
            Of these rows.
        stale : float
            Their exact posterior mass outside of the lists they had.
        n_changed : int
        n_proposed, n_accepted : int
            Moves from or to what stands in no list.
        """
        cdef Listing ask
        ask.loss, ask.row_loss, ask.explore, ask.most, ask.steps = options
        ask.most = min(ask.most, scores.n_components)
        whole = np.asarray(refreshed).astype(bool)
        begin = np.asarray(self.keep[5])
        fresh, fresh_units = in_units(np.flatnonzero(whole), begin)
        rest, rest_units = in_units(np.flatnonzero(~whole), begin)
        cdef const int64_t[::1] groups = np.concatenate([fresh, rest])
        cdef const int64_t[::1] borders = np.concatenate(
            [fresh_units[:-1], len(fresh) + rest_units]
        )
        cdef int64_t u, n_fresh = len(fresh_units) - 1, n_units = len(borders) - 1
        cdef int64_t rows = BLOCK + int(np.diff(begin).max()), stride = scores.padded
        cdef int m = scores.n_components
        sums = self.fresh_sums(scores, n_threads)
        cdef int64_t[:, :, ::1] change = sums
        cdef int64_t need = max(scores.room(<int> rows, 0), scores.room(<int> rows, ask.most))
        cdef float[:, ::1] scratch = np.empty(
            (n_threads, need + rows * self.n_features + stride), dtype=np.float32
        )
        cdef float[:, ::1] table = np.empty((n_threads, rows * stride), dtype=np.float32)
        cdef double[:, ::1] part = np.empty((n_threads, stride // PART + 1 + rows))
        ranks = np.empty((n_threads, m), dtype=[("share", np.float32), ("z", np.int32)])
        cdef Ranked[:, ::1] ranked = ranks
        cdef int32_t[:, ::1] ids = np.empty((n_threads, stride), dtype=np.int32)
        cdef uint8_t[:, ::1] mark = np.zeros((n_threads, m), dtype=np.uint8)
        fit, tallies = np.zeros((n_units, 3)), np.zeros((n_units, 4), dtype=np.int64)
        cdef double[:, ::1] likelihood = fit
        cdef int64_t[:, ::1] counts = tallies
        cdef int k
        for u in prange(n_units, nogil=True, num_threads=team(n_threads), schedule="dynamic"):
            k = thread_number()
            if u < n_fresh:
                self.refresh_unit(
                    scores, source, time, &ask, &groups[borders[u]],
                    borders[u + 1] - borders[u], &scratch[k, 0], &table[k, 0],
                    &part[k, 0], &ranked[k, 0], &ids[k, 0], &mark[k, 0],
                    &change[k, 0, 0], &likelihood[u, 0], &counts[u, 0],
                )
            else:
                self.listed_unit(
                    scores, source, time, &ask, &groups[borders[u]],
                    borders[u + 1] - borders[u], &scratch[k, 0], &table[k, 0],
                    &part[k, 0], &change[k, 0, 0], &counts[u, 0],
                )
        if tallies[:, 3].any():
            raise MemoryError()
        fitted, weight, stale = fit.sum(axis=0)
        n_changed, proposed, accepted = (int(v) for v in tallies[:, :3].sum(axis=0))
        return (
            sums.sum(axis=0), float(fitted), float(weight), float(stale), n_changed,
            proposed, accepted,
        )

    cdef void refresh_unit(
        self, Scores scores, CounterSource source, int64_t time, const Listing *ask,
        const int64_t *groups, int64_t n_groups, float *scratch, float *table,
        double *part, Ranked *ranked, int32_t *ids, uint8_t *mark, int64_t *sums,
        double *likelihood, int64_t *counts,
    ) noexcept nogil:
        """Exact labels and new lists for some groups."""
        cdef int d = self.n_features, m = scores.n_components, stride = scores.padded
        cdef int n = 0, size, r, a, k, z
        cdef int64_t q, g, i
        cdef float *share = scratch             # of the group, by component
        cdef float *packed = scratch + stride
        cdef float *e
        cdef float top, f
        cdef double *total = part + stride // PART + 1      # of each row
        cdef double c, mass, inside
        cdef RandomStream s
        for q in range(n_groups):               # rows of all groups, one block
            g = groups[q]
            size = <int> (self.begin[g + 1] - self.begin[g])
            memcpy(
                packed + <int64_t> n * d, self.x + self.begin[g] * d,
                size * d * sizeof(float),
            )
            n += size
        scores.all(packed, n, packed + <int64_t> n * d, table)
        e = table
        for q in range(n_groups):
            g = groups[q]
            size = <int> (self.begin[g + 1] - self.begin[g])
            memset(share, 0, stride * sizeof(float))
            mass = 0.0
            for r in range(size):
                i = self.begin[g] + r
                top = soften(e + <int64_t> r * stride, stride, part)
                total[r] = total_of(part, stride)
                c = self.weight_of(i)
                mass += c
                likelihood[0] += c * (top + log(total[r]) + self.log_base_of(i))
                f = <float> (c / total[r])
                add_shares(share, f, e + <int64_t> r * stride, stride)
                inside = 0.0
                for a in range(self.length[g]):
                    inside += e[<int64_t> r * stride + self.listed[g][a]]
                if self.length[g]:
                    likelihood[2] += c * max(0.0, 1.0 - inside / total[r])
                else:
                    likelihood[2] += c
                s = source.open(time, <int32_t> self.ids[i], LABELLING)
                z = pick(
                    e + <int64_t> r * stride, part, m, s.uniform(&s) * total[r]
                )
                counts[0] += self.relabel(i, z, sums)
            likelihood[1] += mass
            k = choose_list(
                ask, share, mass, e, total, size, m, stride, ranked, ids, mark
            )
            if self.store(g, ids, k) < 0:
                counts[3] += 1
            e += <int64_t> size * stride

    cdef void listed_unit(
        self, Scores scores, CounterSource source, int64_t time, const Listing *ask,
        const int64_t *groups, int64_t n_groups, float *scratch, float *table,
        double *part, int64_t *sums, int64_t *counts,
    ) noexcept nogil:
        """Labels among the candidates of each group, and now and then outside."""
        cdef int64_t q, g, i
        cdef int k, stride, step
        cdef float *e
        cdef float top
        cdef double total
        cdef RandomStream s
        for q in range(n_groups):
            g = groups[q]
            k = self.length[g]
            stride = rounded_up(k)
            scores.listed(
                self.x + self.begin[g] * self.n_features,
                <int> (self.begin[g + 1] - self.begin[g]),
                self.origin + g * self.n_features, self.listed[g], k, scratch, table,
            )
            e = table
            for i in range(self.begin[g], self.begin[g + 1]):
                top = soften(e, stride, part)
                total = total_of(part, stride)
                s = source.open(time, <int32_t> self.ids[i], LABELLING)
                for step in range(ask.steps):
                    self.transition(
                        scores, i, self.listed[g], k, e, part, top, total, ask.explore,
                        &s, sums, counts,
                    )
                e += stride

    cdef void transition(
        self, Scores scores, int64_t i, const int32_t *ids, int k, const float *e,
        const double *part, float top, double total, double explore, RandomStream *s,
        int64_t *sums, int64_t *counts,
    ) noexcept nogil:
        """One Metropolis-Hastings step of a row with a list of candidates.

        The proposal is exact on the list and uniform, with mass `explore`, outside; the
        posterior is invariant under it for every list.
        """
        cdef int m = scores.n_components
        cdef int32_t z = self.label[i], new
        cdef int a, place = place_in(ids, k, z)
        cdef double even = explore * total / (m - k) if k < m else 0.0
        cdef double target, ratio, current
        cdef const float *x = self.x + i * self.n_features
        target = s.uniform(s) * total * (1.0 + (explore if k < m else 0.0))
        if target < total:
            new = ids[pick(e, part, k, target)]
            if place >= 0:
                counts[0] += self.relabel(i, new, sums)
                return
            current = exp(scores.one(x, z) - top)
            ratio = even / current if current > 0.0 else 1.0
        else:
            new = min(<int32_t> (s.uniform(s) * (m - k)), m - k - 1)
            for a in range(k):          # the new-th of those that are not in the list
                if ids[a] > new:
                    break
                new += 1
            ratio = exp(scores.one(x, new) - top)
            if place >= 0:
                ratio = ratio / even
            else:
                current = exp(scores.one(x, z) - top)
                ratio = ratio / current if current > 0.0 else 1.0
        counts[1] += 1
        if ratio >= 1.0 or s.uniform(s) < ratio:
            counts[2] += 1
            counts[0] += self.relabel(i, new, sums)

    # ------------------------------------------------------------ one proposal a group
    def canopy1(
        self, Scores scores, CounterSource source, int64_t time, int steps,
        int n_threads,
    ):
        """A sweep in which the rows of a group take proposals from its one point.

        Returns
        -------
        change : ndarray of int64 of shape (n_components, width)
        n_changed, n_proposed, n_accepted : int
        """
        cdef int64_t u, n_units = (self.n_groups + BLOCK - 1) // BLOCK
        cdef int m = scores.n_components, k
        sums = self.fresh_sums(scores, n_threads)
        cdef int64_t[:, :, ::1] change = sums
        cdef float[:, ::1] scratch = np.empty(
            (n_threads, max(1, scores.room(BLOCK, 0))), dtype=np.float32
        )
        cdef float[:, ::1] table = np.empty(
            (n_threads, <int64_t> BLOCK * scores.padded), dtype=np.float32
        )
        cdef double[:, ::1] share = np.empty((n_threads, scores.padded))
        cdef uint32_t[:, ::1] threshold = np.empty((n_threads, m), dtype=np.uint32)
        cdef int32_t[:, ::1] alias = np.empty((n_threads, m), dtype=np.int32)
        cdef int32_t[:, ::1] order = np.empty((n_threads, m), dtype=np.int32)
        tallies = np.zeros((n_units, 3), dtype=np.int64)
        cdef int64_t[:, ::1] counts = tallies
        for u in prange(n_units, nogil=True, num_threads=team(n_threads), schedule="dynamic"):
            k = thread_number()
            self.alias_unit(
                scores, source, time, steps, u * BLOCK,
                min(self.n_groups, (u + 1) * BLOCK), &scratch[k, 0], &table[k, 0],
                &share[k, 0], &threshold[k, 0], &alias[k, 0], &order[k, 0],
                &change[k, 0, 0], &counts[u, 0],
            )
        return (sums.sum(axis=0), *(int(v) for v in tallies.sum(axis=0)))

    cdef void alias_unit(
        self, Scores scores, CounterSource source, int64_t time, int steps,
        int64_t first, int64_t last, float *scratch, float *table, double *share,
        uint32_t *threshold, int32_t *alias, int32_t *order, int64_t *sums,
        int64_t *counts,
    ) noexcept nogil:
        cdef int64_t g, i
        cdef int m = scores.n_components, step
        cdef int32_t z, new
        cdef float *e = table
        cdef double here, there, u
        cdef const float *x
        cdef RandomStream s
        scores.all(
            self.origin + first * self.n_features, <int> (last - first), scratch, table
        )
        for g in range(first, last):
            soften(e, scores.padded, share)
            alias_build(e, m, threshold, alias, order, share)
            for i in range(self.begin[g], self.begin[g + 1]):
                x = self.x + i * self.n_features
                s = source.open(time, <int32_t> self.ids[i], LABELLING)
                z = self.label[i]
                here = 0.0 if z < 0 else scores.one(x, z) - log(e[z])
                for step in range(steps):
                    u = s.uniform(&s)
                    new = alias_pick(threshold, alias, m, u, s.uniform(&s))
                    there = scores.one(x, new) - log(e[new])
                    counts[1] += 1
                    if z < 0 or there >= here or s.uniform(&s) < exp(there - here):
                        z, here = new, there
                        counts[2] += 1
                counts[0] += self.relabel(i, z, sums)
            e += scores.padded


def in_units(groups, begin):
    """Groups, and borders of runs of them of about BLOCK rows."""
    sizes = begin[groups + 1] - begin[groups]
    run = (np.cumsum(sizes) - sizes) // BLOCK
    borders = [[0], np.flatnonzero(np.diff(run)) + 1, [len(groups)] if len(groups) else []]
    return groups.astype(np.int64), np.concatenate(borders).astype(np.int64)
