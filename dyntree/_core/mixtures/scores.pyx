"""Scores: log weight plus log density of rows in components, in float32."""
import numpy as np

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport sgemm

from dyntree._core.softmax cimport rounded_up

cdef float VERY_LOW = -1e30


cdef void times(
    const float *a, int n_a, const float *b, int n_b, int width, float scale,
    float keep, float *out, int stride,
) noexcept nogil:
    """out[i, j] = scale <b_i, a_j> + keep out[i, j]; rows of a and b are of `width`."""
    cdef int n = n_a, m = n_b, k = width, step = stride
    sgemm(
        b"T", b"N", &n, &m, &k, &scale, <float *> a, &k, <float *> b, &k, &keep, out,
        &step,
    )


cdef void features(
    const float *x, const float *origin, int n, int d, int layout, float *out
) noexcept nogil:
    """Features of rows, taken about an origin where there is one."""
    cdef int i, j
    cdef float v, total
    for i in range(n):
        total = 0.0
        for j in range(d):
            v = x[j] if origin == NULL else x[j] - origin[j]
            out[j] = v
            if layout == SQUARES:
                out[d + j] = v * v
            elif layout == NORM:
                total += v * v
        if layout == NORM:
            out[d] = total
        x += d
        out += d if layout == LINEAR else (d + 1 if layout == NORM else 2 * d)


