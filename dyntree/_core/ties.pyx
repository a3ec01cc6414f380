"""Ties: how coarse a variable is, by how often its values are equal."""
from libc.stdlib cimport qsort

cdef double CHANCE = 1e-4   # share of pairs below which ties are accidents

cdef int by_size(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const double *> a)[0], y = (<const double *> b)[0]
    return (x > y) - (x < y)


cdef double hidden_variance(double *values, int32_t n) noexcept nogil:
    cdef double mean = 0.0, variance = 0.0, pairs = 0.0, equal
    cdef int32_t k, run = 0
    if n < 2:
        return -1.0
    qsort(values, n, sizeof(double), by_size)
    if values[0] == values[n - 1]:
        return -1.0
    for k in range(n):
        mean += (values[k] - mean) / (k + 1)
    for k in range(n):
        variance += (values[k] - mean) * (values[k] - mean)
        run = run + 1 if k and values[k] == values[k - 1] else 0
        pairs += run
    equal = pairs / (0.5 * n * (n - 1.0))
    return equal * equal * variance / (n - 1.0) if equal > CHANCE else 0.0
