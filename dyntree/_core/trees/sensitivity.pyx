"""Global sensitivity of each particle: main effects and Sobol' indices.

Saltelli (2002)'s scheme on responses that have the predictive distribution; main
effects by a moving average (Gramacy and Taddy 2010, section 2.1). R's rules draw the
responses; native rules put the expectation over those draws in their place, which has
the same mean and less noise.
"""
import math

import numpy as np

from dyntree._core.trees import input_samples

from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int32_t
from libc.string cimport memset

from dyntree._core.lanes cimport LANES, Lanes, alike, lane, of_four, plus
from dyntree._core.trees.particles cimport Particles
from dyntree._core.rng cimport ASKING, RandomStream, student_t
from dyntree._core.trees.gap_walk cimport has_gap
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.nodes cimport Leaf, Node, goes_left, is_gap_cut
from dyntree._core.types cimport handle_t

cdef double NARROW = 0.01       # of half the range: windows that are summed row by row


def sensitivity(
    Particles c, *, n_samples, grid, span, lower, upper, shape, mode, categorical,
    method="lhs", label=None, groups=None, joint=(), source=None, drawn=None,
):
    """Main effects on a grid, and Sobol' first-order and total indices.

    Parameters
    ----------
    c : Cloud
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
    groups : list of ndarray of int, optional
        Places of the columns of each input, native rules; by default every column is
        one. Columns that are an input together are levels of which one holds, with
        probabilities in proportion to `mode`.
    joint : sequence of int, optional
        Numbers of the groups that take their values from a stored row instead.
    source : RandomSource, optional
        Where the designs are drawn from, by default the cloud's own source, which then
        goes on from there.
    drawn : callable, optional
        Particle and rows, (n_rows, n_features) -> a draw of the mean, or of the label's
        probability, of which main effects are made under native rules; by default they
        are of the particle's own means.

    Returns
    -------
    main : ndarray of shape (n_particles, n_grid, d)
    first, total : ndarray of shape (n_particles, n_groups)
        As estimated: noise can carry them outside [0, 1].
    """
    cdef int32_t i
    cdef int n = n_samples
    cdef bint exact = c.numerics.integrates
    hypercube = input_samples.shuffled_hypercube if exact else input_samples.hypercube
    source = c.source if source is None else source
    grid = np.ascontiguousarray(grid, dtype=np.float64)
    d = grid.shape[1]
    columns = np.ascontiguousarray(grid.T)
    inputs = list(zip(lower, upper, shape, mode))
    main = np.empty((c.n_particles, len(grid), d))
    if groups is None:
        groups = [np.array([j]) for j in range(d)]
    first = np.empty((c.n_particles, len(groups)))
    total = np.empty((c.n_particles, len(groups)))
    levels = [
        group for k, group in enumerate(groups) if len(group) > 1 and k not in joint
    ]
    gaps = _gap_shares(c)[c.pool.n_features - d:]
    members = np.concatenate([np.asarray(g, dtype=np.int32) for g in groups])
    ends = np.cumsum([len(group) for group in groups], dtype=np.int32)
    for i in range(c.n_particles):
        if method == "lhs":
            (a, up_a), (b, up_b) = (hypercube(source, n, inputs) for _ in range(2))
            for group in levels:
                for values in (a, b):
                    input_samples.draw_levels(source, values, group, mode)
            for group in groups:
                for values in (a, b):
                    input_samples.leave_out(source, values, group, gaps[group].max())
            for k in joint:
                for values in (a, b):
                    stored, _ = input_samples.bootstrap(c, source, n, d)
                    values[groups[k]] = stored[groups[k]]
        else:
            (a, up_a), (b, up_b) = (
                input_samples.bootstrap(c, source, n, d) for _ in range(2)
            )
        asked = -1 if label is None else label
        if exact:
            level, mixed, noise = _expect(c, i, a, b, asked, members, ends)
            first[i], total[i] = _centred_indices(level, mixed, noise)
            if drawn is not None:
                rows = np.concatenate([a, b], axis=1).T
                level = drawn(i, np.ascontiguousarray(rows))
            middle = level.mean()       # may be far from 0: sums are of what is about it
            level -= middle
        else:
            level, sums = _draw(c, i, a, b, asked)
            middle = 0.0
            first[i], total[i] = _indices(*sums, n)
        both = np.concatenate([a, b], axis=1)
        rising = np.concatenate([up_a, up_b + n], axis=1)
        mean = level.mean()
        for j in range(d):
            x, order = _sorted(both[j], rising[j], exact)
            main[i, :, j] = middle + _main_effect(
                x, level.take(order), mean, columns[j], span, categorical[j],
                exact,
            )
    return main, first, total


