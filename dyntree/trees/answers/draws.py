"""Joint posterior draws: a tree and parameters of its leaves, at all rows together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dyntree._core.trees.forest import Forest
from dyntree._core.trees.forest_draws import ends_of, tree_laws
from dyntree._core.trees.leaf_draws import LeafDraws, root_splits
from dyntree._core.trees.linear_filters import LinearFilters
from dyntree.encoding.values import Matrix, Vector
from dyntree.summaries.counts import drawn_events, drawn_means
from dyntree.trees.answers.linear_draws import LinearDraws, proba_by
from dyntree.trees.answers.linear_laws import highest

LEAST_ROOTS = 5.0  # effective number of first splits below which one cloud is alike
MOST_VALUES = 1 << 21  # of a block
NODES, SHARES = np.polynomial.hermite_e.hermegauss(41)  # of a standard normal law
SHARES = SHARES / SHARES.sum()

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DrawBlock:
    """Some of the draws.

    Attributes
    ----------
    places : ndarray of int64 of shape (n_some,)
        Which of the draws they are.
    mean : ndarray of shape (n_some, n_rows), or (n_some, n_rows, n_classes)
        Mean response, or probabilities, of each draw at each row.
    noise : ndarray of shape (n_some, n_rows), or None
        Standard deviation of a response about its mean; None for labels and counts.
    size : ndarray of shape (n_rows,), or None
        Of negative binomial counts at each row; infinite: Poisson ones.
    """

    places: Places
    mean: NDArray[np.float64]
    noise: Matrix | None
    size: Vector | None = None

    def responses(
        self, rng: np.random.Generator, weights: Vector | None = None
    ) -> NDArray[Any]:
        """One response, or place of a label, a draw and row: shape (n_some, n_rows)."""
        if self.noise is not None:
            noise = self.noise if weights is None else self.noise / np.sqrt(weights)
            drawn: Matrix = self.mean + noise * rng.standard_normal(self.mean.shape)
            return drawn
        if self.size is not None:
            events: Matrix = drawn_events(self.mean, self.size, rng)
            return events
        ends = self.mean.cumsum(axis=2)
        u = rng.random(ends.shape[:2]) * ends[:, :, -1]
        places: NDArray[np.int64] = (u[:, :, None] >= ends[:, :, :-1]).sum(axis=2)
        return places


def systematic(weights: Vector, n: int, rng: np.random.Generator) -> Places:
    """Places drawn by weight, evenly spread, in random order: shape (n,)."""
    ends = np.cumsum(weights)
    points = (np.arange(n) + rng.random()) / n * ends[-1]
    found = np.searchsorted(ends, points, side="right")
    return rng.permutation(np.minimum(found, len(ends) - 1))


def cloud_draws(
    cloud: Any,
    rows: Matrix,
    n_draws: int,
    rng: np.random.Generator,
    exposure: Vector | None = None,
) -> Iterator[DrawBlock]:
    """Draws of what a cloud, or another member, says of rows as it stores them.

    They come in blocks.

    Exposures, of shape (n_rows,), are as users give them; 1 by default.
    """
    if isinstance(cloud, Forest):
        yield from _forest_draws(cloud, rows, n_draws, rng)
        return
    if isinstance(cloud, LinearFilters):
        if cloud.is_count:
            yield from _rate_draws(cloud, rows, n_draws, rng, exposure)
        else:
            yield from _linear_draws(cloud, rows, n_draws, rng)
        return
    n_particles = cloud.n_particles
    which = systematic(np.full(n_particles, 1.0 / n_particles), n_draws, rng)
    yield from particle_draws(cloud, rows, which, rng, exposure)


def particle_draws(
    cloud: Any,
    rows: Matrix,
    which: Places,
    rng: np.random.Generator,
    exposure: Vector | None = None,
) -> Iterator[DrawBlock]:
    """One draw of each of these particles, in blocks of equal trees.

    Parameters
    ----------
    cloud : Cloud
    rows : ndarray of shape (n_rows, n_features)
        As the cloud stores them.
    which : ndarray of int64 of shape (n_draws,)
        Particle of each draw.
    rng : Generator
    exposure : ndarray of shape (n_rows,), optional
        Of counts, as users give them; 1 by default.
    """
    drawn = LeafDraws(cloud, rows)
    same = equal_rows(rows[drawn.gaps])
    if cloud.is_count:
        own = np.ones(len(rows)) if exposure is None else exposure
        own = own / cloud.prior_point["exposure_unit"]
        size = cloud.prior_point["size"] or np.inf
    unit = np.sqrt(cloud.weight_unit)  # of a response of weight 1, in the cloud's
    roots = drawn.roots
    # equal trees by the first particle that has them: a copy has them elsewhere
    _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
    firsts, tree = np.unique(first[inverse][which], return_inverse=True)
    in_order = np.argsort(tree, kind="stable")
    groups = np.split(in_order, np.cumsum(np.bincount(tree))[:-1])
    for one, group in zip(firsts.tolist(), groups, strict=True):
        home, leaves = drawn.leaves(int(roots[one]))
        if cloud.n_classes and cloud.model != "logit":
            counts = drawn.counts(leaves)
            for some in _parts(group, len(rows) * cloud.n_classes):
                shape = (len(some), *counts.shape)
                proba = dirichlet(np.broadcast_to(counts, shape), rng)
                places = _homes(drawn, same, home, len(some), rng)
                yield DrawBlock(some, _in_leaves(proba, places), None)
            continue
        if cloud.is_count:
            parameters = (*drawn.rates(leaves), size, 1.0)
            for some in _parts(group, len(rows)):
                first, second, theta, one = (
                    np.broadcast_to(part, (len(some), len(leaves)))
                    for part in parameters
                )
                rates = drawn_means(first, second, theta, one, rng)
                places = _homes(drawn, same, home, len(some), rng)
                yield DrawBlock(some, own * _in_leaves(rates, places), None, size * own)
            continue
        mean, factor, sum_squares, df = drawn.coefficients(leaves)
        width = len(rows) + len(drawn.gaps) * mean.shape[1]
        for some in _parts(group, width):
            if cloud.n_classes:  # of log odds, whose law is normal
                sigma = np.ones((len(some), len(leaves)))
            else:
                sigma = _deviations(sum_squares, df, len(some), rng)
            eps = rng.standard_normal((len(some), *mean.shape))
            with np.errstate(invalid="ignore"):  # where a leaf has no distribution
                off = np.matmul(factor, eps[..., None])[..., 0] * sigma[..., None]
            coefficients = mean + off
            surface = drawn.values(coefficients, home)
            places = _homes(drawn, same, home, len(some), rng)
            if len(drawn.gaps):
                surface[:, drawn.gaps] = _over_gaps(
                    drawn, same, coefficients, places, rng
                )
            if not cloud.n_classes:
                yield DrawBlock(some, surface, unit * _in_leaves(sigma, places))
            elif cloud.n_classes == 1:  # a lone label, which is certain
                yield DrawBlock(some, np.ones((*surface.shape, 1)), None)
            else:
                proba = two_labels(surface)
                parts = _approximation(drawn, home, mean, factor)
                yield DrawBlock(some, moved(proba, *parts), None)


def two_labels(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of two labels by the log odds of the second, on a last axis."""
    return np.stack([expit(-log_odds), expit(log_odds)], axis=-1)


