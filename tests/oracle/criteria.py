"""Where to sample, what to forget, which inputs matter.

Analytic criteria integrate over a rectangle that shrinks on the way down a tree; the
bounds are shifted and shifted back in place, so they drift as R's do.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import stdtr

from tests.oracle import ieee, linear
from tests.oracle.cloud import Cloud
from tests.oracle.leaf import EPS, Leaf, RegressionLeaf
from tests.oracle.query import (
    as_rows,
    expected_improvement,
    predictive_parameters,
    t_densities,
)
from tests.oracle.tree import Node, Tree

# References given one by one ----------------------------------------------------


def _covariance(leaf: RegressionLeaf, z: list[float], lifted: list[float]) -> float:
    """c = I/(g+n) + z~'A x~, where lifted = A x~."""
    return leaf.base() + linear.dot(leaf.centre(z), lifted)


def _weights(cloud: Cloud, weights, n_ref: int) -> list[list[float]]:
    shape = (len(cloud.trees), n_ref)
    if weights is None:
        return np.ones(shape).tolist()
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != shape:
        raise ValueError(f"weights must be {shape}; got {weights.shape}.")
    return weights.tolist()


def alc_reference(cloud: Cloud, X, Xref, weights=None) -> np.ndarray:
    """Average reduction of variance at the references, were a row of X sampled.

    Parameters
    ----------
    cloud : Cloud
    X : ndarray of shape (nn, n_features)
    Xref : ndarray of shape (n_ref, n_features)
    weights : ndarray of shape (n_particles, n_ref), optional
        All 1 if absent.

    Returns
    -------
    ndarray of shape (nn,)
    """
    rows, refs = as_rows(cloud, X), as_rows(cloud, Xref)
    table = _weights(cloud, weights, len(refs))
    out = np.zeros(len(rows))
    for tree, w in zip(cloud.trees, table, strict=True):
        homes = [tree.leaf_at(z) for z in refs]
        for k, x in enumerate(rows):
            leaf = tree.leaf_at(x)
            df, q = leaf.moments()[:2]
            kappa = leaf.at(x)[1]
            lifted = leaf.lift(leaf.centre(x))
            scale = ieee.divide(q, df - 2.0)
            for j, z in enumerate(refs):
                if homes[j] is leaf and w[j] > EPS:
                    c = _covariance(leaf, z, lifted)
                    out[k] += w[j] * ieee.divide(scale * (c * c), 1.0 + kappa)
    return out / (len(cloud.trees) * len(refs))


def ieci(cloud: Cloud, X, Xref, weights=None) -> np.ndarray:
    """Integrated expected conditional improvement; arguments as `alc_reference`."""
    rows, refs = as_rows(cloud, X), as_rows(cloud, Xref)
    table = np.array(_weights(cloud, weights, len(refs)))
    out = np.zeros(len(rows))
    mu, sd, df = predictive_parameters(cloud, refs)
    with np.errstate(all="ignore"):
        for i, tree in enumerate(cloud.trees):
            best = mu[i].min()
            now = expected_improvement(mu[i], sd[i], df[i], best)
            homes = [tree.leaf_at(z) for z in refs]
            for k, x in enumerate(rows):
                leaf = tree.leaf_at(x)
                reduced = _conditional_sd(leaf, x, refs, homes, sd[i])
                then = expected_improvement(mu[i], reduced, df[i], best)
                same = np.array([home is leaf for home in homes])
                then = np.where(same, then, now)
                used = table[i] > EPS
                out[k] += (table[i] * (now - then))[used].sum()
    return out / (len(cloud.trees) * len(refs))


def _conditional_sd(
    leaf: RegressionLeaf,
    x: list[float],
    refs: list[list[float]],
    homes: list[Leaf],
    sd: np.ndarray,
) -> np.ndarray:
    """Scale at each reference once x is sampled; only in the leaf of x it shrinks."""
    df, q = leaf.moments()[:2]
    kappa = leaf.at(x)[1]
    lifted = leaf.lift(leaf.centre(x))
    scale = ieee.divide(q, df)
    out = sd.copy()
    for j, z in enumerate(refs):
        if homes[j] is leaf:
            c = _covariance(leaf, z, lifted)
            out[j] = ieee.sqrt(
                float(sd[j] * sd[j]) - ieee.divide(scale * (c * c), 1.0 + kappa)
            )
    return out


