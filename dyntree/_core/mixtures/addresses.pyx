"""Addresses of contiguous arrays in a dict of them."""
import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef size_t address(dict arrays, str name, dtype) except? 0:
    """Address of an array of that type; 0 where there is none."""
    array = arrays.get(name)
    if array is None or array.size == 0:
        return 0
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous {np.dtype(dtype)}")
    return array.ctypes.data


cdef double *doubles(dict arrays, str name) except? NULL:
    """Address of an array of doubles; NULL where there is none."""
    return <double *> address(arrays, name, np.float64)


cdef int32_t *ints(dict arrays, str name) except? NULL:
    """Address of an array of int32; NULL where there is none."""
    return <int32_t *> address(arrays, name, np.int32)


cdef int64_t *longs(dict arrays, str name) except? NULL:
    """Address of an array of int64; NULL where there is none."""
    return <int64_t *> address(arrays, name, np.int64)
