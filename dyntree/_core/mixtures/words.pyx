"""An emission of counts of words, stored as the words that a row has."""
import numpy as np

cimport cython
from libc.math cimport exp, lgamma, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from dyntree._core.mixtures.emissions cimport Emission
from dyntree._core.rng cimport RandomStream, gamma


@cython.final
cdef class Words(Emission):
    """Counts of words under a Dirichlet prior.

    Parameters
    ----------
    priors : ndarray of shape (n_priors, n_words)
        Concentrations.
    start : ndarray of int64 of shape (n_rows + 1,)
        Row t has the entries start[t] .. start[t + 1] - 1.
    word : ndarray of int32 of shape (n_entries,)
    count : ndarray of shape (n_entries,)
        Whole numbers > 0.

    Notes
    -----
    Densities are of the words in some order: the multinomial coefficient, the same for
    all particles, is left out. Sums: rows, words, then the count of each word.
    """

    cdef int32_t n_words
    cdef const int64_t *start
    cdef const int32_t *word
    cdef const double *count
    cdef double *total              # (n_priors,) of the concentrations
    cdef double *logs               # (n_words, capacity): log of concentration + count
    cdef double *total_of           # (capacity,) concentrations and counts in all
    cdef double *constant           # (capacity,) log gamma of it; 0 at a location
    cdef int32_t *at_location       # (capacity,)

    def __init__(
        self, const double[:, ::1] priors, const int64_t[::1] start,
        const int32_t[::1] word, const double[::1] count,
    ):
        Emission.__init__(self, priors)
        cdef double[::1] total = np.asarray(priors).sum(axis=1)
        self.store |= {"start": start, "word": word, "count": count, "total": total}
        self.n_rows, self.n_words = start.shape[0] - 1, <int32_t> priors.shape[1]
        self.n_sums = self.n_words + 2
        self.start = &start[0]
        self.word = &word[0] if word.size else NULL
        self.count = &count[0] if count.size else NULL
        self.total = &total[0]

    def grow_derived(self, int32_t capacity):
        """Room for what is derived."""
        old = self.capacity
        cdef double[:, ::1] logs = self.derived("logs", (self.n_words, capacity), old, 1)
        cdef double[::1] total_of = self.derived("total_of", capacity, old, 0)
        cdef double[::1] constant = self.derived("constant", capacity, old, 0)
        there = np.zeros(capacity, dtype=np.int32)
        if "there" in self.store:
            there[:old] = self.store["there"]
        cdef int32_t[::1] at_location = there
        self.store["there"] = there
        self.logs, self.total_of = &logs[0, 0], &total_of[0]
        self.constant, self.at_location = &constant[0], &at_location[0]

    cdef void gather(self, int32_t slot, int64_t row, double sign) noexcept nogil:
        """Add or remove a row."""
        cdef double *s = self.sums + <int64_t> slot * self.n_sums
        cdef int64_t k
        s[0] += sign
        for k in range(self.start[row], self.start[row + 1]):
            s[1] += sign * self.count[k]
            s[2 + self.word[k]] += sign * self.count[k]

    cdef void add(self, int32_t slot, int64_t row) noexcept nogil:
        self.gather(slot, row, 1.0)

    cdef void remove(self, int32_t slot, int64_t row) noexcept nogil:
        self.gather(slot, row, -1.0)

    cdef void refresh(self, int32_t slot) noexcept nogil:
        cdef double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *p = self.prior(slot)
        cdef int32_t w
        for w in range(self.n_words):
            self.logs[<int64_t> w * self.capacity + slot] = log(p[w] + s[2 + w])
        self.total_of[slot] = self.total[self.prior_of[slot]] + s[1]
        self.constant[slot] = lgamma(self.total_of[slot])
        self.at_location[slot] = 0

    cdef void instantiate(self, int32_t slot, RandomStream *s) noexcept nogil:
        """Log probabilities; log Gamma(a) is log Gamma(a + 1) + log(U) / a."""
        cdef double *sums = self.sums + <int64_t> slot * self.n_sums
        cdef const double *p = self.prior(slot)
        cdef double a, total = 0.0, t
        cdef int32_t w
        for w in range(self.n_words):
            a = p[w] + sums[2 + w]
            t = log(gamma(s, a + 1.0, 1.0)) + log(s.uniform(s)) / a
            self.logs[<int64_t> w * self.capacity + slot] = t
            total += exp(t)
        for w in range(self.n_words):
            self.logs[<int64_t> w * self.capacity + slot] -= log(total)
        self.constant[slot] = 0.0
        self.at_location[slot] = 1

    cdef void log_densities(self, int64_t row, int32_t top, double *out) noexcept nogil:
        cdef const double *logs
        cdef double n_words = 0.0, c
        cdef int64_t k
        cdef int32_t slot
        memset(out, 0, top * sizeof(double))
        for k in range(self.start[row], self.start[row + 1]):
            c = self.count[k]
            n_words += c
            logs = self.logs + <int64_t> self.word[k] * self.capacity
            if c == 1.0:
                for slot in range(top):
                    out[slot] += logs[slot]
            else:
                for slot in range(top):
                    out[slot] += (
                        c * logs[slot] if self.at_location[slot]
                        else self.rising(slot, self.word[k], c, 0.0)
                    )
        for slot in range(top):
            if not self.at_location[slot]:
                out[slot] += self.constant[slot] - lgamma(self.total_of[slot] + n_words)

    cdef double density(self, int32_t slot, int64_t row) noexcept nogil:
        cdef double total = 0.0, n_words = 0.0, c
        cdef int64_t k, word
        for k in range(self.start[row], self.start[row + 1]):
            word, c = self.word[k], self.count[k]
            n_words += c
            if self.at_location[slot]:
                total += c * self.logs[word * self.capacity + slot]
            else:
                total += self.rising(slot, <int32_t> word, c, 0.0)
        if self.at_location[slot]:
            return total
        return total + self.constant[slot] - lgamma(self.total_of[slot] + n_words)

    cdef double rising(
        self, int32_t slot, int32_t word, double c, double less
    ) noexcept nogil:
        """log of a (a + 1) ... (a + c - 1), where a is what a word has, but for some."""
        cdef double a = self.prior(slot)[word] - less
        a += self.sums[<int64_t> slot * self.n_sums + 2 + word]
        if c == 1.0:
            return log(a)
        if c == 2.0:
            return log(a * (a + 1.0))
        if c == 3.0:
            return log(a * (a + 1.0) * (a + 2.0))
        return lgamma(a + c) - lgamma(a)

    cdef double without(self, int32_t slot, int64_t row) noexcept nogil:
        cdef double total = 0.0, n_words = 0.0, c, all_words
        cdef int64_t k
        for k in range(self.start[row], self.start[row + 1]):
            c = self.count[k]
            n_words += c
            total += self.rising(slot, self.word[k], c, c)
        all_words = self.total[self.prior_of[slot]]
        all_words += self.sums[<int64_t> slot * self.n_sums + 1]
        return total + lgamma(all_words - n_words) - lgamma(all_words)

    cdef double log_marginal(self, int32_t slot, int32_t prior) noexcept nogil:
        cdef const double *s = self.sums + <int64_t> slot * self.n_sums
        cdef const double *p = self.priors + <int64_t> prior * self.n_prior
        cdef double total = lgamma(self.total[prior]) - lgamma(self.total[prior] + s[1])
        cdef int32_t w
        for w in range(self.n_words):
            if s[2 + w]:
                total += lgamma(p[w] + s[2 + w]) - lgamma(p[w])
        return total

    cdef void move(self, int32_t into, int32_t source) noexcept nogil:
        cdef int64_t w
        Emission.move(self, into, source)
        for w in range(self.n_words):
            self.logs[w * self.capacity + into] = self.logs[w * self.capacity + source]
        self.total_of[into] = self.total_of[source]
        self.constant[into] = self.constant[source]
        self.at_location[into] = self.at_location[source]
