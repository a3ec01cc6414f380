"""Answers at rows that miss values: mixtures over the leaves that they may lie in."""
import numpy as np

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from dyntree._core.memory cimport resize
from dyntree._core.trees.gap_filler cimport MOST_WAYS, GapFiller
from dyntree._core.trees.gap_walk cimport MOST_LEAVES, GapWalk, has_gap
from dyntree._core.trees.leaf cimport LEAST_DF, LeafModel
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.types cimport handle_t


cdef object rows_with_gaps(Particles c, const double[:, ::1] rows):
    cdef Py_ssize_t j
    cdef bint any_gap = False
    if not c.numerics.integrates:
        return None
    for j in range(rows.shape[0]):
        if has_gap(&rows[j, 0], c.pool.n_features):
            any_gap = True
            break
    return np.isnan(rows).any(axis=1) if any_gap else None


cdef class RowLeaves:
    """The leaves of a cloud that a row may lie in, and their shares of each particle.

    Parameters
    ----------
    c : Particles
    """

    cdef Particles c
    cdef GapWalk walk
    cdef int32_t[::1] marks         # (leaves,) place of a leaf in `leaves`, from 1 on
    cdef int64_t room
    cdef handle_t *leaves           # (n,) distinct ones, as particles come to them
    cdef double *totals             # (n,) of the shares, over particles
    cdef int32_t n
    # particle i has the leaves at[k] with shares[k], start[i] <= k < start[i + 1]
    cdef int64_t[::1] start
    cdef int32_t *at
    cdef double *shares
    cdef double[::1] out            # of LeafModel.predict

    def __init__(self, Particles c):
        self.c = c
        self.out = np.empty(c.leaf_model.n_out)
        self.walk = GapWalk(c.arena)
        self.marks = np.zeros(c.arena.leaf_capacity(), dtype=np.int32)
        self.start = np.zeros(c.n_particles + 1, dtype=np.int64)

    def __dealloc__(self):
        free(self.leaves)
        free(self.totals)
        free(self.at)
        free(self.shares)

    cdef int load(self, const double *x) except -1:
        """Find the leaves of row x."""
        cdef int32_t i, k, place
        cdef int64_t n = 0
        cdef handle_t h
        for k in range(self.n):
            self.marks[-self.leaves[k]] = 0
        self.n = 0
        for i in range(self.c.n_particles):
            if n + MOST_LEAVES > self.room:
                self.reserve(2 * n + 16 * MOST_LEAVES)
            if i == 0 or self.c.roots[i] != self.c.roots[i - 1]:
                self.walk.find(self.c.roots[i], x)
            for k in range(self.walk.n):
                h = self.walk.leaves[k]
                place = self.marks[-h] - 1
                if place < 0:
                    place = self.n
                    self.leaves[place] = h
                    self.totals[place] = 0.0
                    self.n += 1
                    self.marks[-h] = self.n
                self.at[n] = place
                self.shares[n] = self.walk.shares[k]
                self.totals[place] += self.walk.shares[k]
                n += 1
            self.start[i + 1] = n
        return 0

    cdef int reserve(self, int64_t room) except -1:
        resize(<void **> &self.leaves, room, sizeof(handle_t))
        resize(<void **> &self.totals, room, sizeof(double))
        resize(<void **> &self.at, room, sizeof(int32_t))
        resize(<void **> &self.shares, room, sizeof(double))
        self.room = room
        return 0

    cdef const Leaf *leaf(self, int32_t place) noexcept nogil:
        return self.c.arena.leaf(self.leaves[place])

    cdef object predictions(self, const double *x):
        """What the leaves predict, over what row x may have in the place of gaps.

        Returns
        -------
        places : ndarray of int32 of shape (n_laws,)
            Leaf of each law.
        shares : ndarray of shape (n_laws,)
            Its share in the leaf.
        laws : ndarray of shape (n_laws, 4)
            Location, scale, df and the scale of the mean.
        """
        cdef GapFiller filler = self.c.filler
        cdef int32_t i, k
        cdef int64_t most = self.n * <int64_t> (1 if filler is None else MOST_WAYS)
        places, shares = np.empty(most, dtype=np.int32), np.ones(most)
        laws = np.empty((most, 4))
        cdef int32_t[::1] place = places
        cdef double[::1] share = shares
        cdef double[:, ::1] law = laws
        cdef int64_t n = 0
        for i in range(self.n):
            if filler is None:
                place[n] = i
                self.write_law(i, x, &law[n, 0])
                n += 1
                continue
            for k in range(filler.begin(self.leaf(i), x, self.c.pool.seen)):
                if filler.shares[k] > 0.0:
                    place[n], share[n] = i, filler.shares[k]
                    self.write_law(i, filler.way(k), &law[n, 0])
                    n += 1
            filler.end()
        return places[:n].copy(), shares[:n].copy(), laws[:n].copy()

    cdef void write_law(self, int32_t place, const double *x, double *law) noexcept:
        """Location, scale, df and the scale of the mean in one leaf."""
        cdef LeafModel model = self.c.leaf_model
        cdef const Leaf *leaf = self.leaf(place)
        cdef double noise = model.noise * model.sum_squares(leaf) / model.df(leaf)
        cdef double *out = &self.out[0]
        model.predict(leaf, x, out)
        law[0], law[1], law[2] = out[0], out[1], out[2]
        law[3] = sqrt(max(out[1] * out[1] - noise, 0.0))

    cdef object shares_of(self):
        """Average share of each leaf over particles, shape (n,)."""
        shares = np.empty(self.n)
        cdef double[::1] out = shares
        cdef int32_t k
        for k in range(self.n):
            out[k] = self.totals[k] / self.c.n_particles
        return shares

    cdef object by_particle(self):
        """Shares of the leaves of each particle, shape (n_particles, n)."""
        table = np.zeros((self.c.n_particles, self.n))
        cdef double[:, ::1] out = table
        cdef int32_t i
        cdef int64_t k
        for i in range(self.c.n_particles):
            for k in range(self.start[i], self.start[i + 1]):
                out[i, self.at[k]] = self.shares[k]
        return table

    cdef object probabilities(self, const double *x):
        """Probabilities of the classes in each leaf, shape (n, n_classes).

        They are over what row x may have in the place of gaps.
        """
        cdef LeafModel model = self.c.leaf_model
        cdef GapFiller filler = self.c.filler
        cdef int32_t i, k, label
        proba = np.zeros((self.n, model.n_classes))
        cdef double[:, ::1] out = proba
        cdef double[::1] on_way = np.empty(model.n_classes)
        for i in range(self.n):
            if filler is None:
                model.add_proba(self.leaf(i), x, &out[i, 0], &self.out[0])
                continue
            for k in range(filler.begin(self.leaf(i), x, self.c.pool.seen)):
                on_way[:] = 0.0
                model.add_proba(self.leaf(i), filler.way(k), &on_way[0], &self.out[0])
                for label in range(model.n_classes):
                    out[i, label] += filler.shares[k] * on_way[label]
            filler.end()
        return proba


