"""Evidences that wait until enough of them are asked for to be found side by side."""
cimport cython

from dyntree._core.lanes cimport LANES
from dyntree._core.trees.leaf cimport LeafModel

@cython.final
cdef class EvidenceBatch:
    cdef LeafModel model
    cdef int stride
    cdef int n                          # how many wait
    cdef double *sums                   # (LANES, stride)
    cdef double *into[LANES]
    cdef double[LANES] sign

    # where the next sums go; the last ones asked about stay as they are until `ask`
    cdef inline double *place(self) noexcept nogil:
        return self.sums + self.n * self.stride

    # into += sign times the log evidence of the sums at `place`, at the latest by `flush`
    cdef inline void ask(self, double *into, double sign) noexcept nogil:
        self.into[self.n] = into
        self.sign[self.n] = sign
        self.n += 1
        if self.n == LANES:
            self.flush()

    cdef void flush(self) noexcept nogil
