"""Alias tables: draws from n weights in constant time (Walker 1977, Vose 1991).

Slot i is `alias[i]` where a coin of 32 bits is at least `threshold[i]`, else i itself;
a slot whose own share is all of it is its own alias. The chance of i is that of its
weight to 2^-32.
"""
from libc.stdint cimport int32_t, uint32_t

# a table of n weights >= 0 that are not all 0; `order` and `share` are scratch of n
cdef void alias_build(const float *weight, int32_t n, uint32_t *threshold, int32_t *alias, int32_t *order, double *share) noexcept nogil


cdef inline int32_t alias_pick(const uint32_t *threshold, const int32_t *alias, int32_t n, double slot, double coin) noexcept nogil:
    """Draw by two uniforms."""
    cdef int32_t i = <int32_t> (slot * n)
    if i >= n:
        i = n - 1
    return i if coin * 4294967296.0 < threshold[i] else alias[i]
