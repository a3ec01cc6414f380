"""Halving of the items of a topic: how good, and which item goes where.

One part is halved along an axis and refined by a few variational steps between its two
halves, all else frozen; its points are taken about their own mean, so that no digits
are lost far from 0. Parts know nothing of one another and may be halved side by side.
"""
import numpy as np

cimport cython
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from dyntree._core.eigen cimport eigen
from dyntree._core.mixtures.addresses cimport doubles, ints, longs
from dyntree._core.mixtures cimport special
from dyntree._core.mixtures.special cimport digamma, log_gamma
from dyntree._core.mixtures.topic_gaussians cimport gather, gaussian
from dyntree._core.mixtures.topic_parts cimport (
    Prior, Side, Store, Work, lay_out, room_for, touch, untouch, weight_of,
)
from dyntree._core.mixtures.topic_words cimport begin_words
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.vectors cimport add_scaled, inner

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) \\
        && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
    #define HDP_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define HDP_CLONES
    #endif

    /* 1 / (1 + exp(-x)) of n numbers, x clipped at +-500; x has room for a multiple
       of 4. */
    static HDP_CLONES void hdp_logistic(double *x, long n) {
        const Four zero = {0.0, 0.0, 0.0, 0.0};
        const Four least = {-500.0, -500.0, -500.0, -500.0};
        for (long i = 0; i < n; i += 4, x += 4) {
            Four at = *(Four *) x, e;
            Ints up = at >= zero, low;
            e = (Four) (((Ints) -at & up) | ((Ints) at & ~up));
            low = e < least;
            *(Four *) x = (Four) (((Ints) least & low) | ((Ints) e & ~low));
            hdp_exp_four(x);
            e = *(Four *) x;
            at = 1.0 / (1.0 + e);
            *(Four *) x = (Four) (((Ints) at & up) | ((Ints) (e * at) & ~up));
        }
    }
    /* digamma of n numbers; x has room for a multiple of 4 */
    static HDP_CLONES void hdp_digammas(double *x, long n) {
        for (long i = n; i < ((n + 3) & ~3L); i++)
            x[i] = 8.0;
        for (long i = 0; i < n; i += 4)
            hdp_digamma_four(x + i);
    }
    """
    void logistic "hdp_logistic"(double *x, long n) noexcept nogil
    void digammas "hdp_digammas"(double *x, long n) noexcept nogil

cdef enum:
    MOST_THREADS = 64


cdef Py_ssize_t rises_of(Prior *p, Work *w, Side *side) noexcept nogil:
    """Put aside the shares of a half's counts in its groups; returns how many these are."""
    cdef Py_ssize_t j, n = 0
    for j in range(w.n_groups):
        if side.n[j] > 0.0:
            w.times[n] = p.D[w.groups[j]]
            w.rises[n] = p.share * side.n[j] / w.times[n]
            n += 1
    return n


cdef void alpha_steps(Prior *p, Work *w, Side *side, double start) noexcept nogil:
    """Three fixed-point steps of alpha, den frozen."""
    cdef double x = start if start > 1e-12 else 1e-12, total, psi
    cdef Py_ssize_t j, n = rises_of(p, w, side)
    cdef int step
    for step in range(3):
        total = 0.0
        psi = digamma(x)
        for j in range(n):
            w.args[j] = x + w.rises[j]
        digammas(w.args, n)
        for j in range(n):
            total += w.times[j] * (w.args[j] - psi)
        x = (p.a - 1.0 + x * p.m_d * total) / p.den
        if x < 1e-12:
            x = 1e-12
    side.alpha = x


cdef double fit_of(Prior *p, Work *w, Side *side) noexcept nogil:
    """A side's part of the free energy: -t(alpha, n) + (den - b) alpha + pen(alpha).

    It lacks the constant of pen.
    """
    cdef double x = side.alpha, total = 0.0, lg = log_gamma(x)
    cdef Py_ssize_t j
    for j in range(rises_of(p, w, side)):
        total += w.times[j] * (log_gamma(x + w.rises[j]) - lg)
    return -p.m_d * total + p.den * x - (p.a - 1.0) * log(x)


