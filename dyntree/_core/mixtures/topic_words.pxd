"""First halves of a part of words."""
from libc.stdint cimport int64_t

from dyntree._core.mixtures.topic_parts cimport Prior, Store, Work

# r becomes 1 or 0 along the main axis of groups and words; -1 where one side is empty
cdef int begin_words(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, double *r) noexcept nogil
