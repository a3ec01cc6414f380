"""Scores: log weight plus log density of rows in components, in float32."""
import numpy as np

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport sgemm

from dyntree._core.softmax cimport PART, rounded_up, soften, total_of   # and its CLONES

cdef float VERY_LOW = -1e30
NARROW = 2.0**16        # squared distance of a mean from 0, in variances


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


cdef extern from *:
    """
    #include <stdint.h>
    typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
    typedef double Wide __attribute__((vector_size(64)));
    #define LOAD(p) (*(const Eight *) (p))
    #define WIDE(p) __builtin_convertvector(LOAD(p), Wide)

    /* out = x - origin; returns the sum of its squares */
    CLONES static float moved(const float *x, const float *origin, int d, float *out) {
        Eight sum = {0};
        float rest = 0.0f, total;
        int j = 0;
        for (; j + 8 <= d; j += 8) {
            Eight v = LOAD(x + j) - LOAD(origin + j);
            *(Eight *) (out + j) = v;
            sum += v * v;
        }
        for (; j < d; j++) {
            out[j] = x[j] - origin[j];
            rest += out[j] * out[j];
        }
        total = (sum[0] + sum[4]) + (sum[1] + sum[5]);
        return total + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
    }
    CLONES static void squared(const float *x, int d, float *out) {
        int j = 0;
        for (; j + 8 <= d; j += 8)
            *(Eight *) (out + j) = LOAD(x + j) * LOAD(x + j);
        for (; j < d; j++)
            out[j] = x[j] * x[j];
    }
    /* out = t + 2 s o, and sum (t + s o) o, in double; s has one number where step is 0 */
    CLONES static double about(const float *t, const float *s, int step, const float *o,
                               int d, float *out) {
        Wide sum = {0};
        double total;
        int j = 0;
        for (; j + 8 <= d; j += 8) {
            Wide a = WIDE(t + j), c = WIDE(o + j), b;
            if (step)
                b = WIDE(s + j);
            else
                b = (Wide) {0} + (double) *s;
            b *= c;
            sum += (a + b) * c;
            *(Eight *) (out + j) = __builtin_convertvector(a + b + b, Eight);
        }
        total = ((sum[0] + sum[4]) + (sum[1] + sum[5]))
                + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
        for (; j < d; j++) {
            double b = (double) s[step * j] * o[j];
            total += (t[j] + b) * o[j];
            out[j] = (float) (t[j] + 2.0 * b);
        }
        return total;
    }
    /* sum s (x - mean)^2; s has one number where step is 0 */
    CLONES static float apart(const float *x, const float *mean, const float *s, int step,
                              int d) {
        Eight sum = {0};
        float rest = 0.0f, total;
        int j = 0;
        for (; j + 8 <= d; j += 8) {
            Eight v = LOAD(x + j) - LOAD(mean + j);
            v *= v;
            if (step)
                v *= LOAD(s + j);
            sum += v;
        }
        for (; j < d; j++) {
            float v = x[j] - mean[j];
            rest += step ? s[j] * v * v : v * v;
        }
        total = (sum[0] + sum[4]) + (sum[1] + sum[5]);
        total = total + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
        return step ? total : *s * total;
    }
    """
    float moved(const float *x, const float *origin, int d, float *out) noexcept nogil
    void squared(const float *x, int d, float *out) noexcept nogil
    double about(
        const float *t, const float *s, int step, const float *o, int d, float *out
    ) noexcept nogil
    float apart(
        const float *x, const float *mean, const float *s, int step, int d
    ) noexcept nogil


cdef void features(
    const float *x, const float *origin, int n, int d, int layout, float *out
) noexcept nogil:
    """Features of rows, taken about an origin."""
    cdef int i
    cdef float norm
    for i in range(n):
        norm = moved(x, origin, d, out)
        x += d
        out += d
        if layout == SQUARES:
            squared(out - d, d, out)
            out += d
        elif layout == NORM:
            out[0] = norm
            out += 1


