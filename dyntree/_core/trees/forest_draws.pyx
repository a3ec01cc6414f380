"""Posterior draws of random trees: prunings, and the laws of the nodes they end in."""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.random_trees cimport (
    Knot, RandomTree, RandomTrees, Room, first_way,
)


def tree_laws(RandomTrees f, int32_t k, const double[:, ::1] X):
    """Nodes on the ways of rows down one tree, and what each says by itself.

    A row has one way, or several if cuts that have parted no gap are open for it.

    Parameters
    ----------
    f : Forest
    k : int
        Which tree.
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    start : ndarray of int64 of shape (n_ways + 1,)
    path : ndarray of int32 of shape (n_steps,)
        Nodes on way j, from the root on: path[start[j]:start[j + 1]].
    pruned : ndarray of shape (n_nodes,)
        Posterior probability that a pruning that goes as far as a node ends there.
    laws : ndarray of shape (n_nodes, n_classes) or (n_nodes, 4)
        Parameters of the Dirichlet law of the probabilities; or n, m, a and b of real
        responses, whose variance s^2 is inverse gamma (a, b) and whose mean, given it,
        is normal (m, s^2 / n).
    row : ndarray of int64 of shape (n_ways,)
        Row of each way, in increasing order.
    share : ndarray of shape (n_ways,)
        Shares of the ways of a row, which sum to one.
    """
    cdef RandomTree *t = &f.trees[k]
    cdef Room room
    cdef int64_t j, now = f.ring.n_seen
    cdef int32_t n, h, c, n_nodes = 0, width = f.n_own
    cdef const Knot *v
    cdef double factor, total
    places = np.full(t.n_knots, -1, dtype=np.int32)
    pruned, laws = np.empty(t.n_knots), np.empty((t.n_knots, width))
    cdef int32_t[::1] place = places
    cdef double[::1] ends = pruned
    cdef double[:, ::1] law = laws
    start, path, row, share = [0], [], [], []
    try:
        f.open(&room)
        for j in range(X.shape[0]):
            first_way(&room, has_gap(&X[j, 0], f.law.n_features))
            while True:
                n = f.walk(t, &X[j, 0], now, False, &room)
                for h in range(n):
                    if place[room.path[h]] < 0:
                        place[room.path[h]] = n_nodes
                        v = &t.knots[room.path[h]]
                        factor = f.fading(v.last, now)
                        ends[n_nodes] = 1.0 if v.left < 0 else f.pruned(v, factor)
                        total = 1.0
                        if f.n_classes:
                            total = factor * v.total + f.n_classes * f.law.share
                        for c in range(width):
                            law[n_nodes, c] = total * room.own[<int64_t> h * width + c]
                        n_nodes += 1
                    path.append(place[room.path[h]])
                start.append(start[len(row)] + n)
                row.append(j)
                share.append(room.share)
                if not (room.takes_ways and f.next_way(&room)):
                    break
    finally:
        f.close(&room)
    return (
        np.array(start, dtype=np.int64), np.array(path, dtype=np.int32),
        pruned[:n_nodes], laws[:n_nodes], np.array(row, dtype=np.int64),
        np.array(share),
    )


def ends_of(
    const int64_t[::1] start, const int32_t[::1] path, const unsigned char[:, ::1] stops
):
    """The first node on the path of each row that a pruning ends at.

    Parameters
    ----------
    start, path
        As of `tree_laws`.
    stops : ndarray of uint8 of shape (n_draws, n_nodes)
        Whether the pruning of each draw ends at a node, if it goes as far.

    Returns
    -------
    ndarray of int32 of shape (n_draws, n_rows)
    """
    cdef Py_ssize_t d, j, n_rows = start.shape[0] - 1
    cdef int64_t k
    found = np.empty((stops.shape[0], n_rows), dtype=np.int32)
    cdef int32_t[:, ::1] out = found
    with nogil:
        for d in range(stops.shape[0]):
            for j in range(n_rows):
                k = start[j]
                while k < start[j + 1] - 1 and not stops[d, path[k]]:
                    k += 1
                out[d, j] = path[k]
    return found
