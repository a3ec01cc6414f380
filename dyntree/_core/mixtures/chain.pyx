"""Chain: transition counts and durations of the states of a sequence."""
import numpy as np

from libc.math cimport erfc, exp, lgamma, log, log1p, sqrt
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.string cimport memmove, memset

from scipy.special.cython_special cimport betainc

cdef double SURE = 1e-12            # hazards keep away from 0 and 1 by it
cdef double LEAST_SD = 0.5          # of a duration law
cdef double LONG_SHARE = 0.01       # of segments, whose durations are geometric, and
cdef double LONG_FACTOR = 10.0      # their mean, in the longest mean of a state
cdef enum:
    N_KNOWN = 5                     # durations from which their law counts
    MOST_SHAPE = 1000000            # of a negative binomial: beyond, it is Poisson


cdef inline void put(double *t, double value) noexcept nogil:
    """Add a value to a tally (Welford 1962)."""
    cdef double step = value - t[1]
    t[0] += 1.0
    t[1] += step / t[0]
    t[2] += step * (value - t[1])


cdef inline void pool(double *t, const double *u) noexcept nogil:
    """Add a tally to another."""
    cdef double n = t[0] + u[0], step = u[1] - t[1]
    if n > 0.0:
        t[1] += step * u[0] / n
        t[2] += u[2] + step * step * t[0] * u[0] / n
        t[0] = n


