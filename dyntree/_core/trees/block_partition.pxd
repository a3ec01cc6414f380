"""A block of points, parted again and again by the splits of many trees.

A region of the inputs is the list of the block's points inside it. Trees that split a
region alike share the cut, so a list is split once per distinct way to split it.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.nodes cimport Node

cdef enum:
    BLOCK = 512             # most points of a block
    WHOLE = 1               # number of the region that holds them all

cdef struct Region:         # of the inputs, with the block's points inside
    int32_t first           # of them in `points`
    int32_t n
    int32_t cut             # first known cut, 0 = none

cdef struct Cut:            # how a split parts a region; trees that agree share it
    double value
    int32_t variable
    int32_t missing_left
    int32_t left            # regions, 0 = no points
    int32_t right
    int32_t following       # next cut of the same region, 0 = none

cdef struct Cuts:           # full of zeros it is a good empty one
    double *columns         # (n_features, BLOCK) the points
    int64_t n_listed
    int64_t list_room
    int32_t *points         # (list_room,) numbers of points, region by region
    int32_t n_regions       # region 0 and cut 0 are none
    int32_t region_room
    Region *regions
    int32_t n_cuts
    int32_t cut_room
    Cut *cuts

cdef int open_block(Cuts *c, const double *rows, int32_t n, int32_t n_features) noexcept nogil
cdef void close_cuts(Cuts *c) noexcept nogil
# the region's cut at this split, known or new; 0: no memory
cdef int32_t cut_by(Cuts *c, const Node *node, int32_t region) noexcept nogil
