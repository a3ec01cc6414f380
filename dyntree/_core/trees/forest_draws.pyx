"""Posterior draws of random trees: prunings, and the laws of the nodes they end in."""
import numpy as np

from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.random_trees cimport Knot, RandomTree, RandomTrees, Room


def tree_laws(RandomTrees f, int32_t k, const double[:, ::1] X):
    """Nodes on the paths of rows in one tree, and what each says by itself.

    Parameters
    ----------
    f : Forest
    k : int
        Which tree.
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    start : ndarray of int64 of shape (n_rows + 1,)
    path : ndarray of int32 of shape (n_steps,)
        Nodes that row j comes by, from the root on: path[start[j]:start[j + 1]].
    pruned : ndarray of shape (n_nodes,)
        Posterior probability that a pruning that goes as far as a node ends there.
    laws : ndarray of shape (n_nodes, n_classes) or (n_nodes, 4)
        Parameters of the Dirichlet law of the probabilities; or n, m, a and b of real
        responses, whose variance s^2 is inverse gamma (a, b) and whose mean, given it,
        is normal (m, s^2 / n).
    """
    cdef RandomTree *t = &f.trees[k]
    cdef Room room
    cdef int64_t j, n_rows = X.shape[0], now = f.ring.n_seen
    cdef int32_t n, h, c, n_nodes = 0, n_steps = 0, width = f.n_own
    cdef const Knot *v
    cdef double kept, total
    start = np.zeros(n_rows + 1, dtype=np.int64)
    path = np.empty(n_rows * (f.most_depth + 2), dtype=np.int32)
    places = np.full(t.n_knots, -1, dtype=np.int32)
    pruned, laws = np.empty(t.n_knots), np.empty((t.n_knots, width))
    cdef int64_t[::1] starts = start
    cdef int32_t[::1] steps = path, place = places
    cdef double[::1] ends = pruned
    cdef double[:, ::1] law = laws
    try:
        f.open(&room)
        for j in range(n_rows):
            n = f.walk(t, &X[j, 0], now, False, &room)
            for h in range(n):
                if place[room.path[h]] < 0:
                    place[room.path[h]] = n_nodes
                    v = &t.knots[room.path[h]]
                    kept = f.kept(v.last, now)
                    ends[n_nodes] = 1.0 if h == n - 1 else f.pruned(v, kept)
                    total = 1.0
                    if f.n_classes:
                        total = kept * v.total + f.n_classes * f.law.share
                    for c in range(width):
                        law[n_nodes, c] = total * room.own[<int64_t> h * width + c]
                    n_nodes += 1
                steps[n_steps] = place[room.path[h]]
                n_steps += 1
            starts[j + 1] = n_steps
    finally:
        f.close(&room)
    return start, path[:n_steps].copy(), pruned[:n_nodes], laws[:n_nodes]


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
