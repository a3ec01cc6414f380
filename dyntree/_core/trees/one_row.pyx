"""One row for many models at once, without tables and a way back to Python between.

Every answer, and what is learned, is bit for bit that of `query`, `roll` and `Forest`,
whose tables pay for many rows.
"""
import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dyntree._core cimport averaging
from dyntree._core.averaging import stack
from dyntree._core.trees.block_sums cimport COMPONENT_WIDTH, without_noise
from dyntree._core.trees.cloud cimport Cloud
from dyntree._core.trees.forest cimport Forest
from dyntree._core.trees.gap_answers cimport mixture_over
from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.linear_filters cimport LinearFilters
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.trees.particles cimport Particles
from dyntree._core.trees.random_trees cimport Knot, Room, first_way
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.window cimport foresee, take
from dyntree._core.types cimport handle_t

cdef struct Leaves:         # the distinct leaves that a row meets, in order of coming
    handle_t *handles       # (room,)
    double *counts          # (room,) particles of each
    int32_t *places         # (n_places,) in them, from 1 on; 0: free
    int32_t n, n_places     # the latter a power of two


cdef void gather(Leaves *found, Particles c, const double *x) noexcept nogil:
    """Find the leaves of all particles at x."""
    cdef int32_t i, k
    cdef handle_t h
    found.n = 0
    memset(found.places, 0, found.n_places * sizeof(int32_t))
    for i in range(c.n_particles):
        h = find_leaf(c.arena, c.roots[i], x)
        k = (-h) & (found.n_places - 1)
        while found.places[k] and found.handles[found.places[k] - 1] != h:
            k = (k + 1) & (found.n_places - 1)
        if not found.places[k]:
            found.handles[found.n] = h
            found.counts[found.n] = 0.0
            found.n += 1
            found.places[k] = found.n
        found.counts[found.places[k] - 1] += 1.0


cdef int open_leaves(Leaves *found, object members) except -1:
    """Room for the leaves of the largest of some clouds."""
    cdef int64_t most = 1
    for member in members:
        if isinstance(member, Particles):
            most = max(most, (<Particles> member).n_particles)
    found.n_places = 4
    while found.n_places < 2 * most:
        found.n_places *= 2
    found.handles = <handle_t *> malloc(most * sizeof(handle_t))
    found.counts = <double *> malloc(most * sizeof(double))
    found.places = <int32_t *> malloc(found.n_places * sizeof(int32_t))
    if found.handles == NULL or found.counts == NULL or found.places == NULL:
        close_leaves(found)
        raise MemoryError()
    return 0


cdef void close_leaves(Leaves *found) noexcept:
    free(found.handles)
    free(found.counts)
    free(found.places)


cdef double add_cloud(
    Particles c, const double *x, double weight, Leaves *found, double *out, double total,
    double low, double high,
) noexcept nogil:
    """A total, and the weighted locations of a cloud's leaves, clipped to two ends."""
    cdef int32_t k
    gather(found, c, x)
    for k in range(found.n):
        c.leaf_model.predict(c.arena.leaf(found.handles[k]), x, out)
        total += weight * (found.counts[k] / <double> c.n_particles) * min(
            max(out[0], low), high
        )
    return total


cdef double add_cloud_over(
    Particles c, const double[:, ::1] row, double weight, double total, double low,
    double high,
) except? -1.0:
    """`add_cloud` at a row that misses values."""
    _, shares, locations, *_ = mixture_over(c, row)
    for share, location in zip(shares, locations):
        total += weight * share * min(max(location, low), high)
    return total


