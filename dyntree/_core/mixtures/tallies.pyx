"""Sums over rows in whole numbers: the same bits in any order of the rows."""
from libc.math cimport llrint
from libc.stdint cimport int64_t

from dyntree._core.mixtures.scores cimport FULL, LINEAR, NORM, SQUARES


cdef int moments_width(int layout, int d) noexcept nogil:
    cdef int width = 1 + d
    if layout == NORM:
        width += 1
    elif layout == SQUARES:
        width += d
    elif layout == FULL:
        width += d * (d + 1) // 2
    return width


cdef void tally(
    int64_t *sums, const float *x, double c, int d, int layout, const Units *units
) noexcept nogil:
    cdef double first = c * units.first, second = c * units.second, total = 0.0
    cdef int j, i
    cdef int64_t *squares = sums + 1 + d
    sums[0] += llrint(c * units.weight)
    for j in range(d):
        sums[1 + j] += llrint(first * x[j])
    if layout == SQUARES:
        for j in range(d):
            squares[j] += llrint(second * (<double> x[j] * x[j]))
    elif layout == NORM:
        for j in range(d):
            total += <double> x[j] * x[j]
        squares[0] += llrint(second * total)
    elif layout == FULL:
        for i in range(d):
            for j in range(i + 1):
                squares[j] += llrint(second * (<double> x[i] * x[j]))
            squares += i + 1


def width_of(int layout, int d):
    """Numbers that a component's sums have."""
    return moments_width(layout, d)
