"""Persistent trees: descend, and replace a subtree by copying the path to it.

A split's region is fixed for life. A root is a handle whose count its owner holds;
`replaced` edits the part of the path that nobody else owns and copies the rest.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.types cimport handle_t, slot_t

cdef struct Path:
    handle_t *nodes         # (capacity,) splits from the root down
    int32_t length

cdef handle_t descend(Arena a, handle_t root, const double *x, Path *path) noexcept nogil
cdef handle_t find_leaf(Arena a, handle_t root, const double *x) noexcept nogil
cdef handle_t replaced(
    Arena a, handle_t root, Path *path, int32_t length, handle_t old, handle_t fresh
) noexcept nogil
cdef int32_t gather(Arena a, handle_t h, Leaf **leaves) noexcept nogil
cdef int32_t count_nodes(Arena a, handle_t h) noexcept nogil
cdef int copy_leaf(Arena a, const Leaf *leaf, Leaf *into) noexcept nogil
cdef handle_t copy_subtree(Arena a, handle_t h) noexcept nogil
cdef void take_out(Leaf *leaf, int32_t k, bint in_order) noexcept nogil
cdef int32_t seat_of(const Leaf *leaf, slot_t s) noexcept nogil

# A walk over distinct parts goes on from one after the last of the ways to it:
# count n particles of one way in walk `now`; returns whether it was the last. The part's
# `entry` then is how many particles hold it.
cdef inline bint all_came(
    int64_t *stamp, int32_t *entry, int32_t *ways, int32_t refs, int64_t now, int32_t n
) noexcept nogil:
    if stamp[0] != now:
        stamp[0] = now
        entry[0] = 0
        ways[0] = refs
    entry[0] += n
    ways[0] -= 1
    return ways[0] == 0
