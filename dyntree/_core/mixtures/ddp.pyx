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
from libc.math cimport INFINITY, exp, lgamma, log, log1p
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.phase cimport LABELS, MOST_SWEEPS, NEGLIGIBLE, REST
from dyntree._core.mixtures.splits cimport SplitMerge
from dyntree._core.rng cimport RandomStream, gamma



@cython.final
cdef class PhaseSampler(SplitMerge):
    """Labels of the rows of one phase, by Gibbs sampling: parameters as of `Phase`."""

    # ------------------------------------------------------------ labels
    cdef void found(self, int32_t slot, int64_t row) noexcept nogil:
        """Let a slot be a brand new particle, of a source drawn for a row."""
        cdef const double *log_base = self.log_base + row * self.n_bases
        cdef double best = -INFINITY, total = 0.0, at = INFINITY
        cdef int32_t s, pass_, pick = self.S - 1
        for s in range(self.n_bases):
            best = max(best, log_base[s])
        for pass_ in range(2):
            if pass_:
                at = total * self.stream.uniform(&self.stream)
                total = 0.0
            for s in range(self.S):
                total += self.source_weight(s) * (
                    exp(log_base[self.base[s]] - best) if self.n_bases > 1 else 1.0
                )
                if at < total:
                    pick = s
                    break
        if not self.counts:
            self.log_source_rate[pick] = log(self.source_exposure[pick] + self.u)
        self.take(slot, self.next_name, pick)
        self.next_name += 1

    cdef double source_weight(self, int32_t s) noexcept nogil:
        """Expected mass of a source that was never seen."""
        if self.counts:
            return self.mass[s]
        return self.mass[s] / (self.source_exposure[s] + self.u)

    cdef int redraw(self, int64_t row) noexcept nogil:
        """Redraw the label of a row; -1, and nothing done, if there is no room."""
        cdef int32_t old = self.label[row], k, top = self.top, slot = self.free_slot()
        cdef double *p = self.density
        cdef double best, total = 0.0, at, log_new = -INFINITY, own = 0.0, t
        cdef bint alone = old >= 0 and self.rows[old] == 1
        # a new particle's only row frees its slot when it leaves
        cdef bint may_found = self.n_live < self.max_slots or (
            alone and self.owner[old] >= self.K
        )
        if slot < 0 and may_found:
            return -1
        self.emission.log_densities(row, top, p)
        if old >= 0:
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
        if not best > -INFINITY:            # no density anywhere: weights alone tell
            log_new = self.log_new[0] if may_found else -INFINITY
            best = log_new
            for k in range(top):
                p[k] = self.log_weight[k]
                best = max(best, p[k])
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
                self.reweigh(False)
                total = self.total_weight()
            if self.redraw(i) < 0:
                return i
            if bootstrapping and not self.counts:
                self.u = (i + 1.0) / total
        return self.n

    def labels_once(self, int32_t sweep, bint bootstrapping):
        """Redraw all labels; in the first pass of a phase u grows with the rows."""
        cdef int64_t i = 0
        self.stream = self.source_.open(
            self.phase, self.chain * MOST_SWEEPS + sweep, LABELS
        )
        with nogil:
            self.reweigh(True)
        while i < self.n:
            with nogil:
                i = self.redraw_from(i, bootstrapping)
            if i < self.n:
                self.grow(2 * self.emission.capacity)
        with nogil:
            self.reweigh(True)

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
        self.reweigh(True)

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
        return t - self.log_silent(k)

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


cdef inline double abs_of(double x) noexcept nogil:
    return x if x > 0.0 else -x


def voted(const int64_t[:, ::1] sweeps):
    """Most frequent value of each column, ties to the lower one, and its share.

    Parameters
    ----------
    sweeps : ndarray of int64 of shape (n_sweeps, n)

    Returns
    -------
    winner : ndarray of int64 of shape (n,)
    share : ndarray of shape (n,)
    """
    cdef int64_t n = sweeps.shape[1], n_sweeps = sweeps.shape[0]
    cdef int64_t i, a, b, votes, best, value
    winners, shares = np.empty(n, dtype=np.int64), np.empty(n)
    cdef int64_t[::1] winner = winners
    cdef double[::1] share = shares
    with nogil:
        for i in range(n):
            best = -1
            winner[i] = sweeps[0, i]
            for a in range(n_sweeps):
                value = sweeps[a, i]
                if a and value == winner[i]:
                    continue
                votes = 0
                for b in range(n_sweeps):
                    votes += sweeps[b, i] == value
                if votes > best or (votes == best and value < winner[i]):
                    best = votes
                    winner[i] = value
                if 2 * best > n_sweeps:
                    break
            share[i] = best / <double> n_sweeps
    return winners, shares
