"""Lists of the components that a group of rows may belong to.

A list depends on the rows and on the parameters, never on labels: only then does a
restricted sweep leave the posterior of the labels as it is.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef struct Listing:                # what is asked of lists
    double loss                     # share of a group's posterior mass outside its list
    double row_loss                 # the same for each of its rows
    double explore                  # mass that is proposed outside of a list
    int most                        # longest list
    int steps                       # transitions a row and sweep

cdef struct Ranked:
    float share
    int32_t z

# place of z in an ascending list of k, or -1
cdef int place_in(const int32_t *ids, int k, int32_t z) noexcept nogil
# a list for a group, ascending, into ids; returns how long it is
cdef int choose_list(const Listing *ask, const float *share, double mass, const float *e, const double *total, int n_rows, int m, int stride, Ranked *ranked, int32_t *ids, uint8_t *mark) noexcept nogil