cdef double add_forest(
    Forest f, const double *x, double weight, Room *room, double total
) noexcept nogil:
    """A total, and the weighted means of the nodes that the row passes in each tree."""
    cdef int64_t now = f.ring.n_seen
    cdef const Knot *v
    cdef int32_t k, h, n
    cdef double w, rest
    cdef bint gaps = has_gap(x, f.law.n_features)
    for k in range(f.n_trees):
        first_way(room, gaps)
        while True:
            n = f.walk(&f.trees[k], x, now, False, room)
            rest = room.share / f.n_trees
            for h in range(n):
                v = &f.trees[k].knots[room.path[h]]
                w = 1.0 if h == n - 1 else f.pruned(v, f.fading(v.last, now))
                total += weight * (rest * w) * room.own[<int64_t> h * 4 + 1]
                rest *= 1.0 - w
            if not (gaps and f.next_way(room)):
                break
    return total


cdef const double *row_of(const double[:, ::1] x, object members) except NULL:
    """The values of a row, once it is known to be as wide as every model."""
    cdef int32_t width
    for member in members:
        if isinstance(member, Forest):
            width = (<Forest> member).ring.n_features
        elif isinstance(member, LinearFilters):
            width = (<LinearFilters> member).n_features
        else:
            width = (<Particles?> member).pool.n_features
        if x.shape[0] != 1 or x.shape[1] != width or not width:
            raise ValueError(
                f"row must be of shape (1, {width}); got ({x.shape[0]}, {x.shape[1]})."
            )
    return &x[0, 0]


cdef int32_t classes_of(object member):
    """How many classes a model has."""
    if isinstance(member, Forest):
        return (<Forest> member).n_classes
    if isinstance(member, LinearFilters):
        return (<LinearFilters> member).n_classes
    return (<Particles> member).leaf_model.n_classes


cdef bint counts(object member):
    """Whether a model is of counts."""
    if isinstance(member, LinearFilters):
        return (<LinearFilters> member).is_count
    return (<Particles?> member).leaf_model.is_count


def mean(
    members, const double[::1] weights, const double[:, ::1] row,
    double low=-INFINITY, double high=INFINITY,
):
    """Mean of the weighted mixture of what models of real responses say of a row.

    Parameters
    ----------
    members : list of Cloud or Forest of length n_members
        Clouds under native rules.
    weights : ndarray of shape (n_members,)
    row : ndarray of shape (1, n_features)
    low, high : float, optional
        Bounds to which the locations of clouds are clipped.

    Returns
    -------
    float
    """
    cdef const double *x = row_of(row, members)
    cdef Leaves found
    cdef Room room
    cdef double total = 0.0
    cdef Py_ssize_t k, n_out = 1
    if weights.shape[0] != len(members):
        raise ValueError(f"weights must be {len(members)}; got {weights.shape[0]}.")
    for member in members:
        if isinstance(member, Particles):
            n_out = max(n_out, (<Particles> member).leaf_model.n_out)
    open_leaves(&found, members)
    cdef double *out = <double *> malloc(n_out * sizeof(double))
    try:
        if out == NULL:
            raise MemoryError()
        for k, member in enumerate(members):
            if isinstance(member, Forest):
                try:    # which is to be closed even where it could not be opened
                    (<Forest> member).open(&room)
                    total = add_forest(member, x, weights[k], &room, total)
                finally:
                    (<Forest> member).close(&room)
            elif has_gap(x, <int32_t> row.shape[1]):
                total = add_cloud_over(member, row, weights[k], total, low, high)
            else:
                total = add_cloud(
                    member, x, weights[k], &found, out, total, low, high
                )
    finally:
        close_leaves(&found)
        free(out)
    return total


cdef int64_t most_components(object members):
    """How many components a row can have in all models together."""
    cdef int64_t most = 1
    for member in members:
        if isinstance(member, Forest):
            most += (<Forest> member).n_trees * (
                <int64_t> (<Forest> member).most_depth + 1
            )
        else:
            most += (<Particles> member).n_particles
    return most