cdef class Scores:
    """Parameters of all components, ready to be multiplied with rows.

    Parameters
    ----------
    layout : int
        0 linear, 1 norm, 2 squares, 3 full; see ``scores.pxd``.
    theta : ndarray of float32 of shape (n_components, width)
    constant : ndarray of float32 of shape (n_components,)
        With the log weights in it.
    n_features : int
    mean : ndarray of float32 of shape (n_components, n_features), optional
        For the layout full.
    """

    def __init__(
        self, int layout, const float[:, ::1] theta, const float[::1] constant,
        int n_features, const float[:, ::1] mean=None,
    ):
        cdef int z, j
        cdef float[:, ::1] shift
        self.layout, self.n_features = layout, n_features
        self.n_components, self.width = <int> theta.shape[0], <int> theta.shape[1]
        self.padded = rounded_up(self.n_components)
        shifted = None
        if layout == FULL:
            whole = np.asarray(theta).reshape(self.n_components, n_features, n_features)
            shifted = np.ascontiguousarray(
                np.einsum("zij,zj->zi", whole, np.asarray(mean), dtype=np.float64)
            ).astype(np.float32)
            shift = shifted
            self.shift, self.mean = &shift[0, 0], &mean[0, 0]
        self.theta, self.constant = &theta[0, 0], &constant[0]
        self.arrays = (theta, constant, mean, shifted)

    cdef int64_t room(self, int n, int n_listed) noexcept nogil:
        cdef int64_t d = self.n_features
        if self.layout == FULL:
            return 2 * n * d + 2 * d + n
        return (n + n_listed) * <int64_t> self.width + n_listed

    cdef void all(
        self, const float *x, int n, float *scratch, float *out
    ) noexcept nogil:
        cdef int i, z, m = self.n_components, d = self.n_features
        if self.layout == FULL:
            for z in range(m):
                self.distances(x, n, self.shift + <int64_t> z * d, z, scratch)
                for i in range(n):
                    out[<int64_t> i * self.padded + z] = (
                        self.constant[z] - 0.5 * scratch[i]
                    )
        else:
            features(x, NULL, n, d, self.layout, scratch)
            for i in range(n):
                memcpy(
                    out + <int64_t> i * self.padded, self.constant, m * sizeof(float)
                )
            times(self.theta, m, scratch, n, self.width, 1.0, 1.0, out, self.padded)
        for i in range(n):
            for z in range(m, self.padded):
                out[<int64_t> i * self.padded + z] = VERY_LOW

    cdef void listed(
        self, const float *x, int n, const float *origin, const int32_t *ids, int k,
        float *scratch, float *out,
    ) noexcept nogil:
        cdef int a, i, j, d = self.n_features, stride = rounded_up(k)
        cdef const float *from_
        cdef float *to
        cdef float *local = scratch + <int64_t> n * self.width
        cdef float *constant = local + <int64_t> k * self.width
        cdef double total
        if self.layout == FULL:
            self.listed_full(x, n, origin, ids, k, scratch, out)
            return
        for a in range(k):      # parameters about the origin: small numbers stay exact
            from_ = self.theta + <int64_t> ids[a] * self.width
            to = local + <int64_t> a * self.width
            total = self.constant[ids[a]]
            memcpy(to, from_, self.width * sizeof(float))
            if self.layout == LINEAR:
                for j in range(d):
                    total += <double> from_[j] * origin[j]
            elif self.layout == NORM:
                for j in range(d):
                    total += (from_[j] + <double> from_[d] * origin[j]) * origin[j]
                    to[j] = from_[j] + 2 * from_[d] * origin[j]
            else:
                for j in range(d):
                    total += (from_[j] + <double> from_[d + j] * origin[j]) * origin[j]
                    to[j] = from_[j] + 2 * from_[d + j] * origin[j]
            constant[a] = <float> total
        features(x, origin, n, d, self.layout, scratch)
        for i in range(n):
            memcpy(out + <int64_t> i * stride, constant, k * sizeof(float))
            for a in range(k, stride):
                out[<int64_t> i * stride + a] = VERY_LOW
        times(local, k, scratch, n, self.width, 1.0, 1.0, out, stride)

    cdef void distances(
        self, const float *x, int n, const float *shift, int z, float *scratch
    ) noexcept nogil:
        """scratch[i] = |W_z x_i - shift|^2; what follows the n numbers is lost."""
        cdef int i, j, d = self.n_features
        cdef float v, total
        cdef float *turned = scratch + n
        times(
            self.theta + <int64_t> z * self.width, d, x, n, d, 1.0, 0.0, turned, d
        )
        for i in range(n):
            total = 0.0
            for j in range(d):
                v = turned[j] - shift[j]
                total += v * v
            scratch[i] = total
            turned += d

    cdef void listed_full(
        self, const float *x, int n, const float *origin, const int32_t *ids, int k,
        float *scratch, float *out,
    ) noexcept nogil:
        """The same for FULL: rows about the origin, one component after another."""
        cdef int a, i, j, d = self.n_features, stride = rounded_up(k)
        cdef float *local = scratch
        cdef float *step = local + <int64_t> n * d
        cdef float *shift = step + d
        cdef float *rest = shift + d
        features(x, origin, n, d, LINEAR, local)
        for a in range(k):
            for j in range(d):
                step[j] = self.mean[<int64_t> ids[a] * d + j] - origin[j]
            times(
                self.theta + <int64_t> ids[a] * self.width, d, step, 1, d, 1.0, 0.0,
                shift, d,
            )
            self.distances(local, n, shift, ids[a], rest)
            for i in range(n):
                out[<int64_t> i * stride + a] = (
                    self.constant[ids[a]] - 0.5 * rest[i]
                )
        for i in range(n):
            for a in range(k, stride):
                out[<int64_t> i * stride + a] = VERY_LOW

    cdef double one(self, const float *x, int32_t z) noexcept nogil:
        cdef const float *t = self.theta + <int64_t> z * self.width
        cdef const float *mean
        cdef int i, j, d = self.n_features
        cdef double total = self.constant[z], v
        if self.layout == FULL:
            mean = self.mean + <int64_t> z * d
            for i in range(d):
                v = 0.0
                for j in range(d):
                    v += t[j] * (<double> x[j] - mean[j])
                total -= 0.5 * v * v
                t += d
            return total
        for j in range(d):
            total += <double> t[j] * x[j]
            if self.layout == NORM:
                total += <double> t[d] * x[j] * x[j]
            elif self.layout == SQUARES:
                total += <double> t[d + j] * x[j] * x[j]
        return total

    def table(self, const float[:, ::1] X):
        """Scores of rows in all components, ndarray of float32.

        Parameters
        ----------
        X : ndarray of float32 of shape (n_rows, n_features)

        Returns
        -------
        ndarray of float32 of shape (n_rows, n_components)
        """
        cdef int n = <int> X.shape[0]
        out = np.empty((n, self.padded), dtype=np.float32)
        room = np.empty(max(1, self.room(n, 0)), dtype=np.float32)
        cdef float[:, ::1] found = out
        cdef float[::1] scratch = room
        if n:
            with nogil:
                self.all(&X[0, 0], n, &scratch[0], &found[0, 0])
        return out[:, :self.n_components]
