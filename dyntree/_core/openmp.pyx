"""OpenMP, where the build has it; one thread otherwise."""

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define DYNTREE_OPENMP 1
    #define dyntree_thread_number() omp_get_thread_num()
    #else
    #define DYNTREE_OPENMP 0
    #define dyntree_thread_number() 0
    #endif
    """
    const int DYNTREE_OPENMP
    int dyntree_thread_number() nogil


cdef int thread_number() noexcept nogil:
    """Number of the calling thread in its team, from 0."""
    return dyntree_thread_number()


def has_openmp():
    """Whether this build can use more than one thread."""
    return bool(DYNTREE_OPENMP)
