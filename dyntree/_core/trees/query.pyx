"""Predictions and counts; particles weigh equally and are summed in their order."""
import numpy as np
from scipy.special import stdtr, stdtrit

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from dyntree._core.rmath cimport t_constant, t_density
from dyntree._core.trees.block_sums cimport (
    CLASSES, COEFFICIENTS, MOMENT_WIDTH, MOMENTS, distinct_components, sums,
)
from dyntree._core.trees.gap_answers cimport (
    classes_over, coefficients_over, mixture_over, predictive_over, probabilities_over,
    rows_with_gaps,
)
from dyntree._core.trees.leaf cimport LEAST_DF
from dyntree._core.trees.tree cimport find_leaf
from dyntree._core.trees.nodes cimport Leaf, Node
from dyntree._core.types cimport handle_t


cdef object rows_for(Particles c, object X):
    """X as a C-contiguous float64 array of the cloud's width."""
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != c.pool.n_features:
        raise ValueError(
            f"X must be of shape (n_rows, {c.pool.n_features}); got {rows.shape}."
        )
    return rows


cdef object rows_to_round(Particles c, object X):
    """`rows_for`, copied where evaluations round the rows they are given.

    Every particle then sees a row as the one before it left it: where a split lies
    within an ulp of a row, that decides on which side the row falls.
    """
    rows = rows_for(c, X)
    return rows.copy() if c.leaf_model.rounds_rows else rows.view()


