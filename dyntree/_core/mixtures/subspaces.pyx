"""Subspaces: mixtures of probabilistic principal components, learned row by row."""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from dyntree._core.eigen cimport leading_values, squared_singular
from dyntree._core.mixtures.chain cimport Chain
from dyntree._core.mixtures.clusters cimport Clusters
from dyntree._core.mixtures.directions cimport Directions
from dyntree._core.mixtures.watch cimport Watch
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.vectors cimport add_scaled, centred, inner

cdef enum:
    BLOCK = 1024                # rows that a thread takes at a time
cdef double LEAST_ROWS = 20.0  # of a cluster, on average, where merges are judged


cdef class Subspaces(Directions):
    """Clusters with subspaces.

    Parameters
    ----------
    n_features, radius, check_every, min_weight, patience, forget, max_clusters, chain, watch
        As in `Clusters`.
    reach : float
        Gated distance below which two clusters may merge.
    gate : int
        PPCA (0), BANDWIDTH (1) or NONE (2).
    bandwidth : float
        Of the gate of that name.
    variance, lambda_1, max_dim, spare, exact
        As in `Directions`.
    """

    def __init__(
        self, int32_t n_features, double radius, int64_t check_every,
        double min_weight, int64_t patience, double forget, int32_t max_clusters,
        double reach, double variance, double lambda_1, int gate, double bandwidth,
        int32_t max_dim, int32_t spare, bint exact, Chain chain=None, Watch watch=None,
    ):
        self.reach = reach
        self.gate = gate
        self.bandwidth = bandwidth
        Directions.__init__(
            self, n_features, radius, check_every, min_weight, patience, forget,
            max_clusters, variance, lambda_1, max_dim, spare, exact, chain, watch,
        )

    cdef double gated(self, int32_t k, const double *x, double *y) noexcept nogil:
        """Squared distance of x by the gate; y becomes x - mean."""
        cdef int32_t i, d = self.dim[k], width = self.n_features
        cdef double square = centred(x, self.mean + <int64_t> k * width, y, width)
        cdef double g, rho, part = 0.0
        cdef const double *u = self.basis + <int64_t> k * self.room * width
        cdef const double *gain = self.gain + <int64_t> k * self.room
        if d == 0:
            return square
        if self.gate == PPCA:
            for i in range(d):
                g = inner(u + i * width, y, width)
                part += gain[i] * g * g
            return max(square - part, 0.0)
        for i in range(d):
            g = inner(u + i * width, y, width)
            part += g * g
        rho = 1.0
        if self.gate == BANDWIDTH:
            rho = exp(-square / self.bandwidth)
        return max(square - (2.0 * rho - rho * rho) * part, 0.0)

    cdef void distances(self, const double *x, double *out, bint all) noexcept nogil:
        """A subspace takes away a share of the square that its first gain bounds."""
        cdef int32_t k, i, width = self.n_features
        cdef double square, g, least = INFINITY
        cdef const double *u
        cdef const double *gain
        if all or self.gate != PPCA:
            for k in range(self.n):
                out[k] = self.gated(k, x, self.y)
            return
        for k in range(self.n):
            square = centred(x, self.mean + <int64_t> k * width, self.y, width)
            if self.dim[k] > 0:
                gain = self.gain + <int64_t> k * self.room
                if square * (1.0 - gain[0]) <= least:
                    u = self.basis + <int64_t> k * self.room * width
                    g = 0.0
                    for i in range(self.dim[k]):
                        out[k] = inner(u + i * width, self.y, width)
                        g += gain[i] * out[k] * out[k]
                    square = max(square - g, 0.0)
                else:
                    square *= 1.0 - gain[0]
            out[k] = square
            least = min(least, square)

    cdef double pair_distance(self, int32_t a, int32_t b) noexcept nogil:
        cdef int64_t width = self.n_features
        cdef double there = self.gated(a, self.mean + b * width, self.y)
        return min(there, self.gated(b, self.mean + a * width, self.y))

    cdef double log_likelihood(
        self, double w, const double *eig, int32_t d, double trace
    ) noexcept nogil:
        """Of the rows of a cluster, but for constants."""
        cdef int32_t i
        cdef double left = trace, logs = 0.0
        for i in range(d):
            left -= eig[i]
            logs += log(eig[i])
        return -0.5 * w * (
            logs + (self.n_features - d) * log(self.variance) + d
            + max(left, 0.0) / self.variance
        )

    cdef double n_parameters(self, int32_t d) noexcept nogil:
        return self.n_features + <double> d * (self.n_features - d) + (
            0.5 * d * (d + 1.0)
        )

    cdef int32_t joint_spectrum(self, int32_t a, int32_t b, double square) noexcept nogil:
        """`values` become the spectrum of two clusters together; returns how many.

        It is that of the Gram matrix of their scaled columns, orthogonal within each,
        and of the line `y` between their means, of that square.
        """
        cdef int32_t i, j, width = self.n_features
        cdef int32_t n_a = self.cols[a], n_b = self.cols[b], m = n_a + n_b + 1
        cdef double w = self.weight[a] + self.weight[b]
        cdef double line = sqrt(self.weight[a] * self.weight[b]) / w
        cdef const double *u
        cdef double *row = self.small + (m - 1) * m
        if m > width:
            return self.wide_spectrum(a, b, line)
        memset(self.small, 0, <int64_t> m * m * sizeof(double))
        for i in range(m - 1):
            j = a * self.room + i if i < n_a else b * self.room + i - n_a
            u = self.basis + <int64_t> j * width
            self.coords[i] = sqrt(self.weight[a if i < n_a else b] / w * self.eig[j])
            self.small[i * m + i] = self.coords[i] * self.coords[i]
            row[i] = self.coords[i] * line * inner(u, self.y, width)
            self.small[i * m + m - 1] = row[i]
            for j in range(n_a if i >= n_a else 0):
                self.small[i * m + j] = self.small[j * m + i] = (
                    self.coords[i] * self.coords[j] * inner(
                        u, self.basis + (<int64_t> a * self.room + j) * width, width
                    )
                )
        row[m - 1] = line * line * square
        leading_values(self.small, self.values, self.work, m)
        return m

    cdef int32_t wide_spectrum(self, int32_t a, int32_t b, double line) noexcept nogil:
        """As `joint_spectrum`, of more directions than columns."""
        cdef int32_t i, k, m = 0, turn, width = self.n_features
        cdef double w = self.weight[a] + self.weight[b]
        for turn in range(2):
            k = b if turn else a
            for i in range(self.cols[k]):
                memset(self.wide + m * width, 0, width * sizeof(double))
                add_scaled(
                    self.wide + m * width,
                    sqrt(self.weight[k] / w * self.eig[k * self.room + i]),
                    self.basis + (<int64_t> k * self.room + i) * width, width,
                )
                m += 1
        memset(self.wide + m * width, 0, width * sizeof(double))
        add_scaled(self.wide + m * width, line, self.y, width)
        return squared_singular(
            self.wide, m + 1, width, self.small, self.values, self.work
        )

    cdef double pair_score(self, int32_t a, int32_t b) noexcept nogil:
        """Minus what a merge gains in BIC; inf for clusters that are far apart."""
        cdef int32_t k, d, m, turn, width = self.n_features
        cdef double wa = self.weight[a], wb = self.weight[b], w = wa + wb
        cdef double together, apart, half, more = self.rows_for_one, square
        if not self.pair_distance(a, b) < self.reach:
            return INFINITY
        square = centred(
            self.mean + <int64_t> a * width, self.mean + <int64_t> b * width, self.y,
            width,
        )
        m = self.joint_spectrum(a, b, square)
        d = self.dimension(self.values, m, more * w)
        half = 0.5 * log(more * self.total)
        together = self.log_likelihood(
            more * w, self.values, d,
            (self.scatter[a] + self.scatter[b] + wa * wb / w * square) / w,
        ) - half * self.n_parameters(d)
        apart = -half
        for turn in range(2):
            k = b if turn else a
            apart += (
                self.log_likelihood(
                    more * self.weight[k], self.eig + <int64_t> k * self.room,
                    self.dim[k], self.scatter[k] / self.weight[k],
                )
                + more * self.weight[k] * log(self.weight[k] / w)
                - half * self.n_parameters(self.dim[k])
            )
        return apart - together

    cdef void merge_all(self) noexcept nogil:
        """Where the past fades, a row counts for more than itself.

        Clusters have 1 / ((1 - forget) n_clusters) rows on average then, too few to tell
        even those apart that rows without number have shown to be. So they count for
        twenty a cluster, but for no more than there were. A merge changes neither sum.
        """
        cdef double taken = 0.0
        cdef int32_t k
        self.total = 0.0
        for k in range(self.n):
            self.total += self.weight[k]
            taken += self.rows[k]
        self.rows_for_one = 1.0
        if self.keep < 1.0:
            taken = min(taken, LEAST_ROWS * self.n)
            self.rows_for_one = max(1.0, taken / self.total)
        Clusters.merge_all(self)

    def volumes(self, const int64_t[::1] places):
        """Sum of log(1 + e / variance) of some clusters, ndarray of shape (n_places,)."""
        cdef int32_t i
        cdef int64_t k
        cdef Py_ssize_t p
        out = np.zeros(places.shape[0])
        cdef double[::1] volume = out
        for p in range(places.shape[0]):
            k = places[p]
            for i in range(self.dim[k]):
                volume[p] += log1p(
                    max(self.eig[k * self.room + i] - self.variance, 0.0) / self.variance
                )
        return out

    def mahalanobis(self, const double[:, ::1] X, const int64_t[::1] places):
        """Variance times squared Mahalanobis distances, of shape (n_rows, n_places)."""
        cdef int64_t t
        cdef Py_ssize_t p
        cdef int gate = self.gate
        out = np.empty((X.shape[0], places.shape[0]))
        cdef double[:, ::1] distance = out
        self.gate = PPCA
        with nogil:
            for t in range(X.shape[0]):
                for p in range(places.shape[0]):
                    distance[t, p] = self.gated(<int32_t> places[p], &X[t, 0], self.y)
        self.gate = gate
        return out

    def assign(self, const double[:, ::1] X, const int64_t[::1] places, int n_threads):
        """The most probable of some clusters.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        places : ndarray of int64 of shape (n_places,)
            Clusters that count, one at least.
        n_threads : int

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
            Index into `places`.
        """
        cdef int64_t n_rows = X.shape[0], block, n_blocks = 1 + (n_rows - 1) // BLOCK
        weight = self.array("weight")[np.asarray(places)]
        offsets = self.variance * (
            self.volumes(places) - 2.0 * np.log(weight / weight.sum())
        )
        nearest = np.empty(n_rows, np.int64)
        room = np.empty((max(n_threads, 1), self.n_features + 8))
        cdef const double[::1] offset = offsets
        cdef int64_t[::1] where = nearest
        cdef double[:, ::1] y = room
        if not n_rows:
            return nearest
        for block in prange(n_blocks, nogil=True, num_threads=team(n_threads)):
            assign_block(
                self, &X[0, 0], block * BLOCK, min(n_rows, (block + 1) * BLOCK),
                &places[0], <int> places.shape[0], &offset[0], &y[thread_number(), 0],
                &where[0],
            )
        return nearest


cdef void assign_block(
    Subspaces c, const double *X, int64_t first, int64_t last, const int64_t *places,
    int n, const double *offset, double *y, int64_t *where,
) noexcept nogil:
    """Most probable clusters of rows first to last."""
    cdef int64_t t, k
    cdef int p, i, best, width = c.n_features
    cdef double low, cost, g
    cdef const double *gain
    cdef const double *u
    for t in range(first, last):
        best, low = 0, INFINITY
        for p in range(n):
            k = places[p]
            cost = centred(X + t * width, c.mean + k * width, y, width)
            if c.dim[k] > 0:
                gain = c.gain + k * c.room
                if cost * (1.0 - gain[0]) + offset[p] > low:
                    continue
                u = c.basis + k * c.room * width
                for i in range(c.dim[k]):
                    g = inner(u + i * width, y, width)
                    cost -= gain[i] * g * g
            cost += offset[p]
            if cost < low:
                low = cost
                best = p
        where[t] = best
