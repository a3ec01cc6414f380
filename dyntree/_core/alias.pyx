"""Alias tables: draws from n weights in constant time."""
import numpy as np

from libc.stdint cimport int32_t, uint32_t


cdef void alias_build(
    const float *weight, int32_t n, uint32_t *threshold, int32_t *alias,
    int32_t *order, double *share,
) noexcept nogil:
    """Vose's method: two stacks, the small at the front of `order`, the large behind."""
    cdef double total = 0.0
    cdef int32_t i, small, large, n_small = 0, n_large = n
    for i in range(n):
        total += weight[i]
    for i in range(n):
        share[i] = weight[i] / total * n
        if share[i] < 1.0:
            order[n_small] = i
            n_small += 1
        else:
            n_large -= 1
            order[n_large] = i
    while n_small > 0 and n_large < n:
        n_small -= 1
        small, large = order[n_small], order[n_large]
        threshold[small] = <uint32_t> min(share[small] * 4294967296.0, 4294967295.0)
        alias[small] = large
        share[large] = (share[large] + share[small]) - 1.0
        if share[large] < 1.0:
            n_large += 1
            order[n_small] = large
            n_small += 1
    while n_large < n:                  # what is left over is 1 but for rounding
        i = order[n_large]
        threshold[i], alias[i] = 4294967295, i
        n_large += 1
    while n_small > 0:
        n_small -= 1
        i = order[n_small]
        threshold[i], alias[i] = 4294967295, i


cdef class AliasTable:
    """A table of weights, for draws in constant time.

    Parameters
    ----------
    weights : array_like of shape (n,)
        Finite, not negative, not all 0; taken as float32.

    Examples
    --------
    >>> table = AliasTable([1.0, 3.0])
    >>> table.chances().tolist()
    [0.25, 0.75]
    >>> table.pick([0.1, 0.1, 0.9], [0.2, 0.8, 0.8]).tolist()
    [0, 1, 1]
    """

    cdef readonly object threshold      # ndarray of uint32 of shape (n,)
    cdef readonly object alias          # ndarray of int32 of shape (n,)

    def __init__(self, weights):
        given = np.ascontiguousarray(weights, dtype=np.float32)
        if given.ndim != 1 or not len(given):
            raise ValueError(
                f"weights must be a vector of one at least; got shape {given.shape}."
            )
        if not np.isfinite(given).all() or (given < 0).any() or not given.any():
            raise ValueError("weights must be finite, >= 0 and not all 0.")
        cdef const float[::1] w = given
        cdef int32_t n = <int32_t> len(given)
        self.threshold = np.zeros(n, dtype=np.uint32)
        self.alias = np.zeros(n, dtype=np.int32)
        cdef uint32_t[::1] threshold = self.threshold
        cdef int32_t[::1] alias = self.alias
        cdef int32_t[::1] order = np.empty(n, dtype=np.int32)
        cdef double[::1] share = np.empty(n)
        with nogil:
            alias_build(&w[0], n, &threshold[0], &alias[0], &order[0], &share[0])

    def chances(self):
        """Chance of each place, ndarray of shape (n,), exactly as `pick` has them."""
        n = len(self.alias)
        own = self.threshold / 2.0**32
        out = np.bincount(self.alias, weights=1.0 - own, minlength=n)
        return (out + own) / n

    def pick(self, slots, coins):
        """Places that pairs of uniforms stand for, ndarray of int32.

        Parameters
        ----------
        slots, coins : array_like of shape (n_draws,)
            In [0, 1).

        Returns
        -------
        ndarray of int32 of shape (n_draws,)
        """
        cdef const double[::1] slot = np.ascontiguousarray(slots, dtype=np.float64)
        cdef const double[::1] coin = np.ascontiguousarray(coins, dtype=np.float64)
        cdef const uint32_t[::1] threshold = self.threshold
        cdef const int32_t[::1] alias = self.alias
        for name, given in (("slots", slots), ("coins", coins)):
            array = np.asarray(given, dtype=np.float64)
            if array.shape != (len(slot),) or not ((array >= 0.0) & (array < 1.0)).all():
                raise ValueError(
                    f"{name} must be numbers in [0, 1), as many as slots; got {given!r}."
                )
        out = np.empty(len(slot), dtype=np.int32)
        cdef int32_t[::1] found = out
        cdef Py_ssize_t i
        for i in range(slot.shape[0]):
            found[i] = alias_pick(
                &threshold[0], &alias[0], <int32_t> threshold.shape[0], slot[i], coin[i]
            )
        return out
