"""Cloud <-> plain arrays: what copies and checkpoints are made of."""
import numpy as np

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from dyntree._core.trees.arena cimport Arena
from dyntree._core.trees.particles cimport Particles
from dyntree._core.linalg cimport at, packed_size
from dyntree._core.rng cimport RandomSource
from dyntree._core.trees.nodes cimport Leaf, Node
from dyntree._core.types cimport handle_t

cdef int FIRST_ROWS = 10        # as of native leaves
cdef int MOST_TERMS = 64        # columns that a regression takes where some come late

cdef class _Numbering:
    """Canonical numbers of the handles met: splits 1, 2, ...; leaves -1, -2, ..."""

    cdef Arena arena
    cdef readonly dict number
    cdef readonly list nodes
    cdef readonly list leaves

    def __init__(self, Arena arena):
        self.arena = arena
        self.number = {}
        self.nodes = []
        self.leaves = []

    cdef visit(self, handle_t h):
        if h in self.number:
            return
        if h < 0:
            self.leaves.append(h)
            self.number[h] = -len(self.leaves)
            return
        self.nodes.append(h)
        self.number[h] = len(self.nodes)
        self.visit(self.arena.node(h).left)
        self.visit(self.arena.node(h).right)


def to_arrays(Particles cloud, bint growing):
    """A cloud as a header and plain arrays; `growing`: its fresh trees, too.

    Returns
    -------
    header : dict
        Options and counters; numbers, strings and tuples only.
    arrays : dict of ndarray
        Rows in internal order, roots, splits and leaves in the order in which a
        depth-first walk over the particles first meets them, and the random state.
        Equal clouds give equal bytes, wherever their parts lie in memory. Where there
        are fresh trees, their roots, too, and the places of the rows they have yet to
        learn; the walk comes to them last.
    """
    cdef Arena a = cloud.arena
    cdef _Numbering numbering = _Numbering(a)
    cdef int32_t i, k, n_rows = cloud.pool.n_rows
    cdef Node *node
    cdef Leaf *leaf
    cdef int32_t n_fresh = cloud.fresh.n if growing else 0
    for i in range(cloud.n_particles + n_fresh):
        numbering.visit(cloud.root(i))
    number, nodes, leaves = numbering.number, numbering.nodes, numbering.leaves
    X, y, ids = cloud.pool.rows()

    cdef int32_t[::1] place = np.zeros(cloud.pool.capacity + 1, dtype=np.int32)
    for k in range(n_rows):
        place[cloud.pool.order[k]] = k

    variable = np.empty(len(nodes), dtype=np.int32)
    value = np.empty(len(nodes))
    links = np.empty((len(nodes), 5), dtype=np.int32)
    for k, h in enumerate(nodes):
        node = a.node(h)
        variable[k] = node.variable
        value[k] = node.value
        links[k] = (
            number[node.left], number[node.right], node.depth, node.missing_left,
            node.parts_gaps,
        )

    depths = np.empty((len(leaves), 3), dtype=np.int32)
    sums = np.empty((len(leaves), a.n_sums()))
    cdef double[:, ::1] sums_view = sums
    rows, credit = [], []
    for k, h in enumerate(leaves):
        leaf = a.leaf(h)
        depths[k] = leaf.depth, leaf.n_rows, leaf.credit != NULL and leaf.n_rows > 0
        memcpy(&sums_view[k, 0], leaf.active, a.n_sums() * sizeof(double))
        for i in range(leaf.n_rows):
            rows.append(place[leaf.rows[i]])
            if leaf.credit != NULL:
                credit.append(leaf.credit[i])

    header = dict(
        cloud.options, n_retired=cloud.n_retired, n_seen=cloud.pool.n_seen,
        n_degenerate=cloud.n_degenerate, time=cloud.time,
        log_evidence=cloud.log_evidence,
        next_look=cloud.next_look if cloud.next_look < INFINITY else None,
        last_look=cloud.last_look, fades=bool(cloud.fades),
        leaf_model=cloud.leaf_model.to_state(), open_columns=cloud.moves.open_columns(),
        extra_told=cloud.extra_told, n_outside=cloud.n_outside,
    )
    arrays = {
        "X": X, "y": y, "row_ids": ids,
        "roots": np.array(
            [number[cloud.roots[i]] for i in range(cloud.n_particles)], dtype=np.int32
        ),
        "split_variable": variable, "split_value": value, "split_links": links,
        "leaf_shape": depths, "leaf_sums": sums,
        "leaf_rows": np.array(rows, dtype=np.int32),
        "leaf_credit": np.array(credit, dtype=np.float64),
        "random_state": cloud.source.state,
    }
    if cloud.pool.is_weighted:
        arrays["weights"] = cloud.pool.weights()
    if cloud.pool.is_exposed:
        arrays["xi" if cloud.leaf_model.has_xi else "exposures"] = cloud.pool.exposures()
    if not cloud.numerics.spans_active:
        arrays["spans"] = cloud.pool.seen.table.copy()
    if cloud.is_robust:
        arrays["leaf_outside"] = np.array(
            [a.leaf(h).n_outside for h in leaves], dtype=np.int32
        )
    if n_fresh:
        arrays["fresh_roots"] = np.array(
            [number[cloud.fresh.roots[i]] for i in range(n_fresh)], dtype=np.int32
        )
        arrays["waiting"] = np.array(
            [place[cloud.fresh.waiting[k]] for k in range(cloud.fresh.n_waiting)],
            dtype=np.int32,
        )
    return header, arrays


