"""LinearFilters: what regressions of labels and counts learn from a row, and say of one.

The log odds of a label, or the log rate of events less that of the first rows, are b'w,
w = (1, z), where z are the columns in their units, clipped to some spreads about their
running means. The coefficients have a normal law. A row makes b'w, N(e, v) before it, less
uncertain. Quadrature gives its mean m and variance u after it (assumed density filtering:
Opper 1998; Minka 2001), and the row adds 1/u - 1/v times w w' to the precision of the
coefficients, and m/u - e/v times w to the precision times the mean.
"""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, fmax, fmin, isnan, log, sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport CounterSource
from dyntree._core.sites cimport count_site, label_site, sigmoid

cdef double ODDS_VARIANCE = 25.0    # prior variance of the intercept, of log odds
cdef double RATE_VARIANCE = 4.0     # and of log rates, about that of the first rows
cdef double LEAST_SQUARE = 1e-12    # of a spread in its unit
cdef double FAR = 10.0              # spreads from the mean that a value counts at most
cdef double SLACK = 1.5             # factor by which a prior precision may be off
cdef double RETENTION = 0.998       # of the log weight of a spread, after a row
cdef double LEAST_P = 1e-12         # of a label that a spread is weighed by
cdef double LEAST_MORE = 1e-12      # that a row adds to a precision, as a share of it
OPTIONS = (
    "n_features", "n_classes", "sizes", "forget", "spreads", "clip", "weighting",
)
COLUMNS = (
    "place", "unit", "column_mean", "square", "n_values", "n_gaps", "low", "high", "is_many",
)
FILTERS = ("log_weights", "prior", "covariance", "mean", "moment")
FIRST = ("first_X", "first_y", "first_w", "first_e")


