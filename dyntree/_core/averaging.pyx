"""Averaging: how models that foresee the same rows share one answer.

`weigh` gives each a weight by what it said of the rows before (dynamic model averaging:
Raftery, Karny and Ettler 2010, with the densities tempered); `stack` regresses labels on
the log odds that they gave (an extended Kalman filter for logistic regression).
"""
import numpy as np

from libc.math cimport INFINITY, exp, expm1, fabs, isnan, log, log1p

cdef double FLOOR = -700.0      # log densities this far below the best count as that far
cdef double LIMIT = 20.0        # log odds beyond which no model is believed


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


def weigh(
    const double[:, ::1] log_densities, double discount, double tempering,
    double[::1] log_weights, double[:, ::1] weights,
):
    """Let rows change the weights of the models that foresaw them.

    Parameters
    ----------
    log_densities : ndarray of shape (n_rows, n_models)
        Log predictive density, or probability, of each row under each model. A row with
        NaN, which some model did not foresee, changes nothing.
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
    cdef Py_ssize_t n = log_densities.shape[0], m = log_weights.shape[0], t, k
    cdef double best, most, total, value
    cdef bint unseen
    check_width(log_densities.shape[1], m)
    check_width(weights.shape[1], m)
    if weights.shape[0] != n:
        raise ValueError(f"weights must have {n} rows; got {weights.shape[0]}.")
    found = np.full(n, np.nan)
    cdef double[::1] out = found
    with nogil:
        for t in range(n):
            weights_of(&log_weights[0], &weights[t, 0], m)
            unseen, best = False, -INFINITY
            for k in range(m):
                unseen = unseen or isnan(log_densities[t, k])
                best = max(best, log_densities[t, k])
            if unseen:
                continue
            if best == -INFINITY:   # to no model's credit
                out[t] = -INFINITY
                continue
            total, most = 0.0, -INFINITY
            for k in range(m):
                value = max(log_densities[t, k] - best, FLOOR)
                total += weights[t, k] * exp(value)
                log_weights[k] = discount * (log_weights[k] + tempering * value)
                most = max(most, log_weights[k])
            for k in range(m):
                log_weights[k] -= most
            out[t] = best + log(total)
    return found


cdef double bounded(double log_odds) noexcept nogil:
    return max(-LIMIT, min(LIMIT, log_odds))


def stack(
    const double[:, ::1] log_probabilities, const double[::1] y, double[::1] coef,
    double[:, ::1] covariance,
):
    """Foresee labels by logistic regression on the models' log odds, then learn them.

    Parameters
    ----------
    log_probabilities : ndarray of shape (n_rows, n_models)
        Of the label that came, under each model; <= 0, NaN as in `weigh`.
    y : ndarray of shape (n_rows,)
        Labels, 0 or 1.
    coef : ndarray of shape (n_models,)
        Mean of the coefficients, changed in place.
    covariance : ndarray of shape (n_models, n_models)
        Theirs, changed in place.

    Returns
    -------
    ndarray of shape (n_rows,)
        Log probability of the label that came; NaN where a model has none.

    Notes
    -----
    With z the log odds and p = 1 / (1 + exp(-z'b)), a row adds p (1 - p) z z' to the
    precision and moves b by the new covariance times (y - p) z.
    """
    cdef Py_ssize_t n = log_probabilities.shape[0], m = coef.shape[0], t, k, l
    cdef double p, score, spread, slope, sign, value
    cdef bint unseen
    check_width(log_probabilities.shape[1], m)
    check_width(covariance.shape[0], m)
    check_width(covariance.shape[1], m)
    if y.shape[0] != n:
        raise ValueError(f"y must have one value a row, {n}; got {y.shape[0]}.")
    found = np.full(n, np.nan)
    cdef double[::1] out = found, z = np.empty(m), Pz = np.empty(m)
    with nogil:
        for t in range(n):
            unseen, score, sign = False, 0.0, 1.0 if y[t] > 0.5 else -1.0
            for k in range(m):
                value = log_probabilities[t, k]
                unseen = unseen or isnan(value)
                z[k] = sign * bounded(value - log(-expm1(value)) if value < 0.0 else LIMIT)
                score += coef[k] * z[k]
            if unseen:
                continue
            p = 1.0 / (1.0 + exp(-score))
            out[t] = -log1p(exp(-sign * score))
            spread = 0.0
            for k in range(m):
                Pz[k] = 0.0
                for l in range(m):
                    Pz[k] += covariance[k, l] * z[l]
                spread += z[k] * Pz[k]
            # Sherman and Morrison (1950); the new covariance times z is Pz / (1 + ...)
            slope = p * (1.0 - p)
            slope, value = slope / (1.0 + slope * spread), 1.0 / (1.0 + slope * spread)
            for k in range(m):
                coef[k] += value * (0.5 + 0.5 * sign - p) * Pz[k]
                for l in range(m):
                    covariance[k, l] -= slope * (Pz[k] * Pz[l])
    return found


def stacked(const double[:, ::1] proba, const double[::1] coef):
    """Probability of label 1 by the regression that `stack` learned.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_models)
        Of label 1 under each model.
    coef : ndarray of shape (n_models,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    cdef Py_ssize_t n = proba.shape[0], m = coef.shape[0], t, k
    cdef double score
    check_width(proba.shape[1], m)
    found = np.empty(n)
    cdef double[::1] out = found
    with nogil:
        for t in range(n):
            score = 0.0
            for k in range(m):
                score += coef[k] * bounded(log(proba[t, k]) - log1p(-proba[t, k]))
            out[t] = 1.0 / (1.0 + exp(-score))
    return found
