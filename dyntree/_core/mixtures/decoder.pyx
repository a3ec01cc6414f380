"""Decoding of semi-Markov chains: the best path, and the probability of all of them.

With e(t, m, j) the sum of the log densities of the m rows before row t in state j, and
begun(t, j) the value of all that ended at row t and goes on in j,

    ended(t, j) = over m of begun(t - m, j) + log P(duration m) + e(t, m, j)
    begun(t, j) = over i of ended(t, i) + log P(j after i)

where "over" is the maximum (Viterbi) or the log of the sum of exponentials (forward).
The last segment may go on after the last row: it has the probability of lasting so long.

Durations have a table; from its last entry M on they may go on, each row with the same
probability g, so that longer segments need no table: with
long(t, j) = begun(t - M, j) + log P(duration M) + e(t, M, j), or
long(t - 1, j) + log g + e(t, 1, j),
ended(t, j) is over the shorter ones and long(t, j).

Each row's best log density is taken off first and added at the end, and sums run within a
segment, so that a row that is far from all states costs a constant and no other's digits.

The maximum goes back through the segments that end at a row, from the shortest, four
states at a time, and stops where no longer one can win: longer segments have no larger
sum of log densities, no larger probability of their duration than the largest that is
left, and begin no better than the best beginning among the rows that can begin them.
Rounding keeps the order of sums, so path and value are those of the whole search.
"""
import numpy as np

from libc.math cimport INFINITY, exp, isfinite, log
from libc.stdint cimport int32_t, int64_t