cdef int refresh(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *phi, const double *r) noexcept nogil:
    """Statistics and parameters of both sides; -1 where one of them is empty."""
    cdef Py_ssize_t i, j, d = p.d
    cdef int64_t c
    cdef double f, points
    cdef Side *one = &w.one
    cdef Side *two = &w.two
    one.N = 0.0
    memset(one.n, 0, w.n_groups * sizeof(double))
    memset(one.words, 0, w.n_words * sizeof(double))
    if p.kind != 2:
        memset(one.S, 0, p.F * sizeof(double))
    for i in range(n):
        if r[i] == 0.0:
            continue
        points = weight_of(p, store, idx[i])
        one.N += points * r[i]
        if p.kind != 2:
            add_scaled(one.S, points * r[i], phi + i * p.F, p.F)
        c = idx[i] - store.n_points
        if c < 0:
            one.n[w.slot[store.group[idx[i]]]] += points * r[i]
            if p.kind == 2:
                one.words[w.word_slot[store.word[idx[i]]]] += points * r[i]
            continue
        for j in range(store.indptr[c], store.indptr[c + 1]):
            one.n[w.slot[store.clump_group[j]]] += store.tally[j] * r[i]
        if p.kind == 2:
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                one.words[w.word_slot[store.clump_word[j]]] += store.clump_word_tally[j] * r[i]
    two.N = w.parent.N - one.N
    if one.N < 1e-8 or two.N < 1e-8:
        return -1
    for j in range(w.n_groups):
        two.n[j] = max(0.0, w.parent.n[j] - one.n[j])
    for j in range(w.n_words):
        two.words[j] = max(0.0, w.parent.words[j] - one.words[j])
    if p.kind != 2:
        for j in range(p.F):
            two.S[j] = w.parent.S[j] - one.S[j]
        if gaussian(p, w, one) < 0 or gaussian(p, w, two) < 0:
            return -1
    alpha_steps(p, w, one, w.parent.alpha * one.N / w.parent.N)
    alpha_steps(p, w, two, w.parent.alpha * two.N / w.parent.N)
    return 0


cdef void differences(double *one, double *two, Py_ssize_t n) noexcept nogil:
    """Digamma of `one` less that of `two`, in place of `one`."""
    cdef Py_ssize_t j
    digammas(one, n)
    digammas(two, n)
    for j in range(n):
        one[j] -= two[j]


cdef double reassign(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *phi, double *r) noexcept nogil:
    """One variational step of all items; returns the largest change."""
    cdef Py_ssize_t i, j
    cdef int64_t c
    cdef double logit, points, most = 0.0, dc = w.one.c - w.two.c, part
    cdef double *new = w.logits
    for j in range(w.n_groups):
        part = p.share / p.D[w.groups[j]]
        w.dpsi[j] = w.one.alpha + part * w.one.n[j]
        w.args[j] = w.two.alpha + part * w.two.n[j]
    differences(w.dpsi, w.args, w.n_groups)
    if p.kind == 2:
        for j in range(w.n_words):
            w.dword[j] = p.scale0 + p.m_p * w.one.words[j]
            w.args[j] = p.scale0 + p.m_p * w.two.words[j]
        differences(w.dword, w.args, w.n_words)
        dc = digamma(p.V * p.scale0 + p.m_p * w.two.N) - digamma(p.V * p.scale0 + p.m_p * w.one.N)
    else:
        for j in range(p.F):
            w.one.theta[j] -= w.two.theta[j]
    for i in range(n):
        c = idx[i] - store.n_points
        points = weight_of(p, store, idx[i])
        logit = 0.0
        if c < 0:
            logit = w.dpsi[w.slot[store.group[idx[i]]]]
            if p.kind == 2:
                logit += w.dword[w.word_slot[store.word[idx[i]]]]
        else:
            for j in range(store.indptr[c], store.indptr[c + 1]):
                logit += store.tally[j] * w.dpsi[w.slot[store.clump_group[j]]]
            if p.kind == 2:
                for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                    logit += store.clump_word_tally[j] * w.dword[w.word_slot[store.clump_word[j]]]
            logit /= points
        if p.kind != 2:
            logit += inner(w.one.theta, phi + i * p.F, p.F)
        new[i] = logit + dc
    logistic(new, n)
    for i in range(n):
        most = max(most, fabs(new[i] - r[i]))
        r[i] = new[i]
    return most


