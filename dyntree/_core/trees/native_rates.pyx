"""Poisson and negative binomial leaves of the native rules; see the declarations."""
cimport cython
from libc.math cimport INFINITY, fabs, isinf, log, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from dyntree._core.memory cimport resize
from dyntree._core.rmath cimport log_gamma
from dyntree._core.trees.addends cimport Addends
from dyntree._core.trees.leaf cimport UNMOVED, MOVED, UNKNOWN, Place
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.types cimport slot_t

cdef double OTHER_RATE = 0.2        # difference of log rates at which a prior follows
cdef double HALF_EVENT = 0.5        # added to the events observed, for a rate > 0
cdef double LEAST = 3.0             # that a beta's first parameter counts as in criteria

# the grid of priors that a cloud chooses from
cdef double[N_SIZE] SIZES = [INFINITY, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1]
cdef double[N_SHAPE] SHAPES = [0.3, 1.0, 5.0, 30.0]


cdef inline double term(double y, double e, double size) noexcept nogil:
    """What a row's log density has that hangs on the size alone, but for - ln y!."""
    if isinf(size):
        return y * log(e)
    return log_gamma(y + size * e) - log_gamma(size * e)


@cython.final
cdef class Events(Family):
    """Weight, exposure and events; for each size of the grid the sum of `term`.

    Parameters
    ----------
    n_sizes : int
        0 where one size is given: then the terms are the same in all trees.
    """

    def __init__(self, int n_sizes):
        self.n_sizes = n_sizes
        self.stride = 3 + n_sizes

    cdef void add(
        self, double *row, const double *x, double y, double weight, double exposure
    ) noexcept nogil:
        cdef int k
        row[0] += weight
        row[1] += weight * exposure
        row[2] += weight * y
        for k in range(self.n_sizes):
            row[3 + k] += weight * term(y, exposure, SIZES[k])


