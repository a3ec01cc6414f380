"""What emissions share, and axis-parallel Gaussians of known variance."""
import numpy as np

cimport cython
from libc.math cimport M_PI, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from dyntree._core.rng cimport RandomStream

cdef extern from *:
    """
    typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));
    #define PAIR(p) (*(Pair *) (p))
    #define PAIR_AT(p) (*(const Pair *) (p))

    /* out[k] = constant[k] - sum over j of scale[j][k] (x[j] - mean[j][k])^2, k < n;
       rows of `width`, a multiple of 4 */
    static inline void axis_densities(const double *mean, const double *scale,
                                      const double *constant, int width, int n,
                                      const double *x, int d, double *out) {
        int k, j;
        for (k = 0; k < n; k += 4) {
            const double *m = mean + k, *c = scale + k;
            Pair a = PAIR_AT(constant + k), b = PAIR_AT(constant + k + 2), s, t, v;
            for (j = 0; j < d; j++, m += width, c += width) {
                v = (Pair) {x[j], x[j]};
                s = v - PAIR_AT(m);
                t = v - PAIR_AT(m + 2);
                a -= s * s * PAIR_AT(c);
                b -= t * t * PAIR_AT(c + 2);
            }
            PAIR(out + k) = a;
            PAIR(out + k + 2) = b;
        }
    }

    /* sum over j of scale[j] (x[j] - (natural[j] - x[j] precision[j]) variance[j])^2 */
    static inline double axis_beside(const double *natural, const double *variance,
                                     const double *scale, const double *precision,
                                     const double *x, int d) {
        Pair a = {0.0, 0.0}, s, v;
        double rest = 0.0, t;
        int j = 0;
        for (; j + 2 <= d; j += 2) {
            v = PAIR_AT(x + j);
            s = v - (PAIR_AT(natural + j) - v * PAIR_AT(precision + j))
                        * PAIR_AT(variance + j);
            a += s * s * PAIR_AT(scale + j);
        }
        if (j < d) {
            t = x[j] - (natural[j] - x[j] * precision[j]) * variance[j];
            rest = t * t * scale[j];
        }
        return a[0] + a[1] + rest;
    }
    """
    void axis_densities(
        const double *mean, const double *scale, const double *constant, int width,
        int n, const double *x, int d, double *out
    ) noexcept nogil
    double axis_beside(
        const double *natural, const double *variance, const double *scale,
        const double *precision, const double *x, int d
    ) noexcept nogil

cdef double LOG_2PI = log(2.0 * M_PI)


cdef class Emission:
    """Rows of one phase, priors, and slots; see the declarations.

    Parameters
    ----------
    priors : ndarray of shape (n_priors, n_prior)
    """

    def __init__(self, const double[:, ::1] priors):
        self.store = {"priors": priors}
        self.n_prior = <int32_t> priors.shape[1]
        self.priors = &priors[0, 0] if priors.size else NULL

    def grow(self, int32_t capacity):
        """Make room for so many slots; a multiple of 4 is taken."""
        capacity = (capacity + 3) // 4 * 4
        sums = np.zeros((capacity, self.n_sums))
        prior_of = np.zeros(capacity, dtype=np.int32)
        if "sums" in self.store:
            sums[:self.capacity] = self.store["sums"]
            prior_of[:self.capacity] = self.store["prior_of"]
        cdef double[:, ::1] s = sums
        cdef int32_t[::1] p = prior_of
        self.store |= {"sums": sums, "prior_of": prior_of}
        self.sums, self.prior_of = &s[0, 0], &p[0]
        self.grow_derived(capacity)
        self.capacity = capacity

    def derived(self, name, shape, old_capacity, axis):
        """An array of zeros that keeps the contents of the one of that name."""
        array = np.zeros(shape)
        if name in self.store:
            old = self.store[name]
            if axis == 0:
                array[:old_capacity] = old
            else:
                array[:, :old_capacity] = old
        self.store[name] = array
        return array

    def log_under(self, int32_t first=0):
        """Log predictive density of all rows under each prior alone, from a prior on.

        Returns
        -------
        ndarray of shape (n_rows, n_priors - first)
        """
        cdef int32_t n = <int32_t> self.store["priors"].shape[0] - first, k
        cdef int64_t row
        if self.capacity < n:
            self.grow(n)
        found, scratch = np.empty((self.n_rows, n)), np.empty(self.capacity)
        cdef double[:, ::1] out = found
        cdef double[::1] room = scratch
        with nogil:
            for k in range(n):
                self.clear(k, first + k)
                self.refresh(k)
            for row in range(self.n_rows):
                self.log_densities(row, n, &room[0])
                for k in range(n):
                    out[row, k] = room[k]
        return found

    def log_marginals(self, const int64_t[::1] labels):
        """Log marginal likelihood of the rows of each label under its prior.

        Parameters
        ----------
        labels : ndarray of int64 of shape (n_rows,)
            Numbers of priors, or -1.

        Returns
        -------
        ndarray of shape (n_priors,)
        """
        cdef int32_t n = <int32_t> self.store["priors"].shape[0], k
        cdef int64_t row
        if self.capacity < n:
            self.grow(n)
        found = np.empty(n)
        cdef double[::1] out = found
        with nogil:
            for k in range(n):
                self.clear(k, k)
            for row in range(self.n_rows):
                if labels[row] >= 0:
                    self.add(<int32_t> labels[row], row)
            for k in range(n):
                out[k] = self.log_marginal(k, k)
        return found

    cdef const double *prior(self, int32_t slot) noexcept nogil:
        return self.priors + <int64_t> self.prior_of[slot] * self.n_prior

    cdef void clear(self, int32_t slot, int32_t prior) noexcept nogil:
        memset(
            self.sums + <int64_t> slot * self.n_sums, 0, self.n_sums * sizeof(double)
        )
        self.prior_of[slot] = prior

    cdef void put_under(self, int32_t slot, int32_t prior) noexcept nogil:
        self.prior_of[slot] = prior

    cdef void add(self, int32_t slot, int64_t row) noexcept nogil:
        pass

    cdef void remove(self, int32_t slot, int64_t row) noexcept nogil:
        pass

    cdef void refresh(self, int32_t slot) noexcept nogil:
        pass

    cdef void instantiate(self, int32_t slot, RandomStream *s) noexcept nogil:
        pass

    cdef void log_densities(self, int64_t row, int32_t top, double *out) noexcept nogil:
        pass

    cdef double density(self, int32_t slot, int64_t row) noexcept nogil:
        return 0.0

    cdef double without(self, int32_t slot, int64_t row) noexcept nogil:
        return 0.0

    cdef double log_marginal(self, int32_t slot, int32_t prior) noexcept nogil:
        return 0.0

    cdef void move(self, int32_t into, int32_t source) noexcept nogil:
        """Copy the sums of a slot, and which prior it has, to another slot."""
        memcpy(
            self.sums + <int64_t> into * self.n_sums,
            self.sums + <int64_t> source * self.n_sums, self.n_sums * sizeof(double),
        )
        self.prior_of[into] = self.prior_of[source]


