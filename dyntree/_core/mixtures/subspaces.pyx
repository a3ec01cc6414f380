"""Subspaces: mixtures of probabilistic principal components, learned row by row."""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dyntree._core.eigen cimport (
    WORK, eigen, leading_values, leading_vectors, squared_singular,
)
from dyntree._core.mixtures.clusters cimport Clusters
from dyntree._core.mixtures.chain cimport Chain
from dyntree._core.mixtures.watch cimport Watch
from dyntree._core.openmp cimport thread_number
from dyntree._core.vectors cimport add_outer_packed, add_scaled, centred, inner

cdef enum:
    FIRST_ROOM = 6
    BLOCK = 1024                # rows that a thread takes at a time
cdef double PARALLEL = 1e-10    # share of a vector below which the rest is rounding
cdef double LEAST_ROWS = 20.0  # of a cluster, on average, where merges are judged


cdef double rows_for_one(Clusters clusters, double n) noexcept nogil:
    """Rows that count for each one not forgotten where merges are judged.

    Where the past fades, clusters have 1 / (forget n_clusters) rows on average, too
    few to tell even those apart that rows without number have shown to be. So they
    count for twenty a cluster, but for no more than there were.
    """
    cdef double taken = 0.0
    cdef int32_t k
    if clusters.keep >= 1.0:
        return 1.0
    for k in range(clusters.n):
        taken += clusters.rows[k]
    return max(1.0, min(taken, LEAST_ROWS * clusters.n_looked) / n)