def computed_sums(Particles cloud):
    """What `leaf_sums` would be, by leaf in the order of `to_arrays`.

    Returns
    -------
    active : ndarray of shape (n_leaves, stride)
        Sums over the rows of each leaf, added up anew.
    derived : ndarray of shape (n_leaves, n_derived)
        What the leaf model derives from the sums as they stand.
    """
    cdef Arena a = cloud.arena
    cdef _Numbering numbering = _Numbering(a)
    cdef int32_t i, k
    cdef Leaf *leaf
    for i in range(cloud.n_particles + cloud.fresh.n):
        numbering.visit(cloud.root(i))
    cdef double[::1] stored = np.empty(a.n_sums())
    active = np.empty((len(numbering.leaves), a.stride))
    derived = np.empty((len(numbering.leaves), a.n_derived))
    cdef double[:, ::1] active_view = active, derived_view = derived
    for k, h in enumerate(numbering.leaves):
        leaf = a.leaf(h)
        memcpy(&stored[0], leaf.active, a.n_sums() * sizeof(double))
        cloud.leaf_model.settle(leaf, cloud.pool)
        cloud.leaf_model.refresh_all(leaf)
        cloud.leaf_model.conditional_evidence(leaf)     # which are made when asked for
        cloud.leaf_model.active_evidence(leaf)
        memcpy(&derived_view[k, 0], leaf.derived, a.n_derived * sizeof(double))
        cloud.leaf_model.sum_rows(leaf, cloud.pool)
        memcpy(&active_view[k, 0], leaf.active, a.stride * sizeof(double))
        memcpy(leaf.active, &stored[0], a.n_sums() * sizeof(double))
    return active, derived


