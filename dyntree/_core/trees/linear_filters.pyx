"""LinearFilters: what logistic regressions learn from a row, and what they say of one.

The log odds of a label are b'w, w = (1, z), where z are the columns in their units, clipped
to some spreads about their running means. The coefficients have a normal law. A row makes
the log odds, N(e, v) before it, less uncertain. Quadrature gives their mean m and variance u
after it (assumed density filtering: Opper 1998; Minka 2001), and the row adds 1/u - 1/v times
w w' to the precision of the coefficients, and m/u - e/v times w to the precision times the
mean.
"""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, M_PI, NAN, exp, fabs, fmax, fmin, isnan, log, sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.rng cimport CounterSource

cdef double LEVEL_VARIANCE = 25.0   # prior variance of the intercept
cdef double LEAST_SQUARE = 1e-12    # of a spread in its unit
cdef double FAR = 10.0              # spreads from the mean that a value counts at most
cdef double SLACK = 1.5             # factor by which a prior precision may be off
cdef double RETENTION = 0.998       # of the log weight of a spread, after a row
cdef double LEAST_P = 1e-12         # of a label that a spread is weighed by
cdef double LEAST_MORE = 1e-12      # that a row adds to a precision, as a share of it
cdef enum:
    N_NODES = 15
    N_STEPS = 100           # of Newton's method or bisection, at most
cdef double[N_NODES] NODES, NODE_LOGS
for _i, (_x, _w) in enumerate(zip(*np.polynomial.hermite_e.hermegauss(N_NODES))):
    NODES[_i], NODE_LOGS[_i] = _x, log(_w) + 0.5 * _x * _x
OPTIONS = ("n_features", "n_classes", "forget", "spreads", "clip", "weighting")
COLUMNS = ("place", "unit", "column_mean", "square", "n_values", "n_gaps")
FILTERS = ("log_weights", "prior", "covariance", "mean", "moment")
FIRST = ("first_X", "first_y", "first_w")


cdef double sigmoid(double z) noexcept nogil:
    return 1.0 / (1.0 + exp(-fmin(fmax(z, -700.0), 700.0)))