cdef int64_t write_cloud(
    Particles c, const double *x, double weight, double factor, Leaves *found,
    double *scratch, double *out,
) noexcept nogil:
    """Write the components of a cloud, as `Forest.write_laws` does; returns how many."""
    cdef const Leaf *leaf
    cdef int32_t k
    gather(found, c, x)
    for k in range(found.n):
        leaf = c.arena.leaf(found.handles[k])
        c.leaf_model.predict(leaf, x, scratch)
        out[0] = weight * (found.counts[k] / <double> c.n_particles)
        memcpy(out + 1, scratch, 3 * sizeof(double))
        out[4] = without_noise(
            out[2],
            c.leaf_model.noise * c.leaf_model.sum_squares(leaf) / c.leaf_model.df(leaf),
        )
        out[2] *= factor
        out += COMPONENT_WIDTH
    return found.n


cdef int64_t write_forest(
    Forest f, const double *x, double weight, Room *room, double *out
) noexcept nogil:
    """Write the components of random trees; returns how many."""
    cdef int64_t now = f.ring.n_seen, n_found = 0, h
    cdef int32_t k, n
    for k in range(f.n_trees):
        first_way(room, False)
        n = f.walk(&f.trees[k], x, now, False, room)
        f.write_laws(&f.trees[k], n, now, room, out + n_found * COMPONENT_WIDTH)
        n_found += n
    for h in range(n_found):
        out[h * COMPONENT_WIDTH] *= weight
    return n_found


def mixture(
    members, const double[::1] weights, const double[:, ::1] row, double factor=1.0,
    tuple more=None,
):
    """The weighted mixture of what models of real responses say of a row without gaps.

    Parameters
    ----------
    members, weights, row
        As for `mean`.
    factor : float, default 1.0
        What the scales of clouds are multiplied by, but not those of their means.
    more : tuple of five floats, optional
        A last component: weight, location, scale, degrees of freedom, scale of the mean.

    Returns
    -------
    tuple of ndarray, or None
        As of `query.mixture`, for all models together. None for a row with a gap, which
        takes other ways.
    """
    cdef const double *x = row_of(row, members)
    cdef int64_t n = 0
    cdef Py_ssize_t k, n_out = 1
    cdef Leaves found
    cdef Room room
    if weights.shape[0] != len(members):
        raise ValueError(f"weights must be {len(members)}; got {weights.shape[0]}.")
    if has_gap(x, <int32_t> row.shape[1]):
        return None
    for member in members:
        if isinstance(member, Particles):
            n_out = max(n_out, (<Particles> member).leaf_model.n_out)
    cdef double[:, ::1] laws = np.empty((most_components(members) + 1, COMPONENT_WIDTH))
    cdef double[::1] scratch = np.empty(n_out)
    open_leaves(&found, members)
    try:
        for k, member in enumerate(members):
            if isinstance(member, Forest):
                try:    # which is to be closed even where it could not be opened
                    (<Forest> member).open(&room)
                    n += write_forest(member, x, weights[k], &room, &laws[n, 0])
                finally:
                    (<Forest> member).close(&room)
            else:
                n += write_cloud(
                    member, x, weights[k], factor, &found, &scratch[0], &laws[n, 0]
                )
    finally:
        close_leaves(&found)
    if more is not None:
        for k in range(COMPONENT_WIDTH):
            laws[n, k] = more[k]
        n += 1
    return np.array([0, n]), *np.ascontiguousarray(np.asarray(laws)[:n].T)


