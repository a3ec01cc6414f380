"""Student's t for sums over many components: tail probability and log density.

A `Students` remembers, for each df it has met, the constant of the density and Taylor
series of the tail about the middles of cells of width 1/16, each filled when first
needed. What a cell holds depends on df and the cell alone, so a number depends neither
on what was asked before it nor on who shares the record; threads have one each.
"""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    CELLS_PER_UNIT = 16
    N_CELLS = 192           # up to |z| = 12; beyond it, and for df < 1, no series
    N_TERMS = 8

cdef struct Students:
    int32_t n               # distinct df
    int32_t room
    double *df              # (room,)
    double *constant        # (room,) rmath.t_constant
    int32_t *cells          # (room, N_CELLS) place in `series`, 0 = not filled
    int32_t n_slots         # a power of two
    int32_t *slots          # (n_slots,) hash table of df: 1 + its place, 0 = free
    int64_t n_series
    int64_t series_room
    double *series          # (series_room, N_TERMS)
    bint failed             # memory ran out; the numbers are right all the same

cdef void close_students(Students *s) noexcept nogil
# place of df, > 0 and finite or infinite; -1: no memory
cdef int32_t place_of(Students *s, double df) noexcept nogil
# P(T > z) of Student's t, any z; `constant` is t_constant(df)
cdef double tail(double z, double df, double constant) noexcept nogil
cdef double log_density(double z, double df, double constant) noexcept nogil
# 1 + where the series of a cell begins, filling it if need be; 0: no memory
cdef int64_t fill_cell(Students *s, int32_t k, int32_t cell) noexcept nogil

cdef inline int64_t cell_of(Students *s, int32_t k, double x) noexcept nogil:
    """Beginning in `series` of the cell of |z| = x / CELLS_PER_UNIT; -1: none."""
    cdef int32_t cell, place
    if not x < N_CELLS or s.df[k] < 1.0:
        return -1
    cell = <int32_t> x
    place = s.cells[k * <int64_t> N_CELLS + cell]
    return N_TERMS * <int64_t> (place if place else fill_cell(s, k, cell)) - N_TERMS

cdef inline double cell_tail(const double *a, double u) noexcept nogil:
    """The tail at distance u from the cell's middle: absolute error below 1e-13."""
    cdef double u2 = u * u
    return ((a[0] + a[1] * u) + (a[2] + a[3] * u) * u2) + (
        (a[4] + a[5] * u) + (a[6] + a[7] * u) * u2
    ) * (u2 * u2)

cdef inline double cell_density(const double *a, double u) noexcept nogil:
    """The density there: absolute error below 1e-10."""
    cdef double u2 = u * u
    return -((a[1] + 2.0 * a[2] * u) + (3.0 * a[3] + 4.0 * a[4] * u) * u2 + (
        (5.0 * a[5] + 6.0 * a[6] * u) + 7.0 * a[7] * u2
    ) * (u2 * u2))

cdef inline double cell_slope(const double *a, double u) noexcept nogil:
    """The density's derivative there, to three digits or more of its largest value."""
    return -((2.0 * a[2] + 6.0 * a[3] * u) + (12.0 * a[4] + 20.0 * a[5] * u) * (u * u))
