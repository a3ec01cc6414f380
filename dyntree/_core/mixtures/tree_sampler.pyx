"""Exact draws of components through a tree over their means.

A node bounds the weight of all components below it by U = B exp(b): B is the sum of
their prior weights and normalisers, b no less than any exponent. A trial walks down from
a frontier, to a node in proportion to U and to a component in proportion to its weight;
what the bound is too large by leads back to the start. Given success, the component has
its exact posterior (Zaheer et al. 2017, section 3.2.2, with bounds that hold). Nodes that
were opened stay so for the trials of the same row.
"""
import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, exp, fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t

from dyntree._core.mixtures.sweeps cimport Shard
from dyntree._core.openmp cimport team, thread_number
from dyntree._core.rng cimport LABELLING, CounterSource, RandomStream

cdef enum:
    BALL = 0            # a radius and the largest variance
    BOX = 1             # boxes of means, and of largest variances
    RATES = 2           # boxes of rates
    CHANCES = 3         # boxes of probabilities
    BLOCK = 1024        # rows a thread takes at a time

cdef struct Entry:
    double log_mass     # log U of a node, log weight of a component
    int64_t node        # -1 - z for component z


cdef class Means:
    """Components under a cover tree of their means.

    Parameters
    ----------
    kind : int
        0 spherical, 1 diagonal, 2 Poisson, 3 multinomial.
    tree : dict of ndarray
        As ``covertree.build`` gives it, with "child_begin" and "child", "order".
    mean, spread : ndarray of shape (n_components, n_features)
        Spherical variances in the first column; of no effect for counts.
    log_weight : ndarray of shape (n_components,)
        Log of the weights, with normalisers.
    log_mass : ndarray of shape (n_nodes,)
        Log of the sums of their exponentials below each node.
    low, high, widest : ndarray of shape (n_nodes, n_features)
        Boxes of means, and the largest variances, below each node.
    """

    cdef:
        readonly int n_components, n_features, kind
        readonly int64_t n_nodes
        object keep
        const double *mean
        const double *spread
        const double *log_weight
        const double *log_mass
        const double *low
        const double *high
        const double *widest
        const double *radius
        const int64_t *row_begin
        const int64_t *own_end
        const int64_t *child_begin
        const int64_t *child
        const int32_t *order
        const int32_t *centre

    def __init__(
        self, int kind, tree, const double[:, ::1] mean, const double[:, ::1] spread,
        const double[::1] log_weight, const double[::1] log_mass,
        const double[:, ::1] low, const double[:, ::1] high,
        const double[:, ::1] widest,
    ):
        cdef const double[::1] radius = tree["radius_sub"]
        cdef const int64_t[::1] row_begin = tree["row_begin"], own_end = tree["own_end"]
        cdef const int64_t[::1] begin = tree["child_begin"], child = tree["child"]
        cdef const int32_t[::1] order = tree["order"], centre = tree["centre"]
        self.kind, self.n_nodes = kind, len(row_begin)
        self.n_components, self.n_features = <int> mean.shape[0], <int> mean.shape[1]
        self.mean, self.spread, self.radius = &mean[0, 0], &spread[0, 0], &radius[0]
        self.log_weight, self.log_mass = &log_weight[0], &log_mass[0]
        self.low, self.high, self.widest = &low[0, 0], &high[0, 0], &widest[0, 0]
        self.row_begin, self.own_end = &row_begin[0], &own_end[0]
        self.child_begin, self.child = &begin[0], &child[0]
        self.order, self.centre = &order[0], &centre[0]
        self.keep = (
            radius, row_begin, own_end, begin, child, order, centre, mean, spread,
            log_weight, log_mass, low, high, widest,
        )

    cdef double exponent(self, const float *x, int64_t z) noexcept nogil:
        """What log_weight lacks of the log of a component's weight at x."""
        cdef int j, d = self.n_features
        cdef const double *m = self.mean + z * d
        cdef const double *v = self.spread + z * d
        cdef double total = 0.0
        for j in range(d):
            if self.kind == BALL:
                total -= (x[j] - m[j]) * (x[j] - m[j]) / (2.0 * v[0])
            elif self.kind == BOX:
                total -= (x[j] - m[j]) * (x[j] - m[j]) / (2.0 * v[j])
            elif self.kind == RATES:
                total += x[j] * log(m[j]) - m[j]
            else:
                total += x[j] * log(m[j])
        return total

    cdef double bound(self, const float *x, int64_t node) noexcept nogil:
        """No less than the exponent of any component below a node."""
        cdef int j, d = self.n_features
        cdef const double *low = self.low + node * d
        cdef const double *high = self.high + node * d
        cdef const double *widest = self.widest + node * d
        cdef const double *m
        cdef double total = 0.0, far
        if self.kind == BALL:
            m = self.mean + <int64_t> self.centre[node] * d
            for j in range(d):
                total += (x[j] - m[j]) * (x[j] - m[j])
            far = sqrt(total) - self.radius[node] * (1.0 + 1e-14)
            total = -far * far / (2.0 * widest[0]) if far > 0.0 else 0.0
        else:
            for j in range(d):
                far = min(max(<double> x[j], low[j]), high[j])
                if self.kind == BOX:
                    total -= (x[j] - far) * (x[j] - far) / (2.0 * widest[j])
                elif self.kind == RATES:
                    total += x[j] * log(far) - far
                else:
                    total += x[j] * log(high[j])
        return total + 8.0 * (d + 2) * 2.3e-16 * fabs(total)

    cdef int64_t open_(
        self, const float *x, Entry *frontier, int64_t n, int64_t at,
        double *bounds, int64_t *n_seen,
    ) noexcept nogil:
        """Put the components and children of the node at a place into its stead.

        The last entry goes to that place; what is new stands behind. Returns how many
        entries there are.
        """
        cdef int64_t node = frontier[at].node, c, r
        cdef double b
        n -= 1
        frontier[at] = frontier[n]
        for r in range(self.row_begin[node], self.own_end[node]):
            c = self.order[r]
            frontier[n].node = -1 - c
            frontier[n].log_mass = self.log_weight[c] + min(
                bounds[node], self.exponent(x, c)
            )
            n += 1
        for r in range(self.child_begin[node], self.child_begin[node + 1]):
            c = self.child[r]
            b = min(bounds[node], self.bound(x, c))
            bounds[c] = b
            frontier[n].node = c
            frontier[n].log_mass = self.log_mass[c] + b
            n += 1
        n_seen[0] += self.own_end[node] - self.row_begin[node]
        n_seen[0] += self.child_begin[node + 1] - self.child_begin[node]
        return n

    cdef int32_t draw(
        self, const float *x, RandomStream *s, Entry *frontier, double *bounds,
        int64_t *n_seen, int64_t *n_trials,
    ) noexcept nogil:
        """A component from its exact posterior at x."""
        cdef int64_t n = 1, i, first, at
        cdef double top, total, target, whole
        bounds[0] = self.bound(x, 0)
        frontier[0].node, frontier[0].log_mass = 0, self.log_mass[0] + bounds[0]
        n_seen[0] += 1
        while True:
            n_trials[0] += 1
            top, total = -INFINITY, 0.0
            for i in range(n):
                top = max(top, frontier[i].log_mass)
            for i in range(n):
                total += exp(frontier[i].log_mass - top)
            target = s.uniform(s) * total
            at = n - 1
            for i in range(n):
                target -= exp(frontier[i].log_mass - top)
                if target < 0.0:
                    at = i
                    break
            while at >= 0 and frontier[at].node >= 0:
                whole = frontier[at].log_mass
                first = n - 1
                n = self.open_(x, frontier, n, at, bounds, n_seen)
                target = s.uniform(s)
                at = -1
                for i in range(first, n):
                    target -= exp(frontier[i].log_mass - whole)
                    if target < 0.0:
                        at = i
                        break
            if at >= 0:
                return <int32_t> (-1 - frontier[at].node)

    cdef void draw_block(
        self, Shard shard, CounterSource source, int64_t time, int64_t first,
        int64_t last, Entry *frontier, double *bounds, int64_t *sums, int64_t *counts,
    ) noexcept nogil:
        cdef int64_t i
        cdef RandomStream s
        for i in range(first, last):
            s = source.open(time, <int32_t> shard.ids[i], LABELLING)
            counts[0] += shard.relabel(
                i,
                self.draw(
                    shard.x + i * shard.n_features, &s, frontier, bounds, &counts[1],
                    &counts[2],
                ),
                sums,
            )

    def outcome(self, const float[::1] x, opened):
        """The frontier once some nodes are open: for tests of the bounds.

        Parameters
        ----------
        x : ndarray of float32 of shape (n_features,)
        opened : sequence of int
            Nodes to open, each a child of an earlier one; the root is 0.

        Returns
        -------
        nodes : ndarray of int64
            Node, or -1 - z for component z.
        log_mass : ndarray of float64
        """
        room = np.empty(
            self.n_nodes + self.n_components + 2,
            dtype=[("log_mass", np.float64), ("node", np.int64)],
        )
        cdef Entry[::1] frontier = room
        cdef double[::1] bounds = np.empty(self.n_nodes)
        cdef int64_t n = 1, i, node, seen = 0
        bounds[0] = self.bound(&x[0], 0)
        frontier[0].node, frontier[0].log_mass = 0, self.log_mass[0] + bounds[0]
        for node in opened:
            for i in range(n):
                if frontier[i].node == node:
                    n = self.open_(&x[0], &frontier[0], n, i, &bounds[0], &seen)
                    break
            else:
                raise ValueError(f"opened must name nodes in the frontier; got {node}.")
        return room["node"][:n].copy(), room["log_mass"][:n].copy()