def proba(members, const double[:, ::1] row):
    """Probabilities of the classes at a row by each of some models.

    Parameters
    ----------
    members : list of Cloud, Forest or LinearFilters of length n_members
        Clouds under native rules, all of the same classes.
    row : ndarray of shape (1, n_features)

    Returns
    -------
    ndarray of shape (n_members, n_classes)
    """
    cdef const double *x = row_of(row, members)
    cdef int32_t c, n_classes = classes_of(members[0])
    cdef Py_ssize_t k
    cdef Room room
    cdef Forest forest
    cdef LinearFilters filters
    if any(classes_of(member) != n_classes for member in members):
        raise ValueError("members must have the same classes.")
    found = np.zeros((len(members), n_classes))
    cdef double[:, ::1] out = found
    for k, member in enumerate(members):
        if isinstance(member, Forest):
            forest = member
            try:
                forest.open(&room)
                forest.add_proba(x, forest.ring.n_seen, &room, &out[k, 0])
            finally:
                forest.close(&room)
            for c in range(n_classes):
                out[k, c] /= forest.n_trees
        elif isinstance(member, LinearFilters):
            filters = member
            filters.foresee(x, &out[k, 0], &filters.room[0])
        else:
            foresee(<Cloud?> member, x, &out[k, 0])
    return found


def learn(
    members, terms, const double[:, ::1] row, double y, double[:, ::1] proba=None,
    double weight=1.0, double exposure=1.0,
):
    """Let every model learn a row: clouds, then the others.

    If the row lay outside in robust clouds, forests learn it with the median of the
    parts of its weight that it counted with there.

    Parameters
    ----------
    members : list of Cloud, Forest or LinearFilters of length n_members
        Clouds under native rules; all of the same classes, or of real responses.
    terms : list of length n_members
        Window, rule, forgetting and rows between rejuvenations of each cloud, as
        `window.roll` takes them; None of others.
    row : ndarray of shape (1, n_features)
    y : float
        Response, or place of the label.
    proba : ndarray of shape (n_members, n_classes), optional
        Written: what each model says of the classes before it learns. Of shape
        (n_members, 1) for real responses: what each cloud gives a response below y.
    weight : float, default 1.0
        Of the row; another than 1 is for weighted models.
    exposure : float, default 1.0
        Of the row, in the clouds' unit; another than 1 is for counts.

    Returns
    -------
    ndarray of shape (n_members,)
        Log predictive densities, or log probabilities of the label.
    """
    cdef const double *x = row_of(row, members)
    cdef int32_t n_classes = classes_of(members[0]), most = 1
    cdef Py_ssize_t k
    cdef double *ahead
    cdef double *predicted
    cdef double[::1] spare
    cdef Room room
    if weight != 1.0 and any(member.weighting is None for member in members):
        raise ValueError(f"members must be weighted for a weight of {weight}.")
    if exposure != 1.0:
        for member in members:
            if not counts(member):
                raise ValueError(f"members must count for an exposure of {exposure}.")
    if len(terms) != len(members) or proba is not None and (
        proba.shape[0] != len(members) or proba.shape[1] != max(1, n_classes)
    ):
        raise ValueError("terms and proba must have one entry for each of members.")
    for member in members:
        if classes_of(member) != n_classes:
            raise ValueError("members must have the same classes.")
        if isinstance(member, Forest):
            most = max(most, (<Forest> member).n_trees * (<Forest> member).n_ahead)
    if n_classes and not (0 <= y < n_classes and y == <int> y):
        raise ValueError(f"y must be a label 0..{n_classes - 1}; got {y}.")
    found = np.zeros(len(members))
    shares = []                 # of the weight, with which the row counted in each cloud
    cdef double[::1] out = found
    ahead = <double *> malloc(<size_t> most * sizeof(double))
    if ahead == NULL:
        raise MemoryError()
    try:
        for k, member in enumerate(members):
            if not isinstance(member, (Forest, LinearFilters)):
                window, rule, forget, every = terms[k]
                take(
                    <Cloud?> member, x, y, weight, exposure, window, rule, forget,
                    every, NULL if proba is None else &proba[k, 0], &out[k],
                )
                shares.append((<Cloud> member).last_share)
        if min(shares, default=1.0) < 1.0:
            weight *= np.median(shares)
        for k, member in enumerate(members):
            predicted = NULL if proba is None else &proba[k, 0]
            if isinstance(member, LinearFilters):
                if predicted == NULL:
                    spare = np.empty(max(1, n_classes))
                    predicted = &spare[0]
                out[k] = (<LinearFilters> member).take(
                    x, y, weight, exposure, predicted
                )
            elif isinstance(member, Forest):
                try:
                    (<Forest> member).open(&room)
                    out[k] = (<Forest> member).take(
                        x, y, weight, &room, ahead, predicted
                    )
                finally:
                    (<Forest> member).close(&room)
    finally:
        free(ahead)
    return found


