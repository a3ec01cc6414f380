"""Joint posterior draws: a tree and parameters of its leaves, at all rows together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyntree import params
from dyntree._core.trees.forest import Forest
from dyntree._core.trees.forest_draws import ends_of, tree_laws
from dyntree._core.trees.leaf_draws import LeafDraws, root_splits
from dyntree.encoding.feature_map import Encoded
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, DegenerateTreesWarning, Message, warn
from dyntree.runtime.locking import locked
from dyntree.summaries.counts import drawn_events, drawn_means
from dyntree.summaries.draws import KINDS, PosteriorDraws
from dyntree.trees.base import TreeModel
from dyntree.trees.learning.check import stored
from dyntree.trees.learning.exposures import asked_exposure, check_response_pairs
from dyntree.trees.learning.weights import response_weights

LEAST_ROOTS = 5.0  # effective number of first splits below which one cloud is alike
MOST_VALUES = 1 << 21  # of a block

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
    """Draws of what a cloud, or a forest, says of rows as it stores them, in blocks.

    Exposures, of shape (n_rows,), are as users give them; 1 by default.
    """
    if isinstance(cloud, Forest):
        yield from _forest_draws(cloud, rows, n_draws, rng)
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
        if cloud.n_classes:
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
            yield DrawBlock(some, surface, unit * _in_leaves(sigma, places))


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
    """Each draw is of one tree and one of its prunings, and of the leaves of that."""
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


def moved(proba: Any, kept: Matrix, rest: Matrix) -> Any:
    """Draws of probabilities of which parts of each class go to others.

    Parameters
    ----------
    proba : ndarray of shape (n_draws, n_rows, n_classes)
    kept : ndarray of shape (n_rows, n_classes)
        Share of the probability of each class that it keeps.
    rest : ndarray of shape (n_rows, n_classes)
        Where what is left goes; each row sums to one, or to zero where nothing is.
    """
    gone = (proba * (1.0 - kept)).sum(axis=-1, keepdims=True)
    return proba * kept + gone * rest


def transport(before: Matrix, after: Matrix) -> tuple[Matrix, Matrix]:
    """Least part of `before` to move for `after`: arguments of `moved`.

    Both are probabilities of shape (n_rows, n_classes).
    """
    with np.errstate(all="ignore"):
        kept = np.where(after < before, after / before, 1.0)
    lacking = np.maximum(after - before, 0.0)
    total = lacking.sum(axis=1, keepdims=True)
    return kept, lacking / np.where(total > 0.0, total, 1.0)


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


class JointDraws(TreeModel):
    """The part of a model of trees that draws from its posterior."""

    def draw_blocks(
        self,
        X: Any,
        n_draws: int,
        rng: np.random.Generator,
        exposure: Any = None,
    ) -> Iterator[DrawBlock]:
        """Joint draws at rows, in blocks of rows.

        Use it to reduce each block at once, so that not all draws are in memory
        together. The model must not learn in the meantime; see `exclusive`.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        n_draws : int
        rng : Generator
        exposure : array_like of shape (n_rows,), optional
            Of counts; 1 by default.

        Yields
        ------
        DrawBlock
        """
        cloud = self.state.ready("posterior_draws")
        rows = stored(self.state, X)
        at = asked_exposure(self.state, len(rows), exposure)
        yield from cloud_draws(cloud, rows, n_draws, rng, at)

    @locked
    def posterior_draws(
        self,
        X: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        sample_weight: Any = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw from the posterior, jointly at all rows of X.

        A draw is one tree with one set of parameters for each of its leaves. Every draw
        covers all rows, so that differences and averages of rows have intervals.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), frame, dict or list of dicts
        n_draws : int, default 1000
            At least 1.
        kind : {"mean", "obs"}, default "mean"
            "mean" draws mean responses, or probabilities of labels. "obs" draws new
            responses, or labels, with noise that is independent between rows.
        seed : int or Generator, optional
            Seed of the draws. The model's own random numbers are not used.
        sample_weight : array_like of shape (n_rows,), optional
            For ``kind="obs"``: weights > 0 of the new responses, if weights divide
            variances; by default 1.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposures > 0 of counts; by default 1, so that means are rates.

        Returns
        -------
        PosteriorDraws
            The shape of its `values` is (n_draws, n_rows), or (n_draws, n_rows,
            n_classes) for probabilities.

        Raises
        ------
        NotReadyError
            If there are no trees yet.
        ValueError
            If the input is bad.

        Warns
        -----
        DegenerateTreesWarning
            Once, if the model is a single cloud whose trees nearly all begin with the
            same few splits. Contrasts then vary too little between draws.

        Notes
        -----
        Particles are drawn systematically and in random order. From an average, members
        are drawn by their weights, and particles within them. In each leaf that rows
        reach, sigma^2 is inverse gamma and the coefficients are normal given it
        (O'Hagan and Forster 2004, section 11.4), the probabilities of labels are
        Dirichlet, and the rates of counts are gamma or beta prime. A draw from random
        trees is one tree and one of its prunings, by the posterior probability of each,
        with a draw from each of its leaves. An average of label models may predict
        something other than the mean of its members. Members are then drawn by `powers`
        or by weight, and the smallest part of each drawn probability that makes the
        mean of the draws equal to `predict` is moved to other labels.

        Examples
        --------
        >>> import numpy as np
        >>> from dyntree import AveragedTrees
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((200, 2))
        >>> y = 2 * X[:, 0] + 0.1 * rng.standard_normal(200)
        >>> trees = AveragedTrees("linear", n_particles=50, seed=1).update(X, y)
        >>> draws = trees.posterior_draws([[0.75, 0.5], [0.25, 0.5]], seed=1)
        >>> difference = draws.contrast([1, -1])
        >>> difference.mean().round(1), difference.conf_int().round(1)
        (array([1.]), array([[1., 1.]]))
        """
        n_draws = params.count("n_draws", n_draws, 1)
        params.one_of("kind", kind, KINDS)
        rng = params.generator(seed)
        response_weights(self.states[0], None, sample_weight)
        if sample_weight is not None and kind == "mean":
            raise ArgumentError(
                "sample_weight",
                "is for new responses, kind='obs'; a mean has no weight",
                remedy="Leave it out.",
            )
        self.warn_if_alike()
        return self.drawn(X, n_draws, kind, rng, sample_weight, exposure)

    @locked
    def drawn(
        self,
        X: Any,
        n_draws: int,
        kind: str,
        rng: np.random.Generator,
        sample_weight: Any = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """As `posterior_draws`, for checked arguments and without a warning."""
        check_response_pairs(X, sample_weight, exposure)
        values: NDArray[Any] | None = None
        weights: Vector | None = None
        is_obs = kind == "obs"
        for block in self.draw_blocks(X, n_draws, rng, exposure):
            if values is None:
                n_rows = block.mean.shape[1]
                weights = response_weights(self.states[0], n_rows, sample_weight)
            some = block.responses(rng, weights) if is_obs else block.mean
            if values is None:
                values = np.empty((n_draws, *some.shape[1:]), some.dtype)
            values[block.places] = some
        assert values is not None
        if is_obs and self.classes is not None:
            labels = np.empty(len(self.classes), dtype=object)
            labels[:] = self.classes
            values = labels[values]
        return PosteriorDraws(values, kind, self.classes)

    @locked
    def compute_contrast(
        self,
        X_0: Any,
        X_1: Any,
        n_draws: int = 1000,
        kind: str = "mean",
        seed: int | np.random.Generator | None = None,
        exposure: Any = None,
    ) -> PosteriorDraws:
        """Draw the differences between rows of X_1 and those of X_0, row by row.

        Parameters
        ----------
        X_0, X_1 : array_like of shape (n_rows, n_features), or frame
            Two sets of rows of the same number. Each draw uses one tree and one set of
            parameters for both rows of a pair.
        n_draws, kind, seed
            As in `posterior_draws`. For labels only ``kind="mean"`` is possible, since
            probabilities have differences and labels have none.
        exposure : array_like of shape (n_rows,) or float, optional
            Exposure of the counts of both rows of a pair; by default 1.

        Returns
        -------
        PosteriorDraws
            The draws at X_1 minus the draws at X_0.
        """
        n_draws = params.count("n_draws", n_draws, 1)
        params.one_of("kind", kind, KINDS)
        rng = params.generator(seed)
        if kind == "obs" and self.is_classifier:
            raise ArgumentError(
                "kind",
                "must be 'mean' for labels, which have no differences",
                Message("'obs'"),
            )
        self.state.ready("compute_contrast")
        before, after = (
            stored(self.state, X, name)[:, self.state.ones :]
            for X, name in ((X_0, "X_0"), (X_1, "X_1"))
        )
        if len(before) != len(after):
            raise ValueError(
                Message(
                    "X_0 and X_1 must have as many rows; got {n_before} and {n_after}.",
                    n_before=len(before),
                    n_after=len(after),
                )
            )
        if exposure is not None:
            check_response_pairs(X_1, None, exposure)
            exposure = np.tile(asked_exposure(self.state, len(after), exposure), 2)
        self.warn_if_alike()
        rows = Encoded(np.concatenate([after, before]))
        both = self.drawn(rows, n_draws, kind, rng, None, exposure)
        n = len(after)
        values = both.values[:, :n] - both.values[:, n:]
        return PosteriorDraws(values, kind, self.classes)

    def warn_if_alike(self) -> None:
        """Warn once if the trees of a single cloud share their first few splits."""
        state = self.states[0]
        one_cloud = len(self.states) == 1 and not isinstance(state.cloud, Forest)
        if not one_cloud or state.cloud is None or "roots" in state.warned:
            return
        n_roots = effective_roots(state.cloud)
        if n_roots < LEAST_ROOTS:
            state.warned.add("roots")
            warn(
                DegenerateTreesWarning,
                "the trees of this cloud begin with {n_roots:.1f} effectively "
                "distinct splits, fewer than {least_roots:g}: they agree by chance, "
                "so that intervals of differences and effects are too narrow. "
                "Average several clouds: AveragedTrees(...), or n_clouds=10 in a "
                "formula or an estimator.",
                n_roots=n_roots,
                least_roots=LEAST_ROOTS,
            )
