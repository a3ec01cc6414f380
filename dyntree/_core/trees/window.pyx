"""Window: rows come in and rows go out, one by one, without a way back to Python."""
import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from dyntree._core.rng cimport RandomSource
from dyntree._core.scipy_special cimport stdtr
from dyntree._core.trees.cloud cimport Cloud
from dyntree._core.trees.gap_answers cimport classes_over
from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.nodes cimport Leaf
from dyntree._core.trees.rejuvenation cimport regrow
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.criteria import alc_active, entropy_active
from dyntree._core.types cimport NONE, handle_t, slot_t

cdef double ROUNDING = 1e-12    # relative, of a sum over particles


cdef int32_t oldest(Cloud c, const double *values) noexcept nogil:
    """Place of the first active row to arrive, among those of the least value.

    Values that differ by rounding alone count as equal.
    """
    cdef const int64_t *ids = c.pool.ids
    cdef double least = INFINITY
    cdef int32_t k, best = -1
    for k in range(c.pool.n_rows):
        least = min(least, values[k])
    least += ROUNDING * fabs(least)
    for k in range(c.pool.n_rows):
        if values[k] > least:
            continue
        if best < 0 or ids[c.pool.order[k]] < ids[c.pool.order[best]]:
            best = k
    return best


def worth(Cloud c, rule, RandomSource source=None):
    """What each active row still tells, ndarray of float64 in internal order.

    Parameters
    ----------
    c : Cloud
    rule : {"alc", "entropy", "age", "random"}
        Reduction of variance over the rectangle of `Cloud.spans`, entropy of the row's
        leaf, number of the row, or chance.
    source : RandomSource, optional
        Where "random" draws from, by default the cloud's own source, which then goes on
        from there.
    """
    if rule == "age":
        return c.row_ids().astype(np.float64)
    if rule == "random":
        return (c.source if source is None else source).uniforms(c.pool.n_rows)
    if rule == "entropy":
        return entropy_active(c)
    return alc_active(c, *c.spans(), False)


def next_to_go(Cloud c, rule):
    """Place of the active row that is worth least; parameters are those of `worth`.

    Rows of a constant or class leaf are worth the same to it. Of such rows the oldest
    goes: were it the newest, a window in one leaf would never change, and the leaf
    never split. Under R's rules it is the first, as R's which.min would have it.
    """
    if rule == "age":
        return c.pool.position_of(c.pool.eldest)
    cdef const double[::1] values = worth(c, rule)
    if c.numerics.spares_oldest:
        return int(np.argmin(values))
    return oldest(c, &values[0])


cdef int foresee(Cloud c, const double *x, double *proba) except -1:
    """Probabilities of the classes at x, averaged over particles."""
    cdef const double[:, ::1] row
    cdef int32_t k
    cdef double *out
    if not has_gap(x, c.pool.n_features):
        out = <double *> malloc(c.leaf_model.n_out * sizeof(double))
        if out == NULL:
            raise MemoryError()
        with nogil:
            add_proba(c, x, proba, out)
        free(out)
        return 0
    row = <double[:1, :c.pool.n_features]> <double *> x
    averages = classes_over(c, row)
    for k in range(c.leaf_model.n_classes):
        proba[k] = averages[0, k]
    return 0


cdef int foresee_tail(
    Cloud c, const double *x, double y, double w, double *below
) except -1:
    """Predictive probability of a response of weight w below y; NaN at a row with a gap.
    """
    cdef double *out
    if has_gap(x, c.pool.n_features):
        below[0] = NAN
        return 0
    out = <double *> malloc(c.leaf_model.n_out * sizeof(double))
    if out == NULL:
        raise MemoryError()
    with nogil:
        below[0] = mean_below(c, x, y, w, out)
    free(out)
    return 0


cdef double mean_below(
    Cloud c, const double *x, double y, double w, double *out
) noexcept nogil:
    """`foresee_tail`, with scratch of `n_out` doubles.

    What a leaf predicts has the noise of a response that is asked about; this one has
    the noise of its weight.
    """
    cdef double total = 0.0, own = 0.0, sigma
    cdef handle_t h, before = NONE
    cdef Leaf *leaf
    cdef int32_t i
    for i in range(c.n_particles):
        h = find_leaf(c.arena, c.roots[i], x)
        if h != before:         # copies stand side by side
            before = h
            leaf = c.arena.leaf(h)
            c.leaf_model.predict(leaf, x, out)
            sigma = c.leaf_model.sum_squares(leaf) / c.leaf_model.df(leaf)
            own = stdtr(
                out[2],
                (y - out[0])
                / sqrt(out[1] * out[1] + (1.0 / w - c.leaf_model.noise) * sigma),
            )
        total += own
    return total / c.n_particles


