"""Residual resampling (Liu and Chen 1998), the scheme of the dynamic-tree papers."""


cdef void residual(
    const double *weights, int32_t n, int32_t n_target, RandomStream *s,
    int32_t *ancestors, double *cumulative,
) noexcept nogil:
    """Fill `ancestors` (n_target,): whole parts first, then draws for the residue.

    One uniform per residual place; the index is the smallest k with cumulative[k] >= u.
    `cumulative` is scratch of n doubles.
    """
    cdef int32_t i, k, whole, filled = 0, first, size, half, left
    cdef double expected, total = 0.0, u
    for i in range(n):
        whole = <int32_t> (weights[i] * n_target)
        for k in range(whole):
            if filled < n_target:
                ancestors[filled] = i
                filled += 1
    left = n_target - filled
    if left == 0:
        return
    for i in range(n):
        expected = weights[i] * n_target
        total += (expected - <double> (<int32_t> expected)) / left
        cumulative[i] = total
    if cumulative[n - 1] < 1.0:
        cumulative[n - 1] = 1.0
    for k in range(filled, n_target):
        u = s.uniform(s)
        first = 0
        size = n
        while size > 1:             # halved without a branch on what is drawn
            half = size // 2
            first += half * (cumulative[first + half - 1] < u)
            size -= half
        ancestors[k] = first