def from_arrays(kind, header, arrays, RandomSource source):
    """The cloud of class `kind` that `to_arrays` described, drawing from `source`."""
    counters = (
        "n_retired", "n_seen", "n_degenerate", "time", "log_evidence", "next_look",
        "last_look", "fades", "leaf_model", "open_columns", "extra_told",
        "n_outside",
    )
    options = {name: header[name] for name in header if name not in counters}
    cdef Particles cloud = kind(source, **options)
    cloud.leaf_model.from_state(header["leaf_model"])
    if header["fades"]:
        cloud.let_fade()
    cloud.moves.set_open_columns(header["open_columns"])
    cdef Arena a = cloud.arena
    cdef const int32_t[:, ::1] shape = arrays["leaf_shape"]
    cdef const int32_t[:, ::1] links = arrays["split_links"]
    cdef const int32_t[::1] variable = arrays["split_variable"]
    cdef const int32_t[::1] rows = arrays["leaf_rows"]
    cdef const double[::1] value = arrays["split_value"]
    cdef const double[::1] credit = arrays["leaf_credit"]
    cdef const double[:, ::1] sums = arrays["leaf_sums"]
    cdef const int32_t[::1] outside = arrays.get("leaf_outside")
    cdef Py_ssize_t k, i, n_rows = 0, n_credit = 0
    cdef int32_t n_nodes = <int32_t> value.shape[0]
    cdef int32_t n_leaves = <int32_t> shape.shape[0]
    cdef Node *node
    cdef Leaf *leaf
    if a.reserve(n_nodes, n_leaves) < 0:
        raise MemoryError()
    cloud.pool.load(
        arrays["X"], arrays["y"], arrays["row_ids"], header["n_seen"],
        arrays.get("weights"), arrays.get("exposures", arrays.get("xi")),
    )
    if "spans" in arrays:
        cloud.pool.seen.table[...] = arrays["spans"]
    cdef handle_t[::1] node_at = np.empty(n_nodes + 1, dtype=np.int32)
    cdef handle_t[::1] leaf_at = np.empty(n_leaves + 1, dtype=np.int32)
    for k in range(n_leaves):
        leaf_at[k + 1] = a.take_leaf()
        leaf = a.leaf(leaf_at[k + 1])
        leaf.refs = 0
        leaf.depth = shape[k, 0]
        leaf.n_outside = outside[k] if cloud.is_robust else 0
        cloud.max_depth = max(cloud.max_depth, leaf.depth)
        if a.reserve_rows(leaf, shape[k, 1]) < 0:
            raise MemoryError()
        leaf.n_rows = shape[k, 1]
        if shape[k, 2] and a.reserve_credit(leaf) < 0:
            raise MemoryError()
        for i in range(leaf.n_rows):
            leaf.rows[i] = cloud.pool.order[rows[n_rows + i]]
            if shape[k, 2]:
                leaf.credit[i] = credit[n_credit + i]
        n_rows += leaf.n_rows
        n_credit += leaf.n_rows if shape[k, 2] else 0
        memcpy(leaf.active, &sums[k, 0], a.n_sums() * sizeof(double))
    for k in range(n_nodes):
        node_at[k + 1] = a.take_node()
        a.node(node_at[k + 1]).refs = 0
    for k in range(n_nodes):
        node = a.node(node_at[k + 1])
        node.variable = variable[k]
        node.value = value[k]
        node.depth = links[k, 2]
        node.missing_left = links[k, 3]
        node.parts_gaps = links[k, 4]
        node.left = node_at[links[k, 0]] if links[k, 0] > 0 else leaf_at[-links[k, 0]]
        node.right = node_at[links[k, 1]] if links[k, 1] > 0 else leaf_at[-links[k, 1]]
        a.share(node.left)
        a.share(node.right)
    if "fresh_roots" in arrays:
        plant(cloud, arrays["fresh_roots"], node_at, leaf_at)
        cloud.exchange()
        load_waiting(cloud, arrays["waiting"])
    plant(cloud, arrays["roots"], node_at, leaf_at)
    cloud.n_retired = header["n_retired"]
    cloud.n_degenerate = header["n_degenerate"]
    cloud.time = header["time"]
    cloud.log_evidence = header["log_evidence"]
    look = header["next_look"]
    cloud.next_look = INFINITY if look is None else look
    cloud.last_look = header["last_look"]
    cloud.extra_told = header["extra_told"]
    cloud.n_outside = header["n_outside"]
    return cloud


cdef int plant(
    Particles cloud, const int32_t[::1] roots, handle_t[::1] node_at,
    handle_t[::1] leaf_at,
) except -1:
    """Give a cloud its particles, by the numbers of their roots."""
    cdef Py_ssize_t k
    cloud.make_room(<int32_t> roots.shape[0])
    for k in range(roots.shape[0]):
        cloud.roots[k] = node_at[roots[k]] if roots[k] > 0 else leaf_at[-roots[k]]
        cloud.arena.share(cloud.roots[k])
    cloud.n_particles = <int32_t> roots.shape[0]
    return 0


cdef int load_waiting(Particles cloud, const int32_t[::1] places) except -1:
    """Tell the fresh trees which rows they have yet to learn."""
    cdef Py_ssize_t k
    cloud.fresh.reserve(cloud.pool.n_rows)
    for k in range(places.shape[0]):
        cloud.fresh.wait(cloud.pool.order[places[k]])
    return 0


