"""Lists of the components that a group of rows may belong to."""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport qsort

from dyntree._core.softmax cimport rounded_up


cdef int by_share(const void *a, const void *b) noexcept nogil:
    """Descending; equal ones by their number."""
    cdef const Ranked *one = <const Ranked *> a
    cdef const Ranked *other = <const Ranked *> b
    if one.share != other.share:
        return -1 if one.share > other.share else 1
    return -1 if one.z < other.z else 1


cdef int by_number(const void *a, const void *b) noexcept nogil:
    return (<const int32_t *> a)[0] - (<const int32_t *> b)[0]


cdef int place_in(const int32_t *ids, int k, int32_t z) noexcept nogil:
    """Place of z in an ascending list, or -1."""
    cdef int low = 0, high = k, middle
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < z:
            low = middle + 1
        else:
            high = middle
    return low if low < k and ids[low] == z else -1


cdef int choose_list(
    const Listing *ask, const float *share, double mass, const float *e,
    const double *total, int n_rows, int m, int stride, Ranked *ranked, int32_t *ids,
    uint8_t *mark,
) noexcept nogil:
    """Components that hold all of a group's posterior but a small loss, ascending.

    `share` is the group's posterior by component, e (n_rows, stride) that of its rows
    times `total`. Returns how many; marks are all 0 before and after.
    """
    cdef int n_ranked = 0, k = 0, z, r, a, best, wanted
    cdef double floor_ = ask.loss * mass / m * 1e-3, lost = mass, inside
    cdef float most
    for z in range(m):
        if share[z] > floor_:
            ranked[n_ranked].share, ranked[n_ranked].z = share[z], z
            n_ranked += 1
    qsort(ranked, n_ranked, sizeof(Ranked), by_share)
    while k < n_ranked and k < ask.most and lost > ask.loss * mass:
        lost -= ranked[k].share
        ids[k] = ranked[k].z
        mark[ids[k]] = 1
        k += 1
    for r in range(n_rows):                 # no row loses much of its own
        inside = 0.0
        for a in range(k):
            inside += e[<int64_t> r * stride + ids[a]]
        while k < ask.most and total[r] - inside > ask.row_loss * total[r]:
            best, most = -1, -1.0
            for z in range(m):
                if not mark[z] and e[<int64_t> r * stride + z] > most:
                    best, most = z, e[<int64_t> r * stride + z]
            if best < 0:
                break
            ids[k] = best
            mark[best] = 1
            k += 1
            inside += most
    wanted = min(max(rounded_up(k), 16), ask.most)
    a = z = 0
    while k < wanted and a < n_ranked:      # room that costs nothing: the next best
        if not mark[ranked[a].z]:
            ids[k] = ranked[a].z
            mark[ids[k]] = 1
            k += 1
        a += 1
    while k < wanted and z < m:
        if not mark[z]:
            ids[k] = z
            mark[z] = 1
            k += 1
        z += 1
    for a in range(k):
        mark[ids[a]] = 0
    qsort(ids, k, sizeof(int32_t), by_number)
    return k