cdef void mark_gap_cuts(Particles c, handle_t h, double[::1] marks) noexcept nogil:
    """Mark the columns that splits below h part by whether there is a value."""
    cdef Node *node
    while h > 0:
        node = c.arena.node(h)
        if node.stamp == c.stamp:
            return
        node.stamp = c.stamp
        if is_gap_cut(node.value):
            marks[node.variable] = 1.0
        mark_gap_cuts(c, node.left, marks)
        h = node.right


def _gap_shares(Particles c):
    """How often columns are missing, of which trees ask whether they are."""
    shares = np.zeros(c.pool.n_features)
    cdef double[::1] marks = shares
    cdef int32_t i
    c.stamp += 1
    for i in range(c.n_particles):
        mark_gap_cuts(c, c.roots[i], marks)
    for i in range(c.pool.n_features):
        marks[i] *= c.gap_share(i)
    return shares


def _draw(
    Particles c, int32_t particle, const double[:, ::1] a, const double[:, ::1] b,
    int label,
):
    """Predict and draw at the rows of a, of b, and of b with one column from a.

    Returns
    -------
    level : ndarray of shape (2 n,)
        Predictive location, or class probability, at a and b.
    sums : tuple
        What `_indices` needs.
    """
    cdef Py_ssize_t n = a.shape[1], d = a.shape[0], block, i, k
    cdef int32_t ones = c.pool.n_features - <int32_t> d
    cdef RandomStream s = c.source.open(c.time, particle, ASKING)
    cdef double value, variance
    cdef handle_t h
    level = np.empty(2 * n)
    response = np.empty((2 + d, n))
    cdef double[::1] levels = level
    cdef double[:, ::1] drawn = response
    cdef double[::1] x = np.ones(c.pool.n_features)
    cdef double[::1] out = np.empty(c.leaf_model.n_out)
    with nogil:
        for block in range(2 + d):
            for i in range(n):
                for k in range(d):
                    if block == 0 or block - 2 == k:
                        x[ones + k] = a[k, i]
                    else:
                        x[ones + k] = b[k, i]
                h = find_leaf(c.arena, c.roots[particle], &x[0])
                value = ask(c, h, &x[0], label, &out[0], &variance)
                if label < 0:
                    drawn[block, i] = value + out[1] * student_t(&s, out[2])
                else:
                    drawn[block, i] = s.uniform(&s) < value
                if block < 2:
                    levels[block * n + i] = value
    f1, f2, mixed = response[0], response[1], response[2:]
    return level, (
        (f1 + f2).sum(), (f1 * f1 + f2 * f2).sum(), (mixed * f1).sum(axis=1),
        (mixed * f2).sum(axis=1),
    )


