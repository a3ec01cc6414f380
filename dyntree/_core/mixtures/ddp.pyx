"""Gibbs sampling of one phase of a dependent Dirichlet process mixture.

Notes
-----
The law that is left invariant: with n rows, r_k of them at the inherited particle k,
which has seen m_k rows under the exposure E_k and is alive with probability q_k, and r_j
rows at the new particle j of source s, log p(labels, u) is the sum of

- (n - 1) log u - log Gamma(n) + sum_s a_s log(E_s / (E_s + u)),
- for r_k > 0: log q_k + log Gamma(m_k + r_k) - log Gamma(m_k) + m_k log E_k
  - (m_k + r_k) log(E_k + u) + log marginal,
- for r_k = 0: log(1 - q_k + q_k t_k), t_k = (E_k / (E_k + u))^m_k,
- for new ones: log a_s + log Gamma(r_j) - r_j log(E_s + u) + log marginal.

It follows from G_t = T(S_q(G_{t-1})) + H_t (Lin, Grimson and Fisher 2010, equation 16),
gamma processes superposed before they are normalised, with g_k ~ Gamma(m_k, E_k), and u
the auxiliary variable of a normalised gamma measure (James, Lijoi and Pruenster 2009).
Under the rule "counts" u and exposures have no part in it: the paper's own weights.
"""
import numpy as np

cimport cython
from libc.math cimport INFINITY, exp, lgamma, log, log1p, pow
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.emissions cimport Emission
from dyntree._core.rng cimport CounterSource, RandomStream, gamma

cdef enum:              # what a stream is for; chains and sweeps are its other coordinate
    ORDER = 8
    LABELS = 9
    REST = 10
    MOST_SWEEPS = 1 << 20

cdef double NEGLIGIBLE = 40.0       # nats below the best: less than a uniform resolves