@cython.final
cdef class NativeRates(InheritingLeaves):
    """Leaves of counts under a conjugate prior.

    Parameters
    ----------
    is_negbin : bool
    dispersion : float, optional
        1 / t where it is given, for exposures as users give them; else the cloud tunes
        it. Poisson leaves have 0.

    Notes
    -----
    With n rows of exposure E together and Y events, and without the terms that are the
    same in all trees of the same rows:
    Poisson: log Z = a log b - lnG(a) + lnG(A) - A log B, b = a / m, A = a + Y, B = b + E;
    negative binomial: log Z = lnB(A, B) - lnB(1 + t a / m, a), A = 1 + t a / m + t E,
    B = a + Y. The predictives are the negative binomial NB(A, B / (B + e)), and the beta
    negative binomial.
    """

    def __init__(self, bint is_negbin, dispersion=None):
        cdef int k
        self.is_negbin = is_negbin
        self.is_count = True
        tuned = is_negbin and dispersion is None
        self.n_sizes = N_SIZE if tuned else 1
        for k in range(N_SIZE):
            self.sizes[k] = SIZES[k]
        if is_negbin and dispersion is not None:
            self.sizes[0] = 1.0 / dispersion
        self.family = Events(N_SIZE if tuned else 0)
        self.addends = Addends(self.family)
        self.inherited_at = SECOND + 1
        self.n_derived = self.inherited_at + self.family.stride
        self.retires = self.subtracts = self.logs = self.may_inherit = True
        resize(<void **> &self.survey, 2 * self.family.stride, sizeof(double))
        self.total = self.survey + self.family.stride
        self.unit = self.one = 1.0
        self.set_prior(1.0, self.sizes[0], 1.0)

    def __dealloc__(self):
        free(self.survey)

    def set_exposure_unit(self, double unit, double rate):
        """Fix the unit of exposures, and place the prior at a rate per such a unit."""
        if self.n_sizes == 1 and not isinf(self.sizes[0]):
            self.sizes[0] *= unit / self.unit
        self.unit = unit
        self.one = 1.0 / unit
        self.set_prior(rate, self.sizes[0], self.shape)

    def to_state(self):
        """Prior point, its place and the unit of exposures; a size of 0 is Poisson's."""
        return {
            "rate": self.rate, "shape": self.shape, "exposure_unit": self.unit,
            "size": 0.0 if isinf(self.size) else self.size,
        }

    def from_state(self, state):
        """Take over what `to_state` gave."""
        self.set_exposure_unit(state["exposure_unit"], state["rate"])
        size = state["size"] or INFINITY
        self.set_prior(state["rate"], size, state["shape"])

    cdef void set_prior(self, double rate, double size, double shape) noexcept nogil:
        """Change the prior point; every leaf must be refreshed."""
        cdef int k
        self.rate, self.size = rate, size
        if shape != self.shape:
            self.shape = shape
            for k in range(N_TABLE):
                self.log_gammas[k] = log_gamma(shape + k)
        if isinf(size):
            self.first, self.second = shape, shape / rate
            self.constant = self.log_gammas[0] - shape * log(self.second)
        else:
            self.first, self.second = 1.0 + size * shape / rate, shape
            self.constant = (
                log_gamma(self.first) + self.log_gammas[0]
                - log_gamma(self.first + shape)
            )

    # ------------------------------------------------------------ evidence
    cdef double log_gamma_events(self, double n) noexcept nogil:
        """log Gamma(a + n), looked up for small whole n."""
        if n < N_TABLE and n == <int> n:
            return self.log_gammas[<int> n]
        return log_gamma(self.shape + n)

    cdef double evidence(self, double exposure, double events) noexcept nogil:
        """Log evidence at the prior point."""
        cdef double a, b
        if isinf(self.size):
            return (
                self.log_gamma_events(events)
                - (self.first + events) * log(self.second + exposure) - self.constant
            )
        a, b = self.first + self.size * exposure, self.second + events
        return log_gamma(a) + self.log_gamma_events(events) - log_gamma(a + b) - (
            self.constant
        )

    cdef double evidence_at(
        self, double exposure, double events, double size, double shape
    ) noexcept nogil:
        """Log evidence at another point, with the same mean rate."""
        cdef double a = shape, b = shape / self.rate
        if isinf(size):
            return (
                a * log(b) - log_gamma(a) + log_gamma(a + events)
                - (a + events) * log(b + exposure)
            )
        a, b = 1.0 + size * b, shape
        return (
            log_gamma(a + size * exposure) + log_gamma(b + events)
            - log_gamma(a + size * exposure + b + events)
            - log_gamma(a) - log_gamma(b) + log_gamma(a + b)
        )

    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil:
        cdef int k
        for k in range(n):
            out[k] = self.evidence(sums[1], sums[2])
            sums += self.family.stride

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        cdef double exposure = max(leaf.active[1] + leaf.retired[1], 0.0)
        cdef double events = max(leaf.active[2] + leaf.retired[2], 0.0)
        if isinf(self.size):
            leaf.derived[FIRST] = self.first + events
            leaf.derived[SECOND] = self.second + exposure
        else:
            leaf.derived[FIRST] = self.first + self.size * exposure
            leaf.derived[SECOND] = self.second + events
        self.tell_evidence(leaf, self.evidence(exposure, events))

    cdef double row_density(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil:
        """Log predictive probability of a row's count, or of as many equal ones."""
        cdef double y = d.y(s), w = d.w(s), e = d.e(s), found
        cdef double a = leaf.derived[FIRST], b = leaf.derived[SECOND]
        if isinf(self.size):
            found = (
                log_gamma(a + w * y) - log_gamma(a) - a * log1p(w * e / b)
                - w * y * log(b + w * e)
            )
        else:
            found = (
                log_gamma(a + w * self.size * e) - log_gamma(a)
                + log_gamma(b + w * y) - log_gamma(b)
                + log_gamma(a + b) - log_gamma(a + b + w * (self.size * e + y))
            )
        return found + w * (term(y, e, self.size) - log_gamma(y + 1.0))

    # ------------------------------------------------------------ prediction
    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        """Mean rate per unit of exposure as users give it, and the two parameters."""
        cdef double a = leaf.derived[FIRST], b = leaf.derived[SECOND]
        out[0] = self.one * (a / b if isinf(self.size) else self.size * b / (a - 1.0))
        out[1] = a
        out[2] = b

    cdef void predict_rows(
        self, const Leaf *leaf, const double *rows, int32_t width,
        const int32_t *which, int32_t n, double *out, int32_t stride, double *work,
    ) noexcept nogil:
        cdef int32_t k
        for k in range(n):
            self.predict(leaf, rows, out + k * <int64_t> stride)

    cdef double variance_of(
        self, double first, double second, double e
    ) noexcept nogil:
        cdef double a = first, b = second, r = self.size * e, mean, square
        if isinf(self.size):
            return a / b * e * (1.0 + e / b)
        a = max(a, LEAST)
        mean, square = b / (a - 1.0), b * (b + 1.0) / ((a - 1.0) * (a - 2.0))
        return r * (mean + square) + r * r * (square - mean * mean)

    cdef double response_variance(
        self, const Leaf *leaf, const double *out
    ) noexcept nogil:
        return self.variance_of(out[1], out[2], self.one)

    # ------------------------------------------------------------ criteria
    cdef double reduction(self, const Leaf *leaf, double e) noexcept nogil:
        """Variance of E[rate | y], y the events of an exposure e, on the users' scale."""
        cdef double a = leaf.derived[FIRST], b = leaf.derived[SECOND], off
        if isinf(self.size):
            return self.one * self.one * a / (b * b) * e / (b + e)
        off = self.one * self.size / (max(a, LEAST) + self.size * e - 1.0)
        return off * off * self.variance_of(a, b, e)

    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return 1.0

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return 1.0

    cdef double variance_df(self, const Leaf *leaf) noexcept nogil:
        return 1.0

    cdef void explain_rows(
        self, const Leaf *leaf, const double *mean, const double *variance,
        const double *rows, int32_t width, const int32_t *which, int32_t n,
        const double *weights, double *out,
    ) noexcept nogil:
        """`reduction` by rows, whose exposures stand in the place of weights."""
        cdef int32_t k
        for k in range(n):
            out[k] = self.reduction(
                leaf, self.one if weights == NULL else weights[which[k]]
            )

    cdef double lift(
        self, const Leaf *leaf, const double *x, double *u, double *kappa
    ) noexcept nogil:
        """The root of `reduction`, for all rows of a leaf alike."""
        kappa[0] = 1.0 - self.noise
        return sqrt(self.reduction(leaf, self.one))

    cdef double mean_kappa(
        self, const Leaf *leaf, const double *mean, const double *variance, double *v
    ) noexcept nogil:
        """What makes the integral of the variance of a response, of unit exposure."""
        return self.variance_of(
            leaf.derived[FIRST], leaf.derived[SECOND], self.one
        ) - self.noise

    # ------------------------------------------------------------ prior
    cdef void begin_survey(self) noexcept nogil:
        self.family.clear(self.survey)

    cdef void survey_leaf(self, const Leaf *leaf, double multiplicity) noexcept nogil:
        cdef int k
        for k in range(self.family.stride):
            self.survey[k] += multiplicity * (leaf.active[k] + leaf.retired[k])

    cdef Place take_place(
        self, double *y, const double *weights, int32_t n, int64_t n_seen
    ) noexcept nogil:
        cdef double rate
        if not self.survey[1] > 0.0:
            return UNKNOWN
        rate = (max(self.survey[2], 0.0) + HALF_EVENT) / self.survey[1]
        if not fabs(log(rate / self.rate)) > OTHER_RATE:
            return UNMOVED
        self.set_prior(rate, self.size, self.shape)
        return MOVED

    cdef void score_priors(
        self, const Leaf *leaf, double multiplicity, double *scores
    ) noexcept nogil:
        """Add the leaf's log evidence at every point of the grid."""
        cdef int k
        for k in range(self.family.stride):
            self.total[k] = leaf.active[k] + leaf.retired[k]
        self.add_scores(self.total, multiplicity, scores)
        if self.inherited(leaf)[0] > 0.0:
            self.add_scores(self.inherited(leaf), -multiplicity, scores)

    cdef void add_scores(
        self, const double *row, double multiplicity, double *scores
    ) noexcept nogil:
        cdef double exposure = max(row[1], 0.0), events = max(row[2], 0.0), terms
        cdef int i, k
        for i in range(self.n_sizes):
            terms = row[3 + i] if self.n_sizes > 1 else 0.0
            for k in range(N_SHAPE):
                scores[i * N_SHAPE + k] += multiplicity * (
                    terms + self.evidence_at(exposure, events, self.sizes[i], SHAPES[k])
                )

    cdef bint adopt_prior(self, const double *scores) noexcept nogil:
        """Move to the best point if it gains more than one nat; whether it moved."""
        cdef int k, best = 0, now = -1
        for k in range(self.n_sizes * N_SHAPE):
            if scores[k] > scores[best]:
                best = k
            if self.sizes[k // N_SHAPE] == self.size and SHAPES[k % N_SHAPE] == self.shape:
                now = k
        if now >= 0 and not scores[best] > scores[now] + 1.0:
            return False
        self.set_prior(self.rate, self.sizes[best // N_SHAPE], SHAPES[best % N_SHAPE])
        return True
