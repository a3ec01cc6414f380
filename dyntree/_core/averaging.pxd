cdef void spread_row(
    const double *below, const double *weights, double *spread, Py_ssize_t m
) noexcept nogil
cdef double weigh_row(
    const double *log_densities, double discount, double tempering,
    double *log_weights, double *weights, Py_ssize_t m
) noexcept nogil
cdef double weigh_with_persistence(
    double *log_densities, double discount, double tempering, double *log_weights,
    double *weights, Py_ssize_t m, double *persistence, double y, double weight,
    double unit, bint divides, double share,
) noexcept nogil