@cython.final
cdef class PhaseSampler:
    """Labels of the rows of one phase, given what the phase begins with.

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

    cdef Emission emission
    cdef CounterSource source_
    cdef dict store
    cdef int64_t n, phase, next_name, n_proposed, n_accepted
    cdef int32_t K, S, n_bases, chain, top, n_live, max_slots
    cdef bint counts, uncollapsed
    cdef readonly bint was_full     # whether a new particle found no room
    cdef readonly double u
    cdef const double *m
    cdef const double *exposure
    cdef const double *survival
    cdef const double *mass
    cdef const double *source_exposure
    cdef const int32_t *base
    cdef const double *log_base     # (n, n_bases)
    cdef const int64_t *order       # (n,)
    cdef int32_t *label             # (n,) slots; -1 before the first
    cdef double *log_rate           # (K,) log(E + u)
    cdef double *log_source_rate    # (S,)
    cdef double *log_new            # (n_bases,) log weight of a brand new particle
    cdef int64_t *owner             # (capacity,) inherited particle, or name; -1 is free
    cdef int64_t *rows              # (capacity,)
    cdef int32_t *source            # (capacity,) of new particles
    cdef double *log_weight         # (capacity,)
    cdef double *density            # (capacity,) scratch
    cdef RandomStream stream

    def __init__(
        self, Emission emission, const double[::1] m, const double[::1] exposure,
        const double[::1] survival, const double[::1] mass,
        const double[::1] source_exposure, const int32_t[::1] base, bint counts,
        bint uncollapsed, int32_t max_slots, seed, int64_t phase, int32_t chain,
    ):
        cdef int64_t[::1] order
        cdef const double[:, ::1] log_base
        cdef double[:, ::1] rates
        cdef int32_t[::1] label
        self.emission, self.source_ = emission, CounterSource(seed)
        self.n, self.phase, self.chain = emission.n_rows, phase, chain
        self.K, self.S = <int32_t> m.shape[0], <int32_t> mass.shape[0]
        self.n_bases = 1 + max(np.asarray(base))
        self.counts, self.uncollapsed = counts, uncollapsed
        self.max_slots = max(max_slots, self.K)
        self.next_name, self.u = self.K, 0.0
        log_base = emission.log_under(self.K)
        order, rates = np.arange(self.n), np.zeros((2, max(self.K, self.S) + 1))
        label = np.full(self.n, -1, dtype=np.int32)
        cdef double[::1] log_new = np.zeros(self.n_bases)
        self.store = {
            "m": m, "exposure": exposure, "survival": survival, "mass": mass,
            "source_exposure": source_exposure, "base": base, "log_base": log_base,
            "order": order, "rates": rates, "label": label, "log_new": log_new,
        }
        if self.K:
            self.m, self.exposure, self.survival = &m[0], &exposure[0], &survival[0]
        self.mass, self.source_exposure, self.base = (
            &mass[0], &source_exposure[0], &base[0]
        )
        self.log_rate, self.log_source_rate = &rates[0, 0], &rates[1, 0]
        self.log_new = &log_new[0]
        if self.n:
            self.log_base, self.order, self.label = (
                &log_base[0, 0], &order[0], &label[0]
            )
        self.grow(self.K + 16)
        self.begin(order)

    cdef void begin(self, int64_t[::1] order):
        """Rows in random order; inherited particles in the first slots, without rows."""
        cdef int64_t i, j, t
        cdef int32_t k
        self.stream = self.source_.open(self.phase, self.chain * MOST_SWEEPS, ORDER)
        for i in range(self.n - 1, 0, -1):
            j = <int64_t> (self.stream.uniform(&self.stream) * (i + 1))
            t = order[i]
            order[i] = order[j]
            order[j] = t
        for k in range(self.K):
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

    cdef void reweigh(self) noexcept nogil:
        """All log weights, after u has changed."""
        cdef int32_t k, s
        for k in range(self.K):
            self.log_rate[k] = 0.0 if self.counts else log(self.exposure[k] + self.u)
        for k in range(self.n_bases):
            self.log_new[k] = 0.0
        for s in range(self.S):
            if self.counts:
                self.log_source_rate[s] = 0.0
                self.log_new[self.base[s]] += self.mass[s]
            else:
                self.log_new[self.base[s]] += self.mass[s] / (
                    self.source_exposure[s] + self.u
                )
        if not self.counts:
            for s in range(self.S):
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

    # ------------------------------------------------------------ labels
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

    cdef void found(self, int32_t slot, int64_t row) noexcept nogil:
        """Let a slot be a brand new particle, of a source drawn for a row."""
        cdef double best = -INFINITY, total = 0.0, at
        cdef int32_t s, pick = self.S - 1
        for s in range(self.n_bases):
            best = max(best, self.log_base[row * self.n_bases + s])
        for s in range(self.S):
            total += self.mass[s] * exp(
                self.log_base[row * self.n_bases + self.base[s]] - best
                - self.log_source_rate[s]
            )
        at = total * self.stream.uniform(&self.stream)
        total = 0.0
        for s in range(self.S):
            total += self.mass[s] * exp(
                self.log_base[row * self.n_bases + self.base[s]] - best
                - self.log_source_rate[s]
            )
            if at < total:
                pick = s
                break
        self.take(slot, self.next_name, pick)
        self.next_name += 1

    cdef void take(self, int32_t slot, int64_t name, int32_t source) noexcept nogil:
        """Let a slot that is free have an owner and no rows."""
        self.owner[slot], self.source[slot], self.rows[slot] = name, source, 0
        self.n_live += 1
        self.top = max(self.top, slot + 1)
        self.emission.clear(
            slot, <int32_t> name if name < self.K else self.K + self.base[source]
        )

    cdef int redraw(self, int64_t row) noexcept nogil:
        """Redraw the label of a row; -1, and nothing done, if there is no room."""
        cdef int32_t old = self.label[row], k, top = self.top, slot = self.free_slot()
        cdef double *p = self.density
        cdef double best, total = 0.0, at, log_new = -INFINITY, own = 0.0, t
        cdef bint alone = False, may_found = self.n_live < self.max_slots
        if slot < 0 and may_found:
            return -1
        self.emission.log_densities(row, top, p)
        if old >= 0:
            alone = self.rows[old] == 1
            if alone or not self.uncollapsed:
                p[old] = self.emission.without(old, row)
            own = self.log_weight[old]
            self.log_weight[old] = self.weigh(old, self.rows[old] - 1)
        if may_found:
            log_new = self.log_new[0] + self.log_base[row * self.n_bases]
            for k in range(1, self.n_bases):
                t = self.log_new[k] + self.log_base[row * self.n_bases + k]
                log_new = max(log_new, t) + log1p(exp(-abs_of(log_new - t)))
        else:
            self.was_full = True
        best = log_new
        for k in range(top):
            p[k] += self.log_weight[k]
            if p[k] > best:
                best = p[k]
        for k in range(top):
            t = p[k] - best
            if t > -NEGLIGIBLE:
                total += exp(t)
            p[k] = total
        t = log_new - best
        at = self.stream.uniform(&self.stream) * (
            total + (exp(t) if t > -NEGLIGIBLE else 0.0)
        )
        k = 0
        while k < top and not at < p[k]:
            k += 1
        if k == top and not t > -NEGLIGIBLE:        # rounding alone
            k = top - 1
            while k and not p[k] > p[k - 1]:
                k -= 1
        if old >= 0:
            if k == old and not (alone and self.uncollapsed):
                self.log_weight[old] = own
                return 0
            self.leave(row, old)
        if k == top:
            k = self.free_slot()
            self.found(k, row)
        self.enter(row, k)
        return 0

    cdef int64_t redraw_from(self, int64_t first, bint bootstrapping) noexcept nogil:
        """Redraw labels, from the row at a place on; where it stopped for want of room."""
        cdef int64_t i
        cdef double total
        for i in range(first, self.n):
            if bootstrapping:
                self.reweigh()
                total = self.total_weight()
            if self.redraw(self.order[i]) < 0:
                return i
            if bootstrapping and not self.counts:
                self.u = (i + 1.0) / total
        return self.n

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
        self.reweigh()
        for i in range(self.n):
            self.enter(i, slots[i])

    def labels_once(self, int32_t sweep, bint bootstrapping):
        """Redraw all labels; in the first pass of a phase u grows with the rows."""
        cdef int64_t i = 0
        self.stream = self.source_.open(
            self.phase, self.chain * MOST_SWEEPS + sweep, LABELS
        )
        with nogil:
            self.reweigh()
        while i < self.n:
            with nogil:
                i = self.redraw_from(i, bootstrapping)
            if i < self.n:
                self.grow(2 * self.emission.capacity)
        with nogil:
            self.reweigh()

    # ------------------------------------------------------------ the rest of a sweep
    cdef void draw_locations(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.top):
            if self.owner[k] >= 0 and self.rows[k]:
                self.emission.instantiate(k, &self.stream)

    cdef void draw_u(self) noexcept nogil:
        """u ~ Gamma(n, rate G), G drawn given the labels."""
        cdef RandomStream *s = &self.stream
        cdef double total = 0.0
        cdef int64_t k, r
        cdef int32_t slot, c
        for slot in range(self.top):
            k, r = self.owner[slot], self.rows[slot]
            if k < 0:
                continue
            if k >= self.K:
                total += gamma(
                    s, r, 1.0 / (self.source_exposure[self.source[slot]] + self.u)
                )
            elif r or s.uniform(s) < exp(self.log_alive(<int32_t> k)):
                total += gamma(s, self.m[k] + r, 1.0 / (self.exposure[k] + self.u))
        for c in range(self.S):
            total += gamma(s, self.mass[c], 1.0 / (self.source_exposure[c] + self.u))
        self.u = max(gamma(s, self.n, 1.0) / total, 1e-300)
        self.reweigh()

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
                t = log(self.mass[s]) - r * self.log_source_rate[s] + evidence
                if pass_ == 0:
                    best = max(best, t)
                else:
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

    cdef void redraw_sources(self) noexcept nogil:
        """Sources of all new particles, given their rows."""
        cdef int32_t slot, s
        for slot in range(self.top):
            if self.owner[slot] >= self.K:
                s = self.draw_source(slot)
                if self.base[s] != self.base[self.source[slot]]:
                    self.give(slot, self.owner[slot], s)
                self.source[slot] = s
                self.log_weight[slot] = self.weigh(slot, self.rows[slot])

    cdef double log_odds(self, int32_t k, int32_t slot) noexcept nogil:
        """Log odds that the rows of a slot are of the inherited k, not of a new one."""
        cdef int64_t r = self.rows[slot]
        cdef double q = self.survival[k], t
        t = log(q) + lgamma(self.m[k] + r) - lgamma(self.m[k]) - lgamma(r)
        t += self.emission.log_marginal(slot, k) - self.log_source_sum(slot, r)
        if self.counts:
            return t
        t += self.m[k] * log(self.exposure[k]) - (self.m[k] + r) * self.log_rate[k]
        return t - log(
            1.0 - q
            + q * exp(self.m[k] * (log(self.exposure[k]) - self.log_rate[k]))
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

    cdef void move_identities(self) noexcept nogil:
        """Propose, once for each inherited particle, that its rows be another's."""
        cdef int32_t k, slot, other, n_new, pick
        cdef double u
        for k in range(self.K):
            n_new = 0
            for other in range(self.top):
                n_new += self.owner[other] >= self.K
            slot = self.slot_of(k)
            if self.rows[slot] == 0:
                if n_new == 0:
                    continue
                self.n_proposed += 1
                pick = <int32_t> (self.stream.uniform(&self.stream) * n_new)
                for other in range(self.top):
                    if self.owner[other] >= self.K:
                        if pick == 0:
                            break
                        pick -= 1
                u = self.stream.uniform(&self.stream)
                if log(u) < log(n_new) + self.log_odds(k, other):
                    self.n_accepted += 1
                    self.owner[slot], self.log_weight[slot] = -1, -INFINITY
                    self.n_live -= 1
                    self.give(other, k, 0)
            else:
                other = self.free_slot()
                if other < 0 or self.n_live >= self.max_slots:
                    continue
                self.n_proposed += 1
                u = self.stream.uniform(&self.stream)
                if log(u) < -self.log_odds(k, slot) - log(n_new + 1.0):
                    self.n_accepted += 1
                    self.give(slot, self.next_name, self.draw_source(slot))
                    self.next_name += 1
                    self.take(other, k, 0)
                    self.emission.refresh(other)
                    self.log_weight[other] = self.weigh(other, 0)

    def rest_of_sweep(self, int32_t sweep, bint with_identities):
        """Locations, u twice, sources, then identities, where they are wanted."""
        self.stream = self.source_.open(
            self.phase, self.chain * MOST_SWEEPS + sweep, REST
        )
        if self.emission.capacity < self.n_live + self.K + 2:
            self.grow(self.n_live + self.K + 2)
        with nogil:
            if self.uncollapsed:
                self.draw_locations()
            if not self.counts:
                self.draw_u()
                self.draw_u()
            self.redraw_sources()
            if with_identities:
                self.move_identities()
            self.compact()

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
                    total += log1p(q * (exp(self.m[k] * (
                        log(self.exposure[k]) - self.log_rate[k]
                    )) - 1.0))
        return total


cdef inline double abs_of(double x) noexcept nogil:
    return x if x > 0.0 else -x


def voted(const int64_t[:, ::1] kept):
    """Most frequent value of each column, ties to the lower one, and its share.

    Parameters
    ----------
    kept : ndarray of int64 of shape (n_kept, n)

    Returns
    -------
    winner : ndarray of int64 of shape (n,)
    share : ndarray of shape (n,)
    """
    cdef int64_t n = kept.shape[1], n_kept = kept.shape[0], i, a, b, votes, best, value
    winners, shares = np.empty(n, dtype=np.int64), np.empty(n)
    cdef int64_t[::1] winner = winners
    cdef double[::1] share = shares
    with nogil:
        for i in range(n):
            best = -1
            winner[i] = kept[0, i]
            for a in range(n_kept):
                value = kept[a, i]
                if a and value == winner[i]:
                    continue
                votes = 0
                for b in range(n_kept):
                    votes += kept[b, i] == value
                if votes > best or (votes == best and value < winner[i]):
                    best = votes
                    winner[i] = value
                if 2 * best > n_kept:
                    break
            share[i] = best / <double> n_kept
    return winners, shares
