"""Cuts of a leaf, and their odds against leaving it whole.

Evidences wait until enough of them are asked for to be found side by side.
"""
cimport cython
from libc.stdint cimport int32_t

from dyntree._core.lanes cimport LANES
from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.leaf cimport LeafModel
from dyntree._core.trees.pool cimport ActivePool
from dyntree._core.trees.nodes cimport Cut, Entry, Leaf

cdef enum:
    N_CUTS = 256            # most cuts of a column that one pass over the rows rates

@cython.final
cdef class EvidenceBatch:
    cdef LeafModel model
    cdef int stride
    cdef int n                          # how many wait
    cdef double *sums                   # (LANES, stride)
    cdef double *into[LANES]
    cdef double[LANES] sign

    # where the next sums go; the last ones asked about stay as they are until `ask`
    cdef inline double *place(self) noexcept nogil:
        return self.sums + self.n * self.stride

    # into += sign times the log evidence of the sums at `place`, at the latest by `flush`
    cdef inline void ask(self, double *into, double sign) noexcept nogil:
        self.into[self.n] = into
        self.sign[self.n] = sign
        self.n += 1
        if self.n == LANES:
            self.flush()

    cdef void flush(self) noexcept nogil

@cython.final
cdef class SplitSearch:
    cdef Arena arena
    cdef LeafModel model
    cdef ActivePool pool
    cdef EvidenceBatch batch
    cdef int32_t min_leaf
    cdef int32_t stride
    cdef double *sums                   # (n_sums, stride) sums below cuts, and others
    cdef int32_t n_sums                 # four more than the cuts of a pass at most
    cdef double *missing                # those of the rows without a value
    cdef int32_t[N_CUTS + 2] n_below    # rows in each of the sums
    cdef int32_t n_missing
    cdef double *left                   # (stride,) of a cut's children
    cdef double *right
    cdef int32_t *parts                 # (n_seats,) between which cuts a row lies
    cdef int32_t n_seats

    cdef int expect(self, int32_t n_cuts) except -1
    cdef int reserve(self) except -1
    cdef size_t nbytes(self) noexcept
    # sums below n <= N_CUTS sorted cuts of one column, of leaves that hold these rows
    cdef void sum_below(self, const Leaf *leaf, Cut *cuts, int32_t n) noexcept nogil
    cdef bint alike(self, const Cut *cut, const Cut *other) noexcept nogil
    cdef void ask(self, const Leaf *leaf, Cut *cut, const double *child) noexcept nogil
    cdef void rate(self, Entry *entries, const Leaf *first, Cut *cuts, int32_t n) noexcept nogil
