"""Ties: how coarse a variable is, by how often its values are equal."""
from libc.math cimport fmax
from libc.stdlib cimport free, malloc, qsort

cdef double CHANCE = 1e-4   # share of pairs below which ties are accidents

cdef int by_size(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const double *> a)[0], y = (<const double *> b)[0]
    return (x > y) - (x < y)


cdef double hidden_in_weighted(
    double *values, const double *weights, int32_t n
) noexcept nogil:
    """`hidden_variance` of values that stand in `values` as if each stood w times."""
    cdef double mean = 0.0, variance = 0.0, pairs = 0.0, total = 0.0, alike = 0.0, equal
    cdef double *both = <double *> malloc(2 * <size_t> n * sizeof(double))
    cdef int32_t k
    if both == NULL:
        return -1.0
    for k in range(n):
        both[2 * k], both[2 * k + 1] = values[k], weights[k]
    qsort(both, n, 2 * sizeof(double), by_size)
    for k in range(n):
        total += both[2 * k + 1]
        mean += both[2 * k + 1] / total * (both[2 * k] - mean)
    for k in range(n):
        variance += both[2 * k + 1] * (both[2 * k] - mean) * (both[2 * k] - mean)
        alike += both[2 * k + 1]
        if k == n - 1 or both[2 * k + 2] != both[2 * k]:
            pairs += 0.5 * alike * fmax(alike - 1.0, 0.0)
            alike = 0.0
    if both[0] == both[2 * n - 2] or not total > 1.0:
        equal = -1.0
    else:
        equal = pairs / (0.5 * total * (total - 1.0))
    free(both)
    if equal < 0.0:
        return -1.0
    return equal * equal * variance / (total - 1.0) if equal > CHANCE else 0.0


cdef double hidden_variance(
    double *values, const double *weights, int32_t n
) noexcept nogil:
    cdef double mean = 0.0, variance = 0.0, pairs = 0.0, equal
    cdef int32_t k, run = 0
    if n < 2:
        return -1.0
    if weights != NULL:
        return hidden_in_weighted(values, weights, n)
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
