"""Arrays that grow; one that cannot stays as it was."""
from libc.stdlib cimport realloc

# room for n items of a size at p[0]; -1: no memory
cdef inline int resized(void **p, size_t n, size_t size) noexcept nogil:
    cdef void *fresh = realloc(p[0], max(n * size, <size_t> 1))
    if fresh == NULL:
        return -1
    p[0] = fresh
    return 0

# the same; or MemoryError
cdef inline int resize(void **p, size_t n, size_t size) except -1:
    if resized(p, n, size) < 0:
        raise MemoryError()
    return 0