def _approximation(
    drawn: LeafDraws, home: NDArray[np.int32], mean: Any, factor: Any
) -> tuple[Matrix, Matrix]:
    """How to move probabilities, so that their mean is that of predictions.

    Those approximate the mean over log odds N(e, v) of a leaf; see `LogisticLeaves`.
    Rows with gaps are left as they are.
    """
    e = drawn.values(mean[None], home)[0]
    along = np.ascontiguousarray(np.moveaxis(factor, 2, 0))
    sd = np.sqrt((drawn.values(along, home) ** 2).sum(axis=0))
    predicted = two_labels(e / np.sqrt(1.0 + np.pi * sd**2 / 8.0))
    expected = two_labels(e + sd * NODES[:, None])
    expected = (SHARES[:, None, None] * expected).sum(axis=0)
    expected[drawn.gaps] = predicted[drawn.gaps]
    return transport(expected, predicted)


def equal_rows(rows: Matrix) -> Places:
    """Number of each row among the distinct ones; gaps are equal, too: (n_rows,)."""
    rows = np.where(np.isnan(rows), np.nan, rows) + 0.0  # one form of NaN, and of zero
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return np.unique(whole, return_inverse=True)[1].reshape(-1)


def _homes(
    drawn: LeafDraws,
    same: Places,
    home: NDArray[np.int32],
    n_draws: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Leaf of each row, (n_rows,); of each draw and row where rows have gaps.

    A row that may lie in several leaves is in one of them in each draw, and so are all
    rows that equal it.
    """
    if not len(same):
        return home
    homes = np.tile(home, (n_draws, 1))
    u = rng.random((n_draws, same.max() + 1))
    homes[:, drawn.gaps] = drawn.chosen(u.take(same, axis=1))
    return homes


def _in_leaves(values: Any, homes: NDArray[np.int32]) -> Any:
    """Values of the leaves at the rows, from those of each draw and leaf."""
    if homes.ndim == 1:
        return values[:, homes]
    return values[np.arange(len(values))[:, None], homes]


def _over_gaps(
    drawn: LeafDraws,
    same: Places,
    coefficients: NDArray[np.float64],
    homes: NDArray[np.int32],
    rng: np.random.Generator,
) -> Matrix:
    """Means at the rows with gaps, (n_draws, n_gaps), by a value drawn for each gap.

    Equal rows have equal values.
    """
    chosen = np.ascontiguousarray(homes[:, drawn.gaps])
    n_draws, n_rows = len(coefficients), same.max() + 1
    n_columns = coefficients.shape[2] - 1
    if not n_columns:
        return np.asarray(_in_leaves(coefficients[:, :, 0], chosen))
    u = rng.random((n_draws, n_rows)).take(same, axis=1)
    eps = rng.standard_normal((n_draws, n_rows, n_columns)).take(same, axis=1)
    values: Matrix = drawn.values_over(coefficients, chosen, u, eps)
    return values


def _parts(group: Places, n_values: int) -> Iterator[Places]:
    """Draws in parts of at most MOST_VALUES values; each has `n_values`."""
    size = max(1, MOST_VALUES // max(1, n_values))
    for first in range(0, len(group), size):
        yield group[first : first + size]


def _deviations(
    sum_squares: Vector, df: Vector, n: int, rng: np.random.Generator
) -> Matrix:
    """Standard deviations of the noise in leaves, (n, n_leaves); NaN unless df > 0."""
    proper = df > 0.0
    chi2 = 2.0 * rng.standard_gamma(np.where(proper, 0.5 * df, 1.0), (n, len(df)))
    with np.errstate(all="ignore"):
        return np.where(proper, np.sqrt(sum_squares / chi2), np.nan)


def dirichlet(counts: NDArray[np.float64], rng: np.random.Generator) -> Any:
    """Probabilities from Dirichlet laws, whose parameters stand on the last axis.

    By gamma variables, whose logarithms are drawn: small parameters underflow none.
    """
    log_gamma = np.log(rng.standard_gamma(counts + 1.0))
    log_gamma += np.log1p(-rng.random(counts.shape)) / counts
    proba = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return proba / proba.sum(axis=-1, keepdims=True)


def _forest_draws(
    forest: Forest, rows: Matrix, n_draws: int, rng: np.random.Generator
) -> Iterator[DrawBlock]:
    """Draws, each from a leaf of one pruning of one tree."""
    n_trees, n_classes = (forest.options[name] for name in ("n_trees", "n_classes"))
    which = systematic(np.full(n_trees, 1.0 / n_trees), n_draws, rng)
    same = equal_rows(rows)
    for k in np.unique(which).tolist():
        start, path, pruned, laws, row, share = tree_laws(forest, k, rows)
        width = len(rows) * max(1, n_classes) + len(pruned)
        for some in _parts(np.flatnonzero(which == k), width):
            stops = (rng.random((len(some), len(pruned))) < pruned).view(np.uint8)
            home = ends_of(start, path, stops)
            draw = np.arange(len(some))[:, None]
            if len(row) > len(rows):
                home = home[draw, _drawn_ways(row, share, same, len(some), rng)]
            reached = np.zeros(stops.shape, dtype=bool)
            reached[draw, home] = True
            own = laws[np.nonzero(reached)[1]]
            place = (np.cumsum(reached).reshape(stops.shape) - 1)[draw, home]
            if n_classes:
                yield DrawBlock(some, dirichlet(own, rng)[place], None)
                continue
            n, mean, shape, rate = own.T
            sigma = np.sqrt(rate / rng.standard_gamma(shape))
            mean = mean + sigma / np.sqrt(n) * rng.standard_normal(len(own))
            unit = np.sqrt(forest.weight_unit)
            yield DrawBlock(some, mean[place], unit * sigma[place])


def _linear_draws(
    filters: LinearFilters, rows: Matrix, n_draws: int, rng: np.random.Generator
) -> Iterator[DrawBlock]:
    """Draws of coefficients, moved to the mean that predictions have."""
    weights = filters.weights
    which, same = systematic(weights, n_draws, rng), equal_rows(rows)
    each = {k: LinearDraws(filters, rows, same, k) for k in np.unique(which).tolist()}
    share = sum(weights[k] for k in each)
    mean = sum(weights[k] / share * drawn.expected() for k, drawn in each.items())
    parts = transport(np.asarray(mean), filters.predict_proba(rows))
    for k, drawn in each.items():
        for some in _parts(np.flatnonzero(which == k), mean.size):
            proba = proba_by(drawn(len(some), rng))
            yield DrawBlock(some, moved(proba, *parts), None)


def _rate_draws(
    filters: LinearFilters,
    rows: Matrix,
    n_draws: int,
    rng: np.random.Generator,
    exposure: Vector | None,
) -> Iterator[DrawBlock]:
    """Draws of coefficients, and the mean counts that they give."""
    which, same = systematic(filters.weights, n_draws, rng), equal_rows(rows)
    own = np.ones(len(rows)) if exposure is None else exposure
    own = own / filters.exposure_unit
    level, most = np.log(filters.rate), highest(filters)
    for k in np.unique(which).tolist():
        drawn, size = LinearDraws(filters, rows, same, k), filters.kind_sizes[k]
        for some in _parts(np.flatnonzero(which == k), len(rows)):
            log_rate = level + drawn(len(some), rng)[:, :, 0]
            mean = own * np.exp(np.minimum(log_rate, most))
            yield DrawBlock(some, mean, None, size * own)


def _drawn_ways(
    row: Places, share: Vector, same: Places, n_draws: int, rng: np.random.Generator
) -> Places:
    """Ways of rows down a tree, drawn by their shares: shape (n_draws, n_rows).

    Equal rows take equal ways. `row` and `share` are those of `tree_laws`.
    """
    first = np.searchsorted(row, np.arange(len(same)))
    before = np.cumsum(share) - share  # of all ways; a row begins at its number
    u = rng.random((n_draws, same.max() + 1)).take(same, axis=1)
    ways = np.searchsorted(before, np.arange(len(same)) + u, side="right") - 1
    return np.clip(ways, first, np.append(first[1:], len(row)) - 1)


def moved(proba: Any, stays: Matrix, rest: Matrix) -> Any:
    """Draws of probabilities after a share of each class has moved to others.

    Parameters
    ----------
    proba : ndarray of shape (n_draws, n_rows, n_classes)
    stays : ndarray of shape (n_rows, n_classes)
        Share of the probability of each class that stays with it.
    rest : ndarray of shape (n_rows, n_classes)
        How the rest is divided; each row sums to one, or to zero if there is no rest.
    """
    gone = (proba * (1.0 - stays)).sum(axis=-1, keepdims=True)
    return proba * stays + gone * rest


def transport(before: Matrix, after: Matrix) -> tuple[Matrix, Matrix]:
    """How to turn `before` into `after` by moving the least: arguments of `moved`.

    Both are probabilities of shape (n_rows, n_classes).
    """
    with np.errstate(all="ignore"):
        stays = np.where(after < before, after / before, 1.0)
    lacking = np.maximum(after - before, 0.0)
    total = lacking.sum(axis=1, keepdims=True)
    return stays, lacking / np.where(total > 0.0, total, 1.0)


def effective_roots(cloud: Any) -> float:
    """Effective number of first splits: (sum c)^2 / sum c^2, c their particles.

    Infinite where no tree has a split.
    """
    variable, value = root_splits(cloud)
    if (variable < 0).all():
        return float("inf")
    pairs = np.column_stack([variable, value])
    counts = np.unique(pairs, axis=0, return_counts=True)[1].astype(np.float64)
    return float(counts.sum() ** 2 / (counts**2).sum())
