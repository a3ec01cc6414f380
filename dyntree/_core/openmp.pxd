"""The one door to OpenMP: threads there are, and which of them is asking."""
cdef int thread_number() noexcept nogil