cdef void site(double e, double v, double sign, double times, double *m, double *u) noexcept nogil:
    """Mean m and variance u of log odds N(e, v) after a label, so many times.

    `sign` is 1 for the label, else -1. Nodes stand about the mode, which is sought by
    Newton's method between bounds.
    """
    cdef double x = e, low = e, high = e + sign * times * v, p, slope, step, sd
    cdef double most = -INFINITY, total = 0.0, off, share
    cdef double[N_NODES] at, logs
    cdef int i
    if low > high:      # the mode lies between the mean and where a wrong label would push it
        low, high = high, low
    for i in range(N_STEPS):
        p = sigmoid(sign * x)
        slope = times * sign * (1.0 - p) - (x - e) / v
        if slope > 0.0:
            low = x
        else:
            high = x
        step = slope / (times * p * (1.0 - p) + 1.0 / v)
        if not low < x + step < high:
            step = 0.5 * (low + high) - x
        x += step
        if fabs(step) < 1e-8:
            break
    p = sigmoid(sign * x)
    sd = 1.0 / sqrt(times * p * (1.0 - p) + 1.0 / v)
    for i in range(N_NODES):
        at[i] = x + sd * NODES[i]
        logs[i] = NODE_LOGS[i] + times * log(sigmoid(sign * at[i]))
        logs[i] -= (at[i] - e) * (at[i] - e) / (2.0 * v)
        most = fmax(most, logs[i])
    m[0] = u[0] = 0.0
    for i in range(N_NODES):
        share = exp(logs[i] - most)
        total += share
        m[0] += share * at[i]
        logs[i] = share
    m[0] /= total
    for i in range(N_NODES):
        off = at[i] - m[0]
        u[0] += logs[i] / total * off * off
    if not u[0] > 0.0:      # all at one node: the law is that about the mode
        m[0], u[0] = x, sd * sd


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
    """Logistic regressions of each label against the rest, one for each prior spread.

    Parameters
    ----------
    source : CounterSource
        Of which it draws nothing.
    n_features, n_classes : int
        Of two labels one filter regresses the second. Beside the filters of labels stands
        one of a label that no row has; a new label begins with it.
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
        double forget, spreads, double clip, weighting=None,
    ):
        cdef int32_t width = n_features + 1
        self.source, self.weighting = source, weighting
        self.options = {
            "n_features": n_features, "n_classes": n_classes, "forget": forget,
            "spreads": tuple(spreads), "clip": clip, "weighting": weighting,
        }
        self.n_features, self.n_classes, self.width = n_features, n_classes, width
        self.forget, self.clip = forget, clip
        self.spreads = np.array(spreads, dtype=np.float64)
        self.n_spreads = len(self.options["spreads"])
        self.n_filters = 1 + (n_classes if n_classes > 2 else n_classes - 1)
        filters = (self.n_spreads, self.n_filters, width)
        self.arrays = {name: np.zeros(n_features) for name in COLUMNS} | {
            "log_weights": np.zeros(self.n_spreads),
            "prior": np.empty((self.n_spreads, width)),
            "covariance": np.empty((*filters, width)),
            "mean": np.empty(filters), "moment": np.empty(filters),
            "first_X": np.empty((N_FIRST, n_features)),
            "first_y": np.empty(N_FIRST), "first_w": np.empty(N_FIRST),
        }
        self.arrays["place"].fill(np.nan)
        self.place, self.unit, self.column_mean, self.square, self.n_values, self.n_gaps = (
            self.arrays[name] for name in COLUMNS
        )
        self.log_weights, self.prior, self.covariance, self.mean, self.moment = (
            self.arrays[name] for name in FILTERS
        )
        self.first_X, self.first_y, self.first_w = (self.arrays[name] for name in FIRST)
        self.room = np.empty(self.room_for())
        self.clear()

    cdef Py_ssize_t room_for(self) noexcept nogil:
        """Doubles of scratch: w, gaps, probabilities; log odds, variance, V w a filter."""
        cdef Py_ssize_t n = <Py_ssize_t> self.n_spreads * self.n_filters
        return 2 * self.width + self.n_spreads * self.n_classes + n * (3 + self.width)

    # ------------------------------------------------------------ columns
    cdef double column_spread(self, int32_t j) noexcept nogil:
        """Standard deviation of a column in its unit."""
        cdef double n = self.n_values[j] if self.n_values[j] > 0.0 else 1.0
        return sqrt(fmax(self.square[j] / n, LEAST_SQUARE))

    cdef double target(self, int32_t k, int64_t j) noexcept nogil:
        """Prior precision that coefficient j has to have for spread k."""
        if j == 0:
            return 1.0 / LEVEL_VARIANCE
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
                    most *= self.clip
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
                most = FAR * self.column_spread(j)
                z = (x[j] - self.place[j]) / self.unit[j]
                z = fmin(fmax(z, self.column_mean[j] - most), self.column_mean[j] + most)
            self.count(j, z, times)
            for k in range(self.n_spreads if is_new else 0):    # no row moved it so far
                self.prior[k, j + 1] = self.target(k, j + 1)
                for c in range(self.n_filters):
                    self.covariance[k, c, j + 1, j + 1] = 1.0 / self.prior[k, j + 1]

    cdef void store(self, const double *x, double y, double times) noexcept nogil:
        """Store a row until there are enough to fix the units of columns."""
        cdef int32_t j
        for j in range(self.n_features):
            self.first_X[self.n_first, j] = x[j]
        self.first_y[self.n_first], self.first_w[self.n_first] = y, times
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
            self.learn(w, <int32_t> self.first_y[i], self.first_w[i], rest)
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
        for k in range(self.n_spreads):
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
        """Write mean and variance of the log odds of every filter, and all behind them.

        `room` has the probabilities by each spread, then for each filter in turn a mean, a
        variance, what gaps add to the variance, and V w.
        """
        cdef double *out = room + self.n_spreads * self.n_classes
        cdef const double *V
        cdef const double *b
        cdef double e, v, more, total
        cdef int64_t i, j, d = self.width
        cdef int32_t k, c
        for k in range(self.n_spreads):
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
        """Begin anew with spreads that rounding has made useless; whether any was."""
        cdef const double *own = room + self.n_spreads * self.n_classes
        cdef int32_t k, c
        cdef bint fits, any_failed = False
        cdef double least = 0.0
        for k in range(self.n_spreads):
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
        cdef const double *own = room + self.n_spreads * K
        cdef double total, p
        for k in range(self.n_spreads):
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
        for k in range(self.n_spreads):
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
        self, const double *x, double y, double times, double *proba
    ) noexcept nogil:
        """Learn a row; gives its log probability, as often as it is.

        `proba` becomes those of the labels before the row.
        """
        cdef double *w = &self.room[0]
        cdef double *gaps = w + self.width
        cdef double *each = gaps + self.width
        cdef int32_t k, j, label = <int32_t> y
        cdef double found, most = -INFINITY
        self.standardize(x, w, gaps)
        self.look(w, gaps, each)
        if self.mend(each):
            self.look(w, gaps, each)
        self.each_proba(each)
        self.mix(each, proba)
        found = times * log(fmax(proba[label], LEAST_P))
        for k in range(self.n_spreads):
            self.log_weights[k] = RETENTION * (
                self.log_weights[k]
                + times * log(fmax(each[k * self.n_classes + label], LEAST_P))
            )
            most = fmax(most, self.log_weights[k])
        for k in range(self.n_spreads):
            self.log_weights[k] -= most
        self.learn(w, label, times, each)
        if self.has_units:
            self.see(x, times)
        self.renew_some(self.n_seen)
        for j in range(self.n_features):
            self.n_gaps[j] += isnan(x[j])
        if not self.has_units:
            self.store(x, y, times)
        self.n_seen += 1
        self.log_evidence += found
        return found

    cdef void learn(
        self, const double *w, int32_t label, double times, const double *room
    ) noexcept nogil:
        """Add a row to all filters, of which `room` has what `look` wrote."""
        cdef const double *own = room + self.n_spreads * self.n_classes
        cdef int32_t k, c, j
        for k in range(self.n_spreads):
            for c in range(self.n_filters):
                if c == self.n_filters - 1:
                    self.add(k, c, w, False, times, own)
                else:
                    self.add(k, c, w, label == (1 if self.n_classes == 2 else c), times, own)
                own += 3 + self.width
            for j in range(self.width):
                self.prior[k, j] *= self.forget

    cdef void add(
        self, int32_t k, int32_t c, const double *w, bint is_label, double times,
        const double *own,
    ) noexcept nogil:
        """Add a row to one filter, of which `own` has log odds, variance and V w."""
        cdef double e = own[0], v = own[1], m, u, more, moment, scale, step
        cdef const double *Vw = own + 3
        cdef double *V = &self.covariance[k, c, 0, 0]
        cdef int64_t i, j, d = self.width
        site(e, v, 1.0 if is_label else -1.0, times, &m, &u)
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
        for k in range(self.n_spreads):
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
    ):
        """Learn rows in order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        y : ndarray of shape (n_rows,)
            Places of labels.
        proba : ndarray of shape (n_rows, n_classes), optional
            Becomes the probabilities of the classes before each row.
        n_threads : int
            Of no effect.
        weights : ndarray of shape (n_rows,), optional
            > 0, for weighted filters; 1 by default.

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
        for i in range(n_rows):
            if not 0.0 <= y[i] < self.n_classes:
                raise ValueError(f"y must be below {self.n_classes}; got {y[i]}.")
        found = np.empty(n_rows)
        cdef double[::1] out = found, one = np.empty(self.n_classes)
        for i in range(n_rows):
            PyErr_CheckSignals()
            with nogil:
                out[i] = self.take(
                    &X[i, 0], y[i], 1.0 if weights is None else weights[i],
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
        """Weights of the spreads, ndarray of shape (n_spreads,)."""
        shares = np.exp(self.arrays["log_weights"])
        return shares / shares.sum()

    @property
    def coefficients(self):
        """Mean and covariance of the coefficients of each spread and filter.

        Of shapes (n_spreads, n_filters, 1 + n_features) and this with one more axis; the
        last filter is of no label.
        """
        return self.arrays["mean"].copy(), self.arrays["covariance"].copy()

    # ------------------------------------------------------------ what it is
    @property
    def model(self):
        """What clouds would have in their leaves."""
        return "class"

    @property
    def prior_point(self):
        """Of a cloud the scale of responses, which labels have none of."""
        return {}

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
        header["spreads"] = list(header["spreads"])
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
        (fill,) = widen(np.full((1, p), np.nan))[:, p:]
        more, fits = len(fill), self.has_units & ~np.isnan(fill)
        grown = {
            "place": np.where(fits, fill, np.nan), "n_values": np.where(fits, self.n_seen, 0),
            "n_gaps": np.where(np.isnan(fill), self.n_seen, 0),
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