def _expect(
    Particles c, int32_t particle, const double[:, ::1] a, const double[:, ::1] b,
    int label, const int32_t[::1] members, const int32_t[::1] ends,
):
    """Predictive means at a, at b, and at b with the columns of one group from a.

    Group g has the columns members[ends[g - 1] .. ends[g] - 1].

    Returns
    -------
    level : ndarray of shape (2 n,)
        Means, or class probabilities, at a and b.
    mixed : ndarray of shape (n_groups, n)
    noise : float
        Mean variance of a response about them at a and b.
    """
    cdef Py_ssize_t n = a.shape[1], d = a.shape[0], n_groups = ends.shape[0], i, k, g, j
    cdef Py_ssize_t begin
    cdef int32_t ones = c.pool.n_features - <int32_t> d
    cdef double value, variance, noise = 0.0
    cdef handle_t[::1] others = np.empty(c.pool.n_features, dtype=np.int32)
    cdef handle_t h, at_mixed
    level, mixed = np.empty(2 * n), np.empty((n_groups, n))
    cdef double[::1] levels = level
    cdef double[:, ::1] between = mixed
    cdef double[::1] x = np.ones(c.pool.n_features), z = np.ones_like(x)
    cdef double[::1] out = np.empty(c.leaf_model.n_out)
    with nogil:
        for i in range(n):
            for k in range(d):
                z[ones + k] = a[k, i]
                x[ones + k] = b[k, i]
            h = find_leaf(c.arena, c.roots[particle], &z[0])
            levels[i] = ask(c, h, &z[0], label, &out[0], &variance)
            noise += variance
            h = fork(c, c.roots[particle], &x[0], &z[0], &others[0])
            levels[n + i] = ask(c, h, &x[0], label, &out[0], &variance)
            noise += variance
            begin = 0
            for g in range(n_groups):
                k = members[begin]
                value = levels[n + i]
                at_mixed = others[ones + k] if others[ones + k] else h
                for j in range(begin, ends[g]):
                    x[ones + members[j]] = a[members[j], i]
                if ends[g] > begin + 1:         # ways part where any of them does
                    at_mixed = c.roots[particle]
                if at_mixed != h or c.leaf_model.n_basis:
                    at_mixed = find_leaf(c.arena, at_mixed, &x[0])
                    value = ask(c, at_mixed, &x[0], label, &out[0], &variance)
                for j in range(begin, ends[g]):
                    x[ones + members[j]] = b[members[j], i]
                begin = ends[g]
                between[g, i] = value
    return level, mixed, noise / (2 * n)


def _centred_indices(level, mixed, noise):
    """First-order and total indices; no constant that all means have in them counts.

    Parameters
    ----------
    level : ndarray of shape (2 n,)
        Means at a and b.
    mixed : ndarray of shape (n_groups, n)
        Means at b with the columns of one group from a.
    noise : float
        Mean variance of a response about its mean.

    Returns
    -------
    first, total : ndarray of shape (n_groups,)

    Notes
    -----
    With f the means about their mean and V the variance of a response, noise included,
    first = mean f(a) (f(mixed) - f(b)) / V and total = (noise + mean f(b) (f(b) -
    f(mixed))) / V (Saltelli et al. 2010, table 2, rows b and d). An input that changes
    nothing has exactly 0 and the noise's share.
    """
    n = mixed.shape[1]
    change = mixed - level[n:]
    about = level - level.mean()
    spread = about.var()
    with np.errstate(all="ignore"):
        variance = spread + noise
        return (
            change @ about[:n] / n / variance,
            1.0 - (spread + change @ about[n:] / n) / variance,
        )


cdef handle_t fork(
    Particles c, handle_t h, const double *x, const double *z, handle_t *others
) noexcept nogil:
    """Leaf of x; others[k] is where the way of x with z[k] parts from its own, or 0."""
    cdef Node *node
    cdef bint left
    memset(others, 0, c.pool.n_features * sizeof(handle_t))
    while h > 0:
        node = c.arena.node(h)
        left = goes_left(node, x)
        if others[node.variable] == 0 and goes_left(node, z) != left:
            others[node.variable] = node.right if left else node.left
        h = node.left if left else node.right
    return h


cdef double ask(
    Particles c, handle_t h, double *x, int label, double *out, double *variance
) noexcept nogil:
    """Predictive location, or the label's probability, and the response's variance."""
    cdef Leaf *leaf = c.arena.leaf(h)
    cdef double p, df
    cdef bint is_open = c.filler is not None and has_gap(x, c.pool.n_features)
    if label >= 0:
        if is_open:
            p = proba_over(c, leaf, x, label, out)
        else:
            p = c.leaf_model.probability_at(leaf, x, label, out)
        variance[0] = p * (1.0 - p)
        return p
    if is_open:
        return ask_over(c, leaf, x, out, variance)
    c.leaf_model.predict(leaf, x, out)
    df = out[2]
    if c.numerics.integrates:
        variance[0] = c.leaf_model.response_variance(leaf, out)
        return out[0]
    variance[0] = df * (out[1] * out[1]) / (df - 2.0) if df > 2.0 else INFINITY
    return out[0]