cdef class Chain:
    """Costs, counts and durations; the declaration says what is stored.

    Parameters
    ----------
    switch_weight, novelty, duration_weight : float
        lambda_2, lambda_3, lambda_4.
    is_binomial : bool
        Whether durations are negative binomial, else Gaussian.
    """

    def __init__(
        self, double switch_weight, double novelty, double duration_weight,
        bint is_binomial,
    ):
        self.switch_weight = switch_weight
        self.novelty = novelty
        self.duration_weight = duration_weight
        self.is_binomial = is_binomial
        self.state = self.last = self.before = -1
        self.store = {}

    cdef void grow(self, int32_t capacity):
        old = self.store
        fresh = {
            "moves": np.zeros((capacity, capacity), np.int64),
            "left": np.zeros(capacity, np.int64),
            "tally": np.zeros((capacity, 3)),
            "base": np.zeros((capacity, 3)),
            "kept": np.zeros((capacity, N_KEPT, 2), np.int64),
            "n_kept": np.zeros(capacity, np.int64),
        }
        for name, array in old.items():
            fresh[name][tuple(map(slice, array.shape))] = array
        self.capacity = capacity
        self.store = fresh
        self.point()

    cdef void point(self):
        cdef int64_t[::1] a = self.store["left"]
        cdef int64_t[:, ::1] b = self.store["moves"]
        cdef int64_t[:, :, ::1] c = self.store["kept"]
        cdef double[:, ::1] f = self.store["tally"]
        self.left = &a[0]
        self.moves = &b[0, 0]
        self.newest = &c[0, 0, 0]
        self.tally = &f[0, 0]
        f = self.store["base"]
        self.base = &f[0, 0]
        a = self.store["n_kept"]
        self.n_kept = &a[0]

    cdef double add_costs(self, double *cost, int32_t n) noexcept nogil:
        """Add to each cluster's cost what it costs to be there after the last row."""
        cdef int32_t i = self.last, j
        cdef double stay = 0.0, go = 0.0, out, h
        cdef const int64_t *moves
        if i < 0:
            return 0.0
        if self.duration_weight > 0.0 and i == self.state and (
            self.tally[3 * i] >= N_KNOWN
        ):
            h = self.hazard(i, self.dwell)
            stay = -self.duration_weight * log(1.0 - h)
            go = -self.duration_weight * log(h)
        out = self.switch_weight * log(self.left[i] + 1.0) + go
        moves = self.moves + <int64_t> i * self.capacity
        for j in range(n):
            if j == i:
                cost[j] += stay
            elif moves[j] > 0:
                cost[j] += out - self.switch_weight * log(<double> moves[j])
            else:
                cost[j] += out + self.novelty
        return out + self.novelty

    cdef double hazard(self, int32_t k, int64_t s) noexcept nogil:
        """Probability that a segment of state k ends with row s, given that it has it.

        A Gaussian gives a whole number the probability of the interval about it. Some
        segments are long, whatever the state; see `semi_markov.duration_laws`.
        """
        cdef double n = self.tally[3 * k], mean = self.tally[3 * k + 1]
        cdef double stop = 1.0 / (LONG_FACTOR * self.longest())
        cdef double goes_on = LONG_SHARE * exp((s - 1) * log1p(-stop)), all_rows = 1.0
        cdef double var = self.tally[3 * k + 2] / (n - 1.0)
        cdef double sd, ends, lasts, shape, p
        if self.is_binomial:
            mean = max(mean - 1.0, SURE)
            shape = min(mean * mean / max(var - mean, SURE * mean), <double> MOST_SHAPE)
            p = shape / (shape + mean)
            ends = exp(
                lgamma(s - 1 + shape) - lgamma(<double> s) - lgamma(shape)
                + shape * log(p) + (s - 1) * log(1.0 - p)
            )
            lasts = 1.0 if s == 1 else betainc(<double> (s - 1), shape, 1.0 - p)
        else:
            sd = max(sqrt(var), LEAST_SD) * sqrt(2.0)
            all_rows = 0.5 * erfc((0.5 - mean) / sd)
            lasts = 0.5 * erfc((s - 0.5 - mean) / sd)
            ends = lasts - 0.5 * erfc((s + 0.5 - mean) / sd)
        ends = (1.0 - LONG_SHARE) * ends / all_rows + stop * goes_on
        lasts = (1.0 - LONG_SHARE) * lasts / all_rows + goes_on
        if not lasts > 0.0:
            return 1.0 - SURE
        return min(max(ends / lasts, SURE), 1.0 - SURE)

    cdef double longest(self) noexcept nogil:
        """The longest mean duration of a state, or rows of the segment that goes on."""
        cdef double longest = max(<double> self.dwell, 1.0)
        cdef int64_t k
        for k in range(self.capacity):
            if self.tally[3 * k] > 0.0:
                longest = max(longest, self.tally[3 * k + 1])
        return longest

    cdef void note(self, int32_t k, bint confirmed, int64_t row) noexcept nogil:
        """Take notice of the cluster of a row."""
        self.last = k
        if not confirmed or self.state == k:
            self.dwell += self.state >= 0
            return
        if self.state >= 0:
            self.moves[<int64_t> self.state * self.capacity + k] += 1
            self.left[self.state] += 1
            self.record(self.state, self.dwell, row)
        self.before = self.state
        self.before_dwell = self.dwell
        self.state = k
        self.dwell = 1

    cdef void record(self, int32_t k, int64_t dwell, int64_t row) noexcept nogil:
        """Take down how long a segment of state k was."""
        cdef int64_t *newest = self.newest + 2 * <int64_t> k * N_KEPT
        put(self.tally + 3 * k, <double> dwell)
        if self.n_kept[k] == N_KEPT:
            put(self.base + 3 * k, <double> newest[1])
            memmove(newest, newest + 2, 2 * (N_KEPT - 1) * sizeof(int64_t))
            self.n_kept[k] -= 1
        newest[2 * self.n_kept[k]] = row
        newest[2 * self.n_kept[k] + 1] = dwell
        self.n_kept[k] += 1

    cdef void drop(self, int32_t k, int32_t n) noexcept nogil:
        """Close the gap that state k leaves; n are left."""
        cdef int32_t i, j, below, width = self.capacity
        cdef int64_t *row
        for i in range(n + 1):
            self.left[i] -= self.moves[<int64_t> i * width + k]
        for i in range(n):
            row = self.moves + <int64_t> i * width
            below = i + (i >= k)
            for j in range(n):
                row[j] = self.moves[<int64_t> below * width + j + (j >= k)]
            row[n] = 0
        memset(self.moves + <int64_t> n * width, 0, (n + 1) * sizeof(int64_t))
        for i in range(k, n):
            self.left[i] = self.left[i + 1]
            self.n_kept[i] = self.n_kept[i + 1]
        i = 3 * (n - k)
        memmove(self.tally + 3 * k, self.tally + 3 * (k + 1), i * sizeof(double))
        memmove(self.base + 3 * k, self.base + 3 * (k + 1), i * sizeof(double))
        memmove(
            self.newest + 2 * <int64_t> k * N_KEPT,
            self.newest + 2 * <int64_t> (k + 1) * N_KEPT,
            2 * <int64_t> (n - k) * N_KEPT * sizeof(int64_t),
        )
        self.left[n] = self.n_kept[n] = 0
        memset(self.tally + 3 * n, 0, 3 * sizeof(double))
        memset(self.base + 3 * n, 0, 3 * sizeof(double))
        memset(self.newest + 2 * <int64_t> n * N_KEPT, 0, 2 * N_KEPT * sizeof(int64_t))
        if self.state == k:
            self.dwell = 0
        self.state = -1 if self.state == k else self.state - (self.state > k)
        self.last = -1 if self.last == k else self.last - (self.last > k)
        self.before = -1 if self.before == k else self.before - (self.before > k)

    cdef void join(
        self, int32_t k, int32_t other, int32_t n, int64_t born, int64_t settled,
        int64_t other_born, int64_t other_settled, int64_t youth,
    ) noexcept nogil:
        """State `other` becomes k: counts add, runs of one after the other are one.

        Durations that were recorded while either was provisional, or younger than
        `youth` rows, are of fragments and are left out.
        """
        cdef int32_t i, width = self.capacity, state
        cdef int64_t grown_up, other_grown_up, row
        cdef int64_t *mine = self.newest + 2 * <int64_t> k * N_KEPT
        cdef int64_t *theirs = self.newest + 2 * <int64_t> other * N_KEPT
        cdef int64_t a = 0, b = 0, n_a = self.n_kept[k], n_b = self.n_kept[other]
        cdef int64_t joint[2 * N_KEPT][2]
        cdef int64_t n_joint = 0, first
        cdef int64_t *moves
        if self.state >= 0 and self.before >= 0 and (
            (self.state == k and self.before == other)
            or (self.state == other and self.before == k)
        ):
            state = self.before             # its newest duration was no whole segment
            if self.n_kept[state] > 0:
                self.n_kept[state] -= 1
            n_a, n_b = self.n_kept[k], self.n_kept[other]
            self.dwell += self.before_dwell
            self.before = -1
        moves = self.moves
        for i in range(n):
            moves[<int64_t> k * width + i] += moves[<int64_t> other * width + i]
            moves[<int64_t> other * width + i] = 0
        for i in range(n):
            moves[<int64_t> i * width + k] += moves[<int64_t> i * width + other]
            moves[<int64_t> i * width + other] = 0
        self.moves[<int64_t> k * width + k] = 0
        for i in range(n):
            self.left[i] = 0
            for state in range(n):
                self.left[i] += self.moves[<int64_t> i * width + state]
        grown_up = max(born + youth, settled) if settled else INT64_MAX
        other_grown_up = max(other_born + youth, other_settled) if (
            other_settled
        ) else INT64_MAX
        while a < n_a or b < n_b:
            if b == n_b or (a < n_a and mine[2 * a] <= theirs[2 * b]):
                joint[n_joint][0], joint[n_joint][1] = mine[2 * a], mine[2 * a + 1]
                a += 1
            else:
                joint[n_joint][0], joint[n_joint][1] = theirs[2 * b], theirs[2 * b + 1]
                b += 1
            row = joint[n_joint][0]
            if not (born <= row <= grown_up or other_born <= row <= other_grown_up):
                n_joint += 1
        pool(self.base + 3 * k, self.base + 3 * other)
        first = max(n_joint - N_KEPT, 0)
        for a in range(first):
            put(self.base + 3 * k, <double> joint[a][1])
        self.tally[3 * k] = self.base[3 * k]
        self.tally[3 * k + 1] = self.base[3 * k + 1]
        self.tally[3 * k + 2] = self.base[3 * k + 2]
        for a in range(first, n_joint):
            mine[2 * (a - first)] = joint[a][0]
            mine[2 * (a - first) + 1] = joint[a][1]
            put(self.tally + 3 * k, <double> joint[a][1])
        self.n_kept[k] = n_joint - first
        memset(
            mine + 2 * self.n_kept[k], 0,
            2 * (N_KEPT - self.n_kept[k]) * sizeof(int64_t),
        )
        if self.state == other:
            self.state = k
        if self.last == other:
            self.last = k
        if self.before == other:
            self.before = k

    def end(self, int64_t row):
        """End the segment that goes on, without a transition."""
        if self.state >= 0:
            self.record(self.state, self.dwell, row)
        self.state = self.last = self.before = -1
        self.dwell = self.before_dwell = 0

    def hazard_at(self, int32_t k, int64_t s):
        """Probability that a segment of state k ends with row s, given that it has it."""
        return self.hazard(k, s)

    def counts(self, int32_t n):
        """How often state j followed state i, ndarray of int64 of shape (n, n)."""
        return self.store["moves"][:n, :n].copy()

    def durations(self, int32_t n):
        """Count, mean and sum of squared deviations of durations, shape (n, 3)."""
        return self.store["tally"][:n].copy()

    def to_arrays(self, int32_t n):
        """Everything, by name."""
        arrays = {name: self.store[name][:n].copy() for name in self.store}
        arrays["moves"] = self.counts(n)
        place = [self.state, self.dwell, self.last, self.before, self.before_dwell]
        arrays["place"] = np.array(place, dtype=np.int64)
        return arrays

    def take(self, arrays, int32_t n):
        """Set the state from the arrays of `to_arrays`."""
        for name in self.store:
            given = arrays[name]
            self.store[name][tuple(map(slice, given.shape))] = given
        place = map(int, arrays["place"])
        self.state, self.dwell, self.last, self.before, self.before_dwell = place

    def memory_usage(self):
        """Size in bytes."""
        return sum(array.nbytes for array in self.store.values())
