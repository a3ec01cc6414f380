"""What a label or count says of log odds or a log rate with a normal law, by quadrature.

Nodes are of Gauss and Hermite, about the mode of the law after the row.
"""
import numpy as np

from libc.math cimport INFINITY, M_PI, exp, fabs, fmax, fmin, isinf, lgamma, log, log1p, sqrt

cdef enum:
    N_NODES = 15
    N_STEPS = 100           # of Newton's method or bisection, at most
cdef double[N_NODES] NODES, NODE_LOGS
for _i, (_x, _w) in enumerate(zip(*np.polynomial.hermite_e.hermegauss(N_NODES))):
    NODES[_i], NODE_LOGS[_i] = _x, log(_w) + 0.5 * _x * _x


cdef double sigmoid(double z) noexcept nogil:
    return 1.0 / (1.0 + exp(-fmin(fmax(z, -700.0), 700.0)))


cdef double moments_of(const double *at, double *logs, double *m, double *u) noexcept nogil:
    """Mean and variance of the nodes, by the logs of their shares; the log of the sum.

    The logs become shares of the largest.
    """
    cdef double most = -INFINITY, total = 0.0, off
    cdef int i
    for i in range(N_NODES):
        most = fmax(most, logs[i])
    m[0] = u[0] = 0.0
    for i in range(N_NODES):
        logs[i] = exp(logs[i] - most)
        total += logs[i]
        m[0] += logs[i] * at[i]
    m[0] /= total
    for i in range(N_NODES):
        off = at[i] - m[0]
        u[0] += logs[i] / total * off * off
    return most + log(total)


cdef double label_site(
    double e, double v, double sign, double times, double *m, double *u
) noexcept nogil:
    """Mean m and variance u of log odds N(e, v) after a label, so many times.

    Gives the log probability of all these labels. `sign` is 1 for the label, else -1.
    Nodes stand about the mode, which is sought by Newton's method between bounds.
    """
    cdef double x = e, low = e, high = e + sign * times * v, p, slope, step, sd, log_z
    cdef double[N_NODES] at, logs
    cdef int i
    if low > high:      # the mode lies between the mean and where a wrong label would push it
        low, high = high, low
    for i in range(N_STEPS):
        p = sigmoid(sign * x)
        slope = times * sign * (1.0 - p) - (x - e) / v
        if slope > 0.0:
            low = x
        else:
            high = x
        step = slope / (times * p * (1.0 - p) + 1.0 / v)
        if not low < x + step < high:
            step = 0.5 * (low + high) - x
        x += step
        if fabs(step) < 1e-8:
            break
    p = sigmoid(sign * x)
    sd = 1.0 / sqrt(times * p * (1.0 - p) + 1.0 / v)
    for i in range(N_NODES):
        at[i] = x + sd * NODES[i]
        logs[i] = NODE_LOGS[i] + times * log(sigmoid(sign * at[i]))
        logs[i] -= (at[i] - e) * (at[i] - e) / (2.0 * v)
    log_z = moments_of(at, logs, m, u) + log(sd) - 0.5 * log(2.0 * M_PI * v)
    if not u[0] > 0.0:      # all at one node: the law is that about the mode
        m[0], u[0] = x, sd * sd
    return log_z


cdef double log_mass(double y, double at, double size) noexcept nogil:
    """Log probability of y events of the log mean `at`, but for what has no `at` in it.

    `size` is that of the negative binomial; infinite: Poisson.
    """
    cdef double mean = exp(fmin(at, 700.0))
    if isinf(size):
        return y * at - mean
    return y * (at - log(size)) - (y + size) * log1p(mean / size)


cdef double count_site(
    double e, double v, double y, double size, double offset, double times, double *m,
    double *u,
) noexcept nogil:
    """Mean m and variance u of log rates N(e, v) after y events, seen so many times.

    Gives the log probability of the events. The log mean of these is the log rate and the
    offset. Nodes are as in `label_site`.
    """
    cdef double x = e, low, high, mean, slope, curve, step, sd, log_z
    cdef double[N_NODES] at, logs
    cdef int i
    low = high = e
    if y > 0.0:         # the mode lies between e and what the events alone would say
        low, high = fmin(e, log(y) - offset), fmax(e, log(y) - offset)
    for i in range(N_STEPS):
        mean = exp(fmin(x + offset, 700.0))
        slope, curve = y - mean, mean
        if not isinf(size):
            slope /= 1.0 + mean / size
            curve = mean / (1.0 + mean / size) * (1.0 + y / size) / (1.0 + mean / size)
        slope, curve = times * slope, times * curve + 1.0 / v
        if i == 0:      # nor can it be further than these bounds of the slope push it
            if slope > 0.0:
                high = fmin(high, e + v * slope)
            else:
                mean = e - log1p(times * v * mean)
                low = mean if y == 0.0 else fmax(low, mean)
        slope -= (x - e) / v
        if slope > 0.0:
            low = x
        else:
            high = x
        step = slope / curve
        if not low < x + step < high or i % 3 == 2 and high - low > 4.0:
            step = 0.5 * (low + high) - x
        x += step
        if fabs(step) < 1e-8:
            break
    mean = exp(fmin(x + offset, 700.0))
    curve = mean
    if not isinf(size):
        curve = mean / (1.0 + mean / size) * (1.0 + y / size) / (1.0 + mean / size)
    sd = 1.0 / sqrt(times * curve + 1.0 / v)
    for i in range(N_NODES):
        at[i] = x + sd * NODES[i]
        logs[i] = NODE_LOGS[i] + times * log_mass(y, at[i] + offset, size)
        logs[i] -= (at[i] - e) * (at[i] - e) / (2.0 * v)
    log_z = moments_of(at, logs, m, u) + log(sd) - 0.5 * log(2.0 * M_PI * v)
    if not u[0] > 0.0:
        m[0], u[0] = x, sd * sd
    if not isinf(size):
        log_z += times * (lgamma(y + size) - lgamma(size))
    return log_z - times * lgamma(y + 1.0)