cdef int begin(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *phi, double *r) noexcept nogil:
    """First halves along the main axis; -1 where all items fall on one side."""
    cdef Py_ssize_t d = p.d, i, j, q, best = 0
    cdef double total, cut
    cdef int n_one, attempt
    cdef double *a = w.B
    if p.kind == 2:
        return begin_words(p, store, w, idx, n, r)
    if gaussian(p, w, &w.parent) < 0:
        return -1
    if p.kind == 1:
        memset(a, 0, d * d * sizeof(double))
        for i in range(n):
            total = weight_of(p, store, idx[i])
            for j in range(d):
                for q in range(d):
                    a[j * d + q] += total * phi[i * p.F + j] * phi[i * p.F + q]
        for j in range(d):
            a[j * d + j] = w.parent.S[d + j]
    eigen(a, w.axis, w.L, d)        # values go to axis, the first vector is row 0 of a
    for j in range(d):
        if fabs(a[j]) > fabs(a[best]) * (1.0 + 1e-12):
            best = j
    for j in range(d):
        w.axis[j] = a[j] if a[best] > 0.0 else -a[j]
    cut = 0.0
    for j in range(d):
        cut += w.m[j] * w.axis[j]
    for attempt in range(2):
        n_one = 0
        for i in range(n):
            total = 0.0
            for j in range(d):
                total += phi[i * p.F + j] * w.axis[j]
            r[i] = 1.0 if total >= cut else 0.0
            n_one += total >= cut
        if 0 < n_one < n:
            return 0
        cut = 0.0
    return -1


cdef double gain(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *r) noexcept nogil:
    """Change of the free energy by the split that `refresh` has just taken in."""
    cdef double out, entropy = 0.0, x, y
    cdef Py_ssize_t i, j
    if p.kind == 2:
        out = log_gamma(p.V * p.scale0 + p.m_p * w.one.N) + log_gamma(p.V * p.scale0 + p.m_p * w.two.N)
        out -= log_gamma(p.V * p.scale0) + log_gamma(p.V * p.scale0 + p.m_p * w.parent.N)
        x = log_gamma(p.scale0)
        for j in range(w.n_words):
            out += (
                x + log_gamma(p.scale0 + p.m_p * w.parent.words[j])
                - log_gamma(p.scale0 + p.m_p * w.one.words[j])
                - log_gamma(p.scale0 + p.m_p * w.two.words[j])
            )
    else:
        out = p.log_z0 - w.one.log_z - w.two.log_z + w.parent.log_z
    if not p.hard:
        for i in range(n):
            x = r[i]
            y = 1.0 - x
            if x > 1e-300 and y > 1e-300:
                entropy += weight_of(p, store, idx[i]) * (x * log(x) + y * log(y))
        out += p.m_p * entropy
    alpha_steps(p, w, &w.parent, w.parent.alpha)
    out += fit_of(p, w, &w.one) + fit_of(p, w, &w.two) - fit_of(p, w, &w.parent)
    if p.a > 1.0:       # the constant of pen, which one more topic pays
        out += (p.a - 1.0) * log((p.a - 1.0) / p.b) - (p.a - 1.0)
    return out


