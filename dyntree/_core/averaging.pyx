"""Averaging: how models that predict the same rows share one answer.

`weigh` gives each a weight by what it said of the rows before (dynamic model averaging:
Raftery, Karny and Ettler 2010, with the densities tempered); `stack` regresses labels on
the log probabilities that they gave (an extended Kalman filter for logistic regression).
"""
import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log, sqrt

from scipy.special.cython_special cimport ndtri

from dyntree._core.rmath cimport t_constant
from dyntree._core.student cimport log_density

cdef double FLOOR = -700.0      # log densities this far below the best count as that far
cdef double SPREAD_KEPT = 0.995         # of the sums behind a spread, after a row
cdef double SPREAD_PRIOR = 50.0         # rows for which the pool is right
cdef double MOST_SQUARE = 16.0          # of a normal score
cdef double LEAST_SPREAD = 0.5, MOST_SPREAD = 2.0
cdef double LEAST = 2e-9        # probability below which no model is believed
cdef double ERRORS_KEPT = 0.8   # of the sums behind the scale of persistence, after a row
cdef double MOST_ERROR = 1e100  # whose square is finite
cdef double LEAST_ERROR = 1e-3  # of the unit of responses: what the scale never is below
cdef double PERSISTENCE_DF = 4.0
cdef double PERSISTENCE_CONSTANT = t_constant(PERSISTENCE_DF)


cdef int check_width(Py_ssize_t found, Py_ssize_t n_models) except -1:
    if found != n_models or not n_models:
        raise ValueError(f"arrays must be of {n_models} >= 1 models; got {found}.")
    return 0


cdef double weights_of(
    const double *log_weights, double *weights, Py_ssize_t m
) noexcept nogil:
    """Weights that sum to one; returns the log of the sum they were divided by."""
    cdef double most = -INFINITY, total = 0.0
    cdef Py_ssize_t k
    for k in range(m):
        most = max(most, log_weights[k])
    for k in range(m):
        weights[k] = exp(log_weights[k] - most)
        total += weights[k]
    for k in range(m):
        weights[k] /= total
    return most + log(total)


cdef double weigh_row(
    const double *log_densities, double discount, double tempering,
    double *log_weights, double *weights, Py_ssize_t m
) noexcept nogil:
    """Let one row change log weights, as `weigh` says; its log density, or NaN."""
    cdef double best = -INFINITY, most = -INFINITY, total = 0.0, value
    cdef Py_ssize_t k
    weights_of(log_weights, weights, m)
    for k in range(m):
        if isnan(log_densities[k]):
            return NAN
        best = max(best, log_densities[k])
    if best == -INFINITY:   # to no model's credit
        return -INFINITY
    for k in range(m):
        value = max(log_densities[k] - best, FLOOR)
        total += weights[k] * exp(value)
        log_weights[k] = discount * (log_weights[k] + tempering * value)
        most = max(most, log_weights[k])
    for k in range(m):
        log_weights[k] -= most
    return best + log(total)


cdef double pooled(
    const double *log_densities, const double *weights, Py_ssize_t m
) noexcept nogil:
    """Log density of a row under the mixture of models of these weights."""
    cdef double best = -INFINITY, total = 0.0
    cdef Py_ssize_t k
    for k in range(m):
        best = max(best, log_densities[k])
    if best == -INFINITY:
        return best
    for k in range(m):
        total += weights[k] * exp(log_densities[k] - best)
    return best + log(total)


cdef double scale_of(const double *persistence) noexcept nogil:
    """Scale of what persistence predicts, in the unit of responses."""
    return sqrt(persistence[1] / persistence[2] + LEAST_ERROR * LEAST_ERROR)


cdef double persist_row(
    double *persistence, double y, double weight, double unit, bint divides,
    double share,
) noexcept nogil:
    """Log density of a response by persistence; NaN for the first.

    Persistence learns the response, unless clouds counted less than half of it, as it
    lies outside.
    """
    cdef double found = NAN, z = 0.0, scale
    if persistence[2] > 0.0:
        if persistence[3] == 0.0 and y != persistence[0]:
            persistence[3] = unit
        if persistence[3] > 0.0:
            unit = persistence[3]
        else:
            unit = 1.0
        z = min(max((y - persistence[0]) / unit, -MOST_ERROR), MOST_ERROR)
        scale = scale_of(persistence)
        if divides:
            z *= sqrt(weight)
            unit /= sqrt(weight)
        found = log_density(z / scale, PERSISTENCE_DF, PERSISTENCE_CONSTANT)
        found -= log(scale) + log(unit)
        if not divides:
            found *= weight
    if persistence[2] > 0.0 and share < 0.5:
        return found
    persistence[0] = y
    persistence[1] = ERRORS_KEPT * persistence[1] + z * z
    persistence[2] = ERRORS_KEPT * persistence[2] + 1.0
    return found


