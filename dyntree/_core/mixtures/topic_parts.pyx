"""A part of a topic's items: the groups and words it touches, and room for halves."""

from libc.stdint cimport int32_t, int64_t


cdef void touch(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n) noexcept nogil:
    """List the groups and words of a part, with their counts."""
    cdef Py_ssize_t i, j
    cdef int64_t c
    w.n_groups = 0
    w.n_words = 0
    for i in range(n):
        c = idx[i] - store.n_points
        if c < 0:
            count_group(w, store.group[idx[i]], weight_of(p, store, idx[i]))
            if p.kind == 2:
                count_word(w, store.word[idx[i]], store.word_tally[idx[i]])
            continue
        for j in range(store.indptr[c], store.indptr[c + 1]):
            count_group(w, store.clump_group[j], store.tally[j])
        if p.kind == 2:
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                count_word(w, store.clump_word[j], store.clump_word_tally[j])


cdef void count_group(Work *w, int32_t s, double x) noexcept nogil:
    if w.slot[s] < 0:
        w.slot[s] = w.n_groups
        w.groups[w.n_groups] = s
        w.parent.n[w.n_groups] = 0.0
        w.n_groups += 1
    w.parent.n[w.slot[s]] += x


cdef void count_word(Work *w, int32_t v, double x) noexcept nogil:
    if w.word_slot[v] < 0:
        w.word_slot[v] = w.n_words
        w.words_touched[w.n_words] = v
        w.parent.words[w.n_words] = 0.0
        w.n_words += 1
    w.parent.words[w.word_slot[v]] += x


cdef void untouch(Work *w) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(w.n_groups):
        w.slot[w.groups[j]] = -1
    for j in range(w.n_words):
        w.word_slot[w.words_touched[j]] = -1


cdef Py_ssize_t room_for(Prior *p) noexcept:
    """Doubles of one thread's workspace."""
    return 6 * p.F + 6 * p.S + 4 * p.V + max(p.S, p.V) + 2 * p.d * p.d + 5 * p.d + 28


cdef double *cut(double **at, Py_ssize_t n) noexcept nogil:
    cdef double *here = at[0]
    at[0] = here + n
    return here


cdef void lay_out(Prior *p, Work *w, double *room, int32_t *whole) noexcept nogil:
    """Cut a thread's workspace into its arrays."""
    cdef Side *sides[3]
    cdef int k
    sides[0], sides[1], sides[2] = &w.parent, &w.one, &w.two
    for k in range(3):
        sides[k].S = cut(&room, p.F)
        sides[k].theta = cut(&room, p.F)
        sides[k].n = cut(&room, p.S)
        sides[k].words = cut(&room, p.V)
    w.dpsi = cut(&room, p.S + 4)
    w.dword = cut(&room, p.V + 4)
    w.rises = cut(&room, p.S)
    w.times = cut(&room, p.S)
    w.args = cut(&room, max(p.S, p.V) + 4)
    w.B = cut(&room, p.d * p.d)
    w.L = cut(&room, p.d * p.d + p.d)
    w.m = cut(&room, p.d)
    w.centre = cut(&room, p.d)
    w.axis = cut(&room, p.d)
    w.slot = whole
    w.groups = whole + p.S
    w.word_slot = whole + 2 * p.S
    w.words_touched = whole + 2 * p.S + p.V
    w.marks = whole + 2 * p.S + 2 * p.V
