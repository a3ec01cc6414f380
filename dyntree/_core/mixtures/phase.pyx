"""One phase of a dependent mixture: slots, their owners, rows and weights."""
import numpy as np

from libc.math cimport INFINITY, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.emissions cimport Emission
from dyntree._core.rng cimport CounterSource, RandomStream


cdef class Phase:
    """Slots of one phase, given what the phase begins with.

    Parameters
    ----------
    emission : Emission
        With the priors of the K inherited particles, then those of the bases.
    m, exposure, survival : ndarray of shape (K,)
    mass, source_exposure : ndarray of shape (S,)
        Mass never seen, by source.
    base : ndarray of int32 of shape (S,)
        Number of the base of each source.
    counts : bool
        Whether the paper's own weights are used.
    uncollapsed : bool
        Whether particles that have rows have a location, too.
    max_slots : int
        Most particles at a time.
    seed, phase, chain : int
        Coordinates of all random numbers.
    """

    def __init__(
        self, Emission emission, const double[::1] m, const double[::1] exposure,
        const double[::1] survival, const double[::1] mass,
        const double[::1] source_exposure, const int32_t[::1] base, bint counts,
        bint uncollapsed, int32_t max_slots, seed, int64_t phase, int32_t chain,
    ):
        cdef const double[:, ::1] log_base
        cdef double[:, ::1] rates
        cdef int32_t[::1] label
        cdef int32_t k
        self.emission, self.source_ = emission, CounterSource(seed)
        self.n, self.phase, self.chain = emission.n_rows, phase, chain
        self.K, self.S = <int32_t> m.shape[0], <int32_t> mass.shape[0]
        self.n_bases = 1 + max(np.asarray(base))
        self.counts, self.uncollapsed = counts, uncollapsed
        self.max_slots = max(max_slots, self.K)
        self.next_name, self.u = self.K, 0.0
        log_base = emission.log_under(self.K)
        logs = np.zeros((3, max(self.K, self.S) + 1))
        logs[2, :self.S] = np.log(mass)
        rates = logs
        label = np.full(self.n, -1, dtype=np.int32)
        cdef double[::1] log_new = np.zeros(self.n_bases)
        self.store = {
            "m": m, "exposure": exposure, "survival": survival, "mass": mass,
            "source_exposure": source_exposure, "base": base, "log_base": log_base,
            "rates": rates, "label": label, "log_new": log_new,
        }
        if self.K:
            self.m, self.exposure, self.survival = &m[0], &exposure[0], &survival[0]
        self.mass, self.source_exposure, self.base = (
            &mass[0], &source_exposure[0], &base[0]
        )
        self.log_rate, self.log_source_rate = &rates[0, 0], &rates[1, 0]
        self.log_mass = &rates[2, 0]
        self.log_new = &log_new[0]
        if self.n:
            self.log_base, self.label = &log_base[0, 0], &label[0]
        self.grow(self.K + 16)
        for k in range(self.K):         # without rows, in the first slots
            self.emission.clear(k, k)
            self.emission.refresh(k)
            self.owner[k] = k
        self.top = self.n_live = self.K

    def grow(self, int32_t capacity):
        """Make room for so many particles."""
        cdef int32_t old = self.emission.capacity if "owner" in self.store else 0
        self.emission.grow(max(capacity + 1, self.emission.capacity))
        capacity = self.emission.capacity
        owners = np.full((2, capacity), -1, dtype=np.int64)
        of_source = np.zeros(capacity, dtype=np.int32)
        weights = np.zeros((2, capacity))
        owners[1], weights[0] = 0, -INFINITY
        if old:
            owners[:, :old] = self.store["owner"]
            of_source[:old] = self.store["source"]
            weights[:, :old] = self.store["weights"]
        self.store |= {"owner": owners, "source": of_source, "weights": weights}
        cdef int64_t[:, ::1] numbers = owners
        cdef int32_t[::1] source = of_source
        cdef double[:, ::1] doubles = weights
        self.owner, self.rows = &numbers[0, 0], &numbers[1, 0]
        self.source = &source[0]
        self.log_weight, self.density = &doubles[0, 0], &doubles[1, 0]

    # ------------------------------------------------------------ weights
    cdef double log_alive(self, int32_t k) noexcept nogil:
        """Log probability that a particle nobody has chosen is alive."""
        cdef double q = self.survival[k], t
        if self.counts or q >= 1.0:
            return log(q)
        t = self.m[k] * (log(self.exposure[k]) - self.log_rate[k])
        return log(q) + t - log(q * exp(t) + 1.0 - q)

    cdef double log_silent(self, int32_t k) noexcept nogil:
        """Log probability that nobody chooses an inherited particle, given u."""
        cdef double q = self.survival[k]
        cdef double t = self.m[k] * (log(self.exposure[k]) - self.log_rate[k])
        return t if q >= 1.0 else log1p(q * (exp(t) - 1.0))

    cdef double weigh(self, int32_t slot, int64_t r) noexcept nogil:
        """Log weight of a slot that has r rows beside the one in question."""
        cdef int64_t k = self.owner[slot]
        if k >= self.K:
            if r == 0:
                return -INFINITY
            return log(r) - self.log_source_rate[self.source[slot]]
        return (
            log(self.m[k] + r) - self.log_rate[k]
            + (0.0 if r else self.log_alive(<int32_t> k))
        )

    cdef void reweigh(self, bint whole) noexcept nogil:
        """All log weights, after u has changed."""
        cdef int32_t k, s
        for k in range(self.K):
            self.log_rate[k] = 0.0 if self.counts else log(self.exposure[k] + self.u)
        for k in range(self.n_bases):
            self.log_new[k] = 0.0
        for s in range(self.S):
            if self.counts:
                self.log_new[self.base[s]] += self.mass[s]
            else:
                self.log_new[self.base[s]] += self.mass[s] / (
                    self.source_exposure[s] + self.u
                )
        if whole and not self.counts:
            for s in range(self.S):
                self.log_source_rate[s] = log(self.source_exposure[s] + self.u)
        elif not self.counts:
            for k in range(self.top):
                if self.owner[k] >= self.K:
                    s = self.source[k]
                    self.log_source_rate[s] = log(self.source_exposure[s] + self.u)
        for k in range(self.n_bases):
            self.log_new[k] = log(self.log_new[k])
        for k in range(self.top):
            self.log_weight[k] = (
                -INFINITY if self.owner[k] < 0 else self.weigh(k, self.rows[k])
            )

    cdef double total_weight(self) noexcept nogil:
        """Sum of all weights."""
        cdef double total = 0.0
        cdef int32_t k
        for k in range(self.top):
            total += exp(self.log_weight[k])
        for k in range(self.n_bases):
            total += exp(self.log_new[k])
        return total

    # ------------------------------------------------------------ sources
    cdef double log_source_sum(self, int32_t slot, int64_t r) noexcept nogil:
        """log of the sum over sources of a (E + u)^-r times the marginal of the rows."""
        return self.over_sources(slot, r, -1.0, NULL)

    cdef double over_sources(
        self, int32_t slot, int64_t r, double share, int32_t *pick
    ) noexcept nogil:
        """That sum, or the source at which it passes a share of itself."""
        cdef double best = -INFINITY, total = 0.0, t, evidence = 0.0
        cdef int32_t s, seen, pass_
        for pass_ in range(2 if pick == NULL else 3):
            if pass_ == 2:
                share *= total
                total = 0.0
            seen = -1
            for s in range(self.S):
                if self.base[s] != seen:
                    seen = self.base[s]
                    evidence = self.emission.log_marginal(slot, self.K + seen)
                t = self.log_mass[s] - r * self.log_source_rate[s] + evidence
                if pass_ == 0:
                    best = max(best, t)
                elif t - best > -NEGLIGIBLE:
                    total += exp(t - best)
                if pass_ == 2 and share < total:
                    pick[0] = s
                    return 0.0
        return best + log(total)

    cdef int32_t draw_source(self, int32_t slot) noexcept nogil:
        """A source for a new particle that has the rows of a slot."""
        cdef int32_t s = self.S - 1
        if self.S > 1:
            self.over_sources(
                slot, self.rows[slot], self.stream.uniform(&self.stream), &s
            )
        return s

    # ------------------------------------------------------------ slots
    cdef int32_t free_slot(self) noexcept nogil:
        """A slot without an owner, or -1 if there is no room for one."""
        cdef int32_t k
        if self.n_live < self.top:
            for k in range(self.top):
                if self.owner[k] < 0:
                    return k
        return self.top if self.top < self.emission.capacity - 1 else -1

    cdef void leave(self, int64_t row, int32_t slot) noexcept nogil:
        """Take a row out of its slot."""
        self.rows[slot] -= 1
        if self.rows[slot] == 0:
            self.emission.clear(slot, self.emission.prior_of[slot])
            if self.owner[slot] >= self.K:
                self.owner[slot] = -1
                self.n_live -= 1
                self.log_weight[slot] = -INFINITY
                return
            self.emission.refresh(slot)
        else:
            self.emission.remove(slot, row)
            if not self.uncollapsed:
                self.emission.refresh(slot)
        self.log_weight[slot] = self.weigh(slot, self.rows[slot])

    cdef void enter(self, int64_t row, int32_t slot) noexcept nogil:
        """Put a row into a slot."""
        self.rows[slot] += 1
        self.label[row] = slot
        self.emission.add(slot, row)
        if not self.uncollapsed:
            self.emission.refresh(slot)
        elif self.rows[slot] == 1:
            self.emission.instantiate(slot, &self.stream)
        self.log_weight[slot] = self.weigh(slot, self.rows[slot])

    cdef void take(self, int32_t slot, int64_t name, int32_t source) noexcept nogil:
        """Let a slot that is free have an owner and no rows."""
        self.owner[slot], self.source[slot], self.rows[slot] = name, source, 0
        self.n_live += 1
        self.top = max(self.top, slot + 1)
        self.emission.clear(
            slot, <int32_t> name if name < self.K else self.K + self.base[source]
        )

    cdef int32_t slot_of(self, int64_t owner) noexcept nogil:
        cdef int32_t slot
        for slot in range(self.top):
            if self.owner[slot] == owner:
                return slot
        return -1

    cdef void give(self, int32_t slot, int64_t owner, int32_t source) noexcept nogil:
        """Let the rows of a slot have another owner."""
        self.owner[slot], self.source[slot] = owner, source
        self.emission.put_under(
            slot, <int32_t> owner if owner < self.K else self.K + self.base[source]
        )
        if self.uncollapsed:
            self.emission.instantiate(slot, &self.stream)
        else:
            self.emission.refresh(slot)
        self.log_weight[slot] = self.weigh(slot, self.rows[slot])

    cdef void compact(self) noexcept nogil:
        """Close the gaps between slots."""
        cdef int32_t k, into = 0
        cdef int32_t *where = <int32_t *> self.density      # of slots, for the rows
        cdef int64_t i
        if self.n_live == self.top:
            return
        for k in range(self.top):
            where[k] = into
            if self.owner[k] < 0:
                continue
            if into < k:
                self.owner[into], self.rows[into] = self.owner[k], self.rows[k]
                self.source[into] = self.source[k]
                self.log_weight[into] = self.log_weight[k]
                self.emission.move(into, k)
                self.owner[k] = -1
                self.log_weight[k] = -INFINITY
            into += 1
        for i in range(self.n):
            self.label[i] = where[self.label[i]]
        self.top = into

    def start(self, labels, sources=None, double u=0.0):
        """Give all rows their first labels, instead of a first pass.

        Parameters
        ----------
        labels : ndarray of int64 of shape (n,)
            Inherited particles, or names from K on.
        sources : dict, optional
            Source of each name.
        u : float, default 0
        """
        cdef int32_t slot
        cdef int64_t i
        self.stream = self.source_.open(
            self.phase, self.chain * MOST_SWEEPS, LABELS
        )
        self.u = u
        names = sources or {}
        if self.emission.capacity < self.K + len(names) + 2:
            self.grow(self.K + len(names) + 2)
        where = {k: k for k in range(self.K)}
        for name, source in names.items():
            where[name] = slot = self.free_slot()
            self.take(slot, name, source)
            self.next_name = max(self.next_name, name + 1)
        cdef int32_t[::1] slots = np.array(
            [where[name] for name in np.asarray(labels).tolist()], dtype=np.int32
        )
        self.reweigh(True)
        for i in range(self.n):
            self.enter(i, slots[i])

    # ------------------------------------------------------------ what it found
    def labels(self):
        """Owners of all rows: numbers of inherited particles, or names from K on.

        Returns
        -------
        ndarray of int64 of shape (n,)
        """
        owners = np.asarray(self.store["owner"])[0]
        return owners[np.asarray(self.store["label"])]

    def alive(self):
        """Alive probability of inherited particles, NaN for those that have rows.

        Returns
        -------
        ndarray of shape (K,)
        """
        found = np.full(self.K, np.nan)
        cdef double[::1] out = found
        cdef int32_t slot
        for slot in range(self.top):
            if 0 <= self.owner[slot] < self.K and self.rows[slot] == 0:
                out[self.owner[slot]] = exp(self.log_alive(<int32_t> self.owner[slot]))
        return found

    def sources(self):
        """Source of each new particle there is, a dict from names."""
        return {
            self.owner[slot]: self.source[slot]
            for slot in range(self.top) if self.owner[slot] >= self.K
        }

    @property
    def n_clusters(self):
        """Particles that have rows."""
        cdef int32_t slot, total = 0
        for slot in range(self.top):
            total += self.owner[slot] >= 0 and self.rows[slot] > 0
        return total

    @property
    def identity_moves(self):
        """How many changes of identity were proposed, and accepted."""
        return self.n_proposed, self.n_accepted

    def log_joint(self):
        """Log of the joint law at the present labels, sources and u."""
        cdef double total = 0.0, q
        cdef int64_t k, r
        cdef int32_t slot, s
        with nogil:
            if not self.counts and self.n:
                total = (self.n - 1) * log(self.u) - lgamma(self.n)
                for s in range(self.S):
                    total += self.mass[s] * (
                        log(self.source_exposure[s]) - self.log_source_rate[s]
                    )
            for slot in range(self.top):
                k, r = self.owner[slot], self.rows[slot]
                if k < 0:
                    continue
                if k >= self.K:
                    s = self.source[slot]
                    total += log(self.mass[s]) + lgamma(r) - r * self.log_source_rate[s]
                    total += self.emission.log_marginal(slot, self.K + self.base[s])
                    continue
                q = self.survival[k]
                if r:
                    total += log(q) + lgamma(self.m[k] + r) - lgamma(self.m[k])
                    total += self.emission.log_marginal(slot, <int32_t> k)
                    if not self.counts:
                        total += self.m[k] * log(self.exposure[k])
                        total -= (self.m[k] + r) * self.log_rate[k]
                elif not self.counts:
                    total += self.log_silent(<int32_t> k)
        return total


def shuffled(int64_t n, seed, int64_t phase, int32_t chain):
    """Random order of n rows, from a stream of its own.

    Returns
    -------
    ndarray of int64 of shape (n,)
    """
    cdef CounterSource source = CounterSource(seed)
    cdef RandomStream stream = source.open(phase, chain * MOST_SWEEPS, ORDER)
    cdef int64_t i, j, t
    found = np.arange(n)
    cdef int64_t[::1] order = found
    for i in range(n - 1, 0, -1):
        j = <int64_t> (stream.uniform(&stream) * (i + 1))
        t = order[i]
        order[i] = order[j]
        order[j] = t
    return found
