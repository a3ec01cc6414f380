"""InheritingLeaves: what leaves of the native rules do with the rows they retire."""
from libc.math cimport NAN, isnan

cimport cython

from dyntree._core.trees.nodes cimport EVIDENCE, WEIGHT, retired_weight
from dyntree._core.trees.pool cimport ActivePool

cdef double HANDED_ON = 1.0         # most weight to inherit, per active row


cdef class InheritingLeaves(LeafModel):
    """The bookkeeping of retired and inherited sums; a subclass adds the evidence."""

    cdef inline double *inherited(self, const Leaf *leaf) noexcept nogil:
        """Sums of the retired rows that the leaf got from its parent."""
        return leaf.derived + self.inherited_at

    cdef double share(self, const Leaf *parent, double mass) noexcept nogil:
        """Factor on the parent's retired sums for a child whose active rows weigh that."""
        return min(
            mass / parent.active[WEIGHT], HANDED_ON * mass / retired_weight(parent)
        )

    cdef void tell_evidence(self, Leaf *leaf, double whole) noexcept nogil:
        cdef double *d = leaf.derived
        d[EVIDENCE] = whole
        if isnan(d[INHERITED]):
            d[INHERITED] = self.log_evidence_of(self.inherited(leaf))
        d[EVIDENCE] -= d[INHERITED]
        d[ACTIVE] = NAN if retired_weight(leaf) > 0.0 else d[EVIDENCE]

    cdef double log_evidence_of(self, const double *sums) noexcept nogil:
        cdef double found
        self.log_evidences(sums, 1, &found)
        return found

    cdef void inherit(
        self, Leaf *child, const Leaf *parent, ActivePool d
    ) noexcept nogil:
        cdef double *inherited = self.inherited(child)
        cdef double factor
        cdef int k
        if not retired_weight(parent) > 0.0:
            self.release(child)
            return
        factor = self.share(parent, self.mass(child, d))
        for k in range(self.family.stride):
            child.retired[k] = inherited[k] = factor * parent.retired[k]
        child.derived[RETIRED] = child.derived[INHERITED] = NAN

    cdef void release(self, Leaf *child) noexcept nogil:
        self.family.clear(child.retired)
        self.family.clear(self.inherited(child))
        child.derived[RETIRED] = child.derived[INHERITED] = 0.0

    cdef void after_retiring(self, Leaf *leaf, bint faded) noexcept nogil:
        leaf.derived[ACTIVE] = leaf.derived[RETIRED] = NAN
        if faded:
            self.refresh(leaf)

    cdef void fade(self, Leaf *leaf, double factor) noexcept nogil:
        if factor == 1.0:
            return
        self.family.scale(leaf.retired, factor)
        self.family.scale(self.inherited(leaf), factor)
        leaf.derived[INHERITED] = NAN

    cdef void pool(
        self, Leaf *into, Leaf **leaves, int n, ActivePool d
    ) noexcept nogil:
        cdef int k
        self.family.clear(self.inherited(into))
        for k in range(n):
            self.family.merge(self.inherited(into), self.inherited(leaves[k]))
        into.derived[RETIRED] = into.derived[INHERITED] = NAN
        LeafModel.pool(self, into, leaves, n, d)

    cdef double pool_sums(
        self, Leaf **leaves, int n, double *total, double *inherited
    ) noexcept nogil:
        cdef double weight = LeafModel.pool_sums(self, leaves, n, total, inherited)
        cdef int k
        for k in range(n):
            if self.inherited(leaves[k])[0] > 0.0:
                if not inherited[0] > 0.0:
                    self.family.clear(inherited)
                self.family.merge(inherited, self.inherited(leaves[k]))
        if inherited[0] > 0.0 and weight > self.max_retired:
            self.family.scale(inherited, self.max_retired / weight)
        return weight

    cdef void refresh_all(self, Leaf *leaf) noexcept nogil:
        leaf.derived[RETIRED] = leaf.derived[INHERITED] = NAN
        self.refresh(leaf)

    cdef double active_evidence(self, Leaf *leaf) noexcept nogil:
        if isnan(leaf.derived[ACTIVE]):
            leaf.derived[ACTIVE] = self.log_evidence_of(leaf.active)
        return leaf.derived[ACTIVE]

    cdef void child_share(
        self, double mass, const Leaf *parent, double *out
    ) noexcept nogil:
        cdef double factor = self.share(parent, mass)
        cdef int k
        for k in range(self.family.stride):
            out[k] = factor * parent.retired[k]

    cdef double conditional_evidence(self, Leaf *leaf) noexcept nogil:
        cdef double *d = leaf.derived
        if isnan(d[RETIRED]):
            d[RETIRED] = self.log_evidence_of(leaf.retired)
        return d[EVIDENCE] + d[INHERITED] - d[RETIRED]

    cdef double size(self, const Leaf *leaf) noexcept nogil:
        return leaf.n_rows + retired_weight(leaf)
