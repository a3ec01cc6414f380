"""Student's t density and log gamma with the last bits of R 4.2.

Equal weights make the last bit of a density decide how many random numbers a step
draws, so a library's density, however accurate, is not good enough here.
"""
cdef double log_gamma_r(double x) noexcept nogil
cdef double log_gamma(double x) noexcept nogil                  # libm's, any bits
cdef double t_constant(double df) noexcept nogil                # what depends on df alone
cdef double t_density(double x, double df, double constant) noexcept nogil