# ---------------------------------------------------------------- known variance
@cython.final
cdef class AxisGaussians(Emission):
    """Axis-parallel Gaussians of known variance about a location.

    Parameters
    ----------
    priors : ndarray of shape (n_priors, 2 d)
        Mean and variance of a location, axis by axis.
    rows : ndarray of shape (n_rows, d)
    noise : ndarray of shape (d,)
        Variance of a row about its location.

    Notes
    -----
    Sums: rows, sum by axis, sum of y^2 / R over all axes. With r rows of sum s the
    location is N(v (m/P + s/R), v), v = 1/(1/P + r/R).
    """

    cdef int32_t d
    cdef const double *rows         # (n_rows, d)
    cdef const double *noise        # (d,)
    cdef double *mean               # (d, capacity)
    cdef double *scale              # (d, capacity): half the predictive precision
    cdef double *constant           # (capacity,)
    cdef double *beside             # (capacity, 3 d + 1): of a row beside the others
    cdef const double *precision    # (d,) 1 / noise

    def __init__(
        self, const double[:, ::1] priors, const double[:, ::1] rows,
        const double[::1] noise,
    ):
        Emission.__init__(self, priors)
        cdef const double[::1] precision = 1.0 / np.asarray(noise)
        self.store |= {"rows": rows, "noise": noise, "precision": precision}
        self.precision = &precision[0]
        self.n_rows, self.d = rows.shape[0], <int32_t> rows.shape[1]
        self.n_sums = self.d + 2
        self.rows = &rows[0, 0] if rows.size else NULL
        self.noise = &noise[0]

    def grow_derived(self, int32_t capacity):
        """Room for what is derived."""
        cdef double[:, ::1] mean = self.derived(
            "mean", (self.d, capacity), self.capacity, 1
        )
        cdef double[:, ::1] scale = self.derived(
            "scale", (self.d, capacity), self.capacity, 1
        )
        cdef double[::1] constant = self.derived(
            "constant", capacity, self.capacity, 0
        )
        cdef double[:, ::1] beside = self.derived(
            "beside", (capacity, 3 * self.d + 1), self.capacity, 0
        )
        self.mean, self.scale, self.constant = &mean[0, 0], &scale[0, 0], &constant[0]
        self.beside = &beside[0, 0]

    cdef void add(self, int32_t slot, int64_t row) noexcept nogil:
        cdef double *s = self.sums + slot * self.n_sums
        cdef const double *x = self.rows + row * self.d
        cdef int j
        s[0] += 1.0
        for j in range(self.d):
            s[j + 1] += x[j]
            s[self.d + 1] += x[j] * x[j] / self.noise[j]

    cdef void remove(self, int32_t slot, int64_t row) noexcept nogil:
        cdef double *s = self.sums + slot * self.n_sums
        cdef const double *x = self.rows + row * self.d
        cdef int j
        s[0] -= 1.0
        for j in range(self.d):
            s[j + 1] -= x[j]
            s[self.d + 1] -= x[j] * x[j] / self.noise[j]

    cdef void refresh(self, int32_t slot) noexcept nogil:
        cdef double *s = self.sums + slot * self.n_sums
        cdef const double *p = self.prior(slot)
        cdef double precision, iv, product = 1.0, log_det = 0.0
        cdef int j
        for j in range(self.d):
            precision = 1.0 / p[self.d + j] + s[0] / self.noise[j]
            iv = precision / (1.0 + self.noise[j] * precision)
            self.mean[j * self.capacity + slot] = (
                p[j] / p[self.d + j] + s[j + 1] / self.noise[j]
            ) / precision
            self.scale[j * self.capacity + slot] = 0.5 * iv
            product *= iv
            if product < 1e-100 or product > 1e100:
                log_det += log(product)
                product = 1.0
        self.constant[slot] = 0.5 * (log_det + log(product) - self.d * LOG_2PI)
        if s[0] > 0.5:
            self.refresh_beside(slot)

    cdef void refresh_beside(self, int32_t slot) noexcept nogil:
        """What the density of one of the slot's rows beside the others takes."""
        cdef double *s = self.sums + slot * self.n_sums
        cdef const double *p = self.prior(slot)
        cdef double *natural = self.beside + slot * (3 * self.d + 1)
        cdef double precision, iv, product = 1.0, log_det = 0.0
        cdef int j, d = self.d
        for j in range(d):
            precision = 1.0 / p[d + j] + (s[0] - 1.0) / self.noise[j]
            iv = precision / (1.0 + self.noise[j] * precision)
            natural[j] = p[j] / p[d + j] + s[j + 1] / self.noise[j]
            natural[d + j] = 1.0 / precision
            natural[2 * d + j] = 0.5 * iv
            product *= iv
            if product < 1e-100 or product > 1e100:
                log_det += log(product)
                product = 1.0
        natural[3 * d] = 0.5 * (log_det + log(product) - d * LOG_2PI)

    cdef void instantiate(self, int32_t slot, RandomStream *s) noexcept nogil:
        cdef double *sums = self.sums + slot * self.n_sums
        cdef const double *p = self.prior(slot)
        cdef double precision, log_det = 0.0
        cdef int j
        for j in range(self.d):
            precision = 1.0 / p[self.d + j] + sums[0] / self.noise[j]
            self.mean[j * self.capacity + slot] = (
                p[j] / p[self.d + j] + sums[j + 1] / self.noise[j]
            ) / precision + s.normal(s) / sqrt(precision)
            self.scale[j * self.capacity + slot] = 0.5 / self.noise[j]
            log_det += log(self.noise[j])
        self.constant[slot] = -0.5 * (log_det + self.d * LOG_2PI)

    cdef void log_densities(self, int64_t row, int32_t top, double *out) noexcept nogil:
        axis_densities(
            self.mean, self.scale, self.constant, self.capacity, top,
            self.rows + row * self.d, self.d, out,
        )

    cdef double density(self, int32_t slot, int64_t row) noexcept nogil:
        cdef const double *x = self.rows + row * self.d
        cdef double total = self.constant[slot], t
        cdef int64_t j, place
        for j in range(self.d):
            place = j * self.capacity + slot
            t = x[j] - self.mean[place]
            total -= t * t * self.scale[place]
        return total

    cdef double without(self, int32_t slot, int64_t row) noexcept nogil:
        cdef const double *natural = self.beside + slot * (3 * self.d + 1)
        if self.sums[slot * self.n_sums] < 1.5:     # others may have left a location
            self.refresh_beside(slot)
        return natural[3 * self.d] - axis_beside(
            natural, natural + self.d, natural + 2 * self.d, self.precision,
            self.rows + row * self.d, self.d,
        )

    cdef double log_marginal(self, int32_t slot, int32_t prior) noexcept nogil:
        cdef double *s = self.sums + slot * self.n_sums
        cdef const double *p = self.priors + <int64_t> prior * self.n_prior
        cdef double total = -s[self.d + 1], precision, m
        cdef int j
        for j in range(self.d):
            precision = 1.0 / p[self.d + j] + s[0] / self.noise[j]
            m = (p[j] / p[self.d + j] + s[j + 1] / self.noise[j]) / precision
            total += m * m * precision - p[j] * p[j] / p[self.d + j]
            total -= log(precision * p[self.d + j])
            total -= s[0] * (LOG_2PI + log(self.noise[j]))
        return 0.5 * total

    cdef void move(self, int32_t into, int32_t source) noexcept nogil:
        cdef int j
        Emission.move(self, into, source)
        for j in range(self.d):
            self.mean[j * self.capacity + into] = self.mean[j * self.capacity + source]
            self.scale[j * self.capacity + into] = self.scale[j * self.capacity + source]
        self.constant[into] = self.constant[source]
        memcpy(
            self.beside + into * (3 * self.d + 1),
            self.beside + source * (3 * self.d + 1),
            (3 * self.d + 1) * sizeof(double),
        )
