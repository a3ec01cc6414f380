"""Samples of inputs for sensitivity analysis.

A design is an array of shape (d, n), and one of the same shape with the places of each
input's values in an order in which they rise, or nearly so: that is sorted soon.
"""
import numpy as np
from scipy.special import betaincinv

from libc.stdint cimport int32_t, int64_t

from dyntree._core.trees.particles cimport Particles
from dyntree._core.rng cimport RandomSource


def hypercube(RandomSource source, n, inputs):
    """Latin hypercube, in R's order of draws: ranks, places within strata, values."""
    d = len(inputs)
    drawn = source.uniforms(d * n).reshape(d, n)
    jitter = source.uniforms(d * n).reshape(d, n)
    values, rising = np.empty((d, n)), np.empty((d, n), dtype=np.int64)
    for j, one in enumerate(inputs):
        rising[j] = np.argsort(drawn[j], kind="stable")
        rank = np.empty(n)
        rank[rising[j]] = np.arange(1, n + 1)
        values[j] = scaled_beta(source, (rank - jitter[j]) / n, *one)
    return values, rising


def shuffled_hypercube(RandomSource source, n, inputs):
    """The same law from half as many draws, without sorting."""
    d = len(inputs)
    drawn = source.uniforms(d * n).reshape(d, n)
    values, rising = np.empty((d, n)), np.empty((d, n), dtype=np.int64)
    strata = np.arange(n)
    for j, one in enumerate(inputs):
        shuffle(rising[j], drawn[j])
        values[j, rising[j]] = scaled_beta(source, (strata + drawn[j]) / n, *one)
    return values, rising


def shuffle(int64_t[::1] order, double[::1] u):
    """Fill `order` with a permutation of its places (Fisher and Yates, inside out).

    Each place takes a number in (0, 1), and leaves of it what the permutation does not
    depend on: again a number in [0, 1).
    """
    cdef Py_ssize_t i, k
    cdef double scaled
    for i in range(order.shape[0]):
        scaled = u[i] * (i + 1)
        k = <Py_ssize_t> scaled
        order[i] = order[k]
        order[k] = i
        u[i] = scaled - k


def scaled_beta(RandomSource source, p, low, high, shape, mode):
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


def draw_levels(RandomSource source, values, group, shares):
    """Fill the rows of a design that are levels of one input: in each draw one holds.

    Shares, of all columns, say how often; the draws are a stratified sample. What they
    lack to one is the share of a level that is 0 in all rows of the input.
    """
    n = values.shape[1]
    order, u = np.empty(n, dtype=np.int64), source.uniforms(n)
    shuffle(order, u)
    share = np.maximum(np.asarray(shares, dtype=np.float64)[group], 0.0)
    ends = np.cumsum(share if share.sum() > 0.0 else np.ones(len(group)))
    whole = ends[len(group) - 1]
    if whole < 1.0 - 1e-9:                  # more than rounding
        ends, whole = np.append(ends, 1.0), 1.0
    place = np.searchsorted(ends / whole, (order + u) / n)
    place = np.minimum(place, len(ends) - 1)
    values[group] = place == np.arange(len(group))[:, None]


def leave_out(RandomSource source, values, group, share):
    """Take the values of one input out of a share of the draws; none, and no draw, at 0.
    """
    if share > 0.0:
        gone = source.uniforms(values.shape[1]) < share
        values[np.ix_(group, np.flatnonzero(gone))] = np.nan


def bootstrap(Particles c, RandomSource source, int n, int d):
    """Stored rows with replacement; each call draws other rows."""
    cdef const double[::1] u = source.uniforms(n)
    cdef int32_t m = c.pool.n_features, k
    cdef const double *x
    out = np.empty((d, n))
    cdef double[:, ::1] values = out
    cdef Py_ssize_t i
    for i in range(n):
        x = c.pool.x(c.pool.order[<int32_t> (u[i] * c.pool.n_rows)])
        for k in range(d):
            values[k, i] = x[m - d + k]
    return out, np.tile(np.arange(n), (d, 1))