cdef void add_proba(
    Cloud c, const double *x, double *proba, double *out
) noexcept nogil:
    """`foresee` at a row without a gap, with scratch of `n_out` doubles."""
    cdef int32_t i, k, n = c.leaf_model.n_classes
    cdef Leaf *leaf
    for k in range(n):
        proba[k] = 0.0
    for i in range(c.n_particles):
        leaf = c.arena.leaf(find_leaf(c.arena, c.roots[i], x))
        c.leaf_model.add_proba(leaf, x, proba, out)
    for k in range(n):
        proba[k] /= c.n_particles


cdef int take(
    Cloud c, const double *x, double y, double w, double e, int64_t window, rule,
    double forget, int64_t every, double *proba, double *log_density,
) except -1:
    """Learn a row, retire rows until at most `window` are active, and regrow trees."""
    cdef int64_t seen = c.pool.n_seen
    cdef slot_t slot
    interrupt = drawn = None
    if proba != NULL and c.leaf_model.n_classes:
        foresee(c, x, proba)
    elif proba != NULL:
        foresee_tail(c, x, y, w if c.weighting == "variance" else 1.0, proba)
    try:
        c.learn(x, y, w, e, log_density, 0, None)
    except KeyboardInterrupt as error:
        if c.pool.n_seen == seen:
            raise
        interrupt = error
    while c.pool.n_rows > window:
        try:
            if drawn is None and rule == "random":
                drawn = c.source.save()
            if rule == "age":
                slot = c.pool.eldest
            else:
                slot = c.pool.order[<int32_t> next_to_go(c, rule)]
        except KeyboardInterrupt as error:
            interrupt = error
            if drawn is not None:
                c.source.restore(drawn)
        else:
            c.give_up(slot, forget)
            drawn = None
    regrow(c, every)
    if interrupt is not None:
        raise interrupt
    return 0


def roll(
    Cloud c, const double[:, ::1] X, const double[::1] y, int64_t window, rule,
    double forget, int64_t every=0, double[:, ::1] proba=None,
    const double[::1] weights=None, const double[::1] exposures=None,
    double[::1] shares=None,
):
    """Learn rows in order; after each retire rows until at most `window` are active.

    Then let fresh trees grow, see `regrow`.

    Parameters
    ----------
    c : Cloud
        Under native rules.
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    window : int
        >= 1.
    rule
        As in `worth`.
    forget : float in [0, 1]
        As in `Cloud.retire`.
    every : int, default 0
        Fresh trees begin to grow at every so many rows; 0: none do.
    proba : ndarray of shape (n_rows, n_classes), optional
        Written: probabilities of the classes at each row, given the rows before it. Of
        shape (n_rows, 1) for real responses: those of a response below that of the row.
    weights, exposures : ndarray of shape (n_rows,), optional
        As in `Cloud.update`.
    shares : ndarray of shape (n_rows,), optional
        Written: the part of its weight that each row counted with, 1 but for a row that
        lay outside in a robust cloud.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log predictive densities of the rows, each given those before it.

    Notes
    -----
    An interrupt is answered between rows: the cloud then is what it was after the last
    complete one. One that comes within a row waits for its end.
    """
    cdef Py_ssize_t k
    c.check_rows(X, y, weights, exposures)
    if proba is not None and (
        proba.shape[0] != y.shape[0]
        or proba.shape[1] != max(1, c.leaf_model.n_classes)
    ):
        raise ValueError(
            f"proba must be of shape ({y.shape[0]}, {max(1, c.leaf_model.n_classes)}); "
            f"got ({proba.shape[0]}, {proba.shape[1]})."
        )
    if shares is not None and shares.shape[0] != y.shape[0]:
        raise ValueError(f"shares must be {y.shape[0]}; got {shares.shape[0]}.")
    log_densities = np.zeros(y.shape[0])
    cdef double[::1] out = log_densities
    for k in range(y.shape[0]):
        PyErr_CheckSignals()
        take(
            c, &X[k, 0], y[k], 1.0 if weights is None else weights[k],
            1.0 if exposures is None else exposures[k], window, rule, forget, every,
            NULL if proba is None else &proba[k, 0], &out[k],
        )
        if shares is not None:
            shares[k] = c.last_share
    return log_densities