cdef void measure(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, const double *r, int64_t *sizes) noexcept nogil:
    """Groups of both halves, and words of both: whole items, so that bytes are exact."""
    cdef int32_t *of_words = w.marks + w.n_groups
    cdef Py_ssize_t i, j
    cdef int64_t c
    cdef int bit
    memset(w.marks, 0, (w.n_groups + w.n_words) * sizeof(int32_t))
    for i in range(n):
        bit = 1 if r[i] == 1.0 else 2
        c = idx[i] - store.n_points
        if c < 0:
            w.marks[w.slot[store.group[idx[i]]]] |= bit
            if p.kind == 2:
                of_words[w.word_slot[store.word[idx[i]]]] |= bit
            continue
        for j in range(store.indptr[c], store.indptr[c + 1]):
            w.marks[w.slot[store.clump_group[j]]] |= bit
        if p.kind == 2:
            for j in range(store.word_indptr[c], store.word_indptr[c + 1]):
                of_words[w.word_slot[store.clump_word[j]]] |= bit
    for j in range(w.n_groups):
        sizes[0] += w.marks[j] & 1
        sizes[1] += w.marks[j] >> 1
    for j in range(w.n_words):
        sizes[2] += of_words[j] & 1
        sizes[3] += of_words[j] >> 1


cdef double halve(Prior *p, Store *store, Work *w, const int64_t *idx, Py_ssize_t n, double *r, double *alpha, int64_t *sizes) noexcept nogil:
    """Halve a part; r becomes the share of the first half, alpha (3,) those of all."""
    cdef double *phi = w.phi
    cdef double out = INFINITY
    cdef Py_ssize_t i
    cdef int step, n_one
    if n < 2:
        return out
    w.parent.alpha = alpha[0]
    touch(p, store, w, idx, n)
    if p.kind == 2:
        w.parent.N = 0.0
        for i in range(n):
            w.parent.N += weight_of(p, store, idx[i])
    else:
        gather(p, store, w, idx, n, phi)
    if begin(p, store, w, idx, n, phi, r) == 0:
        n_one = 1
        for step in range(p.max_steps):
            if refresh(p, store, w, idx, n, phi, r) < 0:
                n_one = 0
                break
            if reassign(p, store, w, idx, n, phi, r) < 1e-3:
                break
        if p.hard:
            if n_one:
                n_one = 0
                for i in range(n):
                    r[i] = 1.0 if r[i] >= 0.5 else 0.0
                    n_one += r[i] == 1.0
            if not 0 < n_one < n:       # one half took all: the halves of the axis stay
                n_one = begin(p, store, w, idx, n, phi, r) == 0
        if n_one:
            if refresh(p, store, w, idx, n, phi, r) == 0:
                out = gain(p, store, w, idx, n, r)
                alpha[0] = w.parent.alpha
                alpha[1] = w.one.alpha
                alpha[2] = w.two.alpha
                if p.hard:
                    measure(p, store, w, idx, n, r, sizes)
    untouch(w)
    return out


