"""Spheres: clusters of DP-means (Kulis and Jordan 2012), learned a row at a time."""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.clusters cimport Clusters
from dyntree._core.openmp cimport team, thread_number

cdef extern from *:
    """
    #include <stdint.h>
    typedef double Two __attribute__((vector_size(16), aligned(8), may_alias));
    #define AT(p) (*(const Two *) (p))
    #define PUT(p) (*(Two *) (p))

    /* out[k] = sum over j of (x[j] - mean[j][k])^2 for k < n; each lane has the bits
       that a double alone would have. mean has rows of `width`, a multiple of 8. */
    static inline void sphere_distances(const double *mean, int width, int n,
                                        const double *x, int d, double *out) {
        int k = 0, j;
        for (; k + 4 < n; k += 8) {
            Two a = {0.0, 0.0}, b = a, c = a, e = a, v, s;
            const double *m = mean + k;
            for (j = 0; j < d; j++, m += width) {
                v = (Two) {x[j], x[j]};
                s = v - AT(m);
                a += s * s;
                s = v - AT(m + 2);
                b += s * s;
                s = v - AT(m + 4);
                c += s * s;
                s = v - AT(m + 6);
                e += s * s;
            }
            PUT(out + k) = a;
            PUT(out + k + 2) = b;
            PUT(out + k + 4) = c;
            PUT(out + k + 6) = e;
        }
        if (k < n) {
            Two a = {0.0, 0.0}, b = a, v, s;
            const double *m = mean + k;
            for (j = 0; j < d; j++, m += width) {
                v = (Two) {x[j], x[j]};
                s = v - AT(m);
                a += s * s;
                s = v - AT(m + 2);
                b += s * s;
            }
            PUT(out + k) = a;
            PUT(out + k + 2) = b;
        }
    }
    """
    void sphere_distances(
        const double *mean, int width, int n, const double *x, int d, double *out
    ) noexcept nogil

cdef enum:
    BLOCK = 2048                # rows that a thread takes at a time


cdef class Spheres(Clusters):
    """Clusters that are a mean; parameters are those of `Clusters`."""

    cdef void grow(self, int32_t capacity):
        old = self.store.get("mean")
        self.width = (capacity + 15) // 8 * 8
        Clusters.grow(self, capacity)
        mean = np.zeros((self.n_features, self.width))
        if old is not None:
            n = min(old.shape[1], self.width)
            mean[:, :n] = old[:, :n]
        self.store["mean"] = mean
        self.store["step"] = np.zeros(self.n_features)
        cdef double[::1] f = self.store["step"]
        self.step = &f[0]
        cdef double[:, ::1] m = mean
        self.mean = &m[0, 0]

    cdef void distances(self, const double *x, double *out, bint all) noexcept nogil:
        sphere_distances(self.mean, self.width, self.n, x, self.n_features, out)

    cdef void begin(self, int32_t k, const double *x) noexcept nogil:
        cdef int32_t j
        for j in range(self.n_features):
            self.mean[j * self.width + k] = x[j]

    cdef void absorb(self, int32_t k, const double *x) noexcept nogil:
        cdef int32_t j
        cdef double w = self.weight[k], part = 1.0 / (w + 1.0), step, total = 0.0
        cdef double *m = self.mean + k
        for j in range(self.n_features):
            step = x[j] - m[0]
            self.step[j] = step
            total += step * step
            m[0] += step * part
            m += self.width
        self.add_squares(k, w * part, self.step)
        self.scatter[k] += w * part * total

    cdef double pair_distance(self, int32_t a, int32_t b) noexcept nogil:
        cdef int32_t j
        cdef double total = 0.0, step
        cdef const double *m = self.mean
        for j in range(self.n_features):
            step = m[a] - m[b]
            total += step * step
            m += self.width
        return total

    cdef double pair_score(self, int32_t a, int32_t b) noexcept nogil:
        """Squared distance, or what a merge would add to the scatter (Ward 1963)."""
        cdef double part = 1.0
        if self.by_objective:
            part = self.weight[a] * self.weight[b] / (self.weight[a] + self.weight[b])
        return part * self.pair_distance(a, b)

    cdef void join(self, int32_t k, int32_t other) noexcept nogil:
        cdef int32_t j
        cdef double part = self.weight[other] / (self.weight[k] + self.weight[other])
        cdef double *m = self.mean
        for j in range(self.n_features):
            self.step[j] = m[other] - m[k]
            m += self.width
        m = self.mean
        self.join_squares(k, other, self.weight[k] * part, self.step)
        self.scatter[k] += (
            self.scatter[other] + self.weight[k] * part * self.pair_distance(k, other)
        )
        for j in range(self.n_features):
            m[k] += part * (m[other] - m[k])
            m += self.width

    cdef void move(self, int32_t k, int32_t source) noexcept nogil:
        cdef int32_t j
        Clusters.move(self, k, source)
        for j in range(self.n_features):
            self.mean[j * self.width + k] = self.mean[j * self.width + source]

    def means(self):
        """Means of the clusters, ndarray of shape (n, n_features)."""
        return np.ascontiguousarray(self.store["mean"][:, :self.n].T)

    def assign(self, const double[:, ::1] X, const int64_t[::1] places, int n_threads):
        """The nearest of some clusters.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        places : ndarray of int64 of shape (n_places,)
            Clusters that count, one at least.
        n_threads : int

        Returns
        -------
        nearest : ndarray of int64 of shape (n_rows,)
            Index into `places`.
        distance : ndarray of shape (n_rows,)
            Squared.
        """
        cdef int64_t n_rows = X.shape[0], block
        cdef int64_t n_blocks = (n_rows + BLOCK - 1) // BLOCK
        cdef int n = <int> places.shape[0], width = (n + 15) // 8 * 8
        some = np.zeros((self.n_features, width))
        some[:, :n] = self.store["mean"][:, np.asarray(places)]
        nearest, distance = np.empty(n_rows, np.int64), np.empty(n_rows)
        room = np.empty((max(n_threads, 1), width))
        cdef const double[:, ::1] mean = some
        cdef int64_t[::1] where = nearest
        cdef double[::1] least = distance
        cdef double[:, ::1] cost = room
        if not n_rows:
            return nearest, distance
        for block in prange(n_blocks, nogil=True, num_threads=team(n_threads)):
            assign_block(
                &X[0, 0], block * BLOCK, min(n_rows, (block + 1) * BLOCK),
                self.n_features, &mean[0, 0], width, n, &cost[thread_number(), 0],
                &where[0], &least[0],
            )
        return nearest, distance

    def to_arrays(self):
        """Arrays of all clusters, by name."""
        return Clusters.to_arrays(self) | {"mean": self.means()}

    def take(self, arrays):
        """Set the state from the arrays of `to_arrays`, which have been checked."""
        Clusters.take(self, arrays)
        self.store["mean"][:, :self.n] = arrays["mean"].T


cdef void assign_block(
    const double *X, int64_t first, int64_t last, int d, const double *mean, int width,
    int n, double *cost, int64_t *where, double *least,
) noexcept nogil:
    """Nearest means of rows first to last."""
    cdef int64_t t
    cdef int k, best
    cdef double low
    for t in range(first, last):
        sphere_distances(mean, width, n, X + t * d, d, cost)
        best, low = 0, INFINITY
        for k in range(n):
            if cost[k] < low:
                low = cost[k]
                best = k
        where[t], least[t] = best, low
