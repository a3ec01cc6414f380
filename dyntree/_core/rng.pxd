"""Random sources and the samplers that stand on them.

A `RandomStream` is a value on the stack: a position and three atoms. Everything else
is built from the atoms, so a sampler works under any policy.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef struct RandomStream

ctypedef double (*atom_t)(RandomStream *s) noexcept nogil

cdef struct RandomStream:
    uint64_t key
    uint64_t time
    uint64_t counter        # particle, purpose and draws so far
    uint64_t spare          # the next draw, where one call gave two
    void *shared            # state that all streams of the source share, or NULL
    atom_t uniform          # U(0, 1), both ends excluded
    atom_t normal           # N(0, 1)
    atom_t exponential      # Exp(1)

cdef enum:
    N_WORDS = 624           # of the state of MT19937

cdef struct RState:         # one of R's generators and a count of its outputs
    uint32_t words[N_WORDS] # MRG32k3a has six
    int32_t position        # next word of MT19937 to give; N_WORDS: the block is used up
    int32_t kind            # a code of RNGkind()
    int64_t n_draws

cdef class RandomSource:
    cdef RandomStream open(self, int64_t time, int32_t particle, int purpose) noexcept nogil
    # the first uniform of the streams of n particles, in their order
    cdef void draw(self, int64_t time, int purpose, int32_t n, double *out) noexcept nogil

cdef enum Purpose:          # what a stream is for
    RESAMPLING = 0
    MOVING = 1
    ASKING = 2
    CHOOSING = 3
    PROPOSING = 4
    REWEIGHING = 5
    SKIPPING = 6
    LABELLING = 7
    SEARCHING = 8
    CUTTING = 9
    REGROWING = 10
    DELAYING = 11
    PARTING = 12

cdef class RSource(RandomSource):
    cdef RState state_

cdef class CounterSource(RandomSource):
    cdef uint64_t seed
    cdef uint64_t n_choices

cdef double uniform_between(RandomStream *s, double low, double high) noexcept nogil
cdef double gamma(RandomStream *s, double shape, double scale) noexcept nogil
cdef double student_t(RandomStream *s, double df) noexcept nogil