cdef enum:
    LANES = 4           # states come in multiples of it

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) \
        && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
    #define CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define CLONES
    #endif
    typedef double Lanes __attribute__((vector_size(32), aligned(8), may_alias));
    typedef int64_t Places __attribute__((vector_size(32), aligned(8), may_alias));
    typedef int32_t Narrow __attribute__((vector_size(16), aligned(4), may_alias));

    /* The best segment of each of w states that ends at a row, and its rows; 0 where
       there is none. `begun` and `e` stand at the last row of the segments, `law` at
       one row, `ahead` holds the largest value of `law` from each on, `most` that of
       `begun` over all rows that are looked at. */
    CLONES static void best_ends(
        const double *begun, const double *e, const double *law, const double *ahead,
        const double *most, int w, int64_t n, double *best, int32_t *lasted
    ) {
        for (int b = 0; b < w; b += 4) {
            Lanes rows = {0}, top = rows - INFINITY, start = *(const Lanes *) (most + b);
            Places last = {0}, more;
            for (int64_t m = 0; m < n; ) {
                int64_t stop = m + 8 < n ? m + 8 : n;
                for (; m < stop; m++) {
                    rows += *(const Lanes *) (e + b - m * w);
                    Lanes value = *(const Lanes *) (begun + b - m * w) + rows
                                  + *(const Lanes *) (law + b + m * w);
                    more = value > top;
                    top = (Lanes) ((more & (Places) value) | (~more & (Places) top));
                    last = (more & (m + 1)) | (~more & last);
                }
                if (m == n)
                    break;
                more = start + rows + *(const Lanes *) (ahead + b + m * w) > top;
                if (!(more[0] | more[1] | more[2] | more[3]))
                    break;
            }
            *(Lanes *) (best + b) = top;
            *(Narrow *) (lasted + b) = __builtin_convertvector(last, Narrow);
        }
    }
    /* The best state before each of w states, of k; 0 where there is none. */
    CLONES static void best_moves(
        const double *ended, const double *move, int k, int w, double *begun,
        int32_t *came_from
    ) {
        for (int b = 0; b < w; b += 4) {
            Lanes top = (Lanes) {0} - INFINITY;
            Places from = {0}, more;
            for (int64_t i = 0; i < k; i++) {
                Lanes value = ended[i] + *(const Lanes *) (move + b + i * w);
                more = value > top;
                top = (Lanes) ((more & (Places) value) | (~more & (Places) top));
                from = (more & i) | (~more & from);
            }
            *(Lanes *) (begun + b) = top;
            *(Narrow *) (came_from + b) = __builtin_convertvector(from, Narrow);
        }
    }
    /* out[j] = max(a[j], b[j]) for j < w */
    CLONES static void larger(const double *a, const double *b, double *out, int w) {
        for (int j = 0; j < w; j += 4) {
            Lanes x = *(const Lanes *) (a + j), y = *(const Lanes *) (b + j);
            Places more = x > y;
            *(Lanes *) (out + j) = (Lanes) ((more & (Places) x) | (~more & (Places) y));
        }
    }
    """
    void best_ends(
        const double *begun, const double *e, const double *law, const double *ahead,
        const double *most, int w, int64_t n, double *best, int32_t *lasted
    ) noexcept nogil
    void best_moves(
        const double *ended, const double *move, int k, int w, double *begun,
        int32_t *came_from
    ) noexcept nogil
    void larger(const double *a, const double *b, double *out, int w) noexcept nogil


cdef class Law:
    """A chain that decodes.

    Parameters
    ----------
    log_start : ndarray of shape (n_states,)
    log_move : ndarray of shape (n_states, n_states)
        -inf on the diagonal.
    log_duration, log_survival : ndarray of shape (n_states, n_durations)
        Log probability of 1, 2, ... rows; of so many or more.
    log_stay : float, default -inf
        Log probability of one more row, for segments that have at least as many as the
        table; -inf if none has more.
    """

    cdef:
        double log_stay
        const double[::1] start
        const double[:, ::1] move
        const double[:, ::1] duration
        const double[:, ::1] survival

    def __init__(
        self, const double[::1] log_start, const double[:, ::1] log_move,
        const double[:, ::1] log_duration, const double[:, ::1] log_survival,
        double log_stay=-INFINITY,
    ):
        self.log_stay = log_stay
        self.start = log_start
        self.move = log_move
        self.duration = log_duration
        self.survival = log_survival

    def viterbi(self, const double[:, ::1] log_density):
        """The most probable path.

        Parameters
        ----------
        log_density : ndarray of shape (n_rows, n_states)
            Of rows in states; a row at least.

        Returns
        -------
        states : ndarray of int64 of shape (n_rows,)
        value : float
            Log density of rows and path.
        """
        cdef int64_t n = log_density.shape[0], t, m, i
        cdef int32_t k = <int32_t> self.start.shape[0], w = rounded_up(k), j, state = 0
        cdef double value = -INFINITY
        relative, shift = lowered(log_density, w)
        cdef const double[:, ::1] e = relative
        cdef const double[:, ::1] move = padded(self.move, w)
        cdef Durations law = Durations(self.duration, w)
        cdef Durations last = Durations(self.survival, w)
        cdef double[:, ::1] begun = np.full((n + 1, w), -np.inf)
        cdef Window window = Window(begun, law.n)
        cdef Longer longer = Longer(self, k)
        cdef double[::1] ended = np.empty(w)
        cdef int32_t[:, ::1] lasted = np.zeros((n + 1, w), np.int32)
        cdef int32_t[:, ::1] came_from = np.zeros((n + 1, w), np.int32)
        path = np.empty(n, np.int64)
        cdef int64_t[::1] states = path
        begun[0, :k] = self.start
        with nogil:
            for t in range(1, n + 1 if k > 1 else 1):   # one alone is never left
                window.take(t - 1)
                law.best(begun, e, window.most, t, ended, lasted)
                longer.best(begun, e, t, ended, lasted)
                best_moves(
                    &ended[0], &move[0, 0], k, w, &begun[t, 0], &came_from[t, 0]
                )
            last.best(begun, e, window.most, n, ended, lasted)  # which may go on
            longer.best_last(n, ended, lasted)
            for j in range(k):
                if ended[j] > value:
                    value, state = ended[j], j
            t = n
            while t > 0:
                m = max(lasted[t, state], 1)
                for i in range(t - m, t):
                    states[i] = state
                t -= m
                state = came_from[t, state]
        return path, value + shift

    def log_likelihood(self, const double[:, ::1] log_density):
        """Log density of rows, whatever the path; parameters as in `viterbi`."""
        cdef int64_t n = log_density.shape[0], t
        cdef int32_t k = <int32_t> self.start.shape[0], i, j
        relative, shift = lowered(log_density, k)
        cdef const double[:, ::1] e = relative
        cdef double[:, ::1] begun = np.full((n + 1, k), -np.inf)
        cdef double[::1] ended = np.empty(k)
        cdef Longer longer = Longer(self, k)
        cdef double total = -INFINITY
        begun[0, :] = self.start
        with nogil:
            for t in range(1, n + 1):
                for j in range(k):
                    ended[j] = all_ends(
                        &begun[0, 0], &e[0, 0], k, t, j, &self.duration[j, 0],
                        self.duration.shape[1],
                    )
                longer.add(begun, e, t, ended)
                for j in range(k):
                    for i in range(k):
                        begun[t, j] = log_sum(begun[t, j], ended[i] + self.move[i, j])
            for j in range(k):
                total = log_sum(total, all_ends(
                    &begun[0, 0], &e[0, 0], k, n, j, &self.survival[j, 0],
                    self.survival.shape[1],
                ))
                total = log_sum(total, longer.before[j] + longer.lasts[j])
        return total + shift


def lowered(const double[:, ::1] log_density, int32_t width):
    """Log densities less the best of each row, and the sum of what was taken off.

    They come in so many columns, of which the last are 0.
    """
    cdef int64_t n = log_density.shape[0], t
    cdef int32_t k = <int32_t> log_density.shape[1], j
    cdef double most
    relative, taken = np.zeros((n, width)), np.empty(n)
    cdef double[:, ::1] out = relative
    cdef double[::1] best = taken
    with nogil:
        for t in range(n):
            most = -INFINITY
            for j in range(k):
                if log_density[t, j] > most:
                    most = log_density[t, j]
            best[t] = most if isfinite(most) else 0.0
            for j in range(k):
                out[t, j] = log_density[t, j] - best[t]
    return relative, float(taken.sum())


cdef int32_t rounded_up(int32_t k) noexcept:
    """The least multiple of LANES that is not below k."""
    return (k + LANES - 1) // LANES * LANES


cdef object padded(values, int32_t width):
    """Rows of so many columns, of which the last are -inf."""
    out = np.full((len(values), width), -np.inf)
    out[:, : values.shape[1]] = values
    return out


cdef class Durations:
    """Log probabilities of durations, by rows; and the largest from each on."""

    cdef:
        const double[:, ::1] log_p
        const double[:, ::1] ahead
        int64_t n
        int32_t w

    def __init__(self, const double[:, ::1] log_p, int32_t w):
        self.log_p = padded(np.asarray(log_p).T, w)
        self.ahead = np.ascontiguousarray(
            np.maximum.accumulate(np.asarray(self.log_p)[::-1])[::-1]
        )
        self.n, self.w = log_p.shape[1], w

    cdef void best(
        self, const double[:, ::1] begun, const double[:, ::1] e,
        const double[::1] most, int64_t t, double[::1] ended, int32_t[:, ::1] lasted,
    ) noexcept nogil:
        """Value and rows of the best segment of each state that ends at row t."""
        best_ends(
            &begun[t - 1, 0], &e[t - 1, 0], &self.log_p[0, 0], &self.ahead[0, 0],
            &most[0], self.w, min(self.n, t), &ended[0], &lasted[t, 0],
        )


cdef class Longer:
    """Segments with more rows than the table of durations has, for one row after another.

    Parameters
    ----------
    law : Law
    n_states : int
    """

    cdef:
        Law law
        int32_t k
        int64_t most                # durations of the table
        double[::1] now             # long(t, j)
        double[::1] before          # that of segments of more than `most` rows
        int32_t[::1] rows           # of the best of `now`, and
        int32_t[::1] rows_before    # of the best of `before`
        double[::1] lasts           # log P(so many or more) - log P(so many), any of them

    def __init__(self, Law law, int32_t n_states):
        self.law, self.k, self.most = law, n_states, law.duration.shape[1]
        self.now, self.before = np.full((2, n_states), -np.inf)
        self.rows, self.rows_before = np.zeros((2, n_states), np.int32)
        self.lasts = np.full(n_states, -np.inf)
        if law.log_stay > -INFINITY:
            self.lasts = (
                np.asarray(law.survival)[:, -1] - np.asarray(law.duration)[:, -1]
            )

    cdef double whole(
        self, const double[:, ::1] begun, const double[:, ::1] e, int64_t t, int32_t j
    ) noexcept nogil:
        """Value of the segment of exactly `most` rows of state j that ends at row t."""
        cdef double rows = 0.0
        cdef int64_t m
        if t < self.most or begun[t - self.most, j] == -INFINITY:
            return -INFINITY
        for m in range(t - 1, t - 1 - self.most, -1):
            rows += e[m, j]
        return begun[t - self.most, j] + rows + self.law.duration[j, self.most - 1]

    cdef void best(
        self, const double[:, ::1] begun, const double[:, ::1] e, int64_t t,
        double[::1] ended, int32_t[:, ::1] lasted,
    ) noexcept nogil:
        """Let longer segments that end at row t win over those of the table."""
        cdef double whole
        cdef int32_t j
        if self.law.log_stay == -INFINITY:
            return
        for j in range(self.k):
            self.before[j] = self.now[j] + self.law.log_stay + e[t - 1, j]
            self.rows_before[j] = self.rows[j] = self.rows[j] + 1
            if self.before[j] > ended[j]:
                ended[j] = self.before[j]
                lasted[t, j] = self.rows[j]
            self.now[j] = self.before[j]
            whole = self.whole(begun, e, t, j)
            if whole >= self.now[j]:
                self.now[j] = whole
                self.rows[j] = <int32_t> self.most

    cdef void best_last(
        self, int64_t n, double[::1] ended, int32_t[:, ::1] lasted
    ) noexcept nogil:
        """The same of segments that end with the last row, or later."""
        cdef int32_t j
        for j in range(self.k):
            if self.before[j] + self.lasts[j] > ended[j]:
                ended[j] = self.before[j] + self.lasts[j]
                lasted[n, j] = self.rows_before[j]

    cdef void add(
        self, const double[:, ::1] begun, const double[:, ::1] e, int64_t t,
        double[::1] ended,
    ) noexcept nogil:
        """Add the longer segments that end at row t to those of the table."""
        cdef int32_t j
        if self.law.log_stay == -INFINITY:
            return
        for j in range(self.k):
            self.before[j] = self.now[j] + self.law.log_stay + e[t - 1, j]
            ended[j] = log_sum(ended[j], self.before[j])
            self.now[j] = log_sum(self.before[j], self.whole(begun, e, t, j))


cdef class Window:
    """The largest of each column over the last rows, n at most (van Herk 1992).

    Rows are taken one after another, in blocks of n: a window is the end of one block
    and the beginning of the next.
    """

    cdef:
        const double[:, ::1] rows
        double[:, ::1] before       # from each row of the last block to its end
        double[::1] now             # over the rows of this block
        double[::1] most
        int64_t n
        int32_t w

    def __init__(self, const double[:, ::1] rows, int64_t n):
        n = min(n, len(rows))
        self.rows, self.n, self.w = rows, n, <int32_t> rows.shape[1]
        self.before = np.full((n + 1, rows.shape[1]), -np.inf)
        self.now, self.most = np.full(self.w, -np.inf), np.empty(self.w)

    cdef void take(self, int64_t t) noexcept nogil:
        """Let row t be the last of the window."""
        cdef int64_t place = t % self.n, i
        if place == 0 and t > 0:
            for i in range(self.n - 1, -1, -1):
                larger(
                    &self.rows[t - self.n + i, 0], &self.before[i + 1, 0],
                    &self.before[i, 0], self.w,
                )
            self.now[:] = -INFINITY
        larger(&self.now[0], &self.rows[t, 0], &self.now[0], self.w)
        larger(&self.now[0], &self.before[place + 1, 0], &self.most[0], self.w)


cdef double all_ends(
    const double *begun, const double *e, int32_t k, int64_t t, int32_t j,
    const double *law, int64_t most,
) noexcept nogil:
    """Log sum over segments of state j that end at row t."""
    cdef int64_t m, at = (t - 1) * k + j
    cdef double best = -INFINITY, total = 0.0, value, rows = 0.0
    for m in range(min(most, t)):
        rows += e[at]
        value = begun[at] + rows + law[m]
        at -= k
        if value == -INFINITY:
            continue
        if value <= best:
            total += exp(value - best)
        else:
            total = total * exp(best - value) + 1.0
            best = value
    if total == 0.0:
        return -INFINITY
    return best + log(total)


cdef inline double log_sum(double a, double b) noexcept nogil:
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -INFINITY:
        return a
    return a + log(1.0 + exp(b - a))
