"""Directions: clusters that hold the leading eigenvectors of their covariance."""
import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dyntree._core.eigen cimport WORK, eigen, leading_values, leading_vectors
from dyntree._core.mixtures.clusters cimport Clusters
from dyntree._core.mixtures.chain cimport Chain
from dyntree._core.mixtures.watch cimport Watch
from dyntree._core.vectors cimport (
    add_outer_packed, add_scaled, centred, inner,
)

cdef enum:
    FIRST_ROOM = 6
cdef double PARALLEL = 1e-10    # share of a vector below which the rest is rounding


cdef class Directions(Clusters):
    """Clusters with leading eigenvectors.

    Parameters
    ----------
    n_features, radius, check_every, min_weight, patience, forget, max_clusters, chain, watch
        As in `Clusters`.
    variance : float
        Of the noise.
    lambda_1 : float
        Variance that a direction of a subspace exceeds.
    max_dim, spare : int
        Most dimensions of a subspace; columns stored beside them.
    exact : bool
        Whether clusters hold their scatter.
    """

    def __init__(
        self, int32_t n_features, double radius, int64_t check_every,
        double min_weight, int64_t patience, double forget, int32_t max_clusters,
        double variance, double lambda_1, int32_t max_dim, int32_t spare, bint exact,
        Chain chain=None, Watch watch=None,
    ):
        self.variance = variance
        self.lambda_1 = lambda_1
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

    cdef void widen_column(self, int32_t k, int32_t j, double more) noexcept nogil:
        cdef int64_t size = <int64_t> self.n_features * (self.n_features + 1) // 2
        Clusters.widen_column(self, k, j, more)
        if self.exact:
            self.settle_decay(k)
            self.packed[k * size + <int64_t> j * (j + 3) // 2] += more

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
        """Set the state from the arrays of `to_arrays`, which have been checked."""
        self.widest = int(arrays["cols"].max(initial=0))
        self.room = min(self.most_room, max(self.room, 2 * self.widest + 1))
        Clusters.take(self, arrays)
