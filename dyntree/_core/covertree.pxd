"""Cover trees: balls within balls, over rows of float32 or float64.

A tree (Beygelzimer, Kakade and Langford 2006; simplified: Izbicki and Shelton 2015)
lies in flat arrays, its nodes in depth-first order. A node has a centre, which is a row;
its rows are one range of `order`: first its own, the centre among them, then those of its
children. All distances are Euclidean, in float64.
"""
from libc.stdint cimport int64_t

# distance of two rows of d numbers
ctypedef double (*distance_t)(const char *a, const char *b, int d) noexcept nogil

cdef class Rows:
    cdef:
        readonly object X       # ndarray of float32 or float64 of shape (n_rows, d)
        const char *at
        int64_t size            # bytes of a row
        int d
        distance_t distance