def sharpness(int layout, theta, int d, mean):
    """Components so narrow, for where they are, that float32 loses their squares.

    A score is a sum of parts as large as the squared distance of the mean from 0, in
    standard deviations, of which it keeps seven digits; sums of squares lose as much
    of a variance. Such components are scored by differences from the mean.

    Returns
    -------
    ndarray of bool of shape (n_components,)
    """
    if layout == LINEAR:
        return np.zeros(len(theta), dtype=bool)
    squares = np.asarray(mean) ** 2
    if layout == FULL:
        return squares.max(axis=1) * (theta**2).sum(axis=1) > NARROW
    distance = -2.0 * theta[:, d:] * squares
    whole = distance.sum(axis=1)
    if layout == NORM:
        return whole > NARROW
    return (distance.max(axis=1) > NARROW) | (whole > 4.0 * NARROW)


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
        For all layouts but linear.
    peak : ndarray of float32 of shape (n_components,), optional
        Scores at the means; for the layouts norm and squares.
    """

    def __init__(
        self, int layout, const float[:, ::1] theta, const float[::1] constant,
        int n_features, const float[:, ::1] mean=None, const float[::1] peak=None,
    ):
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
            self.shift = &shift[0, 0]
        self.theta, self.constant = &theta[0, 0], &constant[0]
        cdef const float[::1] zeros = np.zeros(n_features, dtype=np.float32)
        self.origin = &zeros[0]
        sharp = sharpness(layout, np.asarray(theta), n_features, mean)
        cdef const uint8_t[::1] is_sharp = sharp.astype(np.uint8)
        self.sharp_ids = np.flatnonzero(sharp).astype(np.int32)
        cdef const int32_t[::1] ids = self.sharp_ids
        self.n_sharp = <int> len(ids)
        self.is_sharp = &is_sharp[0]
        self.sharp = &ids[0] if self.n_sharp else NULL
        self.mean = NULL if mean is None else &mean[0, 0]
        self.peak = NULL if peak is None else &peak[0]
        self.arrays = (theta, constant, mean, shifted, zeros, peak, is_sharp, ids)

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
            features(x, self.origin, n, d, self.layout, scratch)
            for i in range(n):
                memcpy(
                    out + <int64_t> i * self.padded, self.constant, m * sizeof(float)
                )
            times(self.theta, m, scratch, n, self.width, 1.0, 1.0, out, self.padded)
            for i in range(self.n_sharp):
                z = self.sharp[i]
                self.direct(x, n, z, out + z, self.padded)
        for i in range(n):
            for z in range(m, self.padded):
                out[<int64_t> i * self.padded + z] = VERY_LOW

    cdef void listed(
        self, const float *x, int n, const float *origin, const int32_t *ids, int k,
        float *scratch, float *out,
    ) noexcept nogil:
        cdef int a, i, d = self.n_features, stride = rounded_up(k)
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
            if self.layout == LINEAR:
                total = about(from_, self.origin, 1, origin, d, to)
            else:
                total = about(
                    from_, from_ + d, self.layout == SQUARES, origin, d, to
                )
                memcpy(to + d, from_ + d, (self.width - d) * sizeof(float))
            constant[a] = <float> (self.constant[ids[a]] + total)
        features(x, origin, n, d, self.layout, scratch)
        for i in range(n):
            memcpy(out + <int64_t> i * stride, constant, k * sizeof(float))
            for a in range(k, stride):
                out[<int64_t> i * stride + a] = VERY_LOW
        times(local, k, scratch, n, self.width, 1.0, 1.0, out, stride)
        for a in range(k):
            if self.is_sharp[ids[a]]:
                self.direct(x, n, ids[a], out + a, stride)

    cdef void direct(
        self, const float *x, int n, int z, float *out, int stride
    ) noexcept nogil:
        """Scores of n rows in one component by their differences from its mean."""
        cdef int i
        for i in range(n):
            out[<int64_t> i * stride] = self.at(x, z)
            x += self.n_features

    cdef float at(self, const float *x, int32_t z) noexcept nogil:
        cdef int d = self.n_features
        return self.peak[z] + apart(
            x, self.mean + <int64_t> z * d,
            self.theta + <int64_t> z * self.width + d, self.layout == SQUARES, d,
        )

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
        if self.is_sharp[z]:
            return self.at(x, z)
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

    def log_densities(self, const float[:, ::1] X):
        """Log of the summed exponentials of each row's scores.

        Parameters
        ----------
        X : ndarray of float32 of shape (n_rows, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_rows,)
        """
        cdef int n, i, most = 256
        cdef int64_t first = 0, n_rows = X.shape[0]
        out = np.empty(n_rows)
        cdef double[::1] found = out
        cdef float[::1] scratch = np.empty(max(1, self.room(most, 0)), dtype=np.float32)
        cdef float[:, ::1] table = np.empty((most, self.padded), dtype=np.float32)
        cdef double[::1] part = np.empty(self.padded // PART + 1)
        cdef float top
        with nogil:
            while first < n_rows:
                n = <int> min(most, n_rows - first)
                self.all(&X[first, 0], n, &scratch[0], &table[0, 0])
                for i in range(n):
                    top = soften(&table[i, 0], self.padded, &part[0])
                    found[first + i] = top + log(total_of(&part[0], self.padded))
                first += n
        return out