cdef double weigh_with_persistence(
    double *log_densities, double discount, double tempering, double *log_weights,
    double *weights, Py_ssize_t m, double *persistence, double y, double weight,
    double unit, bint divides, double share,
) noexcept nogil:
    """As `weigh_row` of m models and persistence, whose log density is written, last.

    Of the first response it knows nothing, and its density is that of the others.
    """
    log_densities[m] = persist_row(
        persistence, y, weight, unit, divides, share
    )
    if isnan(log_densities[m]):
        weights_of(log_weights, weights, m)
        log_densities[m] = pooled(log_densities, weights, m)
    return weigh_row(
        log_densities, discount, tempering, log_weights, weights, m + 1
    )


def weigh_persistently(
    double[:, ::1] log_densities, double discount, double tempering,
    double[::1] log_weights, double[:, ::1] weights, double[::1] persistence,
    const double[::1] y, const double[::1] row_weights, double unit, bint divides,
    const double[::1] shares=None,
):
    """Let rows change the weights of models and of persistence beside them.

    Persistence predicts the last response again, with Student's t of 4 degrees of
    freedom. Its squared scale is the mean of the squared errors so far, each of which
    counts 0.8 times as much as the next one.

    Parameters
    ----------
    log_densities : ndarray of shape (n_rows, n_models + 1)
        As for `weigh`; the last column is written.
    discount, tempering
        As for `weigh`.
    log_weights : ndarray of shape (n_models + 1,)
        Changed in place, as in `weigh`.
    weights : ndarray of shape (n_rows, n_models + 1)
        Written, as in `weigh`.
    persistence : ndarray of shape (4,)
        Changed in place: the last response, the sum of the squared errors, the number
        of rows behind it (0 before the first), both of which fade, and the unit of
        responses in which the errors are (0 while all responses are equal).
    y : ndarray of shape (n_rows,)
    row_weights : ndarray of shape (n_rows,), or None
        Weights of the rows; None: all 1.
    unit : float
        The unit, once responses differ.
    divides : bool
        Whether weights divide variances, and are not frequencies.
    shares : ndarray of shape (n_rows,), optional
        How much of each row clouds counted. A response of which they counted less than
        half is not the last one for the row after it.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log density of each row under the mixture.
    """
    cdef Py_ssize_t n = log_densities.shape[0], m = log_weights.shape[0] - 1, t
    cdef double weight = 1.0, share = 1.0
    check_width(log_densities.shape[1] - 1, m)
    check_width(weights.shape[1] - 1, m)
    if weights.shape[0] != n or y.shape[0] != n or persistence.shape[0] != 4 or (
        row_weights is not None and row_weights.shape[0] != n
        or shares is not None and shares.shape[0] != n
    ):
        raise ValueError(f"weights and y must have {n} rows, and persistence be four.")
    found = np.empty(n)
    cdef double[::1] out = found
    with nogil:
        for t in range(n):
            if row_weights is not None:
                weight = row_weights[t]
            if shares is not None:
                share = shares[t]
            out[t] = weigh_with_persistence(
                &log_densities[t, 0], discount, tempering, &log_weights[0],
                &weights[t, 0], m, &persistence[0], y[t], weight, unit, divides,
                share,
            )
    return found


def persistence_law(const double[::1] persistence):
    """Location, scale and degrees of freedom of what persistence predicts.

    Its argument is as for `weigh_persistently`, of one response at least.
    """
    unit = persistence[3] or 1.0
    return persistence[0], unit * scale_of(&persistence[0]), PERSISTENCE_DF