def q_entropy(cloud: Cloud, X, q: float) -> np.ndarray:
    """Average entropy of the event {Y <= q} at each row of X."""
    mu, sd, df = predictive_parameters(cloud, as_rows(cloud, X))
    with np.errstate(all="ignore"):
        p = stdtr(df, (q - mu) / sd)
        entropy = -(p * np.log(p) + (1.0 - p) * np.log(1.0 - p))
    entropy[(p == 0.0) | (p == 1.0)] = 0.0
    return entropy.sum(axis=0) / len(cloud.trees)


def q_improvement(cloud: Cloud, X, q: float, alpha: float) -> np.ndarray:
    """Average expected improvement of the contour at q at each row of X."""
    mu, sd, df = predictive_parameters(cloud, as_rows(cloud, X))
    with np.errstate(all="ignore"):
        h = alpha * sd * np.sqrt(df / (df - 2.0))
        u1, u2 = (q - mu - h) / sd, (q - mu + h) / sd
        t1, t2 = t_densities(u1, df), t_densities(u2, df)
        value = (
            (h * h - (mu - q) ** 2 - sd * sd) * (stdtr(df, u2) - stdtr(df, u1))
            + sd * sd * (u2 * t2 - u1 * t1)
            + 2.0 * (mu - q) * sd * (t2 - t1)
        )
    return value.sum(axis=0) / len(cloud.trees)


# A rectangle, integrated ---------------------------------------------------------


class Rectangle:
    """Bounds of a region, narrowed and restored along a path.

    Attributes
    ----------
    lower, upper : list of float
    categorical : list of bool
    approx : bool
        Whether leaves count by their rows instead of their area.
    """

    __slots__ = ("approx", "categorical", "lower", "upper")

    def __init__(self, cloud: Cloud, lower, upper, categorical, approx: bool) -> None:
        self.lower = np.asarray(lower, dtype=np.float64).tolist()
        self.upper = np.asarray(upper, dtype=np.float64).tolist()
        self.categorical = np.asarray(categorical, dtype=bool).tolist()
        self.approx = bool(approx)
        m = cloud.n_features
        if not len(self.lower) == len(self.upper) == len(self.categorical) == m:
            raise ValueError(f"lower, upper and categorical must have {m} entries.")

    def narrow(self, node: Node, left: bool) -> tuple[list[float], int, float]:
        """Cut at a split; return what `restore` needs."""
        k = node.variable
        value = self.upper[k] / 2.0 if self.categorical[k] else node.value
        bounds = self.upper if left else self.lower
        memo = bounds, k, bounds[k]
        bounds[k] = value
        return memo

    def restore(self, memo: tuple[list[float], int, float]) -> None:
        """Undo a cut."""
        bounds, k, value = memo
        bounds[k] = value

    def shift(self, leaf: RegressionLeaf, sign: float) -> None:
        """Add sign * xbar to the bounds (implicit linear leaves only), in place."""
        for k, mean in enumerate(getattr(leaf, "xbar", ())):
            self.lower[k] += sign * mean
            self.upper[k] += sign * mean

    def is_thin(self, k: int) -> bool:
        """Whether column k is not categorical and has no width."""
        return not self.categorical[k] and self.upper[k] - self.lower[k] <= EPS

    def whole_area(self, cloud: Cloud) -> float:
        """Area of the whole rectangle, by which criteria are divided."""
        if self.approx:
            return float(cloud.n_active + cloud.n_retired)
        area = 1.0
        for k in range(cloud.n_basis):
            width = self.upper[k] - self.lower[k]
            if not self.categorical[k] and not width < EPS:
                area *= width
        return area