def learn_averaged(
    members, terms, const double[:, ::1] row, double y, double weight, double exposure,
    double discount, double tempering, double[::1] log_weights, double[::1] evidence,
    tuple stacker=None, double[::1] spread=None, double[::1] persistence=None,
    tuple beside=None,
):
    """Let every model of an average learn a row, and the row move their weights.

    It is one call, so that no interrupt comes between a row and its weights; there is
    Python in it only if robust clouds meet a row that lies outside.

    Parameters
    ----------
    members, terms, row, y, weight, exposure
        As for `learn`.
    discount, tempering, log_weights
        As for `averaging.weigh`.
    evidence : ndarray of shape (1,)
        The log density of the row under the average is added to it.
    stacker : tuple, optional
        Of labels: coefficients, their covariance, the log weights of average and
        regression (arrays that are changed in place), and their discount.
    spread : ndarray of shape (2,), optional
        Of real responses: as for `averaging.spread`.
    persistence : ndarray of shape (4,), optional
        Of real responses, in a unit that is known: as for
        `averaging.weigh_persistently`. There is one more of `log_weights` then.
    beside : tuple, optional
        Of counts: the log weights of the average, and of each of the last members, which
        stand beside it, and their discount. There are as many fewer of `log_weights`.
    """
    cdef Py_ssize_t n_beside = 0 if beside is None else len(beside[0]) - 1
    cdef Py_ssize_t m = len(members) - n_beside, n = m + (persistence is not None)
    cdef double[::1] found, scratch = np.empty(n), log_shares, densities
    cdef double[2] both
    cdef double value
    cdef bint divides
    cdef double[:, ::1] below
    proba = None if stacker is None else np.empty((m, classes_of(members[0])))
    if spread is not None:
        proba = np.full((m, 1), np.nan)
    if log_weights.shape[0] != n or evidence.shape[0] != 1:
        raise ValueError(f"log_weights must be of {n} models, and evidence of one row.")
    if persistence is not None and persistence.shape[0] != 4:
        raise ValueError(f"persistence must be four; got {persistence.shape[0]}.")
    divides = (<object> members[0]).weighting != "frequency"
    found = learn(members, terms, row, y, proba, weight, exposure)
    if persistence is None:
        value = averaging.weigh_row(
            &found[0], discount, tempering, &log_weights[0], &scratch[0], m
        )
    else:
        densities = np.empty(n)
        densities[:m] = found
        value = averaging.weigh_with_persistence(
            &densities[0], discount, tempering, &log_weights[0], &scratch[0], m,
            &persistence[0], y, weight, persistence[3], divides, 1.0,
        )
    if spread is not None:
        below = proba
        averaging.spread_row(&below[0, 0], &scratch[0], &spread[0], m)
    if beside is not None:
        log_shares = beside[0]
        densities = np.concatenate([[value], found[m:]])
        scratch = np.empty(n_beside + 1)    # weights, which are written first
        value = averaging.weigh_row(
            &densities[0], beside[1], 1.0, &log_shares[0], &scratch[0], n_beside + 1
        )
    if stacker is not None:
        times = None if weight == 1.0 else np.array([weight])
        log_shares = stacker[2]
        both[0] = value
        both[1] = stack(proba[None], np.array([y]), stacker[0], stacker[1], times)[0]
        value = averaging.weigh_row(
            both, stacker[3], 1.0, &log_shares[0], &scratch[0], 2
        )
    evidence[0] += value