cdef object mixture_over(Particles c, const double[:, ::1] rows):
    cdef RowLeaves found = RowLeaves(c)
    cdef Py_ssize_t j
    start = np.zeros(rows.shape[0] + 1, dtype=np.int64)
    weights, parts = [], []
    for j in range(rows.shape[0]):
        found.load(&rows[j, 0])
        places, shares, laws = found.predictions(&rows[j, 0])
        start[j + 1] = start[j] + len(laws)
        weights.append(found.shares_of()[places] * shares)
        parts.append(laws)
    columns = np.concatenate(parts).T.copy()
    return start, np.concatenate(weights), *columns


cdef object classes_over(Particles c, const double[:, ::1] rows):
    cdef RowLeaves found = RowLeaves(c)
    cdef int32_t n = c.leaf_model.n_classes, i, label
    cdef int64_t k
    cdef Py_ssize_t j
    cdef double p
    table = np.zeros((rows.shape[0], n + 1))
    cdef double[:, ::1] out = table
    cdef double[::1] own = np.empty(n)
    cdef double[:, ::1] proba
    for j in range(rows.shape[0]):
        found.load(&rows[j, 0])
        proba = found.probabilities(&rows[j, 0])
        for i in range(c.n_particles):
            own[:] = 0.0
            for k in range(found.start[i], found.start[i + 1]):
                for label in range(n):
                    own[label] += found.shares[k] * proba[found.at[k], label]
            for label in range(n):
                p = own[label]
                out[j, label] += p
                out[j, n] -= p * log(p)
    table /= c.n_particles
    return table


cdef object coefficients_over(Particles c, const double[:, ::1] rows, int width):
    cdef RowLeaves found = RowLeaves(c)
    cdef Py_ssize_t j
    cdef int32_t k
    cdef double[:, ::1] own
    table = np.empty((rows.shape[0], width))
    for j in range(rows.shape[0]):
        found.load(&rows[j, 0])
        each = np.empty((found.n, width))
        own = each
        for k in range(found.n):
            c.leaf_model.coefficients(found.leaf(k), &own[k, 0])
        table[j] = found.shares_of() @ each
    return table


cdef object predictive_over(Particles c, const double[:, ::1] rows):
    cdef RowLeaves found = RowLeaves(c)
    cdef Py_ssize_t j
    table = np.empty((3, c.n_particles, rows.shape[0]))
    for j in range(rows.shape[0]):
        found.load(&rows[j, 0])
        places, own, laws = found.predictions(&rows[j, 0])
        location, scale, df, _ = laws.T
        shares = found.by_particle()[:, places] * own
        if c.leaf_model.is_count:       # the parameters of one law, of the same mean
            table[:, :, j] = shares @ location, shares @ scale, shares @ df
            continue
        table[:, :, j] = one_law(shares, location, scale, df)
    return table[0], table[1], table[2]


cdef object one_law(shares, location, scale, df):
    """A Student t with the moments of each mixture; of one leaf its own, to the bit."""
    mean, own = shares @ location, shares @ df
    least = np.maximum(df, LEAST_DF)
    square = scale**2 * least / (least - 2.0) + location**2
    variance = np.maximum(shares @ square - mean * mean, 0.0)
    least = np.maximum(own, LEAST_DF)
    sd = np.sqrt(variance * (least - 2.0) / least)
    alone = (shares == 1.0).any(axis=1)
    return mean, np.where(alone, shares @ scale, sd), own


cdef object probabilities_over(Particles c, int k, const double[:, ::1] rows):
    cdef RowLeaves found = RowLeaves(c)
    cdef Py_ssize_t j
    table = np.empty((c.n_particles, rows.shape[0]))
    for j in range(rows.shape[0]):
        found.load(&rows[j, 0])
        table[:, j] = found.by_particle() @ found.probabilities(&rows[j, 0])[:, k]
    return table
