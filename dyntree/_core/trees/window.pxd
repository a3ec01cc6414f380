"""Window: rows come in and rows go out, one by one, without a way back to Python."""
from libc.stdint cimport int64_t

from dyntree._core.trees.cloud cimport Cloud

# probabilities of the classes at x, averaged over particles
cdef int foresee(Cloud c, const double *x, double *proba) except -1
# learns a row that was checked; `proba` may be NULL
cdef int take(
    Cloud c, const double *x, double y, double w, double e, int64_t window, rule,
    double forget, int64_t every, double *proba, double *log_density,
) except -1
