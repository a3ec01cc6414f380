"""A part of a topic's items, and what one thread works in while it halves it.

Sums of each half are stored for the groups and words that the part touches, numbered in
the order in which they come.
"""
from libc.stdint cimport int32_t, int64_t

cdef struct Prior:
    int kind                    # 0 full, 1 diagonal, 2 words
    Py_ssize_t d, F, S, V
    const double *m0            # (d,)
    double kappa0, shape0, scale0   # shape0: nu0, or a0; scale0: rho of rho I; words: lambda
    double a, b, den            # of alpha
    double m_p, m_d, share
    const double *D             # (S,)
    bint hard
    int max_steps
    double log_z0


cdef struct Store:
    Py_ssize_t n_points
    const double *x
    const int32_t *group
    const int32_t *word
    const double *word_tally
    const double *count
    const double *mean
    const double *scatter
    const int64_t *indptr
    const int32_t *clump_group
    const double *tally
    const int64_t *word_indptr
    const int32_t *clump_word
    const double *clump_word_tally


cdef struct Side:
    double N, alpha, c, log_z
    double *S                   # (F,) sums about the centre: x, then packed products
    double *theta               # (F,)
    double *n                   # groups touched
    double *words               # words touched


cdef struct Work:
    int32_t *slot               # (S,) place among the groups touched, -1
    int32_t *groups             # (S,)
    int32_t *word_slot          # (V,)
    int32_t *words_touched      # (V,)
    int32_t *marks              # (S + V,) which halves touch each group, and word
    double *room                # see `room_for`
    double *dpsi                # (S + 4,)
    double *dword               # (V + 4,)
    double *rises               # (S,) shares of the counts of a half, where not 0
    double *times               # (S,) documents of these groups
    double *args                # (the larger of S and V, + 4,) scratch
    double *B                   # (d, d)
    double *L                   # (d, d) scratch, and scratch of eigen
    double *m                   # (d,)
    double *centre              # (d,)
    double *axis                # (d,)
    double *phi                 # (most items of a part, F)
    double *logits              # (most items of a part + 3,)
    Side parent, one, two
    Py_ssize_t n_groups, n_words


cdef inline double weight_of(Prior *p, Store *store, int64_t i) noexcept nogil:
    if i < store.n_points:
        return store.word_tally[i] if p.kind == 2 else 1.0
    return store.count[i - store.n_points]


# lists the groups and words of a part in `w`, with their counts; `untouch` forgets them
cdef void touch(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n) noexcept nogil
cdef void untouch(Work *w) noexcept nogil
cdef Py_ssize_t room_for(Prior *p) noexcept         # doubles of one thread's workspace
# room: `room_for` doubles; whole: 3 (S + V) numbers, of which slots are -1
cdef void lay_out(Prior *p, Work *w, double *room, int32_t *whole) noexcept nogil
