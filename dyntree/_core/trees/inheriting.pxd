"""Leaves whose retired rows are part of the posterior, and whose children inherit them.

A split may release what its leaf has retired, and is then judged on active rows alone;
or its children inherit a share, which is part of their prior: the evidence of a leaf is
that of its rows given what it inherited.
"""
cimport cython

from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.nodes cimport Leaf

# Places in `derived`; EVIDENCE is that of all rows given the inherited ones.
cpdef enum:
    ACTIVE = 1              # of the active rows alone; NaN = not computed yet
    RETIRED = 2             # of the retired ones, those inherited among them; or NaN
    INHERITED = 3           # of the inherited ones; or NaN
    OWN = 4                 # where what belongs to the model begins

cdef class InheritingLeaves(LeafModel):
    cdef int inherited_at   # where in `derived` the inherited sums stand, a Family row
    @cython.final
    cdef double *inherited(self, const Leaf *leaf) noexcept nogil
    @cython.final
    cdef double share(self, const Leaf *parent, double mass) noexcept nogil
    # set EVIDENCE and ACTIVE by the log evidence of all rows
    @cython.final
    cdef void tell_evidence(self, Leaf *leaf, double whole) noexcept nogil
    # `log_evidences` of one row of sums
    cdef double log_evidence_of(self, const double *sums) noexcept nogil