cdef object blocks(Particles c, int64_t n_points):
    """Slices of points whose tables of (particle, point) stay small."""
    cdef int64_t size = max(1, (1 << 18) // max(1, c.n_particles))
    return [
        slice(k, min(k + size, n_points)) for k in range(0, n_points, size)
    ]


def predictive(Particles c, X):
    """Location, scale and df of every particle's predictive t at every row.

    Parameters
    ----------
    c : Cloud
        A cloud with regression leaves.
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    location, scale, df : ndarray of shape (n_particles, n_rows)
    """
    cdef const double[:, ::1] rows = rows_to_round(c, X)
    cdef Py_ssize_t n_rows = rows.shape[0], j
    cdef int32_t i
    cdef Leaf *leaf
    gaps = rows_with_gaps(c, rows)
    if gaps is not None:
        whole = predictive(c, np.asarray(rows)[~gaps])
        return tuple(
            joined_rows(gaps, at_whole, at_others, 1)
            for at_whole, at_others in zip(
                whole, predictive_over(c, np.asarray(rows)[gaps])
            )
        )
    location = np.empty((c.n_particles, n_rows))
    scale = np.empty_like(location)
    df = np.empty_like(location)
    cdef double[:, ::1] m = location, s = scale, d = df
    cdef double *out = <double *> malloc(c.leaf_model.n_out * sizeof(double))
    if out == NULL:
        raise MemoryError()
    with nogil:
        for i in range(c.n_particles):
            for j in range(n_rows):
                leaf = c.arena.leaf(find_leaf(c.arena, c.roots[i], &rows[j, 0]))
                c.leaf_model.predict(leaf, &rows[j, 0], out)
                c.leaf_model.round_row(leaf, <double *> &rows[j, 0])
                m[i, j] = out[0]
                s[i, j] = out[1]
                d[i, j] = out[2]
    free(out)
    return location, scale, df


def densities(Particles c, X, y):
    """Predictive density of y at each row, averaged over particles, shape (n_rows,)."""
    cdef const double[:, ::1] rows = rows_to_round(c, X)
    cdef const double[::1] response = np.ascontiguousarray(y, dtype=np.float64)
    cdef Py_ssize_t n_rows = rows.shape[0], j
    cdef int32_t i
    cdef handle_t h
    cdef double density
    total = np.zeros(n_rows)
    cdef double[::1] sums = total
    with nogil:
        for i in range(c.n_particles):
            for j in range(n_rows):
                h = find_leaf(c.arena, c.roots[i], &rows[j, 0])
                density = c.leaf_model.density(
                    c.arena.leaf(h), <double *> &rows[j, 0], response[j],
                    1.0 / c.leaf_model.noise,
                )
                sums[j] += exp(density) if c.leaf_model.logs else density
    return total / c.n_particles


def mixture(Particles c, X, int n_threads=1):
    """Predictive distribution of each row as a mixture of distinct Student t's.

    Particles share leaves, so a row meets far fewer distinct leaves than particles.

    Parameters
    ----------
    c : Cloud
        A cloud with regression leaves.
    X : ndarray of shape (n_rows, n_features)
    n_threads : int, default 1
        Threads over rows; the answer does not depend on it.

    Returns
    -------
    start : ndarray of int64 of shape (n_rows + 1,)
        Row j has the components start[j] .. start[j + 1] - 1.
    weight, location, scale, df, of_mean : ndarray of shape (n_components,)
        The last is the scale of the posterior of the leaf's mean there: what is left of
        the predictive one without the noise.
    """
    rows = rows_for(c, X)
    gaps = rows_with_gaps(c, rows)
    if gaps is None:
        return distinct_components(c, rows, n_threads)
    return joined_mixtures(
        gaps, distinct_components(c, rows[~gaps], n_threads),
        mixture_over(c, rows[gaps]),
    )


cdef object joined_rows(gaps, whole, others, int axis=0):
    """Answers at rows without a gap and at the others, in the order of the rows."""
    order = np.argsort(np.argsort(gaps, kind="stable"), kind="stable")
    return np.take(np.concatenate([whole, others], axis=axis), order, axis=axis)


cdef object joined_mixtures(gaps, whole, others):
    """Mixtures at rows without a gap and at the others, in the order of the rows."""
    n_parts = joined_rows(gaps, np.diff(whole[0]), np.diff(others[0]))
    start = np.concatenate([[0], np.cumsum(n_parts)])
    of_gap = np.repeat(gaps, n_parts)
    parts = []
    for at_whole, at_others in zip(whole[1:], others[1:]):
        both = np.empty(len(of_gap))
        both[~of_gap], both[of_gap] = at_whole, at_others
        parts.append(both)
    return start, *parts


def t_quantile(double p, df):
    """Quantile of Student's t, computed once per distinct df; NaN unless df > 0."""
    distinct, place = np.unique(df, return_inverse=True)
    values = np.full(distinct.shape, np.nan)
    positive = distinct > 0.0
    values[positive] = stdtrit(distinct[positive], p)
    return values[place].reshape(df.shape)


def t_densities(x, df):
    """Density of Student's t, element by element; arrays of one shape."""
    cdef const double[::1] z = np.ascontiguousarray(x).reshape(-1)
    cdef const double[::1] d = np.ascontiguousarray(df).reshape(-1)
    out = np.empty(z.shape[0])
    cdef double[::1] view = out
    cdef Py_ssize_t k
    cdef double constant = 0.0, known = 0.0
    with nogil:
        for k in range(z.shape[0]):
            if k == 0 or d[k] != known:
                known = d[k]
                constant = t_constant(known)
            view[k] = t_density(z[k], known, constant)
    return out.reshape(np.shape(x))


def spread(Particles c, X):
    """`predictive`, but that native leaves have LEAST_DF degrees of freedom at least.

    An improvement is not finite below that of two rows, nor is a variance.
    """
    location, scale, df = predictive(c, X)
    return location, scale, np.maximum(df, LEAST_DF) if c.numerics.integrates else df


def expected_improvement(location, scale, df, best):
    """Expected fall of a Student t below `best` (Gramacy, Taddy and Wild 2013).

    With D = best - location and z = D / scale,
    EI = D T(z) + (df scale + D^2 / scale) / (df - 1) t(z).
    """
    gap = best - location
    z = gap / scale
    return gap * stdtr(df, z) + (
        (df * scale + gap * gap / scale) / (df - 1.0)
    ) * t_densities(z, df)


def predict(Particles c, X, y=None, quantiles=False, improvement=False):
    """Averages over particles of their predictive distributions.

    Parameters
    ----------
    c : Cloud
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,), optional
        Responses whose density is wanted.
    quantiles : bool
        Add q1 and q2, the averages of the particles' 5 and 95 % quantiles.
    improvement : bool
        Add ei, the expected improvement on each particle's least location over X.

    Returns
    -------
    dict of ndarray
        Regression: mean, vmean (variance of the particles' means), var, df and what
        was asked for. Classes: p of shape (n_rows, n_classes), entropy (the mean of the
        particles' entropies), density.
    """
    rows = rows_for(c, X)
    if c.leaf_model.n_classes:
        out = predict_class(c, rows)
        if y is not None:
            labels = np.asarray(y, dtype=np.int64)
            out["density"] = out["p"][np.arange(len(rows)), labels]
        return out
    gaps = rows_with_gaps(c, rows)
    if gaps is None:
        total = sums(c, rows, MOMENTS, MOMENT_WIDTH, 1) / c.n_particles
    else:
        total = joined_rows(
            gaps, sums(c, rows[~gaps], MOMENTS, MOMENT_WIDTH, 1) / c.n_particles,
            moments_over(c, rows[gaps]),
        )
    mean, square, var, df, q1, q2 = total.T.copy()
    with np.errstate(all="ignore"):
        vmean = square - mean * mean
        vmean[vmean < 0.0] = 0.0
        var += vmean
        var[var < 0.0] = 0.0
    out = {"mean": mean, "vmean": vmean, "var": var, "df": df}
    if quantiles:
        out |= {"q1": q1, "q2": q2}
    if improvement:
        out["ei"] = mean_improvement(c, rows, least_location(c, rows))
    if y is not None:
        out["density"] = densities(c, rows, y)
    return out


cdef object moments_over(Particles c, rows):
    """Averages over particles of `MOMENTS` at rows with gaps, shape (n_rows, 6)."""
    location, scale, df = predictive_over(c, rows)
    own = np.maximum(df, LEAST_DF)
    half = scale * t_quantile(0.95, df)
    moments = (
        location, location**2, own * scale**2 / (own - 2.0), df, location - half,
        location + half,
    )
    return np.stack([part.mean(axis=0) for part in moments], axis=1)


def least_location(Particles c, X):
    """Least predictive location of each particle over X, shape (n_particles,)."""
    rows = rows_for(c, X)
    best = np.full(c.n_particles, np.inf)
    for part in blocks(c, len(rows)):
        best = np.minimum(best, predictive(c, rows[part])[0].min(axis=1))
    return best


def mean_improvement(Particles c, X, best):
    """Expected improvement on `best` at each row, averaged over particles.

    Parameters
    ----------
    c : Cloud
    X : ndarray of shape (n_rows, n_features)
    best : float or ndarray of shape (n_particles,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    rows = rows_for(c, X)
    bar = np.broadcast_to(np.asarray(best, dtype=np.float64), (c.n_particles,))[:, None]
    out = np.empty(len(rows))
    with np.errstate(all="ignore"):
        for part in blocks(c, len(rows)):
            out[part] = expected_improvement(
                *spread(c, rows[part]), bar
            ).sum(axis=0) / c.n_particles
    return out


def predict_class(Particles c, X, int n_threads=1):
    """Class probabilities and mean entropy of the particles at each row.

    Parameters
    ----------
    c : Cloud
        A cloud with class leaves.
    X : ndarray of shape (n_rows, n_features)
    n_threads : int, default 1
        Threads over rows; the answer does not depend on it.

    Returns
    -------
    dict of ndarray
        p of shape (n_rows, n_classes) and entropy of shape (n_rows,), in nats.
    """
    cdef int n = c.leaf_model.n_classes
    rows = rows_for(c, X)
    gaps = rows_with_gaps(c, rows)
    if gaps is None:
        total = sums(c, rows, CLASSES, n + 1, n_threads) / c.n_particles
    else:
        total = joined_rows(
            gaps, sums(c, rows[~gaps], CLASSES, n + 1, n_threads) / c.n_particles,
            classes_over(c, rows[gaps]),
        )
    return {"p": total[:, :n].copy(), "entropy": total[:, n].copy()}


def coef(Particles c, X):
    """Averages of the linear leaves' coefficients at each row.

    Returns
    -------
    ndarray of shape (n_rows, n_basis), or (n_rows, 1 + n_basis) with the implicit
    intercept first
    """
    cdef int n = c.leaf_model.n_basis + c.leaf_model.has_level
    rows = rows_for(c, X)
    gaps = rows_with_gaps(c, rows)
    if gaps is None:
        return sums(c, rows, COEFFICIENTS, n, 1) / c.n_particles
    return joined_rows(
        gaps, sums(c, rows[~gaps], COEFFICIENTS, n, 1) / c.n_particles,
        coefficients_over(c, rows[gaps], n),
    )


def class_probabilities(Particles c, int k, X):
    """Probability of class k, ndarray of shape (n_particles, n_rows)."""
    if not 0 <= k < c.leaf_model.n_classes:
        raise IndexError(f"k must be in 0..{c.leaf_model.n_classes - 1}; got {k}.")
    cdef const double[:, ::1] rows = rows_for(c, X)
    cdef Py_ssize_t n_rows = rows.shape[0], j
    cdef int32_t i
    gaps = rows_with_gaps(c, rows)
    if gaps is not None:
        return joined_rows(
            gaps, class_probabilities(c, k, np.asarray(rows)[~gaps]),
            probabilities_over(c, k, np.asarray(rows)[gaps]), 1,
        )
    out = np.empty((c.n_particles, n_rows))
    cdef double[:, ::1] p = out
    cdef double[::1] scratch = np.empty(c.leaf_model.n_out)
    with nogil:
        for i in range(c.n_particles):
            for j in range(n_rows):
                p[i, j] = c.leaf_model.probability_at(
                    c.arena.leaf(find_leaf(c.arena, c.roots[i], &rows[j, 0])),
                    &rows[j, 0], k, &scratch[0],
                )
    return out


def sameleaf(Particles c, X):
    """For each row, how many rows of X share its leaf, summed over particles."""
    cdef const double[:, ::1] rows = rows_for(c, X)
    cdef Py_ssize_t n_rows = rows.shape[0], j
    cdef int32_t i
    cdef handle_t[::1] home = np.empty(n_rows, dtype=np.int32)
    cdef Leaf *leaf
    out = np.zeros(n_rows)
    cdef double[::1] sums = out
    with nogil:
        for i in range(c.n_particles):
            c.stamp += 1
            for j in range(n_rows):
                home[j] = find_leaf(c.arena, c.roots[i], &rows[j, 0])
                leaf = c.arena.leaf(home[j])
                if leaf.stamp != c.stamp:
                    leaf.stamp = c.stamp
                    leaf.entry = 0
                leaf.entry += 1
            for j in range(n_rows):
                sums[j] += c.arena.leaf(home[j]).entry
    return out


def intervals(Particles c, int32_t position, int32_t variable):
    """Range of a column over the active rows in the leaf of a stored row.

    Returns
    -------
    ndarray of shape (n_particles, 2)
    """
    if not 0 <= position < c.pool.n_rows or not 0 <= variable < c.pool.n_features:
        raise IndexError(
            f"position must be in 0..{c.pool.n_rows - 1} and variable in "
            f"0..{c.pool.n_features - 1}; got {position} and {variable}."
        )
    cdef const double *x = c.pool.x(c.pool.order[position])
    cdef int32_t i, k
    cdef Leaf *leaf
    cdef double value
    out = np.empty((c.n_particles, 2))
    cdef double[:, ::1] bounds = out
    for i in range(c.n_particles):
        leaf = c.arena.leaf(find_leaf(c.arena, c.roots[i], x))
        bounds[i, 0] = bounds[i, 1] = x[variable]
        for k in range(leaf.n_rows):
            value = c.pool.x(leaf.rows[k])[variable]
            bounds[i, 0] = min(bounds[i, 0], value)
            bounds[i, 1] = max(bounds[i, 1], value)
    return out


cdef void count_splits(Particles c, handle_t h, int64_t *counts) noexcept nogil:
    cdef Node *node
    while h > 0:
        node = c.arena.node(h)
        counts[node.variable] += 1
        count_splits(c, node.left, counts)
        h = node.right


def split_counts(Particles c):
    """Splits per variable in each tree, ndarray of int64 (n_particles, n_features)."""
    out = np.zeros((c.n_particles, c.pool.n_features), dtype=np.int64)
    cdef int64_t[:, ::1] counts = out
    cdef int32_t i
    for i in range(c.n_particles):
        count_splits(c, c.roots[i], &counts[i, 0])
    return out


def tree_stats(Particles c):
    """Averages of height, leaves, rows per leaf and retired weight per leaf."""
    return tuple(c.shapes().mean(axis=0))
