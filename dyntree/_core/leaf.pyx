"""LeafModel: what every leaf model has in common."""
from libc.math cimport NAN


cdef class LeafModel:
    """Bookkeeping shared by the leaf models; a subclass adds the mathematics."""

    cdef void build(self, Leaf *leaf, ActivePool d) noexcept nogil:
        cdef int k
        self.family.clear(leaf.active)
        for k in range(leaf.n_rows):
            self.family.add(
                leaf.active, d.x(leaf.rows[k]), d.y(leaf.rows[k]), 1.0
            )
        self.refresh(leaf)

    cdef void refresh(self, Leaf *leaf) noexcept nogil:
        leaf.derived[0] = 0.0

    cdef void insert(self, Leaf *leaf, ActivePool d, slot_t s) noexcept nogil:
        self.family.add(leaf.active, d.x(s), d.y(s), 1.0)
        self.refresh(leaf)

    cdef void retire(
        self, Leaf *leaf, ActivePool d, slot_t s, double forget
    ) noexcept nogil:
        if leaf.n_rows:
            self.family.remove(leaf.active, d.x(s), d.y(s))
        else:
            self.family.clear(leaf.active)
        self.family.scale(leaf.retired, forget)
        self.family.add(leaf.retired, d.x(s), d.y(s), 1.0)
        self.refresh(leaf)

    cdef void inherit(self, Leaf *child, const Leaf *parent) noexcept nogil:
        """Share in proportion to the active rows (CRAN; Anagnostopoulos 2013, 3.2)."""
        cdef double weight = 0.0, total = parent.retired[0], factor
        cdef int k
        if total > 0.0:
            weight = (child.n_rows / <double> parent.n_rows) * total
        if not weight > 0.0:
            self.family.clear(child.retired)
            return
        factor = weight / total
        for k in range(self.family.stride):
            child.retired[k] = factor * parent.retired[k]
        child.retired[0] = weight

    cdef void pool(
        self, Leaf *into, Leaf **leaves, int n, ActivePool d
    ) noexcept nogil:
        cdef int k
        self.family.clear(into.active)
        self.family.clear(into.retired)
        for k in range(n):
            self.family.merge(into.active, leaves[k].active)
            self.family.merge(into.retired, leaves[k].retired)
        self.refresh(into)

    cdef double density(self, Leaf *leaf, double *x, double y) noexcept nogil:
        return 1.0

    cdef void predict(
        self, const Leaf *leaf, const double *x, double *out
    ) noexcept nogil:
        out[0] = out[1] = out[2] = NAN

    cdef void round_row(self, const Leaf *leaf, double *x) noexcept nogil:
        pass

    cdef double probability(self, const Leaf *leaf, int k) noexcept nogil:
        return NAN

    cdef double sum_squares(self, const Leaf *leaf) noexcept nogil:
        return NAN

    cdef double df(self, const Leaf *leaf) noexcept nogil:
        return NAN

    cdef double spread(self, const Leaf *leaf) noexcept nogil:
        return NAN

    cdef const double *centre(self, const Leaf *leaf) noexcept nogil:
        return NULL

    cdef const double *inverse(self, const Leaf *leaf) noexcept nogil:
        return NULL

    cdef const double *slopes(self, const Leaf *leaf) noexcept nogil:
        return NULL
