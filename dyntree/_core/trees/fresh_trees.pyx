"""FreshTrees: roots of trees that grow row by row until they know all active rows."""
from libc.stdlib cimport free

from dyntree._core.memory cimport resize


cdef class FreshTrees:
    """Trees that still learn the active rows and do not predict, and rows left to learn.

    Every active row of the cloud either waits or is in each of the trees. The
    cloud makes room for the roots, which it has as many of as of its own.
    """

    def __dealloc__(self):
        free(self.roots)
        free(self.waiting)

    cdef int reserve(self, int32_t n_rows) except -1:
        """Allocate room for this many waiting rows."""
        if n_rows > self.room:
            resize(<void **> &self.waiting, max(n_rows, 2 * self.room), sizeof(slot_t))
            self.room = max(n_rows, 2 * self.room)
        return 0

    cdef void wait(self, slot_t s) noexcept nogil:
        """Row s is one that the trees have yet to learn."""
        self.waiting[self.n_waiting] = s
        self.n_waiting += 1

    cdef void learned(self, int32_t k) noexcept nogil:
        """The row at place k waits no more; the last one takes its place."""
        self.n_waiting -= 1
        self.waiting[k] = self.waiting[self.n_waiting]

    cdef bint forget(self, slot_t s) noexcept nogil:
        cdef int32_t k
        for k in range(self.n_waiting):
            if self.waiting[k] == s:
                self.learned(k)
                return True
        return False

    cdef int64_t nbytes(self) noexcept:
        """Bytes of the list of rows."""
        return self.room * <int64_t> sizeof(slot_t)
