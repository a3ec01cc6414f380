"""Mixtures of many components in plain NumPy: slow, readable, in float64."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, logsumexp

Array = NDArray[np.float64]


# ---------------------------------------------------------------- densities
def log_density(family: str, X: Array, mean: Array, spread: Array) -> Array:
    """Log density of every row in every component, by scipy.stats."""
    columns = []
    for z, m in enumerate(mean):
        if family in ("spherical", "spherical_tied"):
            cov = np.eye(len(m)) * spread[z]
        elif family == "diag":
            cov = np.diag(spread[z])
        elif family == "full":
            cov = spread[z]
        if family == "poisson":
            columns.append(stats.poisson.logpmf(X, m).sum(axis=1))
        elif family == "multinomial":
            columns.append(stats.multinomial.logpmf(X, X.sum(axis=1), m))
        else:
            one = stats.multivariate_normal.logpdf(X, m, cov)
            columns.append(np.atleast_1d(one))
    return np.stack(columns, axis=1)


# ---------------------------------------------------------------- M-steps
def diag_estimate(
    X: Array, c: Array, k0: float, n0: float, s0: Array
) -> tuple[Array, Array]:
    """Joint mode of mean and variances of weighted rows, prior mean 0.

    The maximum over (mu, v) of N(mu; 0, v/k0) Inv-chi2(v; n0, s0) prod N(x; mu, v)^c.
    """
    k = k0 + c.sum()
    mu = (c @ X) / k
    ss = n0 * s0 + c @ (X - mu) ** 2 + k0 * mu**2
    return mu, ss / (n0 + c.sum() + 3)


def full_estimate(
    X: Array, c: Array, k0: float, n0: float, s0: Array
) -> tuple[Array, Array]:
    """The same for a covariance with an inverse-Wishart prior."""
    k = k0 + c.sum()
    mu = (c @ X) / k
    deviations = X - mu
    scatter = np.diag(n0 * s0) + (c[:, None] * deviations).T @ deviations
    scatter += k0 * np.outer(mu, mu)
    return mu, scatter / (n0 + c.sum() + X.shape[1] + 2)


# ---------------------------------------------------------------- kernels of labels
def listed_kernel(w: Array, listed: list[int], eta: float) -> Array:
    """Transition matrix of a row whose candidates are `listed`.

    Parameters
    ----------
    w : ndarray of shape (m,)
        Weight times density of each component at the row.
    listed : list of int
    eta : float
        Mass of the proposals outside, as a share of the mass in the list.
    """
    m = len(w)
    inside = np.zeros(m, dtype=bool)
    inside[listed] = True
    total = w[inside].sum()
    out = np.zeros((m, m))
    f = eta * total / (m - inside.sum()) if not inside.all() else 0.0
    q = np.where(inside, w, f) / (total + (eta * total if f else 0.0))
    for z in range(m):
        for u in range(m):
            if inside[u] and inside[z]:
                accept = 1.0
            elif inside[u]:
                accept = min(1.0, f / w[z])
            elif inside[z]:
                accept = min(1.0, w[u] / f)
            else:
                accept = min(1.0, w[u] / w[z])
            if u != z:
                out[z, u] = q[u] * accept
        out[z, z] = 1.0 - out[z].sum()
    return out


def proposal_kernel(w: Array, q: Array) -> Array:
    """Transition matrix of an independence sampler that proposes from q."""
    m = len(w)
    out = np.zeros((m, m))
    for z, u in product(range(m), repeat=2):
        if u != z:
            out[z, u] = q[u] * min(1.0, w[u] * q[z] / (w[z] * q[u]))
    out[np.diag_indices(m)] = 1.0 - out.sum(axis=1)
    return out


# ---------------------------------------------------------------- exact posteriors
def log_marginal(X: Array, k0: float, n0: float, s0: float) -> float:
    """Log marginal likelihood of scalars under a normal inverse chi-squared prior."""
    n = len(X)
    if not n:
        return 0.0
    x = X[:, 0]
    k, v = k0 + n, n0 + n
    mean = x.sum() / k
    ss = n0 * s0 + (x**2).sum() - k * mean**2
    return float(
        gammaln(v / 2) - gammaln(n0 / 2) + 0.5 * np.log(k0 / k)
        + 0.5 * n0 * np.log(n0 * s0) - 0.5 * v * np.log(ss) - 0.5 * n * np.log(np.pi)
    )  # fmt: skip


def label_posterior(
    X: Array, m: int, alpha: float, k0: float, n0: float, s0: float
) -> dict[tuple[int, ...], float]:
    """Probability of every label vector, parameters and weights integrated out."""
    logs = {}
    for labels in product(range(m), repeat=len(X)):
        z = np.array(labels)
        counts = np.bincount(z, minlength=m)
        log_p = (gammaln(alpha / m + counts) - gammaln(alpha / m)).sum()
        log_p += sum(log_marginal(X[z == k], k0, n0, s0) for k in range(m))
        logs[labels] = float(log_p)
    top = logsumexp(list(logs.values()))
    return {labels: float(np.exp(v - top)) for labels, v in logs.items()}
