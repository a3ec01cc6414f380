"""An emission of columns that regress on others: normal-inverse-Wishart blocks."""
import numpy as np

cimport cython
from libc.math cimport M_PI, lgamma, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dyntree._core cimport linalg
from dyntree._core.linalg cimport at, packed_size
from dyntree._core.mixtures.emissions cimport Emission
from dyntree._core.rng cimport RandomStream, gamma

cdef double LOG_2PI = log(2.0 * M_PI)
cdef double LOG_PI = log(M_PI)
cdef double RESOLVED = 1e-14        # of sums of squares: what is less is rounding


@cython.final
cdef class Regressions(Emission):
    """Columns that regress on others, coefficients and covariance both unknown.

    A row is one block of responses after the other: block b has the responses
    ``x[first_b : first_b + d_b]`` and the regressors 1, x[0], ..., x[p_b - 2].
    One block of all columns and one regressor is the normal-inverse-Wishart; a second
    block of velocities on 1 and the locations makes an affine flow.

    Parameters
    ----------
    priors : ndarray of shape (n_priors, n_prior)
        By block: degrees of freedom, then G = Lambda (p x p, packed), C = Lambda M
        (p x d), W = Psi + M' Lambda M (d x d, packed): what the sums of rows n, z z',
        z y', y y' add to.
    rows : ndarray of shape (n_rows, n_columns)
    blocks : ndarray of int32 of shape (n_blocks, 3)
        first, d, p.

    Notes
    -----
    Sigma ~ IW(Psi, nu), B | Sigma ~ MN(M, Lambda^-1, Sigma), y = B'z + N(0, Sigma).
    With h = z' Lambda^-1 z and e = y - M'z, y is Student's t of nu - d + 1 degrees of
    freedom with log density ``c - d/2 log(1 + h) - (nu + 1)/2 log(1 + e' Psi^-1 e /
    (1 + h))``. Beside the others only, with h and e of all: ``c' + d/2 log(1 - h) +
    (nu - 1)/2 log(1 - e' Psi^-1 e / (1 - h))``, without factoring anything.
    """

    cdef int32_t n_columns, n_blocks, n_derived, most
    cdef const double *rows
    cdef const int32_t *blocks
    cdef double *derivations        # (capacity, n_derived)
    cdef double *scratch            # natural row, then vectors

    def __init__(
        self, const double[:, ::1] priors, const double[:, ::1] rows,
        const int32_t[:, ::1] blocks,
    ):
        cdef int b, p, d
        Emission.__init__(self, priors)
        self.store |= {"rows": rows, "blocks": blocks}
        self.n_rows, self.n_columns = rows.shape[0], <int32_t> rows.shape[1]
        self.n_blocks = <int32_t> blocks.shape[0]
        self.rows = &rows[0, 0] if rows.size else NULL
        self.blocks = &blocks[0, 0]
        for b in range(self.n_blocks):
            d, p = blocks[b, 1], blocks[b, 2]
            self.n_sums += 1 + packed_size(p) + p * d + packed_size(d)
            # nu, constant, constant beside others, is it at a location; then V, B, U, A
            self.n_derived += 4 + packed_size(p) + p * d + 2 * packed_size(d)
            self.most = max(self.most, p + d)
        cdef double[::1] scratch = np.zeros(self.n_sums + 4 * self.most)
        self.store["scratch"] = scratch
        self.scratch = &scratch[0]

    def grow_derived(self, int32_t capacity):
        """Room for what is derived."""
        cdef double[:, ::1] derived = self.derived(
            "derived", (capacity, self.n_derived), self.capacity, 0
        )
        self.derivations = &derived[0, 0]

    cdef void gather(self, int32_t slot, int64_t row, double sign) noexcept nogil:
        """Add or remove a row."""
        cdef double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *x = self.rows + row * self.n_columns
        cdef const double *y
        cdef int b, i, j, d, p
        for b in range(self.n_blocks):
            y, d, p = x + self.blocks[3 * b], self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            s[0] += sign
            s += 1
            for j in range(p):
                for i in range(j + 1):
                    s[0] += sign * (x[i - 1] if i else 1.0) * (x[j - 1] if j else 1.0)
                    s += 1
            for i in range(p):
                for j in range(d):
                    s[0] += sign * (x[i - 1] if i else 1.0) * y[j]
                    s += 1
            for j in range(d):
                for i in range(j + 1):
                    s[0] += sign * y[i] * y[j]
                    s += 1

    cdef void add(self, int32_t slot, int64_t row) noexcept nogil:
        self.gather(slot, row, 1.0)

    cdef void remove(self, int32_t slot, int64_t row) noexcept nogil:
        self.gather(slot, row, -1.0)

    cdef void derive(
        self, const double *prior, const double *sums, int d, int p, double *v,
        double *coefficients, double *u,
    ) noexcept nogil:
        """Factors V of Lambda and U of Psi, reciprocals on their diagonals, and M."""
        cdef int i, j, k, at_c = 1 + packed_size(p), at_w = at_c + p * d
        cdef double t, least
        cdef double *c = self.scratch       # V^-T C, p x d
        for i in range(packed_size(p)):
            v[i] = prior[1 + i] + (sums[1 + i] if sums else 0.0)
        if linalg.factor(v, p) < 0:         # rounding alone: regressors on a line
            for j in range(p):
                for i in range(j + 1):
                    v[at(i, j)] = prior[1 + at(i, j)]
                    v[at(i, j)] += sums[1 + at(i, j)] if sums else 0.0
                v[at(j, j)] *= 1.0 + 1e-9
            linalg.factor(v, p)
        for j in range(p):
            v[at(j, j)] = 1.0 / v[at(j, j)]
        for i in range(p):
            for k in range(d):
                t = prior[at_c + i * d + k] + (sums[at_c + i * d + k] if sums else 0.0)
                for j in range(i):
                    t -= v[at(j, i)] * c[j * d + k]
                c[i * d + k] = t * v[at(i, i)]
        for i in range(p - 1, -1, -1):
            for k in range(d):
                t = c[i * d + k]
                for j in range(i + 1, p):
                    t -= v[at(i, j)] * coefficients[j * d + k]
                coefficients[i * d + k] = t * v[at(i, i)]
        for j in range(d):
            for i in range(j + 1):
                t = prior[at_w + at(i, j)] + (sums[at_w + at(i, j)] if sums else 0.0)
                for k in range(p):
                    t -= c[k * d + i] * c[k * d + j]
                u[at(i, j)] = t
        if linalg.factor(u, d) < 0:         # rounding alone: rows far from the origin
            memset(u, 0, packed_size(d) * sizeof(double))
            for j in range(d):
                t = prior[at_w + at(j, j)] + (sums[at_w + at(j, j)] if sums else 0.0)
                least = RESOLVED * t
                for k in range(p):
                    t -= c[k * d + j] * c[k * d + j]
                u[at(j, j)] = sqrt(max(t, least))
        for j in range(d):
            u[at(j, j)] = 1.0 / u[at(j, j)]

    cdef void refresh(self, int32_t slot) noexcept nogil:
        cdef double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *prior = self.prior(slot)
        cdef double *o = self.derivations + <int64_t> slot * self.n_derived
        cdef double nu, log_det
        cdef int b, j, d, p
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            self.derive(
                prior, s, d, p, o + 4, o + 4 + packed_size(p),
                o + 4 + packed_size(p) + p * d,
            )
            nu, log_det = prior[0] + s[0], 0.0
            for j in range(d):
                log_det -= 2.0 * log(o[4 + packed_size(p) + p * d + at(j, j)])
            o[0] = nu
            o[1] = -0.5 * (d * LOG_PI + log_det)
            o[2] = o[1]
            o[1] += lgamma(0.5 * (nu + 1.0)) - lgamma(0.5 * (nu + 1.0 - d))
            if s[0] > 0.5:
                o[2] += lgamma(0.5 * nu) - lgamma(0.5 * (nu - d))
            o[3] = 0.0
            o += 4 + packed_size(p) + p * d + 2 * packed_size(d)
            s += 1 + packed_size(p) + p * d + packed_size(d)
            prior += 1 + packed_size(p) + p * d + packed_size(d)

    cdef void instantiate(self, int32_t slot, RandomStream *s) noexcept nogil:
        """Sigma^-1 = U^-1 A A' U^-T with Bartlett's A, then B about M."""
        cdef double *o = self.derivations + <int64_t> slot * self.n_derived
        cdef double *v
        cdef double *m
        cdef double *u
        cdef double *a
        cdef double *z = self.scratch       # (p, d), then rows of it times A^-1 U
        cdef double *w = self.scratch + self.n_sums
        cdef double t
        cdef int b, i, j, k, d, p
        self.refresh(slot)
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            v, m = o + 4, o + 4 + packed_size(p)
            u, a = m + p * d, m + p * d + packed_size(d)
            o[1] = -0.5 * d * LOG_2PI
            for j in range(d):              # A is lower; entry (j, i), i <= j, at (i, j)
                for i in range(j):
                    a[at(i, j)] = s.normal(s)
                a[at(j, j)] = sqrt(gamma(s, 0.5 * (o[0] - j), 2.0))
                o[1] += log(a[at(j, j)] * u[at(j, j)])
            for k in range(p):
                for j in range(d):
                    z[k * d + j] = s.normal(s)
                for j in range(d - 1, -1, -1):      # row times A^-1: solve w A = z
                    t = z[k * d + j]
                    for i in range(j + 1, d):
                        t -= w[i] * a[at(j, i)]
                    w[j] = t / a[at(j, j)]
                for j in range(d):                  # times U
                    t = w[j] / u[at(j, j)]
                    for i in range(j):
                        t += w[i] * u[at(i, j)]
                    z[k * d + j] = t
            for j in range(d):                      # B = M + V^-1 of it
                for k in range(p - 1, -1, -1):
                    t = z[k * d + j]
                    for i in range(k + 1, p):
                        t -= v[at(k, i)] * z[i * d + j]
                    z[k * d + j] = t * v[at(k, k)]
                for k in range(p):
                    m[k * d + j] += z[k * d + j]
            o[3] = 1.0
            o += 4 + packed_size(p) + p * d + 2 * packed_size(d)

    cdef void measure(
        self, const double *o, const double *x, int b, double *h, double *q
    ) noexcept nogil:
        """h = z' Lambda^-1 z, and e' Psi^-1 e or, at a location, e' Sigma^-1 e."""
        cdef int i, j, d = self.blocks[3 * b + 1], p = self.blocks[3 * b + 2]
        cdef const double *y = x + self.blocks[3 * b]
        cdef const double *v = o + 4
        cdef const double *m = v + packed_size(p)
        cdef const double *u = m + p * d
        cdef const double *a = u + packed_size(d)
        cdef double *e = self.scratch + self.n_sums
        cdef double *w = e + self.most
        cdef double t
        h[0] = q[0] = 0.0
        for j in range(p):
            t = x[j - 1] if j else 1.0
            for i in range(j):
                t -= v[at(i, j)] * w[i]
            w[j] = t * v[at(j, j)]
            h[0] += w[j] * w[j]
        for j in range(d):
            t = y[j] - m[j]
            for i in range(1, p):
                t -= x[i - 1] * m[i * d + j]
            for i in range(j):
                t -= u[at(i, j)] * e[i]
            e[j] = t * u[at(j, j)]
            q[0] += e[j] * e[j]
        if o[3]:
            q[0] = 0.0
            for i in range(d):
                t = 0.0
                for j in range(i, d):
                    t += a[at(i, j)] * e[j]
                q[0] += t * t

    cdef void log_densities(self, int64_t row, int32_t top, double *out) noexcept nogil:
        cdef int32_t k
        for k in range(top):
            out[k] = self.density(k, row)

    cdef double density(self, int32_t slot, int64_t row) noexcept nogil:
        cdef const double *x = self.rows + row * self.n_columns
        cdef const double *o = self.derivations + <int64_t> slot * self.n_derived
        cdef double h, q, total = 0.0
        cdef int b, d, p
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            self.measure(o, x, b, &h, &q)
            if o[3]:
                total += o[1] - 0.5 * q
            else:
                total += o[1] - 0.5 * d * log(1.0 + h)
                total -= 0.5 * (o[0] + 1.0) * log(1.0 + q / (1.0 + h))
            o += 4 + packed_size(p) + p * d + 2 * packed_size(d)
        return total

    cdef double without(self, int32_t slot, int64_t row) noexcept nogil:
        cdef const double *x = self.rows + row * self.n_columns
        cdef const double *o = self.derivations + <int64_t> slot * self.n_derived
        cdef double h, q, total = 0.0
        cdef int b, d, p
        if o[3]:                            # at a location, and the row is the only one
            return self.removed(slot, row)
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            self.measure(o, x, b, &h, &q)
            if not 1.0 - h - q > 1e-8:      # nothing left of what was rounded
                return self.removed(slot, row)
            total += o[2] + 0.5 * d * log(1.0 - h)
            total += 0.5 * (o[0] - 1.0) * log(1.0 - q / (1.0 - h))
            o += 4 + packed_size(p) + p * d + 2 * packed_size(d)
        return total

    cdef double removed(self, int32_t slot, int64_t row) noexcept nogil:
        """The same by removing the row and putting it back."""
        cdef double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *o = self.derivations + <int64_t> slot * self.n_derived
        cdef bint at_location = o[3] != 0.0
        cdef double total = 0.0, h, q
        cdef int b, d, p
        self.remove(slot, row)
        if s[0] < 0.5:
            self.clear(slot, self.prior_of[slot])
        self.refresh(slot)
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            self.measure(o, self.rows + row * self.n_columns, b, &h, &q)
            total += o[1] - 0.5 * d * log(1.0 + h)
            total -= 0.5 * (o[0] + 1.0) * log(1.0 + q / (1.0 + h))
            o += 4 + packed_size(p) + p * d + 2 * packed_size(d)
        self.add(slot, row)
        if not at_location:
            self.refresh(slot)
        return total

    cdef double log_marginal(self, int32_t slot, int32_t prior) noexcept nogil:
        cdef const double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *g = self.priors + <int64_t> prior * self.n_prior
        cdef double total = 0.0
        cdef int b, d, p, size
        for b in range(self.n_blocks):
            d, p = self.blocks[3 * b + 1], self.blocks[3 * b + 2]
            size = 1 + packed_size(p) + p * d + packed_size(d)
            total += self.normaliser(g, s, d, p) - self.normaliser(g, NULL, d, p)
            total -= 0.5 * s[0] * d * LOG_PI
            s += size
            g += size
        return total

    cdef double normaliser(
        self, const double *g, const double *s, int d, int p
    ) noexcept nogil:
        """log Gamma_d(nu/2) - nu/2 log |Psi| - d/2 log |Lambda|, but for constants."""
        cdef double *v = self.derivations + <int64_t> self.capacity * self.n_derived
        cdef double nu = g[0] + (s[0] if s else 0.0), total = 0.0
        cdef double *u
        cdef int j
        v -= self.n_derived                 # the last slot is spare
        u = v + packed_size(p) + p * d
        self.derive(g, s, d, p, v, v + packed_size(p), u)
        for j in range(p):
            total += d * log(v[at(j, j)])
        for j in range(d):
            total += nu * log(u[at(j, j)]) + lgamma(0.5 * (nu - j))
        return total

    cdef void move(self, int32_t into, int32_t source) noexcept nogil:
        Emission.move(self, into, source)
        memcpy(
            self.derivations + <int64_t> into * self.n_derived,
            self.derivations + <int64_t> source * self.n_derived,
            self.n_derived * sizeof(double),
        )
