"""Student's t distribution of SciPy, where a cimport would tie a build to its SciPy.

SciPy 1.17 has renamed `stdtr` and `stdtrit` for Cython: one function became two, of
single and of double precision. So they are found by either name when this is imported.
"""


cdef double stdtr(double df, double t) noexcept nogil    # P(T <= t)
cdef double stdtrit(double df, double p) noexcept nogil  # its inverse, by t
