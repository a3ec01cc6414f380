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

cdef bint forked = False    # whether this process is a fork of another


cdef int thread_number() noexcept nogil:
    """Number of the calling thread in its team, from 0."""
    return dyntree_thread_number()


cdef int team(int n_threads) noexcept nogil:
    """How many threads to use of so many that are asked for.

    One in a forked process: the threads of its parent are not in it, and OpenMP would
    wait for them for ever.
    """
    return 1 if forked else n_threads


def has_openmp():
    """Whether this build can use more than one thread."""
    return bool(DYNTREE_OPENMP)


def after_fork():
    """Know that this process is a fork of another, and use one thread in it."""
    global forked
    forked = True