@cython.final
cdef class Halving:
    """Halves parts of one store, all else frozen; keeps what threads work in.

    Parameters
    ----------
    store : dict
        Points: x (n, d), group (n,), of words word and word_tally (n,); clumps: count,
        mean, scatter, indptr, clump_group, tally, of words word_indptr, clump_word,
        clump_word_tally. Item i < n is a point, others are clump i - n.
    prior : dict
        kind, d, F, V, m0 (d,), kappa0, shape0, scale0, log_z0, a, b, den, m_p, m_d,
        share, D (S,), hard, max_steps.
    n_threads : int
    """
    cdef Prior p
    cdef Store s
    cdef Work works[MOST_THREADS]
    cdef Py_ssize_t n_threads
    cdef object arrays              # whose addresses are used
    cdef object room
    cdef object whole
    cdef object rows

    def __init__(self, dict store, dict prior, int n_threads):
        cdef Py_ssize_t k
        p, s = &self.p, &self.s
        self.arrays = dict(store), dict(prior)
        p.kind, p.d, p.F, p.V = prior["kind"], prior["d"], prior["F"], prior["V"]
        p.kappa0, p.shape0, p.scale0 = prior["kappa0"], prior["shape0"], prior["scale0"]
        p.a, p.b, p.den = prior["a"], prior["b"], prior["den"]
        p.m_p, p.m_d, p.share = prior["m_p"], prior["m_d"], prior["share"]
        p.hard, p.max_steps, p.log_z0 = prior["hard"], prior["max_steps"], prior["log_z0"]
        p.m0, p.D, p.S = doubles(prior, "m0"), doubles(prior, "D"), len(prior["D"])
        s.n_points = store["n_points"]
        s.x, s.group = doubles(store, "x"), ints(store, "group")
        s.word, s.word_tally = ints(store, "word"), doubles(store, "word_tally")
        s.count, s.mean = doubles(store, "count"), doubles(store, "mean")
        s.scatter, s.tally = doubles(store, "scatter"), doubles(store, "tally")
        s.indptr, s.clump_group = longs(store, "indptr"), ints(store, "clump_group")
        s.word_indptr, s.clump_word = longs(store, "word_indptr"), ints(store, "clump_word")
        s.clump_word_tally = doubles(store, "clump_word_tally")
        self.n_threads = max(1, min(n_threads, MOST_THREADS))
        self.room = np.empty((self.n_threads, room_for(p)))
        self.whole = np.full((self.n_threads, 3 * p.S + 3 * p.V + 1), -1, dtype=np.int32)
        self.rows = np.empty((self.n_threads, 0))
        cdef double[:, ::1] room = self.room
        cdef int32_t[:, ::1] whole = self.whole
        for k in range(self.n_threads):
            lay_out(p, &self.works[k], &room[k, 0], &whole[k, 0])

    def split(self, const int64_t[::1] ptr, const int64_t[::1] items, const double[::1] alpha):
        """Halve each of several parts.

        Parameters
        ----------
        ptr, items : int64 of shape (n_parts + 1,) and (n_items,)
        alpha : float64 of shape (n_parts,)

        Returns
        -------
        gain : ndarray of shape (n_parts,)
            Change of the free energy, inf where there is no split.
        share : ndarray of shape (n_items,)
            Of the first half in each item.
        alphas : ndarray of shape (n_parts, 3)
            Of the whole and of both halves.
        sizes : ndarray of int64 of shape (n_parts, 4)
            Groups that each half touches, then words; only where `hard`.
        """
        cdef Py_ssize_t n_parts = ptr.shape[0] - 1, k, longest = 1, T
        cdef int t
        gains, alphas = np.full(n_parts, np.inf), np.zeros((n_parts, 3))
        sizes, shares = np.zeros((n_parts, 4), dtype=np.int64), np.zeros(items.shape[0] + 1)
        cdef int64_t[:, ::1] c_sizes = sizes
        cdef double[::1] c_gain = gains, share = shares
        cdef double[:, ::1] c_alpha = alphas
        cdef const int64_t *at = &items[0] if items.shape[0] else NULL
        for k in range(n_parts):
            c_alpha[k, 0] = alpha[k]
            longest = max(longest, ptr[k + 1] - ptr[k])
        if self.rows.shape[1] < longest * (self.p.F + 1) + 4:
            self.rows = np.empty((self.n_threads, longest * (self.p.F + 1) + 4))
        cdef double[:, ::1] rows = self.rows
        for k in range(self.n_threads):
            self.works[k].phi = &rows[k, 0]
            self.works[k].logits = self.works[k].phi + longest * self.p.F
        T = min(self.n_threads, n_parts)
        if T <= 1:
            with nogil:
                for k in range(n_parts):
                    c_gain[k] = halve(&self.p, &self.s, &self.works[0], at + ptr[k], ptr[k + 1] - ptr[k], &share[ptr[k]], &c_alpha[k, 0], &c_sizes[k, 0])
        else:
            for k in prange(n_parts, nogil=True, schedule="dynamic", num_threads=team(T)):
                t = thread_number()
                c_gain[k] = halve(&self.p, &self.s, &self.works[t], at + ptr[k], ptr[k + 1] - ptr[k], &share[ptr[k]], &c_alpha[k, 0], &c_sizes[k, 0])
        return gains, shares[: items.shape[0]], alphas, sizes
