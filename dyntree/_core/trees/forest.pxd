"""Forest: what can be done to random trees, and what can be seen of them."""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.random_trees cimport RandomTree, RandomTrees, Room

cdef class Forest(RandomTrees):
    cdef int make_ready(self, int32_t n) except -1
    cdef double take(
        self, const double *x, double y, double w, Room *room, double *ahead,
        double *proba,
    ) except? -1.0
    cdef double log_mean(self, const double *ahead, int64_t stride) noexcept nogil
    cdef double together(
        self, const double *ahead, int64_t stride, double y, double *proba
    ) noexcept nogil
    cdef void write_laws(
        self, const RandomTree *t, int32_t n, int64_t now, const Room *room, double *out
    ) noexcept nogil