def with_classes(header, arrays, int n_classes):
    """Header and arrays of a cloud whose leaves know more labels, the new ones last."""
    cdef int old = header["n_classes"]
    if header["model"] == "logit":      # whose sums are of two in any case
        return dict(header, n_classes=n_classes), arrays
    sums = np.zeros((len(arrays["leaf_sums"]), 2 * n_classes + 4))
    sums[:, :old + 1] = arrays["leaf_sums"][:, :old + 1]
    retired = arrays["leaf_sums"][:, old + 1:2 * old + 2]
    sums[:, n_classes + 1:n_classes + old + 2] = retired
    return dict(header, n_classes=n_classes), dict(arrays, leaf_sums=sums)


def with_columns(header, arrays, X, spans, int stride):
    """Header and arrays of a cloud of native rules with more columns, the new ones last.

    So is a cloud whose rows had these columns from the first on, where they were 0. In
    the regressions of leaves such columns have no unit yet (`fix_units`): they
    stand at their centre, and all their products are 0.
    """
    old, new = header["n_basis"], X.shape[1]
    # and not only the leading ones; a row costs the square of their number
    is_regression = header["model"] in ("linear", "logit")
    has_all = old == header["n_features"] and (not is_regression or new <= MOST_TERMS)
    header = dict(header, n_features=new, n_basis=new if has_all else old)
    arrays = dict(arrays, X=X, spans=spans)
    if not (is_regression and has_all):
        return header, arrays
    state, more = dict(header["leaf_model"]), new - old
    for name, value in ("centre", 0.0), ("spread", 0.0):
        state[name] = [*state[name], *[value] * more]
    for name, value in ("middle", 0.0), ("spreads", 1.0):
        state[name] = [*state[name][:old], *[value] * more, *state[name][old:]]
    if "widest" in state:       # as of a column that was the same in all rows
        widest = sqrt(FIRST_ROWS / <double> max(state["n_told"], FIRST_ROWS))
        state["widest"] = [*state["widest"], *[widest] * more]
    header["leaf_model"] = state
    arrays["leaf_sums"] = with_terms(arrays["leaf_sums"], stride, old, new)
    return header, arrays


def with_terms(sums, int stride, int old, int new):
    """Sums of leaves whose regressions have more columns, which were 0 in all rows.

    What is derived from them is not that of the new ones.
    """
    cdef int i, j, first = stride - packed_size(old + 2)
    cdef int wide = first + packed_size(new + 2)
    places = np.empty(stride, dtype=np.intp)
    places[:first] = np.arange(first)
    for j in range(old + 2):
        for i in range(j + 1):
            places[first + at(i, j)] = first + at(
                i if i <= old else new + 1, j if j <= old else new + 1
            )
    n_derived = sums.shape[1] - 2 * stride
    wider = np.zeros((len(sums), 3 * wide + n_derived - stride + (
        packed_size(new + 2) - packed_size(old + 2)
    )))
    ends = sums.shape[1] - stride, wider.shape[1] - wide
    for begin, place in (0, 0), (stride, wide), ends:   # active, retired, inherited ones
        wider[:, place + places] = sums[:, begin:begin + stride]
    return wider


def with_weights(header, arrays, weighting, int stride):
    """Header and arrays of a cloud whose rows may have weights; all weigh 1 until then.

    Where they divide variances, sums of regression leaves count rows in front: what is
    now their first product.
    """
    sums = arrays["leaf_sums"]
    if weighting == "variance":
        starts = [0, stride, sums.shape[1] - stride]    # active, retired, inherited ones
        sums = np.insert(sums, starts, sums[:, starts], axis=1)
    return (
        dict(header, weighting=weighting),
        dict(arrays, leaf_sums=sums, weights=np.ones(len(arrays["y"]))),
    )


def without_rows(header, arrays, int stride):
    """Header and arrays of a cloud all of whose rows are retired."""
    sums, shape = arrays["leaf_sums"].copy(), arrays["leaf_shape"].copy()
    sums[:, stride:2 * stride] += sums[:, :stride]
    sums[:, :stride] = 0.0
    shape[:, 1:] = 0
    spans = np.full_like(arrays["spans"], np.nan)
    spans[:, 2] = 0.0
    spans[:, 3] = arrays["spans"][:, 3]
    empty = {name: arrays[name][:0] for name in (
        "X", "y", "row_ids", "leaf_rows", "leaf_credit", "weights", "exposures", "xi",
    ) if name in arrays}
    return (
        dict(header, n_retired=header["n_seen"]),
        dict(arrays, leaf_sums=sums, leaf_shape=shape, spans=spans, **empty),
    )