cdef class Subspaces(Clusters):
    """Clusters with subspaces.

    Parameters
    ----------
    n_features, radius, check_every, min_weight, patience, forget, max_clusters, chain, watch
        As in `Clusters`.
    reach : float
        Gated distance below which two clusters may merge.
    variance : float
        Of the noise.
    lambda_1 : float
        Variance that a direction of a subspace exceeds.
    gate : int
        PPCA (0), BANDWIDTH (1) or NONE (2).
    bandwidth : float
        Of the gate of that name.
    max_dim, spare : int
        Most dimensions of a subspace; columns kept beside them.
    exact : bool
        Whether clusters hold their scatter.
    """

    def __init__(
        self, int32_t n_features, double radius, int64_t check_every,
        double min_weight, int64_t patience, double forget, int32_t max_clusters,
        double reach, double variance, double lambda_1, int gate, double bandwidth,
        int32_t max_dim, int32_t spare, bint exact, Chain chain=None, Watch watch=None,
    ):
        self.reach = reach
        self.variance = variance
        self.lambda_1 = lambda_1
        self.gate = gate
        self.bandwidth = bandwidth
        self.most_dim = min(max_dim, n_features - 1)
        self.spare = spare
        self.exact = exact
        self.most_room = min(n_features, self.most_dim + spare)
        self.room = self.most_room if exact else min(self.most_room, FIRST_ROOM)
        Clusters.__init__(
            self, n_features, radius, 0.0, check_every, min_weight, patience, forget,
            max_clusters, False, chain, watch,
        )

    cdef dict layout(self):
        layout = Clusters.layout(self)
        layout["mean"] = (np.float64, (self.n_features,))
        layout["eig"] = (np.float64, (self.room,))
        layout["gain"] = (np.float64, (self.room,))
        layout["basis"] = (np.float64, (self.room, self.n_features))
        layout["dim"] = (np.int32, ())
        layout["cols"] = (np.int32, ())
        if self.exact:
            size = self.n_features * (self.n_features + 1) // 2
            layout["packed"] = (np.float64, (size,))
            layout["w_ref"] = (np.float64, ())
            layout["decay"] = (np.float64, ())
        return layout

    cdef void grow(self, int32_t capacity):
        Clusters.grow(self, capacity)
        n_wide = max(2 * self.room + 2, self.n_features if self.exact else 0)
        scratch = {
            "y": self.n_features, "wide": n_wide * self.n_features,
            "small": n_wide * n_wide, "values": n_wide, "coords": n_wide,
            "work": WORK * max(n_wide, self.n_features),
        }
        for name, size in scratch.items():
            self.store[name] = np.zeros(max(size, 1))
        cdef double[::1] f
        f = self.store["y"]
        self.y = &f[0]
        f = self.store["wide"]
        self.wide = &f[0]
        f = self.store["small"]
        self.small = &f[0]
        f = self.store["values"]
        self.values = &f[0]
        f = self.store["coords"]
        self.coords = &f[0]
        f = self.store["work"]
        self.work = &f[0]

    cdef void point(self):
        cdef double[::1] f
        cdef int32_t[::1] i
        Clusters.point(self)
        f = self.store["mean"].reshape(-1)
        self.mean = &f[0]
        self.eig = self.gain = self.basis = NULL
        if self.room:
            f = self.store["eig"].reshape(-1)
            self.eig = &f[0]
            f = self.store["gain"].reshape(-1)
            self.gain = &f[0]
            f = self.store["basis"].reshape(-1)
            self.basis = &f[0]
        i = self.store["dim"]
        self.dim = &i[0]
        i = self.store["cols"]
        self.cols = &i[0]
        if self.exact:
            f = self.store["packed"].reshape(-1)
            self.packed = &f[0]
            f = self.store["w_ref"]
            self.w_ref = &f[0]
            f = self.store["decay"]
            self.decay = &f[0]

    cdef bint is_narrow(self) noexcept nogil:
        # a row adds a column, and a merge may add those of two clusters
        return self.room < self.most_room and 2 * self.widest + 1 > self.room

    cdef void widen(self):
        self.room = min(self.most_room, max(2 * self.room, 2 * self.widest + 1))

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

    cdef void begin(self, int32_t k, const double *x) noexcept nogil:
        cdef int64_t width = self.n_features
        memcpy(self.mean + k * width, x, width * sizeof(double))
        self.dim[k] = self.cols[k] = 0
        if self.exact:
            width = width * (width + 1) // 2
            memset(self.packed + k * width, 0, width * sizeof(double))
            self.w_ref[k] = self.decay[k] = 1.0

    cdef void absorb(self, int32_t k, const double *x) noexcept nogil:
        cdef int32_t i, j, m, width = self.n_features
        cdef int64_t size = <int64_t> width * (width + 1) // 2
        cdef double w = self.weight[k], part = w / (w + 1.0), square
        cdef double share = part / (w + 1.0)
        cdef double *mean = self.mean + <int64_t> k * width
        cdef double *eig = self.eig + <int64_t> k * self.room
        square = centred(x, mean, self.y, width)
        add_scaled(mean, 1.0 / (w + 1.0), self.y, width)
        self.add_squares(k, part, self.y)
        self.scatter[k] += part * square
        if self.exact:
            self.settle_decay(k)
            add_outer_packed(self.packed + k * size, part, self.y, width)
            if 10.0 * (w + 1.0) >= 11.0 * self.w_ref[k]:
                self.refresh(k, w + 1.0)
            return
        m = self.cols[k]
        memcpy(
            self.wide, self.basis + <int64_t> k * self.room * width,
            <int64_t> m * width * sizeof(double),
        )
        m = self.extend(m, self.y, self.coords)
        for i in range(m):
            for j in range(m):
                self.small[i * m + j] = share * self.coords[i] * self.coords[j]
            if i < self.cols[k]:
                self.small[i * m + i] += part * eig[i]
        self.rotate(k, m, w + 1.0)

    cdef void settle_decay(self, int32_t k) noexcept nogil:
        """Fade the scatter by what it has not been faded by yet."""
        cdef int64_t i, size = <int64_t> self.n_features * (self.n_features + 1) // 2
        cdef double factor = self.decay[k]
        if factor < 1.0:
            for i in range(size):
                self.packed[k * size + i] *= factor
            self.decay[k] = 1.0

    cdef void unpack(self, int32_t k, double w) noexcept nogil:
        """`small` becomes the covariance of an exact cluster."""
        cdef int32_t i, j, n = self.n_features
        cdef const double *row = self.packed + k * (<int64_t> n * (n + 1) // 2)
        for i in range(n):
            for j in range(i + 1):
                self.small[i * n + j] = self.small[j * n + i] = row[j] / w
            row += i + 1

    cdef void refresh(self, int32_t k, double w) noexcept nogil:
        """Find the leading eigenvectors of an exact cluster anew."""
        cdef int32_t i, n = self.n_features
        cdef double *out = self.basis + <int64_t> k * self.room * n
        self.unpack(k, w)
        leading_values(self.small, self.values, self.work, n)
        for i in range(n):
            self.values[i] = max(self.values[i], 0.0)
        self.dim[k] = self.dimension(self.values, n, w)
        self.cols[k] = min(self.dim[k] + self.spare, self.room)
        i = leading_vectors(self.small, self.values, self.work, n, self.cols[k], out)
        if i < 0:
            self.unpack(k, w)
            eigen(self.small, self.values, self.coords, n)
            for i in range(n):
                self.values[i] = max(self.values[i], 0.0)
            memcpy(out, self.small, <int64_t> self.cols[k] * n * sizeof(double))
        memcpy(
            self.eig + <int64_t> k * self.room, self.values, self.cols[k] * sizeof(double)
        )
        self.w_ref[k] = w
        self.set_gain(k)

    cdef int32_t dimension(self, const double *eig, int32_t n, double w) noexcept nogil:
        """Directions of more variance than lambda_1 and the chance edge (Marchenko, Pastur)."""
        cdef int32_t i, most = min(self.most_dim, n)
        cdef double chance = 1.0 + sqrt(self.n_features / w)
        cdef double least = max(self.lambda_1, self.variance * chance * chance)
        if w < most + 1.0:
            most = max(<int32_t> w - 1, 0)
        for i in range(most):
            if not eig[i] > least:
                return i
        return most

    cdef void set_gain(self, int32_t k) noexcept nogil:
        cdef int32_t i
        cdef double e
        for i in range(<int32_t> (k * self.room), k * self.room + self.cols[k]):
            e = max(self.eig[i] - self.variance, 0.0)
            self.gain[i] = e / (e + self.variance)

    cdef int32_t extend(self, int32_t m, double *v, double *coords) noexcept nogil:
        """Coordinates of v in the first m rows of `wide`, and in one more if need be.

        v becomes what is left of it. Returns m or m + 1.
        """
        cdef int32_t i, turn, width = self.n_features
        cdef double c, size = sqrt(inner(v, v, width)), left
        for i in range(m):
            coords[i] = 0.0
        for turn in range(2):       # the second takes the rounding of the first away
            for i in range(m):
                c = inner(self.wide + i * width, v, width)
                coords[i] += c
                add_scaled(v, -c, self.wide + i * width, width)
        left = sqrt(inner(v, v, width))
        if m == width or not left > PARALLEL * size:
            return m
        memset(self.wide + m * width, 0, width * sizeof(double))
        add_scaled(self.wide + m * width, 1.0 / left, v, width)
        coords[m] = left
        return m + 1

    cdef void rotate(self, int32_t k, int32_t m, double w) noexcept nogil:
        """Let the covariance `small` (m, m) in the basis `wide` be that of cluster k."""
        cdef int32_t i, j, width = self.n_features, cols
        cdef double *out
        if m:
            eigen(self.small, self.values, self.coords, m)
        for i in range(m):
            self.values[i] = max(self.values[i], 0.0)
        self.dim[k] = self.dimension(self.values, m, w)
        cols = min(min(self.dim[k] + self.spare, m), self.room)
        self.cols[k] = cols
        self.widest = max(self.widest, cols)
        if not cols:
            return
        memcpy(self.eig + <int64_t> k * self.room, self.values, cols * sizeof(double))
        out = self.basis + <int64_t> k * self.room * width
        memset(out, 0, <int64_t> cols * width * sizeof(double))
        for i in range(cols):
            for j in range(m):
                add_scaled(
                    out + i * width, self.small[i * m + j], self.wide + j * width, width
                )
        self.set_gain(k)

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
        cdef double together, apart, half, more, n = 0.0, square
        if not self.pair_distance(a, b) < self.reach:
            return INFINITY
        square = centred(
            self.mean + <int64_t> a * width, self.mean + <int64_t> b * width, self.y,
            width,
        )
        m = self.joint_spectrum(a, b, square)
        for k in range(self.n):
            n += self.weight[k]
        more = rows_for_one(self, n)
        d = self.dimension(self.values, m, more * w)
        half = 0.5 * log(more * n)
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

    cdef void join(self, int32_t k, int32_t other) noexcept nogil:
        cdef int32_t i, j, p, before, m, width = self.n_features
        cdef int64_t size = <int64_t> width * (width + 1) // 2
        cdef double wk = self.weight[k], wo = self.weight[other], w = wk + wo
        cdef double square, c
        cdef double *mean = self.mean + <int64_t> k * width
        cdef double *theirs = self.basis + <int64_t> other * self.room * width
        cdef double *v
        square = centred(self.mean + <int64_t> other * width, mean, self.y, width)
        self.join_squares(k, other, wk * wo / w, self.y)
        self.scatter[k] += self.scatter[other] + wk * wo / w * square
        add_scaled(mean, wo / w, self.y, width)
        if self.exact:
            self.settle_decay(k)
            self.settle_decay(other)
            add_scaled(
                self.packed + k * size, 1.0, self.packed + other * size, <int> size
            )
            add_outer_packed(self.packed + k * size, wk * wo / w, self.y, width)
            self.refresh(k, w)
            return
        before = self.cols[k]
        memcpy(
            self.wide, self.basis + <int64_t> k * self.room * width,
            <int64_t> before * width * sizeof(double),
        )
        m = before + self.cols[other] + 1
        memset(self.small, 0, <int64_t> m * m * sizeof(double))
        for i in range(before):
            self.small[i * m + i] = wk / w * self.eig[k * self.room + i]
        p = before              # columns of `wide` so far; m is the stride of `small`
        for i in range(self.cols[other] + 1):
            if i < self.cols[other]:
                v = theirs + i * width          # is used up: `other` goes
                c = wo / w * self.eig[other * self.room + i]
            else:
                v = self.y
                c = wk * wo / (w * w)
            p = self.extend(p, v, self.coords)
            for j in range(p):
                add_scaled(self.small + j * m, c * self.coords[j], self.coords, p)
        for i in range(1, p):   # without the columns that were not needed
            for j in range(p):
                self.small[i * p + j] = self.small[i * m + j]
        self.rotate(k, p, w)

    cdef void move(self, int32_t k, int32_t source) noexcept nogil:
        cdef int64_t width = self.n_features, size = width * (width + 1) // 2
        cdef int64_t room = self.room
        Clusters.move(self, k, source)
        memcpy(self.mean + k * width, self.mean + source * width, width * sizeof(double))
        memcpy(self.eig + k * room, self.eig + source * room, room * sizeof(double))
        memcpy(self.gain + k * room, self.gain + source * room, room * sizeof(double))
        memcpy(
            self.basis + k * room * width, self.basis + source * room * width,
            room * width * sizeof(double),
        )
        self.dim[k] = self.dim[source]
        self.cols[k] = self.cols[source]
        if self.exact:
            memcpy(self.packed + k * size, self.packed + source * size, size * sizeof(double))
            self.w_ref[k] = self.w_ref[source]
            self.decay[k] = self.decay[source]

    cdef void fade(self, int32_t k) noexcept nogil:
        Clusters.fade(self, k)      # a covariance does not fade
        if self.exact:
            self.w_ref[k] = max(self.w_ref[k] * self.keep, 1e-100)
            self.decay[k] = max(self.decay[k] * self.keep, 1e-100)

    def means(self):
        """Means of the clusters, ndarray of shape (n, n_features)."""
        return self.array("mean")

    def renew(self):
        """Let exact clusters find their eigenvectors anew, whatever their weight."""
        cdef int32_t k
        if self.exact:
            for k in range(self.n):
                self.settle_decay(k)
                self.refresh(k, self.weight[k])

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
        for block in prange(n_blocks, nogil=True, num_threads=n_threads):
            assign_block(
                self, &X[0, 0], block * BLOCK, min(n_rows, (block + 1) * BLOCK),
                &places[0], <int> places.shape[0], &offset[0], &y[thread_number(), 0],
                &where[0],
            )
        return nearest

    def to_arrays(self):
        """Arrays of all clusters, by name; without columns that nobody uses."""
        arrays = Clusters.to_arrays(self)
        cols = arrays["cols"]
        most = int(cols.max(initial=0))
        used = np.arange(most) < cols[:, None]
        for name in ("eig", "gain"):
            arrays[name] = np.where(used, arrays[name][:, :most], 0.0)
        basis = arrays["basis"][:, :most]
        arrays["basis"] = np.where(used[:, :, None], basis, 0.0)
        return arrays

    def take(self, arrays):
        """Become what `to_arrays` told; the arrays have been checked."""
        self.widest = int(arrays["cols"].max(initial=0))
        self.room = min(self.most_room, max(self.room, 2 * self.widest + 1))
        Clusters.take(self, arrays)


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
