"""Split-merge moves: many rows change their particle at once, or none.

Notes
-----
Two rows i and j are drawn. Where both are of one particle a, a split is proposed: the
part of i stays with a, that of j becomes a new particle. Where they are of two, and that
of j is new, a merge is proposed: all rows become those of i's. Sides are proposed by one
scan of Gibbs sampling, restricted to the two, from a *launch* that depends on i, j and
the rows in question alone (Jain and Neal 2004). A merge is accepted with the
probability min(1, ratio times that of the scan back), and as this is at most one, most
merges are refused by the ratio, without a scan. The source of a new particle is summed
over, and drawn once its rows are known; so are locations under "uncollapsed".
"""
import numpy as np

from libc.math cimport INFINITY, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.phase cimport MOST_SWEEPS, SPLITS, Phase

cdef int N_ROUNDS = 3           # of a launch


cdef class SplitMerge(Phase):
    """Split-merge moves of the particles of one phase: parameters as of `Phase`."""

    def split_or_merge(self, int32_t sweep, int32_t n_proposals):
        """Propose so many splits or merges.

        Parameters
        ----------
        sweep : int
            Number of the sweep, a coordinate of the random numbers.
        n_proposals : int
        """
        cdef int64_t[::1] members
        cdef int32_t[::1] side
        cdef int32_t k
        if self.n < 2:
            return
        if "members" not in self.store:
            self.store["members"] = np.empty(self.n, dtype=np.int64)
            self.store["side"] = np.empty(self.n, dtype=np.int32)
        members, side = self.store["members"], self.store["side"]
        self.members, self.side = &members[0], &side[0]
        self.stream = self.source_.open(
            self.phase, self.chain * MOST_SWEEPS + sweep, SPLITS
        )
        for k in range(n_proposals):
            if self.emission.capacity < self.top + 3:   # two parts, and one is spare
                self.grow(2 * self.emission.capacity)
            with nogil:
                self.propose()

    cdef bint propose(self) noexcept nogil:
        """Propose one move, of two rows drawn at random; whether it was accepted."""
        cdef int64_t i = <int64_t> (self.n * self.stream.uniform(&self.stream))
        cdef int64_t j = <int64_t> ((self.n - 1) * self.stream.uniform(&self.stream))
        cdef double log_chance = log(self.stream.uniform(&self.stream))
        j += j >= i
        if self.label[i] != self.label[j]:
            return self.merge(i, j, log_chance)
        return self.split(i, j, log_chance)

    cdef double log_part(self, int32_t slot, int32_t of, int64_t r) noexcept nogil:
        cdef int64_t k = self.owner[of]
        cdef int32_t s = self.source[of]
        if k < self.K:
            return (
                lgamma(self.m[k] + r) - r * self.log_rate[k]
                + self.emission.log_marginal(slot, <int32_t> k)
            )
        return (
            lgamma(r) - r * self.log_source_rate[s]
            + self.emission.log_marginal(slot, self.K + self.base[s])
        )

    cdef int64_t gather_members(
        self, int32_t a, int32_t b, int64_t i, int64_t j
    ) noexcept nogil:
        """All rows of one or two slots but i and j; how many."""
        cdef int64_t t, n = 0
        for t in range(self.n):
            if (self.label[t] == a or self.label[t] == b) and t != i and t != j:
                self.members[n] = t
                n += 1
        return n

    cdef double log_odds_of_second(
        self, int32_t a, int64_t row, int32_t at
    ) noexcept nogil:
        """Log odds that a row is of the second part; `at` is where it is: -1, 0 or 1."""
        cdef int32_t s = self.S - 1, one = self.top, two = self.top + 1
        cdef int64_t k = self.owner[a]
        cdef double *sums = self.emission.sums
        cdef double r = sums[<int64_t> one * self.emission.n_sums] - (at == 0)
        cdef double found = log(sums[<int64_t> two * self.emission.n_sums] - (at == 1))
        found -= self.log_source_rate[s]
        if k < self.K:
            found -= log(self.m[k] + r) - self.log_rate[k]
        else:
            found -= log(r) - self.log_source_rate[self.source[a]]
        found += (
            self.emission.without(two, row) if at == 1
            else self.emission.density(two, row)
        )
        return found - (
            self.emission.without(one, row) if at == 0
            else self.emission.density(one, row)
        )

    cdef void sum_sides(
        self, int32_t a, int64_t i, int64_t j, int64_t n
    ) noexcept nogil:
        """Put i and j and all members to their sides."""
        cdef int32_t one = self.top
        cdef int64_t t
        self.emission.clear(one, self.emission.prior_of[a])
        self.emission.clear(one + 1, self.K + self.base[self.S - 1])
        self.emission.add(one, i)
        self.emission.add(one + 1, j)
        for t in range(n):
            self.emission.add(one + self.side[t], self.members[t])
        self.emission.refresh(one)
        self.emission.refresh(one + 1)

    cdef void launch(self, int32_t a, int64_t i, int64_t j, int64_t n) noexcept nogil:
        """Sides about i and j, by what is more probable, in rounds of all members."""
        cdef int64_t t
        cdef int round_
        self.sum_sides(a, i, j, 0)
        for round_ in range(N_ROUNDS):
            for t in range(n):
                self.side[t] = self.log_odds_of_second(a, self.members[t], -1) > 0.0
            self.sum_sides(a, i, j, n)

    cdef double scan(self, int32_t a, int64_t n, bint drawing) noexcept nogil:
        """One restricted scan, to sides drawn or those there are; its log probability."""
        cdef int64_t t, row
        cdef int32_t side
        cdef double odds, total = 0.0
        for t in range(n):
            row, side = self.members[t], self.side[t]
            odds = self.log_odds_of_second(a, row, side)
            if drawing:
                side = log(1.0 / self.stream.uniform(&self.stream) - 1.0) < odds
            else:
                side = self.label[row] != a
            total -= log1p(exp(-odds if side else odds))
            if total == -INFINITY:          # never so
                return total
            if side != self.side[t]:
                self.emission.remove(self.top + self.side[t], row)
                self.emission.add(self.top + side, row)
                self.emission.refresh(self.top)
                self.emission.refresh(self.top + 1)
                self.side[t] = side
        return total

    cdef void settle(self, int32_t slot, int32_t scratch) noexcept nogil:
        """Let a slot have what a scratch slot holds, under its own prior."""
        cdef int32_t prior = self.emission.prior_of[slot]
        if slot != scratch:
            self.emission.move(slot, scratch)
        self.emission.put_under(slot, prior)
        self.rows[slot] = <int64_t> (
            self.emission.sums[<int64_t> slot * self.emission.n_sums] + 0.5
        )
        if self.uncollapsed:
            self.emission.instantiate(slot, &self.stream)
        else:
            self.emission.refresh(slot)
        self.log_weight[slot] = self.weigh(slot, self.rows[slot])

    cdef bint merge(self, int64_t i, int64_t j, double log_chance) noexcept nogil:
        """Give i's particle the rows of j's, which is new."""
        cdef int32_t a = self.label[i], b = self.label[j], one = self.top, s
        cdef int64_t t, n, n_sums = self.emission.n_sums, r = self.rows[a] + self.rows[b]
        cdef double *sums = self.emission.sums
        cdef double ratio
        if self.owner[b] < self.K:
            return False
        self.emission.move(one, a)
        for t in range(n_sums):
            sums[one * n_sums + t] += sums[b * n_sums + t]
        ratio = self.log_part(one, a, r) - self.log_part(a, a, self.rows[a])
        ratio -= lgamma(self.rows[b]) + self.log_source_sum(b, self.rows[b])
        if not log_chance < ratio:
            return False
        n = self.gather_members(a, b, i, j)
        self.launch(a, i, j, n)
        if not log_chance < ratio + self.scan(a, n, False):
            return False
        for t in range(n_sums):
            sums[a * n_sums + t] += sums[b * n_sums + t]
        self.settle(a, a)
        for t in range(self.n):
            if self.label[t] == b:
                self.label[t] = a
        self.owner[b], self.rows[b], self.log_weight[b] = -1, 0, -INFINITY
        self.n_live -= 1
        self.n_merged += 1
        return True

    cdef bint split(self, int64_t i, int64_t j, double log_chance) noexcept nogil:
        """Give a new particle a part of the rows of that of i and j."""
        cdef int32_t a = self.label[i], one = self.top, two = one + 1, slot, s
        cdef int64_t t, n, r
        cdef double ratio
        if self.n_live >= self.max_slots:
            return False
        n = self.gather_members(a, a, i, j)
        self.launch(a, i, j, n)
        ratio = -self.scan(a, n, True)
        r = <int64_t> (self.emission.sums[two * self.emission.n_sums] + 0.5)
        ratio += self.log_part(one, a, self.rows[a] - r) - self.log_part(
            a, a, self.rows[a]
        )
        ratio += lgamma(r) + self.log_source_sum(two, r)
        if not log_chance < ratio:
            return False
        self.settle(a, one)
        self.rows[two] = r                  # for the draw of its source
        s = self.draw_source(two)
        self.rows[two] = 0
        slot = self.free_slot()
        self.take(slot, self.next_name, s)
        self.next_name += 1
        self.settle(slot, two)
        self.label[j] = slot
        for t in range(n):
            if self.side[t]:
                self.label[self.members[t]] = slot
        self.n_split += 1
        return True
