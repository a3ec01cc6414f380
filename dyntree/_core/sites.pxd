"""What a label or count says of log odds or a log rate with a normal law."""

cdef double sigmoid(double z) noexcept nogil

cdef double label_site(
    double e, double v, double sign, double times, double *m, double *u
) noexcept nogil

cdef double count_site(
    double e, double v, double y, double size, double offset, double times, double *m,
    double *u,
) noexcept nogil
