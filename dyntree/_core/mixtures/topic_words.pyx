"""First halves of a part of words: the main axis of its table of groups and words."""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from dyntree._core.mixtures.topic_parts cimport Prior, Store, Work


cdef void pass_on(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *word, double *group, bint to_groups, const double *from_group, double *to_word) noexcept nogil:
    """The table of groups and words times a vector of words, or its transpose."""
    cdef Py_ssize_t i, j
    cdef int64_t c
    cdef double total, points
    for i in range(n):
        c = idx[i] - store.n_points
        if c < 0:
            points = store.word_tally[idx[i]]
            if to_groups:
                group[w.slot[store.group[idx[i]]]] += points * word[w.word_slot[store.word[idx[i]]]]
            else:
                to_word[w.word_slot[store.word[idx[i]]]] += points * from_group[w.slot[store.group[idx[i]]]]
            continue
        points = store.count[c]
        total = 0.0
        if to_groups:
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                total += store.clump_word_tally[j] * word[w.word_slot[store.clump_word[j]]]
            for j in range(store.indptr[c], store.indptr[c + 1]):
                group[w.slot[store.clump_group[j]]] += total / points * store.tally[j]
        else:
            for j in range(store.indptr[c], store.indptr[c + 1]):
                total += store.tally[j] * from_group[w.slot[store.clump_group[j]]]
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                to_word[w.word_slot[store.clump_word[j]]] += total / points * store.clump_word_tally[j]


cdef int begin_words(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, double *r) noexcept nogil:
    """The first axis of a correspondence analysis, by 20 steps of the power method.

    v is the vector of words over the root of their mass, u that of groups; what all
    words have in common is taken off. With one group v stays where it starts.
    """
    cdef double *v = w.dword
    cdef double *u = w.dpsi
    cdef double *room = w.two.words
    cdef Py_ssize_t i, j
    cdef int64_t c
    cdef double total, length, score, points
    cdef int step, n_one = 0
    cdef uint32_t mixed
    if w.n_words < 2:
        for j in range(w.n_groups):
            u[j] = 1.0 if 2 * j < w.n_groups else -1.0
        v[0] = 0.0
        if w.n_groups < 2:
            return -1
    else:
        for j in range(w.n_words):
            mixed = <uint32_t> (w.words_touched[j] + 1) * <uint32_t> 2654435761
            v[j] = mixed / 4294967296.0 - 0.5
        memset(u, 0, w.n_groups * sizeof(double))
        for step in range(20):
            total = 0.0                     # v has mean 0 under the words' mass
            for j in range(w.n_words):
                total += w.parent.words[j] * v[j]
            length = 0.0
            for j in range(w.n_words):
                v[j] -= total / w.parent.N
                length += w.parent.words[j] * v[j] * v[j]
            if not length > 0.0:
                return -1
            length = 1.0 / sqrt(length)
            for j in range(w.n_words):
                v[j] *= length
            if w.n_groups < 2 or step == 19:
                break
            memset(u, 0, w.n_groups * sizeof(double))
            pass_on(p, store, w, idx, n, v, u, True, NULL, NULL)
            for j in range(w.n_groups):
                u[j] /= w.parent.n[j]
            memset(room, 0, w.n_words * sizeof(double))
            pass_on(p, store, w, idx, n, NULL, NULL, False, u, room)
            length = 0.0
            for j in range(w.n_words):
                room[j] /= w.parent.words[j]
                length += room[j] * room[j]
            if not length > 1e-280:
                break
            memcpy(v, room, w.n_words * sizeof(double))
        if w.n_groups > 1:
            memset(u, 0, w.n_groups * sizeof(double))
            pass_on(p, store, w, idx, n, v, u, True, NULL, NULL)
            length = 0.0
            for j in range(w.n_groups):
                u[j] /= w.parent.n[j]
                length += w.parent.n[j] * u[j] * u[j]
            length = 1.0 / sqrt(length) if length > 0.0 else 0.0
            for j in range(w.n_groups):
                u[j] *= length
    for i in range(n):
        c = idx[i] - store.n_points
        if c < 0:
            score = u[w.slot[store.group[idx[i]]]] + v[w.word_slot[store.word[idx[i]]]]
        else:
            score = 0.0
            for j in range(store.indptr[c], store.indptr[c + 1]):
                score += store.tally[j] * u[w.slot[store.clump_group[j]]]
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                score += store.clump_word_tally[j] * v[w.word_slot[store.clump_word[j]]]
        r[i] = 1.0 if score >= 0.0 else 0.0
        n_one += score >= 0.0
    return 0 if 0 < n_one < n else -1