cdef double proba_over(
    Particles c, const Leaf *leaf, const double *x, int label, double *out
) noexcept nogil:
    """Probability of a label, over what the row may have in the place of gaps."""
    cdef double total = 0.0
    cdef int32_t k
    for k in range(c.filler.begin(leaf, x, c.pool.seen)):
        total += c.filler.shares[k] * c.leaf_model.probability_at(
            leaf, c.filler.way(k), label, out
        )
    c.filler.end()
    return total


cdef double ask_over(
    Particles c, const Leaf *leaf, const double *x, double *out, double *variance
) noexcept nogil:
    """`ask` in a linear leaf, over what the row may have in the place of gaps."""
    cdef double mean = 0.0, square = 0.0
    cdef int32_t k
    for k in range(c.filler.begin(leaf, x, c.pool.seen)):
        c.leaf_model.predict(leaf, c.filler.way(k), out)
        mean += c.filler.shares[k] * out[0]
        square += c.filler.shares[k] * (
            c.leaf_model.response_variance(leaf, out) + out[0] * out[0]
        )
    c.filler.end()
    variance[0] = square - mean * mean
    return mean


def _sorted(x, rising, exact):
    """Values in increasing order and their places; R's ties stand in decreasing order.

    Native rules leave out what is missing.
    """
    if not exact:
        order = len(x) - 1 - np.argsort(x[::-1], kind="stable")
        return x[order], order
    x = x.take(rising)
    up = x.argsort(kind="stable")
    if np.isnan(x[up[len(x) - 1]]):
        up = up[: len(x) - np.isnan(x).sum()]
    return x.take(up), rising.take(up)


def _main_effect(x, level, mean, grid, span, categorical, exact):
    """Main effect of one sorted column at the grid's points, ndarray of (n_grid,).

    Native rules give a mean where R's window has no width; a column or a group without
    rows has the overall mean.
    """
    if exact and not len(x):
        return np.full(len(grid), mean)
    if not categorical:
        return moving_average(x, level, grid, span, exact)
    effect = _group_means(x, level, grid)
    return np.where(np.isnan(effect), mean, effect) if exact else effect


def _group_means(x, level, grid):
    """Mean level where x is 0 and where it is not; grid points below .5 take the first.
    """
    means = [
        group.mean() if len(group) else math.nan
        for group in (level[x == 0.0], level[x != 0.0])
    ]
    return np.where(grid < 0.5, *means)


