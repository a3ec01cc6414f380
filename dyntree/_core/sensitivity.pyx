"""Global sensitivity of each particle: main effects and Sobol' indices.

Saltelli (2002)'s scheme on responses drawn from the predictive distribution; main
effects by a moving average (Gramacy and Taddy 2010, section 2.1).
"""
import math

import numpy as np
from scipy.special import betaincinv

from libc.math cimport NAN, fabs
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from dyntree._core.particles cimport Particles
from dyntree._core.rng cimport ASKING, RandomStream, student_t
from dyntree._core.tree cimport find_leaf
from dyntree._core.types cimport Leaf


def sensitivity(
    Particles c, *, n_samples, grid, span, lower, upper, shape, mode, categorical,
    method="lhs", label=None,
):
    """Main effects on a grid, and Sobol' first-order and total indices.

    Parameters
    ----------
    c : Cloud
        Draws come from its source.
    n_samples : int
        Size of each of the two samples.
    grid : ndarray of shape (n_grid, d)
        d is n_features, or one less where a column of ones comes first.
    span : float in [0, 1]
        Share of the samples in the window of the moving average.
    lower, upper, shape, mode : ndarray of shape (d,)
        Scaled beta distribution of each input; shape 0: a coin whose mean is `mode`.
    categorical : ndarray of bool of shape (d,)
    method : {"lhs", "boot"}
        Latin hypercube samples, or stored rows drawn with replacement.
    label : int, optional
        Class whose probability is analysed.

    Returns
    -------
    main : ndarray of shape (n_particles, n_grid, d)
    first, total : ndarray of shape (n_particles, d)
        As estimated: noise can carry them outside [0, 1].
    """
    cdef int32_t i
    cdef int n = n_samples
    grid = np.ascontiguousarray(grid, dtype=np.float64)
    d = grid.shape[1]
    inputs = list(zip(lower, upper, shape, mode))
    main = np.empty((c.n_particles, len(grid), d))
    first = np.empty((c.n_particles, d))
    total = np.empty((c.n_particles, d))
    for i in range(c.n_particles):
        if method == "lhs":
            a = _hypercube(c.source, n, inputs)
            b = _hypercube(c.source, n, inputs)
        else:
            a = _bootstrap(c, n, d)
            b = _bootstrap(c, n, d)
        level, response = _respond(c, i, a, b, -1 if label is None else label)
        both = np.concatenate([a, b])
        for j in range(d):
            x = np.ascontiguousarray(both[:, j])
            points = np.ascontiguousarray(grid[:, j])
            main[i, :, j] = _main_effect(c, x, level, points, span, categorical[j])
        first[i], total[i] = _indices(response, n)
    return main, first, total


def _hypercube(source, n, inputs):
    """Latin hypercube sample of shape (n, d): order, place in the stratum, value."""
    d = len(inputs)
    order = source.uniforms(d * n).reshape(d, n)
    jitter = source.uniforms(d * n).reshape(d, n)
    columns = []
    for j, one in enumerate(inputs):
        rank = np.empty(n)
        rank[np.argsort(order[j], kind="stable")] = np.arange(1, n + 1)
        columns.append(_scaled_beta(source, (rank - jitter[j]) / n, *one))
    return np.column_stack(columns)


def _scaled_beta(source, p, low, high, shape, mode):
    """Quantiles of the beta distribution with this mode, on [low, high]."""
    if shape == 0.0:
        probability = mode if 0.0 <= mode <= 1.0 else 0.5
        unit = source.uniforms(len(p)) < probability
        return low + (high - low) * unit
    place = (mode - low) / (high - low) if high > low else 0.5
    if not 0.0 <= place <= 1.0:
        place = 0.5
    shape = max(shape, 1.0)
    if place == 1.0 and shape > 1.0:        # all the mass at the upper end
        return np.full(len(p), high)
    alpha = (1.0 + place * (shape - 2.0)) / (1.0 - place) if shape > 1.0 else 1.0
    unit = p if alpha == shape == 1.0 else betaincinv(alpha, shape, p)
    return low + (high - low) * unit


def _bootstrap(Particles c, int n, int d):
    """Stored rows with replacement, ndarray of shape (n, d)."""
    cdef const double[::1] u = c.source.uniforms(n)     # each call draws other rows
    cdef int32_t m = c.pool.n_features, k
    cdef const double *x
    out = np.empty((n, d))
    cdef double[:, ::1] rows = out
    cdef Py_ssize_t i
    for i in range(n):
        x = c.pool.x(c.pool.order[<int32_t> (u[i] * c.pool.n_rows)])
        for k in range(d):
            rows[i, k] = x[m - d + k]
    return out


