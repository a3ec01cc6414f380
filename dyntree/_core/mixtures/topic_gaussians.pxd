"""Sums and posteriors of Gaussian parts, about the mean of the part."""
from libc.stdint cimport int64_t

from dyntree._core.mixtures.topic_parts cimport Prior, Side, Store, Work

# phibar of each item, phi (n, F), and the sums of the whole part
cdef void gather(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, double *phi) noexcept nogil
# theta, c and log_z of a side from its sums; -1 where its matrix is not positive
cdef int gaussian(Prior *p, Work *w, Side *side) noexcept nogil