def alc_rectangle(
    cloud: Cloud, X, lower, upper, categorical, approx: bool
) -> np.ndarray:
    """Average reduction of variance over a rectangle, were a row of X sampled.

    Parameters
    ----------
    cloud : Cloud
    X : ndarray of shape (nn, n_features)
    lower, upper : ndarray of shape (n_features,)
    categorical : ndarray of bool of shape (n_features,)
    approx : bool

    Returns
    -------
    ndarray of shape (nn,)
    """
    rows = as_rows(cloud, X)
    box = Rectangle(cloud, lower, upper, categorical, approx)
    sums = [0.0] * len(rows)
    for tree in cloud.trees:
        for k, x in enumerate(rows):
            path = tree.path(x)
            memos = [
                box.narrow(node, child is node.left) for node, child in pairwise(path)
            ]
            sums[k] += _leaf_alc(path[-1].leaf, x, box)
            path[-1].leaf.drift(x)
            for memo in reversed(memos):
                box.restore(memo)
    return _average(cloud, sums, box.whole_area(cloud))


def _average(cloud: Cloud, sums: list[float], area: float) -> np.ndarray:
    norm = len(cloud.trees) * area
    return np.array([ieee.divide(total, norm) for total in sums], dtype=np.float64)


def alc_active(cloud: Cloud, lower, upper, categorical, approx: bool) -> np.ndarray:
    """`alc_rectangle` at the active rows, with R's cache per leaf.

    Values once computed are used again, whatever the rectangle, until a row is added to
    the leaf.  Rows in implicit linear leaves are rounded in place.
    """
    box = Rectangle(cloud, lower, upper, categorical, approx)
    sums = [0.0] * cloud.n_active
    x = cloud.pool.x

    def walk(node: Node) -> None:
        if node.leaf is None:
            for child in (node.left, node.right):
                memo = box.narrow(node, child is node.left)
                walk(child)
                box.restore(memo)
            return
        leaf = node.leaf
        if leaf.cache is None:
            leaf.cache = []
            for row in leaf.rows:
                leaf.cache.append(_leaf_alc(leaf, x[row], box))
                leaf.drift(x[row])
        for row, value in zip(leaf.rows, leaf.cache, strict=True):
            sums[row] += value

    for tree in cloud.trees:
        walk(tree.root)
    return _average(cloud, sums, box.whole_area(cloud))


def entropy_active(cloud: Cloud) -> np.ndarray:
    """Average entropy of the leaf of each active row, with R's cache per leaf."""
    sums = [0.0] * cloud.n_active
    for tree in cloud.trees:
        for leaf in tree.leaves():
            if leaf.cache is None:
                leaf.cache = [leaf.entropy()] * len(leaf.rows)
            for row, value in zip(leaf.rows, leaf.cache, strict=True):
                sums[row] += value
    return _average(cloud, sums, 1.0)


def _leaf_alc(leaf: RegressionLeaf, x: list[float], box: Rectangle) -> float:
    """Integral over the leaf's rectangle of the reduction of variance."""
    df, q = leaf.moments()[:2]
    kappa = leaf.at(x)[1]
    u = leaf.lift(leaf.centre(x))
    box.shift(leaf, -1.0)
    integral = _square_integral(leaf, u, box)
    box.shift(leaf, 1.0)
    return ieee.divide(q * integral, (df - 2.0) * (1.0 + kappa))


def _square_integral(leaf: RegressionLeaf, u: list[float], box: Rectangle) -> float:
    """Integral of (c0 + z'u)^2 over the rectangle."""
    lower, upper = box.lower, box.upper
    if box.approx:
        area = len(leaf.rows) + leaf.retired
    else:
        area = 1.0
        for k in range(leaf.pool.rules.q):
            if not (u and box.is_thin(k)):
                area *= upper[k] - lower[k]
    c = leaf.base()
    for i, ui in enumerate(u):
        if box.is_thin(i):
            c += upper[i] * ui
    total = c * c
    for i, ui in enumerate(u):
        wi = upper[i] - lower[i]
        if box.categorical[i] or wi <= EPS:
            continue
        hi2, lo2 = upper[i] * upper[i], lower[i] * lower[i]
        cubes = upper[i] * hi2 - lo2 * lower[i]
        total += c * ui * (hi2 - lo2) / wi + ui * ui * cubes / (3.0 * wi)
        for j in range(i):
            wj = upper[j] - lower[j]
            if wi * wj > EPS:
                squares = upper[j] * upper[j] - lower[j] * lower[j]
                total += ui * u[j] * (hi2 - lo2) * squares / (2.0 * wi * wj)
    return area * total


