"""Directions: clusters that hold the leading eigenvectors of their covariance.

Cluster k has the mean ``mean[k]`` (n_features,), ``cols[k]`` eigenvalues ``eig[k]`` of its
population covariance with orthonormal rows ``basis[k]``, of which the first ``dim[k]`` are
its subspace, and the rest are spare. The scatter is exact, and so is the trace of the
covariance with it. Exact clusters hold their whole scatter, too, as a lower triangle by
rows, and find eigenvectors anew when the weight has grown by a tenth.
"""
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.clusters cimport Clusters

cdef class Directions(Clusters):
    cdef:
        readonly bint exact
        readonly double variance        # of the noise
        double lambda_1                 # variance that a direction of a subspace exceeds
        int32_t most_dim, spare
        int32_t room                    # columns
        readonly int32_t most_room
        int32_t widest                  # of the columns in use
        double *mean
        double *eig
        double *gain                    # e / (e + variance), e = eig - variance or 0
        double *basis
        double *packed
        double *w_ref
        double *decay                   # by which `packed` is to be faded
        int32_t *dim
        int32_t *cols
        double *y                       # scratch: (n_features,)
        double *wide                    # (n_wide, n_features)
        double *small                   # (n_wide, n_wide)
        double *values                  # (n_wide,)
        double *coords                  # (n_wide,)
        double *work                    # (WORK * the larger of n_wide, n_features,)

    cdef int32_t dimension(self, const double *eig, int32_t n, double w) noexcept nogil
    cdef void settle_decay(self, int32_t k) noexcept nogil
    cdef void widen_column(self, int32_t k, int32_t j, double more) noexcept nogil
    cdef void set_gain(self, int32_t k) noexcept nogil
    cdef void unpack(self, int32_t k, double w) noexcept nogil
    cdef void refresh(self, int32_t k, double w) noexcept nogil
    cdef int32_t extend(self, int32_t m, double *v, double *coords) noexcept nogil
    cdef void rotate(self, int32_t k, int32_t m, double w) noexcept nogil