def weigh(
    const double[:, ::1] log_densities, double discount, double tempering,
    double[::1] log_weights, double[:, ::1] weights,
):
    """Let rows change the weights of the models that predicted them.

    Parameters
    ----------
    log_densities : ndarray of shape (n_rows, n_models)
        Log predictive density, or probability, of each row under each model. A row with
        NaN, which some model did not predict, changes nothing.
    discount : float in (0, 1]
        a: what is left of a log weight after a row.
    tempering : float > 0
        b: weights are proportional to the exponential of L, with
        L <- a (L + b log p).
    log_weights : ndarray of shape (n_models,)
        L, changed in place; the largest is 0.
    weights : ndarray of shape (n_rows, n_models)
        Written: the weights at each row, before it changes them.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log density of each row under the mixture of the models; NaN where one is.
    """
    cdef Py_ssize_t n = log_densities.shape[0], m = log_weights.shape[0], t
    check_width(log_densities.shape[1], m)
    check_width(weights.shape[1], m)
    if weights.shape[0] != n:
        raise ValueError(f"weights must have {n} rows; got {weights.shape[0]}.")
    found = np.empty(n)
    cdef double[::1] out = found
    with nogil:
        for t in range(n):
            out[t] = weigh_row(
                &log_densities[t, 0], discount, tempering, &log_weights[0],
                &weights[t, 0], m,
            )
    return found


cdef void spread_row(
    const double *below, const double *weights, double *spread, Py_ssize_t m
) noexcept nogil:
    """Let one row change the sums behind the spread of a pool, as `spread` says."""
    cdef double total = 0.0, p = 0.0, z
    cdef Py_ssize_t k
    for k in range(m):
        if not isnan(below[k]):
            total += weights[k]
            p += weights[k] * below[k]
    if total <= 0.0:
        return
    z = ndtri(min(max(p / total, 1e-9), 1.0 - 1e-9))
    spread[0] = SPREAD_KEPT * spread[0] + total * min(z * z, MOST_SQUARE)
    spread[1] = SPREAD_KEPT * spread[1] + total


def spread(
    const double[:, ::1] below, const double[:, ::1] weights, double[::1] sums
):
    """Let rows tell how much too wide or too narrow a pool of models is.

    A pool of calibrated models is too wide, as it also has their disagreement (Gneiting
    and Ranjan 2013). If it is right, normal scores of what it said of each response,
    the inverse of the normal distribution at the probability below it, have a mean
    square of 1.

    Parameters
    ----------
    below : ndarray of shape (n_rows, n_models)
        Probability below each response by each model; NaN of those that say none.
    weights : ndarray of shape (n_rows, n_models)
        Of the models at each row.
    sums : ndarray of shape (2,)
        Changed in place: sum of the squares, and of the rows, both of which fade.
    """
    cdef Py_ssize_t t
    check_width(below.shape[1], weights.shape[1])
    if below.shape[0] != weights.shape[0] or sums.shape[0] != 2:
        raise ValueError("weights must be of the same rows, and sums be two.")
    for t in range(below.shape[0]):
        spread_row(&below[t, 0], &weights[t, 0], &sums[0], below.shape[1])


def spread_factor(const double[::1] sums):
    """What scales of a pool are multiplied by, from the sums of `spread`."""
    factor = sqrt((SPREAD_PRIOR + sums[0]) / (SPREAD_PRIOR + sums[1]))
    return min(max(factor, LEAST_SPREAD), MOST_SPREAD)


def weights_at(const double[::1] log_weights):
    """Weights of models, ndarray of shape (n_models,), by their logs."""
    found = np.empty(log_weights.shape[0])
    cdef double[::1] out = found
    check_width(log_weights.shape[0], log_weights.shape[0])
    weights_of(&log_weights[0], &out[0], log_weights.shape[0])
    return found


cdef void regressed(
    const double *log_p, const double *coef, double *q, Py_ssize_t m, Py_ssize_t n_classes
) noexcept nogil:
    """Probabilities q by the regression, of log_p of shape (n_models, n_classes)."""
    cdef Py_ssize_t k, c
    cdef double most = -INFINITY, total = 0.0
    for c in range(n_classes):
        q[c] = 0.0
        for k in range(m):
            q[c] += coef[k] * log_p[k * n_classes + c]
        most = max(most, q[c])
    for c in range(n_classes):
        q[c] = exp(q[c] - most)
        total += q[c]
    for c in range(n_classes):
        q[c] /= total


