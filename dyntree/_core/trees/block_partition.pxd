"""A block of points, parted again and again by the splits of many trees.

A cell of the partition is the list of the block's points in one region of the inputs.
Trees that split a region alike share how its cell is parted, so a list is parted once
per distinct way to do it.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.nodes cimport Node

cdef enum:
    BLOCK = 512             # most points of a block
    WHOLE = 1               # number of the cell that holds them all

cdef struct Cell:           # the block's points in a region of the inputs
    int32_t first           # of them in `points`
    int32_t n
    int32_t parting         # first known one, 0 = none

cdef struct Parting:        # of a cell by a split; trees that agree share it
    double value
    int32_t variable
    int32_t missing_left
    int32_t left            # cells, 0 = no points
    int32_t right
    int32_t following       # next parting of the same cell, 0 = none

cdef struct BlockPartition: # full of zeros it is a good empty one
    double *columns         # (n_features, BLOCK) the points
    int64_t n_listed
    int64_t list_room
    int32_t *points         # (list_room,) numbers of points, cell by cell
    int32_t n_cells         # cell 0 and parting 0 are none
    int32_t cell_room
    Cell *cells
    int32_t n_partings
    int32_t parting_room
    Parting *partings

cdef int open_block(BlockPartition *b, const double *rows, int32_t n, int32_t n_features) noexcept nogil
cdef void close_block(BlockPartition *b) noexcept nogil
# number of the cell's parting by this split, known or new; 0: no memory
cdef int32_t parting_by(BlockPartition *b, const Node *node, int32_t cell) noexcept nogil
