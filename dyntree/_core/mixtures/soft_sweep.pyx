"""The sweep of EM: every row shared among all components by its posterior."""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport log
from libc.stdint cimport int64_t
from libc.string cimport memset
from scipy.linalg.cython_blas cimport sgemm

from dyntree._core.mixtures.scores cimport FULL, NORM, SQUARES, Scores
from dyntree._core.mixtures.sweeps cimport BLOCK, Shard
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.softmax cimport PART, soften, total_of

cdef enum:
    BLOCKS = 16             # of rows that are summed in float32


def em(Shard shard, Scores scores, int n_threads):
    """Sums with every row shared among components by its posterior.

    Labels become the most probable ones.

    Returns
    -------
    sums : ndarray of int64 of shape (n_components, width)
    log_likelihood : float
    n_changed : int
    """
    cdef int64_t u, size = BLOCK * BLOCKS
    cdef int64_t n_units = (shard.n_rows + size - 1) // size
    cdef int d = shard.n_features
    cdef int64_t wide = d + d * d if shard.layout == FULL else scores.width
    cdef int64_t room = scores.room(BLOCK, 0) + BLOCK * d
    totals = shard.fresh_sums(scores, n_threads)
    cdef int64_t[:, :, ::1] sums = totals
    cdef float[:, ::1] scratch = np.empty((n_threads, room), dtype=np.float32)
    cdef float[:, ::1] table = np.empty(
        (n_threads, <int64_t> BLOCK * scores.padded), dtype=np.float32
    )
    cdef float[:, ::1] panel = np.empty(
        (n_threads, scores.n_components * wide), dtype=np.float32
    )
    cdef double[:, ::1] mass = np.empty((n_threads, scores.n_components))
    cdef double[:, ::1] fine = np.empty((n_threads, (scores.n_sharp + 1) * wide))
    cdef double[:, ::1] part = np.empty((n_threads, scores.padded // PART + 1))
    fit, moved = np.zeros(n_units), np.zeros(n_units, dtype=np.int64)
    cdef double[::1] likelihood = fit
    cdef int64_t[::1] changed = moved
    cdef int k
    for u in prange(n_units, nogil=True, num_threads=team(n_threads), schedule="dynamic"):
        k = thread_number()
        memset(&panel[k, 0], 0, scores.n_components * wide * sizeof(float))
        memset(&mass[k, 0], 0, scores.n_components * sizeof(double))
        memset(&fine[k, 0], 0, scores.n_sharp * wide * sizeof(double))
        changed[u] = em_unit(
            shard, scores, u * size, min(shard.n_rows, (u + 1) * size), &scratch[k, 0],
            &table[k, 0], &part[k, 0], &panel[k, 0], &fine[k, 0], &mass[k, 0],
            &likelihood[u],
        )
        settle(
            shard, scores, &panel[k, 0], &fine[k, 0], &mass[k, 0], wide, &sums[k, 0, 0]
        )
    return totals.sum(axis=0), float(fit.sum()), int(moved.sum())


cdef int64_t em_unit(
    Shard shard, Scores scores, int64_t first, int64_t last, float *scratch, float *table,
    double *part, float *panel, double *fine, double *mass, double *likelihood,
) noexcept nogil:
    """Several blocks into one panel."""
    cdef int64_t n_changed = 0
    while first < last:
        n_changed += em_block(
            shard, scores, first, min(last, first + BLOCK), scratch, table, part, panel,
            fine, mass, likelihood,
        )
        first += BLOCK
    return n_changed


cdef int64_t em_block(
    Shard shard, Scores scores, int64_t first, int64_t last, float *scratch, float *table,
    double *part, float *panel, double *fine, double *mass, double *likelihood,
) noexcept nogil:
    cdef int64_t i, n_changed = 0
    cdef int z, best, j, n = <int> (last - first), m = scores.n_components
    cdef int d = shard.n_features, stride = scores.padded, wide = scores.width
    cdef float one = 1.0, none = 0.0
    cdef float *e = table
    cdef float top, share, most
    cdef double total, c
    cdef const float *x = shard.x + first * d
    scores.all(x, n, scratch, table)
    for i in range(first, last):
        top = soften(e, stride, part)
        total = total_of(part, stride)
        c = shard.weight_of(i)
        likelihood[0] += c * (top + log(total) + shard.log_base_of(i))
        share = <float> (c / total)
        best, most = 0, -1.0
        for z in range(m):
            if e[z] > most:
                best, most = z, e[z]
            e[z] *= share
            mass[z] += e[z]
        n_changed += shard.label[i] != best
        shard.label[i] = best
        e += stride
    if shard.layout == FULL:
        wide = d + d * d
        sgemm(
            b"N", b"T", &d, &m, &n, &one, <float *> x, &d, table, &stride, &one,
            panel, &wide,
        )
        for z in range(m):          # weighted rows times rows
            for i in range(n):
                share = table[i * stride + z]
                for j in range(d):
                    scratch[i * d + j] = share * x[i * d + j]
            sgemm(
                b"N", b"T", &d, &d, &n, &one, scratch, &d, <float *> x, &d, &one,
                panel + <int64_t> z * wide + d, &d,
            )
    else:                           # features of the rows stand in scratch
        sgemm(
            b"N", b"T", &wide, &m, &n, &one, scratch, &wide, table, &stride, &one,
            panel, &wide,
        )
    for j in range(scores.n_sharp):
        z = scores.sharp[j]
        about(
            x, n, d, shard.layout, scores.mean + <int64_t> z * d, table + z, stride,
            fine + <int64_t> j * wide,
        )
    return n_changed


cdef void about(
    const float *x, int n, int d, int layout, const float *mean, const float *share,
    int stride, double *out,
) noexcept nogil:
    """Add weighted sums of rows and of their products, about a mean, in float64."""
    cdef int i, j, k
    cdef double v, c
    for i in range(n):
        c = share[<int64_t> i * stride]
        if c > 0.0:
            for j in range(d):
                v = <double> x[j] - mean[j]
                out[j] += c * v
                if layout == SQUARES:
                    out[d + j] += c * v * v
                elif layout == NORM:
                    out[d] += c * v * v
                else:
                    for k in range(j + 1):
                        out[d + j * d + k] += c * v * (<double> x[k] - mean[k])
        x += d


cdef void back(
    const double *fine, const float *mean, double mass, int d, int layout, double *out
) noexcept nogil:
    """The same sums about 0."""
    cdef int j, k
    for j in range(d):
        out[j] = fine[j] + mass * mean[j]
    if layout == NORM:
        out[d] = fine[d]
    for j in range(d):
        if layout == SQUARES:
            out[d + j] = fine[d + j] + (fine[j] + out[j]) * mean[j]
        elif layout == NORM:
            out[d] += (fine[j] + out[j]) * mean[j]
        else:
            for k in range(j + 1):
                out[d + j * d + k] = (
                    fine[d + j * d + k] + fine[j] * mean[k] + out[k] * mean[j]
                )


cdef void settle(
    Shard shard, Scores scores, const float *panel, double *fine, const double *mass,
    int64_t wide, int64_t *sums,
) noexcept nogil:
    """Add what was summed in floats to the whole numbers."""
    cdef int z, j, k, i, sharp = 0, d = shard.n_features
    cdef double *row = fine + scores.n_sharp * wide
    for z in range(scores.n_components):
        if scores.is_sharp[z]:
            back(
                fine + sharp * wide, scores.mean + <int64_t> z * d, mass[z], d,
                shard.layout, row,
            )
            sharp += 1
        else:
            for j in range(wide):
                row[j] = panel[z * wide + j]
        sums[0] += <int64_t> (mass[z] * shard.units.weight)
        for j in range(d):
            sums[1 + j] += <int64_t> (row[j] * shard.units.first)
        if shard.layout == FULL:
            i = 1 + d
            for j in range(d):
                for k in range(j + 1):
                    sums[i] += <int64_t> (row[d + j * d + k] * shard.units.second)
                    i += 1
        else:
            for j in range(d, <int> wide):
                sums[1 + j] += <int64_t> (row[j] * shard.units.second)
        sums += shard.width
