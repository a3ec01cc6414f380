"""Read-only passes over a cloud: prediction, coefficients, counts.

Every pass goes over particles in order and averages over them with equal weights.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr, stdtrit

from tests.oracle import linear
from tests.oracle.cloud import Cloud
from tests.oracle.density import t_density


def predict(
    cloud: Cloud,
    X,
    y=None,
    quantiles: bool = False,
    improvement: bool = False,
) -> dict[str, np.ndarray]:
    """Predictive distribution at each row of X.

    Parameters
    ----------
    cloud : Cloud
    X : ndarray of shape (nn, n_features)
    y : ndarray of shape (nn,), optional
        Responses whose predictive density is asked for.
    quantiles, improvement : bool
        Whether to add the average 5 and 95 % quantiles, the expected improvement.

    Returns
    -------
    dict of str to ndarray
        Regression: mean, vmean, var, df, and q1, q2, density, ei as asked, each of
        shape (nn,). Class: p of shape (nn, n_classes), entropy and density (nn,).
    """
    rows = as_rows(cloud, X)
    labels = None if y is None else np.asarray(y, dtype=np.float64).tolist()
    if cloud.model == "class":
        return _predict_class(cloud, rows, labels)
    mu, sd, df = predictive_parameters(cloud, rows)
    n = len(cloud.trees)
    with np.errstate(all="ignore"):
        mean = mu.sum(axis=0) / n
        vmean = (mu * mu).sum(axis=0) / n - mean * mean
        vmean[vmean < 0.0] = 0.0
        var = (df * (sd * sd) / (df - 2.0)).sum(axis=0) / n + vmean
        var[var < 0.0] = 0.0
        out = {"mean": mean, "vmean": vmean, "var": var, "df": df.sum(axis=0) / n}
        if quantiles:
            out["q1"] = (mu + sd * t_quantile(0.05, df)).sum(axis=0) / n
            out["q2"] = (mu + sd * t_quantile(0.95, df)).sum(axis=0) / n
        if labels is not None:
            out["density"] = _densities(cloud, rows, labels)
        if improvement:
            best = mu.min(axis=1, keepdims=True, initial=np.inf)
            out["ei"] = expected_improvement(mu, sd, df, best).sum(axis=0) / n
    return out


def as_rows(cloud: Cloud, X) -> list[list[float]]:
    """Check the shape of X and return its rows as lists."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != cloud.n_features:
        raise ValueError(f"X must be (n, {cloud.n_features}); got {X.shape}.")
    return X.tolist()


def predictive_parameters(
    cloud: Cloud, rows: list[list[float]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Location, scale and degrees of freedom, each (n_particles, n_rows)."""
    rows = [x[:] for x in rows]
    values = []
    for tree in cloud.trees:
        for x in rows:
            leaf = tree.leaf_at(x)
            values.append(leaf.predictive(x))
            leaf.drift(x)
    table = np.array(values, dtype=np.float64).reshape(len(cloud.trees), len(rows), 3)
    return table[:, :, 0], table[:, :, 1], table[:, :, 2]


def t_quantile(p: float, df: np.ndarray) -> np.ndarray:
    """Quantile of Student's t, looked up once per distinct df."""
    distinct, places = np.unique(df, return_inverse=True)
    values = np.full(distinct.shape, np.nan)
    good = distinct > 0.0
    values[good] = stdtrit(distinct[good], p)
    return values[places].reshape(df.shape)


def t_densities(x: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Density of Student's t, entry by entry."""
    x, df = np.broadcast_arrays(x, df)
    flat = [t_density(a, b) for a, b in zip(x.ravel(), df.ravel(), strict=True)]
    return np.array(flat).reshape(x.shape)


def expected_improvement(
    mu: np.ndarray, sd: np.ndarray, df: np.ndarray, best: np.ndarray
) -> np.ndarray:
    """Expected fall below `best` under t distributions; arrays of one shape."""
    gap = best - mu
    z = gap / sd
    spread = (df * sd + gap * gap / sd) / (df - 1.0)
    return gap * stdtr(df, z) + spread * t_densities(z, df)


def _densities(cloud: Cloud, rows: list[list[float]], y: list[float]) -> np.ndarray:
    total = np.zeros(len(rows))
    rows = [x[:] for x in rows]
    for tree in cloud.trees:
        for j, x in enumerate(rows):
            total[j] += tree.leaf_at(x).density(x, y[j])
    return total / len(cloud.trees)


def _predict_class(
    cloud: Cloud, rows: list[list[float]], labels: list[float] | None
) -> dict[str, np.ndarray]:
    p = np.zeros((len(rows), cloud.n_classes))
    entropy = np.zeros(len(rows))
    for tree in cloud.trees:
        for j, x in enumerate(rows):
            leaf = tree.leaf_at(x)
            p[j] += leaf.probabilities()
            entropy[j] += leaf.entropy()
    n = len(cloud.trees)
    out = {"p": p / n, "entropy": entropy / n}
    if labels is not None:
        places = np.array(labels, dtype=np.int64)
        out["density"] = out["p"][np.arange(len(rows)), places]
    return out


def coef(cloud: Cloud, X) -> np.ndarray:
    """Average coefficients of the linear leaves at each row of X.

    Returns
    -------
    ndarray of shape (nn, q) or, with an implicit intercept in front, (nn, q + 1)
    """
    rows = as_rows(cloud, X)
    out = np.zeros((len(rows), cloud.n_basis + cloud.rules.icept))
    for tree in cloud.trees:
        for j, x in enumerate(rows):
            leaf = tree.leaf_at(x)
            slope = leaf.fit.slope
            if cloud.rules.icept:
                level = leaf.sy / len(leaf.rows) - linear.dot(leaf.xbar, slope)
                out[j] += [level, *slope]
            else:
                out[j] += slope
    return out / len(cloud.trees)


def class_probabilities(cloud: Cloud, k: int, X) -> np.ndarray:
    """Probability of class k, ndarray of shape (n_particles, nn)."""
    rows = as_rows(cloud, X)
    values = [
        [tree.leaf_at(x).probabilities()[k] for x in rows] for tree in cloud.trees
    ]
    return np.array(values, dtype=np.float64).reshape(len(cloud.trees), len(rows))


def sameleaf(cloud: Cloud, X) -> np.ndarray:
    """For each row of X, how many rows of X share its leaf, summed over particles."""
    rows = as_rows(cloud, X)
    out = np.zeros(len(rows))
    for tree in cloud.trees:
        homes = [id(tree.leaf_at(x)) for x in rows]
        for j, home in enumerate(homes):
            out[j] += homes.count(home)
    return out


def intervals(cloud: Cloud, position: int, variable: int) -> np.ndarray:
    """Range of a column over the active rows in the leaf of a stored row.

    Returns
    -------
    ndarray of shape (n_particles, 2)
    """
    x = cloud.pool.x
    out = []
    for tree in cloud.trees:
        column = [x[row][variable] for row in tree.leaf_at(x[position]).rows]
        out.append((min(column), max(column)))
    return np.array(out, dtype=np.float64)


def split_counts(cloud: Cloud) -> np.ndarray:
    """Splits per variable: ndarray of shape (n_particles, n_features), int64."""
    out = np.zeros((len(cloud.trees), cloud.n_features), dtype=np.int64)
    for i, tree in enumerate(cloud.trees):
        for node in tree.root.splits():
            out[i, node.variable] += 1
    return out


def tree_stats(cloud: Cloud) -> tuple[float, float, float, float]:
    """Average height, leaves, active leaf size and retired leaf size."""
    return cloud.tree_stats()