cdef void weigh(
    const double *v, const double *y, Py_ssize_t n, double point, double edge,
    double *weights, double *total,
) noexcept nogil:
    """Sums of (1 - |v - point| / edge)^2, plain and times y."""
    cdef double inverse = 1.0 / edge, w
    cdef Lanes one, sums = alike(0.0), products = sums
    cdef Py_ssize_t k, n_lanes = n // LANES * LANES
    weights[0] = total[0] = 0.0
    for k in range(n_lanes, n):
        w = (edge - fabs(v[k] - point)) * inverse
        weights[0] += w * w
        total[0] += w * w * y[k]
    for k in range(n // LANES):
        one = of_four(
            (edge - fabs(v[0] - point)) * inverse,
            (edge - fabs(v[1] - point)) * inverse,
            (edge - fabs(v[2] - point)) * inverse,
            (edge - fabs(v[3] - point)) * inverse,
        )
        one = plus(alike(0.0), one, one)
        sums = plus(sums, one, alike(1.0))
        products = plus(products, one, (<Lanes *> y)[0])
        v += LANES
        y += LANES
    weights[0] += (lane(sums, 0) + lane(sums, 1)) + (lane(sums, 2) + lane(sums, 3))
    total[0] += (lane(products, 0) + lane(products, 1)) + (
        lane(products, 2) + lane(products, 3)
    )


cdef void sum_up(
    const double *v, const double *y, Py_ssize_t n, double centre, double half,
    double *sums,
) noexcept nogil:
    """Sums of (1, u, u^2, y, y u, y u^2) over the first k inputs, k = 0 .. n.

    u = (v - centre) / half. A row of the table holds six sums.
    """
    cdef Py_ssize_t k
    cdef double u, yu
    memset(sums, 0, 6 * sizeof(double))
    for k in range(n):
        u = (v[k] - centre) / half
        yu = y[k] * u
        sums[6] = sums[0] + 1.0
        sums[7] = sums[1] + u
        sums[8] = sums[2] + u * u
        sums[9] = sums[3] + y[k]
        sums[10] = sums[4] + yu
        sums[11] = sums[5] + yu * u
        sums += 6


cdef double square_sum(const double *first, const double *last, double c) noexcept nogil:
    """Sum of w (u - c)^2 from the running sums of w, w u and w u^2."""
    return (last[2] - first[2]) - c * (
        2.0 * (last[1] - first[1]) - c * (last[0] - first[0])
    )


def moving_average(
    const double[::1] v, const double[::1] y, const double[::1] grid, double span,
    bint exact,
):
    """Weighted mean of y in the window of sorted inputs nearest to each grid point.

    Weights are (1 - distance / largest distance)^2. Where no input is nearer than the
    largest distance the value is NaN, or under native rules the plain mean at all
    inputs within that distance. There wide windows are summed by differences of running
    sums, which loses log10(1 / NARROW^2) digits at most.
    """
    cdef Py_ssize_t n = v.shape[0], start = 0, middle = 0, k, g
    cdef Py_ssize_t window = min(max(math.floor(span * n), 2), n)
    cdef double centre = 0.5 * (v[0] + v[n - 1]), half = 0.5 * (v[n - 1] - v[0])
    cdef double edge, shifted, point, total, weights, u, reach
    cdef bint wide = exact and half > 0.0
    cdef double[:, ::1] sums = np.empty((n + 1 if wide else 0, 6))
    out = np.empty(grid.shape[0])
    cdef double[::1] means = out
    if wide:
        sum_up(&v[0], &y[0], n, centre, half, &sums[0, 0])
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
            weights = total = NAN
            if wide and edge > NARROW * half:
                while middle < n and v[middle] < point:
                    middle += 1
                k = min(max(middle, start), start + window)
                u = (point - centre) / half
                reach = edge / half
                weights = square_sum(&sums[start, 0], &sums[k, 0], u - reach) + (
                    square_sum(&sums[k, 0], &sums[start + window, 0], u + reach)
                )
                total = square_sum(&sums[start, 3], &sums[k, 3], u - reach) + (
                    square_sum(&sums[k, 3], &sums[start + window, 3], u + reach)
                )
            elif edge > 0.0:
                weigh(&v[start], &y[start], window, point, edge, &weights, &total)
            if exact and not weights > 0.0:
                total = weights = 0.0
                for k in range(n):
                    if fabs(v[k] - point) <= edge:
                        weights += 1.0
                        total += y[k]
            means[g] = total / weights
    return out


def _indices(total, squares, with_a, with_b, n):
    """First-order and total indices, each of shape (d,).

    From the sums, over two samples of n rows, of responses and of their squares, and
    the sums of products of the mixed rows' responses with those of either sample.
    """
    mean = total / (2 * n)
    with np.errstate(all="ignore"):
        log_variance = np.log(squares / (2 * n) - mean * mean)
        first = np.maximum(with_a / (n - 1) - mean * mean, 0.0)
        other = np.maximum(with_b / (n - 1) - mean * mean, 0.0)
        return (
            np.exp(np.log(first) - log_variance),
            1.0 - np.exp(np.log(other) - log_variance),
        )