def stack(
    const double[:, :, ::1] proba, const double[::1] y, double[::1] coef,
    double[:, ::1] covariance, const double[::1] times=None,
):
    """Predict labels by a regression on the models' log probabilities, then learn them.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_models, n_classes)
        Probabilities by each model; a row with NaN changes nothing.
    y : ndarray of shape (n_rows,)
        Places of the observed labels.
    coef : ndarray of shape (n_models,)
        Mean of the coefficients, changed in place.
    covariance : ndarray of shape (n_models, n_models)
        Theirs, changed in place.
    times : ndarray of shape (n_rows,), optional
        Repeats of each row, 1 by default.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log probability of the observed label, times its repeats; NaN where a model
        has none.

    Notes
    -----
    With z_c the log probabilities of class c, those of the regression are
    q_c ~ exp(z_c'b), and Z = sum q_c z_c. A row adds sum q_c (z_c - Z)(z_c - Z)' to the
    precision (Fisher's information) and moves b by the new covariance times z_y - Z: an
    extended Kalman filter for a multinomial logistic regression whose coefficients
    classes share. Of two labels it is a regression on log odds.
    """
    cdef Py_ssize_t n = proba.shape[0], m = coef.shape[0], n_classes = proba.shape[2]
    cdef Py_ssize_t t, k, l, c
    cdef double spread, slope, w = 1.0
    cdef bint unseen
    check_width(proba.shape[1], m)
    check_width(covariance.shape[0], m)
    check_width(covariance.shape[1], m)
    if y.shape[0] != n:
        raise ValueError(f"y must have one value a row, {n}; got {y.shape[0]}.")
    if times is not None and times.shape[0] != n:
        raise ValueError(f"times must be {n}; got {times.shape[0]}.")
    for t in range(n):
        if not 0.0 <= y[t] < n_classes:
            raise ValueError(f"y must be below {n_classes}; got {y[t]} in row {t}.")
    found = np.empty(n)     # np.full is Python, in which an interrupt may come
    cdef double[::1] out = found
    cdef double[:, ::1] log_p = np.empty((m, n_classes))
    cdef double[::1] q = np.empty(n_classes), mean = np.empty(m), z = np.empty(m)
    cdef double[::1] Pz = np.empty(m)
    with nogil:
        for t in range(n):
            unseen = False
            for k in range(m):
                for c in range(n_classes):
                    unseen = unseen or isnan(proba[t, k, c])
                    log_p[k, c] = log(max(proba[t, k, c], LEAST))
            out[t] = NAN
            if unseen:
                continue
            if times is not None:
                w = times[t]
            regressed(&log_p[0, 0], &coef[0], &q[0], m, n_classes)
            out[t] = w * log(max(q[<Py_ssize_t> y[t]], LEAST))
            for k in range(m):
                mean[k] = 0.0
                for c in range(n_classes):
                    mean[k] += q[c] * log_p[k, c]
            for c in range(n_classes):
                spread = 0.0
                for k in range(m):
                    z[k] = log_p[k, c] - mean[k]
                for k in range(m):
                    Pz[k] = 0.0
                    for l in range(m):
                        Pz[k] += covariance[k, l] * z[l]
                    spread += z[k] * Pz[k]
                slope = w * q[c] / (1.0 + w * q[c] * spread)    # Sherman and Morrison (1950)
                for k in range(m):
                    for l in range(m):
                        covariance[k, l] -= slope * (Pz[k] * Pz[l])
            for k in range(m):
                z[k] = log_p[k, <Py_ssize_t> y[t]] - mean[k]
            for k in range(m):
                for l in range(m):
                    coef[k] += w * (covariance[k, l] * z[l])
    return found


def stacked(const double[:, :, ::1] proba, const double[::1] coef):
    """Probabilities by the regression that `stack` learned.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_models, n_classes)
        By each model.
    coef : ndarray of shape (n_models,)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    cdef Py_ssize_t n = proba.shape[0], m = coef.shape[0], n_classes = proba.shape[2]
    cdef Py_ssize_t t, k, c
    check_width(proba.shape[1], m)
    found = np.empty((n, n_classes))
    cdef double[:, ::1] out = found, log_p = np.empty((m, n_classes))
    with nogil:
        for t in range(n):
            for k in range(m):
                for c in range(n_classes):
                    log_p[k, c] = log(max(proba[t, k, c], LEAST))
            regressed(&log_p[0, 0], &coef[0], &out[t, 0], m, n_classes)
    return found
