"""Class leaves of the native rules."""
cimport cython
from libc.math cimport NAN, isnan, log

from dyntree._core.family cimport Counts
from dyntree._core.rmath cimport log_gamma
from dyntree._core.trees.nodes cimport EVIDENCE, log_evidence, retired_weight


@cython.final
cdef class NativeMultinomial(LeafModel):
    """Class leaves under a Dirichlet prior of total mass `mass`, spread evenly.

    Log evidence of counts c with total n: lnG(M) - lnG(M + n)
    + sum_k [lnG(c_k + M/C) - lnG(M/C)].
    """

    def __init__(self, int n_classes, double mass):
        cdef int k
        self.family = Counts(n_classes)
        self.n_classes = n_classes
        self.mass = mass
        self.share = mass / n_classes
        self.n_derived = 2
        self.retires = self.subtracts = True
        self.logs = True
        for k in range(N_TABLE):
            self.mass_gammas[k] = log_gamma(mass + k)
            self.share_gammas[k] = log_gamma(self.share + k)

    cdef double log_gamma_mass(self, double n) noexcept nogil:
        """log Gamma(M + n), looked up for small whole n."""
        if n < N_TABLE and n == <int> n:
            return self.mass_gammas[<int> n]
        return log_gamma(self.mass + n)

    cdef double log_gamma_share(self, double n) noexcept nogil:
        """log Gamma(M / C + n), looked up for small whole n."""
        if n < N_TABLE and n == <int> n:
            return self.share_gammas[<int> n]
        return log_gamma(self.share + n)

    cdef double evidence(
        self, const double *active, const double *retired
    ) noexcept nogil:
        cdef double n = active[0], total, c
        cdef int k
        if retired != NULL:
            n += retired[0]
        total = self.mass_gammas[0] - self.log_gamma_mass(n)
        for k in range(1, self.n_classes + 1):
            c = active[k] + (retired[k] if retired != NULL else 0.0)
            if c > 0.0:
                total += self.log_gamma_share(c) - self.share_gammas[0]
        return total

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        leaf.derived[EVIDENCE] = self.evidence(leaf.active, leaf.retired)
        leaf.derived[ACTIVE] = NAN if retired_weight(leaf) > 0.0 else log_evidence(leaf)

    cdef void after_retiring(self, Leaf *leaf, bint faded) noexcept nogil:
        leaf.derived[ACTIVE] = NAN
        if faded:
            self.refresh(leaf)

    cdef void log_evidences(self, const double *sums, int n, double *out) noexcept nogil:
        cdef int k
        for k in range(n):
            out[k] = self.evidence(sums + k * self.family.stride, NULL)

    cdef double active_evidence(self, Leaf *leaf) noexcept nogil:
        if isnan(leaf.derived[ACTIVE]):
            leaf.derived[ACTIVE] = self.evidence(leaf.active, NULL)
        return leaf.derived[ACTIVE]

    cdef double size(self, const Leaf *leaf) noexcept nogil:
        return leaf.n_rows + retired_weight(leaf)

    cdef double density(
        self, Leaf *leaf, double *x, double y, double weight
    ) noexcept nogil:
        """Log probability of the label, or of as many equal ones together."""
        cdef int k = <int> y
        cdef double n = leaf.active[0] + retired_weight(leaf)
        cdef double c = leaf.active[1 + k] + leaf.retired[1 + k]
        if weight == 1.0:
            return log(self.probability(leaf, k))
        return (
            self.log_gamma_mass(n) - self.log_gamma_mass(n + weight)
            + self.log_gamma_share(c + weight) - self.log_gamma_share(c)
        )

    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil:
        return (
            leaf.active[1 + k] + leaf.retired[1 + k] + self.share
        ) / (self.mass + leaf.active[0] + retired_weight(leaf))
