"""Passes over a block of points by way of the distinct nodes of all trees.

A node's region is fixed for life, so every tree that holds a node sends it the same
points: the first tree that reaches it in a block splits its list of them, the others
take over what is known below it. Sums still run over particles in their order.
"""
from dyntree._core.trees.particles cimport Particles

cdef enum Kind:             # what a leaf tells about a point
    COMPONENTS = 0          # (particles that share it, location, scale, df, scale of the
                            # mean), not summed
    MOMENTS = 1             # m, m^2, df s^2 / (df - 2), df, m - s t(.95), m + s t(.95)
    CLASSES = 2             # probability of every class, then their entropy
    COEFFICIENTS = 3        # of its regression

cdef enum:
    COMPONENT_WIDTH = 5     # doubles of an entry
    MOMENT_WIDTH = 6

# sums over particles, ndarray of shape (n_rows, width)
cdef object sums(Particles c, object rows, Kind kind, int width, int n_threads)
# distinct components of each row: (start, weight, location, scale, df,
# scale of the mean)
cdef object distinct_components(Particles c, object rows, int n_threads)