def sample_rows(
    Shard shard, Means means, CounterSource source, int64_t time, int n_threads
):
    """Draw the labels of all rows from their exact posteriors.

    Returns
    -------
    change : ndarray of int64
        Of the sums, by component.
    n_changed : int
    n_seen : int
        Bounds and weights that were evaluated.
    n_trials : int
    """
    cdef int64_t u, n_units = (shard.n_rows + BLOCK - 1) // BLOCK
    cdef int k
    sums = np.zeros((n_threads, means.n_components, shard.width), dtype=np.int64)
    cdef int64_t[:, :, ::1] change = sums
    room = np.empty(
        (n_threads, means.n_nodes + means.n_components + 2),
        dtype=[("log_mass", np.float64), ("node", np.int64)],
    )
    cdef Entry[:, ::1] frontier = room
    cdef double[:, ::1] bounds = np.empty((n_threads, means.n_nodes))
    tallies = np.zeros((n_units, 3), dtype=np.int64)
    cdef int64_t[:, ::1] counts = tallies
    for u in prange(n_units, nogil=True, num_threads=team(n_threads), schedule="dynamic"):
        k = thread_number()
        means.draw_block(
            shard, source, time, u * BLOCK, min(shard.n_rows, (u + 1) * BLOCK),
            &frontier[k, 0], &bounds[k, 0], &change[k, 0, 0], &counts[u, 0],
        )
    return (sums.sum(axis=0), *(int(v) for v in tallies.sum(axis=0)))
