"""Passes over a block of points by way of the distinct nodes of all trees.

A node's region is fixed for life, so every tree that holds a node sends it the same
points: the first tree that reaches it in a block splits its list of them, the others
take over what is known below it. Sums still run over particles in their order.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.block_partition cimport BlockPartition
from dyntree._core.trees.particles cimport Particles
from dyntree._core.types cimport handle_t

cdef enum Kind:             # what a leaf tells about a point
    COMPONENTS = 0          # (particles that share it, location, scale, df, scale of the
                            # mean), not summed
    MOMENTS = 1             # m, m^2, df s^2 / (df - 2), df, m - s t(.95), m + s t(.95)
    CLASSES = 2             # probability of every class, then their entropy
    COEFFICIENTS = 3        # of its regression

cdef enum:
    COMPONENT_WIDTH = 5     # doubles of an entry
    MOMENT_WIDTH = 6

cdef struct Entries:        # what leaves say about points, in the order they were met
    int64_t n
    int64_t room
    double *values          # (room, width)
    int32_t *points         # (room,) numbers within the block
    handle_t *leaves        # (room,)
    int64_t *versions       # (room,) state of a row for which the entry holds


cdef struct Walk:           # one thread's way over the blocks
    Kind kind
    int32_t width           # doubles of an entry
    bint shared             # one entry a leaf, shared by all blocks
    double least_df         # in the variance of a response
    bint summed             # entries are summed, and found by tree and point
    Entries entries
    int64_t expected        # entries of the block before
    int64_t version         # the latest state of a row
    # the block
    int32_t n_points
    const double *rows      # (n_points, n_features)
    BlockPartition block    # its points, parted by the splits met
    char *rounded           # (size,) whether a leaf that the point meets rounds it
    # scratch
    double *row             # (2 n_features,)
    double *entry           # (width,)
    double *out             # of LeafModel.predict
    # what is known of leaves
    int64_t base            # marks below it are of earlier blocks
    int64_t *leaf_marks     # base + the first tree that met the leaf
    int32_t *leaf_entries   # (leaves,) 1 + the entry they share
    double *quantiles       # (leaves + N_QUANTILES,) of leaves and whole df, 0 = unknown
    # only where points go down the trees together; few rows go on their own
    int64_t *node_marks     # base + the first tree that met the split
    const int32_t *count    # (leaves,) particles that share a leaf
    int64_t stride          # of `ids`
    int32_t *ids            # (n_trees, stride) entry of a tree at a point, where summed

cdef inline double without_noise(double scale, double variance) noexcept nogil:
    """What is left of the scale of a response for its mean."""
    return sqrt(max(scale * scale - variance, 0.0))

# sums over particles, ndarray of shape (n_rows, width)
cdef object sums(Particles c, object rows, Kind kind, int width, int n_threads)
# distinct components of each row: (start, weight, location, scale, df,
# scale of the mean)
cdef object distinct_components(Particles c, object rows, int n_threads)
