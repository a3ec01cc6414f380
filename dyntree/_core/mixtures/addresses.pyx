"""Addresses of contiguous arrays in a dict of them."""
import numpy as np

from libc.stdint cimport int32_t, int64_t


cdef double *doubles(dict arrays, str name) except? NULL:
    """Address of an array of doubles; NULL where there is none."""
    array = arrays.get(name)
    if array is None or array.size == 0:
        return NULL
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous float64")
    cdef size_t address = array.ctypes.data
    return <double *> address


cdef int32_t *ints(dict arrays, str name) except? NULL:
    """Address of an array of int32."""
    array = arrays.get(name)
    if array is None or array.size == 0:
        return NULL
    if array.dtype != np.int32 or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous int32")
    cdef size_t address = array.ctypes.data
    return <int32_t *> address


cdef int64_t *longs(dict arrays, str name) except? NULL:
    """Address of an array of int64."""
    array = arrays.get(name)
    if array is None or array.size == 0:
        return NULL
    if array.dtype != np.int64 or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous int64")
    cdef size_t address = array.ctypes.data
    return <int64_t *> address
