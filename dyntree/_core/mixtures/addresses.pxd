"""Addresses of contiguous arrays in a dict of them; NULL where one is None or empty.

Whoever takes an address keeps the dict, and with it the array, alive.
"""
from libc.stdint cimport int32_t, int64_t

cdef double *doubles(dict arrays, str name) except? NULL      # float64
cdef int32_t *ints(dict arrays, str name) except? NULL        # int32
cdef int64_t *longs(dict arrays, str name) except? NULL       # int64
