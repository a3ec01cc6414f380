"""EvidenceBatch: log evidences of sums, LANES at a time."""
cimport cython
from libc.stdlib cimport free

from dyntree._core.memory cimport resize


@cython.final
cdef class EvidenceBatch:
    """Questions about log evidence, answered in their order once LANES of them wait.

    Parameters
    ----------
    model : LeafModel
        Whose `judge` answers.
    """

    def __init__(self, LeafModel model):
        self.model = model
        self.stride = model.family.stride
        resize(<void **> &self.sums, LANES * self.stride, sizeof(double))

    def __dealloc__(self):
        free(self.sums)

    cdef void flush(self) noexcept nogil:
        """Answer what is still open."""
        cdef double[LANES] evidence
        cdef int k
        if self.n == 0:
            return
        self.model.judge(self.sums, self.n, evidence)
        for k in range(self.n):
            self.into[k][0] += self.sign[k] * evidence[k]
        self.n = 0
