"""The one door to OpenMP: threads there are, and which of them is asking."""
cdef int thread_number() noexcept nogil
# of so many threads that are asked for, how many there can be
cdef int team(int n_threads) noexcept nogil