cdef double median(const double *values, int32_t n) noexcept nogil:
    """Of N_FIRST values at most."""
    cdef double[N_FIRST] ordered
    cdef int32_t i, k
    for i in range(n):
        k = i
        while k > 0 and ordered[k - 1] > values[i]:
            ordered[k] = ordered[k - 1]
            k -= 1
        ordered[k] = values[i]
    return 0.5 * ordered[(n - 1) // 2] + 0.5 * ordered[n // 2]


cdef class LinearFilters:
    """Regressions of labels or counts, one of each kind for each prior spread.

    Labels are regressed each against the rest, by logistic regressions; counts by Poisson
    and negative binomial ones.

    Parameters
    ----------
    source : CounterSource
        Of which it draws nothing.
    n_features, n_classes : int
        Of two labels one filter regresses the second. Beside the filters of labels stands
        one of a label that no row has; a new label begins with it. No classes:
        counts.
    sizes : sequence of float > 0
        Of counts: sizes of the negative binomial at an exposure of 1; infinite: Poisson.
    forget : float in (0, 1]
        Factor of the sums over rows after a row; the prior stays.
    spreads : sequence of float > 0
        Prior standard deviations of coefficients, over those of the columns.
    clip : float > 0
        Spreads that a value is from its running mean at most.
    weighting : {"frequency"}, optional
        Rows have weights, which say how often they are.
    """

    def __cinit__(
        self, CounterSource source, *, int32_t n_features, int32_t n_classes,
        double forget, spreads, double clip, sizes=(), weighting=None,
    ):
        cdef int32_t width = n_features + 1, n_sizes = max(1, len(sizes))
        self.source, self.weighting = source, weighting
        self.options = {
            "n_features": n_features, "n_classes": n_classes, "sizes": tuple(sizes),
            "forget": forget, "spreads": tuple(spreads), "clip": clip,
            "weighting": weighting,
        }
        self.n_features, self.n_classes, self.width = n_features, n_classes, width
        self.forget, self.clip = forget, clip
        self.is_count = n_classes == 0
        self.spreads = np.repeat(np.array(spreads, dtype=np.float64), n_sizes)
        self.sizes = np.tile(np.array([*sizes, *[INFINITY] * (not sizes)]), len(spreads))
        self.n_kinds = len(self.spreads)
        self.n_filters = 1 + (n_classes if n_classes > 2 else n_classes - 1)
        if self.is_count:
            self.n_filters = 1
        self.rate = self.exposure_unit = 1.0
        self.most = -INFINITY
        filters = (self.n_kinds, self.n_filters, width)
        self.arrays = {name: np.zeros(n_features) for name in COLUMNS} | {
            "log_weights": np.zeros(self.n_kinds),
            "prior": np.empty((self.n_kinds, width)),
            "covariance": np.empty((*filters, width)),
            "mean": np.empty(filters), "moment": np.empty(filters),
            "first_X": np.empty((N_FIRST, n_features)),
            "first_y": np.empty(N_FIRST), "first_w": np.empty(N_FIRST),
            "first_e": np.empty(N_FIRST),
        }
        for name in ("place", "low", "high"):
            self.arrays[name].fill(np.nan)
        (
            self.place, self.unit, self.column_mean, self.square, self.n_values,
            self.n_gaps, self.low, self.high, self.is_many,
        ) = (self.arrays[name] for name in COLUMNS)
        self.log_weights, self.prior, self.covariance, self.mean, self.moment = (
            self.arrays[name] for name in FILTERS
        )
        self.first_X, self.first_y, self.first_w, self.first_e = (
            self.arrays[name] for name in FIRST
        )
        self.room = np.empty(self.room_for())
        self.clear()

    cdef Py_ssize_t room_for(self) noexcept nogil:
        """Doubles of scratch: w, gaps, what `n_each` says; b'w, variance, V w a filter."""
        cdef Py_ssize_t n = <Py_ssize_t> self.n_kinds * self.n_filters
        return 2 * self.width + self.n_kinds * self.n_each() + n * (3 + self.width)

    cdef int32_t n_each(self) noexcept nogil:
        """What each kind says of a row: a probability a label, or the log of a count's."""
        return 1 if self.is_count else self.n_classes

    # ------------------------------------------------------------ columns
    cdef double column_spread(self, int32_t j) noexcept nogil:
        """Standard deviation of a column in its unit."""
        cdef double n = self.n_values[j] if self.n_values[j] > 0.0 else 1.0
        return sqrt(fmax(self.square[j] / n, LEAST_SQUARE))

    cdef double target(self, int32_t k, int64_t j) noexcept nogil:
        """Prior precision that coefficient j has to have for spread k."""
        if j == 0:
            return 1.0 / (RATE_VARIANCE if self.is_count else ODDS_VARIANCE)
        if self.unit[j - 1] == 0.0:
            return 1.0          # of a column that is constant so far, and always 0
        return (self.column_spread(<int32_t> j - 1) / self.spreads[k]) ** 2

    cdef void standardize(self, const double *x, double *w, double *gaps) noexcept nogil:
        """Write w of a row, in which a gap is the mean, and the variances of its gaps."""
        cdef int32_t j
        cdef double z, most
        w[0], gaps[0] = 1.0, 0.0
        for j in range(self.n_features):
            z, gaps[j + 1] = self.column_mean[j], 0.0
            if self.unit[j] > 0.0:
                most = self.column_spread(j)
                if isnan(x[j]):
                    gaps[j + 1] = most * most
                else:
                    most *= self.clip if self.is_far(j, x[j]) else INFINITY
                    z = (x[j] - self.place[j]) / self.unit[j]
                    z = fmin(fmax(z, self.column_mean[j] - most), self.column_mean[j] + most)
            w[j + 1] = z

    cdef void see(self, const double *x, double times) noexcept nogil:
        """Add the values of a row to what is known of their columns."""
        cdef int32_t j, k, c
        cdef double z, most
        cdef bint is_new
        for j in range(self.n_features):
            if isnan(x[j]):
                continue
            if isnan(self.place[j]):
                self.place[j] = x[j]
            z, is_new = 0.0, self.unit[j] == 0.0 and x[j] != self.place[j]
            if is_new:
                self.unit[j] = fabs(x[j] - self.place[j]) / sqrt(10.0)
                z = sqrt(10.0) if x[j] > self.place[j] else -sqrt(10.0)
            elif self.unit[j] > 0.0:
                most = self.column_spread(j) * (FAR if self.is_far(j, x[j]) else INFINITY)
                z = (x[j] - self.place[j]) / self.unit[j]
                z = fmin(fmax(z, self.column_mean[j] - most), self.column_mean[j] + most)
            self.count(j, z, times)
            for k in range(self.n_kinds if is_new else 0):    # no row moved it so far
                self.prior[k, j + 1] = self.target(k, j + 1)
                for c in range(self.n_filters):
                    self.covariance[k, c, j + 1, j + 1] = 1.0 / self.prior[k, j + 1]

    cdef bint is_far(self, int32_t j, double x) noexcept nogil:
        """Whether a value may be too far away: not one of the two that a column has.

        The spread of a column of two values, one of them rare or late, is no bound.
        """
        return not (x == self.low[j] or x == self.high[j])

    cdef void note_values(self, const double *x) noexcept nogil:
        """Count gaps, and remember which columns have two values at most."""
        cdef int32_t j
        for j in range(self.n_features):
            if isnan(x[j]):
                self.n_gaps[j] += 1.0
            elif self.is_many[j] > 0.0:
                pass
            elif isnan(self.low[j]):
                self.low[j] = self.high[j] = x[j]
            elif self.low[j] == self.high[j]:
                self.low[j], self.high[j] = fmin(self.low[j], x[j]), fmax(self.high[j], x[j])
            elif x[j] != self.low[j] and x[j] != self.high[j]:
                self.is_many[j] = 1.0       # whose values nobody asks for
                self.low[j] = self.high[j] = NAN

    cdef void store(
        self, const double *x, double y, double times, double exposure
    ) noexcept nogil:
        """Store a row until there are enough to fix the units of columns."""
        cdef int32_t j
        for j in range(self.n_features):
            self.first_X[self.n_first, j] = x[j]
        self.first_y[self.n_first], self.first_w[self.n_first] = y, times
        self.first_e[self.n_first] = exposure
        self.n_first += 1
        if self.n_first == N_FIRST:
            self.fix_columns()

    cdef void fix_columns(self) noexcept nogil:
        """Take the units of columns from the stored rows, and learn these anew in them."""
        cdef int32_t j, i
        cdef double *w = &self.room[0]
        cdef double *gaps = w + self.width
        cdef double *rest = gaps + self.width
        self.has_units = True
        for j in range(self.n_features):
            self.fix_column(j)
        self.clear()
        for i in range(self.n_first):
            self.standardize(&self.first_X[i, 0], w, gaps)
            self.look(w, gaps, rest)
            self.learn(w, self.first_y[i], self.first_w[i], self.first_e[i], rest)
            self.renew_some(i)
        self.n_first = 0

    cdef void fix_column(self, int32_t j) noexcept nogil:
        """Place and unit of a column: median and median distance in the first rows.

        One value far away changes neither, and counts as one at `FAR` units.
        """
        cdef double[N_FIRST] values, off
        cdef int32_t i, n = 0
        cdef double z, most = 0.0, total = 0.0
        for i in range(self.n_first):
            if not isnan(self.first_X[i, j]):
                values[n] = self.first_X[i, j]
                n += 1
        if n == 0:
            return
        self.place[j] = median(values, n)
        for i in range(n):
            off[i] = fabs(values[i] - self.place[j])
            most = fmax(most, off[i])
        self.unit[j] = median(off, n)
        if self.unit[j] == 0.0 and most > 0.0:  # most are equal: by the mean square
            for i in range(n):
                total += (off[i] / most) ** 2
            self.unit[j] = most * sqrt(total / n)
        if self.unit[j] == 0.0 or self.unit[j] == INFINITY:
            self.unit[j] = 0.0
        for i in range(self.n_first):
            if not isnan(self.first_X[i, j]):
                z = 0.0
                if self.unit[j] > 0.0:
                    z = (self.first_X[i, j] - self.place[j]) / self.unit[j]
                self.count(j, fmin(fmax(z, -FAR), FAR), self.first_w[i])

    cdef void count(self, int32_t j, double z, double times) noexcept nogil:
        """Add a value in its unit to the sums of a column."""
        cdef double off = z - self.column_mean[j]
        self.n_values[j] += times
        self.column_mean[j] += times / self.n_values[j] * off
        self.square[j] += times * off * (z - self.column_mean[j])

    # ------------------------------------------------------------ filters
    cdef void clear(self) noexcept nogil:
        """Let every filter know no row."""
        cdef int32_t k
        for k in range(self.n_kinds):
            self.forget_filter(k)

    cdef void forget_filter(self, int32_t k) noexcept nogil:
        """Let the filters of one spread know no row."""
        cdef int64_t i, j
        cdef int32_t c
        for j in range(self.width):
            self.prior[k, j] = self.target(k, j)
        for c in range(self.n_filters):
            for i in range(self.width):
                self.mean[k, c, i] = self.moment[k, c, i] = 0.0
                for j in range(self.width):
                    self.covariance[k, c, i, j] = 1.0 / self.prior[k, i] if i == j else 0.0

    cdef void look(self, const double *w, const double *gaps, double *room) noexcept nogil:
        """Write mean and variance of b'w by every filter, and all behind them.

        `room` has what `n_each` says of each kind, then for each filter in turn a mean, a
        variance, what gaps add to the variance, and V w.
        """
        cdef double *out = room + self.n_kinds * self.n_each()
        cdef const double *V
        cdef const double *b
        cdef double e, v, more, total
        cdef int64_t i, j, d = self.width
        cdef int32_t k, c
        for k in range(self.n_kinds):
            for c in range(self.n_filters):
                V, b = &self.covariance[k, c, 0, 0], &self.mean[k, c, 0]
                e = v = more = 0.0
                for i in range(d):
                    total = 0.0
                    for j in range(d):
                        total += V[j] * w[j]
                    V += d
                    out[3 + i] = total
                    e += b[i] * w[i]
                    v += total * w[i]
                    more += b[i] * b[i] * gaps[i]
                out[0], out[1], out[2] = e, v, more
                out += 3 + d

    cdef bint mend(self, const double *room) noexcept nogil:
        """Begin anew with kinds that rounding has made useless; whether any was."""
        cdef const double *own = room + self.n_kinds * self.n_each()
        cdef int32_t k, c
        cdef bint fits, any_failed = False
        cdef double least = 0.0
        for k in range(self.n_kinds):
            fits = True
            for c in range(self.n_filters):
                fits = fits and 0.0 < own[1] < INFINITY and fabs(own[0]) < INFINITY
                own += 3 + self.width
            least = fmin(least, self.log_weights[k])
            if not fits:
                self.forget_filter(k)
                self.log_weights[k] = least     # of those before it, and none above 0
                any_failed = True
        return any_failed

    cdef void each_proba(self, double *room) noexcept nogil:
        """Probabilities of labels by each spread, by what `look` wrote of their filters.

        That is the mean of the sigmoid of a normal variable (MacKay 1992), as a share of
        their sum if there are more than two.
        """
        cdef int32_t k, c, K = self.n_classes
        cdef const double *own = room + self.n_kinds * K
        cdef double total, p
        for k in range(self.n_kinds):
            total = 0.0
            for c in range(self.n_filters - 1):
                p = sigmoid(own[0] / sqrt(1.0 + M_PI / 8.0 * (own[1] + own[2])))
                room[c if K > 2 else 1] = p
                total += p
                own += 3 + self.width
            own += 3 + self.width       # of no label
            if K < 3:
                room[0] = 1.0 - total
            for c in range(K if K > 2 else 0):
                room[c] /= total
            room += K

    cdef void mix(self, const double *each, double *proba) noexcept nogil:
        """Probabilities of the labels from those by each spread."""
        cdef int32_t k, c
        cdef double total = 0.0, share
        for c in range(self.n_classes):
            proba[c] = 0.0
        for k in range(self.n_kinds):
            share = exp(self.log_weights[k])
            total += share
            for c in range(self.n_classes):
                proba[c] += share * each[k * self.n_classes + c]
        for c in range(self.n_classes):
            proba[c] /= total

    cdef void foresee(self, const double *x, double *proba, double *room) noexcept nogil:
        """Write the probabilities of the labels at a row; `room` is scratch."""
        cdef double *gaps = room + self.width
        cdef double *each = gaps + self.width
        self.standardize(x, room, gaps)
        self.look(room, gaps, each)
        self.each_proba(each)
        self.mix(each, proba)

    cdef double take(
        self, const double *x, double y, double times, double exposure, double *proba
    ) noexcept nogil:
        """Learn a row; gives its log probability, as often as it is.

        `proba` becomes those of the labels before the row.
        """
        cdef double *w = &self.room[0]
        cdef double *gaps = w + self.width
        cdef double *each = gaps + self.width
        cdef double found
        self.standardize(x, w, gaps)
        self.look(w, gaps, each)
        if self.mend(each):
            self.look(w, gaps, each)
        if self.is_count:
            self.learn(w, y, times, exposure, each)
            found = self.log_mixture(each)
            self.weigh(each, 0, 1.0)
            self.most = fmax(self.most, log((y + self.rate) / (exposure + 1.0)))
        else:
            self.each_proba(each)
            self.mix(each, proba)
            if times == 1.0:
                found = log(fmax(proba[<int32_t> y], LEAST_P))
            else:
                found = self.repeat(each, <int32_t> y, times)
            self.weigh(each, <int32_t> y, times)
            self.learn(w, y, times, exposure, each)
        if self.has_units:
            self.see(x, times)
        self.renew_some(self.n_seen)
        self.note_values(x)
        if not self.has_units:
            self.store(x, y, times, exposure)
        self.n_seen += 1
        self.log_evidence += found
        return found

    cdef double repeat(self, double *each, int32_t label, double times) noexcept nogil:
        """Log probability of a label that occurs several times at one row.

        Its probability by each spread becomes the geometric mean over these. Given the
        log odds they are independent. The probabilities of more than two labels have the
        sum that those of one label have.
        """
        cdef int32_t k, K = self.n_classes
        cdef int32_t c = label if K > 2 else 0
        cdef double sign = 1.0 if K > 2 or label == 1 else -1.0
        cdef double m, u, p, v, most = -INFINITY, total = 0.0, shares = 0.0
        cdef double *own = each + self.n_kinds * K + c * (3 + self.width)
        if K < 2:
            return 0.0
        for k in range(self.n_kinds):
            v = own[1] + own[2]
            p = sigmoid(sign * own[0] / sqrt(1.0 + M_PI / 8.0 * v))
            p = log(fmax(each[k * K + label], LEAST_P) / fmax(p, LEAST_P))
            p += label_site(own[0], v, sign, times, &m, &u) / times
            each[k * K + label] = fmax(exp(p), LEAST_P)
            most = fmax(most, self.log_weights[k] + times * log(each[k * K + label]))
            own += self.n_filters * (3 + self.width)
        for k in range(self.n_kinds):
            p = times * log(each[k * K + label])
            total += exp(self.log_weights[k] + p - most)
            shares += exp(self.log_weights[k])
        return most + log(total / shares)

    cdef double log_mixture(self, const double *each) noexcept nogil:
        """Log density of a count under all kinds, of which `each` has one a kind."""
        cdef double most = -INFINITY, total = 0.0, shares = 0.0
        cdef int32_t k
        for k in range(self.n_kinds):
            most = fmax(most, self.log_weights[k] + each[k])
        for k in range(self.n_kinds):
            total += exp(self.log_weights[k] + each[k] - most)
            shares += exp(self.log_weights[k])
        return most + log(total / shares)

    cdef void weigh(self, const double *each, int32_t label, double times) noexcept nogil:
        """Weigh the kinds by what `n_each` says that they said of a row."""
        cdef double own, most = -INFINITY
        cdef int32_t k
        for k in range(self.n_kinds):
            if self.is_count:
                own = each[k]
            else:
                own = times * log(fmax(each[k * self.n_classes + label], LEAST_P))
            self.log_weights[k] = RETENTION * (self.log_weights[k] + own)
            most = fmax(most, self.log_weights[k])
        for k in range(self.n_kinds):
            self.log_weights[k] -= most

    cdef void learn(
        self, const double *w, double y, double times, double exposure, double *room
    ) noexcept nogil:
        """Add a row to all filters, of which `room` has what `look` wrote.

        Of counts the log density under each kind is written there.
        """
        cdef double *own = room + self.n_kinds * self.n_each()
        cdef int32_t k, c, j, label = <int32_t> y
        cdef bint is_label
        for k in range(self.n_kinds):
            for c in range(self.n_filters):
                if self.is_count:
                    room[k] = self.add_count(k, w, y, times, exposure, own)
                else:
                    is_label = c < self.n_filters - 1
                    is_label = is_label and label == (1 if self.n_classes == 2 else c)
                    self.add_label(k, c, w, is_label, times, own)
                own += 3 + self.width
            for j in range(self.width):
                self.prior[k, j] *= self.forget

    cdef void add_label(
        self, int32_t k, int32_t c, const double *w, bint is_label, double times,
        const double *own,
    ) noexcept nogil:
        """Add a row to the filter of a label; `own` has log odds, variance and V w."""
        cdef double m, u
        label_site(own[0], own[1], 1.0 if is_label else -1.0, times, &m, &u)
        self.add(k, c, w, m, u, own)

    cdef double add_count(
        self, int32_t k, const double *w, double y, double times, double exposure,
        const double *own,
    ) noexcept nogil:
        """Add a row to a filter of counts; gives its log density before."""
        cdef double m, u, m_wide, u_wide, found, e = own[0], v = own[1]
        cdef double size = self.sizes[k] * exposure, offset = log(self.rate * exposure)
        found = count_site(e, v, y, size, offset, times, &m, &u)
        self.add(k, 0, w, m, u, own)
        if own[2] > 0.0:        # what is missing makes the row less certain
            found = count_site(e, v + own[2], y, size, offset, times, &m_wide, &u_wide)
        return found

    cdef void add(
        self, int32_t k, int32_t c, const double *w, double m, double u, const double *own
    ) noexcept nogil:
        """Let one filter have the mean m and variance u of b'w after a row."""
        cdef double e = own[0], v = own[1], more, moment, scale, step
        cdef const double *Vw = own + 3
        cdef double *V = &self.covariance[k, c, 0, 0]
        cdef int64_t i, j, d = self.width
        more = fmax(1.0 / u - 1.0 / v, LEAST_MORE / v)
        moment = m / u - e / v
        scale = more / (self.forget + more * v)         # Sherman and Morrison (1950)
        step = (moment - more * e) / (self.forget + more * v)
        for i in range(d):
            for j in range(d):
                V[j] = (V[j] - scale * (Vw[i] * Vw[j])) / self.forget
            V += d
            self.mean[k, c, i] += step * Vw[i]
            self.moment[k, c, i] = self.forget * self.moment[k, c, i] + moment * w[i]

    cdef void renew_some(self, int64_t row) noexcept nogil:
        """Bring the priors of some coefficients up to what they have to be, after a row.

        Those are off by more than `SLACK` or, where priors fade, are next in turn among
        those that have a unit.
        """
        cdef int64_t j, n = 1, place
        cdef double off
        for j in range(self.n_features):
            n += self.unit[j] > 0.0
        place = row % n
        for j in range(self.width):
            off = self.prior[0, j] / self.target(0, j)
            if j > 0 and self.unit[j - 1] == 0.0:
                if self.forget < 1.0:   # nothing but its prior is in the filters
                    self.renew(j)
                continue
            if not 1.0 / SLACK < off < SLACK or self.forget < 1.0 and place == 0:
                self.renew(j)
            place -= 1

    cdef void renew(self, int64_t j) noexcept nogil:
        """Bring the prior of coefficient j up to what it has to be."""
        cdef double target, more, scale, off
        cdef double *V
        cdef int64_t i, l, d = self.width
        cdef int32_t k, c
        for k in range(self.n_kinds):
            target = self.target(k, j)
            more = target - self.prior[k, j]
            self.prior[k, j] = target
            for c in range(self.n_filters):
                V = &self.covariance[k, c, 0, 0]
                scale = more / (1.0 + more * V[j * d + j])
                for i in range(d):
                    self.room[i] = V[j * d + i]         # w is needed no more
                off = scale * self.mean[k, c, j]
                for i in range(d):
                    for l in range(d):
                        V[l] -= scale * (self.room[i] * self.room[l])
                    V += d
                    self.mean[k, c, i] -= off * self.room[i]

    # ------------------------------------------------------------ rows
    def update(
        self, const double[:, ::1] X, const double[::1] y, double[:, ::1] proba=None,
        int n_threads=1, const double[::1] weights=None,
        const double[::1] exposures=None,
    ):
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
            Places of labels, or counts.
        proba : ndarray of shape (n_rows, n_classes), optional
            Becomes the probabilities of the classes before each row.
        n_threads : int
            Of no effect.
        weights : ndarray of shape (n_rows,), optional
            > 0, for weighted filters; 1 by default.
        exposures : ndarray of shape (n_rows,), optional
            > 0, of counts, in their unit; 1 by default.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log probabilities of the labels, each given the rows before. An interrupt
            leaves complete rows, of which `n_seen` tells.
        """
        cdef int64_t i, n_rows = y.shape[0]
        if weights is not None and (
            self.weighting is None or weights.shape[0] != n_rows
        ):
            raise ValueError(
                f"weights need weighted filters, and must be {n_rows}; got "
                f"{weights.shape[0]}."
            )
        if X.shape[0] != n_rows or X.shape[1] != self.n_features:
            raise ValueError(f"X must be of shape ({n_rows}, {self.n_features}).")
        if exposures is not None and (
            not self.is_count or exposures.shape[0] != n_rows
        ):
            raise ValueError(f"exposures are for counts, and must be {n_rows}.")
        for i in range(n_rows):
            if not 0.0 <= y[i] < (INFINITY if self.is_count else self.n_classes):
                raise ValueError(f"y must be below {self.n_classes}; got {y[i]}.")
        found = np.empty(n_rows)
        cdef double[::1] out = found, one = np.empty(self.n_each())
        for i in range(n_rows):
            PyErr_CheckSignals()
            with nogil:
                out[i] = self.take(
                    &X[i, 0], y[i], 1.0 if weights is None else weights[i],
                    1.0 if exposures is None else exposures[i],
                    &one[0] if proba is None else &proba[i, 0],
                )
        return found

    def predict_proba(self, const double[:, ::1] X, int n_threads=1):
        """Probabilities of the classes, ndarray of shape (n_rows, n_classes)."""
        cdef int64_t i, n_rows = X.shape[0]
        found = np.empty((n_rows, self.n_classes))
        cdef double[:, ::1] out = found
        cdef double[::1] room = np.empty(self.room_for())
        if X.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns; got {X.shape[1]}.")
        with nogil:
            for i in range(n_rows):
                self.foresee(&X[i, 0], &out[i, 0], &room[0])
        return found

    def log_rates(self, const double[:, ::1] X):
        """Log rates of events at rows by each kind: means and variances.

        Both are of shape (n_rows, n_kinds). Gaps add to the variances.
        """
        cdef int64_t i, n_rows = X.shape[0]
        cdef int32_t k
        means, variances = np.empty((2, n_rows, self.n_kinds))
        cdef double[:, ::1] m = means, v = variances
        cdef double[::1] room = np.empty(self.room_for())
        cdef double *gaps = &room[0] + self.width
        cdef double *each = gaps + self.width
        cdef const double *own
        if X.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns; got {X.shape[1]}.")
        with nogil:
            for i in range(n_rows):
                self.standardize(&X[i, 0], &room[0], gaps)
                self.look(&room[0], gaps, each)
                own = each + self.n_kinds
                for k in range(self.n_kinds):
                    m[i, k], v[i, k] = own[0] + log(self.rate), own[1] + own[2]
                    own += 3 + self.width
        return means, variances

    def standardized(self, const double[:, ::1] X):
        """Rows -> what coefficients multiply, and variances of what is missing there.

        Returns
        -------
        w : ndarray of shape (n_rows, 1 + n_features)
            Rows in units, after a 1; gaps are means.
        gaps : ndarray of shape (n_rows, 1 + n_features)
            Variance of the values that are missing, else 0.
        """
        cdef int64_t i, n_rows = X.shape[0]
        w, gaps = np.empty((2, n_rows, self.width))
        cdef double[:, ::1] rows = w, variances = gaps
        for i in range(n_rows):
            self.standardize(&X[i, 0], &rows[i, 0], &variances[i, 0])
        return w, gaps

    @property
    def weights(self):
        """Weights of the kinds, ndarray of shape (n_kinds,)."""
        shares = np.exp(self.arrays["log_weights"])
        return shares / shares.sum()

    @property
    def two_values(self):
        """The two values of each column that has no others, else NaN: (2, n_features)."""
        return np.array([self.arrays["low"], self.arrays["high"]])

    @property
    def kind_sizes(self):
        """Size of the negative binomial of each kind, at an exposure of one unit."""
        return np.array(self.sizes)

    @property
    def coefficients(self):
        """Mean and covariance of the coefficients of each kind and filter.

        Of shapes (n_kinds, n_filters, 1 + n_features) and this with one more axis; of
        labels the last filter is of none. Log rates are above that of the first rows.
        """
        return self.arrays["mean"].copy(), self.arrays["covariance"].copy()

    # ------------------------------------------------------------ what it is
    @property
    def model(self):
        """What clouds would have in their leaves."""
        return "negbin" if self.is_count else "class"

    @property
    def prior_point(self):
        """The unit of exposures, for counts."""
        return {"exposure_unit": self.exposure_unit} if self.is_count else {}

    def set_exposure_unit(self, double unit, double rate):
        """Fix the unit of exposures, and place the prior at a rate per such a unit.

        A size by itself is one of exposures as users give them; several are of the unit.
        """
        self.exposure_unit, self.rate, self.most = unit, rate, log(rate)
        if len(self.options["sizes"]) == 1:
            self.sizes = np.full(self.n_kinds, self.options["sizes"][0] * unit)

    @property
    def has_unit(self):
        """As of `Cloud`: labels and counts have no unit to wait for."""
        return True

    @property
    def weight_unit(self):
        """As of `Cloud`."""
        return 1.0

    def set_weight_unit(self, double unit):
        """As of `Cloud`; labels have none."""

    @property
    def n_active(self):
        """Rows stored one by one: the first, until there are enough for units."""
        return self.n_first

    @property
    def n_retired(self):
        """Rows that are stored no more."""
        return self.n_seen - self.n_active

    @property
    def n_degenerate(self):
        """Rows without density: none, as priors are proper."""
        return 0

    def row_ids(self):
        """Numbers of the rows that are stored, ndarray of int64 of shape (n_active,)."""
        return np.arange(self.n_seen - self.n_first, self.n_seen)

    def rows(self):
        """The rows that are stored and their responses."""
        n = self.n_first
        return self.arrays["first_X"][:n].copy(), self.arrays["first_y"][:n].copy()

    def gap_counts(self):
        """Of each column how many rows had no value, (n_features,)."""
        return self.arrays["n_gaps"].copy()

    def first_beyond(self, X, y, double limit):
        """As of `Cloud`: None, as values far away are clipped."""
        return None

    def nbytes(self):
        """Bytes of memory."""
        return sum(array.nbytes for array in self.arrays.values()) + 8 * self.room_for()

    # ------------------------------------------------------------ files
    def to_arrays(self):
        """Everything the filters are: a header of plain values, and arrays by name."""
        n = self.n_first
        header = self.options | {
            "n_seen": self.n_seen, "log_evidence": self.log_evidence,
            "has_units": self.has_units,
        }
        header |= {"rate": self.rate, "exposure_unit": self.exposure_unit,
                   "most": self.most}
        for name in ("spreads", "sizes"):
            header[name] = list(header[name])
        arrays = {
            name: array[:n].copy() if name in FIRST else array.copy()
            for name, array in self.arrays.items()
        }
        arrays["random_state"] = self.source.state
        return header, arrays

    @classmethod
    def from_arrays(cls, header, arrays, source):
        """The filters that `to_arrays` described; header and arrays are checked."""
        cdef LinearFilters made = cls(source, **{name: header[name] for name in OPTIONS})
        made.n_seen, made.log_evidence = header["n_seen"], header["log_evidence"]
        made.n_first, made.has_units = len(arrays["first_y"]), header["has_units"]
        made.set_exposure_unit(header["exposure_unit"], header["rate"])
        made.most = header["most"]
        for name, array in made.arrays.items():
            array[: len(arrays[name])] = arrays[name]
        return made

    def copy(self, source=None):
        """Independent filters that are the same."""
        return self.from_arrays(*self.to_arrays(), source or self.source.copy())

    def without_rows(self):
        """The filters without the rows that they store, which fix the units before."""
        cdef LinearFilters made = self.copy(self.source)
        if made.n_first:
            made.fix_columns()
        return made

    def with_weights(self, weighting):
        """The filters whose rows may have weights; now all of them weigh 1."""
        header, arrays = self.to_arrays()
        return self.from_arrays(header | {"weighting": weighting}, arrays, self.source)

    def with_classes(self, n_classes):
        """The filters with more classes, which no row had yet.

        Each new one begins as the filter of no label. The one filter of two labels becomes
        two, of which one is the other's mirror.
        """
        header, arrays = self.to_arrays()
        for K in range(self.n_classes, n_classes):
            for name in ("covariance", "mean", "moment"):
                array = arrays[name]
                parts = [array, array[:, -1:]]
                if K == 2:
                    first = array[:, :1]
                    parts.insert(0, first if name == "covariance" else -first)
                arrays[name] = np.concatenate(parts, axis=1)
        return self.from_arrays(header | {"n_classes": n_classes}, arrays, self.source)

    def widened(self, widen):
        """The filters with more columns; `widen` gives rows so far their values there."""
        header, arrays = self.to_arrays()
        p = self.n_features
        # A row without gaps, and one a column that has one there: which of them makes a
        # gap in a new column, that of a level of the same factor, has its gaps in it.
        rows = np.zeros((1 + p, p))
        rows[1 + np.arange(p), np.arange(p)] = np.nan
        fill, *by_gap = widen(rows)[:, p:]
        more, is_gap = len(fill), np.isnan(by_gap).reshape(p, -1)
        n_gaps = np.where(is_gap, arrays["n_gaps"][:, None], 0.0).max(axis=0, initial=0.0)
        n_gaps[np.isnan(fill)] = self.n_seen
        weights = arrays["n_values"].max(initial=0.0) / max(1.0, self.n_seen)
        n_there = self.n_seen - n_gaps
        seen = np.where(n_there > 0.0, fill, np.nan)
        grown = {
            "place": seen if self.has_units else np.full(more, np.nan),
            "n_values": weights * n_there * self.has_units, "n_gaps": n_gaps,
            "low": seen, "high": seen,
        }
        for name in COLUMNS:
            arrays[name] = np.concatenate([arrays[name], grown.get(name, np.zeros(more))])
        last = [(0, 0), (0, 0), (0, more)]
        arrays["prior"] = np.pad(arrays["prior"], last[1:], constant_values=1.0)
        for name in ("mean", "moment"):
            arrays[name] = np.pad(arrays[name], last)
        arrays["covariance"] = np.pad(arrays["covariance"], [*last, (0, more)])
        new = np.arange(p + 1, p + 1 + more)
        arrays["covariance"][:, :, new, new] = 1.0
        arrays["first_X"] = np.ascontiguousarray(widen(arrays["first_X"]))
        return self.from_arrays(header | {"n_features": p + more}, arrays, self.source)
