"""Decoding of semi-Markov chains: the best path, and the probability of all of them.

With e(t, m, j) the sum of the log densities of the m rows before row t in state j, and
begun(t, j) the value of all that ended at row t and goes on in j,

    ended(t, j) = over m of begun(t - m, j) + log P(duration m) + e(t, m, j)
    begun(t, j) = over i of ended(t, i) + log P(j after i)

where "over" is the maximum (Viterbi) or the log of the sum of exponentials (forward).
The last segment may go on after the last row: it has the probability of lasting so long.
Each row's best log density is taken off first and added at the end, and sums run within a
segment, so that a row that is far from all states costs a constant and no other's digits.
"""
import numpy as np

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t


cdef class Law:
    """A chain that decodes.

    Parameters
    ----------
    log_start : ndarray of shape (n_states,)
    log_move : ndarray of shape (n_states, n_states)
        -inf on the diagonal.
    log_duration, log_survival : ndarray of shape (n_states, n_durations)
        Log probability of 1, 2, ... rows; of so many or more.
    """

    cdef:
        const double[::1] start
        const double[:, ::1] move
        const double[:, ::1] duration
        const double[:, ::1] survival

    def __init__(
        self, const double[::1] log_start, const double[:, ::1] log_move,
        const double[:, ::1] log_duration, const double[:, ::1] log_survival,
    ):
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
        cdef int64_t n = log_density.shape[0], t, m, last
        cdef int32_t k = <int32_t> self.start.shape[0], i, j, state
        cdef double value, best
        relative, shift = lowered(log_density)
        cdef const double[:, ::1] e = relative
        cdef double[:, ::1] begun = np.full((n + 1, k), -np.inf)
        cdef double[:, ::1] ended = np.full((n + 1, k), -np.inf)
        cdef int32_t[:, ::1] lasted = np.zeros((n + 1, k), np.int32)
        cdef int32_t[:, ::1] came_from = np.zeros((n + 1, k), np.int32)
        path = np.empty(n, np.int64)
        cdef int64_t[::1] states = path
        begun[0, :] = self.start
        with nogil:
            for t in range(1, n + 1):
                for j in range(k):
                    best = best_end(
                        &begun[0, 0], &e[0, 0], k, t, j, &self.duration[j, 0],
                        self.duration.shape[1], &lasted[t, j],
                    )
                    ended[t, j] = best
                for j in range(k):
                    for i in range(k):
                        value = ended[t, i] + self.move[i, j]
                        if value > begun[t, j]:
                            begun[t, j] = value
                            came_from[t, j] = i
            best, state = -INFINITY, 0
            for j in range(k):      # the last segment, which may go on
                value = best_end(
                    &begun[0, 0], &e[0, 0], k, n, j, &self.survival[j, 0],
                    self.survival.shape[1], &lasted[n, j],
                )
                if value > best:
                    best, state = value, j
            t = n
            while t > 0:
                m = max(lasted[t, state], 1)
                for last in range(t - m, t):
                    states[last] = state
                t -= m
                state = came_from[t, state]
        return path, best + shift

    def log_likelihood(self, const double[:, ::1] log_density):
        """Log density of rows, whatever the path; parameters as in `viterbi`."""
        cdef int64_t n = log_density.shape[0], t
        cdef int32_t k = <int32_t> self.start.shape[0], i, j
        relative, shift = lowered(log_density)
        cdef const double[:, ::1] e = relative
        cdef double[:, ::1] begun = np.full((n + 1, k), -np.inf)
        cdef double[::1] ended = np.empty(k)
        cdef double total = -INFINITY
        begun[0, :] = self.start
        with nogil:
            for t in range(1, n + 1):
                for j in range(k):
                    ended[j] = all_ends(
                        &begun[0, 0], &e[0, 0], k, t, j, &self.duration[j, 0],
                        self.duration.shape[1],
                    )
                for j in range(k):
                    for i in range(k):
                        begun[t, j] = log_sum(begun[t, j], ended[i] + self.move[i, j])
            for j in range(k):
                total = log_sum(total, all_ends(
                    &begun[0, 0], &e[0, 0], k, n, j, &self.survival[j, 0],
                    self.survival.shape[1],
                ))
        return total + shift


def lowered(log_density):
    """Log densities less the best of each row, and the sum of what was taken off."""
    values = np.asarray(log_density)
    best = values.max(axis=1)
    best = np.where(np.isfinite(best), best, 0.0)
    return np.ascontiguousarray(values - best[:, None]), float(best.sum())


cdef double best_end(
    const double *begun, const double *e, int32_t k, int64_t t, int32_t j,
    const double *law, int64_t most, int32_t *lasted,
) noexcept nogil:
    """Value of the best segment of state j that ends at row t, and its rows."""
    cdef int64_t m, at = (t - 1) * k + j
    cdef double best = -INFINITY, value, rows = 0.0
    for m in range(min(most, t)):
        rows += e[at]
        value = begun[at] + rows + law[m]
        if value > best:
            best = value
            lasted[0] = <int32_t> (m + 1)
        at -= k
    return best


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