# Relevance of inputs -------------------------------------------------------------


def relevance(cloud: Cloud, lower, upper, categorical, approx: bool) -> np.ndarray:
    """Reduction of average variance or entropy by the splits on each input.

    Arguments as `alc_rectangle`.

    Returns
    -------
    ndarray of shape (n_particles, n_features)
    """
    return relevance_and_size(cloud, lower, upper, categorical, approx)[0]


def relevance_and_size(
    cloud: Cloud, lower, upper, categorical, approx: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`relevance`, and the sum of the sizes of all that was added up to it.

    Where leaves are badly conditioned the terms may be larger than their sum by as many
    powers of ten as a double has digits; the order of summing then decides the result.
    """
    box = Rectangle(cloud, lower, upper, categorical, approx)
    found = [_tree_relevance(tree, box, cloud.n_features) for tree in cloud.trees]
    deltas, sizes = (
        np.array(part).reshape(len(cloud.trees), cloud.n_features)
        for part in zip(*found, strict=True)
    )
    if cloud.model == "prior":
        return deltas, sizes
    with np.errstate(all="ignore"):
        area = box.whole_area(cloud)
        return deltas / area, sizes / abs(area)


def _tree_relevance(
    tree: Tree, box: Rectangle, m: int
) -> tuple[list[float], list[float]]:
    delta, size = [0.0] * m, [0.0] * m
    if tree.pool.rules.model == "prior":
        for node in tree.root.splits():
            delta[node.variable] += 1.0
        return delta, delta

    def walk(node: Node) -> float:
        if node.leaf is not None:
            return _volume(node.leaf, box)
        value = _volume(node.pooled(), box)
        below = 0.0
        for child in (node.left, node.right):
            memo = box.narrow(node, child is node.left)
            below += walk(child)
            box.restore(memo)
        delta[node.variable] += value - below
        size[node.variable] += abs(value) + abs(below)
        return value

    walk(tree.root)
    return delta, size


def _volume(leaf: Leaf, box: Rectangle) -> float:
    """Integral of variance or entropy over the leaf's rectangle."""
    widths = [hi - lo for hi, lo in zip(box.upper, box.lower, strict=True)]
    if box.approx:
        area = len(leaf.rows) + leaf.retired
    else:
        area = 1.0
        for k in range(leaf.pool.rules.q):
            counts = not box.is_thin(k)
            if leaf.pool.rules.model == "class" and box.categorical[k]:
                counts = False
            if counts:
                area *= widths[k]
    if leaf.pool.rules.model == "class":
        return area * leaf.entropy()
    df, q = leaf.moments()[:2]
    box.shift(leaf, -1.0)
    spread = _quadratic_mean(leaf, box)
    box.shift(leaf, 1.0)
    return ieee.divide(q * (area * ((1.0 + leaf.base()) + spread)), df)


def _quadratic_mean(leaf: RegressionLeaf, box: Rectangle) -> float:
    """Mean of z'Az over the rectangle, as R has it; 0 for constant leaves."""
    if leaf.fit is None:
        return 0.0
    a, lower, upper = leaf.fit.inverse, box.lower, box.upper
    total = 0.0
    for i in range(len(a)):
        hi, lo = upper[i], lower[i]
        wi = hi - lo
        if box.categorical[i] or wi <= EPS:
            total += a[i][i] * (hi * hi)
            di, wi = 2.0 * hi, 1.0
        else:
            total += a[i][i] * (hi * (hi * hi) - (lo * lo) * lo) / (3.0 * wi)
            di = hi * hi - lo * lo
        for j in range(i):
            wj = upper[j] - lower[j]
            if box.categorical[j] or wj <= EPS:
                ej, wj = 2.0 * upper[j], 1.0
            else:
                ej = upper[j] * upper[j] - lo * lower[j]  # sic: R's lo_i * lo_j
            total += a[j][i] * di * ej / (2.0 * wi * wj)
    return total
