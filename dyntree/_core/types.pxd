"""Handles and seats: the numbers by which the rooms of the core know a node and a row."""
from libc.stdint cimport int32_t

ctypedef int32_t handle_t   # > 0: a split (Node), < 0: a Leaf, 0: nothing
ctypedef int32_t slot_t     # a row's seat in the ActivePool

cdef enum:
    NONE = 0