def _respond(
    Particles c, int32_t particle, const double[:, ::1] a, const double[:, ::1] b,
    int label,
):
    """Predict and draw at the rows of a, of b, and of b with one column from a.

    Returns
    -------
    level : ndarray of shape (2 n,)
        Predictive location, or class probability, at a and b.
    response : ndarray of shape (2 + d, n)
        A draw from the predictive distribution at every row.
    """
    cdef Py_ssize_t n = a.shape[0], d = a.shape[1], block, i, k
    cdef int32_t ones = c.pool.n_features - <int32_t> d
    cdef RandomStream s = c.source.open(c.time, particle, ASKING)
    cdef Leaf *leaf
    cdef double value
    level = np.empty(2 * n)
    response = np.empty((2 + d, n))
    cdef double[::1] levels = level
    cdef double[:, ::1] drawn = response
    cdef double *x = <double *> malloc(
        (c.pool.n_features + c.leaf_model.n_out) * sizeof(double)
    )
    cdef double *out = x + c.pool.n_features
    if x == NULL:
        raise MemoryError()
    with nogil:
        for k in range(ones):
            x[k] = 1.0
        for block in range(2 + d):
            for i in range(n):
                for k in range(d):
                    if block == 0 or block - 2 == k:
                        x[ones + k] = a[i, k]
                    else:
                        x[ones + k] = b[i, k]
                leaf = c.arena.leaf(find_leaf(c.arena, c.roots[particle], x))
                if label < 0:
                    c.leaf_model.predict(leaf, x, out)
                    value = out[0]
                    drawn[block, i] = value + out[1] * student_t(&s, out[2])
                else:
                    value = c.leaf_model.probability(leaf, label)
                    drawn[block, i] = s.uniform(&s) < value
                if block < 2:
                    levels[block * n + i] = value
    free(x)
    return level, response


def _main_effect(Particles c, x, level, grid, span, categorical):
    """Main effect of one column at the grid's points, ndarray of shape (n_grid,).

    Native rules leave out rows where the column is missing, and give a mean where R's
    window has no width; a column or a group without rows has the overall mean.
    """
    cdef bint native = c.options["rules"] == "native"
    mean = level.mean()
    if native:
        seen = ~np.isnan(x)
        x, level = x[seen], level[seen]
        if not len(x):
            return np.full(len(grid), mean)
    if not categorical:
        return _moving_average(x, level, grid, span, native)
    effect = _group_means(x, level, grid)
    return np.where(np.isnan(effect), mean, effect) if native else effect


def _group_means(x, level, grid):
    """Mean level where x is 0 and where it is not; grid points below .5 take the first.
    """
    means = [
        group.mean() if len(group) else math.nan
        for group in (level[x == 0.0], level[x != 0.0])
    ]
    return np.where(grid < 0.5, *means)


def _moving_average(x, level, const double[::1] grid, double span, bint always):
    """Weighted mean of the level in the window of inputs nearest to each grid point.

    Weights are (1 - distance / largest distance)^2. Ties stand in decreasing order of
    their index. Where no input is nearer than the largest distance the value is NaN, or
    with `always` the plain mean at all inputs within that distance.
    """
    cdef Py_ssize_t n = len(x), start = 0, k, g
    cdef Py_ssize_t window = min(max(math.floor(span * n), 2), n)
    order = n - 1 - np.argsort(x[::-1], kind="stable")
    cdef const double[::1] v = x[order]
    cdef const double[::1] y = level[order]
    cdef double edge, shifted, point, weight, total, weights
    out = np.empty(grid.shape[0])
    cdef double[::1] means = out
    with nogil:
        for g in range(grid.shape[0]):
            point = grid[g]
            edge = max(fabs(point - v[start]), fabs(point - v[start + window - 1]))
            while start + window < n:
                shifted = max(
                    fabs(point - v[start + 1]), fabs(point - v[start + window])
                )
                if shifted > edge:
                    break
                start += 1
                edge = shifted
            total = weights = 0.0
            for k in range(start, start + window):
                weight = 1.0 - fabs(v[k] - point) / edge if edge > 0.0 else NAN
                weight = weight * weight
                weights += weight
                total += weight * y[k]
            if always and not weights > 0.0:
                total = weights = 0.0
                for k in range(n):
                    if fabs(v[k] - point) <= edge:
                        weights += 1.0
                        total += y[k]
            means[g] = total / weights
    return out


def _indices(response, n):
    """First-order and total indices, each of shape (d,)."""
    f1, f2, mixed = response[0], response[1], response[2:]
    mean = (f1 + f2).sum() / (2 * n)
    with np.errstate(all="ignore"):
        log_variance = np.log((f1 * f1 + f2 * f2).sum() / (2 * n) - mean * mean)
        first = np.maximum((mixed * f1).sum(axis=1) / (n - 1) - mean * mean, 0.0)
        other = np.maximum((mixed * f2).sum(axis=1) / (n - 1) - mean * mean, 0.0)
        return (
            np.exp(np.log(first) - log_variance),
            1.0 - np.exp(np.log(other) - log_variance),
        )
