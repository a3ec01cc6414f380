"""Scores: log weight plus log density of rows in components, in float32.

Rows are (n_rows, n_features), C order; what a row is multiplied with is its *features*:

=========  ==========================  =====================================
layout     features of x               families
=========  ==========================  =====================================
LINEAR     x                           Poisson, multinomial
NORM       (x, x'x)                    spherical, with or without one variance
SQUARES    (x, x.x)                    diagonal
FULL       W (x - mean), one product   full covariance, W'W its inverse
           a component
=========  ==========================  =====================================

Components that are sharp (see ``sharpness``) take differences from their means instead.
A score is ``constant[z] + <features(x), theta[z]>``; for FULL it is ``constant[z] -
|W_z (x - mean_z)|^2 / 2`` with theta[z] = W_z by rows.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum Layout:
    LINEAR = 0
    NORM = 1
    SQUARES = 2
    FULL = 3

cdef class Scores:
    cdef:
        readonly int layout
        readonly int n_components
        readonly int n_features
        readonly int width              # features of a row; n_features^2 for FULL
        readonly int padded             # n_components, rounded up to LANES
        readonly object arrays          # what the pointers point into
        const float *theta              # (n_components, width)
        const float *constant           # (n_components,)
        const float *origin             # (n_features,), zeros
        const float *mean               # (n_components, n_features); NULL if LINEAR
        float *shift                    # W_z mean_z, (n_components, n_features), FULL only
        # components too narrow for products in float32, which differences score
        readonly object sharp_ids       # ndarray of int32, ascending
        readonly int n_sharp
        const int32_t *sharp            # (n_sharp,)
        const uint8_t *is_sharp         # (n_components,)
        const float *peak               # scores at the means, (n_components,)

    # floats of scratch that n rows need
    cdef int64_t room(self, int n, int n_listed) noexcept nogil
    # all scores of n rows into out (n, padded); places past the components are very low
    cdef void all(self, const float *x, int n, float *scratch, float *out) noexcept nogil
    # scores of n rows in the k components of a list into out (n, k rounded up); the
    # origin is any point near the rows
    cdef void listed(self, const float *x, int n, const float *origin, const int32_t *ids, int k, float *scratch, float *out) noexcept nogil
    # one score of one row
    cdef double one(self, const float *x, int32_t z) noexcept nogil

    # the same for one component, by differences from its mean
    cdef void direct(self, const float *x, int n, int z, float *out, int stride) noexcept nogil
    cdef float at(self, const float *x, int32_t z) noexcept nogil

    # parts of the above, for FULL
    cdef void distances(self, const float *x, int n, const float *shift, int z, float *scratch) noexcept nogil
    cdef void listed_full(self, const float *x, int n, const float *origin, const int32_t *ids, int k, float *scratch, float *out) noexcept nogil
